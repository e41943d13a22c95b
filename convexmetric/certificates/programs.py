r"""Certificates of convex programs in CVXPY, solved by whichever solver: proven bounds on their optimal values.

CVXPY makes of a problem :math:`\min x^\top P x / 2 + q^\top x + c_0` with :math:`b - A x \in K`, K a product of cones.
These numbers are what is stated; how CVXPY got them is its part. The proof is a point and a dual point, which the
kernel moves to where all equations hold exactly. For that they must be inside K and its dual cone: where the solver's
are not, an inner point is mixed in, as little of it as needed.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp

from convexmetric.arrays import Array
from convexmetric.certificates import checker, kernel
from convexmetric.certificates.certificate import Bounds
from convexmetric.certificates.statement import Arrays, Table, plain, without_proof
from convexmetric.errors import GapWarning, InfeasibleError, InputError, SolverError, UnboundedError
from convexmetric.programs.canonical import ALIKE, Answer, Canonical, Program, canonical
from convexmetric.programs.lazy import cvxpy as cp

#: Shares of an inner point that are mixed in; margins that it has, relative to the largest entry.
SHARES = tuple(10.0 ** (0.5 * power) for power in range(-24, 1))
MARGINS = (1e-4, 1e-6, 1e-2, 1e-8)
#: Least spreads, relative to the largest: while a point is moved in floats, and in the file.
FLOOR, NEAR = 1e-8, 0.1


@dataclass(frozen=True)
class ProgramCertificate(Bounds):
    """Proven bounds on the optimal value of a CVXPY problem.

    Attributes
    ----------
    lower_bound, upper_bound : float
        Proven bounds on the optimal value as the problem states it, rounded outward; infinite where nothing is proven.
    value : float
        The optimal value that the solver claimed.
    values : dict
        Values of the problem's variables by their names, of the point that was judged: ``upper_bound`` (of a maximum,
        ``lower_bound``) is the objective there, moved as far as exact feasibility takes.
    left_out : str
        Constraints with equations that follow from others but for rounding, and are left out of what is proven.
    missing : str
        What a bound was not proven for want of, and what to do; empty if both are proven.
    document, arrays : dict
        The statement and the proof, as a file has them.
    """

    lower_bound: float
    upper_bound: float
    value: float
    values: dict[str, Array] = field(repr=False)
    left_out: str
    missing: str
    document: Table = field(repr=False)
    arrays: Arrays = field(repr=False)

    def __str__(self) -> str:
        bounds = (
            f"{self.lower_bound:.12g} <= optimum <= {self.upper_bound:.12g}   (proven, relative gap {self.gap:.1e})"
        )
        words = checker.in_words(self.document["problem"])
        left_out = f"left out, as they follow from other equations: rows of {self.left_out}" if self.left_out else ""
        return "\n".join(
            filter(None, [bounds, f"the solver's value: {self.value:.12g}", words, left_out, self.missing])
        )

    def file(self) -> tuple[Table, Arrays, kernel.Proof]:
        """Contents of a file, and the proof of its claims.

        Raises
        ------
        InputError
            If a bound is not proven.
        """
        if self.missing:
            raise InputError(f"nothing is proven: {self.missing}")
        return dict(self.document), self.arrays, checker.prove([(self.document, self.arrays)], math.inf)


def certify_program(problem: cp.Problem, *, solver: str | None = None, **options: Any) -> ProgramCertificate:
    r"""Prove bounds on the optimal value of a convex problem that CVXPY states, whoever solved it.

    .. math:: \text{lower bound} \le \min_x \{ \tfrac12 x^\top P x + q^\top x + c_0 : b - A x \in K \} \le \text{upper
       bound}

    Both are proven by the kernel in interval arithmetic, for the numbers P, q, A, b that CVXPY makes of the problem.
    No status and no tolerance of a solver is believed, and no box is assumed. If the problem's variables have values,
    by ``problem.solve()`` or set by hand, and no solver is named, they are the point that is judged.

    Parameters
    ----------
    problem : cvxpy.Problem
        Convex by CVXPY's rules, with values for all parameters.
    solver : str, optional
        Name of a CVXPY solver that solves the problem anew. Default: CLARABEL, for what the variables' values do not
        tell.
    **options : Any
        Options of that solver.

    Returns
    -------
    ProgramCertificate
        :func:`convexmetric.write_certificate` writes it to a file, which ``convexmetric verify`` proves.

    Warns
    -----
    GapWarning
        If a bound is not proven; ``missing`` says why. A lower bound needs bounded level sets (for a maximum, upper),
        the other one a point that satisfies all inequalities strictly and equations that are independent.

    Raises
    ------
    InputError
        If the problem is not convex by CVXPY's rules, has integers, or lacks values of parameters.
    InfeasibleError, UnboundedError, SolverError
        If the solver says so, or fails.

    Notes
    -----
    C. Jansson, D. Chaykin and C. Keil: Rigorous error bounds for the optimal value in semidefinite programming. SIAM
    Journal on Numerical Analysis 46 (2007).

    Examples
    --------
    >>> import cvxpy as cp
    >>> import convexmetric as cm
    >>> x = cp.Variable(2, name="x")
    >>> certificate = cm.certify_program(cp.Problem(cp.Minimize(cp.sum(x)), [cp.norm(x) <= 1]))
    >>> certificate.lower_bound <= -(2**0.5) <= certificate.upper_bound
    True
    >>> bool(certificate.gap < 1e-7)
    True
    """
    form = canonical(problem)
    try:
        stated = _stated(form)
    except kernel.NotProven:
        form = canonical(problem, quadratic=False)
        stated = _stated(form)
    program, back = form.program.scaled()
    work = replace(form, program=program)
    answer = _solved(program, solver or "CLARABEL", options)
    given = None if solver else _judged(form, replace(answer, x=answer.x * back["x"], z=answer.z * back["z"]))
    sign = -1.0 if form.maximise else 1.0
    value = sign * (answer.value / back["cost"] + form.constant)
    if given is not None and problem.value is not None:
        value = float(problem.value)
    x = answer.x if given is None else given / back["x"]
    upper, point, no_upper = _upper(work, back, stated.program, x)
    lower, dual_point, no_lower = _lower(work, back, stated.program, answer)
    ends = [None if end is None else end + Fraction(form.constant) for end in (lower, upper)]
    missing = "; ".join(filter(None, (no_lower, no_upper)))
    return _certificate(form, ends, value, x * back["x"], {**point, **dual_point}, missing)


def _document(form: Canonical) -> tuple[Table, Arrays]:
    """Document and arrays of the statement, without a proof."""
    table, arrays = form.program.described()
    table |= {"kind": "conic program", "maximise": form.maximise}
    if form.constant:
        table["constant"] = str(Fraction(-form.constant if form.maximise else form.constant))
    names = ", ".join(variable.name() for variable in form.problem.variables())
    title = f"a problem of {names}".encode("ascii", "replace").decode("ascii")[:200]
    return without_proof(title, table), {name: plain(array) for name, array in arrays.items()}


def _stated(form: Canonical) -> kernel.ConicStatement:
    """The kernel's statement; its quadratic term is proven to be convex."""
    document, arrays = _document(form)
    stated = kernel.ConicStatement(document, kernel.Arrays(arrays))
    stated.program.convex()
    return stated


def _solved(program: Program, solver: str, options: dict[str, Any]) -> Answer:
    answer = program.solve(solver, **options)
    if answer.status in (cp.INFEASIBLE, cp.INFEASIBLE_INACCURATE):
        raise InfeasibleError(f"{solver} says that no point satisfies the constraints")
    if answer.status in (cp.UNBOUNDED, cp.UNBOUNDED_INACCURATE):
        raise UnboundedError(f"{solver} says that the objective has no bound on the constraints")
    if answer.x is None or not (np.isfinite(answer.x).all() and np.isfinite(answer.z).all()):
        raise SolverError(
            f"{solver} returned no point: {answer.status}; name another solver, or give it more iterations"
        )
    return answer


def _judged(form: Canonical, answer: Answer) -> Array | None:
    """The point whose problem variables have the values that they have now; None if not all have values."""
    places, program = form.places(), form.program
    if places is None or any(values is None for _, values in places.values()):
        return None
    full = form.spread(answer.x)
    for own, values in places.values():
        full[own] = values
    x: Array = np.zeros(len(program.q))
    np.add.at(x, form.groups[form.groups >= 0], full[form.groups >= 0])
    known = np.unique(form.groups[np.concatenate([own for own, _ in places.values()])])
    return completed(program, known, x, answer.z)


def completed(program: Program, known: Any, x: Array, z: Array) -> Array | None:
    """The point x with the entries besides the known ones such that its value is least; None if none is found.

    Constraints may be missed by a multiple of an inner point, at a price above the multipliers z.
    """
    rest = np.setdiff1d(np.arange(len(x)), known)
    if not len(rest):
        return x
    # Rows: the multiple is not negative, equations from both sides, and inequalities.
    zero, e = program.cones.zero, program.cones.inner()
    A, b, price = program.A, program.b - program.A[:, known] @ x[known], float(np.abs(z) @ np.maximum(e, 1.0))
    missed = np.concatenate([np.ones(2 * zero + 1), e[zero:]])[:, None]
    rows = sp.vstack([sp.csc_array((1, len(rest))), A[:zero, rest], -A[:zero, rest], A[zero:, rest]])
    stated = Program(
        sp.block_diag([program.P[rest][:, rest], sp.csc_array((1, 1))], format="csc"),
        np.append(program.q[rest] + program.P[rest][:, known] @ x[known], 1.0 + 10.0 * price),
        sp.csc_array(sp.hstack([rows, -missed])),
        np.concatenate([[0.0], b[:zero], -b[:zero], b[zero:]]),
        replace(program.cones, zero=0, nonnegative=program.cones.nonnegative + 2 * zero + 1),
    )
    found, made = stated.solve(), np.array(x)
    if found.x is None:
        return None
    made[rest] = found.x[:-1]
    return made


def inner(program: Program, dual: bool, but: Any = ()) -> tuple[Array, Array] | None:
    """A nearly optimal point and its slack, or dual point z and its h, inside the cones; None if none is found.

    It solves the program with the cones moved inward, which of dual points is a reward for slack. Cones of the rows
    ``but`` are not.
    """
    e = program.cones.inner(dual)
    asked: Any = np.setdiff1d(np.arange(program.cones.zero, len(e)), but)
    e[list(but)] = 0.0
    for share in MARGINS:
        if dual:
            margin = share * max(1.0, float(np.abs(program.q).max()))
            answer = replace(program, q=program.q + margin * (program.A.T @ e)).solve()
            found = None if answer.x is None else (answer.z + margin * e, answer.x)
        else:
            margin = share * max(1.0, float(np.abs(program.b).max(initial=0.0)))
            answer = replace(program, b=program.b - margin * e).solve()
            found = None if answer.x is None else (program.b - program.A @ answer.x, answer.x)
        if found and program.cones.margins(found[0], dual)[asked].min(initial=np.inf) > 0.5 * margin:
            return found
    return None


def point_arrays(program: Program, x: Array, fixed: int = 0) -> Arrays:
    """Arrays of a point near x that is inside its cones, all of it but the first entries.

    Raises
    ------
    NotProven
        If it is not inside.
    """
    zero = program.cones.zero

    def margins(v: Array) -> Array:
        return program.cones.margins(program.b - program.A @ np.append(x[:fixed], v))[zero:]

    if not zero:
        _require(margins(x[fixed:]))
        return {"x": x[fixed:]}
    E = program.A[:zero, fixed:].toarray()
    rows = np.flatnonzero(E.any(axis=1))
    # How far each entry may move alone.
    least = np.maximum(own := _require(margins(x[fixed:])), FLOOR * max(1.0, own.max(initial=0.0)))
    steep = np.sqrt((sp.csc_array(program.A[zero:, fixed:]) ** 2).T @ least**-2.0)
    widths = 1.0 / np.maximum(steep, 1.0 / max(1.0, np.abs(x).max()))
    target = program.b[rows] - program.A[rows, :fixed] @ x[:fixed]
    v, widths = _settled(E[rows].T, x[fixed:], widths, target)
    _require(margins(v))
    return {"x": v, "x_spreads": widths}


def dual_arrays(program: Program, z: Array, h: Array, fixed: int = 0) -> Arrays:
    """Arrays of a dual point near z and h that is inside its cones.

    Raises
    ------
    NotProven
        If it is not inside.
    """
    zero, m, quadratic = program.cones.zero, len(z), program.P.nnz > 0
    v, G = (np.append(z, h), sp.vstack([program.A, program.P])) if quadratic else (z, program.A)
    widths = np.full(len(v), max(1.0, float(np.abs(v).max())))
    widths[zero:m] = _require(program.cones.margins(z, True)[zero:])
    v, widths = _settled(G.toarray()[:, fixed:], v, widths, -program.q[fixed:])
    _require(program.cones.margins(v[:m], True)[zero:])
    found = {"z": v[:m], "z_spreads": widths[:m]}
    return found | ({"h": v[m:], "h_spreads": widths[m:]} if quadratic else {})


def _upper(
    form: Canonical, back: dict[str, Any], proven: kernel.ConicProgram, x: Array
) -> tuple[Fraction | None, Arrays, str]:
    """Upper bound on the minimum at a point near x, what proves it, or what is missing."""

    def proof(v: Array) -> tuple[Fraction, Arrays]:
        arrays = {name: own * back[name] for name, own in point_arrays(form.program, v).items()}
        return proven.value(kernel.Ball(np.zeros(0)), proven.point(kernel.Arrays(arrays))).upper(), arrays

    found, why = mixed(x, lambda: (inner(form.program, False) or (None, None))[1], proof)
    return (*found, "") if found else (None, {}, f"no bound by a point: {_no_point(form, why)}")


def _lower(
    form: Canonical, back: dict[str, Any], proven: kernel.ConicProgram, answer: Answer
) -> tuple[Fraction | None, Arrays, str]:
    """Lower bound on the minimum by a dual point near the answer's, what proves it, or what is missing."""
    program, m = form.program, len(form.program.b)

    def inside() -> Array | None:
        found = inner(program, True)
        return None if found is None else np.append(*found)

    def proof(v: Array) -> tuple[Fraction, Arrays]:
        arrays = {name: own * back[name] for name, own in dual_arrays(program, v[:m], v[m:]).items()}
        return proven.minorant(proven.dual_point(kernel.Arrays(arrays)))[1].lower(), arrays

    found, why = mixed(np.append(answer.z, answer.x), inside, proof)
    return (*found, "") if found else (None, {}, f"no bound by a dual point: {_no_dual_point(form, why)}")


def _settled(G: Array, v: Array, widths: Array, target: Array) -> tuple[Array, Array]:
    """The vector moved to where ``G^T v = target`` but for rounding, and widths that are not too different."""
    if not G.size:
        return v, np.maximum(widths, NEAR * widths.max(initial=0.0))
    for floor in (FLOOR, NEAR):
        widths = np.maximum(widths, floor * widths.max())
        Q, R = np.linalg.qr(G * widths[:, None])
        with suppress(np.linalg.LinAlgError):
            v = v + widths * (Q @ np.linalg.solve(R.T, target - G.T @ v))
    return v, widths


def _require(margins: Array) -> Array:
    """Margins of a point that is inside its cones; stop before the kernel is asked if it is not."""
    if not margins.min(initial=np.inf) > 0.0:
        raise kernel.NotProven("the point is not inside its cones")
    return margins


def mixed(
    base: Array, inner: Callable[[], Array | None], proof: Callable[[Array], tuple[Fraction, Arrays]]
) -> tuple[tuple[Fraction, Arrays] | None, str]:
    """Proof of a point with as little of an inner point mixed in as it takes, by bisection; else why there is none."""
    why = [""]

    def tried(v: Array) -> tuple[Fraction, Arrays] | None:
        try:
            with np.errstate(all="ignore"):
                return proof(v)
        except kernel.NotProven as error:
            why.append(str(error))
            return None

    found = tried(base)
    inside = inner() if found is None else None
    if inside is None:
        return found, why[-1]
    low, high = 0, len(SHARES)
    while low < high:
        middle = (low + high) // 2
        better = tried(base + SHARES[middle] * (inside - base))
        low, high = (middle + 1, high) if better is None else (low, middle)
        found = better or found
    return found, why[-1]


def _no_point(form: Canonical, why: str) -> str:
    """Say why no point is inside the constraints: equations depend on each other, or inequalities are always tight."""
    program, zero = form.program, form.program.cones.zero
    if zero:
        U, sizes, _ = np.linalg.svd(program.A[:zero].toarray(), full_matrices=True)
        if zero > len(sizes) or sizes[-1] <= ALIKE * sizes[0]:
            named = form.constraints(_all_rows(form, np.append(U[:, -1], np.zeros(len(program.b) - zero))))
            return f"its equations depend on each other: leave one out, or a row of it, of: {named}"
    # The largest t with slacks inside by t; its dual point has the rows that keep it from being positive.
    n, e = len(program.q), program.cones.inner()
    cones = replace(program.cones, nonnegative=program.cones.nonnegative + 1)
    A = sp.vstack([program.A[:zero], sp.csc_array((1, n)), program.A[zero:]])
    t = np.concatenate([np.zeros(zero), [1.0], e[zero:]])[:, None]
    b = np.insert(program.b, zero, 1.0)
    widest = Program(
        sp.csc_array((n + 1, n + 1)), np.append(np.zeros(n), -1.0), sp.csc_array(sp.hstack([A, t])), b, cones
    )
    answer = widest.solve()
    if answer.x is not None and answer.x[-1] < ALIKE * max(1.0, np.abs(program.b).max()):
        named = form.constraints(_all_rows(form, np.delete(answer.z, zero)))
        return f"no point satisfies all inequalities strictly: give room to, or state as equations: {named}"
    return f"{why}; scale the numbers of the problem to about 1"


def _all_rows(form: Canonical, z: Array) -> Array:
    """A dual point with zeros for equations that were left out."""
    made: Array = np.zeros(form.count)
    made[form.rows] = z
    return made


def _no_dual_point(form: Canonical, why: str) -> str:
    """Say why no dual point is inside its cones: a direction along which the problem is not bounded."""
    program = form.program
    G = np.concatenate([program.A.toarray(), program.P.toarray()])
    _, sizes, V = np.linalg.svd(G, full_matrices=True)
    d = V[-1] if len(sizes) < len(V) or sizes[-1] <= ALIKE * sizes[0] else None
    if d is None:
        # A direction in which the cones recede and the objective does not rise.
        used = program.P[program.P.indptr[1:] > program.P.indptr[:-1]]
        fixed = sp.csr_array((program.A.T @ program.cones.inner(True))[None])
        A = sp.csc_array(sp.vstack([used, fixed, program.A]))
        b = np.concatenate([np.zeros(used.shape[0]), [-1.0], np.zeros(len(program.b))])
        cones = replace(program.cones, zero=program.cones.zero + used.shape[0] + 1)
        answer = Program(sp.csc_array(program.P.shape), program.q, A, b, cones).solve()
        d = answer.x if answer.x is not None and answer.value <= ALIKE * max(1.0, np.abs(program.q).max()) else None
    if d is None:
        return f"{why}; scale the numbers of the problem to about 1"
    return (
        f"some of {form.named(d)} are not bounded where the objective is: add bounds that the optimum surely keeps, "
        "such as cp.abs(x) <= 1e4"
    )


def _certificate(
    form: Canonical, ends: list[Fraction | None], value: float, x: Array, proof: Arrays, missing: str
) -> ProgramCertificate:
    """Certificate of proven bounds, which are those of its file."""
    document, arrays = _document(form)
    if missing:
        warnings.warn(missing, GapWarning, stacklevel=3)
        lower, upper = ends if not form.maximise else [None if end is None else -end for end in reversed(ends)]
    else:
        arrays |= {name: plain(array) for name, array in proof.items()}
        found = checker.prove([(document, arrays)], math.inf)
        lower, upper = found.lower, found.upper
        document |= {"claimed": {"lower": str(lower), "upper": str(upper)}}
        document |= {"sha256": {name: kernel.digest(array) for name, array in arrays.items()}}
    low = -math.inf if lower is None else outward(lower, -1)
    high = math.inf if upper is None else outward(upper, 1)
    return ProgramCertificate(low, high, value, form.values(x), form.left_out, missing, document, arrays)


def outward(value: Fraction, away: int) -> float:
    """The float next to a rational that is not below it (``away = 1``), or not above it (-1)."""
    near = float(value)
    return near if (Fraction(near) - value) * away >= 0 else float(np.nextafter(near, away * np.inf))
