"""Triplets drawn from labels: which are kept, in which order, how often."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from convexmetric.comparisons import triplets_from_labels
from convexmetric.comparisons.sampling import BATCH

TOPICS = np.array(["student"] * 7 + ["faculty"] * 4 + ["project"] * 2 + ["course"] * 5)
FACULTY_STUDENT = [("faculty", "student", ["project", "course"])]


def fits(labels, also, i, j, k):
    if len({i, j, k}) < 3:
        return False
    a, b, c = labels[i], labels[j], labels[k]
    return (a == b and a != c) or any(a == first and b == second and c in third for first, second, third in also)


@given(
    labels=st.lists(st.integers(-2, 3), min_size=3, max_size=30).filter(
        lambda y: len(set(y)) > 1 and len(set(y)) < len(y)
    ),
    n_triplets=st.integers(1, 200),
    seed=st.integers(0, 2**40),
)
def test_every_row_keeps_the_rule(labels, n_triplets, seed):
    triplets = triplets_from_labels(labels, n_triplets, random_state=seed)
    assert triplets.shape == (n_triplets, 3)
    assert triplets.dtype == np.int64
    assert all(fits(labels, [], *row) for row in triplets.tolist())


def test_further_rules_keep_their_triplets_and_no_others():
    triplets = triplets_from_labels(TOPICS, 5000, random_state=3, also=FACULTY_STUDENT).tolist()
    assert all(fits(TOPICS, FACULTY_STUDENT, *row) for row in triplets)
    faculty_student = [(i, j, k) for i, j, k in triplets if TOPICS[i] != TOPICS[j]]
    assert {TOPICS[k] for _, _, k in faculty_student} == {"project", "course"}
    assert 0 < len(faculty_student) < 5000


def test_the_order_is_that_of_the_draws():
    batch = np.random.Generator(np.random.PCG64(11)).integers(len(TOPICS), size=(BATCH, 3))
    expected = [row for row in batch.tolist() if fits(TOPICS, FACULTY_STUDENT, *row)]
    triplets = triplets_from_labels(TOPICS, len(expected), random_state=11, also=FACULTY_STUDENT)
    assert triplets.tolist() == expected


@pytest.mark.parametrize("also", [[], FACULTY_STUDENT, 2 * FACULTY_STUDENT + [("faculty", "student", ["course"])]])
def test_all_triplets_that_fit_are_equally_likely(also):
    labels = TOPICS[[0, 1, 2, 7, 8, 11, 13]]
    possible = [row for row in permutations(range(len(labels)), 3) if fits(labels, also, *row)]
    draws = 200 * len(possible)
    rows, counts = np.unique(triplets_from_labels(labels, draws, random_state=5, also=also), axis=0, return_counts=True)
    assert list(map(tuple, rows.tolist())) == sorted(possible)
    statistic = float(np.sum((counts - 200.0) ** 2 / 200.0))
    assert chi2.ppf(1e-4, len(possible) - 1) < statistic < chi2.ppf(1 - 1e-4, len(possible) - 1)


def test_a_seed_fixes_the_triplets():
    first = triplets_from_labels(TOPICS, 1000, random_state=42)
    np.testing.assert_array_equal(first, triplets_from_labels(TOPICS, 1000, random_state=42))
    np.testing.assert_array_equal(first, triplets_from_labels(TOPICS, 1000, random_state=np.random.default_rng(42)))
    np.testing.assert_array_equal(first, triplets_from_labels(TOPICS, 1000, random_state=np.int32(42)))
    assert (first != triplets_from_labels(TOPICS, 1000, random_state=43)).any()
    assert (triplets_from_labels(TOPICS, 1000) != triplets_from_labels(TOPICS, 1000)).any()


def test_a_shorter_list_begins_a_longer_one_over_many_batches():
    rare = np.arange(60) // 2
    rare[2:] += np.arange(58)
    long = triplets_from_labels(rare, 2000, random_state=1)
    np.testing.assert_array_equal(long[:70], triplets_from_labels(rare, 70, random_state=1))
    assert set(long[:, 0].tolist()) == {0, 1}


def test_a_generator_goes_on():
    generator = np.random.default_rng(0)
    assert (
        triplets_from_labels(TOPICS, 50, random_state=generator)
        != triplets_from_labels(TOPICS, 50, random_state=generator)
    ).any()


def test_rules_alone_may_make_the_triplets():
    triplets = triplets_from_labels(
        ["faculty", "student", "course"], 3, random_state=0, also=[("faculty", "student", ["course"])]
    )
    assert triplets.tolist() == [[0, 1, 2]] * 3
