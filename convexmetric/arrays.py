"""Arrays of real numbers: their type, and the checks of those that users give."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

from convexmetric.errors import InputError

Array = NDArray[np.float64]


def real_array(values: Any, name: str) -> Array:
    """``values`` in float64, or an :class:`InputError` if they are no rectangular array of real numbers."""
    try:
        if np.iscomplexobj(values):
            raise InputError(f"{name} must hold real numbers, got complex ones")
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{name} must be a rectangular array of real numbers") from error


def norm_of(S: Array) -> float:
    """``||S||_F``, without overflow or underflow of squares."""
    return float(la.norm(S.ravel(), check_finite=False))


def finite_array(values: Any, shape: tuple[int, ...], name: str) -> Array:
    """``values`` as a float64 array of the given shape with finite entries, or an :class:`InputError`."""
    array = real_array(values, name)
    if array.shape != shape:
        raise InputError(f"{name} must have shape {shape}, got {array.shape}")
    if not np.isfinite(array).all():
        raise InputError(f"{name} contains NaN or infinite entries; remove or impute them first")
    return array
