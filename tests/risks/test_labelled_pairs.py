"""Hinges over all pairs of labels against the same pairs in a list."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import random_element, random_metric

from convexmetric.cones import NonnegativeDiagonal, PSDCone
from convexmetric.errors import DualError, InputError
from convexmetric.risks import LabelledPairRisk, ListedImages, PairHinge, labelled_pairs

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


@pytest.mark.parametrize("poison", [np.nan, np.inf, -np.inf])
def test_multipliers_that_are_not_numbers_say_nothing(poison):
    u = np.zeros(55)
    u[7] = poison
    assert risk(np.random.default_rng(0)).minorant(u) is None


def test_multipliers_come_one_a_pair():
    with pytest.raises(DualError, match=r"shape \(55,\), one a pair \(i, j\) with i < j"):
        risk(np.random.default_rng(0)).minorant(np.zeros(110))


def test_too_many_pairs_are_not_written_out(monkeypatch):
    monkeypatch.setattr(labelled_pairs, "PAIRS_LIMIT", 54)
    with pytest.raises(InputError, match="55 pairs; keep it to 54"):
        risk(np.random.default_rng(0)).listed()
