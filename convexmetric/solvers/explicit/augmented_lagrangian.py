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

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from convexmetric.arrays import Array
from convexmetric.comparisons.points import row_width
from convexmetric.numerics.searches import SUFFICIENT, shortened
from convexmetric.problem import MetricProblem
from convexmetric.risks import ListedHinges
from convexmetric.solvers.numerics.conjugate_gradients import conjugate_gradients
from convexmetric.solvers.numerics.newton_system import scaled_rows
from convexmetric.solvers.runtime import Monitor, Run, Solver
from convexmetric.solvers.runtime.memory import FLOAT
from convexmetric.solvers.runtime.requirements import (
    linear_part,
    need_diagonal_metrics,
    soft_hinges,
    squared_norm,
)

__all__ = ["AugmentedLagrangian"]

#: First width, in margins.
FIRST_WIDTH = 10.0
#: Factor by which the width shrinks after one that took few steps.
WIDTH_FACTOR = 1.0 / 3.0
#: Newton steps up to which these are few.
FEW_STEPS = 3
#: Newton steps for one width at most.
NEWTON_STEPS = 30
#: Proximal steps at most.
MAX_ROUNDS = 1_000
#: The problem of a width is solved when its own gap is below this share of the proximal term.
SUBPROBLEM_SHARE = 0.3
#: Proximal steps without a better gap, after which it gives up.
IDLE_ROUNDS = 20
#: Comparisons on the kink of which the matrix of a step is made, at most.
SAMPLE = 20_000
#: Conjugate gradient steps for one Newton step at most.
CG_STEPS = 60
#: They end where the preconditioned residual is below this share of the first one.
CG_ACCURACY = 0.1
#: A step is halved until it pays, down to this share: where few comparisons are on the kink it may be far too long.
SHORTEST_STEP = 0.5**39


@dataclass(frozen=True)
class AugmentedLagrangian(Solver):
    """Exact where tens of thousands of weights are positive, or may become so."""

    name: ClassVar[str] = "augmented-lagrangian"

    def prepare(self, problem: MetricProblem) -> Run:
        """Needs soft hinges of listed comparisons, diagonal metrics and a squared Frobenius norm."""
        need_diagonal_metrics(problem)
        reg = squared_norm(problem)
        return partial(self._solve, problem, soft_hinges(problem), reg)

    def memory(self, problem: MetricProblem) -> float | None:
        """Bytes of the sample's rows, three times, ten vectors of multipliers and as many of weights."""
        hinges = soft_hinges(problem)
        count = len(hinges.comparisons)
        rows = min(SAMPLE, count) * row_width(hinges.comparisons.points, problem.cone)
        return FLOAT * (3.0 * rows + 10.0 * (count + problem.cone.size))

    def _solve(self, problem: MetricProblem, hinges: ListedHinges, reg: float, monitor: Monitor) -> None:
        """Proximal steps until the certified gap closes, from what earlier solvers left or from zero."""
        proximal = _Proximal(problem, hinges, reg, monitor)
        width, idle = FIRST_WIDTH * hinges.size, 0
        for _ in range(MAX_ROUNDS):
            before = monitor.gap
            steps = proximal.solve(width)
            if steps is None:
                return
            idle = 0 if monitor.gap < before else idle + 1
            if idle == IDLE_ROUNDS:
                return
            if not proximal.solved:
                width /= WIDTH_FACTOR
                continue
            proximal.multipliers = proximal.here.a
            if steps <= FEW_STEPS:
                width *= WIDTH_FACTOR


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

    def __init__(self, problem: MetricProblem, hinges: ListedHinges, reg: float, monitor: Monitor) -> None:
        self.problem, self.hinges, self.reg, self.monitor = problem, hinges, reg, monitor
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
        self.width, self.solved = width, True
        self.here = self._at(self.here.w, self.here.s)
        for steps in range(NEWTON_STEPS):
            gradient, left = self._price()
            if self.monitor.iterate(width=width):
                return None
            if left <= SUBPROBLEM_SHARE * self.here.moved:
                return steps
            found = self._searched(gradient, self._newton_step(gradient))
            if found is None:
                self.solved = False
                return steps
            self.here = found
        return NEWTON_STEPS

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
        here, C = self.here, self.hinges.weights
        free = np.flatnonzero((here.w > 0.0) | (gradient < 0.0))
        rows = np.flatnonzero((here.a > 0.0) & (here.a < C))
        step, weight = np.zeros_like(here.w), 1.0 / self.width
        if rows.size > SAMPLE:
            weight *= rows.size / SAMPLE
            rows = np.sort(self.rng.choice(rows, SAMPLE, replace=False))
        if not rows.size or not free.size:
            step[free] = -gradient[free] / self.reg
            return step
        B = scaled_rows(self.hinges.comparisons.block(rows, free), np.sqrt(weight * C[rows]))
        diagonal = self.reg + np.asarray((B * B).sum(axis=0)).ravel()
        step[free], _ = conjugate_gradients(
            lambda x: self.reg * x + B.T @ (B @ x), -gradient[free], diagonal, CG_ACCURACY, CG_STEPS
        )
        return step

    def _searched(self, gradient: Array, step: Array) -> _Point | None:
        """The first point on the arc, halving the step, at which it pays; None if there is none."""
        here = self.here
        for share in shortened(0.5, SHORTEST_STEP):
            there = self._at(np.maximum(here.w + share * step, 0.0))
            promised = float(gradient @ (there.w - here.w))
            if there.value < here.value and there.value <= here.value + SUFFICIENT * promised:
                return there
        return None
