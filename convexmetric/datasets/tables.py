"""Read labelled tables from files of columns, as spreadsheets, pandas and R write them."""

from __future__ import annotations

import os
import shlex
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexmetric.arguments import closest
from convexmetric.datasets import delimited, numerals
from convexmetric.datasets.columns import CELL, Column, Columns
from convexmetric.datasets.dataset import Dataset
from convexmetric.datasets.encoding import LEVELS, encoding_of
from convexmetric.datasets.numerals import GAPS, MISSING
from convexmetric.errors import InputError
from convexmetric.files import Held

#: Prefix of the name that pandas gives a column without one.
UNNAMED = "Unnamed: "
#: Names of columns that identify rows, in lower case.
ROW_NAMES = frozenset(["id", "index"])
#: Number of classes above which labels are checked for being values of a measurement.
FEW_CLASSES = 10
#: Rows per class below which numeric labels are refused as measurements: of whole numbers, which may be codes; others.
ROWS_A_CODE, ROWS_A_VALUE = 3, 10
#: Advice for columns of words.
ENCODE = f"encode=True (--encode) makes numbers of truth values, percentages, dates and at most {LEVELS} categories"
#: Advice for labels that are a measurement.
INTO_BINS = "Put them into a few bins, such as low, middle and high"
#: Number of rows from which on a column of distinct whole numbers looks like an identifier.
MANY_ROWS = 20
#: Characters of a cell that a message shows.
SHOWN = 80
#: Integers beyond this are not all representable as floats.
LARGEST_INTEGER = 2**53


def read_csv(
    path: str | os.PathLike[str],
    label: str | int,
    *,
    drop: Sequence[str | int] = (),
    header: bool | None = None,
    drop_missing: bool = False,
    encoding: str = "utf-8",
    encode: bool = False,
) -> Dataset:
    """Read a table of numbers with a column of labels.

    Columns are separated by commas, semicolons, tabs, | or blanks, whichever divides all lines alike. Unless it is the
    comma, decimal commas are read as well. Thousands separators are accepted if the numbers of the table can be read in
    only one way. Lines that begin with # are left out, as are the names of rows that R writes, and columns without a
    value. Assumptions about the file are reported in warnings.

    Parameters
    ----------
    path : path
        A text file, a row a line, also compressed by gzip, bzip2 or xz; one of ARFF, or of SVMlight and LETOR, whose
        columns are named label, qid and by the numbers of features; the first sheet of an Excel workbook; or, with
        ``pip install 'convexmetric[tables]'``, a Parquet file of numbers and text.
    label : str or int
        The column of labels, which may be text: its name, or its number, from 0, or from the end by -1.
    drop : sequence of str or int
        Columns to leave out. A column without a name that numbers the rows, as pandas and R write it, is always
        left out.
    header : bool, optional
        Whether the first line names the columns; if not, they are named by their numbers. By default this is detected:
        names are not numbers in columns of numbers, unless evenly spaced, and not text that occurs below.
    drop_missing : bool
        Leave out rows with a missing value instead of refusing the table.
    encoding : str
        Encoding of the text, such as ``"latin-1"`` or ``"utf-16"``.
    encode : bool
        Make numbers of words: of truth values, percentages and dates; and of categories of at most 20 words a column
        ``name=word`` of 0 and 1 each.

    Returns
    -------
    Dataset
        Labels as codes, their names sorted in ``target_names``; names of the columns of X in ``extras["columns"]``, and
        the line of the file on which each row ends, from 1, in ``extras["lines"]``.

    Raises
    ------
    InputError
        If the file is missing, too large or not such a table, its labels are measurements, or an integer is above
        :math:`2^{53}`: the message names line and column, and what to do.
    NotInstalledError
        If a Parquet file needs a package that is not installed.

    Warns
    -----
    UserWarning
        If columns, rows or lines are left out, a column seems to number or identify the rows, the first line is taken
        for data, or commas for decimal marks or separators of thousands.
    """
    path = Path(path)
    table = _named(path, delimited.read_columns(path, encoding), header, label)
    target = table.number(label)
    columns = table.kept(drop, target)
    if not columns:
        hint = "" if len(table.names) > 1 else "; columns are separated by commas, semicolons or tabs"
        raise InputError(f"{path}: there is no column beside {label!r} to learn from{hint}")
    table = table.complete([*columns, target], target, drop_missing)
    if encode:
        table, columns = table.encoded(columns)
    classes, codes = table.labels(target)
    _check_classes(table, target, classes, len(codes))
    X = table.numbers(columns)
    table.warn_of_counts(columns, X)
    return Dataset(
        _stem(path),
        X,
        codes,
        tuple(classes),
        f"{path.name}, labelled by {table.names[target]!r}",
        table.extras(columns),
    )


def read_table(
    path: str | os.PathLike[str],
    columns: Sequence[str] | None = None,
    *,
    drop: Sequence[str | int] = (),
    header: bool | None = None,
    drop_missing: bool = False,
    encoding: str = "utf-8",
    encode: bool = False,
    label: str | int | None = None,
) -> Dataset:
    """Read columns of a table of numbers; it need not have labels.

    Parameters
    ----------
    path : path
        As for :func:`read_csv`.
    columns : sequence of str, optional
        Which columns, in this order. By default all but those to ``drop``.
    drop, header, drop_missing, encoding, encode
        As for :func:`read_csv`; ``columns`` are then those that it made.
    label : str or int, optional
        A column of words to read beside them, where none need be.

    Returns
    -------
    Dataset
        ``y`` is None without ``label``; names of the columns in ``extras["columns"]``, the line on which each row ends
        in ``extras["lines"]``.

    Raises
    ------
    InputError
        As for :func:`read_csv`, or if there is no such column: the message suggests the most similar name.
    """
    path = Path(path)
    table = _named(path, delimited.read_columns(path, encoding), header, 0)
    if encode and columns is not None:
        named = [
            c for c, name in enumerate(table.names) if any(f"{column}=".startswith(f"{name}=") for column in columns)
        ]
        table = table.complete(named, None, drop_missing).encoded(named, columns)[0]
    beside = [] if label is None else [table.number(label)]
    chosen = table.kept(drop, *beside) if columns is None else [table.number(column) for column in columns]
    if not chosen:
        raise InputError(f"{path}: there is no column left to read")
    table = table.complete(chosen, None, drop_missing)
    if encode and columns is None:
        table, chosen = table.encoded(chosen)
    X = table.numbers(chosen)
    if columns is None:
        table.warn_of_counts(chosen, X)
    names, codes = table.labels(beside[0]) if beside else ([], None)
    return Dataset(_stem(path), X, codes, tuple(names), path.name, table.extras(chosen))


@dataclass(frozen=True)
class _Table:
    """A table as text: cells by column, stripped, and the line on which each row ends."""

    path: Path
    names: list[str]
    cells: list[Column]
    lines: NDArray[np.int64]
    delimiter: str
    #: Whether the first line was guessed to be data, without ``header=False``.
    assumed: bool
    held: Held

    def number(self, column: str | int) -> int:
        """The number of a column, from its name or number."""
        if isinstance(column, str) and column in self.names:
            return self.names.index(column)
        n = len(self.names)
        if not _is_integer(column):
            raise InputError(f"{self.path}: there is no column {column!r}; {self._instead(column)}")
        if not -n <= int(column) < n:
            raise InputError(
                f"{self.path}: there is no column {column}; columns have the numbers 0 to {n - 1}, or -{n} to -1"
            )
        return int(column) % n

    def _instead(self, column: str | int) -> str:
        if self.assumed:
            first = [cells[0] for cells in self.cells]
            number = first.index(column) if column in first else len(first) - 1
            return (
                "its first line holds data, not names: give the column's number and header=False, such as "
                f"--no-header --label {number}; if it does name the columns, header=True (--header)"
            )
        if len(self.names) == 1 and len(self.names[0].split()) > 1:
            return "columns are separated by commas, semicolons or tabs; in R write.csv(table, file, row.names=FALSE)"
        if str(column).partition("=")[0] in self.names:
            return "columns of categories are made by encode=True (--encode)"
        return closest(str(column), self.names, "did you mean {}?") or f"it has {', '.join(map(repr, self.names))}"

    def shown(self, c: int) -> str:
        """Name of a column for messages."""
        return repr(self.names[c]) if self.names[c] else f"{c} (without a name)"

    def kept(self, drop: Sequence[str | int], *others: int) -> list[int]:
        """Columns to keep: not to be dropped, not empty, and not a numbering of the rows (with a warning)."""
        if isinstance(drop, str):
            raise InputError(f"drop must be a list of columns, such as [{drop!r}]")
        dropped = {*others, *map(self.number, drop)}
        empty = {
            c for c, cells in enumerate(self.cells) if c not in dropped and all(cell.lower() in GAPS for cell in cells)
        }
        # Delimiters at the ends of lines make columns without a name and without values, of which nothing is said.
        if shown := [self.shown(c) for c in sorted(empty) if self.names[c]]:
            _warn(f"left out: column(s) of {self.path.name} without a value: {', '.join(shown)}")
        dropped |= empty
        kept = [c for c in range(len(self.names)) if c not in dropped]
        names = [self.names[c] for c in kept]
        name, count = next(iter(Counter(names).most_common(1)), ("", 0))
        if count > 1:
            raise InputError(
                f"{self.path}: two columns are called {name!r}; the first line must name every column once "
                "(if it holds data: header=False, --no-header)"
            )
        unnamed = [c for c, name in zip(kept, names, strict=True) if not name or name.startswith(UNNAMED)]
        numbering = {c for c in unnamed if _tell_rows_apart(self.cells[c].numbers())}
        for c in sorted(numbering):
            _warn(f"column {c} of {self.path.name} has no name and numbers the rows: it is left out")
        return [c for c in kept if c not in numbering]

    def encoded(self, columns: list[int], wanted: Sequence[str] = ()) -> tuple[_Table, list[int]]:
        """Make numbers of columns of words; returns the table and the columns to read.

        Categories whose columns ``name=word`` are wanted have these alone.
        """
        names, cells, chosen = [*self.names], [*self.cells], list[int]()
        for c in columns:
            found = self._encoding(c, wanted)
            chosen += [] if found else [c]
            for name, values in found.items():
                self.held.add(CELL * len(self.lines))
                at = c if name == self.names[c] else len(names)
                names[at : at + 1], cells[at : at + 1] = [name], [self.cells[c].mapped(values)]
                chosen.append(at)
        return replace(self, names=names, cells=cells), chosen

    def _encoding(self, c: int, wanted: Sequence[str]) -> dict[str, dict[str, float]]:
        levels = [column for column in wanted if column.startswith(f"{self.names[c]}=")]
        row = self.cells[c].first_odd(numerals.WAYS)
        if not levels and (row is None or self._is_typo(c, row)):
            return {}
        kind, found = encoding_of(self.names[c], set(self.cells[c]), levels)
        if found:
            _warn(f"column {self.shown(c)} of {self.path.name} is encoded: {kind}")
        return found

    def _is_typo(self, c: int, row: int) -> bool:
        """Whether a cell has a letter in a column of numbers."""
        head = self.cells[c].head
        return 2 * sum(map(numerals.is_number, head)) > len(head) and any(map(str.isalpha, self.cells[c][row]))

    def extras(self, columns: list[int]) -> dict[str, Any]:
        """Extras of the data set: names of the columns, and the lines of the rows."""
        return {"columns": tuple(self.names[c] for c in columns), "lines": self.lines}

    def complete(self, columns: list[int], target: int | None, drop_missing: bool) -> _Table:
        """Rows without a missing value; an error names a missing one unless ``drop_missing``."""
        lacking = np.array([self.cells[c].among(MISSING if c == target else GAPS) for c in columns])
        rows: NDArray[np.bool_] = np.asarray(lacking.any(axis=0))
        if not rows.any():
            return self
        if not drop_missing:
            row = int(np.argmax(rows))
            c = columns[int(np.argmax(lacking[:, row]))]
            raise InputError(
                f"{self.path}, line {self.lines[row]}: column {self.shown(c)} has no value ({_amount(rows)} of "
                f"{len(rows)} like this); fill it in, or leave out such rows: drop_missing=True (--drop-missing)"
            )
        if rows.all():
            c = columns[int(np.argmax(lacking.sum(axis=1)))]
            raise InputError(f"{self.path}: every row lacks a value, most in column {self.shown(c)}; leave out columns")
        _warn(f"left out for a missing value: {_amount(rows)} of {len(rows)} in {self.path.name}")
        for c, column in enumerate(self.cells):
            # One at a time, so that no second copy of all columns is in memory.
            self.cells[c] = column.take(~rows)
        return replace(self, lines=self.lines[~rows])

    def labels(self, target: int) -> tuple[list[str], NDArray[np.int64]]:
        """The sorted names of classes, and the class of every row."""
        known: dict[str, int] = {}
        codes = self.cells[target].codes(known, self.held)
        classes = sorted(known)
        places = np.empty(len(classes), dtype=np.int64)
        places[[known[name] for name in classes]] = np.arange(len(classes))
        return classes, places[codes]

    def numbers(self, columns: list[int]) -> NDArray[np.float64]:
        """Convert columns to numbers, all in the same notation."""
        # Columns that are not plain numbers decide the notation.
        order = sorted(columns, key=lambda c: self.cells[c].read(numerals.PLAIN) is not None)
        for marks in numerals.ways_to_write(self.delimiter):
            found = {}
            for c in order:
                values = self.cells[c].read(marks)
                if values is None:
                    break
                found[c] = values
            else:
                self._check_integers(found, marks)
                if marks is not numerals.PLAIN:
                    what, other = "thousands separators", numerals.Marks(marks.decimal)
                    if not marks.thousands:
                        what, other = "decimal commas", numerals.PLAIN
                    cells = (cell for c in order for cell in self.cells[c])
                    example = next(cell for cell in cells if marks.plain(cell) != other.plain(cell))
                    _warn(f"{self.path.name} has {what}: {example} is read as {marks.plain(example)}")
                return np.column_stack([found[c] for c in columns])
        raise self._no_numbers(columns)

    def _no_numbers(self, columns: list[int]) -> InputError:
        """Make the error for columns that cannot be read as numbers."""
        rows = {c: row for c in columns if (row := self.cells[c].first_odd(numerals.WAYS)) is not None}
        if rows:
            c, *others = rows
            named = " ".join(f"--drop {shlex.quote(self.names[at])}" for at in rows)
            hint = f"{ENCODE}, or leave out: {named}"
            if others:
                shown = ", ".join(f"{self.shown(at)} ({_short(self.cells[at][rows[at]])})" for at in others)
                hint = f"nor do {shown} hold numbers; {hint}"
            elif self._is_typo(c, rows[c]):
                hint = (
                    "it has a letter where a number was expected: correct it, or empty the cell and use "
                    "drop_missing=True (--drop-missing)"
                )
            return self._no_number(c, rows[c], hint)
        marks = numerals.PLAIN if self.delimiter == "," else numerals.DECIMAL_COMMAS
        odd = ((c, self.cells[c].first_odd([marks])) for c in columns)
        c, row = next((c, row) for c, row in odd if row is not None)
        if marks is numerals.PLAIN:
            return self._no_number(c, row, "with decimal commas separate columns by semicolons")
        cell = _short(self.cells[c][row])
        return InputError(
            f"{self.path}, line {self.lines[row]}: column {self.shown(c)} holds {cell}, but other "
            "numbers of the table have decimal commas; write all decimal marks alike"
        )

    def _no_number(self, c: int, row: int, hint: str) -> InputError:
        cell = _short(self.cells[c][row])
        return InputError(
            f"{self.path}, line {self.lines[row]}: column {self.shown(c)} holds {cell}, which is no number; {hint}"
        )

    def _check_integers(self, values: dict[int, NDArray[np.float64]], marks: numerals.Marks) -> None:
        """Refuse integers that a float cannot represent exactly."""
        for c, column in values.items():
            large = np.abs(column) >= LARGEST_INTEGER
            for row, said in zip(np.flatnonzero(large), compress(self.cells[c], large), strict=True):
                cell = marks.plain(said)
                digits = cell.lstrip("+-")
                # Python converts no more than 4300 digits: zeros in front.
                if digits.isdecimal() and int(digits.lstrip("0")) > LARGEST_INTEGER:
                    raise InputError(
                        f"{self.path}, line {self.lines[row]}: column {self.shown(c)} holds {cell}, an integer above "
                        f"2^53, of which a float has only the first 16 digits. An identifier is left out by "
                        f"drop=[{self.names[c]!r}] (--drop {self.names[c]}); of a measurement divide the column by 1000"
                    )

    def warn_of_counts(self, columns: list[int], X: NDArray[np.float64]) -> None:
        """Warn of columns that seem to number or identify the rows."""
        for c, column in zip(columns, X.T, strict=True):
            named = self.names[c].lower() in ROW_NAMES and _tell_rows_apart(column)
            if named or (len(column) > 2 and bool(np.all(np.diff(np.sort(column)) == 1.0))):
                seems = "seems to number the rows"
            elif len(column) >= MANY_ROWS and _tell_rows_apart(column):
                seems = "has another whole number in every row, as identifiers do"
            else:
                continue
            _warn(
                f"column {self.shown(c)} of {self.path.name} {seems}; if so leave it out: "
                f"drop=[{self.names[c]!r}] (--drop {self.names[c]})"
            )


def _named(path: Path, read: Columns, header: bool | None, label: str | int) -> _Table:
    """Make the table, with names of columns from its first line, or numbers for names."""
    header = header if read.named is None else read.named
    named = delimited.names_columns(read) if header is None else header
    if named and len(read.lines) == 1:
        hint = "; if its only line holds data: header=False (--no-header)" * any(map(numerals.is_number, read.first))
        raise InputError(f"{path}: there is no row below the names of the columns{hint}")
    n, assumed = len(read.first), header is None and not named
    if assumed and _is_integer(label):
        _warn(
            f"the first line of {path.name} is taken for data, and columns are called 0 to {n - 1}; if it names them: "
            "header=True (--header)"
        )
    names, cells = (read.first, read.body) if named else ([str(c) for c in range(n)], read.whole())
    lines = np.array(read.lines, dtype=np.int64)
    return _Table(path, names, cells, lines[1:] if named else lines, read.delimiter, assumed, read.held)


def _stem(path: Path) -> str:
    """Name of a file without the suffixes of compression and format."""
    return Path(path.stem).stem if path.suffix.lower() in (".gz", ".bz2", ".xz") else path.stem


def _is_integer(column: str | int) -> bool:
    try:
        return int(column) == float(column)
    except (TypeError, ValueError):
        return False


def _tell_rows_apart(column: NDArray[np.float64]) -> bool:
    """Whether all values are distinct whole numbers."""
    return bool(np.all(column == np.round(column)) and np.unique(column).size == len(column))


def _check_classes(table: _Table, target: int, classes: list[str], n: int) -> None:
    """Refuse labels that are values of a measurement: most rows would be alone in their class."""
    if not all(map(numerals.is_number, classes)):
        return
    values = numerals.numbers([name.replace(",", ".") for name in classes])
    if looks_measured(values, n):
        raise InputError(
            f"{table.path}: the labels in column {table.shown(target)} are {len(classes)} different numbers in {n} "
            f"rows, which looks like a measurement. {INTO_BINS}, or name another column; if they are codes of classes, "
            "write them with a letter, such as c17"
        )


def looks_measured(values: NDArray[np.float64], n: int) -> bool:
    """Whether the distinct labels of n rows look like values of a measurement: most rows alone in their class."""
    least = ROWS_A_CODE if np.all(values == np.round(values)) else ROWS_A_VALUE
    return len(values) > FEW_CLASSES and n < least * len(values)


def _short(cell: str) -> str:
    return repr(cell if len(cell) < SHOWN else f"{cell[:SHOWN]}...")


def _amount(rows: NDArray[np.bool_]) -> str:
    count = int(rows.sum())
    return f"{count} row{'s' if count > 1 else ''}"


def _warn(message: str) -> None:
    # The stack level is that of the caller of read_csv or read_table.
    warnings.warn(message, stacklevel=4)
