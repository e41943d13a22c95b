"""Results as tables for people and as JSON for programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.table import Table

from convexmetric.audits import Audit
from convexmetric.certificates import Verdict
from convexmetric.certificates.checker import decimal
from convexmetric.selection import HeldOut, PairedScores, Validation
from convexmetric.selection.records import Tabled
from convexmetric.solution import Solution
from convexmetric.solvers import Explanation

if TYPE_CHECKING:
    from pathlib import Path

    from convexmetric.cli.fitting import Fitted


def attributes(thing: Any, *names: str) -> dict[str, Any]:
    """Take the attributes of these names."""
    return {name: getattr(thing, name) for name in names}


def solution_table(solution: Solution) -> Table:
    """Table of a solution: bounds to two digits beyond those that agree, and how they were reached."""
    table = facts()
    table.add_row("lower bound", digits(solution.lower_bound, solution.gap, ROUND_FLOOR))
    table.add_row("upper bound", digits(solution.upper_bound, solution.gap, ROUND_CEILING))
    if solution.nearly_zero:
        table.add_row("absolute gap", f"{solution.upper_bound - solution.lower_bound:.2e}   (atol {solution.atol:.0e})")
    else:
        table.add_row("relative gap", f"{max(0.0, solution.gap):.2e}   (tol {solution.tol:.0e})")
    table.add_row("status", f"{solution.status}, by {solution.solver}")
    table.add_row(solution.unit, str(solution.iterations))
    table.add_row("seconds", f"{solution.seconds:.2f}")
    table.add_row("rank", f"{solution.rank} of {solution.problem.cone.d}")
    return table


def fit_record(file: str, fitted: Fitted) -> dict[str, Any]:
    """Record that ``fit --json`` prints; values not requested or not available are null."""
    path, scores = fitted.path, fitted.held_out
    return {
        "name": file,
        **fitted.solution.to_dict(),
        "method": fitted.method,
        "columns": fitted.data.extras["columns"],
        "settings": fitted.all_settings,
        "kept": fitted.kept,
        "choice": None if path is None else _path_record(path),
        "held_out": None if scores is None else _scores_record(scores),
        "recommendation": fitted.recommendation,
    }


def _path_record(path: Validation) -> dict[str, Any]:
    return {
        "names": list(path.settings),
        "chosen": list(path.settings.values()),
        "tried": path.candidates,
        "mean": path.mean(),
        "gaps": path.gaps.max(axis=1),
        "rows": path.rows,
        "seconds": path.seconds,
    }


def _scores_record(scores: HeldOut) -> dict[str, Any]:
    return {
        "accuracy": paired_record(scores.accuracy),
        "retrieval": paired_record(scores.retrieval),
        "average_precision": attributes(scores.average_precision, "before", "after", "difference", "standard_error"),
        "balanced_accuracy": None if scores.balanced is None else paired_record(scores.balanced),
        "lda": {
            name: None if (lda := getattr(scores, name).lda) is None else float(lda.mean())
            for name in ("accuracy", "retrieval", "average_precision")
        },
        "planned_folds": scores.planned,
        **attributes(scores, "n_neighbors", "folds", "copies", "rows", "of_rows", "learned_from", "seconds"),
    }


def paired_record(scores: PairedScores) -> dict[str, Any]:
    """Record of paired scores and their test."""
    return attributes(scores, "before", "after", "difference", "standard_error", "p_value", "verdict")


def columned(
    first: str | Iterable[str], numbers: Iterable[str], last: str | None = None, caption: str | None = None
) -> Table:
    """Return an empty table of one or several names, which fold in a narrow terminal, numbers, and perhaps words."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, caption=caption, caption_justify="left")
    for heading in [first] if isinstance(first, str) else first:
        table.add_column(heading, overflow="fold")
    for heading in numbers:
        table.add_column(heading, justify="right", no_wrap=True)
    if last is not None:
        table.add_column(last)
    return table


def figures_table(result: Tabled) -> Table:
    """Table of candidates or of comparisons: a name, numbers and a remark in every row."""
    name, *numbers, remark = result.columns
    table = columned(name, numbers, remark)
    for row in result.cells():
        table.add_row(*row)
    return table


def explanation_record(name: str, explanation: Explanation) -> dict[str, Any]:
    """Record that ``explain --json`` prints; values not measured or not known are null."""
    steps = [{"solver": step.name, "why": step.why, "seconds": step.seconds} for step in explanation.steps]
    others = [{"solver": step.name, "why": step.why} for step in explanation.others]
    return {
        "name": name,
        **attributes(explanation, "title", "chosen"),
        "steps": steps,
        "others": others,
        **attributes(explanation, "pass_seconds", "memory"),
    }


def verdict_record(
    files: Sequence[Path], verdict: Verdict, instance: str | None, deviation: float | None
) -> dict[str, Any]:
    """Record that ``verify --json`` prints: bounds as rationals in text, null where nothing is proven.

    Decimals are texts rounded outward, so that they are bounds too.
    """
    lower, upper = verdict.lower, verdict.upper
    return {
        "files": [str(file) for file in files],
        **attributes(
            verdict, "accepted", "reason", "title", "problem", "description", "sizes", "sha256", "rules", "seconds"
        ),
        "lower": None if lower is None else str(lower),
        "upper": None if upper is None else str(upper),
        "lower_decimal": None if lower is None else decimal(lower, -1),
        "upper_decimal": None if upper is None else decimal(upper, 1),
        "gap": verdict.gap,
        "claimed_lower": str(verdict.claimed[0]),
        "claimed_upper": str(verdict.claimed[1]),
        "instance": instance,
        "deviation": deviation,
    }


def worst_table(verdict: Audit) -> Table:
    """Table of the parts of the risk that cost most beyond the reference."""
    beside = verdict.subspace is not None
    first = "costs most beyond the reference" if beside else "costs most"
    table = columned(first, ("loss", "reference") if beside else ("loss",), "its worst comparison")
    for part in verdict.worst:
        losses = (part.loss, part.reference_loss) if beside else (part.loss,)
        table.add_row(part.name, *(f"{loss:.4g}" for loss in losses), part.comparison)
    return table


def facts(rows: Iterable[tuple[str, str]] = ()) -> Table:
    """Return a table of names and values."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 3, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(no_wrap=True)
    for name, value in rows:
        table.add_row(name, value)
    return table


def digits(bound: float, gap: float, rounding: str) -> str:
    """Format ``bound`` with two digits beyond those that the relative gap fixes, rounded so that it stays a bound."""
    equal = int(np.ceil(-np.log10(gap))) if 0.0 < gap < 1.0 else 0 if gap >= 1.0 else 14
    context = Context(prec=min(max(equal + 2, 6), 16), rounding=rounding)
    return f"{context.create_decimal_from_float(bound):g}"
