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
- the master's solutions jump, because a trace is linear (Kelley's method): *in-out separation*, cuts are made between
  the master's solution and the best metric so far. How far between is settled by the slope of the objective there
  (Pessoa, Sadykov, Uchoa and Vanderbeck, 2018): while it still falls towards the master's solution the next cut is made
  nearer to that, once it rises nearer to the best metric;
- cuts pile up: those with hardly any weight in the last few masters are dropped (they can come back).

An interior-point method solves the master where the penalty is linear or quadratic, and Newton's method that of a
log-determinant. Any other penalty, such as a norm or one with constraints and terms of the user's own, has a master
in CVXPY. Its first cuts are made at the metric of least penalty, which satisfies the user's constraints, and so do
all that follow.

Of a risk that may be negative :math:`\xi \ge 0` is not true. Its cuts at the metric zero, :math:`b_{0 g} - \langle
\Psi_{0 g}, M \rangle`, take the place of zero: the master is that of the nonnegative :math:`R_g(M) - b_{0 g} + \langle
\Psi_{0 g}, M \rangle` with the linear term :math:`G - \sum_g \Psi_{0 g}`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from convexmetric.arguments import check_count
from convexmetric.arrays import Array
from convexmetric.certificates.certificate import dual_error
from convexmetric.cones import PSDCone
from convexmetric.cones.base import NO_CONE
from convexmetric.errors import InputError
from convexmetric.problem import MetricProblem
from convexmetric.risks import CutDual, Cuts, Minorant
from convexmetric.risks.query import FactoredCuts, QueryRisk
from convexmetric.solvers.cuts.conic_master import ConicMaster
from convexmetric.solvers.cuts.dual_masters import DualMaster, NewtonMaster, has_newton_master, near_a_prior
from convexmetric.solvers.cuts.factored import SPARE, FactoredRows
from convexmetric.solvers.cuts.master import FIRST, Master, MasterPoint, master_rows, works_in_subspace
from convexmetric.solvers.runtime import Monitor, Run, Solver, check_counts, check_flags, check_positive
from convexmetric.solvers.runtime.requirements import FLOAT, need, need_planes, quadratic_part

#: Halvings, at most, of the step to a metric at which a barrier is finite.
HALVINGS = 60
#: Passes with parts that are lost and without a better lower bound, one after the other, after which to end.
LOST_PASSES = 3
#: Passes in which cuts bound nothing yet, as under a linear term that falls without end, after which to end.
BLIND_PASSES = 20
#: Relative gap of a master below which float64 does not go.
FINEST = 1e-13
#: Range of an adaptive alpha.
LEAST_STABILISATION, MOST_STABILISATION = 0.3, 0.9
#: Fraction of the way to an end of that range that alpha goes in a pass.
PACE = 0.1
#: A cut is alive while its multiplier exceeds this share of those of its group; the smaller one with many features or
#: where cuts alone hold metrics, as more cuts are needed and moves get short without them.
ALIVE_SHARE, ALIVE_SHARE_MANY = 0.03, 0.01
#: The master is solved to this share of the gap so far.
MASTER_SHARE = 0.3
#: Numbers of a cut as factors, as a share of those of its normal, up to which it is kept as factors.
FACTORED_SHARE = 0.5
#: Relative fall of the objective below which a pass has gained nothing.
SUFFICIENT_FALL = 1e-9


@dataclass(frozen=True)
class CuttingPlanes(Solver):
    """Cutting planes with grouped slacks, in-out separation and removal of dead cuts.

    Parameters
    ----------
    groups : int
        Number of slacks; parts are grouped in order. 1 is the 1-slack formulation.
    stabilisation : float
        Cuts are made at ``alpha * best + (1 - alpha) * master``, and alpha starts here; 0 is plain Kelley.
    adaptive : bool
        Whether alpha follows the slope of the objective; otherwise it stays.
    drop_after : int or None
        Drop cuts that are not alive in this many masters running; None keeps all.
    epsilon : float or None
        Stop as well when the certified bounds differ by at most ``epsilon`` times ``risk.unit``, which is C for metric
        learning to rank. That is the accuracy threshold of its Algorithm 1, which stops when the mean violation
        exceeds the master's slack by at most epsilon: the objective is then at most C epsilon above the master's
        optimum, a lower bound. The solve is one with ``atol = epsilon C``, as its solution says. None: ``tol`` and
        ``atol`` alone.
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
            raise InputError(f"stabilisation must be in [0, 1), got {self.stabilisation!r}")
        if self.drop_after is not None:
            check_count(self.drop_after, "drop_after", " or None")

    @classmethod
    def plain(cls, epsilon: float | None = None) -> CuttingPlanes:
        """One slack, no stabilisation, all cuts kept: the algorithm as printed, with its accuracy threshold."""
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

        About twelve cuts a group are alive while dead ones are dropped, and forty with many features; without that
        fifty are counted.
        """
        cone, groups = problem.cone, min(self.groups, problem.risk.parts)
        alive = 40.0 if works_in_subspace(cone) else 12.0
        cuts = (50.0 if self.drop_after is None else alive) * groups
        unknowns = float(cone.size + groups)
        rows = 4.0 * unknowns if cone.diagonal else 3.0 * cone.d**2 + 3.0 * cone.size
        width, master = float(cone.size), cuts * rows + 2.0 * unknowns**2
        if works_in_subspace(cone):
            factors = _numbers_of_factors(problem, groups)
            width = float(cone.d**2) if factors is None else factors
            master = 32.0 * cuts * cone.d
        return 2.0 * FLOAT * cuts * width + max(problem.risk.pass_memory, FLOAT * master)

    def follow(self, problem: MetricProblem, monitor: Monitor, pool: Pool) -> None:
        """Run from the cuts of an earlier solve in ``pool``, which is left with those of this one."""
        monitor.unit = "passes"
        cone, risk = problem.cone, problem.risk
        if self.epsilon is not None:
            monitor.atol = max(monitor.atol, self.epsilon * risk.unit)
        n_groups = pool.n_groups
        master, fresh, solved = _master(pool.above), True, False
        move, alpha, idle, blind = None, self.stabilisation, 0, 0
        left = monitor.left_by(self.name, pool.shapes)
        if left:
            metric, alpha = pool.restore(left)
        else:
            known = pool.count > 0 or monitor.start is not None
            metric = monitor.M if known and monitor.M is not None else master.start()
        monitor.state = lambda: pool.state(metric, alpha)
        alone = problem.held_by_data_alone and risk.nonnegative and risk.points
        interior = _Interior(problem) if alone else None

        def out_of_time() -> bool:
            return monitor.out_of_time

        while True:
            if risk.hard:
                metric = _inside(problem, metric, monitor)
            cuts = pool.separate(metric)
            if self.adaptive and move is not None:
                falls = _slope(problem, metric, pool.total(cuts), move) <= 0.0
                # Nearer to the master where the objective still falls towards it, else to the best metric.
                nearer, farther = (1.0 - PACE) * alpha, alpha + PACE * (1.0 - alpha)
                alpha = max(LEAST_STABILISATION, nearer) if falls else min(MOST_STABILISATION, farther)
            before = monitor.upper_bound
            monitor.primal(metric, float(cuts.values.sum()) + problem.penalty(metric), by_risk=True)
            fell = monitor.upper_bound < before - SUFFICIENT_FALL * abs(before) if np.isfinite(before) else True
            pool.add(metric, cuts)
            if monitor.reached or (monitor.out_of_time and solved):
                monitor.iterate(cuts=len(pool.offsets), master_iterations=0)
                return

            gap = min(1.0, monitor.gap)
            # The gap is relative to the objective, the master's to what it minimises: less a constant and the base.
            own = abs(monitor.upper_bound - pool.base_value)
            share = monitor.size / own if own > monitor.size else 1.0
            target = max(share * max(MASTER_SHARE * gap, 0.1 * monitor.tol), FINEST)
            outcome = master.solve(pool.normals, pool.offsets, pool.group, np.ones(n_groups), target, out_of_time)
            solved = True
            pool.weigh(outcome.a)
            sums, lower = pool.says(outcome)
            dual = pool.weighted(outcome.a)
            if interior is not None and np.isfinite(lower):
                sums, dual = interior.mixed(sums, dual)
                lower = problem.bound(sums.value, sums.S, outcome.M)
            improved = monitor.dual(lower, dual, sums)
            if monitor.iterate(cuts=len(pool.offsets), master_iterations=outcome.iterations):
                return
            # Parts whose values are not known: a shard was lost. It may be back in the next pass, but not for ever.
            idle = 0 if improved or np.isfinite(cuts.values).all() else idle + 1
            if idle == LOST_PASSES:
                return
            missing = outcome.upper_bound - outcome.lower_bound
            gained = improved or fell
            # A linear term that falls without end is held by cuts far out, which are still to come.
            blind = blind + 1 if not gained and -np.inf in (monitor.lower_bound, outcome.lower_bound) else 0
            held = 0 < blind < BLIND_PASSES
            if not (gained or held or missing <= monitor.upper_bound - monitor.lower_bound < np.inf):
                # Float64 carries the master no further, from where it stood and from afresh.
                if fresh:
                    return
                master, fresh = _master(pool.above, again=True), True
            elif improved:
                fresh = False
            # Cuts are dropped only while the bound rises: otherwise they would come back in the next pass.
            if self.drop_after is not None and improved:
                pool.drop(self.drop_after)
            # Before any metric satisfies all constraints, the master's is the best there is.
            best = outcome.M if monitor.M is None or np.isinf(monitor.upper_bound) else monitor.M
            move = outcome.M - best
            metric = cone.project(best + (1.0 - (0.0 if blind else alpha)) * move)


def _numbers_of_factors(problem: MetricProblem, n_groups: int) -> float | None:
    """Numbers of a cut as factors, with its entries in a basis; None where normals are smaller or masters need them."""
    risk, d = problem.risk, problem.cone.d
    if not isinstance(risk, QueryRisk) or type(problem.cone) is not PSDCone or not risk.rankings.whole_rows:
        return None
    numbers = risk.rankings.X.shape[0] + risk.parts * d / n_groups + float(FIRST + SPARE) ** 2
    fewer = works_in_subspace(problem.cone) and numbers <= FACTORED_SHARE * d * d
    return numbers if fewer and problem.quadratic() is not None and not near_a_prior(problem) else None


def _master(problem: MetricProblem, again: bool = False) -> Master | ConicMaster | DualMaster | NewtonMaster:
    """What solves the masters of a problem; ``again`` where float64 carried the last one no further."""
    if problem.quadratic() is None:
        return NewtonMaster(problem) if has_newton_master(problem) else ConicMaster(problem)
    if problem.cone.free:
        return DualMaster(problem)
    return DualMaster(problem) if near_a_prior(problem) and not again else Master(problem)


def _slope(problem: MetricProblem, metric: Array, S: Array, move: Array) -> float:
    """Slope of the objective at ``metric`` along ``move``; S is minus a subgradient of the risk there."""
    cone, slope = problem.cone, problem.regularizer.slope(metric, move, problem.cone)
    if problem.G is not None:
        slope += cone.inner(problem.G, move)
    return slope - cone.inner(S, move)


def _inside(problem: MetricProblem, metric: Array, monitor: Monitor) -> Array:
    """Move a metric towards the best so far, or the Euclidean one, until the risk's barrier is finite."""
    best = problem.cone.identity() if monitor.M is None or np.isinf(monitor.upper_bound) else monitor.M
    for _ in range(HALVINGS):
        if np.isfinite(problem.risk.value(metric)):
            break
        metric = 0.5 * (metric + best)
    return metric


class _Interior:
    """Keeps dual points off the border of feasibility, where no penalty holds metrics and rounding decides.

    Masters end with sums of cuts ``S <= G`` that touch the border, more closely the better they are solved, and without
    a penalty a bound is minus infinity beyond it. The point farthest inside so far is mixed in, with the least weight
    that makes up for twice the rounding of S.
    """

    def __init__(self, problem: MetricProblem) -> None:
        self.problem = problem
        #: How far the point is inside: the smallest eigenvalue of ``G - S``.
        self.distance = 0.0
        self.sums: Minorant | None = None
        self.dual: Callable[[], CutDual] | None = None

    def mixed(self, sums: Minorant, dual: Callable[[], CutDual]) -> tuple[Minorant, Callable[[], CutDual]]:
        """A sum of cuts and its dual point, with as much of the point farthest inside as rounding asks for."""
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


class Pool:
    """The cuts in hand, with the metrics they were made at; arrays grow by doubling."""

    @classmethod
    def empty(cls, problem: MetricProblem, n_groups: int) -> Pool:
        """Make a pool without cuts; parts are grouped in order."""
        parts = problem.risk.parts
        n_groups = min(n_groups, parts)
        return cls(problem, np.arange(parts) * n_groups // parts, n_groups)

    @classmethod
    def smallest(cls, problem: MetricProblem, n_groups: int) -> Pool:
        """Make a pool without cuts that keeps factors of normals, if these are smaller and masters take them."""
        pool = cls.empty(problem, n_groups)
        if _numbers_of_factors(problem, pool.n_groups) is not None:
            assert isinstance(problem.risk, QueryRisk), "cuts of queries have factors"
            pool.rows = FactoredRows(problem.risk.rankings, pool.groups)
        return pool

    def __init__(self, problem: MetricProblem, groups: np.ndarray, n_groups: int) -> None:
        self.problem = problem
        #: Normals, where they are kept as factors.
        self.rows: FactoredRows | None = None
        many = works_in_subspace(problem.cone) or problem.held_by_data_alone
        self.alive_share = ALIVE_SHARE_MANY if many else ALIVE_SHARE
        self.groups = groups
        self.n_groups = n_groups
        #: Cuts at zero of a risk that may be negative; they are subtracted from all others.
        self.base = None if problem.risk.nonnegative else problem.risk.separate(problem.cone.zeros(), groups)
        self.count = 0
        self._normals = np.empty((0, 0))
        self.offsets = np.empty(0)
        #: Sum of the absolute coefficients of squared distances in every cut.
        self.sizes = np.empty(0)
        self.group = np.empty(0, dtype=np.int64)
        #: Place of every cut's metric in ``metrics``, which is never changed in place: dual points share it.
        self.witness = np.empty(0, dtype=np.int64)
        self.metrics: list[Array] = []
        self.age = np.empty(0, dtype=np.int64)

    @property
    def normals(self) -> Any:
        """Normals of the cuts in hand, as masters take them."""
        return self._normals[: self.count] if self.rows is None else self.rows

    def separate(self, metric: Array) -> Cuts | FactoredCuts:
        """Make a cut for every group at a metric."""
        risk = self.problem.risk
        if self.rows is not None and isinstance(risk, QueryRisk):
            return risk.separate_factored(metric, self.groups)
        return risk.separate(metric, self.groups)

    def total(self, cuts: Cuts | FactoredCuts) -> Array:
        """Sum of the normals of all groups."""
        if isinstance(cuts, Cuts):
            return self.problem.cone.from_coordinates(cuts.normals.sum(axis=0))
        assert self.rows is not None, "factors are made for rows of factors"
        return self.rows.normal(cuts.columns.sum(axis=0), cuts.products)

    def add(self, metric: Array, cuts: Cuts | FactoredCuts) -> None:
        """Take in one cut for every group."""
        if isinstance(cuts, Cuts):
            self._add_normals(cuts)
        elif self.rows is not None:
            self.rows.add(cuts)
        self.count += self.n_groups
        offsets = cuts.offsets if self.base is None else cuts.offsets - self.base.offsets
        self.offsets = np.append(self.offsets, offsets)
        # The sizes of cuts less those at zero are not known.
        weights = None if self.base is not None else cuts.weights
        self.sizes = np.append(self.sizes, np.full(self.n_groups, np.inf) if weights is None else weights)
        self.group = np.append(self.group, np.arange(self.n_groups))
        self.witness = np.append(self.witness, np.full(self.n_groups, len(self.metrics)))
        self.metrics = [*self.metrics, metric]
        self.age = np.append(self.age, np.zeros(self.n_groups, dtype=np.int64))

    def _add_normals(self, cuts: Cuts) -> None:
        if self.base is not None:
            cuts = replace(cuts, normals=cuts.normals - self.base.normals)
        normals = master_rows(self.problem.cone, cuts.normals)
        if self.count + self.n_groups > len(self._normals):
            larger = np.empty((2 * self.count + 4 * self.n_groups, normals.shape[1]))
            if self.count:
                larger[: self.count] = self.normals
            self._normals = larger
        self._normals[self.count : self.count + self.n_groups] = normals

    def scale(self, problem: MetricProblem, factor: float) -> None:
        """Switch to a problem whose risk is ``factor`` times this one's: every cut stays valid after scaling.

        Only cuts alive in the last master are kept; the others are cheaper to find again than to carry along.
        """
        self.drop(1)
        self.problem = problem
        if self.rows is None:
            self._normals[: self.count] *= factor
        else:
            self.rows.scale(factor)
        self.offsets *= factor
        self.sizes *= factor
        if self.base is not None:
            values, offsets, normals = self.base.values, self.base.offsets, self.base.normals
            self.base = Cuts(factor * values, factor * offsets, factor * normals)
        self.age[:] = 0

    @property
    def base_value(self) -> float:
        """Value of the cuts at zero, at the metric zero."""
        return 0.0 if self.base is None else float(self.base.offsets.sum())

    @property
    def above(self) -> MetricProblem:
        """Problem that masters solve: the problem itself, or that of the risk less its cuts at zero."""
        if self.base is None:
            return self.problem
        cone, problem = self.problem.cone, self.problem
        G = cone.zeros() if problem.G is None else problem.G
        return _Above(problem.risk, problem.regularizer, G - cone.from_coordinates(self.base.normals.sum(axis=0)))

    def says(self, outcome: MasterPoint) -> tuple[Minorant, float]:
        """Minorant of the risk by the weighted cuts of a master, and the lower bound that it proves."""
        point, a = outcome.sums, outcome.a
        if self.base is None:
            size = float(np.abs(self.offsets) @ a)
            return replace(point, weight=float(self.sizes @ a), size=size), outcome.lower_bound
        S = point.S + self.problem.cone.from_coordinates(self.base.normals.sum(axis=0))
        point = Minorant(point.value + self.base_value, S)
        return point, self.problem.bound(point.value, point.S, outcome.M)

    def weigh(self, multipliers: Array) -> None:
        """Count the masters in which a cut had a small share of the multipliers of its group."""
        alive = multipliers > self.alive_share * np.bincount(self.group, multipliers)[self.group]
        self.age = np.where(alive, 0, self.age + 1)

    def weighted(self, weights: Array) -> Callable[[], CutDual]:
        """The cuts in hand with some weights as a dual point, made when asked for."""
        used = np.flatnonzero(weights)
        places, rows = np.unique(self.witness[used], return_inverse=True)
        columns, weights, metrics = self.group[used], weights[used], self.metrics

        def make() -> CutDual:
            table = np.zeros((len(places), self.n_groups))
            table[rows, columns] = weights
            points = [metrics[place] for place in places]
            if self.base is not None:
                # The weights of a group sum to 1: what the others lack belongs to the cuts at zero.
                table = np.vstack([table, np.maximum(0.0, 1.0 - table.sum(axis=0))])
                points.append(self.problem.cone.zeros())
            return CutDual(np.array(points).reshape(-1, *self.problem.cone.shape), table, self.groups)

        return make

    def state(self, metric: Array, alpha: float) -> dict[str, np.ndarray]:
        """Arrays for a checkpoint: the metrics at which cuts were made, and the ages of cuts."""
        return {
            "witnesses": np.array(self.metrics).reshape(-1, *self.problem.cone.shape),
            "witness": self.witness,
            "group": self.group,
            "age": self.age,
            "groups": self.groups,
            "next": metric,
            "alpha": np.array(alpha),
        }

    @property
    def shapes(self) -> dict[str, tuple[int | None, ...] | None]:
        """Shapes of the arrays of :meth:`state`."""
        shape = self.problem.cone.shape
        rows = dict.fromkeys(("witness", "group", "age", "groups"), (None,))
        return {**rows, "witnesses": (None, *shape), "next": shape, "alpha": None}

    def restore(self, state: Mapping[str, np.ndarray]) -> tuple[Array, float]:
        """Recompute the cuts at their metrics; returns the next metric and alpha.

        Raises
        ------
        InputError
            If the state is that of a solve with other groups, or its parts do not fit together.
        """
        witness, group, age = state["witness"], state["group"], state["age"]
        if not np.array_equal(state["groups"], self.groups):
            raise InputError("the checkpoint has other groups of queries; solve with the settings it was written with")
        if not len(witness) == len(group) == len(age) or group.max(initial=0) >= self.n_groups:
            raise InputError("the checkpoint's cuts do not fit together; remove it to start again")
        for t, M in enumerate(state["witnesses"]):
            self.add(M, self.separate(self.problem.metric(M)))
            mine = witness == t
            lived = np.full(self.n_groups, np.iinfo(np.int64).max)
            lived[group[mine]] = age[mine]
            self.age[-self.n_groups :] = lived
            self.drop(np.iinfo(np.int64).max)
        return self.problem.cone.project(self.problem.metric(state["next"])), float(state["alpha"])

    def drop(self, age: int) -> None:
        """Forget cuts without weight in the last ``age`` masters, and metrics without cuts."""
        kept = np.flatnonzero(self.age < age)
        count = len(kept)
        if count == self.count:
            return
        # Normals are large: the last ones move into the holes, the others stay.
        order = np.arange(count)
        holes = np.setdiff1d(order, kept, assume_unique=True)
        order[holes] = kept[count - len(holes) :]
        if self.rows is None:
            self._normals[holes] = self._normals[order[holes]]
        else:
            self.rows.take(order)
        self.count = count
        self.offsets, self.sizes, self.group = self.offsets[order], self.sizes[order], self.group[order]
        self.witness, self.age = self.witness[order], self.age[order]
        places, self.witness = np.unique(self.witness, return_inverse=True)
        self.metrics = [self.metrics[place] for place in places]


class _Above(MetricProblem):
    """Problem of a risk less its cuts at zero, which is nonnegative though the risk may not be."""

    def _bound(self, value: float, S: Array, hint: Array) -> float:
        return self.regularizer.bound(value, S, self.G, self.cone, hint)
