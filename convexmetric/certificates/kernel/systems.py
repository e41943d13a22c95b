r"""Linear equations that have an exact solution near a vector of a file (theorems 12, 14 and 15).

.. math:: M y = t

Equations that follow from others, as a combination in fractions shows, are left out. Some unknowns, the *pivots*, are
eliminated, each by an equation that defines it. The remaining system has a regular matrix, as an approximate inverse
shows, so that its solution exists and is known up to a radius. Unknowns without a spread are fixed.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from .balls import Array, Ball, U, exactly, gamma, norms, up
from .errors import require_proven, require_valid
from .files import Arrays

__all__ = ["Hints", "Sparse", "dot", "hints", "near", "solved", "sparse"]


@dataclass(frozen=True)
class Sparse:
    """A matrix by its entries; several in one place add up."""

    values: Array
    rows: Array
    columns: Array
    shape: tuple[int, int]

    @property
    def T(self) -> Sparse:
        """The transposed matrix."""
        return Sparse(self.values, self.columns, self.rows, self.shape[::-1])

    def some(self, keep: Array, rows: Array | None = None, columns: Array | None = None) -> Sparse:
        """Select entries, with new numbers of rows and of columns if given."""
        i, j, (m, n) = self.rows[keep], self.columns[keep], self.shape
        i, m = (i, m) if rows is None else (rows[i], int((rows >= 0).sum()))
        j, n = (j, n) if columns is None else (columns[j], int((columns >= 0).sum()))
        return Sparse(self.values[keep], i, j, (m, n))

    def of_rows(self, rows: Array) -> Sparse:
        """The matrix of some rows, in their order."""
        number = numbered(rows, self.shape[0])
        found = self.some(number[self.rows] >= 0, number)
        return Sparse(found.values, found.rows, found.columns, (len(rows), self.shape[1]))

    def __matmul__(self, x: Ball) -> Ball:
        """Product with a vector: that of leading digits is exact (:func:`leading`), the rest errs like a sum."""
        count, i, a, v = self.shape[0], self.rows, self.values, x.mid[self.columns]
        most = int(np.bincount(i).max(initial=1))
        digits = (53 - math.ceil(math.log2(most))) // 2
        a1, v1 = (leading(of, i, count, digits) for of in (a, v))
        exact, rest = totals(a1 * v1, i, count), totals(a1 * (v - v1) + (a - a1) * v, i, count)
        sizes = totals(np.abs(a1) * np.abs(v - v1) + np.abs(a - a1) * np.abs(v), i, count)
        rad = np.broadcast_to(x.rad, x.mid.shape)[self.columns]
        mid = exact + rest
        # A term of the rest is two products and their sum.
        return Ball(mid, up(gamma(most + 4) * sizes + totals(np.abs(a) * rad, i, count) + U * np.abs(mid)))

    def dense(self) -> Ball:
        """The matrix, whose entries are sums."""
        return piled(Ball(self.values), self.rows, self.columns, self.shape)

    def by_row(self, rows: Iterable[int]) -> dict[int, list[tuple[int, Fraction]]]:
        """Entries of some rows, as columns and fractions."""
        found: dict[int, list[tuple[int, Fraction]]] = {row: [] for row in rows}
        inside = np.isin(self.rows, list(found))
        entries = zip(
            self.rows[inside].tolist(), self.columns[inside].tolist(), self.values[inside].tolist(), strict=True
        )
        for i, j, value in entries:
            found[i].append((j, Fraction(value)))
        return found


def sparse(arrays: Arrays, name: str, rows: int, columns: int) -> Sparse:
    """Read a matrix, which the file stores as entries and their places, column by column and none twice."""
    values = arrays(f"{name}_values", None)
    i, j = (
        arrays(f"{name}_{side}", len(values), integers=length)
        for side, length in (("rows", rows), ("columns", columns))
    )
    require_valid((np.diff(j * rows + i) > 0).all(), f"the entries of {name} must stand column by column, none twice")
    return Sparse(values, i, j, (rows, columns))


def numbered(chosen: Array, count: int) -> Array:
    """Return the place of each number among those chosen, or -1."""
    found = np.full(count, -1)
    found[chosen] = np.arange(len(chosen))
    return found


def totals(values: Array, groups: Array, count: int) -> Array:
    """Sums by group."""
    return np.bincount(groups, weights=values, minlength=count)


def leading(values: Array, groups: Array, count: int, digits: int) -> Array:
    """Round values to multiples of one unit per group, of the given number of digits: see :func:`~.balls.leading`."""
    largest = np.zeros(count)
    np.maximum.at(largest, groups, np.abs(values))
    shifts = np.ldexp(1.5, np.frexp(largest)[1] - digits + 52)[groups]
    return (values + shifts) - shifts


def sums(values: Ball, groups: Array, count: int) -> Ball:
    """Sums by group; the sum of a single exact number is exact."""
    several = np.bincount(groups, minlength=count)
    mid, sizes = (totals(of, groups, count) for of in (values.mid, np.abs(values.mid)))
    rad = totals(np.broadcast_to(values.rad, values.mid.shape), groups, count)
    return Ball(mid, np.where((several > 1) | (rad > 0.0), up(rad + gamma(several) * sizes), 0.0))


def piled(values: Ball, rows: Array, columns: Array, shape: tuple[int, int]) -> Ball:
    """Dense matrix of entries; several in one place add up."""
    found = sums(values, rows * shape[1] + columns, shape[0] * shape[1])
    return Ball(found.mid.reshape(shape), found.rad.reshape(shape))


@dataclass(frozen=True)
class Hints:
    """Relations between equations, one for each that follows, and equations that each define an unknown."""

    follow: Array
    relation: Sparse
    equations: Array
    unknowns: Array


def hints(arrays: Arrays, name: str, equations: int, unknowns: int, given: int = 0) -> Hints:
    """Read the hints for a system whose equations are numbered from ``given`` on."""
    none = np.zeros(0, dtype=np.int64)
    follow, relation, pivots = none, Sparse(np.zeros(0), none, none, (equations, 0)), [none, none]
    if f"{name}_follow" in arrays:
        follow = arrays(f"{name}_follow", None, integers=equations)
        relation = sparse(arrays, f"{name}_relation", equations, len(follow))
        require_valid(len(follow) and (np.diff(follow) > 0).all(), f"{name}_follow must be numbers in ascending order")
        require_valid(relation.rows.min(initial=given) >= given, f"{name}_relation speaks of what is no equation")
    if f"{name}_pivot_equations" in arrays:
        pivots = [arrays(f"{name}_pivot_equations", None, integers=equations)]
        pivots.append(arrays(f"{name}_pivot_unknowns", len(pivots[0]), integers=unknowns))
        once = all(len(np.unique(own)) == len(own) > 0 for own in pivots)
        require_valid(once, f"{name}: pivots are some equations and as many unknowns, none twice")
    require_valid(
        min(follow.min(initial=given), pivots[0].min(initial=given)) >= given and not np.isin(pivots[0], follow).any(),
        f"{name}: a pivot is of an equation, and of none that follows",
    )
    return Hints(follow, relation, *pivots)


def require_relations(M: Sparse, own: Hints) -> None:
    """Stop unless every row that follows is a combination of others that do not (theorem 14)."""
    W, place = own.relation, numbered(own.follow, M.shape[0])
    inside = place[W.rows] >= 0
    alone = (place[W.rows[inside]] == W.columns[inside]).all() and (W.values[inside] != 0.0).all()
    require_proven(alone and inside.sum() == len(own.follow), "an equation that follows is not in its relation alone")
    entries, found = M.by_row(W.rows.tolist()), defaultdict[tuple[int, int], Fraction](Fraction)
    for e, k, value in zip(W.rows.tolist(), W.columns.tolist(), W.values.tolist(), strict=True):
        for j, entry in entries[e]:
            found[k, j] += Fraction(value) * entry
    require_proven(not any(found.values()), "an equation is not proven to follow from others")


def require_held(M: Sparse, y: Ball, rows: Array) -> None:
    """Stop unless some rows of M y are zero; numbers that are in them must be known exactly."""
    known = np.broadcast_to(y.rad, y.mid.shape) == 0.0
    zeros = known & (y.mid == 0.0)
    # Many rows have only zeros.
    for entries in M.by_row(rows[np.isin(rows, M.rows[~zeros[M.columns]])].tolist()).values():
        exact = all(known[j] for j, _ in entries)
        holds = exact and not sum(entry * exactly(y.mid[j]) for j, entry in entries)
        require_proven(holds, "an equation between given entries alone is not proven to hold exactly")


def solved(M: Sparse, target: Array, y: Ball, widths: Array, own: Hints, what: str) -> Ball:
    """Enclose the solution of ``M y = target`` near y to which its spreads and the hints lead (theorem 15).

    With pivot equations P and unknowns U, other equations R and unknowns C that move, ``T = M_RC - M_RU D^-1 M_PC``.
    """
    (r, s), p = M.shape, len(own.equations)
    # Equations as rows whose product with y, extended by a last entry of one, is to be zero.
    sides = np.flatnonzero(target)
    whole = Sparse(
        np.append(M.values, -target[sides]), np.append(M.rows, sides), np.append(M.columns, np.full(len(sides), s)),
        (r, s + 1),
    )  # fmt: skip
    y_whole = joined(y, Ball([1.0]))
    require_relations(whole, own)
    equation, unknown = numbered(own.equations, r), numbered(own.unknowns, s)
    left_out = np.zeros(r, dtype=bool)
    left_out[own.follow] = True
    moves = (widths > 0.0) & (unknown < 0)
    e, u = equation[M.rows], unknown[M.columns]
    pivots = (e >= 0) & (u >= 0)
    require_proven((e == u)[pivots].all(), f"a pivot of the {what} is in the equation of another one")
    D = sums(Ball(M.values[pivots]), e[pivots], p)
    other = (e < 0) & ~left_out[M.rows]
    M_PC, M_RU = M.some((e >= 0) & moves[M.columns], equation), M.some(other & (u >= 0), None, unknown)
    M_RC = M.some(other & moves[M.columns])
    R = np.unique(np.append(M_RC.rows, M_RU.rows))
    held = (equation < 0) & ~left_out
    held[R] = False
    require_held(whole, y_whole, np.flatnonzero(held))
    # One product, of which the leading digits cancel without rounding.
    missed = -(whole @ y_whole)
    step = divided(missed[own.equations], D)
    fill = eliminated(M_RU, D, M_PC)
    i, j = np.append(M_RC.rows, fill[1]), np.append(M_RC.columns, fill[2])
    C = np.unique(j)
    T = piled(joined(Ball(M_RC.values), -fill[0]), numbered(R, r)[i], numbered(C, s)[j], (len(R), len(C)))
    own_step = near(T, widths[C], (missed - M_RU @ step)[R], what)
    inside = numbered(C, s)[M_PC.columns] >= 0
    step = step - divided(M_PC.some(inside, None, numbered(C, s)) @ own_step, D)
    return moved(moved(y, C, own_step), own.unknowns, step)


def near(T: Ball, widths: Array, target: Ball, what: str) -> Ball:
    r"""Enclose ``W W T^T v`` with ``T W W T^T v = target``, W the diagonal matrix of ``widths``.

    With ``H = D T W`` it is ``W H^T u`` for ``H H^T u = D target``, D powers of two that give the rows of H norms of
    about one. B is computed in floats and not trusted: if ``E = I - B H H^T`` has a norm below one, then ``H H^T`` is
    regular and ``|u - u'| <= |B (r - H H^T u')| / (1 - |E|)`` for any u'.
    """
    powers = np.clip(np.round(np.log2(norms(T.mid * widths, 1))), -400.0, 400.0)
    D = np.ldexp(1.0, -powers.astype(np.int64))
    H = T * D[:, None] * widths
    N = H @ H.T
    try:
        B = Ball(np.linalg.inv(N.mid))
    except np.linalg.LinAlgError:
        B = Ball(np.full_like(N.mid, np.nan))
    E = Ball(np.eye(len(D))) - B @ N
    size = float(norms(np.abs(E.mid) + E.rad))
    require_proven(size <= 0.5, f"the equations of the {what} are not proven to be independent")
    r = target * D
    u = column(B, Ball(r.mid)).mid
    rest = column(B, r - column(N, Ball(u)))
    error = norms(np.abs(rest.mid) + rest.rad) / (1.0 - size)
    move = column(H.T, Ball(u))
    reach = norms(np.abs(H.mid) + H.rad, 0) * up(error)
    return Ball(move.mid, up(move.rad + reach)) * widths


def eliminated(M_RU: Sparse, D: Ball, M_PC: Sparse) -> tuple[Ball, Array, Array]:
    """Entries of ``M_RU D^-1 M_PC``, which add up, with their rows and columns."""
    order = np.argsort(M_PC.rows, kind="stable")
    counts = np.bincount(M_PC.rows, minlength=M_PC.shape[0])
    each = counts[M_RU.columns]
    first = np.repeat(np.arange(len(each)), each)
    # The entries of a row of M_PC stand together.
    starts = (np.cumsum(counts) - counts)[M_RU.columns] - (np.cumsum(each) - each)
    second = order[starts[first] + np.arange(len(first))]
    values = divided(Ball(M_PC.values), D[M_PC.rows])[second] * M_RU.values[first]
    return values, M_RU.rows[first], M_PC.columns[second]


def divided(x: Ball, D: Ball) -> Ball:
    """Quotients by numbers of any sign."""
    return x * np.sign(D.mid) / Ball(np.abs(D.mid), D.rad)


def moved(y: Ball, at: Array, step: Ball) -> Ball:
    """The vector with steps added at some places."""
    mid, rad = y.mid.copy(), np.broadcast_to(y.rad, y.mid.shape).copy()
    there = y[at] + step
    mid[at], rad[at] = there.mid, there.rad
    return Ball(mid, rad)


def dot(a: Array, x: Ball) -> Ball:
    """Product of two vectors."""
    return (Sparse(a, np.zeros(len(a), dtype=np.int64), np.arange(len(a)), (1, len(a))) @ x)[0]


def column(A: Any, x: Ball) -> Ball:
    """Product of a matrix and a vector with radii entry by entry, so that a row of few entries has a small radius."""
    A, rad = Ball.of(A), np.broadcast_to(x.rad, x.mid.shape)
    product = (Ball(A.mid) @ Ball(x.mid[:, None]))[:, 0]
    more = np.abs(A.mid) @ rad + np.broadcast_to(A.rad, A.mid.shape) @ (np.abs(x.mid) + rad)
    return Ball(product.mid, up(product.rad + more))


def joined(*vectors: Ball) -> Ball:
    """Join vectors, one after the other."""
    radii = [np.broadcast_to(vector.rad, vector.mid.shape) for vector in vectors]
    return Ball(np.concatenate([vector.mid for vector in vectors]), np.concatenate(radii))
