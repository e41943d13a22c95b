r"""Choosing C by cross-validation.

The queries of a fold are ranked, or classified, by metrics that were learned without them. The risk is a mean over
queries, ``C/n sum_q xi_q``, so a C chosen on four fifths of the queries is the C for all of them. Each fold is one path
over C, whose solves share their cuts; starting each afresh can be faster where passes over the data are cheap.

- :func:`~convexmetric.cross_validate`: points with labels. Folds are stratified by class; the points of a fold query
  the others, which are also what the metric was learned on.
- :func:`cross_validate_queries`: a problem with queries and lists of its own. Folds are of queries; the corpus stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from convexmetric.arguments import checked_weight, not_one_of
from convexmetric.arrays import Array
from convexmetric.comparisons import Rankings, Relevance
from convexmetric.comparisons.points import as_points
from convexmetric.comparisons.relevance import as_labels
from convexmetric.errors import InputError
from convexmetric.evaluation import knn_error, mean_scores
from convexmetric.measures import Measure, MeasureAtK, measure_named
from convexmetric.papers import RankingProblem
from convexmetric.solution import Solution
from convexmetric.solvers import solve, solve_path

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

__all__ = ["Validation", "cross_validate", "cross_validate_queries"]

#: What a learned metric scores on the queries left out, by the name of the score.
Judge = Callable[[Array, list[str]], dict[str, float]]


@dataclass(frozen=True)
class Validation:
    """Scores of held-out queries, by C.

    Attributes
    ----------
    C : (c,) array
        Ascending.
    scores : dict of (c, folds) arrays
        By name of the score; more is better.
    score : str
        The score that chooses, the first one asked for.
    gaps : (c, folds) array
        Certified relative gaps of the solves.
    seconds : float
        Wall time of the solves.
    """

    C: Array
    scores: dict[str, Array]
    score: str
    gaps: Array
    seconds: float

    def mean(self, score: str | None = None) -> Array:
        """Mean over folds for every C."""
        return np.asarray(self._of(score).mean(axis=1))

    def std(self, score: str | None = None) -> Array:
        """Standard deviation over folds (of a sample) for every C; zero with one fold."""
        values = self._of(score)
        return np.zeros(len(values)) if values.shape[1] == 1 else np.asarray(values.std(axis=1, ddof=1))

    @property
    def best_C(self) -> float:
        """The C with the highest mean of ``score``; of several the smallest, with the simplest metric."""
        return float(self.C[np.argmax(self.mean())])

    def _of(self, score: str | None) -> Array:
        name = self.score if score is None else score
        if name not in self.scores:
            raise InputError(not_one_of("score", self.scores, name))
        return self.scores[name]

    def __str__(self) -> str:
        folds = self.gaps.shape[1]
        head = f"{'C':>10}  " + "  ".join(f"{name:>17}" for name in self.scores) + f"  {'largest gap':>11}"
        lines = [
            f"mean and standard deviation over {folds} fold{'s' if folds != 1 else ''}, {self.seconds:.1f} s",
            head,
        ]
        for c, (C, gaps) in enumerate(zip(self.C, self.gaps, strict=True)):
            cells = (f"{self.mean(name)[c]:.4f} +- {self.std(name)[c]:.4f}" for name in self.scores)
            chosen = "  <- best" if self.best_C == C else ""
            lines.append(f"{C:>10g}  " + "  ".join(f"{cell:>17}" for cell in cells) + f"  {gaps.max():>11.1e}{chosen}")
        return "\n".join(lines)


def cross_validate(
    X: ArrayLike,
    y: ArrayLike,
    C: Sequence[float],
    measure: str = "auc",
    k: int | None = None,
    folds: int = 5,
    score: str | Sequence[str] | None = None,
    random_state: int | None = 0,
    tol: float = 1e-2,
    max_seconds: float | None = None,
    progress: bool = False,
    share_cuts: bool = True,
    regularizer: str = "trace",
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
    measure, k, regularizer, diagonal
        What to learn, as for :meth:`RankingProblem.from_labels`.
    folds : int
        Number of folds, stratified by class.
    score : str or sequence of str, optional
        ``"auc"``, ``"map"``, ``"mrr"``, ``"precision@k"``, ``"ndcg@k"`` or ``"accuracy@k"`` (of the k nearest
        neighbours) with a number for k; the first chooses C. By default the measure that is learned.
    random_state : int, optional
        Seed of the folds.
    tol, max_seconds
        Of each solve.
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
    >>> cm.cross_validate(iris.X, iris.y, C=[1, 10], measure="auc").best_C
    10.0
    """
    points, labels = as_points(X), as_labels(y)
    if len(labels) != len(points):
        raise InputError(f"y must have one label a point: X has {len(points)} rows, y has {len(labels)}")
    fold_of = _stratified(labels, folds, random_state)
    names = _names(score, measure_named(measure, k), classes=True)

    def split(fold: int) -> tuple[RankingProblem, Judge]:
        held, rest = fold_of == fold, fold_of != fold
        problem = RankingProblem.from_labels(points[rest], labels[rest], measure, 1.0, k, regularizer, diagonal)
        relevance = Relevance.between(labels[held], labels[rest])
        rankings = Rankings(points[rest], points[held], relevance, problem.cone)
        corpus = points[rest], labels[rest], points[held], labels[held]

        def judge(M: Array, names: list[str]) -> dict[str, float]:
            neighbours = [int(name.split("@")[1]) for name in names if name.startswith("accuracy@")]
            errors = knn_error(M, *corpus, k=neighbours) if neighbours else {}
            assert isinstance(errors, dict)
            scores = {f"accuracy@{at}": 1.0 - error for at, error in errors.items()}
            return scores | _retrieval(rankings, M, names)

        return problem, judge

    return _validate(split, folds, C, names, tol, max_seconds, progress, share_cuts, n_jobs)


def cross_validate_queries(
    problem: RankingProblem,
    C: Sequence[float],
    folds: int = 5,
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
    C, folds, score, random_state, tol, max_seconds, progress, share_cuts, n_jobs
        As for :func:`~convexmetric.cross_validate`; folds are of queries at random, and there are no classes to
        predict, so no ``"accuracy@k"``.

    Returns
    -------
    Validation
        As of :func:`~convexmetric.cross_validate`.

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
    if _checked_folds(folds) > n:
        raise InputError(f"folds must be at most the number of queries ({n}), got {folds}")
    names = _names(score, problem.measure, classes=False)
    fold_of = np.random.default_rng(random_state).permutation(n) % folds

    def split(fold: int) -> tuple[RankingProblem, Judge]:
        held = problem.with_queries(np.flatnonzero(fold_of == fold)).rankings
        return problem.with_queries(np.flatnonzero(fold_of != fold)), lambda M, names: _retrieval(held, M, names)

    return _validate(split, folds, C, names, tol, max_seconds, progress, share_cuts, n_jobs)


def _validate(
    split: Callable[[int], tuple[RankingProblem, Judge]],
    folds: int,
    C: Sequence[float],
    names: list[str],
    tol: float,
    max_seconds: float | None,
    progress: bool,
    share_cuts: bool,
    n_jobs: int | None,
) -> Validation:
    from joblib import Parallel, delayed

    values = _checked_grid(C)
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise InputError(f"n_jobs must be an integer other than 0, or None, got {n_jobs!r}")
    scores = {name: np.empty((len(values), folds)) for name in names}
    gaps = np.empty((len(values), folds))
    seconds = 0.0
    tasks = (delayed(_fold)(split, fold, values, names, tol, max_seconds, share_cuts) for fold in range(folds))
    with progress_bar(progress) as bar:
        task = bar.add_task("cross-validation", total=folds)
        for fold, found in enumerate(Parallel(n_jobs, return_as="generator")(tasks)):
            for c, (scored, gap, spent) in enumerate(found):
                for name, value in scored.items():
                    scores[name][c, fold] = value
                gaps[c, fold] = gap
                seconds += spent
            bar.advance(task)
    return Validation(values, scores, names[0], gaps, seconds)


def _fold(
    split: Callable[[int], tuple[RankingProblem, Judge]],
    fold: int,
    values: Array,
    names: list[str],
    tol: float,
    max_seconds: float | None,
    share_cuts: bool,
) -> list[tuple[dict[str, float], float, float]]:
    """Scores, certified gap and seconds of every C."""
    problem, judge = split(fold)
    if share_cuts:
        solutions = solve_path(problem, values, tol=tol, max_seconds=max_seconds)
    else:
        solutions = [_solved(problem.with_C(value), tol, max_seconds) for value in values]
    return [(judge(solution.certificate.M, names), solution.gap, solution.seconds) for solution in solutions]


def _solved(problem: RankingProblem, tol: float, max_seconds: float | None) -> Solution:
    solution = solve(problem, tol=tol, max_seconds=max_seconds)
    solution.pass_on_interrupt()
    return solution


def progress_bar(shown: bool) -> Bar:
    """A bar on standard error that goes when it is done; nothing where it is not to be shown."""
    from rich.console import Console
    from rich.progress import Progress as Bar

    return Bar(console=Console(stderr=True), transient=True, disable=not shown)


def _retrieval(rankings: Rankings, M: Array, names: Iterable[str]) -> dict[str, float]:
    measures = [measure for name in names if (measure := _measure(name)) is not None]
    if not measures:
        return {}
    means = mean_scores(rankings, M, measures)
    return {measure.label: mean for measure, mean in zip(measures, means, strict=True)}


def _measure(name: str) -> Measure | None:
    """The measure of a score's name; None for the accuracy of neighbours."""
    word, _, at = name.partition("@")
    return None if word == "accuracy" else measure_named(word, int(at) if at else None)


def _names(score: str | Sequence[str] | None, measure: Measure, *, classes: bool) -> list[str]:
    """Names of scores, checked, each with its k."""
    if score is None:
        return [measure.label]
    asked = [score] if isinstance(score, str) else list(score)
    if not asked:
        raise InputError("score is empty; name at least one, such as 'auc'")
    names = []
    for name in asked:
        word, mark, at = name.partition("@") if isinstance(name, str) else ("", "", "")
        try:
            scored = measure_named(word) if word != "accuracy" else None
        except InputError as error:
            raise InputError(f"score {name!r}: {error}") from error
        with_k = scored is None or isinstance(scored, MeasureAtK)
        if with_k != bool(mark) or (with_k and not (at.isdecimal() and int(at) > 0)):
            wanted = f"{word}@k with a number for k, such as '{word}@5'" if with_k else f"{word!r} without k"
            raise InputError(f"score {name!r} must be {wanted}")
        if scored is None and not classes:
            raise InputError(
                f"score {name!r} needs classes, which queries with lists do not have; use a ranking measure"
            )
        names.append(f"{word}@{int(at)}" if with_k else word)
    return list(dict.fromkeys(names))


def _checked_grid(C: Sequence[float]) -> Array:
    try:
        values = sorted({checked_weight(value, "C") for value in C})
    except TypeError as error:
        raise InputError(f"C must be a sequence of positive numbers, got {C!r}") from error
    if not values:
        raise InputError("C is empty; give at least one value to try")
    return np.array(values)


def _checked_folds(folds: int) -> int:
    if not isinstance(folds, Integral) or isinstance(folds, bool) or folds < 2:
        raise InputError(f"folds must be an integer of at least 2, got {folds!r}")
    return int(folds)


def _stratified(labels: np.ndarray, folds: int, random_state: int | None) -> np.ndarray:
    """Fold of every point: each class is dealt out evenly, and so are the remainders of the classes."""
    classes, code, counts = np.unique(labels, return_inverse=True, return_counts=True)
    short = counts - -(-counts // _checked_folds(folds)) < 2
    if short.any():
        name, count = classes[short].tolist()[0], int(counts[short][0])
        raise InputError(
            f"class {name!r} has {count} points, too few to learn from with {folds} folds: each fold must leave two"
        )
    rng = np.random.default_rng(random_state)
    shuffled = rng.permutation(len(labels))
    dealt = shuffled[np.argsort(code[shuffled], kind="stable")]
    fold_of = np.empty(len(labels), dtype=np.int64)
    fold_of[dealt] = np.arange(len(labels)) % folds
    return fold_of
