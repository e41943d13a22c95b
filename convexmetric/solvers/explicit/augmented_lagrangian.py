r"""Method of multipliers with Newton steps by conjugate gradients: hinges of listed comparisons, many weights.

.. math:: \min_{w \ge 0} \; \tfrac{\lambda}{2} \|w\|^2 + \langle G, w \rangle + \sum_t C_t \max(0, \mu_t - s_t),
   \qquad s = D w

A proximal step on the dual, from multipliers :math:`u` and over a width :math:`\varepsilon` of margins, is a smooth
problem in the weights:

.. math:: \min_{w \ge 0} \; \tfrac{\lambda}{2} \|w\|^2 + \langle G, w \rangle
   + \sum_t \Bigl( a_t (\mu_t - s_t) - \frac{\varepsilon}{2 C_t} (a_t - u_t)^2 \Bigr), \qquad
   a_t = \mathrm{clip}(u_t + \tfrac{C_t}{\varepsilon} (\mu_t - s_t), 0, C_t)

and its :math:`a` are the next multipliers (Rockafellar 1976). With :math:`u` near the optimum the width need not be
small, unlike that of smoothed hinges. Newton's step is taken in the free weights, which are positive or have a negative
gradient; its matrix :math:`\lambda I + B^\top \mathrm{diag}(C / \varepsilon) B`, with the rows B of D that are on the
kink (:math:`0 < a_t < C_t`), is never formed: conjugate gradients need products with B only, so that tens of thousands
of weights may be positive. The line search goes along the arc :math:`[w + t d]_+` (Bertsekas 1982).

The problem of a width is solved when its gap is small compared with the proximal term. After few steps the next width
is smaller; if no step decreases the objective, it is larger. Every step gives both bounds of the whole problem.

A linear penalty has no curvature to keep weights apart: the proximal step is then one on the weights too, with
:math:`\tfrac\delta2 \|w - w_k\|^2` around those of the last step in place of the squared norm (the proximal method of
multipliers, Rockafellar 1976). The optimum of such a problem has few positive weights, and nothing of the size of all
weights is made but vectors.

With many comparisons few margins :math:`s_t` are near :math:`\mu_t`, where the hinge bends. Once the gap is moderate,
the steps go on with a working set of these, written out as rows: the others keep the multipliers 0 or C, whose part of
:math:`D^\top a` is added to G. The result is a next proximal point of the whole problem, which shows whether the
working set lacked comparisons. The first point comes from a random sample.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from convexmetric.arrays import Array
from convexmetric.comparisons.points import row_width
from convexmetric.numerics.conjugate_gradients import conjugate_gradients
from convexmetric.numerics.searches import SUFFICIENT, shortened
from convexmetric.problem import MetricProblem
from convexmetric.regularizers import SquaredFrobenius
from convexmetric.risks import ListedHinges
from convexmetric.solvers.numerics.interior_point import scaled_rows
from convexmetric.solvers.numerics.qp import times
from convexmetric.solvers.runtime import Details, Monitor, Run, Solver, Steps, drive
from convexmetric.solvers.runtime.requirements import FLOAT, need, quadratic_part, soft_hinges

#: First width, in margins.
FIRST_WIDTH = 10.0
#: Factor by which the width shrinks after one that took few steps.
WIDTH_FACTOR = 1.0 / 3.0
#: Delta of the proximal term on the weights, as a share of the mean curvature of hinges of width one margin.
PROXIMAL_SHARE = 0.01
#: Newton steps for one width up to which the next width is smaller.
FEW_STEPS = 5
#: Newton steps for one width at most.
NEWTON_STEPS = 30
#: Proximal steps at most.
MAX_ROUNDS = 1_000
#: The problem of a width is solved when its own gap is below this share of the proximal term.
SUBPROBLEM_SHARE = 0.3
#: Proximal steps without a better gap, after which it gives up.
IDLE_ROUNDS = 20
#: Comparisons on the kink sampled for the matrix of a Newton step: at least, for each free weight, and at most.
LEAST_SAMPLE, SAMPLE_PER_WEIGHT, SAMPLE = 2_000, 6, 20_000
#: Conjugate gradient steps for one Newton step at most: with few, inexact steps take longer than what they save.
CG_STEPS = 400
#: Conjugate gradients end where the preconditioned residual is below this fraction of the first one.
CG_ACCURACY = 0.1
#: A step is halved until it decreases the objective, down to this: with few comparisons on the kink it may be long.
SHORTEST_STEP = 0.5**39
#: Comparisons of a working set at least, and the fraction of all at most: larger ones save nothing.
WORKING_SET, WORKING_SHARE = 4_000, 0.25
#: Numbers in the rows of a working set at most.
MOST_ENTRIES = 3e7
#: Fraction of all comparisons in the random sample that gives the first point, unless the others contradict it.
FIRST_SAMPLE = 0.125
#: Gap up to which working sets are used.
MODERATE_GAP = 1e-2
#: Accuracy of a working set: shares of the tolerance and of the gap so far, the larger of which counts.
TOLERANCE_SHARE, GAP_SHARE = 0.2, 1e-2
#: If a working set leaves less than this fraction of the gap, the next has half as many comparisons, else twice.
PAYING_SHARE = 0.5
#: Multipliers further than this fraction of C from 0 and from C count as interior.
INTERIOR_SHARE = 1e-3


@dataclass(frozen=True)
class AugmentedLagrangian(Solver):
    """Exact for listed comparisons and weights of features: hundreds of thousands of either."""

    name: ClassVar[str] = "augmented-lagrangian"

    def prepare(self, problem: MetricProblem) -> Run:
        """Needs soft hinges of listed comparisons, diagonal metrics and a linear or quadratic regularizer."""
        need(problem.cone.diagonal, "its metrics are not diagonal")
        hinges = soft_hinges(problem)
        quadratic_part(problem)
        return partial(self._solve, problem, hinges)

    def memory(self, problem: MetricProblem) -> float | None:
        """Bytes of the sample's rows, three times, ten vectors of multipliers and as many of weights."""
        hinges = soft_hinges(problem)
        count = len(hinges.comparisons)
        rows = min(SAMPLE, count) * row_width(hinges.comparisons.points, problem.cone)
        return FLOAT * (3.0 * rows + 10.0 * (count + problem.cone.size))

    def _solve(self, problem: MetricProblem, hinges: ListedHinges, monitor: Monitor) -> Steps:
        """Take proximal steps until the certified gap closes, from what earlier solvers left, a start, or a sample."""
        proximal = _Proximal(problem, hinges, monitor)
        count, dual = len(hinges.weights), monitor.dual_point
        size = max(WORKING_SET, int(FIRST_SAMPLE * count))
        if isinstance(dual, np.ndarray) and monitor.M is not None:
            proximal.move(monitor.M, hinges.loss.clip(dual))
        elif monitor.start is not None:
            proximal.move(monitor.start)
        elif not proximal.linear and row_width(problem.risk.points, problem.cone) <= size <= WORKING_SHARE * count:
            rows = np.sort(np.random.default_rng(0).permutation(count)[:size])
            part = proximal.part(rows, np.zeros(count), count / size, MODERATE_GAP)
            drive(part.follow(), part.monitor)
            if problem.value(part.here.w) < problem.value(problem.cone.zeros()):
                proximal.next, proximal.working = part.next, int(WORKING_SHARE * count)
                proximal.move(part.here.w)
                proximal.price()
                yield {}
                yield from proximal.follow_some()
        yield from proximal.follow()


@dataclass(frozen=True)
class _Point:
    """Weights with their margins, the multipliers that belong to them, and the value of the smooth problem."""

    w: Array
    s: Array
    a: Array
    moved: float
    value: float


class _Rows:
    """Comparisons written out as the rows of a matrix D."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    def forward(self, w: Array) -> Array:
        """Margins ``D w``."""
        return np.asarray(self.rows @ w)

    def adjoint(self, u: Array) -> Array:
        """Weighted sum of the rows, ``D^T u``."""
        return np.asarray(self.rows.T @ u)

    def block(self, rows: Any, columns: Any) -> Any:
        """Submatrix of the given rows and columns."""
        return self.rows[rows][:, columns]


class _Proximal:
    """Proximal steps on the dual, in the notation of the module."""

    def __init__(self, problem: MetricProblem, hinges: ListedHinges, monitor: Monitor) -> None:
        self.problem, self.hinges, self.monitor = problem, hinges, monitor
        self.L, self.G = quadratic_part(problem), problem.linear()
        self.rng = np.random.default_rng(0)
        #: The problem of a round: the problem itself, or that with a proximal term on the weights.
        self.near, self.linear = problem, not np.any(self.L)
        if self.linear:
            self.L = self.delta = self._curvature()
            self._recentre(problem.cone.zeros())
        self.multipliers = np.zeros(len(hinges.weights))
        #: Width of this proximal step, and of the next one.
        self.width, self.next = np.inf, FIRST_WIDTH * hinges.size
        #: Whether the problem of the last width was solved; False if no step decreased its objective.
        self.solved = True
        #: Least number of comparisons in the next working set.
        self.working = WORKING_SET
        self.here = self._at(problem.cone.zeros())

    def move(self, w: Array, multipliers: Array | None = None) -> None:
        """Move to other weights and multipliers, by default the slopes of the hinges at these weights."""
        s = self.hinges.comparisons.forward(w)
        self.multipliers = self.hinges.loss.subgradient(s) if multipliers is None else multipliers
        self.width = np.inf
        self.here = self._at(w, s)

    def _curvature(self) -> float:
        """Delta: a share of the mean curvature that hinges of width one margin have, from a sample of the rows."""
        hinges, count = self.hinges, len(self.hinges.weights)
        rows = np.sort(self.rng.permutation(count)[:LEAST_SAMPLE])
        B = scaled_rows(hinges.comparisons.block(rows, slice(None)), np.sqrt(hinges.weights[rows] / hinges.size))
        return PROXIMAL_SHARE * count / rows.size * float((B * B).sum()) / B.shape[1] or 1.0

    def _recentre(self, w: Array) -> None:
        """Centre the proximal term at the weights w."""
        self.G, constant = self.problem.linear() - self.delta * w, 0.5 * self.delta * float(w @ w)
        self.near = MetricProblem(self.problem.risk, SquaredFrobenius(self.delta), self.G, constant=constant)

    def follow(self) -> Steps:
        """Take proximal steps until the gap no longer improves."""
        idle = 0
        for _ in range(MAX_ROUNDS):
            before = self.monitor.gap
            steps = yield from self._solve(self.next)
            idle = 0 if self.monitor.gap < before else idle + 1
            if idle == IDLE_ROUNDS:
                return
            if not self.solved:
                self.next /= WIDTH_FACTOR
                continue
            self.multipliers = self.here.a
            if self.linear:
                self._recentre(self.here.w)
            if steps <= FEW_STEPS:
                self.next *= WIDTH_FACTOR
            if self.monitor.gap <= MODERATE_GAP and not self.linear:
                yield from self.follow_some()

    def follow_some(self) -> Steps:
        """Solve on working sets of comparisons while there are any."""
        monitor, hinges = self.monitor, self.hinges
        while (rows := self._near()) is not None:
            gap = monitor.gap
            fixed = hinges.loss.subgradient(self.here.s)
            fixed[rows] = 0.0
            accuracy = max(TOLERANCE_SHARE * monitor.tol, GAP_SHARE * min(1.0, gap))
            part = self.part(rows, fixed, 1.0, 0.0, accuracy * abs(monitor.upper_bound))
            part.next = self.next
            part.move(self.here.w, self.here.a[rows])
            drive(part.follow(), part.monitor)
            fixed[rows] = part.here.a
            self.next = part.next
            self.move(part.here.w, fixed)
            self.price()
            yield {"rows": rows.size}
            paid = monitor.gap <= PAYING_SHARE * gap
            self.working = max(WORKING_SET, self.working // 2) if paid else 2 * self.working

    def _near(self) -> np.ndarray | None:
        """Working set: comparisons with multipliers inside (0, C) or margins near mu; None if it would be large."""
        C, a = self.hinges.weights, self.here.a
        away = self.hinges.margins - self.here.s
        inside = (a > INTERIOR_SHARE * C) & (a < (1.0 - INTERIOR_SHARE) * C)
        away = np.where(inside | ((away > 0.0) != (a > 0.5 * C)), 0.0, np.abs(away))
        count = max(self.working, int(np.count_nonzero(away == 0.0)))
        entries = count * row_width(self.problem.risk.points, self.problem.cone)
        if count > WORKING_SHARE * C.size or entries > MOST_ENTRIES:
            return None
        return np.sort(np.argpartition(away, count)[:count])

    def part(self, rows: np.ndarray, fixed: Array, factor: float, tol: float, atol: float = 0.0) -> _Proximal:
        """Problem of some comparisons, their weights times ``factor``; multipliers of the others are ``fixed``."""
        hinges, risk, omega = self.hinges, self.problem.risk, self.problem.regularizer
        linear = self.problem.linear() - omega.linear(self.problem.cone)
        # The risk of all comparisons stands in for its own, and is never evaluated.
        problem = MetricProblem(risk, omega, G=linear - hinges.comparisons.adjoint(fixed))
        written: Any = _Rows(hinges.comparisons.block(rows, slice(None)))
        some = ListedHinges(written, factor * hinges.weights[rows], hinges.margins[rows])
        return _Proximal(problem, some, Monitor(tol, None, self.monitor.seconds_left, atol=atol))

    def _solve(self, width: float) -> Generator[Details, None, int]:
        """Solve the problem of one width; returns the number of Newton steps."""
        self.width, self.solved = width, True
        self.here = self._at(self.here.w, self.here.s)
        for steps in range(NEWTON_STEPS):
            gradient, left = self.price()
            yield {"width": width}
            if left <= SUBPROBLEM_SHARE * self.here.moved:
                return steps
            found = self._searched(gradient, self._newton_step(gradient))
            if found is None:
                self.solved = False
                return steps
            self.here = found
        return NEWTON_STEPS

    def _at(self, w: Array, s: Array | None = None) -> _Point:
        """Evaluate the smooth problem at the weights w."""
        hinges, u = self.hinges, self.multipliers
        if s is None:
            s = hinges.comparisons.forward(w)
        away, C = hinges.margins - s, hinges.weights
        a = np.clip(u + C / self.width * away, 0.0, C)
        moved = 0.0 if np.isinf(self.width) else 0.5 * self.width * float(((a - u) ** 2 / C).sum())
        value = self.near.penalty(w) + float(a @ away) - moved
        return _Point(w, s, a, moved, value)

    def price(self) -> tuple[Array, float]:
        """Gradient and gap of the smooth problem; offers both bounds of the whole problem."""
        problem, hinges, here = self.problem, self.hinges, self.here
        S = hinges.comparisons.adjoint(here.a)
        self.monitor.primal(here.w, hinges.loss.value(here.s) + problem.penalty(here.w), by_risk=True)
        proven = hinges.loss.dual_value(here.a)
        bound = problem.bound(proven, S, here.w)
        self.monitor.dual(bound, lambda: here.a)
        bound = self.near.bound(proven, S, here.w) if self.linear else bound
        return times(self.L, here.w) + self.G - S, here.value - (bound - here.moved)

    def _newton_step(self, gradient: Array) -> Array:
        """Newton's step in the weights that are positive or have a negative gradient, by conjugate gradients."""
        here, C = self.here, self.hinges.weights
        free = np.flatnonzero((here.w > 0.0) | (gradient < 0.0))
        rows = np.flatnonzero((here.a > 0.0) & (here.a < C))
        step, weight = np.zeros_like(here.w), 1.0 / self.width
        sample = min(SAMPLE, max(LEAST_SAMPLE, SAMPLE_PER_WEIGHT * free.size))
        if rows.size > sample:
            weight *= rows.size / sample
            rows = np.sort(self.rng.choice(rows, sample, replace=False))
        L = self.L[np.ix_(free, free)] if isinstance(self.L, np.ndarray) else self.L
        diagonal = np.diag(L) if isinstance(L, np.ndarray) else np.full(free.size, L)
        if not rows.size:
            step[free] = -gradient[free] / diagonal
            return step
        B = scaled_rows(self.hinges.comparisons.block(rows, free), np.sqrt(weight * C[rows]))
        diagonal = diagonal + np.asarray((B * B).sum(axis=0)).ravel()
        step[free], _ = conjugate_gradients(
            lambda x: times(L, x) + B.T @ (B @ x), -gradient[free], diagonal, CG_ACCURACY, CG_STEPS
        )
        return step

    def _searched(self, gradient: Array, step: Array) -> _Point | None:
        """First point on the arc ``[w + t d]_+``, t halved, with sufficient decrease; None if there is none."""
        here = self.here
        for share in shortened(0.5, SHORTEST_STEP):
            there = self._at(np.maximum(here.w + share * step, 0.0))
            promised = float(gradient @ (there.w - here.w))
            if there.value < here.value and there.value <= here.value + SUFFICIENT * promised:
                return there
        return None
