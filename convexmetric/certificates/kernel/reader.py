"""The only reader of files: ZIP archives without unused bytes, so that every reader finds the same contents."""

from __future__ import annotations

import io
import json
import math
import re
import stat
import struct
import zlib
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from .balls import Array
from .errors import refusals, require_valid
from .files import Contents, checked

__all__ = ["MAX_BYTES", "MAX_LENGTH", "MAX_NUMBERS", "contents"]

#: Default limit on the bytes of a file, packed or unpacked, and on those of its arrays at eight bytes per number.
MAX_BYTES = 2**30
#: Limits on the bytes of the description, and on the number of members.
MAX_JSON, MAX_MEMBERS = 2**20, 64
#: Limits on a side of an array, and on its numbers.
MAX_LENGTH, MAX_NUMBERS = 2**24, 2**26
DTYPES = ("<f8", "<i8", "<i4", "|u1")
NAME = re.compile(rb"([a-z][a-z0-9_]{0,40})\.npy")
#: Header of an npy file. Version 1 has two bytes of length after the magic, version 2 has four.
HEADER = re.compile(
    rb"\x93NUMPY(?:\x01\x00..|\x02\x00....)"
    rb"\{'descr': '([!-&(-~]{1,9})', 'fortran_order': (True|False), "
    rb"'shape': \((?:([0-9]{1,10}),(?: ([0-9]{1,10})(?:, ([0-9]{1,10}))?)?)?\),? \} *\n",
    re.DOTALL,
)
#: Ends of ZIP archives, and entries of their directories.
END, ENTRY = struct.Struct("<4s4H2LH"), struct.Struct("<4s6H3L5H2L")
STORED, DEFLATED = 0, 8
#: Flags of a member that are ignored here: levels of compression, names in UTF-8.
HARMLESS = 0b1000_0000_0110


def contents(path: Path, max_bytes: int = MAX_BYTES) -> Contents:
    """Description and arrays of a file; nothing is unpacked or allocated before its size is checked."""
    with refusals(str(path)):
        require_valid(stat.S_ISREG(path.stat().st_mode), f"{path} is not a file")
        with path.open("rb") as file:
            where = directory(file, max_bytes)
            entry = where.pop(b"certificate.json", None)
            require_valid(entry, "the file has no certificate.json")
            text, arrays = unpacked(file, entry, MAX_JSON).decode("utf-8"), {}
            document = json.loads(
                text, parse_constant=refused, parse_float=refused, parse_int=integer, object_pairs_hook=once
            )
            for name, entry in where.items():
                require_valid(NAME.fullmatch(name), "the file has a member that is no array")
                own = name[:-4].decode("ascii")
                arrays[own] = numbers(unpacked(file, entry, max_bytes), own)
        # Integers are widened when they are used.
        count = sum(array.size for array in arrays.values())
        require_valid(8 * count <= max_bytes, f"the arrays take more than {max_bytes} bytes, 8 a number")
        return checked(document, arrays)


def directory(file: BinaryIO, max_bytes: int) -> dict[bytes, Any]:
    """Members listed in the directory of a ZIP archive, which must stand before it in that order without gaps."""
    size = file.seek(0, io.SEEK_END)
    require_valid(size <= max_bytes, f"the file is larger than {max_bytes} bytes")
    mark, part, first, here, count, length, start, comment = END.unpack(taken(file, size - END.size, END.size))
    plain = mark == b"PK\5\6" and not (part or first or comment) and here == count
    plain = plain and start + length + END.size == size
    require_valid(plain, "the file is damaged or no certificate: it does not end like a ZIP archive of one part")
    fits = count <= MAX_MEMBERS and length <= MAX_MEMBERS * 2**10
    require_valid(fits, f"the file has more than {MAX_MEMBERS} members, or names that are too long")
    listed, found, at, place, unpacks = taken(file, start, length), dict[bytes, Any](), 0, 0, 0
    for _ in range(count):
        entry = ENTRY.unpack_from(listed, at)
        flags, method, (check, packed, size, long), end = entry[3], entry[4], entry[7:11], at + ENTRY.size + entry[10]
        fields, name = listed[at + 6 : at + 32], listed[at + ENTRY.size : end]
        known = entry[0] == b"PK\1\2" and not flags & ~HARMLESS and method in (STORED, DEFLATED)
        known = known and not any(entry[11:14]) and name not in found and len(name) == long
        flaws = "damaged, there twice, encrypted, with notes, or compressed in another way than deflate"
        require_valid(known, f"the member {name!r} is {flaws}")
        # The local header of a member agrees with the directory, or has its sizes in 64 bits.
        wide = struct.pack("<HHQQ", 1, 16, size, packed)
        heads = (
            b"PK\3\4" + fields + name,
            b"".join([b"PK\3\4", fields[:14], b"\xff" * 8, fields[22:24], b"\x14\0", name, wide]),
        )
        head = next((head for head in heads if taken(file, place, len(head)) == head), b"")
        require_valid(head and entry[16] == place, f"the member {name!r} is not where and what the directory says")
        found[name], place, at = (method, check, packed, size, place + len(head)), place + len(head) + packed, end
        unpacks += size
    require_valid(unpacks <= max_bytes, f"the file unpacks to more than {max_bytes} bytes")
    require_valid((at, place) == (length, start), "the file has bytes between or after its members")
    return found


def taken(file: BinaryIO, start: int, length: int) -> bytes:
    """Read exactly ``length`` bytes from ``start``."""
    data = b""
    if start >= 0:
        file.seek(start)
        data = file.read(length)
    require_valid(len(data) == length, "the file is damaged or no certificate: it ends too early")
    return data


def unpacked(file: BinaryIO, entry: Any, most: int) -> bytes:
    """Unpack a member, reading at most one byte more than the directory says."""
    method, check, packed, size, start = entry
    require_valid(size <= most, f"a member has more than {most} bytes; certificate.json may have {MAX_JSON}")
    data, ended = taken(file, start, packed), True
    if method == DEFLATED:
        inflate = zlib.decompressobj(-zlib.MAX_WBITS)
        # zlib takes a limit of zero as no limit; size + 1 is at least one.
        data = inflate.decompress(data, size + 1)
        ended = inflate.eof and not inflate.unused_data
    fits = ended and len(data) == size and zlib.crc32(data) == check
    require_valid(fits, "the file is damaged: a member has not the size or the sum that the archive says")
    return data


def numbers(data: bytes, name: str) -> Array:
    """An array of one of :data:`DTYPES` whose header fits the size of its member."""
    header = HEADER.match(data, 0, 2**11)
    require_valid(header, f"the array {name} has no header of the npy format, of at most three dimensions")
    assert header is not None
    kind, shape = header[1].decode("ascii"), tuple(int(side) for side in header.groups()[2:] if side is not None)
    require_valid(kind in DTYPES, f"the array {name} has the type {kind}; allowed are {', '.join(DTYPES)}")
    count, before = math.prod(shape), 10 if data[6] == 1 else 12
    fits = max(shape, default=0) <= MAX_LENGTH and count <= MAX_NUMBERS
    require_valid(fits, f"the array {name} has a side above {MAX_LENGTH} or more than {MAX_NUMBERS} numbers")
    dtype, start = np.dtype(kind), header.end()
    fits = start == before + int.from_bytes(data[8:before], "little") and start + count * dtype.itemsize == len(data)
    require_valid(fits, f"the array {name} has not the size that its header says")
    array = np.require(np.frombuffer(data, dtype, count, start), requirements="A")
    array.flags.writeable = False
    return array.reshape(shape[::-1]).T if header[2] == b"True" else array.reshape(shape)


def refused(text: str) -> Any:
    require_valid(False, f"certificate.json has the number {text[:40]}: numbers are integers or rationals as text")


def integer(text: str) -> int:
    return int(text if len(text) <= 20 else refused(text))


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    require_valid(len(table) == len(pairs), "certificate.json has a key twice")
    return table
