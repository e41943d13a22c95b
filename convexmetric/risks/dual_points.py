"""Dual points as named arrays, in files of solutions and checkpoints.

Multipliers are plain arrays; every other kind has ``arrays`` and ``from_arrays``, and the names in ``KEYS``, of which
the first tells the kind.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from convexmetric.errors import DualError
from convexmetric.risks.base import CutDual
from convexmetric.risks.pairwise import SmoothedPairs
from convexmetric.risks.sum import JoinedDual

KINDS = (CutDual, SmoothedPairs, JoinedDual)


def dual_arrays(dual: Any, multipliers: str) -> dict[str, np.ndarray]:
    """A dual point as named arrays; multipliers under the name given."""
    if isinstance(dual, KINDS):
        return dual.arrays()
    return {multipliers: np.asarray(dual, dtype=np.float64)}


def dual_from_arrays(arrays: Mapping[str, np.ndarray], multipliers: str) -> Any:
    """Rebuild the dual point that :func:`dual_arrays` wrote, or None if there is none; the risk checks whether it fits.

    Raises
    ------
    DualError
        If some of its arrays are missing, or an array stands where a number should.
    """
    for kind in KINDS:
        if kind.KEYS[0] in arrays:
            missing = [name for name in kind.KEYS if name not in arrays]
            if missing:
                raise DualError(f"of the dual point {', '.join(kind.KEYS)}, it has no {', '.join(missing)}")
            return kind.from_arrays(arrays)
    return arrays.get(multipliers)
