r"""Working sets of columns and rows for hinge losses of listed comparisons under diagonal metrics.

.. math:: \min_{w \ge 0} \; \tfrac12 w^\top L w + \langle G, w \rangle + C \sum_t \max(0, \mu - s_t), \qquad s = D w

At the optimum most weights are zero, and most margins are far from :math:`\mu`, so that their multiplier is 0 or C. Two
phases look for the few that are neither, and never form D:

1. *Smoothed hinges.* With :math:`a_t = C \, \mathrm{clip}(\tfrac12 + (\mu - s_t) / \varepsilon, 0, 1)` the gradient
   :math:`L w + G - D^\top a` is continuous. Newton's method on the weights that are positive or want to be, with the
   second derivative :math:`L + \tfrac{C}{\varepsilon} B^\top B` from a sample of the rows B on the kink
   (:math:`0 < a_t < C`); each solved width is followed by a smaller one, until smoothing costs a thousandth of the
   objective.
2. *Working sets.* Rows far from the kink are frozen at multiplier 0 or C, their share of :math:`D^\top a` becomes
   part of the linear term, and an interior point solves what is left to the end. Then all columns and rows are
   priced: columns with :math:`(L w + G - D^\top a)_f < 0` and rows on the wrong side join, columns never leave. A round
   that does not halve the gap makes room for twice as many rows.

Both bounds are those of the whole problem in every step: the objective at w, and what all multipliers prove.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from scipy.linalg.blas import dsymv

from convexmetric.arrays import Array
from convexmetric.comparisons.points import row_width
from convexmetric.cones import NonnegativeDiagonal
from convexmetric.numerics.searches import root
from convexmetric.numerics.threads import blas_threads_for
from convexmetric.problem import MetricProblem
from convexmetric.regularizers import Regularizer
from convexmetric.risks import ListedHinges
from convexmetric.solvers.numerics.cholesky import cholesky, cholesky_solve
from convexmetric.solvers.numerics.interior_point import Outcome, interior_point
from convexmetric.solvers.numerics.newton_system import scaled_rows
from convexmetric.solvers.numerics.qp import ConicQP, times
from convexmetric.solvers.numerics.sparse_gram import sparse_gram
from convexmetric.solvers.numerics.starts import warm_start
from convexmetric.solvers.runtime import Monitor, Run, Solver, check_counts
from convexmetric.solvers.runtime.memory import FLOAT
from convexmetric.solvers.runtime.requirements import need_diagonal_metrics, positive_quadratic, soft_hinges

__all__ = ["ColumnGeneration"]

#: First width of the smoothed hinges, in margins.
FIRST_WIDTH = 1.0
#: Factor by which the width shrinks once its problem is solved.
WIDTH_FACTOR = 1.0 / 3.0
#: Widths tried at most.
MAX_WIDTHS = 12
#: Newton steps for one width; where they do not solve its problem, working sets take over.
NEWTON_STEPS = 12
#: The problem of one width is solved when the Newton decrement is below this share of what smoothing costs.
SUBPROBLEM_ACCURACY = 0.2
#: Share of the objective that smoothing may still cost when working sets take over.
SMOOTHING_COST = 1e-3
#: Columns that join in one Newton step, those with the steepest slope first: one for ``ROWS_PER_JOINING`` comparisons,
#: between the other two.
LEAST_JOINING, MOST_JOINING, ROWS_PER_JOINING = 50, 500, 10
#: Comparisons on the kink of which the second derivative is made: at least, and for each free column.
LEAST_SAMPLE, SAMPLE_PER_COORDINATE = 2_000, 6
#: Bisections of the search along a Newton step.
SEARCH_STEPS = 60
#: That search ends where the slope along the step is this share of the first one.
SEARCH_ACCURACY = 0.1
#: Exchanges of block pivoting that leave no fewer wrong signs, after which a Newton step is taken as it is: they may
#: run in circles.
MAX_EXCHANGES = 3
#: Gap to which the program of a working set is solved, as a share of the tolerance.
PROGRAM_ACCURACY = 0.2
#: The same as a share of the gap so far; the larger of both counts.
PROGRAM_GAP_SHARE = 1e-3
#: Share of C from which a multiplier counts as neither 0 nor C.
INTERIOR_SHARE = 1e-3
#: A round that does not bring the gap below this share of the last one has not paid.
ROUND_FACTOR = 0.5
#: Factor by which working sets grow when a round does not pay.
ROWS_GROWTH = 2


@dataclass(frozen=True)
class ColumnGeneration(Solver):
    """Exact for hundreds of thousands of comparisons where few weights are positive.

    Parameters
    ----------
    rows : int
        Comparisons in the first working set.
    """

    name: ClassVar[str] = "column-generation"

    rows: int = 4_000

    def __post_init__(self) -> None:
        check_counts(self, "rows")

    def prepare(self, problem: MetricProblem) -> Run:
        """Needs soft hinges of listed comparisons, diagonal metrics and a quadratic regularizer."""
        need_diagonal_metrics(problem)
        return partial(self._solve, problem, soft_hinges(problem), positive_quadratic(problem))

    def memory(self, problem: MetricProblem) -> float | None:
        """Bytes of the working set's rows, four times, 500 columns of second derivatives, 45 vectors of multipliers.

        Features that have weights are frequent ones: sparse rows shrink with the root of the number of columns.
        """
        hinges = soft_hinges(problem)
        count, features = len(hinges.comparisons), float(problem.cone.size)
        columns = min(500.0, features)
        width = row_width(hinges.comparisons.points, problem.cone) * (columns / features) ** 0.5
        rows = min(self.rows, count) * min(columns, width)
        return FLOAT * (4.0 * rows + 3.0 * columns**2 + 45.0 * count)

    def _solve(self, problem: MetricProblem, hinges: ListedHinges, quadratic: float | Array, monitor: Monitor) -> None:
        """Smoothed hinges first, then working sets until the certified gap closes."""
        run = _Run(problem, hinges, quadratic, monitor)
        few = run.s.size <= self.rows
        if monitor.start is not None:
            run.move(monitor.start)
        if few and monitor.start is None and monitor.M is not None and isinstance(monitor.dual_point, np.ndarray):
            run.move(monitor.M)
            run.a = hinges.loss.clip(monitor.dual_point)
        elif _follow_smoothing(run):
            return
        _WorkingSets(run, self.rows).solve()


class _Run:
    """The problem in the letters of the module, and the iterate: weights, margins, multipliers."""

    def __init__(
        self,
        problem: MetricProblem,
        hinges: ListedHinges,
        quadratic: float | Array,
        monitor: Monitor,
    ) -> None:
        self.problem, self.monitor = problem, monitor
        self.comparisons, self.hinges = hinges.comparisons, hinges
        self.L, self.G = quadratic, problem.linear()
        self.w = np.zeros(problem.cone.size)
        self.s = np.zeros(len(self.comparisons))
        self.a = hinges.loss.subgradient(self.s)

    def move(self, w: Array) -> None:
        """Go to other weights."""
        self.w, self.s = w, self.comparisons.forward(w)

    def price(self, *, sharpen: bool) -> Array:
        """``L w + G - D^T a`` in all columns; both bounds go to the monitor on the way."""
        problem, a, S = self.problem, self.a, self.comparisons.adjoint(self.a)
        self.monitor.primal(self.w, self.hinges.loss.value(self.s) + problem.penalty(self.w))
        hint = problem.regularizer.sharpened(S, problem.G, self.w) if sharpen else self.w
        self.monitor.dual(problem.bound(self.hinges.loss.dual_value(a), S, hint), lambda: a)
        return times(self.L, self.w) + self.G - S


def _follow_smoothing(run: _Run) -> bool:
    """The first phase; True if the monitor says stop.

    It ends early at a width whose problem is not solved, and where fewer rows are on the kink than columns are free:
    there the second derivative says little about steps of any length.
    """
    width = FIRST_WIDTH * run.hinges.size
    rng = np.random.default_rng(0)
    for _ in range(MAX_WIDTHS):
        for _ in range(NEWTON_STEPS):
            run.a = run.hinges.smoothed_multipliers(run.s, width)
            gradient = run.price(sharpen=False)
            if run.monitor.iterate(width=width):
                return True
            try:
                step = _newton_step(run, gradient, width, rng)
            except la.LinAlgError:
                return False
            slope = float(gradient @ step)
            cost = _cost_of_smoothing(run, width)
            if -slope <= SUBPROBLEM_ACCURACY * cost:
                break
            if not slope < 0.0:
                return False
            _advance(run, step, slope, width)
        else:
            return False
        kink = np.count_nonzero((run.a > 0.0) & (run.a < run.hinges.weights))
        if cost <= SMOOTHING_COST * run.monitor.upper_bound or kink < np.count_nonzero(run.w):
            break
        width *= WIDTH_FACTOR
    return False


def _cost_of_smoothing(run: _Run, width: float) -> float:
    """By how much the smoothed hinges exceed the hinges: at most ``C width / 8`` each."""
    a, hinges = run.a, run.hinges
    smoothed = float(a @ (hinges.margins - run.s)) + 0.5 * width * float(a @ (1.0 - a / hinges.weights))
    return smoothed - hinges.loss.value(run.s)


def _newton_step(run: _Run, gradient: Array, width: float, rng: np.random.Generator) -> Array:
    """Newton's step for the smoothed objective, in the columns that are positive or want to be."""
    a, C = run.a, run.hinges.weights
    joining = min(MOST_JOINING, max(LEAST_JOINING, run.s.size // ROWS_PER_JOINING))
    free = np.flatnonzero((run.w > 0.0) | _steepest(gradient, joining))
    rows = np.flatnonzero((a > 0.0) & (a < C))
    sample = max(LEAST_SAMPLE, SAMPLE_PER_COORDINATE * free.size)
    largest = float(C.max())
    weight = largest / width
    if rows.size > sample:
        weight *= rows.size / sample
        rows = np.sort(rng.choice(rows, sample, replace=False))
    step = np.zeros_like(run.w)
    if not rows.size:
        # L alone may be singular. Its entries are not negative, so that the diagonal of its row sums is no smaller.
        sums = times(run.L, np.ones_like(run.w))[free].clip(np.finfo(float).tiny)
        step[free] = np.maximum(-gradient[free] / sums, -run.w[free])
        return step
    with blas_threads_for(float(rows.size) * free.size**2):
        H = weight * _gram_of_columns(run.comparisons.block(rows, free), C[rows] / largest)
        if isinstance(run.L, np.ndarray):
            H += run.L[np.ix_(free, free)]
        else:
            H[np.diag_indices_from(H)] += run.L
        step[free] = _nonnegative_step(H, gradient[free], run.w[free], MAX_EXCHANGES)
    return step


def _steepest(gradient: Array, most: int) -> np.ndarray:
    """Which columns have the most negative slopes, ``most`` of them at most."""
    lipschitz = gradient < 0.0
    if np.count_nonzero(lipschitz) > most:
        lipschitz[np.argpartition(gradient, most)[most:]] = False
    return lipschitz


def _gram_of_columns(B: Any, weights: Array) -> Array:
    """``B^T diag(weights) B``, its lower triangle at least."""
    if (weights != 1.0).any():
        B = scaled_rows(B, np.sqrt(weights))
    return B.T @ B if isinstance(B, np.ndarray) else sparse_gram(sp.csr_array(B.T))


def _nonnegative_step(H: Array, gradient: Array, w: Array, max_exchanges: int) -> Array:
    """The step ``d`` with ``w + d >= 0`` that minimises ``<gradient, d> + 1/2 <d, H d>``; H by its lower triangle.

    Block pivoting on ``y = w + d``: all weights of the wrong sign and all slopes of the wrong sign change sides at
    once. That may run in circles, so it ends after ``max_exchanges`` exchanges that leave no fewer wrong signs.
    """
    H = np.asfortranarray(H)
    q = gradient - dsymv(1.0, H, w, lower=1)
    tiny = 1e-12 * np.abs(q).max(initial=0.0)
    free = np.ones(w.size, dtype=bool)
    y, fewest, left = np.zeros_like(w), w.size + 1, max_exchanges
    while True:
        inside = np.flatnonzero(free)
        y[:] = 0.0
        if inside.size:
            y[inside] = cholesky_solve(cholesky(H[np.ix_(inside, inside)]), -q[inside])
        wrong = np.where(free, y < 0.0, dsymv(1.0, H, y, lower=1) + q < -tiny)
        count = int(np.count_nonzero(wrong))
        left = max_exchanges if count < fewest else left - 1
        fewest = min(fewest, count)
        if count == 0 or left < 0:
            return np.maximum(y, 0.0) - w
        free ^= wrong


def _advance(run: _Run, step: Array, slope: float, width: float) -> None:
    """Move to about the lowest point of the smoothed objective on the way to ``w + step``."""
    ds = run.comparisons.forward(step)
    start, curvature = float((times(run.L, run.w) + run.G) @ step), float(step @ times(run.L, step))

    def slope_at(t: float) -> float:
        a = run.hinges.smoothed_multipliers(run.s + t * ds, width)
        return start + t * curvature - float(a @ ds)

    t = root(slope_at, SEARCH_ACCURACY * abs(slope), SEARCH_STEPS)
    run.move(np.maximum(run.w + t * step, 0.0))


class _PenaltyOnColumns:
    """The penalty of the problem on some columns, with the frozen rows' share of ``D^T a`` in its linear term."""

    def __init__(self, regularizer: Regularizer, g: Array) -> None:
        self.regularizer, self.g = regularizer, g
        self.cone = NonnegativeDiagonal(g.size)

    def linear(self) -> Array:
        """``G - D^T a`` of the frozen rows."""
        return self.g

    def quadratic(self) -> float | Array | None:
        """L on the columns."""
        return self.regularizer.quadratic(self.cone)

    def bound(self, value: float, S: Array, hint: Array) -> float:
        """What multipliers of the other rows prove, on these columns only."""
        G = self.g - self.regularizer.linear(self.cone)
        return self.regularizer.bound(value, S, G, self.cone, hint)


class _WorkingSets:
    """The second phase: its columns, its number of rows, and the interior path from which the next program starts."""

    def __init__(self, run: _Run, rows: int) -> None:
        self.run, self.size = run, rows
        self.columns = np.flatnonzero(run.w > 0.0)
        self.path: list[tuple[Array, Array]] = []

    def solve(self) -> None:
        """Rounds of solving and pricing."""
        run, monitor = self.run, self.run.monitor
        gradient = run.price(sharpen=False)
        run.a = run.hinges.loss.subgradient(run.s)
        while True:
            before = monitor.gap
            rows = self._rows()
            self._join(gradient < 0.0)
            run.a = self._multipliers(rows)
            gradient = run.price(sharpen=True)
            if monitor.iterate(rows=rows.size, columns=self.columns.size):
                return
            # Rounding may cross the bounds of a solve that is asked for more than that.
            paid = max(0.0, monitor.gap) < ROUND_FACTOR * before
            if not paid and not (np.delete(gradient, self.columns) < 0.0).any():
                if rows.size == run.s.size:
                    return
                self.size *= ROWS_GROWTH

    def _rows(self) -> np.ndarray:
        """Rows whose multiplier is neither 0 nor C or on the wrong side, and those nearest to the kink."""
        run, C = self.run, self.run.hinges.weights
        away = run.hinges.margins - run.s
        undecided = (run.a > INTERIOR_SHARE * C) & (run.a < (1.0 - INTERIOR_SHARE) * C)
        wrong = (away > 0.0) != (run.a > 0.5 * C)
        distance = np.where(undecided | wrong, 0.0, np.abs(away))
        size = max(self.size, int(np.count_nonzero(distance == 0.0)))
        if size >= distance.size:
            return np.arange(distance.size)
        return np.sort(np.argpartition(distance, size)[:size])

    def _join(self, wanted: np.ndarray) -> None:
        """Add columns to the working set and to the points of the path.

        In the new columns weight and slope are equal, with the mean complementarity product of the others.
        """
        columns = np.union1d(self.columns, np.flatnonzero(wanted))
        old = np.searchsorted(columns, self.columns)
        carried = []
        for w, z in self.path:
            filler = np.full(columns.size, np.sqrt(w @ z / w.size))
            carried.append((filler, filler.copy()))
            carried[-1][0][old], carried[-1][1][old] = w, z
        self.columns, self.path = columns, carried

    def _multipliers(self, rows: np.ndarray) -> Array:
        """Solve for the columns and some rows, others frozen where their margins say; moves the weights."""
        run, monitor, hinges = self.run, self.run.monitor, self.run.hinges
        a = hinges.loss.subgradient(run.s)
        a[rows] = 0.0
        g = run.G - run.comparisons.adjoint(a)
        w = np.zeros_like(run.w)
        if self.columns.size:
            qp = ConicQP(
                _PenaltyOnColumns(run.problem.regularizer.restricted(self.columns), g[self.columns]),
                A=run.comparisons.block(rows, self.columns),
                b=hinges.margins[rows],
                group=np.arange(rows.size),
                C=hinges.weights[rows],
            )
            gap = max(PROGRAM_ACCURACY * monitor.tol, PROGRAM_GAP_SHARE * min(1.0, monitor.gap))
            target = gap * abs(monitor.upper_bound)

            def watch(found: Callable[[], Outcome]) -> bool:
                best = found()
                return best.upper_bound - best.lower_bound <= target or monitor.out_of_time

            start, _ = warm_start(qp, self.path)
            outcome = interior_point(qp, 0.0, start=start, watch=watch)
            self.path = outcome.path
            a[rows] = outcome.a
            w[self.columns] = outcome.U
        else:
            a[rows] = hinges.weights[rows]
        run.move(w)
        return a
