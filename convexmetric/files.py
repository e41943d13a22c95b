"""Files that come from other people, and files of arrays: no pickles, no unbounded decompression.

Every reader here bounds what it reads (:data:`MAX_BYTES`, before and after decompression) and reads numbers and text
only: NumPy files whose headers fit one strict pattern, in archives that are stored or deflated, and MATLAB files whose
variables are numeric. Files are written all or nothing.
"""

from __future__ import annotations

import bz2
import errno
import functools
import gzip
import io
import itertools
import json
import lzma
import math
import mmap
import os
import re
import shutil
import stat
import struct
import sys
import tarfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import numpy as np
import scipy
from numpy.typing import NDArray

from convexmetric.errors import InputError

__all__ = ["read_arrays", "write_arrays"]

Read = TypeVar("Read")

MAX_BYTES = 512 * 2**20
"""No file is read that is larger than this, or that decompresses to more (512 MiB)."""

NUMERIC_MATLAB = frozenset(
    ["double", "single", "logical"] + [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
)
#: Prefix of the temporary folders of writers, and the seconds after which one is old.
UNFINISHED, LEFT_SECONDS = ".unfinished-", 86_400.0
#: First bytes of files compressed by gzip, bzip2 and xz.
_GZIP, _BZIP2, _XZ = re.compile(rb"\x1f\x8b"), re.compile(rb"BZh[1-9]1AY&SY"), re.compile(rb"\xfd7zXZ\0")
_HDF5 = b"\x89HDF\r\n\x1a\n"
_MATLAB_HEADER = 128
_MATLAB_COMPRESSED = 15
_CHUNK = 2**20
#: Letters of the longest line, and bytes that are counted for a line in addition to what is made of it.
MAX_LINE, LINE_BYTES = 2**23, 32
#: Bytes that are counted per byte of text, and per value in it; most bytes of what is unpacked as a whole.
TEXT_BYTES, VALUE_BYTES, UNPACKED_BYTES = 3, 72, 2**26
#: Most members of an archive, and the longest side of an array without entries, which its size does not bound.
MAX_MEMBERS, MAX_EMPTY = 2**10, 2**24
#: Header of an NPY file, in its first ``_HEAD`` bytes. Version 1 has two bytes of length, later ones have four.
_HEADER = re.compile(
    rb"\x93NUMPY(?:\x01\x00..|[\x02\x03]\x00....)"
    rb"\{'descr': '([<>|=]?[biufcSUO][0-9]{0,9})', 'fortran_order': (True|False), "
    rb"'shape': \(((?:[0-9]{1,15}L?, ?){0,31}(?:[0-9]{1,15}L?)?)\),? ?\} *\n",
    re.DOTALL,
)
_HEAD = 2**11


def read_lines(path: Path) -> list[str]:
    """Return the lines of a text file that are not empty."""
    Held(path).add(path.stat().st_size * TEXT_BYTES)
    return _lines(path, path.read_bytes())


def read_lines_xz(path: Path) -> list[str]:
    """Return the lines of an xz-compressed text file that are not empty."""
    return _lines(path, _unpacked_xz(path))


def read_json_xz(path: Path) -> Any:
    """Return the value of an xz-compressed JSON file."""
    raw = _unpacked_xz(path)
    # Each value of a list or a table, and each of these.
    Held(path).add(len(raw) * TEXT_BYTES + sum(map(raw.count, (b",", b"[", b"{"))) * VALUE_BYTES)
    return json.loads(raw)


def read_gz(path: Path) -> bytes:
    """Return the content of a gzip file."""
    return _decompress(zlib.decompressobj(wbits=31), path)


@contextmanager
def opened(path: Path) -> Iterator[io.BufferedReader[Any]]:
    """Open a file as a stream of bytes, unpacked as they are read: gzip, bzip2, also of several streams; xz at once.

    Raises
    ------
    InputError
        If the file is missing or damaged, or larger than :data:`MAX_BYTES`; while it is read, as soon as it unpacks to
        more.
    """
    with open(existing(path), "rb") as file:
        head = file.peek(len(_BZIP2.pattern))
        readers: Any = (
            (_GZIP, gzip.open),
            (_BZIP2, bz2.open),
            (_XZ, lambda _: io.BytesIO(guarded(path, lambda: _unpacked_xz(path)))),
        )
        kinds = [opener for kind, opener in readers if kind.match(head)]
        stream: Any = kinds[0](file) if kinds else file
        with stream, io.BufferedReader(_Limited(stream, path), _CHUNK) as limited:
            yield limited


class _Limited(io.RawIOBase):
    """A stream that raises an InputError beyond :data:`MAX_BYTES`."""

    def __init__(self, stream: Any, path: Path) -> None:
        self._stream, self._path, self._read = stream, path, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size: int = guarded(self._path, lambda: self._stream.readinto(buffer))
        self._read += size
        check_unpacked(self._read, self._path)
        return size


class Held:
    """Counts the bytes that a reader holds of a file; at most :data:`MAX_BYTES`."""

    def __init__(self, path: Path) -> None:
        self.path, self.bytes = path, 0

    def add(self, size: int) -> None:
        """Count bytes; raises InputError if there are too many."""
        self.bytes += size
        if self.bytes > MAX_BYTES:
            raise InputError(
                f"{self.path} takes more than {MAX_BYTES} bytes of memory and was not read; take parts of it"
            )


def lines_of(path: Path, stream: io.BufferedReader[Any], encoding: str, held: Held) -> Iterator[str]:
    """Yield the lines of a stream of text, with their ends, and count each as held.

    Raises
    ------
    InputError
        If there is no such encoding, or a line has more than :data:`MAX_LINE` letters.
    UnicodeError
        If it is no text in this encoding.
    """
    utf_8 = encoding.lower().replace("_", "-") in ("utf-8", "utf8")
    try:
        text = io.TextIOWrapper(stream, "utf-8-sig" if utf_8 else encoding, newline="\n")
    except (LookupError, ValueError) as error:
        raise InputError(f"encoding must be a name that Python knows, such as 'latin-1', got {encoding!r}") from error
    rest = ""
    while chunk := text.read(_CHUNK // 4):
        # Only line feeds separate lines: str.splitlines would also split at form feeds and the like.
        lines = list(io.StringIO(rest + chunk, newline="\n"))
        rest = "" if lines[-1].endswith("\n") else lines.pop()
        held.add(LINE_BYTES * len(lines))
        if len(rest) > MAX_LINE:
            raise InputError(f"{path} has a line of more than {MAX_LINE} letters and was not read; is it a table?")
        yield from lines
    if rest:
        yield rest


@contextmanager
def opened_archive(path: Path, max_bytes: int | None = None) -> Iterator[zipfile.ZipFile]:
    """Open a zip archive, of which :func:`opened_member` reads the members.

    Raises
    ------
    InputError
        If it is missing or too large, or has more than :data:`MAX_MEMBERS` members.
    """
    with open(existing(path, max_bytes), "rb") as file:
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
            # Every member has this mark: the names of too many would fill the memory.
            if any(itertools.islice(re.finditer(rb"PK\x01\x02", view), MAX_MEMBERS, None)):
                raise InputError(f"{path} has more than {MAX_MEMBERS} members and was not read")
        with zipfile.ZipFile(file) as archive:
            yield archive


@contextmanager
def opened_member(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path, max_bytes: int | None = None
) -> Iterator[io.BufferedReader[Any]]:
    """Open a member as a stream of at most as many bytes as the directory of the archive declares.

    Raises
    ------
    InputError
        If that is more than :data:`MAX_BYTES`, or the member is compressed in another way than by deflate.
    """
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise InputError(f"{path} is packed in another way than deflate; write it anew")
    check_unpacked(info.file_size, path, max_bytes)
    member: Any = archive.open(info)
    with member, io.BufferedReader(member, _CHUNK) as stream:
        yield stream


def read_mat(path: Path, *names: str, choose: Callable[[list[Any]], str] | None = None) -> list[NDArray[Any]]:
    """Return numeric variables of a MATLAB 5 file, in the order asked for.

    Instead of names, ``choose`` may return one: it takes name, shape and class of every variable.

    Raises
    ------
    InputError
        A variable is missing or not numeric, or the file decompresses to more than :data:`MAX_BYTES`.
    ValueError
        The file is damaged or of another format.
    """
    with open(path, "rb") as file:
        return _variables(path, file, names, choose)


def _variables(
    path: Path, file: io.BufferedReader[Any], names: tuple[str, ...], choose: Callable[[list[Any]], str] | None
) -> list[NDArray[Any]]:
    if file.peek(len(_HDF5)).startswith(_HDF5):
        raise InputError(f"{path} is a MATLAB 7.3 file; save it with the option -v7")
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as raw:
        check_unpacked(_matlab_size(raw), path)
    try:
        variables = scipy.io.whosmat(file)
        classes = {name: kind for name, _, kind in variables}
        names = names if choose is None else (choose(variables),)
        for name in names:
            if classes.get(name) not in NUMERIC_MATLAB:
                found = classes.get(name, "missing")
                raise InputError(f"{path}: variable {name} must be a numeric array, but it is {found}.")
        # Integers may be stored in fewer bytes than they take in memory.
        sides = {name: shape for name, shape, _ in variables}
        check_unpacked(20 * sum(math.prod(sides[name]) for name in names), path)
        file.seek(0)
        contents = scipy.io.loadmat(file, variable_names=list(names))
    except (scipy.io.matlab.MatReadError, OSError) as error:
        # The file was read before, so that a read error means that the bytes are damaged.
        raise ValueError(str(error)) from error
    return [np.asarray(contents[name]) for name in names]


def read_tar_xz(path: Path) -> list[tuple[str, bytes]]:
    """Return names and contents of the plain files of an xz-compressed tar archive, in its order; nothing is extracted.

    Links, devices and folders are left out: only names and bytes are returned, and nothing is written to disk.

    Raises
    ------
    InputError
        The archive or its files decompress to more than :data:`MAX_BYTES`.
    ValueError
        The file is damaged.
    """
    raw = _unpacked_xz(path)
    try:
        with tarfile.open(fileobj=io.BytesIO(raw), mode="r:") as archive:
            members = [member for member in archive if member.isfile()]
            # A sparse member may declare a size larger than the archive that holds it.
            check_unpacked(sum(member.size for member in members), path)
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


def read_arrays(
    path: str | os.PathLike[str], choose: Callable[[list[str]], Iterable[str]] = list, max_bytes: int | None = None
) -> dict[str, NDArray[Any]]:
    """Read the arrays of an NPZ file: all, or those that are chosen from their names.

    Parameters
    ----------
    path : path
    choose : callable
        Takes the names of all arrays, and returns those to read.
    max_bytes : int, optional
        No more is read, packed or unpacked; by default ``MAX_BYTES``, 512 MiB, of which an
        archive that is smaller than its arrays may take 7/8.

    Raises
    ------
    InputError
        If the file is missing, too large, damaged, or holds Python objects.
    """
    path = existing(path, max_bytes)

    def read() -> dict[str, NDArray[Any]]:
        with opened_archive(path, max_bytes) as archive:
            members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            chosen = {name: members[name] for name in choose(list(members))}
            size = sum(info.file_size for info in chosen.values())
            check_unpacked(size, path, max_bytes)
            # So that small files cannot fill the memory, one may unpack to 7/8 of MAX_BYTES, or else to its own size.
            check_unpacked(size, path, max(MAX_BYTES // 8 * 7, path.stat().st_size))
            arrays = {}
            for name, info in chosen.items():
                with opened_member(archive, info, path, max_bytes) as stream:
                    arrays[name] = array_of(stream, info.file_size)
            return arrays

    return guarded(path, read)


def array_of(stream: io.BufferedIOBase, size: int) -> NDArray[Any]:
    """Read the array of an NPY file of ``size`` bytes from a stream of no more bytes."""
    head = stream.read(_HEAD)
    dtype, shape, order, start = _header(head, size)
    found = np.empty(math.prod(shape), dtype)
    entries = memoryview(found.view(np.uint8).data)
    at = len(head) - start
    entries[:at] = head[start:]
    # The end is read as well: there the checksum of an archive's member is compared.
    while count := stream.readinto(entries[at : at + _CHUNK] if at < len(entries) else bytearray(1)):
        at += count
    if at != len(entries):
        raise EOFError("it ends early")
    if dtype.kind == "U" and found.view(dtype.byteorder + "u4").max(initial=0) > sys.maxunicode:
        raise ValueError("it has text of what are no characters")
    return found.reshape(shape, order=order)


def mapped(path: str | os.PathLike[str]) -> np.memmap[Any, Any]:
    """Return the array of an NPY file as a read-only memory map.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError, TypeError
        If it is damaged, or holds anything but numbers or text.
    """
    with open(existing(path, math.inf), "rb") as file:
        dtype, shape, order, start = _header(file.read(_HEAD), os.fstat(file.fileno()).st_size)
        return np.memmap(file, dtype, "r", start, shape, order)


def _header(data: bytes, size: int) -> tuple[np.dtype[Any], tuple[int, ...], Any, int]:
    """Type, shape, order and offset of the entries of an NPY file of ``size`` bytes that begins with ``data``."""
    header = _HEADER.match(data, 0, _HEAD)
    if header is None:
        raise ValueError("it has no header of an array of numbers or text")
    if header[1] == b"|O":
        raise ValueError("it holds pickled Python objects, which are never loaded; save numbers")
    dtype, start = np.dtype(header[1].decode("ascii")), header.end()
    shape = tuple(int(side.strip(b" L")) for side in header[3].split(b",") if side)
    count, fixed = math.prod(shape), 10 if data[6] == 1 else 12
    if start != fixed + int.from_bytes(data[8:fixed], "little") or start + count * dtype.itemsize != size:
        raise ValueError("it has not the size that its header says")
    if not dtype.itemsize or (count == 0 and max(shape) > MAX_EMPTY):
        raise ValueError("it has no entries, and sides that are too long")
    return dtype, shape, "F" if header[2] == b"True" else "C", start


def read_array(path: str | os.PathLike[str]) -> NDArray[Any]:
    """Return the array of an NPY file of any size, mapped into memory.

    Raises
    ------
    InputError
        If the file is missing or damaged, or holds Python objects.
    """
    return guarded(Path(path), lambda: mapped(path))


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
    """Yield a path to write to, whose file replaces ``path`` at the end, or is removed if anything fails.

    It is in a temporary folder next to ``path``: no two writers share it, and its file has the permissions of a new
    one.

    Raises
    ------
    InputError
        If it cannot be written.
    """
    with written(path), _beside(path) as folder:
        unfinished = Path(folder, f"_{path.suffix}")
        yield unfinished
        with open(unfinished, "r+b") as file:
            os.fsync(file.fileno())
        os.replace(unfinished, path)


@contextmanager
def written(path: Path) -> Iterator[None]:
    """Turn an ``OSError`` in the block into an InputError that names the file."""
    try:
        yield
    except UnicodeEncodeError as error:
        raise InputError(f"cannot write {str(path)!a}: no file has such a name") from error
    except OSError as error:
        missing = isinstance(error, FileNotFoundError) and not path.parent.exists()
        why = f"there is no folder {path.parent}" if missing else error.strerror or error
        raise InputError(f"cannot write {path}: {why}") from error


@contextmanager
def _beside(path: Path) -> Iterator[str]:
    """Yield a temporary folder next to ``path``; raise ``OSError`` if no file can be written at ``path``.

    It is locked as long as its writer lives; those of writers that were killed are removed.
    """
    if "\0" in str(path):
        raise OSError(errno.EINVAL, "its name has a NUL character")
    with suppress(FileNotFoundError):
        # Also refuses names that are too long.
        if not stat.S_ISREG(path.stat().st_mode):
            what = "a folder; name a file in it" if path.is_dir() else "no ordinary file; name another"
            raise OSError(errno.EINVAL, f"it is {what}")
    parent = path.absolute().parent
    _remove_left(parent)
    while True:
        made = TemporaryDirectory(prefix=f"{UNFINISHED}{_machine()}-", dir=parent, ignore_cleanup_errors=True)
        with made as folder, _lock(folder) as locked:
            # Before it was locked, another writer may have removed it as one that was left.
            if locked is not False and os.path.isdir(folder):
                yield folder
                return


def _remove_left(parent: Path) -> None:
    """Remove the temporary folders of writers that were killed.

    A free lock shows at once that a writer since the last start of this machine is gone. Others, and all where there
    are no locks, count as gone if nothing was written for a day.
    """
    with suppress(OSError), os.scandir(parent) as entries:
        for entry in [entry for entry in entries if entry.name.startswith(UNFINISHED)]:
            with suppress(OSError), _lock(entry.path) as locked:
                ours = entry.name.startswith(f"{UNFINISHED}{_machine()}-")
                old = time.time() - entry.stat(follow_symlinks=False).st_mtime > LEFT_SECONDS
                if entry.is_dir(follow_symlinks=False) and locked is not False and (old or (ours and locked)):
                    shutil.rmtree(entry.path, ignore_errors=True)


@contextmanager
def _lock(folder: str) -> Iterator[bool | None]:
    """Lock a folder; yield True, or False if it is locked already, or None where there are no such locks."""
    place = locked = None
    try:
        import fcntl

        place = os.open(folder, os.O_RDONLY)
        fcntl.flock(place, fcntl.LOCK_EX | fcntl.LOCK_NB)
        locked = True
    except BlockingIOError:
        locked = False
    except (ImportError, OSError):
        pass
    try:
        yield locked
    finally:
        if place is not None:
            os.close(place)


@functools.cache
def _machine() -> str:
    """Identifier of this machine since its last start; empty if it has none."""
    with suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")[:8]
    return ""


def check_solution_path(path: str | os.PathLike[str], what: str = "a solution") -> Path:
    """Check, before hours of solving, that a solution can be saved at ``path``, and return the path.

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
    """Try to write next to ``path``, as :func:`all_or_nothing` does.

    Raises
    ------
    InputError
        If that fails, or ``path`` is a folder.
    """
    with written(path), _beside(path):
        pass


def made_folder(folder: str | os.PathLike[str]) -> Path:
    """Return the path of a folder, and make it if it does not exist.

    Raises
    ------
    InputError
        If it cannot be made.
    """
    path = Path(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot make the folder {path}: {getattr(error, 'strerror', None) or error}") from error
    return path


def existing(path: str | os.PathLike[str], max_bytes: float | None = None) -> Path:
    """Return the path of an existing file of at most ``max_bytes`` bytes, by default :data:`MAX_BYTES`."""
    try:
        path = Path(path)
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError) as error:
        raise InputError(f"{path}: there is no such file") from error
    except (OSError, TypeError, ValueError) as error:
        raise InputError(f"cannot read {path!r}: {getattr(error, 'strerror', None) or error}") from error
    if not stat.S_ISREG(found.st_mode):
        raise InputError(f"{path} is a folder, not a file" if path.is_dir() else f"{path} is no ordinary file")
    limit = MAX_BYTES if max_bytes is None else max_bytes
    if found.st_size > limit:
        raise InputError(f"{path} is larger than {limit} bytes and was not read")
    return path


def guarded(path: Path, read: Callable[[], Read]) -> Read:
    """Return ``read()``; an error of any kind becomes an InputError that names the file."""
    try:
        return read()
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error
    except Exception as error:
        # Readers of other packages, and of damaged files, raise many kinds of errors.
        raise InputError(f"{path} is damaged or no {path.suffix} file: {str(error) or type(error).__name__}") from error


def _lines(path: Path, raw: bytes) -> list[str]:
    Held(path).add(len(raw) * TEXT_BYTES + raw.count(b"\n") * VALUE_BYTES)
    # Only line ends separate lines: str.splitlines would also split at form feeds and the like.
    return [line for line in re.split(r"\r?\n", raw.decode("utf-8")) if line]


def check_unpacked(size: int, path: Path, limit: int | None = None) -> None:
    """Refuse a file whose content takes more bytes than :data:`MAX_BYTES`, or another limit."""
    limit = MAX_BYTES if limit is None else limit
    if size > limit:
        raise InputError(f"{path} decompresses to more than {limit} bytes and was not read")


def _unpacked_xz(path: Path) -> bytes:
    return _decompress(lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=MAX_BYTES), path)


def _decompress(decompressor: Any, path: Path) -> bytes:
    limit = min(MAX_BYTES, UNPACKED_BYTES)
    content: bytes = decompressor.decompress(path.read_bytes(), limit + 1)
    check_unpacked(len(content), path, limit)
    if not decompressor.eof:
        raise EOFError("the compressed stream ends early")
    if decompressor.unused_data:
        raise ValueError("there are bytes after the end of the compressed stream")
    return content


def _matlab_size(raw: mmap.mmap) -> int:
    """Return how many bytes the elements of a MATLAB 5 file take when decompressed.

    The count stops soon after :data:`MAX_BYTES`, and never holds more than one chunk.
    """
    if len(raw) < _MATLAB_HEADER or raw[126:128] != b"IM":
        raise ValueError("not a little-endian MATLAB 5 file")
    total, position, count = 0, _MATLAB_HEADER, 0
    while position + 8 <= len(raw) and total <= MAX_BYTES:
        count += 1
        if count > MAX_MEMBERS:
            raise ValueError(f"it has more than {MAX_MEMBERS} variables")
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
