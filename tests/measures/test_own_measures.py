"""Measures of a user's own, which no compiled oracle knows: the reference dynamic program, in both layouts."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from extensions import (
    ClaimsPairs,
    Doubled,
    ExpectedReciprocalRank,
    Imperfect,
    LastPair,
    RenamedPrecision,
    Undefined,
    ranking,
)
from oracles import distances, mistakes, oracle
from samples import clarabel

import convexmetric as cm
from convexmetric.certificates import describe
from convexmetric.cones import NonnegativeDiagonal, PSDCone
from convexmetric.errors import ContractError, DualError
from convexmetric.measures import MEASURES, AveragePrecision, measure_named
from convexmetric.measures.base import COMPILED
from convexmetric.measures.reference import most_violated
from convexmetric.regularizers import SquaredFrobenius, Trace
from convexmetric.risks import SmoothedPairs

OWN = [ExpectedReciprocalRank(), ExpectedReciprocalRank(0.9), LastPair(), RenamedPrecision()]
SIZES = [(p, n) for p in range(1, 8) for n in range(1, 9 - p)]


def named(measure):
    return f"{type(measure).__name__}-{getattr(measure, 'grade', '')}"


def unregistered(name):
    """A subclass that changes nothing, and so must give what the fast oracle gives."""
    measure = measure_named(name)
    return type("Own", (type(measure),), {})(*([3] if measure.k else []))


@pytest.mark.parametrize("measure", OWN, ids=named)
def test_no_interleaving_is_worse(measure):
    assert type(measure) not in COMPILED
    rng = np.random.default_rng(1)
    assert sum(mistakes(measure, distances(rng, 40, p + n), p) for p, n in SIZES) == 0


@pytest.mark.parametrize("name", list(MEASURES))
def test_a_subclass_finds_what_the_fast_oracle_of_its_base_finds(name):
    own = unregistered(name)
    base = measure_named(name, own.k or None)
    rng = np.random.default_rng(2)
    for _ in range(40):
        p, n = rng.integers(1, 30, 2)
        D = distances(rng, 3, p + n)
        np.testing.assert_allclose(oracle(own, D, p)[2], oracle(base, D, p)[2], atol=1e-10 * np.abs(D).max())


@pytest.mark.parametrize("measure", OWN, ids=named)
def test_a_constant_added_to_all_distances_changes_nothing(measure):
    D = np.random.default_rng(3).integers(0, 64, (50, 20)) / 32.0
    T, losses, violations = oracle(measure, D, 8)
    for shift in (-3.0, 1024.0, 2.0**40):
        shifted = oracle(measure, D + shift, 8)
        for one, other in zip(shifted, (T, losses, violations), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("measure", OWN, ids=named)
def test_distances_that_are_no_numbers_still_give_a_ranking(measure):
    D = np.array([[np.nan, 1.0, np.inf, 0.0, np.nan], [np.inf] * 5, [np.nan] * 5, [-np.inf, 0.0, 1.0, 2.0, np.inf]])
    T, losses, _ = oracle(measure, D, 3)
    counts = np.rint(T * 3.0)
    np.testing.assert_allclose(T, counts / 3.0)
    assert (counts.sum(axis=1) == 0).all()
    assert ((losses >= 0.0) & (losses <= 1.0)).all()


@pytest.mark.parametrize("measure", OWN, ids=named)
def test_sums_that_overflow_do_not_hide_the_worst_ranking(measure):
    rng = np.random.default_rng(4)
    for _ in range(60):
        p, n = rng.integers(1, 4, 2)
        D = rng.choice([0.0, 1.0, 1e300, 1.7e308, -1.7e308], p + n)
        x, z = np.sort(D[:p]), np.sort(D[p:])
        best = []
        for places in combinations(range(p + n), p):
            b = np.array(places) - np.arange(p)
            gap = sum(Fraction(z[j]) - Fraction(x[i]) for i in range(p) for j in range(b[i]))
            best.append((gap * 2 / (p * n) - 1 + Fraction(float(measure.gains(np.arange(1, p + 1), b, p, n).sum())), b))
        with np.errstate(over="ignore", invalid="ignore"):
            found = most_violated(measure, x, z)[0]
        here = next(cost for cost, b in best if (b == found).all())
        least = min(cost for cost, _ in best)
        assert here - least <= Fraction(1e-12) * max(1, Fraction(float(np.abs(D).max())))


@pytest.mark.parametrize("measure", OWN, ids=named)
def test_layouts_give_the_same_cuts(measure):
    problem = ranking(measure)
    rankings, groups = problem.risk.rankings, np.array([0, 1, 0, 2])
    assert rankings.dense
    dense = problem.risk.separate(0.3 * np.eye(3), groups)
    rankings.dense = False
    listed = problem.risk.separate(0.3 * np.eye(3), groups)
    for one, other in [(listed.values, dense.values), (listed.offsets, dense.offsets), (listed.normals, dense.normals)]:
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("regularizer", [Trace(1.0), SquaredFrobenius(0.5)], ids=["trace", "squared"])
@pytest.mark.parametrize("cone", [PSDCone(3), NonnegativeDiagonal(3)], ids=["full", "diagonal"])
@pytest.mark.parametrize("measure", OWN, ids=named)
def test_the_optimum_is_that_of_the_statement_over_all_rankings(measure, cone, regularizer):
    problem = ranking(measure, cone, regularizer)
    solution = cm.solve(problem, tol=1e-8)
    assert solution.status == "optimal"
    assert solution.upper_bound == pytest.approx(clarabel(problem), rel=1e-6)


def test_a_subclass_with_gains_of_its_own_is_not_pairwise():
    assert not LastPair.pairwise
    assert ClaimsPairs.pairwise
    problem = ranking(LastPair())
    with pytest.raises(DualError, match="SmoothedPairs is for pairwise measures"):
        problem.dual_bound(SmoothedPairs(np.eye(3), 1.0))
    assert cm.solvers.SmoothedNewton().unsupported(problem) is not None


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        (Doubled(), r"measure Doubled: gains must be in \[0, 1\], got g\(1, 0\) = .*2\.0"),
        (Imperfect(), "measure Imperfect: the perfect ranking must score 1, got 0.5 with p = "),
        (Undefined(), r"measure Undefined: gains must be in \[0, 1\], got g\(1, 0\) = .*nan"),
        (ClaimsPairs(), r"measure ClaimsPairs: it says that it is pairwise, but its gains are not \(n - b\) / \(p n\)"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_gains_that_break_the_contract_are_named(measure, message):
    with pytest.raises(ContractError, match=message):
        cm.solve(ranking(measure))


def test_gains_of_the_wrong_shape_are_named(monkeypatch):
    monkeypatch.setattr(ExpectedReciprocalRank, "gains", lambda *_: 1.0)
    with pytest.raises(ContractError, match=r"gains of 6 places must have shape \(6,\), got \(\)"):
        most_violated(ExpectedReciprocalRank(), np.zeros(2), np.zeros(2))


def test_fingerprints_tell_own_measures_from_those_here_and_by_what_they_were_given():
    of = [
        ranking(measure).fingerprint()
        for measure in (AveragePrecision(), RenamedPrecision(), *OWN[:2], unregistered("map"))
    ]
    assert len(set(of)) == len(of)
    assert of[2] == ranking(ExpectedReciprocalRank(0.5)).fingerprint()


def test_certificates_do_not_take_a_subclass_for_its_base():
    with pytest.raises(cm.errors.InputError, match="certificates do not know a RenamedPrecision"):
        describe(ranking(RenamedPrecision()))


def test_a_subclass_with_gains_of_its_own_has_no_plain_gains_of_its_base():
    class Halved(type(measure_named("precision"))):
        def gains(self, i, b, p, n):
            return 0.5 * (i + b <= np.minimum(self.k, p)) / np.minimum(self.k, p) + 0.5 / p

    class Renamed(type(measure_named("precision"))):
        title = "precision, renamed"

    i, b = np.arange(1, 3), np.array([0, 1])
    np.testing.assert_array_equal(Halved(4).plain_gains(i, b, 2, 3), Halved(4).gains(i, b, 2, 3))
    np.testing.assert_array_equal(Renamed(4).plain_gains(i, b, 2, 3), [0.25, 0.25])
