"""Squared distances under a metric, and the matrices that dual points make of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .balls import BLOCK, Array, Ball

__all__ = ["Images", "Says", "laplacian"]


class Images:
    """Points, and perhaps queries, under a factor of a metric, and squared distances between them."""

    def __init__(self, diagonal: bool, factor: Array, *sets: Array) -> None:
        if diagonal:
            active = np.flatnonzero(factor > 0.0)
            self.sets = [Ball(X[:, active]) * Ball(factor[active]).sqrt() for X in sets]
        else:
            self.sets = [Ball(X) @ Ball(factor.T) for X in sets]

    def listed(self, i: Array, j: Array) -> Ball:
        """Squared distances of listed pairs of points."""
        V = self.sets[0][i] - self.sets[0][j]
        return (V * V).sum(1)

    def rows(self) -> Iterator[tuple[Array, float]]:
        """Squared distances of every query to all points, each row with its largest error."""
        (Z, Y), T = self.sets, self.sets[0].T
        norms, step = (Z * Z).sum(1), max(1, BLOCK // len(Z.mid))
        for some in (Y[at : at + step] for at in range(0, len(Y.mid), step)):
            D = norms + (some * some).sum(1)[:, None] - (some @ T) * 2.0
            yield from zip(D.mid, D.rad.max(axis=1).tolist(), strict=True)


@dataclass
class Says:
    """A statement ``R(M) >= value - <S, M>`` for all metrics M; those of summands add up."""

    value: Ball
    S: Ball

    def __add__(self, other: Says) -> Says:
        return Says(self.value + other.value, self.S + other.S)


def laplacian(diagonal: bool, Q: Array, X: Array, W: Ball) -> Ball:
    """``sum W_qx (q - x)(q - x)^T``, its diagonal for diagonal metrics."""

    def product(A: Ball, B: Ball) -> Ball:
        return (A * B).sum(0) if diagonal else A.T @ B

    ends = [(Ball(X), W.T @ Ball(np.ones((len(Q), 1)))), (Ball(Q), W @ Ball(np.ones((len(X), 1))))]
    cross = product(Ball(Q), W @ Ball(X))
    return product(ends[0][0], ends[0][0] * ends[0][1]) + product(ends[1][0], ends[1][0] * ends[1][1]) - cross - cross.T
