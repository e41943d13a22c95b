"""A made set for what no public set here is large enough for."""

from __future__ import annotations

import numpy as np

__all__ = ["letters"]


def letters(rows: int, features: int = 16, classes: int = 26, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Points of the shape of the Letter Recognition set: whole numbers from 0 to 15, then z-scored; and labels.

    Every class is a mixture of three normal distributions about a centre of its own, all of one covariance.
    """
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(classes, 1, features)) + 0.8 * rng.normal(size=(classes, 3, features))
    mixing = 0.6 / np.sqrt(features) * rng.normal(size=(features, features)) + 0.7 * np.eye(features)
    y, part = rng.integers(classes, size=rows), rng.integers(3, size=rows)
    X = centres[y, part] + 1.2 * rng.normal(size=(rows, features)) @ mixing
    X = np.clip(np.round(2.0 * X + 8.0), 0, 15)
    return (X - X.mean(axis=0)) / X.std(axis=0), y
