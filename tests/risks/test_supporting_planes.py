"""Planes made at a metric are tight there and below the risk everywhere, for any grouping of the parts."""

import numpy as np
import pytest
from catalogue import instance, names
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import random_element, random_metric, some

from convexmetric.comparisons import rankings
from convexmetric.risks import PairwiseRisk
from convexmetric.risks.base import group_sums

SOFT = names(without="hard")


def groupings(rng, parts):
    yield np.zeros(parts, dtype=np.int64)
    yield np.arange(parts)
    yield rng.integers(0, 3, parts)
    yield np.full(parts, 4)  # groups 0 to 3 are empty


@pytest.mark.parametrize("name", SOFT)
@pytest.mark.parametrize("seed", some(range(3), 1))
def test_planes_support_the_risk(name, seed):
    rng = np.random.default_rng(seed)
    risk = instance(name, seed).risk
    cone = risk.cone
    M = random_metric(rng, cone, float(10.0 ** rng.uniform(-2, 1)))
    others = [cone.zeros(), M, 2 * M, random_metric(rng, cone), random_metric(rng, cone, 30.0)]
    # A plane holds on the whole space, not only on the cone.
    others.append(random_element(rng, cone))
    u = cone.coordinates(M)
    for groups in groupings(rng, risk.parts):
        cuts = risk.separate(M, groups)
        n_groups = groups.max() + 1
        assert cuts.values.shape == cuts.offsets.shape == (n_groups,)
        assert cuts.normals.shape == (n_groups, cone.size)
        assert cuts.values.sum() == pytest.approx(risk.value(M), rel=1e-10)
        scale = np.abs(cuts.normals).max() * max(1.0, np.abs(u).max())
        np.testing.assert_allclose(cuts.offsets - cuts.normals @ u, cuts.values, rtol=1e-9, atol=1e-11 * scale)
        empty = np.setdiff1d(np.arange(n_groups), groups)
        assert not cuts.values[empty].any()
        assert not cuts.normals[empty].any()
        for other in others:
            exact = risk.separate(other, groups).values
            plane = cuts.offsets - cuts.normals @ cone.coordinates(other)
            assert (plane <= exact + 1e-10 * (scale + np.abs(exact).max())).all()


@pytest.mark.parametrize("name", names("sum"))
def test_planes_of_a_sum_are_of_the_parts_in_their_groups(name):
    rng = np.random.default_rng(6)
    risk = instance(name).risk
    M = risk.cone.identity() + random_metric(rng, risk.cone)
    for groups in groupings(rng, risk.parts):
        values = group_sums(risk.part_values(M), groups, int(groups.max()) + 1)
        np.testing.assert_allclose(risk.separate(M, groups).values, values, atol=1e-12)


@pytest.mark.parametrize("name", SOFT)
def test_planes_of_a_coarse_grouping_are_sums_of_the_finest(name):
    rng = np.random.default_rng(7)
    risk = instance(name).risk
    M = random_metric(rng, risk.cone)
    groups = rng.integers(0, 3, risk.parts)
    coarse, fine = risk.separate(M, groups), risk.separate(M, np.arange(risk.parts))
    n_groups = groups.max() + 1
    np.testing.assert_allclose(coarse.values, group_sums(fine.values, groups, n_groups), atol=1e-12)
    np.testing.assert_allclose(coarse.offsets, group_sums(fine.offsets, groups, n_groups), atol=1e-12)
    for g in range(n_groups):
        np.testing.assert_allclose(coarse.normals[g], fine.normals[groups == g].sum(axis=0), atol=1e-10)


@pytest.mark.parametrize("name", SOFT)
def test_planes_made_anywhere_are_valid_however_large_the_witness(name):
    problem = instance(name)
    cone, risk = problem.cone, problem.risk
    rng = np.random.default_rng(1)
    groups = np.zeros(risk.parts, dtype=np.int64)
    for size in (1e12, 1e20, 1e100, 1e250):
        cuts = risk.separate(size * random_element(rng, cone), groups)
        for _ in range(5):
            M = random_metric(rng, cone)
            plane = cuts.offsets[0] - cuts.normals[0] @ cone.coordinates(M)
            assert plane <= risk.value(M) + 1e-9 * (1.0 + np.abs(cuts.normals).max())


@pytest.mark.parametrize("name", [*names("method", "relative", "soft"), *names("triplets", without="logistic")])
@pytest.mark.parametrize("size", [1.0, 1e6, 1e14, 1e15, 1e20])
def test_offsets_of_hinges_count_the_violated_whatever_the_witness(name, size):
    risk = instance(name).risk
    M = size * random_element(np.random.default_rng(2), risk.cone)
    if isinstance(risk, PairwiseRisk):
        risk = risk.listed()
    weights, margins = risk.loss.hinges(risk.parts)
    violated = risk.comparisons.forward(M) < margins
    assert violated.any()
    offset = instance(name).risk.separate(M, np.zeros(instance(name).risk.parts, dtype=np.int64)).offsets[0]
    assert offset == pytest.approx((weights * margins)[violated].sum(), rel=1e-12)


@given(st.integers(0, 10**6), st.sampled_from(SOFT), st.floats(0.0, 1.0))
@settings(max_examples=60)
def test_risks_are_convex_and_nonnegative(seed, name, share):
    rng = np.random.default_rng(seed)
    risk = instance(name).risk
    A, B = random_metric(rng, risk.cone), random_metric(rng, risk.cone, 5.0)
    between = risk.value(share * A + (1 - share) * B)
    chord = share * risk.value(A) + (1 - share) * risk.value(B)
    assert between <= chord + 1e-10 * (1.0 + abs(chord))
    assert between >= -1e-12 or not risk.nonnegative


def test_memory_blocks_do_not_change_a_ranking_risk(monkeypatch):
    risk = instance("ranking from labels").risk
    rng = np.random.default_rng(0)
    M = random_metric(rng, risk.cone)
    groups = rng.integers(0, 3, risk.parts)
    value, cuts = risk.value(M), risk.separate(M, groups)
    monkeypatch.setattr(rankings, "BLOCK_BYTES", 5 * 8 * len(risk.rankings.X))
    assert len(list(risk.rankings.cuts(np.arange(risk.parts)))) == 3
    blocked = risk.separate(M, groups)
    assert risk.value(M) == pytest.approx(value, rel=1e-14)
    np.testing.assert_allclose(blocked.values, cuts.values, rtol=1e-13)
    np.testing.assert_allclose(blocked.offsets, cuts.offsets, rtol=1e-13)
    np.testing.assert_allclose(blocked.normals, cuts.normals, rtol=1e-10, atol=1e-13)
