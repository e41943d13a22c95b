"""Which solvers the default takes for which problem, in which order, and why: one table.

The default (:class:`~convexmetric.solvers.Exact`), :func:`~convexmetric.explain` and the table of
``docs/choosing-a-solver.md`` are made from it. A route is taken where its condition holds and its solver can be
prepared for the problem's forms; where two orders could be defended, ``benchmarks/bench_routes.py`` decided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from convexmetric.errors import InputError, UnsupportedProblemError
from convexmetric.problem import MetricProblem
from convexmetric.risks import LabelledPairRisk, PairwiseRisk, Reason, SeparableRisk, SmoothRisk
from convexmetric.risks.query import QueryRisk
from convexmetric.solvers.conic import Conic
from convexmetric.solvers.cuts import CuttingPlanes, SampledCuttingPlanes
from convexmetric.solvers.explicit import AugmentedLagrangian, DualAscent, InteriorPoint
from convexmetric.solvers.pair_losses import DualNewton, FactoredLagrangian
from convexmetric.solvers.pairwise import SemismoothNewton, SmoothedLowRank, SmoothedNewton
from convexmetric.solvers.pairwise.nearby import RARE_POSITIVES, positives_are_rare
from convexmetric.solvers.runtime import Run, Solver
from convexmetric.solvers.runtime.machine import too_large
from convexmetric.solvers.runtime.requirements import need_diagonal_metrics, risk_as, squared_norm
from convexmetric.solvers.smooth import LowRankNewton, ProximalGradient

__all__ = ["ADVICE", "ROUTES", "Leg", "Route", "legs", "refusal", "routes_table"]

#: What to do about a problem that none can solve.
ADVICE = (
    "what to do: soft margins (finite weights) with a trace or a squared Frobenius norm can be solved at any size; "
    "other problems only while they are small enough to write out in CVXPY, so take fewer comparisons or features"
)


@dataclass(frozen=True)
class Route:
    """One line of the table.

    Attributes
    ----------
    solver : Solver
        With the settings that the default takes.
    risk, penalty, size : str
        What it is taken for, in words; the forms that the solver asks for are the solver's business.
    why : str
        Why there.
    taken : callable
        Whether a problem whose forms fit is of that size; a reason if not.
    last_resort : bool
        Whether it is taken only where nothing else is.
    """

    solver: Solver
    risk: str
    penalty: str
    size: str
    why: str
    taken: Callable[[MetricProblem], Reason | None] = lambda problem: None
    last_resort: bool = False


@dataclass(frozen=True)
class Leg:
    """A route with what becomes of it for one problem: a run that is ready to go, or the reason why it is not taken."""

    route: Route
    run: Run | Reason


def _fewer_than_coordinates(share: float) -> Callable[[MetricProblem], Reason | None]:
    def taken(problem: MetricProblem) -> Reason | None:
        crowded = problem.risk.parts > share * problem.cone.size
        least = "a metric has coordinates" if share == 1.0 else f"{share:g} of the coordinates of a metric"
        return Reason(f"it has more comparisons than {least}") if crowded else None

    return taken


def _both(*conditions: Callable[[MetricProblem], Reason | None]) -> Callable[[MetricProblem], Reason | None]:
    def taken(problem: MetricProblem) -> Reason | None:
        return next((reason for condition in conditions if (reason := condition(problem)) is not None), None)

    return taken


def _many_for_a_form(problem: MetricProblem) -> Reason | None:
    few = isinstance(problem.quadratic(), np.ndarray) and problem.risk.parts < MANY_COMPARISONS
    return Reason(f"it has a quadratic form and fewer than {MANY_COMPARISONS:,} comparisons") if few else None


def _few_weights(problem: MetricProblem) -> Reason | None:
    """For cutting planes before semismooth Newton."""
    risk_as(problem, PairwiseRisk)
    need_diagonal_metrics(problem)
    squared_norm(problem)
    return Reason(f"it has more than {FEW_WEIGHTS} features") if problem.cone.d > FEW_WEIGHTS else None


def _many_pairs(problem: MetricProblem) -> Reason | None:
    risk = risk_as(problem, PairwiseRisk)
    pairs = int(risk.pairs.sum())
    if pairs < MANY_PAIRS * min(problem.cone.size, LOW_RANK * problem.cone.d):
        return Reason(f"it has fewer than {MANY_PAIRS:,} pairs for each coordinate of a metric of low rank")
    return Reason(f"it has fewer than {PAIRS_A_QUERY:,} pairs a query") if pairs < PAIRS_A_QUERY * risk.parts else None


def _more_coordinates(least: int) -> Callable[[MetricProblem], Reason | None]:
    def taken(problem: MetricProblem) -> Reason | None:
        few = problem.cone.size <= least
        return Reason(f"it has at most {least} coordinates") if few else None

    return taken


def _pairs_held(problem: MetricProblem) -> Reason | None:
    risk = problem.risk.form(LabelledPairRisk)
    if isinstance(risk, Reason) or risk.parts <= HELD_POINTS:
        return None
    return Reason(f"it would hold matrices of all pairs of more than {HELD_POINTS:,} points")


def _rare_positives(problem: MetricProblem) -> Reason | None:
    risk = risk_as(problem, PairwiseRisk)
    return (
        None
        if positives_are_rare(risk)
        else Reason(f"more than {RARE_POSITIVES:.1%} of the items of its queries are near ones")
    )


def _long_pass(problem: MetricProblem) -> Reason | None:
    risk = risk_as(problem, QueryRisk)
    if isinstance(risk, SmoothRisk):
        return Reason("its losses are smooth")
    if problem.cone.size > LONG_PASS_COORDINATES:
        return Reason(f"its metric has more than {LONG_PASS_COORDINATES:,} coordinates")
    few = int(risk.rankings.sizes.sum()) < LONG_PASS
    return Reason(f"a pass over it goes through fewer than {LONG_PASS:,} distances") if few else None


def _other_penalty(problem: MetricProblem) -> Reason | None:
    risk_as(problem, SeparableRisk)
    return None if problem.quadratic() is None else Reason("its penalty is linear or quadratic")


def _barrier_or_other_penalty(problem: MetricProblem) -> Reason | None:
    if problem.risk.barrier or problem.quadratic() is None:
        return None
    return Reason("its penalty is quadratic")


def _can_be_stated(problem: MetricProblem) -> Reason | None:
    if problem.risk.parts > STATED_PARTS or problem.cone.size > STATED_COORDINATES:
        return Reason("its statement is too large to write out")
    try:
        problem.statement()
    except InputError as error:
        return Reason(str(error))
    return None


#: Sizes up to which a statement is left to a conic solver where nothing else fits.
STATED_PARTS, STATED_COORDINATES = 20_000, 2_000
#: Comparisons from which steps on a few of them pay beside a quadratic form, whose coordinates may differ in scale.
MANY_COMPARISONS = 4_000
#: Features up to which the masters of cutting planes are a matter of milliseconds.
FEW_WEIGHTS = 200
#: Pairs for a coordinate of the metric from which the path of smoothed hinges does not end early: where fewer hinges
#: are on the kink than there are coordinates, steps get short.
MANY_PAIRS = 5_000
#: Coordinates up to which a matrix with a row for each is nothing to a pass, and up to which it costs less than a
#: factor that has to find its rank.
NEWTON_COORDINATES, FEW_COORDINATES = 700, 100
#: Coordinates up to which masters of cutting planes on large margins take less than samples and lists of pairs save.
MASTER_COORDINATES = 500
#: Rank of a metric of many features, for that: a metric of fewer has no more coordinates.
LOW_RANK = 20
#: Pairs a query below which cutting planes are as fast.
PAIRS_A_QUERY = 2_000

#: Points up to which matrices of all their pairs are held: half a gigabyte each.
HELD_POINTS = 8_000
#: Distances in a pass from which most passes had better be over a sample: a second or so.
LONG_PASS = 25_000_000
#: Coordinates up to which masters take no longer than passes over the sample.
LONG_PASS_COORDINATES = 2_500

ROUTES: tuple[Route, ...] = (
    Route(
        AugmentedLagrangian(), "listed comparisons, soft margins", "diagonal, quadratic",
        f"any; with a quadratic form that is not a squared norm {MANY_COMPARISONS:,} comparisons or more",
        "Newton steps by products alone; of many comparisons most steps see those near their kink", _many_for_a_form,
    ),
    Route(
        DualAscent(max_steps=600), "listed comparisons, soft margins", "squared norm",
        "no more comparisons than coordinates",
        "products with few comparisons are cheap and the dual is well conditioned; it gets 600 steps",
        _fewer_than_coordinates(1.0),
    ),
    Route(
        DualNewton(), "listed pairs", "full, Frobenius norm, squared or not",
        "up to a quarter as many pairs as coordinates",
        "its linear systems have a row for each pair; with more pairs its steps get short",
        _fewer_than_coordinates(0.25),
    ),
    Route(
        FactoredLagrangian(), "pairs, listed or all", "full, Frobenius norm, squared or not, or trace",
        f"any; all pairs of up to {HELD_POINTS:,} points",
        "it decomposes a matrix of the size of the metric only once a round", _pairs_held,
    ),
    Route(
        InteriorPoint(), "listed comparisons, soft or hard margins", "linear or quadratic", "rows of up to 2 GiB",
        "some thirty steps to full accuracy, whatever the margins",
    ),
    Route(
        CuttingPlanes(), "hinges over near and far items", "diagonal, squared norm",
        f"up to {FEW_WEIGHTS} features", "passes over diagonal metrics are cheap, and so are its masters", _few_weights,
    ),
    Route(
        SmoothedLowRank(), "hinges over a few near and many far items (large margins)", "full, trace",
        f"up to {RARE_POSITIVES:.1%} near items, more than {MASTER_COORDINATES} coordinates",
        "after samples of the queries most passes are over the few pairs that can have a slope",
        _both(_rare_positives, _more_coordinates(MASTER_COORDINATES)),
    ),
    Route(
        SmoothedNewton(most=NEWTON_COORDINATES), "hinges over a few near and many far items (large margins)", "trace",
        f"up to {NEWTON_COORDINATES} coordinates, {MANY_PAIRS:,} pairs or more for each",
        "the same for diagonal metrics", _both(_rare_positives, _many_pairs),
    ),
    Route(
        SampledCuttingPlanes(), "rankings, soft margins; hinges over near and far items", "linear plus squared norm",
        f"{LONG_PASS:,} distances a pass or more, up to {LONG_PASS_COORDINATES:,} coordinates",
        "most passes are over a sample of the queries, some ten over all of them", _long_pass,
    ),
    Route(
        SemismoothNewton(), "hinges over near and far items (triplets, AUC)", "squared norm", "any",
        "tens of passes whatever the number of pairs, and Newton steps make the last digits cheap",
    ),
    Route(
        SmoothedLowRank(), "AUC and other hinges over near and far items", "full, trace",
        f"more than {FEW_COORDINATES} coordinates; {MANY_PAIRS:,} pairs or more for each, or for each entry of "
        f"{LOW_RANK} rows, {PAIRS_A_QUERY:,} a query",
        "tens of passes, and it works on a factor of low rank", _both(_more_coordinates(FEW_COORDINATES), _many_pairs),
    ),
    Route(
        SmoothedNewton(most=NEWTON_COORDINATES), "AUC and other hinges over near and far items", "trace",
        f"up to {NEWTON_COORDINATES} coordinates; {MANY_PAIRS:,} pairs or more for each, and {PAIRS_A_QUERY:,} a query",
        "tens of passes whatever C; its matrix has a row for each coordinate", _many_pairs,
    ),
    Route(
        LowRankNewton(), "smooth losses", "full, trace", "any", "the optimum has a low rank",
    ),
    Route(
        ProximalGradient(), "smooth losses", "linear plus squared norm", "any", "a step is a pass and a projection",
    ),
    Route(
        DualAscent(max_steps=2_000), "listed comparisons, also with losses that are infinite somewhere",
        "strictly convex: log-determinant, or a squared norm where losses are infinite somewhere", "any",
        "the conjugates are closed forms, and a step costs as little as a pass; it gets 2,000 steps",
        _barrier_or_other_penalty,
    ),
    Route(
        Conic(), "listed comparisons", "neither linear nor quadratic: other norms, constraints and terms of your own",
        "any", "one conic program, which needs no cuts", _other_penalty,
    ),
    Route(
        CuttingPlanes(), "any with supporting planes: all rankings, soft margins",
        "any; with a conic master unless it is linear, quadratic or a log-determinant", "any",
        "it needs only supporting planes, and finishes what the others leave",
    ),
    Route(
        Conic(), "any that can be written out", "any",
        f"up to {STATED_PARTS:,} parts and {STATED_COORDINATES:,} coordinates",
        "the last resort: the textbook statement, every constraint written out", _can_be_stated, last_resort=True,
    ),
)  # fmt: skip


def legs(problem: MetricProblem, routes: tuple[Route, ...] = ROUTES) -> list[Leg]:
    """Every route, with its run for this problem or the reason why it is not taken."""
    found: list[Leg] = []
    taken: list[Solver] = []
    for route in routes:
        leg = Leg(route, _leg(route, problem, taken))
        if not isinstance(leg.run, Reason):
            taken.append(route.solver)
        found.append(leg)
    return found


def _leg(route: Route, problem: MetricProblem, taken: list[Solver]) -> Run | Reason:
    """The run of a route after those that are taken, or why there is none."""
    if route.solver in taken:
        return Reason("it is taken already")
    if route.last_resort and taken:
        return Reason("others can solve the problem")
    try:
        run = route.solver.prepare(problem)
        return route.taken(problem) or too_large(problem, route.solver) or run
    except UnsupportedProblemError as error:
        return Reason(error)


def refusal(prepared: Iterable[tuple[str, Run | Reason]]) -> Reason:
    """Why none of some solvers, by their names, can solve a problem, each reason once, and what to do about it."""
    said: dict[str, list[str]] = {}
    for name, found in prepared:
        names = said.setdefault(str(found), [])
        if name not in names:
            names.append(name)
    return Reason("; ".join([*(f"{reason} ({', '.join(names)})" for reason, names in said.items()), ADVICE]))


def routes_table(routes: tuple[Route, ...] = ROUTES) -> str:
    """The table in Markdown, for the documentation."""
    lines = ["| solver | risk | metrics and regularizer | size | why there |", "|---|---|---|---|---|"]
    for route in routes:
        solver = f"{{class}}`{route.solver.name} <convexmetric.solvers.{type(route.solver).__name__}>`"
        lines.append(f"| {solver} | {route.risk} | {route.penalty} | {route.size} | {route.why} |")
    return "\n".join(lines) + "\n"
