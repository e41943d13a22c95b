"""Tables of the UCI repository: Balance Scale, Ionosphere, ISOLET, from the data folder or from OpenML.

What comes from the network is checked (shape, class counts, known properties) before it is used. Rows may
come in another order than in the UCI file, so that :func:`sha256` can differ from the data folder's.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexmetric.datasets.dataset import Dataset
from convexmetric.datasets.reading import locate
from convexmetric.errors import DataNotFoundError
from convexmetric.files import read_arrays, read_lines

#: Names of the classes of each set, and what it is.
SETS: dict[str, tuple[tuple[str, ...], str]] = {
    "balance-scale": (
        ("L", "B", "R"),
        "UCI Balance Scale (Siegler 1976): weight and distance on both arms (1-5), and whether the scale "
        "tips left, balances or tips right, in all 625 cases.",
    ),
    "ionosphere": (
        ("b", "g"),
        "UCI Ionosphere (Sigillito et al. 1989): 34 numbers of 351 radar returns, bad or good; the second "
        "feature is constant.",
    ),
    "isolet": (
        tuple(string.ascii_uppercase),
        "UCI ISOLET (Cole and Fanty): 617 features of 7797 letters of the alphabet, each spoken twice by 150 people.",
    ),
}
SIDES = ("left-weight", "left-distance", "right-weight", "right-distance")


def read_balance_scale(folder: Path | None) -> Dataset:
    """Read Balance Scale from ``balance-scale/balance-scale.data``."""
    rows = _fields(locate(folder, "balance-scale/balance-scale.data"))
    # The class comes first in this file.
    X = np.array([row[1:] for row in rows], dtype=np.float64)
    return _assembled("balance-scale", X, [row[0] for row in rows], feature_names=SIDES)


def read_ionosphere(folder: Path | None) -> Dataset:
    """Read Ionosphere from ``ionosphere/ionosphere.data``."""
    rows = _fields(locate(folder, "ionosphere/ionosphere.data"))
    X = np.array([row[:-1] for row in rows], dtype=np.float64)
    return _assembled("ionosphere", X, [row[-1] for row in rows])


def read_isolet(folder: Path | None) -> Dataset:
    """Read ISOLET from ``isolet/isolet.npz``; extras ``part``: 1-5 a row, 5 being the usual test set."""
    arrays = read_arrays(locate(folder, "isolet/isolet.npz"))
    # The file holds 10000 times the features as integers; the quotient is the published double.
    # In C order: sums over rows round differently in another, and the file is in Fortran order.
    X = np.ascontiguousarray(arrays["X_e4"] / 1e4)
    letters = [string.ascii_uppercase[code - 1] for code in arrays["y"]]
    return _assembled("isolet", X, letters, part=arrays["part"].astype(np.int64))


def _assembled(name: str, X: NDArray[np.float64], labels: Sequence[str], **extras: Any) -> Dataset:
    """Assemble a set from its rows and the names of their classes; raises KeyError at an unknown name."""
    classes, description = SETS[name]
    index = {label: code for code, label in enumerate(classes)}
    y = np.array([index[label] for label in labels], dtype=np.int64)
    return Dataset(name, X, y, classes, description, extras)


def _fields(path: Path) -> list[list[str]]:
    return [line.split(",") for line in read_lines(path)]


def fetch(name: str) -> Dataset:
    """Download a data set of :data:`OPENML` with scikit-learn, which keeps a copy in its own cache.

    Raises
    ------
    DataNotFoundError
        The download failed, or gave something other than the data set.
    """
    from sklearn.datasets import fetch_openml

    try:
        bunch = fetch_openml(name=name, version=1, as_frame=False, parser="liac-arff", n_retries=1)
        X = np.ascontiguousarray(bunch.data, dtype=np.float64)
        # Depending on the version of scikit-learn, quotes of the ARFF file stay on nominal values.
        dataset = OPENML[name](X, [str(value).strip().strip("'\"") for value in bunch.target])
    except Exception as error:
        # Whatever failed (network, cache, format of the site or of the file), there are no data.
        raise DataNotFoundError(f"the download from OpenML failed ({type(error).__name__}: {error})") from error
    return replace(dataset, description=dataset.description.rstrip(".") + ", from OpenML.")


def _fetched_balance_scale(X: NDArray[np.float64], labels: list[str]) -> Dataset:
    # The rows are all cases of a 5^4 grid: sorting restores the order of the UCI file.
    order = np.lexsort(X.T[::-1])
    dataset = _assembled("balance-scale", X[order], [labels[row] for row in order], feature_names=SIDES)
    _expected(dataset, 4, (288, 49, 288))
    grid = np.indices((5, 5, 5, 5)).reshape(4, -1).T + 1.0
    if not np.array_equal(dataset.X, grid):
        raise ValueError("the rows are not the 625 cases of Balance Scale")
    return dataset


def _fetched_ionosphere(X: NDArray[np.float64], labels: list[str]) -> Dataset:
    return _expected(_assembled("ionosphere", X, labels), 34, (126, 225))


def _fetched_isolet(X: NDArray[np.float64], labels: list[str]) -> Dataset:
    # OpenML has the codes 1-26; which rows belong to which of the five parts it does not say.
    dataset = _assembled("isolet", X, [string.ascii_uppercase[int(float(label)) - 1] for label in labels])
    return _expected(dataset, 617, tuple({"F": 298, "M": 299}.get(letter, 300) for letter in dataset.target_names))


def _expected(dataset: Dataset, features: int, counts: tuple[int, ...]) -> Dataset:
    """Return a set that has so many features and rows of each class; refuse another one."""
    assert dataset.y is not None
    found = tuple(int(count) for count in np.bincount(dataset.y, minlength=len(counts)))
    if dataset.X.shape[1] != features or found != counts:
        raise ValueError(
            f"{features} features and class counts {counts} expected, {dataset.X.shape[1]} and {found} found"
        )
    if not np.all(np.isfinite(dataset.X)):
        raise ValueError("some values are missing")
    return dataset


OPENML: dict[str, Callable[[NDArray[np.float64], list[str]], Dataset]] = {
    "balance-scale": _fetched_balance_scale,
    "ionosphere": _fetched_ionosphere,
    "isolet": _fetched_isolet,
}
"""Name, there and here, to what assembles the data set."""
