"""Files that come from other people, and files of arrays: no pickles, no unbounded decompression.

Every reader here bounds what it reads (:data:`MAX_BYTES`, before and after decompression) and reads numbers and text
only: NumPy files with ``allow_pickle=False``, MATLAB files whose variables are numeric. Files are written all or
nothing.
"""

from __future__ import annotations

import io
import json
import lzma
import os
import re
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.io import loadmat, whosmat
from scipy.io.matlab import MatReadError

from convexmetric.errors import InputError

__all__ = [
    "MAX_BYTES",
    "all_or_nothing",
    "check_solution_path",
    "check_writable",
    "existing",
    "guarded",
    "read_arrays",
    "read_gz",
    "read_json_xz",
    "read_lines",
    "read_lines_xz",
    "read_mat",
    "read_npz",
    "read_tar_xz",
    "write_arrays",
]

MAX_BYTES = 512 * 2**20
"""No file is read that is larger than this, or that decompresses to more (512 MiB)."""

_NUMERIC_MATLAB = frozenset(
    ["double", "single", "logical"] + [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
)
_MATLAB_HEADER = 128
_MATLAB_COMPRESSED = 15
_CHUNK = 2**20

# What NumPy, SciPy and zipfile raise at a file that is not what its suffix says.
_DAMAGE = (ValueError, LookupError, TypeError, EOFError, MemoryError, zipfile.BadZipFile, zlib.error, MatReadError)


def read_lines(path: Path) -> list[str]:
    """Return the lines of a text file that are not empty."""
    return _lines(path.read_bytes())


def read_lines_xz(path: Path) -> list[str]:
    """Return the lines of an xz-compressed text file that are not empty."""
    return _lines(_decompress(lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=MAX_BYTES), path))


def read_json_xz(path: Path) -> Any:
    """Return the value of an xz-compressed JSON file."""
    decompressor = lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=MAX_BYTES)
    return json.loads(_decompress(decompressor, path))


def read_gz(path: Path) -> bytes:
    """Return the content of a gzip file."""
    return _decompress(zlib.decompressobj(wbits=31), path)


def read_npz(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of an npz file; arrays of Python objects are refused.

    Raises
    ------
    InputError
        The arrays would take more than :data:`MAX_BYTES`.
    ValueError
        The file is damaged or holds pickled objects.
    """
    with zipfile.ZipFile(path) as archive:
        # zipfile stops reading a member at the size stated here, so that the statement can be relied on.
        _check_size(sum(member.file_size for member in archive.infolist()), path)
    with np.load(path, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def read_mat(path: Path, *names: str) -> list[NDArray[Any]]:
    """Return numeric variables of a MATLAB 5 file, in the order asked for.

    Raises
    ------
    InputError
        A variable is missing or not numeric, or the file decompresses to more than :data:`MAX_BYTES`.
    ValueError
        The file is damaged or of another format.
    """
    raw = path.read_bytes()
    _check_size(_matlab_size(raw), path)
    try:
        classes = {name: kind for name, _, kind in whosmat(io.BytesIO(raw))}
        for name in names:
            if classes.get(name) not in _NUMERIC_MATLAB:
                found = classes.get(name, "missing")
                raise InputError(f"{path}: variable {name} must be a numeric array, but it is {found}.")
        variables = loadmat(io.BytesIO(raw), variable_names=list(names))
    except (MatReadError, OSError) as error:
        # The bytes are in memory: whatever SciPy says of reading, it is they that are wrong.
        raise ValueError(str(error)) from error
    return [np.asarray(variables[name]) for name in names]


def read_tar_xz(path: Path) -> list[tuple[str, bytes]]:
    """Return names and contents of the plain files of an xz-compressed tar archive, in its order; nothing is extracted.

    Links, devices and folders are left out: only names and bytes come back, and nobody writes to a disk by them.

    Raises
    ------
    InputError
        The archive or its files decompress to more than :data:`MAX_BYTES`.
    ValueError
        The file is damaged.
    """
    raw = _decompress(lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=MAX_BYTES), path)
    try:
        with tarfile.open(fileobj=io.BytesIO(raw), mode="r:") as archive:
            members = [member for member in archive if member.isfile()]
            # A sparse member may say that it is larger than the archive that holds it.
            _check_size(sum(member.size for member in members), path)
            found = []
            for member in members:
                file = archive.extractfile(member)
                assert file is not None
                content = file.read()
                if len(content) != member.size:
                    raise EOFError(f"{member.name} ends early")
                found.append((member.name, content))
            return found
    except tarfile.TarError as error:
        raise ValueError(str(error)) from error


def read_arrays(path: str | os.PathLike[str]) -> dict[str, NDArray[Any]]:
    """All arrays of an NPZ file.

    Raises
    ------
    InputError
        If the file is missing, too large, damaged, or holds Python objects.
    """
    path = existing(path)
    return guarded(path, lambda: read_npz(path))


def write_arrays(path: Path, arrays: Mapping[str, Any]) -> None:
    """Write an NPZ file of arrays, all or nothing.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    with all_or_nothing(path) as unfinished, open(unfinished, "xb") as file:
        np.savez(file, **arrays)


@contextmanager
def all_or_nothing(path: Path) -> Iterator[Path]:
    """A file beside ``path`` to write to, which takes its place at the end, or vanishes if anything fails.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    unfinished = _unfinished(path)
    try:
        try:
            yield unfinished
            os.replace(unfinished, path)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error


def _unfinished(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}.part")


def check_solution_path(path: str | os.PathLike[str], what: str = "a solution") -> Path:
    """Whether a solution can go there, tried before hours of solving.

    Raises
    ------
    InputError
        If the path does not end in ``.npz``, or no file can be written there.
    """
    path = Path(path)
    if path.suffix.lower() != ".npz":
        raise InputError(f"{path}: {what} is saved as .npz, not as {path.suffix or 'no suffix'!r}")
    check_writable(path)
    return path


def check_writable(path: Path) -> None:
    """Try to write a file beside ``path``, which would take its place.

    Raises
    ------
    InputError
        If that fails, or ``path`` is a folder.
    """
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no folder {path.parent}")
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a file in it")
    unfinished = _unfinished(path)
    try:
        unfinished.touch(exist_ok=False)
        unfinished.unlink()
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error


def existing(path: str | os.PathLike[str]) -> Path:
    """The path of a file that is there and not too large."""
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path} is a folder, not a file")
    if not path.is_file():
        raise InputError(f"{path}: there is no such file")
    if path.stat().st_size > MAX_BYTES:
        raise InputError(f"{path} is larger than {MAX_BYTES} bytes and was not read")
    return path


def guarded(path: Path, read: Callable[[], Any]) -> Any:
    """What a reader returns; whatever it raises becomes an InputError that names the file."""
    try:
        return read()
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except _DAMAGE as error:
        if "pickle" in str(error) or "Python objects" in str(error):
            raise InputError(f"{path} holds pickled Python objects, which are never loaded: save numbers") from error
        raise InputError(f"{path} is damaged or no {path.suffix} file: {error or type(error).__name__}") from error


def _lines(raw: bytes) -> list[str]:
    # Only line ends separate lines: str.splitlines would also split at form feeds and the like.
    return [line for line in re.split(r"\r?\n", raw.decode("utf-8")) if line]


def _check_size(size: int, path: Path) -> None:
    if size > MAX_BYTES:
        raise InputError(f"{path} decompresses to more than {MAX_BYTES} bytes and was not read.")


def _decompress(decompressor: Any, path: Path) -> bytes:
    content: bytes = decompressor.decompress(path.read_bytes(), MAX_BYTES + 1)
    _check_size(len(content), path)
    if not decompressor.eof:
        raise EOFError("the compressed stream ends early")
    if decompressor.unused_data:
        raise ValueError("there are bytes after the end of the compressed stream")
    return content


def _matlab_size(raw: bytes) -> int:
    """Return how many bytes the elements of a MATLAB 5 file take when decompressed.

    The count stops soon after :data:`MAX_BYTES`, and never holds more than one chunk.
    """
    if len(raw) < _MATLAB_HEADER or raw[126:128] != b"IM":
        raise ValueError("not a little-endian MATLAB 5 file")
    total, position = 0, _MATLAB_HEADER
    while position + 8 <= len(raw) and total <= MAX_BYTES:
        kind, size = struct.unpack_from("<II", raw, position)
        position += 8
        if kind == _MATLAB_COMPRESSED:
            stream, pending = zlib.decompressobj(), raw[position : position + size]
            while pending and not stream.eof and total <= MAX_BYTES:
                total += len(stream.decompress(pending, _CHUNK))
                pending = stream.unconsumed_tail
        else:
            total += size
        position += size
    return total
