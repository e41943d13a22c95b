"""UCI tables from OpenML, for those who have no data folder.

What comes from the network is checked (shape, class counts, known properties) before it is used. Rows may
come in another order than in the UCI file, so that :func:`sha256` can differ from the data folder's.
"""

from __future__ import annotations

import string
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexmetric.bench.readers.uci import balance_scale, ionosphere, isolet
from convexmetric.datasets.dataset import Dataset
from convexmetric.errors import DataNotFoundError

_Loader = Callable[[NDArray[np.float64], list[str]], Dataset]


def fetch(name: str) -> Dataset:
    """Download a data set of :data:`OPENML` with scikit-learn, which keeps a copy in its own cache.

    Raises
    ------
    DataNotFoundError
        The download failed, or gave something other than the data set.
    """
    from sklearn.datasets import fetch_openml

    assemble, version = OPENML[name]
    try:
        bunch = fetch_openml(name=name, version=version, as_frame=False, parser="liac-arff", n_retries=1)
        X = np.ascontiguousarray(bunch.data, dtype=np.float64)
        dataset = assemble(X, [_label(value) for value in bunch.target])
    except Exception as error:
        # Whatever failed (network, cache, format of the site or of the file), there are no data.
        raise DataNotFoundError(f"the download from OpenML failed ({type(error).__name__}: {error})") from error
    return replace(dataset, description=dataset.description.rstrip(".") + ", from OpenML.")


def _label(value: Any) -> str:
    # Depending on the version of scikit-learn, quotes of the ARFF file stay on nominal values.
    return str(value).strip().strip("'\"")


def _balance_scale(X: NDArray[np.float64], labels: list[str]) -> Dataset:
    # The rows are all cases of a 5^4 grid: sorting restores the order of the UCI file.
    order = np.lexsort(X.T[::-1])
    dataset = balance_scale(X[order], [labels[row] for row in order])
    _expect(dataset, 4, (288, 49, 288))
    grid = np.indices((5, 5, 5, 5)).reshape(4, -1).T + 1.0
    if not np.array_equal(dataset.X, grid):
        raise ValueError("the rows are not the 625 cases of Balance Scale")
    return dataset


def _ionosphere(X: NDArray[np.float64], labels: list[str]) -> Dataset:
    dataset = ionosphere(X, labels)
    _expect(dataset, 34, (126, 225))
    return dataset


def _isolet(X: NDArray[np.float64], labels: list[str]) -> Dataset:
    # OpenML has the codes 1-26; which rows belong to which of the five parts it does not say.
    dataset = isolet(X, [string.ascii_uppercase[int(float(label)) - 1] for label in labels])
    _expect(dataset, 617, tuple({"F": 298, "M": 299}.get(letter, 300) for letter in string.ascii_uppercase))
    return dataset


def _expect(dataset: Dataset, features: int, counts: tuple[int, ...]) -> None:
    assert dataset.y is not None
    found = tuple(int(count) for count in np.bincount(dataset.y, minlength=len(counts)))
    if dataset.X.shape[1] != features or found != counts:
        raise ValueError(
            f"{features} features and class counts {counts} expected, {dataset.X.shape[1]} and {found} found"
        )
    if not np.all(np.isfinite(dataset.X)):
        raise ValueError("some values are missing")


OPENML: dict[str, tuple[_Loader, int]] = {
    "balance-scale": (_balance_scale, 1),
    "ionosphere": (_ionosphere, 1),
    "isolet": (_isolet, 1),
}
"""Name, there and here, to what assembles the data set and the version at OpenML."""
