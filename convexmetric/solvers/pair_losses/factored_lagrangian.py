r"""Augmented Lagrangian on a factor of the metric: any number of pairs or triplets, spans of thousands of dimensions.

.. math:: \min_{B} \; \phi_w(X B^\top; v) + \Omega(B^\top B)

where phi is the risk as a function of the images of the points, its hinges smoothed over a width w around centres v
(:class:`~convexmetric.risks.ImageRisk`). Each problem is solved by Newton's method with a trust region (conjugate
gradients of Steihaug and Toint); then the multipliers it found become the centres of the next, and the width shrinks.
In M this is the proximal point method on the dual of a convex problem: if B has enough rows it converges to the
optimum, whatever the width.

Two things make it fast. Coordinates are whitened by the scatter that pulls pairs together, :math:`P = X^\top
\mathrm{Lap}(b) X + \delta I`: across the optimum the curvature is about P, so that few conjugate gradient steps
suffice. And matrices of the size of M are decomposed only at the end of a round, for the certificate and for new rows:
:math:`[S]_+` at the multipliers, with those that add to S at their largest feasible scale. The *complementarity gap* is
what the gap would be if the multipliers were feasible unscaled.

All pairs of many points are replaced by a sample: the pairs within small blocks, into which the points are dealt at
random. A pass over all pairs then gives the bounds, and corrects the sample's problem by a linear term,

.. math:: \min_{B} \; \phi_w(X B^\top) + \langle L, B^\top B \rangle + \Omega(B^\top B), \qquad
   L = \nabla R(M_k) - \nabla \phi_w(M_k),

with the gradient of the risk itself and that of the sample's smoothed hinges: if :math:`M_{k+1} = M_k`, it is the
optimum of the whole problem, whatever the width and the sample. Smoothed hinges of constant width, without centres,
have about the second derivative of all pairs, so that a pass divides the gap by ten or more. The lower bound is that of
two cuts: at :math:`M_k`, and at a metric under which all points are far apart, where only pairs that should be near
cost anything. Their weights :math:`\theta` and :math:`1 - \theta` scale only the part that adds to S.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from convexmetric.arrays import Array
from convexmetric.numerics.conjugate_gradients import new_radius, steihaug
from convexmetric.problem import MetricProblem
from convexmetric.regularizers import NormWeights
from convexmetric.risks import CutDual, ImagePass, ImageRisk, LabelledPairRisk, Minorant
from convexmetric.solvers.runtime import Details, Monitor, Run, Solver, Steps
from convexmetric.solvers.runtime.requirements import FLOAT, need, need_full_metrics, norm_or_trace

#: Points from which all pairs are sampled, and up to which matrices of all their pairs are held: half a gigabyte each.
SAMPLED_FROM, HELD_POINTS = 1_000, 8_000
#: Points per feature from which a sample represents all pairs well enough.
FEW_FEATURES = 4
#: Points of a block of the sample at first; width of its smoothed hinges in the end, and accuracy of its rounds.
FIRST_BLOCK, SAMPLE_WIDTH, SAMPLE_ACCURACY = 128, 0.2, 2e-3
#: Blocks are doubled where a pass leaves more than this share of the gap; fewest blocks, and most weights of a sample.
SLOW, FEWEST_BLOCKS, HELD_WEIGHTS = 0.2, 8, 8_000_000
#: Rows of the factor at most.
RANK = 64
#: Rounds after which it gives up; what it found is kept.
MAX_ROUNDS = 500
#: First width of the smoothed hinges, in margins.
FIRST_WIDTH = 1.0
#: Where a metric is known already: the first width, in margins, and the size, as a share of the metric's factor, of the
#: rows that are added to that.
START_WIDTH, START_SHARE = 0.1, 0.01
#: Factor by which the width shrinks from round to round.
WIDTH_FACTOR = 0.4
#: Width down to which it shrinks; where the multipliers are infeasible, this limit grows up to the second.
LAST_WIDTH, WIDEST_LAST_WIDTH = 0.01, 0.3
#: The second limit for triplets, whose multipliers converge slowly where the width is large.
WIDEST_FOR_TRIPLETS = 0.02
#: Newton steps of a round at most.
NEWTON_STEPS = 40
#: A round ends when a step promises less than this share of the complementarity gap. Where the multipliers are
#: infeasible, the share falls down to the second.
SUBPROBLEM_ACCURACY, FINEST_SUBPROBLEM_ACCURACY = 0.02, 2e-4
#: Conjugate gradient steps for a Newton step at most.
CG_STEPS = 200
#: Conjugate gradients end at this fraction of the gradient.
CG_ACCURACY = 1e-3
#: A round ends when the radius of the trust region is below this share of the factor's size.
SHORTEST_STEP = 1e-7
#: Bounds are made when the complementarity gap has fallen by this factor since the last time.
CERTIFICATE_FACTOR = 0.3
#: The largest feasible scale of the multipliers is found to this share of the gap.
SCALE_ACCURACY = 0.02
#: Where the gap is more than this many times the complementarity gap, rows may be missing; also after as many rounds in
#: which that has not fallen enough for bounds.
INFEASIBLE_FACTOR, IDLE_ROUNDS = 5.0, 6
#: New rows are made of eigenvectors of Z with eigenvalues below minus this, in whitened coordinates, in which what
#: pulls pairs together has eigenvalues of about 1.
NEW_ROW_EIGENVALUE = 1e-7
#: Rows of the factor are left out below this share of its squared size.
NEGLIGIBLE_ROW = 1e-9
#: Size, in units of that of the start, up to which a factor counts as zero.
ZERO_SIZE = 1e-4
#: Delta of the whitening per unit of the norm's weight; a trace counts in full.
WHITENING_RIDGE = 0.3


@dataclass(frozen=True)
class FactoredLagrangian(Solver):
    """Exact for pairs and listed triplets under full metrics, norm or trace, where the optimum has a low rank."""

    name: ClassVar[str] = "factored-lagrangian"

    def prepare(self, problem: MetricProblem) -> Run:
        """Needs full metrics, losses of pairs or triplets, and a trace, a Frobenius norm, or its square and a trace."""
        need_full_metrics(problem)
        images = problem.risk.form(ImageRisk)
        norms = norm_or_trace(problem)
        need(problem.G is None, "it has a linear term")
        return partial(self._rounds, problem, images, norms)

    def memory(self, problem: MetricProblem) -> float | None:
        """Bytes of eight metrics, the points four times and images' differences thrice, or six weights of all pairs."""
        images, d = problem.risk.form(ImageRisk), problem.cone.d
        n = float(len(images.X))
        weights = n * n if n <= HELD_POINTS else 0.5 * max(HELD_WEIGHTS, n * FIRST_BLOCK)
        pairs = 6.0 * weights if images.all_pairs else 3.0 * problem.risk.parts * min(RANK, d)
        return FLOAT * (8.0 * d * d + 4.0 * n * d + pairs)

    def _rounds(self, problem: MetricProblem, images: ImageRisk, norms: NormWeights, monitor: Monitor) -> Steps:
        """Rounds until the certified gap closes."""
        with suppress(np.linalg.LinAlgError):
            # Numbers that left the range of floats end the run; what it found stays.
            B: Array | None = None
            n, d = images.X.shape
            if images.all_pairs and (n > HELD_POINTS or n >= max(SAMPLED_FROM, FEW_FEATURES * d)):
                assert isinstance(images, LabelledPairRisk)
                B = yield from _SampledRun(problem, images, norms, monitor).rounds()
                if n > HELD_POINTS:
                    return
            yield from _Run(problem, images, norms, monitor).follow(B)


@dataclass
class _Point:
    """A factor B, with the smoothed risk, the objective and a Gram matrix there."""

    B: Array
    here: ImagePass
    value: float
    gram: Array


class _Run:
    """The state of one solve."""

    def __init__(self, problem: MetricProblem, images: ImageRisk, norms: NormWeights, monitor: Monitor) -> None:
        self.problem, self.monitor = problem, monitor
        self.cone, self.regularizer, self.norms = problem.cone, problem.regularizer, norms
        within_scatter = images.within_scatter()
        delta = norms.trace + WHITENING_RIDGE * (norms.squared + norms.norm)
        values, self.vectors = np.linalg.eigh(within_scatter)
        #: Diagonal of the whitening, and whitened points.
        self.scale = 1.0 / np.sqrt(np.maximum(values, 0.0) + delta)
        #: A linear term of the objective, in whitened coordinates, where there is one.
        self.linear: Array | None = None
        self._take(images)
        self.rank = min(RANK, self.cone.d)
        self.width, self.last_width = FIRST_WIDTH, LAST_WIDTH
        self.accuracy = SUBPROBLEM_ACCURACY
        self.centre: Any = None
        self.radius = np.inf
        self.products = 0

    def _take(self, images: ImageRisk) -> None:
        """Set the risk that the rounds minimise, and whiten its points."""
        self.images = images
        self.X = np.ascontiguousarray((images.X @ self.vectors) * self.scale)
        self.single = self.X.astype(np.float32)

    def metric(self, B: Array) -> Array:
        """The metric of a factor, in the problem's coordinates."""
        factor = (B * self.scale) @ self.vectors.T
        return np.asarray(factor.T @ factor)

    def at(self, B: Array) -> _Point:
        """The smoothed objective at a factor."""
        here = self.images.at(self.X @ B.T, self.width, self.centre)
        scaled = B * self.scale
        gram = scaled @ scaled.T
        linear = float(np.vdot(B, self.by_linear(B)))
        return _Point(B, here, here.value + self.regularizer.value(gram, self.cone) + linear, gram)

    def by_linear(self, B: Array) -> Array:
        """Half the gradient of the linear term at a factor, which is also half its second derivative along B."""
        return np.zeros_like(B) if self.linear is None else B @ self.linear

    def follow(self, near: Array | None) -> Steps:
        """Run rounds, from a factor near the optimum if given; make bounds when the complementarity gap fell enough."""
        self.width = self.width if near is None else START_WIDTH
        B = self._start() if near is None else near
        self.radius = self.least_size = float(np.linalg.norm(B))
        self.monitor.state = lambda: {"B": B, "width": np.array(self.width)}
        bounded_at, bounded_in = np.inf, -1
        for number in range(MAX_ROUNDS):
            at = self._solve(self.at(B))
            remaining = self.complementarity_gap(at)
            B = self._compressed(at.B)
            fell = remaining <= CERTIFICATE_FACTOR * bounded_at
            due = fell or self.monitor.out_of_time or number in (bounded_in + IDLE_ROUNDS, MAX_ROUNDS - 1)
            S = self._offer(at, due)
            yield self._details(at, B) | {"certified": due}
            if due:
                gap = self.monitor.upper_bound - self.monitor.lower_bound
                bounded_at, bounded_in = min(gap, remaining), number
                if not fell or gap > INFEASIBLE_FACTOR * remaining:
                    B, bounded_at = self._grown(B, S), gap
                    self._loosen(B)
            self.centre = self.images.centre(at.here)
            self.width = max(self.last_width, WIDTH_FACTOR * self.width)

    def _details(self, at: _Point, B: Array) -> dict[str, float]:
        return {"width": self.width, "rank": len(B), "kinks": at.here.kinks, "products": self.products}

    def _loosen(self, B: Array) -> None:
        """Widen the smoothing and make rounds more accurate, where the multipliers are infeasible."""
        factor = WIDTH_FACTOR
        self.accuracy = max(FINEST_SUBPROBLEM_ACCURACY, factor * self.accuracy)
        widest = WIDEST_FOR_TRIPLETS if self.images.joint else WIDEST_LAST_WIDTH
        self.last_width = min(widest, self.last_width / factor)
        self.width = max(self.width, self.last_width / factor)
        # Gradients vanish at the factor zero: steps must be as long as the new rows to leave it.
        self.radius = max(self.radius, 1e-3 * self.size(B))

    def size(self, B: Array) -> float:
        """Size of a factor; not below that of the start, as the factor may be zero on the way."""
        return max(float(np.linalg.norm(B)), self.least_size)

    def complementarity_gap(self, at: _Point) -> float:
        """Sum of the complementarity products: the gap, were the multipliers feasible."""
        here = at.here
        return here.exact - sum(here.duals) + float(np.vdot(here.G, here.laplacian(here.G)))

    def _compressed(self, B: Array) -> Array:
        """Factor of the same metric with orthogonal rows, negligible ones left out."""
        values, vectors = np.linalg.eigh(B @ B.T)
        kept = values > NEGLIGIBLE_ROW * self.size(B) * self.size(B)
        kept[-1] = True
        return np.ascontiguousarray(vectors[:, kept].T @ B)

    def _start(self) -> Array:
        """Starting factor: that of a checkpoint, of the caller's metric, or a fresh one."""
        left = self.monitor.left_by(FactoredLagrangian.name, {"B": (None, self.cone.d), "width": ()})
        if left:
            self.width = float(left["width"])
            return left["B"]
        start, fresh = self.monitor.start, self._separating()
        if start is None:
            return fresh
        near = (self.cone.factor(start)[: self.rank] @ self.vectors) / self.scale
        if not self.at(near).value < self.at(fresh).value:
            return fresh
        self.width = START_WIDTH
        # Directions that this metric lacks may be needed, and rows join late.
        small = START_SHARE * np.linalg.norm(near) / np.linalg.norm(fresh) * fresh
        return np.ascontiguousarray(np.vstack([near, small])[: self.rank])

    def _separating(self) -> Array:
        """Factor of the directions that separate dissimilar pairs most, at its best scale."""
        apart = self.images.at(np.zeros((len(self.X), 1)), 0.0)
        # Zero is optimal where the regularizer outweighs everything, and no step ends exactly there.
        zero = self.cone.zeros()
        self.monitor.primal(zero, self.problem.value(zero))
        adding, _ = apart.sides(self.X)
        values, vectors = np.linalg.eigh(adding)
        gains = values[::-1][: self.rank]
        rows = vectors[:, ::-1][:, : self.rank].T
        kept = max(1, int((gains > 1.0).sum()))
        B = rows[:kept] * np.sqrt(np.maximum(gains[:kept] - 1.0, 0.1))[:, None]
        scales = np.geomspace(1e-3, 1e3, 25)
        return np.ascontiguousarray(B * min(scales, key=lambda scale: self.at(scale * B).value))

    def gradient(self, at: _Point) -> Array:
        """Gradient of the smoothed objective in the factor."""
        omega = _regularizer_gradient(self.norms, at.gram)
        return at.here.gradient().T @ self.X + 2.0 * ((omega @ at.B) * self.scale**2 + self.by_linear(at.B))

    def product(self, at: _Point) -> Callable[[Array], Array]:
        """Second derivative of the smoothed objective at a point, as a map of factors."""
        omega, weights, square = _regularizer_gradient(self.norms, at.gram), at.B * self.scale**2, self.scale**2

        def product(step: Array) -> Array:
            self.products += 1
            change = step @ weights.T
            bent = _regularizer_hessian(self.norms, at.gram, change + change.T)
            # Scaled to size one, so that products of small numbers are not denormal: those take a hundred times as
            # long.
            size = float(np.abs(step).max()) or 1.0
            images = at.here.product(self.single @ (step.T / size).astype(np.float32))
            penalty = (omega @ step) * square + bent @ weights + self.by_linear(step)
            return np.asarray(size * (images.T @ self.single) + 2.0 * penalty)

        return product

    def _solve(self, at: _Point) -> _Point:
        """Solve the problem of this round by Newton's method."""
        for _ in range(NEWTON_STEPS):
            gradient = self.gradient(at)
            step, promise = steihaug(self.product(at), gradient, self.radius, CG_STEPS, CG_ACCURACY)
            length = float(np.linalg.norm(step))
            there = self.at(at.B + step)
            # No finer than the rounding of the objective allows.
            limit = self.accuracy * max(self.complementarity_gap(at), 1e-8 * at.value)
            gained = at.value - there.value
            self.radius = new_radius(self.radius, length, gained / promise if promise > 0.0 else 0.0)
            if gained > 0.0:
                at = there
            short = self.radius < SHORTEST_STEP * self.size(at.B)
            if promise <= limit or short or self.monitor.out_of_time:
                break
        self.radius = max(self.radius, 1e3 * SHORTEST_STEP * self.size(at.B))
        return at

    def _grown(self, B: Array, S: Array) -> Array:
        """Add rows along eigenvectors of ``Z = grad Omega - S`` with negative eigenvalues, if there are any."""
        if np.linalg.norm(B) <= ZERO_SIZE * self.least_size:
            return self._from_zero(S)
        Z = _regularizer_gradient(self.norms, self.metric(B)) - S
        values, vectors = np.linalg.eigh(self.scale[:, None] * (self.vectors.T @ Z @ self.vectors) * self.scale)
        falling = np.flatnonzero(values < -NEW_ROW_EIGENVALUE)[: max(0, self.rank - len(B))]
        new = (vectors[:, falling] * np.sqrt(-values[falling])).T
        sizes = self.size(B) * np.geomspace(1e-4, 1.0, 13)
        grown = [np.ascontiguousarray(np.vstack([B, size * new])) for size in sizes]
        return min(grown, key=lambda B: self.at(B).value)

    def _from_zero(self, S: Array) -> Array:
        """A start from zero, where norms have no gradient: the factor of ``[S]_+`` at its best scale."""
        values, vectors = np.linalg.eigh(S)
        rows = np.sqrt(np.maximum(values[::-1][: self.rank], 0.0))[:, None] * vectors[:, ::-1][:, : self.rank].T
        B = np.ascontiguousarray((rows @ self.vectors) / self.scale)
        sizes = np.geomspace(1e-4, 1e4, 33) * self.least_size / max(float(np.linalg.norm(B)), np.finfo(float).tiny)
        B = B * min(sizes, key=lambda size: self.at(size * B).value)
        self.radius = self.least_size = float(np.linalg.norm(B))
        return B

    def _offer(self, at: _Point, bounded: bool) -> Array:
        """Offer the metric and, if ``bounded``, the lower bound of the multipliers, whose S is returned."""
        problem, monitor = self.problem, self.monitor
        M, value = self.metric(at.B), at.here.exact + self.regularizer.value(at.gram, self.cone)
        monitor.primal(M, value, by_risk=True)
        if not bounded:
            return self.cone.zeros()
        adding, taking = at.here.sides(self.images.X)
        share = self._share(self.complementarity_gap(at) / max(value, np.finfo(float).tiny), adding, taking)
        multipliers = self.images.scaled_multipliers(at.here, share)
        weight = self.images.distances_each * float(np.abs(multipliers).sum())
        sums = Minorant(share * at.here.duals[0] + at.here.duals[1], share * adding - taking, weight)
        bound = problem.bound(sums.value, sums.S, M) if self.norms.squared else sums.value
        monitor.dual(bound, lambda: multipliers, sums)
        return adding - taking

    def _share(self, relative: float, adding: Array, taking: Array) -> float:
        """Largest feasible scale of the part that adds to S, as accurate as the remaining gap ``relative`` asks for."""
        if self.norms.squared:
            return 1.0
        accuracy = max(1e-12, SCALE_ACCURACY * min(relative, self.monitor.gap))
        return self.regularizer.max_dual_scaling(adding, taking, self.cone, accuracy) or 0.0


class _SampledRun(_Run):
    """Rounds on the pairs within blocks of points, corrected by passes over all pairs."""

    def __init__(self, problem: MetricProblem, whole: LabelledPairRisk, norms: NormWeights, monitor: Monitor) -> None:
        super().__init__(problem, whole, norms, monitor)
        self.whole, self.block, self.accuracy = whole, FIRST_BLOCK, SAMPLE_ACCURACY
        self.apart, self.far = whole.apart()
        self._take(whole.sampled(self.block))

    def rounds(self) -> Generator[Details, None, Array]:
        """Run rounds until the certified gap closes, or blocks are so large that all pairs may as well be taken."""
        B, n = self._start(), len(self.whole.X)
        self.radius = self.least_size = float(np.linalg.norm(B))
        self.monitor.state = lambda: {"B": B, "width": np.array(self.width)}
        while True:
            at = self._solve(self.at(B))
            B = self._compressed(at.B)
            if self.width > SAMPLE_WIDTH:
                self.width = max(SAMPLE_WIDTH, WIDTH_FACTOR * self.width)
                continue
            before = self.monitor.gap
            # In case a pass over all pairs takes too long.
            self.monitor.suggestion = self.metric(B)
            S = self._pass(self.monitor.suggestion)
            yield self._details(at, B) | {"block": self.block}
            if self.monitor.gap > SLOW * before:
                self.block *= 2
                if self.block > min(n // FEWEST_BLOCKS, HELD_WEIGHTS // n):
                    return B
                self._take(self.whole.sampled(self.block))
                at = self.at(B)
            adding, taking = at.here.sides(self.images.X)
            self.linear = self.scale[:, None] * (self.vectors.T @ (adding - taking - S) @ self.vectors) * self.scale
            B = self._grown(B, S)
            self.radius = max(self.radius, 1e-3 * self.size(B))

    def _pass(self, M: Array) -> Array:
        """Offer a metric, and the lower bound of its cut and of the one far out; returns the S of its cut."""
        groups, far = np.zeros(self.whole.parts, dtype=np.int64), self.far
        near = self.whole.separate(M, groups)
        self.monitor.primal(M, float(near.values[0]) + self.problem.penalty(M), by_risk=True)
        S, rest = (self.cone.from_coordinates(cuts.normals[0]) for cuts in (near, far))
        share = self._share(1.0, S - rest, -rest)
        a, witnesses = np.array([share, 1.0 - share]), np.array([M, self.apart])
        offsets, sizes = np.ravel([near.offsets, far.offsets]), np.ravel([near.weights, far.weights])
        sums = Minorant(float(a @ offsets), share * S + (1.0 - share) * rest, float(a @ sizes), float(a @ abs(offsets)))
        self.monitor.proven(self.problem, sums, M, lambda: CutDual(witnesses, a[:, None], groups))
        return S


def _regularizer_gradient(norms: NormWeights, gram: Array) -> Array:
    """The gradient of the regularizer at a metric or a Gram matrix."""
    gradient = norms.trace * np.eye(len(gram)) + norms.squared * gram
    size = float(np.linalg.norm(gram))
    return gradient + norms.norm / size * gram if norms.norm and size > 0.0 else gradient


def _regularizer_hessian(norms: NormWeights, gram: Array, change: Array) -> Array:
    """Derivative of :func:`_regularizer_gradient` along a change of the Gram matrix."""
    derivative = norms.squared * change
    size = float(np.linalg.norm(gram))
    if norms.norm and size > 0.0:
        derivative = derivative + norms.norm / size * (change - gram * (np.vdot(gram, change) / size**2))
    return derivative
