"""Bases of the estimators, from scikit-learn, which has no types: those of what is used are in ``scikit_learn.pyi``.

Under bases without types, a type checker accepts any parameter of an estimator.
"""

from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    MetaEstimatorMixin,
    TransformerMixin,
)

__all__ = [
    "BaseEstimator",
    "ClassNamePrefixFeaturesOutMixin",
    "ClassifierMixin",
    "MetaEstimatorMixin",
    "TransformerMixin",
]
