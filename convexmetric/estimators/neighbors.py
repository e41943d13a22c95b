r"""A metric for nearest neighbours that stays near the Euclidean one, and is kept only if held-out rows favour it.

.. math:: \min_{M \succeq 0} \; \frac{\lambda}{2} \|M - s I\|_F^2
   + \frac{1}{|S|} \sum_{(i,j,k) \in S} \max(0, D_M(i, j) - D_M(i, k) + 1)

over the triplets of every point i with its nearest points j of the same label and k of other labels, by Euclidean
distance (:class:`~convexmetric.TripletProblem`). Under the prior :math:`s I` distances are those of the points times s:
s is ``scale`` times ten over the median squared distance of two points, so that margins of 1 are a tenth of a usual
distance at scale 1. :math:`\lambda` is ``strength`` times a hundredth of :attr:`TripletProblem.reg_max
<convexmetric.TripletProblem.reg_max>`.

With more than a hundred features, the metric is learned on the hundred leading principal components.

Scale and strength, and whether to leave Euclidean distance at all, are chosen on rows held out from learning; the rows
of each fold are then scored by a choice made without them (``selection/folds.py``). The paired test over rows treats
the learned metrics as fixed: it generalises to other rows of the same kind, not to other training sets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from typing import Any, Self

import numpy as np

from convexmetric.arguments import check_count, check_one_of, check_share, checked_weight
from convexmetric.arrays import Array
from convexmetric.comparisons.points import Checked
from convexmetric.deadline import OutOfTime
from convexmetric.errors import InputError
from convexmetric.estimators.base import has_class_mate, parameters
from convexmetric.estimators.classifier import NeighborClassifier
from convexmetric.features import make_projection
from convexmetric.papers import TripletProblem
from convexmetric.selection import HeldOut, Validation, solve_path
from convexmetric.selection.folds import NestedFolds, Rows, dealt, distinct_rows, stratified_sample
from convexmetric.selection.records import LARGEST_GAP
from convexmetric.selection.rows import discriminant_scores, factor_of, paired, row_scores

#: Scales, and strengths from the strongest prior on, that are tried by default.
SCALES, STRENGTHS = (0.3, 1.0, 3.0), (10.0, 1.0, 0.1)
#: Scale and strength that stand for Euclidean distance: the prior is so strong that it is the optimum to rounding.
EUCLIDEAN = 1.0, 1e12
#: Certified relative gaps of the solves that choose a candidate, and of those that score the choice.
CHOICE_TOL, SCORE_TOL = 0.2, 1e-2
#: Absolute gap at which a solve stops as well: an objective below this counts as zero.
ZERO = 1e-9
#: Largest number of features; beyond it the metric is learned on as many principal components.
MOST_FEATURES = 100
#: Share of a limit on time for the folds; the last solve has the rest.
FOLDS_SHARE = 0.7
#: Number of random pairs of points from which the median distance is estimated.
SAMPLED_PAIRS = 10_000
SCORINGS = ("accuracy", "auc")


@parameters
class NeighborMetric(NeighborClassifier):
    """A metric for nearest neighbours that is kept only where it does better than Euclidean distance.

    Parameters
    ----------
    n_neighbors : int
        Number of nearest points of the same label, and of other labels, in the triplets of a point; also the k of the
        accuracy used in the choice, and of :meth:`predict`.
    scoring : str
        Score used in the choice: ``"accuracy"`` of nearest neighbours, or ``"auc"`` of retrieval by label, as
        in :class:`~convexmetric.selection.HeldOut`.
    scale, strength : float or sequence of float
        Values to try, in the units of the module's formula. A single scale and a single strength are taken as they
        are, and their metric is kept.
    cv : int
        Folds of the rows, stratified by label; 3 at least where there is a choice.
    max_rows : int
        Choose by a stratified sample of so many rows.
    tol : float
        Certified relative gap at which the last solve stops; those that choose stop at 0.2, and
        those that score the choice at 0.01.
    max_seconds : float, optional
        Time limit of the whole fit, 70% of it for the choice.
    solver, max_iter
        As for :func:`~convexmetric.solve`, of the last solve.
    progress : bool
        Show progress on standard error.
    random_state : int, RandomState, Generator or None
        Seed or generator for folds and samples; None draws anew.
    preprocessor : (n, d) array or callable, optional
        Points that indices refer to.
    n_components : int, "rank" or None
        Rows of ``components_``, as for :class:`LargeMargin`.

    Attributes
    ----------
    kept_ : bool
        Whether the metric is a learned one; otherwise it is Euclidean distance times a constant.
    path_ : Validation or None
        Scores of the candidates; None where there was nothing to choose, or no time. Gaps are those of solves that a
        limit ended, else 0; a candidate with one above 0.5 is not chosen.
    held_out_ : HeldOut or None
        Out-of-fold scores of every row, Euclidean and learned.
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

    #: Where the prior satisfies all margins of 1 the optimum is zero, for which a relative gap is not defined.
    _atol = ZERO

    n_neighbors: int = 3
    scoring: str = "accuracy"
    scale: float | Sequence[float] = SCALES
    strength: float | Sequence[float] = STRENGTHS
    cv: int = 4
    max_rows: int = 1000

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
        self.path_: Validation | None = None
        self.held_out_: HeldOut | None = None
        self.reason_ = ""
        best, interrupted = candidates[0], False
        # First of all, so that the choice cannot use up the time in which to state the last problem.
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
        self._keep_voters(points, labels)
        if interrupted:
            raise KeyboardInterrupt
        return self._finished()

    def _stated(self, X: Any, y: Any, rng: np.random.Generator, sample_weight: Any = None) -> TripletProblem:
        candidates = self._candidates()
        if len(candidates) > 1:
            raise InputError(f"fit chooses among {len(candidates)} scales and strengths: give one of each to state it")
        points, labels = self._labelled(X, y)
        return _with(_base(points, labels, self.n_neighbors), *candidates[0])

    def _stay_euclidean(self, points: Array) -> None:
        """Set ``components_`` to the prior: a multiple of the identity on all features, zero for constant ones."""
        prior = self.solution_.problem.regularizer.base.prior
        assert prior is not None
        if self.n_components is None or len(self.components_) == points.shape[1]:
            self.components_ = np.sqrt(prior.max()) * np.diag((np.ptp(points, axis=0) > 0.0).astype(np.float64))

    def _labelled(self, X: Any, y: Any) -> tuple[Array, np.ndarray]:
        points, labels, _ = self._with_class_mates(self._points(X, reset=True), y, None)
        if np.unique(labels).size < 2:
            raise InputError("y has one class only, so that there is nothing to tell apart")
        return points, self._coded(labels)

    def _candidates(self) -> list[tuple[float, float]]:
        """Pairs (scale, strength) to try; strengths of each scale go from the strongest prior on."""
        check_count(self.n_neighbors, "n_neighbors")
        check_count(self.max_rows, "max_rows")
        check_share(self.tol, "tol")
        check_one_of(self.scoring, SCORINGS, "scoring")
        scales, strengths = (
            sorted({checked_weight(one, name) for one in (given if isinstance(given, Iterable) else [given])})
            for name, given in (("scale", self.scale), ("strength", self.strength))
        )
        if not scales or not strengths:
            raise InputError(f"{'strength' if scales else 'scale'} is empty; give at least one to try")
        return list(product(scales, strengths[::-1]))

    def _chosen(
        self, points: Array, labels: np.ndarray, rng: np.random.Generator, candidates: list[tuple[float, float]]
    ) -> tuple[float, float]:
        """Choose the best candidate by held-out rows; sets ``path_``, ``held_out_`` and ``reason_``."""
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
        try:
            with clock.until(FOLDS_SHARE):
                folds.scored(bool(self.progress), "held-out rows")
        except OutOfTime:
            needed = (clock.spent - begun) * folds.solves / max(folds.done, 1)
            about = "about" if folds.done else "more than"
            self.reason_ = f"not enough time: choosing scale and strength takes {about} {needed:.0f} s"
            return candidates[0]
        except InputError as error:
            self.reason_ = f"there are too few rows for folds: {error}"
            return candidates[0]
        index, means = folds.best_of_pairs()
        score = "AUC" if self.scoring == "auc" else f"{self.n_neighbors}-NN accuracy"
        tried = tuple(candidates), {score: means[:, None]}, folds.gaps[:, None], index, len(y), len(labels)
        self.path_ = Validation(("scale", "strength"), *tried, clock.spent, unlearned="Euclidean distance")
        self.held_out_ = folds.held_out(clock.spent)
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
        self.points, self.labels, self.clock = points, labels, estimator._clock
        self.k = estimator.n_neighbors
        #: Order of the scores of rows, with the deciding one first; a permutation that is its own inverse.
        self.order = [1, 0, 2] if estimator.scoring == "auc" else [0, 1, 2]
        super().__init__(fold, np.zeros((3, len(labels))), candidates)
        # Learning without a single fold solves only for the candidate chosen for it.
        self.solves -= self.folds * (len(candidates) - 2)
        #: Scores of rows by linear discriminant analysis, learned without their fold.
        self.discriminant = np.zeros((3, len(labels)))

    def learned(self, out: tuple[int, ...]) -> Iterator[tuple[int, float, Callable[[Rows], Array]]]:
        """Solve a path over strengths for each scale, without the folds ``out``; yields as in the base class."""
        learn, wanted, tol = self.without(out), list(range(1, len(self.candidates))), CHOICE_TOL
        A, y = self.points[learn], self.labels[learn]
        self.score(0, out, self._scores(self.points, learn, out))
        if len(out) == 1:
            self.able = self.gaps <= LARGEST_GAP
            wanted, tol = [at for at in [self.choices()[out[0]]] if at], SCORE_TOL
            rows = np.flatnonzero(self.fold == out[0])
            self.discriminant[:, rows] = discriminant_scores(A, y, self.points[rows], self.labels[rows], self.k)
        if not wanted:
            return
        company = has_class_mate(y)
        base = _base(A[company], y[company], self.k)
        for scale in sorted({self.candidates[at][0] for at in wanted}):
            places = [at for at in wanted if self.candidates[at][0] == scale]
            reg = [self.candidates[at][1] * base.reg for at in places]
            limit = self.clock.left(FOLDS_SHARE, self.solves - self.done)
            found = solve_path(base.with_prior(_prior(base, scale)), reg=reg, tol=tol, atol=ZERO, max_seconds=limit)
            for at, solution in zip(places, found, strict=True):
                gap = solution.gap if solution.status != "optimal" else 0.0
                yield at, gap, self._scores(self.points @ factor_of(solution).T, learn, out)

    def _scores(self, Z: Array, learn: Rows, out: tuple[int, ...]) -> Callable[[Rows], Array]:
        # Rankings are scored for all candidates only where they choose: sorting takes longer than a solve.
        retrieval = self.order[0] == 1 or len(out) == 1

        def scores(rows: Rows) -> Array:
            return row_scores(Z[learn], self.labels[learn], Z[rows], self.labels[rows], self.k, retrieval)[self.order]

        return scores

    def best_of_pairs(self) -> tuple[int, Array]:
        """Choose the candidate for all rows; also returns the mean scores of all, learned without two folds each."""
        scores = self.inner.sum(axis=0) / (self.folds - 1)
        return self.first_best(scores), np.asarray(scores.mean(axis=1))

    def first_best(self, scores: Array) -> int:
        """Choose the best mean score, or Euclidean distance if the gain is within one standard error over rows."""
        best = super().first_best(scores)
        gains = scores[best] - scores[0]
        return best if gains.mean() > gains.std() / np.sqrt(gains.size) else 0

    def held_out(self, seconds: float) -> HeldOut:
        """Scores of every row by Euclidean distance, and by the choice for its fold."""
        before, after = (scores[self.order] for scores in self.chosen())
        # Average precision is zero only for rows whose label no other row has.
        scores = paired(np.array([before, after, self.discriminant]), 0.0, before[2] > 0.0)
        rows = len(self.labels)
        copies = rows - len(distinct_rows(self.points)[0])
        return HeldOut(*scores, self.k, rows, self.folds, self.folds, seconds, copies=copies)


def _base(points: Array, labels: np.ndarray, k: int) -> TripletProblem:
    """State the triplet problem without a prior, with the lambda of strength 1."""
    n, d = points.shape
    r = min(MOST_FEATURES, n - 1)
    projection = (
        make_projection("pca", points, r, random_state=np.random.default_rng(0)) if r < d > MOST_FEATURES else None
    )
    problem = TripletProblem.from_labels(Checked(points), labels, n_same=k, n_other=k, projection=projection)
    return problem.with_reg(0.01 * (problem.reg_max or 1.0))


def _with(base: TripletProblem, scale: float, strength: float) -> TripletProblem:
    """State the problem of a candidate: the base problem with prior ``s I`` and its lambda."""
    return base.with_reg(strength * base.reg).with_prior(_prior(base, scale))


def _prior(problem: TripletProblem, scale: float) -> Array:
    """Prior ``s I``, with zeros for features that do not vary, as nothing is known of them."""
    points = problem.rankings.X
    i, j = np.random.default_rng(0).integers(len(points), size=(2, SAMPLED_PAIRS))
    squared = ((points[i] - points[j]) ** 2).sum(axis=1)
    apart = squared[squared > 0.0]
    size = 10.0 * scale / float(np.median(apart)) if apart.size else 1.0
    return size * np.diag((np.ptp(points, axis=0) > 0.0).astype(np.float64))
