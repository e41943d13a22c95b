"""The experiments on large graphs: what their parts claim, and that an interrupted run goes on."""

import numpy as np
import pytest
import scipy.sparse as sp
from graph_paper import learners, nodes, paper, phenotypes, pictures, protocol
from sklearn.metrics import roc_auc_score

import convexmetric as cm

pytestmark = pytest.mark.integration

EXACT = learners.Precision(1e-6, 20.0, 4, 60)
ROUGH = learners.Precision(1e-3, 20.0, 2, 20)


def words(n=90, d=24, seed=0):
    """Binary words, a few of which tell one of three groups, and links inside the groups."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    X = rng.random((n, d)) < 0.25
    X[np.arange(n), 2 * y] |= rng.random(n) < 0.8
    X[np.arange(n), 2 * y + 1] |= rng.random(n) < 0.8
    links = np.triu((y[:, None] == y) & (rng.random((n, n)) < 0.3), 1)
    return sp.csr_array(X.astype(float)), y, sp.csr_array((links | links.T).astype(float))


@pytest.mark.parametrize("seed", range(3))
def test_the_area_is_that_of_linked_pairs(seed):
    rng = np.random.default_rng(seed)
    distances = rng.integers(6, size=(20, 20)).astype(float)
    distances += distances.T
    linked = rng.random((20, 20)) < 0.3
    linked |= linked.T
    pairs = np.triu_indices(20, 1)
    assert protocol.pair_auc(distances, linked) == pytest.approx(roc_auc_score(linked[pairs], -distances[pairs]))
    assert protocol.pair_auc(np.zeros((20, 20)), linked) == 0.5
    assert np.isnan(protocol.pair_auc(distances, np.zeros((20, 20), dtype=bool)))


def test_nodes_are_split_once():
    train, test = protocol.split(50, 3, None)
    assert len(test) == 10
    assert sorted([*train, *test]) == list(range(50))
    folds = [protocol.split(50, part, 3)[1] for part in range(3)]
    assert sorted(np.concatenate(folds)) == list(range(50))


@pytest.mark.parametrize("method", learners.GRAPH_METHODS)
def test_every_variant_on_a_small_graph(method):
    X, _, adjacency = words()
    every = nodes.Graph(X, adjacency)
    train, test = (every.part(rows) for rows in protocol.split(len(every), 0, None))
    grid = learners.settings_of(method)
    result = protocol.run_on(train, test, method, grid, 8, 2, 2, 0, EXACT, ROUGH)
    assert len(result["auc"]) == (2 if learners.is_random(method) else 1)
    assert all(0.0 <= value <= 1.0 for value in result["auc"])
    if method == "Euclidean":
        assert result["gaps"] == [None]
    elif method == "E":
        assert max(result["gaps"]) < 0.1
    else:
        assert max(result["gaps"]) <= 1e-6
        assert len(result["rough_gaps"]) == 2 * len(grid)
        assert max(result["rough_gaps"]) <= 1e-3


@pytest.mark.parametrize("method", ["A", "J", "K"])
def test_labels_instead_of_links(method):
    X, y, _ = words(n=120)
    every = nodes.Labelled(X, np.where(np.arange(120) == 7, 99, y))
    train, test = (every.part(rows) for rows in protocol.split(len(every), 0, 3))
    result = protocol.run_on(train, test, method, learners.settings_of(method), 12, 2, 1, 0, EXACT, ROUGH)
    plain = protocol.run_on(train, test, "Euclidean", [0.0], 12, 2, 1, 0, EXACT, ROUGH)
    assert result["auc"][0] > plain["auc"][0] + 0.05


def test_a_grid_grows_at_the_end_that_is_chosen():
    assert protocol.beyond([0.1, 0.01, 0.001], 0.001) == [1e-4]
    assert protocol.beyond([0.01, 0.1, 1.0], 1.0) == [10.0]
    assert protocol.beyond([0.1, 0.01, 0.001], 0.01) == []
    X, y, _ = words(n=120)
    every = nodes.Labelled(X, y)
    train, test = (every.part(rows) for rows in protocol.split(len(every), 0, 3))
    grid = [1e3, 1e2]
    found = protocol.run_on(train, test, "A", grid, 12, 2, 1, 0, EXACT, ROUGH, widen=3)
    assert found["tried"][:2] == grid
    assert len(found["tried"]) == len(found["held_out"]) <= 5
    means = np.mean(found["held_out"], axis=1)
    assert found["chosen"] == found["tried"][int(np.argmax(means))]


def test_distances_are_those_of_the_solution():
    X, y, _ = words(n=60)
    for method in ("A", "F", "J"):
        problem = nodes.Labelled(X, y).problem(cm.papers.VARIANTS[method], 6, 0)
        (found,) = learners.learn(method, nodes.Labelled(X, y), [0.1], 6, 0, EXACT)
        solution = cm.solve(problem.with_reg(0.1 * problem.reg_max))
        images = X @ solution.components.T
        images = images.toarray() if sp.issparse(images) else images
        expected = ((images[:, None] - images[None]) ** 2).sum(axis=2)
        np.testing.assert_allclose(found.distances(X), expected, rtol=1e-3, atol=1e-4 * expected.max())


def test_synthetic_descriptions_have_the_sizes_of_the_paper():
    X, y = phenotypes.descriptions()
    assert X.shape == (2_484, 18_919)
    counts = np.bincount(y)
    assert len(counts) == 160
    assert counts.min() >= 2
    # Table 3 of the paper: 98,964 of 2,923,362 training pairs are connected.
    assert np.sum(counts * (counts - 1)) / (2_484 * 2_483) == pytest.approx(98_964 / 2_923_362, abs=0.015)


def test_tables_have_every_method_of_the_paper(tmp_path):
    result = {"auc": [0.7, 0.8], "objectives": [1.0, 1.5], "gaps": [1e-7, 2e-7], "rough_gaps": [1e-4]}
    result |= {"seconds": [1.0, 3.0], "ranks": [4, 5]}
    found = {("cora", "G"): [result], ("webkb", "G"): [result, result]}
    graphs, labels = paper.graphs(found, ["cora"]), paper.labels(found, ["webkb"])
    by_method = {row[0]: row[1:] for row in graphs.rows}
    assert set(paper.WIKIPEDIA) < set(by_method)
    assert by_method["G"] == ["0.750", "0.791", "0.726"]
    assert by_method["Euclidean"] == ["-", "-", "-"]
    by_method = {row[0]: row[1:] for row in labels.rows}
    assert set(paper.PHENOTYPES) < set(by_method)
    assert by_method["G"] == ["0.750", "0.750", "-", "0.750 ± 0.000", "0.943"]
    assert paper.trials_apart(found, ["cora", "webkb"]).rows == [["G", *["0.700 to 0.800 / 3e-01"] * 2]]
    assert paper.effort(found, ["cora"]).rows == [["G", "2.0 / 2e-07 / 1e-04 / 4"]]
    there = {"phenotypes": paper.PHENOTYPES}
    pictures.draw_areas(found, ["webkb"], learners.LABEL_METHODS, there, tmp_path / "areas.png")
    assert (tmp_path / "areas.png").stat().st_size > 1000
