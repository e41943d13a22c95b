r"""Rankings of some queries over a corpus that other shards rank as well.

What is of the corpus alone is made once for all shards in a process. A corpus that is too large to be kept is read in
blocks, for distances and again for their adjoint, and never held:

.. math:: s_{q, X_k} = \mathrm{diag}(X_k M X_k^\top) - 2 q^\top M X_k^\top, \qquad
   S = \sum_k \Big( X_k^\top \mathrm{diag}(T_k^\top 1) X_k - Q^\top T_k X_k - X_k^\top T_k^\top Q \Big)

with :math:`X_k` the rows of a block and :math:`T_k` the columns of their weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from convexmetric.arrays import Array
from convexmetric.comparisons import Block, Rankings, Relevance
from convexmetric.comparisons.rankings import DENSE_FROM
from convexmetric.cones import Cone
from convexmetric.errors import InputError
from convexmetric.shards.folder import BLOCK

FLOAT = np.dtype(np.float64)

Once = Callable[[Array, Callable[[], Array]], Array]
"""Cache what a function gives at a metric, made once in a process."""


class SharedRankings(Rankings):
    """Rankings over a corpus in memory, from which a common offset has been taken already.

    Parameters
    ----------
    X : (n, d) array
        Corpus, that of all shards.
    Q : (n_q, d) array
        Queries.
    relevance : Relevance
        Relevant and irrelevant corpus rows per query.
    cone : Cone
        Cone of the metric.
    once : callable
        Cache of arrays computed from the whole corpus at a metric.
    """

    def __init__(self, X: Any, Q: Array, relevance: Relevance, cone: Cone, once: Once) -> None:
        if X.shape[1:] != (cone.d,) or Q.shape != (len(relevance), cone.d) or (X.dtype, Q.dtype) != (FLOAT, FLOAT):
            raise InputError("the folder of shards holds points of another shape or type than it says; write it again")
        relevance.check(X.shape[0])
        self.X, self.Q, self.anchors = X, Q, None
        self.relevance, self.cone, self.once = relevance, cone, once
        self.sizes = relevance.n_relevant + relevance.n_irrelevant
        self.dense = relevance.complement or float(self.sizes.mean()) >= DENSE_FROM * X.shape[0]

    def norms(self, M: Array) -> Array:
        """``x^T M x`` of every item."""
        return self.once(M, lambda: self._norms(M))

    def _norms(self, M: Array) -> Array:
        return super().norms(M)


class StreamedRankings(SharedRankings):
    """Rankings over a corpus in a :class:`~convexmetric.shards.folder.StoredArray`, read in blocks."""

    def __init__(self, X: Any, Q: Array, relevance: Relevance, cone: Cone, once: Once) -> None:
        super().__init__(X, Q, relevance, cone, once)
        self.dense = True

    def _blocks_of_rows(self) -> Iterator[tuple[slice, Array]]:
        step = max(1, BLOCK // self.X.row_bytes)
        for start in range(0, len(self.X), step):
            rows = slice(start, min(start + step, len(self.X)))
            yield rows, self.X.rows(rows.start, rows.stop)

    def _norms(self, M: Array) -> Array:
        return np.concatenate([self.cone.quadratic_forms(X, M) for _, X in self._blocks_of_rows()])

    def blocks(self, M: Array, order: np.ndarray) -> Iterator[Block]:
        """Yield blocks of squared distances under ``M`` from the queries, in the given order, to the corpus."""
        norms = self.norms(M)
        for queries in self.cuts(order):
            values, points = np.empty((len(queries), len(self.X))), self.points(queries)
            for rows, X in self._blocks_of_rows():
                values[:, rows] = self.cone.gram(points, M, X)
            values *= -2.0
            values += norms
            yield Block(self, queries, values)

    def adjoint(self, T: Any, queries: np.ndarray) -> Array:
        """``sum_qx t_qx (q - x)(q - x)^T`` for dense weights; rows sum to zero."""
        weights, points, S = T.sum(axis=0), self.points(queries), self.cone.zeros()
        for rows, X in self._blocks_of_rows():
            S += self.cone.outer_sum(X, weights[rows]) - 2.0 * self.cone.cross(points, T[:, rows], X)
        return S
