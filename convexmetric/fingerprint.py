"""A hash of everything a problem is made of, to tell whether a file belongs to it."""

from __future__ import annotations

import hashlib
import inspect
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp


def fingerprint(*parts: Any) -> str:
    """SHA-256 of numbers, strings, arrays, sparse matrices, sequences, dataclasses, and of blocks.

    A block is hashed by the arguments of its constructor, stored in attributes of the same names (as in estimators of
    scikit-learn), or by what its method ``contents()`` returns, if it has one. Classes of the package are hashed by
    their names, others by module and qualified name; dataclass fields with ``compare=False`` are left out.

    Raises
    ------
    TypeError
        If a part is none of these.
    """
    digest = hashlib.sha256()
    _feed(digest, parts)
    return digest.hexdigest()


def _feed(digest: Any, part: Any) -> None:
    if part is None or isinstance(part, str | bool | int | float | np.generic):
        digest.update(f"{type(part).__name__} {part!r};".encode())
    elif isinstance(part, np.ndarray):
        digest.update(f"array {part.dtype.str} {part.shape};".encode())
        digest.update(np.ascontiguousarray(part).data)
    elif sp.issparse(part):
        matrix = sp.csr_array(part, copy=True)
        matrix.sum_duplicates()
        _feed(digest, (matrix.shape, matrix.data, matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)))
    elif isinstance(part, tuple | list):
        digest.update(f"sequence {len(part)};".encode())
        for item in part:
            _feed(digest, item)
    else:
        digest.update(f"{_kind(part)};".encode())
        _feed(digest, _contents(part))


def _contents(part: Any) -> Any:
    """Return what is hashed of a block: its contents, its fields, or the arguments of its constructor."""
    if hasattr(part, "contents"):
        return part.contents()
    if is_dataclass(part):
        return [getattr(part, field.name) for field in fields(part) if field.compare]
    made = type(part).__init__
    names = [*inspect.signature(made).parameters][1:] if inspect.isfunction(made) else []
    if not names or not all(hasattr(part, name) for name in names):
        raise TypeError(
            f"no fingerprint for {type(part).__name__}: keep what its constructor takes in attributes of the same "
            "names, or give it a method contents()"
        )
    return [getattr(part, name) for name in names]


def _kind(part: Any) -> str:
    kind = type(part)
    ours = kind.__module__.partition(".")[0] == __name__.partition(".")[0]
    return kind.__name__ if ours else f"{kind.__module__}.{kind.__qualname__}"
