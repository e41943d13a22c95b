r"""What a ranking measure provides, and brute force over all rankings.

A ranking of p relevant and n irrelevant items enters everything only through the pairs it inverts,
:math:`Y_{ij} = 1` when irrelevant j stands above relevant i:

.. math:: \langle W, \delta\psi(q, y) \rangle = \frac{2}{p n} \sum_{ij} Y_{ij} \, (d_W(q, j) - d_W(q, i))

(paper 1, equation 3: the partial order feature changes by 2/(p n) per inverted pair).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import lru_cache
from itertools import permutations
from typing import ClassVar

import numpy as np

from convexmetric.comparisons import Relevance
from convexmetric.cones.base import Array

__all__ = ["Measure", "rankings_of"]


class Measure(ABC):
    """Score of rankings in [0, 1], with an exact separation oracle."""

    #: What a user types, and the measure's name in prose.
    name: ClassVar[str]
    title: ClassVar[str]
    #: Whether ``Delta`` is the mean of inverted pairs, so that the risk is a hinge for each pair.
    pairwise: ClassVar[bool] = False

    @abstractmethod
    def score(self, relevant: np.ndarray) -> float:
        """Score of a ranking given from top to bottom as booleans: is the item relevant?"""

    @abstractmethod
    def separate(self, distances: Array, relevance: Relevance, queries: np.ndarray) -> tuple[Array, Array, Array]:
        r"""Most violated ranking of every query, ``argmax_y Delta(y) - <W, dpsi(q, y)>``.

        Parameters
        ----------
        distances : (B, n) array
            Distances from the queries to the corpus, up to a constant per query. Overwritten.
        relevance : Relevance
            Relevant and irrelevant rows of all queries.
        queries : (B,) int array
            The queries the rows of ``distances`` belong to.

        Returns
        -------
        coefficients : (B, n) array
            Weight of each distance in ``<W, dpsi>``; rows sum to zero. Reuses the memory of ``distances``.
        losses : (B,) array
            ``Delta = 1 - score``.
        violations : (B,) array
            ``Delta - <W, dpsi>``, never negative (the perfect ranking has 0).
        """


@lru_cache(maxsize=64)
def rankings_of(p: int, n: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Every ranking of p relevant and n irrelevant items that differs in an inverted pair.

    Returns pairs ``(Y, relevant)``: the ``(p, n)`` booleans of inverted pairs, and the ranking from top to
    bottom as booleans. Brute force, ``(p + n)!`` steps: for statements and tests of a few items.
    """
    seen: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}
    for order in permutations(range(p + n)):
        position = np.argsort(order)
        inverted = position[None, p:] < position[:p, None]
        key = inverted.tobytes()
        if key not in seen:
            seen[key] = inverted, np.asarray(order) < p
    return list(seen.values())
