"""Names that are misspelt, or the field's and not ours, get the one that was meant."""

import re

import numpy as np
import pytest

import convexmetric as cm
from convexmetric.arguments import OTHER_METHODS
from convexmetric.cli import fitting, tables
from convexmetric.errors import InputError

X, Y = np.random.default_rng(0).standard_normal((12, 3)), np.arange(12) % 3
CALLS = {
    "cutting-planes": lambda: cm.solve(cm.RankingProblem.from_labels(X, Y), solver="cuting-planes"),
    "ndcg": lambda: cm.RankingProblem.from_labels(X, Y, measure="NDCG"),
    "wine": lambda: cm.datasets.load("wines"),
    "ranking-auc-wine-c1": lambda: cm.load_problem("ranking-auc-wine-c-1"),
    "squared-frobenius": lambda: cm.RankingProblem.from_labels(X, Y, penalty="squared_frobenius"),
    "gaussian": lambda: cm.features.make_projection("gausian", X, 2),
    "frobenius": lambda: cm.PairMarginProblem.from_labels(X, Y, penalty="frobenious"),
}


@pytest.mark.parametrize("meant", CALLS)
def test_a_misspelt_name_gets_the_one_that_was_meant(meant):
    with pytest.raises(InputError, match=rf"[Dd]id you mean .*'{meant}'"):
        CALLS[meant]()


def test_a_name_that_resembles_none_gets_the_list():
    with pytest.raises(InputError, match=r"solver must be one of 'exact', .*, got 'zzz'$"):
        cm.solve(cm.RankingProblem.from_labels(X, Y), solver="zzz")


def test_large_margins_go_by_the_name_that_the_field_has():
    assert cm.LMNN is cm.LargeMargin
    assert fitting.METHODS[tables.parsed("LMNN", None)[0]][0] == cm.LargeMargin.__name__


@pytest.mark.parametrize("name", OTHER_METHODS)
def test_a_method_that_is_elsewhere_gets_what_to_use_instead(name):
    with pytest.raises(AttributeError, match=f"no attribute '{name.upper()}'") as from_python:
        getattr(cm, name.upper())
    with pytest.raises(InputError, match="--method must be one of") as from_command_line:
        tables.parsed(name, None)
    hint = OTHER_METHODS[name]
    assert str(from_python.value).endswith(hint)
    assert str(from_command_line.value).endswith(hint)
    for ours in re.findall(r"cm\.(\w+)", hint):
        assert hasattr(cm, ours)


def test_every_method_says_what_it_is_for():
    assert all(use for _, use in fitting.METHODS.values())
