"""Made sets for what no public set here is large enough for."""

from __future__ import annotations

import numpy as np

__all__ = ["letters", "spectra"]


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


def spectra(rows: int, bands: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Spectra of two kinds of things in some bands, between 0 and 1, and the kind: neighbouring bands are alike.

    Each kind has one broad peak. The peaks overlap, and spectra of a kind differ by half their height.
    """
    rng, band = np.random.default_rng(seed), np.arange(bands) * 60.0 / bands
    y = rng.integers(0, 2, rows)
    alike = np.exp(-0.5 * ((band[:, None] - band) / 3.0) ** 2) + 1e-3 * np.eye(bands)
    peak = np.where(
        y[:, None] == 1, np.exp(-0.5 * ((band - 20.0) / 10.0) ** 2), np.exp(-0.5 * ((band - 28.0) / 12.0) ** 2)
    )
    return np.clip(0.6 * peak + 0.25 * rng.standard_normal((rows, bands)) @ np.linalg.cholesky(alike).T, 0.0, 1.0), y
