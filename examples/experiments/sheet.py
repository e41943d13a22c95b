"""A table for the terminal and as Markdown, and the standard error of a mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from rich.table import Table


@dataclass
class Sheet:
    """A title, columns and rows of text."""

    title: str
    columns: Sequence[str]
    rows: list[Sequence[str]] = field(default_factory=list)

    def rich(self) -> Table:
        """For the terminal."""
        table = Table(title=self.title)
        for place, column in enumerate(self.columns):
            table.add_column(column, justify="right" if place else "left")
        for row in self.rows:
            table.add_row(*row)
        return table

    def markdown(self) -> str:
        """For a file."""
        return f"**{self.title}**\n\n{self.grid()}"

    def grid(self) -> str:
        """Markdown without the title."""
        rule = ["---", *["--:"] * (len(self.columns) - 1)]
        return "".join("| " + " | ".join(row) + " |\n" for row in (self.columns, rule, *self.rows))


def standard_error(values: np.ndarray) -> float:
    """Of the mean."""
    return float(values.std(ddof=1) / np.sqrt(values.size))


def mean_text(values: Sequence[float] | np.ndarray, digits: int) -> str:
    """The mean, and with several values its standard error."""
    each = np.asarray(values, dtype=float)
    error = f" ± {standard_error(each):.{digits}f}" if each.size > 1 else ""
    return f"{each.mean():.{digits}f}{error}" if each.size else "-"


@dataclass(frozen=True)
class Row:
    """A printed number beside ours.

    Attributes
    ----------
    what : str
        The place in the paper.
    printed, ours, error : float or None
        The number of the paper, our mean, and its standard error where there is one.
    count : int
        Repetitions that the error is of.
    of : str
        What these are: splits, folds, samples, queries.
    digits : int
        Decimals.
    """

    what: str
    printed: float | None
    ours: float | None
    error: float | None
    count: int
    of: str
    digits: int = 3


def row_of(what: str, printed: float | None, values: Sequence[float], of: str, digits: int = 3) -> Row:
    """The row of a mean."""
    each = np.asarray(values, dtype=float)
    error = standard_error(each) if each.size > 1 else None
    return Row(what, printed, float(each.mean()) if each.size else None, error, each.size, of, digits)


def rows_sheet(rows: Sequence[Row]) -> Sheet:
    """All rows as a table, with the difference in standard errors."""
    columns = ["", "paper", "ours", "standard error", "repetitions", "difference / error"]
    sheet = Sheet("Printed numbers beside ours", columns)
    for row in rows:
        numbers = (
            "-" if number is None else f"{number:.{row.digits}f}" for number in (row.printed, row.ours, row.error)
        )
        apart = "-"
        if row.printed is not None and row.ours is not None and row.error:
            apart = f"{(row.ours - row.printed) / row.error:+.1f}"
        of = row.of.removesuffix("s") if row.count == 1 else row.of
        sheet.rows.append([row.what, *numbers, f"{row.count} {of}", apart])
    return sheet
