"""Assign items to folds, and score candidates that were learned without some of the folds.

Plain folds (:func:`validated`) score every candidate on the items of one fold, learned from the others; the best mean
is chosen, and its own score is optimistic. Nested folds (:class:`NestedFolds`) also score the choice, on items that had
no part in it. Items are assigned to J folds. A candidate learned without the folds i and j scores the items of both.
The choice for fold j uses scores on the other folds, by metrics learned without fold j too, so that J (J - 1) / 2
solves of each candidate serve all J choices. A candidate learned without fold j alone scores the choice made for j, and
decides the choice for all items.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from convexmetric.arguments import check_count
from convexmetric.arrays import Array
from convexmetric.deadline import check_deadline
from convexmetric.errors import GapWarning, InputError

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

Rows = NDArray[np.int64]
#: Scores of a candidate on the items held out, by name, and the certified gap of its solve.
Trial = tuple[dict[str, float], float]


def dealt(points: Array, labels: np.ndarray, cv: Any, repeats: int, random_state: int) -> list[tuple[Rows, Rows]]:
    """Split rows into (learn, held out), fold by fold; identical rows stay in one fold, unless a splitter is given."""
    from sklearn.model_selection import RepeatedStratifiedKFold

    if np.unique(labels).size < 2:
        raise InputError("y has one class only, so that there is nothing to tell apart")
    if hasattr(cv, "split") and not isinstance(cv, str):
        return list(cv.split(points, labels))
    check_count(cv, "cv", " of at least 2, or a splitter of scikit-learn")
    check_count(repeats, "repeats")
    first, place = distinct_rows(points)
    counts = np.unique(labels[first], return_counts=True)[1]
    if not 2 <= cv <= counts.max():
        raise InputError(f"cv must be from 2 to {counts.max()}, the different rows of the largest class, got {cv}")
    with warnings.catch_warnings():
        # A class of fewer rows than folds cannot be in every fold.
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        splitter = RepeatedStratifiedKFold(n_splits=cv, n_repeats=repeats, random_state=random_state)
        tests = [rest for _, rest in splitter.split(first, labels[first])]
    held = [np.isin(place, rest) for rest in tests]
    return [(np.flatnonzero(~rest), np.flatnonzero(rest)) for rest in held]


def dealt_evenly(labels: np.ndarray, folds: int, random_state: int | None) -> Rows:
    """Assign items to folds at random, each class evenly and the remainders of the classes evenly: ``(n,)`` numbers."""
    shuffled = np.random.default_rng(random_state).permutation(len(labels))
    fold = np.empty(len(labels), dtype=np.int64)
    fold[_by_class(labels, shuffled)] = np.arange(len(labels)) % folds
    return fold


def stratified_sample(labels: np.ndarray, rows: int, random_state: int) -> Rows:
    """Draw a stratified sample of rows, in ascending order; shares of classes are preserved to within one row."""
    n = len(labels)
    if n <= rows:
        return np.arange(n)
    # Sorted by class, take every (n / rows)-th row.
    return np.sort(_by_class(labels, np.random.default_rng(random_state).permutation(n))[(np.arange(rows) * n) // rows])


def _by_class(labels: np.ndarray, shuffled: Rows) -> Rows:
    return shuffled[np.argsort(np.unique(labels, return_inverse=True)[1][shuffled], kind="stable")]


def distinct_rows(points: Array) -> tuple[Rows, Rows]:
    """Find the distinct rows: the index of the first copy of each, and for every row its place among these."""
    places: dict[bytes, int] = {}
    # Adding 0 turns -0.0 into 0.0, so that the two compare as equal bytes.
    place = np.array([places.setdefault(row.tobytes(), len(places)) for row in points + 0.0])
    return np.unique(place, return_index=True)[1], place


def first_best(scores: Array, able: Any = True) -> int:
    """Choose the candidate of the highest mean of ``(c, n)`` scores among the eligible ones; ties go to the first."""
    means = np.where(able, scores.mean(axis=1), -np.inf)
    # Equal means may differ by rounding.
    return int(np.argmax(means >= means.max() - 1e-12))


def validated(
    found: Iterable[Sequence[Trial]], folds: int, progress: bool, what: str
) -> tuple[dict[str, Array], Array]:
    """Collect the trials of all candidates, fold by fold: ``(c, folds)`` scores by name, and ``(c, folds)`` gaps."""
    trials = []
    with progress_bar(progress) as bar:
        task = bar.add_task(what, total=folds)
        for fold in found:
            trials.append(fold)
            bar.advance(task)
    scores = {name: np.array([[one[name] for one, _ in fold] for fold in trials]).T for name in trials[0][0][0]}
    return scores, np.array([[gap for _, gap in fold] for fold in trials]).T


class NestedFolds:
    """Nested cross-validation: scores of every candidate, learned without one fold and without two.

    Parameters
    ----------
    fold : (n,) int array
        Fold of every item, from 0.
    before : (m, n) array
        Scores of every item by the first candidate, which is not learned; the first of m measures decides.
    candidates : sequence
        All candidates; the first one is not learned.
    choice : bool
        Whether there is anything to choose; otherwise there are two candidates, and the second is taken.
    """

    def __init__(self, fold: Rows, before: Array, candidates: Sequence[Any], choice: bool = True) -> None:
        self.fold, self.folds, self.candidates, self.choice = fold, int(fold.max()) + 1, candidates, choice
        #: Scores ``(c, m, n)`` by candidate, measure and item, learned without the item's fold.
        self.alone = np.zeros((len(candidates), *before.shape))
        #: Scores ``(folds, c, n)`` by the first measure, learned without that fold and the item's.
        self.inner = np.zeros((self.folds, len(candidates), len(fold)))
        self.alone[0], self.inner[:, 0] = before, before[0]
        #: Which candidates may be chosen, and the largest gap of each.
        self.able, self.gaps = np.ones(len(candidates), dtype=bool), np.zeros(len(candidates))
        #: Number of solves in all, and number done so far.
        self.solves, self.done = len(self.left_out) * (len(candidates) - 1), 0

    @property
    def left_out(self) -> list[tuple[int, ...]]:
        """Sets of folds to leave out: all pairs of folds, then single folds."""
        pairs: list[tuple[int, ...]] = [*combinations(range(self.folds), 2)] if self.choice else []
        return [*pairs, *((j,) for j in range(self.folds))]

    def without(self, out: tuple[int, ...]) -> Rows:
        """Items to learn from where the folds ``out`` are left out."""
        return np.flatnonzero(~np.isin(self.fold, out))

    def learned(self, out: tuple[int, ...]) -> Iterable[tuple[int, float, Callable[[Rows], Array]]]:
        """Learn candidates without folds ``out``; yields number, gap, and function from rows to their scores."""
        raise NotImplementedError

    def scored(self, progress: bool, what: str) -> Self:
        """Learn and score every candidate without all of :attr:`left_out`.

        Raises
        ------
        OutOfTime
            If time runs out: :attr:`done` of the :attr:`solves` were finished.
        """
        # No warnings of gaps: they are kept in ``gaps``.
        with progress_bar(progress) as bar, warnings.catch_warnings(action="ignore", category=GapWarning):
            shown = bar.add_task(what, total=self.solves)
            for out in self.left_out:
                for at, gap, scores in self.learned(out):
                    check_deadline()
                    self.gaps[at] = max(self.gaps[at], gap)
                    self.score(at, out, scores)
                    self.done += 1
                    bar.advance(shown)
        return self

    def score(self, candidate: int, out: tuple[int, ...], scores: Callable[[Rows], Array]) -> None:
        """Record the ``(m, rows)`` scores of the items left out, by a candidate learned without them."""
        for one, other in zip(out, out[::-1], strict=True):
            rows = np.flatnonzero(self.fold == one)
            if len(out) == 1:
                self.alone[candidate][:, rows] = scores(rows)
            else:
                self.inner[other, candidate, rows] = scores(rows)[0]

    def best(self) -> int:
        """Candidate chosen for all items, by the scores learned without each item's fold."""
        return first_best(self.alone[:, 0], self.able) if self.choice else 1

    def choices(self, able: NDArray[np.bool_] | None = None) -> list[int]:
        """Candidates chosen for each fold, by metrics that have not seen that fold; of those that are ``able``."""
        if not self.choice:
            return [1] * self.folds
        able = self.able if able is None else able
        return [first_best(self.inner[j][:, self.fold != j], able) for j in range(self.folds)]

    def chosen(self, able: NDArray[np.bool_] | None = None) -> tuple[Array, Array]:
        """``(m, n)`` scores of every item by the first candidate, and by the choice (:meth:`choices`) for its fold."""
        by_fold = np.array(self.choices(able))[self.fold]
        return self.alone[0], self.alone[by_fold, :, np.arange(len(self.fold))].T


def progress_bar(shown: bool) -> Bar:
    """Make a progress bar on standard error that vanishes at its end; a disabled one unless ``shown``."""
    from rich.console import Console
    from rich.progress import Progress as Bar

    return Bar(console=Console(stderr=True), transient=True, disable=not shown)
