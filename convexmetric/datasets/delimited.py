"""Parse delimited text: comments, delimiter, whether the first line names the columns, and cells as numbers."""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from convexmetric.datasets.frames import is_parquet, is_workbook, read_parquet, read_workbook
from convexmetric.errors import InputError
from convexmetric.files import only_member, read_unpacked

#: First bytes of files that are refused: old workbooks, and archives by zip, gzip, bzip2, xz or Zstandard.
PACKED = (b"\xd0\xcf\x11\xe0", b"PK\x03\x04", b"\x1f\x8b", b"BZh91AY&SY", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")
#: Delimiters in the order in which they are tried; the comma last, as it may be a decimal mark.
DELIMITERS = ("\t", ";", ",")
#: Texts of cells without a value, in lower case.
MISSING = frozenset(["", "na", "n/a", "#n/a", "<na>", "nan", "null", "?"])
#: Number of lines from which the delimiter, and whether a column holds numbers, are determined.
HEAD = 100


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
_GAPS = "'\u2019 \xa0\u2009\u202f"
#: Ways to write numbers, in the order in which they are tried.
_WAYS = (PLAIN, DECIMAL_COMMAS, Marks(".", ","), Marks(",", "."), Marks(".", _GAPS), Marks(",", _GAPS))


def ways_to_write(delimiter: str) -> list[Marks]:
    """Ways to write numbers in a file with this delimiter: with commas between columns, no decimal commas."""
    return [marks for marks in _WAYS if marks.decimal != delimiter]


def read_rows(
    path: Path, encoding: str, archives: bool = False
) -> tuple[list[tuple[int, list[str]]], str, bool | None]:
    """Read the rows of a file that are not empty, as text; with ``archives`` also the only file of a zip archive.

    Returns
    -------
    rows : list of (int, list of str)
        The number of the line on which each ends, and its cells.
    delimiter : str
        What separates columns; empty for Parquet files and workbooks.
    named : bool or None
        Whether the first row names the columns, where the format says so.

    Raises
    ------
    InputError
        If the file is missing, too large, empty, or no table.
    """
    raw = read_unpacked(path)
    if archives and raw.startswith(PACKED[1]) and not is_workbook(path, raw):
        raw = only_member(raw, path)
    if is_parquet(raw):
        return read_parquet(path, raw), "", True
    if is_workbook(path, raw):
        rows, delimiter = read_workbook(path, raw), ""
    else:
        text = _without_comments(path, _text(path, raw, encoding))
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
            hint = _surplus([other for _, other in rows], row) if delimiter == "," and len(row) > n else ""
            raise InputError(f"{path}, line {line}: {len(row)} cells, but the first line has {n}{hint}")
    return rows, delimiter, None


def _surplus(rows: list[list[str]], wrong: list[str]) -> str:
    """Advice for a row of too many cells: commas in text, where other rows have fewer texts, or commas in numbers."""

    def words(row: list[str]) -> int:
        return sum(not is_number(cell) for cell in row)

    if any(len(row) == len(rows[0]) and words(row) < words(wrong) for row in rows[1:HEAD]):
        return "; put text that has a comma into quotes"
    return "; with decimal commas separate columns by semicolons or tabs; numbers such as 1,234 need quotes"


def _text(path: Path, raw: bytes, encoding: str) -> str:
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


def _without_comments(path: Path, text: str) -> str:
    """Blank out comments, lines that begin with #, with a warning; keep those with as many cells as other lines.

    The # line above the first other line names the columns, if it has as many cells and that line has numbers.
    """
    if not re.search(r"^#", text, re.MULTILINE):
        return text
    lines = text.split("\n")
    marked = [place for place, line in enumerate(lines) if line.startswith("#")]
    others = [place for place, line in enumerate(lines) if line.strip() and not line.startswith("#")]
    if not others:
        return text
    delimiter = _delimiter("\n".join(lines[place] for place in others[:HEAD]))
    start, first = others[0], _cells(lines[others[0]], delimiter)
    fitting = [place for place in marked if 1 < len(first) == len(_cells(lines[place], delimiter))]
    above = [place for place in marked if place < start][-1:]
    names = [place for place in above if place in fitting and any(map(is_number, first))]
    for place in names:
        lines[place] = lines[place].lstrip("# ")
    left_out = set(marked) - set(names) - {place for place in fitting if place > start}
    for place in left_out:
        lines[place] = ""
    if left_out:
        some = "a line that begins" if len(left_out) == 1 else f"{len(left_out)} lines that begin"
        warnings.warn(f"left out: {some} with # in {path.name}", stacklevel=4)
    return "\n".join(lines)


def _cells(line: str, delimiter: str) -> list[str]:
    return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter))]


def _delimiter(text: str) -> str:
    """Find the delimiter that divides the first lines into equally many cells; else the most frequent in line 1."""
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


def numbers(cells: Sequence[str], marks: Marks = PLAIN) -> NDArray[np.float64]:
    """Convert cells to float64; NaN where a cell is not a number in the given notation."""
    if marks is not PLAIN:
        cells = [marks.plain(cell) for cell in cells]
    try:
        return np.array(cells, dtype=str).astype(np.float64)
    except ValueError:
        return np.array([_number(cell) for cell in cells])


def is_number(cell: str) -> bool:
    """Whether a cell is a finite number in any of the notations."""
    return any(np.isfinite(_number(marks.plain(cell))) for marks in _WAYS)


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return float("nan")
