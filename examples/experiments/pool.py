"""Experiments in processes of their own, each result kept as soon as it is known."""

from __future__ import annotations

import multiprocessing
import os
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

import convexmetric as cm
from experiments.results import Results

__all__ = ["Task", "run_missing"]

#: Where the result goes, under which settings, the function, and its arguments.
Task = tuple[Results, dict[str, Any], Callable[..., dict[str, Any]], dict[str, Any]]


def run_missing(tasks: Iterable[Task], jobs: int, threads: int = 1) -> None:
    """Run the tasks without a result, ``jobs`` at a time with so many threads each."""
    missing = [task for task in tasks if task[0].get(task[1]) is None]
    if not missing:
        return
    # Processes started from now on read these; libraries loaded here have read them already.
    for name in ("OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ[name] = str(threads)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    context = multiprocessing.get_context("spawn")
    with (
        Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=Console(stderr=True)) as progress,
        ProcessPoolExecutor(jobs, mp_context=context, initializer=_quiet) as pool,
    ):
        bar = progress.add_task("experiments", total=len(missing))
        pending = {
            pool.submit(function, **arguments): (results, settings)
            for results, settings, function, arguments in missing
        }
        try:
            for future in as_completed(pending):
                results, settings = pending[future]
                results.add(settings, future.result())
                progress.update(bar, advance=1, description=" ".join(str(v) for v in list(settings.values())[:3]))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _quiet() -> None:
    """Gaps are in the tables."""
    warnings.simplefilter("ignore", cm.errors.GapWarning)
