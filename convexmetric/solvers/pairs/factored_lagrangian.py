r"""Augmented Lagrangian on a factor of the metric, for any number of pairs and spans of thousands of dimensions.

.. math:: \min_{B} \; \phi_w(X B^\top; v) + \Omega(B^\top B)

where phi is the risk as a function of the images of the points, its hinges smoothed over a width w around centres v
(:class:`~convexmetric.risks.ImageRisk`). Each problem is solved by Newton's method with a trust region (conjugate
gradients of Steihaug and Toint); then the multipliers it found become the centres of the next, and the width shrinks.
In M this is the proximal point method on the dual of a convex problem: where B has rows enough it ends at the optimum,
whatever the width.

Two things make it fast. Coordinates are whitened by what pulls pairs together, :math:`P = X^\top \mathrm{Lap}(b) X +
\delta I`: across the optimum the curvature is about P, so that few conjugate gradients do. And nothing of the size of
M is decomposed on the way but once a round, for the certificate: :math:`[S]_+` at the multipliers, those that add to
S at their largest feasible scale.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from convexmetric.cones.base import Array
from convexmetric.errors import InputError
from convexmetric.problem import MetricProblem
from convexmetric.regularizers import NormWeights
from convexmetric.risks import ImagePass, ImageRisk, ListedPairs, Reason
from convexmetric.solvers.numerics.trust_region import steihaug
from convexmetric.solvers.run import Monitor, Run, Solver, check_counts
from convexmetric.solvers.run.memory import FLOAT
from convexmetric.solvers.run.needs import full_metrics

__all__ = ["FactoredLagrangian"]

#: First width, and the factor by which it shrinks from round to round down to the last one.
FIRST_WIDTH, SHRINK, LAST_WIDTH = 1.0, 0.4, 0.01
#: A round ends when a step promises less than this share of what is left of complementarity.
ENOUGH = 0.02
#: Where the multipliers lack in feasibility instead, the last width grows and that share falls, up to these limits.
WIDEST, FINEST = 0.3, 2e-4
#: Eigenvalues from which new rows are made, where those of what pulls pairs together are about 1.
LEAST = 1e-7
#: Size, in units of that of the start, at which a factor is zero.
VANISHED = 1e-4
#: Rows of the factor are left out below this share of its squared size.
SMALL = 1e-9
#: Where the gap is so many times what is left of complementarity, rows may be missing.
INFEASIBLE = 5.0
#: The scale of the multipliers is looked for to this share of the gap.
NEAR = 0.02
#: Shortest step, in units of the factor.
SHORTEST = 1e-7
#: What is left of complementarity is to fall by this factor from certificate to certificate.
LOOK = 0.3
#: Newton steps of a round; conjugate gradients of a step, and the share of the gradient at which they end.
STEPS, CG_STEPS, CG_ACCURACY = 40, 200, 1e-3


@dataclass(frozen=True)
class FactoredLagrangian(Solver):
    """Exact for pairs under full metrics with a Frobenius norm or a trace, where the optimum has a low rank.

    Parameters
    ----------
    rank : int
        Rows of the factor at most.
    max_rounds : int
        Rounds after which it gives up; what it found is kept.
    """

    name: ClassVar[str] = "factored-lagrangian"

    rank: int = 64
    max_rounds: int = 500

    def __post_init__(self) -> None:
        check_counts(self, "rank", "max_rounds")

    def prepare(self, problem: MetricProblem) -> Run | Reason:
        """Needs losses of pairs, full metrics, and a Frobenius norm, its square with a trace or without, or a trace."""
        images, full, norms = problem.risk.form(ImageRisk), full_metrics(problem), problem.regularizer.weights()
        if isinstance(images, Reason):
            return images
        if full is not None:
            return full
        if norms is None or (norms.norm and (norms.trace or norms.squared)):
            return Reason("its regularizer is neither a Frobenius norm nor a trace")
        if problem.G is not None:
            return Reason("it has a linear term")
        return partial(self._rounds, problem, images, norms)

    def memory(self, problem: MetricProblem) -> float | None:
        """Of eight metrics, the points four times, and differences of images thrice, or six weights of all pairs."""
        images, listed, d = problem.risk.form(ImageRisk), problem.risk.form(ListedPairs), problem.cone.d
        if isinstance(images, Reason):
            return None
        n = float(len(images.X))
        pairs = 6.0 * n * n if isinstance(listed, Reason) else 3.0 * len(listed.pairs) * min(self.rank, d)
        return FLOAT * (8.0 * d * d + 4.0 * n * d + pairs)

    def _rounds(self, problem: MetricProblem, images: ImageRisk, norms: NormWeights, monitor: Monitor) -> None:
        """Rounds until the certified gap closes."""
        with suppress(np.linalg.LinAlgError):
            # Numbers that left the range of floats end the run; what it found stays.
            _Run(problem, images, norms, monitor, self.rank).follow(self.max_rounds)


@dataclass
class _Point:
    """A factor with its pass."""

    B: Array
    here: ImagePass
    value: float
    gram: Array


class _Run:
    """The state of one solve."""

    def __init__(
        self,
        problem: MetricProblem,
        images: ImageRisk,
        norms: NormWeights,
        monitor: Monitor,
        rank: int,
    ) -> None:
        self.problem, self.images, self.monitor = problem, images, monitor
        self.cone, self.regularizer, self.norms = problem.cone, problem.regularizer, norms
        pull = images.pull()
        delta = norms.trace + 0.3 * (norms.squared + norms.norm)
        values, self.vectors = np.linalg.eigh(pull)
        #: Whitened points, and the diagonal that takes Gram matrices back.
        self.scale = 1.0 / np.sqrt(np.maximum(values, 0.0) + delta)
        self.X = np.ascontiguousarray((images.X @ self.vectors) * self.scale)
        self.single = self.X.astype(np.float32)
        self.rank = min(rank, self.cone.d)
        self.width, self.last_width, self.enough = FIRST_WIDTH, LAST_WIDTH, ENOUGH
        self.centre: Any = None
        self.radius = np.inf
        self.products = 0

    def metric(self, B: Array) -> Array:
        """In the problem's coordinates."""
        factor = (B * self.scale) @ self.vectors.T
        return np.asarray(factor.T @ factor)

    def at(self, B: Array) -> _Point:
        """The smoothed objective at a factor."""
        here = self.images.at(self.X @ B.T, self.width, self.centre)
        scaled = B * self.scale
        gram = scaled @ scaled.T
        return _Point(B, here, here.value + self.regularizer.value(gram, self.cone), gram)

    def follow(self, max_rounds: int) -> None:
        B = self._start()
        self.radius = self.least_size = float(np.linalg.norm(B))
        self.monitor.state = lambda: {"B": B, "width": np.array(self.width)}
        certified = np.inf
        for number in range(max_rounds):
            at = self._solve(self.at(B))
            loose = self.loose(at)
            B = self._compressed(at.B)
            looked = loose <= LOOK * certified or self.monitor.out_of_time or number == max_rounds - 1
            S = self._offer(at, looked)
            if self.monitor.iterate(
                width=self.width, rank=len(B), kinks=at.here.kinks, products=self.products, certified=looked
            ):
                return
            if looked:
                gap = self.monitor.upper_bound - self.monitor.lower_bound
                certified = min(gap, loose)
                if gap > INFEASIBLE * loose:
                    B = self._grown(B, S)
                    self.enough = max(FINEST, SHRINK * self.enough)
                    self.last_width = min(WIDEST, self.last_width / SHRINK)
                    self.width = max(self.width, self.last_width / SHRINK)
                    # Zero is a fixed point of all that follows: leave it with steps as long as the rows.
                    self.radius = max(self.radius, 1e-3 * self.size(B))
                    certified = gap
            self.centre = self.images.centre(at.here)
            self.width = max(self.last_width, SHRINK * self.width)

    def size(self, B: Array) -> float:
        """Of a factor; not below that of the start, as the factor may be zero on the way."""
        return max(float(np.linalg.norm(B)), self.least_size)

    def loose(self, at: _Point) -> float:
        """What is left of complementarity: the gap but for what the multipliers lack in feasibility."""
        return at.here.exact - sum(at.here.duals) - _complement(at.here)

    def _compressed(self, B: Array) -> Array:
        """The same metric with fewer rows, where some do not matter."""
        values, vectors = np.linalg.eigh(B @ B.T)
        kept = values > SMALL * self.size(B) * self.size(B)
        kept[-1] = True
        return np.ascontiguousarray(vectors[:, kept].T @ B)

    def _start(self) -> Array:
        """Where an earlier run stood, or what parts dissimilar pairs most for what it costs, at its best scale."""
        left = self.monitor.left_by(FactoredLagrangian.name)
        if left:
            try:
                self.width, B = float(left["width"]), np.asarray(left["B"], dtype=np.float64)
            except (KeyError, TypeError, ValueError) as error:
                raise InputError(f"the checkpoint's factor is damaged ({error}); remove it to start again") from error
            if B.ndim != 2 or B.shape[1] != self.cone.d or not (np.isfinite(B).all() and 0.0 < self.width < np.inf):
                raise InputError("the checkpoint's factor is damaged; remove it to start again")
            return B
        apart = self.images.at(np.zeros((len(self.X), 1)), 0.0)
        # Zero is optimal where the regularizer outweighs everything, and no step ends exactly there.
        self.monitor.primal(self.cone.zeros(), apart.exact)
        adding, _ = apart.sides(self.X)
        values, vectors = np.linalg.eigh(adding)
        gains = values[::-1][: self.rank]
        rows = vectors[:, ::-1][:, : self.rank].T
        kept = max(1, int((gains > 1.0).sum()))
        B = rows[:kept] * np.sqrt(np.maximum(gains[:kept] - 1.0, 0.1))[:, None]
        scales = np.geomspace(1e-3, 1e3, 25)
        return np.ascontiguousarray(B * min(scales, key=lambda scale: self.at(scale * B).value))

    def gradient(self, at: _Point) -> Array:
        """Of the smoothed objective in the factor."""
        omega = _slope(self.norms, at.gram)
        return at.here.gradient().T @ self.X + 2.0 * (omega @ at.B) * self.scale**2

    def product(self, at: _Point) -> Callable[[Array], Array]:
        """The second derivative at a point."""
        omega, weights, square = _slope(self.norms, at.gram), at.B * self.scale**2, self.scale**2

        def product(step: Array) -> Array:
            self.products += 1
            change = step @ weights.T
            bent = _bend(self.norms, at.gram, change + change.T)
            # Of size one, so that products of small numbers stay normal ones: others take a hundred times as long.
            size = float(np.abs(step).max()) or 1.0
            images = at.here.product(self.single @ (step.T / size).astype(np.float32))
            return np.asarray(size * (images.T @ self.single) + 2.0 * (omega @ step) * square + 2.0 * bent @ weights)

        return product

    def _solve(self, at: _Point) -> _Point:
        """Newton's method on the problem of this round."""
        for _ in range(STEPS):
            gradient = self.gradient(at)
            step, promise = steihaug(self.product(at), gradient, self.radius, CG_STEPS, CG_ACCURACY)
            length = float(np.linalg.norm(step))
            there = self.at(at.B + step)
            loose = self.loose(at)
            limit = self.enough * max(loose, 1e-8 * at.value)
            gained = at.value - there.value
            ratio = gained / promise if promise > 0.0 else 0.0
            if ratio < 0.25:
                self.radius = 0.25 * length
            elif ratio > 0.75 and length > 0.99 * self.radius:
                self.radius = 2.0 * self.radius
            if gained > 0.0:
                at = there
            if promise <= limit or self.radius < SHORTEST * self.size(at.B) or self.monitor.out_of_time:
                break
        self.radius = max(self.radius, 1e3 * SHORTEST * self.size(at.B))
        return at

    def _grown(self, B: Array, S: Array) -> Array:
        """The factor with new rows where the objective falls to second order, if there are such."""
        if np.linalg.norm(B) <= VANISHED * self.least_size:
            return self._afresh(S)
        Z = _slope(self.norms, self.metric(B)) - S
        values, vectors = np.linalg.eigh(self.scale[:, None] * (self.vectors.T @ Z @ self.vectors) * self.scale)
        falling = np.flatnonzero(values < -LEAST)[: max(0, self.rank - len(B))]
        new = (vectors[:, falling] * np.sqrt(-values[falling])).T
        sizes = self.size(B) * np.geomspace(1e-4, 1.0, 13)
        grown = [np.ascontiguousarray(np.vstack([B, size * new])) for size in sizes]
        return min(grown, key=lambda B: self.at(B).value)

    def _afresh(self, S: Array) -> Array:
        """From zero, where norms have no slope: the factor of ``[S]_+`` at its best scale."""
        values, vectors = np.linalg.eigh(S)
        rows = np.sqrt(np.maximum(values[::-1][: self.rank], 0.0))[:, None] * vectors[:, ::-1][:, : self.rank].T
        B = np.ascontiguousarray((rows @ self.vectors) / self.scale)
        sizes = np.geomspace(1e-4, 1e4, 33) * self.least_size / max(float(np.linalg.norm(B)), np.finfo(float).tiny)
        B = B * min(sizes, key=lambda size: self.at(size * B).value)
        self.radius = self.least_size = float(np.linalg.norm(B))
        return B

    def _offer(self, at: _Point, looked: bool) -> Array:
        """Offer the metric and, where it is looked at, what the multipliers prove; their S."""
        problem, monitor = self.problem, self.monitor
        M, value = self.metric(at.B), at.here.exact + self.regularizer.value(at.gram, self.cone)
        monitor.primal(M, value)
        if not looked:
            return self.cone.zeros()
        adding, taking = at.here.sides(self.images.X)
        share = 1.0
        if self.norms.squared:
            bound = problem.bound(sum(at.here.duals), adding - taking, M)
        else:
            near = max(1e-12, NEAR * min(self.loose(at) / max(value, np.finfo(float).tiny), monitor.gap))
            share = self.regularizer.largest_share(adding, taking, self.cone, near) or 0.0
            bound = share * at.here.duals[0] + at.here.duals[1]
        multipliers = self.images.scaled_multipliers(at.here, share)
        monitor.dual(bound, lambda: multipliers)
        return adding - taking


def _complement(here: ImagePass) -> float:
    """``-<S, M>`` of the multipliers at the images."""
    return -float(np.vdot(here.G, here.laplacian(here.G)))


def _slope(norms: NormWeights, gram: Array) -> Array:
    """The gradient of the regularizer at a metric or a Gram matrix."""
    slope = norms.trace * np.eye(len(gram)) + norms.squared * gram
    size = float(np.linalg.norm(gram))
    return slope + norms.norm / size * gram if norms.norm and size > 0.0 else slope


def _bend(norms: NormWeights, gram: Array, change: Array) -> Array:
    """The change of that gradient."""
    bend = norms.squared * change
    size = float(np.linalg.norm(gram))
    if norms.norm and size > 0.0:
        bend = bend + norms.norm / size * (change - gram * (np.vdot(gram, change) / size**2))
    return bend
