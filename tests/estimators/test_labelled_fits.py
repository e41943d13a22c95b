"""What holds for every estimator that is fitted to points with labels."""

import json
import pickle
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from samples import some
from scipy.spatial.distance import cdist, pdist
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import convexmetric as cm
from convexmetric.comparisons import triplets_from_labels
from convexmetric.errors import GapWarning, InputError

wine = cm.datasets.load("wine")
ROWS = np.random.default_rng(3).permutation(len(wine.X))[:90]
RAW, Y = wine.X[ROWS], np.asarray(wine.y)[ROWS]
X = cm.datasets.preprocess(RAW, ["zscore"])
NAMES = np.array(["Barolo", "Grignolino", "Barbera"])[Y]

MAP = np.eye(13)[:, :6] + 0.1

ESTIMATORS = {
    "neighbors": lambda: cm.NeighborMetric(cv=3),
    "large-margin": lambda: cm.LargeMargin(),
    "large-margin-diagonal": lambda: cm.LargeMargin(n_neighbors=2, push=0.7, diagonal=True),
    "ranking": lambda: cm.MLR(C=10.0),
    "ranking-auc-diagonal": lambda: cm.MLR(measure="auc", C=10.0, diagonal=True),
    "relative": lambda: cm.RelativeComparisonMetric(random_state=0),
    "relative-A": lambda: cm.RelativeComparisonMetric(A=MAP, random_state=0),
    "relative-rbf": lambda: cm.RelativeComparisonMetric(n_triplets=400, kernel="rbf", random_state=0),
    "projection-none": lambda: cm.RandomProjectionMetric(random_state=0),
    "projection": lambda: cm.RandomProjectionMetric(n_components=6, intra=0.1, random_state=0),
    "operator": lambda: cm.OperatorMarginMetric(),
    "operator-drawn": lambda: cm.OperatorMarginMetric(n_pairs=300, penalty="trace", random_state=0),
    "operator-rbf": lambda: cm.OperatorMarginMetric(kernel="rbf"),
    "cross-modal": lambda: cm.CrossModalMetric(n_features_x=6, n_clusters=2, random_state=0),
}
OF_POINTS = [name for name in ESTIMATORS if name != "cross-modal"]
FITTED = {}


def fitted(name):
    """Every estimator is solved once."""
    if name not in FITTED:
        FITTED[name] = ESTIMATORS[name]().fit(X, Y)
    return FITTED[name]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_optimum_is_certified_and_the_certificate_stands_on_its_own(name):
    estimator = fitted(name)
    assert 0.0 <= estimator.gap_ <= estimator.tol
    again = cm.certify(estimator.solution_.problem, estimator.certificate_.M, estimator.certificate_.dual)
    assert again.lower_bound == pytest.approx(estimator.certificate_.lower_bound, rel=1e-9)
    assert again.gap <= estimator.tol
    assert estimator.n_iter_ >= 1
    assert estimator.n_features_in_ == 13


@pytest.mark.parametrize("name", ESTIMATORS)
def test_components_are_a_factor_of_the_metric_that_was_solved_for(name):
    estimator = fitted(name)
    L, M = estimator.components_, estimator.get_mahalanobis_matrix()
    np.testing.assert_allclose(M, L.T @ L, atol=1e-12 * np.abs(M).max())
    np.testing.assert_allclose(M, estimator.solution_.M, atol=1e-9 * np.abs(M).max())


@pytest.mark.parametrize("name", OF_POINTS)
def test_distances_after_transform_are_those_of_the_metric(name):
    estimator = fitted(name)
    points = X if estimator.embedding_ is None else estimator.embedding_.transform(X)
    M = estimator.get_mahalanobis_matrix()
    expected = pdist(points, lambda u, v: np.sqrt(max(0.0, (u - v) @ M @ (u - v))))
    np.testing.assert_allclose(pdist(estimator.transform(X)), expected, rtol=1e-6, atol=1e-7 * expected.max())
    i, j = np.triu_indices(len(X), 1)
    np.testing.assert_allclose(
        estimator.pair_distance(np.stack([X[i], X[j]], axis=1)), expected, rtol=1e-6, atol=1e-7 * expected.max()
    )


@pytest.mark.parametrize("name", OF_POINTS)
def test_scores_of_pairs_are_distances_with_a_minus(name):
    estimator = fitted(name)
    np.testing.assert_array_equal(estimator.pair_score([[X[0], X[1]]]), -estimator.pair_distance([[X[0], X[1]]]))


@pytest.mark.parametrize("name", some(ESTIMATORS, 5))
def test_pickles_and_clones(name):
    estimator = fitted(name)
    again = pickle.loads(pickle.dumps(estimator))
    np.testing.assert_array_equal(again.transform(X), estimator.transform(X))
    assert again.gap_ == estimator.gap_
    assert again.score(X, Y) == estimator.score(X, Y)
    fresh = clone(estimator)
    with pytest.raises(NotFittedError):
        fresh.transform(X)
    np.testing.assert_allclose(fresh.fit(X, Y).components_, estimator.components_, atol=1e-12)


@pytest.mark.parametrize("name", some(ESTIMATORS, 4))
def test_names_of_classes_may_be_text(name):
    again = ESTIMATORS[name]().fit(X, NAMES)
    np.testing.assert_allclose(np.abs(again.transform(X)), np.abs(fitted(name).transform(X)), rtol=0.02, atol=0.02)
    assert again.certificate_.upper_bound == pytest.approx(fitted(name).certificate_.upper_bound, rel=1e-3)


@pytest.mark.parametrize("name", some(ESTIMATORS, 4))
def test_pipelines_learn_what_tells_the_wines_apart(name):
    pipeline = make_pipeline(StandardScaler(), ESTIMATORS[name](), KNeighborsClassifier(3))
    assert cross_val_score(pipeline, RAW, NAMES, cv=3).mean() > 0.85


@pytest.mark.parametrize(
    ("name", "grid"),
    [
        ("large-margin", {"n_neighbors": [1, 3]}),
        ("ranking", {"C": [0.1, 10.0]}),
        ("relative", {"C": [0.01, 1.0]}),
        ("projection", {"n_components": [2, 6]}),
        ("operator", {"reg": [0.005, 0.05]}),
        ("cross-modal", {"alpha": [1.0, 10.0]}),
    ],
)
def test_grid_search_over_the_score_of_held_out_points(name, grid):
    search = GridSearchCV(ESTIMATORS[name](), grid, cv=StratifiedKFold(2)).fit(X, Y)
    scores = search.cv_results_["mean_test_score"]
    assert np.isfinite(scores).all()
    assert scores.max() > 0.6
    assert search.best_estimator_.gap_ <= 1e-4


@pytest.mark.parametrize("name", some(ESTIMATORS, 4))
def test_learning_raises_the_score_above_that_of_the_features(name):
    estimator = fitted(name)
    untouched = clone(estimator).fit(X, Y)
    untouched.components_ = MAP.T if name == "relative-A" else np.eye(untouched.components_.shape[1])
    if name == "cross-modal":
        # Without learning there is no way from one modality to the other: seven columns cut to six.
        untouched.components_x_, untouched.components_y_ = np.eye(6), np.eye(7)[:6]
    # The default is chosen by rows held out, and may be as good here.
    least = 0.0 if name == "neighbors" else np.finfo(float).tiny
    assert estimator.score(X, Y) - untouched.score(X, Y) >= least


@pytest.mark.parametrize("name", ESTIMATORS)
def test_frames_keep_their_names(name):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(13)], index=ROWS)
    estimator = ESTIMATORS[name]().set_output(transform="pandas").fit(frame, NAMES)
    assert list(estimator.feature_names_in_) == list(frame.columns)
    images = estimator.transform(frame)
    assert list(images.index) == list(ROWS)
    assert list(images.columns) == list(estimator.get_feature_names_out())
    assert images.columns[0] == type(estimator).__name__.lower() + "0"
    if name != "cross-modal":
        # Points of tuples have no names to compare.
        with warnings.catch_warnings(action="error"):
            estimator.pair_distance(X[:4].reshape(2, 2, 13))
    # Scores do not depend on what transform gives.
    assert estimator.score(frame, NAMES) == pytest.approx(fitted(name).score(X, NAMES), abs=0.02)


@pytest.mark.parametrize(
    "name",
    [
        "relative",
        "relative-A",
        "relative-rbf",
        "projection",
        "projection-none",
        "operator",
        "ranking-auc-diagonal",
        "large-margin-diagonal",
    ],
)
@pytest.mark.parametrize("form", some([sp.csr_matrix, sp.csc_array], 1))
def test_sparse_points_give_what_dense_ones_give(name, form):
    thinned = np.where(X > 0.3, X, 0.0)
    dense = ESTIMATORS[name]().fit(thinned, Y)
    sparse = ESTIMATORS[name]().fit(form(thinned), Y)
    assert sparse.certificate_.upper_bound == pytest.approx(dense.certificate_.upper_bound, rel=1e-3)
    diagonal = sparse.solution_.problem.weighs_features and sparse.embedding_ is None
    assert sp.issparse(sparse.components_) == diagonal
    images = sparse.transform(form(thinned))
    assert sp.issparse(images) == diagonal
    np.testing.assert_allclose(
        cdist(images.toarray() if diagonal else images, sparse.transform(thinned)),
        cdist(dense.transform(thinned), dense.transform(thinned)),
        atol=0.02 * np.abs(dense.transform(thinned)).max(),
    )
    assert sparse.score(form(thinned), Y) == pytest.approx(dense.score(thinned, Y), abs=0.02)
    M, learned = sparse.get_mahalanobis_matrix(), sparse.solution_.M
    assert sp.issparse(M) == sp.issparse(learned) == diagonal
    M, learned = (M.toarray(), learned.toarray()) if diagonal else (M, learned)
    np.testing.assert_allclose(M, learned, atol=1e-12 * np.abs(M).max())
    i, j = np.arange(9), np.arange(9, 18)
    by_index = clone(sparse).set_params(preprocessor=form(thinned))
    by_index.__dict__.update({name: value for name, value in vars(sparse).items() if name not in sparse.get_params()})
    listed = by_index.pair_distance(np.column_stack([i, j]))
    np.testing.assert_allclose(listed, sparse.pair_distance(np.stack([thinned[i], thinned[j]], axis=1)), rtol=1e-9)
    np.testing.assert_allclose(
        sparse.get_operator().distances(thinned[:9]), cdist(*[sparse.transform(thinned[:9])] * 2)
    )


def test_full_metrics_refuse_sparse_points_and_say_how_to_go_on():
    for problem in (cm.RankingProblem.from_labels, cm.LargeMarginProblem):
        with pytest.raises(InputError, match=r"X is sparse: pass diagonal=True, or X.toarray\(\)"):
            problem(sp.csr_array(X), Y)
    for estimator, diagonal in ((cm.NeighborMetric(), ""), (cm.MLR(), "pass diagonal=True, ")):
        words = rf"X is sparse: {diagonal}put TruncatedSVD before in a pipeline, or pass X.toarray\(\)"
        with pytest.raises(InputError, match=words):
            estimator.fit(sp.csr_array(X), Y)


def test_a_diagonal_projection_metric_takes_thousands_of_sparse_features():
    words = sp.random_array((60, 3000), density=0.02, rng=np.random.default_rng(0), format="csr")
    estimator = cm.RandomProjectionMetric(projection=None, diagonal=True).fit(words, np.arange(60) % 3)
    assert estimator.gap_ <= 1e-4
    assert estimator.transform(words).shape == (60, 3000)
    assert estimator.get_feature_names_out().shape == (3000,)


@pytest.mark.parametrize("name", some(ESTIMATORS, 4))
def test_constant_features_change_nothing(name):
    if name in ("relative-A", "projection"):
        pytest.skip("another number of features is another map")
    wider = np.hstack([X[:, :6], np.full((len(X), 1), 7.0), X[:, 6:]])
    estimator = ESTIMATORS[name]()
    if name == "cross-modal":
        wider = np.hstack([X, np.zeros((len(X), 1))])
    elif "rbf" in name:
        estimator.set_params(kernel=lambda A, B: np.exp(-cdist(A, B, "sqeuclidean") / 13))
    estimator.fit(wider, Y)
    assert estimator.certificate_.upper_bound == pytest.approx(fitted(name).certificate_.upper_bound, rel=2e-4)


@pytest.mark.parametrize("name", ["large-margin", "ranking", "projection"])
def test_points_alone_in_their_class_are_left_out_aloud(name):
    with pytest.warns(UserWarning, match=r"single member \(7, 8\)"):
        estimator = ESTIMATORS[name]().fit(np.vstack([X, X[:2] + 9.0]), np.r_[Y, 7, 8])
    assert estimator.certificate_.upper_bound == pytest.approx(fitted(name).certificate_.upper_bound, rel=2e-4)
    assert estimator.score(np.vstack([X, X[:2] + 9.0]), np.r_[Y, 7, 8]) > 0.8


@pytest.mark.parametrize("name", ESTIMATORS)
def test_bad_labels_are_refused(name):
    estimator = ESTIMATORS[name]()
    with pytest.raises(InputError, match="requires y"):
        estimator.fit(X)
    with pytest.raises(ValueError, match=r"one class only|nothing is ranked"):
        estimator.fit(X, np.zeros(len(X)))
    with pytest.raises(ValueError, match=r"no class with two members|NaN"):
        estimator.fit(X, np.where(Y == 0, np.nan, Y) if name == "cross-modal" else np.arange(len(X)))
    with pytest.raises(InputError, match=r"cannot be compared|same type"):
        estimator.fit(X, np.array(["a", 1, 2], dtype=object)[Y])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        estimator.fit(X, Y[:-1])
    with pytest.raises(ValueError, match="NaN"):
        estimator.fit(np.where(X > 2.0, np.nan, X), Y)
    if name not in ("cross-modal", "neighbors"):
        with pytest.raises(InputError, match=r"one class only.*StratifiedKFold"):
            fitted(name).score(X[Y == 1], Y[Y == 1])


def test_a_metric_of_zero_is_said_aloud_and_leaves_a_transform():
    with pytest.warns(UserWarning, match="optimal metric is zero.*raise C"):
        estimator = cm.MLR(C=1e-6).fit(X, Y)
    assert estimator.gap_ <= 1e-4
    np.testing.assert_array_equal(estimator.transform(X), np.zeros((len(X), 13)))
    with pytest.warns(UserWarning, match="optimal metric is zero"):
        assert cm.MLR(C=1e-6, n_components="rank").fit(X, Y).transform(X).shape == (len(X), 1)


def test_limits_end_a_solve_with_a_warning_and_the_gap_it_has():
    with pytest.warns(GapWarning, match="max_iter"):
        estimator = cm.MLR(max_iter=3).fit(X, Y)
    assert estimator.n_iter_ == 3
    assert estimator.gap_ > 1e-4
    assert estimator.solution_.status == "max_iter"


def test_verbose_shows_the_bounds_closing(capfd):
    cm.MLR(C=10.0, progress=True).fit(X, Y)
    assert "gap" in capfd.readouterr().err


@pytest.mark.parametrize(
    "estimator",
    [
        cm.RandomProjectionMetric(solver="stochastic-batch", max_iter=40, n_components=4),
        cm.OperatorMarginMetric(solver="stochastic-factors", max_iter=3, n_pairs=200),
        cm.RelativeComparisonMetric(n_triplets=50),
    ],
    ids=str,
)
def test_random_states_repeat_themselves(estimator):
    seeds = (0, 0, 1, np.random.RandomState(4), np.random.RandomState(4), np.random.default_rng(2))
    with warnings.catch_warnings(action="ignore", category=GapWarning):
        a, same, other, b, same_b, c = (clone(estimator).set_params(random_state=s).fit(X, Y) for s in seeds)
    np.testing.assert_array_equal(a.components_, same.components_)
    np.testing.assert_array_equal(b.components_, same_b.components_)
    for one, another in ((a, other), (a, b), (a, c)):
        assert one.components_.shape != another.components_.shape or (one.components_ != another.components_).any()


def test_stochastic_solvers_say_how_far_they_came():
    with pytest.warns(GapWarning):
        estimator = cm.RandomProjectionMetric(solver=cm.approximate.StochasticBatch(epochs=2, random_state=3)).fit(X, Y)
    exact = cm.RandomProjectionMetric().fit(X, Y)
    assert estimator.certificate_.upper_bound >= exact.certificate_.lower_bound
    assert estimator.certificate_.lower_bound <= exact.certificate_.upper_bound


def test_the_problem_is_the_one_that_the_paper_states():
    for estimator, problem in (
        (fitted("ranking"), cm.RankingProblem.from_labels(X, Y, measure="map", C=10.0)),
        (fitted("relative"), cm.RelativeComparisonProblem(X, triplets_from_labels(Y, 1800, random_state=0))),
        (fitted("operator"), cm.PairMarginProblem.from_labels(X, Y)),
        (fitted("projection-none"), cm.TripletProblem.from_labels(X, Y, reg=fitted("projection-none").reg_)),
    ):
        assert estimator.solution_.problem.fingerprint() == problem.fingerprint()
    assert fitted("projection-none").reg_ == pytest.approx(0.01 * cm.TripletProblem.from_labels(X, Y).reg_max)


def test_operators_are_saved_without_pickle(tmp_path):
    for name in ("ranking", "operator-rbf", "relative-rbf"):
        path = fitted(name).get_operator().save(tmp_path / f"{name}.npz")
        np.testing.assert_allclose(cm.evaluation.SimilarityOperator.load(path).transform(X), fitted(name).transform(X))


def test_links_of_a_graph_make_triplets():
    graph = (np.abs(ROWS[:, None] - ROWS) <= 4) & ~np.eye(len(ROWS), dtype=bool)
    estimator = cm.RandomProjectionMetric(reg=0.01).fit_graph(X, graph)
    problem = cm.TripletProblem.from_graph(X, graph, reg=0.01)
    assert estimator.solution_.problem.fingerprint() == problem.fingerprint()


def test_rankings_by_lists_and_by_matrices():
    queries = X[:8] + 0.05
    R = (Y[:8, None] == Y).astype(int)
    by_matrix = cm.MLR(C=10.0).fit_rankings(X, R, queries=queries)
    by_lists = cm.MLR(C=10.0).fit_rankings(X, [np.flatnonzero(row) for row in R], queries=queries)
    assert by_matrix.solution_.problem.fingerprint() == by_lists.solution_.problem.fingerprint()
    assert by_matrix.gap_ <= 1e-4
    corpus = cm.MLR(C=10.0).fit_rankings(X, (Y[:, None] == Y) & ~np.eye(len(Y), dtype=bool))
    assert corpus.certificate_.upper_bound == pytest.approx(fitted("ranking").certificate_.upper_bound, rel=2e-4)


def test_parameters_print_as_json():
    assert json.loads(json.dumps(cm.MLR().get_params()))["measure"] == "map"


@pytest.mark.parametrize(
    "estimator",
    [
        cm.RelativeComparisonMetric(n_triplets=40),
        cm.RandomProjectionMetric(n_components=2),
        cm.OperatorMarginMetric(n_pairs=40),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_fits_repeat_unless_they_are_asked_to_draw_anew(estimator):
    with warnings.catch_warnings(action="ignore", category=GapWarning):
        first, again, seeded = (
            clone(estimator).set_params(**seed).fit(X, Y).components_ for seed in ({}, {}, {"random_state": 0})
        )
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(first, seeded)
    assert clone(estimator).set_params(random_state=None).random_state is None


@pytest.mark.integration
def test_type_checkers_know_the_parameters(tmp_path, monkeypatch):
    api = pytest.importorskip("mypy.api")
    wrong = ["cm.MLR(c=10)", "cm.NeighborMetric(strenght=1.0)", "cm.WeightSearch(cm.MLR(), value=[1.0])"]
    (tmp_path / "use.py").write_text(
        "\n".join(["import convexmetric as cm", "cm.MLR(C=10.0).fit([[0.0]], [0])", *wrong])
    )
    monkeypatch.setenv("MYPYPATH", str(Path(cm.__file__).parents[1]))
    said = api.run([str(tmp_path / "use.py"), "--strict", "--cache-dir", str(tmp_path)])[0]
    assert [line.split(":")[1] for line in said.splitlines() if "Unexpected keyword argument" in line] == [
        "3",
        "4",
        "5",
    ]
