"""The training part of IsoLet as the ranking paper uses it: principal components of spoken letters."""

from __future__ import annotations

import numpy as np

import convexmetric as cm

__all__ = ["isolet", "spaced"]


def isolet(features: int = 170) -> tuple[np.ndarray, np.ndarray]:
    """The training part, projected on its first principal axes."""
    data = cm.datasets.load("isolet")
    rows = np.isin(data.extras["part"], (1, 2, 3, 4))
    return cm.datasets.preprocess(data.X[rows], [f"pca:{features}"]), data.y[rows]


def spaced(X: np.ndarray, y: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """n rows at equal distances."""
    rows = np.linspace(0, len(X) - 1, n).astype(int)
    return X[rows], y[rows]
