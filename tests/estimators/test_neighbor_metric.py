"""The default for labelled tables: near Euclidean distance, chosen by rows not seen, and kept only if it helps."""

import itertools
import warnings

import cvxpy as cp
import numpy as np
import pytest
import scipy
from sklearn.base import is_classifier
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import convexmetric as cm
from convexmetric.deadline import Clock
from convexmetric.errors import InputError
from convexmetric.estimators import neighbor_choice
from convexmetric.evaluation import knn_right
from convexmetric.selection.folds import dealt
from convexmetric.selection.rows import balance

wine = cm.datasets.load("wine")
X, Y = cm.datasets.preprocess(wine.X, ["zscore"]), np.asarray(wine.y)
FAST = {"prior": "identity", "scale": (0.3, 1.0), "strength": (1.0, 0.1), "cv": 3}


@pytest.fixture(scope="module")
def chosen():
    return cm.NeighborMetric(**FAST).fit(X, Y)


def test_a_single_scale_and_strength_are_solved_to_the_optimum_of_the_formula():
    points, labels = X[::4, :5], Y[::4]
    metric = cm.NeighborMetric(n_neighbors=2, prior="identity", scale=1.0, strength=1.0, tol=1e-6).fit(points, labels)
    assert metric.kept_
    assert metric.path_ is None
    assert metric.held_out_ is None
    squares = ((points[:, None] - points) ** 2).sum(axis=2)
    triplets = []
    for i, row in enumerate(squares):
        near, far = (
            sorted((j for j in range(len(points)) if j != i and (labels[j] == labels[i]) == same), key=row.__getitem__)
            for same in (True, False)
        )
        triplets += [(i, j, k) for j in near[:2] for k in far[:2]]
    M = cp.Variable((5, 5), PSD=True)
    forms = [
        cp.pos(cp.quad_form(points[i] - points[j], M) - cp.quad_form(points[i] - points[k], M) + 1.0)
        for i, j, k in triplets
    ]
    problem = metric.solution_.problem
    prior = problem.regularizer.prior
    np.testing.assert_allclose(prior, prior[0, 0] * np.eye(5))
    penalty = 0.5 * problem.reg * cp.sum_squares(M - prior)
    optimum = cp.Problem(cp.Minimize(penalty + sum(forms) / len(forms))).solve(solver=cp.CLARABEL)
    slack = 1e-6 * abs(optimum)
    assert metric.certificate_.lower_bound - slack <= optimum <= metric.certificate_.upper_bound + slack


def test_integer_weights_repeat_the_triplets_of_a_point():
    points, labels = X[::4, :5], Y[::4]
    weights = np.random.default_rng(0).integers(4, size=len(points))
    metric = cm.NeighborMetric(n_neighbors=2, prior="identity", scale=1.0, strength=1.0, tol=1e-2)
    problem = metric.fit(points, labels, sample_weight=weights).solution_.problem
    M = 0.1 * np.eye(5) + 0.02
    squares = (((points[:, None] - points) @ M) * (points[:, None] - points)).sum(axis=2)
    order, hinges = ((points[:, None] - points) ** 2).sum(axis=2).argsort(axis=1)[:, 1:], []
    for i, row in enumerate(order):
        near, far = (row[(labels[row] == labels[i]) == same][:2] for same in (True, False))
        hinges += weights[i] * [max(0.0, squares[i, j] - squares[i, k] + 1.0) for j in near for k in far]
    penalty = 0.5 * problem.reg * ((M - problem.regularizer.prior) ** 2).sum()
    assert problem.value(M) == pytest.approx(np.mean(hinges) + penalty, rel=1e-9)
    assert problem.reg == pytest.approx(10.0 / len(points) * problem.with_prior(None).reg_max)


def test_integer_weights_repeat_the_scores_of_a_held_out_row():
    weights = np.random.default_rng(1).integers(4, size=len(X))
    metric = cm.NeighborMetric(**FAST).fit(X, Y, sample_weight=weights)
    scores, plain = metric.held_out_, cm.NeighborMetric(**FAST).fit(X, Y).held_out_
    kept = np.flatnonzero(weights)
    assert scores.rows == len(kept)
    np.testing.assert_array_equal(scores.accuracy.weights, weights[kept])
    # By Euclidean distance a row is right or wrong whatever its weight.
    right = plain.accuracy.before[kept]
    np.testing.assert_array_equal(scores.accuracy.before, right)
    copies, labels = np.repeat(right, weights[kept]), np.repeat(Y, weights)
    assert scores.accuracy.mean(right) == pytest.approx(copies.mean())
    assert f"{copies.mean():.4f}" in str(scores)
    balanced = right * balance(Y[kept], weights[kept].astype(float))
    expected = np.mean([copies[labels == label].mean() for label in range(3)])
    assert np.average(balanced, weights=weights[kept]) == pytest.approx(expected)
    # The scores that choose are weighted means of the same rows.
    assert metric.path_.mean("3-NN")[0] == pytest.approx(copies.mean())


def test_equal_weights_change_nothing_and_unequal_ones_do(chosen):
    equal, other = (cm.NeighborMetric(**FAST).fit(X, Y, w) for w in (np.full(len(X), 2.5), np.arange(len(X)) + 1.0))
    np.testing.assert_allclose(equal.components_, chosen.components_)
    assert equal.held_out_.accuracy.p_value == pytest.approx(chosen.held_out_.accuracy.p_value)
    assert not np.allclose(other.components_, chosen.components_)


def test_weights_of_too_few_rows_leave_euclidean_distance():
    metric = cm.NeighborMetric(**FAST).fit(X, Y, sample_weight=np.arange(len(X)) == 5)
    assert not metric.kept_
    assert metric.reason_ == "there are too few rows for folds: a fold has no row of positive sample_weight"


def test_rows_are_scored_by_metrics_that_have_not_seen_them(chosen):
    scores, rows = chosen.held_out_, np.arange(len(X))
    assert scores.rows == len(X)
    assert scores.folds == 3
    seed = int(np.random.default_rng(0).integers(2**31))
    folds = dealt(X, Y, 3, 1, seed)
    before, candidates = np.empty(len(X)), set()
    for learn, rest in folds:
        before[rest] = knn_right(np.ones(13), X[learn], Y[learn], X[rest], Y[rest], k=3)[3]
        # Some candidate, learned without these rows, has these scores.
        for scale, strength in itertools.product(FAST["scale"], FAST["strength"]):
            given = {"prior": "identity", "scale": scale, "strength": strength}
            single = cm.NeighborMetric(**given, tol=1e-2).fit(X[learn], Y[learn])
            Z = single.transform(X)
            right = knn_right(np.ones(13), Z[learn], Y[learn], Z[rest], Y[rest], k=3)[3]
            if abs(right.mean() - scores.accuracy.after[rest].mean()) <= 1.0 / len(rest):
                candidates.add(rest[0])
                break
    np.testing.assert_array_equal(scores.accuracy.before, before)
    assert len(candidates) == len(folds)
    assert len(rows) == scores.accuracy.after.size


def test_what_is_fitted_is_what_was_chosen(chosen):
    again = cm.NeighborMetric(**chosen.path_.settings).fit(X, Y)
    np.testing.assert_allclose(again.components_, chosen.components_)
    assert chosen.path_.index in (0, chosen.path_.mean().argmax())
    assert chosen.gap_ <= 1e-4


def test_two_fits_are_the_same_to_the_bit(chosen):
    again = cm.NeighborMetric(**FAST).fit(X, Y)
    assert (again.components_ == chosen.components_).all()
    assert (again.path_.mean() == chosen.path_.mean()).all()


def test_labels_of_no_meaning_leave_euclidean_distance():
    labels = np.random.default_rng(3).integers(2, size=120)
    points = np.random.default_rng(4).normal(size=(120, 3))
    metric = cm.NeighborMetric(scale=0.3, strength=(10.0, 3.0), cv=3).fit(points, labels)
    if metric.kept_:
        pytest.skip("chance chose a metric here")
    np.testing.assert_array_equal(metric.components_, metric.components_[0, 0] * np.eye(3))
    assert metric.gap_ <= 1e-4
    assert metric.held_out_ is not None
    assert "Euclidean" in metric.path_.heading()


@pytest.mark.parametrize("seconds", [1e-3, 0.05])
def test_without_time_to_choose_it_is_euclidean_and_says_how_long_it_takes(seconds):
    with warnings.catch_warnings(action="ignore"):
        metric = cm.NeighborMetric(max_seconds=seconds).fit(X, Y)
    assert not metric.kept_
    assert metric.held_out_ is None
    assert metric.path_ is None
    assert metric.reason_.startswith("not enough time")
    assert metric.reason_.endswith(" s")
    np.testing.assert_array_equal(metric.components_, metric.components_[0, 0] * np.eye(13))


def test_an_interrupted_choice_leaves_a_fitted_estimator(monkeypatch):
    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(neighbor_choice, "solve_path", stop)
    metric = cm.NeighborMetric()
    with pytest.raises(KeyboardInterrupt):
        metric.fit(X, Y)
    assert not metric.kept_
    assert "interrupted" in metric.reason_
    assert metric.transform(X).shape == X.shape


def test_retrieval_may_choose():
    metric = cm.NeighborMetric(scoring="auc", **FAST).fit(X, Y)
    assert metric.path_.score == "AUC"
    assert metric.held_out_.retrieval.verdict == "helps"
    assert 0.0 < metric.held_out_.lda_seconds < metric.held_out_.seconds
    # The scores keep their places.
    assert set(metric.held_out_.accuracy.before) <= {0.0, 1.0}


def test_of_many_features_the_leading_components_are_learned_on():
    rng = np.random.default_rng(0)
    points = np.hstack([X, 0.1 * rng.normal(size=(len(X), 120))])
    metric = cm.NeighborMetric(prior="identity", scale=1.0, strength=1.0, tol=1e-2).fit(points, Y)
    assert metric.components_.shape == (neighbor_choice.MOST_FEATURES, 133)
    assert metric.solution_.problem.projection is not None
    assert metric.gap_ <= 1e-2


def test_one_class_and_several_candidates_are_refused():
    with pytest.raises(InputError, match="one class only"):
        cm.NeighborMetric().fit(X, np.zeros(len(X)))
    with pytest.raises(InputError, match="give one of each"):
        cm.NeighborMetric().problem(X, Y)
    assert cm.NeighborMetric(prior="discriminant", scale=1.0, strength=1.0).problem(X, Y).count == 9 * len(X)


def test_euclidean_distance_of_many_features_is_of_all_of_them():
    points = np.random.default_rng(0).normal(size=(60, 130))
    points[:, 7] = 1.0
    metric = cm.NeighborMetric(max_seconds=1e-3, tol=1e-2)
    with warnings.catch_warnings(action="ignore"):
        metric.fit(points, np.repeat([0, 1], 30))
    assert not metric.kept_
    np.testing.assert_array_equal(metric.components_, metric.components_[0, 0] * np.diag(np.arange(130) != 7))


def test_the_discriminant_prior_is_its_formula():
    prior = neighbor_choice.prior(X, Y, "discriminant")
    means = np.array([X[label == Y].mean(axis=0) for label in np.unique(Y)])[Y]
    within = (X - means).T @ (X - means) / len(X)
    within += 0.1 * np.trace(within) / 13 * np.eye(13)
    # In coordinates that whiten what is within classes, its eigenvalues are weights of those between.
    between, axes = scipy.linalg.eigh(means.T @ means / len(X), within)
    expected = axes @ np.diag(np.maximum(between / (1.0 + between), 0.02)) @ axes.T
    np.testing.assert_allclose(prior / np.trace(prior), expected / np.trace(expected), rtol=1e-8, atol=1e-12)
    i, j = np.triu_indices(len(X), 1)
    squares = (((X[i] - X[j]) @ prior) * (X[i] - X[j])).sum(axis=1)
    assert np.median(squares) == pytest.approx(10.0, rel=0.05)


def test_the_lda_prior_alone_is_that_of_scikit_learn():
    metric = cm.NeighborMetric(prior="lda", scale=1.0, strength=1e9).fit(X, Y)
    Z, expected = metric.transform(X), LinearDiscriminantAnalysis().fit(X, Y).transform(X)
    apart, wanted = (((P[:, None] - P) ** 2).sum(axis=2) for P in (Z, expected))
    np.testing.assert_allclose(apart * (wanted.sum() / apart.sum()), wanted, rtol=1e-4, atol=1e-4)


def test_the_whitened_prior_is_the_identity_in_coordinates_in_which_neighbours_are_sought():
    one = {"scale": 0.3, "strength": 0.1}
    metric = cm.NeighborMetric(prior="whitened", **one, tol=1e-6).fit(X, Y)
    Z = X @ np.linalg.cholesky(neighbor_choice.prior(X, Y, "discriminant"))
    same = cm.NeighborMetric(prior="identity", **one, tol=1e-6).fit(Z, Y)
    assert metric.solution_.upper_bound == pytest.approx(same.solution_.upper_bound, rel=1e-5)
    apart, wanted = (((P[:, None] - P) ** 2).sum(axis=2) for P in (metric.transform(X), same.transform(Z)))
    np.testing.assert_allclose(apart, wanted, rtol=1e-2, atol=1e-2)
    assert not np.allclose(apart, ((Z[:, None] - Z) ** 2).sum(axis=2), rtol=0.1)


def test_priors_alone_go_on_to_larger_samples_however_they_score():
    labels = np.random.default_rng(0).integers(2, size=90)
    points = labels[:, None] + 0.1 * np.random.default_rng(1).normal(size=(90, 2))
    (splits,) = neighbor_choice.stages(neighbor_choice.Table(points, labels, 3), 4, 1000, 0)
    stage = neighbor_choice.Stage(splits, "accuracy", Clock(None))
    alone = [("discriminant", 1.0, neighbor_choice.ALONE), ("lda", 1.0, neighbor_choice.ALONE)]
    stage.tried([neighbor_choice.EUCLIDEAN, *alone, ("identity", 1.0, 1.0)], go_on=False)
    for one in (*alone, ("identity", 1.0, 1.0)):
        stage.scores[one] = stage.scores[one] * (np.arange(90) % 3 == 0)
    assert stage.survivors() == [neighbor_choice.EUCLIDEAN, *alone]


def test_lambda_is_a_strength_per_row():
    one, twice = (cm.NeighborMetric(prior="identity", scale=1.0, strength=1.0).problem(X[:n], Y[:n]) for n in (89, 178))
    for problem, n in ((one, 89), (twice, 178)):
        assert problem.reg == pytest.approx(10.0 / n * problem.with_prior(None).reg_max)


@pytest.mark.parametrize(("best", "satisfied"), [(1e-3, 1e-4), (neighbor_choice.LEAST_STRENGTH, 0.0), (0.01, 0.01)])
def test_strengths_go_on_while_the_smallest_wins_and_margins_are_broken(monkeypatch, best, satisfied):
    """Accuracies are those of a table on which weaker priors are better down to the best."""

    def scored(self, wanted, tol, limit):
        for one in wanted:
            strength = one[2] if one[2] < neighbor_choice.ALONE else 100.0
            right = np.arange(len(self.rest)) % 8 < (7.5 if strength == best else 3 - np.log10(strength))
            yield one, 0.0, strength <= satisfied, np.tile(right.astype(float), (len(self.corpora), 4, 1))

    monkeypatch.setattr(neighbor_choice.Split, "scored", scored)
    path = cm.NeighborMetric(scale=1.0).fit(X, Y).path_
    assert path.settings == {"prior": "identity", "scale": 1.0, "strength": best}
    assert path.at_limit == (best == neighbor_choice.LEAST_STRENGTH)
    assert ("chosen, the last strength that is tried" in str(path)) == path.at_limit
    beyond = {1e-3, 1e-4} if best < 0.01 else set()
    assert {one[2] for one in path.candidates if one[0] == "identity"} == {1e9, 10.0, 1.0, 0.1, 0.01} | beyond


def test_weak_strengths_are_reached_by_way_of_stronger_ones(monkeypatch):
    asked, solve_path = [], neighbor_choice.solve_path

    def recorded(problem, reg, **options):
        asked.append(reg)
        return solve_path(problem, reg=reg, **options)

    monkeypatch.setattr(neighbor_choice, "solve_path", recorded)
    (splits,) = neighbor_choice.stages(neighbor_choice.Table(X, Y, 3), 3, 1000, 0)
    for strengths, ways in (((0.001,), (0.1, 0.01)), ((0.1, 0.01), ()), ((neighbor_choice.ALONE,), None)):
        wanted = [("identity", 1.0, strength) for strength in strengths]
        assert [one[0] for one in splits[0].scored(wanted, (0.2, 1e-2), None)] == wanted
        if ways is not None:
            np.testing.assert_allclose(asked.pop(), np.r_[ways, strengths] * splits[0].bases.of("identity").reg)
    assert not asked


def test_a_long_table_is_scored_on_rows_that_its_samples_do_not_have():
    rng = np.random.default_rng(0)
    labels, points = rng.integers(3, size=1200), rng.normal(size=(1200, 4))
    dealt_rows = list(neighbor_choice.stages(neighbor_choice.Table(points, labels, 1), 4, 50, 0))
    sizes = [[len(split.learn) for split in splits] for splits in dealt_rows]
    assert [sum(len(split.rest) for split in dealt_rows[0]), *sizes[1:3]] == [26, [200], [900] * 4]
    seen = np.concatenate([[*split.learn, *split.rest] for splits in dealt_rows[:-1] for split in splits])
    five = neighbor_choice.Table(np.tile(points, (5, 1)), np.tile(labels, 5), 1)
    dealt_rows = list(neighbor_choice.stages(five, 4, 50, 0))
    seen = np.concatenate([[*split.learn, *split.rest] for splits in dealt_rows[:-1] for split in splits])
    assert len(dealt_rows[-1]) == 1
    assert not np.isin(dealt_rows[-1][0].rest, seen).any()
    # Copies of a row are on one side.
    assert not np.isin(dealt_rows[-1][0].rest % 1200, dealt_rows[-1][0].learn % 1200).any()


def test_what_is_scored_of_a_long_table_is_what_is_saved():
    digits = cm.datasets.load("digits")
    points, labels = digits.X[:600, 20:36] * np.linspace(0.1, 3.0, 16), digits.y[:600]
    metric = cm.NeighborMetric(max_rows=120, cv=3).fit(points, labels)
    scores = metric.held_out_
    assert (scores.rows, scores.of_rows, metric.path_.of_rows) == (600, 600, 600)
    assert metric.kept_
    assert scores.accuracy.difference > 0.0


def test_columns_that_do_not_vary_are_fitted():
    with pytest.warns(UserWarning, match="all distances are 0"):
        assert not cm.NeighborMetric().fit(np.ones((20, 3)), np.repeat([0, 1], 10)).kept_


def test_where_euclidean_distance_is_kept_nothing_else_is_scored():
    rng = np.random.default_rng(2)
    metric = cm.NeighborMetric().fit(rng.normal(size=(90, 3)), rng.integers(2, size=90))
    assert not metric.kept_
    assert (metric.held_out_.accuracy.after == metric.held_out_.accuracy.before).all()
    assert metric.held_out_.retrieval.p_value == 1.0


def test_for_retrieval_discriminant_analysis_is_a_candidate():
    metric = cm.NeighborMetric(scoring="map").fit(X, Y)
    scores = metric.held_out_.average_precision
    assert ("lda", 1.0, neighbor_choice.ALONE) in metric.path_.candidates
    assert scores.after.mean() >= scores.lda.mean() - 0.01


def test_for_retrieval_metric_learning_to_rank_is_a_candidate_whose_strengths_go_on(monkeypatch):
    """Average precisions are those of a table on which weaker strengths are better down to 0.001."""
    stage_of = neighbor_choice.Stage.deciding

    def deciding(self, one, part=None):
        return 1.0 - abs(np.log10(one[2]) + 3.0) / 10.0 if one[0] == "ranking" else 0.1 * stage_of(self, one, part)

    monkeypatch.setattr(neighbor_choice.Stage, "deciding", deciding)
    weights = 1.0 + np.arange(len(Y)) % 2
    metric = cm.NeighborMetric(scoring="map", cv=3, prior="discriminant", scale=1.0).fit(X, Y, weights)
    assert {one[2] for one in metric.path_.candidates if one[0] == "ranking"} == {1.0, 0.1, 0.01, 1e-3, 1e-4}
    assert metric.path_.settings == {"prior": "ranking", "scale": 1.0, "strength": 1e-3}
    assert metric.kept_
    assert metric.held_out_.retrieval.verdict == "helps"
    given = cm.NeighborMetric(**metric.path_.settings).fit(X, Y, weights)
    np.testing.assert_allclose(given.components_, metric.components_)
    for_accuracy = neighbor_choice.tried_at_first([("discriminant", 1.0, 1.0)], "accuracy")
    assert "ranking" not in {one[0] for one in for_accuracy}


def test_a_ranking_is_metric_learning_to_rank_in_the_coordinates_of_the_discriminant_prior(tmp_path):
    weights = 1.0 + np.arange(len(Y)) % 3
    metric = cm.NeighborMetric(prior="ranking", strength=0.1, tol=1e-6, scale=0.3).fit(X, Y, sample_weight=weights)
    Z = X @ np.linalg.cholesky(neighbor_choice.prior(X, Y, "discriminant"))
    same = cm.MLR(measure="auc", C=178.0, tol=1e-6).fit(Z, Y, sample_weight=weights)
    assert metric.solution_.upper_bound == pytest.approx(same.solution_.upper_bound, rel=1e-5)
    apart, wanted = (((P[:, None] - P) ** 2).sum(axis=2) for P in (metric.transform(X), same.transform(Z)))
    np.testing.assert_allclose(apart, wanted, rtol=1e-2, atol=1e-2)
    problem = metric.solution_.problem
    np.testing.assert_allclose(problem.nearest(metric.solution_.M), metric.certificate_.M, atol=1e-8)
    verdict = cm.write_certificate(tmp_path / "ranking.npz", metric.solution_)
    assert verdict.accepted
    assert "images of the points" in str(verdict)
    assert str(problem).endswith("L = problem.feature_map")


def test_of_a_long_table_some_rows_rank_the_others(monkeypatch):
    monkeypatch.setattr(neighbor_choice, "MOST_QUERIES", 60)
    problem = cm.NeighborMetric(prior="ranking", strength=1.0, scale=1.0).problem(X, Y)
    assert len(problem.rankings) == 60
    assert problem.C == 17.8
    assert (problem.rankings.relevance.n_relevant + problem.rankings.relevance.n_irrelevant == len(X) - 1).all()


def test_labels_are_predicted_by_the_vote_of_the_nearest_rows_learned_from():
    names = np.array(["one", "two", "three"])[Y]
    learn, rest = slice(0, None, 2), slice(1, None, 2)
    metric = cm.NeighborMetric(n_neighbors=5, prior="identity", scale=1.0, strength=0.1, tol=1e-2)
    with pytest.raises(NotFittedError):
        metric.predict(X)
    metric.fit(X[learn], names[learn])
    assert metric.classes_.tolist() == ["one", "three", "two"]
    L = metric.components_
    squares = ((X[rest][:, None] @ L.T - X[learn] @ L.T) ** 2).sum(axis=2)
    nearest = names[learn][np.argsort(squares, axis=1)[:, :5]]
    shares = (nearest[:, :, None] == metric.classes_).mean(axis=1)
    np.testing.assert_allclose(metric.predict_proba(X[rest]), shares)
    right = metric.predict(X[rest]) == names[rest]
    assert metric.score(X[rest], names[rest]) == right.mean() > 0.9


def test_it_is_a_classifier_and_a_step_before_others():
    scaled = make_pipeline(StandardScaler(), cm.NeighborMetric(prior="identity", scale=1.0, strength=1.0, tol=1e-2))
    assert is_classifier(scaled)
    alone = cross_val_score(scaled, wine.X, Y, cv=3)
    np.testing.assert_array_equal(
        alone, cross_val_score(make_pipeline(scaled, KNeighborsClassifier(3)), wine.X, Y, cv=3)
    )


def test_euclidean_distance_predicts_as_well():
    with warnings.catch_warnings(action="ignore"):
        metric = cm.NeighborMetric(max_seconds=1e-3).fit(X, Y)
    np.testing.assert_array_equal(metric.predict(X), KNeighborsClassifier(3).fit(X, Y).predict(X))


def test_too_many_neighbours_and_measurements_are_refused():
    with pytest.raises(InputError, match="n_neighbors must be below the number of points, 178, got 500"):
        cm.NeighborMetric(n_neighbors=500).fit(X, Y)
    for estimator in (cm.NeighborMetric(), cm.MLR()):
        with pytest.raises(InputError, match=r"looks like a measurement\. Put them into a few bins"):
            estimator.fit(X, wine.X[:, 0])


def test_a_metric_is_a_function_for_others():
    metric = cm.LargeMargin(tol=1e-2).fit(X, Y)
    distance = metric.get_metric()
    assert distance(X[0], X[1]) == pytest.approx(metric.pair_distance(X[[[0, 1]]])[0])
    assert distance(X[0], X[1], squared=True) == pytest.approx(distance(X[0], X[1]) ** 2)
