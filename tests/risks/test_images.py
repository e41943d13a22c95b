"""Passes at images: gradients and second derivatives by differences, and what multipliers prove."""

import numpy as np
import pytest
from catalogue import instance, names
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import random_triplets

from convexmetric.comparisons import Triplets
from convexmetric.cones import PSDCone
from convexmetric.losses import BoxLoss, Hinge
from convexmetric.risks import ImageRisk, SeparableRisk

#: Losses of triplets, of which some share pairs.
TRIPLETS = {
    "triplets": Hinge(0.3),
    "triplets, weighted": BoxLoss.hinge(np.linspace(0.1, 1.0, 30), np.linspace(-0.5, 2.0, 30)),
    "triplets, absolute errors": BoxLoss.absolute_error(np.linspace(0.1, 1.0, 30), np.linspace(-2.0, 2.0, 30)),
    "triplets, squared errors": BoxLoss.squared_error(np.linspace(0.1, 1.0, 30), np.linspace(-2.0, 2.0, 30)),
}
NAMES = sorted({*names("pairs"), *names("similarity"), *TRIPLETS})


def risk_of(name, seed=0):
    if name not in TRIPLETS:
        return instance(name, seed).risk
    rng = np.random.default_rng(seed)
    X, triplets = rng.normal(size=(9, 4)), random_triplets(rng, 9, 30)
    return SeparableRisk(Triplets(X, triplets, PSDCone(4)), TRIPLETS[name])


def images(name, seed=0):
    return risk_of(name, seed).form(ImageRisk)


@given(st.sampled_from(NAMES), st.integers(0, 10**6), st.sampled_from([0.05, 0.5, 3.0]), st.booleans())
@settings(max_examples=80)
def test_derivatives_are_those_of_the_value(name, seed, width, centred):
    rng = np.random.default_rng(seed)
    risk = images(name, seed % 3)
    G, H = (0.7 * rng.normal(size=(len(risk.X), 2)) for _ in range(2))
    centre = risk.centre(risk.at(0.5 * G, width)) if centred else None
    here = risk.at(G, width, centre)
    scale = 1.0 + abs(here.value)
    step = 1e-5
    ahead, behind = (risk.at(G + sign * step * H, width, centre) for sign in (1.0, -1.0))
    assert np.vdot(here.gradient(), H) == pytest.approx((ahead.value - behind.value) / (2 * step), abs=1e-3 * scale)
    if ahead.kinks == behind.kinks == here.kinks:
        np.testing.assert_allclose(
            here.product(H), (ahead.gradient() - behind.gradient()) / (2 * step), atol=2e-4 * scale / width
        )
        bent = here.product(H) + 2.0 * here.laplacian(H)
        assert np.vdot(H, bent) >= -1e-5 * scale / width


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("width", [0.0, 0.2])
def test_multipliers_prove_what_the_pass_says(name, width):
    """At the metric of the images, and for those that add to S scaled too."""
    risk, given_risk = images(name), risk_of(name)
    rng = np.random.default_rng(1)
    B = 0.8 * rng.normal(size=(3, risk.X.shape[1]))
    here = risk.at(risk.X @ B.T, width)
    assert here.exact == pytest.approx(given_risk.value(B.T @ B), rel=1e-9, abs=1e-12)
    adding, taking = here.sides(risk.X)
    for share in (1.0, 0.3, 0.0):
        point = given_risk.minorant(risk.scaled_multipliers(here, share))
        np.testing.assert_allclose(point.S, share * adding - taking, atol=1e-9)
        assert point.value >= share * here.duals[0] + here.duals[1] - 1e-9
    assert given_risk.minorant(risk.scaled_multipliers(here, 1.0)).value == pytest.approx(sum(here.duals), rel=1e-9)
    proven = sum(here.duals) - np.vdot(adding - taking, B.T @ B)
    assert proven <= here.exact + 1e-9
    if width == 0.0:
        assert proven == pytest.approx(here.exact, rel=1e-8, abs=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_smoothed_values_approach_the_risk(name):
    risk = images(name)
    G = 0.8 * np.random.default_rng(2).normal(size=(len(risk.X), 2))
    errors = [abs(risk.at(G, width).value - risk.at(G, width).exact) for width in (1.0, 0.1, 1e-4)]
    assert errors[2] <= 1e-3 * (1.0 + risk.at(G, 0.0).exact)
    assert errors[2] <= errors[0] + 1e-12
