"""The parts of the experiments on relative comparisons: distances, notions, and the tables."""

import numpy as np
import pytest
import scipy.sparse as sp
from relative_paper import paper, pictures, protocol

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("w", [None, np.array([1.0, 0.0, 2.0])])
def test_satisfied_counts_triplets(w):
    X = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    triplets = np.array([[0, 1, 2], [0, 3, 2], [0, 2, 1], [1, 0, 3]])
    weights = np.ones(3) if w is None else w
    distance = [[float(weights @ (x - z) ** 2) for z in X] for x in X]
    correct = np.mean([distance[i][j] < distance[i][k] for i, j, k in triplets])
    assert protocol.satisfied(sp.csr_array(X), w, triplets, block=3) == 100.0 * correct


def test_distances_are_those_of_the_definition():
    rng = np.random.default_rng(0)
    X, w = rng.integers(0, 2, (6, 4)).astype(float), rng.random(4)
    expected = [[np.sqrt(w @ (x - z) ** 2) for z in X] for x in X]
    np.testing.assert_allclose(pictures.distances(sp.csr_array(X), w), expected, atol=1e-12)


def test_universities_are_four_named_and_three_guessed(data_folder):
    data = protocol.pages("text", 10)
    counts = {}
    for name in ("university-4", "university-7", "topic"):
        labels = protocol.labels_of(protocol.NOTIONS[name], data)
        counts[name] = dict(zip(*np.unique(labels[labels != ""], return_counts=True), strict=True))
    named = {"cornell": 226, "texas": 252, "washington": 255, "wisconsin": 308}
    assert counts["university-4"] == named
    assert counts["university-7"] == named | {"nyu.edu": 105, "rutgers.edu": 110, "umass.edu": 107}
    assert sum(counts["topic"].values()) == 4199


def test_tables_have_a_notion_once_and_the_papers_numbers_where_there_are_any():
    result = {"learned": 79.0, "binary": 60.0, "tfidf": 50.0, "rank": 7, "gap": 1e-4}
    found = {("topic", "page"): [result, result | {"learned": 81.0}], ("topic", "html"): [result]}
    first, second = paper.satisfied(found, paper=True).rows
    assert first == ["Topic", "page", "2", "80.00 ± 1.00 / 75.40", "60.00 ± 0.00 / 61.82", "50.00 ± 0.00 / 55.57", "7"]
    assert second[:4] == ["", "HTML", "1", "79.00 / 75.40"]
    assert paper.satisfied(found, paper=False).rows[1][3:6] == ["79.00", "60.00", "50.00"]
    assert paper.curve({2000: found["topic", "page"]}).rows == [["2,000", "2", "80.00 ± 1.00", "7", "1e-04"]]
