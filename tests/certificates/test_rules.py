"""Rules of the kernel for blocks beside those of the papers: proven, and judged alike by the second checker."""

from fractions import Fraction

import numpy as np
import pytest
from campaign.agreement import compare
from forgery import opened, written
from samples import random_metric, random_triplets

import convexmetric as cm
from convexmetric.certificates import CertificateError, checker
from convexmetric.comparisons import Triplets
from convexmetric.cones import NonnegativeDiagonal, PSDCone
from convexmetric.losses import Hinge
from convexmetric.regularizers import EntrywiseL1, Frobenius, SquaredFrobenius, Trace, Zero
from convexmetric.risks import SeparableRisk

CONES = (PSDCone, NonnegativeDiagonal)


def triplets(regularizer, cone=PSDCone, linear=True, seed=0, d=3):
    """Random triplets with a linear term that is positive definite, or without one."""
    rng, K = np.random.default_rng(seed), cone(d)
    G = 0.3 * random_metric(rng, K) + 0.1 * K.identity() if linear else None
    risk = SeparableRisk(Triplets(rng.standard_normal((9, d)), random_triplets(rng, 9, 14), K), Hinge(1.5, margin=0.8))
    return cm.MetricProblem(risk, regularizer, G)


def proven(problem, path, tol=1e-7, loss=1e-6):
    """The verdict on the file of a solution, which both checkers accept, and which loses nothing to speak of."""
    solution = cm.solve(problem, tol=tol)
    verdict = cm.write_certificate(path, problem, solution)
    assert compare([path], [path.read_bytes()]) == "accepted"
    scale = loss * max(1.0, abs(solution.upper_bound))
    assert solution.lower_bound - scale <= verdict.lower <= verdict.upper <= solution.upper_bound + scale
    return verdict


def said_of(path, contents):
    """What both say of changed contents."""
    written(path, contents)
    return compare([path], [path.read_bytes()])


@pytest.mark.parametrize("cone", CONES)
@pytest.mark.parametrize("seed", range(3))
def test_no_regularizer_is_proven_by_the_linear_term(cone, seed, tmp_path):
    problem, path = triplets(Zero(), cone, seed=seed), tmp_path / "c.npz"
    verdict = proven(problem, path)
    document, arrays = opened(path)
    assert document["problem"]["regularizer"] == {"kind": "zero"}
    # A dual point that is larger by a hundredth is feasible no more where the linear term is in the way.
    larger = {"share": str(Fraction(document["dual"]["share"]) * Fraction(101, 100))}
    for changed in (
        (document | {"dual": document["dual"] | larger}, arrays),
        (document, arrays | {"linear": 0.5 * arrays["linear"]}),
    ):
        assert said_of(tmp_path / "other.npz", changed) in ("not proven", "rounding")
    # The same problem with the trace in the place of a multiple of the identity has the same optimum.
    G = problem.G - 0.05 * problem.cone.identity()
    other = cm.MetricProblem(problem.risk, Trace(0.05), G)
    again = proven(other, path)
    assert max(verdict.lower, again.lower) <= min(verdict.upper, again.upper)


@pytest.mark.parametrize("cone", CONES)
def test_without_linear_term_nothing_is_left_but_zero(cone, tmp_path):
    """Triplets alone: the risk is zero at some metric, or no dual point proves more than that it is not negative."""
    problem, path = triplets(Zero(), cone, linear=False), tmp_path / "c.npz"
    M = problem.cone.identity()
    verdict = cm.write_certificate(path, problem, cm.certify(problem, M, np.zeros(problem.risk.parts)))
    assert verdict.lower == 0
    assert compare([path], [path.read_bytes()]) == "accepted"
    document, arrays = opened(path)
    assert said_of(path, (document, arrays | {"slopes": np.full(14, 0.5)})) == (
        "accepted" if document["dual"]["share"] == "0" else "not proven"
    )


@pytest.mark.parametrize(
    "table", [{"kind": "zero", "weight": "1"}, {"kind": "zero", "over_root_of": 4}, {"kind": "zero", "of": "matrix"}]
)
def test_no_regularizer_has_no_parameters(table, tmp_path):
    path = tmp_path / "c.npz"
    proven(triplets(Zero()), path)
    document, arrays = opened(path)
    document["problem"]["regularizer"] = table
    assert said_of(path, (document, arrays)) == "refused"
    with pytest.raises(CertificateError, match="unknown"):
        checker.prove([(document, arrays)])


RESTS = {"zero": Zero(), "trace": Trace(0.05), "frobenius": Frobenius(0.05), "squared": SquaredFrobenius(0.1)}


@pytest.mark.parametrize("every", [True, False], ids=["all", "off the diagonal"])
@pytest.mark.parametrize("linear", [True, False], ids=["G", "no G"])
@pytest.mark.parametrize("rest", RESTS)
def test_sizes_of_entries_are_proven_beside_every_norm(rest, linear, every, tmp_path):
    if not (every or linear) and rest == "zero":
        pytest.skip("nothing keeps the diagonal from growing, and nothing is proven but zero")
    problem, path = triplets(EntrywiseL1(0.2, RESTS[rest], every), linear=linear), tmp_path / "c.npz"
    verdict = proven(problem, path, loss=1e-5)
    document, arrays = opened(path)
    Y, M = arrays["subgradient"], arrays["factor"].T @ arrays["factor"]
    assert np.abs(Y).max() <= 0.2
    assert every or not Y.diagonal().any()
    assert float(verdict.upper) == pytest.approx(problem.value(M), rel=1e-12)
    # Entries beyond the weight by a hair, of other signs or not symmetric; free ones that are not zero.
    beyond, skew, free = (Y.copy() for _ in range(3))
    beyond[0, 1] = beyond[1, 0] = np.nextafter(0.2, 1.0)
    skew[0, 1] += 1e-9
    free[1, 1] = 1e-300
    for wrong in (beyond, skew, *(() if every else (free,))):
        assert said_of(path, (document, arrays | {"subgradient": wrong})) == "not proven"
        found = checker.verify(path)
        assert found.lower is None
        assert "matrix of entries" in found.reason
    for wrong in (-Y, np.zeros_like(Y)):
        if said_of(path, (document, arrays | {"subgradient": wrong})) == "accepted":
            assert not linear
    for wrong in (np.full_like(Y, np.nan), Y[:2], np.zeros((3, 0)), Y.astype("<i8")):
        assert said_of(path, (document, arrays | {"subgradient": wrong})) == "refused"
    smaller = document["problem"] | {"regularizer": document["problem"]["regularizer"] | {"weight": "1/10"}}
    assert said_of(path, (document | {"problem": smaller}, arrays)) == "not proven"


@pytest.mark.parametrize("seed", range(4))
def test_sizes_of_entries_under_any_dual_point(seed, tmp_path):
    """Bounds of random dual points are below values at random metrics."""
    rng, path = np.random.default_rng(seed), tmp_path / "c.npz"
    problem = triplets(EntrywiseL1(0.1, SquaredFrobenius(0.2), seed % 2 == 0), seed=seed)
    M = random_metric(rng, problem.cone)
    verdict = cm.write_certificate(path, problem, cm.certify(problem, M, rng.random(problem.risk.parts)))
    assert compare([path], [path.read_bytes()]) == "accepted"
    assert float(verdict.upper) == pytest.approx(problem.value(M), rel=1e-9)
    for size in (0.0, 0.01, 0.1, 1.0):
        assert float(verdict.lower) <= problem.value(size * random_metric(rng, problem.cone))


def test_sizes_of_weights_are_a_linear_term(tmp_path):
    problem, path = triplets(EntrywiseL1(0.2, Trace(0.05)), NonnegativeDiagonal), tmp_path / "c.npz"
    proven(problem, path, loss=1e-5)
    document, arrays = opened(path)
    assert document["problem"]["regularizer"] == {"kind": "trace", "weight": "1/20"}
    np.testing.assert_array_equal(arrays["linear"], problem.G + 0.2)


TABLE = {"kind": "entrywise", "weight": "1/5", "diagonal": True, "rest": {"kind": "trace", "weight": "1/20"}}


@pytest.mark.parametrize(
    "change",
    [
        {"weight": "0"}, {"weight": "-1"}, {"weight": 0.2}, {"diagonal": 1}, {"diagonal": None}, {"rest": None},
        {"rest": {"kind": "entrywise", "weight": "1/5", "diagonal": True, "rest": {"kind": "zero"}}},
        {"rest": {"kind": "quadratic form", "of": "matrix"}}, {"rest": {"kind": "zero", "weight": "1"}},
        {"rest": {"kind": ["trace"]}}, {"over_root_of": 4},
    ],
    ids=str,
)  # fmt: skip
def test_tables_of_entries_that_are_none_are_refused(change, tmp_path):
    path = tmp_path / "c.npz"
    proven(triplets(EntrywiseL1(0.2, Trace(0.05))), path, loss=1e-5)
    document, arrays = opened(path)
    assert document["problem"]["regularizer"] == TABLE
    document["problem"]["regularizer"] = TABLE | change
    assert said_of(path, (document, arrays)) == "refused"
    document["problem"] |= {"regularizer": TABLE, "cone": "diagonal"}
    assert said_of(path, (document, arrays)) == "refused"
