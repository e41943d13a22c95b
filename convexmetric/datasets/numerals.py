"""Cells as numbers: decimal marks, separators of thousands, and words for a value that is missing."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

#: Separator of the cells of a block, which no cell contains.
SEPARATOR = "\0"
#: Texts for a missing value, in lower case, and those recognised among numbers.
MISSING = frozenset(["", "na", "n/a", "#n/a", "<na>", "nan", "null", "?"])
GAPS = MISSING | {".", "-", "missing"}


@dataclass(frozen=True)
class Marks:
    """A notation for numbers: the decimal mark, and the thousands separators."""

    decimal: str = "."
    thousands: str = ""

    def rewritten(self, cells: str) -> str | None:
        """Rewrite a block of cells with decimal points and without separators; None if one is not in this notation."""
        if self.thousands:
            if not self._grouped.fullmatch(cells):
                return None
            for mark in self.thousands:
                cells = cells.replace(mark, "")
        if self.decimal == ".":
            return cells
        return None if "." in cells else cells.replace(self.decimal, ".")

    def plain(self, cell: str) -> str:
        """Rewrite a number; empty if it is not in this notation."""
        return self.rewritten(cell) or ""

    def touch(self, cells: str) -> bool:
        """Whether a block has a mark that this notation reads differently from plain numbers."""
        return any(mark in cells for mark in {".", ",", *self.thousands})

    @cached_property
    def _grouped(self) -> re.Pattern[str]:
        """Cells with groups of three digits, or without marks of groups."""
        number = (
            rf"[+-]?[1-9][0-9]{{0,2}}(?:[{self.thousands}][0-9]{{3}})+(?:[{self.decimal}][0-9]*)?(?![^{SEPARATOR}])"
        )
        cell = rf"(?:{number}|[^{self.thousands}{SEPARATOR}]*+)"
        return re.compile(rf"(?:{cell}{SEPARATOR})*+{cell}")


PLAIN, DECIMAL_COMMAS = Marks(), Marks(",")
#: Apostrophes, and blanks of all widths.
_BLANKS = "'\u2019 \xa0\u2009\u202f"
#: Notations for numbers, in the order in which they are tried.
WAYS = (PLAIN, DECIMAL_COMMAS, Marks(".", ","), Marks(",", "."), Marks(".", _BLANKS), Marks(",", _BLANKS))


def ways_to_write(delimiter: str) -> list[Marks]:
    """Notations for numbers in a file with this delimiter: with commas between columns, no decimal commas."""
    return [marks for marks in WAYS if marks.decimal != delimiter]


def numbers(cells: list[str]) -> NDArray[np.float64]:
    """Convert cells to float64; NaN where a cell is not a plain number."""
    try:
        return np.fromiter(map(float, cells), np.float64, len(cells))
    except ValueError:
        # Words are often the same in many rows.
        known = {cell: number(cell) for cell in set(cells)}
        return np.fromiter(map(known.__getitem__, cells), np.float64, len(cells))


def is_number(cell: str) -> bool:
    """Whether a cell is a finite number in any of the notations."""
    return any(math.isfinite(number(marks.plain(cell))) for marks in WAYS)


def may_be_number(cell: str) -> bool:
    """Whether a cell is a number or a missing value."""
    return cell.lower() in GAPS or is_number(cell)


def number(cell: str) -> float:
    """Convert a cell to a number; NaN if it is not a plain one."""
    try:
        return float(cell)
    except ValueError:
        return math.nan
