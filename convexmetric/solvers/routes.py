"""The table of solvers that the default takes for each kind of problem, in order and with the reasons.

The default (:class:`~convexmetric.solvers.Exact`), :func:`~convexmetric.explain` and the table of
``docs/solving.md`` are made from it. A route is taken if its solver can be prepared for the problem and the problem
meets the route's further conditions. Where two orders were defensible, ``benchmarks/bench_routes.py`` decided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from convexmetric import risks
from convexmetric.errors import InputError, UnsupportedProblemError
from convexmetric.problem import MetricProblem
from convexmetric.solvers.conic import Conic
from convexmetric.solvers.cuts import CuttingPlanes, SampledCuttingPlanes
from convexmetric.solvers.explicit import ADMM, AugmentedLagrangian, DualAscent, InteriorPoint
from convexmetric.solvers.pair_losses import DualNewton, FactoredLagrangian
from convexmetric.solvers.pairwise import SemismoothNewton, SmoothedLowRank, SmoothedNewton
from convexmetric.solvers.pairwise.nearby import RARE_POSITIVES, positives_are_rare
from convexmetric.solvers.runtime import Run, Solver
from convexmetric.solvers.runtime import requirements as require
from convexmetric.solvers.runtime.requirements import need
from convexmetric.solvers.smooth import LowRankNewton, ProximalGradient

#: Advice for a problem that no solver can handle.
ADVICE = (
    "what to do: soft margins (finite weights) with a trace or a squared Frobenius norm can be solved at any size; "
    "other problems only while they are small enough to write out in CVXPY, so take fewer comparisons or features"
)

#: A function of the problem that raises :class:`UnsupportedProblemError` with a clause.
Need = Callable[[MetricProblem], object]


@dataclass(frozen=True)
class Route:
    """One line of the table; a solver chosen by the user gets a line without texts and conditions.

    Attributes
    ----------
    solver : Solver
        With the settings that the default takes.
    risk, penalty, size : str
        Problems that the solver is taken for, in words.
    why : str
        Reason for its place in the table.
    needs : tuple
        Conditions of the table, checked in this order after those that the solver's own ``prepare`` checks.
    last_resort : bool
        Whether it is taken only if no other route is.
    """

    solver: Solver
    risk: str = ""
    penalty: str = ""
    size: str = ""
    why: str = ""
    needs: tuple[Need, ...] = ()
    last_resort: bool = False


@dataclass(frozen=True)
class Candidate:
    """A route applied to one problem: a run that is ready to go, or the reason why it is not taken."""

    route: Route
    run: Run | None
    reason: str = ""


def _fewer_than_coordinates(share: float) -> Need:
    def few(problem: MetricProblem) -> None:
        most = "a metric has coordinates" if share == 1.0 else f"{share:g} of the coordinates of a metric"
        need(problem.risk.parts <= share * problem.cone.size, f"it has more comparisons than {most}")

    return few


def _few_weights(problem: MetricProblem) -> None:
    problem.risk.form(risks.PairwiseRisk)
    need(problem.cone.d <= FEW_WEIGHTS, f"it has more than {FEW_WEIGHTS} features")


def _many_for_a_form(problem: MetricProblem) -> None:
    form = isinstance(problem.quadratic(), np.ndarray)
    reason = f"it has a quadratic form and fewer than {MANY_COMPARISONS:,} comparisons"
    need(not form or problem.risk.parts >= MANY_COMPARISONS, reason)


def _many_pairs(problem: MetricProblem) -> None:
    risk = problem.risk.form(risks.PairwiseRisk)
    pairs = int(risk.pairs.sum())
    need(pairs >= MANY_PAIRS * problem.cone.size, f"it has fewer than {MANY_PAIRS:,} pairs for each feature")
    need(pairs >= PAIRS_A_QUERY * risk.parts, f"it has fewer than {PAIRS_A_QUERY:,} pairs a query")


def _many_triplets(problem: MetricProblem) -> None:
    images = problem.risk.form(risks.ImageRisk)
    count, size = float(problem.risk.parts), float(problem.cone.size)
    need(not images.joint or count >= TRIPLETS_A_COORDINATE * size, "its triplets are few for the size of a metric")
    need(not images.joint or count * size * size >= LONG_STEP, "steps of an interior point on its triplets are short")


def _rare_positives(problem: MetricProblem) -> None:
    reason = f"more than {RARE_POSITIVES:.1%} of the items of its queries are positives"
    need(positives_are_rare(problem.risk.form(risks.PairwiseRisk)), reason)


def _long_pass(problem: MetricProblem) -> None:
    reason = f"its metric has more than {LONG_PASS_COORDINATES:,} coordinates"
    need(problem.cone.size <= LONG_PASS_COORDINATES, reason)
    risk = problem.risk.here()
    need(not risk.smooth, "its losses are smooth")
    need(risk.distances >= LONG_PASS, f"a pass over it goes through fewer than {LONG_PASS:,} distances")


def _other_penalty(problem: MetricProblem) -> None:
    problem.risk.form(risks.SeparableRisk)
    need(problem.quadratic() is None, "its penalty is linear or quadratic")


def _admm_pays(problem: MetricProblem) -> None:
    # A sum of risks always passes: its form as one risk of listed comparisons is another object.
    if problem.risk.form(risks.SeparableRisk) is problem.risk:
        _barrier_or_other_penalty(problem)


def _barrier_or_other_penalty(problem: MetricProblem) -> None:
    need(problem.risk.barrier or problem.quadratic() is None, "its penalty is quadratic")


def _can_be_stated(problem: MetricProblem) -> None:
    small = problem.risk.parts <= STATED_PARTS and problem.cone.size <= STATED_COORDINATES
    need(small, "its statement is too large to write out")
    try:
        problem.statement()
    except InputError as error:
        raise UnsupportedProblemError(str(error)) from error


#: Sizes up to which a statement is left to a conic solver where nothing else fits.
STATED_PARTS, STATED_COORDINATES = 20_000, 2_000
#: Comparisons from which steps on a few of them pay off with a quadratic form, whose coordinates may differ in scale.
MANY_COMPARISONS = 4_000
#: Features up to which the masters of cutting planes are a matter of milliseconds.
FEW_WEIGHTS = 200
#: Pairs per weight from which the path of smoothed hinges does not end early: with fewer hinges on the kink than
#: weights, steps get short.
MANY_PAIRS = 5_000
#: Weights up to which a Newton matrix is cheap compared with a pass.
NEWTON_COORDINATES = 700
#: Pairs per query below which cutting planes are as fast as Newton methods.
PAIRS_A_QUERY = 2_000
#: Proximal steps until the rank of the optimum is known, and the rank up to which Newton steps on a factor pay.
RANK_STEPS, MOST_RANK = 20, 16

#: Multiplications of an interior-point step on triplets from which working on a factor is faster.
LONG_STEP = 5e8
#: Triplets per coordinate of the metric below which working on a factor converges slowly.
TRIPLETS_A_COORDINATE = 2.0
#: Distances in a pass, about a second of work, from which most passes should be over a sample.
LONG_PASS = 25_000_000
#: Coordinates up to which masters take no longer than passes over the sample.
LONG_PASS_COORDINATES = 6_000

ROUTES: tuple[Route, ...] = (
    Route(
        AugmentedLagrangian(), "listed comparisons, soft margins", "diagonal, quadratic",
        f"any; with a quadratic form that is not a squared norm {MANY_COMPARISONS:,} comparisons or more",
        "Newton steps by products alone; of many comparisons most steps see those near their kink",
        (_many_for_a_form,),
    ),
    Route(
        DualAscent(max_steps=600), "listed comparisons, soft margins", "squared norm",
        "no more comparisons than coordinates",
        "products with few comparisons are cheap and the dual is well conditioned; it gets 600 steps",
        (_fewer_than_coordinates(1.0),),
    ),
    Route(
        DualNewton(), "listed pairs", "full, Frobenius norm, squared or not",
        "up to a quarter as many pairs as coordinates",
        "its linear systems have a row for each pair; with more pairs its steps get short",
        (_fewer_than_coordinates(0.25),),
    ),
    Route(
        FactoredLagrangian(), "pairs, listed or all; listed triplets", "full, Frobenius norm, squared or not, or trace",
        f"any; {TRIPLETS_A_COORDINATE:g} triplets a coordinate, if steps of an interior point would be long",
        "it decomposes a metric only once a round; of all pairs of many points rounds see a sample",
        (_many_triplets,),
    ),
    Route(
        InteriorPoint(), "listed comparisons, soft or hard margins", "linear or quadratic", "rows of up to 2 GiB",
        "some thirty steps to full accuracy, whatever the margins",
    ),
    Route(
        CuttingPlanes(), "hinges over positives and negatives", "diagonal, squared norm",
        f"up to {FEW_WEIGHTS} features", "passes over diagonal metrics are cheap, and so are its masters",
        (_few_weights, require.need_diagonal_metrics, require.squared_norm),
    ),
    Route(
        SmoothedLowRank(), "hinges over a few positives and many negatives (large margins)", "full, trace",
        f"up to {RARE_POSITIVES:.1%} positives",
        "after samples of the queries most passes are over the few pairs that can have a slope",
        (_rare_positives,),
    ),
    Route(
        SmoothedNewton(most=NEWTON_COORDINATES), "large margins, AUC and other hinges over positives and negatives",
        "diagonal, trace",
        f"up to {NEWTON_COORDINATES} features; {MANY_PAIRS:,} pairs or more for each, and {PAIRS_A_QUERY:,} a query",
        "tens of passes whatever C; its matrix has a row for each feature",
        (require.need_diagonal_metrics, _many_pairs),
    ),
    Route(
        SampledCuttingPlanes(), "rankings, soft margins; hinges over positives and negatives",
        "linear plus squared norm",
        f"{LONG_PASS:,} distances a pass or more, up to {LONG_PASS_COORDINATES:,} coordinates",
        "most passes are over a sample of the queries, some ten over all of them",
        (_long_pass,),
    ),
    Route(
        SemismoothNewton(), "hinges over positives and negatives (triplets, AUC)", "squared norm", "any",
        "tens of passes whatever the number of pairs, and Newton steps make the last digits cheap",
    ),
    Route(
        SmoothedLowRank(), "AUC and other hinges over positives and negatives", "full, trace", "any",
        "tens of passes whatever C, and it works on a factor of low rank",
    ),
    Route(
        ProximalGradient(max_steps=RANK_STEPS), "smooth losses", "full, trace", "any",
        f"after {RANK_STEPS} steps its metric has the rank of the optimum",
        (require.need_full_metrics, require.need_linear_penalty),
    ),
    Route(
        LowRankNewton(most_rank=MOST_RANK), "smooth losses", "full, trace", f"optima of rank {MOST_RANK} or less",
        "Newton steps on a factor of few rows; with more, conjugate gradients take long",
    ),
    Route(
        ProximalGradient(), "smooth losses", "any with a proximal map", "any", "a step is a pass and a projection",
    ),
    Route(
        DualAscent(max_steps=2_000), "listed comparisons, also with losses that are infinite somewhere",
        "strictly convex: log-determinant, or a squared norm where losses are infinite somewhere", "any",
        "the conjugates are closed forms, and a step costs as little as a pass; it gets 2,000 steps",
        (_barrier_or_other_penalty,),
    ),
    Route(
        ADMM(), "listed comparisons, also with losses that are infinite somewhere; sums of risks of them",
        "neither linear nor quadratic: sums of entries, distances to a prior, budgets; any where losses are infinite, "
        "and for sums",
        "any", "a step is a projection and a proximal map of each part; a conic program takes ten times as long",
        (_admm_pays,),
    ),
    Route(
        Conic(), "listed comparisons", "constraints and terms of your own, and what is left of others",
        "any", "one conic program, which needs no cuts", (_other_penalty,),
    ),
    Route(
        CuttingPlanes(), "any with supporting planes: all rankings, soft margins",
        "any; with a conic master unless it is linear, quadratic or a log-determinant", "any",
        "it needs only supporting planes, and finishes what the others leave",
    ),
    Route(
        Conic(), "any that can be written out", "any",
        f"up to {STATED_PARTS:,} parts and {STATED_COORDINATES:,} coordinates",
        "the last resort: the textbook statement, every constraint written out", (_can_be_stated,), last_resort=True,
    ),
)  # fmt: skip


class Candidates:
    """The routes applied to one problem: lazily, in order, and only once each.

    It may be iterated again, but iterations must not be nested.
    """

    def __init__(self, problem: MetricProblem, routes: Iterable[Route] = ROUTES) -> None:
        self.problem = problem
        self._left, self._found = iter(routes), list[Candidate]()

    def __iter__(self) -> Iterator[Candidate]:
        yield from self._found
        for route in self._left:
            self._found.append(self._applied(route))
            yield self._found[-1]

    def _applied(self, route: Route) -> Candidate:
        try:
            return Candidate(route, self._prepared(route))
        except UnsupportedProblemError as error:
            return Candidate(route, None, str(error))

    def _prepared(self, route: Route) -> Run:
        taken = [candidate.route.solver for candidate in self._found if candidate.run is not None]
        need(route.solver not in taken, "it is taken already")
        need(not (route.last_resort and taken), "others can solve the problem")
        run = route.solver.prepare(self.problem)
        for one in route.needs:
            one(self.problem)
        require.check_memory(self.problem, route.solver)
        return run


def refusal(found: Iterable[Candidate]) -> str:
    """Return the message for a problem that no candidate can solve: each reason once, and advice."""
    said: dict[str, dict[str, None]] = {}
    for candidate in found:
        said.setdefault(candidate.reason, {})[candidate.route.solver.name] = None
    return "; ".join([*(f"{reason} ({', '.join(names)})" for reason, names in said.items()), ADVICE])
