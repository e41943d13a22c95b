"""Rules of the kernel for blocks beside those of the papers: proven, and judged alike by the second checker."""

from fractions import Fraction

import numpy as np
import pytest
from campaign.agreement import compare
from forgery import opened, written
from samples import consistent, random_cut_dual, random_metric, random_triplets

import convexmetric as cm
from convexmetric.certificates import CertificateError, checker
from convexmetric.comparisons import PairDistances, Triplets
from convexmetric.cones import NonnegativeDiagonal, PSDCone
from convexmetric.losses import BoxLoss, Hinge, Logistic
from convexmetric.regularizers import EntrywiseL1, Frobenius, SquaredFrobenius, Trace, Zero
from convexmetric.risks import JoinedDual, SeparableRisk, SmoothSeparableRisk, SumRisk

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
    assert "+ zero over" in verdict.problem
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


def several(cone=PSDCone, shared=True, seed=0, d=3):
    """Rankings by two measures, hinges of triplets, errors of pairs and a logistic loss, of the same points or not."""
    rng, K, y = np.random.default_rng(seed), cone(d), np.repeat([0, 1, 2], 3)
    X = rng.standard_normal((9, d)) + 0.5 * y[:, None]
    others = X if shared else rng.standard_normal((9, d))
    pairs = np.array([rng.choice(9, 2, replace=False) for _ in range(8)])
    risks = [cm.RankingProblem.from_labels(X, y, name, C=4.0, diagonal=K.diagonal).risk for name in ("map", "auc")]
    risks.append(SeparableRisk(Triplets(others, random_triplets(rng, 9, 8), K), Hinge(0.5)))
    risks.append(
        SeparableRisk(PairDistances(X, pairs, np.ones(8), K), BoxLoss.squared_error(np.full(8, 0.1), rng.random(8)))
    )
    risks.append(SmoothSeparableRisk(Triplets(others, random_triplets(rng, 9, 5), K), Logistic(0.3)))
    return risks


@pytest.mark.parametrize("cone", CONES)
@pytest.mark.parametrize("shared", [True, False], ids=["same points", "others"])
@pytest.mark.parametrize(
    "omega", [Trace(0.3), SquaredFrobenius(0.3), EntrywiseL1(0.1, Trace(0.1))], ids=lambda omega: type(omega).__name__
)
def test_sums_of_risks_are_proven_whole_and_in_parts(omega, shared, cone, tmp_path):
    problem, path = cm.MetricProblem(SumRisk(*several(cone, shared)), omega), tmp_path / "c.npz"
    solution = cm.solve(problem, tol=1e-6)
    verdict = cm.write_certificate(path, problem, solution)
    assert compare([path], [path.read_bytes()]) == "accepted"
    scale = 1e-6 * solution.upper_bound
    assert solution.lower_bound - scale <= verdict.lower <= verdict.upper <= solution.upper_bound + scale
    document, arrays = opened(path)
    assert {name for name in arrays if name.endswith("points")} == (
        {"points"} if shared else {f"summand{k}_points" for k in range(5)}
    )
    assert verdict.sizes["queries"] == 18
    assert verdict.sizes["triplets"] == 13
    for count in (2, 5, 39):
        cm.write_certificate(path, problem, solution, parts=count)
        paths = [tmp_path / f"c-{number}.npz" for number in range(1, count + 1)]
        assert compare(paths, [one.read_bytes() for one in paths]) == "accepted"
        whole = cm.verify(*paths)
        assert max(checker.operations(*opened(one)) for one in paths) < checker.operations(document, arrays)
        assert whole.sha256 == verdict.sha256
        assert abs(whole.lower - verdict.lower) + abs(whole.upper - verdict.upper) <= 1e-9 * verdict.upper
        assert cm.verify(*paths[1:]).lower is None
        if count == 39:
            # Parts of one row: there is nothing of the other risks.
            assert sum(name.endswith("slopes") for name in opened(paths[-1])[1]) == 1


def test_any_dual_points_of_a_sum_are_proven(tmp_path):
    """Weighted cuts of the whole, one dual point each, and multipliers of hinges."""
    rng, path = np.random.default_rng(5), tmp_path / "c.npz"
    risks = several()
    problem = cm.MetricProblem(SumRisk(*risks), Trace(0.3))
    M = random_metric(rng, problem.cone)
    cuts = random_cut_dual(rng, problem)
    joined = JoinedDual(tuple(random_cut_dual(rng, cm.MetricProblem(risk, Trace(0.3))) for risk in risks))
    hinges = cm.MetricProblem(SumRisk(risks[2], risks[2]), Trace(0.3))
    for stated, dual in ((problem, cuts), (problem, joined), (hinges, 0.1 * rng.random(16))):
        certificate = cm.certify(stated, M, dual)
        verdict = cm.write_certificate(path, stated, certificate)
        assert compare([path], [path.read_bytes()]) == "accepted"
        assert float(verdict.upper) == pytest.approx(stated.value(M), rel=1e-9)
        scale = 1e-6 * abs(certificate.lower_bound) + 1e-9
        assert certificate.lower_bound - scale <= verdict.lower <= verdict.upper


def test_a_risk_twice_is_twice_the_risk(tmp_path):
    risk, path, other = several()[2], tmp_path / "c.npz", tmp_path / "o.npz"
    twice = proven(cm.MetricProblem(SumRisk(risk, risk), Trace(0.3)), path)
    weighed = proven(cm.MetricProblem(SeparableRisk(risk.comparisons, Hinge(1.0)), Trace(0.3)), other)
    assert max(twice.lower, weighed.lower) <= min(twice.upper, weighed.upper)
    # The dual point of one alone, with no array for the other, is none.
    document, arrays = opened(path)
    del arrays["summand1_slopes"]
    assert said_of(path, (document, arrays)) == "refused"


def test_a_hard_margin_of_one_risk_is_one_of_the_sum(tmp_path):
    rng, K, path = np.random.default_rng(3), PSDCone(3), tmp_path / "c.npz"
    X = rng.standard_normal((9, 3))
    kept = consistent(X, random_triplets(rng, 9, 12), np.ones(3), 0.5)
    problem = cm.MetricProblem(SumRisk(SeparableRisk(Triplets(X, kept, K), Hinge(np.inf)), several()[0]), Trace(0.3))
    M = 10.0 * np.eye(3)
    dual = JoinedDual(
        (np.full(len(kept), 0.01), random_cut_dual(rng, cm.MetricProblem(problem.risk.risks[1], Trace(0.3))))
    )
    verdict = cm.write_certificate(path, problem, cm.certify(problem, M, dual))
    assert compare([path], [path.read_bytes()]) == "accepted"
    assert verdict.lower > 0
    document, arrays = opened(path)
    assert said_of(path, (document, arrays | {"factor": 0.01 * arrays["factor"]})) == "not proven"
    assert checker.verify(path).upper is None


WRONG = {
    "none": lambda risk, dual, arrays: risk.update(summands=[]),
    "seventeen": lambda risk, dual, arrays: risk.update(summands=risk["summands"] * 9),
    "no list": lambda risk, dual, arrays: risk.update(summands=risk["summands"][0]),
    "a sum of sums": lambda risk, dual, arrays: risk.update(summands=[dict(risk), risk["summands"][1]]),
    "another key": lambda risk, dual, arrays: risk.update(weights=["1", "1"]),
    "text": lambda risk, dual, arrays: risk["summands"].append("trace"),
    "no kind": lambda risk, dual, arrays: risk["summands"][0].pop("kind"),
    "kind of a list": lambda risk, dual, arrays: risk["summands"][0].update(kind=["rankings"]),
    "one more, without arrays": lambda risk, dual, arrays: risk["summands"].append(risk["summands"][0]),
    "one less": lambda risk, dual, arrays: risk["summands"].pop(),
    "one table less": lambda risk, dual, arrays: dual["summands"].pop(),
    "bits of slopes": lambda risk, dual, arrays: dual["summands"][1].update(bits=3),
    "no bits of integers": lambda risk, dual, arrays: dual["summands"][0].pop("bits"),
    "bits of all": lambda risk, dual, arrays: dual.update(bits=3),
    "dual of one": lambda risk, dual, arrays: dual.update(kind="slopes"),
    "a share of one": lambda risk, dual, arrays: dual["summands"][0].update(share="1"),
    "dual tables exchanged": lambda risk, dual, arrays: dual["summands"].reverse(),
    "a number too large": lambda risk, dual, arrays: arrays.update(summand2_slopes=arrays.pop("summand1_slopes")),
    "a number with a zero": lambda risk, dual, arrays: arrays.update(summand01_slopes=arrays.pop("summand1_slopes")),
    "points of nobody": lambda risk, dual, arrays: arrays.update(
        summand0_points=arrays["points"], summand1_points=arrays["points"]
    ),
    "points of another width": lambda risk, dual, arrays: arrays.update(summand0_points=arrays["points"][:, :2]),
    "an array of all": lambda risk, dual, arrays: arrays.update(query_weights=np.ones(9)),
    "no tables": lambda risk, dual, arrays: dual.pop("summands"),
}  # fmt: skip


@pytest.fixture(scope="module")
def of_two(tmp_path_factory):
    """A certificate of a sum of two risks."""
    risks, path = several(), tmp_path_factory.mktemp("sum") / "c.npz"
    proven(cm.MetricProblem(SumRisk(risks[0], risks[2]), Trace(0.3)), path)
    return path


@pytest.mark.parametrize("what", WRONG)
def test_sums_that_are_none_are_refused(what, of_two, tmp_path):
    document, arrays = opened(of_two)
    WRONG[what](document["problem"]["risk"], document["dual"], arrays)
    assert said_of(tmp_path / "c.npz", (document, arrays)) == "refused"


def test_corrupted_dual_points_of_a_risk_prove_nothing_for_the_sum(of_two, tmp_path):
    document, arrays = opened(of_two)
    one, true = document["dual"]["summands"][0], checker.verify(of_two)
    changes = [
        {"summand1_slopes": arrays["summand1_slopes"] + 1.0}, {"summand1_slopes": -arrays["summand1_slopes"]},
        {"summand0_near_sums": arrays["summand0_near_sums"][::-1]},
        {"summand0_far_sums": arrays["summand0_far_sums"] + 1},
        {"summand0_steps": np.minimum(arrays["summand0_steps"] + 1, 6)},
    ]  # fmt: skip
    for changed in changes:
        assert said_of(tmp_path / "c.npz", (document, arrays | changed)) == "not proven"
        assert checker.verify(tmp_path / "c.npz").lower is None
    # With one risk left out of the statement as well the bound would be another problem's.
    one["bits"] -= 1
    said = said_of(tmp_path / "c.npz", (document, arrays))
    assert said in ("refused", "not proven")
    if said == "not proven":
        found = checker.verify(tmp_path / "c.npz")
        assert found.lower is None or found.lower <= true.upper


M0 = np.array([[2.0, 0.3, 0.0], [0.3, 1.0, 0.1], [0.0, 0.1, 0.5]])


def towards_a_prior(kind, prior, reg, diagonal=False):
    """Rankings or triplets of three classes, near a metric that is known before."""
    rng, y = np.random.default_rng(0), np.repeat([0, 1, 2], 4)
    X = rng.standard_normal((12, 3)) + 0.5 * y[:, None]
    if kind == "triplets":
        return cm.TripletProblem.from_labels(X, y, None, None, reg=reg, prior=prior, diagonal=diagonal)
    options = {"regularizer": "squared-frobenius", "prior": prior, "diagonal": diagonal}
    return cm.RankingProblem.from_labels(X, y, kind, C=20.0 / reg, **options)


@pytest.mark.parametrize("kind", ["auc", "map", "triplets"])
@pytest.mark.parametrize("reg", [0.1, 1.0, 1e4])
@pytest.mark.parametrize("diagonal", [False, True], ids=["full", "diagonal"])
@pytest.mark.parametrize("of", ["identity", "a metric"])
def test_priors_are_a_linear_term_and_a_constant(kind, reg, diagonal, of, tmp_path):
    prior = "identity" if of == "identity" else M0.diagonal() if diagonal else M0
    problem, path = towards_a_prior(kind, prior, reg, diagonal), tmp_path / "c.npz"
    verdict = proven(problem, path)
    document, arrays = opened(path)
    table, M = document["problem"], problem.regularizer.prior
    weight = Fraction(table["regularizer"]["weight"])
    assert table["regularizer"] == {"kind": "squared frobenius", "weight": str(weight)}
    exact = weight / 2 * sum(Fraction(entry) ** 2 for entry in M.ravel().tolist())
    assert abs(Fraction(table["constant"]) - exact) <= exact / 2**50
    assert of == "a metric" or Fraction(table["constant"]) == exact
    np.testing.assert_allclose(arrays["linear"], -float(weight) * M, rtol=2.0**-52)
    # At the prior itself the penalty is nothing, and what is proven is the risk there.
    at_prior = cm.write_certificate(path, problem, cm.certify(problem, M, cm.solve(problem).certificate.dual))
    assert float(at_prior.upper) == pytest.approx(problem.risk.value(M), rel=1e-9)
    assert verdict.lower <= at_prior.upper


@pytest.mark.parametrize("kind", ["map", "triplets"])
@pytest.mark.parametrize("diagonal", [False, True], ids=["full", "diagonal"])
def test_any_dual_point_beside_a_prior_is_shrunk_as_far_as_it_helps(kind, diagonal, tmp_path):
    problem, rng = towards_a_prior(kind, M0.diagonal() if diagonal else M0, 1.0, diagonal), np.random.default_rng(0)
    for _ in range(4):
        certificate = cm.certify(problem, random_metric(rng, problem.cone), random_cut_dual(rng, problem))
        verdict = cm.write_certificate(tmp_path / "c.npz", problem, certificate)
        assert float(verdict.lower) == pytest.approx(certificate.lower_bound, rel=1e-8, abs=1e-8)


def test_verdicts_say_what_is_added_up(of_two):
    said = checker.verify(of_two).problem
    assert said.startswith(
        "minimise sum (rankings (C 4; measure map); listed comparisons (hinge of weight 1/2, margin 1,"
    )
    assert "+ trace (weight 3/10) over" in said
