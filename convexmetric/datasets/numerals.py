"""Cells as numbers: decimal marks, separators of thousands, and words for a value that is missing."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

#: Texts of cells without a value, in lower case, and of those among numbers.
MISSING = frozenset(["", "na", "n/a", "#n/a", "<na>", "nan", "null", "?"])
GAPS = MISSING | {".", "-", "missing"}


@dataclass(frozen=True)
class Marks:
    """A way to write numbers: the decimal mark, and the characters that may stand between groups of three digits."""

    decimal: str = "."
    thousands: str = ""

    def plain(self, cell: str) -> str:
        """Rewrite a number with a decimal point and without groups; empty where points are not allowed."""
        if self.thousands and self._grouped.fullmatch(cell):
            for mark in self.thousands:
                cell = cell.replace(mark, "")
        if self.decimal == ".":
            return cell
        return "" if "." in cell else cell.replace(self.decimal, ".")

    @cached_property
    def _grouped(self) -> re.Pattern[str]:
        return re.compile(rf"[+-]?[1-9][0-9]{{0,2}}(?:[{self.thousands}][0-9]{{3}})+(?:[{self.decimal}][0-9]*)?")


PLAIN, DECIMAL_COMMAS = Marks(), Marks(",")
#: Apostrophes, and blanks of all widths.
_BLANKS = "'\u2019 \xa0\u2009\u202f"
#: Ways to write numbers, in the order in which they are tried.
_WAYS = (PLAIN, DECIMAL_COMMAS, Marks(".", ","), Marks(",", "."), Marks(".", _BLANKS), Marks(",", _BLANKS))


def ways_to_write(delimiter: str) -> list[Marks]:
    """Ways to write numbers in a file with this delimiter: with commas between columns, no decimal commas."""
    return [marks for marks in _WAYS if marks.decimal != delimiter]


def numbers(cells: list[str], marks: Marks = PLAIN) -> NDArray[np.float64]:
    """Convert cells to float64; NaN where a cell is not a number in the given notation."""
    if marks is not PLAIN:
        cells = list(map(marks.plain, cells))
    try:
        return np.fromiter(map(float, cells), np.float64, len(cells))
    except ValueError:
        # Words are often the same in many rows.
        known = {cell: _number(cell) for cell in set(cells)}
        return np.fromiter(map(known.__getitem__, cells), np.float64, len(cells))


def is_number(cell: str) -> bool:
    """Whether a cell is a finite number in any of the notations."""
    return any(math.isfinite(_number(marks.plain(cell))) for marks in _WAYS)


def may_be_number(cell: str) -> bool:
    """Whether a cell is a number, or one that is missing."""
    return cell.lower() in GAPS or is_number(cell)


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return math.nan
