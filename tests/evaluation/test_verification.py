"""Risks, ROC curves and single examples against loops over listed pairs."""

import tracemalloc
from itertools import combinations, permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import some
from sklearn.metrics import roc_auc_score
from sklearn.metrics import roc_curve as sklearn_roc_curve

import convexmetric as cm
from convexmetric.errors import InputError
from convexmetric.evaluation import pairs as verification


def task(seed=0, n=30, d=3, classes=4, grid=False):
    """Points, labels and an operator; on a grid many distances are equal, some of them to one."""
    rng = np.random.default_rng(seed)
    y = np.r_[np.arange(classes), [0], rng.integers(0, classes, n - classes - 1)]
    rng.shuffle(y)
    if grid:
        return rng.integers(-2, 3, (n, d)) * 0.5, y, cm.evaluation.SimilarityOperator(np.eye(d))
    return (
        rng.standard_normal((n, d)) + 0.5 * y[:, None],
        y,
        cm.evaluation.SimilarityOperator(0.5 * rng.standard_normal((2, d))),
    )


def listed(y):
    pairs = np.array(list(permutations(range(len(y)), 2)))
    return pairs, np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)


def squared(T, X, pairs):
    V = (X[pairs[:, 0]] - X[pairs[:, 1]]) @ (np.eye(X.shape[1]) if T is None else T.components.T)
    return (V**2).sum(axis=1)


CASES = [(seed, grid, raw) for seed in range(3) for grid in (False, True) for raw in (False, True)]


@pytest.mark.parametrize(("seed", "grid", "raw"), CASES)
@pytest.mark.parametrize("margin", [None, 1.0, (0.5, 3.0)])
def test_risks_are_the_means_over_listed_pairs(monkeypatch, seed, grid, raw, margin):
    X, y, T = task(seed, grid=grid)
    T = None if raw else T
    pairs, r = listed(y)
    t = r * (1.0 - squared(T, X, pairs))
    gamma = np.where(r > 0, *((margin, margin) if np.isscalar(margin) or margin is None else margin))
    losses = (t <= 0.0).astype(float) if margin is None else np.maximum(0.0, 1.0 - t / gamma.astype(float))
    balanced = 0.5 * losses[r > 0].mean() + 0.5 * losses[r < 0].mean()
    options = {"margin": margin}
    assert cm.evaluation.empirical_risk(T, X, pairs, r, **options) == pytest.approx(losses.mean())
    assert cm.evaluation.empirical_risk(T, X, pairs, r, balanced=True, **options) == pytest.approx(balanced)
    for block in (verification.BLOCK_BYTES, 200):
        monkeypatch.setattr(verification, "BLOCK_BYTES", block)
        assert cm.evaluation.empirical_risk_from_labels(T, X, y, **options) == pytest.approx(balanced)
        assert cm.evaluation.empirical_risk_from_labels(T, X, y, balanced=False, **options) == pytest.approx(
            losses.mean()
        )


def test_undecided_pairs_are_errors():
    X, y = np.array([[0.0], [1.0], [2.0]]), [0, 0, 1]
    T = cm.evaluation.SimilarityOperator([[1.0]])
    assert cm.evaluation.empirical_risk(T, X, [[0, 1], [1, 2]], [1, -1]) == 1.0
    assert cm.evaluation.empirical_risk_from_labels(T, X, y) == pytest.approx(0.5 + 0.25)


@pytest.mark.parametrize(("seed", "grid", "raw"), CASES)
def test_verifiers_err_on_average_by_the_risk_of_pairs(monkeypatch, seed, grid, raw):
    """Equations 11 and 12."""
    X, y, T = task(seed, grid=grid)
    T = None if raw else T
    monkeypatch.setattr(verification, "BLOCK_BYTES", 1000)
    for balanced in (True, False):
        errors = cm.evaluation.verifier_errors(T, X, y, balanced=balanced)
        assert errors.mean() == pytest.approx(
            cm.evaluation.empirical_risk_from_labels(T, X, y, balanced=balanced), abs=1e-14
        )
    n = len(y)
    pairs, r = listed(y)
    D = squared(T, X, pairs)
    for i in (0, 7):
        mine = pairs[:, 0] == i
        far, near = (D >= 1.0) & (r > 0) & mine, (D <= 1.0) & (r < 0) & mine
        assert errors[i] == pytest.approx((far.sum() + near.sum()) / (n - 1))
        expected = far.sum() / (n - 1) / (2 * np.mean(r > 0)) + near.sum() / (n - 1) / (2 * np.mean(r < 0))
        assert cm.evaluation.verifier_errors(T, X, y)[i] == pytest.approx(expected)


def test_the_class_of_a_similar_pair_counts_by_its_square():
    """The oracle of section 5.1 as defined, not as its draw is described: 20 and 2 points make 380 and 2 pairs."""
    X = np.r_[np.zeros(20), [10.0, 20.0]][:, None]
    y = np.r_[np.zeros(20), 1, 1]
    T = cm.evaluation.SimilarityOperator([[1.0]])
    assert cm.evaluation.empirical_risk_from_labels(T, X, y) == pytest.approx(0.5 * 2 / 382)


@pytest.mark.parametrize(("seed", "grid", "raw"), CASES)
def test_the_roc_area_is_that_of_all_pairs(monkeypatch, seed, grid, raw):
    X, y, T = task(seed, grid=grid)
    T = None if raw else T
    pairs, r = listed(y)
    # Sums of squares of halves are exact; elsewhere there are no ties.
    expected = roc_auc_score(r, -squared(T, X, pairs))
    for block in (verification.BLOCK_BYTES, 500):
        monkeypatch.setattr(verification, "BLOCK_BYTES", block)
        assert cm.evaluation.roc_area(T, X, y) == pytest.approx(expected, abs=1e-12)
    few = np.where(y == 3, 1, 0)
    r = listed(few)[1]
    assert (r > 0).sum() > (r < 0).sum()
    assert cm.evaluation.roc_area(T, X, few) == pytest.approx(roc_auc_score(r, -squared(T, X, pairs)), abs=1e-12)


def test_ties_count_half_and_order_counts_all():
    X, y = np.array([[0.0], [0.1], [5.0], [5.1]]), [0, 0, 1, 1]
    assert cm.evaluation.roc_area(None, X, y) == 1.0
    assert cm.evaluation.roc_area(None, X, [0, 1, 0, 1]) == pytest.approx(0.25)
    assert cm.evaluation.roc_area(cm.evaluation.SimilarityOperator(np.zeros((1, 1))), X, y) == 0.5


@pytest.mark.parametrize("grid", [False, True])
@pytest.mark.parametrize("merged", [False, True])
def test_the_points_of_the_roc_curve_lie_on_it(grid, merged):
    X, y, T = task(5, grid=grid)
    y = np.where(y == 3, 1, 0) if merged else y
    pairs, r = listed(y)
    D = squared(T, X, pairs)
    curve = cm.evaluation.roc_curve(T, X, y, n_points=12)
    assert 8 <= curve.thresholds.size <= 14
    assert (curve.false_positive_rate[0], curve.true_positive_rate[0]) == (0.0, 0.0)
    assert (curve.false_positive_rate[-1], curve.true_positive_rate[-1]) == (1.0, 1.0)
    for k in range(1, curve.thresholds.size - 1):
        within = np.sqrt(D) <= curve.thresholds[k] * (1 + 1e-12)
        assert curve.true_positive_rate[k] == pytest.approx(within[r > 0].mean())
        assert curve.false_positive_rate[k] == pytest.approx(within[r < 0].mean())
    fpr, tpr, _ = sklearn_roc_curve(r, -np.round(D, 9), drop_intermediate=False)
    theirs = np.c_[fpr, tpr]
    for point in np.c_[curve.false_positive_rate, curve.true_positive_rate]:
        assert np.abs(theirs - point).sum(axis=1).min() < 1e-9


def every_choice(Z, y):
    """The mean error over all choices of prototypes."""
    members = [np.flatnonzero(y == label) for label in np.unique(y)]
    errors = []
    for prototypes in product(*members):
        tests = [i for i in range(len(y)) if i not in prototypes]
        wrong = 0.0
        for i in tests:
            D = ((Z[list(prototypes)] - Z[i]) ** 2).sum(axis=1)
            nearest = np.flatnonzero(D.min() == D)
            wrong += 1.0 - np.mean(y[list(prototypes)][nearest] == y[i])
        errors.append(wrong / len(tests))
    return np.mean(errors)


@pytest.mark.parametrize("grid", some([False, True], 1))
@pytest.mark.parametrize("seed", some(range(4), 1))
def test_drawn_prototypes_approach_the_mean_over_all_choices(grid, seed):
    X, y, T = task(seed, n=11, d=2, classes=4 if seed else 2, grid=grid)
    expected = every_choice(X @ T.components.T, y)
    assert cm.evaluation.single_prototype_error(T, X, y, n_draws=3000, random_state=1) == pytest.approx(
        expected, abs=0.01
    )


def test_a_class_of_one_is_always_its_own_prototype():
    X, y = np.array([[0.0], [1.0], [3.0], [3.5]]), np.array([0, 0, 1, 0])
    assert cm.evaluation.single_prototype_error(None, X, y, n_draws=2000, random_state=0) == pytest.approx(
        every_choice(X, y), abs=0.03
    )


def test_prototypes_are_drawn_by_the_seed_and_ties_are_guesses():
    X, y, T = task(6, n=40)
    assert cm.evaluation.single_prototype_error(
        T, X, y, n_draws=5, random_state=1
    ) == cm.evaluation.single_prototype_error(T, X, y, n_draws=5, random_state=1)
    # All prototypes equally near: as good as guessing.
    assert cm.evaluation.single_prototype_error(
        cm.evaluation.SimilarityOperator(np.zeros((1, 3))), X, y
    ) == pytest.approx(0.75)


@given(st.integers(0, 10_000), st.integers(3, 14), st.integers(1, 3), st.floats(1e-6, 1e6))
def test_shapes_scales_and_rounding(seed, n, d, scale):
    rng = np.random.default_rng(seed)
    X, y = scale * rng.standard_normal((n, d)), np.r_[0, 0, 1, rng.integers(0, 3, n - 3)]
    pairs, r = listed(y)
    assert cm.evaluation.roc_area(None, X, y) == pytest.approx(
        roc_auc_score(r, -squared(None, X / scale, pairs)), abs=1e-9
    )
    T = cm.evaluation.SimilarityOperator(np.eye(d) / scale)
    assert cm.evaluation.verifier_errors(T, X, y).mean() == pytest.approx(
        cm.evaluation.empirical_risk_from_labels(T, X, y), abs=1e-12
    )
    assert 0.0 <= cm.evaluation.single_prototype_error(T, X, y, n_draws=10, random_state=0) <= 1.0


def test_memory_does_not_grow_with_all_pairs():
    rng = np.random.default_rng(0)
    n = 6_000
    X, y = rng.standard_normal((n, 4)), rng.integers(0, 20, n)
    cm.evaluation.roc_area(None, X[:100], y[:100])
    tracemalloc.start()
    area = cm.evaluation.roc_area(None, X, y)
    risk = cm.evaluation.empirical_risk_from_labels(None, X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0.49 < area < 0.51
    assert 0.4 < risk < 0.6
    assert peak < 120e6 < 8 * n * (n - 1) / 2


def test_anything_that_transforms_will_do():
    X, y, _ = task(7)
    projection = cm.features.make_projection("gaussian", X, 2, random_state=0)
    T = cm.evaluation.SimilarityOperator(projection.L)
    assert cm.evaluation.roc_area(projection, X, y) == pytest.approx(cm.evaluation.roc_area(T, X, y))
    with pytest.raises(InputError, match=r"T must be a SimilarityOperator, .* got ndarray"):
        cm.evaluation.roc_area(np.eye(3), X, y)


def test_combinations_not_repetitions():
    """Two points of a class are one pair, not two, and none with itself."""
    X, y, _ = task(8, n=9)
    Z, ordered, stops = verification._by_class(None, X, y)
    np.testing.assert_array_equal(ordered, np.sort(np.unique(y, return_inverse=True)[1]))
    for same in (True, False):
        found = np.sort(np.concatenate(list(verification._blocks(Z, stops, same))))
        pairs = [(i, j) for i, j in combinations(range(9), 2) if (ordered[i] == ordered[j]) == same]
        np.testing.assert_allclose(found, np.sort([((Z[i] - Z[j]) ** 2).sum() for i, j in pairs]), atol=1e-12)
