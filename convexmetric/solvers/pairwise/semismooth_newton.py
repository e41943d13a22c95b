r"""Semismooth Newton on smoothed hinges with a squared Frobenius norm, for any number of comparisons.

.. math:: \min_{M \in K} \; \tfrac{\lambda}{2} \|M\|_F^2 + \langle G, M \rangle
          + \sum_t c_t h_w(\mu - \langle D_t, M \rangle)

With the gradient :math:`E(M) = \lambda M + G - S(M)`, where :math:`S = \sum_t c_t a_t D_t` comes from the slopes a of
the hinges smoothed over a width w, the optimum is a metric M with :math:`E(M) = Z`, Z in the cone, :math:`\langle M, Z
\rangle = 0`. Both are the parts of one symmetric matrix, :math:`M = [W]_+ / \sigma, \; Z = [-W]_+` for any
:math:`\sigma > 0`, so that it remains to solve :math:`E([W]_+ / \sigma) = [-W]_+` in W. Its Newton equation is, with
:math:`\Pi` the derivative of the projection and the kinks (:math:`0 < a_t < 1`) in the rows of H,

.. math:: \Big(I + \big((\lambda / \sigma - 1) I + \tfrac{1}{\sigma} H^\top \mathrm{diag}(c / w) H \big) \Pi \Big) dW
   = [-W]_+ - E,

symmetric and positive definite in :math:`\Pi^{1/2} dW`, and every solution descends the smoothed objective. Four
things make it fast:

- sums over all comparisons come from sorted distances; only a sample of the kinks is listed, as long as there are many;
- in the eigenvectors of W only the block of positive eigenvalues and its border matter;
- sigma keeps both parts of W at one scale; with the plain choice lambda problems of small lambda do not converge;
- when the width shrinks, the slopes are held and the metric is moved: comparisons on the kink stay on it.

Where few kinks are left and steps get short, because comparisons enter and leave the kink, an interior point over the
slopes of those near it takes over (``free_pairs.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from convexmetric.arrays import Array, norm_of
from convexmetric.comparisons.points import row_width
from convexmetric.cones.projection import Projection
from convexmetric.numerics.searches import SUFFICIENT, shortened
from convexmetric.problem import MetricProblem
from convexmetric.risks import PairwiseRisk, Smoothed
from convexmetric.solvers.pairwise.free_pairs import finish
from convexmetric.solvers.pairwise.kinks import DIRECT_WORK, Kinks, solve_newton
from convexmetric.solvers.pairwise.nearby import offer
from convexmetric.solvers.runtime import Monitor, Solver, Steps
from convexmetric.solvers.runtime.requirements import FLOAT, linear_part, need_cone, squared_norm

#: Newton steps after which it gives up; what it found is kept.
MAX_STEPS = 500
#: First width of the smoothed hinges, in margins.
FIRST_WIDTH = 20.0
#: First width where a metric is known already, in margins.
START_WIDTH = 1.0
#: Where a metric is known already, the first sigma makes Z this many times smaller than sigma M.
START_BALANCE = 100.0
#: Factor by which the width shrinks once its problem is solved.
WIDTH_FACTOR = 0.4
#: The problem of one width is solved when it is within this share of what smoothing costs.
SUBPROBLEM_ACCURACY = 0.3
#: Kinks listed at most, while there are more.
SAMPLE_SIZE = 20_000
#: Sigma keeps the norm of sigma M at about this many times that of Z.
BALANCE = 10.0
#: Factor by which sigma may differ from its balanced value before it is changed.
BALANCE_TOLERANCE = 3.0
#: The largest sigma, in units of lambda.
LARGEST_SIGMA = 1e10
#: Factor by which a step that gains too little is shortened.
BACKTRACKING = 0.4
#: Share of the Newton step at which the search for a step gives up.
SHORTEST_STEP = 1e-4
#: Short steps in a row with all kinks listed after which the interior point takes over.
SHORT_STEPS = 3
#: Short steps before the interior point is tried again, where it did not close the gap.
RETRY_AFTER = 10
#: Factor by which steps of the interior point may take longer the next time; the first time they take no longer than
#: Newton steps.
MORE_WORK = 8.0
#: Gap down to which the warm start for a neighbouring problem is updated.
WARM_GAP = 1e-4


@dataclass(frozen=True)
class SemismoothNewton(Solver):
    """Exact for hinges over pairs of positives and negatives, with a squared Frobenius norm."""

    name: ClassVar[str] = "semismooth-newton"

    def prepare(self, problem: MetricProblem) -> Callable[..., Steps]:
        """Needs hinges over positives and negatives and a squared Frobenius norm, with a linear term or without.

        The run narrows the width until the certified gap closes, from where a neighbouring problem's solve left off if
        that is given as ``warm``; the monitor's state is then where to go on for the next (``Warm.of``).
        """
        need_cone(problem)
        return partial(self._follow, problem, problem.risk.form(PairwiseRisk), squared_norm(problem))

    def memory(self, problem: MetricProblem) -> float | None:
        """Bytes of a pass or of the rows of factorised kinks, whichever is more, and of the sampled kinks.

        Full metrics: also ten metrics, and the points six times; their rows are as many as are factorised at once.
        Diagonal metrics: all rows four times, and two Newton matrices.
        """
        risk, cone = problem.risk.form(PairwiseRisk), problem.cone
        d, coordinates = float(cone.d), float(cone.size)
        sample = min(3.0 * SAMPLE_SIZE, float(risk.pairs.sum()))
        if cone.diagonal:
            rows, others = 4.0 * sample * row_width(risk.points, cone), 2.0 * coordinates**2
        else:
            direct = coordinates**3 <= DIRECT_WORK
            most = DIRECT_WORK / coordinates**2 if direct else (DIRECT_WORK / coordinates) ** 0.5
            rows, others = min(sample, most) * coordinates, 6.0 * risk.rankings.X.shape[0] * d + 10.0 * d * d
        return max(problem.risk.pass_memory, FLOAT * rows) + FLOAT * (25.0 * sample + others)

    def _follow(
        self, problem: MetricProblem, risk: PairwiseRisk, reg: float, monitor: Monitor, warm: Warm | None = None
    ) -> Steps:
        warm = _left(monitor, problem) if warm is None else warm
        run = _Run(problem, risk, reg, monitor)
        monitor.state = lambda: {} if run.warm is None else run.warm.arrays()
        with suppress(np.linalg.LinAlgError):
            # Numbers that left the range of floats end the run; what it found stays.
            yield from run.follow(warm)


@dataclass(frozen=True)
class Warm:
    """Warm start for a neighbouring problem on a path: W, sigma and width near the optimum."""

    W: Array
    sigma: float
    width: float

    def arrays(self) -> dict[str, np.ndarray]:
        """Arrays for a checkpoint."""
        return {"W": self.W, "sigma": np.array(self.sigma), "width": np.array(self.width)}

    @classmethod
    def of(cls, arrays: dict[str, np.ndarray]) -> Warm | None:
        """The warm start of these arrays; None where there are none."""
        return cls(arrays["W"], float(arrays["sigma"]), float(arrays["width"])) if arrays else None


def _left(monitor: Monitor, problem: MetricProblem) -> Warm | None:
    """Warm start in a checkpoint; None if there is none."""
    left = monitor.left_by(SemismoothNewton.name, {"W": problem.cone.shape, "sigma": (), "width": ()})
    return Warm.of(left | {"W": problem.metric(left["W"])}) if left else None


@dataclass
class _Point:
    """An iterate W, given by its projection, with the smoothed risk, ``Y = S - G`` and the smoothed objective there."""

    projection: Projection
    sigma: float
    here: Smoothed
    Y: Array
    value: float

    @property
    def M(self) -> Array:
        return self.projection.positive / self.sigma

    @property
    def complete(self) -> bool:
        """Whether every kink is listed."""
        return len(self.here.sample) == self.here.kinks


class _Run:
    """The state of one solve."""

    def __init__(self, problem: MetricProblem, risk: PairwiseRisk, reg: float, monitor: Monitor) -> None:
        self.problem, self.risk, self.reg, self.monitor = problem, risk, reg, monitor
        self.left = MAX_STEPS
        self.cone = problem.cone
        self.G = linear_part(problem)
        self.width = FIRST_WIDTH * risk.margin
        self.stride = 1.0
        #: Kinks of a query that are listed at most: several times its share of the sample.
        self.most = int(min(4 * SAMPLE_SIZE // risk.parts + 16, risk.pairs.max()))
        self.warm: Warm | None = None
        self.most_work = DIRECT_WORK

    def follow(self, warm: Warm | None) -> Steps:
        """Take Newton steps, and narrow the width whenever the smoothed problem is solved well enough."""
        at, held, short = self._start(warm), warm is not None, 0
        while True:
            unsolved = self._look(at)
            yield {"kinks": at.here.kinks, "width": self.width}
            self.left -= 1
            # Where the optimum is zero no relative gap closes, however narrow the width.
            if self.left <= 0 or self.width < np.finfo(float).tiny:
                return
            kinks, Y = Kinks(self.risk, at.here.sample, at.here.curvature), at.Y
            if not held and unsolved < SUBPROBLEM_ACCURACY:
                short = 0
                if not at.complete:
                    self.width *= WIDTH_FACTOR
                    self.stride = max(1.0, at.here.kinks * WIDTH_FACTOR / SAMPLE_SIZE)
                    at = self._pass(at.projection, at.sigma)
                    continue
                held = True
                Y, kinks = self._narrowed(at, kinks)
            projection, sigma = balanced(at.projection, at.sigma, self.reg)
            at = replace(at, projection=projection, sigma=sigma)
            move, slope = self._direction(at, Y, kinks)
            there, step = self._moved(at, move, slope, search=not held)
            short = short + 1 if step < 1.0 and there.complete else 0
            held = False
            stuck = step == 0.0 or short >= SHORT_STEPS
            if stuck and there.complete:
                most = np.inf if step == 0.0 else self.most_work
                yield from finish(self.problem, self.risk, self.monitor, there.M, self.width, most)
                short, self.most_work = -RETRY_AFTER, MORE_WORK * self.most_work
            if step == 0.0:
                return
            at = there

    def _start(self, warm: Warm | None) -> _Point:
        """First iterate: a warm start, one near the caller's metric, or the best equal slopes.

        With equal slopes the dual is a parabola in their size while no eigenvalue changes sign.
        """
        if warm is not None:
            self.width = warm.width
            return self._pass(self.cone.projection(warm.W), warm.sigma)
        start = self.monitor.start
        if start is not None:
            return self._near(start)
        # With hardly any smoothing, so that all slopes at the zero metric are one.
        zero = self.risk.smoothed(self.cone.zeros(), self.width * 1e-3)
        S = zero.point.S
        M = self.cone.project(S - self.G) / self.reg
        square = self.reg * self.cone.inner(M, M)
        size = min(1.0, zero.point.value / square) if square > 0.0 else 1.0
        return self._pass(self.cone.projection(size * S - self.G), self.reg)

    def _near(self, M: Array) -> _Point:
        """A projected gradient step from a metric, short enough to stay near it, with hinges smoothed over a margin."""
        self.width = START_WIDTH * self.risk.margin
        slopes = self.risk.smoothed(M, self.width)
        E = self.reg * M + self.G - slopes.point.S
        size = norm_of(self.cone.project(E)) / norm_of(M)
        sigma = min(max(self.reg, START_BALANCE * size), LARGEST_SIGMA * self.reg)
        return self._pass(self.cone.projection(sigma * M - E), sigma)

    def _pass(self, projection: Projection, sigma: float) -> _Point:
        M = projection.positive / sigma
        here = self.risk.smoothed(M, self.width, self.stride, self.most, seed=self.left)
        self.stride = max(1.0, here.kinks / SAMPLE_SIZE)
        return _Point(projection, sigma, here, here.point.S - self.G, here.value + self.problem.penalty(M))

    def _look(self, at: _Point) -> float:
        """Offer both bounds of a point; returns the gap of the smoothed problem as a fraction of the certified gap."""
        M, width = at.M, self.width
        positive = self.cone.project(at.Y)
        conjugate = 0.5 * self.cone.inner(positive, positive) / self.reg
        offer(self.problem, self.monitor, M, at.here, width)
        if self.warm is None or self.monitor.gap > WARM_GAP:
            self.warm = Warm(at.projection.W, at.sigma, width)
        unsolved = 0.5 * self.reg * self.cone.inner(M, M) - self.cone.inner(M, at.Y) + conjugate
        gap = at.here.exact + self.problem.penalty(M) - at.here.point.value + conjugate
        return unsolved / max(gap, np.finfo(float).tiny)

    def _narrowed(self, at: _Point, kinks: Kinks) -> tuple[Array, Kinks]:
        """Gradient and kinks at a narrower width, slopes of the kinks extrapolated beyond 0 and 1."""
        before = self.width
        self.width *= WIDTH_FACTOR
        t = self.risk.margin - kinks.margins(at.M)
        Y = at.Y + kinks.adjoint(kinks.weights * t * (1.0 / self.width - 1.0 / before))
        return Y, Kinks(self.risk, kinks.sample, kinks.weights / self.width)

    def _direction(self, at: _Point, Y: Array, kinks: Kinks) -> tuple[Array, float]:
        """Newton step in W, and the slope of the smoothed objective along it."""
        projection, sigma = at.projection, at.sigma
        residual = self.reg * at.M - Y - projection.negative
        b = -projection.into(residual)
        diagonal = (1.0 - projection.omega) + self.reg / sigma * projection.omega
        v = solve_newton(projection, kinks, diagonal, b, sigma)
        moved = projection.out(v)
        curved = kinks.adjoint(kinks.curvature * kinks.margins(moved)) / sigma
        return -residual - (self.reg / sigma - 1.0) * moved - curved, -float(np.vdot(b, v)) / sigma

    def _moved(self, at: _Point, move: Array, slope: float, search: bool) -> tuple[_Point, float]:
        """Take a step that descends the smoothed objective, or the whole step if the width has just changed."""
        for step in shortened(BACKTRACKING, SHORTEST_STEP):
            there = self._pass(self.cone.projection(at.projection.W + step * move), at.sigma)
            if not search or there.value <= at.value + SUFFICIENT * step * slope:
                return there, step
        return there, 0.0


def balanced(projection: Projection, sigma: float, reg: float) -> tuple[Projection, float]:
    """Rescale W if its parts differ in size; returns projection and sigma. M and Z stay the same."""
    ratio = projection.imbalance
    if not 0.0 < ratio < np.inf:
        return projection, sigma
    wanted = min(max(reg, BALANCE * sigma * ratio), LARGEST_SIGMA * reg)
    if sigma / BALANCE_TOLERANCE <= wanted <= sigma * BALANCE_TOLERANCE:
        return projection, sigma
    return projection.scaled(wanted / sigma), wanted
