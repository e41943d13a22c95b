"""Tables of text stored by column, a block of rows as one string, with a count of their memory."""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Collection, Iterator, Sequence
from itertools import chain, compress, islice

import numpy as np
from numpy.typing import NDArray

from convexmetric.datasets import numerals
from convexmetric.datasets.numerals import SEPARATOR, Marks
from convexmetric.errors import InputError
from convexmetric.files import Held

#: Cells and characters after which a block is complete.
BLOCK_CELLS, BLOCK_LETTERS = 2**16, 2**21
#: Bytes counted for a cell, which is a number in its column and in a matrix, for a line, and for a name.
CELL, LINE, NAME = 18, 32, 160
#: Cells that are examined one by one for a message.
MOST_LOOKED = 2**20
#: Number of rows by which a column is judged.
HEAD = 100


class Column:
    """The cells of a column, in the order of rows."""

    __slots__ = ("_plain", "blocks")

    def __init__(self) -> None:
        self.blocks: list[str] = []
        self._plain: NDArray[np.float64] | None = None

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(block.split(SEPARATOR) for block in self.blocks)

    def __getitem__(self, row: int) -> str:
        return next(islice(self, row, None))

    def __len__(self) -> int:
        return sum(block.count(SEPARATOR) + 1 for block in self.blocks)

    @property
    def head(self) -> list[str]:
        """The first cells."""
        return list(islice(self, HEAD))

    def numbers(self) -> NDArray[np.float64]:
        """Cells as float64, NaN for those that are not plain numbers."""
        if self._plain is None:
            self._plain, start = np.empty(len(self)), 0
            for block in self.blocks:
                part = numerals.numbers(block.split(SEPARATOR))
                self._plain[start : start + len(part)] = part
                start += len(part)
        return self._plain

    def read(self, marks: Marks) -> NDArray[np.float64] | None:
        """Cells as float64 in a notation; None if one is not a finite number in it."""
        found, start = self.numbers(), 0
        if marks is numerals.PLAIN:
            return found if np.isfinite(found).all() else None
        found = found.copy()
        for block in self.blocks:
            stop = start + block.count(SEPARATOR) + 1
            part = _read(block, marks) if marks.touch(block) else found[start:stop]
            if part is None or not np.isfinite(part).all():
                return None
            found[start:stop], start = part, stop
        return found

    def first_odd(self, ways: Sequence[Marks]) -> int | None:
        """Find the first row whose cell is not a finite number in any of the given notations; the search is limited."""
        start, looked = 0, 0
        for block in self.blocks:
            cells = block.split(SEPARATOR)
            parts = (_read(block, marks) for marks in ways)
            if not any(part is not None and np.isfinite(part).all() for part in parts):
                for row, cell in enumerate(cells, start):
                    if not any(math.isfinite(numerals.number(marks.plain(cell))) for marks in ways):
                        return row
                looked += len(cells)
            start += len(cells)
            if looked > MOST_LOOKED:
                break
        return None

    def among(self, words: Collection[str]) -> NDArray[np.bool_]:
        """Mask of cells that are, in lower case, one of the given words instead of a number."""
        found = np.isnan(self.numbers())
        found[found] = [cell.lower() in words for cell in compress(self, found)]
        return found

    def mapped(self, values: dict[str, float]) -> Column:
        """Write the number of every cell in its place."""
        made = Column()
        made.blocks = [SEPARATOR.join(repr(values[c]) for c in block.split(SEPARATOR)) for block in self.blocks]
        return made

    def take(self, rows: NDArray[np.bool_]) -> Column:
        """Select the cells of the rows in a mask."""
        taken, start = Column(), 0
        for block in self.blocks:
            cells = block.split(SEPARATOR)
            kept = list(compress(cells, rows[start : start + len(cells)]))
            taken.blocks += [SEPARATOR.join(kept)] * bool(kept)
            start += len(cells)
        return taken

    @property
    def repeats(self) -> bool:
        """Whether two rows have equal cells, up to an error probability of 1e-5."""
        found = np.fromiter(map(hash, self), np.int64)
        found.sort()
        return bool((found[1:] == found[:-1]).any())

    def codes(self, names: dict[str, int], held: Held) -> NDArray[np.int64]:
        """Encode cells by their numbers in ``names``, to which new ones are added."""
        found, start = np.empty(len(self), dtype=np.int64), 0
        for block in self.blocks:
            cells, known = block.split(SEPARATOR), len(names)
            for row, cell in enumerate(cells, start):
                found[row] = names.setdefault(cell, len(names))
            start += len(cells)
            if len(names) > known:
                held.add(NAME * (len(names) - known) + len(block))
        return found


def _read(block: str, marks: Marks) -> NDArray[np.float64] | None:
    """The numbers of a block; None if a cell is not a number in this notation."""
    text = marks.rewritten(block)
    try:
        return None if text is None else np.fromiter(map(float, text.split(SEPARATOR)), np.float64)
    except ValueError:
        return None


class Columns:
    """A table that grows by rows.

    Attributes
    ----------
    first : list of str
        The first row, which may hold names.
    body : list of Column
        The cells below it.
    lines : array of int
        The line, or number, of every row, including the first.
    delimiter : str
        What separates columns in the file; empty for Parquet files and workbooks.
    named : bool or None
        Whether the first row names the columns, if the format defines it; else None.
    """

    def __init__(self, held: Held, delimiter: str = "", named: bool | None = None, fill: str = "") -> None:
        self.held, self.delimiter, self.named, self.fill = held, delimiter, named, fill
        self.first: list[str] = []
        self.body: list[Column] = []
        self.lines = array("q")
        self._rows: list[list[str]] = []
        self._cells = self._letters = 0

    def add(self, line: int, row: list[str], letters: int = 0) -> None:
        """Add a row; ``letters`` is an upper bound on the length of its text."""
        self.lines.append(line)
        if len(self.lines) == 1:
            self.first = row
            return
        self._rows.append(row)
        self._cells += len(row)
        self._letters += letters
        if self._cells >= BLOCK_CELLS or self._letters >= BLOCK_LETTERS:
            self.close()

    def close(self) -> None:
        """Turn pending rows into a block; short rows are padded."""
        rows, self._rows, self._cells, self._letters = self._rows, [], 0, 0
        self._widen(max(map(len, rows), default=0))
        width = len(self.body)
        self.held.add((LINE + CELL * width) * len(rows))
        if any(len(row) < width for row in rows):
            rows = [row + [self.fill] * (width - len(row)) for row in rows]
        for column, cells in zip(self.body, zip(*rows, strict=True), strict=False):
            column.blocks.append(self.block(SEPARATOR.join(cells), len(rows)))

    def _widen(self, width: int) -> None:
        """Add empty columns, up to at least the number of the first row."""
        self.first = self.first + [self.fill] * (width - len(self.first))
        sizes = [block.count(SEPARATOR) + 1 for block in self.body[0].blocks] if self.body else []
        while len(self.body) < len(self.first):
            self.held.add(4 * NAME + CELL * sum(sizes))
            self.body.append(Column())
            self.body[-1].blocks = [self.block(SEPARATOR.join([self.fill] * size), size) for size in sizes]

    def block(self, block: str, size: int) -> str:
        """Count the text of a block of rows, and check that it will split into ``size`` cells."""
        # Text is counted with the memory that parsing it takes.
        self.held.add(sys.getsizeof(block) * 5 // 4)
        if block.count(SEPARATOR) >= size:
            raise InputError(
                f"{self.held.path}, above line {self.lines[-1] + 1}: there is a NUL character; if the text is in "
                "UTF-16: encoding='utf-16' (--encoding utf-16)"
            )
        return block

    def whole(self) -> list[Column]:
        """All columns, including the first row unless it holds names."""
        for column, cell in zip(self.body, self.first, strict=True):
            column.blocks.insert(0, self.block(cell, 1))
            column._plain = None
        return self.body
