"""Rows of Parquet files as text, by pyarrow if installed, once all page headers show that they fit in memory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from convexmetric import files
from convexmetric.datasets.columns import BLOCK_CELLS, CELL, LINE, NAME, Column, Columns
from convexmetric.datasets.numerals import SEPARATOR
from convexmetric.errors import InputError
from convexmetric.files import Held, check_unpacked, guarded
from convexmetric.imports import optional

#: Prefix of the name that pandas gives an index without one.
INDEX = "__index_level_"
#: Most bytes of a page or the footer, and of the header of a page; most pages.
PAGE, HEADER, PAGES = 2**25, 2**16, 2**17
#: Most structures in a header, of which a reader makes hundreds of bytes each, and most values.
STRUCTURES, VALUES = 2**18, 2**21
#: Accepted types of columns, by their pyarrow names up to a bracket.
TYPES = frozenset(
    ["null", "bool", "halffloat", "float", "double", "string", "large_string", "date32", "timestamp", "decimal128"]
    + [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
)


def is_parquet(start: bytes) -> bool:
    """Whether the first bytes of a file are those of Parquet."""
    return start.startswith(b"PAR1")


def read_parquet(path: Path, held: Held) -> Columns:
    """Read the rows of a Parquet file, numbered from 1; row 0 holds the names.

    Raises
    ------
    InputError
        If it is damaged, takes more than :data:`~convexmetric.files.MAX_BYTES`, or a column holds neither numbers nor
        text.
    NotInstalledError
        Without pyarrow.
    """
    parquet = optional("pyarrow.parquet", "tables", "a Parquet file")

    def read() -> Columns:
        with open(path, "rb") as stream:
            longest = _largest_page(path, stream)
            file = parquet.ParquetFile(stream)
            schema, rows = file.schema_arrow, file.metadata.num_rows
            for k, field in enumerate(schema):
                _check_type(path, field, file.schema.column(k).length)
            held.add(rows * LINE + len(schema) * (4 * NAME + rows * CELL))
            table = Columns(held, named=True)
            table.first = ["" if name.startswith(INDEX) else name for name in schema.names]
            table.lines.extend(range(rows + 1))
            # A long text may be stored once for many rows: decode only as many rows as fit if all hold the longest.
            few = max(1, min(BLOCK_CELLS, files.MAX_BYTES // 8 // longest))
            for field in schema:
                size = few if "string" in str(field.type) else BLOCK_CELLS
                batches = file.iter_batches(batch_size=size, columns=[field.name], use_threads=False)
                parts = (_cells(batch.column(field.name).to_pylist()) for batch in batches)
                table.body.append(Column())
                table.body[-1].blocks = [table.block(SEPARATOR.join(cells), len(cells)) for cells in parts if cells]
                if len(table.body[-1]) != rows:
                    raise ValueError(f"column {field.name!r} has not {rows} rows")
            return table

    return guarded(path, read)


def _check_type(path: Path, field: Any, length: int) -> None:
    kind = str(getattr(field.type, "value_type", field.type)).partition("(")[0].partition("[")[0]
    if kind not in TYPES or field.type.num_fields or (length or 0) > 16:
        raise InputError(
            f"{path}: column {field.name!r} holds {field.type}; write it as numbers or text, or leave it out"
        )


def _cells(values: list[Any]) -> list[str]:
    """Convert values to the text they have in CSV files, with 0 and 1 for false and true."""
    return ["" if value is None else str(int(value) if isinstance(value, bool) else value).strip() for value in values]


def _largest_page(path: Path, stream: IO[bytes]) -> int:
    """Size in bytes of the largest page, as declared by the page headers: readers allocate what these declare.

    Raises
    ------
    InputError
        If a page or all of them take too much.
    """
    end = stream.seek(-8, os.SEEK_END)
    size = int.from_bytes(stream.read(4), "little")
    if size > min(end, PAGE):
        raise ValueError("its footer is too long")
    stream.seek(end - size)
    footer = _Thrift(stream.read(size)).struct()
    total, longest, count = 0, 1, 0
    for group in footer[4]:
        for chunk in group[1]:
            for unpacked in _pages(stream, chunk[3]):
                total, longest, count = total + unpacked, max(longest, unpacked), count + 1
                check_unpacked(total, path)
                if longest > PAGE or count > PAGES:
                    raise InputError(f"{path} has a page of more than {PAGE} bytes, or too many; write smaller ones")
    return longest


def _pages(stream: IO[bytes], about: dict[int, Any]) -> Iterator[int]:
    """Bytes that every page of a column in a group of rows takes when it is unpacked."""
    # The dictionary comes first, where there is one.
    place = min([about[9], *([about[11]] if about.get(11, 0) > 0 else [])])
    end = place + about[7]
    while place < end:
        stream.seek(place)
        thrift = _Thrift(stream.read(HEADER))
        header = thrift.struct()
        if min(header[2], header[3]) < 0:
            raise ValueError("a page has a negative size")
        yield header[2]
        place += thrift.at + header[3]


class _Thrift:
    """Bytes of Thrift's compact protocol, in which the headers of Parquet files are written."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0
        self.structures = self.values = 0

    def struct(self) -> dict[int, Any]:
        """Fields by their numbers."""
        found: dict[int, Any] = {}
        number = 0
        self.structures += 1
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._integer()
            # Types 1 and 2 are values of a field: true and false.
            found[number] = head & 15 == 1 if head & 15 < 3 else self._value(head & 15)
        return found

    def _value(self, kind: int) -> Any:
        self.values += 1
        if self.values > VALUES or self.structures > STRUCTURES:
            raise ValueError("its headers have too many values")
        if kind in (4, 5, 6):
            return self._integer()
        if kind == 12:
            return self.struct()
        if kind in (9, 10):
            head = self._byte()
            count = head >> 4 if head >> 4 < 15 else self._natural()
            return [self._value(head & 15) for _ in range(count)]
        # No header contains maps.
        size = self._natural() if kind == 8 else {1: 1, 2: 1, 3: 1, 7: 8}[kind]
        self.at += size
        if self.at > len(self.data):
            raise EOFError("a header ends early")
        return None

    def _byte(self) -> int:
        self.at += 1
        return self.data[self.at - 1]

    def _natural(self) -> int:
        found = shift = 0
        while (byte := self._byte()) > 127:
            found |= (byte & 127) << shift
            shift += 7
            if shift > 63:
                raise ValueError("a number in a header is too long")
        return found | byte << shift

    def _integer(self) -> int:
        found = self._natural()
        return found >> 1 ^ -(found & 1)
