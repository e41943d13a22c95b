"""The record every loader returns, and the hash that pins it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from convexmetric.errors import InputError

Matrix: TypeAlias = Any
"""A dense float64 ``ndarray`` or a float64 ``scipy.sparse.csr_array``, two-dimensional."""


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A data set: rows, labels and what is known about both.

    Attributes
    ----------
    name : str
        The name :func:`load` knows it by (of an alias, the name it stands for).
    X : ndarray of float64 or scipy.sparse.csr_array of float64, shape (n, d)
        One row per example, as published: nothing is scaled or centred.
    y : ndarray or None
        Class codes ``0 .. k-1`` (int64, shape (n,)); of a set with several labels a row, the int64
        indicator matrix, shape (n, k); None where there are no classes.
    target_names : tuple of str
        ``target_names[c]`` is the name of class code ``c``; empty when there are no classes.
    description : str
        One sentence, with the source.
    extras : mapping
        Further arrays, named in the loader's docstring.

    Raises
    ------
    InputError
        ``X`` is not a matrix, or ``y`` has another number of rows.

    Notes
    -----
    Data sets compare by identity; :func:`sha256` compares their contents.
    """

    name: str
    X: Matrix
    y: NDArray[Any] | None
    target_names: tuple[str, ...]
    description: str
    extras: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.X.ndim != 2:
            raise InputError(f"data set {self.name!r}: X must have two dimensions, not {self.X.ndim}.")
        if self.y is not None and self.y.shape[0] != self.X.shape[0]:
            raise InputError(f"data set {self.name!r}: {self.X.shape[0]} rows in X but {self.y.shape[0]} labels in y.")

    @property
    def summary(self) -> str:
        """One line: name, shape, density if sparse, classes and extras."""
        n, d = self.X.shape
        parts = [f"{n} x {d}"]
        if issparse(self.X):
            parts.append(f"sparse ({self.X.nnz / max(n * d, 1):.2%} non-zero)")
        if self.target_names:
            several = self.y is not None and self.y.ndim == 2
            parts.append(f"{len(self.target_names)} {'keywords, several a row' if several else 'classes'}")
        else:
            parts.append("no classes")
        if self.extras:
            parts.append("extras: " + ", ".join(self.extras))
        return f"{self.name}: " + "; ".join(parts)

    def __repr__(self) -> str:
        return f"<Dataset {self.summary}>"


def sha256(dataset: Dataset) -> str:
    """Hash the numbers of a data set: the same on every platform, for the same ``X`` and ``y``.

    The digest covers ``X`` and, if there is one, ``y``: for each its kind of storage, its dtype, its
    shape and its values in C order and little-endian bytes. Of a sparse ``X`` the arrays ``data``,
    ``indices`` and ``indptr`` are hashed after sorting the indices, adding up entries given twice and
    dropping stored zeros, so that two equal sparse matrices have one digest; the index arrays count as
    int64 whatever SciPy chose. Names, description and extras are not covered. A dense and a sparse
    matrix of the same numbers have different digests.

    Parameters
    ----------
    dataset : Dataset

    Returns
    -------
    str
        64 hexadecimal digits.

    Raises
    ------
    InputError
        An array holds Python objects, whose bytes mean nothing outside this process.
    """
    digest = hashlib.sha256()
    if issparse(dataset.X):
        X = csr_array(dataset.X, copy=True)
        X.sum_duplicates()
        X.eliminate_zeros()
        X.sort_indices()
        digest.update(f"X:csr:{X.shape[0]}x{X.shape[1]};".encode())
        _feed(digest, "data", X.data)
        _feed(digest, "indices", X.indices.astype(np.int64))
        _feed(digest, "indptr", X.indptr.astype(np.int64))
    else:
        _feed(digest, "X", np.asarray(dataset.X))
    if dataset.y is not None:
        _feed(digest, "y", np.asarray(dataset.y))
    return digest.hexdigest()


def _feed(digest: Any, label: str, array: NDArray[Any]) -> None:
    if array.dtype.hasobject:
        raise InputError(f"{label} holds Python objects; convert it to a numeric or string array first.")
    array = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    shape = "x".join(map(str, array.shape))
    # dtype.str begins with '|' where byte order has no meaning and with '<' elsewhere, on every platform.
    digest.update(f"{label}:{array.dtype.newbyteorder('<').str}:{shape};".encode())
    digest.update(array.tobytes())
