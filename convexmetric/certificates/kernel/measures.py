"""Measures of rankings, a class each (theorems 2 and 4), and their table by name."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from .balls import TINY, Array, Ball, log

__all__ = ["MEASURES", "Measure"]


class Measure:
    """A score of rankings that is a sum of gains; base class of all measures.

    The gains of the perfect ranking, b = 0, must add up to at most 1. A measure that ``needs_k`` counts h places.
    """

    theorem, needs_k = "4", False

    def gains(self, i: Array, b: Array, p: int, f: int, h: int) -> Ball:
        """g(i, b), contribution to the score of the i-th of p positives, i = 1..p, with b of the f negatives above."""
        raise NotImplementedError


class AUC(Measure):
    """``(f - b) / (p f)``; its risk is a sum of hinges (theorem 1), and its gains are not used."""

    theorem = "1"

    def gains(self, i: Array, b: Array, p: int, f: int, h: int) -> Ball:
        return Ball(f - b) / Ball(float(p * f))


class MAP(Measure):
    """``i / (p (i + b))``."""

    def gains(self, i: Array, b: Array, p: int, f: int, h: int) -> Ball:
        return Ball(i) / Ball(p * (i + b))


class MRR(Measure):
    """``1 / (1 + b)`` of the first positive."""

    def gains(self, i: Array, b: Array, p: int, f: int, h: int) -> Ball:
        return Ball(i == 1.0) / Ball(1.0 + b)


class ERR(Measure):
    """Expected reciprocal rank: ``2^-i / (i + b)`` over the sum of these for the perfect ranking."""

    def gains(self, i: Array, b: Array, p: int, f: int, h: int) -> Ball:
        ranks = np.arange(1.0, p + 1.0)
        return halves(i) / Ball(i + b) / (halves(ranks) / Ball(ranks)).sum()


class Precision(Measure):
    """``1 / h`` in the first h places."""

    needs_k = True

    def gains(self, i: Array, b: Array, p: int, f: int, h: int) -> Ball:
        return Ball(i + b <= h) / Ball(float(h))


class NearestNeighbours(Measure):
    """1 for the positive that completes the majority of the first h places, if it is in one of these."""

    needs_k = True

    def gains(self, i: Array, b: Array, p: int, f: int, h: int) -> Ball:
        return Ball((i + b <= h) & (i == h // 2 + 1))


class NDCG(Measure):
    """Discounts ``1 / log2(t)``, at most 1, of the places t = i + b, over their sum for the first h places."""

    needs_k, shift = True, 0.0

    def gains(self, i: Array, b: Array, p: int, f: int, h: int) -> Ball:
        return discounts(h, self.shift)[np.minimum(i + b, h).astype(np.int64) - 1] * (i + b <= h)


class NDCGLog2(NDCG):
    """The same with ``1 / log2(t + 1)``."""

    shift = 1.0


@lru_cache(maxsize=1)
def discounts(h: int, shift: float) -> Ball:
    """``D(t) = 1 / log2(t + shift) = ln 2 / ln(t + shift)``, and at most 1, over their sum, t = 1..h."""
    D = log(Ball([2.0])) / log(Ball(np.maximum(np.arange(1.0, h + 1.0) + shift, 2.0)))
    return D / D.sum()


def halves(i: Array) -> Ball:
    """``2^-i``, exact; zero below 2^-1074."""
    return Ball(np.ldexp(1.0, -i.astype(np.int64)), TINY)


#: Measures by name.
MEASURES: dict[str, type[Measure]] = {
    "auc": AUC, "map": MAP, "mrr": MRR, "err": ERR, "precision": Precision, "knn": NearestNeighbours, "ndcg": NDCG,
    "ndcg-log2": NDCGLog2,
}  # fmt: skip
