"""Rows of ``components_``: as many for every fold, the leading directions, and their names."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

import convexmetric as cm
from convexmetric.errors import InputError

wine = cm.datasets.load("wine")
ROWS = np.random.default_rng(3).permutation(len(wine.X))[:80]
X, Y = cm.datasets.preprocess(wine.X[ROWS], ["zscore"]), np.asarray(wine.y)[ROWS]
#: Estimators, and the width of their transforms by default.
ESTIMATORS = {
    "large-margin": (cm.LargeMargin(), 13),
    "large-margin-diagonal": (cm.LargeMargin(diagonal=True), 13),
    "ranking": (cm.MLR(C=10.0), 13),
    "ranking-diagonal": (cm.MLR(C=10.0, diagonal=True, measure="auc"), 13),
    "relative": (cm.RelativeComparisonMetric(n_triplets=300), 13),
    "relative-A": (cm.RelativeComparisonMetric(n_triplets=300, A=np.eye(13)[:, :6] + 0.1), 6),
    "operator": (cm.OperatorMarginMetric(), 13),
    "cross-modal": (cm.CrossModalMetric(n_features_x=6, n_clusters=2), 26),
    "projection": (cm.RandomProjectionMetric(n_components=6), 6),
    "projection-none": (cm.RandomProjectionMetric(projection=None), 13),
}
OWN = [name for name in ESTIMATORS if "projection" not in name]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_fold_has_the_same_width_and_the_names_agree(name):
    estimator, width = ESTIMATORS[name]
    for learn, rest in StratifiedKFold(3).split(X, Y):
        # A feature that never varies in a fold is a feature all the same.
        points = X[learn].copy()
        points[:, 4] = 1.0
        fitted = clone(estimator).fit(points, Y[learn])
        assert fitted.transform(X[rest]).shape == (len(rest), width)
        assert len(fitted.get_feature_names_out()) == width


@pytest.mark.parametrize("name", OWN)
def test_components_are_the_leading_eigenvectors_and_the_certificate_is_that_of_the_whole_metric(name):
    estimator = ESTIMATORS[name][0]
    whole = clone(estimator).fit(X, Y)
    M = whole.solution_.M
    np.testing.assert_allclose(whole.get_mahalanobis_matrix(), M, atol=1e-10 * np.abs(M).max())
    values, vectors = np.linalg.eigh(M)
    for k in (1, 3):
        cut = clone(estimator).set_params(n_components=k).fit(X, Y)
        assert cut.certificate_.upper_bound == whole.certificate_.upper_bound
        assert cut.components_.shape == (k, 13)
        best = (vectors[:, -k:] * values[-k:]) @ vectors[:, -k:].T
        np.testing.assert_allclose(cut.get_mahalanobis_matrix(), best, atol=1e-9 * np.abs(M).max())
        assert cut.transform(X).shape[1] == (2 * k if name == "cross-modal" else k)
        np.testing.assert_allclose(
            cut.components_ @ cut.components_.T, np.diag(values[: -k - 1 : -1]), atol=1e-9 * values[-1]
        )
    rank = clone(estimator).set_params(n_components="rank").fit(X, Y)
    assert len(rank.components_) <= len(whole.components_)
    np.testing.assert_allclose(rank.get_mahalanobis_matrix(), M, atol=1e-9 * np.abs(M).max())
    assert np.linalg.norm(rank.components_, axis=1).min() > 0.0


@pytest.mark.parametrize("wrong", [0, -1, 2.5, True, "all", 14])
@pytest.mark.parametrize("name", OWN)
def test_bad_numbers_are_refused_before_the_solve(name, wrong):
    with pytest.raises(InputError, match=r"n_components must be"):
        clone(ESTIMATORS[name][0]).set_params(n_components=wrong, max_seconds=1e-3).fit(X, Y)


@pytest.mark.parametrize("name", ["ranking", "operator"])
def test_under_a_kernel_there_are_as_many_as_the_span_has_dimensions_unless_asked(name):
    estimator = clone(ESTIMATORS[name][0]).set_params(kernel="rbf", tol=1e-2)
    assert estimator.fit(X, Y).transform(X).shape[1] == estimator.solution_.problem.cone.d
    assert estimator.set_params(n_components=3).fit(X, Y).transform(X).shape == (80, 3)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_they_show_themselves_and_go_through_pickles(name):
    estimator = clone(ESTIMATORS[name][0])
    assert type(estimator).__name__ in estimator._repr_html_()
    fitted = estimator.fit(X, Y)
    assert type(estimator).__name__ in fitted._repr_html_()
    assert "fitted" in fitted._repr_html_()
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.transform(X), fitted.transform(X))
    assert clone(fitted).get_params().keys() == fitted.get_params().keys()


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("name", ESTIMATORS)
def test_transforms_are_frames_where_asked(name, library):
    frames = pytest.importorskip(library)
    estimator = clone(ESTIMATORS[name][0]).set_output(transform=library)
    images = estimator.fit(X, Y).transform(X)
    assert isinstance(images, frames.DataFrame)
    assert list(images.columns) == list(estimator.get_feature_names_out())
    assert images.shape == (80, ESTIMATORS[name][1])


@pytest.mark.parametrize("name", ESTIMATORS)
def test_single_precision_gives_what_the_same_numbers_give_in_double(name):
    single = X.astype(np.float32)
    one, other = (clone(ESTIMATORS[name][0]).fit(points, Y) for points in (single, single.astype(np.float64)))
    np.testing.assert_array_equal(one.transform(single), other.transform(single.astype(np.float64)))
    assert one.certificate_.lower_bound == other.certificate_.lower_bound
    assert one.transform(single).dtype == np.float64


def test_six_fits_of_relative_comparisons_give_one_score():
    scores = {cm.RelativeComparisonMetric().fit(X, Y).score(X, Y) for _ in range(6)}
    assert len(scores) == 1
