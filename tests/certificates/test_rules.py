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
from convexmetric.regularizers import Zero
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
    other = cm.MetricProblem(problem.risk, cm.regularizers.Trace(0.05), G)
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
