"""Regularizers, and what each has to show of a dual point (theorems 6, 7 and 9)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from .balls import Array, Ball, exactly, semidefinite
from .errors import demand, show
from .files import Arrays, Table, entry, keys, natural, positive, rational

__all__ = ["REGULARIZERS"]


class Norm:
    """A weight times the trace, the Frobenius norm, or half of its square; or zero, a trace of no weight.

    Every regularizer has ``value``, Omega at a factor of a metric, or at weights; ``given``, what a file proves its
    share by, with the keys ``parameters``; and ``bound``, below ``v - <A, M> + Omega(M)`` for all metrics M of
    ``Omega(M) <= most`` (theorems 6 and 7).
    """

    def __init__(self, table: Table, arrays: Arrays, diagonal: bool, d: int, points: Array) -> None:
        self.weight, self.kind = Ball(0.0), "trace"
        if table["kind"] == "zero":
            keys(table, "regularizer", "kind")
        else:
            keys(table, "regularizer", "kind weight", "over_root_of")
            root = Ball(float(natural(table.get("over_root_of", 1), "over_root_of", 1))).sqrt()
            self.weight, self.kind = Ball.of(positive(table["weight"], "weight")) / root, table["kind"]
        self.diagonal, self.d, self.parameters = diagonal, d, "" if diagonal or self.kind == "trace" else "shift"

    def value(self, B: Ball) -> Ball:
        if self.kind == "trace":
            return (B if self.diagonal else B * B).sum() * self.weight
        M = B if self.diagonal else B @ B.T
        return M.norm() * self.weight if self.kind == "frobenius" else (M * M).sum() * self.weight * 0.5

    def given(self, table: Table, arrays: Arrays) -> Ball | None:
        if not self.parameters:
            return None
        F, shift = Ball(arrays("cap", None, self.d)), Ball.of(rational(table["shift"], "dual: shift"))
        return F.T @ F + Ball(np.eye(self.d)) * shift

    def bound(self, v: Fraction, A: Ball, given: Ball | None, most: Fraction | None) -> Fraction:
        weight = self.weight.lower()
        if self.diagonal:
            P = Ball(np.maximum(A.above(), 0.0))
            size = exactly(P.mid.max()) if self.kind == "trace" else P.norm().upper()
        else:
            P = Ball(np.eye(self.d)) * self.weight if given is None else given
            size = weight if given is None else P.norm().upper()
            semidefinite(P - A if self.weight.mid else -A, "the cap less the dual matrix")
        if self.kind == "squared frobenius":
            return v - size * size / (2 * weight)
        show(size <= weight, "the dual point is not feasible: its cap exceeds the weight of the regularizer")
        return v


class QuadraticForm:
    """Half a quadratic form L of diagonal metrics: whether it is convex by itself, and its nonzero rows."""

    def __init__(self, table: Table, arrays: Arrays, diagonal: bool, d: int, points: Array) -> None:
        keys(table, "regularizer", "kind of")
        demand(diagonal, "regularizer: a quadratic form on full metrics")
        self.convex = table["of"] == "gram of A"
        self.d, self.parameters = d, "" if self.convex else "lack"
        if self.convex:
            # (A^T A) o (A^T A) is positive semidefinite by Schur's theorem.
            A = Ball(arrays("gram_of", None, d))
            self.L = (A.T @ A) * (A.T @ A)
            return
        known = table["of"] == "matrix" or (table["of"] == "squared points" and points is not None)
        demand(known, "regularizer: of 'gram of A', 'matrix' or, where the risk is no sum, 'squared points'")
        given = points if table["of"] == "squared points" else arrays("form", d, d)
        fits = given.shape == (d, d) and (given == given.T).all() and (given is points or (given >= 0.0).all())
        demand(fits, "regularizer: the matrix must be symmetric, without negative entries")
        self.L = Ball(given) * given if given is points else Ball(given)
        self.rows = np.flatnonzero(given.any(axis=0))

    def value(self, B: Ball) -> Ball:
        w = B[:, None]
        return (w * (self.L @ w)).sum() * 0.5

    def given(self, table: Table, arrays: Arrays) -> tuple[Ball, Fraction]:
        return Ball(arrays("z", self.d)[:, None]), Fraction(0) if self.convex else rational(table["lack"], "dual: lack")

    def bound(self, v: Fraction, A: Ball, given: tuple[Ball, Fraction], most: Fraction | None) -> Fraction:
        z, lack = given
        reach = self.L @ z
        show(np.all(reach.below()[:, 0] >= A.above()), "z does not have L z >= S - G")
        left = v - (z * reach).sum().upper() / 2
        if self.convex:
            return left
        show(lack >= 0 and most is not None, "a form that may lack convexity wants an upper bound, and no G")
        semidefinite(self.L + Ball(np.eye(self.d)) * Ball.of(lack), "the quadratic form with what it lacks")
        diagonal = self.L[self.rows, self.rows].below()
        show((diagonal > 0.0).all(), "the quadratic form has a zero on its diagonal")
        least = exactly(diagonal.min(initial=1.0))
        return left - lack * (2 * (most or 0) / least + z[self.rows].norm().upper() ** 2)


NORMS: dict[str, Any] = dict.fromkeys(("zero", "trace", "frobenius", "squared frobenius"), Norm)


class Entrywise:
    """A weight times the sum of the sizes of all entries, or of those off the diagonal, beside a norm (theorem 9)."""

    def __init__(self, table: Table, arrays: Arrays, diagonal: bool, d: int, points: Array) -> None:
        keys(table, "regularizer", "kind weight diagonal rest")
        demand(not diagonal and isinstance(table["diagonal"], bool), "regularizer: entries are those of full metrics")
        self.weight, self.all = positive(table["weight"], "weight"), table["diagonal"]
        self.rest = entry(NORMS, table["rest"], "rest")(table["rest"], arrays, diagonal, d, points)
        self.d, self.parameters = d, self.rest.parameters

    @property
    def counts(self) -> Array:
        """Which entries count, as ones."""
        return np.ones((self.d, self.d)) if self.all else 1.0 - np.eye(self.d)

    def value(self, B: Ball) -> Ball:
        sizes: Ball = (abs(B.T @ B) * self.counts).sum() * Ball.of(self.weight) + self.rest.value(B)
        return sizes

    def given(self, table: Table, arrays: Arrays) -> tuple[Array, Any]:
        return arrays("subgradient", self.d, self.d), self.rest.given(table, arrays)

    def bound(self, v: Fraction, A: Ball, given: tuple[Array, Any], most: Fraction | None) -> Fraction:
        Y, more = given
        fits = (Y == Y.T).all() and not Y[self.counts == 0.0].any() and exactly(np.abs(Y).max()) <= self.weight
        show(fits, "the matrix of entries is not symmetric, exceeds their weight, or is not zero where they are free")
        found: Fraction = self.rest.bound(v, A - Ball(Y) if Y.any() else A, more, most)
        return found


REGULARIZERS: dict[str, Any] = NORMS | {"quadratic form": QuadraticForm, "entrywise": Entrywise}
