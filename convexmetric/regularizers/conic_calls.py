"""Calls of conic solvers, limited to the time left and with panics turned into errors.

Solvers written in Rust panic when numbers leave their range; Python raises this as a ``BaseException`` that usual error
handlers do not catch. Here a panic counts as an ordinary failure of that solver; ``KeyboardInterrupt`` and
``SystemExit`` are passed on.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from convexmetric.arrays import Array
from convexmetric.deadline import OutOfTime, check_deadline, seconds_left
from convexmetric.errors import InfeasibleError, SolverError
from convexmetric.programs.canonical import guarded
from convexmetric.programs.lazy import cvxpy as cp

Found = TypeVar("Found")

#: CLARABEL's tolerances for gaps and feasibility.
TIGHT = 1e-10
#: Options tried in turn when CLARABEL breaks down. With equality constraints its default regularisation of 1e-8 can be
#: too small for its linear systems; a larger one, which its refinement corrects, helps elsewhere. The last attempts
#: loosen the tolerances. CVXPY reuses CLARABEL's object with the options of the last call, so each sets all it needs.
ATTEMPTS: tuple[dict[str, float], ...] = (
    {"static_regularization_constant": 1e-7},
    {"static_regularization_constant": 1e-8},
    {"static_regularization_constant": 1e-6},
    {"tol_gap_abs": 1e-8, "tol_gap_rel": 1e-8, "tol_feas": 1e-8, "static_regularization_constant": 1e-8},
    {"tol_gap_abs": 1e-6, "tol_gap_rel": 1e-6, "tol_feas": 1e-8, "static_regularization_constant": 1e-7},
)
#: Fraction of the time left that a solver may take; the rest is for evaluating its result.
SHARE = 0.9
#: For each solver with such an option, the options that limit its time to given seconds; infinite for no limit.
TIME_LIMITS: dict[str, Callable[[float], dict[str, Any]]] = {
    "clarabel": lambda seconds: {"time_limit": seconds},
    "scs": lambda seconds: {"time_limit_secs": seconds if np.isfinite(seconds) else 0.0},
    "mosek": lambda seconds: {
        "mosek_params": {"MSK_DPAR_OPTIMIZER_MAX_TIME": seconds if np.isfinite(seconds) else -1.0}
    },
}


def attempted(
    call: Callable[[dict[str, Any]], Found],
    backend: str = "clarabel",
    options: dict[str, Any] | None = None,
    first: int = 0,
) -> Found:
    """Return ``call(options)``; CLARABEL is called with each of ``ATTEMPTS`` in turn until a call succeeds.

    Parameters
    ----------
    call : callable
        Takes the solver's options and returns its result; raises ``cvxpy.SolverError`` if there is none.
    backend : str
    options : dict, optional
        Options of every call, such as tolerances.
    first : int
        Index of the first of ``ATTEMPTS``; 1 is CLARABEL's default regularisation.

    Raises
    ------
    OutOfTime
        If the time is up, before a call or when one ends without a result.
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
    """Solve with CLARABEL and return its dual value less its dual residual, a lower bound if CLARABEL is right.

    Minus infinity if the problem is unbounded.

    Raises
    ------
    OutOfTime, InfeasibleError, SolverError
        As :func:`solve_with_rows`.
    """
    return solve_with_rows(problem, {}, np.zeros(0), tol)[0]


def solve_with_rows(
    problem: cp.Problem, rows: dict[int, Array], least: Array, tol: float = TIGHT
) -> tuple[float, Array]:
    """Solve a problem with more constraints ``sum of rows x >= least``, which CVXPY does not see, as it is slow there.

    Parameters
    ----------
    problem : cvxpy.Problem
    rows : dict from int to Array, (k, entries of the variable)
        Coefficients by the number of a variable; of a symmetric one, those of its triangle, row by row.
    least : Array, (k,)
    tol : float

    Returns
    -------
    lower : float
        The value of :func:`solve_conic`.
    multipliers : Array, (k,)
        Those of the rows; not a number where CLARABEL found none.

    Raises
    ------
    OutOfTime
        If the time is up; the variables then have the values of CLARABEL's last iterate.
    InfeasibleError
        If no metric satisfies the constraints.
    SolverError
        If CLARABEL fails.
    """

    def call(options: dict[str, Any]) -> tuple[float, Array]:
        data, chain, inverse = problem.get_problem_data(cp.CLARABEL, solver_opts=options)
        data = _extended(data, rows, least)
        # Without CVXPY's cache, which would hold the last program's factors beside those of this one.
        raw = chain.solver.solve_via_data(data, False, False, options)
        kept, multipliers = _without(raw, inverse[-1]["dims"], len(least))
        try:
            problem.unpack_results(kept, chain, inverse)
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
            return -np.inf, multipliers
        if str(raw.status) == "MaxTime":
            raise OutOfTime
        if problem.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
            raise cp.SolverError(str(raw.status))
        # The dual value: the objective at the primal point may be far off if that point violates cones.
        value = float(problem.solution.opt_val) + min(0.0, float(raw.obj_val_dual) - float(raw.obj_val))
        value -= _residual(data, raw)
        return value if np.isfinite(value) else -np.inf, multipliers

    try:
        return attempted(call, options={"tol_gap_abs": tol, "tol_gap_rel": tol, "tol_feas": tol})
    except cp.SolverError as error:
        raise SolverError(
            f"CLARABEL failed on what stands beside the risk ({error}), also with more regularisation and looser "
            "limits; rescale X, weights and your own numbers to about 1, or give equalities of your own some room, "
            "such as cp.abs(cp.trace(M) - 1) <= 1e-6"
        ) from error


def _extended(data: dict[str, Any], rows: dict[int, Array], least: Array) -> dict[str, Any]:
    """Return the data of a program with rows more, after those that are nonnegative."""
    A, count, (zero, line) = sp.csr_array(data["A"]), len(least), (data["dims"].zero, data["dims"].nonneg)
    dense, starts = np.zeros((count, A.shape[1])), data["param_prob"].var_id_to_col
    for number, own in rows.items():
        dense[:, starts[number] : starts[number] + own.shape[1]] = -own
    at, dims = zero + line, copy(data["dims"])
    dims.nonneg = line + count
    A = sp.csc_array(sp.vstack([A[:at], sp.csr_array(dense), A[at:]]))
    # Zeros of parameters are stored like other numbers, and cost as much.
    A.eliminate_zeros()
    return data | {"A": A, "b": np.insert(data["b"], at, -least), "dims": dims}


def _without(raw: Any, dims: Any, count: int) -> tuple[Any, Array]:
    """Split CLARABEL's answer into that of the program without its last ``count`` nonnegative rows, and theirs."""
    if raw.z is None:
        return raw, np.full(count, np.nan)
    z, at = np.asarray(raw.z, dtype=np.float64), dims.zero + dims.nonneg
    names = ("status", "x", "obj_val", "solve_time", "iterations")
    kept = SimpleNamespace(**{name: getattr(raw, name) for name in names}, z=np.delete(z, slice(at, at + count)))
    return kept, z[at : at + count]


def _has_room(problem: cp.Problem) -> bool:
    """Whether the constraints without parameters are feasible, which CLARABEL may miss if scales differ."""
    bare = cp.Problem(cp.Minimize(0), [each for each in problem.constraints if not each.parameters()])
    bare.solve(solver=cp.CLARABEL, **_limit("clarabel"))
    return bool(bare.status == cp.OPTIMAL)


def _limit(backend: str) -> dict[str, Any]:
    """Option that limits the solver to ``SHARE`` of the time left; empty if it has no such option."""
    left = SHARE * seconds_left()
    return TIME_LIMITS[backend](left) if backend in TIME_LIMITS else {}


def _residual(data: dict[str, Any], raw: Any) -> float:
    """``|c + A^T z + P x|^T |x|``: the amount by which an infeasible dual point may overstate the optimum."""
    x, z = np.asarray(raw.x, dtype=np.float64), np.asarray(raw.z, dtype=np.float64)
    slope = data["c"] + data["A"].T @ z
    if "P" in data:
        slope = slope + data["P"] @ x
    return float(np.abs(slope) @ np.abs(x))
