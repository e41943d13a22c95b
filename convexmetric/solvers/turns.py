"""Solvers that take turns on one problem: the one that is expected to end first runs, until another one is.

What is expected of a solver is its forecast, as long as it has not run for longer; then that it takes as long again as
it has taken, or less where the certified gap falls in time. All of them offer to one monitor, so that none starts from
nothing, and one that was left goes on where it stood. Forecasts are wrong by a factor of two or so, and to change
solvers has its price: another one begins where it is expected to take half as long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import dropwhile
from time import perf_counter, process_time

import numpy as np

from convexmetric.errors import SolverError
from convexmetric.numerics import compiling
from convexmetric.solution import Turn
from convexmetric.solvers.runtime import Details, Monitor, Run, Steps

#: Another solver begins where it is expected to take less than this share of the time that the current one needs.
PAYS = 0.5
#: What makes one solver take longer than its forecast, a slow machine or a hard problem, does so to others too: by this
#: power of the factor.
LATE = 1 / 3
#: Seconds of a turn, at least: clocks are not the same twice, and small problems should have the same answer twice.
LEAST_TURN = 0.2
#: The gap may close suddenly, but an expectation by its fall is no shorter than this share of the time taken so far.
SHORTEST = 0.3


@dataclass
class Runner:
    """A solver that takes turns.

    Attributes
    ----------
    name : str
    run : Run
        Prepared, not begun.
    forecast : float
        Seconds that it is expected to take.
    """

    name: str
    run: Run
    forecast: float
    steps: Iterator[Details] | None = field(default=None, init=False)
    #: Seconds taken, and the gaps at which they were.
    taken: float = field(default=0.0, init=False)
    path: list[tuple[float, float]] = field(default_factory=list, init=False)
    #: What it set on the monitor: the unit of its iterations, and what it would leave in a checkpoint.
    settings: tuple[str, Callable[[], dict[str, np.ndarray]]] = field(default=("iterations", dict), init=False)

    def step(self, monitor: Monitor) -> Details:
        """Take a step.

        Raises
        ------
        StopIteration
            If it gains nothing more.
        SolverError
            If it breaks down.
        """
        wall, processor, compiled = perf_counter(), process_time(), compiling.seconds
        monitor.solver, (monitor.unit, monitor.state) = self.name, self.settings
        if self.steps is None:
            self.steps = iter(self.run(monitor) or ())
        try:
            return next(self.steps)
        finally:
            # On a busy machine the clock on the wall counts what others do, with threads the processor's each of them.
            taken = min(perf_counter() - wall, process_time() - processor)
            # Loops are compiled once, whoever needs them first, which says nothing of a solver.
            self.taken += max(0.0, taken - (compiling.seconds - compiled))
            # Gaps of 1 and more, up to infinity, are of lower bounds that say nothing yet.
            self.path.append((self.taken, min(monitor.gap, 1.0)))
            self.settings = monitor.unit, monitor.state

    def expected(self, tol: float) -> float:
        """Seconds that it still needs."""
        usual = max(self.forecast - self.taken, self.taken)
        if len(self.path) < 2:
            return usual
        # The fall of the gap over the last half of its time.
        now, gap = self.path[-1]
        before, larger = next((at for at in reversed(self.path) if at[0] <= 0.5 * now), self.path[0])
        if not gap < larger:
            return usual
        by_fall = (now - before) * np.log(max(gap / tol, 1.0)) / np.log(larger / gap)
        return min(usual, max(float(by_fall), SHORTEST * self.taken))


def take_turns(runners: Sequence[Runner], monitor: Monitor, in_order: bool = False) -> Steps:
    """Run solvers in turns, by what is expected of them, or ``in_order``, each to its end.

    One that breaks down leaves the rest to the others. A resumed solve goes on with the solver that left the
    checkpoint; in order, those before it are over.
    """
    left = list(runners)
    if in_order:
        left = [*dropwhile(lambda each: each.name != monitor.resumed_from, left)] or left
    failed: SolverError | np.linalg.LinAlgError | None = None
    while left:
        # The solver that left the checkpoint; otherwise the one that is expected to end first.
        order = [(each.name != monitor.resumed_from, each.expected(monitor.tol)) for each in left]
        current = left[0 if in_order else order.index(min(order))]
        gap, taken = monitor.gap, current.taken
        try:
            while True:
                yield current.step(monitor)
                if not in_order and current.taken - taken > LEAST_TURN and _pays(current, left, monitor.tol):
                    break
        except StopIteration:
            left.remove(current)
            failed = None
        except (SolverError, np.linalg.LinAlgError) as error:
            left.remove(current)
            failed = error
        finally:
            monitor.turns.append(Turn(current.name, current.taken - taken, gap, monitor.gap))
        monitor.resumed_from = ""
    if failed is not None:
        raise failed


def _pays(current: Runner, left: Sequence[Runner], tol: float) -> bool:
    """Whether another solver is expected to end so much sooner that a change pays."""
    late = max(1.0, current.taken / current.forecast) ** LATE if current.forecast else 1.0
    needed = PAYS * current.expected(tol)
    return any(each.expected(tol) * (1.0 if each.taken else late) < needed for each in left if each is not current)
