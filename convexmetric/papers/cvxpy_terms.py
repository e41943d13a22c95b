"""Helpers with which papers write their programs, in CVXPY and as text.

:func:`given` makes a named parameter of given data, and :func:`inner` is the inner product of two metrics.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from convexmetric.errors import InputError
from convexmetric.programs.lazy import cvxpy as cp

__all__ = ["COMPARISONS_LIMIT", "check_size", "given", "inner", "span_of"]

#: Comparisons, or rankings, up to which a program is written out: CVXPY takes some milliseconds for each.
COMPARISONS_LIMIT = 1_000


def given(name: str, value: Any, **attributes: bool) -> cp.Parameter:
    """Make a CVXPY parameter of a number, a vector or a matrix of the data, named as in the paper."""
    array = np.asarray(value, dtype=np.float64)
    return cp.Parameter(array.shape, name=name, value=array, **attributes)


def given_pairs(name: str, value: Callable[[int, int], Any]) -> Callable[[int, int], cp.Parameter]:
    """Return a function from the rows of two points to the pair's parameter, which is made once and reused."""
    return cache(lambda i, j: given(f"{name}[{i}, {j}]", value(i, j)))


def inner(D: cp.Expression, M: cp.Expression) -> cp.Expression:
    """``<D, M>``, the sum of the entries of ``D * M``: ``tr(D M)`` of symmetric matrices."""
    return cp.sum(cp.multiply(D, M))


def span_of(counts: np.ndarray) -> str:
    """Format the range of counts as text; a single number if all are equal."""
    low, high = int(counts.min()), int(counts.max())
    return str(low) if low == high else f"{low} to {high}"


def check_size(count: int, what: str, otherwise: str = "") -> None:
    """Refuse to write out more than ``COMPARISONS_LIMIT`` comparisons, pairs or rankings.

    Raises
    ------
    InputError
        If there are more.
    """
    if count > COMPARISONS_LIMIT:
        raise InputError(
            f"the program has {count} {what}, too many to write out one by one (at most {COMPARISONS_LIMIT}): take "
            f"fewer points, {otherwise}or the compiled statement(), in which all of them are one constraint"
        )
