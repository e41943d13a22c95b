r"""Optimality conditions of a metric, split into its scale, its range, and the directions it lacks.

With :math:`f = R + \langle G, \cdot \rangle + \Omega` and a tangent plane
:math:`R(N) \ge v - \langle S, N \rangle` at M, the metric M is optimal if, and where f has a gradient only if,

.. math:: D = \nabla \Omega(M) + G - S, \qquad D \succeq 0, \qquad \langle D, M \rangle = 0.

In an eigenbasis :math:`M = U \Lambda U^\top` with the complement V, this falls into four conditions: along M,
:math:`\langle D, M \rangle = 0`; inside the range, :math:`U^\top D U = 0`; across, :math:`U^\top D V = 0`; outside,
:math:`V^\top D V \succeq 0`, whose negative eigenvalues are directions that M lacks.

By convexity :math:`f(M) - f(N) \le \langle D, M - N \rangle` for every metric N, and this splits along the same blocks.
"""

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
#: Eigenvalues of ``V^T D V`` count as negative below minus this share of the largest eigenvalue of D.
NEGATIVE = 1e-9
#: Share of the objective below which a first-order decrease is not told from the reference's own gap.
PROMISE = 1e-5


@dataclass(frozen=True)
class Scale:
    """The best multiple of a metric.

    Attributes
    ----------
    best : float
        t >= 0 for which ``f(t M)`` is smallest; infinite where no multiple meets the hard margins.
    objective : float
        ``f(t M)`` at the best t.
    lower_bound : float
        No multiple has a smaller objective, by the tangents on both sides of t; equal to ``objective`` to rounding.
    slope : float
        ``<D, M>``, the derivative of ``f(t M)`` at t = 1; not a number where hard margins are violated.
    share : float
        Share of the suboptimality that scaling repairs, ``(f(M) - f(t M)) / (f(M) - lower bound)``; 0 where M has none.
    """

    best: float
    objective: float
    lower_bound: float
    slope: float
    share: float


@dataclass(frozen=True)
class Conditions:
    r"""The residuals of the optimality conditions, as relative changes of the objective.

    ``W = M^{1/2} D M^{1/2}`` is the derivative of f under relative changes of M inside its range. All are zero (or, for
    ``outside``, nonnegative) at an optimum where the risk is differentiable. Where it is not, D belongs to one tangent
    plane of many: zeros still prove optimality, but other numbers do not disprove it.

    Attributes
    ----------
    along : float
        ``tr W / |f| = <D, M> / |f|``: the scale. Positive if M is too large.
    inside : float
        ``||W - (tr W / r) I||_F / |f|`` with the rank r: the shape inside the range.
    across : float
        ``||M^{1/2} D V||_F sqrt(tr M) / |f|``: a turn of the range.
    outside : float
        ``tr M lambda_min(V^T D V) / |f|``: to first order the relative change of the objective when as much as the
        trace of M is added in the best direction outside the range. Not a number where the range is everything.
    missing : int
        Number of negative eigenvalues of ``V^T D V``.
    direction : array
        Unit eigenvector of the smallest one, ``(d,)``; empty where none is negative.
    differentiable : bool
        Whether the risk is.
    """

    along: float
    inside: float
    across: float
    outside: float
    missing: int
    direction: Array = field(repr=False, compare=False)
    differentiable: bool


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
    lacking : float
        ``-<D, N - U U^T N U U^T> / <D, M - N>``: share of what moving from M to the reference N promises to first order
        that lies outside of the range of M, in directions it lacks. D is taken at the best multiple of M, so that scale
        has no part in it. Not a number where nothing is promised.
    """

    rank: int
    reference_rank: int
    angles: Array = field(repr=False, compare=False)
    captured: float
    lacking: float


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
    return Scale(best, value, below, slope, min(1.0, max(0.0, share)))


def optimality_conditions(problem: MetricProblem, M: Array) -> Conditions:
    """Compute the residuals of the optimality conditions at a metric of the cone that meets all hard margins."""
    value = problem.value(M)
    D = _gradient(problem, M)
    scale = max(abs(value), np.finfo(float).tiny)
    U, V, spectrum = _bases(M)
    root = np.sqrt(spectrum)
    trace = float(spectrum.sum())
    if M.ndim == 1:
        W = spectrum * D[U]
        residual, across = float(np.linalg.norm(W - W.mean())) if W.size else 0.0, 0.0
        along, outer = float(W.sum()), D[V]
        order = np.argsort(outer)
        direction = np.zeros(M.size)
        if V.size:
            direction[V[order[0]]] = 1.0
    else:
        DU = D @ U
        inner = root[:, None] * (U.T @ DU) * root
        along = float(np.trace(inner))
        residual = float(np.linalg.norm(inner - along / max(1, root.size) * np.eye(root.size)))
        across = float(np.linalg.norm((V.T @ DU) * root))
        outer, vectors = la.eigh(V.T @ D @ V) if V.shape[1] else (np.empty(0), np.empty((0, 0)))
        direction = V @ vectors[:, 0] if outer.size else np.empty(0)
    least = float(outer.min(initial=np.inf))
    negative = outer < -NEGATIVE * float(np.abs(D).max(initial=0.0))
    return Conditions(
        along=along / scale,
        inside=residual / scale,
        across=across * float(np.sqrt(trace)) / scale,
        outside=least * (trace if trace > 0.0 else 1.0) / scale if outer.size else np.nan,
        missing=int(negative.sum()),
        direction=direction if negative.any() else np.empty(0),
        differentiable=problem.risk.smooth,
    )


def compare_ranges(problem: MetricProblem, M: Array, reference: Array) -> Subspace:
    """Compare the range of a metric of the cone with that of a reference metric."""
    U, _, spectrum = _bases(M)
    N, _, other = _bases(reference)
    trace = problem.cone.trace(reference)
    if M.ndim == 1:
        shared = np.intersect1d(U, N).size
        angles = np.r_[np.full(min(U.size, N.size) - shared, 90.0), np.zeros(shared)]
        inside = np.zeros_like(M)
        inside[U] = reference[U]
    else:
        angles = np.degrees(la.subspace_angles(U, N)) if spectrum.size and other.size else np.empty(0)
        inside = U @ (U.T @ reference @ U) @ U.T
    value, promised, lacking = problem.value(M), 0.0, 0.0
    if np.isfinite(value):
        D = _gradient(problem, M)
        promised = problem.cone.inner(D, M - reference)
        lacking = problem.cone.inner(D, inside - reference)
    return Subspace(
        rank=spectrum.size,
        reference_rank=other.size,
        angles=angles,
        captured=problem.cone.trace(inside) / trace if trace > 0.0 else 1.0,
        lacking=lacking / promised if promised > PROMISE * abs(value) else np.nan,
    )


def _gradient(problem: MetricProblem, M: Array) -> Array:
    """Gradient ``D = grad Omega(M) + G - S`` of the objective, with the subgradient -S of the risk's oracle."""
    return _tangent(problem, M)[1]


def _tangent(problem: MetricProblem, M: Array) -> tuple[float, Array]:
    """Evaluate ``f(M)`` and D in one pass; D is zero where f is infinite, as a regularizer need not have a slope."""
    with np.errstate(invalid="ignore"):
        cuts = problem.risk.separate(M, np.zeros(problem.risk.parts, dtype=np.int64))
    value = float(cuts.values[0]) + problem.penalty(M)
    if not np.isfinite(value):
        return value, problem.cone.zeros()
    D = problem.regularizer.gradient(M, problem.cone) - problem.cone.from_coordinates(cuts.normals[0])
    return value, D if problem.G is None else D + problem.G


def _bases(M: Array) -> tuple[Any, Any, Array]:
    """Bases of the range and its complement, and eigenvalues of the range, ascending; features if diagonal."""
    if M.ndim == 1:
        kept = RANK_SHARE * max(float(M.max()), 0.0) < M
        return np.flatnonzero(kept), np.flatnonzero(~kept), M[kept]
    values, vectors = la.eigh(M)
    kept = values > RANK_SHARE * max(float(values[-1]), 0.0)
    return vectors[:, kept], vectors[:, ~kept], values[kept]


def _along(problem: MetricProblem, M: Array, t: float) -> tuple[float, float]:
    """Evaluate ``f(t M)`` and its derivative in t; infinity and NaN where f is infinite."""
    value, D = _tangent(problem, t * M)
    return (value, problem.cone.inner(D, M)) if np.isfinite(value) else (np.inf, np.nan)


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
