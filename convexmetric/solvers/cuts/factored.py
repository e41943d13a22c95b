r"""Cuts of rankings with normals stored as factors, for metrics with more entries than a cut has weights.

With weights :math:`t_{qx}` of the distances of its queries, whose rows sum to zero, the normal of a cut is

.. math:: \Psi = \sum_{qx} t_{qx} (q - x)(q - x)^\top = X^\top \operatorname{diag}(c) X - Q^\top Y - Y^\top Q, \qquad
   c_x = \sum_q t_{qx}, \quad Y = T X .

A master in a subspace needs :math:`V^\top \Psi V` and weighted sums, and both are computed from c and Y: no d x d
normal is made. The restricted normals are stored in a basis that new columns of V extend, so that a column costs one
product with all c; and the basis is reset to V when it is much wider.
"""

from __future__ import annotations

import numpy as np

from convexmetric.arrays import Array, congruent
from convexmetric.comparisons import Rankings
from convexmetric.risks.base import FactoredCuts

#: Columns that the basis may have in addition to those of V before it is reset.
SPARE = 24
#: Length up to which the part of a column outside of the basis counts as rounding.
ROUNDING = 1e-8


class FactoredRows:
    """Normals of cuts as factors.

    Parameters
    ----------
    rankings : Rankings
        With whole rows of distances between dense points.
    groups : (n_q,) int array
        Group of every query.
    """

    def __init__(self, rankings: Rankings, groups: np.ndarray) -> None:
        order = np.argsort(groups, kind="stable")
        self.X, self.Q, self.groups = rankings.X, rankings.points(order), groups[order]
        self.starts = np.searchsorted(self.groups, np.arange(self.groups[-1] + 2))
        #: ``c`` of every cut, with its group and the index of its pass in ``products``.
        self.columns = np.empty((0, len(self.X)))
        self.group, self.made = np.empty((2, 0), dtype=np.int64)
        #: ``Y`` of every pass.
        self.products: list[Array] = []
        d = self.X.shape[1]
        self.basis, self.restricted_to_basis = np.empty((d, 0)), np.empty((0, 0, 0))

    def add(self, cuts: FactoredCuts) -> None:
        """Add one cut for every group."""
        count = len(cuts.columns)
        self.columns = np.concatenate([self.columns, cuts.columns])
        self.group = np.append(self.group, np.arange(count))
        self.made = np.append(self.made, np.full(count, len(self.products)))
        self.products.append(cuts.products)
        new = self._entries(slice(-count, None), [cuts.products], np.zeros(count, dtype=np.int64), self.basis, 0)
        self.restricted_to_basis = np.concatenate([self.restricted_to_basis, new])

    def take(self, order: np.ndarray) -> None:
        """Keep the cuts with these indices, in this order."""
        self.columns, self.restricted_to_basis = self.columns[order], self.restricted_to_basis[order]
        self.group = self.group[order]
        places, self.made = np.unique(self.made[order], return_inverse=True)
        self.products = [self.products[place] for place in places]

    def scale(self, factor: float) -> None:
        """Multiply all cuts by a number."""
        self.columns, self.restricted_to_basis = factor * self.columns, factor * self.restricted_to_basis
        self.products = [factor * products for products in self.products]

    def combined(self, a: Array) -> Array:
        """``sum_t a_t Psi_t``."""
        weights = np.zeros((len(self.products), len(self.starts) - 1))
        weights[self.made, self.group] = a
        Y = np.zeros_like(self.Q)
        for of_groups, products in zip(weights, self.products, strict=True):
            Y += of_groups[self.groups, None] * products
        return self.normal(a @ self.columns, Y)

    def normal(self, c: Array, Y: Array) -> Array:
        """The normal with these factors."""
        cross = self.Q.T @ Y
        return (self.X * c[:, None]).T @ self.X - cross - cross.T

    def restricted(self, V: Array) -> Array:
        """``V^T Psi_t V`` of every cut, ``(k, r, r)``, for orthonormal columns V."""
        outside = V
        # Twice, as the first projection leaves rounding errors along the basis.
        for _ in range(2):
            outside = outside - self.basis @ (self.basis.T @ outside)
        columns, lengths, _ = np.linalg.svd(outside, full_matrices=False)
        columns = columns[:, lengths > ROUNDING]
        old = self.basis.shape[1]
        if old + columns.shape[1] > V.shape[1] + SPARE:
            self.basis, old = V, 0
        elif columns.shape[1]:
            self.basis = np.hstack([self.basis, columns])
        wide = self.basis.shape[1]
        if wide > old:
            entries = self._entries(slice(None), self.products, self.made, self.basis, old)
            entries[:, :old, :old] = self.restricted_to_basis[:, :old, :old]
            self.restricted_to_basis = entries
        return congruent(self.restricted_to_basis, self.basis.T @ V)

    def _entries(self, cuts: slice, products: list[Array], made: np.ndarray, basis: Array, old: int) -> Array:
        """Return ``B^T Psi_t B`` of some cuts for a basis B, with zeros for entries among its first ``old`` columns."""
        wide = basis.shape[1]
        rows, columns = np.nonzero(np.triu(np.ones((wide, wide))))
        new = columns >= old
        rows, columns = rows[new], columns[new]
        X, Q = self.X @ basis, self.Q @ basis
        values = self.columns[cuts] @ (X[:, rows] * X[:, columns])
        crosses = np.empty((len(products), len(self.starts) - 1, wide, wide))
        for place, of_pass in enumerate(products):
            Y = of_pass @ basis
            for g, (start, stop) in enumerate(zip(self.starts, self.starts[1:], strict=False)):
                crosses[place, g] = Q[start:stop].T @ Y[start:stop]
        cross = crosses[made, self.group[cuts]]
        values -= cross[:, rows, columns] + cross[:, columns, rows]
        entries = np.zeros((len(values), wide, wide))
        entries[:, rows, columns] = entries[:, columns, rows] = values
        return entries
