"""Worst parts and sums of risks (theorems 8 and 11), and the table of all risks by name."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from operator import add
from typing import Any, Self

import numpy as np

from .balls import Array, Ball
from .comparisons import AllPairs, ListedChoices, ListedRisk
from .errors import NotProven, require_proven, require_valid
from .files import MAX_SUMMANDS, SUMMAND, Arrays, Table, altered, entry, keys, natural, rational, rules
from .lists import Choices, ListRisk, Rankings
from .metrics import Cone, Minorant
from .own import OneRow, OwnRisk, Risk

#: Risks whose worst parts the kernel supports.
OF: dict[str, Any] = {
    "pairs of lists": ListRisk, "rankings": Rankings, "choices": Choices, "listed comparisons": ListedRisk,
}  # fmt: skip


class Worst(OneRow):
    """Mean over the worst share of the queries or comparisons of a risk, times their number (theorem 11): one row."""

    wanted, optional, dual_keys, nonnegative = "kind share of", "", "kind bits of", True

    def __init__(self, table: Table, arrays: Arrays, cone: Cone) -> None:
        own = table["of"]
        self.of, share = entry(OF, own, "risk: of")(own, arrays, cone), rational(table["share"], "share")
        require_valid(0 <= share <= 1, "risk: share must be between 0 and 1")
        require_valid(self.of.nonnegative, "risk: of worst parts none may be negative")
        self.X, self.cap = self.of.X, 1 / max(Fraction(1), share * len(self.of))

    def value(self, factor: Array) -> Ball:
        """Value of R at a metric; as weights add up to one, it errs by no more than its parts do."""
        each, n, full = self.of.each(factor), float(len(self.of)), int(1 / self.cap)
        worst = Ball(np.sort(each.mid)[::-1])
        mean = worst[:full].sum() * Ball.of(self.cap) + (worst[full : full + 1] * Ball.of(1 - full * self.cap)).sum()
        return (mean + Ball(0.0, np.max(each.rad))) * n

    def dual(self, table: Table, arrays: Arrays) -> Minorant:
        """Minorant of the risk with parts weighted by the integers of the file, over ``2^bits``."""
        require_valid(table["kind"] == "worst", "dual: kind must be 'worst' for this risk")
        one = 2 ** natural(table["bits"], "dual: bits", most=41)
        keys(table["of"], "dual: of", self.of.dual_keys)
        weights = arrays("parts_weights", len(self.of), integers=one + 1)
        weighted = self.of.times(Ball(weights) * (float(len(self.of)) / one))
        says = weighted.dual(table["of"], arrays)
        require_proven(Fraction(int(weights.max()), one) <= self.cap, "a weight of a part is above the cap")
        require_proven(sum(weights.tolist()) <= one, "weights of parts exceed one in sum")
        return says


SUMMANDS: dict[str, Any] = OF | {"all pairs": AllPairs, "listed choices": ListedChoices, "worst": Worst}


class SumRisk:
    """A sum of risks, each with arrays of its own: its rows are those of the first, then those of the second."""

    wanted, optional, dual_keys = "kind summands", "", "kind summands"

    def __init__(self, table: Table, arrays: Arrays, cone: Cone) -> None:
        tables = table["summands"]
        fits = isinstance(tables, list) and 1 <= len(tables) <= MAX_SUMMANDS
        require_valid(fits, f"risk: summands must be 1 to {MAX_SUMMANDS} risks")
        self.risks = [
            read(summands(), one, arrays.of(SUMMAND, number), cone, "summand") for number, one in enumerate(tables)
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
        each = zip(self.risks, self.of_each(rows), strict=True)
        return altered(self, risks=[risk.part(own) for risk, own in each])

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


def summands() -> dict[str, Any]:
    """Risks that may be summands, with those of others."""
    return {name: rule for name, rule in rules("RISKS", RISKS).items() if rule is not SumRisk}


def read(known: dict[str, Any], table: Table, arrays: Arrays, cone: Cone, what: str) -> Any:
    """Read a risk."""
    rule = entry(known, table, what)
    made = rule(table, arrays, cone)
    return OwnRisk(made, arrays, cone) if issubclass(rule, Risk) else made
