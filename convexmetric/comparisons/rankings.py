r"""Distances from queries to their corpus, and the adjoint of weighting them.

.. math:: s_{qx} = (q - x)^\top M (q - x), \qquad
   \sum_{qx} t_{qx} (q - x)(q - x)^\top
   = X^\top \mathrm{diag}(T^\top 1) X - Q^\top T X - X^\top T^\top Q

for weights whose rows sum to zero, ``T 1 = 0``, as all differences of rankings have: then the term
in ``q q^T`` vanishes, and so does the part of the distance that only depends on the query. The adjoint is one weighted
graph Laplacian between queries and corpus; no (d, d) matrix is made for a comparison.

Under matrices without a cone (:class:`~convexmetric.cones.AllMatrices`) the distance of an item is minus its
similarity, :math:`-q^\top W x`, the adjoint is :math:`-Q^\top T X`, and rows need not sum to zero.

Queries are taken in blocks of bounded memory, in one of two layouts. If most of the corpus takes part in a ranking
(relevance by labels), a block has its queries' distances to the whole corpus, made by a matrix product. If few points
do (lists from a catalogue of users), it has the listed distances only: no array has the size queries x corpus.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg.blas import dasum

from convexmetric.arrays import Array, altered
from convexmetric.comparisons.passes import NUMPY_ONLY, Passes, numpy_array, passes_where
from convexmetric.comparisons.points import Checked, as_points, check_features, described_points, rows_of, translated
from convexmetric.comparisons.relevance import Lists, Relevance, lists_of, places_of
from convexmetric.cones import Cone, PSDCone
from convexmetric.deadline import check_deadline
from convexmetric.described import Described, description
from convexmetric.errors import InputError
from convexmetric.numerics.compiling import compiled, compiled_in_any_order
from convexmetric.numerics.threads import over_rows
from convexmetric.programs.lazy import cvxpy as cp

#: Bytes of distances in memory at a time; a pass needs about three times this in addition to the data. From 32 MiB on
#: memory comes fresh from the system for every block, which costs as much as its product.
BLOCK_BYTES = 28 * 2**20
#: Least number of distances per entry of a metric for which computing its eigenvectors pays.
THIN_FROM = 30.0
#: Fraction of the corpus that must be listed on average for whole rows of distances to be cheaper.
DENSE_FROM = 0.05
#: Share of nonzero weights up to which items are added up one by one. A matrix product takes as long at a third.
FEW_WEIGHTS = 0.2
#: Items that are added up together.
ITEMS = 128


class Rankings:
    """Queries, the corpus they rank, and the relevant and irrelevant items of each.

    Parameters
    ----------
    X : (n, d) array, or sparse matrix where metrics are diagonal
        Corpus. If it is an array of PyTorch, CuPy or JAX on an accelerator, passes under full metrics are made there
        (``comparisons/passes.py``).
    Q : (n_q, d) array or sparse matrix
        Queries; sparse if the corpus is.
    relevance : Relevance
        Relevant and irrelevant corpus rows per query.
    cone : Cone
        Cone of the metric.
    anchors : (len(relevance),) int array, optional
        Row of ``Q`` of each query. Default: every row of ``Q`` is a query. A row may be several queries with
        lists of their own, or none.
    """

    _there: Passes | None = None

    def __init__(self, X: Any, Q: Any, relevance: Relevance, cone: Cone, anchors: np.ndarray | None = None) -> None:
        self.X = as_points(X, sparse=cone.diagonal)
        self.Q = self.X if Q is X else as_points(Q, "queries", sparse=sp.issparse(self.X))
        check_features(self.Q, self.X, cone)
        # Similarities are not those of shifted points.
        if not cone.free:
            moved = translated(*self.sets)
            self.X, self.Q = moved[0], moved[-1]
        n_queries = self.Q.shape[0] if anchors is None else len(anchors)
        if len(relevance) != n_queries:
            raise InputError(f"there are {n_queries} queries but relevance for {len(relevance)}")
        relevance.check(self.X.shape[0])
        self.anchors = None if anchors is None else rows_of(anchors, self.Q.shape[0], "anchors")
        self.relevance = relevance
        self.cone = cone
        self.sizes = relevance.n_relevant + relevance.n_irrelevant
        self.dense = (
            not (isinstance(self.X, np.ndarray) and isinstance(self.Q, np.ndarray))
            or relevance.complement
            or float(self.sizes.mean()) >= DENSE_FROM * self.X.shape[0]
        )
        while isinstance(X, Checked):
            X = X.given
        self._there = passes_where(X, self.X, self.Q)

    def __len__(self) -> int:
        return len(self.relevance)

    @property
    def sets(self) -> tuple[Any, ...]:
        """Point sets: corpus and queries, or one set if they are the same."""
        return (self.X,) if self.Q is self.X else (self.X, self.Q)

    @property
    def whole_rows(self) -> bool:
        """Whether blocks are whole rows of distances, in NumPy, between dense points."""
        return self.dense and isinstance(self.X, np.ndarray) and isinstance(self.Q, np.ndarray) and self._there is None

    @property
    def pairs(self) -> np.ndarray:
        """Number of pairs of a relevant and an irrelevant item of every query."""
        return self.relevance.n_relevant.astype(np.int64) * self.relevance.n_irrelevant

    def described(self) -> Described:
        """Points, and the lists of positives and negatives of every query."""
        arrays = described_points(self.X)
        if self.Q is not self.X:
            arrays |= described_points(self.Q, "queries")
        arrays |= description(self.relevance).arrays
        if self.anchors is not None:
            arrays["anchors"] = self.anchors
        return Described(arrays=arrays)

    def triples(self) -> np.ndarray:
        """``(T, 3)`` rows of ``Q``, and relevant and irrelevant rows of ``X``, in ascending order; for few queries."""
        queries = np.arange(len(self))
        relevant, first, last, irrelevant, start, stop = self.relevance.lists(queries)
        positives, negatives = _in_turn(relevant, first, last), _in_turn(irrelevant, start, stop)
        near, far = last - first, stop - start
        owner = np.repeat(queries, self.pairs.astype(np.intp))
        at = np.arange(len(owner)) - _begins(self.pairs)[owner]
        i = positives[_begins(near)[owner] + at // far[owner]]
        j = negatives[_begins(far)[owner] + at % far[owner]]
        return np.column_stack([self.rows(queries)[owner], i, j]).astype(np.int64)

    def subset(self, queries: np.ndarray) -> Rankings:
        """Rankings of some of the queries, sharing the points."""
        relevance, anchors = self.relevance.subset(queries), self.rows(queries)
        return altered(self, relevance=relevance, anchors=anchors, sizes=self.sizes[queries])

    def listing(self, relevance: Relevance) -> Rankings:
        """Rank other lists for the same queries, with only the listed distances computed; points must be dense."""
        sizes = relevance.n_relevant + relevance.n_irrelevant
        return altered(self, relevance=relevance, sizes=sizes, dense=False)

    def rows(self, queries: np.ndarray) -> np.ndarray:
        """Rows of ``Q`` of some queries."""
        return queries if self.anchors is None else self.anchors[queries]

    def points(self, queries: np.ndarray) -> Any:
        """Points of some queries; a view where they are consecutive rows of ``Q``."""
        rows = self.rows(queries)
        if rows.size and rows[-1] - rows[0] == rows.size - 1 and (np.diff(rows) == 1).all():
            return self.Q[rows[0] : rows[-1] + 1]
        return self.Q[rows]

    def norms(self, M: Array) -> Array:
        """``x^T M x`` of every item; zero where items are compared by similarities."""
        return self.cone.norms(self.X, M)

    def cuts(self, order: np.ndarray) -> Iterator[np.ndarray]:
        """Cut the queries, in the given order, into pieces of bounded memory; checks the deadline before each."""
        widths = np.full(len(order), self.X.shape[0]) if self.dense else self.sizes[order]
        piece = np.cumsum(widths) * 8 // (BLOCK_BYTES + 1)
        starts = np.flatnonzero(np.diff(piece, prepend=-1))
        for start, stop in zip(starts, [*starts[1:], len(order)], strict=True):
            check_deadline()
            yield order[start:stop]

    def blocks(self, M: Array, order: np.ndarray) -> Iterator[Block]:
        """Yield blocks of distances under ``M`` from the queries, in the given order, to their items."""
        passes = passes_of(self)
        if passes is not None:
            there = passes.images(M)
            for queries in self.cuts(order):
                yield Block(self, queries, numpy_array(passes.distances(there, self.rows(queries))))
            return
        thin = self.thin(M)
        if thin is not None:
            yield from self._thin_blocks(thin, order)
            return
        norms = self.norms(M)
        images = None if self.dense else self.cone.times(self.X, M)
        for queries in self.cuts(order):
            if images is None:
                product = self.cone.gram(self.cone.cross_weight * self.points(queries), M, self.X)
                if not self.cone.free:
                    product += norms
                yield Block(self, queries, product)
            else:
                yield self._listed_block(queries, norms, images)

    def _listed_block(self, queries: np.ndarray, norms: Array, images: Array) -> Block:
        """Distances from some queries to their listed items only."""
        start = np.concatenate([[0], np.cumsum(self.sizes[queries])])
        items, values = np.empty(start[-1], dtype=np.int32), np.empty(start[-1])
        arguments = self.Q, self.rows(queries), self.relevance.lists(queries), norms, images, self.cone.cross_weight
        over_rows(_listed_distances, len(queries), items.size * self.Q.shape[1], *arguments, start, items, values)
        return Block(self, queries, values, items)

    def thin(self, M: Array) -> Array | None:
        """Factor B with ``M = B^T B``, or None if distances from images ``B x`` would not be cheaper."""
        numbers = float(len(self)) * self.X.shape[0]
        return self.cone.thin_factor(M) if self.dense and numbers >= THIN_FROM * self.cone.d**2 else None

    def _thin_blocks(self, B: Array, order: np.ndarray) -> Iterator[Block]:
        """Yield blocks of distances under ``B^T B``, evaluated from images of the points."""
        images = np.asarray(self.X @ B.T)
        of_queries = images if self.Q is self.X else np.asarray(self.Q @ B.T)
        norms = np.einsum("ij,ij->i", images, images)
        for queries in self.cuts(order):
            product = (-2.0 * of_queries[self.rows(queries)]) @ images.T
            product += norms
            yield Block(self, queries, product)

    def adjoint(self, T: Any, queries: np.ndarray) -> Array:
        """``sum_qx t_qx (q - x)(q - x)^T`` for ``(len(queries), n)`` weights, dense or sparse; rows sum to zero."""
        passes = passes_of(self)
        if passes is not None and not sp.issparse(T):
            return passes.adjoint(T, self.rows(queries))
        if self.anchors is not None and sp.issparse(T) and len(queries) > self.Q.shape[0]:
            # Queries that are the same point share a row: products are over points, not over queries.
            rows = self.rows(queries)
            T = sp.csr_array((np.ones(len(rows)), (rows, np.arange(len(rows)))), shape=(self.Q.shape[0], len(rows))) @ T
            points = self.Q
        else:
            points = self.points(queries)
        cross = self.cone.cross_weight * self.cone.cross(points, T, self.X)
        if self.cone.free:
            return cross
        weights = np.asarray(T.sum(axis=0)).ravel()
        used = np.flatnonzero(weights)
        X, weights = (self.X, weights) if 2 * len(used) > len(weights) else (self.X[used], weights[used])
        return self.cone.outer_sum(X, weights) + cross

    def of(self, query: int, M: Array) -> tuple[np.ndarray, np.ndarray, Array, Array]:
        """Relevant and irrelevant rows of one query, and their distances under ``M`` up to a constant of the query."""
        return next(self.blocks(M, np.array([query]))).of(0)

    def expressions(self, query: int, M: cp.Variable) -> tuple[cp.Expression, cp.Expression]:
        """CVXPY expressions of the distances from one query to its relevant and its irrelevant items, as :meth:`of`."""
        q = self.points(np.array([query]))
        q, sides = (q.toarray() if sp.issparse(q) else q), []
        for items in self.relevance.of(query):
            X = self.X[items].toarray() if sp.issparse(self.X) else self.X[items]
            free = self.cone.free
            sides.append(-(X @ M.T @ q[0]) if free else self.cone.quadratic_form_expressions(q - X, M))
        return sides[0], sides[1]

    def worst_pair(
        self, query: int, M: Array, other: Array | None, loss: Callable[[Array], Array]
    ) -> tuple[tuple[int, int, int], float, float]:
        """Rows (query, positive, negative) whose loss at M most exceeds that at ``other``, and both losses.

        Searches all pairs, one positive at a time.
        """
        positives, negatives, x, z = self.of(query, M)
        _, _, x_other, z_other = (positives, negatives, x, z) if other is None else self.of(query, other)
        best = 0, 0, -np.inf, 0.0, 0.0
        for i in range(positives.size):
            here = loss(z - x[i])
            there = np.zeros_like(here) if other is None else loss(z_other - x_other[i])
            j = int(np.argmax(here - there))
            if here[j] - there[j] > best[2]:
                best = i, j, float(here[j] - there[j]), float(here[j]), float(there[j])
        i, j, _, at_metric, at_other = best
        return (int(self.rows(np.array([query]))[0]), int(positives[i]), int(negatives[j])), at_metric, at_other


def passes_of(rankings: Rankings) -> Passes | None:
    """Passes on the accelerator that has the points of the rankings; None for NumPy."""
    full = rankings.dense and type(rankings.cone) is PSDCone and isinstance(rankings.X, np.ndarray)
    return rankings._there if full and not NUMPY_ONLY.get() else None


def sides_of(rankings: Rankings, queries: np.ndarray) -> np.ndarray:
    """Times that an item is a positive of some queries minus times that it is a negative, ``(len(queries), n)``."""
    sides = np.zeros((len(queries), rankings.X.shape[0]), dtype=np.int16)
    over_rows(_count_sides, len(queries), sides.size, rankings.relevance.lists(queries), sides)
    return sides


class Block:
    """Distances of some queries, up to a constant of each query; oracles overwrite them by coefficients.

    Attributes
    ----------
    values : (m,) array
        Query after query: a whole row of the corpus, or the listed items only, relevant, then irrelevant ones.
    first : (B + 1,) int array
        Where the values of every query begin.
    items : (m,) int array or None
        Corpus rows of the values; None where each query has a whole row of the corpus.
    """

    def __init__(self, rankings: Rankings, queries: np.ndarray, values: Array, items: np.ndarray | None = None) -> None:
        self.rankings, self.queries = rankings, queries
        self.lists: Lists = rankings.relevance.lists(queries)
        self.values, self.items = values.reshape(-1), items
        widths = np.full(len(queries), rankings.X.shape[0]) if items is None else rankings.sizes[queries]
        self.first = np.concatenate([[0], np.cumsum(widths)])

    def __len__(self) -> int:
        return len(self.queries)

    @property
    def flat(self) -> tuple[Array, bool, np.ndarray, Lists]:
        """The block as an argument of compiled code: values, whether these are whole rows, their starts, the lists."""
        return self.values, self.items is None, self.first, self.lists

    def places(self, row: int) -> tuple[np.ndarray, np.ndarray]:
        """Positions of the values of the relevant and of the irrelevant items of a query."""
        near, far = places_of(self.items is None, self.first, self.lists, row)
        return near, far

    def of(self, row: int) -> tuple[np.ndarray, np.ndarray, Array, Array]:
        """Relevant and irrelevant corpus rows of a query, as they are listed, and their values."""
        near, far = self.places(row)
        return *lists_of(self.lists, row), self.values[near], self.values[far]

    def runs(self, groups: np.ndarray) -> Iterator[tuple[int, int, int]]:
        """Yield (group, first row, row after the last) for every stretch of consecutive queries of one group."""
        group_of = groups[self.queries]
        starts = np.flatnonzero(np.diff(group_of, prepend=-1))
        for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), len(self)], strict=True):
            yield int(group_of[start]), start, stop

    def bring_nearer(self, by: float) -> None:
        """Subtract a number from the distances of irrelevant items."""
        for row in range(len(self)):
            self.values[self.places(row)[1]] -= by

    def scale(self, factors: Array) -> None:
        """Multiply the values of every query by a number."""
        self.values *= np.repeat(factors, np.diff(self.first).astype(np.intp))

    def part(self, start: int, stop: int) -> Array:
        """The values of the block's rows from start to stop."""
        return self.values[self.first[start] : self.first[stop]]

    def products(self) -> Array:
        """``T X`` with the values, of whole rows of the corpus, as weights T: most are zero at a good metric."""
        T, X = self.values.reshape(len(self), -1), self.rankings.X
        if np.count_nonzero(T) > FEW_WEIGHTS * T.size:
            return np.asarray(T @ X)
        products = np.zeros((len(T), X.shape[1]))
        over_rows(_add_items, len(T), T.size, T, X, products)
        return products

    def _weight(self, start: int, stop: int) -> float:
        """Sum of the sizes of the values of the block's rows from start to stop."""
        return float(dasum(self.part(start, stop)))

    def adjoint(self, start: int, stop: int) -> Array:
        """``sum_x t_qx (q - x)(q - x)^T`` over the block's rows from start to stop, with its values as weights."""
        values, first = self.part(start, stop), self.first[start : stop + 1]
        shape = stop - start, self.rankings.X.shape[0]
        if self.items is None:
            T: Any = values.reshape(shape)
        else:
            T = sp.csr_array((values, self.items[first[0] : first[-1]], first - first[0]), shape=shape)
        return self.rankings.adjoint(T, self.queries[start:stop])


class BlockThere(Block):
    """Weights of the distances of some queries, ``(B, n)``, in the memory of the points' accelerator.

    ``sizes`` are the sums of their absolute values, ``(B,)``.
    """

    def __init__(self, rankings: Rankings, queries: np.ndarray, weights: Any, sizes: Array) -> None:
        self.rankings, self.queries, self.weights, self.sizes = rankings, queries, weights, sizes

    def _weight(self, start: int, stop: int) -> float:
        """Sum of the sizes of the weights of the block's rows from start to stop."""
        return float(self.sizes[start:stop].sum())

    def adjoint(self, start: int, stop: int) -> Array:
        """As for a block in NumPy."""
        return self.rankings.adjoint(self.weights[start:stop, :], self.queries[start:stop])


@compiled
def _count_sides(begin, end, lists, sides):
    """Count how often items are positives minus how often they are negatives, for every query."""
    for row in range(begin, end):
        positives, negatives = lists_of(lists, row)
        for i in positives:
            sides[row, i] += 1
        for j in negatives:
            sides[row, j] -= 1


@compiled_in_any_order
def _add_items(begin, end, T, X, products):
    """Add up the items of every query with nonzero weights, times these; items stay in the cache for all queries."""
    for first in range(0, len(X), ITEMS):
        for row in range(begin, end):
            total = products[row]
            for item in range(first, min(first + ITEMS, len(X))):
                weight = T[row, item]
                if weight:
                    for f in range(total.size):
                        total[f] += weight * X[item, f]


@compiled
def _listed_distances(begin, end, Q, rows_of_queries, lists, norms, images, cross_weight, start, items, values):
    """``x^T M x - 2 q^T M x``, or ``- q^T M x``, for the listed items x of every query."""
    for row in range(begin, end):
        q = Q[rows_of_queries[row]]
        place = start[row]
        for listed in lists_of(lists, row):
            for item in listed:
                dot = 0.0
                for f in range(q.size):
                    dot += q[f] * images[item, f]
                items[place] = item
                values[place] = norms[item] + cross_weight * dot
                place += 1


def _begins(sizes: np.ndarray) -> np.ndarray:
    """Places where lists of these sizes begin, one after the other."""
    return np.asarray(np.cumsum(sizes) - sizes)


def _in_turn(storage: np.ndarray, start: np.ndarray, stop: np.ndarray) -> np.ndarray:
    """The slices of a storage one after the other, each in ascending order."""
    sizes = stop - start
    owner = np.repeat(np.arange(len(sizes)), sizes.astype(np.intp))
    listed = storage[np.arange(len(owner)) + (start - _begins(sizes))[owner]]
    return np.asarray(listed[np.lexsort((listed, owner))])
