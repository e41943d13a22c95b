"""What solvers need of a problem's penalty and cone: typed data, or the reason why a problem does not have them."""

from __future__ import annotations

import numpy as np

from convexmetric.cones.base import Array
from convexmetric.problem import MetricProblem
from convexmetric.risks import ListedHinges, Reason

__all__ = [
    "diagonal_metrics",
    "full_metrics",
    "linear_part",
    "linear_penalty",
    "quadratic_part",
    "soft_hinges",
    "squared_norm",
    "trace_weight",
]


def full_metrics(problem: MetricProblem) -> Reason | None:
    """A reason unless metrics are all semidefinite matrices."""
    if problem.cone.diagonal:
        return Reason("its metrics are diagonal")
    return None if problem.cone.on_subspace(1) is not None else Reason("its metrics have zeros that stay zeros")


def diagonal_metrics(problem: MetricProblem) -> Reason | None:
    """A reason unless metrics are vectors of weights."""
    return None if problem.cone.diagonal else Reason("its metrics are not diagonal")


def quadratic_part(problem: MetricProblem) -> float | Array | Reason:
    """Q of a penalty ``<linear, M> + <M, Q M> / 2``: a multiple of the identity, or a matrix for diagonal metrics."""
    quadratic = problem.quadratic()
    if quadratic is None:
        return Reason("its regularizer is neither linear nor quadratic")
    if isinstance(quadratic, np.ndarray) and not problem.cone.diagonal:
        return Reason("its quadratic form is for diagonal metrics only")
    return quadratic


def soft_hinges(problem: MetricProblem) -> ListedHinges | Reason:
    """The risk as hinges of listed comparisons, none of them a constraint."""
    hinges = problem.risk.form(ListedHinges)
    if isinstance(hinges, Reason) or not hinges.hard:
        return hinges
    return Reason("its margins are hard constraints")


def squared_norm(problem: MetricProblem) -> float | Reason:
    """Lambda of a penalty ``<linear, M> + lambda/2 ||M||^2``."""
    quadratic = problem.quadratic()
    if isinstance(quadratic, np.ndarray) or not quadratic:
        return Reason("its regularizer is not a squared Frobenius norm")
    return float(quadratic)


def linear_penalty(problem: MetricProblem) -> Reason | None:
    """A reason unless the penalty is ``<linear, M>``."""
    quadratic = problem.quadratic()
    if quadratic is None or isinstance(quadratic, np.ndarray) or quadratic > 0.0:
        return Reason("its penalty is not linear")
    return None


def linear_part(problem: MetricProblem) -> Array:
    """The linear part of a penalty that is linear plus quadratic, an element of the cone's space."""
    linear = problem.cone.from_coordinates(problem.regularizer.linear(problem.cone))
    return linear if problem.G is None else linear + problem.G


def trace_weight(problem: MetricProblem) -> float | Reason:
    """Lambda of a regularizer ``lambda tr M``."""
    weights = problem.regularizer.weights()
    if weights is None or weights.squared or weights.norm:
        return Reason("its regularizer is not a trace")
    return weights.trace
