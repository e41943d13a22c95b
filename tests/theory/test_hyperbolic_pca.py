"""Hyperbolic PCA against explicit operators, random projections, and kernels in their dual form."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import convexmetric as cm


def sample(seed=0, n=20, d=5, m=60):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    pairs = np.array([rng.choice(n, 2, replace=False) for _ in range(m)])
    y = rng.choice([-1, 1], m)
    y[:2] = -1, 1
    return rng, X, pairs, y


def weights_of(y, c, balanced):
    eta = np.where(np.asarray(y) > 0, -1.0, 1.0 / (c**2 - 1.0))
    shares = np.where(np.asarray(y) > 0, 0.5 / np.sum(y > 0), 0.5 / np.sum(y < 0)) if balanced else 1.0 / len(y)
    return eta * shares, float(np.sum(eta * shares))


def explicit(X, pairs, weights):
    V = X[pairs[:, 0]] - X[pairs[:, 1]]
    return (V * weights[:, None]).T @ V


def every_pair(y):
    pairs = np.array([(i, j) for i in range(len(y)) for j in range(len(y)) if i != j])
    return pairs, np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)


@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize("c", [1.2, 2.0, 10.0])
def test_eigenvalues_and_operator_of_listed_pairs(balanced, c):
    _, X, pairs, y = sample()
    weights, mean_eta = weights_of(y, c, balanced)
    A = explicit(X, pairs, weights)
    found = cm.theory.hyperbolic_pca(X, pairs, y, d=3, c=c, balanced=balanced)
    np.testing.assert_allclose(found.eigenvalues, np.linalg.eigvalsh(A)[::-1], atol=1e-12)
    assert found.value == pytest.approx(found.eigenvalues[:3].sum())
    assert found.mean_eta == pytest.approx(mean_eta)
    T = found.operator.components
    np.testing.assert_allclose(T @ T.T, c**2 * np.eye(3), atol=1e-9)
    assert np.sum((T.T @ T) * A) == pytest.approx(c**2 * found.value)
    assert found.operator.norm == pytest.approx(c**2 * np.sqrt(3))


@pytest.mark.parametrize("balanced", [True, False])
def test_labels_are_all_their_pairs(balanced):
    rng, X, _, _ = sample(1)
    y = rng.integers(0, 4, len(X))
    pairs, r = every_pair(y)
    listed = cm.theory.hyperbolic_pca(X, pairs, r, d=2, c=3.0, balanced=balanced)
    never_listed = cm.theory.hyperbolic_pca_from_labels(X + 100.0, y, d=2, c=3.0, balanced=balanced)
    np.testing.assert_allclose(never_listed.eigenvalues, listed.eigenvalues, atol=1e-10)
    np.testing.assert_allclose(
        never_listed.operator.squared_distances(X), listed.operator.squared_distances(X), atol=1e-9
    )
    assert never_listed.mean_eta == pytest.approx(listed.mean_eta)
    if balanced:
        assert 1.0 + never_listed.mean_eta == pytest.approx(9.0 / 16.0)


@given(st.integers(0, 10_000), st.integers(1, 4), st.floats(1.05, 20.0))
def test_no_projection_does_better(seed, d, c):
    """Proposition 17."""
    rng, X, pairs, y = sample(seed, n=8, d=4, m=12)
    found = cm.theory.hyperbolic_pca(X, pairs, y, d=d, c=c)
    A = explicit(X, pairs, weights_of(y, c, False)[0])
    for _ in range(20):
        basis = np.linalg.qr(rng.standard_normal((4, d)))[0]
        assert np.sum(basis * (A @ basis)) <= found.value + 1e-9 * np.abs(A).sum()


@pytest.mark.parametrize("balanced", [True, False])
@pytest.mark.parametrize("c", [1.1, 1.5, 3.0])
def test_the_affine_bound_is_above_the_empirical_risk(balanced, c):
    """Proposition 15 on the sample."""
    for seed in range(5):
        _, X, pairs, y = sample(seed)
        X = X / cm.evaluation.SimilarityOperator(np.eye(5)).distances(X).max()
        found = cm.theory.hyperbolic_pca(X, pairs, y, d=2, c=c, balanced=balanced)
        risk = cm.evaluation.empirical_risk(found.operator, X, pairs, y, balanced=balanced)
        assert risk <= found.empirical_bound + 1e-12
        if c >= np.sqrt(2) and not balanced:
            bound = found.risk_bound(X, pairs, y)
            assert bound.empirical == pytest.approx(found.empirical_bound)


def test_the_default_takes_all_positive_eigenvalues_and_no_others():
    _, X, pairs, y = sample(2)
    found = cm.theory.hyperbolic_pca(X, pairs, y, c=1.5)
    positive = int(np.sum(found.eigenvalues > 0.0))
    assert 0 < positive < 5
    assert len(found.operator.components) == positive
    values = [cm.theory.hyperbolic_pca(X, pairs, y, d=d, c=1.5).value for d in range(1, 6)]
    assert found.value == max(values) == values[positive - 1]


@pytest.mark.parametrize("labelled", [True, False])
def test_more_features_than_points(labelled):
    rng, _, pairs, r = sample(3)
    X = rng.standard_normal((20, 50))
    y = rng.integers(0, 3, 20)
    if labelled:
        pairs, r = every_pair(y)
        found = cm.theory.hyperbolic_pca_from_labels(X, y, d=3, balanced=False)
    else:
        found = cm.theory.hyperbolic_pca(X, pairs, r, d=3)
    A = explicit(X, pairs, weights_of(r, 2.0, False)[0])
    values = np.linalg.eigvalsh(A)[::-1]
    np.testing.assert_allclose(found.eigenvalues[:3], values[:3], atol=1e-9)
    T = found.operator.components
    assert T.shape == (3, 50)
    assert np.sum((T.T @ T) * A) == pytest.approx(4.0 * values[:3].sum())


def test_a_dimension_chosen_by_the_pairs_has_its_price():
    _, X, pairs, y = sample(6)
    X = X / cm.evaluation.SimilarityOperator(np.eye(5)).distances(X).max()
    chosen = cm.theory.hyperbolic_pca(X, pairs, y, c=1.5)
    d = len(chosen.operator.components)
    given = cm.theory.hyperbolic_pca(X, pairs, y, c=1.5, d=d)
    found = chosen.risk_bound(X, pairs, y, delta=0.1)
    assert found.delta == 0.1
    assert found.value == pytest.approx(given.risk_bound(X, pairs, y, delta=0.1 / (d * (d + 1))).value)
    assert found.complexity == pytest.approx(2 * 1.5**2 * np.sqrt(d) / np.sqrt(len(pairs)))


class Span:
    """Coordinates in the span of points under a kernel."""

    def __init__(self, X):
        self.X = X
        values, vectors = np.linalg.eigh(self.kernel(X, X))
        self.whitened = vectors / np.sqrt(values)

    @staticmethod
    def kernel(A, B):
        return 0.5 * np.exp(-0.5 * ((A[:, None] - B) ** 2).sum(axis=2))

    def transform(self, X):
        return self.kernel(np.asarray(X), self.X) @ self.whitened


def test_a_kernel_is_the_same_as_its_dual_form():
    """In H the eigenvectors are sums of points with coefficients u: K L K u = lambda K u, L the weighted Laplacian."""
    rng, X, pairs, y = sample(4, n=12, d=3)
    span = Span(X)
    found = cm.theory.hyperbolic_pca(X, pairs, y, d=2, c=2.0, embedding=span)
    weights = weights_of(y, 2.0, False)[0]
    B = np.zeros((len(pairs), 12))
    B[np.arange(len(pairs)), pairs[:, 0]] += 1.0
    B[np.arange(len(pairs)), pairs[:, 1]] -= 1.0
    L, K = B.T @ (B * weights[:, None]), span.kernel(X, X)
    values, vectors = np.linalg.eig(L @ K)
    order = np.argsort(-values.real)[:2]
    np.testing.assert_allclose(found.eigenvalues[:2], values.real[order], atol=1e-10)
    new = rng.standard_normal((6, 3))
    u = vectors.real[:, order]
    u /= np.sqrt(np.einsum("ik,ij,jk->k", u, K, u))
    images = 2.0 * span.kernel(new, X) @ u
    expected = ((images[:, None] - images) ** 2).sum(axis=2)
    np.testing.assert_allclose(found.operator.squared_distances(new), expected, atol=1e-9)
    assert found.operator.embedding is span


def test_it_finds_the_plane_of_the_classes():
    rng = np.random.default_rng(5)
    y = np.repeat(np.arange(6), 15)
    X = rng.standard_normal((90, 8)) * np.r_[0.1, 0.1, np.full(6, 3.0)]
    X[:, :2] += 4.0 * rng.standard_normal((6, 2))[y]
    found = cm.theory.hyperbolic_pca_from_labels(X, y, d=2, c=1.5)
    cosines = np.linalg.svd(found.operator.components[:, :2])[1] / 1.5
    assert cosines.min() > 0.9
    assert cm.evaluation.roc_area(found.operator, X, y) > 0.95 > 0.8 > cm.evaluation.roc_area(None, X, y)


def test_the_bound_of_all_pairs_is_that_of_the_listed_ones_with_half_as_many_pairs_as_points():
    rng, X, _, _ = sample(5, n=21)
    y = rng.integers(0, 3, len(X))
    X = X + 4.0 * rng.standard_normal((3, 5))[y]
    X = X / cm.evaluation.SimilarityOperator(np.eye(5)).distances(X).max()
    pairs, r = every_pair(y)
    for d in (2, None):
        found = cm.theory.hyperbolic_pca_from_labels(X, y, d=d, c=3.0, balanced=False)
        bound = found.risk_bound_from_labels(X, y, delta=0.1)
        listed = found.risk_bound(X, pairs, r, delta=0.1)
        assert bound.empirical == pytest.approx(listed.empirical)
        # Both terms go with one over the root of the number of independent pairs.
        scale = np.sqrt(len(pairs) / 10)
        assert bound.complexity == pytest.approx(scale * listed.complexity)
        assert bound.confidence == pytest.approx(scale * listed.confidence)
        assert (bound.delta, bound.source) == (0.1, "proposition 15 and theorem 16, all pairs")
    assert bound.empirical == pytest.approx(found.empirical_bound)


@pytest.mark.parametrize("n", [4, 5])
def test_the_operator_of_all_pairs_is_the_mean_over_orders_of_independent_pairs(n):
    rng = np.random.default_rng(6)
    X, y, c = rng.standard_normal((n, 3)), np.arange(n) % 2, 2.0
    pairs, r = every_pair(y)
    weights, _ = weights_of(r, c, False)
    halves = []
    for order in itertools.permutations(range(n)):
        chosen = np.array(order[: 2 * (n // 2)]).reshape(-1, 2)
        signs = np.where(y[chosen[:, 0]] == y[chosen[:, 1]], 1, -1)
        halves.append(explicit(X, chosen, weights_of(signs, c, False)[0]))
    np.testing.assert_allclose(np.mean(halves, axis=0), explicit(X, pairs, weights), atol=1e-12)
    never_listed = cm.theory.hyperbolic_pca_from_labels(X, y, d=1, c=c, balanced=False)
    np.testing.assert_allclose(never_listed.eigenvalues, np.linalg.eigvalsh(np.mean(halves, axis=0))[::-1], atol=1e-12)


def test_theorem_16_holds_for_all_pairs_of_a_known_distribution():
    """The largest deviation over all projections, and the moments that Hoeffding's argument compares."""
    rng = np.random.default_rng(7)
    X, y, c, n, delta = rng.random((6, 2)) / np.sqrt(2.0), np.array([0, 0, 0, 1, 1, 2]), 2.0, 30, 0.5
    # Two draws are the same point once in six times: a similar pair without an error.
    different, kinds = every_pair(y)
    share = len(different) / 36
    truth = share * explicit(X, different, weights_of(kinds, c, False)[0])

    def deviation(A):
        """Of projections on one dimension, times c^2."""
        return c**2 * np.abs(np.linalg.eigvalsh(A - truth)).max()

    by_all, by_half = [], []
    for _ in range(400):
        drawn = rng.integers(6, size=n)
        found = cm.theory.hyperbolic_pca_from_labels(X[drawn], y[drawn], d=1, c=c, balanced=False)
        pairs, r = every_pair(y[drawn])
        by_all.append(deviation(explicit(X[drawn], pairs, weights_of(r, c, False)[0])))
        half = np.arange(n).reshape(-1, 2)
        signs = np.where(y[drawn][half[:, 0]] == y[drawn][half[:, 1]], 1, -1)
        by_half.append(deviation(explicit(X[drawn], half, weights_of(signs, c, False)[0])))
        risk = share * cm.evaluation.empirical_risk(found.operator, X, different, kinds)
        assert risk <= found.risk_bound_from_labels(X[drawn], y[drawn], delta=delta).value
    allowed = 2.0 / np.sqrt(n // 2) * (c**2 + c**2 * np.sqrt(2.0 * np.log(1.0 / delta)))
    assert np.mean(np.array(by_all) > allowed) <= delta
    assert np.mean(by_all) < np.mean(by_half)
    assert np.mean(np.exp(3.0 * np.array(by_all))) < np.mean(np.exp(3.0 * np.array(by_half)))


def test_all_pairs_need_a_diameter_of_one_and_an_operator_of_the_class():
    X, y = np.array([[0.0], [0.5], [1.2]]), [0, 0, 1]
    with pytest.raises(cm.errors.InputError, match=r"1\.2 apart"):
        cm.theory.hyperbolic_pca_from_labels(X, y, c=2.0).risk_bound_from_labels(X, y)
    T = cm.evaluation.SimilarityOperator([[3.0]])
    with pytest.raises(cm.errors.InputError, match="but has 3 and 9"):
        cm.theory.affine_risk_bound_from_labels(T, X / 2.0, y, c=2.0, radius=4.0)
    with pytest.raises(cm.errors.InputError, match="one label a point"):
        cm.theory.affine_risk_bound_from_labels(T, X / 2.0, y[1:], c=3.0, radius=9.0)
