"""Regularizers, and the condition that each proves of its slope (theorem 7)."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from .balls import Array, Ball, exactly, log, semidefinite
from .conic import ConicProgram, matrix_of
from .errors import require_proven, require_valid
from .files import TERM, Arrays, Table, entry, keys, natural, positive, rational, rules
from .metrics import Cone, Near

__all__ = ["REGULARIZERS", "ConicTerm", "Regularizer", "SumRegularizer", "Zero"]


class Regularizer:
    """Base class of all regularizers, made from a table and its arrays.

    ``parameters`` are the keys of the table of its proof. If it is ``definite``, the factor of a metric is a triangle.
    """

    theorem, wanted, optional, parameters, definite = "7", "kind", "", "", False
    #: Whether the metrics may be all matrices, with ``offset(P)`` for ``Omega(W) >= <P, W> - offset(P)``.
    free = False
    #: Whether metrics must not be diagonal, and whether it must not be a summand.
    full = alone = False

    def __init__(self, table: Table, arrays: Arrays, cone: Cone, points: Array | None) -> None:
        require_valid(self.free or not cone.free, "regularizer: it is of metrics, and these are all matrices")
        require_valid(not (self.full and cone.diagonal), "regularizer: it is not of diagonal metrics")
        self.cone, self.weight, self.prior = cone, Ball(0.0), None
        if "weight" in self.wanted:
            self.weight = Ball.of(positive(table["weight"], "weight"))
        if "over_root_of" in table:
            self.weight = self.weight / Ball(float(natural(table["over_root_of"], "over_root_of", 1))).sqrt()
        if "prior" in table:
            require_valid(table["prior"] is True, "regularizer: prior can only be true")
            self.prior = cone.matrix(arrays, "prior")

    def read(self, table: Table, arrays: Arrays) -> Any:
        """Read the proof of its bounds: ``given`` below."""
        return None

    def exact(self, factor: Array, given: Any) -> Any:
        """Metric at which the upper bound is proven: by default that of the file's factor."""
        return factor

    def value(self, factor: Array, M: Ball, given: Any) -> Ball:
        """Omega at a metric, or a number above it."""
        return Ball(0.0)

    def slopes(self, given: Any, most: Fraction | None) -> tuple[list[Ball], Ball]:
        """Matrices P and a number e with ``Omega(M) >= <sum P, M> - e`` for all metrics M of ``Omega(M) <= most``."""
        return [], Ball(0.0)


class Zero(Regularizer):
    """No regularizer."""


class Trace(Regularizer):
    """Trace."""

    wanted, optional = "kind weight", "over_root_of"

    def value(self, factor: Array, M: Ball, given: Any) -> Ball:
        return self.cone.trace(M) * self.weight

    def slopes(self, given: Any, most: Fraction | None) -> tuple[list[Ball], Ball]:
        return [self.cone.multiple(self.weight)], Ball(0.0)


class LogDet(Trace):
    """The log-determinant divergence to a prior, given by a root of the inverse of the prior."""

    definite = True

    def __init__(self, table: Table, arrays: Arrays, cone: Cone, points: Array | None) -> None:
        super().__init__(table, arrays, cone, points)
        self.prior_root = cone.triangle(arrays, "prior_root")

    def read(self, table: Table, arrays: Arrays) -> Array:
        return self.cone.triangle(arrays, "root")

    def value(self, factor: Array, M: Ball, given: Any) -> Ball:
        linear = (M * self.cone.metric(self.prior_root)).sum() - float(self.cone.d)
        return (linear - self._log_det(factor) - self._log_det(self.prior_root)) * self.weight

    def slopes(self, given: Array, most: Fraction | None) -> tuple[list[Ball], Ball]:
        P = self.cone.metric(self.prior_root) - self.cone.metric(given)
        return [P * self.weight], (self._log_det(self.prior_root) - self._log_det(given)) * self.weight

    def _log_det(self, root: Array) -> Ball:
        """Enclose the log-determinant of the metric with this root."""
        return log(Ball(root)).sum() if self.cone.diagonal else log(Ball(root.diagonal())).sum() * 2.0


class Frobenius(Trace):
    """Frobenius norm of the difference to a prior, and base class of the other norms."""

    optional, free = "over_root_of prior", True

    def read(self, table: Table, arrays: Arrays) -> Any:
        return None if self.cone.free else self.cone.matrix(arrays, "slope")

    def value(self, factor: Array, M: Ball, given: Any) -> Ball:
        return self.size(M if self.prior is None else M - self.prior, given) * self.weight

    def slopes(self, given: Any, most: Fraction | None) -> tuple[list[Ball], Ball]:
        P = Ball(given[0] if isinstance(given, tuple) else given)
        return [P], self.offset(P)

    def offset(self, P: Ball) -> Ball:
        e = self.conjugate(P)
        return e if self.prior is None else e + (P * self.prior).sum()

    def size(self, X: Ball, given: Any) -> Ball:
        """Norm of X."""
        return X.norm()

    def conjugate(self, P: Ball) -> Ball:
        """Conjugate, the largest ``<P, X> - Omega(M0 + X)``: zero for P in the ball of the dual norm."""
        self.within(P.norm().upper() <= self.weight.lower())
        return Ball(0.0)

    def within(self, holds: Any) -> None:
        require_proven(holds, "the dual point is not feasible: its slope exceeds the weight of the regularizer")


class SquaredFrobenius(Frobenius):
    """Half the square of the Frobenius norm of the difference to a prior."""

    def size(self, X: Ball, given: Any) -> Ball:
        return (X * X).sum() * 0.5

    def conjugate(self, P: Ball) -> Ball:
        return (P * P).sum() * 0.5 / self.weight


class TraceNorm(Frobenius):
    """Trace norm: the sum of absolute eigenvalues, or of singular values."""

    def read(self, table: Table, arrays: Arrays) -> Any:
        if self.cone.free:
            left = arrays("left", self.cone.d, None)
            return left, arrays("right", self.cone.shape[-1], left.shape[1])
        above = None if self.cone.diagonal else self.cone.matrix(arrays, "above")
        return self.cone.matrix(arrays, "slope"), above

    def size(self, X: Ball, given: Any) -> Ball:
        if self.cone.diagonal:
            return abs(X).sum()
        if self.cone.free:
            # X = A B^T + E, and the norm of A B^T is at most half of both squared norms.
            A, B = Ball(given[0]), Ball(given[1])
            rest = (X - A @ B.T).norm() * Ball(float(min(self.cone.shape))).sqrt()
            return ((A * A).sum() + (B * B).sum()) * 0.5 + rest
        N = Ball(given[1])
        semidefinite(N, "the matrix above")
        semidefinite(N - X, "the matrix above, less the difference to the prior,")
        return self.cone.trace(N) * 2.0 - self.cone.trace(X)

    def conjugate(self, P: Ball) -> Ball:
        if self.cone.diagonal:
            self.within(exactly(np.abs(P.mid).max()) <= self.weight.lower())
        elif self.cone.free:
            small = P.T @ P if self.cone.d >= self.cone.shape[-1] else P @ P.T
            square = Ball(np.eye(len(small.mid))) * (self.weight * self.weight)
            semidefinite(square - small, "the square of the weight less that of the slope")
        else:
            for signed in (P, -P):
                semidefinite(self.cone.multiple(self.weight) - signed, "the weight less the slope")
        return Ball(0.0)


class Entrywise(Frobenius):
    """Entrywise 1-norm: the sum of absolute entries, or of those off the diagonal."""

    wanted, free, full = "kind weight diagonal", False, True

    def __init__(self, table: Table, arrays: Arrays, cone: Cone, points: Array | None) -> None:
        super().__init__(table, arrays, cone, points)
        require_valid(isinstance(table["diagonal"], bool), "regularizer: diagonal must be true or false")
        self.counts = np.ones(cone.shape) if table["diagonal"] else 1.0 - np.eye(cone.d)

    def size(self, X: Ball, given: Any) -> Ball:
        return (abs(X) * self.counts).sum()

    def conjugate(self, P: Ball) -> Ball:
        self.within(exactly(np.abs(P.mid).max()) <= self.weight.lower() and not P.mid[self.counts == 0.0].any())
        return Ball(0.0)


class Budget(Regularizer):
    """Excess of a linear function of the metric over a limit, times a price; infinite if there is no price."""

    parameters, wanted, optional = "multiplier", "kind limit", "weight"

    def __init__(self, table: Table, arrays: Arrays, cone: Cone, points: Array | None) -> None:
        super().__init__(table, arrays, cone, points)
        self.A, self.limit = cone.matrix(arrays, "spent"), positive(table["limit"], "limit")
        self.most = positive(table["weight"], "weight") if "weight" in table else None

    def read(self, table: Table, arrays: Arrays) -> Fraction:
        return rational(table["multiplier"], "dual: multiplier")

    def value(self, factor: Array, M: Ball, given: Any) -> Ball:
        over = (M * self.A).sum() - Ball.of(self.limit)
        if self.most is None:
            require_proven(over.upper() <= 0, "the metric is not proven to keep the budget")
            return Ball(0.0)
        return Ball(np.maximum(over.mid, 0.0), over.rad) * Ball.of(self.most)

    def slopes(self, given: Fraction, most: Fraction | None) -> tuple[list[Ball], Ball]:
        inside = given >= 0 and (self.most is None or given <= self.most)
        require_proven(inside, "the multiplier of the budget is out of range")
        return [Ball(self.A) * Ball.of(given)] if given else [], Ball.of(given * self.limit)


class SpectralBound(Regularizer):
    """Zero where ``U - M`` is positive semidefinite, else infinite: P = ``Y^T Y``, e = ``<P, U>``."""

    full = True

    def __init__(self, table: Table, arrays: Arrays, cone: Cone, points: Array | None) -> None:
        super().__init__(table, arrays, cone, points)
        self.upper = cone.matrix(arrays, "upper")

    def read(self, table: Table, arrays: Arrays) -> Array:
        return arrays("root_of_slope", None, self.cone.d)

    def value(self, factor: Array, M: Ball, given: Any) -> Ball:
        semidefinite(-M + self.upper, "the bound on the metric, less the metric,")
        return Ball(0.0)

    def slopes(self, given: Array, most: Fraction | None) -> tuple[list[Ball], Ball]:
        P = Ball(given.T) @ Ball(given)
        return [P] if given.any() else [], (P * self.upper).sum()


class RowNorms(Regularizer):
    """Sum of the Euclidean norms of the rows: P = ``(Q + Q^T) / 2``, norms of the rows of Q at most the weight."""

    wanted, full = "kind weight", True

    def read(self, table: Table, arrays: Arrays) -> Array:
        return arrays("slope", self.cone.d, self.cone.d)

    def value(self, factor: Array, M: Ball, given: Any) -> Ball:
        return (M * M).sum(1).sqrt().sum() * self.weight

    def slopes(self, given: Array, most: Fraction | None) -> tuple[list[Ball], Ball]:
        Q = Ball(given)
        largest = (Q * Q).sum(1).sqrt().above().max()
        require_proven(exactly(largest) <= self.weight.lower(), "a row of the slope exceeds the weight of row norms")
        return [(Q + Q.T) * 0.5], Ball(0.0)


class InverseTrace(Regularizer):
    """Trace of ``M^-1 C^T C``, or the least tr N with ``[[M, C^T], [C, N]]`` positive semidefinite.

    P = ``-lambda Y^T Y`` and e = ``-2 lambda <Y, C>``.
    """

    wanted, full = "kind weight", True

    def __init__(self, table: Table, arrays: Arrays, cone: Cone, points: Array | None) -> None:
        super().__init__(table, arrays, cone, points)
        self.C = arrays("root_of_prior", None, cone.d)

    def read(self, table: Table, arrays: Arrays) -> tuple[Array, Array]:
        N = arrays("above", len(self.C), len(self.C))
        require_valid((N == N.T).all(), "above must be a symmetric matrix")
        return arrays("slope", *self.C.shape), N

    def value(self, factor: Array, M: Ball, given: tuple[Array, Array]) -> Ball:
        C, N, rad = self.C, given[1], np.zeros([sum(self.C.shape)] * 2)
        rad[: self.cone.d, : self.cone.d] = M.rad
        semidefinite(Ball(np.block([[M.mid, C.T], [C, N]]), rad), "the block matrix of the metric and above")
        return Ball(N.diagonal()).sum() * self.weight

    def slopes(self, given: tuple[Array, Array], most: Fraction | None) -> tuple[list[Ball], Ball]:
        Y = Ball(given[0])
        return [-(Y.T @ Y) * self.weight] if given[0].any() else [], (Y * self.C).sum() * self.weight * -2.0


class QuadraticForm(Regularizer):
    """Half a quadratic form L of diagonal metrics, with its nonzero rows if L need not be semidefinite."""

    wanted, alone = "kind of", True

    def __init__(self, table: Table, arrays: Arrays, cone: Cone, points: Array | None) -> None:
        super().__init__(table, arrays, cone, points)
        require_valid(cone.diagonal, "regularizer: a quadratic form on full metrics")
        d, self.convex = cone.d, table["of"] == "gram of A"
        if self.convex:
            # (A^T A) o (A^T A) is positive semidefinite by Schur's theorem.
            A = Ball(arrays("gram_of", None, d))
            self.L = (A.T @ A) * (A.T @ A)
            return
        self.parameters = "lack"
        known = table["of"] == "matrix" or (table["of"] == "squared points" and points is not None)
        require_valid(known, "regularizer: of 'gram of A', 'matrix' or, where the risk is no sum, 'squared points'")
        given: Any = points if table["of"] == "squared points" else arrays("form", d, d)
        fits = given.shape == (d, d) and (given == given.T).all() and (given is points or (given >= 0.0).all())
        require_valid(fits, "regularizer: the matrix must be symmetric, without negative entries")
        self.L = Ball(given) * given if given is points else Ball(given)
        self.rows = np.flatnonzero(given.any(axis=0))

    def read(self, table: Table, arrays: Arrays) -> tuple[Ball, Fraction]:
        lack = Fraction(0) if self.convex else rational(table["lack"], "dual: lack")
        return Ball(arrays("z", self.cone.d)[:, None]), lack

    def value(self, factor: Array, M: Ball, given: Any) -> Ball:
        w = M[:, None]
        return (w * (self.L @ w)).sum() * 0.5

    def slopes(self, given: tuple[Ball, Fraction], most: Fraction | None) -> tuple[list[Ball], Ball]:
        z, lack = given
        reach = self.L @ z
        e, P = (z * reach).sum() * 0.5, reach[:, 0]
        if self.convex:
            return [P], e
        known = lack >= 0 and (lack == 0 or most is not None)
        require_proven(known, "a form that may lack convexity wants an upper bound, and no G")
        semidefinite(self.L + Ball(np.eye(self.cone.d)) * Ball.of(lack), "the quadratic form with what it lacks")
        if most is None:
            return [P], e
        diagonal = self.L[self.rows, self.rows].below()
        require_proven((diagonal > 0.0).all(), "the quadratic form has a zero on its diagonal")
        least = exactly(diagonal.min()) if diagonal.size else 1
        square = 2 * most / least + (z[self.rows] * z[self.rows]).sum().upper()
        return [P], e + Ball.of(lack * square)


class ConicTerm(Regularizer):
    """Least value of a conic program whose first variables are the metric: weights, or entries i >= j by columns."""

    theorem, wanted, alone = "12", "kind variables cones quadratic", True

    def __init__(self, table: Table, arrays: Arrays, cone: Cone, points: Array | None) -> None:
        super().__init__(table, arrays, cone, points)
        self.places: Any = np.arange(cone.d) if cone.diagonal else np.triu_indices(cone.d)
        self.program = ConicProgram(table, arrays, cone.d if cone.diagonal else len(self.places[0]))

    def read(self, table: Table, arrays: Arrays) -> tuple[Any, Any]:
        """Read the other variables and a dual point."""
        return self.program.point(arrays), self.program.dual_point(arrays)

    def value(self, factor: Array, M: Ball, given: tuple[Any, Any]) -> Ball:
        """Enclose an upper bound on the least value: the value at a feasible point near the file's."""
        return self.program.value(self.entries(factor), given[0])

    def entries(self, factor: Array) -> Ball:
        """Entries of a metric, known to be zero if no row of its factor has numbers for both features."""
        M = self.cone.metric(factor)
        if not self.cone.diagonal:
            apart = ~((factor != 0.0).T @ (factor != 0.0))
            M = Ball(np.where(apart, 0.0, M.mid), np.where(apart, 0.0, M.rad))
        return M[self.places]

    def exact(self, factor: Array, given: tuple[Any, Any]) -> Any:
        """Metric of the feasible point, near that of the file (theorem 15)."""
        point, k, what = given[0], self.program.fixed, "the metric that satisfies all equations"
        if not point.widths[:k].any():
            return factor
        M = self.program.feasible(self.entries(factor), point)[:k]
        if self.cone.diagonal:
            require_proven(np.all(M.below() >= 0.0), f"{what} is not proven to be nonnegative")
        else:
            M = matrix_of(M, self.cone.d, dual=False)
            some, blocks = abs(M).above() > 0.0, self.cone.blocks
            apart = blocks is not None and some[blocks[:, None] != blocks].any()
            require_proven(not apart, f"{what} has entries between blocks")
            used = some.any(axis=0)
            semidefinite(M[np.ix_(used, used)], what)
        return Near(factor, float((M - self.cone.metric(factor)).norm().above()))

    def slopes(self, given: tuple[Any, Any], most: Fraction | None) -> tuple[list[Ball], Ball]:
        """Slope of the dual point (theorem 12)."""
        slope, constant = self.program.minorant(given[1])
        return [slope if self.cone.diagonal else matrix_of(slope, self.cone.d, dual=True)], -constant


class SumRegularizer(Regularizer):
    """A sum of regularizers, each with arrays of its own."""

    wanted, alone = "kind summands", True

    def __init__(self, table: Table, arrays: Arrays, cone: Cone, points: Array | None) -> None:
        super().__init__(table, arrays, cone, points)
        tables = table["summands"]
        require_valid(isinstance(tables, list) and 2 <= len(tables) <= 8, "regularizer: too few or many summands")
        known = {kind: rule for kind, rule in rules("REGULARIZERS", REGULARIZERS).items() if not rule.alone}
        self.parts = [
            entry(known, one, "summand")(one, arrays.of(TERM, number), cone, points)
            for number, one in enumerate(tables)
        ]
        self.definite, self.parameters = any(part.definite for part in self.parts), "summands"

    def read(self, table: Table, arrays: Arrays) -> list[Any]:
        """Read every summand."""
        tables = table["summands"]
        fits = isinstance(tables, list) and len(tables) == len(self.parts)
        require_valid(fits, "dual: other summands than the regularizer")
        for part, own in zip(self.parts, tables, strict=True):
            keys(own, "dual: a summand", part.parameters)
        each = enumerate(zip(self.parts, tables, strict=True))
        return [part.read(own, arrays.of(TERM, number)) for number, (part, own) in each]

    def value(self, factor: Array, M: Ball, given: list[Any]) -> Ball:
        """Add up the values of all summands."""
        return reduce(add, (part.value(factor, M, own) for part, own in zip(self.parts, given, strict=True)))

    def slopes(self, given: list[Any], most: Fraction | None) -> tuple[list[Ball], Ball]:
        """Collect the slopes of all summands."""
        found = [part.slopes(own, None) for part, own in zip(self.parts, given, strict=True)]
        return [P for slopes, _ in found for P in slopes], reduce(add, (e for _, e in found))


#: Regularizers by name.
REGULARIZERS: dict[str, type[Regularizer]] = {
    "zero": Zero, "trace": Trace, "frobenius": Frobenius, "squared frobenius": SquaredFrobenius,
    "trace norm": TraceNorm, "entrywise": Entrywise, "log det": LogDet, "budget": Budget,
    "spectral bound": SpectralBound, "row norms": RowNorms, "inverse trace": InverseTrace,
    "quadratic form": QuadraticForm, "conic": ConicTerm, "sum": SumRegularizer,
}  # fmt: skip
