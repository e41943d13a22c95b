"""Hinges over all pairs of labels against the same pairs in a list."""

from math import fsum

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import random_element, random_metric

from convexmetric.comparisons import PairDistances
from convexmetric.cones import NonnegativeDiagonal, PSDCone
from convexmetric.errors import DualError, InputError
from convexmetric.losses import BoxLoss
from convexmetric.risks import CutDual, LabelledPairRisk, ListedImages, PairHinge, labelled_pairs
from convexmetric.risks.rounding import sum_error

seeds = st.integers(0, 10**6)


def risk(rng, cone=PSDCone, n=11, same_margin=None):
    codes = rng.permutation(np.arange(n) % 3)
    margin = float(rng.choice([-0.5, 0.0, 0.7])) if same_margin is None else same_margin
    same = PairHinge(float(rng.uniform(0.1, 1.0)), margin, similar=True)
    other = PairHinge(float(rng.uniform(0.1, 1.0)), float(rng.uniform(0.5, 2.0)), similar=False)
    return LabelledPairRisk(rng.normal(size=(n, 3)), codes, same, other, cone(3))


@given(seeds, st.sampled_from([PSDCone, NonnegativeDiagonal]))
@settings(max_examples=40)
def test_value_and_dual_points_are_those_of_the_list(seed, cone):
    rng = np.random.default_rng(seed)
    whole = risk(rng, cone)
    listed = whole.listed()
    assert listed.parts == whole.count == 55
    for M in (random_metric(rng, whole.cone, 0.5), random_element(rng, whole.cone)):
        assert whole.value(M) == pytest.approx(listed.value(M), rel=1e-10, abs=1e-10)
    u = rng.normal(size=55)
    ours, theirs = whole.minorant(u), listed.minorant(u)
    assert ours.value == pytest.approx(theirs.value, rel=1e-10, abs=1e-12)
    np.testing.assert_allclose(ours.S, theirs.S, atol=1e-10)


@given(seeds)
@settings(max_examples=30)
def test_a_pass_is_that_of_the_list(seed):
    rng = np.random.default_rng(seed)
    whole = risk(rng)
    listed = ListedImages(whole.listed().comparisons, whole.listed().loss)
    G, H = 0.6 * rng.normal(size=(11, 2)), rng.normal(size=(11, 2))
    for width in (0.0, 0.3, 2.0):
        ours, theirs = whole.at(G, width), listed.at(G, width)
        assert ours.exact == pytest.approx(theirs.exact, rel=1e-10)
        assert sum(ours.duals) == pytest.approx(sum(theirs.duals), rel=1e-9, abs=1e-10)
        np.testing.assert_allclose(ours.gradient(), theirs.gradient(), atol=1e-9)
        np.testing.assert_allclose(
            whole.scaled_multipliers(ours, 0.4), listed.scaled_multipliers(theirs, 0.4), atol=1e-9
        )
        for side, other in zip(ours.sides(whole.X), theirs.sides(whole.X), strict=True):
            np.testing.assert_allclose(side, other, atol=1e-9)
        if width > 0.0:
            assert ours.kinks == theirs.kinks
            np.testing.assert_allclose(ours.product(H), theirs.product(H), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(whole.within_scatter(), listed.within_scatter(), atol=1e-10)


def test_blocks_change_nothing(monkeypatch):
    rng = np.random.default_rng(0)
    whole = risk(rng)
    M, groups = random_metric(rng, whole.cone), rng.integers(0, 3, 11)
    before = whole.value(M), whole.separate(M, groups).normals
    monkeypatch.setattr(labelled_pairs, "BLOCK", 3)
    assert whole.value(M) == pytest.approx(before[0], rel=1e-13)
    np.testing.assert_allclose(whole.separate(M, groups).normals, before[1], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("n", [1, 2, 7, 11, 12])
@pytest.mark.parametrize("block", [2, 256])
@pytest.mark.parametrize("cone", [PSDCone, NonnegativeDiagonal])
def test_a_cut_of_all_pairs_at_once_is_the_sum_of_those_of_single_points(monkeypatch, n, block, cone):
    monkeypatch.setattr(labelled_pairs, "BLOCK", block)
    rng = np.random.default_rng(n)
    whole = risk(rng, cone, n)
    M = random_metric(rng, whole.cone, 0.5)
    once, halves = whole.separate(M, np.zeros(n, dtype=np.int64)), whole.separate(M, np.arange(n))
    for name in ("values", "offsets", "normals", "weights"):
        np.testing.assert_allclose(getattr(once, name)[0], getattr(halves, name).sum(axis=0), rtol=1e-10, atol=1e-12)
    assert whole.value(M) == pytest.approx(once.values[0], rel=1e-12, abs=1e-12)
    gained = once.offsets[0] - float(once.normals[0] @ whole.cone.coordinates(M))
    assert once.values[0] == pytest.approx(gained, rel=1e-9, abs=1e-10)


@given(seeds, st.sampled_from([3, 4, 6]))
@settings(max_examples=30)
def test_a_sample_is_the_list_of_the_pairs_within_its_blocks(seed, size):
    rng = np.random.default_rng(seed)
    whole = risk(rng, n=26)
    sample = whole.sampled(size)
    count = len(sample.X)
    assert count == 26 // size * size
    pairs = np.array([(i, j) for i in range(count) for j in range(i + 1, count) if i // size == j // size])
    alike = sample.codes[pairs[:, 0]] == sample.codes[pairs[:, 1]]
    for kind, hinge, total in ((alike, whole.same, whole._same_count), (~alike, whole.other, 325 - whole._same_count)):
        own = sample.same if hinge.similar else sample.other
        assert own.margin == hinge.margin
        if kind.any():
            assert own.weight * kind.sum() == pytest.approx(hinge.weight * total)
    numbers = [
        np.where(alike, *(getattr(h, name) for h in (sample.same, sample.other))) for name in ("weight", "margin")
    ]
    distances = PairDistances(sample.X, pairs, np.where(alike, -1.0, 1.0), PSDCone(3))
    listed = ListedImages(distances, BoxLoss.hinge(*numbers, alike & (whole.same.margin >= 0.0)))
    G, H = 0.6 * rng.normal(size=(count, 2)), rng.normal(size=(count, 2))
    centres = None, None
    for _ in range(2):
        # The second time around the multipliers of the first.
        ours, theirs = (one.at(G, 0.5, centre) for one, centre in zip((sample, listed), centres, strict=True))
        centres = sample.centre(ours), listed.centre(theirs)
        assert (ours.exact, ours.value) == pytest.approx((theirs.exact, theirs.value), rel=1e-6)
        np.testing.assert_allclose(ours.gradient(), theirs.gradient(), atol=1e-6)
        np.testing.assert_allclose(ours.product(H), theirs.product(H), rtol=1e-4, atol=1e-4)
        for side, other in zip(ours.sides(sample.X), theirs.sides(sample.X), strict=True):
            # Sums in single precision: entries are as wrong as the largest is large.
            np.testing.assert_allclose(side, other, atol=1e-7 * max(10.0, np.abs(other).max()))


@given(seeds)
@settings(max_examples=20)
def test_far_apart_only_pairs_of_equal_labels_cost(seed):
    whole = risk(np.random.default_rng(seed), same_margin=0.3)
    M, cuts = whole.apart()
    known = whole.separate(M, np.zeros(11, dtype=np.int64))
    for name in ("values", "offsets", "normals", "weights"):
        np.testing.assert_allclose(getattr(cuts, name), getattr(known, name), rtol=1e-9, atol=1e-12)
    point = whole.minorant(CutDual(M[None], np.ones((1, 1)), np.zeros(11, dtype=np.int64)))
    np.testing.assert_allclose(point.S, -whole.within_scatter(), rtol=1e-9, atol=1e-12)


def test_equal_terms_of_many_pairs_add_up_without_a_drift():
    # Added one after the other, they gave lower bounds of one and 2e-12.
    whole = risk(np.random.default_rng(0), n=900, same_margin=0.0)
    u = np.full(whole.count, whole.other.weight)
    i, j = np.triu_indices(900, 1)
    terms = np.where(whole.codes[i] == whole.codes[j], 0.0, whole.other.margin * whole.other.weight)
    exact = fsum(terms.tolist())
    assert abs(whole.minorant(u).value - exact) <= 0.1 * sum_error(whole.count) * exact


@pytest.mark.parametrize("poison", [np.nan, np.inf, -np.inf])
def test_multipliers_that_are_not_numbers_say_nothing(poison):
    u = np.zeros(55)
    u[7] = poison
    assert risk(np.random.default_rng(0)).minorant(u) is None


def test_multipliers_come_one_a_pair():
    with pytest.raises(DualError, match=r"shape \(55,\), one a pair \(i, j\) with i < j"):
        risk(np.random.default_rng(0)).minorant(np.zeros(110))


@pytest.mark.parametrize("multipliers", [False, True])
def test_slopes_of_some_pairs_are_made_alone(multipliers, monkeypatch):
    rng = np.random.default_rng(4)
    whole = risk(rng)
    witnesses, groups = np.array([random_metric(rng, whole.cone, 0.5) for _ in range(2)]), np.arange(11) % 2
    dual = rng.uniform(size=55) if multipliers else CutDual(witnesses, rng.dirichlet([1, 1], 2).T, groups)
    slopes, made = whole.hints(dual).arrays["slopes"], []
    every = np.asarray(slopes)
    monkeypatch.setattr(
        whole, "_slopes", lambda *given: made.append(given[1:]) or LabelledPairRisk._slopes(whole, *given)
    )
    slopes = whole.hints(dual).arrays["slopes"]
    for first, stop in ((0, 55), (0, 3), (7, 31), (9, 10), (54, 55), (20, 20)):
        np.testing.assert_array_equal(slopes[first:stop], every[first:stop])
        np.testing.assert_array_equal(0.5 * every[first:stop], slopes[first:stop] * 0.5)
    assert max(stop - first for first, stop in made[2:]) == 24
    assert len(set(every)) > 2
    # Weights that add up to more than one by rounding are clipped.
    more = 3.0 * dual if multipliers else CutDual(witnesses, 1.5 * dual.weights, groups)
    assert np.asarray(whole.hints(more).arrays["slopes"]).max() == 1.0


def test_too_many_pairs_are_not_written_out(monkeypatch):
    monkeypatch.setattr(labelled_pairs, "PAIRS_LIMIT", 54)
    with pytest.raises(InputError, match="55 pairs; keep it to 54"):
        risk(np.random.default_rng(0)).listed()
