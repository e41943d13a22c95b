"""Pairs and triplets, by value and by index."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, KFold

import convexmetric as cm
from convexmetric.comparisons import triplets_from_labels
from convexmetric.errors import InfeasibleError, InputError
from convexmetric.estimators.operator_margin import best_threshold
from convexmetric.estimators.triplets import triplet_accuracy
from convexmetric.estimators.tuples import points_and_rows

digits = cm.datasets.load("digits")
ROWS = np.random.default_rng(5).permutation(len(digits.X))[:120]
X, Y = digits.X[ROWS] / 16.0, np.asarray(digits.y)[ROWS]
TRIPLETS = triplets_from_labels(Y, 400, random_state=1)
PAIRS, SIGNS = cm.papers.balanced_pairs(Y, 400, random_state=1)

OF_TUPLES = {
    "relative": (cm.RelativeComparisonMetric(), TRIPLETS, None),
    "relative-rbf": (cm.RelativeComparisonMetric(kernel="rbf", C=10.0), TRIPLETS, None),
    "projection": (cm.RandomProjectionMetric(n_components=8, random_state=0), TRIPLETS, None),
    "choices": (cm.ChoiceMetric(kind="odd-one-out"), TRIPLETS, None),
    "operator": (cm.OperatorMarginMetric(), PAIRS, SIGNS),
    "operator-rbf": (cm.OperatorMarginMetric(kernel="rbf"), PAIRS, SIGNS),
}


def with_preprocessor(estimator, preprocessor):
    return type(estimator)(**{**estimator.get_params(), "preprocessor": preprocessor})


def assert_same(one, other, y):
    """The same optimum, and as good as the same distances."""
    assert one.gap_ <= 1e-4
    assert one.certificate_.upper_bound == pytest.approx(other.certificate_.upper_bound, rel=2e-4)
    a, b = one.pair_distance(X[PAIRS]), other.pair_distance(X[PAIRS])
    np.testing.assert_allclose(a, b, atol=0.03 * a.max())


@pytest.mark.parametrize("name", OF_TUPLES)
def test_tuples_by_index_are_tuples_by_value(name):
    estimator, tuples, y = OF_TUPLES[name]
    by_value = with_preprocessor(estimator, None).fit(X[tuples], y)
    by_index = with_preprocessor(estimator, X).fit(tuples, y)
    called = with_preprocessor(estimator, X.__getitem__).fit(tuples, y)
    np.testing.assert_array_equal(called.components_, by_index.components_)
    assert_same(by_value, by_index, y)
    np.testing.assert_array_equal(by_index.decision_function(tuples), by_index.decision_function(X[tuples]))
    np.testing.assert_array_equal(by_index.transform(np.arange(9)), by_index.transform(X[:9]))
    assert by_index.score(tuples, y) == by_index.score(X[tuples], y)
    assert by_index.score(tuples, y) > 0.8
    of_labels = by_index.score(np.arange(60), Y[:60])
    assert by_index.set_params(preprocessor=None).score(X[:60], Y[:60]) == of_labels


@pytest.mark.parametrize("name", ["relative", "projection", "operator"])
def test_sparse_points_by_index(name):
    estimator, tuples, y = OF_TUPLES[name]
    sparse = with_preprocessor(estimator, sp.csr_matrix(X)).fit(tuples, y)
    assert_same(sparse, with_preprocessor(estimator, X).fit(tuples, y), y)


def test_a_preprocessor_may_take_names():
    names = np.array([f"image-{i}" for i in range(len(X))])
    of = dict(zip(names, X, strict=True))
    estimator = cm.OperatorMarginMetric(preprocessor=lambda asked: np.array([of[name] for name in asked]))
    estimator.fit(names[PAIRS], SIGNS)
    plain = cm.OperatorMarginMetric(preprocessor=X).fit(PAIRS, SIGNS)
    assert estimator.certificate_.upper_bound == pytest.approx(plain.certificate_.upper_bound, rel=2e-4)
    np.testing.assert_array_equal(estimator.transform(names[:4]), estimator.transform(X[:4]))


def test_labels_of_points_by_index():
    estimator = cm.MLR(C=1.0, preprocessor=X[:, 20:30]).fit(np.arange(60), Y[:60])
    plain = cm.MLR(C=1.0).fit(X[:60, 20:30], Y[:60])
    np.testing.assert_array_equal(estimator.components_, plain.components_)


@given(st.integers(2, 3), st.integers(1, 12), st.integers(0, 10_000))
def test_points_and_rows_give_the_tuples_back_and_never_one_row_twice(size, n, seed):
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 3, (6, 2)).astype(float)
    indices = rng.integers(0, 6, (n, size))
    for tuples, preprocessor in ((indices, table), (table[indices], None), (indices, sp.csr_array(table))):
        points, rows = points_and_rows(tuples, size, preprocessor)
        dense = points.toarray() if sp.issparse(points) else points
        np.testing.assert_array_equal(dense[rows], table[indices])
        assert all(len(set(row)) == size for row in rows.tolist())


def test_a_point_may_come_twice_in_a_triplet():
    """An object and its equal: at distance zero, whatever the metric."""
    twice = X[np.array([[0, 0, 1], [2, 3, 4], [5, 6, 7]])]
    estimator = cm.RelativeComparisonMetric().fit(twice)
    assert estimator.gap_ <= 1e-4
    assert estimator.decision_function(twice)[0] > 0.0


def test_triplets_are_predicted_by_their_distances():
    estimator = cm.RelativeComparisonMetric().fit(X[TRIPLETS])
    L = estimator.components_
    Z = X @ L.T
    i, j, k = TRIPLETS.T
    margin = np.linalg.norm(Z[i] - Z[k], axis=1) - np.linalg.norm(Z[i] - Z[j], axis=1)
    np.testing.assert_allclose(estimator.decision_function(X[TRIPLETS]), margin, atol=1e-12)
    assert (estimator.predict(X[TRIPLETS]) == np.sign(margin)).all()
    assert (estimator.predict(X[TRIPLETS[:, [0, 2, 1]]]) == -np.sign(margin)).all()
    assert estimator.score(X[TRIPLETS]) == pytest.approx((margin > 0).mean())
    assert estimator.predict(X[np.array([[0, 1, 1]])]) == [0]
    assert estimator.score(X[np.array([[0, 1, 1]])]) == 0.5


@given(st.integers(4, 25), st.integers(0, 10_000))
def test_accuracy_over_all_triplets_of_labels_by_listing_them(n, seed):
    rng = np.random.default_rng(seed)
    points = rng.integers(0, 4, (n, 2)).astype(float)
    labels = np.r_[0, 0, 1, rng.integers(0, 3, n - 3)]
    right = total = 0.0
    for i in range(n):
        for j in range(n):
            for k in range(n):
                if i != j and labels[i] == labels[j] != labels[k]:
                    near, far = ((points[i] - points[m]) ** 2 for m in (j, k))
                    right += 0.5 * (1.0 + np.sign(far.sum() - near.sum()))
                    total += 1
    assert triplet_accuracy(points, labels) == pytest.approx(right / total)


def test_pairs_are_predicted_by_a_threshold_of_one():
    estimator = cm.OperatorMarginMetric(preprocessor=X).fit(PAIRS, SIGNS)
    assert estimator.threshold_ == 1.0
    T = cm.evaluation.SimilarityOperator.of(estimator.solution_)
    verdicts = np.array([T.verdicts(X[[i]], X[[j]])[0, 0] for i, j in PAIRS])
    assert (estimator.predict(PAIRS) == verdicts).all()
    assert estimator.score(PAIRS, SIGNS) == pytest.approx(roc_auc_score(SIGNS, -estimator.pair_distance(PAIRS)))
    assert estimator.score(np.arange(len(X)), Y) == pytest.approx(cm.evaluation.roc_area(T, X, Y))
    estimator.set_threshold(0.0)
    assert (estimator.predict(PAIRS) == -1).all()
    estimator.set_threshold(np.float64(1e9))
    assert (estimator.predict(PAIRS) == 1).all()


def rates(distances, r, threshold):
    accepted = distances <= threshold
    return accepted[r > 0].mean(), (~accepted[r < 0]).mean()


def accuracy(distances, r, threshold):
    return np.mean(np.where(distances <= threshold, 1, -1) == r)


@given(st.lists(st.tuples(st.integers(0, 8), st.booleans()), min_size=2, max_size=30))
def test_no_threshold_does_better_than_the_calibrated_one(values):
    distances = np.array([float(d) for d, _ in values] + [2.0, 3.0])
    r = np.array([1.0 if similar else -1.0 for _, similar in values] + [1.0, -1.0])
    tried = [-1.0, *np.unique(distances), *(np.unique(distances) + 0.5)]
    best = max(accuracy(distances, r, t) for t in tried)
    assert accuracy(distances, r, best_threshold(distances, r)) == pytest.approx(best, abs=1e-9)


def test_calibration_on_held_out_pairs_raises_the_balanced_accuracy():
    estimator = cm.OperatorMarginMetric(reg=0.1, margin=(1.0, 0.5)).fit(X[PAIRS[:200]], SIGNS[:200])
    held, truth = X[PAIRS[200:]], SIGNS[200:]
    before = (estimator.predict(held) == truth).mean()
    assert (estimator.calibrate_threshold(held, truth).predict(held) == truth).mean() >= before
    assert sum(rates(estimator.pair_distance(held), truth, estimator.threshold_)) > 1.0


def test_grid_search_over_tuples():
    search = GridSearchCV(cm.OperatorMarginMetric(), {"reg": [0.005, 0.05]}, cv=KFold(2)).fit(X[PAIRS], SIGNS)
    assert search.best_score_ > 0.7
    triplets = GridSearchCV(cm.RelativeComparisonMetric(preprocessor=X), {"C": [0.01, 1.0]}, cv=2).fit(TRIPLETS)
    assert triplets.best_score_ > 0.7
    assert search.best_estimator_.predict(X[PAIRS]).shape == (400,)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: cm.RelativeComparisonMetric().fit(X[TRIPLETS], Y), "say by their order"),
        (lambda: cm.RelativeComparisonMetric().fit(X[PAIRS]), r"\(n, 3, features\)"),
        (lambda: cm.RelativeComparisonMetric(preprocessor=X).fit(PAIRS), r"\(n, 3, features\)"),
        (lambda: cm.RelativeComparisonMetric(preprocessor=X).fit(TRIPLETS + 0.5), "integer row numbers"),
        (lambda: cm.RelativeComparisonMetric(preprocessor=X).fit(TRIPLETS + 100), "there are 120 rows"),
        (lambda: cm.RelativeComparisonMetric(preprocessor=X[0]).fit(TRIPLETS), r"preprocessor must be an \(n, d\)"),
        (lambda: cm.RelativeComparisonMetric(preprocessor=lambda rows: X[:3]).fit(TRIPLETS), "one point an index"),
        (lambda: cm.RelativeComparisonMetric().fit(X[TRIPLETS[:0]]), "triplets is empty"),
        (lambda: cm.RelativeComparisonMetric().fit(np.where(X == 0, np.nan, X)[TRIPLETS]), "triplets contains NaN"),
        (lambda: cm.RelativeComparisonMetric().fit([[1, 2], [3]], [0, 1]), "rectangular"),
        (lambda: cm.OperatorMarginMetric().fit(X[PAIRS]), r"pairs need y"),
        (lambda: cm.OperatorMarginMetric().fit(X[PAIRS], SIGNS > 0), "real numbers|y must hold"),
        (lambda: cm.OperatorMarginMetric().fit(X[PAIRS], np.ones(400)), "both"),
        (lambda: cm.OperatorMarginMetric().fit(X[PAIRS], SIGNS[:-1]), "one number a pair"),
        (lambda: cm.OperatorMarginMetric().fit(X, Y).predict(X), "no preprocessor to take them for indices"),
        (lambda: cm.OperatorMarginMetric().fit(X, Y).predict(sp.csr_array(X)), "sparse matrix"),
        (lambda: cm.OperatorMarginMetric().fit(X, Y).predict(X[PAIRS][:, :, :5]), "5 features"),
        (lambda: cm.OperatorMarginMetric().fit(X, Y).set_threshold("1"), "threshold must be"),
        (lambda: calibrated(y=np.ones(400)), "both"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def calibrated(y=SIGNS, **options):
    return cm.OperatorMarginMetric().fit(X, Y).calibrate_threshold(X[PAIRS], y, **options)


def test_hard_margins_that_contradict_each_other():
    both = np.concatenate([TRIPLETS[:1], TRIPLETS[:1, [0, 2, 1]]])
    with pytest.raises(InfeasibleError):
        cm.RelativeComparisonMetric(C=np.inf, preprocessor=X).fit(both)
    hard = cm.RelativeComparisonMetric(C=np.inf, preprocessor=X).fit(TRIPLETS[:30])
    assert hard.score(TRIPLETS[:30]) == 1.0


def test_errors_about_input_are_those_of_the_package():
    with pytest.raises(InputError):
        cm.OperatorMarginMetric().fit(X[PAIRS])
