r"""Scores of retrieval and classification by a metric, on points it was not trained on.

Retrieval scores are means over queries of the plain definitions of the ranking measures: k is never cut, so that a
query with fewer than k relevant items cannot have precision 1, and the discount of NDCG is that of metric learning to
rank, hence the name ``ndcg-paper``. Losses of learning differ in both (see
:class:`~convexmetric.measures.Measure`).
Ties are broken deterministically, and never by relevance: of two points at the same distance, as computed in
float64, the one with the smaller row number is nearer; of classes with equally many votes the one with the nearest
member wins. So the zero metric scores by the order of the rows, not perfectly.

Distances alone suffice for precision and recall (:func:`~convexmetric.evaluation.retrieval_curve`). For a query with
p relevant items, at ranks :math:`r_1 < \dots < r_p`,

.. math:: \mathrm{AP} = \frac1p \sum_{i=1}^p \frac{i}{r_i}, \qquad
   P(\rho) = \max_{i \ge \rho p} \frac{i}{r_i}

(precision where recall changes, and interpolated precision at recall :math:`\rho`). Scores are means over the queries
that have a relevant item. Of items at the same distance the one of the smaller column is nearer, relevant or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray

from convexmetric.arguments import shown
from convexmetric.arrays import Array, real_array
from convexmetric.comparisons import Rankings, Relevance
from convexmetric.comparisons.points import as_points, as_rows, check_width
from convexmetric.comparisons.relevance import as_labels
from convexmetric.cones import Cone, NonnegativeDiagonal, PSDCone
from convexmetric.errors import InputError
from convexmetric.measures import Measure, irrelevant_above, measure_named
from convexmetric.numerics.threads import blas_threads_for

#: Levels of recall of a curve.
LEVELS = np.linspace(0.0, 1.0, 11)
#: Bytes of distances that the classifier holds in memory at a time.
BLOCK_BYTES = 64 * 2**20


@dataclass(frozen=True)
class RetrievalScores:
    """Scores of rankings, by measure and query.

    Attributes
    ----------
    queries : tuple of str
        Names of the queries, or the numbers of their rows.
    scores : dict of (n_q,) arrays
        Scores by name of the measure, in the order of the queries.
    """

    queries: tuple[str, ...] = field(repr=False)
    scores: dict[str, Array] = field(repr=False)

    @property
    def means(self) -> dict[str, float]:
        """Mean over queries by name of the measure."""
        return {name: float(values.mean()) for name, values in self.scores.items()}

    def __getitem__(self, name: str) -> float:
        return self.means[name]

    def __str__(self) -> str:
        means = (f"{name} {mean:.4f}" for name, mean in self.means.items())
        return "   ".join([*means, f"({len(self.queries)} queries)"])


def retrieval_scores(
    M: ArrayLike, X: Any, relevant: Any, irrelevant: Any = None, *, queries: Any = None, k: int | Iterable[int] = 10
) -> RetrievalScores:
    """Scores of the rankings of a corpus that a metric makes for every query.

    For a query with p relevant and n irrelevant points:

    - ``auc``: share of the p n pairs in which the relevant point is nearer
    - ``map``: mean over the relevant points of the precision at their places
    - ``mrr``: 1 over the place of the first relevant point
    - ``precision@k``: number of relevant points among the first k, over k, also where p or p + n is less than k
    - ``ndcg-paper@k``: sum of D(t) over the places t <= k of relevant points, over that sum of the perfect ranking,
      D(1) + ... + D(min(k, p)), with D(1) = 1 and D(t) = 1 / log2 t: not the nDCG of reports, which has
      1 / log2(t + 1) (:func:`~convexmetric.retrieval.score_run`)

    Parameters
    ----------
    M : (d, d) or (d,) array
        Metric: a matrix, or weights of the features.
    X : (n, d) array
        Corpus.
    relevant, irrelevant, queries
        As for :class:`~convexmetric.RankingProblem`: lists of corpus rows, 0/1 matrices, or a ``Relevance`` (see
        ``Relevance.between`` for labels of queries and corpus).
    k : int or sequence of int
        Cutoff of precision and NDCG.

    Returns
    -------
    RetrievalScores
        Scores by name of the measure: ``auc``, ``map``, ``mrr``, ``precision@k``, ``ndcg-paper@k``.

    Raises
    ------
    InputError
        If an argument is malformed, or a query has no relevant or no irrelevant point.

    Examples
    --------
    >>> import convexmetric as cm
    >>> iris = cm.datasets.load("iris")
    >>> print(cm.evaluation.retrieval_scores([1.0, 1.0, 1.0, 1.0], iris.X, iris.y[:, None] == iris.y, k=5))
    auc 0.9334   map 0.8860   mrr 1.0000   precision@5 0.9627   ndcg-paper@5 0.9669   (150 queries)
    """
    corpus = as_points(X)
    points = corpus if queries is None else as_points(queries, "queries")
    relevance = Relevance.from_lists(relevant, irrelevant, len(points), len(corpus), exclude_self=queries is None)
    cone = cone_of(M, corpus.shape[1])
    rankings = Rankings(corpus, points, relevance, cone)
    measures = [measure_named(name) for name in ("auc", "map", "mrr")]
    ks = _each(k)
    measures += [measure_named(name, at) for name in ("precision", "ndcg") for at in ks]
    scores = query_scores(rankings, cone.element(M, "M"), measures)
    named = {measure.label: row for measure, row in zip(measures, scores, strict=True)}
    return RetrievalScores(tuple(map(str, range(len(rankings)))), named)


@dataclass(frozen=True)
class RetrievalCurve:
    """Mean scores over queries.

    Attributes
    ----------
    mean_average_precision : float
    recall : (L,) array
        Levels.
    precision : (L,) array
        Interpolated precision at these, mean over queries.
    queries : int
        Number of queries with a relevant item.
    standard_error : float
        Standard error of the mean average precision, over queries; NaN for one query.
    """

    mean_average_precision: float
    recall: Array = field(repr=False)
    precision: Array = field(repr=False)
    queries: int
    standard_error: float = float("nan")

    def __str__(self) -> str:
        return f"MAP {self.mean_average_precision:.4f}   ({self.queries} queries)"


def retrieval_curve(distances: ArrayLike, relevant: Any) -> RetrievalCurve:
    """Mean average precision and the precision-recall curve of rankings by distance.

    Parameters
    ----------
    distances : (q, n) array
        Distances from every query to every item, such as those of a cross-modal problem, or increasing functions of
        them.
    relevant : (q, n) 0/1 array or sparse matrix
        Which items are relevant to which query.

    Returns
    -------
    RetrievalCurve

    Raises
    ------
    InputError
        If an argument is malformed, or no query has a relevant item.
    """
    D = real_array(distances, "distances")
    if D.ndim != 2 or not np.isfinite(D).all():
        raise InputError("distances must be a finite (queries, items) array")
    wanted = as_rows(relevant)
    if wanted.shape != D.shape:
        raise InputError(f"relevant must have the shape of distances, {D.shape}, got {wanted.shape}")
    if not np.isin(wanted, (0, 1)).all():
        raise InputError("relevant must hold only 0 and 1")
    average_precision = measure_named("map")
    scores: list[float] = []
    precision = np.zeros(LEVELS.size)
    for d, hits in zip(D, wanted.astype(bool), strict=True):
        p = int(hits.sum())
        if not p:
            continue
        ranks = np.flatnonzero(hits[np.argsort(d, kind="stable")]) + 1
        i, count = np.arange(1, p + 1), np.full(p, p)
        # Gains of average precision are the precisions at relevant items over p.
        gains = average_precision.gains(i, ranks - i, count, d.size - count)
        scores.append(float(gains.sum()))
        best_from = np.maximum.accumulate(p * gains[::-1])[::-1]
        # The first hit whose recall reaches the level; the slack is for levels such as 0.1 * 30.
        first = np.maximum(np.ceil(LEVELS * p - 1e-9).astype(np.int64), 1)
        precision += best_from[first - 1]
    queries = len(scores)
    if not queries:
        raise InputError("relevant: no query has a relevant item")
    error = float(np.std(scores, ddof=1)) / np.sqrt(queries) if queries > 1 else float("nan")
    return RetrievalCurve(float(np.mean(scores)), LEVELS.copy(), precision / queries, queries, error)


def mean_scores(rankings: Rankings, M: Any, measures: Iterable[Measure]) -> list[float]:
    """Mean score over queries of every measure, by ``plain_gains``, when the corpus is ranked by the metric ``M``."""
    return [float(scores.mean()) for scores in query_scores(rankings, M, measures)]


def query_scores(rankings: Rankings, M: Any, measures: Iterable[Measure]) -> Array:
    """Score every query by every measure, ``(measures, queries)``."""
    measures = list(measures)
    scores = np.zeros((len(measures), len(rankings)))
    relevance = rankings.relevance
    for block in rankings.blocks(M, np.arange(len(rankings))):
        b, start = irrelevant_above(block)
        sizes = np.diff(start).astype(np.intp)
        i = np.arange(len(b)) - np.repeat(start[:-1], sizes) + 1
        p, n = (np.repeat(count[block.queries], sizes) for count in (relevance.n_relevant, relevance.n_irrelevant))
        for row, measure in zip(scores, measures, strict=True):
            row[block.queries] = np.add.reduceat(measure.plain_gains(i, b, p, n), start[:-1])
    return scores


def knn_error(
    M: ArrayLike, X: Any, y: ArrayLike, queries: Any, labels: ArrayLike, *, k: int | Iterable[int] = 3
) -> float | dict[int, float]:
    """Share of queries whose class the majority of their k nearest points gets wrong.

    Parameters
    ----------
    M : (d, d) or (d,) array
        Metric.
    X, y : (n, d) array and (n,) labels
        Points with known classes.
    queries, labels : (n_q, d) array and (n_q,) labels
        Points to classify, and their true classes.
    k : int or sequence of int
        Number of neighbours; with a sequence, the errors come as a dictionary by k.

    Returns
    -------
    float, or dict from k to float
        In [0, 1].

    Raises
    ------
    InputError
        If an argument is malformed or k exceeds the number of points.

    Examples
    --------
    >>> import convexmetric as cm
    >>> iris = cm.datasets.load("iris")
    >>> error = cm.evaluation.knn_error([1.0] * 4, iris.X[::2], iris.y[::2], iris.X[1::2], iris.y[1::2], k=3)
    >>> round(error, 3)
    0.027
    """
    right = knn_right(M, X, y, queries, labels, k=k)
    errors = {at: float(np.mean(~rows)) for at, rows in right.items()}
    return errors[next(iter(errors))] if isinstance(k, Integral) else errors


def knn_right(
    M: ArrayLike, X: Any, y: ArrayLike, queries: Any, labels: ArrayLike, *, k: int | Iterable[int] = 3
) -> dict[int, np.ndarray]:
    """Whether the majority of the k nearest points gets the class of each query right, by k; see :func:`knn_error`."""
    corpus, points = as_points(X), as_points(queries, "queries")
    check_width(points, corpus.shape[1], "queries have", "X has")
    known, truth = as_labels(y), as_labels(labels)
    if len(known) != len(corpus) or len(truth) != len(points):
        raise InputError(
            f"y and labels must have one label a point: {len(corpus)} points and {len(known)} labels, "
            f"{len(points)} queries and {len(truth)} labels"
        )
    ks = _each(k)
    if not ks or not all(
        isinstance(at, int | np.integer) and not isinstance(at, bool) and 1 <= at <= len(corpus) for at in ks
    ):
        raise InputError(f"k must be between 1 and the number of points ({len(corpus)}), got {shown(k)}")
    cone = cone_of(M, corpus.shape[1])
    classes, code = np.unique(known, return_inverse=True)
    right = {at: np.empty(len(points), dtype=bool) for at in ks}
    for some, nearest, _ in nearest_points(cone, cone.element(M, "M"), corpus, points, max(ks)):
        for at, rows in right.items():
            votes = code[nearest[:, :at]]
            counts = np.zeros((len(votes), classes.size))
            np.add.at(counts, (np.arange(len(votes))[:, None], votes), 1.0)
            # The first neighbour whose class has the most votes.
            leads = np.take_along_axis(counts, votes, axis=1) == counts.max(axis=1, keepdims=True)
            winner = votes[np.arange(len(votes)), leads.argmax(axis=1)]
            rows[some] = classes[winner] == truth[some]
    return right


def nearest_points(
    cone: Cone, metric: Any, corpus: Any, points: Any, k: int
) -> Iterator[tuple[slice, NDArray[np.int64], Array]]:
    """Find the k points of a corpus nearest to each given point; yields rows and squared distances in blocks.

    Squared distances from a point q lack the term ``q^T M q``, which does not depend on the corpus. For matrices
    without a cone they are negative similarities.
    """
    n, m = points.shape[0], corpus.shape[0]
    norms = cone.norms(corpus, metric)
    step = max(1, BLOCK_BYTES // (8 * m))
    with blas_threads_for(float(n) * m * cone.d):
        for first in range(0, n, step):
            D = norms + cone.cross_weight * cone.gram(points[first : first + step], metric, corpus)
            nearest = nearest_columns(D, k)
            yield slice(first, first + step), nearest, np.take_along_axis(D, nearest, axis=1)


def _each(k: int | Iterable[int]) -> list[int]:
    if isinstance(k, str) or not isinstance(k, Integral | Iterable):
        raise InputError(f"k must be a positive integer or several, got {shown(k)}")
    return [int(k)] if isinstance(k, Integral) else list(k)


def nearest_columns(D: np.ndarray, k: int) -> np.ndarray:
    """Find the columns of the k smallest entries of every row; ties go to the smaller column."""
    if k < D.shape[1]:
        bound = np.partition(D, k - 1, axis=1)[:, k - 1 : k]
        # Everything up to the k-th value is a candidate, equal values included.
        width = int((bound >= D).sum(axis=1).max())
        keys = np.where(bound >= D, D, np.inf)
        if width <= D.shape[1] // 2:
            columns = np.argsort(~(bound >= D), axis=1, kind="stable")[:, :width]
            order = np.argsort(np.take_along_axis(keys, columns, axis=1), axis=1, kind="stable")[:, :k]
            return np.take_along_axis(columns, order, axis=1)
    return np.argsort(D, axis=1, kind="stable")[:, :k]


def cone_of(M: ArrayLike, d: int) -> Cone:
    """The cone of a metric: nonnegative diagonals for weights of features, semidefinite matrices otherwise."""
    return NonnegativeDiagonal(d) if np.ndim(M) == 1 or sp.issparse(M) else PSDCone(d)
