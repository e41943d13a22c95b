"""Labelled tables of one's own: CSV files with a header."""

from __future__ import annotations

import csv
import difflib
import io
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..files import existing
from .dataset import Dataset

__all__ = ["read_csv"]

DELIMITERS = (",", ";", "\t")


def read_csv(path: str | os.PathLike[str], label: str, drop: Sequence[str] = ()) -> Dataset:
    """Read a table of numbers with a column of labels.

    Parameters
    ----------
    path : path
        A UTF-8 text file: names of columns in the first line, then a row a line. Columns are separated by commas,
        semicolons or tabs, whichever the first line has most of.
    label : str
        The column of labels; they may be text.
    drop : sequence of str
        Columns to leave out, such as numbers of rows.

    Returns
    -------
    Dataset
        Labels as codes, their names sorted in ``target_names``; names of the columns of X in ``extras["columns"]``.

    Raises
    ------
    InputError
        If the file is missing, too large or not such a table: the message names line and column.
    """
    path = Path(path)
    if isinstance(drop, str):
        raise InputError(f"drop must be a list of columns, such as [{drop!r}]")
    numbered = _rows(path)
    header = [name.strip() for name in numbered[0][1]]
    for name in header:
        if header.count(name) > 1:
            raise InputError(f"{path}: two columns are called {name!r}; the first line must name every column once")
    for name in (label, *drop):
        if name not in header:
            close = difflib.get_close_matches(str(name), header, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"it has {', '.join(map(repr, header))}"
            raise InputError(f"{path}: there is no column {name!r}; {hint}")
    columns = [name for name in header if name != label and name not in drop]
    if not columns:
        raise InputError(f"{path}: there is no column beside {label!r} to learn from")
    if len(numbered) < 2:
        raise InputError(f"{path}: there is no row below the names of the columns")
    lines = [line for line, _ in numbered[1:]]
    for line, row in numbered[1:]:
        if len(row) != len(header):
            raise InputError(f"{path}, line {line}: {len(row)} cells, but the first line names {len(header)} columns")
    cells = dict(zip(header, zip(*(row for _, row in numbered[1:]), strict=True), strict=True))
    names = np.array([cell.strip() for cell in cells[label]])
    if not names.all():
        raise InputError(f"{path}, line {lines[int(np.argmin(names != ''))]}: the label in column {label!r} is missing")
    X = np.column_stack([_numbers(path, name, cells[name], lines) for name in columns])
    classes, codes = np.unique(names, return_inverse=True)
    return Dataset(
        path.stem,
        X,
        codes.ravel().astype(np.int64),
        tuple(classes.tolist()),
        f"{path.name}, labelled by {label!r}",
        {"columns": tuple(columns)},
    )


def _rows(path: Path) -> list[tuple[int, list[str]]]:
    """Rows that are not empty, with the number of the line on which each ends."""
    existing(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
        first = text.lstrip().split("\n", 1)[0]
        reader = csv.reader(io.StringIO(text), delimiter=max(DELIMITERS, key=first.count), strict=True)
        rows = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text") from error
    except csv.Error as error:
        raise InputError(f"{path} is not a CSV file: {error}") from error
    if not rows:
        raise InputError(f"{path} is empty")
    return rows


def _numbers(path: Path, name: str, cells: Sequence[str], lines: Sequence[int]) -> NDArray[np.float64]:
    try:
        column = np.array(cells).astype(np.float64)
    except ValueError:
        column = np.array([_number(cell) for cell in cells])
    wrong = np.flatnonzero(~np.isfinite(column))
    if wrong.size:
        line, cell = lines[wrong[0]], cells[wrong[0]].strip()
        if not cell or cell.lower() in ("na", "nan", "null", "?"):
            raise InputError(f"{path}, line {line}: column {name!r} has no value; fill it in or drop the row or column")
        raise InputError(f"{path}, line {line}: column {name!r} holds {cell!r}, which is no number; encode or drop it")
    return column


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return float("nan")
