"""Threads: limits are kept inside, never raised, and undone."""

import operator
import os
import time
from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np
import pytest
import scipy.sparse as sp
from samples import random_lists, random_triplets
from threadpoolctl import threadpool_info, threadpool_limits

import convexmetric as cm
from convexmetric.comparisons import Rankings, Relevance
from convexmetric.comparisons.diagonal_triplets import DenseTriplets, SparseTriplets
from convexmetric.cones import PSDCone
from convexmetric.deadline import OutOfTime, deadline
from convexmetric.evaluation.distances import listed_squared_distances, squared_distances
from convexmetric.measures.ranks import irrelevant_above
from convexmetric.numerics.threads import _controller, one_thread, over_rows, shared_cores, side_by_side
from convexmetric.risks import LabelledPairRisk, PairHinge, PairwiseRisk
from convexmetric.risks.logistic_ranking import LogisticRankingRisk
from convexmetric.solvers.numerics.interior_point import sparse_gram
from convexmetric.solvers.pairwise.kinks import Kinks


def blas_threads():
    """Of the libraries that there were at first: one that came later, such as that of FAISS, does no work here."""
    own = {library.filepath for library in _controller("blas").lib_controllers}
    return max(info["num_threads"] for info in threadpool_info() if info["filepath"] in own)


@pytest.mark.parametrize("allowed", [1, 64])
def test_cores_are_shared_and_given_back(allowed):
    half = max(1, (os.cpu_count() or 2) // 2)
    loops = numba.get_num_threads()
    with threadpool_limits(allowed, "blas"):
        before = blas_threads()
        with shared_cores():
            assert blas_threads() == min(before, half)
            assert numba.get_num_threads() == min(loops, half)
        assert blas_threads() == before
    assert numba.get_num_threads() == loops


@pytest.mark.parametrize(("rows", "numbers", "count"), [(1000, 10**6, 24), (5, 10**6, 5), (1, 10**6, 1), (1000, 10, 1)])
def test_every_row_is_gone_through_once_whatever_the_threads(monkeypatch, rows, numbers, count):
    monkeypatch.setattr(numba, "get_num_threads", lambda: 3)
    blocks = []
    over_rows(lambda begin, end, seen: seen.append((begin, end)), rows, numbers, blocks)
    assert len(blocks) == count
    assert [row for begin, end in sorted(blocks) for row in range(begin, end)] == list(range(rows))


@pytest.mark.parametrize("threads", [1, 2])
def test_long_loops_look_at_the_time_between_blocks(monkeypatch, threads):
    monkeypatch.setattr(numba, "get_num_threads", lambda: threads)
    monkeypatch.setattr("convexmetric.numerics.threads.MOST_NUMBERS", 10_000)
    begun = []
    with pytest.raises(OutOfTime), deadline(lambda: 3.0 - len(begun)):
        over_rows(lambda begin, end: begun.append(begin) or time.sleep(0.01), 1000, 10**6)
    # Threads may have begun one each, and one more before they hear of it.
    assert 3 <= len(begun) <= 3 + 2 * threads


def test_what_fails_in_a_thread_is_raised(monkeypatch):
    monkeypatch.setattr(numba, "get_num_threads", lambda: 2)
    with pytest.raises(ZeroDivisionError):
        over_rows(lambda begin, end: 1 // begin, 100, 10**6)


def test_tasks_side_by_side_have_a_thread_each_and_leave_no_limit():
    loops, inside = numba.get_num_threads(), []

    def task(_):
        with one_thread():
            inside.append((numba.get_num_threads(), blas_threads()))

    with threadpool_limits(64, "blas"):
        before = blas_threads()
        with one_thread(), ThreadPoolExecutor(4) as pool:
            list(pool.map(task, range(50)))
        assert blas_threads() == before
    assert set(inside) == {(1, 1)}
    assert numba.get_num_threads() == loops


N, D = 60, 4
M = 0.3 * np.eye(D)


def points(rng):
    return rng.normal(size=(N, D))


def rankings(rng, listed=False):
    X = points(rng)
    if listed:
        lists = Relevance.from_lists(*random_lists(rng, N, N), N, N)
        found = Rankings(X, points(rng), lists, PSDCone(D))
        found.dense = False
        return found
    return cm.RankingProblem.from_labels(X, rng.integers(3, size=N)).risk.rankings


def distances(rng):
    Z = points(rng)
    return squared_distances(Z, Z), listed_squared_distances(Z, rng.integers(N, size=(200, 2)))


def diagonal_triplets(rng, kind, X):
    triplets = kind(X, random_triplets(rng, N, 9000))
    block = triplets.block(np.arange(500), slice(None))
    return triplets.forward(rng.random(D)), triplets.adjoint(rng.normal(size=9000)), sp.csr_array(block).toarray()


def labelled_pairs(rng):
    same, other = PairHinge(0.3, 0.5, similar=True), PairHinge(0.7, 1.0, similar=False)
    risk = LabelledPairRisk(points(rng), rng.integers(3, size=N), same, other, PSDCone(D))
    there = risk.at(0.5 * points(rng), 0.4)
    return there.weights, there.other, there.curvature, risk.centre(there), there.product(points(rng)), risk.value(M)


def logistic(rng, listed):
    risk = LogisticRankingRisk(rankings(rng, listed), 1.0)
    value, slope = risk.tangent(M)
    return value, slope.S, risk.second_derivative(M)(np.ones((D, D)))


def ranks(rng, listed):
    (block,) = rankings(rng, listed).blocks(M, np.arange(N))
    return block.values, *irrelevant_above(block)


def hinges(rng):
    problem = cm.TripletProblem.from_labels(points(rng), rng.integers(3, size=N), reg=0.1)
    risk = problem.risk.form(PairwiseRisk)
    places, sample = risk.turned(M, 0.5 * M)
    kinks = Kinks(risk, sample, np.ones(len(sample)))
    rows = problem.cone.projection(M - 0.3 * np.ones((D, D))).rows(kinks)
    return risk.value(M), places, kinks.margins(M), rows


LOOPS = {
    "distances": distances,
    "dense triplets": lambda rng: diagonal_triplets(rng, DenseTriplets, points(rng)),
    "sparse triplets": lambda rng: diagonal_triplets(rng, SparseTriplets, sp.csr_array(points(rng).clip(0.0))),
    "labelled pairs": labelled_pairs,
    "logistic": lambda rng: logistic(rng, False),
    "logistic of lists": lambda rng: logistic(rng, True),
    "ranks": lambda rng: ranks(rng, False),
    "ranks of lists": lambda rng: ranks(rng, True),
    "hinges": hinges,
    "sparse gram": lambda rng: (sparse_gram(sp.csr_array(points(rng).clip(0.0))),),
}


@pytest.mark.parametrize("name", LOOPS)
def test_loops_give_the_same_numbers_whatever_the_threads(monkeypatch, name):
    alone = LOOPS[name](np.random.default_rng(0))
    monkeypatch.setattr(numba, "get_num_threads", lambda: 3)
    monkeypatch.setattr("convexmetric.numerics.threads.LOOP_THREADS", 1)
    for here, there in zip(alone, LOOPS[name](np.random.default_rng(0)), strict=True):
        np.testing.assert_array_equal(here, there)


@pytest.mark.parametrize("work", [1.0, 1e12])
def test_calls_side_by_side_keep_their_order(work):
    assert list(side_by_side(operator.sub, [(5, 1), (3, 3), (1, 4)], work)) == [4, 0, -3]
    with pytest.raises(ZeroDivisionError):
        list(side_by_side(operator.truediv, [(1, 1), (1, 0)], work))
