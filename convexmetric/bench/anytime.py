"""Progress of a run over time: the gaps it has reached, and the best objective on a grid of times."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import replace
from typing import Any

import numpy as np

from convexmetric.bench.processes import Channel
from convexmetric.bench.records import GAPS, CurvePoint, Run
from convexmetric.certificates import relative_gap

#: Grid times a decade, and the first.
A_DECADE, FIRST = 8, 1e-3
#: Seconds between two reports of a run; it reports at once when its gap reaches the next of ``GAPS``.
REPORT_EVERY = 0.1


def time_grid(limit: float) -> list[float]:
    """Times ``10^(k/8)`` from a millisecond to the limit, to three digits, and the limit; the same for all runs."""
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
            self.channel.report(self.run(seconds, iterations, objective, lower, "limit"))
        return gap

    def run(
        self, seconds: float, iterations: int, objective: float, lower: float, status: str, message: str = ""
    ) -> Run:
        """Make the record of the run so far."""
        found: dict[str, Any] = {"lower_bound": lower, "upper_bound": objective, "seconds": seconds}
        found |= {"reached": tuple(self.reached), "curve": tuple(self.points), "iterations": iterations}
        return replace(self.asked, status=status, message=message, **found)

    def due(self, seconds: float) -> bool:
        """Whether the grid time after ``seconds`` has no entry yet."""
        return self._first + len(self.points) <= self._next(seconds) < len(self.times)

    def _next(self, seconds: float) -> int:
        """Return the number of the grid time after ``seconds``; earlier times get the last state."""
        place = max(bisect_left(self.times, seconds), self._first + len(self.points) - 1)
        self._first = self._first if self.points else place
        carried = self.times[self._first + len(self.points) : place]
        self.points += [(time, *self.points[-1][1:]) for time in carried]
        return place
