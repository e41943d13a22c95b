"""Every exact route to an optimum agrees, with certificates."""

import numpy as np
import pytest

import convexmetric as cm


@pytest.fixture(scope="module")
def wine():
    data = cm.datasets.load("wine")
    return cm.datasets.preprocess(data.X, ["zscore"]), data.y


@pytest.mark.parametrize(("C", "optimum"), [(1.0, 0.234358), (100.0, 4.42612), (1e4, 361.1707)])
def test_ranking_on_wine_reaches_the_known_optimum(wine, C, optimum):
    solution = cm.solve(cm.RankingProblem.from_labels(*wine, measure="auc", C=C))
    assert solution.status == "optimal"
    assert solution.gap <= 1e-6
    assert solution.iterations <= 60
    assert solution.lower_bound * (1 - 1e-5) <= optimum <= solution.upper_bound * (1 + 1e-5)
    assert np.linalg.eigvalsh(solution.M)[0] >= -1e-12 * np.linalg.norm(solution.M)
