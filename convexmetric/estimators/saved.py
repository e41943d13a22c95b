"""A metric in a file, as a transformer without the data that it was learned from."""

from __future__ import annotations

import os
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import validate_data

from convexmetric.arrays import Array
from convexmetric.audits import read_map
from convexmetric.estimators.scikit_learn import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from convexmetric.evaluation import SimilarityOperator
from convexmetric.files import read_arrays

__all__ = ["SavedMetric"]


class SavedMetric(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A learned map as a transformer of scikit-learn, which needs no ``fit`` and holds no data.

    Parameters
    ----------
    components : (rank, d) array
        The map; Euclidean distances between images are the learned ones.
    feature_names : sequence of str, optional
        Names of the features, which a frame must have, in this order.
    embedding : Embedding, optional
        Map from points to the coordinates that ``components`` acts on, under a kernel. It may hold training points.

    Examples
    --------
    >>> import tempfile
    >>> import convexmetric as cm
    >>> X, y = cm.datasets.load("iris").X, cm.datasets.load("iris").y
    >>> learned = cm.MLR().fit(X, y)
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = learned.get_operator().save(f"{folder.name}/metric.npz")
    >>> bool((cm.estimators.SavedMetric.load(path).transform(X) == learned.transform(X)).all())
    True
    """

    def __init__(self, components: Any, feature_names: Any = None, embedding: Any = None) -> None:
        self.components, self.feature_names, self.embedding = components, feature_names, embedding

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a metric, or the map of queries alone, in a file.

        Parameters
        ----------
        path : path
            What ``convexmetric fit --save``, ``adapt --save``, ``solve --save`` or ``get_operator().save`` wrote, with
            the names of features where that knew them, or any other metric that ``convexmetric audit`` reads.

        Raises
        ------
        InputError
            If the file is missing or damaged, or holds none.
        """
        if str(path).lower().endswith(".npz") and "embedding" in read_arrays(path):
            operator = SimilarityOperator.load(path)
            return cls(operator.components, operator.feature_names, operator.embedding)
        return cls(*read_map(path)[1:])

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Return the transformer as it is: there is nothing to learn."""
        return self

    def transform(self, X: Any) -> Array:
        """``(n, rank)`` images of points.

        Parameters
        ----------
        X : (n, d) array, sparse matrix or frame
        """
        points = validate_data(self, X, reset=False, accept_sparse="csr", dtype=np.float64)
        return SimilarityOperator(self.components, self.embedding).transform(points)

    @property
    def n_features_in_(self) -> int:  # type: ignore[override]
        """Number of features; under a kernel the embedding knows it."""
        if self.embedding is not None:
            raise AttributeError("n_features_in_ is not known under a kernel")
        return int(np.shape(self.components)[1])

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the features, if the file has them."""
        if self.feature_names is None:
            raise AttributeError("feature_names_in_ is not known")
        return np.array(self.feature_names, dtype=object)

    @property
    def _n_features_out(self) -> int:
        return len(self.components)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit, tags.input_tags.sparse = False, True
        return tags
