"""Certificate files opened, changed and written again: with honest hashes or not, or with every field of them a lie."""

from __future__ import annotations

import copy
import io
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from convexmetric.certificates import checker, kernel

Contents = tuple[dict[str, Any], dict[str, np.ndarray]]

#: Arrays that prove something and state nothing, by what they are.
HINTS = (
    "factor",
    "weights_of_metric",
    "near_sums",
    "far_sums",
    "steps",
    "weights",
    "groups",
    "slopes",
    "probabilities",
    "parts_weights",
    "slope",
    "above",
    "matrix",
    "left",
    "right",
    "root",
    "root_of_slope",
    "z",
)


def hints_in(arrays: Iterable[str]) -> list[str]:
    """Of names of arrays those that prove something, of a risk or a regularizer, or of one of a sum."""
    return [name for name in arrays if re.sub(r"^(summand|term)[0-9]+_", "", name) in HINTS]


def opened(path: Path) -> Contents:
    """Description and arrays."""
    document, arrays = checker.read(path)
    return document, {name: array.copy() for name, array in arrays.items()}


def written(path: Path, contents: Contents, *, honest: bool = True) -> Path:
    """Write a file; an honest one has the hashes of its arrays."""
    document, arrays = copy.deepcopy(contents[0]), contents[1]
    if honest:
        document["sha256"] = {name: kernel.digest(array) for name, array in arrays.items()}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("certificate.json", json.dumps(document))
        for name, array in arrays.items():
            packed = io.BytesIO()
            np.lib.format.write_array(packed, array, allow_pickle=True)
            archive.writestr(f"{name}.npy", packed.getvalue())
    return path


def claim(contents: Contents, lower: Fraction, upper: Fraction) -> Contents:
    """The same with other claims."""
    document = contents[0] | {"claimed": {"lower": str(lower), "upper": str(upper)}}
    return document, contents[1]


def noisy(rng: np.random.Generator, contents: Contents, size: float) -> Contents:
    """The same with noise on some of what proves, relative to its own size."""
    document, arrays = contents[0], dict(contents[1])
    present = [name for name in hints_in(arrays) if arrays[name].size]
    for name in rng.choice(present, rng.integers(1, len(present) + 1), replace=False):
        if arrays[name].dtype.kind != "f":
            arrays[name] = moved(rng, arrays[name]) if size else arrays[name]
            continue
        array = arrays[name].astype(float)
        scale = max(float(np.abs(array).max()), 1e-300)
        kind = rng.integers(4)
        if kind == 0:
            array = array + size * scale * rng.standard_normal(array.shape)
        elif kind == 1:
            array = array * (1.0 + size * rng.standard_normal())
        elif kind == 2:
            at = tuple(rng.integers(n) for n in array.shape)
            array[at] += size * scale * rng.standard_normal()
        else:
            array = array + size * scale
        array = fitting(name, arrays[name], array)
        arrays[name] = np.ascontiguousarray(array)
    return document, arrays


def fitting(name: str, before: np.ndarray, array: np.ndarray) -> np.ndarray:
    """Numbers in the place of others, in the form that such an array must have: symmetric, a triangle, not negative."""
    if name == "weights_of_metric":
        return np.maximum(array, 0.0)
    if name.endswith(("slope", "above")) and array.ndim == 2:
        return np.asarray(0.5 * array + 0.5 * array.T)
    return np.where(before == 0.0, 0.0, array) if name.endswith("root") and array.ndim == 2 else array


def moved(rng: np.random.Generator, array: np.ndarray) -> np.ndarray:
    """Integers of which two are exchanged, one is moved to another place, or one is changed."""
    made, kind = array.astype(np.int64), rng.integers(3)
    at, other = rng.integers(array.size, size=2)
    if kind == 0:
        made.flat[[at, other]] = made.flat[[other, at]]
    else:
        by = min(int(made.flat[at]), int(2.0 ** rng.uniform(0, 40)))
        made.flat[at] -= by
        made.flat[other] += by if kind == 1 else 0
    return made


# Archives, field by field

STORED, DEFLATED, BZIP2, LZMA = 0, 8, 12, 14


def npy(array: np.ndarray, header: str | None = None, version: tuple[int, int] = (1, 0), **lies: Any) -> bytes:
    """An array as a ``.npy`` file; ``lies`` replace ``descr``, ``fortran_order`` or ``shape`` in its header."""
    array = np.ascontiguousarray(array)
    table = {"descr": array.dtype.str, "fortran_order": False, "shape": array.shape} | lies
    # As NumPy writes it, with a comma at the end.
    text = (f"{repr(table)[:-1]}, }}" if header is None else header).encode("latin-1", "replace")
    length = struct.Struct("<H" if version[0] == 1 else "<I")
    text += b" " * (-(len(text) + 9 + length.size) % 64) + b"\n"
    data = array.tobytes() if array.dtype != object else b"\x80\x04N."
    return b"\x93NUMPY" + bytes(version) + length.pack(len(text) % 2**16) + text + data


@dataclass
class Member:
    """A member: its data, unpacked, and what its two headers say; None for the truth.

    ``central`` replaces fields of the entry in the directory, ``local`` those of the header before the data.
    """

    name: str
    data: bytes
    method: int = STORED
    packed: bytes | None = None
    local: dict[str, int] = field(default_factory=dict)
    central: dict[str, int] = field(default_factory=dict)
    raw_name: bytes | None = None
    extra: bytes = b""
    comment: bytes = b""


def archive(members: Sequence[Member], prefix: bytes = b"", suffix: bytes = b"", **lies: int) -> bytes:
    """An archive; ``lies`` replace ``disk``, ``here``, ``entries``, ``size``, ``offset`` or ``comment`` of its end."""
    out, directory = bytearray(prefix), bytearray()
    for member in members:
        packed, name = _packed(member), member.raw_name or member.name.encode()
        true = {
            "version": 20, "flags": 0, "method": member.method, "time": 0, "date": 33, "crc": zlib.crc32(member.data),
            "packed": len(packed), "size": len(member.data), "name": len(name), "extra": len(member.extra),
        }  # fmt: skip
        at = len(out)
        out += b"PK\x03\x04" + struct.pack("<5H3I2H", *_fields(true, member.local)) + name + member.extra + packed
        directory += b"PK\x01\x02" + struct.pack("<H", 20)
        said = _fields(true, member.central)
        directory += struct.pack("<5H3I2H", *said)
        rest = {"comment": len(member.comment), "disk": 0, "internal": 0, "external": 0, "offset": at}
        rest |= {key: value for key, value in member.central.items() if key in rest}
        directory += struct.pack(
            "<3H2I", *(value % (2**16 if i < 3 else 2**32) for i, value in enumerate(rest.values()))
        )
        directory += name + member.extra + member.comment
    end = {
        "disk": 0, "here": 0, "entries": len(members), "total": len(members), "size": len(directory),
        "offset": len(out), "comment": len(suffix),
    } | lies  # fmt: skip
    out += directory + b"PK\x05\x06"
    out += struct.pack("<4H2IH", *(v % (2**32 if k in ("size", "offset") else 2**16) for k, v in end.items()))
    return bytes(out + suffix)


def _fields(true: dict[str, int], lies: dict[str, int]) -> list[int]:
    said = {key: lies.get(key, value) for key, value in true.items()}
    return [value % (2**32 if key in ("crc", "packed", "size") else 2**16) for key, value in said.items()]


def _packed(member: Member) -> bytes:
    if member.packed is not None:
        return member.packed
    return deflated(member.data) if member.method == DEFLATED else member.data


def deflated(whole: bytes) -> bytes:
    """As a member that is deflated has it."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(whole) + packer.flush()


def packed(contents: Contents, honest: bool = True, text: str | None = None) -> list[Member]:
    """The members of an honest file; ``text`` in place of its description."""
    document, arrays = contents
    if honest:
        document = document | {"sha256": {name: kernel.digest(array) for name, array in arrays.items()}}
    text = json.dumps(document) if text is None else text
    members = [Member("certificate.json", text.encode("utf-8", "surrogatepass"))]
    return members + [Member(f"{name}.npy", npy(array)) for name, array in arrays.items()]
