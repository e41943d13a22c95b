r"""Method of multipliers with Newton steps by conjugate gradients: hinges of listed comparisons, many weights.

.. math:: \min_{w \ge 0} \; \tfrac{\lambda}{2} \|w\|^2 + \langle G, w \rangle + \sum_t C_t \max(0, \mu_t - s_t),
   \qquad s = D w

A proximal step on the dual, from multipliers :math:`u` and over a width :math:`\varepsilon` of margins, is a smooth
problem in the weights:

.. math:: \min_{w \ge 0} \; \tfrac{\lambda}{2} \|w\|^2 + \langle G, w \rangle
   + \sum_t \Bigl( a_t (\mu_t - s_t) - \frac{\varepsilon}{2 C_t} (a_t - u_t)^2 \Bigr), \qquad
   a_t = \mathrm{clip}(u_t + \tfrac{C_t}{\varepsilon} (\mu_t - s_t), 0, C_t)

and its :math:`a` are the next multipliers (Rockafellar 1976). With :math:`u` near the optimum the width need not be
small, unlike that of smoothed hinges. Newton's step is taken in the weights that are positive or want to be; its
matrix :math:`\lambda I + B^\top \mathrm{diag}(C / \varepsilon) B`, with the rows B that are on the kink
(:math:`0 < a_t < C_t`), is never formed: conjugate gradients need products with B only, so that tens of thousands of
weights may be positive. A step goes along the arc :math:`[w + t d]_+` (Bertsekas 1982) until it pays.

A width is solved when what is left of its problem is small against what the multipliers moved; one that took few steps
is followed by a smaller one, and one where no step pays by a larger one. Both bounds are those of the whole problem in
every step.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from convexmetric.cones.base import Array
from convexmetric.deadline import looking
from convexmetric.problem import MetricProblem
from convexmetric.risks import ListedHinges, Reason
from convexmetric.solvers.numerics.newton_system import scaled_rows
from convexmetric.solvers.run import Monitor, Run, Solver, check_counts, check_positive, check_shares
from convexmetric.solvers.run.memory import FLOAT, row_width
from convexmetric.solvers.run.needs import diagonal_metrics, linear_part, soft_hinges, squared_norm

__all__ = ["AugmentedLagrangian"]


@dataclass(frozen=True)
class AugmentedLagrangian(Solver):
    """Exact where tens of thousands of weights are positive, or may become so.

    Parameters
    ----------
    first_width : float
        First width, in margins.
    width_factor : float
        Factor by which the width shrinks after one that took few steps.
    few_steps : int
        Newton steps up to which these are few.
    newton_steps : int
        Newton steps for one width at most.
    max_rounds : int
        Proximal steps at most.
    subproblem_share : float
        The problem of a width is solved when its own gap is below this share of the proximal term.
    idle_rounds : int
        Proximal steps without a better gap, after which it gives up.
    sample : int
        Comparisons on the kink of which the matrix of a step is made, at most.
    cg_steps : int
        Conjugate gradient steps for one Newton step at most.
    cg_accuracy : float
        They end where the preconditioned residual is below this share of the first one.
    sufficient_decrease : float
        A step pays if it gains this share of what its slope promises.
    halvings : int
        Of a step that does not pay, at most: where few comparisons are on the kink it may be far too long.
    """

    name: ClassVar[str] = "augmented-lagrangian"

    _: KW_ONLY
    first_width: float = 10.0
    width_factor: float = 1.0 / 3.0
    few_steps: int = 3
    newton_steps: int = 30
    max_rounds: int = 1_000
    subproblem_share: float = 0.3
    idle_rounds: int = 20
    sample: int = 20_000
    cg_steps: int = 60
    cg_accuracy: float = 0.1
    sufficient_decrease: float = 1e-4
    halvings: int = 40

    def __post_init__(self) -> None:
        check_counts(self, "few_steps", "newton_steps", "max_rounds", "idle_rounds", "sample", "cg_steps", "halvings")
        check_positive(self, "first_width", "subproblem_share")
        check_shares(self, "width_factor", "cg_accuracy", "sufficient_decrease")

    def prepare(self, problem: MetricProblem) -> Run | Reason:
        """Needs soft hinges of listed comparisons, diagonal metrics and a squared Frobenius norm."""
        diagonal, hinges, reg = diagonal_metrics(problem), soft_hinges(problem), squared_norm(problem)
        if diagonal is not None:
            return diagonal
        if isinstance(reg, Reason):
            return reg
        return hinges if isinstance(hinges, Reason) else partial(self._solve, problem, hinges, reg)

    def memory(self, problem: MetricProblem) -> float | None:
        """Bytes of the sample's rows, three times, ten vectors of multipliers and as many of weights."""
        hinges = soft_hinges(problem)
        if isinstance(hinges, Reason):
            return None
        count = len(hinges.comparisons)
        rows = min(self.sample, count) * row_width(hinges.comparisons)
        return FLOAT * (3.0 * rows + 10.0 * (count + problem.cone.size))

    def _solve(self, problem: MetricProblem, hinges: ListedHinges, reg: float, monitor: Monitor) -> None:
        """Proximal steps until the certified gap closes, from what earlier solvers left or from zero."""
        proximal = _Proximal(self, problem, hinges, reg, monitor)
        width, idle = self.first_width * hinges.size, 0
        for _ in range(self.max_rounds):
            before = monitor.gap
            steps = proximal.solve(width)
            if steps is None:
                return
            idle = 0 if monitor.gap < before else idle + 1
            if idle == self.idle_rounds:
                return
            if not proximal.solved:
                width /= self.width_factor
                continue
            proximal.multipliers = proximal.here.a
            if steps <= self.few_steps:
                width *= self.width_factor


@dataclass(frozen=True)
class _Point:
    """Weights with their margins, the multipliers that belong to them, and the value of the smooth problem."""

    w: Array
    s: Array
    a: Array
    moved: float
    value: float


class _Proximal:
    """One proximal step after the other, in the letters of the module."""

    def __init__(
        self, settings: AugmentedLagrangian, problem: MetricProblem, hinges: ListedHinges, reg: float, monitor: Monitor
    ) -> None:
        self.settings, self.problem, self.hinges, self.reg, self.monitor = settings, problem, hinges, reg, monitor
        self.G = linear_part(problem)
        self.rng = np.random.default_rng(0)
        dual = monitor.dual_point
        self.multipliers = hinges.loss.clip(dual) if isinstance(dual, np.ndarray) else np.zeros(len(hinges.weights))
        self.width = np.inf
        #: Whether the last width came to an end, or no step paid any more.
        self.solved = True
        self.here = self._at(problem.cone.zeros() if monitor.M is None else monitor.M)

    def solve(self, width: float) -> int | None:
        """Newton steps on the problem of one width: how many there were; None if the monitor says stop."""
        settings, self.width, self.solved = self.settings, width, True
        self.here = self._at(self.here.w, self.here.s)
        for steps in range(settings.newton_steps):
            gradient, left = self._price()
            if self.monitor.iterate(width=width):
                return None
            if left <= settings.subproblem_share * self.here.moved:
                return steps
            found = self._searched(gradient, self._newton_step(gradient))
            if found is None:
                self.solved = False
                return steps
            self.here = found
        return settings.newton_steps

    def _at(self, w: Array, s: Array | None = None) -> _Point:
        """The smooth problem at some weights."""
        hinges, u = self.hinges, self.multipliers
        if s is None:
            s = hinges.comparisons.forward(w)
        away, C = hinges.margins - s, hinges.weights
        a = np.clip(u + C / self.width * away, 0.0, C)
        moved = 0.0 if np.isinf(self.width) else 0.5 * self.width * float(((a - u) ** 2 / C).sum())
        value = 0.5 * self.reg * float(w @ w) + float(self.G @ w) + float(a @ away) - moved
        return _Point(w, s, a, moved, value)

    def _price(self) -> tuple[Array, float]:
        """The gradient, and the gap of the smooth problem; both bounds of the whole problem go to the monitor."""
        problem, hinges, here = self.problem, self.hinges, self.here
        S = hinges.comparisons.adjoint(here.a)
        self.monitor.primal(here.w, hinges.loss.value(here.s) + problem.penalty(here.w))
        proven = hinges.loss.dual_value(here.a)
        self.monitor.dual(problem.bound(proven, S, here.w), lambda: here.a)
        best = np.maximum(S - self.G, 0.0)
        dual = proven - 0.5 * float(best @ best) / self.reg - here.moved
        return self.reg * here.w + self.G - S, here.value - dual

    def _newton_step(self, gradient: Array) -> Array:
        """Newton's step in the weights that are positive or want to be, by conjugate gradients."""
        settings, here, C = self.settings, self.here, self.hinges.weights
        free = np.flatnonzero((here.w > 0.0) | (gradient < 0.0))
        rows = np.flatnonzero((here.a > 0.0) & (here.a < C))
        step, weight = np.zeros_like(here.w), 1.0 / self.width
        if rows.size > settings.sample:
            weight *= rows.size / settings.sample
            rows = np.sort(self.rng.choice(rows, settings.sample, replace=False))
        if not rows.size or not free.size:
            step[free] = -gradient[free] / self.reg
            return step
        B = scaled_rows(self.hinges.comparisons.block(rows, free), np.sqrt(weight * C[rows]))
        step[free] = self._conjugate_gradients(B, -gradient[free])
        return step

    def _conjugate_gradients(self, B: np.ndarray, b: Array) -> Array:
        """``(lambda I + B^T B)^-1 b`` to the accuracy of the settings, preconditioned by the diagonal."""
        diagonal = self.reg + np.asarray((B * B).sum(axis=0)).ravel()
        x, residual = np.zeros_like(b), b.copy()
        z = residual / diagonal
        p, square = z.copy(), float(residual @ z)
        target = self.settings.cg_accuracy**2 * square
        for _ in looking(range(self.settings.cg_steps)):
            if square <= target:
                break
            image = self.reg * p + B.T @ (B @ p)
            length = square / float(p @ image)
            x += length * p
            residual -= length * image
            z = residual / diagonal
            before, square = square, float(residual @ z)
            p = z + square / before * p
        return x

    def _searched(self, gradient: Array, step: Array) -> _Point | None:
        """The first point on the arc, halving the step, at which it pays; None if there is none."""
        here = self.here
        for halving in range(self.settings.halvings):
            there = self._at(np.maximum(here.w + 0.5**halving * step, 0.0))
            promised = float(gradient @ (there.w - here.w))
            if there.value < here.value and there.value <= here.value + self.settings.sufficient_decrease * promised:
                return there
        return None
