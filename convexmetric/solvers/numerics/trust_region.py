"""Steps of a trust-region Newton method, from products with the second derivative alone."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from convexmetric.cones.base import Array

__all__ = ["steihaug"]


def steihaug(
    hessian: Callable[[Array], Array], gradient: Array, radius: float, steps: int, accuracy: float
) -> tuple[Array, float]:
    """A step in a ball that descends the quadratic model, and the decrease it promises.

    Conjugate gradients (Steihaug, Toint) up to the boundary, which directions of negative curvature lead to; they end
    when the residual is a share ``accuracy`` of the gradient, or products leave the range of floats.
    """
    step, residual = np.zeros_like(gradient), -gradient
    direction, size = residual, float(np.vdot(residual, residual))
    enough, promised = size * accuracy**2, 0.0
    for _ in range(steps):
        if size <= enough or size == 0.0:
            break
        product = hessian(direction)
        bend = float(np.vdot(direction, product))
        if not np.isfinite(bend):
            break
        if bend <= 0.0 or np.linalg.norm(step + size / bend * direction) >= radius:
            ahead = _to_boundary(step, direction, radius)
            return step + ahead * direction, promised + ahead * size - 0.5 * ahead * ahead * bend
        ahead = size / bend
        step = step + ahead * direction
        residual = residual - ahead * product
        promised += 0.5 * ahead * size
        before, size = size, float(np.vdot(residual, residual))
        direction = residual + size / before * direction
    return step, promised


def _to_boundary(step: Array, direction: Array, radius: float) -> float:
    """The positive t with ``||step + t direction|| = radius``."""
    a, b = float(np.vdot(direction, direction)), float(np.vdot(step, direction))
    c = float(np.vdot(step, step)) - radius * radius
    return float((-b + np.sqrt(max(0.0, b * b - a * c))) / a)
