r"""Choosing C by cross-validation.

The queries of a fold are ranked, or classified, by metrics that were learned without them. The risk is a mean over
queries, ``C/n sum_q xi_q``, so a C chosen on four fifths of the queries is the C for all of them. Each fold is one path
over C, whose solves share their cuts; starting each afresh can be faster where passes over the data are cheap.

- :func:`~convexmetric.cross_validate`: points with labels. Folds are stratified by class; the points of a fold query
  the others, which are also what the metric was learned on.
- :func:`cross_validate_queries`: a problem with queries and lists of its own. Folds are of queries; the corpus stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from convexmetric.arguments import checked_weight
from convexmetric.arrays import Array
from convexmetric.comparisons import Rankings, Relevance
from convexmetric.comparisons.points import as_points
from convexmetric.comparisons.relevance import as_labels
from convexmetric.deadline import Clock
from convexmetric.errors import InputError
from convexmetric.evaluation import knn_error, mean_scores
from convexmetric.measures import Measure, MeasureAtK, measure_named
from convexmetric.papers import RankingProblem
from convexmetric.selection.folds import Trial, dealt_evenly, first_best, validated
from convexmetric.selection.path import solve_path
from convexmetric.selection.records import Validation
from convexmetric.solvers import solve

#: Function from a learned metric to its scores on the queries left out, by name of the score.
Judge = Callable[[Array], dict[str, float]]
#: Problem without a fold, and the function that scores its metrics on the fold.
Split = Callable[[int], tuple[RankingProblem, Judge]]


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
    share_cuts: bool = True,
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
    share_cuts : bool
        Whether the solves of a fold go along a path over C (``solve_path``), or each starts afresh.
    n_jobs : int, optional
        Folds at a time, by joblib: ``joblib.parallel_config(backend="dask")`` sends them to a cluster.

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
    points, labels = as_points(X), as_labels(y)
    if len(labels) != len(points):
        raise InputError(f"y must have one label a point: X has {len(points)} rows, y has {len(labels)}")
    classes, counts = np.unique(labels, return_counts=True)
    short = counts - -(-counts // _checked_folds(cv)) < 2
    if short.any():
        name, count = classes[short].tolist()[0], int(counts[short][0])
        raise InputError(
            f"class {name!r} has {count} points, too few to learn from with {cv} folds: each fold must leave two"
        )
    fold_of = dealt_evenly(labels, cv, random_state)
    wanted = _scores(score, measure_named(measure, k), classes=True)

    def split(fold: int) -> tuple[RankingProblem, Judge]:
        held, rest = fold_of == fold, fold_of != fold
        problem = RankingProblem.from_labels(
            points[rest], labels[rest], measure=measure, C=1.0, k=k, penalty=penalty, diagonal=diagonal
        )
        relevance = Relevance.between(labels[held], labels[rest])
        rankings = Rankings(points[rest], points[held], relevance, problem.cone)
        corpus = points[rest], labels[rest], points[held], labels[held]

        def judge(M: Array) -> dict[str, float]:
            neighbours = [one for one in wanted.values() if isinstance(one, int)]
            errors = knn_error(M, *corpus, k=neighbours) if neighbours else {}
            assert isinstance(errors, dict)
            scores = {f"accuracy@{at}": 1.0 - error for at, error in errors.items()} | _retrieval(rankings, M, wanted)
            return {name: scores[name] for name in wanted}

        return problem, judge

    return _validate(split, len(points), cv, C, progress, share_cuts, n_jobs, tol=tol, max_seconds=max_seconds)


def cross_validate_queries(
    problem: RankingProblem,
    C: Sequence[float],
    cv: int = 5,
    score: str | Sequence[str] | None = None,
    random_state: int | None = 0,
    tol: float = 1e-2,
    max_seconds: float | None = None,
    progress: bool = False,
    share_cuts: bool = True,
    n_jobs: int | None = None,
) -> Validation:
    """Cross-validate C over the queries of a problem, whose own C does not matter.

    Parameters
    ----------
    problem : RankingProblem
        Queries, corpus, relevance and measure.
    C, cv, score, random_state, tol, max_seconds, progress, share_cuts, n_jobs
        As for :func:`~convexmetric.cross_validate`; folds are of queries at random, and there are no classes to
        predict, so no ``"accuracy@k"``.

    Returns
    -------
    Validation
        Scores by C and fold, and the best C.

    Raises
    ------
    InputError
        If an argument is malformed, or there are fewer queries than folds.
    KeyboardInterrupt
        At Ctrl-C, which ends all folds.
    """
    if not isinstance(problem, RankingProblem):
        raise InputError(f"problem must be a RankingProblem, got {type(problem).__name__}")
    n = len(problem.rankings)
    if _checked_folds(cv) > n:
        raise InputError(f"cv must be at most the number of queries ({n}), got {cv}")
    wanted = _scores(score, problem.measure, classes=False)
    fold_of = np.random.default_rng(random_state).permutation(n) % cv

    def split(fold: int) -> tuple[RankingProblem, Judge]:
        held = problem.with_queries(np.flatnonzero(fold_of == fold)).rankings
        return problem.with_queries(np.flatnonzero(fold_of != fold)), lambda M: _retrieval(held, M, wanted)

    return _validate(split, n, cv, C, progress, share_cuts, n_jobs, tol=tol, max_seconds=max_seconds)


def _validate(
    split: Split, n: int, folds: int, C: Sequence[float], progress: bool, share_cuts: bool, jobs: Any, **limits: Any
) -> Validation:
    from joblib import Parallel, delayed

    clock, values = Clock(None), _checked_grid(C)
    if jobs is not None and (isinstance(jobs, bool) or not isinstance(jobs, Integral) or jobs == 0):
        raise InputError(f"n_jobs must be an integer other than 0, or None, got {jobs!r}")

    def trials(fold: int) -> list[Trial]:
        problem, judge = split(fold)
        afresh = (solve(problem.with_C(value), **limits) for value in values)
        found = []
        for solution in solve_path(problem, values, **limits) if share_cuts else afresh:
            solution.pass_on_interrupt()
            found.append((judge(solution.certificate.M), solution.gap))
        return found

    found = Parallel(jobs, return_as="generator")(delayed(trials)(fold) for fold in range(folds))
    scores, gaps = validated(found, folds, progress, "cross-validation")
    tried = tuple((value,) for value in values), scores, gaps, first_best(next(iter(scores.values()))), n, n
    return Validation(("C",), *tried, clock.spent, "queries")


def _retrieval(rankings: Rankings, M: Array, wanted: dict[str, Measure | int]) -> dict[str, float]:
    measures = [one for one in wanted.values() if isinstance(one, Measure)]
    means = mean_scores(rankings, M, measures) if measures else []
    return {measure.label: mean for measure, mean in zip(measures, means, strict=True)}


def _scores(score: str | Sequence[str] | None, measure: Measure, *, classes: bool) -> dict[str, Measure | int]:
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
        if scored is None and not classes:
            raise InputError(
                f"score {name!r} needs classes, which queries with lists do not have; use a ranking measure"
            )
        one = int(at) if scored is None else measure_named(word, int(at)) if with_k else scored
        wanted[one.label if isinstance(one, Measure) else f"accuracy@{one}"] = one
    return wanted


def _checked_grid(C: Sequence[float]) -> list[float]:
    try:
        values = sorted({checked_weight(value, "C") for value in C})
    except TypeError as error:
        raise InputError(f"C must be a sequence of positive numbers, got {C!r}") from error
    if not values:
        raise InputError("C is empty; give at least one value to try")
    return values


def _checked_folds(folds: int) -> int:
    if not isinstance(folds, Integral) or isinstance(folds, bool) or folds < 2:
        raise InputError(f"cv must be an integer of at least 2, got {folds!r}")
    return int(folds)
