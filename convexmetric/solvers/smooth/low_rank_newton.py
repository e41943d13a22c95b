r"""Newton's method on a factor whose rank grows until the dual bound says that it is enough.

.. math:: \min_{M \succeq 0} R(M) + \langle H, M \rangle, \qquad H = \lambda I + G \succ 0

for smooth risks and a trace. In coordinates that make H the identity, :math:`H = K K^\top` and :math:`C = B K`, a
factor :math:`M = B^\top B` has the objective :math:`F(C) = R + \|C\|_F^2` with gradient :math:`2 C (I - \tilde S)`,
:math:`\tilde S = K^{-1} S K^{-\top}`, :math:`S = -\nabla R`. It is not convex, but three facts make it safe and fast:

- whatever C is, the tangent plane there, shrunk by :math:`\theta = 1 / \max(1, \lambda_{\max}(\tilde S))`, is a dual
  point: one eigendecomposition bounds the convex problem and says whether any metric, of any rank, is better;
- if :math:`\lambda_{\max} > 1` at a stationary point, a row along its eigenvector descends: the rank grows only where
  it has to. Rows that shrink to nothing are left out;
- with the rank of the optimum the Hessian is positive definite but for rotations of the rows, and Newton's method
  converges quadratically. Its systems are solved by conjugate gradients in a trust region (Steihaug), from products
  with the factor: passes over the data, no matrix of the size of the Hessian.

The trust region leaves saddle points by itself; the certificate decides about everything else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import scipy.linalg as la

from convexmetric.cones.base import Array
from convexmetric.problem import MetricProblem
from convexmetric.risks import DualPoint, Reason, SmoothRisk, tangent_dual
from convexmetric.solvers.numerics.trust_region import at_boundary, new_radius, steihaug
from convexmetric.solvers.run import Monitor, Run, Solver, check_counts, check_shares
from convexmetric.solvers.run.memory import metric_memory, pass_memory
from convexmetric.solvers.run.needs import full_metrics, linear_part, linear_penalty

__all__ = ["LowRankNewton"]

#: Rounding error of an objective, as a share of it: some multiples of the machine precision.
ROUNDING = 1e-14


@dataclass(frozen=True)
class LowRankNewton(Solver):
    """Trust-region Newton steps on a factor, certified by the dual bound of the convex problem.

    Parameters
    ----------
    grow : int
        Rows added at a time at most.
    newton_steps : int
        Steps between two looks at the bound at most.
    cg_steps : int
        Conjugate gradient steps for a Newton step at most.
    max_rounds : int
        Looks at the bound after which it gives up.
    negligible_row : float
        Rows of the factor are left out below this share of its squared size, a metric's trace.
    subproblem_accuracy : float
        Newton steps go on until they promise less than this share of the tolerance or of ``primal_share`` of the gap.
    primal_share : float
        Share of the gap that counts there: most of the gap is the dual bound's. With 0.1, rows were added long before
        the others were settled, and an instance took four times as long.
    new_row_share : float
        Rows are added along eigenvectors of S whose eigenvalues exceed one by more than this share of the tolerance.
    cg_accuracy : float
        Share of the gradient at which conjugate gradients end, at most; it shrinks with the gradient.
    failed_looks : int
        Looks in a row without progress after which it gives up.
    gap_progress : float
        It is progress if the gap is below this share of the last one,
    objective_progress : float
        or the objective below this share of the last one.
    growth_trials : int
        Attempts to make new rows short enough to descend.
    """

    name: ClassVar[str] = "low-rank-newton"

    grow: int = 8
    newton_steps: int = 40
    cg_steps: int = 200
    max_rounds: int = 200
    _: KW_ONLY
    negligible_row: float = 1e-12
    subproblem_accuracy: float = 0.1
    primal_share: float = 1e-3
    new_row_share: float = 0.1
    cg_accuracy: float = 0.1
    failed_looks: int = 8
    gap_progress: float = 0.5
    objective_progress: float = 0.99
    growth_trials: int = 20

    def __post_init__(self) -> None:
        check_counts(self, "grow", "newton_steps", "cg_steps", "max_rounds", "failed_looks", "growth_trials")
        check_shares(self, "negligible_row", "subproblem_accuracy", "primal_share", "new_row_share", "cg_accuracy")
        check_shares(self, "gap_progress", "objective_progress")

    def prepare(self, problem: MetricProblem) -> Run | Reason:
        """Needs a smooth risk, full metrics, and a trace that outweighs the linear term."""
        risk, full, linear = problem.risk.form(SmoothRisk), full_metrics(problem), linear_penalty(problem)
        if isinstance(risk, Reason):
            return risk
        if full is not None:
            return full
        if linear is not None:
            return linear
        K = _cholesky(problem)
        if K is None:
            return Reason("its penalty does not grow with every metric")
        return partial(self._descend_and_grow, problem, risk, K)

    def memory(self, problem: MetricProblem) -> float | None:
        """Of a pass, and of six metrics."""
        return pass_memory(problem) + 6.0 * metric_memory(problem)

    def _descend_and_grow(self, problem: MetricProblem, risk: SmoothRisk, K: Array, monitor: Monitor) -> None:
        """Descend, look, grow."""
        objective = _Whitened(self, risk, K)
        start = problem.cone.zeros() if monitor.M is None else monitor.M
        here = objective.at(objective.factor(start))
        failures = 0
        for _ in range(self.max_rounds):
            before, objective_before = monitor.gap, monitor.upper_bound
            M = here.B.T @ here.B
            monitor.primal(M, here.risk + problem.penalty(M))
            bound = problem.bound(here.point.value, here.point.S, M)
            monitor.dual(bound, partial(tangent_dual, risk, M), here.point)
            if monitor.iterate(rank=len(here.C), products=objective.products):
                return
            progress = monitor.gap < self.gap_progress * before
            progress = progress or monitor.upper_bound < self.objective_progress * objective_before
            failures = 0 if progress else failures + 1
            if failures == self.failed_looks:
                return
            here = objective.grown(here, self.grow, monitor.tol)
            accuracy = self.subproblem_accuracy * max(monitor.tol, self.primal_share * min(1.0, monitor.gap))
            here = self._descend(objective, here, accuracy, monitor)

    def _descend(self, objective: _Whitened, here: _Point, accuracy: float, monitor: Monitor) -> _Point:
        """Newton steps until one promises less than a share ``accuracy`` of the objective."""
        radius = max(1.0, float(np.linalg.norm(here.C)))
        for _ in range(self.newton_steps):
            # The residual asked for shrinks with the gradient: superlinear convergence.
            share = min(self.cg_accuracy, float(np.sqrt(np.linalg.norm(here.gradient))))
            step, promised = steihaug(objective.hessian(here), here.gradient, radius, self.cg_steps, share)
            there = objective.at(here.C + step)
            length = float(np.linalg.norm(step))
            inside = not at_boundary(length, radius)
            # Near the optimum what is gained and promised is less than the rounding of the objective.
            rounding = ROUNDING * abs(here.value)
            if not promised + rounding > 0.0:
                break
            kept = (here.value - there.value + rounding) / (promised + rounding)
            radius = new_radius(radius, length, kept)
            if kept > 0.0:
                here = there
            settled = inside and kept > 0.0 and promised <= accuracy * abs(here.value)
            if settled or length <= ROUNDING * np.linalg.norm(here.C) or monitor.out_of_time:
                break
        return objective.reduced(here)


@dataclass(frozen=True)
class _Point:
    """A factor, the risk and its tangent plane there, and S in whitened coordinates."""

    C: Array
    B: Array
    risk: float
    point: DualPoint
    S: Array

    @property
    def value(self) -> float:
        """The objective."""
        return self.risk + float(np.vdot(self.C, self.C))

    @property
    def gradient(self) -> Array:
        """Of the objective."""
        return 2.0 * (self.C - self.C @ self.S)


class _Whitened:
    """The objective in coordinates that make the penalty a squared norm."""

    def __init__(self, settings: LowRankNewton, risk: SmoothRisk, K: Array) -> None:
        self.settings, self.risk, self.K = settings, risk, K
        self.inverse = la.solve_triangular(K, np.eye(len(K)), lower=True, check_finite=False)
        #: Products with a Hessian so far.
        self.products = 0

    def factor(self, M: Array) -> Array:
        """A factor in these coordinates of a metric, small eigenvalues left out."""
        values, vectors = la.eigh(self.K.T @ M @ self.K)
        kept = values > self.settings.negligible_row * values.sum()
        return np.asarray(np.sqrt(values[kept])[:, None] * vectors[:, kept].T)

    def at(self, C: Array) -> _Point:
        """One pass over the data."""
        B = C @ self.inverse
        risk, point = self.risk.tangent(B.T @ B)
        return _Point(C, B, risk, point, self.inverse @ point.S @ self.inverse.T)

    def hessian(self, here: _Point) -> Callable[[Array], Array]:
        """The second derivative of the objective, a linear map of factors."""
        second = self.risk.second_along(here.B)

        def applied(E: Array) -> Array:
            self.products += 1
            return 2.0 * (E - E @ here.S + second(E @ self.inverse) @ self.inverse.T)

        return applied

    def grown(self, here: _Point, most: int, tol: float) -> _Point:
        """Rows along the eigenvectors of S that promise most, of the length that Newton's method gives them."""
        values, vectors = la.eigh(here.S)
        above = np.flatnonzero(values > 1.0 + self.settings.new_row_share * tol)[::-1][:most]
        rows = vectors[:, above].T
        if not len(rows):
            return here
        V = rows @ self.inverse
        along = V.T @ V
        curvature = self.risk.cone.inner(along, self.risk.second_derivative(here.B.T @ here.B)(along))
        slope = float((values[above] - 1.0).sum())
        share = slope / curvature if curvature > 0.0 else 1.0
        for _ in range(self.settings.growth_trials):
            there = self.at(np.concatenate([here.C, np.sqrt(share) * rows]))
            if there.value < here.value:
                return there
            share *= 0.25
        return here

    def reduced(self, here: _Point) -> _Point:
        """The factor with orthogonal rows, negligible ones left out."""
        _, sizes, rows = np.linalg.svd(here.C, full_matrices=False)
        kept = sizes**2 > self.settings.negligible_row * (sizes**2).sum()
        return here if kept.sum() == len(here.C) else self.at(sizes[kept, None] * rows[kept])


def _cholesky(problem: MetricProblem) -> Array | None:
    """``K`` with ``K K^T = lambda I + G``, or None."""
    try:
        return np.asarray(np.linalg.cholesky(linear_part(problem)))
    except np.linalg.LinAlgError:
        return None
