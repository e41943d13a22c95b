"""Rules of the kernel for blocks beside those of the papers: proven, and judged alike by the second checker."""

import copy
from dataclasses import replace
from fractions import Fraction

import numpy as np
import outside_blocks as blocks
import pytest
from campaign.judge import compare
from forgery import opened, written
from samples import consistent, random_cut_dual, random_metric, random_triplets, some

import convexmetric as cm
from convexmetric.certificates import CertificateError, checker, kernel
from convexmetric.certificates.dual_points import FORMS
from convexmetric.certificates.rules import RULES, Dual
from convexmetric.comparisons import PairDistances, Triplets
from convexmetric.cones import BlockDiagonal, NonnegativeDiagonal, PSDCone
from convexmetric.losses import BoxLoss, Hinge, ItakuraSaito, Logistic, NegativeLog, NegativeRoot
from convexmetric.regularizers import (
    Budget,
    Distance,
    EntrywiseL1,
    Frobenius,
    LogDet,
    SquaredDistance,
    SquaredFrobenius,
    Trace,
    TraceDistance,
    Zero,
)
from convexmetric.risks import JoinedDual, SeparableRisk, SmoothSeparableRisk, SumRisk

CONES = (PSDCone, NonnegativeDiagonal)


def test_every_regularizer_of_the_kernel_but_sums_has_a_rule():
    beside = {kernel.REGULARIZERS[kind] for kind in ("sum", "conic")}
    assert set(RULES) == set(kernel.REGULARIZERS.values()) - beside


def test_every_risk_of_the_kernel_has_a_form_and_an_estimate():
    assert set(FORMS) == {*kernel.RISKS.values(), kernel.OwnRisk}
    assert set(checker.ESTIMATES) == {*kernel.SUMMANDS.values(), kernel.OwnRisk}


def test_a_norm_needs_its_subgradient(tmp_path, monkeypatch):
    solution = cm.solve(triplets(TraceDistance(0.1, np.eye(3))))
    monkeypatch.setattr(TraceDistance, "hints", lambda *given: {})
    with pytest.raises(cm.errors.InputError, match="a subgradient of TraceNorm must be given"):
        cm.write_certificate(tmp_path / "c.npz", solution)


def test_what_is_no_norm_is_given_no_subgradient(tmp_path, monkeypatch):
    solution = cm.solve(triplets(SquaredFrobenius(0.1)))
    monkeypatch.setattr(SquaredFrobenius, "hints", lambda *given: {"slopes": [np.eye(3)]})
    with pytest.raises(cm.errors.InputError, match="a subgradient of SquaredFrobenius is found"):
        cm.write_certificate(tmp_path / "c.npz", solution)


def triplets(regularizer, cone=PSDCone, linear=True, seed=0, d=3):
    """Random triplets with a linear term that is positive definite, or without one."""
    rng, K = np.random.default_rng(seed), cone(d)
    G = 0.3 * random_metric(rng, K) + 0.1 * K.identity() if linear else None
    risk = SeparableRisk(Triplets(rng.standard_normal((9, d)), random_triplets(rng, 9, 14), K), Hinge(1.5, margin=0.8))
    return cm.MetricProblem(risk, regularizer, G=G)


def proven(problem, path, tol=1e-7, loss=1e-6):
    """The verdict on the file of a solution, which both checkers accept, and which loses nothing to speak of."""
    solution = cm.solve(problem, tol=tol)
    verdict = cm.write_certificate(path, problem, solution=solution)
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
    other = cm.MetricProblem(problem.risk, Trace(0.05), G=G)
    again = proven(other, path)
    assert max(verdict.lower, again.lower) <= min(verdict.upper, again.upper)


@pytest.mark.parametrize("cone", CONES)
def test_without_linear_term_nothing_is_left_but_zero(cone, tmp_path):
    """Triplets alone: the risk is zero at some metric, or no dual point proves more than that it is not negative."""
    problem, path = triplets(Zero(), cone, linear=False), tmp_path / "c.npz"
    M = problem.cone.identity()
    verdict = cm.write_certificate(path, problem, solution=cm.certify(problem, M, np.zeros(problem.risk.parts)))
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
    problem, path = triplets(EntrywiseL1(0.2, RESTS[rest], diagonal=every), linear=linear), tmp_path / "c.npz"
    verdict = proven(problem, path, loss=1e-5)
    document, arrays = opened(path)
    name = "slope" if rest == "zero" else "term0_slope"
    Y, M = arrays[name], arrays["factor"].T @ arrays["factor"]
    assert np.abs(Y).max() <= 0.2
    assert every or not Y.diagonal().any()
    assert float(verdict.upper) == pytest.approx(problem.value(M), rel=1e-12)
    # Entries beyond the weight by a hair, of other signs or not symmetric; free ones that are not zero.
    beyond, skew, free = (Y.copy() for _ in range(3))
    beyond[0, 1] = beyond[1, 0] = np.nextafter(0.2, 1.0)
    skew[0, 1] += 1e-9
    free[1, 1] = 1e-300
    for wrong in (beyond, *(() if every else (free,))):
        assert said_of(path, (document, arrays | {name: wrong})) == "not proven"
        found = checker.verify(path)
        assert found.lower is None
        assert "exceeds the weight" in found.reason
    assert said_of(path, (document, arrays | {name: skew})) == "refused"
    for wrong in (-Y, np.zeros_like(Y)):
        if said_of(path, (document, arrays | {name: wrong})) == "accepted":
            assert not linear
    for wrong in (np.full_like(Y, np.nan), Y[:2], np.zeros((3, 0)), Y.astype("<i8")):
        assert said_of(path, (document, arrays | {name: wrong})) == "refused"
    table = document["problem"]["regularizer"]
    table["summands"][0].update(weight="1/10") if "summands" in table else table.update(weight="1/10")
    assert said_of(path, (document, arrays)) == "not proven"


@pytest.mark.parametrize("seed", range(4))
def test_sizes_of_entries_under_any_dual_point(seed, tmp_path):
    """Bounds of random dual points are below values at random metrics."""
    rng, path = np.random.default_rng(seed), tmp_path / "c.npz"
    problem = triplets(EntrywiseL1(0.1, SquaredFrobenius(0.2), diagonal=seed % 2 == 0), seed=seed)
    M = random_metric(rng, problem.cone)
    verdict = cm.write_certificate(path, problem, solution=cm.certify(problem, M, rng.random(problem.risk.parts)))
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


ENTRIES = {"kind": "entrywise", "weight": "1/5", "diagonal": True}


@pytest.mark.parametrize(
    "change",
    [
        {"weight": "0"}, {"weight": "-1"}, {"weight": 0.2}, {"diagonal": 1}, {"diagonal": None}, {"rest": {}},
        {"kind": "quadratic form"}, {"kind": ["trace"]}, {"over_root_of": 0}, {"prior": False}, {"prior": True},
    ],
    ids=str,
)  # fmt: skip
def test_tables_of_entries_that_are_none_are_refused(change, tmp_path):
    path = tmp_path / "c.npz"
    proven(triplets(EntrywiseL1(0.2, Trace(0.05))), path, loss=1e-5)
    document, arrays = opened(path)
    trace = {"kind": "trace", "weight": "1/20"}
    table = {"kind": "sum", "summands": [ENTRIES, trace]}
    assert document["problem"]["regularizer"] == table
    document["problem"]["regularizer"] = {"kind": "sum", "summands": [ENTRIES | change, trace]}
    assert said_of(path, (document, arrays)) == "refused"
    for wrong in ([ENTRIES], [ENTRIES, table], [ENTRIES, trace, trace], [trace, ENTRIES], [ENTRIES] * 9, {}, "trace"):
        document["problem"]["regularizer"] = {"kind": "sum", "summands": wrong}
        assert said_of(path, (document, arrays)) == "refused"
    document["problem"] |= {"regularizer": table, "cone": "diagonal"}
    assert said_of(path, (document, arrays)) == "refused"


def several(cone=PSDCone, shared=True, seed=0, d=3):
    """Rankings by two measures, hinges of triplets, errors of pairs and a logistic loss, of the same points or not."""
    rng, K, y = np.random.default_rng(seed), cone(d), np.repeat([0, 1, 2], 3)
    X = rng.standard_normal((9, d)) + 0.5 * y[:, None]
    others = X if shared else rng.standard_normal((9, d))
    pairs = np.array([rng.choice(9, 2, replace=False) for _ in range(8)])
    risks = [
        cm.RankingProblem.from_labels(X, y, measure=name, C=4.0, diagonal=K.diagonal).risk for name in ("map", "auc")
    ]
    risks.append(SeparableRisk(Triplets(others, random_triplets(rng, 9, 8), K), Hinge(0.5)))
    risks.append(
        SeparableRisk(PairDistances(X, pairs, np.ones(8), K), BoxLoss.squared_error(np.full(8, 0.1), rng.random(8)))
    )
    risks.append(SmoothSeparableRisk(Triplets(others, random_triplets(rng, 9, 5), K), Logistic(0.3)))
    return risks


@pytest.mark.parametrize("cone", some(CONES, 1))
@pytest.mark.parametrize("shared", some([True, False], 1), ids=["same points", "others"])
@pytest.mark.parametrize(
    "omega",
    some([Trace(0.3), SquaredFrobenius(0.3), EntrywiseL1(0.1, Trace(0.1))], 1),
    ids=lambda omega: type(omega).__name__,
)
def test_sums_of_risks_are_proven_whole_and_in_parts(omega, shared, cone, tmp_path):
    problem, path = cm.MetricProblem(SumRisk(*several(cone, shared)), omega), tmp_path / "c.npz"
    solution = cm.solve(problem, tol=1e-6)
    verdict = cm.write_certificate(path, problem, solution=solution)
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
        cm.write_certificate(path, problem, solution=solution, parts=count)
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
        verdict = cm.write_certificate(path, stated, solution=certificate)
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
    verdict = cm.write_certificate(path, problem, solution=cm.certify(problem, M, dual))
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
        return cm.TripletProblem.from_labels(X, y, n_same=None, n_other=None, reg=reg, prior=prior, diagonal=diagonal)
    options = {"penalty": "squared-frobenius", "prior": prior, "diagonal": diagonal}
    return cm.RankingProblem.from_labels(X, y, measure=kind, C=20.0 / reg, **options)


@pytest.mark.parametrize("kind", ["auc", "map", "triplets"])
@pytest.mark.parametrize("reg", some([0.1, 1.0, 1e4], 1))
@pytest.mark.parametrize("diagonal", [False, True], ids=["full", "diagonal"])
@pytest.mark.parametrize("of", ["identity", "a metric"])
def test_squared_distances_to_a_prior(kind, reg, diagonal, of, tmp_path):
    prior = "identity" if of == "identity" else M0.diagonal() if diagonal else M0
    problem, path = towards_a_prior(kind, prior, reg, diagonal), tmp_path / "c.npz"
    verdict = proven(problem, path)
    document, arrays = opened(path)
    table, M = document["problem"], problem.regularizer.prior
    assert table["regularizer"] | {"weight": ""} == {"kind": "squared frobenius", "weight": "", "prior": True}
    assert "constant" not in table
    np.testing.assert_array_equal(arrays["prior"], M)
    assert said_of(tmp_path / "o.npz", (document, arrays | {"prior": 1.01 * M})) != "accepted"
    # At the prior itself the penalty is nothing, and what is proven is the risk there.
    at_prior = cm.write_certificate(path, problem, solution=cm.certify(problem, M, cm.solve(problem).certificate.dual))
    assert float(at_prior.upper) == pytest.approx(problem.risk.value(M), rel=1e-9)
    assert verdict.lower <= at_prior.upper


@pytest.mark.parametrize("kind", ["map", "triplets"])
@pytest.mark.parametrize("diagonal", [False, True], ids=["full", "diagonal"])
def test_any_dual_point_beside_a_prior_is_shrunk_as_far_as_it_helps(kind, diagonal, tmp_path):
    problem, rng = towards_a_prior(kind, M0.diagonal() if diagonal else M0, 1.0, diagonal), np.random.default_rng(0)
    for _ in range(4):
        certificate = cm.certify(problem, random_metric(rng, problem.cone), random_cut_dual(rng, problem))
        verdict = cm.write_certificate(tmp_path / "c.npz", problem, solution=certificate)
        assert float(verdict.lower) == pytest.approx(certificate.lower_bound, rel=1e-8, abs=1e-8)


def test_verdicts_say_what_is_added_up(of_two):
    said = checker.verify(of_two).problem
    assert said.startswith(
        "minimise sum (rankings (C 4; measure map); listed comparisons (hinge of weight 1/2, margin 1,"
    )
    assert "+ trace (weight 3/10) over" in said


BLOCKS = {
    "log det": lambda prior: LogDet(prior, 0.7),
    "log det near it": lambda prior: LogDet(prior, 1e3),
    "budget": lambda prior: Budget(prior, 0.8),
    "penalised budget": lambda prior: Budget(prior, 0.3, weight=0.6),
    "squared distance": lambda prior: SquaredDistance(0.4, prior),
    "distance": lambda prior: Distance(0.4, prior),
    "distance that is zero": lambda prior: Distance(40.0, prior),
    "trace distance": lambda prior: TraceDistance(0.4, prior),
    "entries": lambda prior: EntrywiseL1(0.2, diagonal=True, prior=prior),
    "other entries, squared norm": lambda prior: EntrywiseL1(0.2, SquaredFrobenius(0.1), diagonal=False, prior=prior),
    "entries, log det": lambda prior: EntrywiseL1(0.1, LogDet(prior), diagonal=False),
    "distance, trace": lambda prior: Distance(0.3, prior, Trace(0.1)),
    "distance, budget": lambda prior: Distance(0.3, prior, Budget(prior, 0.5)),
    "trace distance, norm": lambda prior: TraceDistance(0.3, prior, Frobenius(0.1)),
    "entries, trace distance, squared norm": lambda prior: EntrywiseL1(
        0.1, TraceDistance(0.1, prior, SquaredFrobenius(0.2)), diagonal=True, prior=prior
    ),
}
KINDS = {"full": PSDCone(3), "diagonal": NonnegativeDiagonal(3), "blocks": BlockDiagonal([1, 2])}


def with_prior(name, cone, loss=None, seed=0):
    """Random triplets, or pairs, with a block that has a prior."""
    rng = np.random.default_rng(seed)
    prior = cone.project(random_metric(rng, cone)) + 0.3 * cone.identity()
    X, weights = rng.standard_normal((9, 3)), rng.integers(0, 2, 10) * 2.0 - 1.0
    if loss is None:
        risk = SeparableRisk(Triplets(X, random_triplets(rng, 9, 14), cone), Hinge(0.5, margin=0.8))
    else:
        pairs = np.array([rng.choice(9, 2, replace=False) for _ in range(10)])
        signs = weights if isinstance(loss, str) else np.ones(10)
        own = ItakuraSaito(0.3, 1.0 + rng.random(10), signs) if isinstance(loss, str) else loss
        risk = SeparableRisk(PairDistances(X, pairs, signs, cone), own)
    return cm.MetricProblem(risk, BLOCKS[name](prior))


@pytest.mark.parametrize("cone", some(KINDS, 1))
@pytest.mark.parametrize("name", BLOCKS)
def test_blocks_are_proven_under_any_dual_point(name, cone, tmp_path):
    """Solved ones without loss; bounds of random dual points are below values at random metrics."""
    problem, rng, path = with_prior(name, KINDS[cone]), np.random.default_rng(1), tmp_path / "c.npz"
    proven(problem, path, loss=1e-5)
    for _ in range(2):
        M = problem.regularizer.repair(random_metric(rng, problem.cone) + 0.1 * problem.cone.identity(), problem.cone)
        certificate = cm.certify(problem, M, rng.random(problem.risk.parts))
        verdict = cm.write_certificate(path, problem, solution=certificate)
        assert compare([path], [path.read_bytes()]) == "accepted"
        assert float(verdict.upper) == pytest.approx(problem.value(M), rel=1e-8)
        assert float(verdict.lower) <= problem.value(M)


@pytest.mark.parametrize("cone", some(KINDS, 1))
@pytest.mark.parametrize(
    "loss", ["itakura-saito", NegativeLog(0.2), NegativeRoot(0.2)], ids=["divergence", "log", "root"]
)
@pytest.mark.parametrize("name", some(["budget", "log det", "squared distance", "distance, trace"], 1))
def test_losses_of_a_half_line_are_proven(name, loss, cone, tmp_path):
    problem, path = with_prior(name, KINDS[cone], loss), tmp_path / "c.npz"
    proven(problem, path, loss=1e-5)
    document, arrays = opened(path)
    for wrong in (-arrays["slopes"], np.full_like(arrays["slopes"], -1e-9)):
        assert said_of(path, (document, arrays | {"slopes": wrong})) == "not proven"
    if not isinstance(loss, str):
        # No share of what is said of a risk that may be negative.
        document["dual"]["share"] = "1/2"
        assert said_of(path, (document, arrays)) == "not proven"
        assert "may be negative" in checker.verify(path).reason


def test_what_makes_slopes_false_is_not_proven(tmp_path):
    path, true = tmp_path / "c.npz", {}
    for name in BLOCKS:
        proven(with_prior(name, KINDS["full"]), path, loss=1e-5)
        true[name] = opened(path)

    def said(name, change, refused=False):
        document, arrays = copy.deepcopy(true[name])
        change(document, arrays)
        assert said_of(path, (document, arrays)) == ("refused" if refused else "not proven")

    def dual(document):
        return document["dual"]["regularizer"]

    hair = 1.0 + 1e-9
    said("budget", lambda document, arrays: dual(document).update(multiplier="-1/1000000"))
    said("budget", lambda document, arrays: dual(document).update(multiplier="1/1000000"))
    said("budget", lambda document, arrays: arrays.update(factor=1.1 * arrays["factor"]))
    said("penalised budget", lambda document, arrays: dual(document).update(multiplier="61/100"))
    said(
        "distance",
        lambda document, arrays: arrays.update(slope=arrays["slope"] * 0.4 * hair / np.linalg.norm(arrays["slope"])),
    )
    said("trace distance", lambda document, arrays: arrays.update(slope=arrays["slope"] * 1.2))
    said("trace distance", lambda document, arrays: arrays.update(above=arrays["above"] * 0.9))
    said("trace distance", lambda document, arrays: arrays.update(above=arrays["above"][:, ::-1]), refused=True)
    said("squared distance", lambda document, arrays: arrays.update(slope=arrays["slope"] - 1e-6 * np.eye(3)))
    said("log det", lambda document, arrays: arrays.update(root=arrays["root"] * hair))
    for name in ("root", "factor", "prior_root"):
        said("log det", lambda document, arrays, name=name: arrays.update({name: arrays[name].T}), refused=True)
        said("log det", lambda document, arrays, name=name: arrays.update({name: -arrays[name]}), refused=True)
    said("distance, trace", lambda document, arrays: dual(document)["summands"].pop(), refused=True)
    said("distance, trace", lambda document, arrays: dual(document)["summands"][1].update(multiplier="1"), refused=True)
    said("distance, budget", lambda document, arrays: dual(document)["summands"].reverse(), refused=True)
    said("distance, trace", lambda document, arrays: arrays.update(prior=arrays.pop("term0_prior")), refused=True)


def test_metrics_of_other_blocks_are_refused(tmp_path):
    path = tmp_path / "c.npz"
    proven(with_prior("squared distance", KINDS["blocks"]), path)
    document, arrays = opened(path)
    assert arrays["blocks"].tolist() == [0, 1, 1]
    across = np.vstack([arrays["factor"], [1e-9, 0.0, 1e-9]])
    assert said_of(path, (document, arrays | {"factor": across})) == "refused"
    assert said_of(path, (document, arrays | {"blocks": np.array([0, 1, 3])})) == "refused"
    # Fewer blocks leave fewer entries out of what is to be shown, and a smaller optimum.
    assert said_of(path, (document, arrays | {"blocks": np.zeros(3, dtype=np.int64)})) == "not proven"
    full = {name: array for name, array in arrays.items() if name != "blocks"}
    document["problem"]["cone"] = "psd"
    assert said_of(path, (document, full)) == "not proven"


@pytest.mark.parametrize("cone", KINDS)
def test_distances_that_are_zero_are_certified(cone, tmp_path):
    """The optimum is the prior, or the metric zero: nothing is left of the norm but rounding."""
    K, path = KINDS[cone], tmp_path / "c.npz"
    problem = with_prior("trace distance", K)
    for prior in (problem.regularizer.centre, K.zeros()):
        verdict = proven(cm.MetricProblem(problem.risk, TraceDistance(500.0, prior)), path, loss=1e-5)
        assert float(verdict.upper) == pytest.approx(problem.risk.value(prior), rel=1e-6)


@pytest.mark.parametrize("cone", KINDS)
def test_rewards_beside_a_penalised_budget(cone, tmp_path):
    """The multiplier of the budget is at its weight, and slopes of the reward are shrunk to that."""
    rng, K = np.random.default_rng(2), KINDS[cone]
    pairs = np.array([rng.choice(9, 2, replace=False) for _ in range(10)])
    risk = SeparableRisk(PairDistances(5.0 * rng.standard_normal((9, 3)), pairs, np.ones(10), K), NegativeLog(0.2))
    proven(cm.MetricProblem(risk, Budget(K.identity(), 0.5, weight=3.0)), tmp_path / "c.npz", loss=1e-5)


def test_a_multiplier_beyond_floats_proves_nothing(tmp_path):
    path = tmp_path / "c.npz"
    proven(with_prior("budget", KINDS["full"]), path, loss=1e-5)
    document, arrays = opened(path)
    document["problem"]["regularizer"]["limit"] = "1" + "0" * 199
    document["dual"]["regularizer"]["multiplier"] = "1" + "0" * 300
    assert said_of(path, (document, arrays)) == "not proven"


@pytest.mark.parametrize("cone", [PSDCone(3), NonnegativeDiagonal(3)], ids=repr)
@pytest.mark.parametrize("omega", [SquaredFrobenius(1.0), Frobenius(1.0), Trace(1.0)], ids=repr)
def test_a_dual_matrix_far_below_zero_proves_its_value_whatever_its_rounding_is(cone, omega, tmp_path):
    """Pairs that cost ``1 + d`` are best at zero; their dual matrix is about -1e26, and rounds by 1e13."""
    X = 1e13 * np.random.default_rng(0).standard_normal((12, 3))
    pairs = np.column_stack([np.arange(11), np.arange(1, 12)])
    risk = SeparableRisk(PairDistances(X, pairs, -np.ones(11), cone), BoxLoss.hinge(np.ones(11), np.ones(11)))
    problem = cm.MetricProblem(risk, omega)
    verdict = cm.write_certificate(tmp_path / "c.npz", problem, solution=cm.certify(problem, cone.zeros(), np.ones(11)))
    assert verdict.accepted
    assert 11.0 * (1.0 - 1e-12) <= verdict.lower <= verdict.upper <= 11.0 * (1.0 + 1e-12)


# Spectral bounds, rows and inverse traces -----------------------------------------------------------------------------


def search(kind, arrays, **more):
    """The search of a regularizer of four features."""
    cone = kernel.Cone({"cone": "psd", "features": 4}, kernel.Arrays({}))
    omega = kernel.REGULARIZERS[kind]({"kind": kind, **more}, kernel.Arrays(arrays), cone, None)
    return RULES[type(omega)](omega, cone, 0.0, False, {})


def shown(rule, dual, scaling, arrays):
    """The bound that the kernel shows with a slope that was found."""
    extra = {"above": np.eye(5)} if "slope" in arrays else {}
    slopes, e = rule.omega.slopes(rule.omega.read({}, kernel.Arrays(arrays | extra)), None)
    K = sum(slopes, kernel.Ball(-dual.at(scaling)))
    kernel.semidefinite(K, "the slope less the dual matrix")
    return scaling * dual.v - float(e.upper())


def of_spectral_bound(rule, dual, scaling):
    """By eigenvalues of ``U^-1/2 ...``: of the product with U, which has the same."""
    values = np.linalg.eigvals(rule.omega.upper @ dual.at(scaling)).real
    return scaling * dual.v - values[values > 0.0].sum()


def of_inverse_trace(rule, dual, scaling):
    """By eigenvalues of A D, whose roots are the singular values of ``C A^1/2``."""
    A = -dual.at(scaling)
    if np.linalg.eigvalsh(A)[0] < 0.0:
        return -np.inf
    values = np.linalg.eigvals(A @ rule.omega.C.T @ rule.omega.C).real
    return scaling * dual.v + 2.0 * np.sqrt(rule.weight) * np.sqrt(np.maximum(values, 0.0)).sum()


@pytest.mark.parametrize("kind", ["spectral bound", "inverse trace"])
@pytest.mark.parametrize("seed", range(12))
def test_searches_find_the_best_share_of_a_dual_point(kind, seed):
    """Against the bounds of a thousand shares, by another formula."""
    rng = np.random.default_rng(seed)
    A, B, S = rng.standard_normal((3, 4, 4))
    if kind == "spectral bound":
        rule, of = search(kind, {"upper": A.T @ A + 0.1 * np.eye(4)}), of_spectral_bound
        G = B + B.T if seed % 2 else np.zeros((4, 4))
    else:
        rule, of = search(kind, {"root_of_prior": rng.standard_normal((5, 4))}, weight="3/7"), of_inverse_trace
        G = B.T @ B + 0.1 * np.eye(4)
    dual = Dual(float(rng.uniform(0.5, 5.0)), S + S.T, G, np.zeros((4, 4)))
    scaling, table, arrays = rule.found(dual)
    assert table == {}
    best = max(of(rule, dual, share) for share in np.linspace(0.0, 1.0, 1001))
    found = shown(rule, dual, scaling, arrays)
    assert of(rule, dual, scaling) >= best - 1e-9 * max(1.0, abs(best))
    assert found <= of(rule, dual, scaling) + 1e-9
    assert found >= best - 1e-6 * max(1.0, abs(best))
    # A share as large as may be: that of a risk that may be negative.
    most = rule.most(dual)
    assert np.isfinite(of(rule, dual, most))
    assert most == 1.0 or of(rule, dual, min(1.0, most * (1.0 + 1e-9))) == -np.inf


@pytest.mark.parametrize("seed", range(6))
def test_rows_are_found_for_a_symmetric_matrix(seed):
    """The symmetric part of rows in the ball is that of other ones; beyond the ball they are in it."""
    rng = np.random.default_rng(seed)
    rule = search("row norms", {}, weight="5/3")
    rows = rng.standard_normal((4, 4))
    rows *= 5 / 3 * rng.choice([1.0, 0.9], (4, 1)) / np.linalg.norm(rows, axis=1, keepdims=True)
    Y = (rows + rows.T) / 2
    Q = rule.nearest(Y)
    np.testing.assert_allclose(rule.slope(Q), Y, atol=1e-4)
    assert np.linalg.norm(Q, axis=1).max() <= 5 / 3
    assert np.linalg.norm(rule.nearest(3.0 * Y), axis=1).max() <= 5 / 3
    (P,), e = rule.omega.slopes(rule.stored(Q)["slope"], None)
    np.testing.assert_allclose(P.mid, rule.slope(Q))
    assert e.upper() == 0


def test_a_bound_that_is_not_definite_and_a_term_that_is_none_prove_nothing():
    dual = Dual(1.0, np.eye(4), np.zeros((4, 4)), np.zeros((4, 4)))
    with pytest.raises(kernel.NotProven, match="the bound on the metric is not positive definite"):
        search("spectral bound", {"upper": np.diag([1.0, 1.0, 1.0, 0.0])}).found(dual)
    with pytest.raises(kernel.NotProven, match="less the dual matrix is not positive definite"):
        replace(search("inverse trace", {"root_of_prior": np.ones((5, 4))}, weight="1"), whole=True).found(dual)
    with pytest.raises(kernel.NotProven, match="a subgradient of InverseTrace is found"):
        search("inverse trace", {"root_of_prior": np.ones((5, 4))}, weight="1").nearest(np.eye(4))


OWN = {
    "spectral bound": lambda d: blocks.SpectralBound(0.1 * np.eye(d)),
    "inverse trace": lambda d: blocks.InverseTrace(np.kron(np.eye(2), [[3.0, 1.0], [0.5, 4.0]]), 0.2),
    "rows beside a trace": lambda d: blocks.RowNorms(0.05, Trace(0.05)),
}


@pytest.mark.parametrize("loss", ["hinge", "linear", "squared hinge"])
@pytest.mark.parametrize("blockwise", [False, True], ids=["full", "blocks"])
@pytest.mark.parametrize("name", OWN)
def test_blocks_of_others_are_proven_by_rules_of_the_kernel(name, blockwise, loss, tmp_path):
    """Risks that may be negative, block-diagonal metrics: what both checkers accept, and what loses nothing."""
    rng = np.random.default_rng(1)
    cone = BlockDiagonal([2, 2]) if blockwise else PSDCone(4)
    one, G = np.ones(20), 0.3 * random_metric(rng, cone) + 0.3 * cone.identity()
    made = Triplets(rng.standard_normal((9, 4)), random_triplets(rng, 9, 20), cone)
    losses = {
        "hinge": Hinge(0.2), "linear": BoxLoss.hinge(0.005 * one, one, np.ones(20, dtype=bool)),
        "squared hinge": BoxLoss(one, 0.0 * one, np.inf * one, 2.0 * one),
    }  # fmt: skip
    problem = cm.MetricProblem(SeparableRisk(made, losses[loss]), OWN[name](4), G=G)
    solution, path = cm.solve(problem, tol=1e-7), tmp_path / "c.npz"
    verdict = cm.write_certificate(path, solution)
    assert compare([path], [path.read_bytes()]) == "accepted"
    scale = 1e-6 * max(1.0, abs(solution.upper_bound))
    assert solution.lower_bound - scale <= verdict.lower <= verdict.upper <= solution.upper_bound + scale
