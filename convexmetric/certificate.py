r"""Proof of how far a metric is from optimal, made from the metric and a dual point alone.

.. math:: \text{lower bound} \; \le \; \min_{M \in K} \text{objective}(M) \; \le \; \text{upper bound}

The upper bound is the objective at the metric projected on the cone; the lower bound is weak duality at
the dual point, clipped and shrunk to be feasible. Neither trusts the solver that made them. Grade *float*: both
sides are evaluated in float64, with rounding errors of the order 1e-13 relative that are not accounted for.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from convexmetric.cones.base import Array
from convexmetric.errors import InputError
from convexmetric.problem import MetricProblem
from convexmetric.terms import Constraints, ExtraObjective, UserTerms

__all__ = ["Certificate", "certify", "relative_gap"]


def relative_gap(upper_bound: float, lower_bound: float) -> float:
    """``(upper - lower) / max(|upper|, |lower|)``; zero when both are zero, infinite when a bound is not finite."""
    if not (np.isfinite(upper_bound) and np.isfinite(lower_bound)):
        return np.inf
    scale = max(abs(upper_bound), abs(lower_bound))
    return (upper_bound - lower_bound) / scale if scale > 0.0 else 0.0


@dataclass(frozen=True)
class Certificate:
    """Bounds on the optimal value, with the points that prove them.

    Attributes
    ----------
    upper_bound : float
        Objective at ``M``.
    lower_bound : float
        What ``dual`` proves.
    M : array
        The metric, in the cone.
    dual : array or CutDual
        The dual point, as it was given.
    grade : str
        ``"float"``: evaluated in float64. ``"conic"``: with constraints or terms of the user's own, part of the lower
        bound is a conic solver's word (see :mod:`convexmetric.terms`).
    violation : float
        By how much the metric violates the user's constraints.
    """

    upper_bound: float
    lower_bound: float
    M: Array = field(repr=False)
    dual: Any = field(repr=False)
    grade: str = "float"
    violation: float = 0.0

    @property
    def gap(self) -> float:
        """Relative gap ``(upper - lower) / max(|upper|, |lower|)``."""
        return relative_gap(self.upper_bound, self.lower_bound)

    def __str__(self) -> str:
        bounds = (
            f"{self.lower_bound:.10g} <= optimum <= {self.upper_bound:.10g}   "
            f"(relative gap {self.gap:.1e}, grade {self.grade})"
        )
        return f"{bounds}\n{self.rests_on}" if self.rests_on else bounds

    @property
    def rests_on(self) -> str:
        """What the bounds rest on beside our own evaluation; empty if nothing."""
        if self.grade != "conic":
            return ""
        return (
            "the risk is bounded from below by our own dual point; that no metric does better on that bound plus your "
            f"own terms is CLARABEL's word; the metric violates your constraints by {self.violation:.1e}"
        )


def certify(
    problem: MetricProblem,
    M: ArrayLike,
    dual: Any,
    constraints: Constraints | None = None,
    extra_objective: ExtraObjective | None = None,
) -> Certificate:
    """Make a certificate for ``problem`` from a metric and a dual point, trusting neither.

    ``M`` is projected on the cone and scaled to meet hard margins; ``dual`` is clipped and shrunk. Cuts are made
    anew from their witnesses. With ``constraints`` or ``extra_objective`` (see :func:`solve`) the certificate has grade
    ``"conic"`` and says what it rests on.

    Parameters
    ----------
    problem : MetricProblem
        What the bounds are on.
    M : array
        A metric: ``(d, d)``, or ``(d,)`` weights of a diagonal one.
    dual : array, CutDual or SmoothedPairs
        Multipliers of the comparisons, weighted cuts, or slopes of smoothed hinges.
    constraints, extra_objective : callable, optional
        As for :func:`solve`.

    Returns
    -------
    Certificate
        ``upper_bound`` at the metric, ``lower_bound`` from the dual point; minus infinity where that proves nothing.

    Raises
    ------
    InputError
        If ``M`` has the wrong shape or entries that are not finite.
    DualError
        If the shape of ``dual`` does not fit the problem.

    Examples
    --------
    A dual point proves a lower bound, whoever found it; here multipliers of two triplets, chosen by hand:

    >>> import numpy as np
    >>> import convexmetric as cm
    >>> X = [[0.0, 0.0], [1.0, 3.0], [2.0, 0.5], [0.2, 2.0]]
    >>> problem = cm.RelativeComparisonProblem(X, [[0, 3, 2], [1, 3, 2]], C=1.0)
    >>> certificate = cm.certify(problem, [0.4, 0.2], np.array([0.1, 0.1]))
    >>> print(f"{certificate.lower_bound:.4f} <= optimum <= {certificate.upper_bound:.4f}")
    0.0956 <= optimum <= 0.2660
    """
    upper = certify_metric(problem, M)
    if constraints is not None or extra_objective is not None:
        return with_terms(upper, UserTerms(problem, constraints, extra_objective), dual)
    return replace(upper, lower_bound=problem.dual_bound(dual, hint=upper.M), dual=dual)


def with_terms(upper: Certificate, terms: UserTerms, dual: Any) -> Certificate:
    """The certificate of a problem with terms of the user's own, from that of its metric without them."""
    point = terms.problem.risk.dual_point(dual)
    return replace(
        upper,
        upper_bound=upper.upper_bound + terms.value(upper.M),
        lower_bound=-np.inf if point is None else terms.lower_bound(point),
        dual=dual,
        grade="conic",
        violation=terms.violation(upper.M),
    )


def certify_metric(problem: MetricProblem, M: ArrayLike) -> Certificate:
    """The half of a certificate that a metric alone gives: an upper bound, and minus infinity as the lower one.

    Raises
    ------
    InputError
        If ``M`` has the wrong shape or entries that are not finite.
    """
    if not isinstance(problem, MetricProblem):
        raise InputError(f"problem must be a MetricProblem, got {type(problem).__name__}")
    metric = problem.metric(M)
    if problem.cone.violation(metric) > 0.0:
        metric = problem.cone.project(metric)
    metric = problem.risk.repair(metric)
    return Certificate(problem.objective(metric), -np.inf, metric, None)
