"""The weight of an estimator is the one that its folds say, and the problem that it states is the one it solves."""

import warnings

import numpy as np
import pytest
from samples import some
from sklearn.base import clone
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.neighbors import KNeighborsClassifier

import convexmetric as cm
from convexmetric.selection import Validation
from convexmetric.selection.folds import first_best, stratified_sample

WINE = cm.datasets.load("wine")
X, Y = cm.datasets.preprocess(WINE.X, ["zscore"])[::2], WINE.y[::2]
SEARCHED = {
    "ranking": cm.MLR(measure="auc", tol=1e-3),
    "relative": cm.RelativeComparisonMetric(tol=1e-3),
    "relative-rbf": cm.RelativeComparisonMetric(n_triplets=200, kernel="rbf", tol=1e-3),
    "projection": cm.RandomProjectionMetric(tol=1e-3),
    "operator": cm.OperatorMarginMetric(tol=1e-3),
    "operator-rbf": cm.OperatorMarginMetric(kernel="rbf", tol=1e-3),
}


@pytest.mark.parametrize("name", some(SEARCHED, 1))
def test_accuracies_of_the_path_are_those_of_fits_one_by_one(name):
    estimator = SEARCHED[name]
    weight = estimator.weight
    values = sorted(estimator.weights(estimator.problem(X, Y))[:3], reverse=weight == "reg")
    path = cm.WeightSearch(estimator, values=values, tol=1e-5, n_neighbors=1).fit(X, Y).path_
    folds = list(RepeatedStratifiedKFold(n_splits=3, n_repeats=1, random_state=0).split(X, Y))
    assert path.names == (weight,)
    assert path.values.tolist() == values
    for fold, (learn, rest) in enumerate(folds):
        for place, value in enumerate(values):
            alone = clone(estimator).set_params(**{weight: value}, tol=1e-5).fit(X[learn], Y[learn])
            classifier = KNeighborsClassifier(1).fit(alone.transform(X[learn]), Y[learn])
            accuracy = classifier.score(alone.transform(X[rest]), Y[rest])
            # Two solves within the same bounds may differ in a neighbour.
            assert abs(path.scores[path.score][place, fold] - accuracy) <= 1.01 / len(rest)
    assert path.gaps.max() <= 1e-5


@pytest.mark.parametrize("name", ["ranking", "relative", "projection", "operator"])
def test_values_by_default_go_from_the_simplest_metric_on_and_the_best_is_fitted(name):
    search = cm.WeightSearch(SEARCHED[name]).fit(X, Y)
    path, estimator = search.path_, search.estimator_
    order = np.diff(path.values)
    assert (order > 0.0).all() if path.names == ("C",) else (order < 0.0).all()
    assert getattr(estimator, path.names[0]) == path.best == path.values[path.index]
    assert path.mean()[path.index] == path.mean().max()
    assert 0.0 <= estimator.gap_ <= 1e-3
    np.testing.assert_array_equal(search.transform(X), estimator.transform(X))
    assert "chosen" in str(path)
    assert path.heading() in path._repr_html_()


def test_of_equal_accuracies_the_simplest_metric_is_taken():
    accuracy = np.array([[0.8, 0.9, 1.0], [1.0, 0.9, 0.8], [0.7, 0.7, 0.7]])
    assert first_best(accuracy) == 0
    assert first_best(accuracy, np.array([False, True, True])) == 1


def test_a_weight_that_leaves_the_metric_zero_is_not_taken():
    path = cm.WeightSearch(cm.MLR(measure="auc", tol=1e-3), values=[1e-9, 10.0]).fit(X, Y).path_
    assert path.best == 10.0


def test_a_weight_of_a_sum_is_scaled_with_its_length():
    """Twenty triplets a point: of half the points half as many, each of which weighs twice as much."""
    half, whole = (
        cm.RelativeComparisonMetric().weights(cm.RelativeComparisonMetric().problem(X[::s], Y[::s])) for s in (2, 1)
    )
    np.testing.assert_allclose(half, np.array(whole) * len(X) / len(X[::2]))


def test_the_choice_takes_a_sample_and_the_fit_all_rows():
    search = cm.WeightSearch(cm.MLR(measure="auc", tol=1e-2), values=[1.0, 10.0], max_rows=45).fit(X, Y)
    assert (search.path_.rows, search.path_.of_rows) == (45, len(X))
    assert "45 rows, a sample of 89" in str(search.path_)
    assert search.estimator_.solution_.problem.risk.parts == len(X)


def test_samples_keep_the_shares_of_the_classes():
    labels = np.random.default_rng(0).permutation(np.repeat([0, 1, 2], [700, 250, 50]))
    rows = stratified_sample(labels, 100, 0)
    assert len(np.unique(rows)) == 100
    np.testing.assert_allclose(np.bincount(labels[rows]), [70, 25, 5], atol=1)
    np.testing.assert_array_equal(stratified_sample(labels, 1000, 0), np.arange(1000))


def test_held_out_scores_choose_within_each_fold():
    """Nothing of the rows held out is seen by the choice: they may be anything."""
    chosen = []

    class Told(cm.WeightSearch):
        def fit(self, X, y):
            chosen.append(len(X))
            return super().fit(X, y)

    found = cm.held_out(Told(cm.MLR(measure="auc", tol=1e-2), values=[1.0, 10.0]), X, Y, cv=3, repeats=1)
    assert found.folds == 3
    assert sum(chosen) == 2 * len(X)


def test_the_limit_is_for_choice_and_fit_together():
    search = cm.WeightSearch(cm.MLR(tol=1e-12), max_seconds=20.0)
    with pytest.warns(cm.errors.GapWarning):
        search.fit(X, Y)
    assert search.path_.seconds < 15.0
    assert search.estimator_.max_seconds < 20.0


def test_values_that_were_not_solved_are_not_chosen():
    search = cm.WeightSearch(cm.MLR(tol=1e-12), max_seconds=0.05)
    with warnings.catch_warnings(action="ignore"):
        search.fit(X, Y)
    assert search.path_ is None
    assert search.reason_.startswith("not enough time: the choice of C takes more than")
    assert search.estimator_.C == cm.MLR().C
    gaps = np.array([[0.1, 0.2], [0.1, 0.9]])
    scores = {"accuracy": np.array([[0.5, 0.6], [0.9, 0.9]])}
    path = Validation(("C",), ((1.0,), (2.0,)), scores, gaps, 0, 10, 10, 0.0)
    assert path.settings == {"C": 1.0}
    assert path.solved.tolist() == [True, False]
    assert path.cells()[1][-1] == "not solved in time"


def test_ctrl_c_in_the_choice_leaves_a_fitted_estimator(monkeypatch):
    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("convexmetric.estimators.weight_search.solve_path", stop)
    search = cm.WeightSearch(cm.MLR(measure="auc", C=3.0, tol=1e-1))
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, Y)
    assert search.path_ is None
    assert search.estimator_.C == 3.0
    assert search.transform(X).shape[0] == len(X)


@pytest.mark.parametrize("estimator", [cm.LargeMargin(), *SEARCHED.values()], ids=["large-margin", *SEARCHED])
def test_the_problem_that_is_stated_is_the_one_that_fit_solves(estimator):
    stated = estimator.problem(X, Y)
    assert not hasattr(estimator, "n_features_in_")
    fitted = clone(estimator).set_params(tol=1e-1).fit(X, Y)
    assert stated.fingerprint() == fitted.solution_.problem.fingerprint()
    triplets = cm.comparisons.triplets_from_labels(Y, 30, random_state=0)
    if isinstance(estimator, cm.RelativeComparisonMetric | cm.RandomProjectionMetric):
        assert estimator.problem(X[triplets]).risk.parts > 0
