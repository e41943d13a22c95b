"""Names that are misspelt get the one that was meant."""

import numpy as np
import pytest

import convexmetric as cm
from convexmetric.errors import InputError

X, Y = np.random.default_rng(0).standard_normal((12, 3)), np.arange(12) % 3
CALLS = {
    "cutting-planes": lambda: cm.solve(cm.RankingProblem.from_labels(X, Y), solver="cuting-planes"),
    "ndcg": lambda: cm.RankingProblem.from_labels(X, Y, measure="NDCG"),
    "wine": lambda: cm.datasets.load("wines"),
    "ranking-auc-wine-c1": lambda: cm.load_problem("ranking-auc-wine-c-1"),
    "squared-frobenius": lambda: cm.RankingProblem.from_labels(X, Y, regularizer="squared_frobenius"),
    "gaussian": lambda: cm.make_projection("gausian", X, 2),
    "frobenius": lambda: cm.PairMarginProblem.from_labels(X, Y, norm="frobenious"),
}


@pytest.mark.parametrize("meant", CALLS)
def test_a_misspelt_name_gets_the_one_that_was_meant(meant):
    with pytest.raises(InputError, match=rf"[Dd]id you mean .*'{meant}'"):
        CALLS[meant]()


def test_a_name_that_resembles_none_gets_the_list():
    with pytest.raises(InputError, match=r"solver must be one of 'exact', .*, got 'zzz'$"):
        cm.solve(cm.RankingProblem.from_labels(X, Y), solver="zzz")
