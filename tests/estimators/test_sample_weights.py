"""Weights of samples, their routing, and what of it is refused."""

import numpy as np
import pytest
import sklearn
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.fixes import parse_version

import convexmetric as cm
from convexmetric.comparisons import triplets_from_labels
from convexmetric.errors import InputError

wine = cm.datasets.load("wine")
ROWS = np.random.default_rng(3).permutation(len(wine.X))[:60]
RAW, Y = wine.X[ROWS], np.asarray(wine.y)[ROWS]
X = StandardScaler().fit_transform(RAW)
W = np.random.default_rng(4).random(60) * (np.arange(60) % 7 > 0)

OF_POINTS = {
    "large-margin": cm.LargeMargin(),
    "ranking": cm.MLR(C=10.0),
    "ranking-auc-diagonal": cm.MLR(measure="auc", C=10.0, diagonal=True),
    "relative": cm.RelativeComparisonMetric(n_triplets=400),
    "projection": cm.RandomProjectionMetric(n_same=3, n_other=3, reg=10.0),
}
PAIRS, SIGNS = cm.papers.balanced_pairs(Y, 200, random_state=1)
TRIPLETS = triplets_from_labels(Y, 200, random_state=1)
OF_TUPLES = {
    "operator": (cm.OperatorMarginMetric(reg=0.5), PAIRS, SIGNS),
    "relative": (cm.RelativeComparisonMetric(), TRIPLETS, None),
    "projection": (cm.RandomProjectionMetric(reg=0.1), TRIPLETS, None),
}


def optimum(estimator):
    return estimator.certificate_.upper_bound


@pytest.mark.parametrize("name", OF_POINTS)
def test_weights_of_points_are_those_of_the_problem(name):
    plain, ones, weighted = (clone(OF_POINTS[name]).fit(X, Y, sample_weight=w) for w in (None, np.ones(60), W))
    assert optimum(ones) == pytest.approx(optimum(plain), rel=2e-4)
    assert abs(optimum(weighted) - optimum(plain)) > 1e-3 * optimum(plain)
    assert weighted.gap_ <= 1e-4
    made = {
        "large-margin": lambda: cm.LargeMarginProblem(X, Y, weights=W),
        "ranking": lambda: cm.RankingProblem.from_labels(X, Y, measure="map", C=10.0, query_weights=W),
        "ranking-auc-diagonal": lambda: cm.RankingProblem.from_labels(
            X, Y, measure="auc", C=10.0, diagonal=True, query_weights=W
        ),
        "projection": lambda: cm.TripletProblem.from_labels(X, Y, n_same=3, n_other=3, reg=10.0, weights=W),
    }
    if name in made:
        assert optimum(weighted) == pytest.approx(cm.solve(made[name](), tol=1e-5).upper_bound, rel=2e-4)
    else:
        drawn = plain.solution_.problem.triplets.triplets
        assert len(weighted.solution_.problem.triplets) == np.count_nonzero(W[drawn[:, 0]])


@pytest.mark.parametrize("name", OF_TUPLES)
def test_a_tuple_of_weight_two_is_there_twice_and_of_weight_zero_not_at_all(name):
    estimator, tuples, y = OF_TUPLES[name]
    counts = np.random.default_rng(0).integers(3, size=200)
    once = clone(estimator).fit(X[tuples], y, sample_weight=counts)
    repeated = np.repeat(np.arange(200), counts)
    twice = clone(estimator).fit(X[tuples[repeated]], None if y is None else y[repeated])
    assert optimum(once) == pytest.approx(optimum(twice), rel=2e-4)


def test_weights_of_queries_with_lists_and_of_a_graph():
    relevant = [np.flatnonzero((label == Y) & (np.arange(60) != q))[:5] for q, label in enumerate(Y)]
    listed = cm.MLR(measure="auc", C=10.0).fit_rankings(X, relevant, sample_weight=W)
    problem = cm.RankingProblem(X, relevant, measure="auc", C=10.0, query_weights=W)
    assert optimum(listed) == pytest.approx(cm.solve(problem, tol=1e-5).upper_bound, rel=2e-4)
    links = Y[:, None] == Y
    graph = cm.RandomProjectionMetric(reg=0.1).fit_graph(X, links, sample_weight=W)
    assert optimum(graph) == pytest.approx(
        cm.solve(cm.TripletProblem.from_graph(X, links, reg=0.1, weights=W), tol=1e-5).upper_bound, rel=2e-4
    )


@pytest.mark.parametrize("name", OF_POINTS)
def test_bad_weights_name_the_argument_and_good_ones_are_not_changed(name):
    given = W.copy()
    clone(OF_POINTS[name]).fit(X, Y, sample_weight=given)
    np.testing.assert_array_equal(given, W)
    for wrong in (-W, np.where(W > 0.9, np.nan, W), W[1:], W[:, None], np.zeros(60), "heavy"):
        with pytest.raises(InputError, match=r"^sample_weight "):
            clone(OF_POINTS[name]).fit(X, Y, sample_weight=wrong)


def test_what_cannot_take_weights_says_so():
    with pytest.raises(InputError, match=r"sample_weight is of pairs.*balanced_pairs"):
        cm.OperatorMarginMetric().fit(X, Y, sample_weight=W)
    with pytest.raises(InputError, match=r"hard margins, which have no weights.*sample_weight"):
        cm.RelativeComparisonMetric(C=np.inf).fit(X[TRIPLETS], sample_weight=np.ones(200))
    with pytest.raises(InputError, match=r"sample_weight.*intra and inter at 0"):
        cm.RandomProjectionMetric(intra=0.1).fit(X, Y, sample_weight=W)
    with pytest.raises(TypeError, match="sample_weight"):
        cm.CrossModalMetric().fit(X, Y, sample_weight=W)


@pytest.mark.skipif(
    parse_version(sklearn.__version__) < parse_version("1.8"),
    reason="cross_validate of scikit-learn up to 1.7 routes no weights to a pipeline, not even to its own classifiers",
)
@pytest.mark.parametrize("name", ["large-margin", "ranking-auc-diagonal"])
def test_weights_are_routed_through_pipelines_cross_validation_and_searches(name):
    with config_context(enable_metadata_routing=True):
        metric = clone(OF_POINTS[name]).set_fit_request(sample_weight=True)
        pipeline = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False),
            metric,
            KNeighborsClassifier(3).set_score_request(sample_weight=True),
        )
        direct = clone(metric).fit(X, Y, sample_weight=W)
        routed = clone(pipeline).fit(RAW, Y, sample_weight=W)[-2]
        assert optimum(routed) == pytest.approx(optimum(direct), rel=2e-4)
        folds = StratifiedKFold(2)
        found = cross_validate(
            pipeline, RAW, Y, cv=folds, params={"sample_weight": W}, return_estimator=True, error_score="raise"
        )
        for fitted, (learn, _) in zip(found["estimator"], folds.split(RAW, Y), strict=True):
            again = clone(metric).fit(StandardScaler().fit_transform(RAW[learn]), Y[learn], sample_weight=W[learn])
            assert optimum(fitted[-2]) == pytest.approx(optimum(again), rel=2e-4)
        parameter = "n_neighbors" if name == "large-margin" else "C"
        search = GridSearchCV(metric, {parameter: [1, 2]}, cv=folds).fit(X, Y, sample_weight=W)
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()
