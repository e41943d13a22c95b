"""Instances, runs and trails as tables for people and as JSON for programs."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR
from typing import Any

import numpy as np
from rich.table import Table

from convexmetric.bench.library import Instance
from convexmetric.bench.records import STATUSES, Run, solve_times
from convexmetric.cli.reports import attributes, columned, digits
from convexmetric.datasets.reading import ENVIRONMENT_VARIABLE
from convexmetric.notebooks import printable


def instance_record(instance: Instance) -> dict[str, Any]:
    """Record of one instance that ``list --json`` prints."""
    return {
        **attributes(instance, "name", "title", "statement"),
        "data": instance.data["set"],
        **attributes(instance, "lower_bound", "upper_bound", "grade", "open", "needs_data_folder"),
    }


def instances_table(instances: list[Instance]) -> Table:
    """Table of all instances with their certified bounds; a star marks data that do not come with the package."""
    starred = any(instance.needs_data_folder for instance in instances)
    caption = f"* from the data folder ({ENVIRONMENT_VARIABLE}) or, for UCI sets, the network" if starred else None
    table = columned(("name", "statement", "data"), ("lower bound", "upper bound"), "grade", caption=caption)
    table.columns[-1].no_wrap = True
    for instance in instances:
        table.add_row(
            instance.name,
            instance.statement,
            instance.data["set"] + (" *" if instance.needs_data_folder else ""),
            *_bounds_and_grade(instance),
        )
    return table


def instances_text(instances: list[Instance]) -> str:
    """The same as lines: a name, and below what is known of it."""
    lines = []
    for instance in instances:
        lower, upper, grade = _bounds_and_grade(instance)
        lines += [instance.name, f"    {lower} to {upper}, {grade}, {instance.data['set']}"]
    return "\n".join(lines)


def _bounds_and_grade(instance: Instance) -> tuple[str, str, str]:
    lower = digits(instance.lower_bound, instance.gap, ROUND_FLOOR)
    upper = digits(instance.upper_bound, instance.gap, ROUND_CEILING)
    return lower, upper, "open" if instance.open else instance.grade


def benchmark_table(runs: Sequence[Run]) -> Table:
    """Table of runs by solver: numbers by status, seconds of the optimal ones, and the largest memory."""
    table = columned("solver", (*STATUSES, "median seconds", "peak MB"))
    for solver in dict.fromkeys(run.solver for run in runs):
        own = [run for run in runs if run.solver == solver]
        seconds = [run.seconds for run in own if run.status == "optimal"]
        counts = [str(sum(run.status == status for run in own) or "-") for status in STATUSES]
        median = f"{np.median(seconds):.3g}" if seconds else "-"
        table.add_row(solver, *counts, median, f"{max(run.peak_mb for run in own):.0f}")
    return table


def benchmark_markdown(runs: Sequence[Run], tol: float | None = None) -> str:
    """Seconds of each solver to a relative gap, instance by instance, as a Markdown table.

    Cells of runs that did not reach the gap have their status and final gap.
    """
    times = solve_times(runs, tol)
    lines = [f"| instance | {' | '.join(map(_cell, times.solvers))} |", f"| --- |{' ---: |' * len(times.solvers)}"]
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
        lines.append(f"| `{_cell(name)}` | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _cell(name: str) -> str:
    """A name as a cell of Markdown, which files of others may have made."""
    return printable(" ".join(name.split()).replace("|", r"\|"))
