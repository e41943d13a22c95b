"""Choose a candidate by cross-validation, and score the choice on items that had no part in it.

Items (queries, or rows of a table) are dealt out to J folds. A candidate learned without the folds i and j scores the
items of both: the choice for fold j takes its scores from the other folds, by metrics that have not seen fold j either,
so that J (J - 1) / 2 times the candidates serve all J choices. A candidate learned without fold j alone scores what was
chosen for j, and the choice for all items.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from convexmetric.arrays import Array

__all__ = ["NestedFolds"]

Rows = NDArray[np.int64]


class NestedFolds:
    """Scores of every candidate, learned without one fold and without two.

    Parameters
    ----------
    fold : (n,) int array
        Fold of every item, from 0.
    before : (m, n) array
        Scores of every item by the first candidate, which is not learned; the first of m measures decides.
    candidates : int
        Number of candidates with that one.
    choice : bool
        Whether there is anything to choose; otherwise there are two candidates, and the second is taken.
    """

    def __init__(self, fold: Rows, before: Array, candidates: int, choice: bool = True) -> None:
        self.fold, self.folds, self.choice = fold, int(fold.max()) + 1, choice
        #: By candidate, measure and item, learned without the item's fold.
        self.alone = np.zeros((candidates, *before.shape))
        #: By fold, candidate and item: the measure that decides, learned without either fold.
        self.inner = np.zeros((self.folds, candidates, len(fold)))
        self.alone[0], self.inner[:, 0] = before, before[0]
        #: Candidates that may be chosen.
        self.able = np.ones(candidates, dtype=bool)

    @property
    def left_out(self) -> list[tuple[int, ...]]:
        """The folds to learn without, those in pairs first."""
        pairs: list[tuple[int, ...]] = [*combinations(range(self.folds), 2)] if self.choice else []
        return [*pairs, *((j,) for j in range(self.folds))]

    def without(self, out: tuple[int, ...]) -> Rows:
        """The items to learn from."""
        return np.flatnonzero(~np.isin(self.fold, out))

    def score(self, candidate: int, out: tuple[int, ...], scores: Callable[[Rows], Array]) -> None:
        """Keep the ``(m, rows)`` scores of the items left out, by a candidate learned without them."""
        for one, other in zip(out, out[::-1], strict=True):
            rows = np.flatnonzero(self.fold == one)
            if len(out) == 1:
                self.alone[candidate][:, rows] = scores(rows)
            else:
                self.inner[other, candidate, rows] = scores(rows)[0]

    @property
    def means(self) -> Array:
        """Mean over all items of the measure that decides."""
        return np.asarray(self.alone[:, 0].mean(axis=1))

    def best(self) -> int:
        """The candidate for all items."""
        return self.first_best(self.alone[:, 0]) if self.choice else 1

    def choices(self) -> list[int]:
        """The candidate for every fold, chosen without it."""
        if not self.choice:
            return [1] * self.folds
        return [self.first_best(self.inner[j][:, self.fold != j]) for j in range(self.folds)]

    def first_best(self, scores: Array) -> int:
        """The candidate of the highest mean of ``(c, n)`` scores; of several the first."""
        means = np.where(self.able, scores.mean(axis=1), -np.inf)
        # Means that should be equal differ by rounding.
        return int(np.argmax(means >= means.max() - 1e-12))

    def chosen(self) -> tuple[Array, Array]:
        """``(m, n)`` scores of every item by the first candidate, and by the choice for its fold."""
        by_fold = np.array(self.choices())[self.fold]
        return self.alone[0], self.alone[by_fold, :, np.arange(len(self.fold))].T
