"""Judge anybody's metric: how far is it from optimal, certified."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from convexmetric.certificate import Certificate, relative_gap
from convexmetric.errors import InputError
from convexmetric.problem import MetricProblem
from convexmetric.solution import Solution
from convexmetric.solvers import solve

__all__ = ["Audit", "audit"]

#: A metric counts as in the cone when its smallest eigenvalue is above minus this share of the largest one.
FEASIBILITY = 1e-9


@dataclass(frozen=True)
class Audit:
    """What an audit found.

    Attributes
    ----------
    objective : float
        Objective at the metric as given; infinite where it violates a hard margin.
    projected_objective : float
        Objective at its projection on the cone, the nearest metric that may be compared; the same if it is feasible.
    lower_bound : float
        Certified: no metric has a smaller objective.
    suboptimality : float
        ``(projected_objective - lower_bound) / max(|projected_objective|, |lower_bound|)``: at least the relative
        distance from the optimal value. 0 is perfect, 1 is as bad as it gets for nonnegative objectives.
    min_eigenvalue : float
        Smallest eigenvalue (or weight) of the metric, in the problem's coordinates.
    feasible : bool
        Whether it lies in the cone to rounding and meets all hard margins.
    """

    objective: float
    projected_objective: float
    lower_bound: float
    suboptimality: float
    min_eigenvalue: float
    feasible: bool

    def __str__(self) -> str:
        note = "" if self.feasible else f"\nprojected objective  {self.projected_objective:.10g}"
        return (
            f"objective            {self.objective:.10g}{note}\n"
            f"certified optimum >= {self.lower_bound:.10g}\n"
            f"suboptimality     <= {self.suboptimality:.3g}\n"
            f"smallest eigenvalue  {self.min_eigenvalue:.3g} ({'feasible' if self.feasible else 'NOT feasible'})"
        )


def audit(problem: MetricProblem, M: ArrayLike, reference: Solution | Certificate | float | None = None) -> Audit:
    """How far ``M`` is from the optimum of ``problem``.

    Parameters
    ----------
    problem : MetricProblem
        What ``M`` was meant to solve.
    M : array
        Anybody's metric: ``(d, d)``, or ``(d,)`` weights of a diagonal one.
    reference : Solution, Certificate or float, optional
        Where the lower bound comes from; by default the problem is solved to 1e-6 first.

    Returns
    -------
    Audit

    Raises
    ------
    InputError
        If ``M`` has the wrong shape or entries that are not finite, or the reference proves nothing.

    Examples
    --------
    >>> import convexmetric as cm
    >>> iris = cm.datasets.load("iris")
    >>> problem = cm.RankingProblem.from_labels(iris.X, iris.y, measure="auc", C=10.0)
    >>> verdict = cm.audit(problem, 0.1 * problem.cone.identity())
    >>> print(f"at most {verdict.suboptimality:.2f} from optimal, feasible: {verdict.feasible}")
    at most 0.46 from optimal, feasible: True
    """
    if not isinstance(problem, MetricProblem):
        raise InputError(f"problem must be a MetricProblem, got {type(problem).__name__}")
    metric = problem.from_features(M)
    if reference is None:
        reference = solve(problem)
    if isinstance(reference, (Solution, Certificate)):
        reference = reference.lower_bound
    try:
        lower_bound = float(reference)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"reference must be a Solution, a Certificate or a lower bound, got {type(reference).__name__}"
        ) from error
    if not np.isfinite(lower_bound):
        raise InputError(f"reference must give a finite lower bound, got {lower_bound}")
    smallest = problem.cone.smallest(metric)
    in_cone = smallest >= -FEASIBILITY * max(abs(problem.cone.largest(metric)), abs(smallest))
    objective = problem.objective(metric)
    projected = objective if smallest >= 0.0 else problem.objective(problem.cone.project(metric))
    return Audit(
        objective=objective,
        projected_objective=projected,
        lower_bound=lower_bound,
        suboptimality=relative_gap(projected, lower_bound),
        min_eigenvalue=smallest,
        feasible=bool(in_cone and np.isfinite(projected)),
    )
