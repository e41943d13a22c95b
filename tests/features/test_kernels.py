"""Kernels against their formulas, and the span's coordinates against the kernel's own distances."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

import convexmetric as cm
from convexmetric.errors import InputError
from convexmetric.features import KERNELS, KernelSpan, KernelValues, kernel_matrix, unit_rbf


def points(seed=0, n=12, d=4):
    return np.random.default_rng(seed).normal(size=(n, d))


def squares(K):
    return np.diag(K)[:, None] + np.diag(K) - 2.0 * K


def distances(C):
    return ((C[:, None] - C) ** 2).sum(axis=2)


FORMULAS = {
    "linear": lambda x, z: x @ z,
    "rbf": lambda x, z: np.exp(-((x - z) @ (x - z)) / x.size),
    "unit-rbf": lambda x, z: 0.5 * np.exp(-4.0 * np.linalg.norm(x / np.linalg.norm(x) - z / np.linalg.norm(z)) ** 2),
}


@pytest.mark.parametrize("name", sorted(KERNELS))
@pytest.mark.parametrize("sparse", [False, True])
def test_kernels_are_their_formulas(name, sparse):
    X, Z = points(), points(1, 5)
    form = sp.csr_array if sparse else np.asarray
    expected = [[FORMULAS[name](x, z) for z in Z] for x in X]
    np.testing.assert_allclose(KERNELS[name](form(X), form(Z)), expected, rtol=1e-10, atol=1e-14)


def test_the_papers_kernel_keeps_squared_distances_below_one():
    K = KERNELS["unit-rbf"](points(), points())
    np.testing.assert_allclose(np.diag(K), 0.5)
    assert (squares(K) < 1.0).all()


@pytest.mark.parametrize("kernel", [*sorted(KERNELS), rbf_kernel, laplacian_kernel])
def test_all_differences_have_the_kernels_distances(kernel):
    X = points()
    span = KernelSpan.of(X, kernel)
    np.testing.assert_allclose(distances(span.coordinates), squares(kernel_matrix(X, kernel)), atol=1e-9)
    assert span.coordinates.shape[1] == (4 if kernel == "linear" else 11)
    # The basis is orthonormal, and points that are learned from are where new ones at the same place are.
    K = kernel_matrix(X, kernel)
    np.testing.assert_allclose(
        span.coefficients.T @ K @ span.coefficients, np.eye(span.coordinates.shape[1]), atol=1e-8
    )
    np.testing.assert_allclose(distances(span.transform(X)), squares(K), atol=1e-8)


@pytest.mark.parametrize("kernel", ["rbf", "unit-rbf", laplacian_kernel])
def test_new_points_are_projected_on_the_span(kernel):
    """Inner products with the basis by the kernel, one at a time; and projections do not lengthen differences."""
    X, Z = points(), points(1, 6)
    span = KernelSpan.of(X, kernel)
    function = KERNELS.get(kernel, kernel) if isinstance(kernel, str) else kernel
    expected = [
        [
            sum(c * function(z[None], x[None])[0, 0] for c, x in zip(column, X, strict=True))
            for column in span.coefficients.T
        ]
        for z in Z
    ]
    np.testing.assert_allclose(span.transform(Z), expected, atol=1e-9)
    assert (distances(span.transform(Z)) <= squares(function(Z, Z)) + 1e-9).all()


def test_a_matrix_serves_as_a_kernel():
    X, Z = points(), points(1, 6)
    by_name, by_matrix = KernelSpan.of(X, "rbf"), KernelSpan.of(X, KERNELS["rbf"](X, X))
    np.testing.assert_allclose(distances(by_matrix.coordinates), distances(by_name.coordinates), atol=1e-10)
    new = by_matrix.transform(KERNELS["rbf"](Z, X))
    np.testing.assert_allclose(distances(new), distances(by_name.transform(Z)), atol=1e-9)
    with pytest.raises(InputError, match="one value for each of the 12 training points"):
        by_matrix.transform(np.ones((2, 4)))
    with pytest.raises(InputError, match="X has 3 features, but the kernel takes 4"):
        by_name.transform(Z[:, :3])


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_components_of_the_pair_graph_have_spans_of_their_own(kernel):
    """Differences within {0, 1, 2}, {3, 4} and {5, 6, 7, 8}; points 9 to 11 are in no pair."""
    X = points(d=20)
    parts = [[0, 1, 2], [3, 4], [5, 6, 7, 8]]
    pairs = np.array([[0, 1], [2, 1], [3, 4], [5, 6], [6, 7], [7, 8], [5, 8]])
    span = KernelSpan.of(X, kernel, pairs)
    assert span.coordinates.shape[1] == 2 + 1 + 3
    true, found, moved = squares(kernel_matrix(X, kernel)), distances(span.coordinates), distances(span.transform(X))
    for part in parts:
        inside = np.ix_(part, part)
        np.testing.assert_allclose(found[inside], true[inside], atol=1e-9)
        np.testing.assert_allclose(moved[inside], true[inside], atol=1e-8)
    # Between components only the part along the span is left.
    assert (moved <= true + 1e-8).all()
    assert moved[0, 3] < true[0, 3] - 1e-3


def test_repeated_points_add_nothing():
    X = points()
    span = KernelSpan.of(np.concatenate([X, X[:5]]), "rbf")
    assert span.coordinates.shape[1] == 11
    np.testing.assert_allclose(span.coordinates[12:], span.coordinates[:5], atol=1e-7)


def test_the_papers_kernel_needs_directions():
    X = points()
    X[3] = 0.0
    with pytest.raises(InputError, match="points other than zero"):
        KernelSpan.of(X, "unit-rbf")


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


@pytest.mark.parametrize("kernel", [*sorted(KERNELS), rbf_kernel])
def test_points_by_their_kernel_values_with_others(kernel):
    X, Z = points(), points(1, 5)
    formula = KERNELS[kernel] if isinstance(kernel, str) else kernel
    np.testing.assert_allclose(KernelValues(kernel, X).transform(Z), formula(Z, X), atol=1e-14)
    with pytest.raises(InputError, match="3 features, but the kernel takes 4"):
        KernelValues(kernel, X).transform(Z[:, :3])
    with pytest.raises(InputError, match="one value for each of the 12"):
        KernelValues(lambda A, B: np.ones((len(A), 2)), X).transform(Z)


def test_stored_kernel_values_come_back_and_functions_are_refused():
    values = KernelValues("rbf", points())
    again = KernelValues.from_arrays(values.arrays())
    np.testing.assert_array_equal(again.transform(points(1)), values.transform(points(1)))
    with pytest.raises(InputError, match="a function cannot be stored"):
        KernelValues(rbf_kernel, points()).arrays()
    with pytest.raises(InputError, match="sparse points"):
        KernelValues("rbf", sp.csr_array(points())).arrays()
    with pytest.raises(InputError, match="kernel must be one of"):
        KernelValues.from_arrays({"kernel": np.array("cubic"), "points": points()})
