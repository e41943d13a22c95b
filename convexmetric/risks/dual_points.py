"""Dual points of risks, and their form in files: named arrays in solutions and checkpoints, hints in certificates.

Multipliers are plain arrays; every other kind has ``arrays`` and ``from_arrays``, and the names in ``KEYS``, the first
of which identifies the kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from convexmetric.arrays import Array
from convexmetric.described import Described
from convexmetric.errors import DualError


@dataclass(frozen=True)
class CutDual:
    """Weighted cuts as a dual point.

    Attributes
    ----------
    witnesses : (T, ...) array, of the cone's shape
        Metrics at which cuts are made.
    weights : (T, G) array
        Weight of the cut of group g at witness t; clipped to be nonnegative and to sum to at most 1 per group.
    groups : (parts,) int array
        Group of every part of the risk.
    """

    KEYS: ClassVar[tuple[str, ...]] = ("witnesses", "weights", "groups")

    witnesses: Array
    weights: Array
    groups: np.ndarray

    def arrays(self) -> dict[str, np.ndarray]:
        """The point as named arrays, for files."""
        return {"witnesses": self.witnesses, "weights": self.weights, "groups": self.groups}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> CutDual:
        """Rebuild the point from the arrays of :meth:`arrays`; whether it fits a problem is checked by the risk."""
        return cls(arrays["witnesses"], arrays["weights"], arrays["groups"])

    def hints(self, parts: int) -> Described:
        """Metrics and weights for certificate files, for a risk over ``parts`` lists."""
        clipped = self.clipped()
        kept = np.flatnonzero(clipped.weights.any(axis=1))
        widths = np.zeros(len(kept))
        return _witnesses(clipped.witnesses[kept], widths, clipped.weights[kept], clipped.groups)

    def clipped(self) -> CutDual:
        """Return the dual point made feasible: weights nonnegative, of sum at most 1 for each group."""
        weights = np.maximum(self.weights, 0.0)
        return CutDual(self.witnesses, weights / np.maximum(1.0, weights.sum(axis=0)), self.groups)


@dataclass(frozen=True)
class SmoothedPairs:
    """A dual point of a pairwise risk: the slopes of its hinges, smoothed over a width, at a metric.

    Attributes
    ----------
    M : array
        Metric; any finite one gives a valid bound.
    width : float
        Positive, or with exceptions 0, for which slopes are 0 or 1.
    places : (K, 3) int array, optional
        Exceptions: pairs with slopes of their own. Query, place in its list of positives and in its list of negatives.
    slopes : (K,) array, optional
        Slopes of the exceptions; clipped into [0, 1].
    """

    KEYS: ClassVar[tuple[str, ...]] = ("smoothed_at", "width")

    M: Array
    width: float
    places: np.ndarray | None = None
    slopes: Array | None = None

    def arrays(self) -> dict[str, np.ndarray]:
        """The point as named arrays, for files."""
        arrays: dict[str, np.ndarray] = {"smoothed_at": self.M, "width": np.array(self.width, dtype=np.float64)}
        if self.places is None or self.slopes is None:
            return arrays
        return arrays | {"places": self.places, "slopes": self.slopes}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> SmoothedPairs:
        """Rebuild the point from the arrays of :meth:`arrays`; whether it fits a problem is checked by the risk."""
        width = arrays["width"]
        if width.shape != ():
            raise DualError(f"width must be a number, got shape {width.shape}")
        return cls(arrays["smoothed_at"], float(width), arrays.get("places"), arrays.get("slopes"))

    def hints(self, parts: int) -> Described:
        """The metric with its width for certificate files, for a risk over ``parts`` lists."""
        widths = np.array([self.width], dtype=np.float64)
        said = _witnesses(np.asarray(self.M)[None], widths, np.ones((1, 1)), np.zeros(parts, dtype=np.int64))
        if self.places is not None and self.slopes is not None:
            said.arrays.update(exceptions=self.places, exception_slopes=self.slopes)
        return said


@dataclass(frozen=True)
class JoinedDual:
    """A dual point of every risk of a sum.

    Attributes
    ----------
    duals : tuple
    """

    KEYS: ClassVar[tuple[str, ...]] = ("joined",)

    duals: tuple[Any, ...]

    def arrays(self) -> dict[str, np.ndarray]:
        """The points as named arrays, for files: names begin with the number of the risk."""
        found: dict[str, np.ndarray] = {"joined": np.array(len(self.duals))}
        for k, dual in enumerate(self.duals):
            found |= {f"{k}.{name}": array for name, array in dual_arrays(dual, "multipliers").items()}
        return found

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> JoinedDual:
        """Rebuild the points from the arrays of :meth:`arrays`."""
        count = arrays["joined"]
        # Every risk has at least one array, so that a damaged number cannot cause a long loop.
        if count.shape != () or count not in range(1, len(arrays)):
            raise DualError("joined must be the number of dual points, one a risk")
        duals = []
        for k in range(int(count)):
            own = {name.partition(".")[2]: array for name, array in arrays.items() if name.startswith(f"{k}.")}
            found = dual_from_arrays(own, "multipliers")
            if found is None:
                raise DualError(f"it has no dual point of the risk number {k}")
            duals.append(found)
        return cls(tuple(duals))


def _witnesses(witnesses: Array, widths: Array, weights: Array, groups: np.ndarray) -> Described:
    """Metrics, the widths over which hinges are smoothed there, and weights, as hints of certificate files."""
    arrays = {"witnesses": witnesses, "widths": widths, "weights": weights, "groups": groups}
    return Described({"kind": "witnesses"}, arrays)


KINDS = (CutDual, SmoothedPairs, JoinedDual)


def dual_arrays(dual: Any, multipliers: str = "multipliers") -> dict[str, np.ndarray]:
    """Convert a dual point to named arrays; one with a multiplier per comparison gets the given name."""
    if isinstance(dual, KINDS):
        return dual.arrays()
    return {multipliers: np.asarray(dual, dtype=np.float64)}


def dual_from_arrays(arrays: Mapping[str, np.ndarray], multipliers: str = "multipliers") -> Any:
    """Rebuild the dual point that :func:`dual_arrays` wrote, or None if there is none; the risk checks whether it fits.

    Raises
    ------
    DualError
        If some of its arrays are missing, or an array is given in place of a number.
    """
    for kind in KINDS:
        if kind.KEYS[0] in arrays:
            missing = [name for name in kind.KEYS if name not in arrays]
            if missing:
                raise DualError(f"of the dual point {', '.join(kind.KEYS)}, it has no {', '.join(missing)}")
            return kind.from_arrays(arrays)
    return arrays.get(multipliers)
