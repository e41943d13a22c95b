"""Rows of Parquet files and of Excel workbooks as text, by pyarrow and openpyxl where these are installed."""

from __future__ import annotations

import io
import warnings
import zipfile
from pathlib import Path
from typing import Any

from convexmetric import files
from convexmetric.files import check_unpacked, guarded
from convexmetric.imports import optional

#: Suffixes of the workbooks that openpyxl reads.
WORKBOOKS = (".xlsx", ".xlsm")
#: Prefix of the name that pandas gives an index without one.
INDEX = "__index_level_"
#: Largest number of rows of a Parquet file decoded at a time, and bytes that are reckoned for a value.
BATCH, WORD = 1000, 8


def is_parquet(raw: bytes) -> bool:
    """Whether the bytes are those of a Parquet file."""
    return raw.startswith(b"PAR1")


def is_workbook(path: Path, raw: bytes) -> bool:
    """Whether a file is a workbook, by its suffix and the zip signature."""
    return path.suffix.lower() in WORKBOOKS and raw.startswith(b"PK\x03\x04")


def read_parquet(path: Path, raw: bytes) -> list[tuple[int, list[str]]]:
    """Rows of a Parquet file, numbered from 1, below one of names with the number 0.

    Raises
    ------
    InputError
        If it is damaged, or takes more than :data:`~convexmetric.files.MAX_BYTES`.
    NotInstalledError
        Without pyarrow.
    """
    parquet = optional("pyarrow.parquet", "tables", "a Parquet file")

    def read() -> list[tuple[int, list[str]]]:
        file = parquet.ParquetFile(io.BytesIO(raw))
        about = file.metadata
        check_unpacked(WORD * about.num_rows * about.num_columns, path)
        parts = (about.row_group(g).column(c) for g in range(about.num_row_groups) for c in range(about.num_columns))
        # A long text may be stored once for many rows: decode only as many rows as fit if all hold the longest text.
        longest = max((part.total_uncompressed_size for part in parts if part.physical_type == "BYTE_ARRAY"), default=1)
        count = max(1, min(BATCH, files.MAX_BYTES // max(1, longest)))
        names = ["" if name.startswith(INDEX) else name for name in file.schema_arrow.names]
        rows, size = [(0, names)], 0
        for batch in file.iter_batches(batch_size=count):
            columns = [column.to_pylist() for column in batch.columns]
            found = list(map(_cells, zip(*columns, strict=True)))
            size += sum(len(cell) for row in found for cell in row)
            check_unpacked(size, path)
            rows.extend(enumerate(found, start=len(rows)))
        return rows

    return guarded(path, read)


def read_workbook(path: Path, raw: bytes) -> list[tuple[int, list[str]]]:
    """Rows of the first sheet of an Excel workbook that are not empty, with their numbers in it, all of one length.

    Raises
    ------
    InputError
        If it is damaged, or takes more than :data:`~convexmetric.files.MAX_BYTES`.
    NotInstalledError
        Without openpyxl.
    """
    openpyxl = optional("openpyxl", "tables", "an Excel workbook")

    def read() -> list[tuple[int, list[str]]]:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            check_unpacked(sum(member.file_size for member in archive.infolist()), path)
        book = openpyxl.load_workbook(io.BytesIO(raw), read_only=True, data_only=True)
        sheet = book.worksheets[0]
        if len(book.worksheets) > 1:
            warnings.warn(f"{path.name} is read from {sheet.title!r}, the first of its sheets", stacklevel=6)
        # Some programs record too small a size of a sheet, with which rows would be lost: ignore it.
        sheet.reset_dimensions()
        rows, cells, width = [], 0, 0
        for number, values in enumerate(sheet.iter_rows(values_only=True), start=1):
            # Rows and cells without a value are not stored but count: row numbers in the file may be huge.
            cells += 1 + len(values)
            check_unpacked(WORD * cells, path)
            row = _cells(values)
            if any(row):
                rows.append((number, row))
                width = max(width, len(row))
        return [(number, row + [""] * (width - len(row))) for number, row in rows]

    return guarded(path, read)


def _cells(values: Any) -> list[str]:
    """Convert values to the text they have in CSV files, with 0 and 1 for false and true."""
    return ["" if value is None else str(int(value) if isinstance(value, bool) else value).strip() for value in values]
