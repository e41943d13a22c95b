"""Regularizers with one weight, which may be a number over the square root of another."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import sqrt
from typing import Self

from convexmetric.arguments import check_positive_number
from convexmetric.described import Described
from convexmetric.regularizers.base import Regularizer


@dataclass(frozen=True)
class WeightedRegularizer(Regularizer):
    """``reg`` times a function without parameters.

    Raises
    ------
    InputError
        If ``reg`` is not a positive finite number.
    """

    reg: float = 1.0
    #: ``(lambda, m)`` where the weight is ``lambda / sqrt(m)``, which certificates state as it is.
    ratio: tuple[float, int] | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_positive_number(self.reg, "reg")

    @classmethod
    def over_root(cls, reg: float, m: float) -> Self:
        """A regularizer of weight ``reg / sqrt(m)``, which certificates state by reg and m if m is an integer."""
        made = cls(float(reg / sqrt(m)))
        if float(m).is_integer():
            object.__setattr__(made, "ratio", (reg, int(m)))
        return made

    def weighed(self, kind: str) -> Described:
        """Table of the regularizer ``kind`` of the file format, with its weight."""
        if self.ratio is None:
            return Described({"kind": kind, "weight": float(self.reg)})
        reg, m = self.ratio
        return Described({"kind": kind, "weight": float(reg), "over_root_of": int(m)})
