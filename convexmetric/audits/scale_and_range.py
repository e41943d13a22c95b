"""Scale and range of a metric: its best multiple, and its directions compared with those of a reference."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.linalg as la

from convexmetric.arrays import Array
from convexmetric.numerics.searches import Point, concave_maximum
from convexmetric.problem import MetricProblem

#: Eigenvalues (or weights) above this share of the largest one count for the rank, as in ``Solution.rank``.
RANK_SHARE = 1e-6
#: Largest number of evaluations along the ray t M; bisection down to rounding takes half as many.
EVALUATIONS = 120
#: Largest multiple t of the metric that is tried.
FARTHEST = 2.0**60


@dataclass(frozen=True)
class Scale:
    """The best multiple of a metric.

    Attributes
    ----------
    best : float
        t >= 0 for which ``f(t M)`` is smallest; infinite if no multiple meets the hard margins.
    objective : float
        ``f(t M)`` at the best t.
    lower_bound : float
        No multiple has a smaller objective, by the tangents on both sides of t; equal to ``objective`` to rounding.
    share : float
        Share of the suboptimality that scaling removes, ``(f(M) - f(t M)) / (f(M) - lower bound)``; 0 if M has none.
    """

    best: float
    objective: float
    lower_bound: float
    share: float


@dataclass(frozen=True)
class Subspace:
    r"""The range of a metric compared with that of a reference.

    Attributes
    ----------
    rank, reference_rank : int
        Eigenvalues (or weights) above 1e-6 of the largest one.
    angles : array
        Principal angles between the two ranges in degrees, largest first; as many as the smaller rank.
    captured : float
        Share of the reference's trace in the range of M, ``tr(U^T N U) / tr N``.
    """

    rank: int
    reference_rank: int
    angles: Array = field(repr=False, compare=False)
    captured: float


def best_scale(problem: MetricProblem, M: Array, *, lower_bound: float = -np.inf) -> Scale:
    """Minimise the convex function ``f(t M)`` over t >= 0, exact to rounding.

    Parameters
    ----------
    problem : MetricProblem
    M : array
        In the cone.
    lower_bound : float
        Lower bound of the optimal value, for the share.
    """
    here, slope = _along(problem, M, 1.0)
    if M.any():
        best, value, below = _minimised(problem, M, here, slope)
    else:
        best, value, below = (1.0 if np.isfinite(here) else np.inf), here, here
    if np.isfinite(value):
        # Evaluate f as the user would: another order of summation would give another last digit.
        value = problem.value(best * M)
    missing = here - lower_bound
    if not np.isfinite(here):
        share = 1.0 if np.isfinite(value) else 0.0
    else:
        share = (here - value) / missing if np.isfinite(missing) and missing > 0.0 else 0.0
    return Scale(best, value, below, min(1.0, max(0.0, share)))


def compare_ranges(problem: MetricProblem, M: Array, reference: Array) -> Subspace:
    """Compare the range of a metric of the cone with that of a reference metric."""
    U, N = _range_of(M), _range_of(reference)
    rank, other = U.shape[-1], N.shape[-1]
    trace = problem.cone.trace(reference)
    if M.ndim == 1:
        shared = np.intersect1d(U, N).size
        angles = np.r_[np.full(min(U.size, N.size) - shared, 90.0), np.zeros(shared)]
        inside = np.zeros_like(M)
        inside[U] = reference[U]
    else:
        angles = np.degrees(la.subspace_angles(U, N)) if rank and other else np.empty(0)
        inside = U @ (U.T @ reference @ U) @ U.T
    captured = problem.cone.trace(inside) / trace if trace > 0.0 else 1.0
    return Subspace(rank=rank, reference_rank=other, angles=angles, captured=captured)


def _range_of(M: Array) -> Any:
    """A basis of the range, as columns; of a diagonal metric its features."""
    if M.ndim == 1:
        return np.flatnonzero(RANK_SHARE * max(float(M.max()), 0.0) < M)
    values, vectors = la.eigh(M)
    return vectors[:, values > RANK_SHARE * max(float(values[-1]), 0.0)]


def _along(problem: MetricProblem, M: Array, t: float) -> tuple[float, float]:
    """Evaluate ``f(t M)`` and its derivative in t; infinity and NaN where f is infinite.

    With the subgradient -S of the risk's oracle the derivative is ``<grad Omega(t M) + G - S, M>``.
    """
    cone, there = problem.cone, t * M
    with np.errstate(invalid="ignore"):
        cuts = problem.risk.separate(there, np.zeros(problem.risk.parts, dtype=np.int64))
    value = float(cuts.values[0]) + problem.penalty(there)
    if not np.isfinite(value):
        # A regularizer need not have a slope there.
        return np.inf, np.nan
    D = problem.regularizer.gradient(there, cone) - cone.from_coordinates(cuts.normals[0])
    return value, cone.inner(D if problem.G is None else D + problem.G, M)


def _minimised(problem: MetricProblem, M: Array, here: float, slope: float) -> tuple[float, float, float]:
    """Minimise ``f(t M)`` over t >= 0; returns t, ``f(t M)``, and a lower bound of f over all t."""

    def turned(t: float, value: float, slope: float) -> Point:
        # f(t M) is infinite only to the left of its domain, where hard margins need a larger t.
        return (t, -value, -slope) if np.isfinite(value) else (t, -np.inf, np.inf)

    left, right = turned(0.0, *_along(problem, M, 0.0)), turned(1.0, here, slope)
    if left[2] <= 0.0:
        return 0.0, -left[1], -left[1]
    while right[2] > 0.0:
        left, t = right, 2.0 * right[0]
        if t > FARTHEST:
            return (left[0] if np.isfinite(left[1]) else np.inf), -left[1], -np.inf
        right = turned(t, *_along(problem, M, t))
    best, value, bound = concave_maximum(
        lambda t: turned(t, *_along(problem, M, t))[1:], left, right, EVALUATIONS, 2.0 * np.finfo(float).eps
    )
    return best, -value, -bound
