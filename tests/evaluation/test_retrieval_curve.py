"""Mean average precision and precision-recall curves against scikit-learn, brute force and the package's own MAP."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import average_precision_score

import convexmetric as cm
from convexmetric.comparisons import Relevance


def example(seed=0, q=12, n=25):
    rng = np.random.default_rng(seed)
    return rng.random((q, n)), rng.random((q, n)) < 0.3


def test_mean_average_precision_is_scikit_learns():
    D, relevant = example()
    found = cm.evaluation.retrieval_curve(D, relevant)
    expected = np.mean([average_precision_score(r, -d) for d, r in zip(D, relevant, strict=True)])
    assert found.mean_average_precision == pytest.approx(expected)
    assert found.queries == 12
    assert (
        cm.evaluation.retrieval_curve(D, sp.csr_array(relevant)).mean_average_precision == found.mean_average_precision
    )


def test_the_standard_error_is_that_of_a_mean_over_queries():
    D, relevant = example()
    scores = [average_precision_score(r, -d) for d, r in zip(D, relevant, strict=True)]
    assert cm.evaluation.retrieval_curve(D, relevant).standard_error == pytest.approx(
        np.std(scores, ddof=1) / np.sqrt(12)
    )
    assert np.isnan(cm.evaluation.retrieval_curve(D[:1], relevant[:1]).standard_error)


def test_interpolated_precision_by_brute_force():
    levels = np.linspace(0.0, 1.0, 11)
    D, relevant = example(1)
    expected = np.zeros((len(D), len(levels)))
    for row, (d, r) in enumerate(zip(D, relevant, strict=True)):
        hits = np.cumsum(r[np.argsort(d)])
        for column, level in enumerate(levels):
            reached = [hits[k] / (k + 1) for k in range(d.size) if hits[k] >= 1 and hits[k] / r.sum() >= level - 1e-12]
            expected[row, column] = max(reached)
    found = cm.evaluation.retrieval_curve(D, relevant)
    np.testing.assert_allclose(found.precision, expected.mean(axis=0))


def test_it_is_the_map_of_retrieval_scores():
    rng = np.random.default_rng(2)
    X, Y = rng.standard_normal((15, 3)), rng.standard_normal((11, 2))
    labels_x, labels_y = np.arange(15) % 3, np.arange(11) % 3
    problem = cm.CrossModalProblem(X, Y, labels_x, labels_y, 1.0, 0.1, n_clusters=2, n_neighbors=3, random_state=0)
    W = cm.solve(problem).M
    mine = cm.evaluation.retrieval_curve(problem.distances(W, X, Y), labels_x[:, None] == labels_y)
    items, queries = np.pad(Y, ((0, 0), (3, 0))), np.pad(X, ((0, 0), (0, 2)))
    scores = cm.evaluation.retrieval_scores(W, items, Relevance.between(labels_x, labels_y), queries=queries)
    assert mine.mean_average_precision == pytest.approx(scores["map"])


def test_ties_and_queries_without_relevant_items():
    found = cm.evaluation.retrieval_curve(np.zeros((2, 4)), [[0, 0, 0, 1], [0, 0, 0, 0]])
    assert found.mean_average_precision == 0.25
    assert found.queries == 1
    assert str(found) == "MAP 0.2500   (1 queries)"
