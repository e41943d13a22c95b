import numpy as np
import pytest

import convexmetric as cm
from convexmetric.kernels import KernelSpan, kernel_matrix, unit_rbf


def nearly_equal_points(n=40, d=3, seed=0):
    """Points in twins that are hardly apart, so that the kernel has eigenvalues almost down to rounding."""
    X = np.random.default_rng(seed).normal(size=(n, d))
    return np.vstack([X, X + 1e-5 * np.random.default_rng(seed + 1).normal(size=X.shape)])


@pytest.mark.parametrize("pairs", [None, np.column_stack([np.arange(79), np.arange(1, 80)])])
def test_points_have_the_same_coordinates_when_they_come_again(pairs):
    X = nearly_equal_points()
    span = KernelSpan.of(X, "unit-rbf", pairs)
    assert np.linalg.norm(span.coordinates, axis=0).min() < 1e-4
    again = span.transform(X) - span.coordinates
    np.testing.assert_allclose(again, np.broadcast_to(again[0], again.shape), atol=1e-7)


def test_projections_are_no_longer_than_what_is_projected():
    X = nearly_equal_points()
    new = np.random.default_rng(7).normal(size=(30, 3))
    span = KernelSpan.of(X, "unit-rbf")
    Z = span.transform(new)
    projected = ((Z[:, None] - Z[None]) ** 2).sum(axis=2)
    K = unit_rbf(new, new)
    whole = np.diag(K)[:, None] + np.diag(K) - 2.0 * K
    assert np.all(projected <= whole + 1e-7)


def test_components_are_centred_on_their_own():
    X = np.random.default_rng(3).normal(size=(9, 4))
    pairs = np.array([[0, 1], [1, 2], [3, 4], [5, 6], [6, 7], [7, 8]])
    span = KernelSpan.of(X, "unit-rbf", pairs)
    assert span.coordinates.shape == (9, 6)
    for part in (slice(0, 3), slice(3, 5), slice(5, 9)):
        np.testing.assert_allclose(span.coordinates[part].sum(axis=0), 0.0, atol=1e-14)
    K = kernel_matrix(X, "unit-rbf")
    i, j = pairs.T
    distances = ((span.coordinates[i] - span.coordinates[j]) ** 2).sum(axis=1)
    np.testing.assert_allclose(distances, K[i, i] + K[j, j] - 2.0 * K[i, j], rtol=1e-12)


def test_scaled_letters_leave_no_rounding_behind():
    letters, digits = cm.datasets.load("scaled-letters"), cm.datasets.load("scaled-digits")
    span = KernelSpan.of(letters.X, "unit-rbf")
    Z = span.transform(digits.X) - span.transform(letters.X).mean(axis=0)
    assert (Z**2).sum(axis=1).max() < 1.0
