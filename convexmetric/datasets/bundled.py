"""Data sets that need no folder and no network: those that scikit-learn bundles."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import numpy as np

from convexmetric.datasets.dataset import Dataset
from convexmetric.imports import room


def _wine() -> Dataset:
    from sklearn.datasets import load_wine

    return _dataset(
        "wine",
        load_wine(),
        ("class-1", "class-2", "class-3"),
        "UCI Wine (Forina et al.): 13 chemical measurements of 178 wines of three cultivars, as bundled "
        "with scikit-learn.",
    )


def _breast_cancer() -> Dataset:
    from sklearn.datasets import load_breast_cancer

    return _dataset(
        "breast-cancer",
        load_breast_cancer(),
        ("malignant", "benign"),
        "UCI Breast Cancer Wisconsin (Diagnostic), or WDBC (Wolberg, Street and Mangasarian): 30 "
        "measurements of cell nuclei in 569 images, as bundled with scikit-learn.",
    )


def _digits() -> Dataset:
    from sklearn.datasets import load_digits

    return _dataset(
        "digits",
        load_digits(),
        tuple("0123456789"),
        "Test part of the UCI Optical Recognition of Handwritten Digits (Alpaydin and Kaynak): 1797 "
        "images of 8 x 8 grey levels 0-16, as bundled with scikit-learn.",
        image_shape=(8, 8),
    )


def _iris() -> Dataset:
    from sklearn.datasets import load_iris

    return _dataset(
        "iris",
        load_iris(),
        ("setosa", "versicolor", "virginica"),
        "Iris (Fisher 1936): four measurements in cm of 150 flowers of three species, as bundled with scikit-learn.",
    )


def _dataset(name: str, bunch: Any, classes: tuple[str, ...], description: str, **extras: Any) -> Dataset:
    X = np.ascontiguousarray(bunch.data, dtype=np.float64)
    y = np.ascontiguousarray(bunch.target, dtype=np.int64)
    features = tuple(str(feature) for feature in bunch.feature_names)
    return Dataset(name, X, y, classes, description, {"feature_names": features, **extras})


def beside(where: str, *given: Any, **options: Any) -> Dataset:
    """Call a reader of an optional subpackage, given as ``module:function``, and return its data set.

    Raises
    ------
    NotInstalledError
        If this copy of the package lacks that subpackage.
    """
    module, _, reader = where.partition(":")
    return cast(Dataset, getattr(room(module), reader)(*given, **options))


#: Sets of printed characters, which are drawn on demand.
PRINTED = [f"{how}-{what}" for how in ("rotated", "scaled", "rotated-scaled") for what in ("letters", "digits")]

BUNDLED: dict[str, Callable[[], Dataset]] = {
    "wine": _wine,
    "breast-cancer": _breast_cancer,
    "digits": _digits,
    "iris": _iris,
    "cranfield-100": partial(beside, "retrieval.cranfield:bundled_part"),
    **{name: partial(beside, "bench.readers.printed:read_printed", name) for name in PRINTED},
}
"""Name to loader."""
