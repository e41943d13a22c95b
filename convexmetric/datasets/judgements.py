"""Read tables of triplets: an object, one that is nearer to it, and one that is farther."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from convexmetric.datasets.delimited import read_columns
from convexmetric.errors import InputError

#: Names of the three columns, in lower case.
HEADS = (
    ("head", "anchor", "query", "reference", "i"),
    ("winner", "near", "close", "nearer", "closer", "positive", "j"),
    ("loser", "far", "farther", "further", "negative", "k"),
)


def read_triplets(
    path: str | os.PathLike[str], *, encoding: str = "utf-8"
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Read triplets from a table whose rows say that one object is nearer to the first than another one is.

    Parameters
    ----------
    path : path
        A text file of three columns, separated by commas, semicolons or tabs, optionally compressed by gzip or bzip2,
        or the only file of a zip archive; at most 512 MiB, compressed or not. Columns are in the order (i, j, k), i
        nearer to j than to k, unless the first line has the names head or anchor, winner or near, loser or far, in any
        order and among others.
    encoding : str
        Encoding of the text.

    Returns
    -------
    triplets : (T, 3) int array
        Numbers of objects.
    names : tuple of str
        Names of the objects: sorted as numbers if all are whole numbers, else alphabetically.

    Raises
    ------
    InputError
        If the file is missing, too large, damaged or not such a table, a cell is empty, or a row names an object twice.
    """
    path = Path(path)
    table = read_columns(path, encoding, archives=True)
    first = [cell.lower() for cell in table.first]
    found = [[c for c, name in enumerate(first) if name in names] for names in HEADS]
    order = [0, 1, 2]
    if named := all(len(columns) == 1 for columns in found):
        order = [columns[0] for columns in found]
    elif len(first) != 3 or any(found):
        raise InputError(f"{path}: its columns must be three, or named head, near and far; got {', '.join(first[:9])}")
    columns, lines = table.body if named else table.whole(), table.lines[named:]
    if not lines:
        raise InputError(f"{path}: there is no row below the names of the columns")
    known: dict[str, int] = {}
    triplets = np.column_stack([columns[c].codes(known, table.held) for c in order])
    head, near, far = triplets.T
    repeated = (head == near) | (head == far) | (near == far)
    empty = (triplets == known.get("", -1)).any(axis=1)
    for wrong, what in ((empty, "a cell is empty"), (repeated, "an object is named twice")):
        if wrong.any():
            raise InputError(f"{path}, line {lines[int(np.argmax(wrong))]}: {what}")
    names = sorted(known)
    if all(map(str.isdecimal, names)):
        names.sort(key=float)
    places = np.empty(len(names), dtype=np.int64)
    places[[known[name] for name in names]] = np.arange(len(names))
    return places[triplets], tuple(names)
