r"""Hinges over pairs of a positive and a negative of every query, without ever listing the pairs.

.. math:: R(M) = \sum_q c_q \sum_{i \in N_q, \, j \in F_q} \max(0, t_{qij}), \qquad
   t_{qij} = \mu - (d_{qj} - d_{qi})

This is the risk of triplets "q is closer to i than to j" whose positives and negatives combine freely (all triplets of
a labelled set or of a graph, k neighbours of one kind against k of the other; any list of triplets is such a set of
queries with one positive each), and the risk of the area under the ROC curve, whose worst ranking decomposes over
pairs.

Smoothed over a width w the hinge has the slope :math:`a = \mathrm{clip}(1/2 + t / w, 0, 1)`, which makes multipliers
:math:`u_{qij} = c_q a_{qij}` that are in their box for any metric and width: a metric and a width are a dual point.
With the positives of a query sorted, the *active* pairs (:math:`|t| < w/2`) of a negative are a run of them, and
sums over runs come from prefix sums (:mod:`convexmetric.risks.pair_slopes`): a pass costs sorting, not pairs. Width
zero gives the hinge itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from convexmetric.arrays import Array, real_array
from convexmetric.comparisons import Block, Comparisons, Rankings, SimilarityTriplets, Triplets
from convexmetric.comparisons.relevance import Lists, Relevance, lists_of, place
from convexmetric.cones import AllMatrices
from convexmetric.described import Described, description
from convexmetric.errors import DualError, InputError
from convexmetric.losses import BoxLoss
from convexmetric.numerics.compiling import compiled
from convexmetric.numerics.threads import blas_threads_for, over_rows
from convexmetric.programs.lazy import cvxpy as cp
from convexmetric.risks.base import Cuts, Minorant, RiskStatement, Violation, checked_multipliers
from convexmetric.risks.certificate_duals import alone, witnesses
from convexmetric.risks.pair_slopes import every_slope
from convexmetric.risks.query import QueryRisk
from convexmetric.risks.separable import SeparableRisk

#: Largest number of pairs that are written out.
PAIRS_LIMIT = 200_000
#: Smoothing widths, in units of the margin, of the dual points made from a metric alone.
OWN_WIDTHS = (1.0, 0.3, 0.1, 0.03, 0.01)


@dataclass(frozen=True)
class SmoothedPairs:
    """A dual point of a pairwise risk: the slopes of its hinges, smoothed over a width, at a metric.

    Attributes
    ----------
    M : array
        Metric; any finite one gives a valid bound.
    width : float
        Positive; 0 (for which slopes are 0 or 1) with exceptions.
    places : (K, 3) int array, optional
        Exceptions: pairs with slopes of their own. Query, place in its list of positives and in its list of negatives.
    slopes : (K,) array, optional
        Slopes of the exceptions; clipped into [0, 1].
    """

    KEYS: ClassVar[tuple[str, ...]] = ("smoothed_at", "width")

    M: Array
    width: float
    places: np.ndarray | None = None
    slopes: Array | None = None

    def arrays(self) -> dict[str, np.ndarray]:
        """The point as named arrays, for files."""
        arrays: dict[str, np.ndarray] = {"smoothed_at": self.M, "width": np.array(self.width, dtype=np.float64)}
        if self.places is None or self.slopes is None:
            return arrays
        return arrays | {"places": self.places, "slopes": self.slopes}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> SmoothedPairs:
        """Rebuild the point from the arrays of :meth:`arrays`; whether it fits a problem is checked by the risk."""
        width = arrays["width"]
        if width.shape != ():
            raise DualError(f"width must be a number, got shape {width.shape}")
        return cls(arrays["smoothed_at"], float(width), arrays.get("places"), arrays.get("slopes"))

    def hints(self, parts: int) -> Described:
        """The metric with its width for certificate files, for a risk over ``parts`` lists."""
        widths = np.array([self.width], dtype=np.float64)
        arrays = {"witnesses": np.asarray(self.M)[None], "widths": widths, **alone(parts)}
        if self.places is not None and self.slopes is not None:
            arrays |= {"exceptions": self.places, "exception_slopes": self.slopes}
        return Described({"kind": "witnesses"}, arrays)


@dataclass(frozen=True)
class Smoothed:
    """A pass over the pairs: the smoothed risk at a metric.

    Attributes
    ----------
    value, exact : float
        Value of the smoothed risk, and of the risk itself.
    point : DualPoint
        Minorant of the slopes as multipliers; ``-point.S`` is the gradient of the smoothed risk.
    kinks : int
        Number of active pairs (:math:`|t| < w/2`).
    places : (K, 3) int array
        A systematic sample of active pairs: query, place in its list of positives and in its list of negatives.
    sample : (K, 3) int array
        The sampled pairs with the rows of their items instead of places.
    curvature : (K,) array
        Contribution of each sampled pair to the second derivative: ``sum c_q / w`` over the pairs it stands for.
    """

    value: float
    exact: float
    point: Minorant
    kinks: int
    places: np.ndarray
    sample: np.ndarray
    curvature: Array


class PairwiseRisk(QueryRisk):
    """Weighted hinges over all pairs of a positive and a negative of every query.

    Parameters
    ----------
    rankings : Rankings
        Queries with their positives ("relevant") and negatives ("irrelevant").
    weights : (n_q,) array
        Weight of every hinge of a query.
    margin : float
        By how much the negative must be farther.
    """

    form_words: ClassVar[str] = "a sum of hinges over pairs of positives and negatives"

    def __init__(self, rankings: Rankings, weights: Array, margin: float) -> None:
        self.rankings = rankings
        self.weights = weights
        self.margin = margin
        self.cone = rankings.cone

    def subset(self, parts: np.ndarray, factor: float = 1.0) -> Self:
        """The sum over some of the queries, times a factor."""
        return type(self)(self.rankings.subset(parts), factor * self.weights[parts], self.margin)

    def listing(self, relevance: Relevance) -> Self:
        """Apply the same hinges to other lists, of which only the listed distances are evaluated."""
        return type(self)(self.rankings.listing(relevance), self.weights, self.margin)

    def described(self) -> Described:
        """Rankings, with one weight or those of the queries, and the margin."""
        arrays, weight = description(self.rankings).arrays, float(self.weights[0])
        if len(np.unique(self.weights)) > 1:
            arrays, weight = {**arrays, "query_weights": self.weights}, 1.0
        margin = float(self.margin)
        return Described({"kind": "pairs of lists", "loss": "hinge", "weight": weight, "margin": margin}, arrays)

    def hints(self, dual: Any) -> Described:
        """Witnesses (metrics), or slopes of pairs."""
        return witnesses(dual, self.rankings, self.weights)

    def lipschitz_near(self, M: Array, error: float) -> float:
        """Twice the weights of the hinges that cost, or would if the margin were larger by twice the error."""
        wider = PairwiseRisk(self.rankings, self.weights, self.margin + 2.0 * error)
        return 2.0 * sum(float(sums[:, 2].sum()) for _, sums, _, _ in wider._passes(M, 0.0, write=False)) / wider.margin

    @property
    def lipschitz(self) -> float:
        """Twice the weights of all hinges."""
        return 2.0 * float(self.weights @ self.pairs)

    @property
    def part_kind(self) -> str:
        """An anchor: the point that all triplets of a part share."""
        return "anchor"

    @property
    def pairs(self) -> np.ndarray:
        """Number of pairs of every query."""
        return self.rankings.pairs

    @property
    def stated_rows(self) -> float:
        """Number of all pairs: one slack each."""
        return float(self.pairs.sum())

    def value(self, M: Array) -> float:
        """One pass over all queries; no pass at zero, where every hinge costs its margin."""
        if not np.any(M):
            return float(self.margin * (self.weights @ self.pairs))
        return sum(float(sums[:, 1].sum()) for _, sums, _, _ in self._passes(M, 0.0, write=False))

    def part_values(self, M: Array) -> Array:
        """The hinges of every query, added up."""
        values = np.empty(self.parts)
        for block, sums, _, _ in self._passes(M, 0.0, write=False):
            values[block.queries] = sums[:, 1]
        return values

    def worst_comparisons(self, parts: np.ndarray, M: Array, other: Array | None = None) -> list[Violation]:
        """The hinge of each query whose loss exceeds most that at ``other``; no list of pairs is stored."""
        worst = []
        for q in parts:
            found = self.rankings.worst_pair(
                int(q),
                M,
                other,
                lambda s, c=self.weights[q]: c * np.maximum(0.0, self.margin - s),  # type: ignore[misc]
            )
            worst.append(Violation(*found))
        return worst

    def own_duals(self, M: Array) -> list[Any]:
        """The tangent plane, and slopes of hinges smoothed over some widths."""
        return [*super().own_duals(M), *(SmoothedPairs(M, width * self.margin) for width in OWN_WIDTHS)]

    def separate(self, M: Array, groups: np.ndarray) -> Cuts:
        """The violated pairs of every query, added up by group: one cut a group."""
        n_groups = int(groups.max()) + 1
        values, offsets = np.zeros(n_groups), np.zeros(n_groups)
        normals = np.zeros((n_groups, *self.cone.shape))
        for block, sums, _, _ in self._passes(M, 0.0, np.argsort(groups, kind="stable")):
            for g, start, stop in block.runs(groups):
                values[g] += sums[start:stop, 1].sum()
                offsets[g] += sums[start:stop, 2].sum()
                normals[g] += block.adjoint(start, stop)
        return Cuts(values, offsets, self.cone.coordinates(normals), 2.0 / self.margin * offsets)

    def smoothed(self, M: Array, width: float, stride: float = np.inf, most: int = 0, seed: int = 0) -> Smoothed:
        """One pass over all queries with hinges smoothed over ``width``.

        Parameters
        ----------
        M : array
            Metric.
        width : float
            Width of the smoothing; 0 for none.
        stride : float
            One in so many active pairs is sampled.
        most : int
            Pairs sampled of one query at most; where there are more the stride is longer.
        seed : int
            Seed of the random places where sampling starts.
        """
        totals = np.zeros(3)
        S = self.cone.zeros()
        kinks = 0
        places, samples = [np.empty((0, 3), dtype=np.int64)], [np.empty((0, 3), dtype=np.int64)]
        curvatures = [np.empty(0)]
        for block, sums, found, strides in self._passes(M, width, None, stride, most, seed):
            q = block.queries
            totals += sums[:, :3].sum(axis=0)
            S = S + block.adjoint(0, len(block))
            kinks += int(sums[:, 3].sum())
            row, at = np.nonzero(found[:, :, 0] >= 0)
            positives, negatives = found[row, at].T
            places.append(np.column_stack([q[row], positives, negatives]))
            samples.append(np.column_stack([q[row], *_items(block.lists, row, positives, negatives)]))
            curvatures.append(self.weights[q[row]] * strides[row] / width if row.size else np.empty(0))
        value, exact, total = map(float, totals)
        point = self._says(total, S)
        listed = np.concatenate(places), np.concatenate(samples), np.concatenate(curvatures)
        return Smoothed(value, exact, point, kinks, *listed)

    def differences(self, smoothed: Smoothed) -> tuple[Array, Array]:
        """Differences of sampled queries and items, ``(K, d)`` each: query minus positive, query minus negative."""
        q, i, j = smoothed.sample.T
        points = self.rankings.points(q)
        positives, negatives = points - self.rankings.X[i], points - self.rankings.X[j]
        return (positives.toarray(), negatives.toarray()) if sp.issparse(positives) else (positives, negatives)

    def with_exceptions(self, M: Array, places: np.ndarray, slopes: Array, width: float = 0.0) -> Minorant:
        """Minorant of the slopes at ``M``, with some pairs given slopes of their own.

        Parameters
        ----------
        M : array
            Metric.
        places : (K, 3) int array
            Different pairs, sorted by query: query, place of the positives and of the negatives.
        slopes : (K,) array
            In [0, 1].
        width : float
            Width of the smoothing of all other pairs.
        """
        total, S = 0.0, self.cone.zeros()
        for block, sums, _, _ in self._passes(M, width, exceptions=(places, slopes)):
            total += float(sums[:, 2].sum())
            S = S + block.adjoint(0, len(block))
        return self._says(total, S)

    def _says(self, total: float, S: Array) -> Minorant:
        """Minorant of multipliers with adjoint S whose sum times the margin is ``total``."""
        return Minorant(total, S, 2.0 * total / self.margin)

    def largest_margin(self, M: Array) -> float:
        """The largest ``d_qj - d_qi`` over all pairs."""
        largest = -np.inf
        for block in self.rankings.blocks(M, np.arange(self.parts)):
            first, dense = block.layout
            largest = max(largest, _largest(block.values.reshape(-1), dense, first, block.lists))
        return float(largest)

    def turned(self, M: Array, other: Array) -> tuple[np.ndarray, np.ndarray]:
        """Pairs whose hinge is positive at exactly one of two metrics: places and rows, sorted by query.

        Time is proportional to the number of pairs; nothing but the result is stored.
        """
        places, samples = [np.empty((0, 3), dtype=np.int64)], [np.empty((0, 3), dtype=np.int64)]
        every = np.arange(self.parts)
        for here, there in zip(self.rankings.blocks(M, every), self.rankings.blocks(other, every), strict=True):
            first, dense = here.layout
            rows = first, dense, here.lists, self.margin
            counts = np.zeros(len(here), dtype=np.int64)
            nothing = np.empty((0, 3), dtype=np.int64)
            work = len(here), int(self.pairs[here.queries].sum()), here.values.reshape(-1), there.values.reshape(-1)
            over_rows(_turned, *work, rows, counts, False, nothing)
            stop = np.cumsum(counts)
            found = np.empty((int(stop[-1]), 3), dtype=np.int64)
            over_rows(_turned, *work, rows, stop - counts, True, found)
            row, positives, negatives = found.T
            places.append(np.column_stack([here.queries[row], positives, negatives]))
            samples.append(np.column_stack([here.queries[row], *_items(here.lists, row, positives, negatives)]))
        return np.concatenate(places), np.concatenate(samples)

    def _passes(
        self,
        M: Array,
        width: float,
        order: np.ndarray | None = None,
        stride: float = np.inf,
        most: int = 0,
        seed: int = 0,
        exceptions: tuple[np.ndarray, Array] | None = None,
        write: bool = True,
    ) -> Iterator[tuple[Block, Array, np.ndarray, Array]]:
        """Yield blocks with distances overwritten by weights; sums of every query and a sample of its active pairs."""
        rankings = self.rankings
        places, slopes = exceptions or (np.empty((0, 3), dtype=np.int64), np.empty(0))
        starts = np.random.default_rng(seed).random(len(rankings))
        with blas_threads_for(float(len(rankings)) * self.cone.d * (rankings.X.shape[0] if rankings.dense else 1)):
            for block in rankings.blocks(M, np.arange(len(rankings)) if order is None else order):
                q, size = block.queries, len(block)
                sums, strides = np.empty((size, 4)), np.full(size, stride)
                found = np.full((size, most, 2), -1, dtype=np.int64)
                first, dense = block.layout
                settings = self.margin, width, write
                flat = block.values.reshape(-1), dense, first, block.lists
                begin, end = np.searchsorted(places[:, 0], q), np.searchsorted(places[:, 0], q, side="right")
                own = begin, end, places, slopes
                rest = flat, settings, self.weights[q], own, strides, starts[q], sums, found
                over_rows(every_slope, size, block.values.size, *rest)
                yield block, sums, found, strides

    def listed(self) -> SeparableRisk:
        """Return the risk with all pairs as triplets (query, positive, negative), in ascending order.

        Raises
        ------
        InputError
            If there are too many to write out.
        """
        weights = np.repeat(self.weights, self.pairs)
        return SeparableRisk(listed_pairs(self.rankings), BoxLoss.hinge(weights, np.full(weights.shape, self.margin)))

    def statement(self, M: cp.Variable) -> RiskStatement:
        """Write the risk in CVXPY, with one slack and one constraint per pair."""
        return self.listed().statement(M)

    def minorant(self, dual: Any) -> Minorant | None:
        """Minorant of slopes of smoothed hinges, of multipliers in the order of :meth:`listed`, or of cuts."""
        if isinstance(dual, SmoothedPairs):
            return self._smoothed_minorant(dual)
        if not isinstance(dual, np.ndarray):
            return super().minorant(dual)
        multipliers = checked_multipliers(dual, int(self.pairs.sum()), "one a (query, positive, negative)")
        if not np.isfinite(multipliers).all():
            return None
        u = np.clip(multipliers, 0.0, np.repeat(self.weights, self.pairs))
        rows, columns, values, first = [], [], [], 0
        for q in range(self.parts):
            positives, negatives = self.rankings.relevance.of(q)
            last = first + len(positives) * len(negatives)
            pairs = u[first:last].reshape(len(positives), len(negatives))
            rows.append(np.full(len(positives) + len(negatives), q))
            columns += [positives, negatives]
            values += [-pairs.sum(axis=1), pairs.sum(axis=0)]
            first = last
        shape = self.parts, self.rankings.X.shape[0]
        T = sp.csr_array((np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))), shape=shape)
        return self._says(self.margin * float(u.sum()), self.rankings.adjoint(T, np.arange(self.parts)))

    def _smoothed_minorant(self, dual: SmoothedPairs) -> Minorant | None:
        """Minorant of the slopes of smoothed hinges, which are in their box at any metric and width."""
        try:
            M = real_array(dual.M, "M")
        except InputError as error:
            raise DualError(str(error)) from error
        if M.shape != self.cone.shape:
            raise DualError(f"M must have shape {self.cone.shape}, got {M.shape}")
        width = float(dual.width)
        if dual.places is None or dual.slopes is None:
            if not (np.isfinite(M).all() and np.isfinite(width) and width > 0.0):
                return None
            return self.smoothed(M, width).point
        slopes = checked_multipliers(dual.slopes, len(dual.places), "one an exception")
        if not (np.isfinite(M).all() and np.isfinite(slopes).all() and np.isfinite(width) and width >= 0.0):
            return None
        places = self._checked_places(dual.places)
        return self.with_exceptions(M, places, np.clip(slopes, 0.0, 1.0), width)

    def _checked_places(self, places: np.ndarray) -> np.ndarray:
        """Check that exceptions are pairs of the risk, each named once: compiled code does not check bounds."""
        if not isinstance(places, np.ndarray) or places.ndim != 2 or places.shape[1] != 3:
            raise DualError("places must be an integer array of shape (K, 3)")
        if not np.issubdtype(places.dtype, np.integer):
            raise DualError(f"places must hold integers, got dtype {places.dtype}")
        q, positives, negatives = places.T
        relevance = self.rankings.relevance
        if places.size and (places.min() < 0 or q.max() >= self.parts):
            raise DualError("places points outside of the queries")
        if (positives >= relevance.n_relevant[q]).any() or (negatives >= relevance.n_irrelevant[q]).any():
            raise DualError("places points outside of the lists of its query")
        if len(np.unique(places, axis=0)) < len(places) or (np.diff(q) < 0).any():
            raise DualError("places must be sorted by query and name every pair once")
        return places


def listed_pairs(rankings: Rankings) -> Comparisons:
    """All pairs of a positive and a negative as triplets (query, positive, negative), by query, positive, negative.

    Raises
    ------
    InputError
        If there are too many to write out.
    """
    count = int(rankings.pairs.sum())
    if count > PAIRS_LIMIT:
        raise InputError(
            f"the statement cannot be written out at this size: {count} pairs of a positive and a negative; "
            f"keep it to {PAIRS_LIMIT}"
        )
    triplets = np.empty((count, 3), dtype=np.int64)
    first = 0
    for q, row in enumerate(rankings.rows(np.arange(len(rankings)))):
        positives, negatives = rankings.relevance.of(q)
        last = first + len(positives) * len(negatives)
        triplets[first:last, 0] = row
        triplets[first:last, 1] = np.repeat(positives, len(negatives))
        triplets[first:last, 2] = np.tile(negatives, len(positives))
        first = last
    if isinstance(rankings.cone, AllMatrices):
        return SimilarityTriplets(rankings.Q, rankings.X, triplets, rankings.cone)
    if rankings.Q is rankings.X:
        return Triplets(rankings.X, triplets, rankings.cone)
    both = [rankings.X, rankings.Q]
    points = sp.vstack(both, format="csr") if sp.issparse(rankings.X) else np.vstack(both)
    triplets[:, 0] += rankings.X.shape[0]
    return Triplets(points, triplets, rankings.cone)


@compiled
def _turned(begin, end, here, there, layout, at, write, found):
    """Count, or write from ``at`` on, the pairs with a positive hinge in exactly one of two blocks, row by row."""
    first, dense, lists, margin = layout
    for row in range(begin, end):
        positives, near_at, negatives, far_at = lists_of(first, dense, lists, row)
        following = at[row]
        for i in range(positives.size):
            x_at = place(positives, near_at, dense, i)
            for j in range(negatives.size):
                z_at = place(negatives, far_at, dense, j)
                if (here[x_at] > here[z_at] - margin) != (there[x_at] > there[z_at] - margin):
                    if write:
                        found[following, 0], found[following, 1], found[following, 2] = row, i, j
                    following += 1
        if not write:
            at[row] = following


@compiled
def _largest(values, dense, first, lists):
    largest = -np.inf
    for row in range(first.size - 1):
        positives, near_at, negatives, far_at = lists_of(first, dense, lists, row)
        low, high = np.inf, -np.inf
        for i in range(positives.size):
            low = min(low, values[place(positives, near_at, dense, i)])
        for j in range(negatives.size):
            high = max(high, values[place(negatives, far_at, dense, j)])
        largest = max(largest, high - low)
    return largest


def _items(
    lists: Lists, row: np.ndarray, positives: np.ndarray, negatives: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The corpus rows at places of the lists of some queries."""
    relevant, relevant_start, _, irrelevant, irrelevant_start, _ = lists
    return relevant[relevant_start[row] + positives], irrelevant[irrelevant_start[row] + negatives]
