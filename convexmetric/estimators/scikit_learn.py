"""Bases of the estimators from scikit-learn, which has no types, with those of what is used of them.

Without types for its bases, a type checker takes any parameter of an estimator.
"""

# ruff: noqa: D101, D102

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:

    class BaseEstimator:
        n_features_in_: int
        feature_names_in_: Any

        def get_params(self, deep: bool = True) -> dict[str, Any]: ...
        def set_params(self, **params: Any) -> Self: ...
        def set_fit_request(self, **requests: bool | str | None) -> Self: ...
        def set_score_request(self, **requests: bool | str | None) -> Self: ...
        def __getstate__(self) -> Any: ...
        def __sklearn_clone__(self) -> Any: ...
        def __sklearn_tags__(self) -> Any: ...

    class ClassNamePrefixFeaturesOutMixin:
        def get_feature_names_out(self, input_features: Any = None) -> Any: ...

    class TransformerMixin:
        def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any: ...
        def set_output(self, *, transform: Any = None) -> Self: ...

    class ClassifierMixin:
        def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float: ...

    class MetaEstimatorMixin: ...

else:
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
