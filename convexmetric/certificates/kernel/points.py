"""Points: their images under a metric, squared distances between them, and sums of outer products of differences."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from .balls import BLOCK, Array, Ball, U, gamma, norms, up
from .errors import require_valid
from .files import Arrays
from .metrics import Cone, Near

#: Weights between points that a block has at most, and pairs of points that it has at least, if there are so many.
WEIGHTS, PAIRS = 2**23, 2**10


def rows_at_once(each: int, most: int) -> int:
    """Rows of a block of at most so many numbers, each row of 16 at least; there is always one."""
    return max(1, most // max(16, each))


def blocks(count: int, step: int) -> list[slice]:
    """Divide rows into slices of a length, the last of which has the rest; there is always one."""
    return [slice(at, min(at + step, count)) for at in range(0, max(count, 1), step)]


class SparseRows:
    """Rows of a matrix by their entries (CSR), the columns of each ascending."""

    def __init__(self, arrays: Arrays, name: str, columns: int) -> None:
        self.columns = arrays(f"{name}_indices", None, integers=columns)
        self.values, count = arrays(f"{name}_data", len(self.columns)), len(self.columns)
        starts = arrays(f"{name}_indptr", None, integers=2**40)
        rises, inner = np.diff(self.columns) > 0, starts[(starts > 0) & (starts < count)]
        rises[inner - 1] = True
        fits = len(starts) and starts[0] == 0 and starts[-1] == count and (np.diff(starts) >= 0).all() and rises.all()
        require_valid(fits, f"the rows of {name} are malformed, or their columns do not ascend")
        self.starts, self.shape = starts, (len(starts) - 1, columns)

    def __len__(self) -> int:
        return self.shape[0]

    def entries(self, rows: Array) -> tuple[Array, Array, Array]:
        """Entries of some rows: place of the row among these, column and value of each."""
        counts = self.starts[rows + 1] - self.starts[rows]
        places = np.repeat(np.arange(len(rows)), counts)
        at = np.arange(len(places)) + np.repeat(self.starts[rows] - np.cumsum(counts) + counts, counts)
        return places, self.columns[at], self.values[at]

    def squares(self, i: Array, j: Array) -> Iterator[tuple[slice, Array, Array, Ball]]:
        """Yield squared differences of listed pairs of rows, a block of pairs at a time, and place and column of each.

        A sum of the two entries of a column, one of them negated, is rounded once: by at most U times its size.
        """
        entries = 2 * int(np.diff(self.starts).max(initial=0))
        for some in blocks(len(i), rows_at_once(entries, BLOCK)):
            (rows, columns, values), (others, more, less) = self.entries(i[some]), self.entries(j[some])
            keys = np.concatenate([rows, others]) * self.shape[1] + np.concatenate([columns, more])
            keys, at = np.unique(keys, return_inverse=True)
            sums = np.bincount(at, np.concatenate([values, -less]), len(keys))
            V = Ball(sums, U * np.abs(sums))
            yield some, *np.divmod(keys, self.shape[1]), V * V


def points_of(arrays: Arrays, cone: Cone) -> tuple[Any, Any]:
    """Read the points that come first in comparisons (queries, or all points), and those that they are compared with.

    Points are a matrix, or sparse rows where metrics are diagonal.
    """
    count, sparse = cone.shape[-1], cone.diagonal and "points" not in arrays
    X = SparseRows(arrays, "points", count) if sparse else arrays("points", None, count)
    if cone.free and "queries" in arrays:
        return arrays("queries", None, cone.d), X
    require_valid(cone.d == count, "points that are queries have as many features as these")
    return X, X


def binned(numbers: Ball, at: Array, count: int) -> Ball:
    """Sums of the numbers of each place, 0 to count - 1, each with its radius; zero where there are none."""
    counts = np.bincount(at, minlength=count)
    sizes, rads = (np.bincount(at, of, count) for of in (np.abs(numbers.mid), numbers.rad))
    rad = up(rads + gamma(counts.astype(np.float64)) * sizes)
    return Ball(np.bincount(at, numbers.mid, count), np.where(counts > 0, rad, 0.0))


class Images:
    """Points, and perhaps queries, under a factor of a metric, and squared distances between them.

    For matrices W, the negated similarities ``q^T W x`` of queries to points take the place of distances. Near a
    factor, ``reach`` are numbers of the points whose products are above ``|x^T E y|``.
    """

    def __init__(self, cone: Cone, factor: Any, X: Any, Q: Any) -> None:
        self.free, self.sets = cone.free, [X] if Q is X else [X, Q]
        if isinstance(X, SparseRows):
            self.weights = cone.metric(factor)
            return
        each, self.reach = self.sets, [np.zeros(len(points)) for points in self.sets]
        if isinstance(factor, Near):
            self.reach, factor = [norms(points, 1) * np.sqrt(factor.off) for points in each], factor.factor
        if cone.free:
            self.sets = [Ball(X), Ball(Q) @ Ball(factor)]
        elif cone.diagonal:
            active = np.flatnonzero(factor > 0.0)
            self.sets = [Ball(points[:, active]) * Ball(factor[active]).sqrt() for points in each]
        else:
            self.sets = [Ball(points) @ Ball(factor.T) for points in each]

    def listed(self, i: Array, j: Array) -> Ball:
        """Squared distances of listed pairs, of a query and a point."""
        X = self.sets[0]
        if isinstance(X, SparseRows):
            found = [
                binned(squares * self.weights[columns], places, len(i[some]))
                for some, places, columns, squares in X.squares(i, j)
            ]
        else:
            step = rows_at_once(X.mid.shape[1], BLOCK)
            found = [self._dense(i[some], j[some]) for some in blocks(len(i), step)]
        return joined(found)

    def _dense(self, i: Array, j: Array) -> Ball:
        q, x = self.sets[-1][i], self.sets[0][j]
        V = q - x
        d = -(q * x).sum(1) if self.free else (V * V).sum(1)
        return Ball(d.mid, d.rad + widened(self.reach[-1][i] + self.reach[0][j]))

    def rows(self) -> Iterator[tuple[Array, float]]:
        """Squared distances of every query to all points, each row with its largest error."""
        Z, Y = self.sets[0], self.sets[-1]
        T, squares, more = Z.T, (Z * Z).sum(1), widened(self.reach[-1] + self.reach[0].max())
        for rows in blocks(len(Y.mid), rows_at_once(len(Z.mid), BLOCK)):
            some = Y[rows]
            D = -(some @ T) if self.free else squares + (some * some).sum(1)[:, None] - (some @ T) * 2.0
            yield from zip(D.mid, (D.rad.max(axis=1) + more[rows]).tolist(), strict=True)


def widened(reach: Array) -> Any:
    """Upper bounds on squares, which are zero for zeros."""
    return np.where(reach == 0.0, 0.0, up(reach * reach))


def joined(parts: list[Ball]) -> Ball:
    """One ball of several vectors, with a radius for each of their numbers."""
    return Ball(np.concatenate([part.mid for part in parts]), np.concatenate([part.rad for part in parts]))


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


def added(cone: Cone, parts: Iterator[Ball]) -> Ball:
    """Sum of matrices, zero if there are none."""
    return reduce(add, parts, next(parts, Ball(np.zeros(cone.shape))))


def weighted(cone: Cone, Q: Any, X: Any, i: Array, j: Array, w: Ball) -> Ball:
    """The sum of :func:`laplacian` over listed pairs of a query and a point, each with its weight."""
    if isinstance(X, SparseRows):
        parts = X.squares(i, j)
        return added(cone, (binned(V * w[some][places], columns, cone.d) for some, places, columns, V in parts))
    return added(cone, (laplacian(cone, Q[rows], X[columns], W) for rows, columns, W in _blocks(i, j, w, len(X))))


def _blocks(i: Array, j: Array, w: Ball, n: int) -> Iterator[tuple[Array, Array, Ball]]:
    """Yield rows, columns and the weights between them, such that all make up the listed pairs.

    Pairs are taken in the order of their rows: all of as many rows as are held at a time, or some more if these have
    few pairs.
    """
    order = np.argsort(i, kind="stable")
    places, step, at = np.unique(i[order], return_inverse=True)[1], rows_at_once(n, WEIGHTS), 0
    while at < len(i):
        stop = max(at + PAIRS, int(np.searchsorted(places, places[at] + step)))
        some, at = order[at:stop], stop
        (rows, row), (columns, column) = (np.unique(end[some], return_inverse=True) for end in (i, j))
        W = binned(w[some], row * len(columns) + column, len(rows) * len(columns))
        shape = len(rows), len(columns)
        yield rows, columns, Ball(W.mid.reshape(shape), W.rad.reshape(shape))
