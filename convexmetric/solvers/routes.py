"""The table of solvers that the default takes, with what each is good at.

The default (:class:`~convexmetric.solvers.Exact`), :func:`~convexmetric.explain` and the table of
``docs/solving.md`` are made from it. A route is taken if its solver can be prepared for the problem and the problem
meets the route's further conditions; in which order, forecasts decide (``forecasts.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
import scipy.sparse as sp

from convexmetric import risks
from convexmetric.errors import InputError, UnsupportedProblemError
from convexmetric.problem import MetricProblem
from convexmetric.solvers.conic import Conic
from convexmetric.solvers.cuts import CuttingPlanes, SampledCuttingPlanes
from convexmetric.solvers.explicit import ADMM, AugmentedLagrangian, DualAscent, InteriorPoint
from convexmetric.solvers.forecasts import FITTED_GAP, forecast
from convexmetric.solvers.pair_losses import DualNewton, FactoredLagrangian
from convexmetric.solvers.pairwise import SemismoothNewton, SmoothedLowRank, SmoothedNewton
from convexmetric.solvers.runtime import Run, Solver
from convexmetric.solvers.runtime import requirements as require
from convexmetric.solvers.runtime.costs import LONG_ENOUGH, USUAL_PASSES, pass_seconds
from convexmetric.solvers.runtime.requirements import has_linear_penalty, need
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
    risk, penalty : str
        Problems that the solver is taken for, in words.
    why : str
        Reason for its place in the table.
    needs : tuple
        Conditions of the table, checked in this order after those that the solver's own ``prepare`` checks.
    last_resort : bool
        Whether it is taken only if no other route is.
    leads : callable
        Whether it goes before all others for a problem and a time limit in seconds or None, whatever the forecasts.
    factor : callable
        Factor of its forecast for a problem that the sizes alone do not tell from others.
    """

    solver: Solver
    risk: str = ""
    penalty: str = ""
    why: str = ""
    needs: tuple[Need, ...] = ()
    last_resort: bool = False
    leads: Callable[[MetricProblem, float | None], bool] = lambda problem, limit: False
    factor: Callable[[MetricProblem], float] = lambda problem: 1.0

    def seconds(self, problem: MetricProblem, share: float | None, tol: float = FITTED_GAP) -> float:
        """Forecast of the solver's time on a problem to a gap of ``tol``; zero where it leads."""
        if self.leads(problem, None):
            return 0.0
        return self.factor(problem) * forecast(self.solver.name, problem, share, tol)


@dataclass(frozen=True)
class Candidate:
    """A route applied to one problem: a run that is ready to go, or the reason why it is not taken."""

    route: Route
    run: Run | None
    reason: str = ""


def _short_masters(problem: MetricProblem) -> None:
    need(problem.cone.size <= LONG_PASS_COORDINATES, f"its metric has more than {LONG_PASS_COORDINATES:,} coordinates")


def _long_pass(problem: MetricProblem) -> None:
    _short_masters(problem)
    risk = problem.risk.here()
    need(not risk.smooth, "its losses are smooth")
    need(risk.distances >= LONG_PASS, f"a pass over it goes through fewer than {LONG_PASS:,} distances")


def _other_penalty(problem: MetricProblem) -> None:
    problem.risk.form(risks.SeparableRisk)
    need(problem.quadratic() is None, "its penalty is linear or quadratic")


def _of_items(problem: MetricProblem) -> bool:
    """Whether full metrics act on items without features, one coordinate an item: a comparison has few entries."""
    sets, n = problem.risk.points, problem.cone.d
    if problem.cone.diagonal or problem.cone.free or not sets or any(X.shape != (n, n) for X in sets):
        return False
    return all(n == (X.nnz if sp.issparse(X) else np.count_nonzero(X)) for X in sets)


def _soft_or_of_items(problem: MetricProblem) -> None:
    if problem.risk.hard and not problem.risk.barrier:
        need(_of_items(problem), "its margins are hard constraints")
        problem.risk.form(risks.ListedHinges)
    # Multipliers of its last step are on the border of what proves a bound, where a certificate has no room.
    need(not problem.held_by_data_alone, "nothing but its data keeps metrics small")


def _can_be_stated(problem: MetricProblem) -> None:
    small = problem.risk.parts <= STATED_PARTS and problem.cone.size <= STATED_COORDINATES
    need(small, "its statement is too large to write out")
    try:
        problem.statement()
    except InputError as error:
        raise UnsupportedProblemError(str(error)) from error


def _passes_take_too_long(problem: MetricProblem, limit: float | None) -> bool:
    """Whether the usual number of passes takes longer than the time limit."""
    enough = LONG_ENOUGH if limit is None else min(LONG_ENOUGH, MEASURING_SHARE * limit)
    return limit is not None and USUAL_PASSES * pass_seconds(problem, enough) > limit


#: Sizes up to which a statement is left to a conic solver where nothing else fits.
STATED_PARTS, STATED_COORDINATES = 20_000, 2_000
#: Coordinates up to which a Newton matrix is built.
NEWTON_COORDINATES = 700
#: Share of its forecast that ADMM takes where comparisons have few entries: the best of 1 to 0.2 on 96 problems.
OF_ITEMS = 0.7
#: Multiple of its forecast that ADMM takes under a linear penalty: half the time on the 6 of 683 problems it decides.
UNDER_LINEAR = 1.3
#: Share of its forecast that semismooth Newton takes: the choice costs 1.08 in place of 1.12 on 53 problems.
OF_NEWTON = 0.9
#: Multiple of its forecast that the factored Lagrangian takes on triplets, beside pairs: the mean of 22 problems.
OF_TRIPLETS = 1.7
#: Distances in a pass, a quarter of a second of work, from which most passes should be over a sample: on made letters
#: that takes .45 to .65 times as long from 3,000 rows on, and as long with 2,000.
LONG_PASS = 6_000_000
#: Coordinates up to which masters take no longer than passes over the sample.
LONG_PASS_COORDINATES = 6_000
#: Share of a time limit that may go into measuring a pass.
MEASURING_SHARE = 0.02

ROUTES: tuple[Route, ...] = (
    Route(
        AugmentedLagrangian(), "listed comparisons, soft margins", "diagonal, linear or quadratic",
        "Newton steps by products alone; of many comparisons most steps see those near their kink",
    ),
    Route(
        DualNewton(), "listed pairs", "full, Frobenius norm, squared or not",
        "its linear systems have a row for each pair; with many pairs its steps get short",
    ),
    Route(
        FactoredLagrangian(), "pairs, listed or all; listed triplets", "full, Frobenius norm, squared or not, or trace",
        "it decomposes a metric once a round; of all pairs of many points rounds see a sample",
        factor=lambda problem: OF_TRIPLETS if getattr(problem.risk.as_form(risks.ImageRisk), "joint", False) else 1.0,
    ),
    Route(
        InteriorPoint(), "listed comparisons, soft or hard margins", "linear or quadratic",
        "some thirty steps to full accuracy, whatever the margins",
    ),
    Route(
        DualAscent(), "listed comparisons, also with losses that are infinite somewhere",
        "strictly convex: squared norms, log-determinants",
        "the conjugates are closed forms, and a step costs as little as a pass",
    ),
    Route(
        ADMM(), "listed comparisons, also with losses that are infinite somewhere; sums of risks of them", "any",
        "a step is a projection and a proximal map of each part", (_soft_or_of_items,),
        factor=lambda problem: (
            (OF_ITEMS if _of_items(problem) else 1.0) * (UNDER_LINEAR if has_linear_penalty(problem) else 1.0)
        ),
    ),
    Route(
        SmoothedLowRank(), "AUC, large margins, and other hinges over positives and negatives", "full, trace",
        "tens of passes whatever C, on a factor of low rank",
    ),
    Route(
        SmoothedNewton(most=NEWTON_COORDINATES), "AUC, large margins, and other hinges over positives and negatives",
        f"trace; up to {NEWTON_COORDINATES} coordinates",
        "tens of passes whatever C; its matrix has a row for each coordinate",
    ),
    Route(
        SampledCuttingPlanes(), "rankings, soft margins; hinges over positives and negatives",
        f"linear plus squared norm; {LONG_PASS:,} distances or more, up to {LONG_PASS_COORDINATES:,} coordinates",
        "most passes are over a sample of the queries, some ten over all of them",
        # Forecasts are of data in memory; over shards a pass takes far longer than a sample.
        (_long_pass,), leads=lambda problem, limit: problem.risk.sharded_pairs,
    ),
    Route(
        SemismoothNewton(), "hinges over positives and negatives (triplets, AUC)", "squared norm",
        "tens of passes whatever the number of pairs, and Newton steps make the last digits cheap",
        factor=lambda problem: OF_NEWTON,
    ),
    Route(
        LowRankNewton(), "smooth losses", "full, trace", "Newton steps on a factor of few rows",
    ),
    Route(
        ProximalGradient(), "smooth losses", "any with a proximal map", "a step is a pass and a projection",
    ),
    Route(
        Conic(), "listed comparisons", "constraints and terms of your own, and what is left of others",
        "one conic program, which needs no cuts", (_other_penalty,),
    ),
    Route(
        CuttingPlanes(), "any with supporting planes: all rankings, soft margins",
        "any; with a conic master unless it is linear, quadratic or a log-determinant",
        "it needs only supporting planes, and finishes what the others leave",
    ),
    Route(
        Conic(), "any that can be written out",
        f"any; up to {STATED_PARTS:,} parts and {STATED_COORDINATES:,} coordinates",
        "the textbook statement, every constraint written out", (_can_be_stated,), last_resort=True,
    ),
)  # fmt: skip
#: Taken only where it leads.
COARSE = Route(
    SampledCuttingPlanes(least=250), "rankings, soft margins; hinges over positives and negatives",
    f"linear plus squared norm; a time limit too short for others, up to {LONG_PASS_COORDINATES:,} coordinates",
    "a coarse certificate within the limit, from a sample of the queries",
    (_short_masters,), leads=_passes_take_too_long,
)  # fmt: skip


def by_forecast(problem: MetricProblem, share: float | None = None) -> list[Route]:
    """Sort the routes: the one with the shortest forecast for a problem first, the last resort last."""
    return sorted(ROUTES, key=lambda route: (route.last_resort, route.seconds(problem, share)))


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

    def within(self, limit: float | None) -> Iterable[Candidate]:
        """The candidates for a time limit in seconds, or None, after the coarse one where that leads."""
        if limit is None:
            return self
        (coarse,) = Candidates(self.problem, (COARSE,))
        some = coarse.run is not None and any(candidate.run is not None for candidate in self)
        return chain([coarse], self) if some and COARSE.leads(self.problem, limit) else self

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
