"""Conic programs to which CVXPY reduces convex problems, in the kernel's form, and the way back to the problems.

A program has exactly the numbers that CVXPY computes in floats: nothing is dropped, merged or averaged here. The kernel
proves statements about these numbers; :mod:`convexmetric.programs.witness` compares them with the problem.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from operator import itemgetter
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from convexmetric.errors import InputError, SolverNotInstalledError
from convexmetric.programs.forms import Factored, without_forms
from convexmetric.programs.lazy import cvxpy as cp

Array = NDArray[np.float64]

#: CLARABEL's tolerances, and that it also returns the point at which it gave up.
TIGHT = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11, "accept_unknown": True}
INTEGERS = "problem has integer variables: only convex problems are certified; relax or fix them"
IMAGINARY = "imaginary part of "
#: Largest difference between an exponent and its rational approximation.
SAME = 1e-12
#: Steps of scaling rows and columns.
SCALINGS = 20
#: Multipliers in a program without variables; costs up to this fraction of the largest do not count.
NOTHING = 1e-14
#: Entries of a direction above this fraction of its largest are more than noise.
MOVES = 1e-5
#: Right-hand sides between the inverse of this and this are not scaled.
USUAL = 1e4
#: Most characters of a name, and most named variables, in a file.
NAME, NAMES = 60, 4096


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
        """A point inside the product of cones, or of the dual cones; zero for cones that are {0} or the whole line."""
        _, line, _, _, exponential, power = self.slices
        e = np.zeros(power.stop)
        e[line] = 1.0
        for kind, size, rows in self.blocks():
            e[rows] = np.eye(size)[np.triu_indices(size)] if kind == "matrix" else np.arange(size) == 0
        e[exponential] = np.tile([-1.0, 0.0, 1.0] if dual else [0.0, 1.0, 2.0], self.exponential)
        e[power] = np.tile([1.0, 1.0, 0.0], len(self.powers))
        return e

    def margins(self, s: Array, dual: bool = False) -> Array:
        """Approximate distance of every entry from the border of its cone; not positive if s is not inside."""
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
        """Return the table and the arrays of the cones for a file."""
        arrays = {"second_order_sizes": self.second_order, "semidefinite_sizes": self.semidefinite}
        found = {name: np.array(sizes, dtype=np.int64) for name, sizes in arrays.items() if sizes}
        found |= {"power_exponents": np.array(self.powers)} if self.powers else {}
        table = {"zero": self.zero, "nonnegative": self.nonnegative, "exponential": self.exponential}
        table |= {"second_order": len(self.second_order), "semidefinite": len(self.semidefinite)}
        return table | {"power": len(self.powers)}, found


def matrix_of(triangle: Array, order: int, off: float = 1.0) -> Array:
    """Return the symmetric matrix of a triangle, with its off-diagonal entries multiplied by ``off``."""
    i, j = np.triu_indices(order)
    made = np.zeros((order, order))
    made[i, j] = made[j, i] = triangle * np.where(i == j, 1.0, off)
    return made


# Programs -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Program:
    """Minimise ``x'Px/2 + q'x`` such that ``b - A x`` is in a product of cones; P need not be symmetric."""

    P: Any
    q: Array
    A: Any
    b: Array
    cones: Cones
    #: Amounts by which right-hand sides may differ from b; None for exact ones.
    radii: Any = None

    def value(self, x: Array) -> float:
        """The objective."""
        return float(self.q @ x + 0.5 * (x @ (self.P @ x)))

    def described(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the table and the arrays of the program for a file."""
        cones, arrays = self.cones.described()
        table = {"variables": len(self.q), "cones": cones, "quadratic": bool(self.P.nnz)}
        arrays |= {"q": self.q, "b": self.b} | _entries("a", self.A)
        arrays |= {} if self.radii is None else {"b_radii": self.radii}
        return table, arrays | (_entries("p", self.P) if self.P.nnz else {})

    @cached_property
    def S(self) -> Any:
        """The symmetric matrix of the quadratic term, up to rounding."""
        return sp.csc_array(0.5 * (self.P + self.P.T))

    @cached_property
    def scaled(self) -> tuple[Program, dict[str, Any]]:
        """An equivalent program with rows, columns and costs of about one, and factors that map its points back.

        Factors are powers of two, the same for all rows of a cone, so that nothing is rounded.
        """
        A, P, m = abs(sp.csr_array(self.A)), abs(sp.csr_array(self.P)), len(self.b)
        heads, triples = np.arange(m), self.cones.slices[4:]
        for rows in [own for *_, own in self.cones.blocks()]:
            heads[rows] = rows.start
        for rows in triples:
            heads[rows] -= (heads[rows] - rows.start) % 3
        # Bounds of a single variable do not affect its scale.
        several = (np.diff(A.indptr) > 1) | (np.arange(m) >= self.cones.slices[1].stop)
        C, tall = np.ones(len(self.q)), np.zeros(m)
        # Rows are first scaled to one, so that multiplying a row does not affect the scale of variables.
        np.maximum.at(tall, heads, _largest(A, 1))
        R = 1.0 / _nonzero(tall)[heads]
        for _ in range(SCALINGS):
            tall[:] = 0.0
            np.maximum.at(tall, heads, _largest(sp.diags_array(R) @ A @ sp.diags_array(C), 1))
            wide = _largest(sp.diags_array(R * several) @ A @ sp.diags_array(C), 0)
            wide = np.maximum(wide, _largest(sp.diags_array(C) @ P @ sp.diags_array(C), 0))
            # A cost that is far above the others makes its variable smaller.
            costs = np.abs(self.q) * C
            some = np.sort(costs[costs > NOTHING * costs.max(initial=0.0)])
            share = costs / (USUAL * some[(len(some) - 1) // 2]) if some.size else costs
            wide = np.maximum(wide, np.where(share > 1.0, share, 0.0))
            R, C = R / np.sqrt(_nonzero(tall))[heads], C / np.sqrt(_nonzero(wide))
        R, C = _power(R), _power(C)
        # The unit of variables, by which right-hand sides are divided.
        size = np.abs(R * self.b).max(initial=0.0)
        unit = 1.0 if size == 0.0 or 1.0 / USUAL <= size <= USUAL else float(_power(size))
        most = unit * _largest(sp.diags_array(C) @ P @ sp.diags_array(C), 0).max(initial=0.0)
        most = max(np.abs(C * self.q).max(initial=0.0), most)
        cost = float(_power(1.0 / _nonzero(most)))
        made = Program(
            sp.csc_array(unit * cost * (sp.diags_array(C) @ self.P @ sp.diags_array(C))), cost * C * self.q,
            sp.csc_array(sp.diags_array(R) @ self.A @ sp.diags_array(C)), R * self.b / unit, self.cones,
        )  # fmt: skip
        back = {"x": unit * C, "x_spreads": C, "z": R / cost, "z_spreads": R, "h": unit * C}
        back |= {"h_spreads": unit * cost * C, "cost": cost / unit}
        return made, back

    def solve(self, solver: str | None = None, **options: Any) -> Answer:
        """Solve by a solver of CVXPY, which is not trusted; by default by CLARABEL with tolerances ``TIGHT``."""
        if solver is None:
            solver, options = "CLARABEL", TIGHT
        if not len(self.q):
            return Answer(cp.OPTIMAL, np.zeros(0), NOTHING * self.cones.inner(True), 0.0)
        x, (zero, line, round_, _, exponential, power) = cp.Variable(len(self.q)), self.cones.slices
        s: Any = cp.Constant(self.b) - cp.Constant(self.A) @ x if len(self.b) else None
        # Constraints, the map from their multipliers to entries of z, and the places of these entries.
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
        quadratic = 0.5 * cp.quad_form(x, cp.psd_wrap(self.S)) if self.P.nnz else 0.0
        problem = cp.Problem(cp.Minimize(self.q @ x + quadratic), [constraint for constraint, _, _ in stated])
        try:
            with guarded():
                problem.solve(solver=solver, **options)
        except (cp.SolverError, ValueError) as error:
            return Answer(f"{solver} failed: {error}")
        if x.value is None or any(constraint.dual_value is None for constraint, _, _ in stated):
            return Answer(str(problem.status))
        z = np.zeros(len(self.b))
        for constraint, back, own in stated:
            z[own] = np.reshape(back(constraint.dual_value), np.shape(z[own]))
        return Answer(str(problem.status), np.asarray(x.value), z, float(problem.value))


@contextmanager
def guarded() -> Iterator[None]:
    """Turn a panic or an error of MOSEK's own into a ``cvxpy.SolverError``; silence warnings: inaccuracy is in the gap.

    Raises
    ------
    SolverNotInstalledError
        If MOSEK has no licence.
    """
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    except BaseException as error:
        # The class of panics cannot be imported, nor MOSEK's everywhere, so they are known by their names.
        kind = type(error)
        if kind.__name__ == "PanicException":
            raise cp.SolverError(f"it panicked: {error}") from error
        if kind.__module__.partition(".")[0] != "mosek":
            raise
        said = " ".join(str(error).split())
        if "licen" not in said.lower():
            raise cp.SolverError(said) from error
        raise SolverNotInstalledError(
            f"MOSEK has no licence here ({said}); put its file mosek.lic there, name it in MOSEKLM_LICENSE_FILE, or "
            "take another solver, such as clarabel"
        ) from error


@dataclass(frozen=True)
class Answer:
    """Status, primal-dual point and value reported by a solver."""

    status: str
    x: Any = None
    z: Any = None
    value: float = np.nan


def _largest(S: Any, axis: int) -> Any:
    """Largest entries of the rows or columns of a nonnegative matrix."""
    return sp.csr_array(S).max(axis=axis).toarray().ravel() if S.shape[axis] else np.zeros(S.shape[1 - axis])


def _nonzero(sizes: Any) -> Any:
    """Sizes, with zeros replaced by ones."""
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


# CVXPY's program of a problem -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Canonical:
    """The program of a problem, its constant ``c0``, and the way back to the problem's variables.

    Attributes
    ----------
    problem : cvxpy.Problem
    program : Program
        The program as CVXPY made it, with its columns reordered: ``order`` has CVXPY's number of each.
    constant : float
    maximise : bool
    chain, inverse
        CVXPY's reductions, and the data by which they are inverted.
    starts : dict
        First column of each of CVXPY's variables.
    stated, forms
        The problem as passed to CVXPY, and the quadratic forms that it states by factors.
    """

    problem: Any
    program: Program
    constant: float
    maximise: bool
    chain: Any
    inverse: Any
    starts: dict[int, int]
    order: Any
    stated: Any
    forms: list[Factored]

    def values(self, x: Array) -> dict[str, Array]:
        """Return the values of the problem's variables by name, with CVXPY's numbers added to names that coincide."""
        own: Array = np.zeros(len(x))
        own[self.order] = x
        answer = (self.program.value(x), own, np.zeros(len(self.program.b)))
        found = self.chain.invert(answer, self.inverse).primal_vars
        return {name: dense(found[variable.id]) for name, variable in self.variables.items()}

    @cached_property
    def variables(self) -> dict[str, Any]:
        """The problem's variables by unique names."""
        variables = self.problem.variables()
        counts = Counter(variable.name() for variable in variables)
        return {one.name() + f" ({one.id})" * (counts[one.name()] > 1): one for one in variables}

    @cached_property
    def places(self) -> dict[str, tuple[Any, Any]]:
        """Columns of the problem's variables, and the variables, by name; two parts for complex ones."""
        changed, found = self.chain.compose_var_id_map(), dict[str, tuple[Any, Any]]()
        for name, variable in self.variables.items():
            parts = [own for own in changed.get(variable.id, [variable.id]) if own in self.starts]
            for part, own in enumerate(parts):
                imaginary = variable.is_imag() or part > 0
                key = f"{IMAGINARY * imaginary}{name}" if variable.is_complex() else name
                found[key] = (self._columns[own], variable)
        return found

    def given(self, values: dict[int, Any]) -> tuple[Any, Array] | None:
        """Columns of the problem's variables, and a point with their values there; None if one has no value."""
        x: Array = np.zeros(len(self.order))
        for name, (own, variable) in self.places.items():
            value = values.get(variable.id)
            lowered = None if value is None else _lowered(variable, value, name.startswith(IMAGINARY))
            if lowered is None or len(lowered) != len(own):
                return None
            x[own] = lowered
        known = [own for own, _ in self.places.values()]
        return np.unique(np.concatenate(known)), x

    @property
    def columns(self) -> list[list[Any]]:
        """The map from variables to columns, for files."""
        names = sorted((int(own[0]), len(own), name) for name, (own, _) in self.places.items() if len(own))
        printed = [[_printable(name), first, count] for first, count, name in names]
        return printed if len(printed) <= NAMES else []

    def named(self, d: Array) -> str:
        """Return the names of the variables that change along a direction."""
        moves = np.abs(d) > MOVES * np.abs(d).max()
        names = [name for name, (own, _) in self.places.items() if moves[own].any()]
        if not names:
            # Only variables that CVXPY added change: those of the problem in the same rows are named.
            rows = np.unique(sp.csc_array(self.program.A)[:, np.flatnonzero(moves)].indices)
            beside = np.unique(sp.csr_array(self.program.A)[rows].indices)
            names = [f"expressions of {name}" for name, (own, _) in self.places.items() if np.isin(own, beside).any()]
        return ", ".join(names) or "variables that CVXPY added"

    @cached_property
    def owners(self) -> list[tuple[Any, Any]]:
        """The problem's constraints with their rows, in the order of the rows; None for those that CVXPY added."""
        finals = self.chain.compose_constr_id_map()
        # Constraints of the problem come first among those that were stated.
        pairs = zip(self.stated.constraints, self.problem.constraints, strict=False)
        own = {finals.get(stated.id, stated.id): constraint for stated, constraint in pairs}
        return [(own.get(number), rows) for number, rows in self._rows.items()]

    @cached_property
    def _rows(self) -> dict[int, Any]:
        """Rows of CVXPY's constraints by their numbers."""
        data, solver, at, found = self.inverse[-1], self.chain.reductions[-1], 0, dict[int, Any]()
        for constraint in [*data[solver.EQ_CONSTR], *data[solver.NEQ_CONSTR]]:
            end = at + sum(int(arg.size) for arg in constraint.args)
            found[constraint.id] = np.arange(at, end)
            at = end
        return found

    def columns_of(self, variable: Any) -> Any:
        """Columns of a variable of ``stated`` that has no attribute by which CVXPY reduces its entries."""
        return self._columns[self.chain.compose_var_id_map().get(variable.id, [variable.id])[0]]

    @cached_property
    def _columns(self) -> dict[int, Any]:
        """Columns of CVXPY's variables by their numbers."""
        numbers, starts = zip(*sorted(self.starts.items(), key=itemgetter(1)), strict=True)
        back = np.empty(len(self.order), dtype=np.int64)
        back[self.order] = np.arange(len(self.order))
        return {own: np.sort(columns) for own, columns in zip(numbers, np.split(back, starts[1:]), strict=True)}

    def rows_of(self, form: Factored, all_of: bool) -> Any:
        """Rows of a factored form: those of its limit and, with ``all_of``, of ``u >= 0``."""
        limit = self._rows[self.chain.compose_constr_id_map().get(form.limit.id, form.limit.id)]
        if not all_of:
            return limit
        A, column = sp.csr_array(self.program.A), self.columns_of(form.u)
        line = self.program.cones.slices[1]
        alone = line.start + np.flatnonzero(np.diff(A.indptr)[line] == 1)
        return np.union1d(limit, alone[np.isin(A.indices[A.indptr[alone]], column)])

    def constraints(self, z: Array) -> str:
        """Return the text of the constraints with nonzero multipliers in a dual point."""
        size = np.abs(z).max()
        named, rows = list[str](), sp.csr_array(self.program.A)
        for constraint, own in self.owners:
            used = own[np.abs(z[own]) > MOVES * size]
            if not used.size:
                continue
            columns = np.unique(np.concatenate([rows.indices[rows.indptr[i] : rows.indptr[i + 1]] for i in used]))
            bounded = [name for name, (places, _) in self.places.items() if np.isin(columns, places).any()]
            added = f"bounds of {', '.join(bounded)}" if bounded else "rows that CVXPY added"
            named.append(str(constraint)[:80] if constraint is not None else added)
        return "; ".join(dict.fromkeys(named)) or "rows that CVXPY added"


def dense(value: Any) -> Array:
    """Return a value of CVXPY as a dense array."""
    return value.toarray() if sp.issparse(value) else np.asarray(value)


def _printable(name: str) -> str:
    """Return a name in the form that files have: ASCII, of at most ``NAME`` characters."""
    return ascii(name)[1:-1][:NAME] or "variable"


def _lowered(variable: Any, value: Any, imaginary: bool) -> Array:
    """Return those entries of a variable's value that are variables of CVXPY's program."""
    from cvxpy.reductions.cvx_attr2constr import lower_value

    value = dense(value)
    if not variable.is_complex():
        return np.ravel(lower_value(variable, value), order="F")
    value = value.imag if imaginary else value.real
    if variable.attributes["hermitian"]:
        return value[np.triu_indices(len(value), k=int(imaginary))]
    return np.ravel(value, order="F")


@cache
def _interface() -> Any:
    """Return the solver class with which CVXPY states a program in the kernel's form."""
    from cvxpy.constraints import SOC, ExpCone, PowCone3D, SvecPSD
    from cvxpy.reductions.solution import Solution
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

        def name(self) -> Any:
            # Perspectives pass the name on to CVXPY, which does not know ours but also accepts a solver instance.
            return self

        def __str__(self) -> str:
            return "convexmetric"

        def import_solver(self) -> None:
            """Nothing to import."""

        def supports_quad_obj(self) -> bool:
            return self.quadratic

        def solve_via_data(self, *given: Any, **options: Any) -> Any:
            raise NotImplementedError

        def cite(self, data: Any) -> str:
            raise NotImplementedError

        def invert(self, solution: Any, inverse_data: Any) -> Any:
            """Map value and x back to the problem before this reduction."""
            value, x, _ = solution
            return Solution(cp.OPTIMAL, value, {inverse_data[self.VAR_ID]: x}, {}, {})

    return Kernel


def canonical(problem: cp.Problem, quadratic: bool = True, first: cp.Variable | None = None) -> Canonical:
    """Reduce a problem by CVXPY to a conic program, with or without a quadratic term.

    The entries of the variable ``first``, if given, are the first of the program: for a symmetric matrix those of its
    lower triangle, column by column.

    Raises
    ------
    InputError
        If the problem is not a :class:`cvxpy.Problem`, is not convex by CVXPY's rules, has no variables, has integer
        variables, parameters without values, atoms that CVXPY approximates or numbers that are NaN or infinite, or has
        no conic form in the kernel's cones.
    """
    if not isinstance(problem, cp.Problem):
        raise InputError(f"problem must be a cvxpy.Problem, got {type(problem).__name__}")
    parts = list(parts_of(problem))
    if problem.is_mixed_integer() or any(type(of).__name__ == "FiniteSet" or of_integers(of) for of in parts):
        raise InputError(INTEGERS)
    try:
        convex = problem.is_dcp()
    except ValueError as error:
        raise InputError(f"CVXPY cannot tell whether problem is convex: {error}") from error
    if not convex:
        raise InputError("problem is not convex by CVXPY's rules (problem.is_dcp()); state it so that it is")
    if not problem.variables():
        raise InputError("problem has no variables")
    missing = [parameter.name() for parameter in problem.parameters() if parameter.value is None]
    if missing:
        raise InputError(f"problem has parameters without values: {', '.join(missing)}; set their .value")
    atoms = [of for of in parts if getattr(of, "approx_error", 0.0) > SAME or getattr(of, "quad_approx", ())]
    if atoms:
        names = ", ".join(sorted({type(of).__name__ for of in atoms}))
        raise InputError(
            f"CVXPY approximates {names}: pass approx=False to powers, means and norms; others have no form"
        )
    # A copy, so that what CVXPY has cached for the problem's own solver stays.
    own, forms = without_forms(problem)
    options = {"use_quad_obj": quadratic}
    try:
        # Values of variables do not matter here, and may not have the shape that some reductions expect; warnings are
        # about functions that CVXPY's own reductions use.
        with warnings.catch_warnings(action="ignore", category=FutureWarning), with_values(own, {}):
            data, chain, inverse = own.get_problem_data(_interface()(quadratic), ignore_dpp=True, solver_opts=options)
    except cp.SolverError as error:
        raise InputError(f"problem has no form as a conic program of the kernel: {error}") from error
    except (AttributeError, NotImplementedError, TypeError, ValueError) as error:
        raise InputError(f"CVXPY cannot state the problem as a conic program: {error}") from error
    stated = data["param_prob"]
    if any(stated.x.attributes[kind] for kind in ("boolean", "integer")):
        # Finite sets, and whatever else CVXPY states by integers that it adds.
        raise InputError(INTEGERS)
    dims, n = data["dims"], len(data["c"])
    powers = tuple(float(alpha) for alpha in dims.p3d)
    cones = Cones(int(dims.zero), int(dims.nonneg), tuple(dims.soc), tuple(dims.psd), int(dims.exp), powers)
    starts = stated.var_id_to_col
    start = 0 if first is None else starts[first.id]
    chosen = np.arange(start, start if first is None else start + _length(first))
    order = np.append(chosen, np.setdiff1d(np.arange(n), chosen))
    P, A = (_plain(data[name] if name in data else sp.csc_array((n, n))) for name in ("P", "A"))
    q, b = (np.asarray(data[name], dtype=np.float64) for name in ("c", "b"))
    if not all(np.isfinite(array).all() for array in (P.data, q, A.data, b)):
        raise InputError("problem has numbers that are NaN or infinite; leave out bounds that do not bind")
    program = Program(P[order][:, order], q[order], A[:, order], b, cones)
    maximise, constant = isinstance(problem.objective, cp.Maximize), float(inverse[-1]["offset"])
    return Canonical(problem, program, constant, maximise, chain, inverse, starts, order, own, forms)


def _plain(M: Any) -> Any:
    """Return a sparse matrix without duplicate entries and stored zeros."""
    made = sp.csc_array(M)
    made.sum_duplicates()
    made.eliminate_zeros()
    return made


def _length(variable: cp.Variable) -> int:
    """Number of entries of a variable in a program."""
    d = variable.shape[0]
    return d * (d + 1) // 2 if variable.attributes["symmetric"] else int(variable.size)


def parts_of(problem: cp.Problem) -> Iterator[Any]:
    """Yield all expressions and constraints of a problem, and of the problems within it."""
    left: list[Any] = [problem]
    while left:
        one = left.pop()
        if isinstance(one, (list, tuple)):
            left.extend(one)
            continue
        yield one
        left.extend([one.objective, one.constraints] if isinstance(one, cp.Problem) else getattr(one, "args", ()))


def of_integers(of: Any) -> bool:
    """Whether a part of a problem is a boolean or integer variable."""
    return any(getattr(of, "attributes", {}).get(kind) for kind in ("boolean", "integer"))


@contextmanager
def with_values(problem: cp.Problem, values: dict[int, Any]) -> Iterator[None]:
    """Give a problem's variables other values for a while; variables that are not in ``values`` have none."""
    variables = problem.variables()
    before = [variable._value for variable in variables]
    try:
        for variable in variables:
            variable._value = None
            if variable.id in values:
                variable.save_value(values[variable.id])
        yield
    finally:
        for variable, value in zip(variables, before, strict=True):
            variable._value = value
