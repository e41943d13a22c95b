"""Synthetic matchings: their structure, their sizes, and that there is something to learn."""

import numpy as np
import pytest
from ranking_paper.synthetic import TEST, TRAINING, _dealt, synthetic_matchings

import convexmetric as cm
from convexmetric.errors import InputError


def test_every_user_is_matched_and_no_pair_twice():
    data = synthetic_matchings(500, 900, n_features=6, rank=2, least=(1, 2))
    assert data.X.shape == (500, 6)
    assert data.pairs.shape == (900, 2)
    assert (data.pairs[:, 0] < data.pairs[:, 1]).all()
    assert len(np.unique(data.pairs, axis=0)) == 900
    assert np.unique(data.pairs).size == 500
    assert np.linalg.matrix_rank(data.planted) == 2


def test_queries_are_the_users_with_enough_of_both_kinds_and_lists_are_their_partners():
    data = synthetic_matchings(300, 700, n_features=5, least=(2, 3))
    positive: dict[int, set[int]] = {u: set() for u in range(300)}
    negative: dict[int, set[int]] = {u: set() for u in range(300)}
    for (u, v), good in zip(data.pairs.tolist(), data.positive, strict=True):
        for a, b in ((u, v), (v, u)):
            (positive if good else negative)[a].add(b)
    assert data.queries.tolist() == [u for u in range(300) if len(positive[u]) >= 2 and len(negative[u]) >= 3]
    for q, relevant, irrelevant in zip(data.queries, *data.lists(), strict=True):
        assert set(relevant.tolist()) == positive[q]
        assert set(irrelevant.tolist()) == negative[q]


def test_the_same_seeds_give_the_same_data_and_intervals_share_the_planted_metric():
    first, again = (synthetic_matchings(200, 400, least=(1, 1)) for _ in range(2))
    later = synthetic_matchings(200, 400, least=(1, 1), random_state=5)
    other = synthetic_matchings(200, 400, least=(1, 1), planted_state=5)
    for name in ("X", "pairs", "positive", "queries", "planted"):
        assert np.array_equal(getattr(first, name), getattr(again, name))
    assert np.array_equal(first.planted, later.planted)
    assert not np.array_equal(first.X, later.X)
    assert not np.array_equal(first.planted, other.planted)


@pytest.mark.integration
def test_the_sizes_of_the_paper():
    training = synthetic_matchings(**TRAINING)
    assert (len(training.X), len(training.pairs), len(training.queries)) == (294_832, 506_688, 22_391)
    assert training.X.shape[1] == 56
    relevant, irrelevant = training.lists()
    assert min(map(len, relevant)) >= 2
    assert min(map(len, irrelevant)) >= 5
    assert repr(training).startswith("<Matchings: 294832 users x 56 features; 506688 matchings")
    test = synthetic_matchings(**TEST, random_state=1)
    assert (len(test.X), len(test.pairs), len(test.queries)) == (247_420, 439_161, 36_037)
    # Euclidean distance knows next to nothing, the planted metric what the paper's learned ones reach.
    lists = test.lists()
    scores = [
        cm.evaluation.retrieval_scores(M, test.X, *lists, queries=test.X[test.queries])["auc"]
        for M in (np.eye(56), test.planted)
    ]
    assert 0.51 < scores[0] < 0.55
    assert 0.60 < scores[1] < 0.65


def test_learning_finds_what_euclidean_distance_does_not():
    size = {"n_users": 3_000, "n_matchings": 12_000, "n_features": 8, "rank": 2, "slope": 1.0}
    train, test = (synthetic_matchings(**size, random_state=seed) for seed in (0, 1))
    problem = cm.RankingProblem(train.X, *train.lists(), queries=train.X[train.queries], C=100.0)
    assert not problem.rankings.dense
    M = cm.solve(problem, tol=1e-2).M
    euclid, learned, planted = (
        cm.evaluation.retrieval_scores(W, test.X, *test.lists(), queries=test.X[test.queries])["auc"]
        for W in (np.eye(8), M, test.planted)
    )
    assert planted - learned < 0.3 * (planted - euclid)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rank": 0}, "rank must be between 1 and n_features"),
        ({"rank": 57}, "rank must be between 1 and n_features"),
        ({"positive": 1.0}, "positive must be a share"),
        ({"n_matchings": 49}, "n_matchings must be between"),
        ({"n_matchings": 4000}, "n_matchings must be between"),
        ({"n_queries": 100}, "users have 2 positive and 5 negative matchings"),
    ],
)
def test_numbers_that_do_not_fit(change, message):
    with pytest.raises(InputError, match=message):
        synthetic_matchings(**({"n_users": 100, "n_matchings": 200} | change))


def test_dealing_that_cannot_succeed_ends():
    with pytest.raises(InputError, match="n_matchings is too large"):
        _dealt(np.array([4, 2]), np.random.default_rng(0))
