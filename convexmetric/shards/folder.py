"""A risk in a folder: arrays by reference, cut into shards when it is opened.

A folder holds ``shards.json`` and a folder for each *piece*, a risk with its own points; the risk is the sum of the
pieces. A piece is a set of ``.npy`` files without Python objects:

=========================  ========================================================================================
file                       what it holds
=========================  ========================================================================================
points                     corpus, ``(n, d)``
queries                    query points, ``(m, d)``; without it queries are rows of the corpus
anchors                    the row of every query
near, near_start, _stop    storage of the lists of relevant rows, and the range of every query's list in it
far, far_start, _stop      the same of irrelevant rows; or
itself                     the row that every query leaves out (n: none), if all that are not relevant are irrelevant
query_weights              weight of every query, for pairs of lists; for rankings if these have weights
triplets                   ``(T, 3)`` rows of the corpus, for listed triplets
=========================  ========================================================================================

``shards.json`` has the cone, kind and parameters of the risk, and size and SHA-256 of every file. A shard is a piece
and a range of its parts: a path and two numbers. Of the corpus it reads only the rows that its parts refer to.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from convexmetric.arrays import Array
from convexmetric.cones import Cone, NonnegativeDiagonal, PSDCone
from convexmetric.errors import InputError
from convexmetric.files import existing, mapped
from convexmetric.fingerprint import fingerprint

FORMAT = "convexmetric shards 1"
TABLE, REACH = "shards.json", "reach.npy"
#: Largest size in bytes of a table, and largest number of pieces.
MAX_TABLE, MAX_PIECES = 2**24, 10**6
#: Bytes read at a time where rows are gathered or hashed.
BLOCK = 2**24
NAMES = (
    "points", "queries", "anchors", "near", "near_start", "near_stop", "far", "far_start", "far_stop", "itself",
    "query_weights", "triplets",
)  # fmt: skip
CONES: dict[str, type[Cone]] = {"psd": PSDCone, "diagonal": NonnegativeDiagonal}


@dataclass(frozen=True)
class Piece:
    """A piece: a term of the risk that has points of its own.

    Attributes
    ----------
    name : str
        Name of its folder.
    parts, points : int
        Numbers of terms, and of points.
    weight : float
        Weight of every part; 1 where parts have weights of their own.
    files : dict
        Size in bytes and SHA-256 of every file, by name of the array.
    """

    name: str
    parts: int
    points: int
    weight: float
    files: dict[str, tuple[int, str]]

    @property
    def contents(self) -> str:
        """Joint hash of all files."""
        return fingerprint(sorted(self.files.items()))


@dataclass(frozen=True)
class Shard:
    """A range of parts of a piece, with all that a task needs to build their risk from the folder.

    Attributes
    ----------
    number : int
        Number of the shard in the sum.
    path : str
        Folder of the piece.
    start, stop : int
        Range of the piece's parts.
    first : int
        Number of its first part among those of the risk.
    cone : dict
        Name and number of features.
    risk : dict
        Kind and parameters.
    weight : float
        Weight of every part.
    sizes : dict of int
        Bytes of every file.
    contents : str
        One hash of all files, as the key of cached data: files under the path may change later.
    cache : int
        Bytes of data that a process may keep for later passes.
    """

    number: int
    path: str
    start: int
    stop: int
    first: int
    cone: dict[str, Any]
    risk: dict[str, Any]
    weight: float
    sizes: dict[str, int]
    contents: str
    cache: int

    @property
    def parts(self) -> slice:
        """Slice of the shard's parts among those of the risk."""
        return slice(self.first, self.first + self.stop - self.start)


class StoredArray:
    """An array in a ``.npy`` file, read by rows and never mapped: mapped pages count as memory of the process.

    Raises
    ------
    OSError
        If the file cannot be read.
    InputError
        If it is not such a file, or not of the size stated.
    """

    def __init__(self, path: str | os.PathLike[str], size: int | None = None) -> None:
        self.path = str(path)
        try:
            header = mapped(self.path)
        except (TypeError, ValueError) as error:
            raise InputError(f"{self.path} is no .npy file of numbers ({error})") from error
        if header.ndim not in (1, 2) or 0 in header.shape[1:] or not header.flags.c_contiguous:
            raise InputError(f"{self.path} must hold one array of one or two dimensions in C order")
        self.shape, self.dtype, self._offset = header.shape, header.dtype, int(header.offset)
        found = os.path.getsize(self.path)
        if size is not None and found != size:
            raise InputError(f"{self.path} has {found} bytes, but {size} when it was written")

    def __len__(self) -> int:
        return int(self.shape[0])

    @property
    def row_bytes(self) -> int:
        """Bytes of one row."""
        return int(self.dtype.itemsize * np.prod(self.shape[1:], dtype=np.int64))

    def rows(self, start: int, stop: int) -> np.ndarray:
        """Read rows from start to stop."""
        if not 0 <= start <= stop <= len(self):
            raise InputError(f"{self.path} has {len(self)} rows, not rows {start} to {stop}")
        count = (stop - start) * (self.row_bytes // self.dtype.itemsize)
        read = np.fromfile(self.path, self.dtype, count, offset=self._offset + start * self.row_bytes)
        if read.size != count:
            raise InputError(f"{self.path} ends early")
        return read.reshape(stop - start, *self.shape[1:])

    def fill(self, start: int, rows: np.ndarray) -> None:
        """Write rows at their place in the file."""
        with open(self.path, "r+b") as file:
            file.seek(self._offset + start * self.row_bytes)
            np.ascontiguousarray(rows, self.dtype).tofile(file)

    def take(self, rows: np.ndarray) -> np.ndarray:
        """Read rows, given in ascending order, in blocks."""
        if rows.size and not 0 <= rows[0] <= rows[-1] < len(self):
            raise InputError(f"{self.path} has {len(self)} rows, not row {rows[-1]}")
        found = np.empty((len(rows), *self.shape[1:]), self.dtype)
        step = max(1, BLOCK // self.row_bytes)
        at = 0
        while at < len(rows):
            first = int(rows[at])
            stop = int(np.searchsorted(rows, first + step))
            found[at:stop] = self.rows(first, int(rows[stop - 1]) + 1)[rows[at:stop] - first]
            at = stop
        return found


def digest(path: str | os.PathLike[str]) -> str:
    """SHA-256 of a file."""
    with open(existing(path, math.inf), "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def reach_of(folder: Path, table: dict[str, Any]) -> Array:
    """Largest absolute value of every coordinate in every piece, ``(pieces, d)``.

    Raises
    ------
    InputError
        If the file is not the one that was written.
    """
    path = folder / REACH
    try:
        if digest(path) != table["reach"]:
            raise InputError(f"{path} is not the file that was written; write the shards again")
        stored = StoredArray(path)
        found = stored.rows(0, len(stored))
    except (OSError, KeyError) as error:
        raise InputError(f"{folder} is no folder of shards: {error}") from error
    if found.shape != (len(table["pieces"]), int(table["cone"]["features"])) or found.dtype != np.float64:
        raise InputError(f"{path} does not fit its table; write the shards again")
    return found


def cone_of(table: dict[str, Any]) -> Cone:
    """Make the cone given in a table."""
    return CONES[table["cone"]](int(table["features"]))


def read_table(folder: str | os.PathLike[str]) -> tuple[dict[str, Any], list[Piece]]:
    """Read and check the table of a folder; also returns its pieces.

    Raises
    ------
    InputError
        If the folder holds no shards, or its table is damaged.
    """
    path = Path(folder) / TABLE
    try:
        if not path.is_file():
            raise FileNotFoundError(f"there is no file {path}")
        table = json.loads(existing(path, MAX_TABLE).read_text("utf-8"))
    except OSError as error:
        raise InputError(f"{folder} is no folder of shards: {error}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is damaged: {error}") from error
    if not isinstance(table, dict) or table.get("format") != FORMAT:
        raise InputError(f"{path} is not of the format {FORMAT!r}; write the shards again")
    try:
        pieces = [_piece(row) for row in table["pieces"]]
        cone, kind = table["cone"], table["risk"]["kind"]
        known = cone["cone"] in CONES and int(cone["features"]) >= 1 and isinstance(kind, str)
    except (LookupError, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise InputError(f"{path} is damaged ({error!r}); write the shards again") from error
    if not (known and 0 < len(pieces) <= MAX_PIECES):
        raise InputError(f"{path} is damaged; write the shards again")
    return table, pieces


def _piece(row: Any) -> Piece:
    files = {str(name): (int(size), str(sha256)) for name, (size, sha256) in row["files"].items()}
    piece = Piece(str(row["name"]), int(row["parts"]), int(row["points"]), float(row["weight"]), files)
    # The name of a piece must be a plain folder name, not a path to elsewhere.
    named = piece.name.replace("-", "").isalnum() and set(files) <= set(NAMES)
    if not (named and piece.parts >= 1 and piece.points >= 1 and 0.0 < piece.weight < np.inf):
        raise ValueError(f"piece {piece.name!r}")
    return piece
