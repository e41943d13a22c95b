"""Tables of any results: what differs in their settings, and every number that came out."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .pool import CHANCE, Task
from .sheet import Sheet

__all__ = ["Known", "known", "question_of", "summaries"]

#: Settings and a result.
Known = tuple[dict[str, Any], dict[str, Any]]


def question_of(task: Task) -> str:
    """The question that a task answers: ``question`` among its settings, else the name of its file."""
    return str(task[1].get("question", task[0].path.stem))


def known(tasks: Iterable[Task]) -> dict[str, list[Known]]:
    """What has been found so far, by question."""
    found: dict[str, list[Known]] = {}
    for task in tasks:
        results, settings, _, _ = task
        if (result := results.get(settings)) is not None:
            found.setdefault(question_of(task), []).append((settings, result))
    return found


def summaries(known: Mapping[str, Sequence[Known]]) -> list[Sheet]:
    """A table for every question; with repetitions means, standard deviations and their number.

    A list of numbers is a list of repetitions if it is the only one, else it is shown as it is.
    """
    return [_sheet(question, _repeated(found)) for question, found in known.items()]


def _repeated(found: Sequence[Known]) -> list[list[Known]]:
    """Groups of what differs by chance alone, without the settings that count repetitions."""
    groups: dict[str, list[Known]] = {}
    for settings, result in found:
        shown = {key: value for key, value in settings.items() if key not in ("question", *CHANCE)}
        groups.setdefault(json.dumps(shown), []).append((shown, result))
    return list(groups.values())


def _sheet(question: str, groups: list[list[Known]]) -> Sheet:
    settings = [group[0][0] for group in groups]
    names = list(dict.fromkeys(name for one in settings for name in one))
    # What all rows have in common goes into the title.
    common = {name: settings[0].get(name) for name in names if len({repr(one.get(name)) for one in settings}) == 1}
    varied = [name for name in names if name not in common]
    results = list(dict.fromkeys(name for group in groups for _, result in group for name in result))
    title = ", ".join([question, *(f"{name} {_text(value)}" for name, value in common.items())])
    sheet = Sheet(title, [*varied, *results, "count"])
    for group in groups:
        cells = [_numbers([result[name] for _, result in group if name in result]) for name in results]
        sheet.rows.append([*(_text(group[0][0].get(name)) for name in varied), *cells, str(len(group))])
    return sheet


def _numbers(values: list[Any]) -> str:
    if len(values) > 1 and all(isinstance(value, (int, float)) for value in values):
        return f"{np.mean(values):.3f} (sd {np.std(values, ddof=1):.3f})"
    return "; ".join(_text(value) for value in values) or "-"


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        return ", ".join(f"{name} {_text(one)}" for name, one in value.items())
    if isinstance(value, list):
        return " ".join(_text(one) for one in value)
    return "-" if value is None else str(value)
