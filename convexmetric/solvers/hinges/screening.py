r"""Safe screening: hinges whose slope at the optimum is known before the optimum is.

For :math:`P(M) = R(M) + \langle G, M \rangle + \frac{\lambda}{2} \|M\|_F^2` with a risk R of hinges
:math:`c_t \max(0, \mu - \langle D_t, M \rangle)` the optimum lies in a ball that any metric M of the cone and any dual
point prove together. P is strongly convex, and least at the optimum :math:`M^*`:

.. math:: P(M) - P(M^*) \ge \tfrac{\lambda}{2} \|M - M^*\|_F^2.

A dual point says :math:`R(M) \ge v - \langle S, M \rangle`, so that P(M) is at least

.. math:: L(M) = v - \langle S - G, M \rangle + \tfrac{\lambda}{2} \|M\|_F^2,

which over the cone is least at :math:`N = [S - G]_+ / \lambda`. Its value l there is the lower bound that the dual
point proves. L is strongly convex too:

.. math:: P(M^*) - l \ge L(M^*) - L(N) \ge \tfrac{\lambda}{2} \|N - M^*\|_F^2.

The sum of both has the gap :math:`g = P(M) - l` on its left, and its right-hand side is a ball around the midpoint:

.. math:: \big\| M^* - \tfrac{1}{2} (M + N) \big\|_F \le \rho, \qquad
   \rho^2 = \frac{g}{\lambda} - \frac{1}{4} \|M - N\|_F^2.

At M = N this is the radius :math:`\sqrt{g / \lambda}`; at any M it lies inside the ball of radius
:math:`\sqrt{2 g / \lambda}` around M, which needs the first inequality only. With the slack
:math:`t = \mu - \langle D_t, C \rangle` at the centre C, a hinge with :math:`t > \rho \|D_t\|_F` is active at the
optimum (slope 1), and one with :math:`t < -\rho \|D_t\|_F` is not (slope 0).

For a query q, :math:`f = q - \mathrm{far}`, :math:`n = q - \mathrm{near}`, the size of a comparison is
:math:`\|D_t\|_F^2 = |f|^4 + |n|^4 - 2 (f \cdot n)^2`; for diagonal metrics it is that of
:math:`f \circ f - n \circ n`. It lies between the difference of the sizes of its two parts and the root of the sum of
their squares, by which most hinges are decided without their inner product.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
import scipy.sparse as sp

from convexmetric.certificates import Certificate
from convexmetric.certificates.certificate import certify_metric
from convexmetric.comparisons import Block, ListedBlock
from convexmetric.cones.base import Array
from convexmetric.errors import InputError, UnsupportedProblemError
from convexmetric.problem import MetricProblem
from convexmetric.regularizers import SquaredFrobenius
from convexmetric.risks import DualPoint, PairwiseRisk, Reason
from convexmetric.solvers.hinges.kinks import Kinks
from convexmetric.solvers.run import Monitor
from convexmetric.solvers.run.needs import linear_part, squared_norm
from convexmetric.threads import over_rows

__all__ = ["Ball", "Screened", "Screening", "ball_of", "screen", "sides", "tally"]

#: Bounds of rounding errors in bounds, distances and squared sizes of comparisons, relative to their largest parts.
OF_BOUNDS, OF_DISTANCES, OF_SIZES = 1e-12, 1e-12, 1e-13
#: Undecided comparisons that are listed at most.
MOST_LISTED = 20_000_000


@dataclass(frozen=True)
class Ball:
    """A ball that the optimum lies in.

    Attributes
    ----------
    centre : array
    radius : float
    """

    centre: Array
    radius: float


@dataclass(frozen=True)
class Screened:
    """How many hinges are certain to be active at the optimum, certain not to be, and neither.

    Attributes
    ----------
    active, inactive, undecided : int
    radius : float
        How far the optimum may be from the centre of the ball that was used, in the Frobenius norm.
    places : (undecided, 3) int array or None
        The undecided ones, where asked for: query, place in its list of near items and in its list of far items.
    """

    active: int
    inactive: int
    undecided: int
    radius: float
    places: np.ndarray | None = None

    @property
    def decided(self) -> int:
        """How many are certain."""
        return self.active + self.inactive


def screen(problem: MetricProblem, certificate: Certificate, places: bool = False) -> Screened:
    """Count the hinges whose side at the optimum a certificate proves.

    Both bounds are evaluated anew from the certificate's metric and dual point: what it says of its gap is not used, so
    that no hinge is decided wrongly by a certificate of another problem or with altered bounds.

    Parameters
    ----------
    problem : MetricProblem
        With hinges over pairs of near and far items and a squared Frobenius norm.
    certificate : Certificate
        Of any gap; the smaller, the more is decided.
    places : bool
        List the undecided ones.

    Returns
    -------
    Screened

    Raises
    ------
    UnsupportedProblemError
        If the problem is not of that kind.
    InputError
        If the certificate does not fit the problem, or there are too many undecided hinges to list.

    Examples
    --------
    >>> import convexmetric as cm
    >>> iris = cm.datasets.load("iris")
    >>> problem = cm.TripletProblem.from_labels(iris.X, iris.y, n_same=3, n_other=3, reg=0.1)
    >>> screened = cm.screen(problem, cm.solve(problem).certificate)
    >>> screened.active + screened.inactive + screened.undecided == problem.count
    True
    """
    risk, reg = _parts(problem)
    if not isinstance(certificate, Certificate):
        raise InputError(f"certificate must be a Certificate, got {type(certificate).__name__}")
    if certificate.grade == "conic":
        raise InputError("certificate is for a problem with constraints or terms of its own: nothing is known of it")
    upper = certify_metric(problem, certificate.M)
    point = risk.dual_point(certificate.dual)
    if point is None:
        return Screened(0, 0, int(risk.pairs.sum()), np.inf)
    return tally(risk, ball_of(problem, reg, upper.M, upper.upper_bound, point), places)


def _parts(problem: MetricProblem) -> tuple[PairwiseRisk, float]:
    if not isinstance(problem, MetricProblem):
        raise InputError(f"problem must be a MetricProblem, got {type(problem).__name__}")
    risk, reg = problem.risk.form(PairwiseRisk), squared_norm(problem)
    if isinstance(risk, Reason):
        raise UnsupportedProblemError(f"screening is not for this problem: {risk}")
    if isinstance(reg, Reason):
        raise UnsupportedProblemError(f"screening is not for this problem: {reg}")
    return risk, reg


def ball_of(problem: MetricProblem, reg: float, M: Array, upper: float, point: DualPoint) -> Ball:
    """The ball that a metric of the cone with its objective, and what a dual point says, prove."""
    cone = problem.cone
    G = linear_part(problem) if problem.G is not None or problem.linear().any() else None
    lower = SquaredFrobenius(reg).bound(point.value, point.S, G, cone, M) + problem.offset
    if not (np.isfinite(lower) and np.isfinite(upper)):
        return Ball(M, np.inf)
    positive = cone.project(point.S if G is None else point.S - G)
    square = cone.inner(positive, positive) / reg
    # Without a linear term the bound is that of the slopes shrunk by the best factor.
    theta = max(point.value, 0.0) / square if G is None and square > point.value else 1.0
    apart = M - (theta / reg) * positive
    gap = max(upper - lower, 0.0) + OF_BOUNDS * max(abs(upper), abs(lower))
    squared = gap / reg - 0.25 * cone.inner(apart, apart)
    return Ball(M - 0.5 * apart, float(np.sqrt(max(squared, OF_BOUNDS * gap / reg))))


def tally(risk: PairwiseRisk, ball: Ball, places: bool = False) -> Screened:
    """Count the hinges that are on one side in all of a ball, and list the others if asked for.

    Time is proportional to the number of pairs; nothing but the result is stored.
    """
    if not np.isfinite(ball.radius):
        return Screened(0, 0, int(risk.pairs.sum()), np.inf)
    rankings = risk.rankings
    X = _csr(rankings.X)
    Q = X if rankings.Q is rankings.X else _csr(rankings.Q)
    points = *Q, *X, risk.cone.d, risk.cone.diagonal
    totals = np.zeros(3, dtype=np.int64)
    listed = [np.empty((0, 3), dtype=np.int64)]
    for block in rankings.blocks(ball.centre, np.arange(risk.parts)):
        counts = np.zeros((len(block), 3), dtype=np.int64)
        rows = rankings.rows(block.queries), _starts(block), isinstance(block, ListedBlock), block.lists
        test = block.values.reshape(-1), risk.margin, ball.radius
        found = np.empty((0, 3), dtype=np.int64)
        work = int(risk.pairs[block.queries].sum())
        over_rows(_screen, len(block), work, points, rows, test, counts, np.empty(0, dtype=np.int64), found)
        totals += counts.sum(axis=0)
        if places:
            if totals[2] > MOST_LISTED:
                raise InputError(
                    f"more than {MOST_LISTED} hinges are undecided: a certificate of smaller gap is needed"
                )
            stop = np.cumsum(counts[:, 2])
            found = np.empty((int(stop[-1]), 3), dtype=np.int64)
            over_rows(_screen, len(block), work, points, rows, test, counts, stop - counts[:, 2], found)
            found[:, 0] = block.queries[found[:, 0]]
            listed.append(found)
    active, inactive, undecided = map(int, totals)
    return Screened(active, inactive, undecided, ball.radius, np.concatenate(listed) if places else None)


def _csr(points: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points by their entries that are not zero, each named once."""
    rows = sp.csr_array(points)
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows.indptr, rows.indices, rows.data


def _starts(block: Block) -> np.ndarray:
    """Where the values of every query of a block begin."""
    if isinstance(block, ListedBlock):
        return block.start
    return np.arange(len(block) + 1) * block.values.shape[1]


def sides(ball: Ball, kinks: Kinks, margin: float) -> np.ndarray:
    """1 for listed comparisons that are active in all of a ball, -1 for those that are nowhere, 0 for others."""
    t = margin - kinks.margins(ball.centre)
    reach = ball.radius * _sizes(kinks)
    return np.where(t > reach, 1, np.where(t < -reach, -1, 0))


def _sizes(kinks: Kinks) -> Array:
    """Frobenius norms of listed comparisons, rounded up."""
    if kinks.in_coordinates:
        rows = kinks.rows
        return np.sqrt(np.asarray((rows * rows).sum(axis=1), dtype=np.float64).ravel()) * (1.0 + OF_SIZES)
    n, f = kinks.differences()
    nn, ff, nf = (np.einsum("ij,ij->i", a, b) for a, b in ((n, n), (f, f), (n, f)))
    large = nn * nn + ff * ff
    return np.sqrt(np.maximum(large - 2.0 * nf * nf, 0.0) + OF_SIZES * large)


class Screening:
    """Screening along a solve: whenever the gap has fallen far enough.

    Parameters
    ----------
    problem : MetricProblem
    first_gap : float
        Gap from which it screens.
    gap_factor : float
        Factor by which the gap has to fall before it does so again.
    """

    def __init__(self, problem: MetricProblem, first_gap: float, gap_factor: float) -> None:
        self.problem, self.gap_factor = problem, gap_factor
        self.risk, self.reg = _parts(problem)
        self.due = first_gap
        self.ball: Ball | None = None
        self.decided = 0

    def look(self, monitor: Monitor) -> dict[str, float]:
        """Screen if it is time to; how many hinges are decided so far, once that was done."""
        if monitor.gap <= self.due and monitor.M is not None and monitor.sums is not None:
            self.ball = ball_of(self.problem, self.reg, monitor.M, monitor.upper_bound, monitor.sums)
            self.decided = max(self.decided, tally(self.risk, self.ball).decided)
            self.due = self.gap_factor * monitor.gap
        return {} if self.ball is None else {"decided": float(self.decided)}

    def undecided(self, sample: np.ndarray, M: Array) -> np.ndarray:
        """Which comparisons (query, near and far row) are not certain to be on the side where M has them."""
        if self.ball is None or not len(sample):
            return np.ones(len(sample), dtype=bool)
        kinks = Kinks(self.risk, sample, np.empty(0))
        t = self.risk.margin - kinks.margins(M)
        # At M itself sides are compared by other sums: where these may differ, nothing is certain.
        clear = np.abs(t) > OF_DISTANCES * self.risk.margin
        return ~(clear & (sides(self.ball, kinks, self.risk.margin) * t > 0.0))


@numba.njit(cache=True, nogil=True)
def _screen(begin, end, points, rows, test, counts, at, found):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Count the active, inactive and undecided pairs of every row; with ``at``, list the undecided from there on."""
    q_start, q_columns, q_values, x_start, x_columns, x_values, d, diagonal = points
    anchors, first, listed, lists = rows
    values, margin, radius = test
    relevant, relevant_start, relevant_stop, irrelevant, irrelevant_start, irrelevant_stop = lists
    for row in range(begin, end):
        near = relevant[relevant_start[row] : relevant_stop[row]]
        far = irrelevant[irrelevant_start[row] : irrelevant_stop[row]]
        q = np.zeros(d)
        for e in range(q_start[anchors[row]], q_start[anchors[row] + 1]):
            q[q_columns[e]] = q_values[e]
        own = _square(q, diagonal)
        n_squares = _squares(near, q, x_start, x_columns, x_values, diagonal)
        f_squares = _squares(far, q, x_start, x_columns, x_values, diagonal)
        x = _distances(near, values, first[row], listed)
        z = _distances(far, values, first[row] + near.size if listed else first[row], listed)
        largest = max(abs(margin), _largest(x), _largest(z))
        difference = q.copy()
        active, inactive, undecided = 0, 0, 0
        for i in range(near.size):
            begin, end = x_start[near[i]], x_start[near[i] + 1]
            _less(difference, x_columns[begin:end], x_values[begin:end], q, True)
            product = 0.0
            for k in range(d):
                product += _part(q[k], diagonal) * _part(difference[k], diagonal)
            for j in range(far.size):
                t = margin - (z[j] - x[i])
                clear = max(abs(t) - OF_DISTANCES * largest, 0.0)
                both = n_squares[i] + f_squares[j]
                rounding = OF_SIZES * (both + own)
                decided = clear * clear > radius * radius * (both + rounding)
                if not decided and clear > radius * abs(np.sqrt(n_squares[i]) - np.sqrt(f_squares[j])):
                    inner = product
                    for e in range(x_start[far[j]], x_start[far[j] + 1]):
                        k = x_columns[e]
                        change = _part(q[k] - x_values[e], diagonal) - _part(q[k], diagonal)
                        inner += change * _part(difference[k], diagonal)
                    inner = inner if diagonal else inner * inner
                    decided = clear * clear > radius * radius * (max(both - 2.0 * inner, 0.0) + rounding)
                if not decided:
                    if at.size:
                        place = at[row] + undecided
                        found[place, 0], found[place, 1], found[place, 2] = row, i, j
                    undecided += 1
                elif t > 0.0:
                    active += 1
                else:
                    inactive += 1
            _less(difference, x_columns[begin:end], x_values[begin:end], q, False)
        counts[row, 0], counts[row, 1], counts[row, 2] = active, inactive, undecided


@numba.njit(cache=True, nogil=True)
def _squares(items, q, start, columns, values, diagonal):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Squared sizes of the differences of q and some items, as elements of the cone's space."""
    squares, difference = np.empty(items.size), q.copy()
    for i in range(items.size):
        begin, end = start[items[i]], start[items[i] + 1]
        _less(difference, columns[begin:end], values[begin:end], q, True)
        squares[i] = _square(difference, diagonal)
        _less(difference, columns[begin:end], values[begin:end], q, False)
    return squares


@numba.njit(cache=True, nogil=True)
def _distances(items, values, first, listed):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Values of some items, from ``first`` on: one after the other, or where the items are."""
    chosen = np.empty(items.size)
    for i in range(items.size):
        chosen[i] = values[first + (i if listed else items[i])]
    return chosen


@numba.njit(cache=True, nogil=True)
def _largest(values):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    largest = 0.0
    for value in values:
        largest = max(largest, abs(value))
    return largest


@numba.njit(cache=True, nogil=True)
def _less(difference, columns, values, q, there):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """Make ``difference`` that of q and a point in the columns of the point, or make it q there again."""
    for e in range(columns.size):
        difference[columns[e]] = q[columns[e]] - values[e] if there else q[columns[e]]


@numba.njit(cache=True, nogil=True)
def _part(value, diagonal):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    return value * value if diagonal else value


@numba.njit(cache=True, nogil=True)
def _square(difference, diagonal):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    """The squared size of ``v v^T``, or of its diagonal."""
    total = 0.0
    for k in range(difference.size):
        total += _part(difference[k], diagonal) ** 2
    return total if diagonal else total * total
