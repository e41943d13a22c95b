"""Embeddings: what gives points the coordinates on which an operator acts, and how they are stored.

An embedding is any object with ``transform(X)``. One that can be stored also names itself (``stored_as``), says what
it is made of as arrays of numbers and text (``arrays``), and is made again from these (``from_arrays``). Files name
the embedding, never a class to import: only those that are registered with ``storable`` are ever made from a
file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from convexmetric.errors import InputError


@runtime_checkable
class Embedding(Protocol):
    """Anything that gives points coordinates in a Euclidean space."""

    def transform(self, X: Any) -> NDArray[np.float64]:
        """``(n, d')`` coordinates of points in rows."""
        ...


@runtime_checkable
class StorableEmbedding(Embedding, Protocol):
    """An embedding that arrays of numbers and text can carry."""

    stored_as: ClassVar[str]

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What it is made of, none of it a Python object.

        Raises
        ------
        InputError
            If this one cannot be stored, such as a kernel that is a function.
        """
        ...

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> StorableEmbedding:
        """Undo :meth:`arrays`; the arrays come from a file that anybody may have written.

        Raises
        ------
        InputError
            If they are no such embedding.
        """
        ...


_STORABLE: dict[str, type[StorableEmbedding]] = {}

Kind = TypeVar("Kind", bound=type[StorableEmbedding])


def storable(kind: Kind) -> Kind:
    """Register a class of embeddings under its ``stored_as``."""
    _STORABLE[kind.stored_as] = kind
    return kind


def embedding_from_arrays(stored_as: str, arrays: Mapping[str, NDArray[Any]]) -> StorableEmbedding:
    """The embedding of a registered name.

    Raises
    ------
    InputError
        If no embedding has that name, or the arrays are none.
    """
    if stored_as not in _STORABLE:
        raise InputError(f"there is no embedding {stored_as!r}; known: {', '.join(sorted(_STORABLE))}")
    try:
        return _STORABLE[stored_as].from_arrays(arrays)
    except KeyError as error:
        raise InputError(f"an embedding {stored_as!r} needs the array {error.args[0]!r}, which is missing") from error
