"""What is known of a run at any time: the gaps it has reached, and the best objective on a grid of times."""

from __future__ import annotations

from bisect import bisect_left
from contextlib import suppress
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from convexmetric.bench.processes import START_UP, Channel
from convexmetric.bench.records import GAPS, CurvePoint, Run
from convexmetric.bench.traces import Recorder, TimeIsUpError
from convexmetric.certificates import relative_gap
from convexmetric.problem import MetricProblem

#: Grid times a decade, and the first.
A_DECADE, FIRST = 8, 1e-3
#: Seconds between two reports of a run; it reports at once when its gap reaches the next of ``GAPS``.
REPORT_EVERY = 0.1
#: Seconds of judging that a callable has for free; beyond them judging may take as long as the callable itself.
FREE_SECONDS = 1.0


def time_grid(limit: float) -> list[float]:
    """Times ``10^(k/8)`` from a millisecond to the limit, to three digits, and the limit: runs share them."""
    count = int(np.ceil(A_DECADE * np.log10(max(limit, FIRST) / FIRST))) + 1
    times = [float(f"{FIRST * 10.0 ** (k / A_DECADE):.3g}") for k in range(count)]
    return [time for time in times if time < limit] + [limit]


class Watch:
    """The gaps of ``GAPS`` that a run has reached, and its curve; reports to the parent process."""

    def __init__(self, channel: Channel, asked: Run, bound: float) -> None:
        self.channel, self.asked, self.bound = channel, asked, bound
        self.reached, self.times = [np.inf] * len(GAPS), time_grid(asked.max_seconds)
        self.points: list[CurvePoint] = []
        self._first, self._last = 0, -np.inf

    def note(self, seconds: float, iterations: int, objective: float, lower: float, own: bool) -> float:
        """Note the best objective and the best lower bound at a time; ``own``: the bound is the solver's.

        Returns the gap of the two.
        """
        gap = relative_gap(objective, lower)
        new = [k for k, wanted in enumerate(GAPS) if gap <= wanted and self.reached[k] == np.inf]
        for k in new:
            self.reached[k] = seconds
        place = self._next(seconds)
        if place < len(self.times):
            state = objective, gap if own else np.inf, relative_gap(objective, self.bound)
            self.points[place - self._first :] = [(self.times[place], *state)]
        if new or seconds >= self._last + REPORT_EVERY:
            self._last = seconds
            found: dict[str, Any] = {"lower_bound": lower, "upper_bound": objective, "seconds": seconds}
            found |= {"reached": tuple(self.reached), "curve": tuple(self.points), "iterations": iterations}
            self.channel.report(replace(self.asked, status="limit", **found))
        return gap

    def due(self, seconds: float) -> bool:
        """Whether nothing is known yet of the grid time that comes after ``seconds``."""
        return self._first + len(self.points) <= self._next(seconds) < len(self.times)

    def _next(self, seconds: float) -> int:
        """Number of the grid time that comes after ``seconds``; carries the last state over those before."""
        place = max(bisect_left(self.times, seconds), self._first + len(self.points) - 1)
        self._first = self._first if self.points else place
        carried = self.times[self._first + len(self.points) : place]
        self.points += [(time, *self.points[-1][1:]) for time in carried]
        return place


class Judge(Recorder):
    """Recorder of a callable in a process of its own: reports what it shows, and ends it at the gap asked for.

    All iterates are judged while that takes no longer than the solver itself (and a second); beyond, the first after
    each time of the grid is, and the last one. The time limit does not run meanwhile.
    """

    def __init__(self, problem: MetricProblem, watch: Watch) -> None:
        self.watch, self.shown, self._told = watch, 0, 0.0
        self._pending: tuple[float, ArrayLike, float | None] | None = None
        super().__init__(problem, watch.asked.max_seconds)

    def judge(self, now: float, M: ArrayLike, passes: float | None) -> None:
        """Judge an iterate that is due, keep another until the next one."""
        self.shown += 1
        if self.judging > now + FREE_SECONDS and not self.watch.due(now):
            self._pending = now, np.array(M, copy=True), passes
        else:
            self._judged(now, M, passes)

    def finish(self) -> None:
        """Judge the last iterate, if that was not done."""
        if self._pending is not None:
            with suppress(TimeIsUpError):
                self._judged(*self._pending)

    def _judged(self, now: float, M: ArrayLike, passes: float | None) -> None:
        self._pending = None
        start = perf_counter()
        self.watch.channel.extend(START_UP)
        try:
            super().judge(now, M, passes)
        finally:
            # With what was spent beside evaluations, such as on reports: the solver's clock stood still then as well.
            spent = self.judging + perf_counter() - start - self._told
            self.watch.channel.extend(spent - START_UP)
            self._told += spent
        gap = self.watch.note(now, self.shown, self.best, self.watch.bound, own=False)
        if gap <= self.watch.asked.tol:
            raise TimeIsUpError
