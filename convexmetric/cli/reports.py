"""Results as tables for people and as JSON for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.table import Table

from convexmetric.audits import Audit
from convexmetric.bench import GAPS, STATUSES, AuditTrail, Instance, Run, solve_times
from convexmetric.certificates import Verdict
from convexmetric.certificates.checker import decimal
from convexmetric.datasets.reading import ENVIRONMENT_VARIABLE
from convexmetric.solution import Solution
from convexmetric.solvers import Explanation

if TYPE_CHECKING:
    from pathlib import Path

    from convexmetric.cli.fitting import Fitted
    from convexmetric.estimators import AdapterPath, HeldOut, HeldOutQueries, NeighborPath, PairedScores, WeightPath

__all__ = [
    "adapter_table",
    "audit_record",
    "audit_table",
    "benchmark_markdown",
    "benchmark_table",
    "digits",
    "explanation_record",
    "fit_record",
    "held_out_queries_table",
    "held_out_table",
    "instance_record",
    "instances_table",
    "path_table",
    "run_record",
    "solution_record",
    "solution_table",
    "trail_record",
    "trail_table",
    "verdict_record",
    "worst_table",
]


def solution_record(name: str, solution: Solution) -> dict[str, Any]:
    """What ``solve --json`` prints; numbers that are not finite become null."""
    return {
        "name": name,
        "status": solution.status,
        "solver": solution.solver,
        "tol": solution.tol,
        "lower_bound": _finite(solution.lower_bound),
        "upper_bound": _finite(solution.upper_bound),
        "gap": _finite(solution.gap),
        "iterations": solution.iterations,
        "seconds": solution.seconds,
        "rank": solution.rank,
    }


def solution_table(solution: Solution) -> Table:
    """Bounds to the digit where they part and two more, and how they were reached."""
    table = _facts()
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
    """What ``fit --json`` prints; what was not asked for, or could not be had, is null."""
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
            "accuracy": _paired_record(scores.accuracy),
            "retrieval": _paired_record(scores.retrieval),
            "lda": dict(zip(("accuracy", "retrieval"), scores.lda, strict=True)),
            "n_neighbors": scores.n_neighbors,
            "folds": scores.folds,
            "planned_folds": scores.planned,
            "copies": scores.copies,
            "rows": scores.rows,
            "seconds": scores.seconds,
        },
        "recommendation": fitted.recommendation,
    }


def _path_record(path: NeighborPath | WeightPath) -> dict[str, Any]:
    return {
        "names": list(path.settings),
        "chosen": list(path.settings.values()),
        "tried": [list(one) for one in path.candidates],
        "mean": path.mean.tolist(),
        "gaps": [_finite(float(np.max(gaps))) for gaps in path.gaps],
        "rows": path.rows,
        "seconds": path.seconds,
    }


def _paired_record(scores: PairedScores) -> dict[str, Any]:
    return {
        "before": scores.before.tolist(),
        "after": scores.after.tolist(),
        "difference": scores.difference,
        "standard_error": _finite(scores.standard_error),
        "p_value": _finite(scores.p_value),
        "verdict": scores.verdict,
    }


def path_table(path: NeighborPath | WeightPath) -> Table:
    """What was tried, with the scores of held-out rows."""
    return _figures((" and ".join(path.settings), "score", ""), path.cells())


def held_out_table(scores: HeldOut) -> Table:
    """Scores of held-out rows before and after, with verdicts."""
    from convexmetric.estimators.held_out_rows import COLUMNS

    return _figures(("score", *COLUMNS), scores.cells())


def adapter_table(path: AdapterPath) -> Table:
    """Losses and weights that were tried, with their scores."""
    return _figures(("loss and weight", path.measure, "largest gap", ""), path.cells())


def held_out_queries_table(scores: HeldOutQueries) -> Table:
    """Scores of held-out queries before and after, with their tests."""
    from convexmetric.retrieval.adapter import COLUMNS

    return _figures(("measure", *COLUMNS), scores.cells())


def _figures(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """A name, numbers and a remark in every row."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column(heading[0], overflow="fold")
    for name in heading[1:-1]:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column(heading[-1])
    for row in rows:
        table.add_row(*row)
    return table


def explanation_record(name: str, explanation: Explanation) -> dict[str, Any]:
    """What ``explain --json`` prints; what was not measured or is not known is null."""
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
    """What ``audit --json`` prints; numbers that are not finite become null."""
    return {
        "name": name,
        "file": file,
        "objective": _finite(verdict.objective),
        "projected_objective": _finite(verdict.projected_objective),
        "lower_bound": _finite(verdict.lower_bound),
        "suboptimality": _finite(verdict.suboptimality),
        "min_eigenvalue": _finite(verdict.min_eigenvalue),
        "feasible": verdict.feasible,
        "verdict": verdict.verdict,
        "own_bound": _finite(verdict.own_bound),
        "own_gap": _finite(verdict.own_gap),
        "reference_gap": _finite(verdict.reference_gap),
        "risk": _finite(verdict.risk),
        "penalty": _finite(verdict.penalty),
        "asymmetry": verdict.asymmetry,
        "hard_margins": verdict.hard_margins,
        "comparisons_share": _finite(verdict.comparisons_share),
        "scale": _plain(verdict.scale),
        "conditions": None if verdict.conditions is None else _plain(verdict.conditions),
        "subspace": None if verdict.subspace is None else _plain(verdict.subspace),
        "worst": [_plain(part) for part in verdict.worst],
    }


def audit_table(verdict: Audit) -> Table:
    """Objective, certified bound and suboptimality, and what the optimality conditions say."""
    table = _facts()
    for name, value in verdict.rows():
        table.add_row(name, value)
    return table


def verdict_record(
    files: Sequence[Path], verdict: Verdict, instance: str | None, deviation: float | None
) -> dict[str, Any]:
    """What ``verify --json`` prints: bounds as rationals in text, null where nothing is proven.

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
        "gap": _finite(verdict.gap),
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
    """The parts of the risk that cost most beyond the reference."""
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


def trail_record(name: str, file: str, trail: AuditTrail) -> dict[str, Any]:
    """What ``audit --iterates --json`` prints; numbers that are not finite become null."""
    return {
        "name": name,
        "file": file,
        "lower_bound": _finite(trail.lower_bound),
        "reference_gap": _finite(trail.reference_gap),
        "error": trail.error,
        "seconds": [_finite(value) for value in trail.seconds],
        trail.unit: [_finite(value) for value in trail.passes],
        "objectives": [_finite(value) for value in trail.objectives],
        "suboptimality": [_finite(value) for value in trail.suboptimality],
        "violations": [_finite(value) for value in trail.violations],
    }


def trail_table(trail: AuditTrail) -> Table:
    """First and last iterate, the best one, and when it first came within some distances of the optimum."""
    table = _facts()
    for name, value in trail.rows():
        table.add_row(name, value)
    return table


def instance_record(instance: Instance) -> dict[str, Any]:
    """What ``list --json`` prints of one instance."""
    return {
        "name": instance.name,
        "title": instance.title,
        "method": instance.method,
        "data": instance.data["set"],
        "lower_bound": instance.lower_bound,
        "upper_bound": instance.upper_bound,
        "grade": instance.grade,
        "needs_data_folder": instance.needs_data_folder,
    }


def instances_table(instances: list[Instance]) -> Table:
    """All instances with their certified bounds; a star marks data that do not come with the package."""
    starred = any(instance.needs_data_folder for instance in instances)
    table = Table(
        box=SIMPLE_HEAD,
        pad_edge=False,
        caption=f"* from the data folder ({ENVIRONMENT_VARIABLE}) or, for UCI sets, the network" if starred else None,
        caption_justify="left",
    )
    # In a narrow terminal names fold; digits stay together.
    table.add_column("name", overflow="fold")
    table.add_column("method", overflow="fold")
    table.add_column("data", overflow="fold")
    table.add_column("lower bound", justify="right", no_wrap=True)
    table.add_column("upper bound", justify="right", no_wrap=True)
    table.add_column("grade", no_wrap=True)
    for instance in instances:
        table.add_row(
            instance.name,
            instance.method,
            instance.data["set"] + (" *" if instance.needs_data_folder else ""),
            digits(instance.lower_bound, instance.gap, ROUND_FLOOR),
            digits(instance.upper_bound, instance.gap, ROUND_CEILING),
            instance.grade,
        )
    return table


def run_record(run: Run) -> dict[str, Any]:
    """What ``bench --json`` prints of one run; numbers that are not finite become null."""
    record = asdict(run)
    record["reached"] = {f"{gap:.0e}": seconds for gap, seconds in zip(GAPS, run.reached, strict=True)}
    record["reached"] = {gap: _finite(seconds) for gap, seconds in record["reached"].items()}
    return {name: _finite(value) if isinstance(value, float) else value for name, value in record.items()}


def benchmark_table(runs: Sequence[Run]) -> Table:
    """How many runs of each solver ended how, the seconds of those that are optimal, and the largest memory."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("solver", overflow="fold")
    for name in (*STATUSES, "median seconds", "peak MB"):
        table.add_column(name, justify="right", no_wrap=True)
    for solver in dict.fromkeys(run.solver for run in runs):
        own = [run for run in runs if run.solver == solver]
        seconds = [run.seconds for run in own if run.status == "optimal"]
        counts = [str(sum(run.status == status for run in own) or "-") for status in STATUSES]
        median = f"{np.median(seconds):.3g}" if seconds else "-"
        table.add_row(solver, *counts, median, f"{max(run.peak_mb for run in own):.0f}")
    return table


def benchmark_markdown(runs: Sequence[Run], tol: float | None = None) -> str:
    """Seconds of each solver to a relative gap, instance by instance, as a Markdown table.

    Where the gap was not reached stands how the run ended, with the gap that was.
    """
    times = solve_times(runs, tol)
    lines = [f"| instance | {' | '.join(times.solvers)} |", f"| --- |{' ---: |' * len(times.solvers)}"]
    for name, row in zip(times.instances, times.seconds, strict=True):
        cells = []
        for solver, seconds in zip(times.solvers, row, strict=True):
            run = times.runs[name, solver]
            if np.isfinite(seconds):
                cells.append(f"{seconds:.2g}" if seconds < 10.0 else f"{seconds:.1f}")
            elif run.status == "unsupported":
                cells.append("-")
            else:
                cells.append(run.status + (f" ({run.gap:.0e})" if run.gap < 1.0 else ""))
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _facts() -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 3, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(no_wrap=True)
    return table


def digits(bound: float, gap: float, rounding: str) -> str:
    """``bound`` with two digits beyond those that a relative gap leaves equal, rounded so that it stays a bound."""
    equal = int(np.ceil(-np.log10(gap))) if 0.0 < gap < 1.0 else 0 if gap >= 1.0 else 14
    context = Context(prec=min(max(equal + 2, 6), 16), rounding=rounding)
    return f"{context.create_decimal_from_float(bound):g}"


def _plain(record: Any) -> dict[str, Any]:
    """The fields of a dataclass of numbers, words and arrays."""
    plain: dict[str, Any] = {}
    for field in fields(record):
        value = getattr(record, field.name)
        if isinstance(value, np.ndarray):
            value = [_finite(entry) for entry in value.ravel()]
        elif isinstance(value, float):
            value = _finite(value)
        plain[field.name] = value
    return plain


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
