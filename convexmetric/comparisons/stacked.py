"""Comparisons of several kinds, one after the other: ``s = (D_1(M), D_2(M), ...)``."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from convexmetric.arrays import Array
from convexmetric.comparisons.base import Comparisons
from convexmetric.programs.lazy import cvxpy as cp


class StackedComparisons(Comparisons):
    """Comparisons of the first kind, then those of the second, and so on.

    Parameters
    ----------
    kinds : list of Comparisons
        At least one, all on one cone.
    """

    def __init__(self, kinds: list[Comparisons]) -> None:
        self.kinds, self.cone = kinds, kinds[0].cone
        self.ends = np.cumsum([0, *map(len, kinds)])

    def __len__(self) -> int:
        return int(self.ends[-1])

    def signs_of_each(self) -> Array:
        """Signs of all kinds, concatenated."""
        return np.concatenate([kind.signs_of_each() for kind in self.kinds])

    @property
    def points(self) -> tuple[Any, ...]:
        """Point sets of all kinds; empty if one has none."""
        sets = [kind.points for kind in self.kinds]
        return tuple(points for one in sets for points in one) if all(sets) else ()

    def forward(self, M: Array) -> Array:
        """``s = D(M)``, shape ``(T,)``."""
        return np.concatenate([kind.forward(M) for kind in self.kinds])

    def adjoint(self, u: Array) -> Array:
        """``sum_t u_t D_t``: the sum of the adjoints of the kinds."""
        parts = zip(self.kinds, pairwise(self.ends), strict=True)
        return np.asarray(np.sum([kind.adjoint(u[begin:end]) for kind, (begin, end) in parts], axis=0))

    @property
    def places(self) -> np.ndarray:
        """Rows of the data of each kind, padded with -1 to the same number of columns."""
        found = [kind.places for kind in self.kinds]
        width = max(places.shape[1] for places in found)
        return np.concatenate([np.pad(p, ((0, 0), (0, width - p.shape[1])), constant_values=-1) for p in found])

    @property
    def rows(self) -> Any:
        """All ``D_t`` in coordinates of the cone, sparse if those of all kinds are."""
        rows = [kind.rows for kind in self.kinds]
        if all(sp.issparse(one) for one in rows):
            return sp.csr_array(sp.vstack(rows))
        return np.vstack([one.toarray() if sp.issparse(one) else one for one in rows])

    def expression(self, M: cp.Variable) -> cp.Expression:
        """CVXPY expression of :meth:`forward`."""
        return cp.hstack([kind.expression(M) for kind in self.kinds])
