"""Read tables of triplets: who was judged, what is nearer to it, and what is farther from it."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from convexmetric.datasets.delimited import read_rows
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
        A text file of three columns, separated by commas, semicolons or tabs, perhaps packed by gzip or bzip2, or the
        only file of a zip archive; at most 512 MiB, packed or unpacked. Columns are in the order (i, j, k), i nearer to
        j than to k, unless the first line has names of which head or anchor, winner or near, loser or far are known,
        in any order and among others.
    encoding : str
        Of the text.

    Returns
    -------
    triplets : (T, 3) int array
        Numbers of objects.
    names : tuple of str
        Names of the objects: in the order of their numbers where all are whole numbers, else of the alphabet.

    Raises
    ------
    InputError
        If the file is missing, too large, damaged or no such table, a cell is empty, or a row names an object twice.
    """
    path = Path(path)
    rows = read_rows(path, encoding, archives=True)[0]
    first = [cell.lower() for cell in rows[0][1]]
    found = [[c for c, name in enumerate(first) if name in names] for names in HEADS]
    if all(len(columns) == 1 for columns in found):
        order, rows = [columns[0] for columns in found], rows[1:]
    elif len(first) != 3 or any(found):
        raise InputError(f"{path}: its columns must be three, or named head, near and far; got {', '.join(first[:9])}")
    else:
        order = [0, 1, 2]
    cells = np.array([[row[c] for c in order] for _, row in rows], dtype=str).reshape(-1, 3)
    repeated = (cells[:, [0, 0, 1]] == cells[:, [1, 2, 2]]).any(axis=1)
    for wrong, what in (((cells == "").any(axis=1), "a cell is empty"), (repeated, "an object is named twice")):
        if wrong.any():
            raise InputError(f"{path}, line {rows[int(np.argmax(wrong))][0]}: {what}")
    if not len(cells):
        raise InputError(f"{path}: there is no row below the names of the columns")
    names, triplets = np.unique(cells, return_inverse=True)
    if all(name.isdecimal() for name in names.tolist()):
        by_size = np.argsort(names.astype(np.float64), kind="stable")
        names, triplets = names[by_size], np.argsort(by_size)[triplets]
    return triplets.reshape(cells.shape).astype(np.int64), tuple(names.tolist())
