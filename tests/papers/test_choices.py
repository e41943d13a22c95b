"""Choices of people: candidates, formula, and what is refused."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import GridSearchCV

import convexmetric as cm
from convexmetric.errors import InputError
from convexmetric.losses import Logistic
from convexmetric.papers.choices import candidate_pairs, checked_trials
from convexmetric.risks import SmoothSeparableRisk

RNG = np.random.default_rng(0)
X = RNG.standard_normal((12, 3))
THREES = np.array([RNG.permutation(12)[:3] for _ in range(40)])


def distance(M, i, j):
    return float((X[i] - X[j]) @ M @ (X[i] - X[j]))


def random_metric():
    B = RNG.standard_normal((3, 3))
    return B @ B.T


def test_the_objective_of_odd_ones_out_is_minus_the_mean_logarithm_of_the_odds():
    M, reg, tau = random_metric(), 0.3, 0.7
    problem = cm.ChoiceProblem(X, THREES, kind="odd-one-out", reg=reg, temperature=tau)
    surprise = []
    for i, j, k in THREES:
        odds = {pair: np.exp(-distance(M, *pair) / tau) for pair in ((i, j), (i, k), (j, k))}
        surprise.append(-np.log(odds[i, j] / sum(odds.values())))
    assert problem.objective(M) == pytest.approx(reg * np.trace(M) + np.mean(surprise), rel=1e-12)
    assert problem.risk.value(np.zeros((3, 3))) == pytest.approx(np.log(3.0))


def test_of_several_that_were_chosen_the_mean_surprise_counts():
    M, trials = random_metric(), np.array([RNG.permutation(12)[:9] for _ in range(7)])
    problem = cm.ChoiceProblem(X, trials, kind="anchor", chosen=2, reg=0.5, penalty="squared-frobenius")
    surprise = []
    for anchor, *others in trials:
        odds = np.exp([-distance(M, anchor, other) for other in others])
        surprise.append(-np.log(odds[:2] / odds.sum()).mean())
    assert problem.objective(M) == pytest.approx(0.25 * np.sum(M**2) + np.mean(surprise), rel=1e-12)


def test_triplets_are_a_logistic_loss_and_an_anchor_with_two():
    triplets = cm.ChoiceProblem(X, THREES)
    anchored = cm.ChoiceProblem(X, THREES, kind="anchor")
    logistic = SmoothSeparableRisk(
        cm.RelativeComparisonProblem(X, THREES).risk.comparisons, Logistic(1.0 / len(THREES))
    )
    w = np.array([0.5, 2.0, 1.0])
    assert triplets.value(np.diag(w)) == anchored.value(np.diag(w))
    assert triplets.risk.value(np.diag(w)) == pytest.approx(logistic.value(w), rel=1e-10)


def test_the_temperature_is_a_unit():
    plain = cm.solve(cm.ChoiceProblem(X, THREES, reg=0.05), tol=1e-9)
    warm = cm.solve(cm.ChoiceProblem(X, THREES, reg=0.05 / 3.0, temperature=3.0), tol=1e-9)
    assert warm.upper_bound == pytest.approx(plain.upper_bound, rel=1e-8)
    np.testing.assert_allclose(warm.M, 3.0 * plain.M, atol=1e-3 * np.abs(plain.M).max())


@pytest.mark.parametrize("prior", [None, "identity"])
def test_reg_max_of_the_trace_is_where_metrics_begin(prior):
    problem = cm.ChoiceProblem(X, THREES, kind="odd-one-out", prior=prior)
    start = np.zeros((3, 3)) if prior is None else np.eye(3)
    at = cm.solve(problem.with_reg(1.01 * problem.reg_max), tol=1e-7)
    assert at.upper_bound == pytest.approx(problem.risk.value(start), rel=1e-6)
    below = cm.solve(problem.with_reg(0.5 * problem.reg_max), tol=1e-7)
    assert below.upper_bound < (1 - 1e-6) * problem.risk.value(start)


def test_the_metric_that_made_the_choices_is_found():
    rng, w = np.random.default_rng(3), np.array([6.0, 0.0, 1.5])
    objects = rng.standard_normal((40, 3))
    rows = np.array([rng.permutation(40)[:3] for _ in range(20_000)])
    pairs = candidate_pairs(rows, "odd-one-out")
    d = ((objects[pairs[..., 0]] - objects[pairs[..., 1]]) ** 2) @ w
    odd = np.array([2, 1, 0])[(rng.gumbel(size=d.shape) - d).argmax(axis=1)]
    answered = np.array([[*np.delete(row, k), row[k]] for row, k in zip(rows, odd, strict=True)])
    found = cm.solve(cm.ChoiceProblem(objects, answered, kind="odd-one-out", reg=1e-5), tol=1e-5)
    np.testing.assert_allclose(found.M, np.diag(w), atol=0.25)


def test_sparse_objects_take_weights_of_features():
    points = np.where(np.abs(X) > 0.6, X, 0.0)
    M = np.array([1.0, 0.5, 2.0])
    problems = [cm.ChoiceProblem(make(points), THREES, diagonal=True) for make in (sp.csr_array, np.array)]
    assert problems[0].value(M) == pytest.approx(problems[1].value(M), rel=1e-12)
    with pytest.raises(InputError, match=r"X is sparse: pass diagonal=True, or X\.toarray"):
        cm.ChoiceProblem(sp.csr_array(points), THREES)


@pytest.mark.parametrize("diagonal", [False, True])
def test_it_keeps_the_contract(diagonal):
    for kind, penalty in itertools.product(("odd-one-out", "triplets"), ("trace", "squared-frobenius")):
        cm.check_problem(cm.ChoiceProblem(X, THREES[:9], kind=kind, penalty=penalty, diagonal=diagonal))


def test_scores_break_ties_by_chance():
    # Objects 0 and 1 are one point, 2 and 3 another: whichever is odd of 0, 2, 3 is known, of 2 and 3 to 0 nothing is.
    points = np.array([[0.0, 0], [0, 0], [1, 0], [1, 0], [2, 2], [3, 1]])
    metric = cm.ChoiceMetric(kind="odd-one-out").fit(points, [[0, 1, 4], [2, 3, 4], [0, 2, 5]])
    assert metric.score(points, [[2, 3, 0]]) == 1.0
    assert metric.score(points, [[2, 0, 3]]) == 0.0
    assert metric.set_params(kind="anchor").score(points, [[0, 2, 3]]) == pytest.approx(0.5)
    assert metric.score(points, [[0, 3, 1]]) == 0.0
    np.testing.assert_allclose(metric.probabilities([[0, 2, 3]], points), 0.5)


def test_trials_by_number_and_by_value_are_the_same_trials():
    trials = np.array([RNG.permutation(12)[:5] for _ in range(30)])
    made = [cm.ChoiceMetric(kind="anchor", chosen=2, preprocessor=p) for p in (None, None, X)]
    made[0].fit(X, trials), made[1].fit(X[trials]), made[2].fit(trials)
    scores = [made[0].score(X, trials), made[1].score(X[trials]), made[2].score(trials)]
    assert scores[0] == scores[1] == scores[2]
    for other in made[1:]:
        assert other.certificate_.upper_bound == pytest.approx(made[0].certificate_.upper_bound, rel=1e-3)
    p = made[0].probabilities(trials, X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert -np.log(p[:, :2]).mean() == pytest.approx(made[0].solution_.problem.risk.value(made[0].solution_.M))


def test_labels_make_no_trials_with_several_chosen():
    with pytest.raises(InputError, match="labels make trials of which one object is chosen"):
        cm.ChoiceMetric(kind="anchor", chosen=2).fit(X, np.arange(12) % 3)


def test_a_weight_is_chosen_on_held_out_trials():
    metric = cm.ChoiceMetric(kind="odd-one-out", preprocessor=X)
    weights = metric.weights(metric.problem(THREES))
    assert list(weights) == sorted(weights, reverse=True)
    search = GridSearchCV(metric, {"reg": weights}, cv=3).fit(THREES)
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])
    assert search.best_estimator_.reg_ == search.best_params_["reg"]


def test_checked_trials_are_integers():
    assert checked_trials(THREES.astype(np.int32), 12, "triplets").dtype == np.int64


def answered(coordinates, count, rng):
    """Triplets in the order of distances between coordinates."""
    rows = np.array([rng.permutation(len(coordinates))[:3] for _ in range(count)])
    near, far = (((coordinates[rows[:, 0]] - coordinates[rows[:, place]]) ** 2).sum(axis=1) for place in (1, 2))
    return np.where((near > far)[:, None], rows[:, [0, 2, 1]], rows)


def test_the_metric_of_objects_without_features_is_their_gram_matrix():
    Z = RNG.standard_normal((12, 2))
    i, j, k = THREES.T
    problem = cm.ChoiceProblem(None, THREES, reg=0.2)
    margins = ((Z[i] - Z[k]) ** 2).sum(axis=1) - ((Z[i] - Z[j]) ** 2).sum(axis=1)
    assert problem.objective(Z @ Z.T) == pytest.approx(0.2 * np.sum(Z**2) + np.log1p(np.exp(-margins)).mean())
    assert "a Gram matrix" in str(problem.with_reg(0.1))


def test_objects_without_features_are_embedded():
    rng = np.random.default_rng(1)
    Z = rng.standard_normal((20, 2))
    trials, others = answered(Z, 1000, rng), answered(Z, 500, rng)
    metric = cm.ChoiceMetric(n_components="rank")
    embedding = metric.fit_transform(trials)
    assert metric.fit(trials).score(others) > 0.9  # fitted twice, as it would be in a search
    np.testing.assert_array_equal(metric.embedding_, embedding)
    assert metric.reg_ == pytest.approx(np.sqrt(20 / 1000) * metric.problem(trials).reg_max)
    np.testing.assert_allclose(embedding @ embedding.T, metric.solution_.M, atol=1e-8 * np.abs(embedding).max() ** 2)
    np.testing.assert_allclose(metric.transform([3, 0]), embedding[[3, 0]])
    distance = np.linalg.norm(embedding[5] - embedding[7])
    assert metric.pair_distance([[5, 7]]) == pytest.approx(distance)
    assert metric.score(others) == (metric.predict(others) > 0).mean()
    d = [metric.pair_distance(others[:, [0, place]]) ** 2 for place in (1, 2)]
    np.testing.assert_allclose(metric.probabilities(others)[:, 0], 1.0 / (1.0 + np.exp(d[0] - d[1])))
    search = GridSearchCV(metric, {"reg": [0.1 * metric.reg_, metric.reg_]}, cv=3, error_score="raise").fit(trials)
    assert search.best_estimator_.embedding_.shape[0] == 20
    with pytest.raises(InputError, match="known only from the trials of fit"):
        metric.score([[0, 1, 20]])
    assert metric.fit(X, THREES).embedding_ is None
    assert metric.transform(X).shape[0] == 12
