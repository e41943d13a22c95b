"""The contract of listed comparisons: a linear operator on metrics."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import scipy.sparse as sp

from convexmetric.arrays import Array
from convexmetric.cones import Cone
from convexmetric.programs.lazy import cvxpy as cp


class Comparisons(ABC):
    """``s = D(M)`` with ``s_t = <D_t, M>``, where each ``D_t`` is a signed sum of ``(x - x')(x - x')^T``."""

    cone: Cone

    @abstractmethod
    def __len__(self) -> int:
        """Number of comparisons."""

    def signs_of_each(self) -> Array:
        """Sign ``sigma_t`` of each comparison, by which its distance or difference of distances is multiplied."""
        return np.ones(len(self))

    @property
    def points(self) -> tuple[Any, ...]:
        """Point sets that are compared, one matrix a set; empty where ``D_t`` is made of something else."""
        return ()

    def pair_sums(self) -> tuple[np.ndarray, sp.csr_array] | None:
        """Pairs of points, ``(P, 2)``, and a matrix that makes s of their squared distances; None without one."""
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
