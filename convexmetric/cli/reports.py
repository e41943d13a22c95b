"""Results as tables for people and as JSON for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.table import Table

from convexmetric.audits import Audit
from convexmetric.certificates import Verdict
from convexmetric.certificates.checker import decimal
from convexmetric.selection import PairedScores, Validation
from convexmetric.selection.records import Tabled
from convexmetric.solution import Solution
from convexmetric.solvers import Explanation

if TYPE_CHECKING:
    from pathlib import Path

    from convexmetric.cli.fitting import Fitted


def solution_record(name: str, solution: Solution) -> dict[str, Any]:
    """Record that ``solve --json`` prints; numbers that are not finite become null."""
    return {
        "name": name,
        "status": solution.status,
        "solver": solution.solver,
        "tol": solution.tol,
        "lower_bound": finite(solution.lower_bound),
        "upper_bound": finite(solution.upper_bound),
        "gap": finite(solution.gap),
        "iterations": solution.iterations,
        "seconds": solution.seconds,
        "rank": solution.rank,
    }


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
    """Record that ``fit --json`` prints; what was not asked for, or could not be had, is null."""
    path, scores = fitted.path, fitted.held_out
    return solution_record(file, fitted.solution) | {
        "method": fitted.method,
        "columns": list(fitted.data.extras["columns"]),
        "settings": fitted.all_settings,
        "kept": fitted.kept,
        "choice": None if path is None else _path_record(path),
        "held_out": None
        if scores is None
        else {
            "accuracy": paired_record(scores.accuracy),
            "retrieval": paired_record(scores.retrieval),
            "lda": {"accuracy": scores.accuracy.lda, "retrieval": scores.retrieval.lda},
            "planned_folds": scores.planned,
            **{name: getattr(scores, name) for name in ("n_neighbors", "folds", "copies", "rows", "seconds")},
        },
        "recommendation": fitted.recommendation,
    }


def _path_record(path: Validation) -> dict[str, Any]:
    return {
        "names": list(path.settings),
        "chosen": list(path.settings.values()),
        "tried": [list(one) for one in path.candidates],
        "mean": path.mean().tolist(),
        "gaps": [finite(float(np.max(gaps))) for gaps in path.gaps],
        "rows": path.rows,
        "seconds": path.seconds,
    }


def paired_record(scores: PairedScores) -> dict[str, Any]:
    """Record of paired scores and their test; numbers that are not finite become null."""
    return {
        "before": scores.before.tolist(),
        "after": scores.after.tolist(),
        "difference": scores.difference,
        "standard_error": finite(scores.standard_error),
        "p_value": finite(scores.p_value),
        "verdict": scores.verdict,
    }


def figures_table(result: Tabled) -> Table:
    """Table of candidates or of comparisons: a name, numbers and a remark in every row."""
    name, *numbers, remark = result.columns
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column(name, overflow="fold")
    for heading in numbers:
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column(remark)
    for row in result.cells():
        table.add_row(*row)
    return table


def explanation_record(name: str, explanation: Explanation) -> dict[str, Any]:
    """Record that ``explain --json`` prints; what was not measured or is not known is null."""
    steps, others = (
        [{"solver": step.name, "why": step.why} for step in found] for found in (explanation.steps, explanation.others)
    )
    return {
        "name": name,
        "title": explanation.title,
        "chosen": explanation.chosen,
        "steps": steps,
        "others": others,
        "pass_seconds": explanation.pass_seconds,
        "memory": explanation.memory,
    }


def audit_record(name: str, file: str, verdict: Audit) -> dict[str, Any]:
    """Record that ``audit --json`` prints; numbers that are not finite become null."""
    return {
        "name": name,
        "file": file,
        "objective": finite(verdict.objective),
        "projected_objective": finite(verdict.projected_objective),
        "lower_bound": finite(verdict.lower_bound),
        "suboptimality": finite(verdict.suboptimality),
        "min_eigenvalue": finite(verdict.min_eigenvalue),
        "feasible": verdict.feasible,
        "verdict": verdict.verdict,
        "reference_gap": finite(verdict.reference_gap),
        "risk": finite(verdict.risk),
        "penalty": finite(verdict.penalty),
        "hard_margins": verdict.hard_margins,
        "scale": _plain(verdict.scale),
        "subspace": None if verdict.subspace is None else _plain(verdict.subspace),
        "worst": [_plain(part) for part in verdict.worst],
    }


def audit_table(verdict: Audit) -> Table:
    """Table of an audit: objective, certified bound, suboptimality, scale and range."""
    table = facts()
    for name, value in verdict.rows():
        table.add_row(name, value)
    return table


def verdict_record(
    files: Sequence[Path], verdict: Verdict, instance: str | None, deviation: float | None
) -> dict[str, Any]:
    """Record that ``verify --json`` prints: bounds as rationals in text, null where nothing is proven.

    Decimals are texts rounded outward, so that they are bounds too.
    """
    lower, upper = verdict.lower, verdict.upper
    return {
        "files": [str(file) for file in files],
        "accepted": verdict.accepted,
        "reason": verdict.reason,
        "lower": None if lower is None else str(lower),
        "upper": None if upper is None else str(upper),
        "lower_decimal": None if lower is None else decimal(lower, -1),
        "upper_decimal": None if upper is None else decimal(upper, 1),
        "gap": finite(verdict.gap),
        "claimed_lower": str(verdict.claimed[0]),
        "claimed_upper": str(verdict.claimed[1]),
        "title": verdict.title,
        "problem": verdict.problem,
        "description": verdict.description,
        "sizes": verdict.sizes,
        "sha256": verdict.sha256,
        "instance": instance,
        "deviation": deviation,
        "seconds": verdict.seconds,
    }


def worst_table(verdict: Audit) -> Table:
    """Table of the parts of the risk that cost most beyond the reference."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    beside = verdict.subspace is not None
    table.add_column("costs most beyond the reference" if beside else "costs most", no_wrap=True)
    for heading in ("loss", "reference") if beside else ("loss",):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("its worst comparison")
    for part in verdict.worst:
        losses = (part.loss, part.reference_loss) if beside else (part.loss,)
        table.add_row(part.name, *(f"{loss:.4g}" for loss in losses), part.comparison)
    return table


def facts() -> Table:
    """Return an empty table of names and values."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 3, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(no_wrap=True)
    return table


def digits(bound: float, gap: float, rounding: str) -> str:
    """Format ``bound`` with two digits beyond those that the relative gap fixes, rounded so that it stays a bound."""
    equal = int(np.ceil(-np.log10(gap))) if 0.0 < gap < 1.0 else 0 if gap >= 1.0 else 14
    context = Context(prec=min(max(equal + 2, 6), 16), rounding=rounding)
    return f"{context.create_decimal_from_float(bound):g}"


def _plain(record: Any) -> dict[str, Any]:
    """Convert a dataclass of numbers, words and arrays to a dictionary for JSON."""
    plain: dict[str, Any] = {}
    for field in fields(record):
        value = getattr(record, field.name)
        if isinstance(value, np.ndarray):
            value = [finite(entry) for entry in value.ravel()]
        elif isinstance(value, float):
            value = finite(value)
        plain[field.name] = value
    return plain


def finite(value: float) -> float | None:
    """Return a number as JSON has it: null where it is not finite."""
    return float(value) if np.isfinite(value) else None
