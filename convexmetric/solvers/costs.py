"""Costs of a solve, estimated beforehand: seconds of a pass, by a short measurement, and memory of its solver."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from time import perf_counter

from convexmetric.numerics.threads import shared_cores
from convexmetric.problem import MetricProblem
from convexmetric.solvers.cuts import SampledCuttingPlanes
from convexmetric.solvers.routes import LONG_PASS_COORDINATES, Candidate, Candidates, Route
from convexmetric.solvers.runtime import Solver
from convexmetric.solvers.runtime.baselines import some_parts
from convexmetric.solvers.runtime.memory import readable_bytes

#: Characters of a line.
WIDTH = 118
#: Seconds of an evaluation of some parts that is long enough to extrapolate; parts at first, and their growth factor.
LONG_ENOUGH, FEW_PARTS, GROWTH = 0.05, 16, 4
#: Seconds up to which a whole evaluation is repeated: the first one may have loaded compiled code.
SHORT = 1.0
#: Distances in a pass from which a solve may take minutes, and seconds from which one is long.
MANY_DISTANCES, LONG_SOLVE = 25_000_000, 120.0
#: Evaluations of the objective that a solve usually takes to a certified gap of 1e-3: medians of 75 to 160 with most
#: solvers of rankings, and of hinges over positives and negatives.
USUAL_PASSES = 100
#: Share of a time limit that may go into measuring a pass.
MEASURING_SHARE = 0.02

#: Route that is put first where the table's first solver would have no certificate within the time limit.
COARSE = Route(
    SampledCuttingPlanes(least=250), "rankings, soft margins; hinges over positives and negatives",
    "linear plus squared norm",
    f"a time limit too short for what comes after it, up to {LONG_PASS_COORDINATES:,} coordinates",
    "a coarse certificate within the limit, from a sample of the queries",
)  # fmt: skip


def pass_seconds(problem: MetricProblem, enough: float = LONG_ENOUGH) -> float:
    """Seconds of one evaluation of the objective at the Euclidean metric.

    Measured on more and more of the parts until that takes ``enough`` seconds, and scaled to all of them by the last
    two; all parts are evaluated where that is short, or the risk is not taken apart.
    """
    parts = problem.risk.parts
    with shared_cores():
        count = min(FEW_PARTS, parts)
        some = some_parts(problem, count)
        if some is None:
            taken = _evaluation(problem)
            return min(taken, _evaluation(problem)) if taken < SHORT else taken
        # The first evaluation loads compiled code.
        _evaluation(some)
        before, now = (0, 0.0), (count, _evaluation(some))
        while now[1] < enough and now[0] < parts:
            count = min(GROWTH * count, parts)
            before, now = now, (count, _evaluation(some_parts(problem, count) or problem))
    slope = max(0.0, now[1] - before[1]) / (now[0] - before[0])
    return now[1] + slope * (parts - now[0])


def _evaluation(problem: MetricProblem) -> float:
    identity = problem.cone.identity()
    start = perf_counter()
    problem.value(identity)
    return perf_counter() - start


@dataclass(frozen=True)
class Costs:
    """Estimated costs of a solve, in words when printed.

    Attributes
    ----------
    solver : str or None
        The solver that begins, by name; None if there is none.
    pass_seconds, memory
        See :class:`~convexmetric.solvers.Explanation`.
    """

    solver: str | None
    pass_seconds: float | None
    memory: float | None

    def __str__(self) -> str:
        known = []
        if self.pass_seconds is not None:
            known.append(f"one evaluation of the objective takes {_seconds(self.pass_seconds)} (measured)")
        if self.memory is not None:
            known.append(f"{self.solver} needs about {readable_bytes(self.memory)} beside the data (estimated)")
        return "; ".join(known)


def costs_of(problem: MetricProblem, solver: Solver | None, measure: bool = True) -> Costs:
    """Estimate the costs of a solve that begins with a solver; without ``measure`` only its memory."""
    seconds = pass_seconds(problem) if measure else None
    return Costs(None, seconds, None) if solver is None else Costs(solver.name, seconds, solver.memory(problem))


def long_solve(problem: MetricProblem) -> str | None:
    """Text of the warning for a solve whose usual number of passes takes minutes; None for others."""
    if problem.risk.distances < MANY_DISTANCES:
        return None
    seconds = pass_seconds(problem)
    if USUAL_PASSES * seconds < LONG_SOLVE:
        return None
    return (
        f"this solve will take long: {USUAL_PASSES} evaluations of the objective, a usual number, take "
        f"{_seconds(USUAL_PASSES * seconds)}. max_seconds=... returns the best certified metric by then"
    )


def _seconds(seconds: float) -> str:
    """Format seconds with two digits, in h, min, s or ms."""
    for least, unit in ((3.6e3, "h"), (60.0, "min"), (1.0, "s")):
        if seconds >= 1.5 * least:
            return f"{seconds / least:.2g} {unit}"
    return f"{seconds:.2g} s" if seconds >= 0.1 else f"{1e3 * seconds:.2g} ms"


def candidates_within(found: Candidates, max_seconds: float | None) -> Iterable[Candidate]:
    """The candidates, after cutting planes on a small sample where the first is too slow for a time limit.

    Too slow means that ``USUAL_PASSES`` passes take longer than the limit. Where metrics have many coordinates, masters
    and not passes take the time, and a sample gains nothing. Nothing is measured where there is no limit, or where
    queries cannot be sampled.
    """
    if max_seconds is None or found.problem.cone.size > LONG_PASS_COORDINATES:
        return found
    (coarse,) = Candidates(found.problem, (COARSE,))
    if coarse.run is None or all(candidate.run is None for candidate in found):
        return found
    seconds = pass_seconds(found.problem, min(LONG_ENOUGH, MEASURING_SHARE * max_seconds))
    return chain([coarse], found) if USUAL_PASSES * seconds > max_seconds else found
