"""Calls of conic solvers: within the time that is left, and without panics.

Solvers written in Rust panic where numbers leave their range, which Python sees as a ``BaseException`` that no handler
of errors catches. Here it is a failure of that solver like any other; Ctrl-C and the end of the program stay what they
are.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from convexmetric.deadline import OutOfTime, check_deadline, seconds_left
from convexmetric.errors import InfeasibleError, SolverError
from convexmetric.programs.lazy import cvxpy as cp

Found = TypeVar("Found")

#: What CLARABEL is asked for.
TIGHT = 1e-10
#: What is tried in turn where CLARABEL breaks down. Equalities make linear systems that its own regularisation of 1e-8
#: does not carry; with more of it, which its refinement takes back, it solves others as well. Then less is asked of it.
#: CVXPY keeps CLARABEL's object and with it the options of the call before: none is left out.
ATTEMPTS: tuple[dict[str, float], ...] = (
    {"static_regularization_constant": 1e-7},
    {"static_regularization_constant": 1e-8},
    {"static_regularization_constant": 1e-6},
    {"tol_gap_abs": 1e-8, "tol_gap_rel": 1e-8, "tol_feas": 1e-8, "static_regularization_constant": 1e-8},
    {"tol_gap_abs": 1e-6, "tol_gap_rel": 1e-6, "tol_feas": 1e-8, "static_regularization_constant": 1e-7},
)
#: Share of the time left that a solver may take, so that what it leaves can be evaluated.
SHARE = 0.9
#: The options that limit a solver's time, where it has one, by seconds; infinite for no limit.
TIME_LIMITS: dict[str, Callable[[float], dict[str, Any]]] = {
    "clarabel": lambda seconds: {"time_limit": seconds},
    "scs": lambda seconds: {"time_limit_secs": seconds if np.isfinite(seconds) else 0.0},
    "mosek": lambda seconds: {
        "mosek_params": {"MSK_DPAR_OPTIMIZER_MAX_TIME": seconds if np.isfinite(seconds) else -1.0}
    },
}


@contextmanager
def guarded() -> Iterator[None]:
    """One call: a panic is a ``cvxpy.SolverError``, and what is inaccurate shows in the gap and not in warnings."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except BaseException as error:
        # Its class cannot be imported.
        if type(error).__name__ != "PanicException":
            raise
        raise cp.SolverError(f"it panicked: {error}") from error


def attempted(
    call: Callable[[dict[str, Any]], Found],
    backend: str = "clarabel",
    options: dict[str, Any] | None = None,
    first: int = 0,
) -> Found:
    """What a call of a conic solver returns, of CLARABEL after some attempts with other options.

    Parameters
    ----------
    call : callable
        From the solver's options to what it found; raises ``cvxpy.SolverError`` where that is nothing.
    backend : str
    options : dict, optional
        What it is asked for.
    first : int
        The attempt to begin with; 1 is CLARABEL's own regularisation.

    Raises
    ------
    OutOfTime
        If the time is out, before a call or when one ends without a result.
    cvxpy.SolverError
        If the last attempt failed.
    """
    attempts: tuple[dict[str, float], ...] = ATTEMPTS[first:] if backend == "clarabel" else ({},)
    for number, attempt in enumerate(attempts, 1):
        check_deadline()
        try:
            with guarded():
                return call((options or {}) | attempt | _limit(backend))
        except cp.SolverError:
            check_deadline()
            if number == len(attempts):
                raise
    raise AssertionError


def solve_conic(problem: cp.Problem, tol: float = TIGHT) -> float:
    """Solve with CLARABEL; returns its dual value less what its dual point lacks, a lower bound as far as it is right.

    Minus infinity if the problem is unbounded.

    Raises
    ------
    OutOfTime
        If the time is out; what CLARABEL had then are the values of the variables.
    InfeasibleError
        If no metric satisfies the constraints.
    SolverError
        If CLARABEL fails.
    """

    def call(options: dict[str, Any]) -> float:
        data, chain, inverse = problem.get_problem_data(cp.CLARABEL, solver_opts=options)
        # Zeros of parameters are stored like other numbers, and cost as much.
        data["A"] = data["A"].copy()
        data["A"].eliminate_zeros()
        raw = chain.solve_via_data(problem, data, solver_opts=options)
        try:
            problem.unpack_results(raw, chain, inverse)
        except cp.SolverError as error:
            raise cp.SolverError(str(raw.status)) from error
        if problem.status == cp.INFEASIBLE:
            if _has_room(problem):
                raise cp.SolverError("it called a program infeasible that is not")
            raise InfeasibleError(
                "constraints contradict each other or the cone: no metric satisfies them all; drop some, give them "
                "room, or rescale their numbers to about 1"
            )
        if problem.status == cp.UNBOUNDED:
            return -np.inf
        if str(raw.status) == "MaxTime":
            raise OutOfTime
        if problem.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
            raise cp.SolverError(str(raw.status))
        # Not the objective at the point found, which may be far off where that violates cones.
        value = float(problem.solution.opt_val) + min(0.0, float(raw.obj_val_dual) - float(raw.obj_val))
        value -= _residual(data, raw)
        return value if np.isfinite(value) else -np.inf

    try:
        return attempted(call, options={"tol_gap_abs": tol, "tol_gap_rel": tol, "tol_feas": tol})
    except cp.SolverError as error:
        raise SolverError(
            f"CLARABEL failed on what stands beside the risk ({error}), also with more regularisation and looser "
            "limits; rescale X, weights and your own numbers to about 1, or give equalities of your own some room, "
            "such as cp.abs(cp.trace(M) - 1) <= 1e-6"
        ) from error


def _has_room(problem: cp.Problem) -> bool:
    """Whether constraints without data have a point, which CLARABEL may miss beside numbers of other sizes."""
    bare = cp.Problem(cp.Minimize(0), [each for each in problem.constraints if not each.parameters()])
    bare.solve(solver=cp.CLARABEL, **_limit("clarabel"))
    return bool(bare.status == cp.OPTIMAL)


def _limit(backend: str) -> dict[str, Any]:
    """The solver's option for a share of the time left, if it has one."""
    left = SHARE * seconds_left()
    return TIME_LIMITS[backend](left) if backend in TIME_LIMITS else {}


def _residual(data: dict[str, Any], raw: Any) -> float:
    """What a dual point that is not quite feasible may be wrong by, at a metric as large as the one found."""
    x, z = np.asarray(raw.x, dtype=np.float64), np.asarray(raw.z, dtype=np.float64)
    slope = data["c"] + data["A"].T @ z
    if "P" in data:
        slope = slope + data["P"] @ x
    return float(np.abs(slope) @ np.abs(x))
