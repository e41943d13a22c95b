"""Embeddings: maps from points to the coordinates on which an operator acts, and how they are stored.

An embedding is any object with ``transform(X)``. One that can be stored also has a name (``stored_as``), returns
its state as arrays of numbers and text (``arrays``), and is rebuilt from these (``from_arrays``). Files name
the embedding, never a class to import: only those in ``STORABLE`` are ever built from a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from convexmetric.errors import InputError
from convexmetric.features.kernels import KernelSpan, KernelValues
from convexmetric.features.projections import Projection


@runtime_checkable
class Embedding(Protocol):
    """Protocol of maps from points to coordinates in a Euclidean space."""

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Coordinates of points in rows, ``(n, d')``."""
        ...


@runtime_checkable
class StorableEmbedding(Embedding, Protocol):
    """Protocol of embeddings that can be stored as arrays of numbers and text."""

    stored_as: ClassVar[str]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the state of the embedding as arrays of numbers and text, without Python objects.

        Raises
        ------
        InputError
            If it cannot be stored, as with a kernel that is a function.
        """
        ...

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> StorableEmbedding:
        """Make the embedding again from :meth:`arrays`, which come from an untrusted file.

        Raises
        ------
        InputError
            If they do not form such an embedding.
        """
        ...


#: Embeddings by their names in files.
STORABLE: dict[str, type[StorableEmbedding]] = {kind.stored_as: kind for kind in (KernelSpan, KernelValues, Projection)}


def embedding_from_arrays(stored_as: str, arrays: Mapping[str, NDArray[Any]]) -> StorableEmbedding:
    """Make an embedding from its name in files and its arrays.

    Raises
    ------
    InputError
        If no embedding has that name, or the arrays do not form one.
    """
    if stored_as not in STORABLE:
        raise InputError(f"there is no embedding {stored_as!r}; known: {', '.join(sorted(STORABLE))}")
    try:
        return STORABLE[stored_as].from_arrays(arrays)
    except KeyError as error:
        raise InputError(f"an embedding {stored_as!r} needs the array {error.args[0]!r}, which is missing") from error
