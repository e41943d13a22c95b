"""Choosing among operators, and samples of several tasks as one."""

from math import log, sqrt

import numpy as np
import pytest

import convexmetric as cm
from convexmetric.errors import InputError


def tasks(seed=0, n=80):
    """Two tasks whose classes lie along different axes, noise along the others, and the operators for them."""
    rng = np.random.default_rng(seed)
    made = []
    for axis in range(2):
        y = rng.integers(0, 4, n)
        X = rng.uniform(-4.0, 4.0, (n, 2))
        X[:, axis] = 2.0 * y + 0.1 * rng.standard_normal(n)
        made.append((X, y))
    operators = {
        "along x": cm.evaluation.SimilarityOperator([[1.0, 0.0]]),
        "along y": cm.evaluation.SimilarityOperator([[0.0, 1.0]]),
    }
    return made, operators


def test_the_operator_of_the_same_kind_wins():
    made, operators = tasks()
    for (X, y), name in zip(made, operators, strict=True):
        choice = cm.theory.choose_operator(operators, X, y, delta=0.1, threshold=0.2)
        assert choice.best == name
        assert choice.risk == 0.0
        assert not choice.new_kind
        assert set(choice.risks) == set(operators)
        m = cm.theory.independent_pairs(y)
        for other, risk in choice.risks.items():
            assert risk == pytest.approx(cm.evaluation.empirical_risk_from_labels(operators[other], X, y))
            assert choice.bounds[other].value == pytest.approx(risk + sqrt((log(2) + log(10)) / (2 * m)))
        assert choice.bound.value == choice.bounds[name].value
        assert f"{name}  0.0000  *" in str(choice)


def test_a_task_of_a_new_kind():
    made, operators = tasks()
    X, y = made[0]
    choice = cm.theory.choose_operator([operators["along y"]], X, y, threshold=0.3)
    assert choice.best == "0"
    assert choice.new_kind
    assert "a new kind of task: no risk is at most 0.3" in str(choice)
    assert not cm.theory.choose_operator([operators["along y"]], X, y).new_kind


def test_listed_pairs_count_as_many_as_they_are():
    made, operators = tasks()
    X, y = made[0]
    pairs = np.array([[0, 1], [2, 3], [4, 5], [6, 7]])
    r = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
    choice = cm.theory.choose_operator(operators, X, r, pairs=pairs, delta=0.1)
    assert choice.risks["along x"] == cm.evaluation.empirical_risk(operators["along x"], X, pairs, r)
    assert choice.bound.value == pytest.approx(choice.risk + sqrt(log(20) / 8))


def test_of_equal_operators_the_first_wins():
    made, operators = tasks()
    assert cm.theory.choose_operator([operators["along x"]] * 3, *made[0]).best == "0"


def test_concatenated_tasks_keep_their_pairs():
    rng = np.random.default_rng(1)
    samples = []
    for n, m in ((5, 4), (8, 9), (3, 2)):
        X = rng.standard_normal((n, 3))
        pairs = np.array([rng.choice(n, 2, replace=False) for _ in range(m)])
        samples.append((X, pairs, rng.choice([-1, 1], m)))
    whole = cm.theory.concatenate_tasks(samples)
    assert whole.X.shape == (16, 3)
    T = cm.evaluation.SimilarityOperator(rng.standard_normal((2, 3)))
    for margin in (None, 1.0):
        parts = [cm.evaluation.empirical_risk(T, *sample, margin=margin) for sample in samples]
        mixed = np.average(parts, weights=[len(sample[1]) for sample in samples])
        assert cm.evaluation.empirical_risk(T, *whole, margin=margin) == pytest.approx(mixed)
    i, j = whole.pairs.T
    np.testing.assert_array_equal(
        whole.X[i] - whole.X[j], np.concatenate([X[p[:, 0]] - X[p[:, 1]] for X, p, _ in samples])
    )


def test_malformed_tasks():
    X = np.zeros((3, 2))
    with pytest.raises(InputError, match=r"tasks\[1\]\[0\] has 3 features, but tasks\[0\]\[0\] has 2"):
        cm.theory.concatenate_tasks([(X, [[0, 1]], [1]), (np.zeros((3, 3)), [[0, 1]], [1])])
    with pytest.raises(InputError, match=r"tasks\[1\]\[1\] points to row 3"):
        cm.theory.concatenate_tasks([(X, [[0, 1]], [1]), (X, [[0, 3]], [1])])
