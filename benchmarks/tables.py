"""Markdown tables with aligned columns."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["markdown", "ratio", "seconds"]


def markdown(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table; the first column to the left, numbers to the right."""
    cells = [list(header), *[[str(cell) for cell in row] for row in rows]]
    widths = [max(3, *(len(row[c]) for row in cells)) for c in range(len(header))]
    rule = ["-" * (width - 1) + (":" if c else "-") for c, width in enumerate(widths)]

    def line(row: Sequence[str]) -> str:
        padded = [cell.rjust(width) if c else cell.ljust(width) for c, (cell, width) in enumerate(zip(row, widths))]
        return f"| {' | '.join(padded)} |"

    return "\n".join([line(cells[0]), line(rule), *map(line, cells[1:])])


def seconds(value: float | None) -> str:
    """Seconds to three digits; a dash where there are none."""
    return "-" if value is None else f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def ratio(numerator: float | None, denominator: float | None) -> str:
    """``numerator / denominator`` as ``12x``; a dash where either is missing."""
    if numerator is None or denominator is None:
        return "-"
    return f"{numerator / denominator:.3g}x"
