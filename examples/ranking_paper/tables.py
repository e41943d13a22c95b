"""Tables of results beside the printed numbers, for the terminal and as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from experiments.sheet import Sheet, mean_text, standard_error

from . import printed
from .classification import CERTIFIED, METHODS


def errors(results: dict[tuple[str, str], list[dict[str, Any]]], data: Sequence[str]) -> Sheet:
    """Table 2: for every data set the error with validated choices, with the best ones, and the printed one."""
    heads = _heads(results, data)
    sheet = Sheet(
        "Table 2. Error of neighbours in percent: validated / best C and k in hindsight ± its standard error / paper",
        ["", *heads],
    )
    for method in printed.ERRORS:
        cells = []
        for name in data:
            found, there = results.get((name, method)), printed.ERRORS[method].get(name)
            paper = "-" if there is None else f"{there:.1f}"
            if not found:
                cells.append(f"- / - / {paper}")
                continue
            chosen = f"{100 * np.mean(of):.1f}" if (of := validated(found)).size else "-"
            zero = "" if any(dims for r in found for dims in r["dimensions"]) else " (W = 0)"
            cells.append(f"{chosen} / {mean_text(100 * _in_hindsight(found), 1)} / {paper}{zero}")
        sheet.rows.append([method, *cells])
    return sheet


def isolet(results: dict[str, list[dict[str, Any]]]) -> Sheet:
    """Table 2 of IsoLet by method, with the number of splits that each has, and its largest certified gap."""
    sheet = Sheet("IsoLet: error of neighbours in percent", ["", "splits", "error, percent", "largest certified gap"])
    for method, found in results.items():
        cell = errors({("isolet", method): found}, ["isolet"]).rows[list(printed.ERRORS).index(method)][1]
        gaps = [gap for result in found for gap in result["gaps"]]
        sheet.rows.append([method, str(len(found)), cell, f"{max(gaps):.0e}" if gaps else ""])
    return sheet


def spread(results: dict[tuple[str, str], list[dict[str, Any]]], data: Sequence[str]) -> Sheet:
    """Standard errors of the means in Table 2, of splits as if they were independent."""
    sheet = Sheet("Standard errors of Table 2: validated / in hindsight", ["", *_heads(results, data)])
    for method in METHODS:
        cells = []
        for name in data:
            found = results.get((name, method), [])
            errors = [validated(found), _in_hindsight(found)] if found else []
            cells.append(" / ".join(f"{100 * standard_error(of):.1f}" if of.size > 1 else "-" for of in errors) or "-")
        sheet.rows.append([method, *cells])
    return sheet


def apart(results: dict[tuple[str, str], list[dict[str, Any]]], data: Sequence[str]) -> Sheet:
    """Table 2 with the best C and k of every split: the other reading of "the best choice of C and k"."""
    sheet = Sheet(
        "Table 2, C and k chosen in hindsight split by split, with standard errors", ["", *_heads(results, data)]
    )
    for method in METHODS:
        cells = []
        for name in data:
            least = np.array([np.min(r["errors"]) for r in results.get((name, method), [])])
            cells.append(mean_text(100 * least, 1))
        sheet.rows.append([method, *cells])
    return sheet


def validated(found: list[dict[str, Any]]) -> np.ndarray:
    """Errors on the splits that were validated, at what was chosen there."""
    return np.array([r["errors"][r["chosen"][0]][r["chosen"][1]] for r in found if "chosen" in r])


def _in_hindsight(found: list[dict[str, Any]]) -> np.ndarray:
    """Errors on all splits at the one choice with the least mean."""
    errors = np.array([r["errors"] for r in found])
    return np.asarray(errors[:, *best(found)])


def best(found: list[dict[str, Any]]) -> tuple[int, int]:
    """The row, and the place of the number of neighbours, with the least mean error."""
    mean = np.mean([r["errors"] for r in found], axis=0)
    row, neighbours = np.unravel_index(np.argmin(mean), mean.shape)
    return int(row), int(neighbours)


def _heads(results: dict[tuple[str, str], list[dict[str, Any]]], data: Sequence[str]) -> list[str]:
    """Data sets with the numbers of splits, and of those with validation."""
    heads = []
    for name in data:
        of = [found for (where, _), found in results.items() if where == name]
        count = max(map(len, of), default=0)
        chosen = max((sum("chosen" in r for r in found) for found in of), default=0)
        some = f", {chosen} validated" if chosen < count else ""
        heads.append(f"{name} ({count} split{'s' if count != 1 else ''}{some})")
    return heads


def dimension_medians(results: dict[tuple[str, str], list[dict[str, Any]]]) -> dict[str, dict[str, float]]:
    """Figure 2: median dimensions of the metrics at the best choice in hindsight, by method and data set."""
    medians: dict[str, dict[str, float]] = {}
    for method in METHODS:
        if method == "Euclidean":
            continue
        for (name, of), found in results.items():
            if of == method:
                row, _ = best(found)
                medians.setdefault(method, {})[name] = float(np.median([r["dimensions"][row] for r in found]))
    return medians


def effort(results: dict[tuple[str, str], list[dict[str, Any]]], data: Sequence[str]) -> Sheet:
    """What the exact solves took: seconds a solve and the largest certified gap."""
    sheet = Sheet("Exact solves: median seconds / largest certified gap", ["", *data])
    for method in CERTIFIED:
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
    for method in ("MLR-AUC", "MLR-MAP", "MLR-MRR", "SVM-MAP", "Euclidean", "planted"):
        ours = results.get((method, "ours")) or results.get((method, "epsilon"))
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


def sweep(found: Sequence[tuple[dict[str, Any], dict[str, Any]]]) -> Sheet:
    """Test AUC / MAP / MRR, passes and CPU seconds by method and C, at the paper's accuracy."""
    weights = sorted({settings["C"] for settings, _ in found})
    sheet = Sheet("Over C, to eps = 0.01: AUC / MAP / MRR, passes, CPU s", ["", *(f"C = {C:g}" for C in weights)])
    by = {(s["method"], s["C"]): result for s, result in found if "passes" in result}
    for method in dict.fromkeys(method for method, _ in by):
        sheet.rows.append([method, *(_swept(by.get((method, C))) for C in weights)])
    return sheet


def _swept(result: dict[str, Any] | None) -> str:
    if result is None:
        return "-"
    return " / ".join(f"{score:.3f}" for score in result["scores"]) + f", {result['passes']}, {result['cpu']:.0f} s"


def appeals(found: Sequence[tuple[dict[str, Any], dict[str, Any]]]) -> Sheet:
    """Test AUC by the share of appeal in what decides."""
    shares = sorted({settings["appeal"] for settings, _ in found})
    heads = ["share of appeal", *(f"{share:g}" for share in shares)]
    sheet = Sheet("Test AUC by the share of appeal in what was planted", heads)
    by = {(s["method"], s["appeal"]): result["scores"][0] for s, result in found}
    for method in dict.fromkeys(method for method, _ in by):
        cells = [f"{by[method, share]:.3f}" if (method, share) in by else "-" for share in shares]
        sheet.rows.append([method, *cells])
    return sheet


def kernels(found: Sequence[tuple[dict[str, Any], dict[str, Any]]]) -> Sheet:
    """Test MAP and error of neighbours, mean and standard error over splits."""
    sheet = Sheet(
        "Under a kernel: what validation chose",
        ["", "splits", "test MAP", "error of 5 neighbours, percent", "largest gap"],
    )
    for data, method in dict.fromkeys((s["data"], s["method"]) for s, _ in found):
        of = [result for s, result in found if (s["data"], s["method"]) == (data, method)]
        cells = [mean_text([r["map"] for r in of], 3), mean_text([100.0 * r["error"] for r in of], 1)]
        sheet.rows.append([f"{data}, {method}", str(len(of)), *cells, f"{max(r['gap'] for r in of):.0e}"])
    return sheet


def _stop(result: dict[str, Any]) -> str:
    stop = result["stop"]
    if stop:
        return f"{stop['passes']}, {stop['cpu']:.0f} s"
    return f"not within {result['seconds']:.0f} s ({result['passes']} passes, gap {result['gap']:.0e})"
