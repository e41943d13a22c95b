"""Risks of rules of others: what such a rule returns, and the risk of one row that the kernel makes of it."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from .balls import Ball
from .errors import require_proven, require_valid
from .files import Arrays, Table, altered
from .metrics import Cone, Minorant

__all__ = ["OwnRisk", "Risk"]


class Risk:
    """Base class of risks of one's own, made from a table and its arrays.

    ``arrays`` below are those of the file. It is ``nonnegative`` only if R is, at every metric.
    """

    wanted, optional, dual_keys, nonnegative = "kind", "", "kind", False

    def __init__(self, table: Table, arrays: Arrays, cone: Cone) -> None:
        self.cone = cone

    def value(self, M: Ball, arrays: Arrays) -> Ball:
        """R at a metric, or a number above it."""
        raise NotImplementedError

    def minorant(self, arrays: Arrays) -> tuple[Ball, Ball]:
        """A number v and a matrix S with ``R(M) >= v - <S, M>`` for all metrics M."""
        raise NotImplementedError


class OneRow:
    """Base of risks of one row, which cannot be split among files."""

    rows: int = 1

    def __len__(self) -> int:
        return self.rows

    def part(self, rows: slice) -> Self:
        """The risk itself, or one without its row."""
        return altered(self, rows=rows.stop - rows.start)


class OwnRisk(OneRow):
    """A risk of others."""

    def __init__(self, rule: Risk, arrays: Arrays, cone: Cone) -> None:
        self.rule, self.arrays, self.cone = rule, arrays, cone
        self.X, self.dual_keys, self.nonnegative = None, "kind", rule.nonnegative is True

    def value(self, factor: Any) -> Ball:
        """Value of R at a metric, or a number above it."""
        return shaped(self.rule.value(self.cone.metric(factor), self.arrays), (), "value")

    def dual(self, table: Table, arrays: Arrays) -> Minorant:
        """Minorant of R, by the arrays of the file."""
        require_valid(table["kind"] == "own", "dual: kind must be 'own' for this risk")
        v, S = self.rule.minorant(arrays)
        S = shaped(S, self.cone.shape, "S")
        if self.cone.symmetric and not self.cone.diagonal:
            # A metric is symmetric, so that only the symmetric part of S counts.
            S = (S + S.T) * 0.5
        return Minorant(shaped(v, (), "v"), S)


def shaped(found: Any, shape: tuple[int, ...], what: str) -> Ball:
    """A ball of a rule of others, which must have this shape, and be of finite numbers."""
    fits = isinstance(found, Ball) and found.mid.shape == shape and found.rad.shape in ((), shape)
    require_valid(fits, f"risk: a rule of others returned no ball of shape {shape} as {what}")
    known = np.isfinite(found.mid).all() and (found.rad >= 0.0).all()
    require_proven(known, f"the {what} of a rule of others is not a number, or has no radius")
    return found
