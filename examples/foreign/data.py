"""Data of the methods: sets that scikit-learn bundles, with pairs, triplets and quadruplets drawn from their labels."""

from __future__ import annotations

from functools import cache

import numpy as np

import convexmetric as cm
from convexmetric.comparisons import triplets_from_labels


@cache
def points(name: str = "wine", steps: tuple[str, ...] = ("zscore",)) -> tuple[np.ndarray, np.ndarray]:
    """Points (n, d), scaled, and their labels (n,)."""
    data = cm.datasets.load(name)
    return cm.datasets.preprocess(data.X, list(steps)), data.y


def pairs(y: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """``count`` pairs of different points of one label, and as many of two labels."""
    drawn = np.random.default_rng(0).integers(0, len(y), (50 * count, 2))
    drawn = drawn[drawn[:, 0] < drawn[:, 1]]
    same = y[drawn[:, 0]] == y[drawn[:, 1]]
    return drawn[same][:count], drawn[~same][:count]


def differences(X: np.ndarray, listed: np.ndarray) -> np.ndarray:
    """``x_i - x_j`` of listed pairs."""
    return X[listed[:, 0]] - X[listed[:, 1]]


def triplets(y: np.ndarray, count: int) -> np.ndarray:
    """``count`` or a few less rows (i, j, k): i has the label of j, and not that of k."""
    return triplets_from_labels(y, count, random_state=0)
