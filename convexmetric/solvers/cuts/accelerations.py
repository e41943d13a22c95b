r"""Accelerations of cutting planes: where to cut next, when to give up, and dual points that are strictly feasible.

Plain cutting planes (:mod:`~convexmetric.solvers.cuts.plain`) cut at the master's solution. :class:`InOut` cuts between
it and the best metric so far, :class:`Patience` detects that nothing more is gained, and :class:`Interior` keeps dual
points feasible where no penalty bounds metrics.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from convexmetric.arrays import Array
from convexmetric.certificates.certificate import dual_error
from convexmetric.problem import MetricProblem
from convexmetric.risks import CutDual, Cuts, Minorant
from convexmetric.risks.base import FactoredCuts
from convexmetric.solvers.cuts.master import MasterPoint
from convexmetric.solvers.cuts.pool import Pool
from convexmetric.solvers.runtime import Monitor

#: Passes in a row with lost parts and no better lower bound, after which to end.
LOST_PASSES = 3
#: Passes in a row without a finite lower bound, as under a linear term that is unbounded below, after which to end.
BLIND_PASSES = 20
#: Stalled masters after which to end unless the gap is this share of what it was.
STALLED_MASTERS, CLEARLY = 20, 0.5
#: Range of an adaptive alpha.
LEAST_STABILISATION, MOST_STABILISATION = 0.3, 0.9
#: Fraction of the way to 0 or to 1 that alpha goes in a pass, within that range.
PACE = 0.1
#: The way to the master's solution is halved at most so many times as masters stall.
HALVED = 7


@dataclass
class InOut:
    """In-out separation: cuts are made at ``alpha * best + (1 - alpha) * master``.

    Parameters
    ----------
    problem : MetricProblem
    alpha : float
        Weight of the best metric so far; 0 cuts at the master's solution.
    adaptive : bool
        Whether alpha follows the slope of the objective (Pessoa, Sadykov, Uchoa and Vanderbeck, 2018): nearer to the
        master while the objective still falls towards its solution, nearer to the best metric once it rises.
    """

    problem: MetricProblem
    alpha: float
    adaptive: bool
    #: Step from the best metric to the master's solution, as of the last pass.
    move: Array | None = field(default=None, init=False)
    #: Stalled masters since the lower bound last rose.
    stalled: int = field(default=0, init=False)

    def adapt(self, metric: Array, cuts: Cuts | FactoredCuts, pool: Pool) -> None:
        """Adapt alpha by the slope of the objective at the metric, of which the cuts are a subgradient."""
        if self.adaptive and self.move is not None:
            falls = self._slope(metric, pool.total(cuts), self.move) <= 0.0
            nearer, farther = (1.0 - PACE) * self.alpha, self.alpha + PACE * (1.0 - self.alpha)
            self.alpha = max(LEAST_STABILISATION, nearer) if falls else min(MOST_STABILISATION, farther)

    def retreat(self) -> None:
        """Halve the way to the solution of a master that stalls: cuts are better near the best metric."""
        self.stalled += 1
        self.alpha = 1.0 - 0.5 ** min(self.stalled, HALVED)

    def next(self, best: Array, found: Array, *, alpha: float | None = None) -> Array:
        """Return the metric at which to cut next, between the best one and the master's solution."""
        self.move = found - best
        alpha = self.alpha if alpha is None else alpha
        return self.problem.cone.project(best + (1.0 - alpha) * self.move)

    def _slope(self, metric: Array, S: Array, move: Array) -> float:
        """Slope of the objective at ``metric`` along ``move``; S is minus a subgradient of the risk there."""
        problem, cone = self.problem, self.problem.cone
        slope = problem.regularizer.slope(metric, move, cone)
        if problem.G is not None:
            slope += cone.inner(problem.G, move)
        return slope - cone.inner(S, move)


@dataclass
class Patience:
    """Counts passes without gain: lost parts may return in the next, and cuts far out may still bound the metric."""

    #: Passes in a row with lost parts and no better bound, and passes in a row without a finite bound.
    lost: int = 0
    blind: int = 0
    #: Stalled masters since the gap was last clearly smaller, and that gap.
    stalled: int = 0
    gap: float = np.inf

    def ends(self, improved: bool, values: Array) -> bool:
        """Count a pass; return whether parts without values, as of a lost shard, have been missing for too long."""
        self.lost = 0 if improved or np.isfinite(values).all() else self.lost + 1
        return self.lost == LOST_PASSES

    def stuck(self, gained: bool, outcome: MasterPoint, monitor: Monitor) -> bool:
        """Count a pass; return whether float64 carries the master no further.

        It does carry it further while a bound improves, or if the gap of the master is at most that of the solve.
        Without a finite lower bound, as under a linear term that is unbounded below, cuts far out may still come.
        """
        unbounded = -np.inf in (monitor.lower_bound, outcome.lower_bound)
        self.blind = self.blind + 1 if not gained and unbounded else 0
        held = 0 < self.blind < BLIND_PASSES
        missing = outcome.upper_bound - outcome.lower_bound
        return not (gained or held or missing <= monitor.upper_bound - monitor.lower_bound < np.inf)

    def over(self, gap: float) -> bool:
        """Count a stalled master; return whether there were too many without a clearly smaller gap."""
        if gap < CLEARLY * self.gap:
            self.gap, self.stalled = gap, 0
        self.stalled += 1
        return self.stalled > STALLED_MASTERS


class Interior:
    """Keeps dual points strictly feasible where no penalty bounds metrics.

    Masters end with sums of cuts ``S <= G`` near the boundary of feasibility, the nearer the better they are solved.
    Without a penalty the bound is minus infinity beyond it, so that rounding decides. The point farthest inside so far
    is mixed in, with the least weight that makes up for twice the rounding of S.
    """

    def __init__(self, problem: MetricProblem) -> None:
        self.problem = problem
        #: How far the point is inside: the smallest eigenvalue of ``G - S``.
        self.distance = 0.0
        self.sums: Minorant | None = None
        self.dual: Callable[[], CutDual] | None = None

    @classmethod
    def where_needed(cls, problem: MetricProblem) -> Interior | None:
        """Return an instance for a problem whose metrics only the data bound; else None."""
        alone = problem.held_by_data_alone and problem.risk.nonnegative and problem.risk.points
        return cls(problem) if alone else None

    def mixed(self, sums: Minorant, dual: Callable[[], CutDual]) -> tuple[Minorant, Callable[[], CutDual]]:
        """Mix into a sum of cuts and its dual point as much of the point farthest inside as rounding requires."""
        cone, G = self.problem.cone, self.problem.G
        distance = -cone.largest(sums.S if G is None else sums.S - G)
        if distance > self.distance:
            self.distance, self.sums, self.dual = distance, sums, dual
        if distance >= self.distance or self.sums is None or self.dual is None or not np.isfinite(sums.weight or 0.0):
            return sums, dual
        share = min(1.0, 2.0 * cone.largest(dual_error(self.problem, sums)) / self.distance)
        inner, of_inner = self.sums, self.dual
        parts = [(1.0 - share, sums), (share, inner)]
        value = sum(t * point.value for t, point in parts)
        weight, size = (sum(t * getattr(point, name) for t, point in parts) for name in ("weight", "size"))

        def make() -> CutDual:
            near, far = dual(), of_inner()
            witnesses = np.concatenate([near.witnesses, far.witnesses])
            return CutDual(witnesses, np.vstack([(1.0 - share) * near.weights, share * far.weights]), near.groups)

        return Minorant(value, (1.0 - share) * sums.S + share * inner.S, weight, size), make
