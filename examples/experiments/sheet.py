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
