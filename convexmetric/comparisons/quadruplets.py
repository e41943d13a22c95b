r"""Comparisons of two pairs: "i and j are closer than k and l".

.. math:: s_t = d_M(x_k, x_l) - d_M(x_i, x_j) = \langle M, D_t \rangle, \qquad
   D_t = (x_k - x_l)(x_k - x_l)^\top - (x_i - x_j)(x_i - x_j)^\top

A triplet is the quadruplet (i, j, i, k). The operator is the sum of those of two lists of signed pairs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from convexmetric.arrays import Array
from convexmetric.comparisons.base import Comparisons
from convexmetric.comparisons.pair_distances import PairDistances
from convexmetric.comparisons.points import Checked, listed_rows, points_on
from convexmetric.cones import Cone
from convexmetric.errors import InputError
from convexmetric.programs.lazy import cvxpy as cp


class Quadruplets(Comparisons):
    """The linear operator from metrics to differences of two pairs' distances, and its adjoint.

    Parameters
    ----------
    X : (n, d) array
        Points in rows.
    quadruplets : (T, 4) int array
        Rows ``(i, j, k, l)``: i and j are closer than k and l.
    cone : Cone
        Cone of the metric.

    Raises
    ------
    InputError
        If the quadruplets are empty, malformed or out of range, a pair names one point twice, or the two
        pairs of a row are the same.
    """

    def __init__(self, X: Any, quadruplets: ArrayLike, cone: Cone) -> None:
        self.X = points_on(X, cone, sparse=cone.diagonal)
        rows = listed_rows(quadruplets, self.X.shape[0], "quadruplets", "quadruplet", "ijkl")
        pairs = np.concatenate([rows[:, :2], rows[:, 2:]])
        #: Pairs (i, j), which count negatively, and then pairs (k, l).
        self.pairs = PairDistances(Checked(self.X), pairs, np.repeat([-1.0, 1.0], len(rows)), cone)
        if (np.sort(rows[:, :2]) == np.sort(rows[:, 2:])).all(axis=1).any():
            raise InputError("quadruplets must name two different pairs, (i, j) and (k, l), in every row")
        self.cone, self.quadruplets = cone, rows

    @property
    def points(self) -> tuple[Any, ...]:
        """The only set of points, X."""
        return self.pairs.points

    @property
    def places(self) -> np.ndarray:
        """The quadruplets."""
        return self.quadruplets

    def _added(self, of_pairs: Any) -> Any:
        """Sum of what the two pairs of every quadruplet have."""
        return of_pairs[: len(self)] + of_pairs[len(self) :]

    @property
    def rows(self) -> Any:
        """All ``D_t`` in coordinates of the cone, ``(T, cone.size)``; sparse if X is."""
        return self._added(self.pairs.rows)

    def forward(self, M: Array) -> Array:
        """``s = D(M)``, shape ``(T,)``."""
        return np.asarray(self._added(self.pairs.forward(M)))

    def adjoint(self, u: Array) -> Array:
        """``sum_t u_t D_t``, one weighted graph Laplacian."""
        return self.pairs.adjoint(np.tile(u, 2))

    def expression(self, M: cp.Variable) -> cp.Expression:
        """CVXPY expression of :meth:`forward`."""
        return self._added(self.pairs.expression(M))
