"""The master problem of cutting planes in CVXPY, for any penalty that can be stated there.

CVXPY states the penalty and the cone once, and CLARABEL solves that program with the cuts as further rows: to state
them, also as parameters, would take CVXPY most of the time and gigabytes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from convexmetric.arrays import Array
from convexmetric.cones.base import Cone
from convexmetric.errors import InfeasibleError, InputError, SolverError
from convexmetric.problem import MetricProblem
from convexmetric.programs.lazy import cvxpy as cp
from convexmetric.regularizers.conic_calls import solve_with_rows
from convexmetric.risks import Minorant
from convexmetric.solvers.cuts.master import MasterPoint
from convexmetric.solvers.numerics.qp import within_groups

#: Relative tolerance for CLARABEL, and the assumed relative error of its value.
TIGHT = 1e-9


class ConicMaster:
    """Solve masters whose cuts come and go, by CLARABEL; the interface of :class:`Master`.

    Parameters
    ----------
    problem : MetricProblem
        Gives the cone, the penalty in CVXPY and the lower bounds that multipliers prove.
    """

    def __init__(self, problem: MetricProblem) -> None:
        self.problem = problem
        self.M, self.inside = problem.cone.variable(problem.letter)
        self.inside = [*self.inside, *problem.regularizer.constraints(self.M, problem.cone)]
        self.penalty = problem.regularizer.expression(self.M, problem.cone)
        if problem.G is not None:
            self.penalty = self.penalty + cp.sum(cp.multiply(problem.G, self.M))
        #: Weights of the slacks with which the program was stated.
        self.C: Array = np.empty(0)

    @staticmethod
    def numbers(cone: Cone, cuts: float) -> float:
        """Return how many numbers CLARABEL holds: of cuts, and of a semidefinite cone in factors of its equations.

        Of the latter, six for every pair of its coordinates were measured at d = 70 and 100.
        """
        return 18.0 * cuts * cone.size + (6.0 * cone.size if cone.diagonal else 6.0 * cone.size**2)

    def start(self) -> Array:
        """Return the metric of least penalty under the constraints; failing that, one with a finite penalty.

        Raises
        ------
        InfeasibleError
            If no metric satisfies the user's constraints.
        InputError
            If CLARABEL finds no least penalty, as where the user's terms are unbounded below and only the data bound
            the metric.
        """
        omega = self.problem.regularizer
        try:
            if self._solve(cp.Problem(cp.Minimize(self.penalty), self.inside), {}, np.zeros(0))[0] > -np.inf:
                return self._metric()
        except SolverError:
            if omega.grade == "conic":
                raise
        if omega.grade == "conic":
            raise InputError(
                "CLARABEL did not find where the penalty is least: bound the metric by constraints, bound "
                "extra_objective from below, or rescale X and weights"
            )
        return self.problem.cone.zeros() if omega.prior is None else omega.repair(omega.prior, self.problem.cone)

    def _solve(self, program: cp.Problem, rows: dict[int, Array], offsets: Array) -> tuple[float, Array]:
        """Solve with CLARABEL, which may report numbers of extreme size as infeasibility."""
        try:
            return solve_with_rows(program, rows, offsets, TIGHT)
        except InfeasibleError as error:
            if self.problem.regularizer.grade == "conic":
                raise
            raise SolverError("CLARABEL found no metric of a finite penalty; rescale X and weights") from error

    def solve(
        self, normals: Array, offsets: Array, group: np.ndarray, C: Array, tol: float, stop: Callable[[], bool]
    ) -> MasterPoint:
        """Solve with the cuts ``offsets - <normals, M>``, as far as CLARABEL goes; ``tol`` and ``stop`` are ignored."""
        cone = self.problem.cone
        full = cone.from_coordinates(normals) if normals.shape[1] == cone.size else normals
        full = full.reshape(len(full), *cone.shape)
        if not (np.isfinite(full).all() and np.isfinite(offsets).all()):
            raise SolverError("cuts hold numbers beyond floats; rescale X, margins and weights")
        if not np.array_equal(self.C, C):
            self.C, self.xi = C, cp.Variable(len(C))
            self.program = cp.Problem(cp.Minimize(self.penalty + C @ self.xi), [*self.inside, self.xi >= 0.0])
        rows = {self.M.id: self._entries(full), self.xi.id: np.eye(len(C))[group]}
        lower, multipliers = self._solve(self.program, rows, offsets)
        if self.M.value is None:
            raise SolverError(
                f"CLARABEL called the master of cutting planes {self.program.status}: rescale X and weights, or keep "
                "the metric within a Budget(A, limit)"
            )
        upper = max(float(self.program.value), lower + TIGHT * abs(lower))
        M = self._metric()
        a = within_groups(np.maximum(multipliers, 0.0), group, C)
        sums = Minorant(float(offsets @ a), np.tensordot(a, full, axes=1))
        if self.problem.regularizer.grade == "float":
            lower = self.problem.bound(sums.value, sums.S, M)
        return MasterPoint(M, a, sums, upper, lower, int(self.program.solver_stats.num_iters))

    def _entries(self, full: Array) -> Array:
        """Return what multiplies the entries that CVXPY has of the metric: of a symmetric one those of a triangle."""
        if not self.M.attributes["symmetric"]:
            return full if full.ndim == 2 else full.transpose(0, 2, 1).reshape(len(full), -1)
        i, j = np.triu_indices(self.problem.cone.d)
        return full[:, i, j] * np.where(i == j, 1.0, 2.0)

    def _metric(self) -> Array:
        cone = self.problem.cone
        return self.problem.regularizer.repair(cone.project(np.asarray(self.M.value, dtype=np.float64)), cone)
