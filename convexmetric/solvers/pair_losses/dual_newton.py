r"""Newton's method on the dual, for listed pairs under full metrics and a Frobenius norm, squared or not.

.. math:: \max_{u \in \text{box}} \; \sum_t \mu_t u_t - \tfrac12 \kappa_t u_t^2
   \quad \text{s.t.} \quad \|[S(u)]_+\|_F \le \lambda, \qquad S(u) = \sum_t u_t D_t - G

At the optimum :math:`M = \eta [S]_+`, with a multiplier eta of the constraint. So u and eta solve, over the multipliers
that are free to move,

.. math:: F_t = \mu_t - \kappa_t u_t - \eta \langle D_t, [S]_+ \rangle = 0, \qquad \|[S]_+\|_F = \lambda

and a Newton step in both takes two linear systems with the matrix :math:`\kappa + \eta K`, :math:`K_{ts} = \langle D_t,
\Pi D_s \rangle`, Pi the derivative of the projection: in the eigenvectors of S, entries (k, l) are weighted by 1, by
:math:`w_k / (w_k + |w_l|)` or by 0. Conjugate gradients need products of the differences in these eigenvectors only.
Multipliers that leave the box are clipped to it. For the squared norm :math:`\eta = 1 / \lambda` is known.

Lower bounds come from u after scaling down those multipliers that add to S, to the root of :math:`\|[t S_+ - S_-]_+\| =
\lambda`, rather than all of them; upper bounds from :math:`[S]_+` at its best scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from convexmetric.arrays import Array
from convexmetric.comparisons import PairDistances
from convexmetric.comparisons.pair_distances import products_of_differences, symmetric
from convexmetric.deadline import until_deadline
from convexmetric.numerics.conjugate_gradients import conjugate_gradients
from convexmetric.numerics.searches import SUFFICIENT, last_true, shortened
from convexmetric.numerics.threads import over_rows
from convexmetric.problem import MetricProblem
from convexmetric.regularizers import NormWeights
from convexmetric.risks import ListedPairs, Minorant
from convexmetric.solvers.runtime import Monitor, Run, Solver, Steps
from convexmetric.solvers.runtime.requirements import FLOAT, frobenius_norm, need_full_metrics

#: Newton steps after which it gives up; what it found is kept.
MAX_STEPS = 100
#: The norm at the start is at most this many times lambda, if ``START_STEPS`` steps suffice for that.
START_NORM = 2.0
#: Newton steps towards that norm.
START_STEPS = 8
#: Gap down to which multipliers are scaled down all together, which takes no eigenvalues.
REPAIR_GAP = 0.1
#: Conjugate gradient steps for a linear system at most.
CG_STEPS = 100
#: Accuracy of the linear systems as a share of the gap.
CG_GAP_SHARE = 0.3
#: Limits of the accuracy of the linear systems.
FINEST_CG_ACCURACY, COARSEST_CG_ACCURACY = 1e-3, 3e-2
#: Largest factor by which eta changes in a step.
ETA_FACTOR = 4.0
#: Range of the proximal term, in units of the largest diagonal entry of the system; it starts at the least.
LEAST_RIDGE, LARGEST_RIDGE = 1e-9, 1e3
#: Factors by which the proximal term grows when a step fails and shrinks when one succeeds.
RIDGE_GROWTH, RIDGE_DECAY = 30.0, 0.1
#: Factor by which a step that gains too little is shortened.
BACKTRACKING = 0.3
#: Share of the Newton step below which it is not shortened further.
SHORTEST_STEP = 0.02
#: Pairs whose differences are held at a time.
BLOCK_PAIRS = 4_096


@dataclass(frozen=True)
class DualNewton(Solver):
    """Exact for a few thousand pairs in a thousand features or more."""

    name: ClassVar[str] = "dual-newton"

    def prepare(self, problem: MetricProblem) -> Run:
        """Needs bounded or quadratic losses of listed pairs, full metrics and a Frobenius norm, squared or not."""
        listed = problem.risk.form(ListedPairs)
        need_full_metrics(problem)
        norm = frobenius_norm(problem)
        return lambda monitor: _Run(problem, listed, norm, monitor).follow()

    def memory(self, problem: MetricProblem) -> float | None:
        """Bytes of four metrics, and of differences of pairs three times, or of free pairs or points four times."""
        listed, d = problem.risk.form(ListedPairs), problem.cone.d
        count, points = len(listed.pairs), len(listed.pairs.X)
        return FLOAT * d * (4.0 * d + max(3.0 * count, 4.0 * min(count, points)))


@dataclass
class _Point:
    """Multipliers with the eigendecomposition of their S, of which p eigenvalues are positive."""

    u: Array
    values: Array
    vectors: Array
    p: int
    positives: Array
    q: Array

    @property
    def norm(self) -> float:
        """``||[S]_+||_F``."""
        return float(np.linalg.norm(self.values[: self.p]))


class _Run:
    """The state of one solve."""

    def __init__(self, problem: MetricProblem, listed: ListedPairs, norm: NormWeights, monitor: Monitor) -> None:
        self.monitor = monitor
        self.problem, self.pairs, self.loss = problem, listed.pairs, listed.loss
        self.squared = norm.squared > 0.0
        self.reg = norm.squared + norm.norm
        self.ridge, self.free = LEAST_RIDGE, 0

    def at(self, u: Array) -> _Point:
        """Evaluate multipliers: eigenvectors of S, largest eigenvalue first, and ``<D_t, [S]_+>``."""
        S, G = self.pairs.adjoint(u), self.problem.G
        values, vectors = np.linalg.eigh(S if G is None else S - G)
        values, vectors = values[::-1], vectors[:, ::-1]
        p = int((values > 0.0).sum())
        positives = self.pairs.X @ vectors[:, :p]
        q = self.pairs.between(positives * np.sqrt(values[:p]))
        return _Point(u, values, np.ascontiguousarray(vectors), p, positives, q)

    def dual_value(self, at: _Point, eta: float) -> float:
        """The Lagrangian at a fixed eta, which Newton steps in u ascend."""
        constant = 0.0 if self.squared else 0.5 * eta * self.reg * self.reg
        return self.loss.dual_value(at.u) - 0.5 * eta * at.norm * at.norm + constant

    def follow(self) -> Steps:
        self.here = self._start()
        self.eta = 1.0 / self.reg if self.squared else self._scale(self.here)
        for _ in range(MAX_STEPS):
            yield self._look()
            if not self._step():
                return

    def _start(self) -> _Point:
        """Multipliers at one fraction of their boxes, with ``||[S]_+||_F`` at most ``START_NORM`` lambda."""
        loss = self.loss
        parabola = np.abs(loss.offset) / np.maximum(loss.curvature, np.finfo(float).tiny)
        size = np.where(np.isfinite(loss.high), loss.high, parabola)
        least = loss.clip(np.zeros_like(loss.low))
        share, here = 1.0, self.at(size)
        for _ in range(START_STEPS):
            if self.squared or here.norm <= START_NORM * self.reg:
                break
            # The norm is convex in the fraction, and these are Newton steps towards a smaller norm.
            slope = float(here.q @ (size - least)) / here.norm
            share = max(0.0, share - (here.norm - self.reg) / slope) if slope > 0.0 else 0.0
            here = self.at(least + share * (size - least))
        return here

    def _scale(self, at: _Point) -> float:
        """Factor of ``[S]_+`` that makes the best metric."""
        if at.norm == 0.0:
            return 1.0
        slope = self.reg * at.norm

        def falls(scale: float) -> bool:
            u = self.loss.subgradient(scale * at.q)
            return float(u @ at.q) > slope

        # Distances of the size of the margins, in any units of the points.
        size, reach = np.abs(self.loss.offset).max(), np.abs(at.q).max()
        low, high = 0.0, float(size / reach) if 0.0 < size < np.inf and 0.0 < reach < np.inf else 1.0 / at.norm
        while falls(high) and high < 1e200:
            low, high = high, 4.0 * high
        return last_true(falls, low, high, 100, 1e-15)[1]

    def _metric(self, at: _Point, scale: float) -> Array:
        U = at.vectors[:, : at.p] * np.sqrt(scale * at.values[: at.p])
        return np.asarray(U @ U.T)

    def _look(self) -> dict[str, float]:
        here, problem = self.here, self.problem
        scale = self.eta if self.squared else self._scale(here)
        value = self.loss.value(scale * here.q)
        norm = scale * here.norm
        M = self._metric(here, scale)
        if problem.G is None:
            value += 0.5 * self.reg * norm * norm if self.squared else self.reg * norm
        else:
            value += problem.penalty(M)
        self.monitor.primal(M, value, by_risk=True)
        if not self.squared and problem.G is None and self.monitor.gap > REPAIR_GAP:
            share = 1.0 if here.norm <= self.reg else self.reg / here.norm
            bound = share * max(0.0, self.loss.dual_value(here.u))
            self.monitor.dual(bound, lambda: here.u)
        else:
            u = self._repaired(here)
            point = Minorant(self.loss.dual_value(u), self.pairs.adjoint(u), float(np.abs(u).sum()))
            self.monitor.proven(problem, point, M, lambda: u)
        return {"rank": here.p, "norm": here.norm / self.reg, "free": float(self.free)}

    def _repaired(self, at: _Point) -> Array:
        """Scale down multipliers that add to S, by one Newton step towards ``||[S]_+||_F = lambda``."""
        if self.squared or at.norm <= self.reg:
            return at.u
        adding = self.pairs.signs * at.u > 0.0
        slope = float(at.q[adding] @ at.u[adding]) / at.norm
        t = max(0.0, 1.0 - (at.norm - self.reg) / slope) if slope > 0.0 else 0.0
        return np.where(adding, self.loss.clip(t * at.u), at.u)

    def _step(self) -> bool:
        """Take one Newton step in u and eta, with a line search; False if nothing moves."""
        here, loss, eta = self.here, self.loss, self.eta
        F = loss.offset - loss.curvature * here.u - eta * here.q
        inside = (here.u > loss.low) & (here.u < loss.high)
        inward = ((here.u <= loss.low) & (F > 0.0)) | ((here.u >= loss.high) & (F < 0.0))
        free = np.flatnonzero((loss.low < loss.high) & (inside | inward))
        self.free = len(free)
        if not free.size:
            return False
        system = _System(here, self.pairs, free, loss.curvature[free], eta)
        if not system.diagonal.max() > 0.0:
            # S has no positive eigenvalue: its norm is zero and gives no length for a step.
            return False
        while self.ridge <= LARGEST_RIDGE:
            if self._searched(system, free, F):
                self.ridge = max(LEAST_RIDGE, RIDGE_DECAY * self.ridge)
                return True
            self.ridge *= RIDGE_GROWTH
        return False

    def _searched(self, system: _System, free: np.ndarray, F: Array) -> bool:
        """Take the step of a system, shortened until it ascends; False if it does not."""
        here, loss, eta = self.here, self.loss, self.eta
        system.ridge = self.ridge * system.diagonal.max()
        accuracy = max(FINEST_CG_ACCURACY, CG_GAP_SHARE * self.monitor.gap)
        system.accuracy = min(COARSEST_CG_ACCURACY, accuracy)
        x1 = system.solve(F[free])
        if self.squared:
            wanted, move = eta, x1
        else:
            q = here.q[free]
            x2 = system.solve(q)
            curvature = float(q @ x2)
            if not curvature > 0.0:
                return False
            change = (float(q @ x1) + 0.5 * (here.norm * here.norm - self.reg * self.reg)) / curvature
            wanted = min(max(eta + change, eta / ETA_FACTOR), eta * ETA_FACTOR)
            move = x1 - (wanted - eta) * x2
        du = np.zeros_like(here.u)
        du[free] = move
        before = self.dual_value(here, wanted)
        gradient = loss.offset - loss.curvature * here.u - wanted * here.q
        for length in shortened(BACKTRACKING, SHORTEST_STEP):
            there = self.at(loss.clip(here.u + length * du))
            promised = float(gradient @ (there.u - here.u))
            gained = self.dual_value(there, wanted) - before
            if there.p > 0 and promised > 0.0 and gained >= SUFFICIENT * promised:
                self.here, self.eta = there, wanted
                return True
        return False


class _System:
    """``(kappa + eta K) x = b`` over the free multipliers.

    Products run over the differences of the free pairs, or over the points where these are fewer.
    """

    def __init__(self, at: _Point, pairs: PairDistances, free: np.ndarray, curvature: Array, eta: float) -> None:
        p = at.p
        self.signs, self.curvature = pairs.signs[free].astype(np.float32), curvature
        self.pairs = pairs.pairs[free]
        self.i, self.j = self.pairs.T
        self.by_pair = len(free) <= len(pairs.X)
        positives, negatives = at.positives, at.vectors[:, p:]
        if self.by_pair:
            positives = positives[self.i] - positives[self.j]
            negatives = (pairs.X[self.i] - pairs.X[self.j]) @ negatives
        else:
            negatives = pairs.X @ negatives
        # Scaled to size one: in single precision fourth powers are in range for numbers from 1e-9 to 1e9.
        unit = 2.0 ** np.frexp(max(np.abs(part).max(initial=0.0) for part in (positives, negatives)))[1]
        self.positives, self.negatives = (positives / unit).astype(np.float32), (negatives / unit).astype(np.float32)
        self.eta = eta = eta * unit**2 * unit**2
        positive = at.values[:p]
        self.phi = (positive[:, None] / (positive[:, None] - at.values[p:])).astype(np.float32)
        self.diagonal = curvature + eta * self._diagonal()
        self.ridge, self.accuracy = 0.0, FINEST_CG_ACCURACY

    def _diagonal(self) -> Array:
        """Diagonal of K: ``sum of phi_kl a_k^2 a_l^2`` over the differences a."""
        diagonal, size = np.empty(len(self.i)), BLOCK_PAIRS
        for first in until_deadline(range(0, len(self.i), size)):
            rows = slice(first, first + size)
            positives, negatives = (self._differences(part, rows) ** 2 for part in (self.positives, self.negatives))
            border = np.einsum("tk,tk->t", positives, negatives @ self.phi.T)
            diagonal[rows] = positives.sum(axis=1, dtype=np.float64) ** 2 + 2.0 * border
        return diagonal

    def _differences(self, part: np.ndarray, rows: slice) -> np.ndarray:
        return part[rows] if self.by_pair else part[self.i[rows]] - part[self.j[rows]]

    def product(self, x: Array) -> Array:
        """``(kappa + eta K) x``."""
        # Scaled to size one, so that products of small numbers are not denormal: those take a hundred times as long.
        size = float(np.abs(x).max()) or 1.0
        weights = self.signs * (x / size).astype(np.float32)
        if self.by_pair:
            moved = self.positives * weights[:, None]
        else:
            T = symmetric(self.i, self.j, weights, len(self.positives))
            moved = np.asarray(T.sum(axis=1)).reshape(-1, 1) * self.positives - T @ self.positives
        inner, border = moved.T @ self.positives, (moved.T @ self.negatives) * self.phi
        images = self.positives @ inner + 2.0 * (self.negatives @ border.T)
        if self.by_pair:
            forms = np.einsum("tk,tk->t", self.positives, images)
        else:
            forms = np.empty(len(x), dtype=np.float32)
            over_rows(
                products_of_differences, len(x), len(x) * images.shape[1], images, self.positives, self.pairs, forms
            )
        forms = (self.signs * forms).astype(np.float64)
        return np.asarray((self.curvature + self.ridge) * x + (self.eta * size) * forms)

    def solve(self, b: Array) -> Array:
        """Conjugate gradients, preconditioned by the diagonal."""
        return conjugate_gradients(self.product, b, self.diagonal + self.ridge, self.accuracy, CG_STEPS)[0]
