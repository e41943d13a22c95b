r"""Cutting planes on a sample of the parts, corrected by few passes over all of them.

A risk of many parts is nearly known from a sample S of them with a share s of all parts,

.. math:: R(M) = \sum_p R_p(M), \qquad R_S(M) = \frac{1}{s} \sum_{p \in S} R_p(M) \approx R(M),

but not to a small gap: the gradients differ by chance. Their difference hardly changes near the optimum, so that one
pass over all parts at a metric :math:`M_k` corrects the sample's problem,

.. math:: \min_{M \in K} \; \Omega(M) + \langle G + T_k, M \rangle + R_S(M) + \frac{\rho}{2} \|M - M_k\|^2, \qquad
   T_k = \nabla R(M_k) - \nabla R_S(M_k),

and its solution is the next :math:`M_{k+1}`: the method of Shamir, Srebro and Zhang (DANE, 2014), in which the sample
plays the role of their local machine. Errors shrink at every pass by the factor by which the sample's second derivative
is wrong, where a method without second derivatives needs tens of passes.

A solution is a primal-dual pair. Its dual part are the weights :math:`a_{\tau g}` of the sample's cuts, which give
:math:`\nabla R_S = -\sum a_{\tau g} \Psi_{\tau g}`; its primal part is the mean of the metrics :math:`M_\tau` of these
cuts with the same weights. To first order that is the gradient at that mean. The best metric that the sample's solve
met has another gradient: with it the corrections, and the lower bounds, carry an error of the order of the root of the
sample's gap.

Cuts of the sample are valid whatever T, so that every solve goes on from those of the last one. Bounds of the problem
need no assumption about samples: the upper one is the objective at the :math:`M_k`; the lower one is the master's with
all current cuts, those of the sample's parts (from tens of metrics) and those of the others (from the :math:`M_k`). The
metric is exact to second order in the errors of gradients, and a lower bound from one pass is worse by the factor 1 /
s, since only the sample's cuts bend. So once the sample predicts the values of passes well, cuts of the sample near the
minimiser of that master raise the bound; each costs a share s of a pass. If the gap shrinks slowly the sample is
doubled, and the solver gives up when the sample would exceed ``LARGEST_SHARE`` of all parts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.linalg as la

from convexmetric.arrays import Array, norm_of
from convexmetric.problem import MetricProblem
from convexmetric.regularizers import SquaredFrobenius
from convexmetric.risks import CutDual, Risk
from convexmetric.risks.query import QueryRisk
from convexmetric.solvers.cuts.cutting_planes import CuttingPlanes
from convexmetric.solvers.cuts.master import Master, MasterPoint
from convexmetric.solvers.cuts.pool import Pool
from convexmetric.solvers.runtime import Monitor, Run, Solver, Steps, check_counts, drive
from convexmetric.solvers.runtime.baselines import SIMPLE_PARTS, best_simple, some_parts
from convexmetric.solvers.runtime.requirements import linear_part, need, quadratic_part

#: Solver of the sample's problems. Cuts are kept for longer: later problems, with other linear terms, start from them.
PLANES = CuttingPlanes(drop_after=6)
#: First rho, in units of the objective at a metric divided by the square of its norm.
PROXIMITY = 0.1
#: Relative gap to which the first problem of the sample is solved, before any correction.
FIRST_ACCURACY = 2e-3
#: Fraction of the gap so far to which later problems of the sample are solved; at most ``FIRST_ACCURACY``.
ACCURACY = 0.02
#: Shares of a time limit after which the first pass over all queries begins: the first, if the sample's problem is
#: solved to this gap by then; from a worse metric the passes would be in vain.
COARSE_SHARES, COARSE_GAP = (0.08, 0.4), 0.05
#: Cuts of the sample that tighten the lower bound are made on the way from the master's solution to the metric of the
#: last pass: the first share of that way, the factor from one share to the next, and the most that these cuts may cost
#: until the tolerance is reached, in passes over all.
NEAR, FARTHER, PRICE = 0.9, 0.95, 0.5
#: The sample is doubled when ``PATIENCE`` rounds in a row each leave more than this share of the gap.
SLOW, PATIENCE = 0.6, 2
#: Largest share of the queries in a sample.
LARGEST_SHARE = 0.3


@dataclass(frozen=True)
class SampledCuttingPlanes(Solver):
    """Cutting planes for rankings of many queries: most passes go over a sample of them.

    The sample of a risk in shards is held in memory here: its data must fit into ``ShardedRisk(cache=)``.

    Parameters
    ----------
    least : int
        Queries in the first sample, at least.
    pieces : int
        The queries are split at random into this many pieces. The sample is the first few; the others are the groups of
        the cuts from passes over all queries.
    """

    name: ClassVar[str] = "sampled-cutting-planes"

    least: int = 500
    pieces: int = 64

    def __post_init__(self) -> None:
        check_counts(self, "least", "pieces")

    def prepare(self, problem: MetricProblem) -> Run:
        """Needs rankings with queries enough for a sample, and a linear penalty, with a squared norm or without."""
        need(not isinstance(quadratic_part(problem), np.ndarray), "its penalty is a full quadratic form")
        # Reads the data of shards, and keeps them.
        queries = problem.risk.here().form(QueryRisk)
        many = queries.parts >= self.pieces and self._first(queries) <= LARGEST_SHARE * self.pieces
        need(many, f"it has too few queries for a sample of {self.least:,}")
        return lambda monitor: _Rounds(self, problem, queries, monitor).follow()

    def _first(self, risk: Risk) -> int:
        """Number of pieces in the first sample."""
        return -(-self.least * self.pieces // risk.parts)

    def memory(self, problem: MetricProblem) -> float | None:
        """Bytes, as for :class:`CuttingPlanes`."""
        return PLANES.memory(problem)


class _Rounds:
    """The state of one run."""

    def __init__(
        self, settings: SampledCuttingPlanes, problem: MetricProblem, queries: QueryRisk, monitor: Monitor
    ) -> None:
        self.settings, self.problem, self.monitor = settings, problem, monitor
        #: The risk for passes over all queries, and the one in memory of which samples are taken.
        self.risk, self.all_queries = problem.risk, queries
        self.cone = problem.cone
        self.quadratic: Any = problem.quadratic()
        self.linear = linear_part(problem)
        # Any order that does not depend on the data; the same at every solve.
        order = np.random.default_rng(0).permutation(queries.parts)
        #: The piece of every query.
        self.piece = np.empty(queries.parts, dtype=np.int64)
        self.piece[order] = np.arange(queries.parts) * settings.pieces // queries.parts
        #: Cuts of all pieces at the metrics of the passes over all queries.
        self.passes = Pool(problem, self.piece, settings.pieces)
        #: Master of the problem, with the cuts of the sample and of the other pieces.
        self.master = Master(problem)
        self.rho, self.value = np.nan, np.inf
        self.centre = self.normals = np.empty(0)
        self.sampled_passes, self.sampled_gap = 0, np.inf
        self._take(settings._first(queries))

    def _take(self, pieces: int) -> None:
        """Take the first pieces as the sample, with no cuts yet."""
        self.taken = pieces
        self.queries = np.flatnonzero(self.piece < pieces)
        self.share = len(self.queries) / self.risk.parts
        self.sample = self.all_queries.subset(self.queries, 1.0 / self.share)
        self.pool = Pool.empty(self._uncorrected(), PLANES.groups)

    def follow(self) -> Steps:
        """Alternate solves on the sample and passes over all queries, until the certified gap closes."""
        settings, monitor = self.settings, self.monitor
        monitor.unit = "passes"
        if monitor.M is not None and norm_of(monitor.M):
            metric, S, expected = monitor.M, self._gradient(monitor.M), np.nan
        else:
            metric, S = self._no_worse_than_simple(*self._coarse())
            expected = self._uncorrected().value(metric)
            # No part is negative: the sample's cuts bound the whole from below, should a pass over all take too long.
            monitor.suggestion = metric
            self._bound()
        slow, predicted = 0, 0.0
        while True:
            before = monitor.gap
            cuts = self.risk.separate(metric, self.piece)
            here = float(cuts.values.sum()) + self.problem.penalty(metric)
            monitor.primal(metric, here, by_risk=True)
            self.passes.add(metric, cuts)
            self._tighten(metric, abs(here - expected))
            yield {"sample": len(self.queries), "sampled_passes": self.sampled_passes}
            # Where a shard was lost there is no objective. Cutting planes go on without it.
            if not norm_of(metric) or not np.isfinite(here):
                return
            self._move(metric, here, cuts.normals, predicted)
            slow = slow + 1 if monitor.gap > SLOW * before else 0
            if slow == PATIENCE:
                if 2 * self.taken > LARGEST_SHARE * settings.pieces:
                    return
                self._take(2 * self.taken)
                S, slow = self._gradient(self.centre), 0
            corrected = self._corrected(S)
            accuracy = min(FIRST_ACCURACY, ACCURACY * max(monitor.gap, monitor.tol))
            metric, S = self._solve(corrected, self.centre, accuracy, 1.0)
            step = 0.5 * self.rho * norm_of(metric - self.centre) ** 2
            predicted = corrected.value(self.centre) - corrected.value(metric) + step
            expected = self.value - predicted

    def _coarse(self) -> tuple[Array, Array]:
        """Solution of the sample's problem before any correction."""
        metric, S = self._solve(self._uncorrected(), None, FIRST_ACCURACY, COARSE_SHARES[0])
        if self.sampled_gap > COARSE_GAP:
            metric, S = self._solve(self._uncorrected(), metric, FIRST_ACCURACY, COARSE_SHARES[1] - COARSE_SHARES[0])
        return metric, S

    def _no_worse_than_simple(self, metric: Array, S: Array) -> tuple[Array, Array]:
        """Return the metric, or the best baseline if better on a few parts, as when time on the sample was short."""
        some = some_parts(self._uncorrected(), SIMPLE_PARTS)
        assert some is not None, "risks of queries are taken apart"
        value, simple = best_simple(some, self.problem.plain_metrics())
        return (simple, self._gradient(simple)) if simple.any() and value < some.value(metric) else (metric, S)

    def _move(self, metric: Array, value: float, normals: Array, predicted: float) -> None:
        """Make a metric the centre unless it is worse, and adapt rho to the ratio of actual and predicted gain."""
        missing = min(1.0, self.monitor.gap) * self.monitor.size
        gain = self.value - value
        if predicted > ACCURACY * missing or gain < -0.5 * missing:
            if gain < 0.25 * predicted:
                self.rho *= 4.0
            elif gain > 0.75 * predicted:
                self.rho /= 4.0
        # A rise within the gap is no reason to refuse a metric whose pass gave new cuts of the other queries.
        if gain >= -0.5 * missing:
            self.centre, self.value, self.normals = metric, value, normals
        if np.isnan(self.rho):
            self.rho = PROXIMITY * value / norm_of(metric) ** 2

    def _gradient(self, metric: Array) -> Array:
        """S of the sample's risk at a metric: minus its gradient."""
        cuts = self.sample.separate(metric, np.zeros(len(self.queries), dtype=np.int64))
        return self.cone.from_coordinates(cuts.normals[0])

    def _uncorrected(self) -> MetricProblem:
        return MetricProblem(self.sample, self.problem.regularizer, G=self.problem.G)

    def _corrected(self, S: Array) -> MetricProblem:
        """The corrected problem, less a constant; S belongs to the sample at the centre."""
        others = self.cone.from_coordinates(self.normals[self.taken :].sum(axis=0))
        linear = self.linear + (1.0 - self.share) * S - others - self.rho * self.centre
        return MetricProblem(self.sample, SquaredFrobenius(self.quadratic + self.rho), G=linear)

    def _solve(self, problem: MetricProblem, start: Array | None, accuracy: float, share: float) -> tuple[Array, Array]:
        """Solution of a problem of the sample: the mean of the metrics of its cuts, and the S of its dual part."""
        limit = self.monitor.max_seconds
        left = None if limit is None else max(share * limit - (0.0 if share < 1.0 else self.monitor.seconds), 0.0)
        monitor = Monitor(accuracy, None, left)
        self.pool.problem = problem
        if start is not None:
            monitor.primal(start, problem.value(start))
        drive(PLANES.follow(problem, monitor, self.pool), monitor)
        self.sampled_passes, self.sampled_gap = self.sampled_passes + len(monitor.history), monitor.gap
        assert monitor.sums is not None, "cutting planes solve a master before they stop"
        dual = monitor.dual_point.clipped()
        weights = dual.weights.sum(axis=1)
        if not weights.any():
            return self.cone.zeros(), monitor.sums.S
        return np.tensordot(weights / weights.sum(), dual.witnesses, axes=1), monitor.sums.S

    def _tighten(self, near: Array, surprise: float) -> None:
        """Offer the lower bound that all current cuts prove, and raise it by cuts of the sample alone.

        If the sample predicted the value of the last pass to the tolerance, metrics hardly get better, and only cuts
        are missing. They are made as long as, at the rate of the last one, reaching the tolerance costs at most
        ``PRICE``.
        """
        monitor, before, share = self.monitor, np.inf, NEAR
        while True:
            lowest = self._bound()
            allowed = max(monitor.tol * monitor.size, monitor.atol)
            # Measured from this bound, not from the best one: solves of the sample in between drop cuts.
            missing = monitor.upper_bound - lowest.lower_bound
            pays = missing > 0.0 and missing * (missing / before) ** (PRICE / self.share) <= allowed
            if not (surprise <= allowed < np.inf and pays) or monitor.reached or monitor.out_of_time:
                return
            metric = self.cone.project(share * near + (1.0 - share) * lowest.M)
            self.pool.add(metric, self.sample.separate(metric, self.pool.groups))
            self.sampled_passes += 1
            before, share = missing, FARTHER * share

    def _bound(self) -> MasterPoint:
        """Offer the lower bound that all current cuts prove; returns the solution of their master."""
        passes, pool = self.passes, self.pool
        others = np.flatnonzero(passes.group >= self.taken)
        normals = np.vstack([part for part in (self.share * pool.normals, passes.normals[others]) if len(part)])
        offsets = np.concatenate([self.share * pool.offsets, passes.offsets[others]])
        groups = np.concatenate([pool.group, passes.group[others] - self.taken + pool.n_groups])
        slacks = np.ones(pool.n_groups + self.settings.pieces - self.taken)
        target = max(0.1 * self.monitor.tol, 1e-3 * min(1.0, self.monitor.gap))
        outcome = self.master.solve(normals, offsets, groups, slacks, target, lambda: False)
        of_sample, of_others = outcome.a[: pool.count], np.zeros(passes.count)
        of_others[others] = outcome.a[pool.count :]
        weight = float(self.share * pool.sizes @ of_sample + passes.sizes @ of_others)
        sums = replace(outcome.sums, weight=weight, size=float(np.abs(offsets) @ outcome.a))
        self.monitor.dual(outcome.lower_bound, self._dual(pool.weighted(of_sample), passes.weighted(of_others)), sums)
        return outcome

    def _dual(self, of_sample: Callable[[], CutDual], of_others: Callable[[], CutDual]) -> Callable[[], CutDual]:
        """Return a factory of the dual point with the cuts of the sample's groups and those of the other pieces."""
        taken, queries = self.taken, self.queries

        def make() -> CutDual:
            near, far = of_sample(), of_others()
            groups = near.weights.shape[1] + self.piece - taken
            groups[queries] = near.groups
            return CutDual(
                np.concatenate([near.witnesses, far.witnesses]),
                la.block_diag(near.weights, far.weights[:, taken:]),
                groups,
            )

        return make
