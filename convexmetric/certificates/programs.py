r"""Certificates of convex programs in CVXPY, from any solver: proven bounds on their optimal values.

CVXPY reduces a problem to :math:`\min x^\top P x / 2 + q^\top x + c_0` with :math:`b - A x \in K`, K a product of
cones. All of these numbers are stated. The proof is a point and a dual point, which the kernel moves until all
equations hold exactly; simplifications made for a solver are steps that the kernel checks. The proof does not cover how
CVXPY got the numbers: at sample points they are compared with values of the problem itself.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cache, partial
from operator import itemgetter
from typing import Any

import numpy as np
import scipy.sparse as sp

from convexmetric.arrays import Array
from convexmetric.certificates import checker, kernel
from convexmetric.certificates.certificate import Bounds
from convexmetric.certificates.near import Scaled, completed, inner_dual_point, inner_point, mixed
from convexmetric.certificates.statement import Arrays, Table, plain, without_proof
from convexmetric.errors import GapWarning, InfeasibleError, InputError, SolverError, UnboundedError
from convexmetric.programs import witness
from convexmetric.programs.canonical import (
    MOVES,
    Answer,
    Canonical,
    Program,
    canonical,
    dense,
    guarded,
    matrix_of,
    with_values,
)
from convexmetric.programs.forms import Factored
from convexmetric.programs.lazy import cvxpy as cp
from convexmetric.programs.reduction import ALIKE, Contradiction, Reduction, charged, opposite, reduced

#: Radii of rows that are to have no effect.
UNBOUNDED = 1e300
#: How often charges are raised, and constraints without slack are held as equations.
TRIES = 4
#: Singular values relative to the largest, below which equations are nearly dependent.
NEARLY = 1e-6
#: Largest number of entries of a matrix whose singular values are computed.
DENSE = 4_000_000


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
        Values of the problem's variables by name at the judged point: ``upper_bound`` (for a maximum, ``lower_bound``)
        is the objective there, after the move that exact feasibility requires.
    steps : tuple of str
        Steps that make the points of the file exact for the whole program, each checked by the kernel.
    compared : str
        The comparisons that were made between the program and the problem itself.
    missing : str
        Why a bound was not proven, and what to do; empty if both are proven.
    document, arrays : dict
        The statement and the proof, as in a file.
    """

    lower_bound: float
    upper_bound: float
    value: float
    values: dict[str, Array] = field(repr=False)
    steps: tuple[str, ...]
    compared: str
    missing: str
    document: Table = field(repr=False)
    arrays: Arrays = field(repr=False)

    def __str__(self) -> str:
        bounds = (
            f"{self.lower_bound:.12g} <= optimum <= {self.upper_bound:.12g}   (proven, relative gap {self.gap:.1e})"
        )
        lines = [bounds, f"the solver's value: {self.value:.12g}", checker.in_words(self.document["problem"])]
        return "\n".join(filter(None, [*lines, *self.steps, self.compared, self.missing]))

    @property
    def gap(self) -> float:
        """Gap over the size of the bounds, or over 1 if that is larger."""
        size = max(1.0, abs(self.lower_bound), abs(self.upper_bound))
        return (self.upper_bound - self.lower_bound) / size if math.isfinite(size) else math.inf

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
    r"""Prove bounds on the optimal value of a convex CVXPY problem, from the point of any solver.

    .. math:: \text{lower bound} \le \min_x \{ \tfrac12 x^\top P x + q^\top x + c_0 : b - A x \in K \} \le \text{upper
       bound}

    Both are proven by the kernel in interval arithmetic, for all numbers P, q, A, b to which CVXPY reduces the problem.
    These are compared with the problem at some points. No status or tolerance of a solver is trusted, and no box is
    assumed. If the problem's variables have values, by ``problem.solve()`` or set by hand, and no solver is named, they
    are the point that is judged.

    Parameters
    ----------
    problem : cvxpy.Problem
        Convex by CVXPY's rules, with values for all parameters.
    solver : str, optional
        Name of a CVXPY solver that solves the problem anew. Default: CLARABEL, for whatever the variables' values leave
        open.
    **options : Any
        Options of that solver.

    Returns
    -------
    ProgramCertificate
        :func:`convexmetric.write_certificate` writes it to a file, which ``convexmetric verify`` proves.

    Warns
    -----
    GapWarning
        If a bound is not proven; ``missing`` says why. A lower bound (for a maximum, an upper one) needs bounded level
        sets; the other bound needs a point that strictly satisfies all inequalities that cannot be held as equations.

    Raises
    ------
    InputError
        If the problem is not convex by CVXPY's rules, has integers, or lacks values of parameters; if CVXPY's program
        does not agree with the problem.
    InfeasibleError
        If equations or bounds contradict each other exactly, or the solver reports infeasibility.
    UnboundedError, SolverError
        If the solver reports that the problem is unbounded, or fails.

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
    form = priced(form)
    try:
        tight = opposite(form.program)
        stated = _stated(form)
        charges = charges_of(form.program, stated.program)
        left = reduced(charged(form.program, charges), cones=True)
        held = reduced(form.program, tight)
    except Contradiction as error:
        z = np.zeros(len(form.program.b))
        z[list(error.weights)] = 1.0
        raise InfeasibleError(f"no point satisfies these constraints, exactly: {form.constraints(z)}") from error
    answer = _solved(left, solver, options)
    convex = held if left.whole is form.program else reduced(left.whole, tight)
    points, value = _candidates(form, left, convex, answer, solver, options)
    compared = witness.compare(form, points[0])
    upper, x, point, no_upper = _upper(form, stated.program, held, points)
    lower, dual_point, no_lower = _lower(form, stated.program, left, charges, answer)
    ends = [None if end is None else end + Fraction(form.constant) for end in (lower, upper)]
    missing = "; ".join(filter(None, (no_lower, no_upper)))
    return _certificate(form, ends, value, x, {**point, **dual_point}, missing, compared)


def _document(form: Canonical) -> tuple[Table, Arrays]:
    """Document and arrays of the statement, without a proof."""
    table, arrays = form.program.described()
    table |= {"kind": "conic program", "maximise": form.maximise, "columns": form.columns}
    if form.constant:
        table["constant"] = str(Fraction(-form.constant if form.maximise else form.constant))
    names = ", ".join(variable.name() for variable in form.problem.variables())
    title = f"a problem of {names}".encode("ascii", "replace").decode("ascii")[:200]
    return without_proof(title, table), {name: plain(array) for name, array in arrays.items()}


def _stated(form: Canonical) -> kernel.ConicStatement:
    """The kernel's statement."""
    document, arrays = _document(form)
    return kernel.ConicStatement(document, kernel.Arrays(arrays))


def priced(form: Canonical) -> Canonical:
    r"""Return the program with radii on the rows of inexact factored forms, which cover those of exact factors.

    With :math:`S - F^\top F = K` and :math:`\vert y_j \vert \le \beta_j` the error is at most
    :math:`\beta^\top \vert K \vert \beta`; or, if K and :math:`\eta F^\top F - K` are positive semidefinite, between
    zero and :math:`\eta u` (theorem 19). The bounds of y and u come from rows other than those of the form.

    Raises
    ------
    InputError
        If there are no such numbers; it names the form.
    """
    forms = [own for own in form.forms if not own.exact]
    if not forms:
        return form
    radii: Array = np.zeros(len(form.program.b))
    errors, shares = zip(*map(off_by, forms), strict=True)
    # For a semidefinite form the row ``u >= 0`` is exact.
    rows = [form.rows_of(own, share == np.inf) for own, share in zip(forms, shares, strict=True)]
    radii[np.concatenate(rows)] = UNBOUNDED
    reach = _stated(replace(form, program=replace(form.program, radii=radii))).program.reach()
    for own, error, share, places in zip(forms, errors, shares, rows, strict=True):
        y, u = reach[form.columns_of(own.y)], float(reach[form.columns_of(own.u)][0])
        with np.errstate(all="ignore"):
            prices = np.where(error > 0.0, error * np.outer(y, y), 0.0).sum(), share * u
        price = min((of for of in prices if of < UNBOUNDED**0.5), default=np.inf)
        if price == np.inf:
            raise InputError(
                f"the matrix of quad_form({witness.short(own.form.args[0])}, P) is not that of a factor, and what it "
                "is off by has no price as its argument has no proven bounds: add some, such as cp.abs(x) <= 1e4, or "
                "state cp.sum_squares(F @ x)"
            )
        # More than the rounding of this sum.
        radii[places] = price * (1.0 + ALIKE)
    return replace(form, program=replace(form.program, radii=radii))


@np.errstate(all="ignore")
def off_by(own: Factored) -> tuple[Array, float]:
    """Upper bounds on the sizes of entries of the K of :func:`priced`, and its eta; infinite if there is none."""
    P, F = kernel.Ball(own.P), kernel.Ball(own.F)
    product = F.T @ F
    K = (P + P.T) * 0.5 - product
    error: Array = np.maximum(K.above(), (-K).above())
    try:
        share = 2.0 * float(np.linalg.norm(error)) / max(float(np.linalg.eigvalsh(product.mid)[0]), 1e-300)
        for M in (K, product * share - K):
            kernel.semidefinite(M, "what a factor is off by")
    except (kernel.NotProven, np.linalg.LinAlgError):
        return error, np.inf
    return error, share


def charges_of(whole: Program, stated: kernel.ConicProgram) -> Array:
    """Charges on the diagonal of a quadratic term with which the kernel proves it positive semidefinite, perhaps zeros.

    A negative diagonal entry is raised to zero, and a matrix until its eigenvalues are nonnegative after rows and
    columns are scaled to about one.
    """
    made = np.zeros(len(whole.q))
    if stated.S is None or _convex(stated, made):
        return made
    S = whole.S
    coupled = np.unique(sp.coo_array(sp.triu(S, 1)).coords)
    alone = np.setdiff1d(np.arange(len(made)), coupled)
    made[alone] = np.maximum(0.0, -S.diagonal()[alone]) * (1.0 + 2.0**-40)
    if len(coupled):
        own = S[coupled][:, coupled].toarray()
        sizes = np.ldexp(1.0, np.frexp(np.sqrt(np.abs(own).max(axis=1)))[1])
        own /= np.outer(sizes, sizes)
        share = 4.0 * (len(own) + 8.0) * float(np.finfo(float).eps * np.linalg.norm(own))
        share += max(0.0, -float(np.linalg.eigvalsh(own)[0]))
        for _ in range(TRIES):
            made[coupled] = share * sizes**2
            if _convex(stated, made):
                break
            share *= 4.0
    return made


def _convex(stated: kernel.ConicProgram, charges: Array) -> bool:
    assert stated.S is not None
    try:
        stated.convex(stated.charged(stated.S, charges))
    except kernel.NotProven:
        return False
    return True


def _solved(left: Reduction, solver: str | None, options: dict[str, Any]) -> Answer:
    """Point and dual point of a reduced program, in its units."""
    program, back = left.program.scaled
    answer = left.program.solve(solver, **options) if solver else program.solve()
    if solver and answer.x is not None and np.isfinite(answer.x).all() and np.isfinite(answer.z).all():
        return answer
    # CLARABEL has a dual point where the solver has none.
    answer, name = program.solve() if solver else answer, "CLARABEL"
    _require_solvable(answer.status, name)
    if answer.x is None or not (np.isfinite(answer.x).all() and np.isfinite(answer.z).all()):
        raise SolverError(f"{name} returned no point: {answer.status}; name another solver, or give it more iterations")
    return Answer(answer.status, answer.x * back["x"], answer.z * back["z"], answer.value / back["cost"])


def _require_solvable(status: str, solver: str) -> None:
    """Raise if a solver reports that there is no optimum."""
    if status in (cp.INFEASIBLE, cp.INFEASIBLE_INACCURATE):
        raise InfeasibleError(f"{solver} says that no point satisfies the constraints")
    if status in (cp.UNBOUNDED, cp.UNBOUNDED_INACCURATE):
        raise UnboundedError(f"{solver} says that the objective has no bound on the constraints")


def _candidates(
    form: Canonical, left: Reduction, held: Reduction, answer: Answer, solver: str | None, options: dict[str, Any]
) -> tuple[list[Array], float]:
    """Return points of the program, the best of which is judged, and the value that the solver claims.

    If a solver was named, its point is the only one; else the point at the values that a solve gave the problem's
    variables. Values from elsewhere are used in addition to the point of CLARABEL.
    """
    problem, z = form.problem, left.dual(answer.z, answer.x)[0]
    value = (-1.0 if form.maximise else 1.0) * (answer.value + form.constant)
    # If other rows are held or left out, the points differ.
    alike = np.array_equal(held.rows, left.rows) and np.array_equal(held.groups, left.groups)
    own = held.point(answer.x if alike else _solved(held, None, {}).x)
    if solver:
        claimed = _claimed(form, solver, options)
        given = form.given(claimed)
        with with_values(problem, claimed):
            value = float(np.squeeze(problem.objective.value))
    else:
        given = form.given({variable.id: variable.value for variable in problem.variables()})
        value = value if problem.value is None else float(problem.value)
    if given is None or (found := completed(form.program, *given, z)) is None:
        return [own], value
    solved = {} if problem.status is None else problem.solution.primal_vars
    stale = not solver and any(
        variable.id not in solved or not np.array_equal(dense(solved[variable.id]), dense(variable.value))
        for variable in problem.variables()
    )
    return [found, own] if stale else [found], value


def _claimed(form: Canonical, solver: str, options: dict[str, Any]) -> dict[int, Any]:
    """Return values of the problem's variables found by a CVXPY solver; their current values stay as they are."""
    own = cp.Problem(form.problem.objective, form.problem.constraints)
    try:
        with guarded():
            data, chain, inverse = own.get_problem_data(solver, ignore_dpp=True, solver_opts=options)
            raw = chain.solve_via_data(own, data, warm_start=False, verbose=False, solver_opts=options)
            found = chain.invert(raw, inverse)
    except (cp.SolverError, ValueError) as error:
        raise SolverError(f"{solver} failed: {error}") from error
    _require_solvable(found.status, solver)
    if not found.primal_vars:
        raise SolverError(f"{solver} returned no point: {found.status}; give it more iterations")
    return dict(found.primal_vars)


def _upper(
    form: Canonical, proven: kernel.ConicProgram, left: Reduction, points: list[Array]
) -> tuple[Fraction | None, Array, Arrays, str]:
    """Upper bound on the minimum by the best of some points, that point and its proof, or what is missing.

    If no point is inside the constraints, those without slack are held as equations.
    """
    for _ in range(TRIES):
        scaled = Scaled.of(left)

        def proof(v: Array, scaled: Scaled = scaled) -> tuple[Fraction, Arrays]:
            arrays = scaled.point(v)
            return proven.value(kernel.Ball(np.zeros(0)), proven.point(kernel.Arrays(arrays))).upper(), arrays

        inside = cache(partial(inner_point, left))
        tried = [mixed(left.with_room(x), inside, proof) for x in points]
        if any(found for found, _ in tried):
            end, arrays = min((found for found, _ in tried if found), key=itemgetter(0))
            return end, np.asarray(arrays["x"]), arrays, ""
        tight, named = _without_room(form, left)
        before = left.equations[form.program.cones.zero :]
        tight = np.union1d(tight, before)
        if len(tight) == len(before):
            break
        try:
            left = reduced(form.program, tight)
        except Contradiction:
            break
        program, back = left.program.scaled
        answer = program.solve()
        points = [*points, *([] if answer.x is None else [left.point(answer.x * back["x"])])]
    why = f"{tried[-1][1]}; scale the numbers of the problem to about 1"
    if named:
        why = f"no point satisfies all inequalities strictly: give room to, or state as equations: {named}"
    elif nearly := _nearly_dependent(form, left):
        why = f"its equations are too near to depending on each other: leave one out, or a row of it, of: {nearly}"
    return None, points[-1], {}, f"no bound by a point: {why}"


def _nearly_dependent(form: Canonical, left: Reduction) -> str:
    """Names of constraints that have a nearly zero combination; empty if there is none."""
    program = left.program.scaled[0]
    zero, n = program.cones.zero, len(program.q)
    if not zero or zero * n > DENSE:
        return ""
    U, sizes, _ = np.linalg.svd(program.A[:zero].toarray(), full_matrices=True)
    if zero <= len(sizes) and sizes[-1] > NEARLY * sizes[0]:
        return ""
    full: Array = np.zeros(len(form.program.b))
    full[left.rows[:zero]] = U[:, -1]
    return form.constraints(full)


def _without_room(form: Canonical, left: Reduction) -> tuple[Any, str]:
    """Rows in which all points have zero slack, up to rounding, and the names of constraints without slack."""
    program = left.program.scaled[0]
    zero, n, e = program.cones.zero, len(program.q), program.cones.inner()
    # The largest t with slacks inside by t; its dual point shows the rows that keep t from being positive.
    cones = replace(program.cones, nonnegative=program.cones.nonnegative + 1)
    A = sp.vstack([program.A[:zero], sp.csc_array((1, n)), program.A[zero:]])
    t = np.concatenate([np.zeros(zero), [1.0], e[zero:]])[:, None]
    b = np.insert(program.b, zero, 1.0)
    widest = Program(
        sp.csc_array((n + 1, n + 1)), np.append(np.zeros(n), -1.0), sp.csc_array(sp.hstack([A, t])), b, cones
    )
    answer = widest.solve()
    if answer.x is None or answer.x[-1] >= ALIKE * max(1.0, np.abs(program.b).max()):
        return np.zeros(0, dtype=np.int64), ""
    z = np.delete(answer.z, zero)
    full: Array = np.zeros(len(form.program.b))
    full[left.rows] = z
    used = z > MOVES * np.abs(z).max()
    rows = [np.flatnonzero(used[: program.cones.slices[1].stop])]
    rows[0] = rows[0][rows[0] >= zero]
    for kind, size, own in program.cones.blocks():
        if kind == "matrix":
            i, j = np.triu_indices(size)
            ends = np.flatnonzero(np.diag(matrix_of(used[own].astype(float), size)))
            rows.append(np.arange(own.start, own.stop)[np.isin(i, ends) | np.isin(j, ends)])
        elif z[own.start] > (1.0 + MOVES) * np.linalg.norm(z[own][1:]) and used[own.start]:
            rows.append(np.arange(own.start, own.stop))
    return left.rows[np.concatenate(rows)], form.constraints(full)


def _lower(
    form: Canonical, proven: kernel.ConicProgram, left: Reduction, charges: Array, answer: Answer
) -> tuple[Fraction | None, Arrays, str]:
    """Lower bound on the minimum by a dual point near the answer's, its proof, or what is missing."""
    m, scaled = len(form.program.b), Scaled.of(left)
    more = {"charges": charges} if charges.any() else {}

    def proof(v: Array) -> tuple[Fraction, Arrays]:
        arrays = scaled.dual_point(v[:m], v[m:]) | more
        return proven.minorant(proven.dual_point(kernel.Arrays(arrays)))[1].lower(), arrays

    found, why = mixed(np.concatenate(left.dual(answer.z, answer.x)), partial(inner_dual_point, left), proof)
    return (
        (*found, "")
        if found
        else (None, {}, f"no bound by a dual point: {_no_dual_point(form, proven, left, charges, why)}")
    )


def _no_dual_point(form: Canonical, proven: kernel.ConicProgram, left: Reduction, charges: Array, why: str) -> str:
    """Explain why no dual point is inside its cones: a direction along which the problem is not bounded."""
    advice = "add bounds that the optimum surely keeps, such as cp.abs(x) <= 1e4"
    if charges.any() and not np.isfinite(proven.reach()[charges > 0.0]).all():
        return (
            f"the quadratic term of {form.problem.objective.expr} is not proven to be positive semidefinite, and what "
            f"it lacks has no price as some of {form.named(charges)} have no proven bounds: {advice}, or state it by "
            "cp.sum_squares"
        )
    program, back = left.program.scaled
    G = sp.vstack([program.A, program.S])
    d = None
    if G.shape[0] * G.shape[1] <= DENSE:
        _, sizes, V = np.linalg.svd(G.toarray(), full_matrices=True)
        d = V[-1] if len(sizes) < len(V) or sizes[-1] <= ALIKE * sizes[0] else None
    if d is None:
        # A direction in which the cones recede and the objective does not rise.
        S = sp.csr_array(program.S)
        used = S[np.diff(S.indptr) > 0]
        fixed = sp.csr_array((program.A.T @ program.cones.inner(True))[None])
        A = sp.csc_array(sp.vstack([used, fixed, program.A]))
        b = np.concatenate([np.zeros(used.shape[0]), [-1.0], np.zeros(len(program.b))])
        cones = replace(program.cones, zero=program.cones.zero + used.shape[0] + 1)
        answer = Program(sp.csc_array(program.P.shape), program.q, A, b, cones).solve()
        d = answer.x if answer.x is not None and answer.value <= ALIKE * max(1.0, np.abs(program.q).max()) else None
    if d is None:
        return f"{why}; scale the numbers of the problem to about 1"
    return f"some of {form.named(left.spread(d * back['x']))} are not bounded where the objective is: {advice}"


def _certificate(
    form: Canonical, ends: list[Fraction | None], value: float, x: Array, proof: Arrays, missing: str, compared: str
) -> ProgramCertificate:
    """Make the certificate of proven bounds, which are those of its file."""
    document, arrays = _document(form)
    steps = checker.steps({**arrays, **proof})
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
    return ProgramCertificate(low, high, value, form.values(x), steps, compared, missing, document, arrays)


def outward(value: Fraction, away: int) -> float:
    """Round a rational to the nearest float that is not below it (``away = 1``), or not above it (-1)."""
    near = float(value)
    return near if (Fraction(near) - value) * away >= 0 else float(np.nextafter(near, away * np.inf))
