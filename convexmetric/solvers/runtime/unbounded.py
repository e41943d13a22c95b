r"""Search for a metric along which the objective is unbounded below.

Along the ray of a metric D a convex function is unbounded below if its recession function is negative there,

.. math:: F_\infty(D) = \lim_{t \to \infty} \frac{F(t D)}{t} < 0, \qquad D \in K, \; \mathrm{tr} D = 1.

The recession function is convex in D, and conditional gradients search for such a D, with steps to eigenvectors of the
gradient far out on the ray. The evidence is a value, not a limit: at the metric :math:`t D`, t = ``FAR``, the certified
upper bound on the optimum is below :math:`-\sqrt{t} \, |F(D)|`.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from convexmetric.certificates.certificate import certify_metric
from convexmetric.deadline import until_deadline
from convexmetric.errors import SolverError, UnboundedError
from convexmetric.problem import MetricProblem

#: Trace of the metrics that stand in for infinity, and the most directions tried.
FAR, STEPS = 1e100, 20
#: Share of the identity in every direction: a logarithm has no gradient at a singular metric.
INSIDE = 1e-6


def check_bounded(problem: MetricProblem) -> None:
    """Search for a ray along which the objective is unbounded below, and raise an error if there is one.

    Raises
    ------
    UnboundedError
        If one is found; the error has its direction.
    """
    cone, omega = problem.cone, problem.regularizer
    advice = "raise the weight of the regularizer until it outweighs G, or keep the metric within a Budget(A, limit)"
    if omega.grade == "conic":
        advice = "bound the metric by constraints, or give an extra_objective that is bounded from below"
    D, everything = cone.identity() / cone.d, np.zeros(problem.risk.parts, dtype=np.int64)
    with np.errstate(all="ignore"), suppress(SolverError, ArithmeticError, np.linalg.LinAlgError):
        for step in until_deadline(range(STEPS)):
            M = FAR * D
            if problem.value(M) < -np.sqrt(FAR) * abs(problem.value(D)):
                upper = certify_metric(problem, M).upper_bound
                if upper < -np.sqrt(FAR) * abs(problem.value(D)):
                    raise UnboundedError(
                        f"the objective falls without end: at {FAR:g} times the error's direction, a metric of trace "
                        f"1, it is below {upper:.3g}; {advice}",
                        D,
                    )
            normals = problem.risk.separate(M, everything).normals
            # CLARABEL finds no slope of a user's term at metrics of extreme size.
            slope = omega.gradient(D if omega.grade == "conic" else M, cone) - cone.from_coordinates(normals[0])
            slope = slope if problem.G is None else slope + problem.G
            if not np.isfinite(slope).all() or (not cone.free and cone.smallest(slope) >= 0.0):
                return
            lipschitz = (1.0 - INSIDE) * cone.bottom(slope) + INSIDE * cone.identity() / cone.d
            D = D + 2.0 / (step + 2.0) * (lipschitz - D)
