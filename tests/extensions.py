"""Blocks of problems as a user would write them: right ones, and wrong ones that must be found out."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from convexmetric.measures import AUC, AveragePrecision, Measure


class ExpectedReciprocalRank(Measure):
    """``sum_i (1 - grade)^(i - 1) / (i + b_i)`` over the same of the perfect ranking (Chapelle et al., 2009).

    Parameters
    ----------
    grade : float
        With what probability a relevant item ends the search.
    """

    name: ClassVar[str] = "err"
    title: ClassVar[str] = "expected reciprocal rank"

    def __init__(self, grade: float = 0.5) -> None:
        self.grade = grade

    def gains(self, i: np.ndarray, b: np.ndarray, p: Any, n: Any) -> np.ndarray:
        """What the search is worth if it ends at item i."""
        weights = (1.0 - self.grade) ** np.arange(np.max(p))
        perfect = np.cumsum(weights / np.arange(1, np.max(p) + 1))
        return weights[i - 1] / (i + b) / perfect[p - 1]


class LastPair(AUC):
    """A subclass with gains of its own: the share of irrelevant items below the lowest relevant one."""

    name: ClassVar[str] = "last"

    def gains(self, i: np.ndarray, b: np.ndarray, p: Any, n: Any) -> np.ndarray:
        """All of it from the last item."""
        return np.where(i == p, (n - b) / n, 0.0)


class RenamedPrecision(AveragePrecision):
    """A subclass that only has another title."""

    title: ClassVar[str] = "area under the precision-recall curve"


class Doubled(Measure):
    """Gains above 1."""

    name: ClassVar[str] = "doubled"

    def gains(self, i: np.ndarray, b: np.ndarray, p: Any, n: Any) -> np.ndarray:
        """Twice the reciprocal rank."""
        return np.where(i == 1, 2.0 / (1.0 + b), 0.0)


class Imperfect(Measure):
    """The perfect ranking does not score 1."""

    name: ClassVar[str] = "imperfect"

    def gains(self, i: np.ndarray, b: np.ndarray, p: Any, n: Any) -> np.ndarray:
        """Half the reciprocal rank."""
        return np.where(i == 1, 0.5 / (1.0 + b), 0.0)


class Undefined(Measure):
    """Gains that are no numbers where nothing is above."""

    name: ClassVar[str] = "undefined"

    def gains(self, i: np.ndarray, b: np.ndarray, p: Any, n: Any) -> np.ndarray:
        """``b / b``."""
        with np.errstate(invalid="ignore"):
            return b / (b * p)


class ClaimsPairs(ExpectedReciprocalRank):
    """Says that it is a mean over pairs, and is not."""

    pairwise: ClassVar[bool] = True
