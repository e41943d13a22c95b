"""The contract of listed comparisons, a linear operator on metrics, and the concatenation of several kinds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from convexmetric.arrays import Array
from convexmetric.cones import Cone
from convexmetric.programs.lazy import cvxpy as cp


class Comparisons(ABC):
    """``s = D(M)`` with ``s_t = <D_t, M>``, where each ``D_t`` is a signed sum of ``(x - x')(x - x')^T``."""

    cone: Cone

    def __len__(self) -> int:
        return len(self.places)

    def signs_of_each(self) -> Array:
        """Sign ``sigma_t`` of each comparison, by which its distance or difference of distances is multiplied."""
        return np.ones(len(self))

    @property
    def points(self) -> tuple[Any, ...]:
        """Point sets that are compared, one matrix per set; empty if ``D_t`` is made of something else."""
        return ()

    @property
    def distances_each(self) -> float:
        """Sum of the sizes of the coefficients of squared distances in a comparison, at most: 1 for pairs, else 2."""
        return min(self.places.shape[1] - 1, 2)

    def pair_sums(self) -> tuple[np.ndarray, sp.csr_array] | None:
        """Pairs of points, ``(P, 2)``, and a matrix that maps their squared distances to s; None if there is none."""
        return None

    @abstractmethod
    def forward(self, M: Array) -> Array:
        """``s = D(M)``, shape ``(T,)``."""

    @abstractmethod
    def adjoint(self, u: Array) -> Array:
        """``sum_t u_t D_t``, an element of the cone's space."""

    @property
    @abstractmethod
    def places(self) -> np.ndarray:
        """Rows of the data that each comparison involves: ``(T, 3)`` of triplets, ``(T, 2)`` of pairs."""

    @property
    @abstractmethod
    def rows(self) -> Any:
        """All ``D_t`` in coordinates of the cone, ``(T, cone.size)``, dense or sparse: for small solves."""

    def block(self, rows: np.ndarray, columns: np.ndarray | slice) -> Any:
        """Some ``D_t`` in some coordinates of the cone, dense or sparse: for solves on working sets."""
        return self.rows[rows][:, columns]

    @abstractmethod
    def expression(self, M: cp.Variable) -> cp.Expression:
        """CVXPY expression of :meth:`forward`."""


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
    def distances_each(self) -> float:
        """The largest of all kinds."""
        return max(kind.distances_each for kind in self.kinds)

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
