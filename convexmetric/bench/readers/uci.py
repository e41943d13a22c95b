"""Tables of the UCI repository read from the data folder: Balance Scale, Ionosphere, ISOLET."""

from __future__ import annotations

import string
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexmetric.datasets.dataset import Dataset
from convexmetric.datasets.reading import locate
from convexmetric.files import read_arrays, read_lines

BALANCE_CLASSES = ("L", "B", "R")
IONOSPHERE_CLASSES = ("b", "g")
ISOLET_CLASSES = tuple(string.ascii_uppercase)


def read_balance_scale(folder: Path | None) -> Dataset:
    """Read Balance Scale from ``balance-scale/balance-scale.data``."""
    rows = _fields(locate(folder, "balance-scale/balance-scale.data"))
    # The class comes first in this file.
    return balance_scale(_floats([row[1:] for row in rows]), [row[0] for row in rows])


def read_ionosphere(folder: Path | None) -> Dataset:
    """Read Ionosphere from ``ionosphere/ionosphere.data``."""
    rows = _fields(locate(folder, "ionosphere/ionosphere.data"))
    return ionosphere(_floats([row[:-1] for row in rows]), [row[-1] for row in rows])


def read_isolet(folder: Path | None) -> Dataset:
    """Read ISOLET from ``isolet/isolet.npz``; extras ``part``: 1-5 a row, 5 being the usual test set."""
    arrays = read_arrays(locate(folder, "isolet/isolet.npz"))
    # The file holds 10000 times the features as integers; the quotient is the published double.
    # In C order: sums over rows round differently in another, and the file is in Fortran order.
    X = np.ascontiguousarray(arrays["X_e4"] / 1e4)
    letters = [ISOLET_CLASSES[code - 1] for code in arrays["y"]]
    return isolet(X, letters, part=arrays["part"].astype(np.int64))


def balance_scale(X: NDArray[np.float64], labels: Sequence[str]) -> Dataset:
    """Assemble Balance Scale from its rows and the labels ``L``, ``B``, ``R``."""
    return Dataset(
        "balance-scale",
        X,
        _codes(labels, BALANCE_CLASSES),
        BALANCE_CLASSES,
        "UCI Balance Scale (Siegler 1976): weight and distance on both arms (1-5), and whether the scale "
        "tips left, balances or tips right, in all 625 cases.",
        {"feature_names": ("left-weight", "left-distance", "right-weight", "right-distance")},
    )


def ionosphere(X: NDArray[np.float64], labels: Sequence[str]) -> Dataset:
    """Assemble Ionosphere from its rows and the labels ``b``, ``g``."""
    return Dataset(
        "ionosphere",
        X,
        _codes(labels, IONOSPHERE_CLASSES),
        IONOSPHERE_CLASSES,
        "UCI Ionosphere (Sigillito et al. 1989): 34 numbers of 351 radar returns, bad or good; the second "
        "feature is constant.",
    )


def isolet(X: NDArray[np.float64], labels: Sequence[str], **extras: Any) -> Dataset:
    """Assemble ISOLET from its rows and the labels ``A`` to ``Z``."""
    return Dataset(
        "isolet",
        X,
        _codes(labels, ISOLET_CLASSES),
        ISOLET_CLASSES,
        "UCI ISOLET (Cole and Fanty): 617 features of 7797 letters of the alphabet, each spoken twice by 150 people.",
        extras,
    )


def _codes(labels: Sequence[str], classes: Sequence[str]) -> NDArray[np.int64]:
    """Return the index of each label in ``classes``; raises KeyError at an unknown label."""
    index = {label: code for code, label in enumerate(classes)}
    return np.array([index[label] for label in labels], dtype=np.int64)


def _fields(path: Path) -> list[list[str]]:
    return [line.split(",") for line in read_lines(path)]


def _floats(rows: list[list[str]]) -> NDArray[np.float64]:
    return np.array([[float(value) for value in row] for row in rows], dtype=np.float64)
