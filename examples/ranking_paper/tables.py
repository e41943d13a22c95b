"""Tables of results beside the printed numbers, for the terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from rich.table import Table

from . import printed
from .classification import METHODS, VARIANTS


@dataclass
class Sheet:
    """A title, columns and rows of text."""

    title: str
    columns: Sequence[str]
    rows: list[Sequence[str]] = field(default_factory=list)

    def rich(self) -> Table:
        """For the terminal."""
        table = Table(title=self.title)
        for place, column in enumerate(self.columns):
            table.add_column(column, justify="right" if place else "left")
        for row in self.rows:
            table.add_row(*row)
        return table

    def markdown(self) -> str:
        """For a file."""
        rule = ["---", *["--:"] * (len(self.columns) - 1)]
        lines = ["| " + " | ".join(row) + " |" for row in (self.columns, rule, *self.rows)]
        return f"**{self.title}**\n\n" + "\n".join(lines) + "\n"


def errors(results: dict[tuple[str, str], list[dict[str, Any]]], data: Sequence[str]) -> Sheet:
    """Table 2: for every data set the error with validated choices, with the best ones, and the printed one."""
    counts = {name: max((len(found) for (of, _), found in results.items() if of == name), default=0) for name in data}
    heads = [f"{name} ({count} split{'s' if count != 1 else ''})" for name, count in counts.items()]
    sheet = Sheet(
        "Table 2. Error of neighbours in percent: validated / best C and k in hindsight / paper", ["", *heads]
    )
    for method in printed.ERRORS:
        cells = []
        for name in data:
            found, paper = results.get((name, method)), f"{printed.ERRORS[method][name]:.1f}"
            if not found:
                cells.append(f"- / - / {paper}")
                continue
            validated = np.mean([r["errors"][r["chosen"][0]][r["chosen"][1]] for r in found])
            best = np.mean([r["errors"] for r in found], axis=0).min()
            zero = "" if any(dims for r in found for dims in r["dimensions"]) else " (W = 0)"
            cells.append(f"{100 * validated:.1f} / {100 * best:.1f} / {paper}{zero}")
        sheet.rows.append([method, *cells])
    return sheet


def dimension_medians(results: dict[tuple[str, str], list[dict[str, Any]]]) -> dict[str, dict[str, float]]:
    """Figure 2: median dimensions of the chosen metrics by method and data set."""
    medians: dict[str, dict[str, float]] = {}
    for method in METHODS:
        if method == "Euclidean":
            continue
        for (name, of), found in results.items():
            if of == method:
                chosen = [r["dimensions"][r["chosen"][0]] for r in found]
                medians.setdefault(method, {})[name] = float(np.median(chosen))
    return medians


def effort(results: dict[tuple[str, str], list[dict[str, Any]]], data: Sequence[str]) -> Sheet:
    """What the exact solves took: seconds a solve and the largest certified gap."""
    sheet = Sheet("Exact solves: median seconds / largest certified gap", ["", *data])
    for method in VARIANTS:
        cells = []
        for name in data:
            found = results.get((name, method), [])
            seconds = [value for r in found for value in r["seconds"]]
            gaps = [value for r in found for value in r["gaps"]]
            cells.append(f"{np.median(seconds):.2f} / {max(gaps):.0e}" if gaps else "-")
        sheet.rows.append([method, *cells])
    return sheet


def matchings(results: dict[tuple[str, str], dict[str, Any]], C: float, tol: float) -> Sheet:
    """Table 4: test scores and the cost of learning, printed numbers (on other data) in brackets."""
    stop = "to eps = 0.01: passes, CPU s"
    sheet = Sheet(
        f"Table 4. Synthetic matchings in the paper's sizes, C = {C:g}; in brackets the paper, on its private data",
        [
            "",
            "AUC",
            "MAP",
            "MRR",
            f"Algorithm 1 {stop}",
            f"ours {stop}",
            f"ours to gap {tol:g}",
            "(paper: batches, CPU s)",
        ],
    )
    for method in ("MLR-AUC", "MLR-MAP", "MLR-MRR", "Euclidean", "planted"):
        ours = results.get((method, "ours"))
        if ours is None:
            continue
        paper = printed.MATCHINGS.get(method, (None,) * 5)
        scores = [
            f"{score:.3f}" + (f" ({there:.3f})" if there is not None else "")
            for score, there in zip(ours["scores"], paper, strict=False)
        ]
        cost = ["", "", "", ""]
        if "stop" in ours:
            plain = results.get((method, "printed"))
            cost = [
                _stop(plain) if plain else "-",
                _stop(ours),
                f"{ours['passes']}, {ours['cpu']:.0f} s, {ours['cuts']:.0f} cuts, gap {ours['gap']:.0e}",
                f"{paper[4]}, {paper[3]} s",
            ]
        sheet.rows.append([method, *scores, *cost])
    return sheet


def _stop(result: dict[str, Any]) -> str:
    stop = result["stop"]
    if stop:
        return f"{stop['passes']}, {stop['cpu']:.0f} s"
    return f"not within {result['seconds']:.0f} s ({result['passes']} passes, gap {result['gap']:.0e})"
