r"""Distances from queries to their corpus, and the adjoint of weighting them.

.. math:: s_{qx} = (q - x)^\top M (q - x), \qquad
   \sum_{qx} t_{qx} (q - x)(q - x)^\top
   = X^\top \mathrm{diag}(T^\top 1) X - Q^\top T X - X^\top T^\top Q

for weights whose rows sum to zero, ``T 1 = 0``, as all differences of rankings have: then the term
in ``q q^T`` vanishes, and so does the part of the distance that only depends on the query.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from convexmetric.comparisons.points import as_points, rows_of
from convexmetric.comparisons.relevance import Relevance
from convexmetric.cones import Cone
from convexmetric.cones.base import Array
from convexmetric.errors import InputError

__all__ = ["Rankings"]

#: Bytes of distances held at a time; a pass needs about three times this beside the data.
BLOCK_BYTES = 64 * 2**20


class Rankings:
    """Queries, the corpus they rank, and who is relevant to whom.

    Parameters
    ----------
    X : (n, d) array
        Corpus.
    Q : (n_q, d) array
        Queries.
    relevance : Relevance
        Relevant and irrelevant corpus rows per query.
    cone : Cone
        Where the metric lives.
    """

    def __init__(self, X: Any, Q: Any, relevance: Relevance, cone: Cone) -> None:
        self.X = as_points(X)
        self.Q = self.X if Q is X else as_points(Q, "queries")
        if self.Q.shape[1] != self.X.shape[1]:
            raise InputError(f"queries have {self.Q.shape[1]} features, but X has {self.X.shape[1]}")
        if len(relevance) != len(self.Q):
            raise InputError(f"there are {len(self.Q)} queries but relevance for {len(relevance)}")
        for rows, start, stop, kind in (
            (relevance.relevant, relevance.relevant_start, relevance.relevant_stop, "relevant"),
            (relevance.irrelevant, relevance.irrelevant_start, relevance.irrelevant_stop, "irrelevant"),
        ):
            # Compiled code reads these slices without looking.
            if start.min() < 0 or stop.max() > len(rows):
                raise InputError(f"relevance lists {kind} points outside of its storage of {len(rows)} rows")
            if (stop - start).min() < 1:
                raise InputError(f"query {int(np.argmin(stop - start))} has no {kind} point; give it one")
            rows_of(rows, len(self.X), kind)
        self.relevance = relevance
        self.cone = cone

    def __len__(self) -> int:
        return len(self.Q)

    def blocks(self, order: np.ndarray) -> Iterator[np.ndarray]:
        """Cut the queries, in the given order, into blocks of bounded memory."""
        size = max(1, BLOCK_BYTES // (8 * len(self.X)))
        for start in range(0, len(order), size):
            yield order[start : start + size]

    def distances(self, M: Array, queries: np.ndarray) -> Array:
        """``s - q^T M q``, shape ``(len(queries), n)``: squared distances up to a constant of each query."""
        norms = self.cone.quadratic_forms(self.X, M)
        product = self.cone.gram(self.Q[queries], M, self.X)
        product *= -2.0
        product += norms
        return product

    def adjoint(self, T: Array, queries: np.ndarray) -> Array:
        """``sum_qx t_qx (q - x)(q - x)^T`` for weights ``(len(queries), n)`` whose rows sum to zero."""
        return self.cone.outer_sum(self.X, T.sum(axis=0)) - 2.0 * self.cone.cross(self.Q[queries], T, self.X)
