"""Conic programs that CVXPY makes of convex problems, in the kernel's form, and the way back to the problems.

A program is that of the numbers which CVXPY computes in floats. Nothing here is trusted: what is proven is proven of
these numbers, by the kernel.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from numpy.typing import NDArray

from convexmetric.errors import InputError
from convexmetric.programs.lazy import cvxpy as cp

Array = NDArray[np.float64]

#: What CLARABEL is asked for, and that it returns the point at which it gave up.
TIGHT = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11, "accept_unknown": True}
#: A rational exponent may differ from the one that was meant by so much.
SAME = 1e-12
#: Steps of scaling rows and columns.
SCALINGS = 20
#: Entries of a direction that are more than noise, relative to its largest; what counts as zero in general.
MOVES, ALIKE = 1e-5, 1e-9


# Cones ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cones:
    """Numbers and sizes of the cones of a program, in the kernel's order."""

    zero: int
    nonnegative: int
    second_order: tuple[int, ...]
    semidefinite: tuple[int, ...]
    exponential: int
    powers: tuple[float, ...]

    @property
    def slices(self) -> list[slice]:
        """Rows of every kind of cone."""
        triangles = sum(order * (order + 1) // 2 for order in self.semidefinite)
        rows = [self.zero, self.nonnegative, sum(self.second_order), triangles]
        rows += [3 * self.exponential, 3 * len(self.powers)]
        return [slice(start, end) for start, end in pairwise(np.cumsum([0, *rows]).tolist())]

    def blocks(self) -> Iterator[tuple[str, int, slice]]:
        """Second-order and semidefinite cones, each with its size and rows."""
        at = self.zero + self.nonnegative
        for kind, size in [("second order", n) for n in self.second_order] + [("matrix", n) for n in self.semidefinite]:
            length = size if kind == "second order" else size * (size + 1) // 2
            yield kind, size, slice(at, at + length)
            at += length

    def inner(self, dual: bool = False) -> Array:
        """A point inside the product of cones, or of the dual cones; zero where these are zero or everything."""
        _, line, _, _, exponential, power = self.slices
        e = np.zeros(power.stop)
        e[line] = 1.0
        for kind, size, rows in self.blocks():
            e[rows] = np.eye(size)[np.triu_indices(size)] if kind == "matrix" else np.arange(size) == 0
        e[exponential] = np.tile([-1.0, 0.0, 1.0] if dual else [0.0, 1.0, 2.0], self.exponential)
        e[power] = np.tile([1.0, 1.0, 0.0], len(self.powers))
        return e

    def margins(self, s: Array, dual: bool = False) -> Array:
        """By about how much every entry may change inside its cone; not positive if s is not inside."""
        found, (_, line, _, _, exponential, power) = np.full(len(s), np.inf), self.slices
        found[line] = s[line]
        for kind, size, rows in self.blocks():
            if kind == "matrix":
                found[rows] = np.linalg.eigvalsh(matrix_of(s[rows], size, 0.5 if dual else 1.0))[0]
            else:
                found[rows] = s[rows][0] - np.linalg.norm(s[rows][1:])
        x, y, z = s[exponential].reshape(-1, 3).T
        x, y = (x - y, -x) if dual else (x, y)
        inside = (y > 0.0) & (z > 0.0)
        ratio = np.log(np.divide(z, y, where=inside, out=np.ones_like(z)))
        found[exponential] = np.repeat(np.minimum(np.minimum(y, z), np.where(inside, y * ratio - x, -1.0)), 3)
        x, y, z = s[power].reshape(-1, 3).T
        alpha = np.asarray(self.powers)
        x, y = (x / alpha, y / (1.0 - alpha)) if dual else (x, y)
        mean = np.maximum(x, 0.0) ** alpha * np.maximum(y, 0.0) ** (1.0 - alpha)
        found[power] = np.repeat(np.minimum(np.minimum(x, y), mean - np.abs(z)), 3)
        return found

    def described(self) -> tuple[dict[str, int], dict[str, Any]]:
        """Table and arrays of a file."""
        arrays = {"second_order_sizes": self.second_order, "semidefinite_sizes": self.semidefinite}
        found = {name: np.array(sizes, dtype=np.int64) for name, sizes in arrays.items() if sizes}
        found |= {"power_exponents": np.array(self.powers)} if self.powers else {}
        table = {"zero": self.zero, "nonnegative": self.nonnegative, "exponential": self.exponential}
        table |= {"second_order": len(self.second_order), "semidefinite": len(self.semidefinite)}
        return table | {"power": len(self.powers)}, found


def matrix_of(triangle: Array, order: int, off: float = 1.0) -> Array:
    """The symmetric matrix of a triangle, with the entries off its diagonal times ``off``."""
    i, j = np.triu_indices(order)
    made = np.zeros((order, order))
    made[i, j] = made[j, i] = triangle * np.where(i == j, 1.0, off)
    return made


# Programs -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Program:
    """Minimise ``x'Px/2 + q'x`` such that ``b - A x`` is in a product of cones."""

    P: Any
    q: Array
    A: Any
    b: Array
    cones: Cones

    def value(self, x: Array) -> float:
        """The objective."""
        return float(self.q @ x + 0.5 * (x @ (self.P @ x)))

    def described(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Table and arrays of a file."""
        cones, arrays = self.cones.described()
        table = {"variables": len(self.q), "cones": cones, "quadratic": bool(self.P.nnz)}
        arrays |= {"q": self.q, "b": self.b} | _entries("a", self.A)
        return table, arrays | (_entries("p", sp.triu(self.P)) if self.P.nnz else {})

    def scaled(self) -> tuple[Program, dict[str, Any]]:
        """A program with rows, columns and costs of about one, and factors that take its points back to this one.

        Factors are powers of two, the same for all rows of a cone, so that nothing is rounded.
        """
        A, P, m = abs(sp.csr_array(self.A)), abs(sp.csr_array(self.P)), len(self.b)
        heads, triples = np.arange(m), self.cones.slices[4:]
        for rows in [own for *_, own in self.cones.blocks()]:
            heads[rows] = rows.start
        for rows in triples:
            heads[rows] -= (heads[rows] - rows.start) % 3
        # Bounds of one variable have no say in its scale.
        several = (np.diff(A.indptr) > 1) | (np.arange(m) >= self.cones.slices[1].stop)
        R, C = np.ones(m), np.ones(len(self.q))
        for _ in range(SCALINGS):
            tall = np.zeros(m)
            np.maximum.at(tall, heads, _largest(sp.diags_array(R) @ A @ sp.diags_array(C), 1))
            wide = _largest(sp.diags_array(R * several) @ A @ sp.diags_array(C), 0)
            wide = np.maximum(wide, _largest(sp.diags_array(C) @ P @ sp.diags_array(C), 0))
            R, C = R / np.sqrt(_nonzero(tall))[heads], C / np.sqrt(_nonzero(wide))
        R, C = _power(R), _power(C)
        most = max(np.abs(C * self.q).max(), _largest(sp.diags_array(C) @ P @ sp.diags_array(C), 0).max())
        cost = float(_power(1.0 / _nonzero(most)))
        made = Program(
            sp.csc_array(cost * (sp.diags_array(C) @ self.P @ sp.diags_array(C))), cost * C * self.q,
            sp.csc_array(sp.diags_array(R) @ self.A @ sp.diags_array(C)), R * self.b, self.cones,
        )  # fmt: skip
        back = {"x": C, "x_spreads": C, "z": R / cost, "z_spreads": R, "h": C, "h_spreads": C * cost, "cost": cost}
        return made, back

    def solve(self, solver: str = "CLARABEL", **options: Any) -> Answer:
        """Solve by a solver of CVXPY, which is not trusted."""
        x, (zero, line, round_, _, exponential, power) = cp.Variable(len(self.q)), self.cones.slices
        s: Any = cp.Constant(self.b) - cp.Constant(self.A) @ x if len(self.b) else None
        # Constraints, what becomes of their multipliers, and where that stands in z.
        stated: list[tuple[Any, Callable[[Any], Array], Any]] = []
        if self.cones.zero:
            stated.append((s[zero] == 0, np.negative, zero))
        if self.cones.nonnegative:
            stated.append((s[line] >= 0, np.asarray, line))
        sizes = np.array(self.cones.second_order, dtype=int)
        starts = round_.start + np.cumsum([0, *sizes])[:-1]
        for size in np.unique(sizes):
            each = starts[sizes == size][:, None] + np.arange(size)
            if size == 1:
                stated.append((s[each[:, 0]] >= 0, np.asarray, each[:, 0]))
            else:
                rest = cp.reshape(s[each[:, 1:].ravel()], (size - 1, len(each)), order="F")
                stated.append((cp.SOC(s[each[:, 0]], rest), _of_second_order, each))
        for kind, order, own in self.cones.blocks():
            if kind == "matrix":
                entries = np.arange(own.stop - own.start)
                full = sp.csr_array(sp.eye_array(len(entries)))[matrix_of(entries, order).astype(np.intp).ravel()]
                stated.append((cp.reshape(full @ s[own], (order, order), order="F") >> 0, _triangle, own))
        powers = (np.array(self.cones.powers),)
        for cone, own, more in ((cp.ExpCone, exponential, ()), (cp.PowCone3D, power, powers)):
            if own.stop > own.start:
                each = np.arange(own.start, own.stop).reshape(-1, 3)
                stated.append((cone(*(s[column] for column in each.T), *more), _columns, each))
        quadratic = 0.5 * cp.quad_form(x, cp.psd_wrap(self.P)) if self.P.nnz else 0.0
        problem = cp.Problem(cp.Minimize(self.q @ x + quadratic), [constraint for constraint, _, _ in stated])
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                problem.solve(solver=solver, **((TIGHT if solver == "CLARABEL" else {}) | options))
        except BaseException as error:
            # A panic of a solver in Rust is no Exception, and its class cannot be imported.
            if not isinstance(error, cp.SolverError) and type(error).__name__ != "PanicException":
                raise
            return Answer(f"{solver} failed: {error}")
        if x.value is None or any(constraint.dual_value is None for constraint, _, _ in stated):
            return Answer(str(problem.status))
        z = np.zeros(len(self.b))
        for constraint, back, own in stated:
            z[own] = np.reshape(back(constraint.dual_value), np.shape(z[own]))
        return Answer(str(problem.status), np.asarray(x.value), z, float(problem.value))


@dataclass(frozen=True)
class Answer:
    """What a solver says."""

    status: str
    x: Any = None
    z: Any = None
    value: float = np.nan


def _largest(S: Any, axis: int) -> Any:
    """Largest entries of the rows or columns of a matrix that is not negative."""
    return sp.csr_array(S).max(axis=axis).toarray().ravel() if S.shape[axis] else np.zeros(S.shape[1 - axis])


def _nonzero(sizes: Any) -> Any:
    """Sizes with ones for zeros."""
    return np.where(np.asarray(sizes) > 0.0, sizes, 1.0)


def _power(sizes: Any) -> Any:
    """The nearest powers of two."""
    return np.ldexp(1.0, np.clip(np.round(np.log2(sizes)), -60, 60).astype(np.int64))


def _entries(name: str, M: Any) -> dict[str, Any]:
    """Entries of a matrix and their places, column by column."""
    stored = sp.csc_array(M)
    stored.sort_indices()
    columns = np.repeat(np.arange(stored.shape[1]), np.diff(stored.indptr))
    return {f"{name}_values": stored.data, f"{name}_rows": stored.indices, f"{name}_columns": columns}


def _of_second_order(z: Any) -> Array:
    return np.column_stack([np.ravel(z[0]), np.reshape(z[1], (-1, len(np.ravel(z[0]))), order="F").T])


def _triangle(Z: Any) -> Array:
    i, j = np.triu_indices(len(Z))
    return (0.5 * (Z + Z.T))[i, j] * np.where(i == j, 1.0, 2.0)


def _columns(z: Any) -> Array:
    return np.column_stack([np.ravel(part) for part in z])


# What CVXPY makes of a problem ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Canonical:
    """A problem's program with the constant ``c0`` of its minimum, and the way back to the problem's variables.

    Variables of CVXPY whose columns are the same matter by their sum, which is one variable of the program; ``groups``
    has its number for each, -1 of one that is left out: it costs nothing, and the larger it is (or the smaller) the
    more room do its inequalities have, which are left out with it, as is ``0 <= 0``. So are equations
    that follow from others but for rounding: without them the minimum is no larger, so that its lower bounds are lower
    bounds of the problem's. ``rows`` has the rows that stay, of ``count``, and ``equations`` is the number of equations
    there were.
    """

    problem: Any
    program: Program
    constant: float
    maximise: bool
    chain: Any
    inverse: Any
    columns: dict[int, int]
    groups: Any
    rows: Any
    count: int
    equations: int

    def values(self, x: Array) -> dict[str, Array]:
        """Values of the problem's variables by their names, with CVXPY's numbers where names are the same."""
        answer = (self.program.value(x), self.spread(x), np.zeros(self.count))
        found = self.chain.invert(answer, self.inverse).primal_vars
        names = Counter(variable.name() for variable in self.problem.variables())
        return {
            variable.name() + f" ({variable.id})" * (names[variable.name()] > 1): np.asarray(found[variable.id])
            for variable in self.problem.variables()
        }

    def spread(self, x: Array) -> Array:
        """Entries of CVXPY's variables, equal within a group, and zero of those that are left out."""
        counts = np.bincount(self.groups + 1, minlength=len(x) + 1)[1:]
        return np.append(x / counts, 0.0)[self.groups]

    def places(self) -> dict[Any, tuple[Any, Array | None]] | None:
        """Entries of CVXPY's variables that are the problem's, and their values; None if CVXPY changed them."""
        from cvxpy.reductions.cvx_attr2constr import lower_value

        changed = _changed(self.chain, self.inverse)
        found: dict[Any, tuple[Any, Array | None]] = {}
        for variable in self.problem.variables():
            column = self.columns.get(changed.get(variable.id, variable.id))
            if column is None or variable.is_complex():
                return None
            given = np.zeros(variable.shape) if variable.value is None else np.asarray(variable.value)
            lowered = np.ravel(lower_value(variable, given), order="F")
            own = np.arange(column, column + lowered.size)
            found[variable] = (own, None if variable.value is None else lowered)
        return found

    def named(self, d: Array) -> str:
        """Variables that change along a direction."""
        places, d = self.places() or {}, self.spread(d)
        size = np.abs(d).max()
        names = [of.name() for of, (own, _) in places.items() if np.abs(d[own]).max(initial=0.0) > MOVES * size]
        return ", ".join(names) or "variables that CVXPY added"

    @property
    def left_out(self) -> str:
        """Constraints of which equations were left out."""
        missing = np.where(np.isin(np.arange(self.count), self.rows), 0.0, 1.0)
        missing[self.equations :] = 0.0
        return self.constraints(missing) if missing.any() else ""

    def constraints(self, z: Array) -> str:
        """Constraints that have entries in a dual point."""
        found = self.chain.invert((0.0, np.zeros(len(self.groups)), z), self.inverse).dual_vars
        size = np.abs(z).max()
        named = []
        for constraint in self.problem.constraints:
            own = found.get(constraint.id)
            parts = [np.ravel(part) for part in (own if isinstance(own, list) else [own]) if part is not None]
            if max((np.abs(part).max(initial=0.0) for part in parts), default=0.0) > MOVES * size:
                named.append(str(constraint)[:80])
        return "; ".join(named) or "bounds of a variable, or rows that CVXPY added"


@cache
def _interface() -> Any:
    """The class by which CVXPY writes a program in the kernel's form."""
    from cvxpy.constraints import SOC, ExpCone, PowCone3D, SvecPSD
    from cvxpy.reductions.solution import Solution
    from cvxpy.reductions.solvers import utilities
    from cvxpy.reductions.solvers.conic_solvers.conic_solver import ConicSolver
    from cvxpy.utilities.psd_utils import TriangleKind

    class Kernel(ConicSolver):
        """The form of the kernel: plain entries of lower triangles."""

        SUPPORTED_CONSTRAINTS = [*ConicSolver.SUPPORTED_CONSTRAINTS, SOC, ExpCone, PowCone3D, SvecPSD]  # noqa: RUF012
        PSD_TRIANGLE_KIND, PSD_SQRT2_SCALING = TriangleKind.LOWER, False
        EXP_CONE_ORDER = (0, 1, 2)

        def __init__(self, quadratic: bool) -> None:
            super().__init__()
            self.quadratic = quadratic

        def name(self) -> str:
            return "CONVEXMETRIC"

        def import_solver(self) -> None:
            """Nothing to import."""

        def supports_quad_obj(self) -> bool:
            return self.quadratic

        def solve_via_data(self, *given: Any, **options: Any) -> Any:
            raise NotImplementedError

        def cite(self, data: Any) -> str:
            raise NotImplementedError

        def invert(self, solution: Any, inverse_data: Any) -> Any:
            """Take value, x and z back to the problem before."""
            value, x, z = solution
            zero, duals = inverse_data[self.DIMS].zero, dict[Any, Any]()
            for rows, kind in ((z[:zero], self.EQ_CONSTR), (z[zero:], self.NEQ_CONSTR)):
                duals |= utilities.get_dual_values(rows, utilities.extract_dual_value, inverse_data[kind])
            return Solution(cp.OPTIMAL, value, {inverse_data[self.VAR_ID]: x}, duals, {})

    return Kernel


def canonical(problem: cp.Problem, quadratic: bool = True, first: cp.Variable | None = None) -> Canonical:
    """The program that CVXPY makes of a problem, with or without a quadratic term.

    The entries of the variable ``first``, if there is one, are the first of the program: of a symmetric matrix those of
    its lower triangle, column by column.

    Raises
    ------
    InputError
        If the problem is no :class:`cvxpy.Problem`, not convex by CVXPY's rules, has no variables, integers or
        parameters without values, or atoms that CVXPY approximates.
    """
    if not isinstance(problem, cp.Problem):
        raise InputError(f"problem must be a cvxpy.Problem, got {type(problem).__name__}")
    if problem.is_mixed_integer():
        raise InputError("problem has integer variables: only convex problems are certified; relax or fix them")
    if not problem.is_dcp():
        raise InputError("problem is not convex by CVXPY's rules (problem.is_dcp()); state it so that it is")
    if not problem.variables():
        raise InputError("problem has no variables")
    missing = [parameter.name() for parameter in problem.parameters() if parameter.value is None]
    if missing:
        raise InputError(f"problem has parameters without values: {', '.join(missing)}; set their .value")
    atoms = [of for of in _atoms(problem) if getattr(of, "approx_error", 0.0) > SAME or getattr(of, "quad_approx", ())]
    if atoms:
        names = ", ".join(sorted({type(of).__name__ for of in atoms}))
        raise InputError(
            f"CVXPY approximates {names}: pass approx=False to powers, means and norms; others have no form"
        )
    # A copy, so that what CVXPY keeps for the problem's own solver stays.
    own = cp.Problem(problem.objective, problem.constraints)
    options = {"use_quad_obj": quadratic}
    try:
        data, chain, inverse = own.get_problem_data(_interface()(quadratic), ignore_dpp=True, solver_opts=options)
    except cp.SolverError as error:
        raise InputError(f"problem has no form as a conic program of the kernel: {error}") from error
    dims, n = data["dims"], len(data["c"])
    powers = tuple(float(alpha) for alpha in dims.p3d)
    cones = Cones(int(dims.zero), int(dims.nonneg), tuple(dims.soc), tuple(dims.psd), int(dims.exp), powers)
    P = data["P"] if "P" in data else sp.csc_array((n, n))
    A = sp.csc_array(data["A"])
    A.eliminate_zeros()
    A.sum_duplicates()
    P = sp.csc_array(sp.triu(P) + sp.triu(P, 1).T)
    P.eliminate_zeros()
    q, b = np.asarray(data["c"], dtype=np.float64), np.asarray(data["b"], dtype=np.float64)
    if not all(np.isfinite(array).all() for array in (P.data, q, A.data, b)):
        raise InputError("problem has numbers that are NaN or infinite; leave out bounds that do not bind")
    columns = data["param_prob"].var_id_to_col
    start = 0 if first is None else columns[first.id]
    apart = range(start, start if first is None else start + _length(first))
    changed = _changed(chain, inverse)
    known = {changed.get(variable.id, variable.id) for variable in problem.variables()}
    starts = sorted(columns, key=columns.__getitem__)
    added = np.repeat([of not in known for of in starts], np.diff([*(columns[of] for of in starts), n]))
    idle, loose = _idle(P, q, A, b, cones, added & (not any(variable.is_complex() for variable in problem.variables())))
    kept, groups = _same_columns(P, q, A, apart, idle)
    rows = np.append(_independent(A[: cones.zero].toarray(), b[: cones.zero]), np.arange(cones.zero, len(b)))
    rows, equations = rows[~loose[rows]], cones.zero
    nonnegative = cones.nonnegative - int(loose.sum())
    cones = replace(cones, zero=int((rows < equations).sum()), nonnegative=nonnegative)
    program = Program(P[kept][:, kept], q[kept], A[rows][:, kept], b[rows], cones)
    maximise = isinstance(problem.objective, cp.Maximize)
    constant = float(inverse[-1]["offset"])
    return Canonical(problem, program, constant, maximise, chain, inverse, columns, groups, rows, len(b), equations)


def _independent(E: Array, b: Array) -> Any:
    """Equations without those that follow from the others; all if they contradict each other."""
    if not len(b):
        return np.arange(0)
    _, R, order = la.qr(E.T, mode="economic", pivoting=True)
    sizes = np.abs(R.diagonal())
    kept = np.sort(order[: int((sizes > ALIKE * sizes[0]).sum())])
    x = la.lstsq(E[kept], b[kept])[0]
    return kept if np.abs(E @ x - b).max() <= ALIKE * max(1.0, np.abs(b).max()) else np.arange(len(b))


def _length(variable: cp.Variable) -> int:
    """Number of the entries that a variable has in a program."""
    d = variable.shape[0]
    return d * (d + 1) // 2 if variable.attributes["symmetric"] else int(variable.size)


def _changed(chain: Any, inverse: Any) -> dict[int, int]:
    """The variables that CVXPY put in the place of others, by their numbers."""
    from cvxpy.reductions.cvx_attr2constr import CvxAttr2Constr

    steps = zip(chain.reductions, inverse, strict=True)
    found = [data[0] for reduction, data in steps if isinstance(reduction, CvxAttr2Constr) and data]
    return {old: new.id for own in found for old, new in own.items()}


def _idle(P: Any, q: Array, A: Any, b: Array, cones: Cones, added: Any) -> tuple[Any, Any]:
    """Variables of CVXPY that cost nothing and give room in one direction, and inequalities that say nothing then."""
    line, of_row = cones.slices[1], np.arange(A.shape[0])
    inside = (of_row >= line.start) & (of_row < line.stop)
    signs = [abs(sp.csc_array(A > 0.0)).sum(axis=0), abs(sp.csc_array(A < 0.0)).sum(axis=0)]
    beyond = sp.csc_array(A[~inside] != 0.0).sum(axis=0)
    idle = added & (q == 0.0) & (np.diff(P.indptr) == 0) & (beyond == 0) & ((signs[0] == 0) | (signs[1] == 0))
    loose = (sp.csr_array(A[:, idle] != 0.0).sum(axis=1) > 0) if idle.any() else np.zeros(A.shape[0], dtype=bool)
    return idle, loose | (inside & (b >= 0.0) & (np.diff(sp.csr_array(A).indptr) == 0))


def _same_columns(P: Any, q: Array, A: Any, apart: range, idle: Any) -> tuple[Any, Any]:
    """The first of all columns that are the same, and the group of every column; those ``apart`` stand first."""
    seen: dict[Any, int] = {}
    used, kept, groups = np.diff(P.indptr) > 0, list[int](), np.full(len(q), -1)
    for j in [*apart, *(j for j in range(len(q)) if j not in apart and not idle[j])]:
        own, alone = slice(A.indptr[j], A.indptr[j + 1]), used[j] or j in apart
        groups[j] = seen.setdefault(j if alone else (A.indices[own].tobytes(), A.data[own].tobytes(), q[j]), len(seen))
        kept += [j] if groups[j] == len(kept) else []
    return np.array(kept), groups


def _atoms(problem: cp.Problem) -> Iterator[Any]:
    """All expressions of a problem."""
    left = [problem.objective, *problem.constraints]
    while left:
        one = left.pop()
        yield one
        left.extend(one.args)
