"""What solvers need of a problem: typed data.

Where the problem does not have it, an :class:`~convexmetric.errors.UnsupportedProblemError` has the reason, a clause.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np

from convexmetric.arrays import Array
from convexmetric.errors import UnsupportedProblemError
from convexmetric.problem import MetricProblem
from convexmetric.risks import Form, ListedHinges, Reason

__all__ = [
    "linear_part",
    "need_diagonal_metrics",
    "need_full_metrics",
    "need_linear_penalty",
    "quadratic_part",
    "risk_as",
    "soft_hinges",
    "squared_norm",
    "trace_weight",
]


#: What a solver may ask a risk for.
Kind = TypeVar("Kind", bound=Form)


def risk_as(problem: MetricProblem, kind: type[Kind]) -> Kind:
    """The risk in a form, or as a class of risks."""
    found = problem.risk.form(kind)
    if isinstance(found, Reason):
        raise UnsupportedProblemError(found)
    return found


def need_full_metrics(problem: MetricProblem) -> None:
    """Refuse metrics that are not all semidefinite matrices."""
    if problem.cone.diagonal:
        raise UnsupportedProblemError("its metrics are diagonal")
    if problem.cone.on_subspace(1) is None:
        raise UnsupportedProblemError("its metrics have zeros that stay zeros")


def need_diagonal_metrics(problem: MetricProblem) -> None:
    """Refuse metrics that are not vectors of weights."""
    if not problem.cone.diagonal:
        raise UnsupportedProblemError("its metrics are not diagonal")


def quadratic_part(problem: MetricProblem) -> float | Array:
    """Q of a penalty ``<linear, M> + <M, Q M> / 2``: a multiple of the identity, or a matrix for diagonal metrics."""
    quadratic = problem.quadratic()
    if quadratic is None:
        raise UnsupportedProblemError("its regularizer is neither linear nor quadratic")
    if isinstance(quadratic, np.ndarray) and not problem.cone.diagonal:
        raise UnsupportedProblemError("its quadratic form is for diagonal metrics only")
    return quadratic


def soft_hinges(problem: MetricProblem) -> ListedHinges:
    """The risk as hinges of listed comparisons, none of them a constraint."""
    hinges = risk_as(problem, ListedHinges)
    if hinges.hard:
        raise UnsupportedProblemError("its margins are hard constraints")
    return hinges


def squared_norm(problem: MetricProblem) -> float:
    """Lambda of a penalty ``<linear, M> + lambda/2 ||M||^2``."""
    quadratic = problem.quadratic()
    if isinstance(quadratic, np.ndarray) or not quadratic:
        raise UnsupportedProblemError("its regularizer is not a squared Frobenius norm")
    return float(quadratic)


def need_linear_penalty(problem: MetricProblem) -> None:
    """Refuse a penalty that is not ``<linear, M>``."""
    quadratic = problem.quadratic()
    if quadratic is None or isinstance(quadratic, np.ndarray) or quadratic > 0.0:
        raise UnsupportedProblemError("its penalty is not linear")


def linear_part(problem: MetricProblem) -> Array:
    """The linear part of a penalty that is linear plus quadratic, an element of the cone's space."""
    linear = problem.cone.from_coordinates(problem.regularizer.linear(problem.cone))
    return linear if problem.G is None else linear + problem.G


def trace_weight(problem: MetricProblem) -> float:
    """Lambda of a regularizer ``lambda tr M``."""
    weights = problem.regularizer.weights()
    if weights is None or weights.squared or weights.norm:
        raise UnsupportedProblemError("its regularizer is not a trace")
    return weights.trace
