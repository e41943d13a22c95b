"""Cholesky factors of the matrices of Newton systems, by calls of LAPACK.

For small systems SciPy's checks cost more than the arithmetic.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg as la
from scipy.linalg import lapack

from convexmetric.arrays import Array

#: Relative additions to the diagonal that are tried, one after the other: multiples of the machine precision.
ADDED = (0.0, 1e-14, 1e-12, 1e-10)


def cholesky(matrix: Array) -> Array:
    """Lower factor, in the lower triangle of the result; the diagonal is enlarged by a few roundings if it must be.

    Raises
    ------
    scipy.linalg.LinAlgError
        If the matrix is not positive definite even so. Its diagonal is changed in any case.
    """
    diagonal = np.diag_indices_from(matrix)
    original = matrix[diagonal].copy()
    for added in ADDED:
        matrix[diagonal] = original * (1.0 + added)
        factor, info = lapack.dpotrf(matrix, lower=1, clean=0)
        if info == 0:
            return factor
    raise la.LinAlgError("the Newton system is numerically singular")


def cholesky_solve(factor: Array, right: Array) -> Array:
    """Solve with the factor that :func:`cholesky` made."""
    return lapack.dpotrs(factor, right, lower=1)[0]
