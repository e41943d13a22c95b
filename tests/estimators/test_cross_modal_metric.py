"""Two modalities: side by side, and apart."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import convexmetric as cm

wine = cm.datasets.load("wine")
ROWS = np.random.default_rng(3).permutation(len(wine.X))[:80]
Z, Y = cm.datasets.preprocess(wine.X, ["zscore"])[ROWS], np.asarray(wine.y)[ROWS]
IMAGES, TEXTS = Z[:50, :5], Z[20:, 5:]
OF_IMAGES, OF_TEXTS = Y[:50], Y[20:]


@pytest.fixture(scope="module")
def apart():
    return cm.CrossModalMetric(n_clusters=3, random_state=0).fit_modalities(IMAGES, TEXTS, OF_IMAGES, OF_TEXTS)


def test_modalities_apart_are_the_problem_of_the_paper(apart):
    problem = apart.solution_.problem
    assert apart.gap_ <= 1e-4
    assert apart.n_features_in_ == 13
    np.testing.assert_allclose(
        apart.distances(IMAGES, TEXTS) ** 2, problem.distances(apart.get_mahalanobis_matrix(), IMAGES, TEXTS), atol=1e-8
    )
    U, V = problem.split(apart.components_)
    # Products of arrays that lie otherwise in memory: BLAS may sum them in another order.
    np.testing.assert_allclose(apart.transform_x(IMAGES), IMAGES @ U, atol=1e-12 * np.abs(IMAGES @ U).max())
    np.testing.assert_allclose(apart.transform_y(TEXTS), TEXTS @ V, atol=1e-12 * np.abs(TEXTS @ V).max())


def test_side_by_side_is_apart_with_the_same_objects():
    # The default's solvers take turns by the clock, which is not the same twice.
    settings = {"n_clusters": None, "solver": "cutting-planes"}
    together = cm.CrossModalMetric(n_features_x=5, **settings).fit(Z, Y)
    apart = cm.CrossModalMetric(**settings).fit_modalities(Z[:, :5], Z[:, 5:], Y, Y)
    np.testing.assert_array_equal(together.components_, apart.components_)
    images = together.transform(Z)
    c = len(together.components_)
    # Products of columns that are validated together, and apart: they may lie otherwise in memory.
    np.testing.assert_allclose(images[:, :c], together.transform_x(Z[:, :5]), atol=1e-12 * np.abs(images).max())
    np.testing.assert_allclose(images[:, c:], together.transform_y(Z[:, 5:]), atol=1e-12 * np.abs(images).max())


def test_the_score_is_the_mean_average_precision_of_rankings_by_distance():
    estimator = cm.CrossModalMetric(n_features_x=5).fit(Z, Y)
    D = cdist(estimator.transform_x(Z[:, :5]), estimator.transform_y(Z[:, 5:]))
    np.testing.assert_allclose(estimator.distances(Z[:, :5], Z[:, 5:]), D, atol=1e-9)
    precisions = []
    for q, ranked in enumerate(np.argsort(D, axis=1, kind="stable")):
        hits = Y[ranked] == Y[q]
        precisions.append(np.mean((np.cumsum(hits) / np.arange(1, len(Z) + 1))[hits]))
    score = estimator.score(Z, Y)
    assert score == pytest.approx(np.mean(precisions))
    assert score > 0.8


def test_several_labels_an_object():
    both = np.column_stack([Y == 0, Y == 1, Y == 2, Y > 0]).astype(int)
    estimator = cm.CrossModalMetric(n_features_x=5, n_clusters=2, random_state=0).fit(Z, both)
    assert estimator.gap_ <= 1e-4
    assert 0.6 < estimator.score(Z, both) <= 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda e: e.transform_x(TEXTS), "8 features, but 5"),
        (lambda e: e.transform_y(np.full((1, 8), np.nan)), "NaN"),
        (lambda e: e.transform(Z[:, :4]), "4 features"),
        (lambda e: cm.CrossModalMetric().fit_modalities(IMAGES, TEXTS, OF_IMAGES, OF_TEXTS[:-1]), "one an object"),
        (lambda e: cm.CrossModalMetric().fit(Z[:, :1], Y), "n_features = 1"),
        (lambda e: cm.CrossModalMetric().distances(IMAGES, TEXTS), "not fitted"),
    ],
)
def test_refusals(apart, call, message):
    with pytest.raises(ValueError, match=message):
        call(apart)
