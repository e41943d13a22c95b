"""Tables of results beside the printed numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from experiments.sheet import Sheet

from . import printed
from .learners import DISTANCES, METHODS

__all__ = ["arrow", "by_distance", "choices", "descents", "scores", "stand_ins"]

Result = Mapping[str, Any]


def arrow(task: str) -> str:
    """A task as the page has it."""
    return task.replace("-", " -> ")


def scores(found: Mapping[tuple[str, str], Result], tasks: Sequence[str]) -> Sheet:
    """Table 2: MAP on the test part with its standard error over queries, ours / the paper's; and the average."""
    sheet = Sheet("Table 2. Mean average precision on test queries: ours / paper", ["", *map(arrow, tasks), "average"])
    for method in METHODS:
        own = [found.get((task, method)) for task in tasks]
        paper = [printed.MAP.get(method, {}).get(task) for task in tasks]
        cells = [f"{_with_error(ours)} / {_number(there)}" for ours, there in zip(own, paper, strict=True)]
        if set(cells) != {"- / -"}:
            ours = [result["map"] if result else None for result in own]
            sheet.rows.append([method, *cells, f"{_number(_mean(ours))} / {_number(_mean(paper))}"])
    return sheet


def by_distance(
    chosen: Mapping[tuple[str, str, str], Result], found: Mapping[tuple[str, str, str], Result], tasks: Sequence[str]
) -> Sheet:
    """MAP on held-out folds / on the test part, with the setting that is best for every distance; bold the largest."""
    heads = [f"{arrow(task)}, {distance}" for task in tasks for distance in DISTANCES]
    sheet = Sheet("By distance: held-out / test MAP, the best of each distance", ["", *heads])
    for method in METHODS:
        keys = [(task, method, distance) for task in tasks for distance in DISTANCES]
        if any(key in chosen for key in keys):
            cells = []
            for task, _, distance in keys:
                of = {other: chosen[task, method, other] for other in DISTANCES if (task, method, other) in chosen}
                if distance not in of:
                    cells.append("-")
                    continue
                is_best = of[distance]["map"] == max(choice["map"] for choice in of.values())
                held_out = f"**{_number(of[distance]['map'])}**" if is_best else _number(of[distance]["map"])
                cells.append(f"{held_out} / {_score(found.get((task, method, distance)))}")
            sheet.rows.append([method, *cells])
    return sheet


def stand_ins(found: Mapping[tuple[str, str, str], Sequence[Result]]) -> Sheet:
    """MAP on test queries by what stands for the training items; means over draws and their standard errors."""
    sheet = Sheet(
        "Representatives", ["task", "training pairs", "representatives", "of a class", "MAP", "draws", "seconds"]
    )
    for (task, count, name), results in found.items():
        scores = np.array([result["map"] for result in results])
        error = f" ± {scores.std(ddof=1) / np.sqrt(len(scores)):.3f}" if len(scores) > 1 else ""
        size, seconds = (np.mean([result[key] for result in results]) for key in ("size", "seconds"))
        row = [
            arrow(task),
            count,
            name,
            f"{size:.1f}",
            f"{scores.mean():.3f}{error}",
            str(len(scores)),
            f"{seconds:.1f}",
        ]
        sheet.rows.append(row)
    return sheet


def choices(chosen: Mapping[tuple[str, str], Result], found: Mapping[tuple[str, str], Result]) -> Sheet:
    """What cross-validation chose, its MAP on held-out folds, and what the last fit took."""
    sheet = Sheet(
        "Chosen by cross-validation on the training part",
        ["task, method", "preprocessing", "setting", "held-out MAP", "test MAP", "rank", "seconds", "gap", "worst gap"],
    )
    for (task, method), choice in chosen.items():
        result = found.get((task, method), {})
        setting = ", ".join(f"{key} {_short(value)}" for key, value in choice["setting"].items()) or "-"
        held_out = "-" if choice["map"] is None else f"{choice['map']:.3f} ± {choice['standard_error']:.3f}"
        fit = [
            "-" if result.get(key) is None else form.format(result[key])
            for key, form in (("rank", "{}"), ("seconds", "{:.1f}"), ("gap", "{:.0e}"))
        ]
        worst = f"{choice['gap']:.0e}" if choice["gap"] else "-"
        row = [f"{arrow(task)}, {method}", choice["preprocessing"], setting, held_out, _with_error(result), *fit, worst]
        sheet.rows.append(row)
    return sheet


def descents(optima: Mapping[str, Result], found: Mapping[tuple[str, int], Sequence[Result]], tol: float) -> Sheet:
    """For every c: how far the best descent, the paper's start, and the cut-off W* are above the certified optimum."""
    sheet = Sheet(
        "Relative distance from the certified optimum over all c",
        ["task", "c", "descents", "best", "worst", "from CFA", "W* cut to c", f"optimal to {tol:g}"],
    )
    for task, optimum in optima.items():

        def distance(value: float, lower: float = optimum["lower"]) -> float:
            return (value - lower) / abs(value)

        for c in sorted(c for of, c in found if of == task):
            values = [distance(run["objective"]) for run in found[task, c]]
            cut = optimum["truncated"]
            sheet.rows.append(
                [
                    arrow(task),
                    str(c),
                    str(len(values)),
                    f"{min(values):.1e}",
                    f"{max(values):.1e}",
                    f"{values[0]:.1e}",
                    f"{distance(cut[c - 1]):.1e}" if c <= len(cut) else "-",
                    "yes" if min(values) <= tol else "not shown",
                ]
            )
    return sheet


def _score(result: Result | None) -> str:
    return f"{result['map']:.3f}" if result and "map" in result else "-"


def _with_error(result: Result | None) -> str:
    error = (result or {}).get("standard_error")
    return _score(result) if error is None else f"{_score(result)} ± {error:.3f}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _mean(values: Sequence[float | None]) -> float | None:
    """None if one is missing."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if len(known) == len(values) else None


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
