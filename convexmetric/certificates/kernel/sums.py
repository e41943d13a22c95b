"""Sums of risks (theorem 8), and the table of all risks by name."""

from __future__ import annotations

import copy
from functools import reduce
from operator import add
from typing import Any, Self

import numpy as np

from .balls import Array, Ball
from .comparisons import AllPairs, ListedChoices, ListedRisk
from .errors import NotProven, require_valid
from .files import MAX_SUMMANDS, SUMMAND, Arrays, Table, entry, keys
from .lists import Choices, ListRisk, Rankings
from .metrics import Cone, Minorant

SUMMANDS: dict[str, Any] = {
    "pairs of lists": ListRisk, "rankings": Rankings, "choices": Choices, "listed comparisons": ListedRisk,
    "all pairs": AllPairs, "listed choices": ListedChoices,
}  # fmt: skip


class SumRisk:
    """A sum of risks, each with arrays of its own: its rows are those of the first, then those of the second."""

    wanted, optional, dual_keys = "kind summands", "", "kind summands"

    def __init__(self, table: Table, arrays: Arrays, cone: Cone) -> None:
        tables = table["summands"]
        fits = isinstance(tables, list) and 1 <= len(tables) <= MAX_SUMMANDS
        require_valid(fits, f"risk: summands must be 1 to {MAX_SUMMANDS} risks")
        self.risks = [
            entry(SUMMANDS, one, "summand")(one, arrays.of(SUMMAND, number), cone) for number, one in enumerate(tables)
        ]
        self.X, self.shape = None, cone.shape
        self.nonnegative = all(risk.nonnegative for risk in self.risks)

    def __len__(self) -> int:
        return sum(map(len, self.risks))

    def of_each(self, rows: slice) -> list[slice]:
        """Slices of the rows of every summand that correspond to a slice of the rows of the sum."""
        ends = np.cumsum([len(risk) for risk in self.risks]).tolist()
        return [
            slice(*(min(max(row - end + len(risk), 0), len(risk)) for row in (rows.start, rows.stop)))
            for risk, end in zip(self.risks, ends, strict=True)
        ]

    def part(self, rows: slice) -> Self:
        """Risk of some of the rows, which may belong to several summands."""
        made = copy.copy(self)
        made.risks = [risk.part(own) for risk, own in zip(self.risks, self.of_each(rows), strict=True)]
        return made

    def value(self, factor: Array) -> Ball:
        """Value of R at a metric."""
        return reduce(add, (risk.value(factor) for risk in self.risks if len(risk)), Ball(0.0))

    def dual(self, table: Table, arrays: Arrays) -> Minorant:
        """Sum of the minorants of all summands with rows; all are read before any failure is raised."""
        tables, said, failed = table["summands"], Minorant(Ball(0.0), Ball(np.zeros(self.shape))), None
        fits = table["kind"] == "sum" and isinstance(tables, list) and len(tables) == len(self.risks)
        require_valid(fits, "dual: kind must be 'sum' for this risk, with as many summands")
        for number, (risk, own) in enumerate(zip(self.risks, tables, strict=True)):
            keys(own, "dual: a summand", risk.dual_keys)
            try:
                said = said + risk.dual(own, arrays.of(SUMMAND, number)) if len(risk) else said
            except NotProven as error:
                failed = failed or error
        if failed is not None:
            raise failed
        return said


RISKS: dict[str, Any] = SUMMANDS | {"sum": SumRisk}
