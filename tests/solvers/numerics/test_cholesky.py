"""Factors that solve, with a hair on the diagonal where there must be."""

import numpy as np
import pytest
import scipy.linalg as la

from convexmetric.solvers.numerics.interior_point import cholesky, cholesky_solve


def test_a_factor_solves():
    rng = np.random.default_rng(0)
    root, right = rng.standard_normal((5, 5)), rng.standard_normal((5, 2))
    matrix = root @ root.T + np.eye(5)
    factor = cholesky(matrix.copy())
    np.testing.assert_allclose(np.tril(factor) @ np.tril(factor).T, matrix, atol=1e-12)
    np.testing.assert_allclose(matrix @ cholesky_solve(factor, right), right, atol=1e-12)


def test_a_singular_matrix_gets_a_hair_and_an_indefinite_one_is_refused():
    nearly = np.array([[1.0, 1.0], [1.0, 1.0 - 1e-13]])
    assert np.isfinite(cholesky_solve(cholesky(nearly), np.ones(2))).all()
    with pytest.raises(la.LinAlgError, match="numerically singular"):
        cholesky(np.diag([1.0, -1.0]))
