r"""Newton systems of smoothed hinges: the derivative of the projection, and a row for every comparison on the kink.

With the derivative :math:`\Pi` of the projection on the cone (:mod:`convexmetric.cones.projection`) a system

.. math:: (\mathrm{diag}(D) + \tfrac{1}{\sigma} \Pi^{1/2} H^\top \mathrm{diag}(\kappa) H \Pi^{1/2}) \, v = b

lives in the coordinates where it is not zero. It is solved by the smaller of two factorisations, kinks or coordinates,
or by conjugate gradients, whose products cost no more than a pass over the data.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp

from convexmetric.arrays import Array
from convexmetric.cones.projection import Projection
from convexmetric.numerics.compiling import compiled
from convexmetric.numerics.threads import over_rows
from convexmetric.solvers.numerics.conjugate_gradients import conjugate_gradients
from convexmetric.solvers.pairwise.kinks import Kinks

#: Multiplications up to which a system is factorised, without conjugate gradients.
DIRECT_WORK = 1e9
#: Multiplications up to which it is factorised where conjugate gradients do not reach their accuracy.
FALLBACK_WORK = 4e11
#: Conjugate gradient steps for a system at most.
CG_STEPS = 80
#: Relative residual, in the norm of the preconditioner, at which conjugate gradients end.
CG_ACCURACY = 1e-2


class Factorised:
    """A system factorised on its smaller side."""

    def __init__(self, projection: Projection, kinks: Kinks, diagonal: Array, sigma: float) -> None:
        self.root = np.sqrt(diagonal)
        scale = np.sqrt(kinks.curvature / sigma)
        rows = projection.rows(kinks)
        if sp.issparse(rows):
            self.rows = sp.diags_array(scale) @ rows @ sp.diags_array(1.0 / self.root)
        else:
            self.rows = rows
            over_rows(_scale, len(rows), rows.size, rows, scale, 1.0 / self.root)
        self.by_kinks = len(kinks) < projection.size
        gram = self.rows @ self.rows.T if self.by_kinks else self.rows.T @ self.rows
        gram = gram.toarray() if sp.issparse(gram) else gram
        gram[np.diag_indices_from(gram)] += 1.0
        self.factor = la.cho_factor(gram, lower=True, overwrite_a=True, check_finite=False)

    def solve(self, b: Array) -> Array:
        """Solve for v, with one right-hand side."""
        b = b / self.root
        if self.by_kinks:
            b = b - self.rows.T @ la.cho_solve(self.factor, self.rows @ b, check_finite=False)
        else:
            b = la.cho_solve(self.factor, b, check_finite=False)
        return np.asarray(b / self.root)


def solve_newton(projection: Projection, kinks: Kinks, diagonal: Array, b: Array, sigma: float) -> Array:
    """Solve for v, by factorisation where that is cheap, else by conjugate gradients."""
    if projection.size == 0 or len(kinks) == 0:
        return b / diagonal
    small, large = sorted((len(kinks), projection.size))
    work = float(small) ** 2 * large + small**3 / 3.0
    if work <= DIRECT_WORK:
        return Factorised(projection, kinks, diagonal, sigma).solve(b)
    forward, transposed = projection.products(kinks)
    v, accurate = conjugate_gradients(
        lambda x: diagonal * x + transposed(kinks.curvature * forward(x)) / sigma, b, diagonal, CG_ACCURACY, CG_STEPS
    )
    return v if accurate or work > FALLBACK_WORK else Factorised(projection, kinks, diagonal, sigma).solve(b)


@compiled
def _scale(begin, end, matrix, by_row, by_column):
    for t in range(begin, end):
        for k in range(matrix.shape[1]):
            matrix[t, k] *= by_row[t] * by_column[k]
