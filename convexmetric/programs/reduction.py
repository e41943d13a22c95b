"""Presolve of a conic program, and what makes a solver's answers exact for the whole program: relations and pivots.

Statements and proofs are about the whole program. A solver does better without equations that follow from others,
without variables that cost nothing and only relax constraints, and with one variable for those that matter only by
their sum. Nothing here is trusted: relations are checked in fractions by the kernel, and a point of the reduced program
is mapped back to a point of the whole.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from numpy.typing import NDArray

from convexmetric.programs.canonical import Cones, Program

Array = NDArray[np.float64]

#: Fraction of the largest pivot that counts as zero, after rows and columns have been scaled to about one.
ALIKE = 1e-9
#: Most equations, none with a variable of its own, among which dependent ones are sought; most that are combined by
#: elimination in fractions if rounded weights are not exact.
CORE, EXACT = 2500, 40
#: Largest denominator of weights that are guessed, and largest weight that is a float.
GUESSED, WHOLE = 1000, 2**53
#: No more pivots are sought if at most this many equations are left; most entries of an equation that then gets one.
SMALL, LONG = 256, 64


class Contradiction(Exception):  # noqa: N818 - of the equations, not of the program that finds it
    """Raised when equations contradict each other exactly, as their combination with ``weights`` shows."""

    def __init__(self, weights: dict[int, Fraction]) -> None:
        super().__init__("the equations contradict each other")
        self.weights = weights


@dataclass(frozen=True)
class Relations:
    """Equations that follow from others, and for each a column of weights of a combination that is zero."""

    follow: Any
    weights: Any

    def arrays(self, name: str, first: int = 0) -> dict[str, Any]:
        """Return the arrays of a file, for equations numbered from ``first`` on."""
        if not len(self.follow):
            return {}
        sorted_weights = sp.csc_array(self.weights)
        sorted_weights.sort_indices()
        stored = sp.coo_array(sorted_weights)
        entries = {"values": stored.data, "rows": stored.row + first, "columns": stored.col}
        found = {f"{name}_relation_{part}": of for part, of in entries.items()}
        return {f"{name}_follow": self.follow + first} | found


def relations(M: Any, target: Array, strict: bool = True) -> Relations:
    """Find linear relations of the equations ``M y = target`` that are exact in fractions.

    Raises
    ------
    Contradiction
        If ``strict`` and a combination of equations is ``0 = 1``; if not ``strict``, it is no relation.
    """
    M = sp.csr_array(M)
    M.sort_indices()
    exact, found = _Exact(M, target, strict), dict[int, dict[int, Fraction]]()
    sizes = np.diff(M.indptr)
    for i in np.flatnonzero((sizes == 0) & (target != 0.0)).tolist():
        exact.vanishes({i: Fraction(1)})
    of_pairs = {f: weights for f, weights in _proportional(M) if exact.vanishes(weights)}
    left = np.setdiff1d(np.flatnonzero(sizes), list(of_pairs))
    found.update(_dependent(M, _core(M, left), exact))
    for f, weights in of_pairs.items():
        other = next(k for k in weights if k != f)
        again = found.get(other)
        own = weights if again is None else _whole(_less(weights, again, weights[other] / again[other]))
        if own:
            found[f] = own
    follow = np.array(sorted(found), dtype=np.int64)
    made = sp.dok_array((M.shape[0], len(follow)))
    for column, f in enumerate(follow.tolist()):
        for i, weight in found[f].items():
            made[i, column] = float(weight)
    return Relations(follow, sp.csc_array(made))


class _Exact:
    """Combinations of equations in fractions."""

    def __init__(self, M: Any, target: Array, strict: bool) -> None:
        self.M, self.target, self.strict = M, target, strict

    def row(self, i: int) -> dict[int, Fraction]:
        """Return the entries of a row by column; column -1 is its right-hand side."""
        own = slice(self.M.indptr[i], self.M.indptr[i + 1])
        entries = zip(self.M.indices[own].tolist(), self.M.data[own].tolist(), strict=True)
        return {j: Fraction(value) for j, value in entries} | {-1: Fraction(float(self.target[i]))}

    def vanishes(self, weights: dict[int, Fraction]) -> bool:
        """Whether the combinations of left sides and of right sides are both zero.

        Raises
        ------
        Contradiction
            If ``strict`` and only that of left sides is zero.
        """
        parallel, off = self.combined(weights)
        if not parallel:
            return False
        if off and self.strict:
            raise Contradiction(weights)
        return not off

    def combined(self, weights: dict[int, Fraction]) -> tuple[bool, Fraction]:
        """Return whether the combination of left sides is zero, and the value of that of right sides."""
        sums = defaultdict[int, Fraction](Fraction)
        for i, weight in weights.items():
            for j, value in self.row(i).items():
                sums[j] += weight * value
        off = sums.pop(-1, Fraction(0))
        return not any(sums.values()), off

    def combination(self, f: int, others: list[int]) -> dict[int, Fraction] | None:
        """Return weights with which a row and others sum to zero, by elimination; None if there are none."""
        basis: list[tuple[int, dict[int, Fraction], dict[int, Fraction]]] = []
        for i in [*others, f]:
            row, made = self.row(i), {i: Fraction(1)}
            for pivot, own, weights in basis:
                if factor := row.get(pivot, Fraction(0)):
                    row = _less(row, own, factor)
                    made = _less(made, weights, factor)
            first = next((j for j, value in row.items() if j >= 0 and value), None)
            if i == f:
                return None if first is not None else made
            if first is not None:
                scale = 1 / row[first]
                own, weights = ({j: v * scale for j, v in of.items()} for of in (row, made))
                basis.append((first, own, weights))
        return None


def _less(one: dict[int, Fraction], other: dict[int, Fraction], factor: Fraction) -> dict[int, Fraction]:
    return one | {j: one.get(j, Fraction(0)) - factor * value for j, value in other.items()}


def _proportional(M: Any) -> Iterable[tuple[int, dict[int, Fraction]]]:
    """Yield rows that are, up to rounding, multiples of earlier rows, with weights with which the two would cancel."""
    seen: dict[Any, int] = {}
    for i in np.flatnonzero(np.diff(M.indptr)).tolist():
        own = slice(M.indptr[i], M.indptr[i + 1])
        values = M.data[own]
        with np.errstate(all="ignore"):
            key = (M.indices[own].tobytes(), (values / values[0]).astype(np.float32).tobytes())
        k = seen.setdefault(key, i)
        if k != i:
            yield i, {k: -Fraction(values[0]), i: Fraction(M.data[M.indptr[k]])}


def _core(M: Any, rows: Any) -> Any:
    """Drop rows with a column that no other row has, repeatedly; return the rest."""
    while len(rows):
        own = M[rows]
        alone = np.bincount(own.indices, minlength=M.shape[1]) == 1
        has = np.add.reduceat(alone[own.indices], own.indptr[:-1]) > 0
        if not has.any():
            break
        rows = rows[~has]
    return rows


def _dependent(M: Any, rows: Any, exact: _Exact) -> Iterable[tuple[int, dict[int, Fraction]]]:
    """Yield rows that depend on others, found by a factorization in floats, with weights exact in fractions."""
    if not 1 < len(rows) <= CORE:
        return
    E = M[rows].toarray()
    heights = np.ldexp(1.0, -np.frexp(np.abs(E).max(axis=1))[1])
    E *= heights[:, None]
    E = E[:, E.any(axis=0)]
    E /= np.ldexp(1.0, np.frexp(np.abs(E).max(axis=0))[1])
    if E.shape[1] > 2 * len(E):
        # Random signs preserve dependence, and nearly always independence.
        E = E @ np.random.default_rng(0).choice([-1.0, 1.0], (E.shape[1], len(E) + 20))
    R, order = la.qr(E.T, mode="r", pivoting=True)[0:2]
    R = R[: min(R.shape)]
    rank = int((np.abs(R.diagonal()) > ALIKE * abs(R[0, 0])).sum())
    basis = order[:rank]
    parts = la.solve_triangular(R[:rank, :rank], R[:rank, rank:])
    for c, f in zip(parts.T, order[rank:], strict=True):
        guess = {int(rows[f]): Fraction(float(heights[f]))}
        near = [Fraction(float(value)).limit_denominator(GUESSED) for value in c]
        guess |= {int(rows[k]): -w * Fraction(float(heights[k])) for k, w in zip(basis, near, strict=True) if w}
        used = [int(rows[k]) for k, value in zip(basis, c, strict=True) if abs(value) > ALIKE]
        weights: dict[int, Fraction] | None = guess
        if not exact.vanishes(guess):
            weights = exact.combination(int(rows[f]), used) if len(used) <= EXACT else None
            weights = weights if weights and exact.vanishes(weights) else None
        if weights is not None and (floats := _whole(weights)):
            yield int(rows[f]), floats


def _whole(weights: dict[int, Fraction]) -> dict[int, Fraction] | None:
    """Return a common multiple of the weights in which all are floats; None if there is none."""
    common = math.lcm(*(weight.denominator for weight in weights.values()))
    made = {i: weight * common for i, weight in weights.items() if weight}
    divisor = math.gcd(*(weight.numerator for weight in made.values()))
    made = {i: weight / divisor for i, weight in made.items()}
    return made if all(Fraction(float(weight)) == weight for weight in made.values()) else None


# Reduced programs -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reduction:
    """A program reduced for a solver, and the way back to the whole program.

    Attributes
    ----------
    whole, program : Program
        The whole program, and the reduced one.
    equations : ndarray of int
        Rows of the whole that are equations: those of the zero cone, then inequalities that are held tight.
    rows : ndarray of int
        Rows that are left, those of equations first.
    groups : ndarray of int
        For each variable the one of the reduced program in whose sum it is, or -1.
    idle : list of tuple
        Variables that cost nothing and relax all their rows in one direction, in the order in which they were found,
        each with that direction and its rows.
    loose : ndarray of bool
        Rows without effect: those of idle variables, and rows such as ``0 <= 1``.
    of_point, of_dual : Relations
        Relations of the equations of points, and of those of dual points, which correspond to the variables.
    """

    whole: Program
    program: Program
    equations: Any
    rows: Any
    groups: Any
    idle: list[tuple[int, float, Any]]
    loose: Any
    of_point: Relations
    of_dual: Relations

    def point(self, x: Array) -> Array:
        """Return the point of the whole; idle variables relax their rows as far as needed."""
        return self.with_room(self.spread(x))

    def spread(self, x: Array) -> Array:
        """Return entries for the whole; variables that matter only by their sum get equal ones."""
        counts = np.bincount(self.groups + 1, minlength=len(x) + 1)[1:]
        full: Array = np.append(x / np.maximum(counts, 1), 0.0)[self.groups]
        return full

    def with_room(self, x: Array) -> Array:
        """Return the point with idle variables moved so far that their rows have slack."""
        if not self.idle:
            return x
        made, A = np.array(x), sp.csc_array(self.whole.A)
        slack = self.whole.b - A @ made
        for j, way, rows in reversed(self.idle):
            entries = slice(A.indptr[j], A.indptr[j + 1])
            own, values = A.indices[entries], A.data[entries]
            asked = np.isin(own, rows) & (slack[own] < ALIKE * (1.0 + np.abs(self.whole.b[own])))
            room = 1.0 + np.abs(self.whole.b[own[asked]])
            steps = (room - slack[own[asked]]) / np.abs(values[asked])
            step = way * max(0.0, float(steps.max(initial=0.0)))
            made[j] += step
            slack[own] -= values * step
        return made

    def margins(self, s: Array, dual: bool = False) -> Array:
        """Approximate distance of every entry from the border of its cone; infinite for equations.

        For loose rows of points it is the slack, or infinite if they have no variables; for those of dual points it is
        infinite.
        """
        found: Array = np.full(len(s), np.inf)
        found[self.rows] = self.program.cones.margins(s[self.rows], dual)
        if not dual:
            found[self.loose] = s[self.loose]
            found[self.loose & self._empty] = np.inf
        return found

    @cached_property
    def _empty(self) -> Any:
        return np.diff(sp.csr_array(self.whole.A).indptr) == 0

    def dual(self, z: Array, h: Array) -> tuple[Array, Array]:
        """Return the dual point of the whole."""
        full: Array = np.zeros(len(self.whole.b))
        full[self.rows] = z
        return full, self.spread(h)


def reduced(whole: Program, tight: Any = (), fixed: int = 0, cones: bool = False) -> Reduction:
    """Reduce a program, with the rows ``tight`` held as equations; the first ``fixed`` variables stay.

    With ``cones`` rows without effect are left out of all cones, as their multipliers may be zero; without it, only
    inequalities are. Points can be mapped back only if no other cones lost rows.

    Raises
    ------
    Contradiction
        If equations, or an inequality without variables, contradict each other exactly.
    """
    tight = np.asarray(tight, dtype=np.int64)
    A, equations = sp.csr_array(whole.A), np.append(np.arange(whole.cones.zero), tight)
    idle, loose, left_out = _idle(whole, equations, fixed, cones)
    of_point = relations(A[equations], whole.b[equations])
    others = np.flatnonzero(~left_out[fixed:]) + fixed
    M = sp.hstack([A.T, whole.P, whole.P.T]).tocsr()[others]
    found = relations(M, -whole.q[others], strict=False)
    weights = sp.csc_array((len(whole.q), len(found.follow)))
    if len(found.follow):
        stored = sp.coo_array(found.weights)
        weights = sp.csc_array((stored.data, (others[stored.row], stored.col)), shape=weights.shape)
    of_dual = Relations(others[found.follow], weights)
    own = np.setdiff1d(np.arange(len(equations)), of_point.follow)
    own = equations[own[np.diff(A.indptr)[equations[own]] > 0]]
    rest = np.setdiff1d(np.arange(whole.cones.zero, len(whole.b)), np.append(tight, np.flatnonzero(loose)))
    stays = ~left_out
    stays[of_dual.follow] = False
    groups = np.where(stays, np.cumsum(stays) - 1, -1)
    for k, f in enumerate(of_dual.follow.tolist()):
        column = slice(of_dual.weights.indptr[k], of_dual.weights.indptr[k + 1])
        pair = of_dual.weights.indices[column]
        if len(pair) == 2 and of_dual.weights.data[column].sum() == 0.0:
            groups[f] = groups[pair[pair != f][0]]
    columns, rows = np.flatnonzero(stays), np.append(own, rest)
    product = replace(without(whole.cones, np.append(tight, np.flatnonzero(loose))), zero=len(own))
    P = sp.csc_array(whole.P)[columns][:, columns]
    program = Program(P, whole.q[columns], sp.csc_array(A[rows][:, columns]), whole.b[rows], product)
    return Reduction(whole, program, equations, rows, groups, idle, loose, of_point, of_dual)


def without(cones: Cones, lost: Any) -> Cones:
    """Return the cones without lost rows: matrices lose rows and columns, second-order cones entries."""
    gone, sizes = set(lost.tolist()), dict[str, list[int]]({"second order": [], "matrix": []})
    for kind, _, rows in cones.blocks():
        left = sum(row not in gone for row in range(rows.start, rows.stop))
        size = left if kind == "second order" else (math.isqrt(8 * left + 1) - 1) // 2
        sizes[kind] += [size] if size else []
    zero, nonnegative = (sum(row not in gone for row in range(of.start, of.stop)) for of in cones.slices[:2])
    heads = [np.arange(triples.start, triples.stop, 3) for triples in cones.slices[4:]]
    kept = [np.array([row not in gone for row in own.tolist()], dtype=bool) for own in heads]
    return replace(
        cones, zero=zero, nonnegative=nonnegative,
        second_order=tuple(sizes["second order"]), semidefinite=tuple(sizes["matrix"]),
        exponential=int(kept[0].sum()), powers=tuple(np.array(cones.powers)[kept[1]].tolist()),
    )  # fmt: skip


def _idle(whole: Program, equations: Any, fixed: int, cones: bool) -> tuple[list[tuple[int, float, Any]], Any, Any]:
    """Find idle variables; return them, loose rows and a mask of idle variables; inequalities only unless ``cones``."""
    A = sp.csc_array(whole.A)
    columns = np.repeat(np.arange(len(whole.q)), np.diff(A.indptr))
    ways, together = _ways(whole, cones)
    ways[equations] = 0.0
    loose = (ways > 0.0) & (np.diff(sp.csr_array(A).indptr) == 0)
    loose[whole.cones.slices[1].stop :] = False
    if (whole.b[loose] < 0.0).any():
        raise Contradiction({int(np.flatnonzero(loose & (whole.b < 0.0))[0]): Fraction(1)})
    free = (whole.q == 0.0) & (np.diff(sp.csc_array(whole.S).indptr) == 0)
    free[:fixed] = False
    found, left_out = list[tuple[int, float, Any]](), np.zeros(len(whole.q), dtype=bool)
    while True:
        # The direction in which a variable increases the slack of a row.
        way = np.where(loose[A.indices], 0.0, -A.data * ways[A.indices])
        closed = ~loose[A.indices] & (ways[A.indices] == 0.0)
        up, down, shut = (np.bincount(columns[of], minlength=len(free)) > 0 for of in (way > 0.0, way < 0.0, closed))
        new = free & ~left_out & ~shut & ~(up & down)
        if not new.any():
            return found, loose, left_out
        for j in np.flatnonzero(new).tolist():
            own = slice(A.indptr[j], A.indptr[j + 1])
            rows = A.indices[own][way[own] != 0.0]
            found.append((j, 1.0 if up[j] else -1.0, rows))
            for row in rows.tolist():
                loose[together.get(row, [row])] = True
        left_out |= new


def _ways(whole: Program, cones: bool) -> tuple[Array, dict[int, Any]]:
    """Mark rows in which a larger slack stays in its cone (1, others 0); return also the rows that belong to each.

    If the multiplier of a marked row is zero, then so are, or may be, those of all rows that belong to it: of its cone,
    or of its row and column of a matrix.
    """
    _, line, _, _, exponential, power = whole.cones.slices
    ways, together = np.zeros(len(whole.b)), dict[int, Any]()
    ways[line] = 1.0
    if not cones:
        return ways, together
    for kind, size, own in whole.cones.blocks():
        if kind == "second order":
            ways[own.start] = 1.0
            together[own.start] = np.arange(own.start, own.stop)
            continue
        i, j = np.triu_indices(size)
        for k, row in enumerate((own.start + np.flatnonzero(i == j)).tolist()):
            ways[row] = 1.0
            together[row] = own.start + np.flatnonzero((i == k) | (j == k))
    for triples, its in ((exponential, (0.0, 0.0, 1.0)), (power, (1.0, 1.0, 0.0))):
        ways[triples] = np.tile(its, (triples.stop - triples.start) // 3)
        for row in range(triples.start, triples.stop):
            first = row - (row - triples.start) % 3
            together[row] = np.arange(first, first + 3)
    return ways, together


# Pivots ---------------------------------------------------------------------------------------------------------------


def pivots(M: Any, sizes: Array) -> tuple[Any, Any]:
    """Choose equations of a matrix and for each an unknown to solve it for, which no other chosen equation has.

    Unknowns with sizes of zero are fixed. Unknowns that are in one equation only are chosen first, the largest of each
    equation; then, if many equations are left, unknowns of short ones.
    """
    M = sp.csr_array(M)
    rows = np.repeat(np.arange(M.shape[0]), np.diff(M.indptr))
    weights = np.abs(M.data) * sizes[M.indices]
    alone = (np.bincount(M.indices, minlength=M.shape[1]) == 1)[M.indices] & (weights > 0.0)
    order = np.flatnonzero(alone)[np.argsort(-weights[alone], kind="stable")]
    equations, first = np.unique(rows[order], return_index=True)
    unknowns = M.indices[order[first]].astype(np.int64)
    if M.shape[0] - len(equations) <= SMALL:
        return equations, unknowns
    # Of the other equations, one is solved for an unknown that no chosen equation has, if it has no chosen unknown.
    taken, touched = np.zeros(M.shape[1], dtype=bool), np.zeros(M.shape[1], dtype=bool)
    taken[unknowns] = True
    touched[M[equations].indices] = True
    lengths = np.diff(M.indptr)
    short = np.argsort(lengths, kind="stable")
    more: list[tuple[int, int]] = []
    for i in short[~np.isin(short, equations)].tolist():
        own = slice(M.indptr[i], M.indptr[i + 1])
        its = M.indices[own]
        if lengths[i] > LONG or taken[its].any():
            continue
        fits = np.where(touched[its], 0.0, weights[own])
        if fits.max(initial=0.0) > 0.0:
            more.append((i, int(its[fits.argmax()])))
            taken[more[-1][1]] = True
            touched[its] = True
    if more:
        equations, unknowns = (
            np.append(one, of) for one, of in zip((equations, unknowns), zip(*more, strict=True), strict=True)
        )
    return equations, unknowns


def definitions(E: Any, unknowns: Any) -> tuple[Any, Any]:
    """Find equations with exactly one of the unknowns, each a different one; return them and the unknowns' columns."""
    own = sp.csr_array(E[:, unknowns])
    equations, found = pivots(own, np.ones(len(unknowns)))
    alone = np.diff(own.indptr)[equations] == 1
    return equations[alone], unknowns[found[alone]]


# Rows without slack ---------------------------------------------------------------------------------------------------


def charged(whole: Program, charges: Array) -> Program:
    """Return the program with charges added to the diagonal of its quadratic term."""
    return replace(whole, P=sp.csc_array(whole.P + sp.diags_array(charges))) if charges.any() else whole


def opposite(whole: Program) -> Any:
    """Find inequalities that hold with equality, as they bound a linear function from both sides by the same number.

    Raises
    ------
    Contradiction
        If the bounds exclude every number.
    """
    A, line = sp.csr_array(whole.A), whole.cones.slices[1]
    rows = np.arange(line.stop)
    ends = defaultdict[int, list[tuple[int, Fraction]]](list)
    part = A[: line.stop]
    part.sort_indices()
    for i, weights in _proportional(part):
        base = next(k for k in weights if k != i)
        # Row i is this multiple of the base.
        ends[base].append((i, -weights[base] / weights[i]))
    exact, found = _Exact(part, whole.b[rows], True), list[int]()
    for base, others in ends.items():
        own = [(base, Fraction(1)), *others]
        sides: dict[int, list[tuple[Fraction, int]]] = {1: [], -1: []}
        for i, factor in own:
            end = Fraction(float(whole.b[i])) / factor
            for side in (1, -1) if i < whole.cones.zero else (1 if factor > 0 else -1,):
                sides[side].append((end, i))
        if not (sides[1] and sides[-1]) or min(sides[1])[0] > max(sides[-1])[0]:
            continue
        (high, i), (low, k) = min(sides[1]), max(sides[-1])
        factors = dict(own)
        combination = {i: 1 / factors[i], k: -1 / factors[k]} if i != k else {}
        if not combination or not exact.combined(combination)[0]:
            continue
        if high < low:
            raise Contradiction(combination)
        found += [row for row, factor in own if row >= line.start and Fraction(float(whole.b[row])) / factor == high]
    return np.array(sorted(set(found)), dtype=np.int64)
