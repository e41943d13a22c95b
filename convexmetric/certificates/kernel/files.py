"""Checked access to the contents of a file: its hashes, numbers and arrays."""

from __future__ import annotations

import copy
import hashlib
import json
import re
from collections.abc import Mapping
from contextvars import ContextVar
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from .balls import Array
from .errors import require_valid

Table = dict[str, Any]
Kind = TypeVar("Kind")
Contents = tuple[Table, Mapping[str, Array]]

FORMAT, VERSION = "convexmetric-certificate", 3
#: Largest number of summands, and the prefixes of the arrays of risks and of regularizers of a sum.
MAX_SUMMANDS, SUMMAND, TERM = 16, "summand{}_", "term{}_"
#: Arrays of which points have one: a matrix, or where sparse rows begin.
POINTS = ("points", "points_indptr")
#: Tables of rules that replace the kernel's own in a context, by title; nothing in the kernel sets any.
TABLES: ContextVar[Mapping[str, dict[str, Any]]] = ContextVar("TABLES", default={})  # noqa: B039 - never changed
#: Message about a rule that is in no table.
UNKNOWN = "there is no such rule in the kernel; for one of your own pass --rules"
#: Arrays of dual points that are split by rows among the parts of a certificate.
OF_ROWS = ("near_sums", "far_sums", "steps", "weights", "groups", "slopes", "probabilities", "parts_weights")


def altered(thing: Kind, **changes: Any) -> Kind:
    """Return a copy with some attributes changed; others are shared."""
    made = copy.copy(thing)
    vars(made).update(changes)
    return made


def checked(document: Any, arrays: Mapping[str, Array]) -> Contents:
    """Return description and arrays if format, version and hashes are right; refuse otherwise."""
    keys(document, "certificate.json", "format version title problem dual claimed sha256")
    how = ": write it anew from its problem and solution (write_certificate)" if document["version"] == 1 else ""
    known = document["format"] == FORMAT and document["version"] in (VERSION - 1, VERSION)
    require_valid(known, f"the file is not a {FORMAT} of version {VERSION}{how}")
    hashes = document["sha256"]
    named = isinstance(hashes, dict) and set(hashes) == set(arrays)
    require_valid(named, "sha256 must name the arrays of the file, all of them")
    for name, array in arrays.items():
        require_valid(digest(array) == hashes[name], f"the array {name} has another sha256 than certificate.json says")
    return document, arrays


def digest(array: Array) -> str:
    """SHA-256 over type, shape and bytes (C order) of an array."""
    found = hashlib.sha256(f"{array.dtype.str} {array.shape};".encode())
    found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()


def statement_digest(problem: Table, arrays: Mapping[str, Array]) -> str:
    """SHA-256 of a statement: its table as canonical JSON and the hashes of its arrays, one per line, by name."""
    lines = [json.dumps(problem, sort_keys=True, separators=(",", ":"))]
    lines += [f"{name} {digest(arrays[name])}" for name in sorted(arrays)]
    return hashlib.sha256("\n".join(lines).encode("ascii")).hexdigest()


def rational(text: Any, what: str) -> Fraction:
    """Read a rational written ``"p/q"`` or ``"p"``."""
    written = isinstance(text, str) and re.fullmatch(r"-?[0-9]{1,400}(/0*[1-9][0-9]{0,399})?", text)
    require_valid(written, f"{what} must be a rational, written as text 'p/q', with a denominator that is not zero")
    require_valid(abs(value := Fraction(text)) <= 10**300, f"{what} is beyond 1e300")
    return value


def positive(text: Any, what: str) -> Fraction:
    """Read a rational between 1e-200 and 1e200."""
    value = rational(text, what)
    require_valid(Fraction(1, 10**200) < value < 10**200, f"{what} must be positive, and between 1e-200 and 1e200")
    return value


def natural(value: Any, what: str, least: int = 0, most: int = 2**40) -> int:
    """Read an integer of the description, at least ``least`` and below ``most``."""
    known = isinstance(value, int) and not isinstance(value, bool) and least <= value < most
    require_valid(known, f"{what} must be an integer of at least {least} and below {most}")
    return int(value)


def keys(table: Any, what: str, required: str, optional: str = "") -> None:
    """Refuse unless a table has these keys and no others."""
    require_valid(isinstance(table, dict), f"{what} must be a table")
    wanted, allowed = set(required.split()), set(optional.split())
    wrong = sorted((wanted - set(table)) | (set(table) - wanted - allowed))
    require_valid(not wrong, f"{what}: keys are missing or unknown: {', '.join(map(repr, wrong))[:200]}")


class Arrays:
    """The arrays of a file, each requested with its shape and kind of numbers."""

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        self.arrays, self.used, self.prefix = arrays, set[str](), ""

    def of(self, start: str, number: int) -> Arrays:
        """Arrays of one summand, under names without its prefix."""
        return altered(self, prefix=start.format(number))

    def _named(self, name: str) -> str:
        """Name of an array in the file: summands without points of their own share those of the sum."""
        own = any(self.prefix + points in self.arrays for points in POINTS)
        return name if name.startswith("points") and not own else self.prefix + name

    def __contains__(self, name: str) -> bool:
        return self._named(name) in self.arrays

    def __call__(self, name: str, *shape: int | None, integers: int | None = None) -> Array:
        """Return an array of a shape (None for any length); with ``integers = n``, of integers in [0, n)."""
        name = self._named(name)
        require_valid(name in self.arrays, f"the array {name} is missing")
        self.used.add(name)
        # Rules of others must not change the arrays that they get.
        array = self.arrays[name].view()
        array.flags.writeable = False
        fits = array.ndim == len(shape) and all(w in (None, g) for w, g in zip(shape, array.shape, strict=True))
        fits = fits and array.dtype.str in (("<f8",) if integers is None else ("<i8", "<i4", "|u1"))
        require_valid(fits, f"the array {name} has a wrong shape or type: {array.shape}, {array.dtype}")
        if integers is None:
            require_valid(np.isfinite(array).all(), f"the array {name} has NaN or infinite entries")
            return np.ascontiguousarray(array)
        inside = not array.size or (int(array.min()) >= 0 and int(array.max()) < integers)
        require_valid(inside, f"the array {name} has entries outside of [0, {integers})")
        return np.ascontiguousarray(array.astype(np.int64))


def rules(title: str, own: dict[str, Any]) -> dict[str, Any]:
    """Return the table of rules that is in force in this context."""
    return TABLES.get().get(title, own)


def named(known: dict[str, Any], name: Any, what: str) -> Any:
    """Find the class of a rule by its name."""
    require_valid(isinstance(name, str) and name in known, f"{what} {str(name)[:60]!r}: {UNKNOWN}")
    return known[name]


def entry(known: dict[str, Any], table: Any, what: str, by: str = "kind") -> Any:
    """Find the class of a block by its kind, and check the keys of its table."""
    found = named(known, table.get(by) if isinstance(table, dict) else None, f"{what}: the {by}")
    keys(table, what, found.wanted, found.optional)
    return found


def of_rows(name: str) -> bool:
    """Whether an array holds rows of the dual point of a risk, or of a summand."""
    return re.sub(f"^{SUMMAND.format('[0-9]+')}", "", name) in OF_ROWS
