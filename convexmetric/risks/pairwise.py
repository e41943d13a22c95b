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

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from convexmetric.arrays import Array
from convexmetric.comparisons import Block, Comparisons, Rankings, SimilarityTriplets, Triplets
from convexmetric.comparisons.passes import Passes
from convexmetric.comparisons.rankings import BlockThere, passes_of, sides_of
from convexmetric.comparisons.relevance import Relevance, places_of
from convexmetric.cones import AllMatrices
from convexmetric.described import Described, description
from convexmetric.errors import DualError
from convexmetric.losses import BoxLoss
from convexmetric.numerics.compiling import compiled
from convexmetric.numerics.threads import over_rows
from convexmetric.risks.base import Minorant, checked_multipliers, real_part
from convexmetric.risks.dual_points import SmoothedPairs
from convexmetric.risks.pair_slopes import every_slope
from convexmetric.risks.query import QueryRisk
from convexmetric.risks.separable import SeparableRisk, check_stated

#: Largest number of pairs that are written out.
PAIRS_LIMIT = 200_000
#: Smoothing widths, in units of the margin, of the dual points made from a metric alone.
OWN_WIDTHS = (1.0, 0.3, 0.1, 0.03, 0.01)


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
        Amount by which the negative must be farther.
    """

    form_words: ClassVar[str] = "a sum of hinges over pairs of positives and negatives"
    #: Name of the point that all triplets of a part share.
    part_kind: ClassVar[str] = "anchor"

    def __init__(self, rankings: Rankings, weights: Array, margin: float) -> None:
        self.rankings = rankings
        self.weights = weights
        self.margin = margin
        self.cone = rankings.cone

    def subset(self, parts: np.ndarray, factor: float = 1.0) -> Self:
        """The sum over some of the queries, times a factor."""
        return type(self)(self.rankings.subset(parts), factor * self.weights[parts], self.margin)

    def listing(self, relevance: Relevance) -> Self:
        """Apply the same hinges to other lists, for which only the listed distances are evaluated."""
        return type(self)(self.rankings.listing(relevance), self.weights, self.margin)

    def as_form(self, kind: type) -> object:
        """Convert to listed triplets where these are no more than the distances, as they are in lists of triplets."""
        few = self.stated_rows <= min(self.distances, PAIRS_LIMIT)
        return self._as_listed.as_form(kind) if few and kind is not PairwiseRisk else self

    @cached_property
    def _as_listed(self) -> SeparableRisk:
        return self.listed()

    def described(self) -> Described:
        """Rankings, with one weight or those of the queries, and the margin."""
        arrays, weight = description(self.rankings).arrays, float(self.weights[0])
        if len(np.unique(self.weights)) > 1:
            arrays, weight = {**arrays, "query_weights": self.weights}, 1.0
        margin = float(self.margin)
        return Described({"kind": "pairs of lists", "loss": "hinge", "weight": weight, "margin": margin}, arrays)

    @property
    def _most(self) -> Array:
        return self.weights

    def _pair_loss(self, q: int) -> Callable[[Array], Array]:
        return lambda s: np.asarray(self.weights[q] * np.maximum(0.0, self.margin - s))

    def lipschitz_near(self, M: Array, error: float) -> float:
        """Twice the weights of the hinges that are positive, or would be with a margin larger by twice the error."""
        wider = PairwiseRisk(self.rankings, self.weights, self.margin + 2.0 * error)
        return 2.0 * sum(float(sums[:, 2].sum()) for _, sums, _, _ in wider._passes(M, 0.0, write=False)) / wider.margin

    @property
    def lipschitz(self) -> float:
        """Twice the weights of all hinges."""
        return 2.0 * float(self.weights @ self.pairs)

    @property
    def pairs(self) -> np.ndarray:
        """Number of pairs of every query."""
        return self.rankings.pairs

    @property
    def stated_rows(self) -> float:
        """Number of all pairs: one slack each."""
        return float(self.pairs.sum())

    def own_duals(self, M: Array) -> list[Any]:
        """The tangent plane, and slopes of hinges smoothed over some widths."""
        return [*super().own_duals(M), *(SmoothedPairs(M, width * self.margin) for width in OWN_WIDTHS)]

    def value(self, M: Array) -> float:
        """One pass over all queries; no pass at zero, where every hinge costs its margin."""
        return super().value(M) if np.any(M) else float(self.margin * (self.weights @ self.pairs))

    def _planes(self, M: Array, order: np.ndarray, write: bool = True) -> Iterator[tuple[Block, Array, Array]]:
        passes = passes_of(self.rankings)
        if passes is not None:
            return self._planes_there(passes, M, order)
        found = self._passes(M, 0.0, order, write=write)
        return ((block, sums[:, 1], sums[:, 2]) for block, sums, _, _ in found)

    def _planes_there(self, passes: Passes, M: Array, order: np.ndarray) -> Iterator[tuple[Block, Array, Array]]:
        """Compute everything of a pass in the process that has the points."""
        rankings, images = self.rankings, passes.images(M)
        for queries in rankings.cuts(order):
            distances = passes.distances(images, rankings.rows(queries))
            T, sums, counts = passes.hinges(distances, sides_of(rankings, queries), self.margin)
            own = self.weights[queries]
            block = BlockThere(rankings, queries, T * passes.array(own)[:, None], 2.0 * own * counts)
            yield block, own * sums, own * self.margin * counts

    def smoothed(self, M: Array, width: float, stride: float = np.inf, most: int = 0, seed: int = 0) -> Smoothed:
        """One pass over all queries with hinges smoothed over ``width``.

        Parameters
        ----------
        M : array
            Metric.
        width : float
            Width of the smoothing; 0 for none.
        stride : float
            One in ``stride`` active pairs is sampled.
        most : int
            Most pairs sampled from one query; if there are more, the stride is longer.
        seed : int
            Seed of the random places where sampling starts.
        """
        totals, S, kinks = np.zeros(3), self.cone.zeros(), 0
        named: list[tuple[np.ndarray, np.ndarray]] = []
        curvatures: list[Array] = []
        for block, sums, found, strides in self._passes(M, width, None, stride, most, seed):
            totals += sums[:, :3].sum(axis=0)
            S = S + block.adjoint(0, len(block))
            kinks += int(sums[:, 3].sum())
            row, at = np.nonzero(found[:, :, 0] >= 0)
            named.append(_named(block, row, *found[row, at].T))
            curvatures.append(self.weights[block.queries[row]] * strides[row] / width if row.size else np.empty(0))
        value, exact, total = map(float, totals)
        places, sample = map(np.concatenate, zip(*named, strict=True))
        return Smoothed(value, exact, self._says(total, S), kinks, places, sample, np.concatenate(curvatures))

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
        blocks = self.rankings.blocks(M, np.arange(self.parts))
        sides = (block.of(row)[2:] for block in blocks for row in range(len(block)))
        return max(float(negatives.max() - positives.min()) for positives, negatives in sides)

    def turned(self, M: Array, other: Array) -> tuple[np.ndarray, np.ndarray]:
        """Pairs whose hinge is positive at exactly one of two metrics: places and rows, sorted by query.

        Time is proportional to the number of pairs; only the result is stored.
        """
        named: list[tuple[np.ndarray, np.ndarray]] = []
        every = np.arange(self.parts)
        for here, there in zip(self.rankings.blocks(M, every), self.rankings.blocks(other, every), strict=True):
            rows = here.first, here.items is None, here.lists, self.margin
            counts = np.zeros(len(here), dtype=np.int64)
            work = len(here), int(self.pairs[here.queries].sum()), here.values, there.values
            over_rows(_turned, *work, rows, counts, False, np.empty((0, 3), dtype=np.int64))
            stop = np.cumsum(counts)
            found = np.empty((int(stop[-1]), 3), dtype=np.int64)
            over_rows(_turned, *work, rows, stop - counts, True, found)
            named.append(_named(here, *found.T))
        places, sample = map(np.concatenate, zip(*named, strict=True))
        return places, sample

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
        for block in self._blocks(M, np.arange(len(rankings)) if order is None else order):
            q, size = block.queries, len(block)
            sums, strides = np.empty((size, 4)), np.full(size, stride)
            found = np.full((size, most, 2), -1, dtype=np.int64)
            settings = self.margin, width, write
            begin, end = np.searchsorted(places[:, 0], q), np.searchsorted(places[:, 0], q, side="right")
            own = begin, end, places, slopes
            rest = block.flat, settings, self.weights[q], own, strides, starts[q], sums, found
            over_rows(every_slope, size, block.values.size, *rest)
            yield block, sums, found, strides

    def listed(self) -> SeparableRisk:
        """Return the risk with all pairs as triplets (query, positive, negative), in ascending order.

        Raises
        ------
        InputError
            If there are too many to write out.
        """
        weights = np.repeat(self.weights, self.pairs.astype(np.intp))
        return SeparableRisk(listed_pairs(self.rankings), BoxLoss.hinge(weights, np.full(weights.shape, self.margin)))

    def minorant(self, dual: Any) -> Minorant | None:
        """Minorant of slopes of smoothed hinges, of multipliers in the order of :meth:`listed`, or of cuts."""
        if isinstance(dual, SmoothedPairs):
            return self._smoothed_minorant(dual)
        if not isinstance(dual, np.ndarray):
            return super().minorant(dual)
        multipliers = checked_multipliers(dual, int(self.pairs.sum()), "one a (query, positive, negative)")
        if not np.isfinite(multipliers).all():
            return None
        u = np.clip(multipliers, 0.0, np.repeat(self.weights, self.pairs.astype(np.intp)))
        sizes = zip(self.rankings.relevance.n_relevant, self.rankings.relevance.n_irrelevant, strict=True)
        pairs = [own.reshape(size) for own, size in zip(np.split(u, np.cumsum(self.pairs)[:-1]), sizes, strict=True)]
        S = self.rankings.adjoint(self._of_pairs(pairs), np.arange(self.parts))
        return self._says(self.margin * float(u.sum()), S)

    def _smoothed_minorant(self, dual: SmoothedPairs) -> Minorant | None:
        """Minorant of the slopes of smoothed hinges, which are in their box at any metric and width."""
        M = real_part(dual.M, "M")
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
    check_stated(int(rankings.pairs.sum()), PAIRS_LIMIT, "pairs of a positive and a negative")
    triplets = rankings.triples()
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
        near, far = places_of(dense, first, lists, row)
        following = at[row]
        for i in range(near.size):
            x_at = near[i]
            for j in range(far.size):
                z_at = far[j]
                if (here[x_at] > here[z_at] - margin) != (there[x_at] > there[z_at] - margin):
                    if write:
                        found[following, 0], found[following, 1], found[following, 2] = row, i, j
                    following += 1
        if not write:
            at[row] = following


def _named(
    block: Block, row: np.ndarray, positives: np.ndarray, negatives: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of some rows of a block as ``(K, 3)`` arrays: queries with places in their lists, and with corpus rows."""
    relevant, relevant_start, _, irrelevant, irrelevant_start, _ = block.lists
    q, items = (
        block.queries[row],
        (relevant[relevant_start[row] + positives], irrelevant[irrelevant_start[row] + negatives]),
    )
    return np.column_stack([q, positives, negatives]), np.column_stack([q, *items])
