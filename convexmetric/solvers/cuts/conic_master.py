"""The master problem of cutting planes in CVXPY, for any penalty that can be stated there.

The cuts are parameters of one program, which has spare rows for further cuts. Setting parameters takes milliseconds;
stating the problem anew would take most of the time. CLARABEL solves it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from convexmetric.arrays import Array
from convexmetric.errors import InfeasibleError, InputError, SolverError
from convexmetric.problem import MetricProblem
from convexmetric.programs.lazy import cvxpy as cp
from convexmetric.regularizers.conic_calls import solve_conic
from convexmetric.risks import Minorant
from convexmetric.solvers.cuts.master import MasterPoint
from convexmetric.solvers.numerics.qp import within_groups

#: Rows of the program per cut when it is stated, as room for further cuts.
ROOM = 2
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
        self.count = -1

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
            if self._solve(cp.Problem(cp.Minimize(self.penalty), self.inside)) > -np.inf:
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

    def _solve(self, program: cp.Problem) -> float:
        """Return the optimal value by CLARABEL, which may report numbers of extreme size as infeasibility."""
        try:
            return solve_conic(program, TIGHT)
        except InfeasibleError as error:
            if self.problem.regularizer.grade == "conic":
                raise
            raise SolverError("CLARABEL found no metric of a finite penalty; rescale X and weights") from error

    def solve(
        self, normals: Array, offsets: Array, group: np.ndarray, C: Array, tol: float, stop: Callable[[], bool]
    ) -> MasterPoint:
        """Solve with the cuts ``offsets - <normals, M>``, as far as CLARABEL goes; ``tol`` and ``stop`` are ignored."""
        cone, count = self.problem.cone, len(group)
        if not ROOM**-2 * self.count <= count <= self.count:
            self._state(C, ROOM * count)
        full = cone.from_coordinates(normals) if normals.shape[1] == cone.size else normals
        if not (np.isfinite(full).all() and np.isfinite(offsets).all()):
            raise SolverError("cuts hold numbers beyond floats; rescale X, margins and weights")
        rows, slack_of = np.zeros(self.normals.shape), np.zeros(self.slack_of.shape)
        rows[:count], slack_of[np.arange(count), group] = full.reshape(count, -1), 1.0
        # Rows without a cut are the constraint 0 >= -1.
        levels = np.full(self.offsets.shape, -1.0)
        levels[:count] = offsets
        self.normals.value, self.slack_of.value, self.offsets.value = rows, slack_of, levels
        lower = self._solve(self.program)
        if self.M.value is None:
            raise SolverError(
                f"CLARABEL called the master of cutting planes {self.program.status}: rescale X and weights, or keep "
                "the metric within a Budget(A, limit)"
            )
        upper = max(float(self.program.value), lower + TIGHT * abs(lower))
        M = self._metric()
        a = within_groups(np.maximum(np.asarray(self.cuts.dual_value)[:count], 0.0), group, C)
        sums = Minorant(float(offsets @ a), np.tensordot(a, full, axes=1).reshape(cone.shape))
        if self.problem.regularizer.grade == "float":
            lower = self.problem.bound(sums.value, sums.S, M)
        return MasterPoint(M, a, sums, upper, lower, int(self.program.solver_stats.num_iters))

    def _state(self, C: Array, count: int) -> None:
        """State the program with ``count`` rows for cuts."""
        self.count = count
        self.normals = cp.Parameter((count, int(np.prod(self.problem.cone.shape))))
        self.slack_of, self.offsets = cp.Parameter((count, len(C))), cp.Parameter(count)
        xi = cp.Variable(len(C), nonneg=True)
        flat = cp.vec(self.M, order="C") if self.M.ndim == 2 else self.M
        self.cuts = self.normals @ flat + self.slack_of @ xi >= self.offsets
        self.program = cp.Problem(cp.Minimize(self.penalty + C @ xi), [*self.inside, self.cuts])

    def _metric(self) -> Array:
        cone = self.problem.cone
        return self.problem.regularizer.repair(cone.project(np.asarray(self.M.value, dtype=np.float64)), cone)
