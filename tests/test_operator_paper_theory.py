"""The theory of paper 4: bounds by hand and their assumptions, hyperbolic PCA, and a choice among operators."""

from math import log, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from operator_paper import theory

import convexmetric as cm
from convexmetric.comparisons.pairs import LabelledPairs
from convexmetric.errors import InputError

pytestmark = pytest.mark.integration

# Diameter 1; squared distances of the pairs before T: 1, 0.36, 0.64; after T = diag(2, 1): 4, 1.44, 0.64.
X = np.array([[0.0, 0.0], [1.0, 0.0], [0.6, 0.0], [0.0, 0.8]])
PAIRS, R = np.array([[0, 1], [0, 2], [0, 3]]), np.array([-1, 1, 1])
Y = np.array([0, 1, 0, 0])
T = cm.evaluation.SimilarityOperator(np.diag([2.0, 1.0]))
NORM = sqrt(17.0)
DELTA = 0.1
SPREAD = sqrt(1.0 + 0.36**2 + 0.64**2)


@pytest.mark.parametrize(
    ("options", "empirical", "complexity", "confidence", "source"),
    [
        # h_1: max(0, 1 - 3) = 0, 1.44, 0.64.
        ({}, 2.08 / 3, 4 * NORM / sqrt(3), sqrt(log(2 * NORM / DELTA) / 6), "theorem 1"),
        (
            {"data_dependent": True},
            2.08 / 3,
            4 * NORM * SPREAD / 3,
            sqrt(9 * log(4 * NORM / DELTA) / 6),
            "theorem 13, part 1",
        ),
        ({"radius": 5.0}, 2.08 / 3, 2 * 5 / sqrt(3), sqrt(log(1 / DELTA) / 6), "theorem 11 (ii)"),
        (
            {"radius": 5.0, "data_dependent": True},
            2.08 / 3,
            2 * 5 * SPREAD / 3,
            sqrt(9 * log(2 / DELTA) / 6),
            "theorem 11 (i)",
        ),
        # h_2: max(0, 1 - 3 / 2) = 0, 1 + 0.44 / 2, 1 - 0.36 / 2; L = 1/2.
        ({"margin": 2.0}, 2.04 / 3, 2 * NORM / sqrt(3), sqrt(log(2 * NORM / DELTA) / 6), "theorem 1"),
        # Similar 1/2, dissimilar 4: 1 - 3/4, 1 + 0.44 * 2, 1 - 0.36 * 2; the larger constant is 2.
        ({"margin": (0.5, 4.0)}, 2.41 / 3, 8 * NORM / sqrt(3), sqrt(log(2 * NORM / DELTA) / 6), "theorem 1"),
        (
            {"margin": (0.5, 4.0), "data_dependent": True},
            2.41 / 3,
            4 * NORM * sqrt(1 / 16 + 4 * 0.36**2 + 4 * 0.64**2) / 3,
            sqrt(9 * log(4 * NORM / DELTA) / 6),
            "theorem 13, part 1",
        ),
    ],
)
def test_the_terms_by_hand(options, empirical, complexity, confidence, source):
    bound = theory.risk_bound(T, X, PAIRS, R, delta=DELTA, **options)
    assert bound.empirical == pytest.approx(empirical)
    assert bound.complexity == pytest.approx(complexity)
    assert bound.confidence == pytest.approx(confidence)
    assert bound.value == pytest.approx(empirical + complexity + confidence)
    assert bound.source == source


def test_affine_losses_by_hand():
    c, radius, m = 2.0, NORM, 3
    eta = np.array([1 / 3, -1.0, -1.0])
    operator = float(np.mean(eta * [4.0, 1.44, 0.64]))
    known = theory.affine_risk_bound(T, X, PAIRS, R, c=c, radius=radius, delta=DELTA, balanced=True)
    assert known.empirical == pytest.approx(c**2 / (2 * (c**2 - 1)) - operator)
    assert known.value - known.empirical == pytest.approx(2 / sqrt(m) * (radius + c**2 * sqrt(2 * log(1 / DELTA))))
    estimated = theory.affine_risk_bound(T, X, PAIRS, R, c=c, radius=radius, delta=DELTA)
    assert estimated.empirical == pytest.approx(1.0 + eta.mean() - operator)
    assert estimated.complexity == known.complexity
    assert estimated.confidence == pytest.approx(
        2 / sqrt(m) * c**2 * sqrt(2 * log(2 / DELTA)) + (4 / 3) * sqrt(log(2 / DELTA) / 6)
    )


def test_transfer_by_hand():
    assert theory.transfer_bound(0.1, 200, delta=0.05).value == pytest.approx(0.1 + sqrt(log(20) / 400))
    assert theory.transfer_bound(0.1, 200, delta=0.05, n_operators=4).value == pytest.approx(0.1 + sqrt(log(80) / 400))
    assert theory.transfer_bound(0.1, 200, n_operators=4).complexity > theory.transfer_bound(0.1, 200).complexity == 0.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("risk_bound(None, X, PAIRS, R)", "T must be a SimilarityOperator"),
        ("risk_bound(T, 1.1 * X, PAIRS, R)", r"X has points 1\.1 apart, but this bound needs a diameter of at most 1"),
        ("risk_bound(T, 1.1 * X, PAIRS, R, radius=5.0)", r"1\.1 apart"),
        ("affine_risk_bound(T, 1.1 * X, PAIRS, R, c=2.0, radius=5.0)", r"1\.1 apart"),
        ("affine_risk_bound_from_labels(T, X, Y, c=2.0, radius=5.0)", r"1\.28062 apart"),
        ("risk_bound(T, X, PAIRS, R, delta=1.0)", "delta must be a probability"),
        ("risk_bound(T, X, PAIRS, R, radius=4.0)", r"radius must be at least \|\|T\*T\|\|_2 = 4.12311 of the operator"),
        ("affine_risk_bound(T, X, PAIRS, R, c=1.9, radius=5.0)", r"T must have \|\|T\|\|_inf <= c"),
        ("affine_risk_bound(T, X, PAIRS, R, c=2.0, radius=4.0)", r"T must have .* \|\|T\*T\|\|_2 <= radius"),
        ("affine_risk_bound_from_labels(T, 0.5 * X, Y, c=1.9, radius=5.0)", "but has 2 and 4.12311"),
        ("affine_risk_bound_from_labels(T, X, Y[1:], c=2.0, radius=5.0)", "one label a point"),
        ("affine_risk_bound(T, X, PAIRS, R, c=1.4, radius=5.0)", r"c must be at least sqrt\(2\)"),
        ("transfer_bound(1.1, 10)", "risk must be a number from 0 to 1"),
        ("transfer_bound(0.1, 10, n_operators=0)", "n_operators must be a positive integer"),
        ("independent_pairs(0.5)", "y must be one-dimensional"),
        ("choose_operator([], X, Y)", "operators is empty"),
        ("choose_operator({'wine': X}, X, Y)", r"operators\[wine\] must be"),
        ("choose_operator([T], X, Y, threshold=2)", "threshold must be"),
        ("hyperbolic_pca(X, PAIRS, R, d=4)", "d must be an integer from 1 to 2"),
        ("hyperbolic_pca(X, PAIRS, R, c=1.0)", "c must be above 1"),
        ("hyperbolic_pca(X, PAIRS, [1, 1, 1])", "no eigenvalue is positive"),
        ("hyperbolic_pca_from_labels(X, Y[:-1])", "y must have one label a point"),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        eval(call, vars(theory) | globals())


def test_bounds_that_depend_on_the_data_need_no_diameter():
    assert theory.risk_bound(T, 1.1 * X, PAIRS, R, data_dependent=True).value > 0.0


def test_the_diameter_is_that_of_the_embedding():
    """The kernel of section 6.1 keeps all points within 1, whatever they are."""

    class Kernel:
        def __init__(self, X):
            self.X = X / np.linalg.norm(X, axis=1, keepdims=True)
            values, vectors = np.linalg.eigh(self.values(self.X))
            self.whitened = vectors / np.sqrt(values)

        def values(self, units):
            return 0.5 * np.exp(-4.0 * ((units[:, None] - self.X) ** 2).sum(axis=2))

        def transform(self, X):
            return self.values(X / np.linalg.norm(X, axis=1, keepdims=True)) @ self.whitened

    points = 100.0 * np.random.default_rng(0).standard_normal((12, 3))
    embedding = Kernel(points)
    apart = cm.evaluation.SimilarityOperator(np.eye(12), embedding).squared_distances(points)
    assert 0.9 < apart.max() <= 1.0
    operator = cm.evaluation.SimilarityOperator(np.eye(12), embedding)
    assert theory.risk_bound(operator, points, PAIRS, R).complexity == pytest.approx(4 * sqrt(12) / sqrt(3))


def test_small_norms_take_the_bound_of_norm_one():
    small = cm.evaluation.SimilarityOperator(0.1 * np.eye(2))
    assert small.norm < DELTA / 2
    bound = theory.risk_bound(small, X, PAIRS, R, delta=DELTA)
    assert bound.complexity == pytest.approx(4 / sqrt(3))
    assert bound.confidence == pytest.approx(sqrt(log(2 / DELTA) / 6))


@pytest.mark.parametrize("counts", [(10, 10, 10), (1, 1, 5, 9)])
def test_all_pairs_are_worth_what_is_said(counts):
    """Over points that are 0 or 1 by a coin, the loss of a pair being whether they differ, at least in variance."""
    y = np.repeat(np.arange(len(counts)), counts)
    rng = np.random.default_rng(0)
    n = len(y)
    same = y[:, None] == y
    later = np.triu(np.ones((n, n), dtype=bool), 1)
    for balanced in (True, False):
        m = theory.independent_pairs(y, balanced=balanced)
        kinds = [later & same, later & ~same]
        weights = sum(0.5 * kind / kind.sum() for kind in kinds) if balanced else later / later.sum()
        share = 0.1
        risks = []
        for _ in range(4000):
            x = rng.random(n) < share
            risks.append((weights * (x[:, None] | x)).sum())
        # Subgaussian with the variance of m coins: moments of either sign are bounded.
        expected = 1.0 - (1.0 - share) ** 2
        deviation = np.array(risks) - expected
        assert deviation.var() <= 1.0 / (4.0 * m)
        for s in (1.0, 4.0, -4.0):
            assert np.mean(np.exp(s * deviation)) <= np.exp(s**2 / (8.0 * m)) * 1.01
        assert 0.0 < m <= n / 2


def test_balanced_classes_are_worth_about_half_their_points():
    assert theory.independent_pairs(np.repeat(np.arange(9), 100)) == pytest.approx(450, rel=0.01)
    assert theory.independent_pairs(np.arange(11) % 2, balanced=False) == 5
    codes = np.repeat(np.arange(3), 4)
    similar, other = (len(LabelledPairs(codes, same=same)) / 2 for same in (True, False))
    assert theory.independent_pairs(codes) == pytest.approx(2 / (4 / similar + 9 / other))


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
    found = theory.hyperbolic_pca(X, pairs, y, d=3, c=c, balanced=balanced)
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
    listed = theory.hyperbolic_pca(X, pairs, r, d=2, c=3.0, balanced=balanced)
    never_listed = theory.hyperbolic_pca_from_labels(X + 100.0, y, d=2, c=3.0, balanced=balanced)
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
    found = theory.hyperbolic_pca(X, pairs, y, d=d, c=c)
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
        found = theory.hyperbolic_pca(X, pairs, y, d=2, c=c, balanced=balanced)
        risk = cm.evaluation.empirical_risk(found.operator, X, pairs, y, balanced=balanced)
        assert risk <= found.empirical_bound + 1e-12
        if c >= np.sqrt(2) and not balanced:
            bound = found.risk_bound(X, pairs, y)
            assert bound.empirical == pytest.approx(found.empirical_bound)


def test_the_default_takes_all_positive_eigenvalues_and_no_others():
    _, X, pairs, y = sample(2)
    found = theory.hyperbolic_pca(X, pairs, y, c=1.5)
    positive = int(np.sum(found.eigenvalues > 0.0))
    assert 0 < positive < 5
    assert len(found.operator.components) == positive
    values = [theory.hyperbolic_pca(X, pairs, y, d=d, c=1.5).value for d in range(1, 6)]
    assert found.value == max(values) == values[positive - 1]


@pytest.mark.parametrize("labelled", [True, False])
def test_more_features_than_points(labelled):
    rng, _, pairs, r = sample(3)
    X = rng.standard_normal((20, 50))
    y = rng.integers(0, 3, 20)
    if labelled:
        pairs, r = every_pair(y)
        found = theory.hyperbolic_pca_from_labels(X, y, d=3, balanced=False)
    else:
        found = theory.hyperbolic_pca(X, pairs, r, d=3)
    A = explicit(X, pairs, weights_of(r, 2.0, False)[0])
    values = np.linalg.eigvalsh(A)[::-1]
    np.testing.assert_allclose(found.eigenvalues[:3], values[:3], atol=1e-9)
    T = found.operator.components
    assert T.shape == (3, 50)
    assert np.sum((T.T @ T) * A) == pytest.approx(4.0 * values[:3].sum())


def test_a_dimension_chosen_by_the_pairs_has_its_price():
    _, X, pairs, y = sample(6)
    X = X / cm.evaluation.SimilarityOperator(np.eye(5)).distances(X).max()
    chosen = theory.hyperbolic_pca(X, pairs, y, c=1.5)
    d = len(chosen.operator.components)
    given = theory.hyperbolic_pca(X, pairs, y, c=1.5, d=d)
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
    found = theory.hyperbolic_pca(X, pairs, y, d=2, c=2.0, embedding=span)
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


def test_the_bound_of_all_pairs_is_that_of_the_listed_ones_with_half_as_many_pairs_as_points():
    rng, X, _, _ = sample(5, n=21)
    y = rng.integers(0, 3, len(X))
    X = X + 4.0 * rng.standard_normal((3, 5))[y]
    X = X / cm.evaluation.SimilarityOperator(np.eye(5)).distances(X).max()
    pairs, r = every_pair(y)
    for d in (2, None):
        found = theory.hyperbolic_pca_from_labels(X, y, d=d, c=3.0, balanced=False)
        bound = found.risk_bound_from_labels(X, y, delta=0.1)
        listed = found.risk_bound(X, pairs, r, delta=0.1)
        assert bound.empirical == pytest.approx(listed.empirical)
        # Both terms go with one over the root of the number of independent pairs.
        scale = np.sqrt(len(pairs) / 10)
        assert bound.complexity == pytest.approx(scale * listed.complexity)
        assert bound.confidence == pytest.approx(scale * listed.confidence)
        assert (bound.delta, bound.source) == (0.1, "proposition 15 and theorem 16, all pairs")
    assert bound.empirical == pytest.approx(found.empirical_bound)


def tasks(seed=0, n=80):
    """Two tasks whose classes lie along different axes, noise along the others, and the operators for them."""
    rng = np.random.default_rng(seed)
    made = []
    for axis in range(2):
        y = rng.integers(0, 4, n)
        X = rng.uniform(-4.0, 4.0, (n, 2))
        X[:, axis] = 2.0 * y + 0.1 * rng.standard_normal(n)
        made.append((X, y))
    operators = {
        "along x": cm.evaluation.SimilarityOperator([[1.0, 0.0]]),
        "along y": cm.evaluation.SimilarityOperator([[0.0, 1.0]]),
    }
    return made, operators


def test_the_operator_of_the_same_kind_wins():
    made, operators = tasks()
    for (X, y), name in zip(made, operators, strict=True):
        choice = theory.choose_operator(operators, X, y, delta=0.1, threshold=0.2)
        assert choice.best == name
        assert choice.risk == 0.0
        assert not choice.new_kind
        assert set(choice.risks) == set(operators)
        m = theory.independent_pairs(y)
        for other, risk in choice.risks.items():
            assert risk == pytest.approx(cm.evaluation.empirical_risk_from_labels(operators[other], X, y))
            assert choice.bounds[other].value == pytest.approx(risk + sqrt((log(2) + log(10)) / (2 * m)))
        assert choice.bound.value == choice.bounds[name].value


def test_a_task_of_a_new_kind():
    made, operators = tasks()
    X, y = made[0]
    choice = theory.choose_operator([operators["along y"]], X, y, threshold=0.3)
    assert choice.best == "0"
    assert choice.new_kind
    assert not theory.choose_operator([operators["along y"]], X, y).new_kind


def test_listed_pairs_count_as_many_as_they_are():
    made, operators = tasks()
    X, y = made[0]
    pairs = np.array([[0, 1], [2, 3], [4, 5], [6, 7]])
    r = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
    choice = theory.choose_operator(operators, X, r, pairs=pairs, delta=0.1)
    assert choice.risks["along x"] == cm.evaluation.empirical_risk(operators["along x"], X, pairs, r)
    assert choice.bound.value == pytest.approx(choice.risk + sqrt(log(20) / 8))


def test_concatenated_tasks_keep_their_pairs():
    rng = np.random.default_rng(1)
    samples = []
    for n, m in ((5, 4), (8, 9), (3, 2)):
        X = rng.standard_normal((n, 3))
        pairs = np.array([rng.choice(n, 2, replace=False) for _ in range(m)])
        samples.append((X, pairs, rng.choice([-1, 1], m)))
    whole = theory.concatenate_tasks(samples)
    points, listed, _ = whole
    assert points.shape == (16, 3)
    T = cm.evaluation.SimilarityOperator(rng.standard_normal((2, 3)))
    for margin in (None, 1.0):
        parts = [cm.evaluation.empirical_risk(T, *sample, margin=margin) for sample in samples]
        mixed = np.average(parts, weights=[len(sample[1]) for sample in samples])
        assert cm.evaluation.empirical_risk(T, *whole, margin=margin) == pytest.approx(mixed)
    i, j = listed.T
    np.testing.assert_array_equal(
        points[i] - points[j], np.concatenate([X[p[:, 0]] - X[p[:, 1]] for X, p, _ in samples])
    )
