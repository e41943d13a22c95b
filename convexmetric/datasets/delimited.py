"""Text of columns: what separates them, whether the first line names them, and cells as numbers."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..files import existing

__all__ = ["MISSING", "is_number", "names_columns", "numbers", "read_rows"]

#: How files begin that are packed by zip, gzip, bzip2, xz or Zstandard.
PACKED = (b"PK\x03\x04", b"\x1f\x8b", b"BZh91AY&SY", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")
#: In the order in which they are tried: a comma may also be a decimal mark.
DELIMITERS = ("\t", ";", ",")
#: Cells without a value, in small letters.
MISSING = frozenset(["", "na", "n/a", "#n/a", "<na>", "nan", "null", "?"])
#: Lines that are looked at to find the delimiter, and whether a column holds numbers.
HEAD = 100


def read_rows(path: Path, encoding: str) -> tuple[list[tuple[int, list[str]]], str]:
    """Rows that are not empty, with the number of the line on which each ends, and what separates their columns."""
    text = _text(path, encoding)
    delimiter = _delimiter(text)
    try:
        reader = csv.reader(io.StringIO(text), delimiter=delimiter, strict=True)
        rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader]
    except csv.Error as error:
        raise InputError(f"{path} is not a CSV file: {error}") from error
    rows = [(line, row) for line, row in rows if any(row)]
    if not rows:
        raise InputError(f"{path} is empty")
    n = len(rows[0][1])
    for line, row in rows:
        if len(row) != n:
            comma = delimiter == "," and len(row) > n
            hint = "; with decimal commas separate columns by semicolons or tabs" if comma else ""
            raise InputError(f"{path}, line {line}: {len(row)} cells, but the first line has {n}{hint}")
    return rows, delimiter


def _text(path: Path, encoding: str) -> str:
    raw = existing(path).read_bytes()
    if raw.startswith(PACKED):
        raise InputError(f"{path} is a workbook, an archive or compressed, not text; save it as CSV, unpacked")
    utf_8 = encoding.lower().replace("_", "-") in ("utf-8", "utf8")
    try:
        return raw.decode("utf-8-sig" if utf_8 else encoding)
    except LookupError as error:
        raise InputError(f"encoding must be a name that Python knows, such as 'latin-1', got {encoding!r}") from error
    except UnicodeError as error:
        likely = "utf-16" if raw.startswith((b"\xff\xfe", b"\xfe\xff")) else "latin-1"
        hint = f"if it is {likely}: encoding={likely!r} (--encoding {likely})" if likely != encoding else "try another"
        raise InputError(f"{path} is not {encoding.upper()} text; {hint}") from error


def _delimiter(text: str) -> str:
    """What divides the first lines into equally many cells; if nothing does, what the first line has most of."""
    head = [line for line in text.split("\n", HEAD)[:HEAD] if line.strip()]
    for delimiter in DELIMITERS:
        widths = {len(row) for row in csv.reader(head, delimiter=delimiter)}
        if len(widths) == 1 and widths != {1}:
            return delimiter
    return max(DELIMITERS, key=head[0].count) if head else ","


def names_columns(rows: list[list[str]]) -> bool:
    """Whether the first row names the columns.

    It does not where it is like the others, with numbers where they have numbers and text that they have as well. But
    names may be numbers too, such as wavelengths or what pandas calls columns: these are evenly spaced, or beside text
    that is none of the repeated values below it.
    """
    first, others = rows[0], rows[1:]
    columns = list(zip(*others, strict=True))
    numeric = [all(map(_may_be_number, column[:HEAD])) for column in columns]
    heads = [cell for cell, here in zip(first, numeric, strict=False) if here]
    if not heads or not all(map(_may_be_number, heads)):
        return True
    texts = [(cell, set(column)) for cell, column, here in zip(first, columns, numeric, strict=True) if not here]
    if any(cell in values for cell, values in texts):
        return False
    repeated = any(len(values) < len(others) for _, values in texts)
    return repeated or _evenly_spaced(numbers([cell for cell in heads if cell.lower() not in MISSING]))


def _may_be_number(cell: str) -> bool:
    return is_number(cell) or cell.lower() in MISSING


def _evenly_spaced(values: NDArray[np.float64]) -> bool:
    steps = np.diff(values)
    enough = len(values) > 2 or values.tolist() == [0.0, 1.0]
    return bool(enough and steps[0] != 0.0 and np.allclose(steps, steps[0], rtol=1e-6))


def numbers(cells: Sequence[str], decimal: str = ".") -> NDArray[np.float64]:
    """Cells as numbers, NaN where one is none; ``decimal`` is their decimal mark, beside the point."""
    if decimal != ".":
        cells = [cell.replace(decimal, ".") for cell in cells]
    try:
        return np.array(cells, dtype=str).astype(np.float64)
    except ValueError:
        return np.array([_number(cell) for cell in cells])


def is_number(cell: str) -> bool:
    """Whether a cell is a finite number, with a decimal point or comma."""
    return bool(np.isfinite(_number(cell.replace(",", "."))))


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return float("nan")
