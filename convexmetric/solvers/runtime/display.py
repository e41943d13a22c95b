"""A progress bar for solves: how far the certified gap has closed, on a logarithmic scale."""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from convexmetric.solution import Progress as SolveProgress


class ProgressBar:
    """Shows iteration, bounds and gap; the bar is full when the gap reaches ``tol``."""

    def __init__(self, tol: float, console: Console | None = None) -> None:
        self._digits = max(-np.log10(tol), 1e-9)
        self._progress = Progress(
            TextColumn("pass {task.fields[iteration]:>4}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[lower]:.7g} .. {task.fields[upper]:.7g}  gap {task.fields[gap]:.1e}"),
            TimeElapsedColumn(),
            console=console or Console(stderr=True),
        )
        self._task = self._progress.add_task(
            "solve", total=self._digits, iteration=0, lower=-np.inf, upper=np.inf, gap=np.inf
        )

    def __enter__(self) -> ProgressBar:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def say(self, text: str) -> None:
        """Print above the bar."""
        self._progress.console.print(text, markup=False, highlight=False, soft_wrap=True)

    def update(self, progress: SolveProgress) -> None:
        """Move the bar to the gap reached."""
        digits = self._digits if progress.gap <= 0.0 else -np.log10(progress.gap)
        self._progress.update(
            self._task,
            completed=float(np.clip(digits, 0.0, self._digits)),
            iteration=progress.iteration,
            lower=progress.lower_bound,
            upper=progress.upper_bound,
            gap=max(0.0, progress.gap),
        )
