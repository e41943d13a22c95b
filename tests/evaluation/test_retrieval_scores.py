"""Scores and errors of a metric against independent computations."""

import math
import tracemalloc
from itertools import combinations

import numpy as np
import pytest
from samples import as_matrix, random_lists
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.neighbors import KNeighborsClassifier

import convexmetric as cm
from convexmetric.comparisons import Relevance
from convexmetric.evaluation import knn_error, mean_scores, retrieval_scores
from convexmetric.measures import MEASURES, measure_named

#: Numbers of relevant and irrelevant items, six at most in all.
SHORT = [(p, n) for p in range(1, 6) for n in range(1, 7 - p)]


def example(seed=0, n=60, n_queries=25, d=4):
    rng = np.random.default_rng(seed)
    X, Q = rng.normal(size=(n, d)), rng.normal(size=(n_queries, d))
    B = rng.normal(size=(d, d))
    return rng, X, Q, B @ B.T, rng.integers(0, 3, n), rng.integers(0, 3, n_queries)


def plain_score(name, k, ranking):
    """The definition, place by place, of a ranking from top to bottom: is the item relevant?"""
    ranking = [bool(item) for item in ranking]
    places = [t for t, item in enumerate(ranking, 1) if item]
    p, n = len(places), len(ranking) - len(places)
    if name == "auc":
        return sum(not item for s in places for item in ranking[s:]) / (p * n)
    if name == "map":
        return sum(sum(ranking[:t]) / t for t in places) / p
    if name == "mrr":
        return 1.0 / places[0]
    if name == "precision":
        return sum(ranking[:k]) / k
    if name == "err":
        # The reader stops at a relevant item with the chance 1/2, and has read one item if that is the first.
        def expected(items):
            goes_on, total = 1.0, 0.0
            for t, item in enumerate(items, 1):
                stops = goes_on * 0.5 * item
                total, goes_on = total + stops / t, goes_on - stops
            return total

        return expected(ranking) / expected(sorted(ranking, reverse=True))
    if name == "knn":
        return float(sum(ranking[:k]) / k > 0.5)

    def gain(items):
        shift = 1 if name == "ndcg-log2" else 0
        return sum(1.0 / math.log2(max(2, t + shift)) for t, item in enumerate(items[:k], 1) if item)

    return gain(ranking) / gain(sorted(ranking, reverse=True))


def test_scores_of_all_rankings_of_small_lists_are_the_plain_definitions():
    measures = [
        measure_named(name, k)
        for name in MEASURES
        for k in ((1, 2, 3, 4, 5, 8) if name in ("precision", "ndcg", "ndcg-log2", "knn") else (None,))
    ]
    for p, n in SHORT:
        rankings = [np.isin(np.arange(p + n), places) for places in combinations(range(p + n), p)]
        scores = [[plain_score(m.name, m.k, ranking) for m in measures] for ranking in rankings]
        for ranking, expected in zip(rankings, scores, strict=True):
            i, b = np.arange(1, p + 1), np.cumsum(~ranking)[ranking]
            assert [m.plain_gains(i, b, p, n).sum() for m in measures] == pytest.approx(expected)
        # Row r of the corpus is at place r + 1 of every query.
        X, queries = np.arange(1.0, p + n + 1.0)[:, None], np.zeros((len(rankings), 1))
        lists = [np.flatnonzero(row) for row in rankings], [np.flatnonzero(~row) for row in rankings]
        problem = cm.RankingProblem(X, *lists, queries=queries)
        assert mean_scores(problem.rankings, np.eye(1), measures) == pytest.approx(list(np.mean(scores, axis=0)))


def test_precision_divides_by_k_whatever_there_is():
    X = np.arange(1.0, 7.0)[:, None]
    lists = [[0, 3, 4, 5]], [[1, 2]]
    assert retrieval_scores([1.0], X, *lists, queries=[[0.0]], k=3)["precision@3"] == pytest.approx(1 / 3)
    scores = retrieval_scores([1.0], X, [[0, 2, 3, 4]], [[1, 5]], queries=[[0.0]], k=[3, 10])
    assert scores["precision@3"] == pytest.approx(2 / 3)
    assert scores["precision@10"] == pytest.approx(4 / 10)
    perfect = retrieval_scores([1.0], X, [[0, 1]], [[2, 3]], queries=[[0.0]], k=3)
    assert perfect["precision@3"] == pytest.approx(2 / 3)
    assert perfect["ndcg-paper@3"] == pytest.approx(1.0)


def test_scores_are_the_means_of_the_definitions():
    _, X, Q, M, y, labels = example()
    scores = retrieval_scores(M, X, Relevance.between(labels, y), queries=Q, k=[1, 5])
    D = np.array([[(q - x) @ M @ (q - x) for x in X] for q in Q])
    rankings = [(y == label)[np.argsort(row)] for row, label in zip(D, labels, strict=True)]
    for name in MEASURES:
        if name in ("knn", "ndcg-log2", "err"):
            continue
        for k in (1, 5) if name in ("precision", "ndcg") else (None,):
            measure = measure_named(name, k)
            expected = np.mean([measure.score(ranking) for ranking in rankings])
            assert scores[measure.label] == pytest.approx(expected)
    truth = [y == label for label in labels]
    assert scores["auc"] == pytest.approx(np.mean([roc_auc_score(t, -row) for t, row in zip(truth, D, strict=True)]))
    assert scores["map"] == pytest.approx(
        np.mean([average_precision_score(t, -row) for t, row in zip(truth, D, strict=True)])
    )
    assert str(scores).startswith("auc 0.")
    assert str(scores).endswith("(25 queries)")


@pytest.mark.parametrize("form", ["lists", "matrix"])
def test_lists_in_either_layout_have_the_same_scores(form):
    rng, X, Q, M, _, _ = example(1)
    relevant, irrelevant = random_lists(rng, len(Q), len(X))
    given = (relevant, irrelevant) if form == "lists" else (as_matrix(relevant, len(X)), as_matrix(irrelevant, len(X)))
    scores = retrieval_scores(M, X, *given, queries=Q)
    problem = cm.RankingProblem(X, *given, queries=Q)
    measures = [measure_named("auc"), measure_named("map"), measure_named("ndcg", 10)]
    for dense in (True, False):
        problem.rankings.dense = dense
        for measure, mean in zip(measures, mean_scores(problem.rankings, M, measures), strict=True):
            assert scores[measure.label] == pytest.approx(mean)


def test_diagonal_metrics_and_the_rest_as_irrelevant():
    _, X, _, _, y, _ = example(2)
    w = np.array([1.0, 0.5, 0.0, 2.0])
    relevant = [np.flatnonzero((y == label) & (np.arange(len(y)) != q)) for q, label in enumerate(y)]
    by_lists = retrieval_scores(w, X, relevant)
    by_labels = retrieval_scores(np.diag(w), X, Relevance.from_labels(y))
    assert by_lists.means == pytest.approx(by_labels.means)


@pytest.mark.parametrize("k", [1, 2, 3, 7, 30])
def test_errors_of_neighbours_agree_with_scikit_learn(k):
    _, X, Q, M, y, labels = example(3)
    L = np.linalg.cholesky(M)
    theirs = KNeighborsClassifier(k, algorithm="brute").fit(X @ L, y)
    votes = np.array([np.bincount(y[i], minlength=3) for i in theirs.kneighbors(Q @ L, return_distance=False)])
    unique = (votes == votes.max(axis=1, keepdims=True)).sum(axis=1) == 1
    assert unique.any()
    ours = knn_error(M, X, y, Q[unique], labels[unique], k=k)
    assert ours == pytest.approx(1.0 - theirs.score(Q[unique] @ L, labels[unique]))
    assert knn_error(M, X, y, Q[unique], labels[unique], k=[1, k])[k] == ours


def test_ties_among_neighbours_and_votes():
    X = np.array([[0.0], [1.0], [1.0], [2.0]])
    # At 0.5 rows 0, 1 and 2 are equally near: the smaller numbers come first.
    assert knn_error([1.0], X, ["a", "b", "c", "c"], [[0.5]], ["a"], k=1) == 0.0
    assert knn_error([1.0], X, ["a", "b", "c", "c"], [[0.5]], ["a"], k=2) == 0.0
    assert knn_error([1.0], X, ["b", "a", "a", "c"], [[0.5]], ["a"], k=3) == 0.0
    # Of two points at the same distance the one with the smaller row number stands first, relevant or not.
    assert retrieval_scores([1.0], X, [[2]], [[1]], queries=[[0.0]])["auc"] == 0.0
    assert retrieval_scores([1.0], X, [[1]], [[2]], queries=[[0.0]])["auc"] == 1.0


@pytest.mark.parametrize("dense", [True, False])
def test_ties_do_not_look_at_relevance(dense):
    """Few different distances, so that every query has many ties: scores are those of a sort by (distance, row)."""
    rng = np.random.default_rng(7)
    X, Q = rng.integers(0, 3, (40, 2)).astype(float), rng.integers(0, 3, (15, 2)).astype(float)
    order = [rng.permutation(40) for _ in Q]
    relevant, irrelevant = [o[:9] for o in order], [o[9:25] for o in order]
    measures = [measure_named(name) for name in MEASURES]
    for M in (np.eye(2), np.zeros((2, 2))):
        problem = cm.RankingProblem(X, relevant, irrelevant=irrelevant, queries=Q)
        problem.rankings.dense = dense
        expected = []
        for q, mine, others in zip(Q, relevant, irrelevant, strict=True):
            rows = np.concatenate([mine, others])
            distances = np.einsum("ij,jk,ik->i", X[rows] - q, M, X[rows] - q)
            ranking = np.isin(rows[np.lexsort((rows, distances))], mine)
            expected.append([plain_score(measure.name, measure.k, ranking) for measure in measures])
        assert mean_scores(problem.rankings, M, measures) == pytest.approx(list(np.mean(expected, axis=0)))


def test_a_metric_that_sees_nothing_does_not_score():
    rng = np.random.default_rng(8)
    X, y = rng.standard_normal((200, 3)), rng.integers(0, 2, 200)
    assert retrieval_scores(np.zeros(3), X, Relevance.from_labels(y))["auc"] == pytest.approx(0.5, abs=0.05)


def test_lists_over_a_large_corpus_take_no_memory_for_queries_times_corpus():
    rng = np.random.default_rng(9)
    n, n_queries, d = 60_000, 6_000, 8
    X = rng.standard_normal((n, d))
    rows = rng.permuted(np.tile(np.arange(20), (n_queries, 1)), axis=1) * (n // 20) + rng.integers(
        0, n // 20, (n_queries, 20)
    )
    tracemalloc.start()
    scores = retrieval_scores(np.eye(d), X, list(rows[:, :6]), list(rows[:, 6:]), queries=X[:n_queries])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(scores.queries) == n_queries
    assert peak < 100e6 < 8 * n * n_queries
