"""Metrics, squared distances under them, and minorants of risks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .balls import BLOCK, Array, Ball, norms, semidefinite, up
from .errors import require_proven, require_valid
from .files import Arrays, Table, natural

CONES = ("psd", "block-diagonal", "diagonal", "matrices", "symmetric")


class Cone:
    """Positive semidefinite matrices, perhaps block-diagonal; weights of diagonal ones; or all matrices.

    All matrices, or all symmetric ones, are ``free``: items are compared by similarities ``q^T W x``.
    """

    def __init__(self, table: Table, arrays: Arrays) -> None:
        kind, self.d = table["cone"], natural(table["features"], "features", 1)
        require_valid(kind in CONES, "problem: there is no such cone")
        self.diagonal, self.blocks, self.free = kind == "diagonal", None, kind in ("matrices", "symmetric")
        self.symmetric = kind != "matrices"
        require_valid(self.symmetric != ("features_of_items" in table), "problem: features_of_items are of matrices")
        items = self.d if self.symmetric else natural(table["features_of_items"], "features_of_items", 1)
        self.shape = (self.d,) if self.diagonal else (self.d, items)
        if kind == "block-diagonal":
            self.blocks = arrays("blocks", self.d, integers=self.d)

    def matrix(self, arrays: Arrays, name: str) -> Array:
        """Read an array that is a symmetric matrix, or a vector if metrics are weights."""
        found = arrays(name, *self.shape)
        require_valid(not self.symmetric or (found == found.T).all(), f"{name} must be a symmetric matrix")
        return found

    def triangle(self, arrays: Arrays, name: str) -> Array:
        """Read an upper triangle with a positive diagonal, or a vector of positive numbers."""
        found = arrays(name, *self.shape)
        fits = (found.diagonal() > 0.0).all() and not np.tril(found, -1).any() if found.ndim == 2 else found.min() > 0.0
        require_valid(fits, f"{name} must be zero below its diagonal and positive on it")
        return found

    def factor(self, arrays: Arrays, definite: bool) -> Array:
        """Read the factor of a file's metric, a triangle if it must be definite; or its weights, or W itself."""
        if self.free:
            return self.matrix(arrays, "matrix")
        name = "weights_of_metric" if self.diagonal else "factor"
        found = self.triangle(arrays, name) if definite else arrays(name, *((None, self.d)[-len(self.shape) :]))
        require_valid(not self.diagonal or (found >= 0.0).all(), f"{name} must not be negative")
        if self.blocks is not None:
            least, most = (np.where(found != 0.0, self.blocks, end) for end in (self.d, -1))
            fits = (least.min(axis=1) >= most.max(axis=1)).all()
            require_valid(fits, "a row of factor is not zero in several blocks")
        return found

    def metric(self, factor: Any) -> Ball:
        """Metric of a factor, ``B^T B``; for diagonal metrics the weights themselves."""
        if isinstance(factor, Near):
            return self.metric(factor.factor) + Ball(0.0, factor.off)
        return Ball(factor) if self.diagonal or self.free else Ball(factor.T) @ Ball(factor)

    def trace(self, M: Ball) -> Ball:
        """Trace of a metric."""
        return (M if self.diagonal else M[np.diag_indices(self.d)]).sum()

    def multiple(self, weight: Ball) -> Ball:
        """The identity times a weight."""
        return Ball(np.ones(self.d) if self.diagonal else np.eye(self.d)) * weight

    def dual(self, K: Ball, what: str) -> None:
        """Stop unless K is in the dual cone; entries between blocks do not count."""
        if self.diagonal:
            require_proven(np.all(K.below() >= 0.0), f"{what} is not proven to be nonnegative")
        else:
            inside = True if self.blocks is None else self.blocks[:, None] == self.blocks
            semidefinite(Ball(np.where(inside, K.mid, 0.0), np.where(inside, K.rad, 0.0)), what)


@dataclass(frozen=True)
class Near:
    """A metric that is off that of a factor by a matrix E of a norm of at most ``off``, as are entries of E."""

    factor: Array
    off: float


class Images:
    """Points, and perhaps queries, under a factor of a metric, and squared distances between them.

    For matrices W, the negated similarities ``q^T W x`` of queries to points take the place of distances. Near a
    factor, ``reach`` are numbers of the points whose products are above ``|x^T E y|``.
    """

    def __init__(self, cone: Cone, factor: Any, *sets: Array) -> None:
        self.free, self.reach = cone.free, [np.zeros(len(X)) for X in sets]
        if isinstance(factor, Near):
            self.reach, factor = [norms(X, 1) * np.sqrt(factor.off) for X in sets], factor.factor
        if cone.free:
            self.sets = [Ball(sets[0]), Ball(sets[-1]) @ Ball(factor)]
        elif cone.diagonal:
            active = np.flatnonzero(factor > 0.0)
            self.sets = [Ball(X[:, active]) * Ball(factor[active]).sqrt() for X in sets]
        else:
            self.sets = [Ball(X) @ Ball(factor.T) for X in sets]

    def listed(self, i: Array, j: Array) -> Ball:
        """Squared distances of listed pairs of points."""
        V, reach = self.sets[0][i] - self.sets[0][j], self.reach[0]
        d = (V * V).sum(1)
        return Ball(d.mid, d.rad + widened(reach[i] + reach[j]))

    def rows(self) -> Iterator[tuple[Array, float]]:
        """Squared distances of every query to all points, each row with its largest error."""
        (Z, Y), T = self.sets, self.sets[0].T
        squares, step = (Z * Z).sum(1), max(1, BLOCK // len(Z.mid))
        points, queries = self.reach
        more = widened(queries + points.max())
        for at in range(0, len(Y.mid), step):
            some = Y[at : at + step]
            D = -(some @ T) if self.free else squares + (some * some).sum(1)[:, None] - (some @ T) * 2.0
            yield from zip(D.mid, (D.rad.max(axis=1) + more[at : at + step]).tolist(), strict=True)


def widened(reach: Array) -> Any:
    """Upper bounds on squares, which are zero for zeros."""
    return np.where(reach == 0.0, 0.0, up(reach * reach))


@dataclass
class Minorant:
    """Minorant: ``R(M) >= value - <S, M>`` for all metrics M; minorants of summands add up."""

    value: Ball
    S: Ball

    def __add__(self, other: Minorant) -> Minorant:
        return Minorant(self.value + other.value, self.S + other.S)


def laplacian(cone: Cone, Q: Array, X: Array, W: Ball) -> Ball:
    """``sum W_qx (q - x)(q - x)^T``, its diagonal for diagonal metrics; ``-sum W_qx q x^T``, or its symmetric part."""
    if cone.free:
        S = -(Ball(Q).T @ (W @ Ball(X)))
        return (S + S.T) * 0.5 if cone.symmetric else S

    def product(A: Ball, B: Ball) -> Ball:
        return (A * B).sum(0) if cone.diagonal else A.T @ B

    ends = [(Ball(X), W.T @ Ball(np.ones((len(Q), 1)))), (Ball(Q), W @ Ball(np.ones((len(X), 1))))]
    cross = product(Ball(Q), W @ Ball(X))
    return product(ends[0][0], ends[0][0] * ends[0][1]) + product(ends[1][0], ends[1][0] * ends[1][1]) - cross - cross.T
