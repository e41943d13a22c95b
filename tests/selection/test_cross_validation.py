"""Cross-validation: folds, what is held out, and the scores against doing it by hand."""

from dataclasses import replace

import joblib
import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

import convexmetric as cm
from convexmetric.comparisons import Relevance
from convexmetric.errors import InputError
from convexmetric.plotting import plot_validation
from convexmetric.selection import Validation
from convexmetric.selection.folds import dealt_evenly, first_best

C = [30.0, 0.05, 3.0]


@pytest.fixture(scope="module")
def points():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], [14, 11, 15])
    X = rng.standard_normal((40, 4)) * [1.0, 1.0, 3.0, 3.0]
    X[:, 0] += 3.0 * (y == "a")
    X[:, 1] += 3.0 * (y == "b")
    return X, y


@pytest.fixture(scope="module")
def validation(points):
    return cm.cross_validate(*points, C=C, measure="map", cv=4, score=["map", "accuracy@3", "ndcg-paper@2"], tol=1e-4)


def test_every_fold_is_scored_by_a_metric_that_has_not_seen_it(points, validation):
    X, y = points
    fold_of = dealt_evenly(y, 4, 0)
    assert validation.values.tolist() == sorted(C)
    for fold in range(4):
        held = fold_of == fold
        problem = cm.RankingProblem.from_labels(X[~held], y[~held], measure="map")
        for c, solution in enumerate(cm.solve_path(problem, validation.values, tol=1e-4)):
            M = solution.M
            relevance = Relevance.between(y[held], y[~held])
            scores = cm.evaluation.retrieval_scores(M, X[~held], relevance, queries=X[held], k=2)
            for name in ("map", "ndcg-paper@2"):
                assert validation.scores[name][c, fold] == pytest.approx(scores[name])
            if c:
                values, vectors = np.linalg.eigh(M)
                L = vectors * np.sqrt(np.maximum(values, 0.0))
                theirs = KNeighborsClassifier(3, algorithm="brute").fit(X[~held] @ L, y[~held])
                # scikit-learn settles a vote of one against one against one differently.
                differ = 1.0 / held.sum() + 1e-12
                assert abs(validation.scores["accuracy@3"][c, fold] - theirs.score(X[held] @ L, y[held])) <= differ


def test_the_best_is_the_highest_mean_and_the_simplest_of_equals(validation):
    means = [validation.scores["map"][c].mean() for c in range(3)]
    assert validation.best == sorted(C)[int(np.argmax(means))]
    assert validation.best > 0.05
    assert validation.gaps.max() <= 1e-4
    assert first_best(np.array([[0.1, 0.5], [0.3, 0.3]])) == 0
    level = Validation(("C",), ((1.0,), (2.0,)), {"auc": np.full((2, 1), 0.5)}, np.zeros((2, 1)), 0, 9, 9, 0.0)
    assert level.best == 1.0
    assert level.std().tolist() == [0.0, 0.0]


def test_a_score_is_keyed_by_the_discount_that_it_has(points):
    found = cm.cross_validate(*points, C=[1.0], cv=2, score=["ndcg@3", "ndcg-paper@3", "ndcg-log2@3"], tol=0.1)
    assert list(found.scores) == ["ndcg-paper@3", "ndcg-log2@3"]
    assert (found.scores["ndcg-paper@3"] != found.scores["ndcg-log2@3"]).any()


def test_printed_table(validation):
    lines = str(validation).splitlines()
    assert len(lines) == 5
    assert [line.split()[0] for line in lines[2:]] == ["0.05", "3", "30"]
    assert [line.endswith("  chosen") for line in lines[2:]] == [validation.best == C_ for C_ in validation.values]


def test_folds_are_stratified_and_depend_on_the_seed_only(points):
    _, y = points
    fold_of = dealt_evenly(y, 4, 1)
    sizes = np.array([[np.sum((fold_of == f) & (y == c)) for f in range(4)] for c in "abc"])
    assert (np.ptp(sizes, axis=1) <= 1).all()
    assert np.ptp(sizes.sum(axis=0)) <= 1
    assert np.array_equal(fold_of, dealt_evenly(y, 4, 1))
    assert not np.array_equal(fold_of, dealt_evenly(y, 4, 2))


def test_a_problem_with_some_of_its_queries():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((20, 3))
    problem = cm.RankingProblem(X, [np.array([(q + 1) % 20]) for q in range(20)], C=5.0, measure="ndcg", k=3)
    rows = np.array([3, 17, 4])
    part = problem.with_queries(rows)
    for at, q in enumerate(rows):
        for ours, theirs in zip(part.rankings.relevance.of(at), problem.rankings.relevance.of(q), strict=True):
            assert np.array_equal(ours, theirs)
    assert len(part.rankings) == 3
    singles = [problem.with_queries([q]).objective(np.eye(3)) - 3.0 for q in rows]
    assert part.objective(np.eye(3)) - 3.0 == pytest.approx(np.mean(singles))
    with pytest.raises(InputError, match="queries is empty"):
        problem.with_queries([])


def test_classes_too_small():
    X, y = np.arange(12.0).reshape(6, 2), ["a", "a", "a", "a", "b", "b"]
    with pytest.raises(InputError, match="class 'b' has 2 points, too few to learn from with 2 folds"):
        cm.cross_validate(X, y, [1.0], cv=2)


def test_plot(validation):
    ax = plot_validation(validation)
    points, *_ = [line for line in ax.lines if len(line.get_xdata()) == 3]
    assert points.get_ydata() == pytest.approx(validation.mean())
    assert ax.get_title() == f"Best: C = {validation.best:g}"
    assert plot_validation(validation, "accuracy@3").get_ylabel() == "accuracy@3 of held-out queries"


@pytest.mark.integration
def test_folds_go_through_joblib_with_the_same_scores(points, validation):
    asked = {"C": C, "measure": "map", "cv": 4, "score": ["map", "accuracy@3", "ndcg-paper@2"], "tol": 1e-4}
    side_by_side = cm.cross_validate(*points, **asked, n_jobs=2)
    with joblib.parallel_config(backend="threading", n_jobs=2):
        by_context = cm.cross_validate(*points, **asked)
    for found in (side_by_side, by_context):
        assert found.best == validation.best
        for name, scores in validation.scores.items():
            assert found.scores[name] == pytest.approx(scores)
    with pytest.raises(InputError, match="n_jobs must be an integer other than 0"):
        cm.cross_validate(*points, C=C, n_jobs=0)


def test_a_candidate_has_one_label_in_the_table_and_elsewhere():
    """A strength so large that the prior is left alone says so; an infinite C, a hard margin, does not."""
    candidates = ("lda", 1.0, 1e9), ("lda", 0.3, 10.0), ("lda", 1.0, np.inf)
    tried = candidates, {"auc": np.ones((3, 1))}, np.zeros((3, 1)), 0, 9, 9, 0.0
    path = Validation(("prior", "scale", "strength"), *tried)
    labels = ["lda, scale = 1, alone", "lda, scale = 0.3, strength = 10", "lda, scale = 1, strength = inf"]
    assert [row[0] for row in path.cells()] == [path.label(at) for at in range(3)] == labels
    assert path.heading().startswith(f"{labels[0]}, chosen by auc")
    assert path.label(1, -1) == "lda, scale = 0.3"
    assert replace(path, unlearned="Euclidean distance").label(0, -1) == "Euclidean distance"
    single = replace(path, names=("C",), candidates=((1.0,), (2.5,), (3.0,)), index=1)
    assert single.heading().startswith("C = 2.5, chosen")
    assert [row[0] for row in single.cells()] == ["1", "2.5", "3"]
