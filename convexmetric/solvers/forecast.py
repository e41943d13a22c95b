"""What a solve will cost: the seconds of a pass, measured in a moment, times what recorded solves of its shape took.

``costs.json`` has what solves of the default cost, in evaluations of their objective, so that it carries over between
machines; ``benchmarks/record_costs.py`` makes it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from textwrap import fill
from time import perf_counter

import numpy as np

from convexmetric.problem import MetricProblem
from convexmetric.risks import LabelledPairRisk, Reason
from convexmetric.risks.query import QueryRisk
from convexmetric.solvers.cuts import SampledCuttingPlanes
from convexmetric.solvers.routes import LONG_PASS_COORDINATES, Leg, Route, legs
from convexmetric.solvers.run import Solver
from convexmetric.solvers.run.machine import readable_bytes
from convexmetric.solvers.run.simple import some_parts
from convexmetric.threads import shared_cores

__all__ = [
    "GAPS",
    "WIDTH",
    "Costs",
    "Record",
    "costs_of",
    "forecast",
    "legs_within",
    "long_solve",
    "nearest",
    "pass_seconds",
    "records",
]

#: Characters of a line.
WIDTH = 118
#: Certified gaps to which costs are recorded and forecast.
GAPS = (1e-1, 1e-2, 1e-3, 1e-6)
#: The gap to which the first solver should come within a time limit.
COARSE_GAP = 1e-3
#: Records of which a forecast is made.
NEAREST = 6
#: What another risk counts for in the distance of a record, and the distance from which it says nothing.
OTHER_RISK, FARTHEST = float(np.log(10.0)), float(np.log(100.0))
#: Seconds of an evaluation of some parts from which those of all are known; parts at first, and how their number grows.
LONG_ENOUGH, FEW_PARTS, GROWTH = 0.05, 16, 4
#: Seconds of a whole evaluation up to which it is made once more, now that compiled code is loaded.
SHORT = 1.0
#: Distances in a pass from which a solve may take minutes, seconds from which one is long, and passes of any solve.
MANY_DISTANCES, LONG_SOLVE, FEWEST_PASSES = 25_000_000, 120.0, 10
#: Share of a time limit that may go into measuring a pass.
MEASURING_SHARE = 0.02

#: What comes first where the table's first solver has no certificate to show in time.
COARSE = Route(
    SampledCuttingPlanes(least=250), "rankings, soft margins; hinges over near and far items",
    "linear plus squared norm",
    f"a time limit too short for what comes after it, up to {LONG_PASS_COORDINATES:,} coordinates",
    "a coarse certificate within the limit, from a sample of the queries",
)  # fmt: skip


@dataclass(frozen=True)
class Record:
    """What a solve cost.

    Attributes
    ----------
    risk : str
        Its risk in words.
    parts, coordinates : int
        Of the risk and of the metric.
    evaluations : tuple of float or None
        Time to each gap of ``GAPS`` in evaluations of the objective; None of one that it did not reach.
    """

    risk: str
    parts: int
    coordinates: int
    evaluations: tuple[float | None, ...]

    def distance(self, problem: MetricProblem) -> float:
        """By how much a problem is of another shape: the logarithms of the factors in size, added up."""
        parts, coordinates = problem.risk.parts / self.parts, problem.cone.size / self.coordinates
        away = abs(np.log(parts)) + abs(np.log(coordinates))
        return float(away) + (0.0 if self.risk == problem.risk.words else OTHER_RISK)


@cache
def records() -> dict[str, tuple[Record, ...]]:
    """The records of every solver, by its name."""
    table = json.loads(files("convexmetric.solvers").joinpath("costs.json").read_text(encoding="utf-8"))
    return {
        solver: tuple(
            Record(risk, parts, coordinates, tuple(evaluations))
            for risk, rows in risks.items()
            for parts, coordinates, *evaluations in rows
        )
        for solver, risks in table.items()
    }


def nearest(problem: MetricProblem, solver: str) -> list[Record]:
    """The few records of a solver that are nearest in shape, the nearest first; none that is far from it."""
    found = sorted(records().get(solver, ()), key=lambda record: record.distance(problem))
    return [record for record in found[:NEAREST] if record.distance(problem) <= FARTHEST]


def forecast(problem: MetricProblem, solver: str, pass_seconds: float) -> dict[float, tuple[float, float]]:
    """Seconds, least and most, that recorded solves of this shape took to each gap, at so many seconds a pass.

    The most is infinite where one of them did not reach the gap; a gap that most of them did not reach is left out.
    Empty where there are no records of that solver and shape that came to any gap.
    """
    near, found = nearest(problem, solver), {}
    for gap, costs in zip(GAPS, zip(*(record.evaluations for record in near), strict=True), strict=False):
        known = [cost for cost in costs if cost is not None]
        if 2 * len(known) > len(costs):
            most = max(known) if len(known) == len(costs) else np.inf
            found[gap] = pass_seconds * min(known), pass_seconds * most
    return found


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
    """What is known beforehand of a solve, for people when printed.

    Attributes
    ----------
    solver : str or None
        The solver that begins, by name; None if there is none.
    pass_seconds, memory, forecast
        As of an :class:`~convexmetric.Explanation`.
    """

    solver: str | None
    pass_seconds: float | None
    memory: float | None
    forecast: dict[float, tuple[float, float]]

    def __str__(self) -> str:
        known = []
        if self.pass_seconds is not None:
            known.append(f"one evaluation of the objective takes {_seconds(self.pass_seconds)} (measured)")
        if self.memory is not None:
            known.append(f"{self.solver} needs about {readable_bytes(self.memory)} beside the data (estimated)")
        lines = ["; ".join(known)] if known else []
        if self.forecast:
            ranges = (f"{_power(gap)} in {_range(*seconds)}" for gap, seconds in self.forecast.items())
            lines.append(
                fill(f"recorded solves of this shape, at this pace, to certified gaps: {', '.join(ranges)}", WIDTH)
            )
        elif self.pass_seconds is not None:
            lines.append("no solves of this shape are recorded: no forecast of time")
        return "\n".join(lines)


def costs_of(problem: MetricProblem, solver: Solver | None, measure: bool = True) -> Costs:
    """What a solve that begins with this solver will cost; without ``measure`` memory alone."""
    seconds = pass_seconds(problem) if measure else None
    if solver is None:
        return Costs(None, seconds, None, {})
    expected = {} if seconds is None else forecast(problem, solver.name, seconds)
    return Costs(solver.name, seconds, solver.memory(problem), expected)


def long_solve(problem: MetricProblem, solver: Solver, tol: float) -> str | None:
    """What to say of a solve that is forecast to take minutes; None of others, and small ones are not measured.

    The forecast is for the gap among ``GAPS`` that is nearest to ``tol`` from above. Where no solve of the shape is
    recorded it is ``FEWEST_PASSES`` passes.
    """
    if _distances(problem) < MANY_DISTANCES:
        return None
    seconds = pass_seconds(problem)
    found = forecast(problem, solver.name, seconds)
    gaps = [gap for gap in found if gap >= tol]
    least, most = found[gaps[-1]] if gaps else (FEWEST_PASSES * seconds, np.inf)
    if least < LONG_SOLVE:
        return None
    return (
        f"this solve is forecast to take {_range(least, most)} (an evaluation of the objective takes "
        f"{_seconds(seconds)}): max_seconds=... returns the best certified metric by then"
    )


def _distances(problem: MetricProblem) -> float:
    """Distances in a pass, or comparisons."""
    queries, labelled = problem.risk.form(QueryRisk), problem.risk.form(LabelledPairRisk)
    if not isinstance(queries, Reason):
        return float(queries.rankings.sizes.sum())
    return float(problem.risk.parts if isinstance(labelled, Reason) else labelled.count)


def _range(least: float, most: float) -> str:
    if most == np.inf:
        return f"{_seconds(least)} and more"
    first, last = _seconds(least), _seconds(most)
    return first if first == last else f"{first} to {last}"


def _seconds(seconds: float) -> str:
    """Two digits, in a unit that suits."""
    for least, unit in ((3.6e3, "h"), (60.0, "min"), (1.0, "s")):
        if seconds >= 1.5 * least:
            return f"{seconds / least:.2g} {unit}"
    return f"{seconds:.2g} s" if seconds >= 0.1 else f"{1e3 * seconds:.2g} ms"


def _power(gap: float) -> str:
    return f"1e{round(np.log10(gap))}"


def legs_within(problem: MetricProblem, max_seconds: float | None, found: list[Leg] | None = None) -> list[Leg]:
    """The legs of the default; cutting planes on a small sample before them where the first is too slow for a limit.

    It is where half of the recorded solves do not come to ``COARSE_GAP`` in time. Where metrics have many coordinates,
    masters and not passes take the time, and a sample gains nothing. Nothing is measured where there is no
    limit, or where queries cannot be sampled.
    """
    found = legs(problem) if found is None else found
    first = next((leg.route.solver for leg in found if not isinstance(leg.run, Reason)), None)
    if max_seconds is None or first is None or problem.cone.size > LONG_PASS_COORDINATES:
        return found
    run, near = COARSE.solver.prepare(problem), nearest(problem, first.name)
    if isinstance(run, Reason) or not near:
        return found
    costs = [record.evaluations[GAPS.index(COARSE_GAP)] or np.inf for record in near]
    seconds = pass_seconds(problem, min(LONG_ENOUGH, MEASURING_SHARE * max_seconds))
    return [Leg(COARSE, run), *found] if seconds * np.median(costs) > max_seconds else found
