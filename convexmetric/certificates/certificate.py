r"""Proof of how far a metric is from optimal, from the metric and a dual point alone.

.. math:: \text{lower bound} \; \le \; \min_{M \in K} \text{objective}(M) \; \le \; \text{upper bound}

The upper bound is the objective at the metric projected on the cone; the lower bound is weak duality at
the dual point, clipped and shrunk to be feasible. Neither trusts the solver that made them.

Grade *float*: both sides are evaluated in float64. Their rounding errors are estimated from the magnitudes that occur
(:mod:`convexmetric.risks.rounding`): with e the error of squared distances under M, W the sensitivity of
the risk to them and :math:`\delta` the error of the dual matrix S,

.. math:: \text{upper} = F(M) + W e + \epsilon (|R(M)| + |\langle G, M \rangle| + \Omega(M)), \qquad
   \text{lower} = \text{bound}(v - \epsilon |v|, \; S + \mathrm{diag}(\delta)) - \epsilon \, |\text{bound}|.

A lower bound that still exceeds the upper one is not due to rounding, and is reported as an error.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from convexmetric.arrays import Array, norm_of
from convexmetric.comparisons.passes import in_numpy
from convexmetric.errors import CrossedBoundsError, SolverError
from convexmetric.problem import AnyProblem, MetricProblem, as_problem
from convexmetric.regularizers.base import Grade
from convexmetric.regularizers.user_terms import Constraints, ExtraObjective
from convexmetric.risks import Minorant
from convexmetric.risks.rounding import error_of_lifted, error_of_products, error_of_sums, largest_form, lift, sum_error

#: A positive lower bound below this is set to zero: products behind it may have lost their digits by underflow.
SMALLEST = 1e-290
#: Relative amount by which bounds of grade conic may cross: the error of the conic solver on the smallest problems.
NOISE = 1e-6
#: If its bound is below this share of a minorant's value, a better bound is searched for.
LOST = 1e-6
#: Share of the risk up to which its rounding is bounded by its steepest slopes: no pass is spent to make it smaller.
NEGLIGIBLE = 1e-10


def relative_gap(upper_bound: float, lower_bound: float) -> float:
    """``(upper - lower) / max(|upper|, |lower|)``; zero when both are zero, infinite when a bound is not finite."""
    if not (np.isfinite(upper_bound) and np.isfinite(lower_bound)):
        return np.inf
    scale = max(abs(upper_bound), abs(lower_bound))
    return (upper_bound - lower_bound) / scale if scale > 0.0 else 0.0


def close_enough(certificate: Certificate, tol: float, atol: float) -> bool:
    """Whether the relative gap is at most ``tol``, or the absolute one at most ``atol``."""
    return certificate.gap <= tol or certificate.upper_bound - certificate.lower_bound <= atol


class Bounds:
    """Two bounds on an optimal value, ``lower_bound`` and ``upper_bound``, with their gap."""

    lower_bound: float
    upper_bound: float

    @property
    def gap(self) -> float:
        """Relative gap ``(upper - lower) / max(|upper|, |lower|)``."""
        return relative_gap(self.upper_bound, self.lower_bound)


@dataclass(frozen=True)
class Certificate(Bounds):
    """Bounds on the optimal value, with the points that prove them.

    Attributes
    ----------
    upper_bound : float
        Objective at ``M``, plus its possible rounding error.
    lower_bound : float
        Lower bound proven by ``dual``, less its possible rounding error.
    M : array
        The metric, in the cone.
    dual : array or CutDual
        The dual point, as it was given.
    grade : str
        ``"float"``: evaluated in float64. ``"conic"``: with constraints or terms of the user's own, part of the lower
        bound is taken from a conic solver (see :mod:`convexmetric.regularizers.user_terms`).
    violation : float
        Amount by which the metric violates the user's constraints. What it may gain is added to ``upper_bound``.
    rounding : float
        Total amount by which the bounds were moved apart for rounding: an estimate from the magnitudes that occur.
    slopes : tuple of float and list of arrays, or None
        Share of the dual point, and slopes of the regularizer's norms, that prove ``lower_bound``.
    """

    upper_bound: float
    lower_bound: float
    M: Array = field(repr=False)
    dual: Any = field(repr=False)
    grade: Grade = "float"
    violation: float = 0.0
    rounding: float = 0.0
    slopes: tuple[float, list[Array]] | None = field(default=None, repr=False)

    def __str__(self) -> str:
        bounds = (
            f"{self.lower_bound:.10g} <= optimum <= {self.upper_bound:.10g}   "
            f"(relative gap {max(0.0, self.gap):.1e}, grade {self.grade}, rounding {self.rounding:.0e})"
        )
        return f"{bounds}\n{self.rests_on}" if self.rests_on else bounds

    @property
    def rests_on(self) -> str:
        """Sources outside this package that the bounds depend on; empty if there are none."""
        if self.grade != "conic":
            return ""
        return (
            "the risk is bounded from below by our own dual point; that no metric does better on that bound plus your "
            f"own terms is CLARABEL's word; the metric violates your constraints by {self.violation:.1e}"
        )


def certify(
    problem: AnyProblem,
    M: ArrayLike,
    dual: Any,
    *,
    constraints: Constraints | None = None,
    extra_objective: ExtraObjective | None = None,
    slopes: tuple[float, list[Array]] | None = None,
) -> Certificate:
    """Make a certificate for ``problem`` from a metric and a dual point, trusting neither.

    ``M`` is projected on the cone and scaled to meet hard margins; ``dual`` is clipped and shrunk. Cuts are made
    anew from their witnesses. With ``constraints`` or ``extra_objective`` (see :func:`solve`) the certificate has grade
    ``"conic"`` and names the sources on which it depends.

    Parameters
    ----------
    problem : MetricProblem, Instance or str
        Problem whose optimal value is bounded.
    M : array
        A metric: ``(d, d)``, or ``(d,)`` weights of a diagonal one, as the problem's variable (``from_features``
        converts one on the features where these differ).
    dual : array, CutDual or SmoothedPairs
        Multipliers of the comparisons (in a linear program those of their constraints: weight times slope of the loss,
        between 0 and the weight for hinges), weighted cuts, or slopes of smoothed hinges.
    constraints, extra_objective : callable, optional
        As for :func:`solve`.
    slopes : tuple of float and list of arrays, optional
        ``Certificate.slopes``, those of norms that go with the dual point; by default they are searched for.

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
    stated = as_problem(problem).subject_to(constraints, extra_objective)
    with in_numpy():
        point = stated.risk.minorant(dual)
        point = None if point is None else replace(point, slopes=slopes)
        return with_dual(stated, certify_metric(stated, M), dual, point)


def with_dual(problem: MetricProblem, upper: Certificate, dual: Any, point: Minorant | None) -> Certificate:
    """Complete the certificate of a metric by the lower bound of ``dual`` with minorant ``point`` (None: no bound).

    With grade conic, the gain from violating constraints is added to the upper bound. Rounding is estimated, and so is
    the noise of a conic solver. If bounds still cross by no more than that, the estimate was too small: both move apart
    by the amount of the crossing, and by the estimate once more.

    Raises
    ------
    CrossedBoundsError
        If the lower bound is above the upper one by more than the rounding; of grade conic by more than ``NOISE``.
    """
    lower, rounding, high, slopes = -np.inf, 0.0, upper.upper_bound, None
    if point is not None:
        slopes = problem.settled(point, upper.M)
        # A conic solver that fails proves nothing.
        with suppress(SolverError):
            held = problem.holding(slopes)
            lower, rounding = _lower_bound(held, point, upper.M)
            high += held.missed(point.value, point.S, upper.M)
    rounding += upper.rounding
    noise = NOISE * max(abs(lower), abs(high)) if upper.grade == "conic" else rounding
    if 0.0 < lower - high <= noise:
        more = (lower - high) + rounding
        lower, high, rounding = high - more, lower + more, rounding + 2.0 * more
    made = replace(upper, upper_bound=high, lower_bound=lower, dual=dual, rounding=rounding, slopes=slopes)
    if lower > high:
        raise CrossedBoundsError(
            f"the lower bound {lower:.17g} is above the upper bound {high:.17g}, and rounding explains "
            f"{made.rounding:.1e} of it: a block of the problem is not what it says it is (check_problem tells which), "
            "or its numbers are of sizes that float64 does not hold together (rescale them)"
        )
    return made


def certify_metric(problem: MetricProblem, M: ArrayLike, objective: float | None = None) -> Certificate:
    """Certify a metric alone: an upper bound, with minus infinity as the lower bound.

    Its risk is evaluated, unless the objective at ``M``, less the problem's offset, is known and tells it.

    Raises
    ------
    InputError
        If ``M`` has the wrong shape or entries that are not finite.
    """
    metric = problem.metric(M)
    if problem.cone.violation(metric) > 0.0:
        metric = problem.cone.project(metric)
    metric = problem.regularizer.repair(problem.risk.repair(metric), problem.cone)
    known = None if objective is None else _known_risk(problem, metric, np.asarray(M), objective)
    value, rounding = _upper_bound(problem, metric, known)
    omega = problem.regularizer
    violation = omega.violation(metric, problem.cone)
    return Certificate(value + rounding, -np.inf, metric, None, omega.grade, violation, rounding)


def certify_evaluated(problem: MetricProblem, M: Array, value: float | None) -> Certificate:
    """Certify a metric by a known value of its risk, without a pass over the data.

    Parameters
    ----------
    problem : MetricProblem
    M : array
        A metric of the cone that satisfies all hard margins.
    value : float or None
        Risk at this metric as last evaluated. Its rounding is bounded by the steepest
        slopes that the risk has. None if it was not evaluated: then the upper bound is infinite.
    """
    omega = problem.regularizer
    upper, rounding = (np.inf, 0.0) if value is None else _upper_bound(problem, M, value, passes=False)
    return Certificate(upper + rounding, -np.inf, M, None, omega.grade, omega.violation(M, problem.cone), rounding)


def risk_of(problem: MetricProblem, M: Array, objective: float) -> tuple[float, float]:
    """Risk at a metric of known objective, and its rounding: large if the penalty is."""
    penalty = problem.penalty(M)
    linear = 0.0 if problem.G is None else float(np.abs(problem.G).ravel() @ np.abs(M).ravel())
    sizes = abs(objective) + abs(problem.regularizer.value(M, problem.cone)) + linear
    return objective - penalty, sum_error(M.size) * sizes


def _known_risk(problem: MetricProblem, metric: Array, M: Array, objective: float) -> float | None:
    """Bound the risk at a metric from the objective at M, from which it differs by rounding; None if that is loose."""
    risk, error = risk_of(problem.without_constant(), M, objective)
    if not np.array_equal(metric, M):
        if problem.cone.free or not problem.risk.points:
            return None
        error += 4.0 * problem.risk.lipschitz * largest_form(problem.risk.points, metric - M)
    return risk + error if error <= NEGLIGIBLE * risk else None


def _upper_bound(
    problem: MetricProblem, M: Array, known: float | None = None, passes: bool = True
) -> tuple[float, float]:
    """Objective at ``M``, and the amount by which rounding may have put it below the true value.

    The risk is evaluated, unless its value is known; without ``passes`` nothing else is.
    """
    cone, risk, G = problem.cone, problem.risk, problem.G
    value, penalty = risk.value(M) if known is None else known, problem.penalty(M)
    if not np.isfinite(value + penalty):
        return np.inf, 0.0
    lifted = lift(cone, M)
    error = _data_error(problem, M, value, lifted, passes)
    sizes = problem.regularizer.size(M, cone) + abs(problem.constant)
    if G is not None:
        sizes += float(np.abs(G).ravel() @ np.abs(M).ravel())
    if not cone.free:
        raised = M + (lifted if M.ndim == 1 else np.diag(lifted))
        error += problem.regularizer.change(M, raised, cone)
        error += 0.0 if G is None else float(np.abs(G if G.ndim == 1 else G.diagonal()) @ lifted)
    error += sum_error(M.size) * sizes
    return (float(value + penalty), float(error)) if np.isfinite(error) else (np.inf, 0.0)


def _data_error(problem: MetricProblem, M: Array, value: float, lifted: Array, passes: bool) -> float:
    """Error bound for ``R(M) = value``, where ``M`` itself may be wrong by ``lifted``.

    Slopes at M take a pass over the data, and those at any metric none.
    """
    risk = problem.risk
    error = sum_error(risk.parts) * abs(value)
    if risk.points:
        distances = error_of_lifted(risk.points, M, lifted, risk.cone)
        most = risk.lipschitz
        small = distances > 0.0 and most * distances <= NEGLIGIBLE * abs(value)
        slopes = risk.lipschitz_near(M, distances) if passes and not small else most
        if slopes is not None:
            return error + (slopes * distances if slopes else 0.0)
    if not passes:
        return np.inf
    # The only known magnitudes of such a risk are the terms of its tangent plane.
    cuts = risk.separate(M, np.zeros(risk.parts, dtype=np.int64))
    sizes = np.abs(cuts.offsets).sum() + np.abs(cuts.normals).sum(axis=0) @ np.abs(problem.cone.coordinates(M))
    return error + sum_error(risk.parts + M.size) * float(sizes)


def _lower_bound(problem: MetricProblem, point: Minorant, hint: Array) -> tuple[float, float]:
    """Lower bound of a minorant less its rounding error, and that error."""
    S = point.S
    if not (np.isfinite(point.value) and np.isfinite(S).all()):
        return -np.inf, 0.0
    value = point.value - sum_error(problem.risk.parts) * (abs(point.value) if point.size is None else point.size)
    if problem.cone.free:
        # There is no order: S is made larger by the size of its error, which costs its inner product with the metric.
        size, own = _size_of_dual_error(problem, point), norm_of(S)
        value, raised = value - 2.0 * size * norm_of(hint), S * (1.0 + size / own if own else 1.0)
    else:
        raised = S + dual_error(problem, point)
    lower = problem.bound(value, raised, problem.regularizer.sharpened(raised, problem.G, hint))
    if lower < LOST * value:
        lower = max(lower, problem.bound_beside(value, raised, hint))
    plain = problem.bound(point.value, S, problem.regularizer.sharpened(S, problem.G, hint))
    if not np.isfinite(plain):
        return -np.inf, 0.0
    # A bound of zero needs no dual point, and is not rounded.
    size = problem.regularizer.size(hint, problem.cone) if lower else 0.0
    size = max(abs(lower), size if np.isfinite(size) else 0.0) + abs(problem.constant)
    lower -= sum_error(problem.cone.size) * size
    if 0.0 < lower < SMALLEST:
        lower = 0.0
    # Bounds by a conic solver differ by its noise, hence max(0, .).
    return float(lower), max(0.0, float(plain - lower))


def dual_error(problem: MetricProblem, point: Minorant) -> Array:
    """Error bound of S: an element of the cone that is added to S."""
    cone, S, G = problem.cone, point.S, problem.G
    sums = np.zeros(cone.d)
    if point.weight is not None and problem.risk.points:
        sums = error_of_sums(problem.risk.points, point.weight, cone)
    if cone.diagonal:
        return sums + sum_error(cone.d) * (np.abs(S) if G is None else np.abs(S) + np.abs(G))
    # Eigenvalues err by about this, whatever the scales of the coordinates are.
    size = norm_of(S) + (0.0 if G is None else norm_of(G))
    return np.diag(sums + sum_error(cone.d) * size)


def _size_of_dual_error(problem: MetricProblem, point: Minorant) -> float:
    """Norm of the error of S, for metrics without a cone, where no order bounds it."""
    size = norm_of(point.S) + (0.0 if problem.G is None else norm_of(problem.G))
    return sum_error(problem.cone.size) * size + error_of_products(problem.risk.points, point.weight or 0.0)
