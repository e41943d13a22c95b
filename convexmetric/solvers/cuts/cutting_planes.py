r"""Cutting planes for any risk with a separation oracle.

Each pass makes the supporting planes of the risk's groups at one metric, adds them to a master problem that
bounds the risk from below by its cuts,

.. math:: \min_{M \in K, \; \xi \ge 0} \; \Omega(M) + \langle G, M \rangle + \sum_g \xi_g \quad \text{s.t.} \quad
   \xi_g \ge b_{\tau g} - \langle \Psi_{\tau g}, M \rangle,

and goes on from the master's solution. The multipliers of the master are the weights of a certified lower bound;
the objective at the metrics visited is the upper bound.

With one group and no stabilisation this is the 1-slack algorithm of Joachims, Finley and Yu (2009), which metric
learning to rank prints as its Algorithm 1. It is slow for three reasons, each with its remedy here:

- one slack for all parts makes cuts weak: a slack for each of 32 *groups*;
- the master's solutions jump, because a trace is linear (Kelley's method): *in-out separation* cuts between the
  master's solution and the best metric so far. The slope of the objective there decides how far between (Pessoa,
  Sadykov, Uchoa and Vanderbeck, 2018): while it still falls towards the master's solution, the next cut is made nearer
  to that; once it rises, nearer to the best metric;
- cuts pile up: those with hardly any weight in the last few masters are dropped (they can come back).

An interior-point method solves the master where the penalty is linear or quadratic, and Newton's method that of a
log-determinant. Any other penalty, such as a norm or one with constraints and terms of the user's own, has a master
in CVXPY. Its first cuts are made at the metric of least penalty, which satisfies the user's constraints, and so do
all that follow.

For a risk that may be negative :math:`\xi \ge 0` does not hold. Its cuts at the metric zero, :math:`b_{0 g} - \langle
\Psi_{0 g}, M \rangle`, take the place of zero: the master is that of the nonnegative :math:`R_g(M) - b_{0 g} + \langle
\Psi_{0 g}, M \rangle` with the linear term :math:`G - \sum_g \Psi_{0 g}`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Real
from typing import ClassVar

import numpy as np

from convexmetric.arguments import check_count, shown
from convexmetric.arrays import Array
from convexmetric.cones.base import NO_CONE, Cone
from convexmetric.errors import InputError
from convexmetric.problem import MetricProblem
from convexmetric.risks import Minorant
from convexmetric.solvers.cuts.accelerations import InOut, Interior, Patience
from convexmetric.solvers.cuts.conic_master import ConicMaster
from convexmetric.solvers.cuts.dual_masters import DualMaster, NewtonMaster, has_newton_master, near_a_prior
from convexmetric.solvers.cuts.master import Master, MasterPoint, works_in_subspace
from convexmetric.solvers.cuts.pool import Pool, numbers_of_factors
from convexmetric.solvers.runtime import Monitor, Run, Solver, Steps, check_counts, check_flags, check_positive
from convexmetric.solvers.runtime.requirements import FLOAT, need, need_planes, quadratic_part

#: Halvings, at most, of the step to a metric at which a barrier is finite.
HALVINGS = 60
#: Smallest relative gap of a master that float64 can reach.
FINEST = 1e-13
#: The master is solved to this share of the gap so far.
MASTER_SHARE = 0.3
#: Relative fall of the objective below which a pass has gained nothing.
SUFFICIENT_FALL = 1e-9
#: Metrics lose eigenvalues that sum to this share of the gap times the sum of all. A tenth takes more passes.
TRIMMED = 0.03


@dataclass(frozen=True)
class CuttingPlanes(Solver):
    """Cutting planes with grouped slacks, in-out separation and removal of dead cuts.

    Parameters
    ----------
    groups : int
        Number of slacks, at most; queries of a class share theirs. 1 is the 1-slack formulation.
    stabilisation : float
        Cuts are made at ``alpha * best + (1 - alpha) * master``, and alpha starts here; 0 is plain Kelley.
    adaptive : bool
        Whether alpha follows the slope of the objective; otherwise it is constant.
    drop_after : int or None
        Drop cuts that are not alive in this many masters in a row; None keeps all.
    epsilon : float or None
        Stop as well when the certified bounds differ by at most ``epsilon`` times ``risk.unit``, which is C for metric
        learning to rank. That is the accuracy threshold of its Algorithm 1, which stops when the mean violation
        exceeds the master's slack by at most epsilon: the objective is then at most C epsilon above the master's
        optimum, a lower bound. This sets ``atol = epsilon C``, also in the solution. None: ``tol`` and ``atol`` alone.
    """

    name: ClassVar[str] = "cutting-planes"

    groups: int = 32
    stabilisation: float = 0.5
    adaptive: bool = True
    drop_after: int | None = 3
    epsilon: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_counts(self, "groups")
        check_flags(self, "adaptive")
        if self.epsilon is not None:
            check_positive(self, "epsilon")
        if not isinstance(self.stabilisation, Real) or not 0.0 <= self.stabilisation < 1.0:
            raise InputError(f"stabilisation must be in [0, 1), got {shown(self.stabilisation)}")
        if self.drop_after is not None:
            check_count(self.drop_after, "drop_after", " or None")

    @classmethod
    def plain(cls, epsilon: float | None = None) -> CuttingPlanes:
        """Return the algorithm as printed: one slack, no stabilisation, all cuts kept, with its accuracy threshold."""
        return cls(groups=1, stabilisation=0.0, adaptive=False, drop_after=None, epsilon=epsilon)

    def prepare(self, problem: MetricProblem) -> Run:
        """Needs a risk that is finite, or infinite behind a barrier.

        The run alternates separation and master until the certified gap closes.
        """
        if problem.quadratic() is not None:
            quadratic = quadratic_part(problem)
            need(not (problem.cone.free and quadratic == 0.0), f"{NO_CONE}, and only a linear penalty holds them")
        need_planes(problem)
        return lambda monitor: self.follow(problem, monitor, Pool.smallest(problem, self.groups))

    def memory(self, problem: MetricProblem) -> float | None:
        """Bytes of the cuts, twice, and of a pass or the master's rows, whichever is more.

        If dead cuts are dropped about twelve a group are alive, forty with many features; if not, fifty are counted.
        """
        cone, groups = problem.cone, min(self.groups, problem.risk.parts)
        alive = 40.0 if works_in_subspace(cone) else 12.0
        cuts = (50.0 if self.drop_after is None else alive) * groups
        unknowns = float(cone.size + groups)
        rows = 4.0 * unknowns if cone.diagonal else 3.0 * cone.d**2 + 3.0 * cone.size
        width, master = float(cone.size), cuts * rows + 2.0 * unknowns**2
        if works_in_subspace(cone):
            factors = numbers_of_factors(problem, groups)
            width = float(cone.d**2) if factors is None else factors
            master = 32.0 * cuts * cone.d
        if _has_conic_master(problem):
            master = ConicMaster.numbers(cone, cuts)
        return 2.0 * FLOAT * cuts * width + max(problem.risk.pass_memory, FLOAT * master)

    def follow(self, problem: MetricProblem, monitor: Monitor, pool: Pool) -> Steps:
        """Run from the cuts that an earlier solve left in ``pool``, and leave those of this one there."""
        monitor.unit = "passes"
        if self.epsilon is not None:
            monitor.atol = max(monitor.atol, self.epsilon * problem.risk.unit)
        masters, patience = _Masters(pool), Patience()
        between, interior = InOut(problem, self.stabilisation, self.adaptive), Interior.where_needed(problem)
        metric = self._first(monitor, pool, masters, between)
        monitor.state = lambda: pool.state(metric, between.alpha)
        while True:
            metric = _inside(problem, metric, monitor) if problem.risk.hard else metric
            cuts = pool.separate(metric)
            between.adapt(metric, cuts, pool)
            fell = _fell(monitor, metric, float(cuts.values.sum()) + problem.penalty(metric))
            pool.add(metric, cuts)
            if pool.count == pool.n_groups and pool.base is None:
                # Zero is the first metric; where it is optimal these may prove it.
                plane = Minorant(cuts.offsets.sum(), pool.total(cuts), pool.sizes.sum(), np.abs(cuts.offsets).sum())
                monitor.proven(problem, plane, metric, pool.weighted(np.ones(pool.n_groups)))
            if monitor.reached or (monitor.out_of_time and masters.solved):
                yield {"cuts": len(pool.offsets), "master_iterations": 0}
                return
            outcome = masters.solve(monitor)
            pool.weigh(outcome.a)
            (sums, lower), dual = pool.bound(outcome), pool.weighted(outcome.a)
            if interior is not None and np.isfinite(lower):
                sums, dual = interior.mixed(sums, dual)
                lower = problem.bound(sums.value, sums.S, outcome.M)
            improved = monitor.dual(lower, dual, sums)
            yield {"cuts": len(pool.offsets), "master_iterations": outcome.iterations}
            if patience.ends(improved, cuts.values):
                return
            stuck = patience.stuck(improved or fell, outcome, monitor)
            if stuck and masters.fresh:
                # Without a penalty the master is the worse to solve, the nearer its solution; others end in roundoff.
                if interior is None or not self.adaptive or patience.over(monitor.gap):
                    return
                between.retreat()
            elif stuck:
                masters.begin_again()
            elif improved:
                masters.fresh, between.stalled = False, 0
            # Cuts are dropped only while the bound rises: otherwise they would come back in the next pass.
            if self.drop_after is not None and improved:
                pool.drop(self.drop_after)
            # Before any metric satisfies all constraints, the master's is the best there is.
            best = outcome.M if monitor.M is None or np.isinf(monitor.upper_bound) else monitor.M
            metric = between.next(best, outcome.M, alpha=0.0 if patience.blind else None)
            if pool.rows is not None:
                metric = _of_low_rank(problem.cone, metric, TRIMMED * min(monitor.gap, 1.0))

    def _first(self, monitor: Monitor, pool: Pool, masters: _Masters, between: InOut) -> Array:
        """Return the metric of the first cuts: the checkpoint's next one, a known one, or the master's start."""
        left = monitor.left_by(self.name, pool.shapes)
        if left:
            metric, between.alpha = pool.restore(left)
            return metric
        known = pool.count > 0 or monitor.start is not None
        return monitor.M if known and monitor.M is not None else masters.master.start()


class _Masters:
    """The masters of a solve, each solved to a share of the gap so far."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.master = _master(pool.above)
        #: Whether the lower bound has not risen since masters were started or restarted; and whether one was solved.
        self.fresh, self.solved = True, False

    def solve(self, monitor: Monitor) -> MasterPoint:
        """Solve the master of the current cuts."""
        pool, self.solved = self.pool, True
        # The gap is relative to the objective; that of the master is relative to its own, without a constant and the
        # base.
        own = abs(monitor.upper_bound - pool.base_value)
        share = monitor.size / own if own > monitor.size else 1.0
        target = max(share * max(MASTER_SHARE * min(1.0, monitor.gap), 0.1 * monitor.tol), FINEST)
        ones, late = np.ones(pool.n_groups), lambda: monitor.out_of_time
        return self.master.solve(pool.normals, pool.offsets, pool.group, ones, target, late)

    def begin_again(self) -> None:
        """Restart with a fresh master, after float64 carried the last ones no further."""
        self.master, self.fresh = _master(self.pool.above, again=True), True


def _has_conic_master(problem: MetricProblem) -> bool:
    """Whether no master of ours takes the penalty."""
    return problem.quadratic() is None and not has_newton_master(problem)


def _master(problem: MetricProblem, again: bool = False) -> Master | ConicMaster | DualMaster | NewtonMaster:
    """Make what solves the masters of a problem; ``again`` means that float64 carried the last one no further."""
    if problem.quadratic() is None:
        return ConicMaster(problem) if _has_conic_master(problem) else NewtonMaster(problem)
    if problem.cone.free:
        return DualMaster(problem)
    return DualMaster(problem) if near_a_prior(problem) and not again else Master(problem)


def _fell(monitor: Monitor, metric: Array, objective: float) -> bool:
    """Offer a metric to the monitor; return whether its objective is clearly below the best one before."""
    before = monitor.upper_bound
    monitor.primal(metric, objective, by_risk=True)
    return not np.isfinite(before) or monitor.upper_bound < before - SUFFICIENT_FALL * abs(before)


def _of_low_rank(cone: Cone, metric: Array, share: float) -> Array:
    """Remove small eigenvalues that sum to at most this share of all: distances take less time with a thin factor."""
    B = cone.factor(metric)
    values = np.einsum("ij,ij->i", B, B)
    kept = B[np.cumsum(values[::-1])[::-1] > share * values.sum()]
    return np.asarray(kept.T @ kept)


def _inside(problem: MetricProblem, metric: Array, monitor: Monitor) -> Array:
    """Move a metric towards the best so far, or the Euclidean one, until the risk's barrier is finite."""
    best = problem.cone.identity() if monitor.M is None or np.isinf(monitor.upper_bound) else monitor.M
    for _ in range(HALVINGS):
        if np.isfinite(problem.risk.value(metric)):
            break
        metric = 0.5 * (metric + best)
    return metric
