r"""Area under the ROC curve: the share of relevant-irrelevant pairs in the right order.

.. math:: \mathrm{AUC}(y) = 1 - \frac{1}{p n} \sum_{ij} Y_{ij}, \qquad
   \max_y \Delta(y) - \langle W, \delta\psi(q, y) \rangle
   = \frac{1}{p n} \sum_{ij} \max(0, \; 1 - 2 (z_j - x_i))

with distances x of the relevant and z of the irrelevant items. Inverting exactly the pairs with
:math:`z_j < x_i + 1/2` is a ranking (sort by x + 1/2 and z), so the worst ranking decomposes over pairs.
"""

from __future__ import annotations

from typing import ClassVar

import numba
import numpy as np

from convexmetric.comparisons import Relevance
from convexmetric.cones.base import Array
from convexmetric.measures.base import Measure

__all__ = ["AUC"]

#: Distances in a block from which threads are worth starting: about ten milliseconds of work.
WORTH_THREADS = 1_000_000


class AUC(Measure):
    """Area under the ROC curve (paper 1, section 4; oracle after Joachims, 2005).

    The oracle takes ``O((p + n) log p)`` a query: only the relevant items are sorted, every irrelevant one
    is placed among them by binary search.
    """

    name: ClassVar[str] = "auc"
    title: ClassVar[str] = "area under the ROC curve"
    pairwise: ClassVar[bool] = True

    def score(self, relevant: np.ndarray) -> float:
        """Share of pairs in the right order."""
        relevant = np.asarray(relevant, dtype=bool)
        irrelevant_above = np.cumsum(~relevant)[relevant]
        return float(1.0 - irrelevant_above.sum() / (relevant.sum() * (~relevant).sum()))

    def separate(self, distances: Array, relevance: Relevance, queries: np.ndarray) -> tuple[Array, Array, Array]:
        """Invert every pair with ``z_j < x_i + 1/2``."""
        losses = np.empty(len(queries))
        violations = np.empty(len(queries))
        kernel = _parallel if distances.size >= WORTH_THREADS else _serial
        lists = (
            relevance.relevant,
            relevance.relevant_start,
            relevance.relevant_stop,
            relevance.irrelevant,
            relevance.irrelevant_start,
            relevance.irrelevant_stop,
        )
        kernel(distances, queries, lists, losses, violations)
        return distances, losses, violations


@numba.njit(cache=True, nogil=True)
def _most_violated(D, row, q, lists, losses, violations):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    relevant, relevant_start, relevant_stop, irrelevant, irrelevant_start, irrelevant_stop = lists
    wanted = relevant[relevant_start[q] : relevant_stop[q]]
    unwanted = irrelevant[irrelevant_start[q] : irrelevant_stop[q]]
    p, n = wanted.size, unwanted.size
    x = np.empty(p)
    for i in range(p):
        x[i] = D[row, wanted[i]]
    order = np.argsort(x)
    x = x[order]
    z = np.empty(n)
    for j in range(n):
        z[j] = D[row, unwanted[j]]
    # Distances of x[0] and less are subtracted before any sum: only differences matter.
    base = x[0]
    scale = 2.0 / (p * n)
    D[row, :] = 0.0
    placed = np.zeros(p + 1, dtype=np.int64)
    weighted = 0.0
    for j in range(n):
        first = np.searchsorted(x, z[j] - 0.5, side="right")
        placed[first] += 1
        D[row, unwanted[j]] = scale * (p - first)
        weighted += (p - first) * (z[j] - base)
    inversions = 0
    above = 0
    for i in range(p):
        above += placed[i]
        inversions += above
        weighted -= above * (x[i] - base)
        D[row, wanted[order[i]]] = -scale * above
    losses[row] = inversions / (p * n)
    violations[row] = losses[row] - scale * weighted


# Two functions and not one compiled twice: the cache on disk does not tell threads from none.
@numba.njit(cache=True, nogil=True)
def _serial(D, queries, lists, losses, violations):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    for row in range(queries.size):
        _most_violated(D, row, queries[row], lists, losses, violations)


@numba.njit(parallel=True, cache=True, nogil=True)
def _parallel(D, queries, lists, losses, violations):  # type: ignore[no-untyped-def] # pragma: no cover - compiled
    for row in numba.prange(queries.size):
        _most_violated(D, row, queries[row], lists, losses, violations)
