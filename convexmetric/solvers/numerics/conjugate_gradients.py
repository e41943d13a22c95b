"""Conjugate gradients, preconditioned by a diagonal."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from convexmetric.arrays import Array
from convexmetric.deadline import until_deadline


def conjugate_gradients(
    product: Callable[[Array], Array], b: Array, diagonal: Array, accuracy: float, steps: int
) -> tuple[Array, bool]:
    """An approximate solution of ``A x = b``, A positive definite, and whether it is as accurate as asked.

    Parameters
    ----------
    product : callable
        ``A x`` for an x.
    b, diagonal : (n,) arrays
        The right-hand side, and positive numbers near the diagonal of A.
    accuracy : float
        The residual, in the norm of the preconditioner, at which to end, as a share of the first one.
    steps : int
        Products at most; they also end where rounding leaves no curvature along a direction.
    """
    x, residual = np.zeros_like(b), b.copy()
    z = residual / diagonal
    p, square = z.copy(), float(residual @ z)
    target = accuracy * accuracy * square
    for _ in until_deadline(range(steps)):
        if square <= target:
            break
        image = product(p)
        curvature = float(p @ image)
        if not 0.0 < curvature < np.inf:
            break
        length = square / curvature
        x += length * p
        residual -= length * image
        z = residual / diagonal
        before, square = square, float(residual @ z)
        p = z + square / before * p
    return x, square <= target
