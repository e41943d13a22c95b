"""Folds: how items are dealt out, and the scores of candidates that were learned without some of them.

Plain folds (:func:`validated`) score every candidate on the items of one fold, learned from the others; the best mean
is chosen, and its own score flatters it. Nested folds (:class:`NestedFolds`) also score the choice, on items that had
no part in it. Items are dealt out to J folds. A candidate learned without the folds i and j scores the items of both:
the choice for fold j takes its scores from the other folds, by metrics that have not seen fold j either, so that
J (J - 1) / 2 times the candidates serve all J choices. A candidate learned without fold j alone scores what was chosen
for j, and the choice for all items.
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
    """Rows to learn from and rows held out, fold by fold; identical rows are in one fold, but for a splitter's."""
    from sklearn.model_selection import RepeatedStratifiedKFold

    if len(labels) != len(points):
        raise InputError(f"y must have one label a point: X has {len(points)} rows, y has {len(labels)}")
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
        # A class of fewer rows than folds is in some of them only, which is all that can be done.
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        splitter = RepeatedStratifiedKFold(n_splits=cv, n_repeats=repeats, random_state=random_state)
        tests = [rest for _, rest in splitter.split(first, labels[first])]
    held = [np.isin(place, rest) for rest in tests]
    return [(np.flatnonzero(~rest), np.flatnonzero(rest)) for rest in held]


def dealt_evenly(labels: np.ndarray, folds: int, random_state: int | None) -> Rows:
    """Fold of every item: each class is dealt out evenly, and so are the remainders of the classes."""
    shuffled = np.random.default_rng(random_state).permutation(len(labels))
    fold = np.empty(len(labels), dtype=np.int64)
    fold[_by_class(labels, shuffled)] = np.arange(len(labels)) % folds
    return fold


def stratified_sample(labels: np.ndarray, rows: int, random_state: int) -> Rows:
    """So many rows in ascending order, or all, with the share of every class kept to one row."""
    n = len(labels)
    if n <= rows:
        return np.arange(n)
    # Every n/rows-th of them.
    return np.sort(_by_class(labels, np.random.default_rng(random_state).permutation(n))[(np.arange(rows) * n) // rows])


def _by_class(labels: np.ndarray, shuffled: Rows) -> Rows:
    return shuffled[np.argsort(np.unique(labels, return_inverse=True)[1][shuffled], kind="stable")]


def distinct_rows(points: Array) -> tuple[Rows, Rows]:
    """Numbers of the rows that differ from all before them, and for every row which of these is like it."""
    places: dict[bytes, int] = {}
    # Added to 0 the two zeros are one.
    place = np.array([places.setdefault(row.tobytes(), len(places)) for row in points + 0.0])
    return np.unique(place, return_index=True)[1], place


def first_best(scores: Array, able: Any = True) -> int:
    """The candidate of the highest mean of ``(c, n)`` scores, of those that are able; of several the first."""
    means = np.where(able, scores.mean(axis=1), -np.inf)
    # Means that should be equal differ by rounding.
    return int(np.argmax(means >= means.max() - 1e-12))


def validated(
    found: Iterable[Sequence[Trial]], folds: int, progress: bool, what: str
) -> tuple[dict[str, Array], Array]:
    """``(c, folds)`` scores by name, and gaps, of folds that come one by one as the trials of all candidates."""
    trials = []
    with progress_bar(progress) as bar:
        task = bar.add_task(what, total=folds)
        for fold in found:
            trials.append(fold)
            bar.advance(task)
    scores = {name: np.array([[one[name] for one, _ in fold] for fold in trials]).T for name in trials[0][0][0]}
    return scores, np.array([[gap for _, gap in fold] for fold in trials]).T


class NestedFolds:
    """Scores of every candidate, learned without one fold and without two.

    Parameters
    ----------
    fold : (n,) int array
        Fold of every item, from 0.
    before : (m, n) array
        Scores of every item by the first candidate, which is not learned; the first of m measures decides.
    candidates : sequence
        All candidates, with that one.
    choice : bool
        Whether there is anything to choose; otherwise there are two candidates, and the second is taken.
    """

    def __init__(self, fold: Rows, before: Array, candidates: Sequence[Any], choice: bool = True) -> None:
        self.fold, self.folds, self.candidates, self.choice = fold, int(fold.max()) + 1, candidates, choice
        #: By candidate, measure and item, learned without the item's fold.
        self.alone = np.zeros((len(candidates), *before.shape))
        #: By fold, candidate and item: the measure that decides, learned without either fold.
        self.inner = np.zeros((self.folds, len(candidates), len(fold)))
        self.alone[0], self.inner[:, 0] = before, before[0]
        #: Candidates that may be chosen, and the largest gaps of their solves.
        self.able, self.gaps = np.ones(len(candidates), dtype=bool), np.zeros(len(candidates))
        #: Solves in all, and those that are done.
        self.solves, self.done = len(self.left_out) * (len(candidates) - 1), 0

    @property
    def left_out(self) -> list[tuple[int, ...]]:
        """The folds to learn without, those in pairs first."""
        pairs: list[tuple[int, ...]] = [*combinations(range(self.folds), 2)] if self.choice else []
        return [*pairs, *((j,) for j in range(self.folds))]

    def without(self, out: tuple[int, ...]) -> Rows:
        """The items to learn from."""
        return np.flatnonzero(~np.isin(self.fold, out))

    def learned(self, out: tuple[int, ...]) -> Iterable[tuple[int, float, Callable[[Rows], Array]]]:
        """Candidates learned without some folds, one by one, with the gap and the ``(m, rows)`` scores of items."""
        raise NotImplementedError

    def scored(self, progress: bool, what: str) -> Self:
        """Learn and score every candidate without all of :attr:`left_out`.

        Raises
        ------
        OutOfTime
            If there is no time for all; of :attr:`solves` some are :attr:`done`.
        """
        with progress_bar(progress) as bar, warnings.catch_warnings():
            # Gaps are kept.
            warnings.simplefilter("ignore", GapWarning)
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
        """Keep the ``(m, rows)`` scores of the items left out, by a candidate learned without them."""
        for one, other in zip(out, out[::-1], strict=True):
            rows = np.flatnonzero(self.fold == one)
            if len(out) == 1:
                self.alone[candidate][:, rows] = scores(rows)
            else:
                self.inner[other, candidate, rows] = scores(rows)[0]

    def best(self) -> int:
        """The candidate for all items."""
        return self.first_best(self.alone[:, 0]) if self.choice else 1

    def choices(self) -> list[int]:
        """The candidate for every fold, chosen without it."""
        if not self.choice:
            return [1] * self.folds
        return [self.first_best(self.inner[j][:, self.fold != j]) for j in range(self.folds)]

    def first_best(self, scores: Array) -> int:
        """The candidate that ``(c, n)`` scores speak for."""
        return first_best(scores, self.able)

    def chosen(self) -> tuple[Array, Array]:
        """``(m, n)`` scores of every item by the first candidate, and by the choice for its fold."""
        by_fold = np.array(self.choices())[self.fold]
        return self.alone[0], self.alone[by_fold, :, np.arange(len(self.fold))].T


def progress_bar(shown: bool) -> Bar:
    """A bar on standard error that goes when it is done; nothing where it is not to be shown."""
    from rich.console import Console
    from rich.progress import Progress as Bar

    return Bar(console=Console(stderr=True), transient=True, disable=not shown)
