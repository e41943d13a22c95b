r"""Constraints and convex terms of the user's own, and what they do to a bound.

With a set :math:`\mathcal{U}` of constraints and a convex term h the problem becomes

.. math:: \min_{M \in K \cap \mathcal{U}} \; R(M) + \langle G, M \rangle + \Omega(M) + h(M).

A dual point of a nonnegative risk says :math:`R(M) \ge \max(0, v - \langle S, M \rangle)`, made by our own oracle, and

.. math:: \min_{M \in K \cap \mathcal{U}} \; \max(0, v - \langle S, M \rangle) + \langle G, M \rangle + \Omega(M) + h(M)

bounds the optimum from below. This minimum involves no data; what it is cannot be known without knowing what the user
wrote, so that it is taken from a conic solver: the *dual* value that CLARABEL reports. That, and how exactly the
constraints hold, is the part of the certificate that rests on the conic solver.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import cvxpy as cp
import numpy as np

from convexmetric.cones.base import Array
from convexmetric.errors import InputError, SolverError
from convexmetric.problem import MetricProblem
from convexmetric.risks import DualPoint

__all__ = ["Constraints", "ExtraObjective", "UserTerms", "solve_conic"]

Constraints = Callable[[cp.Variable], Any]
ExtraObjective = Callable[[cp.Variable], Any]

TIGHT = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}


class UserTerms:
    """The user's functions applied to a problem.

    Parameters
    ----------
    problem : MetricProblem
    constraints : callable, optional
        From the metric's CVXPY variable (a symmetric matrix, or a vector of weights) to a list of constraints.
    extra_objective : callable, optional
        From the variable to a convex scalar, or a number.

    Raises
    ------
    InputError
        If a function fails or returns anything else, a constraint or term is not convex by CVXPY's rules, or no metric
        satisfies the constraints.
    """

    def __init__(
        self, problem: MetricProblem, constraints: Constraints | None, extra_objective: ExtraObjective | None
    ) -> None:
        for name, function in (("constraints", constraints), ("extra_objective", extra_objective)):
            if function is not None and not callable(function):
                raise InputError(
                    f"{name} must be a function of the metric's CVXPY variable, got {type(function).__name__}"
                )
        self.problem = problem
        self._constraints, self._extra = constraints, extra_objective
        self.M, self.in_cone = problem.cone.variable(problem.letter)
        self.constraints = self.constraints_on(self.M)
        self.extra = self.extra_on(self.M)

    def constraints_on(self, M: cp.Variable) -> list[cp.Constraint]:
        """The user's constraints on a variable."""
        if self._constraints is None:
            return []
        given = _called(self._constraints, self.problem.on_features(M), "constraints")
        given = [given] if isinstance(given, cp.Constraint) else given
        if not isinstance(given, list | tuple):
            raise InputError(f"constraints must return a list of CVXPY constraints, got {type(given).__name__}")
        for i, constraint in enumerate(given):
            if isinstance(constraint, bool | np.bool_):
                if not constraint:
                    raise InputError(f"constraints returned False as constraint {i}: no metric satisfies it")
            elif not isinstance(constraint, cp.Constraint):
                raise InputError(f"constraints must return CVXPY constraints; item {i} is {type(constraint).__name__}")
            elif not constraint.is_dcp():
                raise InputError(f"constraint {i} is not convex by CVXPY's rules: {constraint}")
        return [constraint for constraint in given if isinstance(constraint, cp.Constraint)]

    def extra_on(self, M: cp.Variable) -> cp.Expression:
        """The user's term on a variable."""
        if self._extra is None:
            return cp.Constant(0.0)
        given = _called(self._extra, self.problem.on_features(M), "extra_objective")
        try:
            expression = cp.Constant(given) if np.isscalar(given) else given
            scalar = isinstance(expression, cp.Expression) and expression.is_scalar()
        except (TypeError, ValueError):
            scalar = False
        if not scalar:
            raise InputError(f"extra_objective must return a scalar CVXPY expression, got {type(given).__name__}")
        if not expression.is_convex():
            raise InputError(f"extra_objective is not convex by CVXPY's rules: {expression}")
        return expression

    def value(self, M: Array) -> float:
        """The user's term at ``M``."""
        self.M.save_value(M)
        return float(np.squeeze(self.extra.value))

    def violation(self, M: Array) -> float:
        """Largest violation of the user's constraints at ``M``."""
        self.M.save_value(M)
        return max((float(np.max(constraint.violation(), initial=0.0)) for constraint in self.constraints), default=0.0)

    def penalty(self) -> cp.Expression:
        """``<G, M> + Omega(M) + h(M)``."""
        expression = self.problem.regularizer.expression(self.M, self.problem.cone) + self.extra
        if self.problem.G is not None:
            expression = expression + cp.sum(cp.multiply(self.problem.G, self.M))
        return expression

    def lower_bound(self, point: DualPoint) -> float:
        """What a dual point of the risk proves together with the user's terms, by CLARABEL's dual value."""
        if not (np.isfinite(point.value) and np.isfinite(point.S).all()):
            return -np.inf
        plane = point.value - cp.sum(cp.multiply(point.S, self.M))
        model = cp.pos(plane) if self.problem.risk.nonnegative else plane
        value = solve_conic(cp.Problem(cp.Minimize(self.penalty() + model), self.in_cone + self.constraints), TIGHT)
        return value if np.isfinite(value) else -np.inf


def solve_conic(problem: cp.Problem, options: dict[str, Any]) -> float:
    """Solve with CLARABEL and return its dual value, a lower bound as far as CLARABEL is right.

    Raises
    ------
    InputError
        If the constraints contradict each other, or the problem is unbounded.
    SolverError
        If CLARABEL fails.
    """
    with warnings.catch_warnings():
        # Inaccurate solutions show in the gap.
        warnings.simplefilter("ignore", UserWarning)
        try:
            data, chain, inverse = problem.get_problem_data(cp.CLARABEL, solver_opts=options)
            raw = chain.solve_via_data(problem, data, solver_opts=options)
            problem.unpack_results(raw, chain, inverse)
        except cp.SolverError as error:
            raise SolverError(f"CLARABEL failed: {error}") from error
    if problem.status in (cp.INFEASIBLE, cp.INFEASIBLE_INACCURATE):
        raise InputError("constraints contradict each other or the cone: no metric satisfies them all")
    if problem.status in (cp.UNBOUNDED, cp.UNBOUNDED_INACCURATE):
        raise InputError("extra_objective falls without end: bound the metric, or make the term bounded from below")
    if problem.value is None:
        raise SolverError(f"CLARABEL returned no point: status {problem.status}")
    return float(problem.value) + min(0.0, float(raw.obj_val_dual) - float(raw.obj_val))


def _called(function: Callable[..., Any], M: cp.Expression, name: str) -> Any:
    try:
        return function(M)
    except Exception as error:
        raise InputError(f"{name} failed on the metric's CVXPY variable of shape {M.shape}: {error}") from error
