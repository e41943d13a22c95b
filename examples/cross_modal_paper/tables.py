"""Tables of results beside the printed numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ranking_paper.tables import Sheet

from . import printed
from .learners import METHODS

__all__ = ["choices", "descents", "scores"]

Result = Mapping[str, Any]


def scores(found: Mapping[tuple[str, str], Result], tasks: Sequence[str]) -> Sheet:
    """Table 2: MAP on the test part, ours / the paper's."""
    sheet = Sheet("Table 2. Mean average precision on test queries: ours / paper", ["", *tasks])
    rows = dict.fromkeys((*METHODS[:4], "MSmethod", *METHODS[4:]))
    for method in rows:
        cells = []
        for task in tasks:
            ours, paper = found.get((task, method)), printed.MAP.get(method, {}).get(task)
            cells.append(f"{_score(ours)} / {'-' if paper is None else f'{paper:.3f}'}")
        if set(cells) != {"- / -"}:
            sheet.rows.append([method, *cells])
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
        held_out = "-" if choice["map"] is None else f"{choice['map']:.3f}"
        fit = [
            "-" if result.get(key) is None else form.format(result[key])
            for key, form in (("rank", "{}"), ("seconds", "{:.1f}"), ("gap", "{:.0e}"))
        ]
        worst = f"{choice['gap']:.0e}" if choice["gap"] else "-"
        row = [f"{task}, {method}", choice["preprocessing"], setting, held_out, _score(result), *fit, worst]
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
                    task,
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


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
