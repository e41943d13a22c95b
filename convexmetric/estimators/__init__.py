"""Estimators like those of scikit-learn, one for most papers: ``fit``, ``transform``, ``score``, and a certificate.

Comparisons come in three forms, distinguished by the shape of the input of ``fit``:

==========================  ==========================================================================================
``fit(X, y)``               points in rows and a label for each; labels make the comparisons
``fit(triplets)``           (n, 3, d) points by value, or (n, 3) indices into ``preprocessor``
``fit(pairs, y)``           (n, 2, d) or (n, 2) likewise; y is +1 for similar and -1 for dissimilar pairs
==========================  ==========================================================================================

A 2-D array is points in rows without a ``preprocessor``, and tuples of indices with one; a 1-D array with a
``preprocessor`` is points by index.

:func:`~convexmetric.held_out` evaluates a metric on held-out rows, and :class:`~convexmetric.WeightSearch`
chooses the weight of an estimator.
"""

from convexmetric.estimators.choices import ChoiceMetric
from convexmetric.estimators.cross_modal import CrossModalMetric
from convexmetric.estimators.large_margin import LMNN, LargeMargin
from convexmetric.estimators.neighbors import NeighborMetric
from convexmetric.estimators.operator_margin import OperatorMarginMetric
from convexmetric.estimators.random_projection import RandomProjectionMetric
from convexmetric.estimators.ranking import MLR
from convexmetric.estimators.relative_comparisons import RelativeComparisonMetric
from convexmetric.estimators.saved import SavedMetric
from convexmetric.estimators.weight_search import WeightSearch

__all__ = [
    "LMNN",
    "MLR",
    "ChoiceMetric",
    "CrossModalMetric",
    "LargeMargin",
    "NeighborMetric",
    "OperatorMarginMetric",
    "RandomProjectionMetric",
    "RelativeComparisonMetric",
    "SavedMetric",
    "WeightSearch",
]
