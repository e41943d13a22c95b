"""Tables of any results: what differs in their settings, and every number that came out."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import numpy as np

from .sheet import Sheet

__all__ = ["summaries"]

#: Settings that count repetitions.
REPEATED = ("part", "seed", "draw")


def summaries(found: Iterable[tuple[dict[str, Any], dict[str, Any]]]) -> list[Sheet]:
    """A table for every ``question`` among the settings; with repetitions means, standard deviations and their number.

    A list of numbers is a list of repetitions if it is the only one, else it is shown as it is.
    """
    questions: dict[str, dict[str, list[tuple[dict[str, Any], dict[str, Any]]]]] = {}
    for settings, result in found:
        shown = {key: value for key, value in settings.items() if key not in ("question", *REPEATED)}
        of = questions.setdefault(settings["question"], {})
        of.setdefault(json.dumps(shown), []).append((shown, result))
    return [_sheet(question, list(groups.values())) for question, groups in questions.items()]


def _sheet(question: str, groups: list[list[tuple[dict[str, Any], dict[str, Any]]]]) -> Sheet:
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
