"""Every oracle against brute force, against the dynamic programme, and what all of them have in common."""

from itertools import combinations, permutations

import numpy as np
import pytest
from oracles import distances, large_mistakes, mistakes, oracle
from samples import some

import convexmetric as cm
from convexmetric.errors import InputError
from convexmetric.measures import MEASURES, MeasureAtK, measure_named, rankings_of
from convexmetric.measures.base import COMPILED
from convexmetric.measures.reference import most_violated

KS = {name: [1, 2, 3, 5, 10] if issubclass(cls, MeasureAtK) else [None] for name, cls in MEASURES.items()}
ALL = [measure_named(name, k) for name, ks in KS.items() for k in ks]
ALL += [measure_named(name, k, short="printed") for name, ks in KS.items() for k in ks if k is not None and k > 1]
SIZES = [(p, n) for p in range(1, 8) for n in range(1, 9 - p)]
SHORT = [(p, n) for p in range(1, 6) for n in range(1, 7 - p)]


def named(measure):
    return measure.label + ("-printed" if getattr(measure, "short", "cut") == "printed" else "")


def brute_force(measure, x, z):
    """The largest ``Delta - <W, dpsi>`` over all rankings, from the definitions."""
    p, n = len(x), len(z)
    best = -np.inf
    for inverted, ranking in rankings_of(p, n):
        change = 2.0 / (p * n) * float((inverted * (z[None, :] - x[:, None])).sum())
        best = max(best, 1.0 - measure.score(ranking) - change)
    return best


@pytest.mark.parametrize("measure", some(ALL, 14), ids=named)
def test_no_interleaving_is_worse_than_the_oracles(measure):
    rng = np.random.default_rng(0)
    assert sum(mistakes(measure, distances(rng, 150, p + n), p) for p, n in SIZES) == 0


@pytest.mark.parametrize("measure", some(ALL, 14), ids=named)
def test_no_ranking_is_worse_than_the_oracles(measure):
    # Interleavings keep each list sorted; that no other ranking is worse is checked here.
    rng = np.random.default_rng(1)
    for p, n in [(1, 1), (1, 3), (2, 2), (3, 1), (2, 3), (3, 3)]:
        D = distances(rng, 25, p + n)
        _, _, violations = oracle(measure, D, p)
        for row, violation in zip(D, violations, strict=True):
            assert violation == pytest.approx(brute_force(measure, row[:p], row[p:]), abs=1e-10)
            assert most_violated(measure, row[:p], row[p:])[2] == pytest.approx(violation, abs=1e-10)


@pytest.mark.parametrize("measure", some(ALL, 14), ids=named)
def test_longer_lists_agree_with_the_dynamic_programme(measure):
    assert large_mistakes(measure, np.random.default_rng(2), 120) == 0


@pytest.mark.parametrize("measure", ALL, ids=named)
def test_the_programme_returns_the_ranking_it_speaks_of(measure):
    rng = np.random.default_rng(3)
    for _ in range(60):
        p, n = rng.integers(1, 12, 2)
        x, z = np.split(distances(rng, 1, p + n)[0], [p])
        b, loss, violation = most_violated(measure, x, z)
        assert (np.diff(b) >= 0).all()
        x, z = np.sort(x), np.sort(z)
        inverted = np.arange(n) < b[:, None]
        change = 2.0 / (p * n) * float((inverted * (z[None, :] - x[:, None])).sum())
        assert violation == pytest.approx(loss - change, abs=1e-9 * max(1.0, np.abs(x).max(), np.abs(z).max()))


@pytest.mark.parametrize("measure", ALL, ids=named)
def test_scores_are_between_zero_and_one_and_the_perfect_ranking_has_one(measure):
    rng = np.random.default_rng(4)
    for _ in range(100):
        relevant = rng.permutation(np.repeat([True, False], rng.integers(1, 12, 2)))
        assert -1e-15 <= measure.score(relevant) <= 1.0 + 1e-12
        assert measure.score(np.sort(relevant)[::-1]) == pytest.approx(1.0)


def printed_loss(name, k, ranking):
    """1 - Score of a ranking, place by place, as the paper prints it for k places."""
    head = ranking[:k]
    if name in ("ndcg", "ndcg-log2"):
        places = np.arange(1, k + 1) + (name == "ndcg-log2")
        D = [1.0 if t == 1 else 1.0 / np.log2(t) for t in places]
        return 1.0 - sum(d for d, item in zip(D, head, strict=False) if item) / sum(D)
    precision = sum(head) / k
    return 1.0 - (precision if name == "precision" else float(precision > 0.5))


@pytest.mark.parametrize("name", ["precision", "knn", "ndcg", "ndcg-log2"])
@pytest.mark.parametrize("k", [1, 2, 3, 4, 6])
def test_losses_are_those_printed_with_k_cut_to_the_relevant_items(name, k):
    """Of all rankings: of k places where there are k relevant items, of p where there are p < k."""
    measure = measure_named(name, k)
    for p, n in SHORT:
        for places in combinations(range(p + n), p):
            ranking = np.isin(np.arange(p + n), places)
            assert 1.0 - measure.score(ranking) == pytest.approx(printed_loss(name, min(k, p), ranking), abs=1e-12)


@pytest.mark.parametrize("name", ["precision", "knn", "ndcg", "ndcg-log2"])
@pytest.mark.parametrize("k", [1, 2, 3, 4, 6, 9])
def test_the_printed_loss_is_the_score_of_the_perfect_ranking_less_that_of_the_ranking(name, k):
    """Of all rankings, k places also where there are fewer relevant items, or fewer items."""
    measure = measure_named(name, k, short="printed")
    for p, n in SHORT:
        perfect = printed_loss(name, k, np.arange(p + n) < p)
        for places in combinations(range(p + n), p):
            ranking = np.isin(np.arange(p + n), places)
            loss = 1.0 - measure.score(ranking)
            assert loss == pytest.approx(printed_loss(name, k, ranking) - perfect, abs=1e-12)
            assert -1e-12 <= loss <= 1.0 - perfect + 1e-12
            if p >= k:
                assert loss == pytest.approx(1.0 - measure_named(name, k).score(ranking), abs=1e-12)


def test_short_lists_in_the_figures_of_one_query():
    """Precision at 3 of 2 relevant and 2 irrelevant items, the metric zero: the worst ranking has 1 of 2, or 1 of 3."""
    X = np.random.default_rng(0).normal(size=(4, 2))
    risks = [
        cm.RankingProblem(
            X, [[0, 1]], irrelevant=[[2, 3]], queries=np.zeros((1, 2)), measure="precision", k=3, short=short
        ).risk.value(np.zeros((2, 2)))
        for short in ("cut", "printed")
    ]
    assert risks == pytest.approx([1.0, 1.0 / 3.0])


def test_the_risk_with_fewer_than_k_irrelevant_items_is_the_printed_one():
    """Worst of all rankings of 4 relevant and 2 irrelevant items by 1 - (relevant of the first 3) / 3."""
    X = np.random.default_rng(3).normal(size=(7, 2))
    problem = cm.RankingProblem(
        X[1:], [[0, 1, 2, 3]], irrelevant=[[4, 5]], queries=X[:1], measure="precision", k=3, C=1.0
    )
    for M in (np.zeros((2, 2)), 0.1 * np.eye(2), np.eye(2)):
        d = np.einsum("ij,jk,ik->i", X[1:] - X[0], M, X[1:] - X[0])
        worst = -np.inf
        for order in permutations(range(6)):
            place = np.argsort(order)
            inverted = place[4:] < place[:4, None]
            change = 2.0 / 8.0 * float((inverted * (d[4:] - d[:4, None])).sum())
            worst = max(worst, printed_loss("precision", 3, [item < 4 for item in order]) - change)
        assert problem.risk.value(M) == pytest.approx(worst, abs=1e-12)


@pytest.mark.parametrize("measure", ALL, ids=named)
def test_order_of_items_and_of_queries_does_not_matter(measure):
    rng = np.random.default_rng(5)
    D = distances(rng, 40, 15)
    D = D[[len(np.unique(row)) == 15 for row in D]]
    T, losses, violations = oracle(measure, D, 6)
    columns = np.concatenate([rng.permutation(6), 6 + rng.permutation(9)])
    rows = rng.permutation(len(D))
    again = oracle(measure, D[rows][:, columns], 6)
    np.testing.assert_array_equal(again[0], T[rows][:, columns])
    np.testing.assert_array_equal(again[1], losses[rows])
    np.testing.assert_allclose(again[2], violations[rows], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("measure", ALL, ids=named)
def test_ties_are_settled_the_same_way_every_time(measure):
    D = np.random.default_rng(6).integers(0, 3, (60, 14)) / 2.0
    first = oracle(measure, D, 5)
    for repeat in range(3):
        again = oracle(measure, np.concatenate([D] * (repeat + 1)), 5)
        np.testing.assert_array_equal(again[0][-60:], first[0])
        np.testing.assert_array_equal(again[1][-60:], first[1])


@pytest.mark.parametrize("measure", ALL, ids=named)
def test_a_constant_added_to_all_distances_changes_nothing(measure):
    rng = np.random.default_rng(7)
    D = rng.integers(0, 64, (50, 20)) / 32.0
    T, losses, _ = oracle(measure, D, 8)
    for shift in (-3.0, 1024.0):
        shifted = oracle(measure, D + shift, 8)
        np.testing.assert_array_equal(shifted[0], T)
        np.testing.assert_array_equal(shifted[1], losses)


@pytest.mark.parametrize("measure", ALL, ids=named)
def test_distances_that_are_no_numbers_still_give_finite_coefficients(measure):
    D = np.array([[np.nan, 1.0, np.inf, 0.0, np.nan], [np.inf] * 5, [np.nan] * 5, [0.0, 1e300, -1e300, 1e300, 0.0]])
    T, losses, _ = oracle(measure, D, 3)
    assert np.isfinite(T).all()
    assert np.isfinite(losses).all()


@pytest.mark.parametrize("name", list(MEASURES))
def test_threads_and_layouts_change_nothing(monkeypatch, name):
    rng = np.random.default_rng(8)
    X = rng.normal(size=(90, 4))
    problem = cm.RankingProblem.from_labels(X, np.arange(90) % 3, measure=name)
    groups = np.arange(90) % 5
    alone = problem.risk.separate(0.3 * np.eye(4), groups)
    monkeypatch.setattr("convexmetric.numerics.threads.LOOP_THREADS", 1)
    together = problem.risk.separate(0.3 * np.eye(4), groups)
    np.testing.assert_array_equal(alone.normals, together.normals)
    np.testing.assert_array_equal(alone.values, together.values)
    problem.rankings.dense = False
    listed = problem.risk.separate(0.3 * np.eye(4), groups)
    np.testing.assert_allclose(listed.normals, alone.normals, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(listed.values, alone.values, rtol=1e-12)
    monkeypatch.setattr("convexmetric.numerics.threads.LOOP_THREADS", 10**9)
    np.testing.assert_array_equal(problem.risk.separate(0.3 * np.eye(4), groups).normals, listed.normals)


def test_crowded_and_spread_relevant_items_are_placed_alike():
    rng = np.random.default_rng(9)
    measure = measure_named("auc")
    crowd = np.concatenate([rng.normal(size=200) * 1e-3, [50.0, -80.0]])
    D = np.tile(np.concatenate([crowd, rng.normal(size=300) * 1e-2, crowd[:50] + 0.5]), (2, 1))
    _, _, violations = oracle(measure, D, len(crowd))
    hinges = np.maximum(0.0, 1.0 - 2.0 * (D[0, None, 202:] - D[0, :202, None]))
    assert violations[0] == pytest.approx(hinges.mean(), rel=1e-12)


def test_measures_by_name():
    assert measure_named("ndcg").k == 10
    assert measure_named("precision", 3).label == "precision@3"
    assert measure_named("map").label == "map"
    for bad in (0, -1, 2.5, True, "3"):
        with pytest.raises(InputError, match="k must be a positive integer"):
            measure_named("knn", bad)
    with pytest.raises(InputError, match="measure 'auc' looks at the whole list: leave k out"):
        measure_named("auc", 5)
    with pytest.raises(InputError, match="measure 'map' looks at the whole list: leave short out"):
        measure_named("map", short="printed")
    with pytest.raises(InputError, match="short must be one of 'cut', 'printed', got 'none'"):
        measure_named("ndcg", 5, short="none")
    assert repr(measure_named("precision", 3, short="printed")) == "PrecisionAtK(3, short='printed')"
    with pytest.raises(
        InputError,
        match="measure must be one of 'auc', 'err', 'knn', 'map', 'mrr', 'ndcg', 'ndcg-log2', 'precision'",
    ):
        measure_named("area")
    assert len(set(COMPILED.values())) == len(COMPILED)
