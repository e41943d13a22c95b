"""Metric learning to rank (McFee & Lanckriet 2010) as an estimator."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from convexmetric.comparisons import Rankings, Relevance
from convexmetric.cones import NonnegativeDiagonal
from convexmetric.estimators.base import MetricEstimator, parameters
from convexmetric.evaluation import mean_scores
from convexmetric.measures import measure_named
from convexmetric.papers import RankingProblem
from convexmetric.problem import MetricProblem

#: Parameters of the estimator that are options of the problem.
OPTIONS = ("measure", "C", "k", "penalty", "diagonal", "kernel", "short", "prior")


@parameters
class MLR(MetricEstimator):
    r"""Metric learning to rank: a metric that ranks points of the query's label first.

    .. math:: \min_{W \succeq 0} \; \mathrm{tr}\, W + \frac{C}{n} \sum_q \max_y \;
       \Delta(y^*_q, y) - \langle W, \delta\psi(q, y) \rangle

    This is :class:`~convexmetric.RankingProblem`: McFee & Lanckriet (2010), with the features of equations 3 and 4.

    ``fit(X, y)`` makes every point a query of the others. ``fit_rankings`` takes queries with lists of their own, and
    ``fit_qrels`` judgements by identifier.

    Parameters
    ----------
    measure : str
        ``"map"``, ``"auc"``, ``"mrr"``, ``"precision"``, ``"ndcg"``, ``"ndcg-log2"`` (1 / log2(rank + 1)),
        ``"knn"`` or ``"err"``: the ranking measure.
    k : int, optional
        Cutoff of precision, ndcg and knn; 10 by default.
    C : float
        Weight of the mean loss against the regularizer; :class:`WeightSearch` chooses it by held-out rows.
    penalty : str
        ``"trace"``, the paper's, or ``"squared-frobenius"``.
    diagonal : bool
        Learn weights of features.
    solver : str or Solver
        As for :func:`~convexmetric.solve`; ``"exact"`` closes the gap.
    tol : float
        Certified relative gap at which to stop.
    max_iter, max_seconds : int, float, optional
        Limits of the solve; it warns if they leave a larger gap.
    progress : bool or int
        Show the bounds as they close.
    random_state : int, RandomState, Generator or None
        Seed or generator for stochastic solvers. A fixed seed by default, so that fits repeat; None draws anew.
    preprocessor : (n, d) array or callable, optional
        Points that indices refer to.
    kernel : str, callable, optional
        ``"linear"``, ``"rbf"``, ``"unit-rbf"`` or a function of two point matrices. ``components_`` then act on the
        coordinates that ``embedding_`` gives.
    short : str
        Loss of a query with p < k relevant points: ``"cut"`` to p places, or ``"printed"``, see
        :class:`~convexmetric.RankingProblem`; ``score`` keeps k in either case.
    n_components : int, "rank" or None
        Rows of ``components_``, the leading directions of the metric: None for all dimensions, so that transforms
        of all folds have the same width; ``"rank"`` for as many as the metric has rank.
    backend : Executor, callable, distributed.Client or str, optional
        Backend that evaluates the risk in ``fit``, as for :func:`~convexmetric.solve`. Pickled, a client becomes the
        address of its scheduler, and an executor is left out.
    prior : "identity" or array, optional
        A metric known beforehand, subtracted in the squared norm; with ``penalty="squared-frobenius"``.

    Examples
    --------
    >>> import convexmetric as cm
    >>> data = cm.datasets.load("wine")
    >>> X = cm.datasets.preprocess(data.X, ["zscore"])
    >>> mlr = cm.MLR(C=10.0).fit(X, data.y)
    >>> mlr.gap_ <= 1e-4, mlr.transform(X).shape == (178, len(mlr.components_))
    (True, True)
    """

    weight = "C"

    measure: str = "map"
    k: int | None = None
    C: float = 100.0
    penalty: str = "trace"
    diagonal: bool = False
    kernel: Any = None
    short: str = "cut"
    backend: Any = None
    prior: Any = None

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from points and labels; relevant to a point are the others of its label.

        Points whose label no other point has are left out, with a warning.

        Parameters
        ----------
        X : (n, d) array, or (n,) indices with a ``preprocessor``
        y : (n,) array
            Labels.
        sample_weight : (n,) array, optional
            Weights of the points as queries in the mean of the losses. A point is ranked whatever its weight.

        Raises
        ------
        InputError
            If a parameter is malformed, or there is one class only.
        """
        rng = self._begin()
        return self._learn(self._stated(X, y, rng, sample_weight), rng)._finished()

    def _stated(self, X: Any, y: Any, rng: np.random.Generator, sample_weight: Any = None) -> RankingProblem:
        points, labels, weights = self._with_class_mates(self._points(X, reset=True), y, sample_weight)
        return RankingProblem.from_labels(points, labels, **self._options(*OPTIONS), query_weights=weights)

    def fit_rankings(
        self,
        X: Any,
        relevant: Any,
        irrelevant: Any = None,
        *,
        queries: ArrayLike | None = None,
        sample_weight: Any = None,
    ) -> Self:
        """Learn from queries with lists of relevant rows, or with a 0/1 matrix of relevance.

        Parameters
        ----------
        X : (n, d) array
            Corpus.
        relevant : sequence of int arrays, or (n_q, n) 0/1 matrix
            For every query the rows of X that are relevant.
        irrelevant : same, optional
            For every query the rows that are irrelevant; by default all that are not relevant.
        queries : (n_q, d) array, optional
            Query points; by default the corpus itself.
        sample_weight : (n_q,) array, optional
            Weights of the queries.

        Raises
        ------
        InputError
            If an argument is malformed, or a query has no relevant or no irrelevant row.
        """
        rng = self._begin()
        points = self._points(X, reset=True)
        asked = None if queries is None else self._flattened(self._points(queries))
        weights = self._part_weights(sample_weight, (points if asked is None else asked).shape[0], "query")
        problem = RankingProblem(
            points, relevant, irrelevant=irrelevant, queries=asked, **self._options(*OPTIONS), query_weights=weights
        )
        return self._learn(problem, rng)._finished()

    def fit_qrels(
        self,
        corpus: Any,
        queries: Any,
        qrels: Any,
        *,
        corpus_ids: Iterable[Any] | None = None,
        query_ids: Iterable[Any] | None = None,
        unjudged: str = "irrelevant",
        relevant_from: int | Iterable[int] = 1,
        mined: int = 100,
        **settings: Any,
    ) -> Self:
        """Learn from vectors of documents and queries, and judgements by identifier.

        Parameters
        ----------
        corpus, queries : (n, d) and (n_q, d) arrays
            Vectors of documents and queries.
        qrels, corpus_ids, query_ids, unjudged, relevant_from, mined
            As for :meth:`RankingProblem.from_qrels <convexmetric.RankingProblem.from_qrels>`.
        **settings
            Other options of it that are not parameters of the estimator, such as ``skip_incomplete``.

        Raises
        ------
        InputError
            If an argument is malformed; see :meth:`RankingProblem.from_qrels
            <convexmetric.RankingProblem.from_qrels>`.
        """
        rng = self._begin()
        points = self._points(corpus, reset=True)
        asked = self._flattened(self._points(queries))
        problem = RankingProblem.from_qrels(
            points,
            asked,
            qrels,
            corpus_ids=corpus_ids,
            query_ids=query_ids,
            unjudged=unjudged,
            relevant_from=relevant_from,
            mined=mined,
            **self._options(*OPTIONS) | settings,
        )
        return self._learn(problem, rng)._finished()

    def score(self, X: Any, y: Any = None) -> float:
        """Mean of the measure over points that rank all the others given, under the learned metric.

        Ties in distance go to the point given first; points whose label no other has are left out.

        Parameters
        ----------
        X : (n, d) array, or (n,) indices with a ``preprocessor``
        y : (n,) array
            Labels.
        """
        images, labels = self._scored_images(X, y)
        rank = images.shape[1]
        rankings = Rankings(images, images, Relevance.from_labels(labels), NonnegativeDiagonal(rank))
        return mean_scores(rankings, np.ones(rank), [measure_named(self.measure, self.k)])[0]

    def weights(self, problem: MetricProblem) -> tuple[float, ...]:
        """Values of C to try, 1 to 1,000: the loss is a mean over queries, so that they suit tables of any length."""
        return (1.0, 10.0, 100.0, 1e3)
