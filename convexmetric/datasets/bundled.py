"""Data sets that need no folder and no network: those that scikit-learn bundles."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import numpy as np

from convexmetric.datasets.dataset import Dataset
from convexmetric.imports import room


def _from_scikit_learn(name: str, classes: tuple[str, ...], description: str, **extras: Any) -> Dataset:
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{name.replace('-', '_')}")()
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
    "wine": partial(
        _from_scikit_learn,
        "wine",
        ("class-1", "class-2", "class-3"),
        "UCI Wine (Forina et al.): 13 chemical measurements of 178 wines of three cultivars, as bundled "
        "with scikit-learn.",
    ),
    "breast-cancer": partial(
        _from_scikit_learn,
        "breast-cancer",
        ("malignant", "benign"),
        "UCI Breast Cancer Wisconsin (Diagnostic), or WDBC (Wolberg, Street and Mangasarian): 30 "
        "measurements of cell nuclei in 569 images, as bundled with scikit-learn.",
    ),
    "digits": partial(
        _from_scikit_learn,
        "digits",
        tuple("0123456789"),
        "Test part of the UCI Optical Recognition of Handwritten Digits (Alpaydin and Kaynak): 1797 "
        "images of 8 x 8 grey levels 0-16, as bundled with scikit-learn.",
        image_shape=(8, 8),
    ),
    "iris": partial(
        _from_scikit_learn,
        "iris",
        ("setosa", "versicolor", "virginica"),
        "Iris (Fisher 1936): four measurements in cm of 150 flowers of three species, as bundled with scikit-learn.",
    ),
    "cranfield-100": partial(beside, "retrieval.cranfield:bundled_part"),
    **{name: partial(beside, "bench.readers.printed:read_printed", name) for name in PRINTED},
}
"""Name to loader."""
