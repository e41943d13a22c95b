"""Check of CVXPY's translation: at sample points, the program must agree with the problem itself.

No proof covers CVXPY's translation of a problem. So the problem's objective and constraints are evaluated at the judged
point and at random points, and compared with those of the program: in fractions if they are affine or quadratic, else
up to rounding, or up to the accuracy of a solver if they depend on variables that CVXPY added. If an expression differs
by more, an error names it and nothing is proven.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from convexmetric.errors import InputError
from convexmetric.programs.canonical import Canonical, Program, dense, with_values
from convexmetric.programs.lazy import cvxpy as cp
from convexmetric.programs.reduction import definitions, without

Array = NDArray[np.float64]

#: Relative distances of random points from the judged one, and the number of sparse points.
SPREADS, SPARSE = (0.3, 0.01), 2
#: Differences explained by rounding of coefficients, of values in floats, and by a solver, relative to terms' sizes.
EXACT, ROUNDED, SOLVED = 1e-12, 1e-9, 1e-6
#: Most numbers in a problem that is evaluated in fractions and for which a solver is run at the judged point and all
#: points near it; number of points at which it is run otherwise.
SMALL, ASKED = 5_000, 2
#: Size of values that violate what variables were declared with, relative to the largest right-hand side.
FAR = 1e3


def compare(form: Canonical, x: Array) -> str:
    """Compare a program with its problem at x and at random points; return what was compared as text.

    Raises
    ------
    InputError
        If they differ by more than rounding explains, or the program ignores an attribute of a variable; it names the
        expression or the variable.
    """
    check_attributes(form)
    said = list[tuple[int, int]]()
    for number, point in enumerate(points(form, x)):
        values = form.values(point)
        own = {variable.id: values[name] for name, variable in form.variables.items()}
        with np.errstate(all="ignore"), with_values(form.problem, own):
            made = Witness.at(form, own)
            if made is not None:
                said.append(made.check(asked=number <= len(SPREADS) if made.size <= SMALL else number < ASKED))
    count, exact = sum(total for total, _ in said), sum(exact for _, exact in said)
    if not count:
        return "not compared with the problem's own values"
    return f"compared at {len(said)} points with the problem's own values: {count} agree, {exact} of them in fractions"


def points(form: Canonical, x: Array) -> Iterator[Array]:
    """Yield the judged point, random points near it, and sparse ones."""
    known, rng = np.unique(np.concatenate([own for own, _ in form.places.values()])), np.random.default_rng(0)
    yield x
    for spread in SPREADS:
        made, own = np.array(x), np.abs(x[known])
        made[known] += spread * np.maximum(own, 0.1 * max(1e-3, own.max(initial=0.0))) * rng.standard_normal(len(known))
        yield made
    for _ in range(SPARSE):
        made, some = np.zeros(len(x)), rng.choice(known, max(1, len(known) // 3), replace=False)
        made[some] = rng.choice([-1.0, 1.0], len(some)) * 2.0 ** rng.integers(-6, 7, len(some))
        yield made


@dataclass(frozen=True)
class Witness:
    """A problem and its program at one point, given by the values of the problem's variables.

    ``known`` are the columns of these variables, ``found`` those that equations define by them, and ``open`` the rest;
    x has the values of ``known`` and ``found``.
    """

    form: Canonical
    known: Any
    found: Any
    open: Any
    x: Any
    size: int

    @classmethod
    def at(cls, form: Canonical, values: dict[int, Any]) -> Witness | None:
        """Return the witness at the current values of the problem's variables; None if the objective has no value."""
        program, given = form.program, form.given(values)
        if given is None or value_of(form.problem.objective.expr) is None:
            return None
        known, x = given
        size = program.A.nnz + program.P.nnz + sum(constant.size for constant in form.problem.constants())
        rest = np.setdiff1d(np.arange(len(x)), known)
        E = sp.csr_array(sp.csr_array(program.A)[: program.cones.zero])
        equations, found = definitions(E, rest)
        exact = fractions(x) if size <= SMALL else x
        aim = fractions(program.b[equations]) if size <= SMALL else program.b[equations]
        exact[found] = (aim - product(E[equations], exact)) / np.ravel(E[equations, found])
        return cls(form, known, found, np.setdiff1d(rest, found), exact, size)

    def check(self, asked: bool) -> tuple[int, int]:
        """Compare objective and constraints; return how many values agree, and how many of them in fractions."""
        form, A = self.form, sp.csr_array(self.form.program.A)
        is_open = np.zeros(len(self.x), dtype=bool)
        is_open[self.open] = True
        rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
        closed = np.bincount(rows, weights=is_open[A.indices], minlength=A.shape[0]) == 0
        objective, sign = form.problem.objective.expr, -1 if form.maximise else 1
        count, exact, asked_of = 0, 0, list[tuple[Any, Any]]()
        for constraint, own in [(None, None), *form.owners]:
            if constraint is None and own is not None:
                continue
            if not (self.objective_is_closed if own is None else closed[own].all()):
                asked_of.append((constraint, own))
                continue
            stated, sizes = self.objective() if own is None else self.slack(own)
            of, small = (objective if own is None else constraint), self.size <= SMALL
            expected = np.ravel(sign * valued(of, small)) if own is None else slack_of(of, small)
            if expected is None or expected.size != stated.size:
                continue
            within = EXACT if stated.dtype == object and expected.dtype == object else ROUNDED
            require_close(
                of, stated, expected, within * sizes, isinstance(constraint, (cp.Zero, cp.constraints.Equality))
            )
            count, exact = count + stated.size, exact + (stated.size if within == EXACT else 0)
        if asked_of and asked:
            count += self.ask(asked_of, closed)
        return count, exact

    @property
    def objective_is_closed(self) -> bool:
        """Whether the objective does not depend on open columns."""
        program = self.form.program
        return not (program.q[self.open].any() or program.S[self.open].nnz)

    def objective(self) -> tuple[Any, Array]:
        """Objective of the program with open columns at zero, and the size of its terms."""
        program, x = self.form.program, self.x
        constant = Fraction(self.form.constant) if x.dtype == object else self.form.constant
        terms = sp.csr_array(program.q[None])
        quadratic = product(sp.csr_array(program.P), x)
        value = product(terms, x)[0] + sum(a * b for a, b in zip(x, quadratic, strict=True)) / 2 + constant
        return np.array([value], dtype=x.dtype), np.array([self.size_of_objective(x)])

    def size_of_objective(self, x: Any) -> float:
        """Size of the terms of the objective at x."""
        program, size = self.form.program, np.abs(x.astype(float))
        return float(np.abs(program.q) @ size + size @ (abs(program.P) @ size) + abs(self.form.constant))

    def slack(self, rows: Any) -> tuple[Any, Array]:
        """Slack of some rows, and the sizes of its terms."""
        A, b = sp.csr_array(self.form.program.A)[rows], self.form.program.b[rows]
        return (fractions(b) if self.x.dtype == object else b) - product(A, self.x), self.sizes_of_slack(rows, self.x)

    def sizes_of_slack(self, rows: Any, x: Any) -> Array:
        """Sizes of the terms of the slack of some rows at x."""
        A, b = sp.csr_array(self.form.program.A)[rows], self.form.program.b[rows]
        found: Array = abs(A) @ np.abs(x.astype(float)) + np.abs(b)
        return found

    def ask(self, asked_of: list[tuple[Any, Any]], closed: Any) -> int:
        """Compare expressions that depend on variables that CVXPY added, at their best values, which a solver finds.

        Every constraint of the problem with added variables is relaxed by the least sufficient number: its violation.
        """
        program, x = self.form.program, self.x.astype(float)
        A, cones = sp.csr_array(program.A), program.cones
        e, line = cones.inner(), cones.slices[1]
        relaxed = [own for _, own in asked_of if own is not None]
        if any(own.max() >= line.stop or own.min() < line.start for own in relaxed):
            return 0
        kept = ~closed
        for *_, own in cones.blocks():
            kept[own] = kept[own].any()
        for triples in cones.slices[4:]:
            kept[triples] = np.repeat(kept[triples].reshape(-1, 3).any(axis=1), 3)
        columns = np.zeros((len(program.b), len(relaxed)))
        for k, own in enumerate(relaxed):
            columns[own, k] = -e[own]
        rows, x[self.open] = np.flatnonzero(kept), 0.0
        S = program.S
        stated = Program(
            sp.block_diag([S[self.open][:, self.open], sp.csc_array((len(relaxed),) * 2)], format="csc"),
            np.append(program.q[self.open] + (S @ x)[self.open], np.ones(len(relaxed))),
            sp.csc_array(sp.hstack([A[rows][:, self.open], columns[rows]])),
            program.b[rows] - A[rows] @ x, without(cones, np.flatnonzero(~kept)),
        )  # fmt: skip
        scaled, back = stated.scaled
        errors = list[InputError]()
        # An answer that differs may be the solver's fault: it is run again in other units.
        for made, factors in ((scaled, back["x"]), (stated, 1.0)):
            answer = made.solve()
            if answer.status not in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE):
                continue
            try:
                self.require_best(asked_of, x, answer.x * factors)
            except InputError as error:
                errors += [error] if answer.status == cp.OPTIMAL else []
            else:
                return len(asked_of)
        if errors:
            raise errors[0]
        return 0

    def require_best(self, asked_of: list[tuple[Any, Any]], x: Array, best: Array) -> None:
        """Raise unless objective and violations of constraints agree with those at the best values of open columns."""
        program, x = self.form.program, np.array(x)
        x[self.open] = best[: len(self.open)]
        violations = iter(best[len(self.open) :])
        for constraint, own in asked_of:
            if own is None:
                of, sign = self.form.problem.objective.expr, -1.0 if self.form.maximise else 1.0
                value, found = sign * (program.value(x) + self.form.constant), value_of(of)
                allowed = self.size_of_objective(x)
            else:
                of, value, found = constraint, next(violations), value_of(constraint.expr)
                allowed = float(self.sizes_of_slack(own, x).max())
            if found is not None:
                expected = np.array([np.max(found)])
                require_close(of, np.array([value]), expected, SOLVED * np.array([1.0 + allowed]), False)


def slack_of(constraint: Any, small: bool) -> Any:
    """Return the slack in the program that a constraint implies by its own values; None if not known."""
    kind, count = type(constraint).__name__, {"SOC": 2, "ExpCone": 3, "PowCone3D": 3}
    parts = [valued(arg, small) for arg in constraint.args[: count.get(kind)]]
    if any(part is None for part in parts):
        return None
    if kind in ("Inequality", "Equality"):
        return np.ravel(np.broadcast_to(parts[1] - parts[0], constraint.shape), order="F")
    if kind in ("NonPos", "NonNeg", "Zero"):
        return np.ravel(parts[0] if kind == "NonNeg" else -parts[0], order="F")
    if kind == "SOC":
        t, X = parts
        X = np.reshape(X, (-1, 1)) if X.ndim < 2 else X.T if constraint.axis == 1 else X
        return np.ravel(np.vstack([np.reshape(t, (1, -1)), X]), order="F")
    if kind in ("ExpCone", "PowCone3D"):
        return np.ravel(np.vstack([np.ravel(part, order="F") for part in parts]), order="F")
    if kind == "PSD" and len(constraint.args[0].shape) == 2:
        i, j = np.triu_indices(len(parts[0]))
        return ((parts[0] + parts[0].T) / 2)[i, j]
    return None


def short(of: Any) -> str:
    """Return the text of an expression or constraint on one line."""
    return " ".join(str(of).split())[:120]


def require_close(of: Any, stated: Any, expected: Any, allowed: Array, either: bool) -> None:
    """Raise if values differ by more than is allowed; if ``either``, as for equations, up to sign."""
    off = np.abs((stated - expected).astype(float))
    if either:
        off = np.minimum(off, np.abs((stated + expected).astype(float)))
    if not (off <= allowed + np.finfo(float).tiny).all():
        worst = int(np.argmax(off - allowed))
        raise InputError(
            f"CVXPY's program says {float(stated[worst]):.12g} where {short(of)} is {float(expected[worst]):.12g}, "
            "at the same point: a proof of that program is none of the problem. State the expression otherwise"
        )


# Values ---------------------------------------------------------------------------------------------------------------


def fractions(values: Any) -> Any:
    """Return values as an array of fractions."""
    made = np.empty(np.shape(values), dtype=object)
    for at, value in np.ndenumerate(values):
        made[at] = Fraction(float(value))
    return made


def product(A: Any, x: Any) -> Any:
    """Product of a matrix, sparse by rows, and a vector of floats or of fractions."""
    if x.dtype != object:
        return A @ x
    made = np.empty(A.shape[0], dtype=object)
    entries = list(zip(A.indices.tolist(), A.data.tolist(), strict=True))
    for i in range(A.shape[0]):
        own = entries[A.indptr[i] : A.indptr[i + 1]]
        made[i] = sum((Fraction(value) * x[j] for j, value in own), Fraction(0))
    return made


def valued(e: Any, small: bool) -> Any:
    """Value of an expression, in fractions if it is small, affine or quadratic; else in floats; None if it has none."""
    if small and (e.is_affine() or e.is_quadratic()):
        found = in_fractions(e)
        if found is not None:
            return found
    return value_of(e)


def value_of(e: Any) -> Any:
    """Value of an expression in floats; None if it has none, or is complex."""
    try:
        value = in_floats(e)
    except (ArithmeticError, AssertionError, AttributeError, NotImplementedError, TypeError, ValueError):
        return None
    return value if value is not None and np.isrealobj(value) and np.isfinite(value).all() else None


def in_floats(e: Any) -> Any:
    """Value of an expression, with each part reshaped to its declared shape, which CVXPY's own values may not have."""
    if isinstance(e, cp.Expression) and e.args and isinstance(e, cp.atoms.atom.Atom):
        args = [in_floats(arg) for arg in e.args]
        value = None if any(arg is None for arg in args) else dense(e.numeric(args))
    else:
        value = None if e.value is None else dense(e.value)
    return value if value is None or value.size != e.size else np.reshape(value, e.shape, order="F")


def in_fractions(e: Any) -> Any:
    """Value of an affine or quadratic expression in fractions; None if one of its atoms is not handled here."""
    kind = type(e).__name__
    if not e.args:
        value = dense(e.value)
        return fractions(value) if np.isrealobj(value) else None
    args = [in_fractions(arg) for arg in e.args]
    if any(arg is None for arg in args):
        return None
    if kind in ("Promote", "broadcast_to"):
        return np.broadcast_to(args[0], e.shape)
    if kind == "QuadForm":
        return args[0] @ args[1] @ args[0]
    if kind == "quad_over_lin" and e.axis is None:
        return np.asarray(np.sum(args[0] * args[0]) / args[1])
    if kind.startswith("Power") and float(getattr(e.p, "value", e.p)) == 2.0:
        return args[0] * args[0]
    if kind == "MulExpression":
        return np.asarray(args[0] @ args[1] if args[0].ndim and args[1].ndim else args[0] * args[1])
    if not e.is_atom_affine():
        return None
    found = np.asarray(e.numeric(args))
    known = found.dtype == object and all(isinstance(value, (Fraction, int)) for value in found.flat)
    return np.reshape(found, e.shape, order="F") if known and found.size == e.size else None


# Declared attributes of variables -------------------------------------------------------------------------------------


def check_attributes(form: Canonical) -> None:
    """Raise if the program has no rows for the signs, bounds or semidefiniteness that a variable was declared with.

    At a large value that violates its declaration, one of the rows that have this variable alone must be violated.

    Raises
    ------
    InputError
        If none is violated; it names the variable.
    """
    program, rng = form.program, np.random.default_rng(0)
    A, far = sp.csr_array(program.A), FAR * (1.0 + np.abs(program.b).max(initial=0.0))
    rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    added = np.zeros(A.shape[0], dtype=bool)
    for of, own in form.owners:
        added[own] = of is None
    added[program.cones.slices[2]] = added[: program.cones.zero] = added[program.cones.slices[3].stop :] = False
    for variable in form.problem.variables():
        own = np.concatenate([of for of, one in form.places.values() if one.id == variable.id])
        others = np.bincount(rows, weights=~np.isin(A.indices, own), minlength=A.shape[0])
        for sign in (1.0, -1.0) * (not variable.is_complex()):
            x = np.zeros(A.shape[1])
            x[own] = sign * far * rng.uniform(0.5, 1.5, len(own))
            # CVXPY's way back would project values onto the declared attributes.
            alike = len(own) == variable.size
            name = next(name for name, one in form.variables.items() if one.id == variable.id)
            value = np.reshape(x[own], variable.shape, order="F") if alike else form.values(x)[name]
            with np.errstate(all="ignore"):
                margins = program.cones.margins(program.b - A @ x)[added & (others == 0)]
            off = np.abs(value - dense(variable.project(value))).max(initial=0.0) > ROUNDED * far
            if off and margins.min(initial=np.inf) >= 0.0:
                raise InputError(
                    f"CVXPY's program does not say what {variable.name()} was declared to be, by signs, bounds or "
                    "other attributes: a proof of that program is none of the problem. State them as constraints"
                )
