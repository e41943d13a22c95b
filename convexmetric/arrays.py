"""Arrays of real numbers: their type, checks of those that users give, results as JSON, and copies that share them."""

from __future__ import annotations

import json
from copy import copy
from dataclasses import fields, is_dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np
import scipy.linalg as la
from numpy.typing import NDArray

from convexmetric.errors import InputError

Array = NDArray[np.float64]
Kind = TypeVar("Kind")

#: Version of the keys of results, ``docs/benchmarking.md``: raised whenever a key changes or is removed.
RESULTS_VERSION = 1


def plain(value: Any) -> Any:
    """Convert records, arrays and numbers to JSON types; numbers that are not finite become null."""
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {name: plain(entry) for name, entry in value.items()}
    if isinstance(value, np.ndarray):
        value = value.ravel().tolist()
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


class Result:
    """A result that is written as JSON, under the keys of ``docs/benchmarking.md``."""

    #: Attributes that are written, in order.
    written: ClassVar[tuple[str, ...]]

    def to_dict(self) -> dict[str, Any]:
        """Return the result in JSON types: numbers, texts, lists and mappings; None for what is not finite."""
        return {"schema": RESULTS_VERSION, **{name: plain(getattr(self, name)) for name in self.written}}

    def to_json(self) -> str:
        """Return the text of ``to_dict()``."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)


def altered(thing: Kind, **changes: Any) -> Kind:
    """Return a copy with some attributes changed; all others are shared."""
    made = copy(thing)
    vars(made).update(changes)
    return made


def real_array(values: Any, name: str) -> Array:
    """Convert ``values`` to float64; raise an :class:`InputError` unless they form an array of real numbers."""
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
    """Convert ``values`` to a float64 array; raise an :class:`InputError` unless it is finite and has this shape."""
    array = real_array(values, name)
    if array.shape != shape:
        raise InputError(f"{name} must have shape {shape}, got {array.shape}")
    if not np.isfinite(array).all():
        raise InputError(f"{name} contains NaN or infinite entries; remove or impute them first")
    return array


def congruent(S: Array, V: Array) -> Array:
    """``V^T S V`` for a matrix or a stack of them; the first product is one for the whole stack."""
    half = (S.reshape(-1, len(V)) @ V).reshape(*S.shape[:-1], V.shape[1])
    return np.asarray(V.T @ half)
