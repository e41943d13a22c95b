"""Conjugate gradients, preconditioned by a diagonal or within a trust region, from products with a matrix alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from convexmetric.arrays import Array
from convexmetric.deadline import until_deadline

#: Shares of the predicted decrease below which the region shrinks and above which it may grow, and the factors of both:
#: those of Nocedal and Wright (2006), algorithm 4.1.
POOR, GOOD, SHRINKAGE, GROWTH = 0.25, 0.75, 0.25, 2.0
#: Share of the radius from which a step counts as one to the boundary.
AT_BOUNDARY = 0.99


def conjugate_gradients(
    product: Callable[[Array], Array], b: Array, diagonal: Array, accuracy: float, steps: int
) -> tuple[Array, bool]:
    """Solve ``A x = b`` approximately, A positive definite; returns x, and whether it is as accurate as asked.

    Parameters
    ----------
    product : callable
        ``A x`` for an x.
    b, diagonal : (n,) arrays
        The right-hand side, and positive numbers near the diagonal of A.
    accuracy : float
        The residual, in the norm of the preconditioner, at which to end, as a share of the first one.
    steps : int
        Products at most; it also ends if rounding leaves no curvature along a direction.
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


def steihaug(
    hessian: Callable[[Array], Array], gradient: Array, radius: float, steps: int, accuracy: float
) -> tuple[Array, float]:
    """Minimise the quadratic model in a ball approximately; returns the step and its predicted decrease.

    Conjugate gradients (Steihaug, Toint) up to the boundary, to which directions of negative curvature are followed.
    They also end when the residual is a share ``accuracy`` of the gradient, or products leave the range of floats.
    """
    step, residual = np.zeros_like(gradient), -gradient
    direction, size = residual, float(np.vdot(residual, residual))
    enough, promised = size * accuracy**2, 0.0
    for _ in until_deadline(range(steps)):
        if size <= enough or size == 0.0:
            break
        product = hessian(direction)
        curvature = float(np.vdot(direction, product))
        if not np.isfinite(curvature):
            break
        if curvature <= 0.0 or np.linalg.norm(step + size / curvature * direction) >= radius:
            ahead = _to_boundary(step, direction, radius)
            return step + ahead * direction, promised + ahead * size - 0.5 * ahead * ahead * curvature
        ahead = size / curvature
        step = step + ahead * direction
        residual = residual - ahead * product
        promised += 0.5 * ahead * size
        before, size = size, float(np.vdot(residual, residual))
        direction = residual + size / before * direction
    return step, promised


def new_radius(radius: float, length: float, kept: float) -> float:
    """Update the trust-region radius after a step from ``kept``, the ratio of actual to predicted decrease."""
    if not kept >= POOR:
        return SHRINKAGE * length
    return GROWTH * radius if kept > GOOD and at_boundary(length, radius) else radius


def at_boundary(length: float, radius: float) -> bool:
    """Whether a step went to the boundary of the region."""
    return length >= AT_BOUNDARY * radius


def _to_boundary(step: Array, direction: Array, radius: float) -> float:
    """The positive t with ``||step + t direction|| = radius``."""
    a, b = float(np.vdot(direction, direction)), float(np.vdot(step, direction))
    c = float(np.vdot(step, step)) - radius * radius
    return float((-b + np.sqrt(max(0.0, b * b - a * c))) / a)
