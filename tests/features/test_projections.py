"""Projections: shapes, scale, and metrics mapped back."""

import numpy as np
import pytest
import scipy.sparse as sp

import convexmetric as cm
from convexmetric.features import KINDS

X = np.random.default_rng(0).standard_normal((40, 60)) * np.linspace(2.0, 0.1, 60)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sparse", [False, True])
def test_a_learned_metric_maps_back_to_the_features(kind, sparse):
    points = sp.csr_array(X) if sparse else X
    projection = cm.features.make_projection(kind, points, 7, random_state=1)
    V = projection.transform(points)
    assert V.shape == (40, 7)
    B = np.random.default_rng(2).standard_normal((3, 7))
    components = cm.TripletProblem(points, [[0, 1, 2]], projection=projection).components(B.T @ B)
    assert components.shape == (3, 60)
    difference = X[3] - X[8]
    assert np.sum((components @ difference) ** 2) == pytest.approx(np.sum((B @ (V[3] - V[8])) ** 2), rel=1e-9)


@pytest.mark.parametrize("kind", ["gaussian", "sparse", "orthonormal"])
def test_random_projections_keep_squared_lengths_on_average(kind):
    x = X[:1]
    lengths = [
        np.sum(cm.features.make_projection(kind, X, 10, random_state=seed).transform(x) ** 2) for seed in range(300)
    ]
    assert np.mean(lengths) == pytest.approx(np.sum(x**2), rel=0.1)


def test_what_the_kinds_are():
    uniform = cm.features.make_projection("uniform", X, 5, random_state=0).L
    assert (uniform > 0.0).all()
    assert (uniform < 1.0).all()
    orthonormal = cm.features.make_projection("orthonormal", X, 5, random_state=0).L
    np.testing.assert_allclose(orthonormal @ orthonormal.T, 60 / 5 * np.eye(5), atol=1e-9)
    assert cm.features.make_projection("sparse", X, 50, random_state=0).L.nnz == pytest.approx(50 * 60 / 3, rel=0.1)


@pytest.mark.parametrize("d", [60, 2_500])
def test_principal_directions_are_those_of_the_centred_points(d):
    points = sp.random_array((50, d), density=0.1, rng=np.random.default_rng(3), format="csr")
    L = cm.features.make_projection("pca", points, 6, random_state=0).L
    dense = points.toarray()
    expected = np.linalg.svd(dense - dense.mean(axis=0))[2][:6]
    np.testing.assert_allclose(np.abs(np.sum(L * expected, axis=1)), 1.0, atol=1e-6)


def test_the_same_seed_gives_the_same_projection():
    first, second = (cm.features.make_projection("gaussian", X, 5, random_state=4).L for _ in range(2))
    np.testing.assert_array_equal(first, second)
