r"""Choosing C by cross-validation.

Folds are stratified by class. The points of a fold are queries; the metric is learned from the others,
and ranks these for the queries, or classifies the queries by them. The risk is a mean over queries, ``C/n sum_q xi_q``,
so a C chosen on four fifths of the queries is the C for all of them. Each fold is one path over C, whose solves share
their cuts.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike

from convexmetric.arguments import check_integer, checked_weight, shown
from convexmetric.comparisons import Rankings, Relevance
from convexmetric.comparisons.points import as_points
from convexmetric.comparisons.relevance import as_labels
from convexmetric.deadline import Clock
from convexmetric.errors import InputError
from convexmetric.evaluation import knn_right, mean_scores
from convexmetric.measures import Measure, MeasureAtK, measure_named
from convexmetric.papers import RankingProblem
from convexmetric.selection.folds import Trial, dealt_evenly, first_best, validated
from convexmetric.selection.path import solve_path
from convexmetric.selection.records import Validation


def cross_validate(
    X: ArrayLike,
    y: ArrayLike,
    C: Sequence[float],
    *,
    measure: str = "auc",
    k: int | None = None,
    cv: int = 5,
    score: str | Sequence[str] | None = None,
    random_state: int | None = 0,
    tol: float = 1e-2,
    max_seconds: float | None = None,
    progress: bool = False,
    penalty: str = "trace",
    diagonal: bool = False,
    n_jobs: int | None = None,
) -> Validation:
    """Cross-validate C for points with labels.

    Parameters
    ----------
    X, y : (n, d) array and (n,) labels
        Points and their classes; scale them first (a step without labels may see all points).
    C : sequence of float
        Values to try.
    measure, k, penalty, diagonal
        What to learn, as for :meth:`RankingProblem.from_labels`.
    cv : int
        Number of folds, stratified by class.
    score : str or sequence of str, optional
        ``"auc"``, ``"map"``, ``"mrr"``, ``"precision@k"``, ``"ndcg-paper@k"`` (discount 1 / log2 t), ``"ndcg-log2@k"``
        (1 / log2(t + 1)) or ``"accuracy@k"`` (of the k nearest neighbours) with a number for k; the first chooses C. By
        default the measure that is learned.
    random_state : int, optional
        Seed of the folds.
    tol, max_seconds
        Certified relative gap, and time limit, of each solve.
    progress : bool
        Show a progress bar on standard error.
    n_jobs : int, optional
        Number of folds at a time, by joblib: ``joblib.parallel_config(backend="dask")`` sends them to a cluster.

    Returns
    -------
    Validation
        Scores by C and fold, and the best C.

    Raises
    ------
    InputError
        If an argument is malformed, or a class would have fewer than two points to learn from.
    KeyboardInterrupt
        At Ctrl-C, which ends all folds.

    Examples
    --------
    >>> import convexmetric as cm
    >>> iris = cm.datasets.load("iris")
    >>> cm.cross_validate(iris.X, iris.y, C=[1, 10], measure="auc").best
    10.0
    """
    from joblib import Parallel, delayed

    points = as_points(X)
    labels = as_labels(y, len(points))
    check_integer(cv, 2, np.inf, "cv must be an integer of at least 2")
    classes, counts = np.unique(labels, return_counts=True)
    short = counts - -(-counts // cv) < 2
    if short.any():
        name, count = classes[short].tolist()[0], int(counts[short][0])
        raise InputError(
            f"class {name!r} has {count} points, too few to learn from with {cv} folds: each fold must leave two"
        )
    fold_of = dealt_evenly(labels, cv, random_state)
    wanted = _scores(score, measure_named(measure, k))
    clock, values = Clock(None), _checked_grid(C)
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise InputError(f"n_jobs must be an integer other than 0, or None, got {shown(n_jobs)}")

    def trials(fold: int) -> list[Trial]:
        held, rest = fold_of == fold, fold_of != fold
        problem = RankingProblem.from_labels(
            points[rest], labels[rest], measure=measure, C=1.0, k=k, penalty=penalty, diagonal=diagonal
        )
        relevance = Relevance.between(labels[held], labels[rest])
        rankings = Rankings(points[rest], points[held], relevance, problem.cone)
        neighbours = [one for one in wanted.values() if isinstance(one, int)]
        measures = [one for one in wanted.values() if isinstance(one, Measure)]
        found = []
        for solution in solve_path(problem, values, tol=tol, max_seconds=max_seconds):
            solution.pass_on_interrupt()
            M = solution.certificate.M
            corpus = points[rest], labels[rest], points[held], labels[held]
            right = knn_right(M, *corpus, k=neighbours) if neighbours else {}
            scores = {f"accuracy@{at}": float(right[at].mean()) for at in neighbours}
            means = mean_scores(rankings, M, measures) if measures else []
            scores |= {one.label: mean for one, mean in zip(measures, means, strict=True)}
            found.append(({name: scores[name] for name in wanted}, solution.gap))
        return found

    n = len(points)
    found = Parallel(n_jobs, return_as="generator")(delayed(trials)(fold) for fold in range(cv))
    scores, gaps = validated(found, cv, progress, "cross-validation")
    index = first_best(next(iter(scores.values())))
    return Validation(("C",), tuple((value,) for value in values), scores, gaps, index, n, n, clock.spent, "queries")


def _scores(score: str | Sequence[str] | None, measure: Measure) -> dict[str, Measure | int]:
    """Parse the names of scores: each is a measure, or the number k of neighbours of an accuracy."""
    if score is None:
        return {measure.label: measure}
    asked = [score] if isinstance(score, str) else list(score)
    if not asked:
        raise InputError("score is empty; name at least one, such as 'auc'")
    wanted: dict[str, Measure | int] = {}
    for name in asked:
        word, mark, at = name.partition("@") if isinstance(name, str) else ("", "", "")
        try:
            scored = measure_named(word) if word != "accuracy" else None
        except InputError as error:
            raise InputError(f"score {name!r}: {error}") from error
        with_k = scored is None or isinstance(scored, MeasureAtK)
        if with_k != bool(mark) or (with_k and not (at.isdecimal() and int(at) > 0)):
            form = f"{word}@k with a number for k, such as '{word}@5'" if with_k else f"{word!r} without k"
            raise InputError(f"score {name!r} must be {form}")
        one = int(at) if scored is None else measure_named(word, int(at)) if with_k else scored
        wanted[one.label if isinstance(one, Measure) else f"accuracy@{one}"] = one
    return wanted


def _checked_grid(C: Sequence[float]) -> list[float]:
    try:
        values = sorted({checked_weight(value, "C") for value in C})
    except TypeError as error:
        raise InputError(f"C must be a sequence of positive numbers, got {shown(C)}") from error
    if not values:
        raise InputError("C is empty; give at least one value to try")
    return values
