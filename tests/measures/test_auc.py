"""The AUC oracle against brute force over all rankings."""

import math

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import convexmetric as cm
from convexmetric.comparisons import Relevance
from convexmetric.measures import AUC, MEASURES, rankings_of

MEASURE = AUC()


def one_query(p, n):
    """Relevance of a single query whose p relevant items come first."""
    return Relevance.from_lists([np.arange(p)], [np.arange(p, p + n)], 1, p + n)


def separate(x, z):
    """Coefficients, loss and violation of the oracle for one query."""
    D = np.concatenate([x, z])[None].copy()
    T, losses, violations = MEASURE.separate(D, one_query(len(x), len(z)), np.array([0]))
    assert T is D
    return T[0], losses[0], violations[0]


def brute_force(x, z):
    """The largest ``Delta - <W, dpsi>`` over all rankings, from the definitions."""
    p, n = len(x), len(z)
    best = -np.inf
    for inverted, ranking in rankings_of(p, n):
        loss = 1.0 - MEASURE.score(ranking)
        change = 2.0 / (p * n) * sum(z[j] - x[i] for i in range(p) for j in range(n) if inverted[i, j])
        best = max(best, loss - change)
    return best


def scores(rng, size, kind):
    """Distances: continuous, with many ties, on multiples of the margin 1/2, or far from zero."""
    return {
        0: rng.standard_normal(size),
        1: rng.integers(0, 3, size) / 3.0,
        2: rng.integers(-2, 3, size) / 2.0,
        3: 1e6 + rng.standard_normal(size),
    }[kind]


def test_the_oracle_finds_the_worst_of_all_rankings():
    rng = np.random.default_rng(0)
    count = 0
    for p in range(1, 7):
        for n in range(1, 8 - p):
            for kind in range(4):
                for _ in range(40 if p + n < 7 else 25):
                    x, z = scores(rng, p, kind), scores(rng, n, kind)
                    _, _, violation = separate(x, z)
                    assert violation == pytest.approx(brute_force(x, z), abs=1e-12 if kind != 3 else 1e-8)
                    count += 1
    assert count >= 2000


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


def test_a_constant_added_to_all_distances_changes_nothing():
    rng = np.random.default_rng(3)
    x, z = rng.standard_normal(20), rng.standard_normal(30)
    T, loss, violation = separate(x, z)
    for shift in (-3.0, 1.0, 1024.0):
        shifted = separate(x + shift, z + shift)
        np.testing.assert_array_equal(shifted[0], T)
        assert shifted[1] == loss
        assert shifted[2] == pytest.approx(violation, rel=1e-12)


def test_order_of_items_and_rows_does_not_matter():
    rng = np.random.default_rng(4)
    y = np.repeat([0, 1, 2], 5)
    relevance = Relevance.from_labels(y)
    D = rng.integers(0, 4, (15, 15)) / 4.0
    T, losses, violations = MEASURE.separate(D.copy(), relevance, np.arange(15))
    queries = rng.permutation(15)
    again = MEASURE.separate(D[queries].copy(), relevance, queries)
    np.testing.assert_array_equal(again[0], T[queries])
    np.testing.assert_array_equal(again[1], losses[queries])
    np.testing.assert_array_equal(again[2], violations[queries])
    np.testing.assert_allclose(T.sum(axis=1), 0.0, atol=1e-13)
    # The query itself takes no part.
    np.testing.assert_array_equal(np.diag(T), 0.0)


def test_ties_are_settled_the_same_way_every_time():
    x, z = np.zeros(7), np.full(9, 0.5)
    first = separate(x, z)
    for _ in range(5):
        np.testing.assert_array_equal(separate(x, z)[0], first[0])
    # A pair exactly at the margin costs nothing either way.
    assert first[2] == 0.0


def test_distances_that_are_no_numbers_still_give_a_ranking():
    x, z = np.array([np.nan, 1.0, np.inf]), np.array([0.0, np.nan])
    T, loss, _ = separate(x, z)
    assert np.isfinite(T).all()
    assert T.sum() == pytest.approx(0.0, abs=1e-15)
    assert loss == pytest.approx(T[3:].sum() / 2)


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


def test_threads_change_nothing(monkeypatch):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(90, 4))
    problem = cm.RankingProblem.from_labels(X, np.arange(90) % 3)
    groups = np.arange(90) % 5
    alone = problem.risk.separate(0.3 * np.eye(4), groups)
    monkeypatch.setattr("convexmetric.measures.auc.WORTH_THREADS", 1)
    together = problem.risk.separate(0.3 * np.eye(4), groups)
    np.testing.assert_array_equal(alone.normals, together.normals)
    np.testing.assert_array_equal(alone.values, together.values)
