r"""Newton's method on smoothed hinges along the central path, for rankings whose risk decomposes over pairs.

.. math:: \min_{M \succ 0} \; \langle C, M \rangle + \sum_{qij} c_q h_w(t_{qij}) - \mu \log \det M

with hinges smoothed over a width w and the barrier of the cone, for w and mu going to zero together: the error of the
smoothing is of order w^2 and that of the barrier mu d, so w shrinks about as the square root of mu. Gradient and value
are exact, over all pairs; the second derivative comes from a systematic sample of the pairs on the kink, several times
as many as coordinates of the metric. Where :math:`Z = C - S`, the gradient without the barrier, lies in the cone, the
barrier's second derivative is replaced by the Nesterov-Todd scaling of (M, Z), with which steps remain good for a much
smaller mu.

Every pass gives a certified pair of bounds: the exact objective at M, and the lower bound that the slopes of the
smoothed hinges prove as multipliers.

The path begins on samples of the queries, whose passes cost their share of a full one. With few positives per query
most other passes are over lists of the pairs that can have a nonzero slope
(:mod:`convexmetric.solvers.pairwise.nearby`).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import scipy.linalg as la

from convexmetric.arrays import Array
from convexmetric.cones.scaling import Scaling
from convexmetric.errors import InputError
from convexmetric.numerics.searches import SUFFICIENT, shortened
from convexmetric.numerics.threads import blas_threads_for
from convexmetric.problem import MetricProblem
from convexmetric.risks import PairwiseRisk, Smoothed
from convexmetric.solvers.pairwise.nearby import MULTIPLES, NearbyPairs, best_multiple, offer, samples_of, unit_of
from convexmetric.solvers.runtime import Monitor, Run, Solver, Steps, check_counts, drive
from convexmetric.solvers.runtime.requirements import FLOAT, linear_part, need, need_cone, need_linear_penalty

#: Hinges over pairs: a PairwiseRisk, or a risk in shards with the methods of one that are used here.
Pairs = Any
#: Metric, mu and width.
State = tuple[Array, float, float]
#: Multiples of the identity to start from for shards, whose unit is unknown.
SHARDED = 10.0 ** np.arange(-4.0, 8.1, 0.5)
#: Passes after which it gives up; what it found is kept.
MAX_PASSES = 150
#: Pairs on the kink sampled for the second derivative: at least, and for each coordinate of the metric, at least and at
#: most; between them, entries of products of the matrix for each distance, with which it takes a tenth of a long pass.
LEAST_SAMPLE, SAMPLE_PER_COORDINATE, MOST_PER_COORDINATE, PER_DISTANCE = 2_000, 8, 64, 4.0
#: First width of the smoothed hinges.
FIRST_WIDTH = 0.5
#: First mu, as a share of the objective per dimension.
FIRST_BARRIER = 0.3
#: Factor by which mu shrinks at a centred point.
BARRIER_FACTOR = 0.15
#: The width shrinks by ``BARRIER_FACTOR`` to this power: about with the square root of mu.
WIDTH_EXPONENT = 0.45
#: A point is centred when the Newton decrement is below this many mu and Z is in the cone.
CENTRING_ACCURACY = 0.3
#: Steps after which mu shrinks even if the point is not centred.
CENTRING_STEPS = 12
#: Share of the way to the boundary of the cone that a step may go.
BOUNDARY_SHARE = 0.9
#: Factor by which a step that gains too little is shortened.
BACKTRACKING = 0.4
#: Share of the Newton step below which the path ends.
SHORTEST_STEP = 1e-3


@dataclass(frozen=True)
class SmoothedNewton(Solver):
    """Exact for hinges over positives and negatives (AUC) with a trace: up to 70 features, 2,500 if diagonal.

    Parameters
    ----------
    most : int
        Coordinates of the metric up to which the Newton matrix is built.
    """

    name: ClassVar[str] = "smoothed-newton"

    most: int = 2_500

    def __post_init__(self) -> None:
        check_counts(self, "most")

    def prepare(self, problem: MetricProblem) -> Run:
        """Needs hinges over pairs of positives and negatives and a linear penalty on few coordinates."""
        risk = _pairs(problem)
        need_cone(problem)
        need_linear_penalty(problem)
        need(problem.cone.size <= self.most, f"its metric has more than {self.most} coordinates")
        need(problem.cone.smallest(linear_part(problem)) > 0.0, "its penalty does not grow with every metric")
        return partial(self._follow, problem, risk)

    def memory(self, problem: MetricProblem) -> float | None:
        """Bytes of a pass, or of the sample's rows in coordinates, three times, and two Newton matrices.

        The sample may be twice as long as it is meant to be.
        """
        coordinates = float(problem.cone.size)
        rows = _sample_size(problem, problem.risk) * coordinates
        return max(problem.risk.pass_memory, FLOAT * (6.5 * rows + 2.0 * coordinates**2))

    def _follow(self, problem: MetricProblem, risk: Pairs, monitor: Monitor) -> Steps:
        """Follow the central path until the certified gap closes."""
        state, kinks = self._left(problem, monitor), np.inf
        if state is None and not risk.sharded_pairs:
            for smaller, part, inner in samples_of(problem, risk, monitor):
                path = _Path(smaller, part, inner, kinks)
                drive(path.follow(state), inner)
                state, kinks = path.here, path.kinks / part.parts
        yield from _Path(problem, risk, monitor, kinks).follow(state)

    def _left(self, problem: MetricProblem, monitor: Monitor) -> State | None:
        """Metric, mu and width in a checkpoint; None if there are none."""
        left = monitor.left_by(self.name, {"U": problem.cone.shape, "mu": (), "width": ()})
        if not left:
            return None
        U = problem.metric(left["U"])
        if not problem.cone.smallest(U) > 0.0:
            raise InputError("the checkpoint's path is damaged (a point outside the cone); remove it to start again")
        return U, float(left["mu"]), float(left["width"])


class _Path:
    """The state of one run: all queries, or a sample of them."""

    def __init__(self, problem: MetricProblem, risk: Pairs, monitor: Monitor, kinks: float) -> None:
        self.problem, self.risk, self.monitor = problem, risk, monitor
        self.passes = risk if risk.sharded_pairs else NearbyPairs(risk)
        self.left = MAX_PASSES
        self.cone = problem.cone
        self.C = linear_part(problem)
        self.target = _sample_size(problem, risk)
        #: Pairs on the kink, as expected by those of a query of a sample; infinite where they are not known.
        self.kinks = kinks * risk.parts
        self.here: State | None = None

    def follow(self, state: State | None) -> Steps:
        """Follow the path from a state, or the best multiple of the identity; where it ends is ``here``."""
        with suppress(la.LinAlgError):
            # Numbers that left the range of floats end the path; what it found stays.
            yield from self._follow(state)

    def _follow(self, state: State | None) -> Steps:
        if state is None:
            # The zero metric is the optimum where the penalty outweighs the risk; this pass proves it.
            yield self._details(self._pass(self.cone.zeros(), FIRST_WIDTH), FIRST_WIDTH)
            self.kinks = np.inf
        steps = 0
        self.here = U, mu, width = state or self._start()
        self.monitor.state = lambda: dict(zip(("U", "mu", "width"), map(np.asarray, self.here or ()), strict=False))
        # One pass counts the kinks, of which the zero metric has none, so that the next can sample them.
        if np.isinf(self.kinks) and not self.monitor.out_of_time:
            self._pass(U, width)
        here = self._pass(U, width)
        yield self._details(here, width)
        while self.left > 0:
            Z = self.C - here.point.S
            scaling, V, decrement = self._direction(U, Z, here, mu)
            steps += 1
            # A small decrement alone says little: along sampled pairs the second derivative is huge.
            centred = decrement <= CENTRING_ACCURACY * mu and self.cone.smallest(Z) > 0.0
            if centred or steps > CENTRING_STEPS:
                steps = 0
                mu *= BARRIER_FACTOR
                narrower = BARRIER_FACTOR**WIDTH_EXPONENT
                width *= narrower
                self.kinks *= narrower
                self.here = U, mu, width
                here = self._pass(U, width)
                yield self._details(here, width)
                continue
            longest = min(1.0, BOUNDARY_SHARE * scaling.longest(V))
            before = self._merit(U, here, mu)
            move = scaling.primal_step(V)
            for step in shortened(BACKTRACKING, SHORTEST_STEP, longest):
                trial = U + step * move
                there = self._pass(trial, width)
                yield self._details(there, width)
                if self._merit(trial, there, mu) <= before - SUFFICIENT * step * decrement or self.left <= 0:
                    break
            else:
                # Rounding, or a sample too thin: the path goes no further.
                return
            U, here = trial, there
            self.here = U, mu, width

    def _start(self) -> State:
        """Return the best multiple of the identity on a grid, with a mu to suit and the first width."""
        # The unit of points in shards is not known: a longer grid, which ends where values rise.
        grid = SHARDED if self.risk.sharded_pairs else unit_of(self.risk) * MULTIPLES
        best, value = best_multiple(self.problem, self.monitor, grid)
        return best * self.cone.identity(), FIRST_BARRIER * value / self.cone.d, FIRST_WIDTH

    def _pass(self, U: Array, width: float) -> Smoothed:
        """Evaluate the smoothed risk, and offer both bounds."""
        # Kinks of a query that are listed at most: several times its share of the sample.
        most = -(-4 * self.target // self.risk.parts) + 16 if np.isfinite(self.kinks) else 0
        here = self.passes.smoothed(U, width, max(1.0, self.kinks / self.target), most, seed=self.left)
        self.kinks = here.kinks
        offer(self.problem, self.monitor, U, here, width)
        self.left -= 1
        return here

    @staticmethod
    def _details(here: Smoothed, width: float) -> dict[str, float]:
        return {"kinks": here.kinks, "width": width}

    def _merit(self, U: Array, here: Smoothed, mu: float) -> float:
        """Smoothed objective with the barrier; infinite outside the cone."""
        spectrum = self.cone.spectrum(U)
        if spectrum[-1] <= 0.0:
            return np.inf
        return here.value + self.problem.penalty(U) - mu * float(np.log(spectrum).sum())

    def _direction(self, U: Array, Z: Array, here: Smoothed, mu: float) -> tuple[Scaling, Array, float]:
        """Scaling, Newton step in scaled coordinates, and squared Newton decrement."""
        inside = self.cone.smallest(Z) > 1e-12 * self.cone.largest(self.C)
        # Outside, mu U^-1 stands in for Z: its scaling is the second derivative of the barrier.
        barrier = mu * self.cone.inverse(U)
        scaling = self.cone.scaling(U, Z if inside else barrier)
        gradient = scaling.into(scaling.dual(Z - barrier))
        J = self._rows(scaling, here)
        with blas_threads_for(float(len(J)) * self.cone.size**2):
            H = J.T @ J
            H[np.diag_indices_from(H)] += 1.0
            v = -la.cho_solve(la.cho_factor(H, lower=True, check_finite=False), gradient, check_finite=False)
        return scaling, scaling.out(v), float(-gradient @ v)

    def _rows(self, scaling: Scaling, here: Smoothed) -> Array:
        """Rows J, one for each sampled pair, of the second derivative ``J^T J`` in scaled coordinates."""
        positives, negatives = self.risk.differences(here)
        rows = scaling.outer_rows(negatives) - scaling.outer_rows(positives)
        rows *= np.sqrt(here.curvature)[:, None]
        return rows


def _sample_size(problem: MetricProblem, risk: Pairs) -> int:
    """Number of pairs on the kink to sample."""
    size = problem.cone.size
    each = np.clip(PER_DISTANCE * risk.distances / size**3, SAMPLE_PER_COORDINATE, MOST_PER_COORDINATE)
    return max(LEAST_SAMPLE, int(each * size))


def _pairs(problem: MetricProblem) -> Pairs:
    """The problem's hinges over pairs, in memory or in shards."""
    risk = problem.risk
    return risk if risk.sharded_pairs else risk.form(PairwiseRisk)
