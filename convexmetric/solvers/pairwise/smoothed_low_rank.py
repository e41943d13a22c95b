r"""Newton's method on a factor of low rank for smoothed hinges, whose width goes to zero: full metrics.

.. math:: \min_{M = B^\top B} \; \langle H, M \rangle + \sum_{qij} c_q h_w(t_{qij}), \qquad H = \lambda I + G \succ 0

with hinges smoothed over a width w (:class:`~convexmetric.risks.PairwiseRisk`). With a trace the optimum has a low
rank, and for each width the factor descends and grows as in :mod:`convexmetric.solvers.numerics.factors`; the second
derivative comes from a systematic sample of the pairs on the kink, several times as many as entries of the factor. No
array has the size of a Newton matrix in the coordinates of the metric, or of the cuts of a master.

A pass over all queries gives a certified pair of bounds: the exact objective at M, and the lower bound that the slopes
of the smoothed hinges prove as multipliers. The relative gap has two sources, and the larger one decides the next step.
Either S has eigenvalues above one, because the factor has not converged or lacks rows: then it descends and grows. Or
smoothing costs something at the hinges on the kink, about in proportion to w squared: then the width is narrowed.

The first metrics come from samples of the queries, whose passes cost their share of a full one. With few positives per
query most other passes are over lists of the pairs that can have a nonzero slope
(:mod:`convexmetric.solvers.pairwise.nearby`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from convexmetric.arrays import Array
from convexmetric.problem import MetricProblem
from convexmetric.risks import PairwiseRisk, Risk, Smoothed
from convexmetric.risks.base import Derivative
from convexmetric.solvers.numerics.factors import FactorObjective, FactorPoint
from convexmetric.solvers.pairwise.free_pairs import finish
from convexmetric.solvers.pairwise.kinks import Kinks
from convexmetric.solvers.pairwise.nearby import MULTIPLES, NearbyPairs, best_multiple, offer, samples_of, unit_of
from convexmetric.solvers.runtime import Monitor, Run, Solver, Steps, drive
from convexmetric.solvers.runtime.requirements import FLOAT, metric_memory, positive_definite_penalty

#: Evaluations of the bounds after which it gives up; what it found is kept.
MAX_LOOKS = 300
#: Pairs on the kink sampled for the second derivative: at least and at most; for each entry of the factor, at least and
#: at most; between them for each distance, with which steps take a small part of a long pass.
LEAST_SAMPLE, MOST_SAMPLE, SAMPLE_PER_ENTRY, MOST_PER_ENTRY, PER_DISTANCE = 2_000, 200_000, 8, 32, 1e-3
#: First width of the smoothed hinges, in margins. With one so narrow that few hinges are on the kink, Newton steps see
#: only the concave rest of a factor's objective; it is narrowed at once to this share of it where more than this many
#: times the sample are on the kink.
FIRST_WIDTH, FIRST_NARROWING, MANY_KINKS = 2.0, 0.25, 10.0
#: Shares of the width to which it is narrowed at once, at least and at most.
NARROWING, SLOW_NARROWING = 0.2, 0.4
#: Newton steps go on until they promise less than this share of the gap or of the tolerance.
ACCURACY = 3e-4
#: The interior point of :mod:`~convexmetric.solvers.pairwise.free_pairs` is tried from this gap on, with at most this
#: many pairs on the kink per coordinate, as more of them are far from their final slopes; and again when only this
#: share of them is left.
FINISH_GAP, FINISH_KINKS, FEWER = 2e-3, 2.0, 0.5
#: Evaluations of the bounds in a row, none of which halves the gap, after which it gives up.
FAILED_LOOKS = 20


@dataclass(frozen=True)
class SmoothedLowRank(Solver):
    """Exact for large margins and for AUC with a trace, up to a thousand features."""

    name: ClassVar[str] = "smoothed-low-rank"

    def prepare(self, problem: MetricProblem) -> Run:
        """Needs hinges over positives and negatives, full metrics, and a trace that outweighs the linear term."""
        risk = problem.risk.form(PairwiseRisk)
        positive_definite_penalty(problem)
        return partial(self._follow, problem, risk)

    def memory(self, problem: MetricProblem) -> float | None:
        """Bytes of a pass, of six metrics, and of the sample with images of the points for a rank of a tenth of d."""
        d, rank = float(problem.cone.d), 0.1 * problem.cone.d
        sample = _sample_size(problem.risk, d * rank)
        points = sum(points.shape[0] for points in problem.risk.points)
        images = FLOAT * (12.0 * sample + points * (d + 4.0 * rank))
        return problem.risk.pass_memory + 6.0 * metric_memory(problem) + images

    def _follow(self, problem: MetricProblem, risk: PairwiseRisk, monitor: Monitor) -> Steps:
        """Solve the problems of the samples, then the problem."""
        path, C, width = _Path(problem, risk, monitor), None, FIRST_WIDTH * risk.margin
        if monitor.M is not None and monitor.M.any():
            C = path.objective.factor(monitor.M)
            width = float(monitor.left_by(self.name, {"width": ()}).get("width", width))
        else:
            for smaller, part, inner in samples_of(problem, risk, monitor):
                part_of = _Path(smaller, part, inner)
                part_of.objective.kinks = path.objective.kinks * (part.parts / risk.parts)
                drive(part_of.follow(C, width), inner)
                C, width = part_of.C, part_of.objective.width
                path.objective.kinks = part_of.objective.kinks * (risk.parts / part.parts)
        yield from path.follow(C, width)


class _Path:
    """The state of a run on one problem: all queries, or a sample of them."""

    def __init__(self, problem: MetricProblem, risk: PairwiseRisk, monitor: Monitor) -> None:
        self.problem, self.risk, self.monitor = problem, risk, monitor
        self.objective = _SmoothedObjective(problem, risk)

    def follow(self, C: Array | None, width: float) -> Steps:
        """Solve from a factor, or the best multiple of the identity; the last factor and width stay."""
        objective, monitor = self.objective, self.monitor
        objective.width = width
        monitor.state = lambda: {"width": np.array(objective.width)}
        fresh, counted = C is None, np.isfinite(objective.kinks)
        self.C = C = self._start() if C is None else C
        here = objective.at(C)
        if not counted:
            # That pass has counted the kinks, so that the next can sample them.
            many = fresh and objective.kinks > MANY_KINKS * _sample_size(self.risk, C.size)
            here = objective.narrowed(here, FIRST_NARROWING if many else 1.0)
        failures, half, free = 0, 0.5 * monitor.tol, FINISH_KINKS * self.problem.cone.size
        for _ in range(MAX_LOOKS):
            before = monitor.gap
            steep, smoothing = self._look(here)
            self.C = here.C
            yield {"rank": len(here.C), "width": objective.width, "passes": objective.passes}
            failures = 0 if monitor.gap < 0.5 * before else failures + 1
            if failures == FAILED_LOOKS:
                return
            if smoothing > half and steep < max(0.5 * smoothing, half):
                if monitor.gap <= FINISH_GAP and here.smoothed.kinks <= free:
                    yield from finish(self.problem, self.risk, monitor, here.B.T @ here.B, objective.width)
                    free = FEWER * here.smoothed.kinks
                share = np.clip(0.7 * np.sqrt(half / smoothing), NARROWING, SLOW_NARROWING)
                here = objective.narrowed(here, float(share))
            else:
                here = objective.grown(here, monitor.tol)
            accuracy = ACCURACY * max(monitor.tol, min(1.0, monitor.gap))
            here = objective.descend(here, accuracy, lambda: monitor.out_of_time)

    def _look(self, here: _Point) -> tuple[float, float]:
        """Offer both bounds; returns the relative gaps due to eigenvalues of S above one and to the smoothing."""
        size = float(np.vdot(here.C, here.C))
        offer(self.problem, self.monitor, here.B.T @ here.B, here.smoothed, self.objective.width)
        steep = 1.0 - 1.0 / max(1.0, float(np.linalg.eigvalsh(here.S)[-1]))
        upper = here.smoothed.exact + size
        return steep, (upper - here.point.value) / upper if upper > 0.0 else 0.0

    def _start(self) -> Array:
        """Return the best multiple of the identity, restricted to directions in which the risk falls fastest there."""
        cone, objective = self.problem.cone, self.objective
        best, _ = best_multiple(self.problem, self.monitor, (0.0, *unit_of(self.risk) * MULTIPLES))
        if best == 0.0:
            return np.empty((0, cone.d))
        S = self.risk.smoothed(best * cone.identity(), objective.width).point.S
        S = objective.whitened(S)
        _, vectors = np.linalg.eigh(S)
        rows = vectors[:, -objective.grow :].T
        return np.sqrt(best) * np.linalg.norm(rows @ objective.K.T, axis=1, keepdims=True) * rows


@dataclass(frozen=True)
class _Point(FactorPoint):
    """A factor with the smoothed risk there."""

    smoothed: Smoothed


class _SmoothedObjective(FactorObjective[_Point]):
    """Objective of a factor: hinges smoothed over a width, and a linear penalty."""

    grow, negligible_row, least_cg_accuracy = 16, 1e-9, 3e-3

    def __init__(self, problem: MetricProblem, risk: PairwiseRisk) -> None:
        super().__init__(positive_definite_penalty(problem))
        self.pairs, self.risk = NearbyPairs(risk), risk
        self.width = FIRST_WIDTH
        #: Pairs on the kink at the last metric; infinite where they are not known.
        self.kinks = np.inf
        #: Passes so far.
        self.passes = 0

    def at(self, C: Array) -> _Point:
        """Evaluate a factor by one pass over the queries, and sample as many kinks as the factor needs."""
        B = self.of_points(C)
        target = _sample_size(self.risk, C.size)
        # Kinks of a query that are listed at most: several times its share of the sample.
        most = -(-4 * target // self.risk.parts) + 16 if np.isfinite(self.kinks) else 0
        stride = max(1.0, self.kinks / target)
        smoothed = self.pairs.smoothed(B.T @ B, self.width, stride, most, seed=self.passes)
        self.kinks = smoothed.kinks
        self.passes += 1
        S = self.whitened(smoothed.point.S)
        return _Point(C, B, smoothed.value, smoothed.point, S, smoothed)

    def narrowed(self, here: _Point, share: float) -> _Point:
        """Evaluate the same factor with the width multiplied by ``share``."""
        self.width *= share
        self.kinks *= share
        return self.at(here.C)

    def second_along(self, here: _Point) -> Derivative:
        """Second derivative of the risk over the sampled kinks, as a map of E."""
        return self._kinks(here).second_along(here.B)

    def curvature(self, here: _Point, change: Array) -> float:
        """Second derivative of the risk along ``change``, over the sampled kinks."""
        kinks = self._kinks(here)
        return float(kinks.curvature @ kinks.margins(change) ** 2)

    def _kinks(self, here: _Point) -> Kinks:
        return Kinks(self.risk, here.smoothed.sample, here.smoothed.curvature)


def _sample_size(risk: Risk, entries: float) -> int:
    """Number of pairs on the kink to sample for a factor of so many entries."""
    wanted = np.clip(PER_DISTANCE * risk.distances, SAMPLE_PER_ENTRY * entries, MOST_PER_ENTRY * entries)
    return int(np.clip(wanted, LEAST_SAMPLE, MOST_SAMPLE))
