"""Read tables of text: what separates columns, comments, whether the first line names columns; ARFF and SVMlight."""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexmetric.datasets.columns import CELL, HEAD, NAME, Columns
from convexmetric.datasets.frames import is_parquet, read_parquet
from convexmetric.datasets.numerals import GAPS, is_number, may_be_number, numbers
from convexmetric.datasets.workbooks import is_workbook, read_workbook
from convexmetric.errors import InputError
from convexmetric.files import MAX_LINE, Held, guarded, lines_of, opened, opened_archive, opened_member

#: First bytes of files that are refused, and what they are.
ZIP = b"PK\x03\x04"
NO_TEXT = {
    ZIP: "a workbook or an archive",
    b"\xd0\xcf\x11\xe0": "a workbook of an old format",
    b"\x1f\x8b": "compressed twice",
    b"BZh91AY&SY": "compressed twice",
    b"\xfd7zXZ": "compressed twice",
    b"\x28\xb5\x2f\xfd": "compressed by Zstandard",
    b"MATLAB": "a MATLAB file",
    b"\x89HDF": "an HDF5 file, as MATLAB 7.3 writes them",
    b"\x93NUMPY": "an array of NumPy",
}
#: Delimiters in the order in which they are tried; the comma last, as it may be a decimal mark.
DELIMITERS = ("\t", ";", "|", ",")
#: Characters of the lines from which the format is detected.
SHOWN = 2**22
#: Largest number of a feature in a file of SVMlight.
MOST_FEATURES = 2**20
#: How files of ARFF and of SVMlight (LETOR, with queries) begin.
_ARFF = re.compile(r"\s*@relation\b", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"""\s*@attribute\s+('[^']*'|"[^"]*"|[^\s'"]+)""", re.IGNORECASE)
_SVMLIGHT = re.compile(r"[+-]?[0-9.]+(?:e[+-]?[0-9]+)?\s+(qid:[0-9]+\s+)?[0-9]+:[^\s:]+(?:\s|$)", re.IGNORECASE)


def read_columns(path: Path, encoding: str, archives: bool = False) -> Columns:
    """Read the rows of a file that are not empty, as text; with ``archives`` also the only file of a zip archive.

    Raises
    ------
    InputError
        If the file is missing, too large, empty, or not a table.
    """
    held = Held(path)
    with opened(path) as stream:
        start = stream.peek(HEAD)
        if is_parquet(start):
            table = read_parquet(path, held)
        elif is_workbook(path, start):
            table = read_workbook(path, held)
        elif archives and start.startswith(ZIP):
            table = guarded(path, lambda: _only_member(path, encoding, held))
        else:
            table = _Text(path, stream, encoding, held).read()
    table.close()
    if not table.lines:
        raise InputError(f"{path} is empty")
    return table


def _only_member(path: Path, encoding: str, held: Held) -> Columns:
    """The table in the only file of a zip archive."""
    with opened_archive(path) as archive:
        info, *others = archive.infolist()
        if others:
            raise InputError(f"{path} has {1 + len(others)} members: it must hold one table; unpack it")
        with opened_member(archive, info, path) as stream:
            return _Text(path, stream, encoding, held).read()


class _Text:
    """A stream of text that holds a table."""

    def __init__(self, path: Path, stream: io.BufferedReader[Any], encoding: str, held: Held) -> None:
        self.path, self.encoding, self.held = path, encoding, held
        self.start = stream.peek(HEAD)[:HEAD]
        for begin, what in NO_TEXT.items():
            if self.start.startswith(begin):
                raise InputError(f"{path} is {what}, not text; save it as CSV, unpacked")
        self.lines = lines_of(path, stream, encoding, held)
        #: Number of lines read, of comments among them, and of letters of the row that is read.
        self.number = self.left_out = self.letters = 0

    def read(self) -> Columns:
        """Read the table in whichever format it is."""
        try:
            above, head = self._head()
            first = next((line for line in head if line.strip() and not line.lstrip().startswith("%")), "")
            if _ARFF.match(first):
                return self._arff(head)
            if self.path.suffix.lower() == ".arff":
                raise InputError(f"{self.path} is named as ARFF, but does not begin with @relation; save it as CSV")
            if found := _SVMLIGHT.match(first):
                return self._svmlight(head, bool(found[1]))
            return self._delimited(above, head)
        except csv.Error as error:
            raise InputError(f"{self.path} is not a CSV file: {error}") from error
        except UnicodeError as error:
            likely = "utf-16" if self.start.startswith((b"\xff\xfe", b"\xfe\xff")) else "latin-1"
            hint = f"if it is {likely}: encoding={likely!r} (--encoding {likely})"
            hint = hint if likely != self.encoding else "try another"
            raise InputError(f"{self.path} is not {self.encoding.upper()} text; {hint}") from error

    def _head(self) -> tuple[str, list[str]]:
        """The last comment above the first line, and the lines after it from which the format is detected."""
        above, head, count = "", list[str](), 0
        for line in self.lines:
            comment = line.startswith("#")
            if head or (line.strip() and not comment):
                head.append(line)
                count += bool(line.strip()) and not line.startswith(("#", "%"))
                self.letters += len(line)
            else:
                self.number += 1
                self.left_out += comment
                above = line if comment else above
            if count == HEAD or self.letters > SHOWN:
                break
        self.letters = 0
        return above, head

    def _delimited(self, above: str, head: list[str]) -> Columns:
        shown = [line for line in head if line.strip() and not line.startswith("#")]
        delimiter = _delimiter(shown)
        quoted = all(line.startswith('"') for line in shown[:2])
        table = Columns(self.held, delimiter)
        width = len(_cells(shown[0], delimiter)) if shown else 0
        lines = self._without_comments(chain(head, self.lines), delimiter, width)
        if (
            width > 1
            and len(_cells(above or "#", delimiter)) == width
            and any(map(is_number, _cells(shown[0], delimiter)))
        ):
            lines = chain([above.lstrip("# ")], lines)
            self.number, self.left_out = self.number - 1, self.left_out - 1
        self._fill(table, csv.reader(lines, delimiter=delimiter, strict=True), quoted)
        if self.left_out:
            some = "a line that begins" if self.left_out == 1 else f"{self.left_out} lines that begin"
            warnings.warn(f"left out: {some} with # in {self.path.name}", stacklevel=5)
        return table

    def _without_comments(self, lines: Iterable[str], delimiter: str, width: int) -> Iterator[str]:
        """Blank out lines that begin with #, except those with as many cells as other lines; limit a row's length."""
        for line in lines:
            if delimiter == " " and '"' not in line:
                line = _single_blanks(line) + "\n"
            if line.startswith("#") and not self._fits(line, delimiter, width):
                self.left_out += 1
                line = "\n"
            self.letters += len(line)
            if self.letters > MAX_LINE:
                raise InputError(
                    f"{self.path}: the row below line {self.number} has more than {MAX_LINE} letters; is every "
                    "quotation mark closed?"
                )
            yield line

    def _fits(self, line: str, delimiter: str, width: int) -> bool:
        """Whether a line that begins with # has as many cells as other lines have."""
        if width < 2 or line.count(delimiter) < width - 1:
            return False
        # Checking such a line takes longer than leaving it out: files have few of them.
        self.held.add(NAME)
        return len(_cells(line, delimiter)) == width

    def _fill(self, table: Columns, reader: Any, quoted: bool) -> None:
        """Add the rows of a reader, without R's row names, which are those without a column name."""
        above, names = self.number, 0
        for row in reader:
            letters, self.letters = self.letters, 0
            self.number = above + reader.line_num
            cells = list(map(str.strip, row))
            if not any(cells):
                self.held.add(CELL * len(cells))
                continue
            if len(table.lines) == 1 and quoted and len(cells) == len(table.first) + 1:
                names, table.named = 1, True
                warnings.warn(f"left out: the names of rows in {self.path.name}, as R writes them", stacklevel=6)
            if table.lines and len(cells) != len(table.first) + names:
                raise self._uneven(table, cells, names, reader)
            table.add(self.number, cells[names:] if table.lines else cells, letters)

    def _uneven(self, table: Columns, cells: list[str], names: int, reader: Any) -> InputError:
        n, hint = len(table.first) + names, ""
        if table.delimiter == "," and len(cells) > n:
            table.close()
            above = list(zip(*(column.head for column in table.body), strict=True))
            hint = _surplus([list(row) for row in above] + list(islice(reader, HEAD)), cells, n)
        if cells[0].startswith("{"):
            hint = "; sparse ARFF is not read: save it as CSV"
        first = "the others have" if names else "the first line has"
        return InputError(f"{self.path}, line {self.number}: {len(cells)} cells, but {first} {n}{hint}")

    def _arff(self, head: list[str]) -> Columns:
        """Read ARFF: attributes are columns; nominal values stay text."""
        table, names, lines = Columns(self.held, ",", True), list[str](), chain(head, self.lines)
        for line in lines:
            self.number += 1
            if found := _ATTRIBUTE.match(line):
                self.held.add(NAME + len(line))
                names.append(found[1].strip("'\""))
            elif line.strip().lower() == "@data":
                break
        table.add(self.number, names)
        quote = max("'", '"', key="".join(head).count)
        data = ("\n" if line.startswith("%") else line for line in self._without_comments(lines, ",", 0))
        rows = csv.reader(data, delimiter=",", quotechar=quote, escapechar="\\", skipinitialspace=True, strict=True)
        self._fill(table, rows, False)
        return table

    def _svmlight(self, head: list[str], queries: bool) -> Columns:
        """Read SVMlight: columns are label, qid in a LETOR file, and feature numbers; unlisted features are 0."""
        named = ["label"] + ["qid"] * queries
        table, least = Columns(self.held, named=True, fill="0"), 1
        table.add(self.number, named)
        for line in chain(head, self.lines):
            self.number += 1
            row = line.partition("#")[0].split()
            if row:
                row, lowest = self._features(row, len(named), queries)
                least = min(least, lowest)
                table.add(self.number, row, len(line))
        table.close()
        table.first = named + [str(number) for number in range(len(table.body) - len(named))]
        if least:
            del table.first[len(named)], table.body[len(named)]
        if queries:
            warnings.warn(
                f"column 'qid' of {self.path.name} is of queries, no feature: drop=['qid'] (--drop qid)", stacklevel=5
            )
        return table

    def _features(self, row: list[str], begin: int, queries: bool) -> tuple[list[str], int]:
        """Parse a row of SVMlight to cells; also returns its lowest feature number."""
        pairs = [pair.partition(":") for pair in row[1:]]
        if queries != (pairs[:1] != [] and pairs[0][0] == "qid") or not all(
            place.isdecimal() and len(place) < 9 and int(place) <= MOST_FEATURES and value
            for place, _, value in pairs[queries:]
        ):
            raise InputError(
                f"{self.path}, line {self.number}: features must be number:value, numbers to {MOST_FEATURES}"
            )
        places = {int(place): value for place, _, value in pairs[queries:]}
        cells = [row[0], *(value for *_, value in pairs[:queries])] + ["0"] * (max(places, default=0) + 1)
        for place, value in places.items():
            cells[begin + place] = value
        return cells, min(places, default=1)


def _surplus(rows: list[list[str]], wrong: list[str], n: int) -> str:
    """Advice for a row of too many cells: commas in text, where other rows have fewer texts, or commas in numbers."""

    def words(row: list[str]) -> int:
        return sum(not is_number(cell) for cell in row)

    if any(len(row) == n and words(row) < words(wrong) for row in rows[:HEAD]):
        return "; put text that has a comma into quotes"
    return "; with decimal commas separate columns by semicolons or tabs; numbers such as 1,234 need quotes"


def _cells(line: str, delimiter: str) -> list[str]:
    return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter), [])]


def _single_blanks(line: str) -> str:
    """A line with one blank for several, and none at its ends."""
    return re.sub(" +", " ", line.strip())


def _delimiter(head: list[str]) -> str:
    """Find the delimiter that divides the first lines into equally many cells; else the most frequent in line 1.

    Blanks count as a delimiter in files that R wrote, with names in quotes, and where they divide all lines alike, but
    not into groups of digits.
    """
    for delimiter in DELIMITERS:
        widths = set(_widths(head, delimiter))
        if len(widths) == 1 and widths != {1}:
            return delimiter
    first, *others = _widths([*map(_single_blanks, head)], " ")
    if len(set(others)) == 1:
        # In files of R the names of rows have no name; elsewhere blanks may separate groups of digits.
        quoted = all(line.startswith('"') for line in head)
        groups = all(len(part) == 3 and part.isdecimal() for line in head for part in line.split()[1:])
        if (first == others[0] > 1 and not groups) or (first == others[0] - 1 and quoted):
            return " "
    return max(DELIMITERS, key=head[0].count) if head else ","


def _widths(head: list[str], delimiter: str) -> list[int]:
    """Numbers of cells of each line; 1 if a cell is too long, as the whole line is under a wrong delimiter."""
    try:
        return [len(row) for row in csv.reader(head, delimiter=delimiter)] or [0]
    except csv.Error:
        return [1]


def names_columns(table: Columns) -> bool:
    """Whether the first row names the columns.

    It does not if it is like the others, with numbers where they have numbers and text that they have as well. But
    names may be numbers too, such as wavelengths or the default names of pandas: these are evenly spaced, or next to
    text that is not among the repeated values below it.
    """
    numeric = [all(map(may_be_number, column.head)) for column in table.body]
    heads = [cell for cell, here in zip(table.first, numeric, strict=True) if here]
    if len(table.lines) == 1 or not heads or not all(map(may_be_number, heads)):
        return True
    texts = [(cell, column) for cell, column, here in zip(table.first, table.body, numeric, strict=True) if not here]
    if any(cell in column for cell, column in texts):
        return False
    return any(column.repeats for _, column in texts) or _evenly_spaced(
        numbers([cell for cell in heads if cell.lower() not in GAPS])
    )


def _evenly_spaced(values: NDArray[np.float64]) -> bool:
    steps = np.diff(values)
    enough = len(values) > 2 or values.tolist() == [0.0, 1.0]
    return bool(enough and steps[0] != 0.0 and np.allclose(steps, steps[0], rtol=1e-6))
