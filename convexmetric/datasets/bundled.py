"""Data sets that need no folder and no network: those that come with scikit-learn or this package, or are drawn."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import numpy as np

from convexmetric.datasets.dataset import Dataset
from convexmetric.doors import Door

#: Sets that come with scikit-learn: names of the classes, and what the data are.
SCIKIT_LEARN = {
    "wine": (
        ("class-1", "class-2", "class-3"),
        "UCI Wine (Forina et al.): 13 chemical measurements of 178 wines of three cultivars",
    ),
    "breast-cancer": (
        ("malignant", "benign"),
        "UCI Breast Cancer Wisconsin (Diagnostic), or WDBC (Wolberg, Street and Mangasarian): 30 measurements of cell "
        "nuclei in 569 images",
    ),
    "digits": (
        tuple("0123456789"),
        "Test part of the UCI Optical Recognition of Handwritten Digits (Alpaydin and Kaynak): 1797 images of 8 x 8 "
        "grey levels 0-16",
    ),
    "iris": (
        ("setosa", "versicolor", "virginica"),
        "Iris (Fisher 1936): four measurements in cm of 150 flowers of three species",
    ),
}


def _from_scikit_learn(name: str) -> Dataset:
    from sklearn import datasets

    classes, description = SCIKIT_LEARN[name]
    bunch = getattr(datasets, f"load_{name.replace('-', '_')}")()
    X = np.ascontiguousarray(bunch.data, dtype=np.float64)
    y = np.ascontiguousarray(bunch.target, dtype=np.int64)
    extras: dict[str, Any] = {"feature_names": tuple(map(str, bunch.feature_names))}
    if name == "digits":
        extras["image_shape"] = (8, 8)
    return Dataset(name, X, y, classes, f"{description}, as bundled with scikit-learn.", extras)


def beside(where: str, *given: Any, **options: Any) -> Dataset:
    """Call a reader of an optional subpackage, given as ``module:function``, and return its data set.

    Raises
    ------
    NotInstalledError
        If this copy of the package lacks that subpackage.
    """
    module, _, reader = where.partition(":")
    return cast(Dataset, getattr(Door[Any](module).open(), reader)(*given, **options))


#: Sets of printed characters, which are drawn on demand.
PRINTED = [f"{how}-{what}" for how in ("rotated", "scaled", "rotated-scaled") for what in ("letters", "digits")]

BUNDLED: dict[str, Callable[[], Dataset]] = {
    **{name: partial(_from_scikit_learn, name) for name in SCIKIT_LEARN},
    "see-also": partial(beside, "retrieval.see_also:bundled_collection"),
    **{name: partial(beside, "bench.readers.printed:read_printed", name) for name in PRINTED},
}
"""Name to loader."""
