"""Helpers with which papers write their programs, in CVXPY and as text.

:func:`given` names a number of the data, and :func:`inner` is the inner product of two metrics.
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
    """A number, a vector or a matrix of the data as a CVXPY parameter with the name that it has in the paper."""
    array = np.asarray(value, dtype=np.float64)
    return cp.Parameter(array.shape, name=name, value=array, **attributes)


def given_pairs(name: str, value: Callable[[int, int], Any]) -> Callable[[int, int], cp.Parameter]:
    """Parameters of pairs of points by their rows, each made once: where a pair comes again, so does its parameter."""
    return cache(lambda i, j: given(f"{name}[{i}, {j}]", value(i, j)))


def inner(D: cp.Expression, M: cp.Expression) -> cp.Expression:
    """``<D, M>``, the sum of the entries of ``D * M``: ``tr(D M)`` of symmetric matrices."""
    return cp.sum(cp.multiply(D, M))


def span_of(counts: np.ndarray) -> str:
    """The least and the largest of some counts as text, or the one that all are."""
    low, high = int(counts.min()), int(counts.max())
    return str(low) if low == high else f"{low} to {high}"


def check_size(count: int, what: str, otherwise: str = "") -> None:
    """Refuse to write out more than ``COMPARISONS_LIMIT`` of something.

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
