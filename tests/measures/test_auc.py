"""The AUC oracle against brute force over all rankings."""

import math

import numpy as np
import pytest
from oracles import oracle
from sklearn.metrics import roc_auc_score

from convexmetric.measures import AUC, MEASURES, rankings_of

MEASURE = AUC()


def separate(x, z):
    """Coefficients, loss and violation of the oracle for one query."""
    T, losses, violations = oracle(MEASURE, np.concatenate([x, z])[None], len(x))
    return T[0], losses[0], violations[0]


def scores(rng, size, kind):
    """Distances: continuous, with many ties, on multiples of the margin 1/2, or far from zero."""
    return {
        0: rng.standard_normal(size),
        1: rng.integers(0, 3, size) / 3.0,
        2: rng.integers(-2, 3, size) / 2.0,
        3: 1e6 + rng.standard_normal(size),
    }[kind]


def test_loss_coefficients_and_violation_are_of_one_ranking():
    rng = np.random.default_rng(1)
    for trial in range(2000):
        p, n = rng.integers(1, 30, 2)
        x, z = scores(rng, p, trial % 3), scores(rng, n, trial % 3)
        T, loss, violation = separate(x, z)
        assert abs(T.sum()) <= 1e-12
        assert violation >= -1e-13
        assert violation == pytest.approx(loss - T @ np.concatenate([x, z]), abs=1e-10)
        # The coefficients count whom each item is inverted with; Delta is the share of inverted pairs.
        assert loss == pytest.approx(T[p:].sum() / 2, abs=1e-12)
        assert (T[:p] <= 0).all()
        assert (T[p:] >= 0).all()
        # The closed form: one hinge for every pair.
        hinges = np.maximum(0.0, 1.0 - 2.0 * (z[None, :] - x[:, None]))
        assert violation == pytest.approx(hinges.mean(), abs=1e-10)


def test_the_coefficients_are_those_of_a_ranking():
    rng = np.random.default_rng(2)
    for trial in range(300):
        p, n = rng.integers(1, 4, 2)
        x, z = scores(rng, p, trial % 3), scores(rng, n, trial % 3)
        T, loss, _ = separate(x, z)
        found = [
            np.allclose(T, 2.0 / (p * n) * np.concatenate([-Y.sum(axis=1), Y.sum(axis=0)]))
            and np.isclose(loss, 1.0 - MEASURE.score(ranking))
            for Y, ranking in rankings_of(p, n)
        ]
        assert any(found)


def test_score_is_the_area_under_the_curve():
    rng = np.random.default_rng(5)
    for _ in range(50):
        relevant = rng.permutation(np.repeat([True, False], rng.integers(1, 8, 2)))
        assert MEASURE.score(relevant) == pytest.approx(roc_auc_score(relevant, -np.arange(relevant.size)))
    assert MEASURE.score([True, True, False]) == 1.0
    assert MEASURE.score([False, True]) == 0.0


def test_names():
    assert MEASURES["auc"] is AUC
    assert MEASURE.name == "auc"
    assert MEASURE.pairwise


def stirling(n, k):
    """Partitions of n things into k parts."""
    return sum((-1) ** (k - i) * math.comb(k, i) * i**n for i in range(k + 1)) // math.factorial(k)


@pytest.mark.parametrize(("p", "n"), [(p, n) for p in range(1, 7) for n in range(1, 8 - p)])
def test_rankings_of_counts_every_pattern_of_inverted_pairs_once(p, n):
    patterns = [Y for Y, _ in rankings_of(p, n)]
    assert len({Y.tobytes() for Y in patterns}) == len(patterns)
    # Such patterns are the 0/1 matrices without a 2 x 2 permutation, counted by poly-Bernoulli numbers.
    expected = sum(
        math.factorial(j) ** 2 * stirling(p + 1, j + 1) * stirling(n + 1, j + 1) for j in range(min(p, n) + 1)
    )
    assert len(patterns) == expected
    for Y, ranking in rankings_of(p, n):
        assert Y.shape == (p, n)
        assert ranking.sum() == p
        assert 1.0 - MEASURE.score(ranking) == pytest.approx(Y.mean())
        for i in range(p):
            for k in range(i):
                # Whatever stands above the higher of two relevant items stands above the lower one.
                assert (Y[i] <= Y[k]).all() or (Y[k] <= Y[i]).all()


def test_rankings_of_two_items():
    (first, _), (second, _) = sorted(rankings_of(1, 1), key=lambda pair: pair[0].item())
    assert not first.item()
    assert second.item()
