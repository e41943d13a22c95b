r"""Cheap passes: over samples of the queries to start with, then over the few pairs that can have a nonzero slope.

The latter are exact near a metric. With few positives a query, as target neighbours are, most negatives are farther
than all positives by more than the margin. If this holds under a metric :math:`M_0`, it also holds under all metrics
near it. Let :math:`A = M_0 + \epsilon I` with the mean eigenvalue :math:`\epsilon` of :math:`M_0`, and

.. math:: -\delta A \preceq M - M_0 \preceq \delta A .

Then distances lie between those of :math:`M_- = M_0 - \delta A` and of :math:`M_+ = M_0 + \delta A`, and a negative j
of a query q has a slope of zero in every hinge, smoothed over a width w or any smaller one, if

.. math:: d_-(q, j) \ge \max_{i \in N_q} d_+(q, i) + \mu + \tfrac{w}{2} .

The others are listed in one pass over all distances. While metrics stay in that neighbourhood a pass over the lists
gives the same value, slopes and sum of slopes as a pass over all pairs, up to rounding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from convexmetric.arrays import Array
from convexmetric.comparisons.relevance import Relevance, lists_of
from convexmetric.numerics.compiling import compiled
from convexmetric.numerics.threads import blas_threads_for, over_rows
from convexmetric.problem import MetricProblem
from convexmetric.risks import PairwiseRisk, Smoothed, SmoothedPairs
from convexmetric.solvers.runtime import Monitor

#: delta: a larger one makes lists longer, which then hold for more metrics.
LEEWAY = 0.1
#: Fraction of the items that may be positives: with more of them lists save nothing.
RARE_POSITIVES = 0.025
#: Share of all distances that may be listed: a listed one costs about as much as ten others.
FEW_LISTED = 0.1
#: Bound on the rounding error of a sum of distances, relative to its terms.
ROUNDING = 1e-12
#: Shares of the queries in the samples that give the first metrics, ascending; samples of fewer than this many queries
#: are left out.
SAMPLES, LEAST_QUERIES = (0.015625, 0.0625, 0.25), 250
#: Gap to which the problem of the largest sample is solved; that of the one before to twice as much, and so on.
SAMPLE_GAP = 0.01
#: Share of a time limit after which the first pass over all queries begins.
COARSE_SHARE = 0.25
#: Multiples of the identity to start from, in units of the data (:func:`unit_of`).
MULTIPLES = 10.0 ** np.arange(-2.0, 2.1, 0.5)


@dataclass(frozen=True)
class _Neighbourhood:
    """Neighbourhood of metrics in which the risk over lists equals the whole risk."""

    centre: Array
    leeway: Array
    width: float
    risk: PairwiseRisk

    def has(self, M: Array, width: float) -> bool:
        """Whether the lists are valid at a metric for hinges smoothed over a width."""
        return width <= self.width and _within(self.risk, M - self.centre, self.leeway)


class NearbyPairs:
    """Passes of a risk over lists of pairs that can have a nonzero slope, rebuilt when the metric leaves their range.

    Lists are made at the first metric, and again once successive metrics are close; until then, and where lists would
    be long, passes are over all pairs.

    Parameters
    ----------
    risk : PairwiseRisk
    """

    def __init__(self, risk: PairwiseRisk) -> None:
        self.risk = risk
        self._listable = listable(risk)
        #: Width up to which lists may be short.
        self._widest = np.inf
        self._last: Array | None = None
        self._lists: _Neighbourhood | None = None
        #: Distances in all passes so far.
        self.distances = 0

    def smoothed(self, M: Array, width: float, stride: float = np.inf, most: int = 0, seed: int = 0) -> Smoothed:
        """Evaluate :meth:`PairwiseRisk.smoothed`, over lists where they are valid; places are those of the lists."""
        return self._at(M, width).smoothed(M, width, stride, most, seed)

    def _at(self, M: Array, width: float) -> PairwiseRisk:
        """Return the risk over lists that are valid at a metric, or over all pairs."""
        if self._lists is not None and not self._lists.has(M, width):
            self._lists = None
        if self._lists is None and self._listable and width <= self._widest:
            leeway = LEEWAY * _padded(self.risk, M)
            if self._last is None or _within(self.risk, M - self._last, leeway):
                self._list(M, leeway, width)
            self._last = M
        risk = self.risk if self._lists is None else self._lists.risk
        self.distances += int(risk.rankings.sizes.sum())
        return risk

    def _list(self, M: Array, leeway: Array, width: float) -> None:
        """Make lists at a metric; if they would be long, make none until the width has halved."""
        self.distances += int(self.risk.rankings.sizes.sum())
        relevance = _candidates(self.risk, M - leeway, M + leeway, self.risk.margin + 0.5 * width)
        if relevance is None:
            self._widest = 0.5 * width
        else:
            self._lists = _Neighbourhood(M, leeway, width, self.risk.listing(relevance))


def listable(risk: PairwiseRisk) -> bool:
    """Whether positives are rare enough for lists to save anything, of points that are dense."""
    rankings = risk.rankings
    dense = rankings.dense and all(isinstance(points, np.ndarray) for points in rankings.sets)
    return dense and int(rankings.relevance.n_relevant.sum()) <= RARE_POSITIVES * int(rankings.sizes.sum())


def _padded(risk: PairwiseRisk, M: Array) -> Array:
    identity = risk.cone.identity()
    return np.asarray(M + (risk.cone.trace(M) / risk.cone.d) * identity)


def _within(risk: PairwiseRisk, change: Array, leeway: Array) -> bool:
    return risk.cone.smallest(leeway - change) >= 0.0 and risk.cone.smallest(leeway + change) >= 0.0


def _candidates(risk: PairwiseRisk, lower: Array, upper: Array, reach: float) -> Relevance | None:
    """List the positives, and the negatives at most ``reach`` beyond the farthest of them; None if these are many."""
    rankings = risk.rankings
    largest = _largest_near(risk, upper)
    of_queries = rankings.cone.quadratic_forms(rankings.points(np.arange(risk.parts)), lower)
    # Blocks leave out ``q^T M q``, which is the same in all distances of a query.
    limits = largest + reach - of_queries
    limits += ROUNDING * (np.abs(largest) + np.abs(of_queries) + np.abs(rankings.norms(lower)).max())
    left = int(FEW_LISTED * rankings.sizes.sum())
    counts, found = [], []
    with blas_threads_for(float(len(rankings)) * rankings.cone.d * rankings.X.shape[0]):
        for block in rankings.blocks(lower, np.arange(risk.parts)):
            arguments = block.values, block.first, block.lists, limits[block.queries]
            count = np.zeros(len(block), dtype=np.int64)
            over_rows(_within_limits, len(block), block.values.size, *arguments, count, np.empty(0, dtype=np.int32))
            stop = np.cumsum(count)
            left -= int(stop[-1])
            if left < 0:
                return None
            items = np.empty(int(stop[-1]), dtype=np.int32)
            over_rows(_within_limits, len(block), block.values.size, *arguments, stop - count, items)
            counts.append(count)
            found.append(items)
    stops = np.cumsum(np.concatenate(counts))
    return _with_negatives(rankings.relevance, np.concatenate(found), np.concatenate([[0], stops[:-1]]), stops)


def _with_negatives(relevance: Relevance, listed: np.ndarray, starts: np.ndarray, stops: np.ndarray) -> Relevance:
    """Replace the negatives of each query by ``listed`` from its start to its stop; the positives stay."""
    negatives: Any = {"irrelevant": listed, "irrelevant_start": starts, "irrelevant_stop": stops}
    return replace(relevance, complement=False, **negatives)


def _largest_near(risk: PairwiseRisk, M: Array) -> Array:
    """Distance from every query to the farthest of its positives."""
    rankings, none = risk.rankings, np.zeros(risk.parts, dtype=np.int64)
    positives = _with_negatives(rankings.relevance, np.empty(0, dtype=np.int32), none, none)
    largest = np.empty(risk.parts)
    for block in rankings.listing(positives).blocks(M, np.arange(risk.parts)):
        largest[block.queries] = np.maximum.reduceat(block.values, block.first[:-1])
    return np.asarray(largest + rankings.cone.quadratic_forms(rankings.points(np.arange(risk.parts)), M))


@compiled
def _within_limits(begin, end, values, first, lists, limits, at, found):
    """Count, or write from ``at`` on, the negatives of rows from begin to end whose values are below a limit."""
    for row in range(begin, end):
        place = at[row]
        for item in lists_of(lists, row)[1]:
            if values[first[row] + item] < limits[row]:
                if found.size:
                    found[place] = item
                place += 1
        if not found.size:
            at[row] = place


def samples_of(
    problem: MetricProblem, risk: PairwiseRisk, monitor: Monitor
) -> Iterator[tuple[MetricProblem, PairwiseRisk, Monitor]]:
    """Yield problems of samples of the queries, their risks scaled to all queries, and monitors for their solves.

    Samples are nested. Their order does not depend on the data. The best metric of each becomes the suggestion of
    ``monitor``.
    """
    order, counts = np.random.default_rng(0).permutation(risk.parts), [int(share * risk.parts) for share in SAMPLES]
    limit = None if monitor.max_seconds is None else COARSE_SHARE * monitor.max_seconds
    for larger, count in zip(range(len(counts))[::-1], counts, strict=True):
        if count >= LEAST_QUERIES:
            part = risk.subset(np.sort(order[:count]), risk.parts / count)
            left = None if limit is None else max(0.0, limit - monitor.seconds)
            inner = Monitor(SAMPLE_GAP * 2.0**larger, None, left)
            yield MetricProblem(part, problem.regularizer, G=problem.G), part, inner
            monitor.suggestion = inner.M


def offer(problem: MetricProblem, monitor: Monitor, M: Array, here: Smoothed, width: float) -> None:
    """Offer a metric and the tangent plane there, both from one pass of hinges smoothed over a width."""
    monitor.primal(M, here.exact + problem.penalty(M), by_risk=True)
    monitor.proven(problem, here.point, M, partial(SmoothedPairs, M, width))


def best_multiple(problem: MetricProblem, monitor: Monitor, grid: Iterable[float]) -> tuple[float, float]:
    """Find the best multiple of the identity on an ascending grid, which ends where values rise, and its objective."""
    identity, values = problem.cone.identity(), {}
    for t in grid:
        values[t] = problem.value(t * identity)
        better = monitor.primal(t * identity, values[t], by_risk=True)
        if monitor.out_of_time or (not better and values[t] > 2.0 * min(values.values())):
            break
    best = min(values, key=values.__getitem__)
    return best, values[best]


def unit_of(risk: PairwiseRisk) -> float:
    """The multiple of the identity at which two points of the corpus are a margin apart on average."""
    X, cone = risk.rankings.X, risk.cone
    centre = np.asarray(X.mean(axis=0)).ravel()
    variance = float(risk.rankings.norms(cone.identity()).mean()) - float(centre @ centre)
    # Where points do not differ any multiple will do; that of the grid stays in the range of floats.
    return float(risk.margin / max(2.0 * variance, np.finfo(float).tiny / MULTIPLES[0] ** 2))
