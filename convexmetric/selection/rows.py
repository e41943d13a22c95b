"""Scores of a learned metric on held-out rows, nearest neighbours and retrieval, compared with Euclidean distance.

Every fold is scored by Euclidean distance of the features, of the output of a transformer, and of the coordinates of
linear discriminant analysis; the first two are paired
(``selection/records.py`` has the test).
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from convexmetric.arguments import check_count, check_flag, check_seconds
from convexmetric.arrays import Array
from convexmetric.comparisons import Rankings, Relevance
from convexmetric.comparisons.points import as_points
from convexmetric.comparisons.relevance import as_labels
from convexmetric.cones import NonnegativeDiagonal
from convexmetric.deadline import Clock, OutOfTime
from convexmetric.errors import InputError
from convexmetric.evaluation import knn_right, query_scores
from convexmetric.measures import measure_named
from convexmetric.selection.folds import Rows, dealt, distinct_rows, progress_bar
from convexmetric.selection.records import LARGEST_GAP, HeldOut, PairedScores
from convexmetric.solution import Solution


def held_out(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    cv: Any = 5,
    repeats: int = 2,
    n_neighbors: int = 3,
    scale: bool = True,
    max_seconds: float | None = None,
    progress: bool = False,
    random_state: int = 0,
) -> HeldOut:
    """Cross-validated accuracy of nearest neighbours, and retrieval, before and after a transformer.

    Whether retrieval is better is decided by AUC, with a mean that is 1/2 for labels at random whatever the metric.
    Mean average precision is reported as well, without a verdict: it rises for labels that are noise.

    After Ctrl-C the result has the folds scored so far, if there are any, and records the interruption.

    Parameters
    ----------
    estimator : transformer
        Anything with ``fit(X, y)`` and ``transform(X)``; each fold fits a clone. A :class:`WeightSearch` chooses its
        weight anew in every fold, from its training rows alone, so that the choice does not bias the score.
    X, y : (n, d) array and (n,) labels
    cv : int or splitter
        Number of folds, stratified by label and shuffled, with identical rows in one; or a splitter of scikit-learn,
        used as it is.
    repeats : int
        How often all rows are split anew, into ``cv`` folds each.
    n_neighbors : int
        k of the accuracy.
    scale : bool
        Standardise columns by the mean and deviation of the training rows, for both distances.
    max_seconds : float, optional
        Begin no fold that is expected to end later, by the mean time of those before. The first is always scored.
    progress : bool
        Show a progress bar on standard error.
    random_state : int
        Seed of the folds.

    Returns
    -------
    HeldOut

    Raises
    ------
    InputError
        If an argument is malformed, or there are fewer classes than two, or too few rows for the folds.
    KeyboardInterrupt
        At Ctrl-C before the first fold is scored.

    See Also
    --------
    convexmetric.cross_validate : scores over a path of C.

    Examples
    --------
    >>> import convexmetric as cm
    >>> wine = cm.datasets.load("wine")
    >>> scores = cm.held_out(cm.MLR(C=10.0, tol=1e-2), wine.X, wine.y)
    >>> scores.folds, scores.retrieval.verdict
    (10, 'helps')
    """
    points = as_points(X)
    labels = as_labels(y, len(points))
    check_count(n_neighbors, "n_neighbors")
    check_flag(scale, "scale")
    check_seconds(max_seconds, "max_seconds")
    folds = dealt(points, labels, cv, repeats, random_state)
    clock, interrupted = Clock(max_seconds), False
    scored: list[Array] = []
    lda_seconds = 0.0
    with progress_bar(progress) as bar:
        task = bar.add_task("held-out folds", total=len(folds))
        try:
            for learn, rest in folds:
                if scored and max_seconds is not None and clock.spent * (1.0 + 1.0 / len(scored)) > max_seconds:
                    break
                scores, spent = _scored(estimator, points, labels, learn, rest, n_neighbors, scale)
                scored.append(scores)
                lda_seconds = max(lda_seconds, spent)
                bar.advance(task)
        except (KeyboardInterrupt, OutOfTime) as end:
            if not scored:
                raise
            interrupted = isinstance(end, KeyboardInterrupt)
    ratio = float(np.mean([len(rest) / len(learn) for learn, rest in folds[: len(scored)]]))
    accuracy, area, precision, balanced = paired(np.array(scored).transpose(1, 2, 0), ratio)
    copies = 0 if hasattr(cv, "split") else len(points) - len(distinct_rows(points)[0])
    told = len(points), len(scored), len(folds), clock.spent, interrupted, copies, balanced if unequal(labels) else None
    return HeldOut(accuracy, area, precision, n_neighbors, *told, lda_seconds=lda_seconds)


def factor_of(solution: Solution) -> Array:
    """Factor L of the metric of a solution, ``(rank, d)``; one row of zeros for the zero metric."""
    return np.asarray(solution.components) if solution.rank else np.zeros((1, solution.components.shape[1]))


def unsolved(solution: Solution) -> bool:
    """Whether a limit ended a solve with so large a gap that its metric is not scored."""
    return solution.gap > LARGEST_GAP and solution.status != "optimal"


def _scored(
    estimator: Any, points: Array, labels: np.ndarray, learn: Rows, rest: Rows, k: int, scale: bool
) -> tuple[Array, float]:
    """``(3, 4)`` means of :func:`row_scores` in a fold: before, after, and by discriminant analysis; its seconds."""
    from sklearn.base import clone
    from sklearn.preprocessing import StandardScaler

    A, B = points[learn], points[rest]
    if scale:
        scaler = StandardScaler().fit(A)
        A, B = scaler.transform(A), scaler.transform(B)
    y, asked = labels[learn], labels[rest]
    known = np.isin(asked, y)
    if not known.any():
        raise InputError("no row of a fold has a label that is learned from: let cv stratify by label")
    transformer = clone(estimator).fit(A, y)
    solution = getattr(getattr(transformer, "estimator_", transformer), "solution_", None)
    if solution is not None and unsolved(solution):
        raise InputError(
            f"not enough time: the metric of a fold ended {solution.seconds:.0f} s later with a gap of "
            f"{solution.gap:.1g}; raise max_seconds"
        )
    Z, queries = (as_points(transformer.transform(part), "transform(X)") for part in (A, B))
    lda, seconds = discriminant_scores(A, y, B, asked, k)
    found = row_scores(A, y, B, asked, k), row_scores(Z, y, queries, asked, k), lda
    means = [(s[0].mean(), *s[1:3, known].mean(axis=1), (s[0] * balance(asked)).mean()) for s in found]
    return np.array(means), seconds


def paired(
    table: Array,
    ratio: float,
    known: Any = slice(None),
    groups: Rows | None = None,
    weights: Array | None = None,
) -> tuple[PairedScores, PairedScores, PairedScores, PairedScores]:
    """Pair accuracies, areas, average precisions and balanced accuracies; rankings are those of the rows ``known``.

    The axes of the table are: before, after, discriminant analysis; score; fold or row. ``groups`` and
    ``weights`` are those of rows.
    """

    def pair(at: int, rows: Any, fixed_chance: bool = True) -> PairedScores:
        own = None if groups is None else np.unique(groups[rows], return_inverse=True)[1]
        before, after, lda = table[:, at, rows]
        return PairedScores(before, after, ratio, lda, fixed_chance, own, None if weights is None else weights[rows])

    every = slice(None)
    return pair(0, every), pair(1, known), pair(2, known, fixed_chance=False), pair(3, every)


def balance(labels: np.ndarray, weights: Array | None = None) -> Array:
    """Factors of rows, of (weighted) mean 1, by which all labels count alike."""
    codes = np.unique(labels, return_inverse=True)[1]
    counts = np.bincount(codes, weights)
    return np.asarray((counts.sum() / len(counts) / counts)[codes])


def unequal(labels: np.ndarray) -> bool:
    """Whether one label has more than twice the rows of another, so that a balanced accuracy says more."""
    counts = np.unique(labels, return_counts=True)[1]
    return bool(counts.max() > 2 * counts.min())


def row_scores(Z: Array, y: np.ndarray, queries: Array, labels: np.ndarray, k: int, ranked: int | None = None) -> Array:
    """``(4, queries)`` by row: whether the k nearest points get the label right, AUC, average precision; and a mean.

    The excess of an area under the ROC curve over 1/2 is multiplied by the number of points of other labels over its
    mean, so that the plain mean of areas is the weighted one of :class:`HeldOut`. Both scores of rankings are 0 for
    labels that no point has, and from query number ``ranked`` on. The last row is the mean of the first over 1, k,
    2k - 1 and 3k neighbours, which varies less from sample to sample.
    """
    unit, k = np.ones(Z.shape[1]), min(k, len(Z))
    found = np.zeros((4, len(labels)))
    right = knn_right(unit, Z, y, queries, labels, k=[min(at, len(Z)) for at in (1, k, 2 * k - 1, 3 * k)])
    found[0], found[3] = right[k], np.mean(list(right.values()), axis=0)
    known = np.isin(labels, y)
    known[len(known) if ranked is None else ranked :] = False
    if known.any():
        relevance = Relevance.between(labels[known], y)
        rankings = Rankings(Z, queries[known], relevance, NonnegativeDiagonal(Z.shape[1]))
        area, found[2, known] = query_scores(rankings, unit, [measure_named("auc"), measure_named("map")])
        found[1, known] = 0.5 + (area - 0.5) * relevance.n_irrelevant / relevance.n_irrelevant.mean()
    return found


def fitted_discriminant(X: Array, y: np.ndarray) -> Any:
    """Linear discriminant analysis of scikit-learn, fitted to points and labels."""
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

    # Collinear columns do not matter for the discriminant directions.
    with warnings.catch_warnings(action="ignore"):
        return LinearDiscriminantAnalysis().fit(X, y)


def discriminant_scores(
    A: Array, y: np.ndarray, B: Array, z: np.ndarray, k: int, ranked: int | None = None
) -> tuple[Array, float]:
    """:func:`row_scores` in the coordinates of linear discriminant analysis, and the seconds in which it learned."""
    clock = Clock(None)
    analysis = fitted_discriminant(A, y)
    seconds, Z = clock.spent, analysis.transform(A)
    # Where the means of all classes coincide there is no discriminant direction.
    scores = row_scores(Z, y, analysis.transform(B), z, k, ranked) if Z.shape[1] else np.zeros((4, len(z)))
    return scores, seconds
