"""The textbook statement, solved by a general conic solver through CVXPY: the reference for all other solvers.

It writes out every constraint, so it is for small instances. The conic solver's result is not trusted: metric and
multipliers are projected, clipped and evaluated like those of any solver.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from convexmetric.arguments import check_one_of
from convexmetric.comparisons.points import row_width
from convexmetric.errors import SolverError, SolverNotInstalledError
from convexmetric.problem import MetricProblem, Statement
from convexmetric.programs.lazy import cvxpy as cp
from convexmetric.regularizers.conic_calls import attempted
from convexmetric.solvers.runtime import Monitor, Run, Solver, Steps
from convexmetric.solvers.runtime.requirements import FLOAT

__all__ = ["CONIC_SOLVERS", "Conic"]

#: Conic solvers by the name a user types, with what installs them.
CONIC_SOLVERS: dict[str, str] = {
    "clarabel": "pip install clarabel",
    "scs": "pip install scs",
    "mosek": "pip install 'convexmetric[mosek]'  (and a licence file)",
    "cvxopt": "pip install 'convexmetric[cvxopt]'",
    "sdpa": "pip install 'convexmetric[sdpa]'",
}
#: Successive solves: tolerance as a fraction of the requested gap, and the number of CLARABEL's first attempt, 0 with
#: more regularisation (robust) or 1 with its default (more digits).
ROUNDS = ((1e-2, 0), (1e-5, 1))
ADVICE = (
    "leave solver out for the default, rescale X so that distances are about 1, and give equalities of your own some "
    "room, such as cp.abs(cp.trace(M) - 1) <= 1e-6"
)


@dataclass(frozen=True)
class Conic(Solver):
    """CVXPY with a named solver at tight tolerance.

    Parameters
    ----------
    backend : str
        ``"clarabel"``, ``"scs"``; ``"mosek"``, ``"cvxopt"``, ``"sdpa"`` where installed.

    Raises
    ------
    InputError
        If the backend is unknown.
    SolverNotInstalledError
        If it is not installed; the message has the install line.
    """

    name: ClassVar[str] = "conic"

    backend: str = "clarabel"

    def __post_init__(self) -> None:
        check_one_of(self.backend, CONIC_SOLVERS, "backend")
        # CLARABEL is not looked up, so that CVXPY is not imported for it.
        if self.backend != "clarabel" and self.backend.upper() not in cp.installed_solvers():
            raise SolverNotInstalledError(
                f"{self.backend.upper()} is not installed; install it with: {CONIC_SOLVERS[self.backend]}"
            )

    def prepare(self, problem: MetricProblem) -> Run:
        """Needs nothing but a statement in CVXPY."""
        return partial(self._run, problem)

    def memory(self, problem: MetricProblem) -> float | None:
        """Bytes of 18 times the entries of all rows, factorisations included, and of three ``(size, size)`` arrays.

        A comparison is a row, with six more entries for slacks and the like.
        """
        rows, cone = problem.risk.stated_rows, problem.cone
        width = row_width(problem.risk.points, cone) if cone.diagonal else float(cone.d**2)
        return None if rows is None else FLOAT * (18.0 * rows * (width + 6.0) + 3.0 * cone.size**2)

    def _run(self, problem: MetricProblem, monitor: Monitor) -> Steps:
        """Call the conic solver once, or twice where the first solve leaves a gap.

        Raises
        ------
        SolverError
            If it fails without a point.
        InputError
            If the statement is too large to write out, or constraints of the user's own contradict each other.
        """
        monitor.solver = self.backend
        statement = problem.statement()
        # Bounds may amplify the error of the dual point: then CLARABEL solves again, to more digits.
        for share, first in ROUNDS if self.backend == "clarabel" else ROUNDS[:1]:
            self._solve(statement, self._options(monitor, share), first)
            if statement.metric.value is None:
                raise SolverError(
                    f"{self.backend.upper()} returned no point: status {statement.problem.status}; {ADVICE}"
                )
            _offer(problem, statement, monitor)
            yield {}

    def _solve(self, statement: Statement, options: dict[str, Any], first: int) -> None:
        solve = partial(statement.problem.solve, solver=self.backend.upper())
        try:
            attempted(lambda given: solve(**given), self.backend, options, first)
        except cp.SolverError as error:
            raise SolverError(f"{self.backend.upper()} failed: {_reason(error)}; {ADVICE}") from error

    def _options(self, monitor: Monitor, share: float) -> dict[str, Any]:
        """Tolerances well below the gap asked for."""
        tol = min(1e-6, monitor.tol) * share
        if self.backend == "clarabel":
            return {"tol_gap_abs": tol, "tol_gap_rel": tol, "tol_feas": tol}
        if self.backend == "scs":
            return {"eps_abs": 0.01 * tol, "eps_rel": 0.01 * tol, "max_iters": 1_000_000}
        if self.backend == "cvxopt":
            return {"abstol": tol, "reltol": tol, "feastol": tol}
        return {"epsilonStar": tol, "epsilonDash": tol} if self.backend == "sdpa" else {}


def _offer(problem: MetricProblem, statement: Statement, monitor: Monitor) -> None:
    """Offer the metric and the multipliers that a conic solver left in a statement."""
    metric = problem.risk.repair(problem.cone.project(np.asarray(statement.metric.value, dtype=np.float64)))
    metric = problem.regularizer.repair(metric, problem.cone)
    monitor.primal(metric, problem.value(metric), by_risk=True)
    multipliers = statement.dual()
    monitor.dual(problem.dual_bound(multipliers, hint=metric), lambda: multipliers)


def _reason(error: Exception) -> str:
    """Message of a failure in CVXPY, without its advice to set options of ``Problem.solve``."""
    return str(error).partition("Try another solver")[0].strip().rstrip(".")
