r"""Conic programs, and bounds on their optimal values by points near those of a file (theorem 12).

.. math:: \min_x \; \tfrac12 x^\top P x + q^\top x \quad \text{such that} \quad b - A x \in K

A point of a file satisfies its equations up to rounding only. Near it is one that satisfies them exactly: the equations
have a regular matrix, as an approximate inverse shows, so that their solution exists and is known up to a radius.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from .balls import Array, Ball, exactly, log, norms, semidefinite, up
from .errors import require_proven, require_valid
from .files import Arrays, Table, keys, natural, rational, statement_digest

__all__ = ["ConeProduct", "ConicProgram", "ConicStatement", "matrix_of"]

KINDS = ("zero", "nonnegative", "second_order", "semidefinite", "exponential", "power")
#: Largest number of rows and of variables.
MOST = 2**24
#: A vector of a file and the spreads by which it may move, None where it may not.
Point = tuple[Array, Any]


class ConeProduct:
    """A product K of cones, which stand in the order of ``KINDS``.

    ======================  =====================================================================================
    ``zero``                zeros
    ``nonnegative``         nonnegative numbers
    ``second_order``        the first entry is at least the Euclidean norm of the others
    ``semidefinite``        the entries i >= j of a positive semidefinite matrix, column by column
    ``exponential``         the closure of (x, y, z) with y > 0 and y e^(x/y) <= z
    ``power``               (x, y, z) with x^alpha y^(1 - alpha) >= abs(z), x and y not negative
    ======================  =====================================================================================
    """

    def __init__(self, table: Any, arrays: Arrays) -> None:
        keys(table, "cones", " ".join(KINDS))
        count = {kind: natural(table[kind], f"cones: {kind}", 0, MOST) for kind in KINDS}

        def sizes(kind: str) -> Array:
            found = arrays(f"{kind}_sizes", count[kind], integers=MOST) if count[kind] else np.zeros(0, np.int64)
            require_valid((found > 0).all(), f"cones: {kind} cones have sizes of at least 1")
            return found

        self.sizes, self.orders = sizes("second_order"), sizes("semidefinite")
        self.alpha = arrays("power_exponents", count["power"]) if count["power"] else np.zeros(0)
        require_valid(((self.alpha > 0.0) & (self.alpha < 1.0)).all(), "power_exponents must be between 0 and 1")
        # Numbers of Python, which have no largest.
        triangles = sum(order * (order + 1) // 2 for order in self.orders.tolist())
        rows = [count["zero"], count["nonnegative"], sum(self.sizes.tolist()), triangles]
        self.stops = list(accumulate([*rows, 3 * count["exponential"], 3 * count["power"]], initial=0))
        self.zero, self.rows = count["zero"], self.stops[-1]
        require_valid(self.rows < MOST, f"cones: there are more than {MOST} rows")

    def contain(self, s: Ball, what: str, dual: bool = False) -> None:
        """Stop unless s, or as a dual point, is in the interior of K or on what the kernel can see of its boundary.

        Rows of the zero cone are not looked at: they are zero by construction, or of a dual point any numbers.
        """
        _, line, round_, square, exponential, power = (s[start:end] for start, end in pairwise(self.stops))

        def require(holds: Any, kind: str) -> None:
            require_proven(np.all(holds), f"{what} is not proven to be in the {'dual ' * dual}{kind} cone")

        require(line.below() >= 0.0, "nonnegative")
        at = 0
        for size in self.sizes.tolist():
            require((round_[at] - round_[at + 1 : at + size].norm()).below() >= 0.0, "second order")
            at += size
        at = 0
        for order in self.orders.tolist():
            rows = order * (order + 1) // 2
            semidefinite(matrix_of(square[at : at + rows], order, dual), f"a {'dual ' * dual}matrix of {what}")
            at += rows
        x, y, z = (exponential[at::3] for at in range(3))
        if dual:
            # u < 0 and w >= -u e^(v/u - 1): that (u - v, -u, w) is in the cone itself.
            x, y = x - y, -x
        # Divisors and what has a logarithm are proven to be positive.
        require((y * log(z / y) - x).below() >= 0.0, "exponential")
        x, y, z = (power[at::3] for at in range(3))
        rest = Ball(1.0) - self.alpha
        if dual:
            x, y = x / Ball(self.alpha), y / rest
        size = log(Ball(np.maximum(abs(z).above(), 1e-300)))
        require((log(x) * self.alpha + log(y) * rest - size).below() >= 0.0, "power")


class ConicProgram:
    r"""The least :math:`\frac12 x^\top P x + q^\top x` with :math:`b - A x` in K.

    Where the first ``fixed`` entries of x are given it is a function of them; else a number.
    """

    def __init__(self, table: Table, arrays: Arrays, fixed: int = 0) -> None:
        self.n, self.fixed = natural(table["variables"], "variables", max(1, fixed), MOST), fixed
        self.cones = ConeProduct(table["cones"], arrays)
        require_valid(isinstance(table["quadratic"], bool), "quadratic must be true or false")
        self.q, self.b = arrays("q", self.n), arrays("b", self.cones.rows)
        self.A = matrix(arrays, "a", self.cones.rows, self.n)
        self.P = np.zeros((0, self.n))
        if table["quadratic"]:
            upper = matrix(arrays, "p", self.n, self.n)
            require_valid(not np.tril(upper, -1).any(), "the entries of p must stand on or above its diagonal")
            self.P = upper + np.triu(upper, 1).T

    def point(self, arrays: Arrays) -> Point:
        """Read a point and, where there are equations, the spreads by which it may move to satisfy them."""
        own = self.n - self.fixed
        return arrays("x", own), spreads(arrays, "x_spreads", own) if self.cones.zero else None

    def dual_point(self, arrays: Arrays) -> Point:
        """Read a dual point with its spreads: z, and h below it where there is a P."""
        z, widths = arrays("z", self.cones.rows), spreads(arrays, "z_spreads", self.cones.rows)
        if not len(self.P):
            return z, widths
        return np.append(z, arrays("h", self.n)), np.append(widths, spreads(arrays, "h_spreads", self.n))

    def value(self, fixed: Ball, point: Point) -> Ball:
        """Value at a feasible point near that of the file."""
        k, x = self.fixed, Ball(point[0])
        if point[1] is not None:
            rows = np.flatnonzero(self.A[: self.cones.zero, k:].any(axis=1))
            self.kept(np.setdiff1d(np.arange(self.cones.zero), rows), fixed)
            target = Ball(self.b[rows]) - column(self.A[rows, :k], fixed)
            x = near(self.A[rows, k:].T, point[0], point[1], target, "point")
        x = joined(fixed, x)
        self.cones.contain(Ball(self.b) - column(self.A, x), "the slack")
        value = column(self.q[None], x)[0]
        return value + (x * column(self.P, x)).sum() * 0.5 if len(self.P) else value

    def kept(self, rows: Array, fixed: Ball) -> None:
        """Stop unless equations between given entries alone hold, which must be known exactly."""
        exact = np.broadcast_to(fixed.rad, fixed.mid.shape) == 0.0
        for i in rows.tolist():
            used = np.flatnonzero(self.A[i])
            value = sum(exactly(self.A[i, j]) * exactly(fixed.mid[j]) for j in used.tolist())
            holds = exact[used].all() and value == exactly(self.b[i])
            require_proven(holds, "an equation between given entries alone is not proven to hold exactly")

    def minorant(self, point: Point) -> tuple[Ball, Ball]:
        """Slope and constant of a lower bound that is linear in the given entries of x, by a dual point."""
        m, k, G = self.cones.rows, self.fixed, np.concatenate([self.A, self.P])
        found = near(G[:, k:], *point, Ball(-self.q[k:]), "dual point")
        z, h = found[:m], found[m:]
        self.cones.contain(z, "the dual point", dual=True)
        constant = -column(self.b[None], z)[0]
        if len(self.P):
            self.convex()
            constant = constant - (h * column(self.P, h)).sum() * 0.5
        return Ball(self.q[:k]) + column(G[:, :k].T, found), constant

    def convex(self) -> None:
        """Stop unless P is positive semidefinite."""
        used = np.flatnonzero(self.P.any(axis=0))
        if used.size:
            semidefinite(Ball(self.P[np.ix_(used, used)]), "the quadratic term")


class ConicStatement:
    """The statement of a file that is a conic program, proven like a :class:`~.proofs.Problem`, as one row.

    With ``maximise`` its value is the constant less the least value of the program.
    """

    wanted, optional, dual_keys = "kind variables cones quadratic maximise", "constant", ""

    def __init__(self, document: Table, arrays: Arrays) -> None:
        table = self.table = document["problem"]
        require_valid(isinstance(table["maximise"], bool), "maximise must be true or false")
        self.constant = rational(table.get("constant", "0"), "constant")
        self.program = ConicProgram(table, arrays)
        self.arrays = {name: arrays.arrays[name] for name in arrays.used}
        self.sha256 = statement_digest(table, self.arrays)
        self.risk = self

    def __len__(self) -> int:
        return 1

    def part(self, rows: slice) -> ConicStatement:
        """The one row."""
        return self

    def read(self, table: Table, arrays: Arrays) -> tuple[tuple[Point, Point], None, None]:
        """Read the proof: a point and a dual point, and nothing else."""
        return (self.program.point(arrays), self.program.dual_point(arrays)), None, None

    def value(self, points: tuple[Point, Point]) -> Ball:
        """Enclose what is above the optimal value: the value at the point or, of a maximum, that of the dual point."""
        if self.table["maximise"]:
            return -self.program.minorant(points[1])[1]
        return self.program.value(Ball(np.zeros(0)), points[0])

    def dual(self, table: Table, arrays: Arrays) -> Ball:
        """Enclose what is below the optimal value."""
        point, dual_point = self.read(table, arrays)[0]
        if self.table["maximise"]:
            return -self.program.value(Ball(np.zeros(0)), point)
        return self.program.minorant(dual_point)[1]

    def upper(self, value: Ball, points: tuple[Point, Point], given: None) -> Fraction:
        """Upper bound without the constant."""
        return value.upper()

    def lower(self, value: Ball, share: None, given: None, upper: Fraction | None) -> Fraction:
        """Lower bound without the constant."""
        return value.lower()


def near(G: Array, v: Array, widths: Array, target: Ball, what: str) -> Ball:
    r"""Enclose the vector ``v + W W G y`` with ``G^T (v + W W G y) = target``, W the diagonal matrix of ``widths``.

    With ``H = W G D`` it is ``v + W H u`` for ``H^T H u = D (target - G^T v)``, D powers of two that give the columns
    of H norms of about one. B is computed in floats and not trusted: if ``E = I - B H^T H`` has a norm below one, then
    ``H^T H`` is regular and ``|u - u'| <= |B (r - H^T H u')| / (1 - |E|)`` for any u'.
    """
    powers = np.clip(np.round(np.log2(norms(G * widths[:, None], 0))), -400.0, 400.0)
    D = np.ldexp(1.0, -powers.astype(np.int64))
    H = Ball(G) * widths[:, None] * D
    N = H.T @ H
    try:
        B = Ball(np.linalg.inv(N.mid))
    except np.linalg.LinAlgError:
        B = Ball(np.full_like(N.mid, np.nan))
    E = Ball(np.eye(len(D))) - B @ N
    size = float(norms(np.abs(E.mid) + E.rad))
    require_proven(size <= 0.5, f"the equations of the {what} are not proven to be independent")
    # One product, of which the leading digits cancel without rounding.
    missed = column(np.column_stack([G.T, -target.mid]), Ball(np.append(v, 1.0)))
    r = Ball(-missed.mid, up(missed.rad + target.rad)) * D
    u = column(B, Ball(r.mid)).mid
    rest = column(B, r - column(N, Ball(u)))
    error = norms(np.abs(rest.mid) + rest.rad) / (1.0 - size)
    move = column(H, Ball(u))
    reach = norms(np.abs(H.mid) + H.rad, 1) * up(error)
    return Ball(v) + Ball(move.mid, up(move.rad + reach)) * widths


def matrix_of(entries: Ball, order: int, dual: bool) -> Ball:
    """The symmetric matrix of its entries i >= j, column by column; those of a dual point count twice off the diagonal.

    Column by column below the diagonal is row by row above it.
    """
    i, j = np.triu_indices(order)
    own, (mid, rad) = entries * np.where(i == j, 1.0, 0.5) if dual else entries, np.zeros((2, order, order))
    mid[i, j] = mid[j, i] = own.mid
    rad[i, j] = rad[j, i] = own.rad
    return Ball(mid, rad)


def column(A: Any, x: Ball) -> Ball:
    """Product of a matrix and a vector, whose radii count entry by entry: a row of few entries has little of them."""
    A, rad = Ball.of(A), np.broadcast_to(x.rad, x.mid.shape)
    product = (Ball(A.mid) @ Ball(x.mid[:, None]))[:, 0]
    more = np.abs(A.mid) @ rad + np.broadcast_to(A.rad, A.mid.shape) @ (np.abs(x.mid) + rad)
    return Ball(product.mid, up(product.rad + more))


def joined(*parts: Ball) -> Ball:
    """Join vectors, one after the other."""
    radii = [np.broadcast_to(part.rad, part.mid.shape) for part in parts]
    return Ball(np.concatenate([part.mid for part in parts]), np.concatenate(radii))


def spreads(arrays: Arrays, name: str, length: int) -> Array:
    """Read positive numbers."""
    found = arrays(name, length)
    require_valid((found > 0.0).all(), f"{name} must be positive")
    return found


def matrix(arrays: Arrays, name: str, rows: int, columns: int) -> Array:
    """Read a matrix, of which the file holds entries and their places, column by column and none twice."""
    values = arrays(f"{name}_values", None)
    i, j = (
        arrays(f"{name}_{side}", len(values), integers=length)
        for side, length in (("rows", rows), ("columns", columns))
    )
    require_valid((np.diff(j * rows + i) > 0).all(), f"the entries of {name} must stand column by column, none twice")
    made = np.zeros((rows, columns))
    made[i, j] = values
    return made
