"""Alphadigits framed as the characters of MNIST are."""

from __future__ import annotations

import numpy as np
from scipy import ndimage

import convexmetric as cm

from .experiments import Labelled

__all__ = ["framed_alphadigits", "framed_as_mnist"]

#: Sides of the box that ink fits in, and of an image.
BOX, SIDE = 20, 28


def framed_as_mnist(ink: np.ndarray) -> np.ndarray:
    """``(28, 28)`` image of ink in [0, 1]: its bounding box scaled to fit 20 x 20, its centre of mass in the middle."""
    rows, columns = (np.flatnonzero(ink.any(axis=axis)) for axis in (1, 0))
    cut = ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    scaled = np.clip(ndimage.zoom(cut, BOX / max(cut.shape), order=1, grid_mode=True, mode="nearest"), 0.0, 1.0)
    image = np.zeros((SIDE, SIDE))
    top, left = (
        int(np.clip(round((SIDE - 1) / 2 - centre), 0, SIDE - size))
        for centre, size in zip(ndimage.center_of_mass(scaled), scaled.shape, strict=True)
    )
    image[top : top + scaled.shape[0], left : left + scaled.shape[1]] = scaled
    return image


def framed_alphadigits(part: str) -> Labelled:
    """``"letters"`` or ``"digits"``, black on white."""
    data = cm.datasets.load("binary-alphadigits")
    rows = data.extras[part]
    images = data.X[rows].reshape(len(rows), *data.extras["image_shape"])
    return 1.0 - np.array([framed_as_mnist(image).ravel() for image in images]), data.y[rows]
