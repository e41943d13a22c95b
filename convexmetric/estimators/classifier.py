"""Base of metrics that classify as well: by the nearest rows that they were learned from."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from convexmetric.arrays import Array
from convexmetric.errors import InputError
from convexmetric.estimators.large_margin import NeighborEstimator
from convexmetric.estimators.scikit_learn import ClassifierMixin

__all__ = ["NeighborClassifier"]


class NeighborClassifier(ClassifierMixin, NeighborEstimator):
    """Base of metrics that predict labels by nearest neighbours; :meth:`score` is the accuracy of the predictions.

    Attributes
    ----------
    classes_ : (c,) array
        The labels, sorted.
    """

    classes_: np.ndarray

    def predict(self, X: Any) -> np.ndarray:
        """``(n,)`` labels, by the vote of the ``n_neighbors`` nearest rows that were learned from.

        Distances are learned ones; of labels with equally many votes it is the first of ``classes_``.

        Parameters
        ----------
        X : (n, d) array, or (n,) indices with a ``preprocessor``
        """
        votes = self.predict_proba(X)
        return np.asarray(self.classes_[votes.argmax(axis=1)])

    def predict_proba(self, X: Any) -> Array:
        """``(n, c)`` shares of the labels in the vote of :meth:`predict`, in the order of ``classes_``.

        Parameters
        ----------
        X : (n, d) array, or (n,) indices with a ``preprocessor``
        """
        images = self._transformed(X)
        return np.asarray(self._voters.predict_proba(images))

    def _coded(self, labels: np.ndarray) -> np.ndarray:
        """Numbers of the labels in ``classes_``, which it sets."""
        if self.n_neighbors >= len(labels):
            raise InputError(f"n_neighbors must be below the number of points, {len(labels)}, got {self.n_neighbors}")
        self.classes_, codes = np.unique(labels, return_inverse=True)
        return codes

    def _keep_voters(self, points: Array, codes: np.ndarray) -> None:
        self._voters = KNeighborsClassifier(self.n_neighbors).fit(self._images(points), codes)
