r"""Points and dual points of conic programs near which the kernel finds exact ones: inside their cones, with hints.

A solver's point satisfies its equations only approximately, and is on the border of its cones. It is moved until the
equations hold up to the rounding of floats, each entry as its distance from the border of its cone allows. If it is not
inside, an inner point is mixed in, as little as needed. Hints tell the kernel which equations follow from others, and
which define an unknown (:mod:`convexmetric.programs.reduction`).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from convexmetric.arrays import Array
from convexmetric.certificates import kernel
from convexmetric.certificates.statement import Arrays
from convexmetric.programs.canonical import Program
from convexmetric.programs.reduction import SMALL, Reduction, Relations, definitions, pivots

#: Shares of an inner point that are mixed in; its margins, relative to the largest entry.
SHARES = tuple(10.0 ** (0.5 * power) for power in range(-24, 1))
MARGINS = (1e-4, 1e-6, 1e-2, 1e-8, 1e-10)
#: Least spreads, relative to the largest: while a point is moved in floats, and in the file.
FLOOR, NEAR = 1e-8, 0.1
#: Unknowns that may move for each equation of a large system.
EACH = 5
#: Systems of more equations than this are solved by their normal equations.
TALL = 600


@dataclass(frozen=True)
class Scaled:
    """A reduction's whole program with rows, columns and costs of about one, and factors that map arrays back."""

    left: Reduction
    program: Program
    back: dict[str, Any]

    @classmethod
    def of(cls, left: Reduction) -> Scaled:
        """Scale the whole of a reduction by powers of two."""
        return cls(left, *left.whole.scaled)

    def restored(self, arrays: Arrays) -> Arrays:
        """Return arrays in the units of the stated program."""
        return {
            name: array * self.back[name][-len(array) or len(self.back[name]) :] if name in self.back else array
            for name, array in arrays.items()
        }

    def point(self, x: Array, fixed: int = 0, held: Any = ()) -> Arrays:
        """Arrays of a point of the stated program near x and inside its cones, without its ``fixed`` first entries.

        Entries that are ``held`` do not move.

        Raises
        ------
        NotProven
            If it is not inside.
        """
        left, program, x = self.left, self.program, x / self.back["x"]
        inequalities = np.setdiff1d(np.arange(len(program.b)), left.equations)

        def margins(v: Array) -> Array:
            return left.margins(program.b - program.A @ np.append(x[:fixed], v))[inequalities]

        own = require_inside(margins(x[fixed:]))
        if not len(left.equations):
            return self.restored({"x": x[fixed:]})
        # How far each entry may move alone.
        finite = own[np.isfinite(own)]
        least = np.maximum(own, FLOOR * max(1.0, finite.max(initial=0.0)))
        rows = sp.csc_array(sp.csr_array(program.A)[inequalities][:, fixed:])
        steep = np.sqrt((rows**2).T @ least**-2.0)
        widths = 1.0 / np.maximum(steep, 1.0 / max(1.0, np.abs(x).max()))
        widths[np.asarray(held, dtype=np.int64)] = 0.0
        E = sp.csr_array(program.A)[left.equations]
        target = program.b[left.equations] - E[:, :fixed] @ x[:fixed]
        v, widths, hints = moved(E[:, fixed:].tocsr(), x[fixed:], widths, target, left.of_point, "x")
        require_inside(margins(v))
        tight = left.equations[program.cones.zero :]
        found = {"x": v, "x_spreads": widths} | hints | left.of_point.arrays("x")
        return self.restored(found | ({"tight": tight} if len(tight) else {}))

    def dual_point(self, z: Array, h: Array, fixed: int = 0) -> Arrays:
        """Arrays of a dual point of the stated program near z and h and inside its cones.

        Raises
        ------
        NotProven
            If it is not inside.
        """
        left, program, m = self.left, self.program, len(self.program.b)
        quadratic = program.P.nnz > 0
        v = np.append(z / self.back["z"], h / self.back["h"]) if quadratic else z / self.back["z"]
        zero, held = program.cones.zero, np.flatnonzero(left.loose)
        v[held] = 0.0
        widths = np.full(len(v), max(1.0, float(np.abs(v).max(initial=0.0))))
        widths[zero:m] = require_inside(left.margins(v[:m], True)[zero:])
        widths[held] = 0.0
        M = sp.hstack([program.A.T, program.S] if quadratic else [program.A.T]).tocsr()[fixed:]
        relations = Relations(left.of_dual.follow - fixed, left.of_dual.weights[fixed:])
        v, widths, hints = moved(M, v, widths, -program.q[fixed:], relations, "z", fixed)
        require_inside(left.margins(v[:m], True)[zero:])
        found = {"z": v[:m], "z_spreads": widths[:m]} | ({"h": v[m:], "h_spreads": widths[m:]} if quadratic else {})
        return self.restored(found | hints | left.of_dual.arrays("z"))


def moved(
    M: Any, v: Array, widths: Array, target: Array, relations: Relations, name: str, first: int = 0
) -> tuple[Array, Array, Arrays]:
    """Move a vector until ``M v = target`` up to rounding; return it, widths made less different, and hints."""
    rows = np.repeat(np.arange(M.shape[0]), np.diff(M.indptr))
    free = np.zeros(M.shape[0], dtype=bool)
    free[rows[widths[M.indices] > 0.0]] = True
    free[relations.follow] = False
    kept = np.flatnonzero(free)
    own, aim = M[kept], target[kept]
    equations, unknowns = np.zeros((2, 0), dtype=np.int64)
    if len(kept) > SMALL:
        equations, unknowns = pivots(own, widths)
    # First in proportion to the distances from the cones' borders, then evenly, and by few of many unknowns.
    for floor in (FLOOR, NEAR):
        widths = np.where(widths > 0.0, np.maximum(widths, floor * widths.max(initial=0.0)), 0.0)
        widths = few(own, widths, equations, unknowns) if floor == NEAR else widths
        with suppress(np.linalg.LinAlgError):
            v = v + step(own, widths, aim - own @ v, equations, unknowns)
    hints = {f"{name}_pivot_equations": kept[equations] + first, f"{name}_pivot_unknowns": unknowns}
    return v, widths, hints if len(equations) else {}


def few(M: Any, widths: Array, equations: Any, unknowns: Any) -> Array:
    """Restrict spreads, if there are many, to the unknowns that move most in each remaining equation."""
    others = sp.csr_array(M[np.setdiff1d(np.arange(M.shape[0]), equations)])
    if others.shape[0] <= SMALL or np.count_nonzero(widths) <= EACH * others.shape[0]:
        return widths
    rows = np.repeat(np.arange(others.shape[0]), np.diff(others.indptr))
    sizes = np.abs(others.data) * widths[others.indices]
    order = np.lexsort((-sizes, rows))
    place = np.arange(len(order)) - others.indptr[rows[order]]
    kept = np.union1d(others.indices[order[place < EACH]], unknowns)
    made: Array = np.zeros(len(widths))
    made[kept] = widths[kept]
    return made


def step(M: Any, widths: Array, missed: Array, equations: Any, unknowns: Any) -> Array:
    """Return the step that the kernel takes, in floats: see ``kernel.systems.solved``."""
    made: Array = np.zeros(len(widths))
    if not M.shape[0]:
        return made
    others = np.setdiff1d(np.arange(M.shape[0]), equations)
    D = np.ravel(M[equations, unknowns]) if len(equations) else np.zeros(0)
    rest = widths.copy()
    rest[unknowns] = 0.0
    inverse = sp.diags_array(1.0 / D)
    M_PC, M_RU = sp.csr_array(M[equations] @ sp.diags_array(1.0 * (rest > 0.0))), M[others][:, unknowns]
    if len(others):
        T = M[others] @ sp.diags_array(1.0 * (rest > 0.0)) - M_RU @ inverse @ M_PC
        wanted = missed[others] - M_RU @ (missed[equations] / D)
        H = sp.csr_array(T @ sp.diags_array(rest))
        if len(others) <= TALL:
            Q, R = np.linalg.qr(H.toarray().T)
            made = rest * (Q @ np.linalg.solve(R.T, wanted))
        else:
            N = (H @ H.T).toarray()
            heights = 1.0 / np.sqrt(np.maximum(N.diagonal(), np.finfo(float).tiny))
            factor = la.cho_factor(N * np.outer(heights, heights), check_finite=False)
            made = rest * (H.T @ (heights * la.cho_solve(factor, heights * wanted)))
    made[unknowns] = (missed[equations] - M_PC @ made) / D
    return made


def require_inside(margins: Array) -> Array:
    """Return the margins of a point inside its cones; raise ``NotProven``, without calling the kernel, if it is not."""
    if not margins.min(initial=np.inf) > 0.0:
        raise kernel.NotProven("the point is not inside its cones")
    return margins


def inner_point(left: Reduction, but: Any = ()) -> Array | None:
    """Return a nearly optimal point of the whole inside the cones, except those of rows ``but``; None if not found.

    It solves the program with the cones moved inward.
    """
    program, back = left.program.scaled
    e, asked = asked_inside(left, program, but, False)
    for share in MARGINS:
        margin = share * max(1.0, float(np.abs(program.b).max(initial=0.0)))
        answer = replace(program, b=program.b - margin * e).solve()
        if answer.x is not None:
            slack = program.b - program.A @ answer.x
            if program.cones.margins(slack)[asked].min(initial=np.inf) > 0.5 * margin:
                return left.point(answer.x * back["x"])
    return None


def inner_dual_point(left: Reduction) -> Array | None:
    """Return a nearly optimal dual point z of the whole inside the cones, followed by h; None if none is found.

    It solves the program with a reward for slack.
    """
    program, back = left.program.scaled
    e, asked = asked_inside(left, program, (), True)
    for share in MARGINS:
        margin = share * max(1.0, float(np.abs(program.q).max()))
        answer = replace(program, q=program.q + margin * (program.A.T @ e)).solve()
        if answer.x is not None:
            z = answer.z + margin * e
            if program.cones.margins(z, True)[asked].min(initial=np.inf) > 0.5 * margin:
                return np.concatenate(left.dual(z * back["z"], answer.x * back["h"]))
    return None


def asked_inside(left: Reduction, program: Program, but: Any, dual: bool) -> tuple[Array, Any]:
    """Return an inner point of the cones, zero in rows ``but``, and the other rows that are not equations."""
    e = program.cones.inner(dual)
    open_rows = np.flatnonzero(np.isin(left.rows, but))
    e[open_rows] = 0.0
    return e, np.setdiff1d(np.arange(program.cones.zero, len(e)), open_rows)


def mixed(
    base: Array, inner: Callable[[], Array | None], proof: Callable[[Array], tuple[Fraction, Arrays]]
) -> tuple[tuple[Fraction, Arrays] | None, str]:
    """Prove a point with as little of an inner point mixed in as needed, by bisection; else return why that fails."""
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


def completed(whole: Program, known: Any, x: Array, z: Array) -> Array | None:
    """Complete the known entries of x by those of least value; None if none are found.

    Constraints may be violated by a multiple of an inner point, at a price above the multipliers z.
    """
    rest = np.setdiff1d(np.arange(len(x)), known)
    made = np.array(x)
    if not len(rest):
        return made
    zero = whole.cones.zero
    E = sp.csr_array(whole.A)[:zero]
    equations, found = definitions(E, rest)
    if len(found) == len(rest):
        aim = whole.b[equations] - E[equations][:, known] @ x[known]
        made[found] = aim / np.ravel(E[equations, found])
        return made
    program, back = whole.scaled
    x, z = x / back["x"], z / back["z"]
    e = program.cones.inner()
    # Rows: the multiple is not negative, equations from both sides, and inequalities.
    A, b, price = program.A, program.b - program.A[:, known] @ x[known], float(np.abs(z) @ np.maximum(e, 1.0))
    missed = np.concatenate([np.ones(2 * zero + 1), e[zero:]])[:, None]
    rows = sp.vstack([sp.csc_array((1, len(rest))), A[:zero, rest], -A[:zero, rest], A[zero:, rest]])
    stated = Program(
        sp.block_diag([program.S[rest][:, rest], sp.csc_array((1, 1))], format="csc"),
        np.append(program.q[rest] + program.S[rest][:, known] @ x[known], 1.0 + 10.0 * price),
        sp.csc_array(sp.hstack([rows, -missed])),
        np.concatenate([[0.0], b[:zero], -b[:zero], b[zero:]]),
        replace(program.cones, zero=0, nonnegative=program.cones.nonnegative + 2 * zero + 1),
    )
    answer = stated.solve()
    if answer.x is None:
        return None
    made[rest] = answer.x[:-1] * back["x"][rest]
    return made
