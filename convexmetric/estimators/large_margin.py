"""Large margin nearest neighbours (Weinberger & Saul 2009) as an estimator."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.stats import mode
from sklearn.neighbors import NearestNeighbors

from convexmetric.comparisons.pairs import label_codes
from convexmetric.estimators.base import MetricEstimator, parameters
from convexmetric.papers import LargeMarginProblem
from convexmetric.problem import MetricProblem


@parameters
class LargeMargin(MetricEstimator):
    r"""Large margin nearest neighbours: a metric for k-nearest-neighbour classification.

    .. math:: \min_{M \succeq 0} \; (1 - \mu) \sum_{i, \, j \rightsquigarrow i} d_M(x_i, x_j)
       + \mu \sum_{i, \, j \rightsquigarrow i} \; \sum_{l : \, y_l \ne y_i}
       \big[ 1 + d_M(x_i, x_j) - d_M(x_i, x_l) \big]_+

    This is :class:`~convexmetric.LargeMarginProblem`: Weinberger & Saul (2009), the sum of their pull and push terms.

    The k nearest points of a point's own label, its target neighbours, are pulled to it, and points of other labels
    that come nearer than a target neighbour plus a margin are pushed away.
    ``cm.LMNN`` is another name of this class.

    Parameters
    ----------
    n_neighbors : int
        k, the number of target neighbours, by Euclidean distance in the features given; also the k of :meth:`score`.
    push : float
        mu, between 0 and 1: weight of pushing, 1 - mu that of pulling.
    ridge : float
        Pull every target neighbour by ``ridge`` times the mean squared distance of all points as well: without it,
        metrics overfit when there are few points per feature; 0 is the paper's objective.
    prior : "identity" or array, optional
        A metric known beforehand, near which the learned one stays, in the Frobenius norm on the features. The margin
        is 1: ``"identity"`` suits features of variance 1, and I times ten over the median squared distance of two
        points suits any.
    reg : float, optional
        Weight of the prior, 1 by default: much less leaves the metric to the data, much more returns the prior.
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
    n_components : int, "rank" or None
        Rows of ``components_``, the leading directions of the metric: None for all features, so that transforms
        of all folds have the same width; ``"rank"`` for as many as the metric has rank.
    backend : Executor, callable, distributed.Client or str, optional
        What evaluates the risk in ``fit``, as for :class:`MLR`.

    Examples
    --------
    >>> import convexmetric as cm
    >>> data = cm.datasets.load("wine")
    >>> X = cm.datasets.preprocess(data.X, ["zscore"])
    >>> metric = cm.LargeMargin(n_neighbors=3).fit(X, data.y)
    >>> metric.gap_ <= 1e-4, metric.score(X, data.y)
    (True, 1.0)
    """

    _stronger = "raise push"

    n_neighbors: int = 3
    push: float = 0.5
    diagonal: bool = False
    backend: Any = None
    ridge: float = 0.0
    prior: Any = None
    reg: float | None = None

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from points and labels.

        Points whose label no other point has are left out, with a warning.

        Parameters
        ----------
        X : (n, d) array, or (n,) indices with a ``preprocessor``
        y : (n,) array
            Labels.
        sample_weight : (n,) array, optional
            Weight of every point's terms: those that pull its target neighbours and push others away from it. It is a
            target neighbour and an impostor of others whatever its weight.

        Raises
        ------
        InputError
            If a parameter is malformed, there is one class only, or target neighbours agree in a direction in which
            other points differ, as they may with fewer points than features: take principal components first.
        """
        rng = self._begin()
        return self._learn(self._stated(X, y, rng, sample_weight), rng)._finished()

    def score(self, X: Any, y: Any = None) -> float:
        """Share of points whose class the majority of their ``n_neighbors`` nearest others gets right.

        Distances are learned ones; points whose label no other has are left out.

        Parameters
        ----------
        X : (n, d) array, or (n,) indices with a ``preprocessor``
        y : (n,) array
            Labels.
        """
        images, labels = self._scored_images(X, y)
        codes = label_codes(labels, labels.size)
        nearest = NearestNeighbors(n_neighbors=min(self.n_neighbors, labels.size - 1)).fit(images)
        votes = codes[nearest.kneighbors(return_distance=False)]
        return float(np.mean(mode(votes, axis=1).mode == codes))

    def _stated(self, X: Any, y: Any, rng: np.random.Generator, sample_weight: Any = None) -> LargeMarginProblem:
        points, labels, weights = self._with_class_mates(self._points(X, reset=True), y, sample_weight)
        options = self._options("n_neighbors", "push", "diagonal", "ridge", "prior", "reg")
        return LargeMarginProblem(points, labels, **options, weights=weights)

    def _full_width(self, problem: MetricProblem) -> int:
        """Number of features, including constant ones, which the problem leaves out."""
        return int(self.n_features_in_)


#: Another name of ``LargeMargin``, the usual one in the literature.
LMNN = LargeMargin
