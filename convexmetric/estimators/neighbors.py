r"""A metric for nearest neighbours that stays near the Euclidean one, and is kept only if held-out rows say so.

.. math:: \min_{M \succeq 0} \; \frac{\lambda}{2} \|M - s I\|_F^2
   + \frac{1}{|S|} \sum_{(i,j,k) \in S} \max(0, D_M(i, j) - D_M(i, k) + 1)

over the triplets of every point i with its nearest points j of the same label and k of other labels, by Euclidean
distance (:class:`~convexmetric.TripletProblem`). Under the prior :math:`s I` distances are those of the points times s:
s is ``scale`` times ten over the median squared distance of two points, so that margins of 1 are a tenth of a usual
distance at scale 1. :math:`\lambda` is ``strength`` times a hundredth of :attr:`TripletProblem.reg_max
<convexmetric.TripletProblem.reg_max>`.

Of more than a hundred features the metric is learned on the hundred leading principal components.

Scale and strength, and whether to leave Euclidean distance at all, are chosen by rows that the metric has not seen; the
rows of each fold are then scored by a choice that has not seen them either (``estimators/choosing.py``).
The paired test over rows takes the learned metrics as given: it speaks of other rows of the same kind, not of other
training sets.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Self

import numpy as np

from convexmetric.arguments import check_count, check_share, checked_weight, not_one_of
from convexmetric.arrays import Array
from convexmetric.comparisons.points import Checked
from convexmetric.deadline import Clock, OutOfTime, check_deadline
from convexmetric.errors import GapWarning, InputError
from convexmetric.estimators.base import has_class_mate
from convexmetric.estimators.choosing import NestedFolds, Rows
from convexmetric.estimators.held_out_rows import (
    LARGEST_GAP,
    HeldOut,
    PairedScores,
    dealt,
    discriminant_scores,
    distinct_rows,
    row_scores,
)
from convexmetric.estimators.large_margin import NeighborEstimator
from convexmetric.estimators.weight_search import stratified_sample
from convexmetric.features import make_projection
from convexmetric.model_selection import progress_bar
from convexmetric.notebooks import facts_table
from convexmetric.papers import TripletProblem
from convexmetric.solution import Solution
from convexmetric.solvers import solve_path

__all__ = ["NeighborMetric", "NeighborPath"]

#: What is tried, from the strongest prior on.
SCALES, STRENGTHS = (0.3, 1.0, 3.0), (10.0, 1.0, 0.1)
#: Euclidean distance as a scale and a strength: the optimum is the prior to the last digits.
EUCLIDEAN = 1.0, 1e12
#: Certified relative gaps of the solves that choose, and of those that score what was chosen.
CHOICE_TOL, SCORE_TOL = 0.2, 1e-2
#: Objectives below this are zero.
ZERO = 1e-9
#: Features beyond which a metric is learned on so many principal components.
MOST_FEATURES = 100
#: Share of a limit on time for the folds; the last solve has the rest.
FOLDS_SHARE = 0.7
#: Pairs of points of which the median distance is taken.
SAMPLED_PAIRS = 10_000
SCORINGS = ("accuracy", "map")


@dataclass(frozen=True, repr=False)
class NeighborPath:
    """Scales and strengths that were tried, and how held-out rows fared.

    Attributes
    ----------
    candidates : tuple of (float, float)
        Scale and strength; the first is Euclidean distance.
    mean : (c,) array
        Score of the rows held out.
    gaps : (c,) array
        Largest certified relative gap of the solves that a limit ended, else 0; a candidate with one above 0.5 is not
        chosen.
    index : int
        Place of the one chosen.
    scoring : str
        What the score is.
    rows, of_rows : int
        Rows that were used, a stratified sample where there were more.
    seconds : float
        Wall time.
    """

    candidates: tuple[tuple[float, float], ...]
    mean: Array
    gaps: Array
    index: int
    scoring: str
    rows: int
    of_rows: int
    seconds: float = field(compare=False)

    @property
    def best(self) -> tuple[float, float]:
        """Scale and strength chosen."""
        return self.candidates[self.index]

    @property
    def settings(self) -> dict[str, float]:
        """Parameters that state what was chosen."""
        return dict(zip(("scale", "strength"), self.best, strict=True))

    def heading(self) -> str:
        """What was chosen, in a line."""
        of = "" if self.rows == self.of_rows else f", a stratified sample of {self.of_rows}"
        return f"{_called(self.best)}, chosen by {self.scoring} of held-out rows ({self.rows} rows{of})"

    def cells(self) -> list[tuple[str, str, str]]:
        """Candidate, score and remark, as text."""
        remarks = ["chosen" if at == self.index else "" for at in range(len(self.candidates))]
        return [
            (_called(one), f"{mean:.4f}" if gap <= LARGEST_GAP else "not solved in time", remark)
            for one, mean, gap, remark in zip(self.candidates, self.mean, self.gaps, remarks, strict=True)
        ]

    def __repr__(self) -> str:
        return f"<NeighborPath: {self.heading()}>"

    def __str__(self) -> str:
        return "\n".join([self.heading(), *(f"{one:>26}  {mean}  {note}".rstrip() for one, mean, note in self.cells())])

    def _repr_html_(self) -> str:
        return facts_table(self.heading(), [(one, f"{mean} {note}") for one, mean, note in self.cells()])


class NeighborMetric(NeighborEstimator):
    """A metric for nearest neighbours that is kept only where it does better than Euclidean distance.

    Parameters
    ----------
    n_neighbors : int
        Nearest points of the same label, and of other labels, that make the triplets of a point; also the k of the
        accuracy that chooses, and of :meth:`score`.
    scoring : str
        What chooses: ``"accuracy"`` of nearest neighbours, or ``"map"``, mean average precision of retrieval by label.
    scale, strength : float or sequence of float
        What to try (the module has the units). A single scale and a single strength are taken as they are, and their
        metric is kept.
    cv : int
        Folds of the rows, stratified by label; 3 at least where there is a choice.
    max_rows : int
        Choose by a stratified sample of so many rows.
    tol : float
        Certified relative gap at which the last solve stops; those that choose stop at 0.2, and
        those that score the choice at 0.01.
    max_seconds : float, optional
        Limit for all of it, 70% of it for the choice.
    solver, max_iter
        As for :func:`~convexmetric.solve`, of the last solve.
    verbose : bool
        Show progress on standard error.
    random_state : int, RandomState, Generator or None
        Of folds and samples; None draws anew.
    preprocessor : (n, d) array or callable, optional
        What indices point into.
    n_components : int, "rank" or None
        Rows of ``components_``, as for :class:`LargeMargin`.

    Attributes
    ----------
    kept_ : bool
        Whether the metric is a learned one; otherwise it is Euclidean distance times a constant.
    path_ : NeighborPath or None
        What was tried; None where nothing was to choose, or there was no time.
    held_out_ : HeldOut or None
        Scores of every row before and after, by metrics that have not seen it.
    reason_ : str
        Why there are no scores; empty where there are.

    Examples
    --------
    >>> import convexmetric as cm
    >>> data = cm.datasets.load("wine")
    >>> X = cm.datasets.preprocess(data.X, ["zscore"])
    >>> metric = cm.NeighborMetric().fit(X, data.y)
    >>> metric.kept_, metric.gap_ <= 1e-4
    (True, True)
    """

    #: Margins are 1: where the prior keeps them all the optimum is zero, which has no relative gap.
    _atol = ZERO

    def __init__(
        self,
        n_neighbors: int = 3,
        scoring: str = "accuracy",
        scale: float | Sequence[float] = SCALES,
        strength: float | Sequence[float] = STRENGTHS,
        cv: int = 4,
        max_rows: int = 1000,
        solver: Any = "exact",
        tol: float = 1e-4,
        max_iter: int | None = None,
        max_seconds: float | None = None,
        verbose: bool | int = False,
        random_state: Any = 0,
        preprocessor: Any = None,
        n_components: int | str | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.scoring = scoring
        self.scale = scale
        self.strength = strength
        self.cv = cv
        self.max_rows = max_rows
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.verbose = verbose
        self.random_state = random_state
        self.preprocessor = preprocessor
        self.n_components = n_components

    @property
    def chooses(self) -> bool:
        """Whether :meth:`fit` has several candidates to choose from, and scores the choice."""
        return len(self._candidates()) > 1

    def fit(self, X: Any, y: Any = None) -> Self:
        """Choose, test, and learn from all rows.

        Points whose label no other point has are left out, with a warning.

        Parameters
        ----------
        X : (n, d) array, or (n,) indices with a ``preprocessor``
        y : (n,) array
            Labels.

        Raises
        ------
        InputError
            If an argument or a parameter is malformed, or there is one class only.
        KeyboardInterrupt
            At Ctrl-C. In the last solve the estimator is fitted all the same, with the best metric so far.
        """
        rng = self._begin()
        candidates = self._candidates()
        points, labels = self._labelled(X, y)
        self.path_: NeighborPath | None = None
        self.held_out_: HeldOut | None = None
        self.reason_ = ""
        best, interrupted = candidates[0], False
        # First, so that the choice has no time that the last solve needs to begin.
        base = _base(points, labels, self.n_neighbors)
        if len(candidates) > 1:
            try:
                best = self._chosen(points, labels, rng, [EUCLIDEAN, *candidates])
            except KeyboardInterrupt:
                best, interrupted = EUCLIDEAN, True
                self.reason_ = "interrupted while scale and strength were chosen"
        self.kept_ = best != EUCLIDEAN
        self._learn(_with(base, *best), rng)
        if not self.kept_:
            self._stay_euclidean(points)
        if interrupted:
            raise KeyboardInterrupt
        return self._finished()

    def _stated(
        self, X: Any, y: Any, rng: np.random.Generator, sample_weight: Any = None
    ) -> tuple[TripletProblem, None]:
        candidates = self._candidates()
        if len(candidates) > 1:
            raise InputError(f"fit chooses among {len(candidates)} scales and strengths: give one of each to state it")
        points, labels = self._labelled(X, y)
        return _with(_base(points, labels, self.n_neighbors), *candidates[0]), None

    def _stay_euclidean(self, points: Array) -> None:
        """Set the components to the prior, in the features' own directions; of more than are learned on, all."""
        prior = self.solution_.problem.regularizer.base.prior
        assert prior is not None
        if self.n_components is None or len(self.components_) == points.shape[1]:
            self.components_ = np.sqrt(prior.max()) * np.diag((np.ptp(points, axis=0) > 0.0).astype(np.float64))

    def _labelled(self, X: Any, y: Any) -> tuple[Array, np.ndarray]:
        points, labels, _ = self._with_class_mates(self._points(X, reset=True), y, None)
        if np.unique(labels).size < 2:
            raise InputError("y has one class only, so that there is nothing to tell apart")
        return points, np.unique(labels, return_inverse=True)[1]

    def _candidates(self) -> list[tuple[float, float]]:
        """Scales and strengths to try, from the simplest metric on for every scale."""
        check_count(self.n_neighbors, "n_neighbors")
        check_count(self.max_rows, "max_rows")
        check_share(self.tol, "tol")
        if self.scoring not in SCORINGS:
            raise InputError(not_one_of("scoring", SCORINGS, self.scoring))
        scales, strengths = (
            sorted({checked_weight(one, name) for one in (given if isinstance(given, Iterable) else [given])})
            for name, given in (("scale", self.scale), ("strength", self.strength))
        )
        if not scales or not strengths:
            raise InputError(f"{'strength' if scales else 'scale'} is empty; give at least one to try")
        return list(product(scales, strengths[::-1]))

    def _chosen(
        self,
        points: Array,
        labels: np.ndarray,
        rng: np.random.Generator,
        candidates: list[tuple[float, float]],
    ) -> tuple[float, float]:
        """The best candidate; sets what is known of it."""
        clock, begun, seed = self._clock, self._clock.spent, int(rng.integers(2**31))
        kept = stratified_sample(labels, self.max_rows, seed)
        A, y = points[kept], labels[kept]
        fold = np.empty(len(y), dtype=np.int64)
        check_count(self.cv, "cv")
        different = distinct_rows(A)[0]
        largest = int(np.unique(y[different], return_counts=True)[1].max())
        if largest < 3:
            self.reason_ = "no label has three different rows, and scores need as many"
            return candidates[0]
        if self.cv < 3:
            raise InputError(f"cv must be at least 3, got {self.cv}")
        for j, (_, rest) in enumerate(dealt(A, y, min(self.cv, largest), 1, seed)):
            fold[rest] = j
        folds = _Folds(self, A, y, fold, candidates)
        with warnings.catch_warnings():
            # Gaps are in the path.
            warnings.simplefilter("ignore", GapWarning)
            try:
                with clock.until(FOLDS_SHARE):
                    folds.scored(clock, bool(self.verbose))
            except OutOfTime:
                needed = (clock.spent - begun) * folds.solves / max(folds.done, 1)
                about = "about" if folds.done else "more than"
                self.reason_ = f"not enough time: choosing scale and strength takes {about} {needed:.0f} s"
                return candidates[0]
            except InputError as error:
                self.reason_ = f"there are too few rows for folds: {error}"
                return candidates[0]
        index, means = folds.best_of_pairs()
        scoring = "MAP" if self.scoring == "map" else f"{self.n_neighbors}-NN accuracy"
        tried = tuple(candidates), means, folds.gaps, index, scoring, len(y), len(labels)
        self.path_, self.held_out_ = NeighborPath(*tried, clock.spent), folds.held_out(clock.spent)
        return candidates[index]


class _Folds(NestedFolds):
    """Scores of every candidate on held-out rows; Euclidean distance is the first."""

    def __init__(
        self,
        estimator: NeighborMetric,
        points: Array,
        labels: np.ndarray,
        fold: Rows,
        candidates: list[tuple[float, float]],
    ) -> None:
        self.points, self.labels, self.candidates = points, labels, candidates
        self.k, self.by_map = estimator.n_neighbors, estimator.scoring == "map"
        super().__init__(fold, np.zeros((2, len(labels))), len(candidates))
        self.gaps = np.zeros(len(candidates))
        #: Scores of discriminant analysis, learned without the rows' fold.
        self.discriminant = np.zeros((2, len(labels)))

    def scored(self, clock: Clock, verbose: bool) -> None:
        """Learn every candidate without two folds, and without one what was chosen for it.

        Raises
        ------
        OutOfTime
            If there is no time for all; of :attr:`solves` some are :attr:`done`.
        """
        pairs, alone = [out for out in self.left_out if len(out) == 2], len(self.candidates) - 1
        self.solves, self.done = len(pairs) * alone + self.folds, 0
        with progress_bar(verbose) as bar:
            shown = bar.add_task("held-out rows", total=self.solves)
            for out in self.left_out:
                learn = self.without(out)
                self._score(0, out, self.points)
                wanted = list(range(1, len(self.candidates)))
                if len(out) == 1:
                    self.able = self.gaps <= LARGEST_GAP
                    wanted = [at for at in [self.choices()[out[0]]] if at]
                    self._analysed(learn, out[0])
                tol = CHOICE_TOL if len(out) == 2 else SCORE_TOL
                for at, solution in self._path(learn, wanted, tol, clock, self.solves - self.done):
                    check_deadline()
                    self.gaps[at] = max(self.gaps[at], solution.gap if solution.status != "optimal" else 0.0)
                    # The metric zero has no components.
                    L = solution.components if solution.rank else np.zeros((1, solution.components.shape[1]))
                    self._score(at, out, self.points @ L.T)
                    self.done += 1
                    bar.advance(shown)

    def _path(
        self, learn: Rows, wanted: Sequence[int], tol: float, clock: Clock, left: int
    ) -> Iterator[tuple[int, Solution]]:
        """Solutions on some rows, for every scale along the strengths."""
        if not wanted:
            return
        A, y = self.points[learn], self.labels[learn]
        company = has_class_mate(y)
        base = _base(A[company], y[company], self.k)
        for scale in sorted({self.candidates[at][0] for at in wanted}):
            places = [at for at in wanted if self.candidates[at][0] == scale]
            reg = [self.candidates[at][1] * base.reg for at in places]
            limit = clock.left(FOLDS_SHARE, left)
            left -= len(places)
            found = solve_path(base.with_prior(_prior(base, scale)), reg=reg, tol=tol, atol=ZERO, max_seconds=limit)
            yield from zip(places, found, strict=True)

    def _score(self, at: int, out: tuple[int, ...], Z: Array) -> None:
        learn = self.without(out)
        # Average precision of all candidates only where it decides: sorting takes more than a solve.
        retrieval = self.by_map or len(out) == 1

        def scores(rows: Rows) -> Array:
            found = row_scores(Z[learn], self.labels[learn], Z[rows], self.labels[rows], self.k, retrieval)
            return found[::-1] if self.by_map else found

        self.score(at, out, scores)

    def _analysed(self, learn: Rows, fold: int) -> None:
        rows = np.flatnonzero(self.fold == fold)
        learned, asked = (self.points[learn], self.labels[learn]), (self.points[rows], self.labels[rows])
        self.discriminant[:, rows] = discriminant_scores(*learned, *asked, self.k)

    def best_of_pairs(self) -> tuple[int, Array]:
        """The candidate for all rows, and the mean scores of all candidates by metrics learned without two folds."""
        scores = self.inner.sum(axis=0) / (self.folds - 1)
        return self.first_best(scores), np.asarray(scores.mean(axis=1))

    def first_best(self, scores: Array) -> int:
        """The best mean; Euclidean distance where that is better by less than a standard error over rows."""
        best = super().first_best(scores)
        gains = scores[best] - scores[0]
        return best if gains.mean() > gains.std() / np.sqrt(gains.size) else 0

    def held_out(self, seconds: float) -> HeldOut:
        """Scores of every row by Euclidean distance, and by the choice for its fold."""
        before, after = (scores[::-1] if self.by_map else scores for scores in self.chosen())
        # Precision is zero only of rows without another of their label to find.
        known = before[1] > 0.0
        accuracy = PairedScores(before[0], after[0], 0.0)
        retrieval = PairedScores(before[1, known], after[1, known], 0.0)
        lda = float(self.discriminant[0].mean()), float(self.discriminant[1, known].mean())
        copies = len(known) - len(distinct_rows(self.points)[0])
        return HeldOut(accuracy, retrieval, self.k, len(known), self.folds, self.folds, seconds, lda, copies=copies)


def _base(points: Array, labels: np.ndarray, k: int) -> TripletProblem:
    """The problem without a prior, with the lambda of strength 1."""
    n, d = points.shape
    r = min(MOST_FEATURES, n - 1)
    projection = make_projection("pca", points, r, np.random.default_rng(0)) if r < d > MOST_FEATURES else None
    problem = TripletProblem.from_labels(Checked(points), labels, k, k, projection=projection)
    return problem.with_reg(0.01 * (problem.reg_max or 1.0))


def _with(base: TripletProblem, scale: float, strength: float) -> TripletProblem:
    """The problem of a candidate."""
    return base.with_reg(strength * base.reg).with_prior(_prior(base, scale))


def _prior(problem: TripletProblem, scale: float) -> Array:
    """``s I``, without the features that do not vary: nothing is known of them."""
    points = problem.rankings.X
    i, j = np.random.default_rng(0).integers(len(points), size=(2, SAMPLED_PAIRS))
    squared = ((points[i] - points[j]) ** 2).sum(axis=1)
    apart = squared[squared > 0.0]
    size = 10.0 * scale / float(np.median(apart)) if apart.size else 1.0
    return size * np.diag((np.ptp(points, axis=0) > 0.0).astype(np.float64))


def _called(candidate: tuple[float, float]) -> str:
    scale, strength = candidate
    return f"scale = {scale:g}, strength = {strength:g}" if candidate != EUCLIDEAN else "Euclidean distance"
