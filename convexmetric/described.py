"""Descriptions of a problem's blocks for certificate files (``docs/certificate-format.md``), made by the blocks.

A block that certificates know has a method ``described``; folders of shards hold these descriptions, too:

===========  ============================  =========================================================================
block        method                        its table, and its arrays
===========  ============================  =========================================================================
cone         ``described()``               ``cone`` and ``features``, and the array ``blocks`` where it has some
comparisons  ``described()``               points and lists; of listed ones also ``signs_of_each()``
loss         ``described(signs)``          ``loss``; ``weights`` and ``margins``, one of each comparison
measure      ``described()``               ``measure``, and ``k`` and ``short`` where it has them
risk         ``described()``               the table ``risk`` and its arrays; its dual points by ``hints(dual)``
regularizer  ``described(cone, points)``   the table ``regularizer``; its linear part, if it has one, as ``linear``, and
                                           its constant one; what its dual points are proven by, by ``hints``
===========  ============================  =========================================================================

Floats of a table are parameters: files hold the rationals that they were typed as. Arrays are data, stored unchanged.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from convexmetric.arrays import Array
from convexmetric.errors import InputError

__all__ = ["Described", "OnDemand", "description", "symmetric", "unknown"]


@dataclass(frozen=True)
class OnDemand:
    """Floats ``first`` to ``stop`` of a vector that may be larger than the memory: ``make`` makes them, for an array.

    Attributes
    ----------
    make : callable
        From a first and a last place to these numbers.
    first, stop : int
    """

    make: Callable[[int, int], Array]
    first: int
    stop: int

    dtype = np.dtype(np.float64)

    def __getitem__(self, rows: slice) -> OnDemand:
        return replace(self, first=self.first + rows.start, stop=self.first + rows.stop)

    def __mul__(self, factor: float) -> OnDemand:
        return replace(self, make=lambda first, stop: factor * self.make(first, stop))

    def __array__(self, dtype: Any = None, copy: Any = None) -> Array:
        return self.make(self.first, self.stop)


@dataclass(frozen=True)
class Described:
    """A part of a certificate file.

    Attributes
    ----------
    table : dict
        Text, integers, floats, and lists of such tables.
    arrays : dict of arrays
        Arrays by their names in the file format; vectors of a dual point may be made ``OnDemand``.
    summands : tuple of Described
        Descriptions of the summands, for a sum of risks or of regularizers.
    constant : float
        Number added to a regularizer.
    """

    table: dict[str, Any] = field(default_factory=dict)
    arrays: dict[str, Any] = field(default_factory=dict)
    summands: tuple[Described, ...] = ()
    constant: float = 0.0


def symmetric(A: np.ndarray) -> np.ndarray:
    """Symmetrise a matrix that is symmetric up to rounding; weights are returned as they are."""
    return A if A.ndim == 1 else np.asarray(0.5 * (A + A.T))


def description(block: Any, *given: Any) -> Described:
    """Return ``block.described(*given)``, if the block's own class defines it.

    A subclass may mean something else than its base class, so an inherited ``described`` does not count: the subclass
    has to define its own, perhaps by ``super().described``. Only that of an abstract base class counts for all
    subclasses, because it is made of what they define themselves (``Regularizer.described``).

    Raises
    ------
    InputError
        If certificates do not know a block of its class, or not one like this.
    """
    kind = type(block)
    owner = next((base for base in kind.__mro__ if "described" in vars(base)), None)
    if owner is None or not (owner is kind or inspect.isabstract(owner)):
        raise unknown(block)
    found = block.described(*given)
    assert isinstance(found, Described)
    return found


def unknown(block: Any) -> InputError:
    """Return the error for a block that certificates do not know, with advice."""
    return InputError(
        f"certificates do not know a {type(block).__name__}: it may describe itself, by a method 'described', in words "
        "of docs/certificate-format.md, or in those of a rule of your own (rules=...)"
    )
