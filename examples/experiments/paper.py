"""What a paper states of its experiments: parts, each of which is lists of tasks, and the tables made of all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .pool import Stages, Task
from .sheet import Sheet

__all__ = ["Known", "Paper", "begun", "grouped", "known"]

#: Settings of tasks with their results, None where there is none yet.
Known = list[tuple[dict[str, Any], dict[str, Any] | None]]


@dataclass(frozen=True)
class Paper:
    """Experiments of a paper.

    Attributes
    ----------
    folder : str
        Next to this one; it has RESULTS.md.
    parts : dict
        By name, from the folder that keeps the results of a part to its stages.
    tables : callable
        From what is known, by part, and the folder for pictures to the tables of the page by their markers; None, or no
        rows, where there are no results.
    """

    folder: str
    parts: Mapping[str, Callable[[Path], Stages]]
    tables: Callable[[Mapping[str, Known], Path], dict[str, Sheet | None]]


def begun(stages: Stages) -> list[Task]:
    """Tasks of all stages up to the first that is not complete."""
    tasks: list[Task] = []
    for stage in stages:
        tasks += stage
        if any(results.get(settings) is None for results, settings, _ in stage):
            break
    return tasks


def known(tasks: list[Task]) -> Known:
    """What is known of tasks."""
    return [(settings, results.get(settings)) for results, settings, _ in tasks]


def grouped(known: Known, *names: str) -> dict[Any, list[dict[str, Any]]]:
    """Results by the values of one setting, or of several, in the order of the tasks."""
    found: dict[Any, list[dict[str, Any]]] = {}
    for settings, result in known:
        if result is not None and all(name in settings for name in names):
            key = tuple(settings[name] for name in names)
            found.setdefault(key if len(names) > 1 else key[0], []).append(result)
    return found
