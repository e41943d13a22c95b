r"""Conic programs, and bounds on their optimal values by points near those of a file (theorem 12).

.. math:: \min_x \; \tfrac12 x^\top P x + q^\top x \quad \text{such that} \quad b - A x \in K

A point of a file satisfies its equations up to rounding only. Near it is one that satisfies them exactly: the equations
have a regular matrix, as an approximate inverse shows, so that their solution exists and is known up to a radius.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from .balls import Array, Ball, U, gamma, log, semidefinite, up
from .errors import NotProven, require_proven, require_valid
from .files import Arrays, Table, keys, natural, rational, statement_digest
from .systems import Hints, Sparse, dot, eliminated, hints, joined, numbered, solved, sparse, sums, totals

__all__ = ["ConeProduct", "ConicProgram", "ConicStatement", "matrix_of"]

KINDS = ("zero", "nonnegative", "second_order", "semidefinite", "exponential", "power")
#: Largest number of rows and of variables, and of names of variables.
MOST, NAMES = 2**24, 2**12
#: Order up to which a matrix is shown to be semidefinite by elimination in fractions.
EXACT = 30
#: Rounds in which bounds of variables follow from those of others.
ROUNDS = 8


@dataclass(frozen=True)
class Point:
    """A point or dual point of a file: a vector, the spreads of its entries, and what makes it exact."""

    v: Array
    widths: Array
    hints: Hints
    #: Rows that a point makes exactly zero.
    rows: Array
    #: Numbers that a dual point adds to the diagonal of the quadratic term.
    charges: Array


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
        """Stop unless s is in K, or as a dual point in its dual cone: inside, or on a part of the border known exactly.

        Rows of the zero cone are not checked: they are zero by construction, or for a dual point any numbers.
        """
        _, line, round_, square, exponential, power = (s[start:end] for start, end in pairwise(self.stops))

        def require(holds: Any, kind: str) -> None:
            require_proven(np.all(holds), f"{what} is not proven to be in the {'dual ' * dual}{kind} cone")

        require(line.below() >= 0.0, "nonnegative")
        at = 0
        for size in self.sizes.tolist():
            own = round_[at : at + size]
            # Rows that are exactly zero are in the cone, though their norm cannot show it.
            if own.mid.any() or own.rad.any():
                require((own[0] - own[1:].norm()).below() >= 0.0, "second order")
            at += size
        at = 0
        for order in self.orders.tolist():
            rows = order * (order + 1) // 2
            own = square[at : at + rows]
            # Rows and columns that are exactly zero are left out.
            used = matrix_of(Ball((own.mid != 0.0) | (own.rad != 0.0)), order, dual).mid.any(axis=0)
            if used.any():
                M = matrix_of(own, order, dual)[np.ix_(used, used)]
                semidefinite(M, f"a {'dual ' * dual}matrix of {what}")
            at += rows
        exponential, power, alpha = self.triples(exponential, power)
        x, y, z = (exponential[at::3] for at in range(3))
        if dual:
            # u < 0 and w >= -u e^(v/u - 1): that (u - v, -u, w) is in the cone itself.
            x, y = x - y, -x
        # Divisors and arguments of logarithms are proven to be positive.
        require((y * log(z / y) - x).below() >= 0.0, "exponential")
        x, y, z = (power[at::3] for at in range(3))
        rest = Ball(1.0) - alpha
        if dual:
            x, y = x / Ball(alpha), y / rest
        size = log(Ball(np.maximum(abs(z).above(), 1e-300)))
        require((log(x) * alpha + log(y) * rest - size).below() >= 0.0, "power")

    def triples(self, exponential: Ball, power: Ball) -> tuple[Ball, Ball, Array]:
        """Triples of exponential and power cones that are not exactly zero, as zero is in each cone; and exponents."""
        kept = [np.repeat((abs(of).above().reshape(-1, 3) > 0.0).any(axis=1), 3) for of in (exponential, power)]
        return exponential[kept[0]], power[kept[1]], self.alpha[kept[1][::3]]


class ConicProgram:
    r"""The least :math:`\frac12 x^\top P x + q^\top x` with :math:`b - A x` in K.

    Its bounds hold for all b within radii. P need not be symmetric: ``S = (P + P^T) / 2`` has the same values (theorem
    13). If the first ``fixed`` entries of x are given, the least value is a function of them; else a number.
    """

    def __init__(self, table: Table, arrays: Arrays, fixed: int = 0) -> None:
        self.n, self.fixed = natural(table["variables"], "variables", max(1, fixed), MOST), fixed
        self.cones = ConeProduct(table["cones"], arrays)
        require_valid(isinstance(table["quadratic"], bool), "quadratic must be true or false")
        self.q, self.b = arrays("q", self.n), arrays("b", self.cones.rows)
        radii = spreads(arrays, "b_radii", self.cones.rows) if "b_radii" in arrays else np.zeros(self.cones.rows)
        line = slice(*self.cones.stops[1:3])
        require_valid(not np.delete(radii, line).any(), "b_radii must be zero but for rows that are not negative")
        self.within = Ball(self.b, radii)
        self.A = sparse(arrays, "a", self.cones.rows, self.n)
        self.quadratic, self.S = table["quadratic"], None
        if self.quadratic:
            P = sparse(arrays, "p", self.n, self.n)
            halves = 0.5 * P.values
            require_valid((2.0 * halves == P.values).all(), "an entry of p is too small to be halved")
            self.S = Sparse(np.tile(halves, 2), np.append(P.rows, P.columns), np.append(P.columns, P.rows), P.shape)

    def point(self, arrays: Arrays) -> Point:
        """Read a point, and how it becomes one that satisfies all equations exactly, including those of tight rows.

        Given entries move, too, if the file has spreads of them; then unknowns are numbered from the first of these.
        """
        own, zero, moves = self.n - self.fixed, self.cones.zero, self.fixed and "metric_spreads" in arrays
        x, tight = arrays("x", own), np.zeros(0, dtype=np.int64)
        if "tight" in arrays:
            tight = arrays("tight", None, integers=self.cones.rows)
            fits = len(tight) and tight[0] >= zero and (np.diff(tight) > 0).all()
            require_valid(fits, "tight must be rows of no equation in ascending order")
        rows = np.append(np.arange(zero), tight)
        widths = spreads(arrays, "x_spreads", own) if len(rows) else np.zeros(own)
        given = spreads(arrays, "metric_spreads", self.fixed) if moves else np.zeros(self.fixed)
        first = 0 if moves else self.fixed
        found = hints(arrays, "x", len(rows), self.n - first)
        found = replace(found, unknowns=found.unknowns + first)
        return Point(x, np.append(given, widths), found, rows, np.zeros(self.n))

    def dual_point(self, arrays: Arrays) -> Point:
        """Read a dual point z, followed by h and charges if there is a P, and how it becomes an exact one."""
        m, n = self.cones.rows, self.n
        z, widths, charges = arrays("z", m), spreads(arrays, "z_spreads", m), np.zeros(n)
        if self.quadratic:
            z, widths = np.append(z, arrays("h", n)), np.append(widths, spreads(arrays, "h_spreads", n))
            charges = spreads(arrays, "charges", n) if "charges" in arrays else charges
        return Point(z, widths, hints(arrays, "z", n, len(z), self.fixed), np.zeros(0, np.int64), charges)

    def feasible(self, fixed: Ball, point: Point) -> Ball:
        """Enclose a feasible point near that of the file, with its given entries."""
        M, x = self.A.of_rows(point.rows), joined(fixed, Ball(point.v))
        x = solved(M, self.b[point.rows], x, point.widths, point.hints, "point")
        require_proven(not self.within.rad[point.rows].any(), "a tight row has a radius")
        slack = self.within - self.A @ x
        slack.mid[point.rows] = slack.rad[point.rows] = 0.0
        alone = np.setdiff1d(np.arange(len(self.b)), self.A.rows)
        slack.mid[alone], slack.rad[alone] = self.b[alone], self.within.rad[alone]
        self.cones.contain(slack, "the slack")
        return x

    def value(self, fixed: Ball, point: Point) -> Ball:
        """Value at a feasible point near that of the file."""
        x = self.feasible(fixed, point)
        value = dot(self.q, x)
        return value if self.S is None else value + (x * (self.S @ x)).sum() * 0.5

    def minorant(self, point: Point) -> tuple[Ball, Ball]:
        """Slope and constant of a lower bound that is linear in the given entries of x, by a dual point."""
        m, k, G = self.cones.rows, self.fixed, self.A.T
        S = None if self.S is None else self.charged(self.S, point.charges)
        if S is not None:
            G = Sparse(
                np.append(G.values, S.values), np.append(G.rows, S.rows), np.append(G.columns, S.columns + m),
                (self.n, m + self.n),
            )  # fmt: skip
        own = replace(point.hints, **{name: getattr(point.hints, name) - k for name in ("follow", "equations")})
        own = replace(own, relation=own.relation.some(np.arange(len(own.relation.rows)), np.arange(self.n) - k))
        found = solved(G.of_rows(np.arange(k, self.n)), -self.q[k:], Ball(point.v), point.widths, own, "dual point")
        # Rows come first, and then h.
        self.cones.contain(found, "the dual point", dual=True)
        constant, h = -dot(self.b, found), found[m:]
        # Multipliers of rows with a radius are not negative.
        constant = constant - (found[:m] * self.within.rad).sum()
        if S is not None:
            self.convex(S)
            constant = constant - (h * (S @ h)).sum() * 0.5 - self.charge(point.charges)
        return Ball(self.q[:k]) + (G @ found)[:k], constant

    @staticmethod
    def charged(S: Sparse, charges: Array) -> Sparse:
        """``S + diag(charges)``."""
        at = np.flatnonzero(charges)
        return Sparse(np.append(S.values, charges[at]), np.append(S.rows, at), np.append(S.columns, at), S.shape)

    @staticmethod
    def convex(S: Sparse) -> None:
        """Stop unless S is positive semidefinite; for a variable without off-diagonal entries by its diagonal entry."""
        coupled, n = np.zeros(S.shape[0], dtype=bool), S.shape[0]
        coupled[S.rows[S.rows != S.columns]] = True
        alone = ~coupled[S.rows]
        diagonal = sums(Ball(S.values[alone]), S.rows[alone], n)
        require_proven(np.all(diagonal.below() >= 0.0), "the quadratic term is not proven to be positive semidefinite")
        number = numbered(np.flatnonzero(coupled), n)
        together = S.some(coupled[S.rows], number, number)
        if coupled.any():
            try:
                semidefinite(together.dense(), "the quadratic term")
            except NotProven:
                # A singular matrix may be semidefinite exactly.
                if coupled.sum() > EXACT or not exactly_semidefinite(together):
                    raise

    def charge(self, charges: Array) -> Ball:
        """Upper bound on half the sum of ``charges x^2`` over all feasible points (theorem 18)."""
        at = np.flatnonzero(charges)
        if not at.size:
            return Ball(0.0)
        reach = self.reach()[at]
        require_proven(np.isfinite(reach).all(), "a variable that is charged is not proven to be bounded")
        return (Ball(reach) * Ball(reach) * Ball(charges[at])).sum() * 0.5

    def reach(self) -> Array:
        """Upper bounds on the sizes of variables, from linear rows and pairs of rows of second-order cones."""
        i, j, a, b = self.lines()
        terms, low, high = np.bincount(i, minlength=len(b)), np.full(self.n, -np.inf), np.full(self.n, np.inf)
        for _ in range(ROUNDS):
            least = np.where(a > 0.0, a * low[j], a * high[j])
            open_end = ~np.isfinite(least)
            known = np.where(open_end, 0.0, least)
            whole, sizes = totals(known, i, len(b)), totals(np.abs(known), i, len(b))
            most = (b[i] - (whole[i] - known) + up(gamma(terms + 3) * sizes)[i]) / np.abs(a)
            # The other entries are at ends of their ranges. Three more roundings are relative to the result.
            others = totals(open_end, i, len(b))[i] - open_end == 0
            most = np.where(others, most + up(4.0 * U * np.abs(most)), np.inf)
            above, below = np.full((2, self.n), np.inf)
            np.minimum.at(above, j[a > 0.0], most[a > 0.0])
            np.minimum.at(below, j[a < 0.0], most[a < 0.0])
            low, high = np.maximum(low, -below), np.minimum(high, above)
        return np.maximum(np.abs(low), np.abs(high))

    def lines(self) -> tuple[Array, Array, Array, Array]:
        """Linear inequalities of all feasible x: entries by their lines, variables and values, and right-hand sides."""
        zero, line, m = self.cones.zero, self.cones.stops[2], self.cones.rows
        starts = line + np.cumsum(self.cones.sizes) - self.cones.sizes
        heads = np.repeat(starts, self.cones.sizes)
        tails = line + np.arange(len(heads))
        heads, tails = heads[tails > heads], tails[tails > heads]
        own = np.append(np.arange(line), np.arange(zero))
        count, pairs = len(own), np.arange(len(own), len(own) + 2 * len(tails))
        signs = np.repeat([1.0, -1.0], [line, zero])
        chosen = Sparse(
            np.concatenate([signs, np.ones(len(pairs)), np.repeat([1.0, -1.0], len(tails))]),
            np.concatenate([np.arange(count), pairs, pairs]), np.concatenate([own, heads, heads, tails, tails]),
            (count + len(pairs), m),
        )  # fmt: skip
        values, i, j = eliminated(chosen, Ball(np.ones(m)), self.A)
        used = values.mid != 0.0
        return i[used], j[used], values.mid[used], (chosen @ self.within).above()


class ConicStatement:
    """The statement of a file that is a conic program, proven like a :class:`~.proofs.Problem`, as one row.

    With ``maximise`` its value is the constant less the least value of the program.
    """

    wanted, optional, dual_keys = "kind variables cones quadratic maximise columns", "constant", ""

    def __init__(self, document: Table, arrays: Arrays) -> None:
        table = self.table = document["problem"]
        require_valid(isinstance(table["maximise"], bool), "maximise must be true or false")
        self.constant = rational(table.get("constant", "0"), "constant")
        self.program = ConicProgram(table, arrays)
        named_columns(table["columns"], self.program.n)
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
        """Enclose the upper bound: the value at the point or, for a maximum, the bound of the dual point."""
        if self.table["maximise"]:
            return -self.program.minorant(points[1])[1]
        return self.program.value(Ball(np.zeros(0)), points[0])

    def dual(self, table: Table, arrays: Arrays) -> Ball:
        """Enclose the lower bound: the bound of the dual point or, for a maximum, the value at the point."""
        point, dual_point = self.read(table, arrays)[0]
        if self.table["maximise"]:
            return -self.program.value(Ball(np.zeros(0)), point)
        return self.program.minorant(dual_point)[1]

    def cost(self, risk: Any, points: tuple[Point, Point], given: None) -> Ball:
        """Value of the one row."""
        return self.value(points)

    def upper(self, value: Ball, points: tuple[Point, Point], given: None) -> Fraction:
        """Upper bound without the constant."""
        return value.upper()

    def lower(self, value: Ball, share: None, given: None, upper: Fraction | None) -> Fraction:
        """Lower bound without the constant."""
        return value.lower()


def exactly_semidefinite(S: Sparse) -> bool:
    """Whether elimination in fractions shows that a symmetric matrix is positive semidefinite."""
    rows: list[dict[int, Fraction]] = [{} for _ in range(S.shape[0])]
    for i, j, value in zip(S.rows.tolist(), S.columns.tolist(), S.values.tolist(), strict=True):
        rows[i][j] = rows[i].get(j, Fraction(0)) + Fraction(value)
    for k, row in enumerate(rows):
        # Of pivots before it no entry is left.
        entries, pivot = {j: value for j, value in row.items() if value}, row.get(k, Fraction(0))
        if pivot < 0 or (pivot == 0 and entries):
            return False
        for i, factor in entries.items():
            for j, value in entries.items():
                rows[i][j] = rows[i].get(j, Fraction(0)) - factor / pivot * value
    return True


def matrix_of(entries: Ball, order: int, dual: bool) -> Ball:
    """The symmetric matrix of its entries i >= j, column by column; those of a dual point count twice off the diagonal.

    Column by column below the diagonal is row by row above it.
    """
    i, j = np.triu_indices(order)
    own, (mid, rad) = entries * np.where(i == j, 1.0, 0.5) if dual else entries, np.zeros((2, order, order))
    mid[i, j] = mid[j, i] = own.mid
    rad[i, j] = rad[j, i] = own.rad
    return Ball(mid, rad)


def spreads(arrays: Arrays, name: str, length: int) -> Array:
    """Read numbers that are not negative."""
    found = arrays(name, length)
    require_valid((found >= 0.0).all(), f"{name} must not be negative")
    return found


def named_columns(columns: Any, n: int) -> None:
    """Check the map from variables to columns: names with a first column and a number of columns, in their order."""
    fits = isinstance(columns, list) and len(columns) <= NAMES
    require_valid(fits, f"columns must be a list of at most {NAMES} variables")
    end = 0
    for own in columns:
        known = (
            isinstance(own, list) and len(own) == 3 and isinstance(own[0], str) and re.fullmatch("[ -~]{1,200}", own[0])
        )
        require_valid(known, "columns: a variable has a name, a first column and a number of columns")
        end = natural(own[1], "columns: the first", end) + natural(own[2], "columns: the number")
        require_valid(end <= n, "columns: a variable has columns beyond the last")
