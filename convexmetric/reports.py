"""Results as tables for people and as JSON for programs."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.table import Table

from convexmetric.audit import Audit
from convexmetric.checker import Verdict
from convexmetric.datasets.reading import ENVIRONMENT_VARIABLE
from convexmetric.instances import Instance
from convexmetric.solution import Solution

__all__ = [
    "audit_record",
    "audit_table",
    "instance_record",
    "instances_table",
    "solution_record",
    "solution_table",
    "verdict_record",
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
    passes = "oracle passes" if solution.solver.startswith("cutting-planes") else "iterations"
    table.add_row("lower bound", _digits(solution.lower_bound, solution.gap, ROUND_FLOOR))
    table.add_row("upper bound", _digits(solution.upper_bound, solution.gap, ROUND_CEILING))
    table.add_row("relative gap", f"{solution.gap:.2e}   (tol {solution.tol:.0e})")
    table.add_row("status", f"{solution.status}, by {solution.solver}")
    table.add_row(passes, str(solution.iterations))
    table.add_row("seconds", f"{solution.seconds:.2f}")
    table.add_row("rank", f"{solution.rank} of {solution.problem.cone.d}")
    return table


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
    }


def audit_table(verdict: Audit) -> Table:
    """Objective, certified bound and suboptimality."""
    table = _facts()
    table.add_row("objective", f"{verdict.objective:.10g}")
    if not verdict.feasible:
        table.add_row("objective, projected", f"{verdict.projected_objective:.10g}")
    table.add_row("certified optimum >=", f"{verdict.lower_bound:.10g}")
    table.add_row("suboptimality <=", f"{verdict.suboptimality:.3g}")
    where = "feasible" if verdict.feasible else "NOT feasible"
    table.add_row("smallest eigenvalue", f"{verdict.min_eigenvalue:.3g}   ({where})")
    return table


def verdict_record(file: str, verdict: Verdict, instance: str | None) -> dict[str, Any]:
    """What ``verify --json`` prints: bounds as rationals in text, null where nothing is proven."""
    return {
        "file": file,
        "accepted": verdict.accepted,
        "reason": verdict.reason,
        "lower": None if verdict.lower is None else str(verdict.lower),
        "upper": None if verdict.upper is None else str(verdict.upper),
        "claimed_lower": str(verdict.claimed[0]),
        "claimed_upper": str(verdict.claimed[1]),
        "title": verdict.title,
        "problem": verdict.problem,
        "description": verdict.description,
        "instance": instance,
        "seconds": verdict.seconds,
    }


def instance_record(instance: Instance) -> dict[str, Any]:
    """What ``list --json`` prints of one instance."""
    return {
        "name": instance.name,
        "title": instance.title,
        "method": instance.method,
        "data": instance.data["set"],
        "lower_bound": instance.lower_bound,
        "upper_bound": instance.upper_bound,
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
    for instance in instances:
        table.add_row(
            instance.name,
            instance.method,
            instance.data["set"] + (" *" if instance.needs_data_folder else ""),
            _digits(instance.lower_bound, instance.gap, ROUND_FLOOR),
            _digits(instance.upper_bound, instance.gap, ROUND_CEILING),
        )
    return table


def _facts() -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 3, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(no_wrap=True)
    return table


def _digits(bound: float, gap: float, rounding: str) -> str:
    """``bound`` with two digits beyond those that a relative gap leaves equal, rounded so that it stays a bound."""
    equal = int(np.ceil(-np.log10(gap))) if 0.0 < gap < 1.0 else 0 if gap >= 1.0 else 14
    context = Context(prec=min(max(equal + 2, 6), 16), rounding=rounding)
    return f"{context.create_decimal_from_float(bound):g}"


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
