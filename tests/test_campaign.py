"""The campaigns in small: they find nothing, but find what is wrong in a checker or a solver that is broken."""

import copy
import os
import time
import types
from dataclasses import replace
from fractions import Fraction

import check_solves
import numpy as np
import pytest
import samples
from campaign import attacks, judge
from campaign.attacks import ATTACKS
from campaign.composed import COMPOSED
from campaign.judge import Campaign
from campaign.mutations import MUTATIONS
from campaign.optima import Statement, Unreadable
from campaign.problems import FEW, on_a_line, solved
from check_certificates import run
from samples import some

import convexmetric as cm
from convexmetric.certificates import checker, instances, kernel
from convexmetric.deadline import OutOfTime


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    return Campaign(solved(FEW), 0, tmp_path_factory.mktemp("campaign"), mutations=MUTATIONS)


def attacked(campaign, *names, seconds=10.0):
    """The campaign of some attacks alone."""
    return replace(campaign, mutations={name: ATTACKS[name] for name in names}, seconds=seconds)


def test_nothing_false_is_proven(campaign):
    records = run(campaign, range(128), 1)
    assert [record for record in records if record.findings] == []
    assert {record.outcome for record in records} == {"accepted", "not proven", "refused"}
    # All kinds of judges are at work, and most proofs are judged by an optimum.
    judged = [record.judged for record in records if record.judged]
    assert judged.count("optimum") > 25
    assert judged.count("values") > 2


#: Attacks that take much time, or nearly as much as is estimated.
LONG = ("bombs", "all pairs of many points")


@pytest.mark.integration
def test_no_attack_succeeds(campaign):
    names = [name for name in ATTACKS if name.removeprefix("attack: ") not in LONG]
    records = run(attacked(campaign, *names), range(256), 1)
    assert [record for record in records if record.findings] == []
    assert {record.mutation for record in records} == set(names)
    assert {record.outcome for record in records} == {"accepted", "not proven", "refused"}


def found_in(campaign, name, start, cases=40, **options):
    """Whether there is a finding that starts so."""
    records = run(attacked(campaign, name, **options), range(cases), 1)
    return any(finding.startswith(start) for record in records for finding in record.findings)


@pytest.mark.integration
def test_keys_that_are_passed_over_are_found(campaign, monkeypatch):
    monkeypatch.setattr(attacks, "MANY", 10)
    for module in (kernel.proofs, kernel.lists, kernel.files, kernel.sums, kernel.regularizers, kernel.comparisons):
        if hasattr(module, "keys"):
            monkeypatch.setattr(module, "keys", lambda *given: None)
    assert found_in(campaign, "attack: keys of other tables", "a key that no table of its kind has")


@pytest.mark.integration
def test_readers_that_differ_are_found(campaign, monkeypatch):
    true = checker.read

    def read(path):
        document, arrays = true(path)
        return document | {"title": "another"}, arrays

    assert not found_in(campaign, "attack: parts", "FALSE: two readers")
    monkeypatch.setattr(checker, "read", read)
    assert found_in(campaign, "attack: parts", "FALSE: two readers")


@pytest.mark.integration
def test_what_passes_for_an_instance_is_found(campaign, monkeypatch):
    monkeypatch.setattr(instances, "difference", lambda *given, tolerance: ("", 0.0))
    assert found_in(campaign, "attack: parts", "FALSE: instance")


@pytest.mark.integration
def test_work_beyond_its_estimate_is_found(campaign, monkeypatch):
    monkeypatch.setattr(checker, "operations", lambda *given: 0.0)
    monkeypatch.setattr(judge, "GRACE", 0.0)
    assert found_in(campaign, "attack: parts", "work: more than estimated", cases=8)


def without_radii(monkeypatch):
    monkeypatch.setattr(kernel.balls, "U", 0.0)


def a_little_more(monkeypatch):
    true = kernel.Problem.lower
    monkeypatch.setattr(kernel.Problem, "lower", lambda *given: true(*given) * (1 + Fraction(1, 10**9)))


def rounded_inward(monkeypatch):
    true = kernel.rounded
    monkeypatch.setattr(kernel.proofs, "rounded", lambda value, away, digits=17: true(value, -away, 9))


def accepting(monkeypatch):
    true = checker.Verdict
    monkeypatch.setattr(checker, "Verdict", lambda accepted, *rest: true(True, *rest))


def slopes_of_any_size(monkeypatch):
    monkeypatch.setattr(kernel.regularizers.Frobenius, "within", lambda *given: None)


def priors_for_nothing(monkeypatch):
    def slopes(self, given, most):
        P = kernel.Ball(given[0] if isinstance(given, tuple) else given)
        return [P], self.conjugate(P)

    monkeypatch.setattr(kernel.regularizers.Frobenius, "slopes", slopes)


def any_multiplier(monkeypatch):
    def slopes(self, given, most):
        return [kernel.Ball(self.A) * kernel.Ball.of(given)], kernel.Ball.of(given * self.limit)

    monkeypatch.setattr(kernel.regularizers.Budget, "slopes", slopes)


def anything_above(monkeypatch):
    def size(self, X, given):
        diagonal = self.cone.diagonal
        return abs(X).sum() if diagonal else self.cone.trace(kernel.Ball(given[1])) * 2.0 - self.cone.trace(X)

    monkeypatch.setattr(kernel.regularizers.TraceNorm, "size", size)


def shares_of_anything(monkeypatch):
    for loss in kernel.LOSSES.values():
        monkeypatch.setattr(loss, "negative", False)


def rows_across_blocks(monkeypatch):
    true = kernel.Cone.factor

    def factor(self, *given):
        whole = copy.copy(self)
        whole.blocks = None
        return true(whole, *given)

    monkeypatch.setattr(kernel.Cone, "factor", factor)


def blocks_for_all(monkeypatch):
    true = kernel.Cone.dual

    def dual(self, *given):
        apart = copy.copy(self)
        apart.blocks = np.arange(self.d)
        true(apart, *given)

    monkeypatch.setattr(kernel.Cone, "dual", dual)


def roots_of_any_form(monkeypatch):
    monkeypatch.setattr(kernel.Cone, "triangle", lambda self, arrays, name: arrays(name, *self.shape))


BROKEN = [
    without_radii, a_little_more, rounded_inward, accepting, slopes_of_any_size, priors_for_nothing, any_multiplier,
    anything_above, shares_of_anything, rows_across_blocks, blocks_for_all, roots_of_any_form,
]  # fmt: skip


@pytest.mark.integration
@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_checker_is_found(broken, campaign, monkeypatch):
    broken(monkeypatch)
    assert any(
        "FALSE" in finding or finding == "claims beyond the proof"
        for first in range(0, 800, 80)
        for record in run(campaign, range(first, first + 80), 1)
        for finding in record.findings
    )


@pytest.mark.integration
def test_what_ends_a_process_is_found(campaign, monkeypatch):
    def late(*given, **limits):
        while True:
            pass

    def large(*given, **limits):
        return np.ones(2**28)

    quick = Campaign(campaign.solved, 0, campaign.folder, seconds=0.3, memory=2**28)
    monkeypatch.setattr(checker, "verify", late)
    assert all("late" in record.findings for record in run(quick, range(1, 3), 1))
    monkeypatch.setattr(checker, "verify", large)
    assert all("MemoryError" in record.findings[0] for record in run(quick, range(1, 3), 1))
    monkeypatch.setattr(checker, "verify", lambda *given, **limits: 1 / 0)
    assert all("traceback" in record.findings[0] for record in run(quick, range(1, 3), 1))


@pytest.mark.parametrize("seed", some(range(60), 15))
def test_exact_optima_are_below_all_values_and_near_the_best(seed):
    rng = np.random.default_rng(seed)
    try:
        problem = on_a_line(rng)
    except Unreadable:
        return
    statement, (document, arrays) = Statement(*problem.contents), problem.contents
    low, high = problem.optimum
    assert low <= high
    name = "weights_of_metric" if document["problem"]["cone"] == "diagonal" else "factor"
    best = statement.objective(arrays[name])
    assert best[0] >= low
    for size in (0.0, 1e-3, 0.5, 0.999, 1.001, 2.0, 1e3):
        assert statement.objective(arrays[name] * size)[1] >= low
    hard = any(term["loss"] == "hard" for term in document["problem"]["risk"].get("terms", ()))
    unit = np.isfinite(float(min(max(high, -(10**9)), 10**9))) and not hard
    if unit and abs(high) < 10**9 and 1e-3 < np.abs(arrays.get("points", np.ones(1))).max() < 1e3:
        assert best[0] - high <= Fraction(1, 10**4) * max(abs(high), 1)


def test_exact_optima_of_problems_on_paper():
    """``max(0, 1 - 8 m) + m / 2``: 1/16; ``(1 - 8 m)^2 + m``: 1/8 - 1/256; its logistic one by its condition."""
    term = {"loss": "hinge", "weight": "1", "margin": "1", "sign": 1}
    problem = {
        "cone": "psd", "features": 1, "linear": False, "risk": {"kind": "listed comparisons", "terms": [term]},
        "regularizer": {"kind": "trace", "weight": "1/2"},
    }  # fmt: skip
    arrays = {"points": np.array([[0.0], [1.0], [3.0]]), "triplets": np.array([[0, 1, 2]]), "terms": np.zeros(1, int)}
    assert Statement({"problem": problem}, arrays).optimum() == (Fraction(1, 16),) * 2
    term["loss"], problem["regularizer"]["weight"] = "squared", "1"
    assert Statement({"problem": problem}, arrays).optimum() == (Fraction(1, 8) - Fraction(1, 256),) * 2
    term["loss"] = "logistic"
    # The derivative 1 - 8 / (1 + e^(8 m)) is zero where e^(8 m) = 7.
    low, high = Statement({"problem": problem}, arrays).optimum()
    assert float(low) == pytest.approx(np.log(8 / 7) + np.log(7) / 8, rel=1e-14)
    assert 0 <= high - low < Fraction(1, 10**13)
    problem["linear"] = True
    assert Statement({"problem": problem}, arrays | {"linear": -np.ones((1, 1)) * 2}).optimum() == (-np.inf, -np.inf)


def _of_one_feature(loss, regularizer, **arrays):
    """A loss of d_01 = m with the weight and the margin 1, and a regularizer."""
    term = {"loss": loss, "weight": "1", "margin": "1", "sign": 1}
    problem = {
        "cone": "psd", "features": 1, "linear": "linear" in arrays, "regularizer": regularizer,
        "risk": {"kind": "listed comparisons", "terms": [term]},
    }  # fmt: skip
    given = {"points": np.array([[0.0], [1.0]]), "pairs": np.array([[0, 1]]), "terms": np.zeros(1, int)}
    return Statement({"problem": problem}, given | {name: np.array([[value]]) for name, value in arrays.items()})


@pytest.mark.parametrize(
    ("loss", "regularizer", "arrays", "optimum"),
    [
        # -ln m + m / 2, -sqrt m + m / 4 and m - ln m - 1 + m / 2 at 2, 4 and 2/3.
        ("negative log", {"kind": "trace", "weight": "1/2"}, {}, 1 - np.log(2)),
        ("negative root", {"kind": "trace norm", "weight": "1/4"}, {}, -1.0),
        ("itakura-saito", {"kind": "trace", "weight": "1/2"}, {}, -np.log(2 / 3)),
        # (1 - m)^2 beside 3 abs(m - 2), 3/2 (m - 2)^2, 2 (m - ln m - 1) with a linear term, a budget of 3/4, its price.
        ("squared", {"kind": "frobenius", "weight": "3", "prior": True}, {"prior": 2.0}, 1.0),
        ("squared", {"kind": "squared frobenius", "weight": "3", "prior": True}, {"prior": 2.0}, 0.36 + 0.24),
        ("squared", {"kind": "log det", "weight": "2"}, {"prior_root": 1.0}, 0.0),
        ("squared", {"kind": "log det", "weight": "2"}, {"prior_root": 1.0, "linear": 3.0}, 0.75 + 2 * np.log(2)),
        ("squared", {"kind": "budget", "limit": "3/2"}, {"spent": 2.0}, 1 / 16),
        ("squared", {"kind": "budget", "limit": "3/2", "weight": "1/8"}, {"spent": 2.0}, 3 / 64),
        ("squared", {"kind": "sum", "summands": [
            {"kind": "entrywise", "weight": "3", "diagonal": False}, {"kind": "trace", "weight": "1"}
        ]}, {}, 0.75),
    ],
)  # fmt: skip
def test_exact_optima_of_regularizers_and_losses_on_paper(loss, regularizer, arrays, optimum):
    low, high = _of_one_feature(loss, regularizer, **arrays).optimum()
    assert float(low) == pytest.approx(optimum, rel=1e-14, abs=1e-14)
    assert 0 <= high - low < Fraction(1, 10**13)


def test_exact_optima_of_several_features():
    """Hard ``v^T M v >= 2``: by trace, by entries, in two blocks, near a prior, and as it costs by a matrix."""
    term = {"loss": "hard", "weight": "1", "margin": "2", "sign": 1}
    problem = {"features": 2, "linear": False, "risk": {"kind": "listed comparisons", "terms": [term]}}
    given = {"points": np.array([[0.0, 0.0], [1.0, 2.0]]), "pairs": np.array([[0, 1]]), "terms": np.zeros(1, int)}

    def optimum(cone, regularizer, **arrays):
        table = {"problem": problem | {"cone": cone, "regularizer": regularizer}}
        found = Statement(table, given | arrays).optimum()
        assert found[0] <= found[1] <= found[0] + Fraction(1, 10**13)
        return float(found[0])

    blocks = np.array([0, 1])
    assert optimum("psd", {"kind": "trace", "weight": "1"}) == pytest.approx(2 / 5)
    assert optimum("psd", {"kind": "entrywise", "weight": "1", "diagonal": True}) == pytest.approx(2 / 4)
    assert optimum("psd", {"kind": "entrywise", "weight": "1", "diagonal": False}) == 0.0
    assert optimum("block-diagonal", {"kind": "trace norm", "weight": "1"}, blocks=blocks) == pytest.approx(2 / 4)
    assert optimum("block-diagonal", {"kind": "frobenius", "weight": "1"}, blocks=blocks) == pytest.approx(2 / 17**0.5)
    # r - ln r - 1 with r = 2 / v^T H^-1 v, H = diag(1, 4).
    root = {"prior_root": np.diag([1.0, 2.0])}
    assert optimum("psd", {"kind": "log det", "weight": "1"}, **root) == pytest.approx(0.0, abs=1e-14)
    root = {"prior_root": np.diag([2.0, 4.0])}
    assert optimum("psd", {"kind": "log det", "weight": "1"}, **root) == pytest.approx(3 - np.log(4))
    # At least 2 / v^T A^-1 v = 1 is spent.
    price = {"kind": "budget", "limit": "1/4", "weight": "2"}
    assert optimum("psd", price, spent=np.diag([1.0, 4.0])) == pytest.approx(1.5)
    assert optimum("diagonal", price, spent=np.array([1.0, 4.0])) == pytest.approx(3.5)
    assert Statement(
        {"problem": problem | {"cone": "psd", "regularizer": {"kind": "budget", "limit": "1/4"}}},
        given | {"spent": np.diag([1.0, 4.0])},
    ).optimum() == (np.inf, np.inf)


# Solves ---------------------------------------------------------------------------------------------------------------

NAMES = list(check_solves.FAMILIES)


@pytest.mark.parametrize("name", some(COMPOSED, 10))
def test_a_twin_is_the_same_problem_in_other_units(name):
    """``F(unit M) = factor F_0(M)`` for every metric M, up to rounding of the sizes that cancel."""
    compared = 0
    for number in range(NAMES.index(name), 40 * len(NAMES), len(NAMES)):
        _, _, case, notes = check_solves.drawn(3, number)
        # Zeros of other tasks keep an offset in the points, where it costs digits.
        if case.twin is None or case.unit is None or (name == "composed, shared points" and "offset 0" not in notes):
            continue
        try:
            problem, twin = case.make(), case.twin()
        except cm.errors.InputError:
            continue
        M = samples.random_metric(np.random.default_rng(number), twin.cone) + 0.5 * twin.cone.identity()
        value, other = problem.value(float(case.unit) * M), twin.value(M)
        if 0.0 < abs(value) < np.inf and abs(other) < np.inf:
            # The condition of a prior multiplies rounding.
            slack = max(1e-9, float(case.slack) * 16)
            scale = abs(other) + abs(twin.value(2.0 * M)) + abs(twin.value(twin.cone.identity()))
            assert abs(Fraction(value) / case.factor - Fraction(other)) <= Fraction(slack * min(scale, 1e300))
            compared += 1
    assert compared > 10 or name == "estimators"


def a_solve(monkeypatch, changed, **constants):
    """The record of a solve that is something else."""
    true = cm.solve
    with monkeypatch.context() as patch:
        for constant, value in constants.items():
            patch.setattr(check_solves, constant, value)
        patch.setattr(cm, "solve", lambda problem, **options: changed(true(problem, **options)))
        (record,) = check_solves.campaign([NAMES.index("triplets")], 0, 1, 3.0)
    return record


def with_bounds(solution, lower, upper, **others):
    names = ("status", "solver", "tol", "atol", "gap", "certificate")
    said = {name: getattr(solution, name) for name in names} | {"lower_bound": lower, "upper_bound": upper} | others
    return types.SimpleNamespace(**said)


def late(solution):
    end = time.process_time() + 1.7
    while time.process_time() < end:
        pass
    return solution


def raising(error):
    def solve(solution):
        raise error

    return solve


def unannounced(solution):
    return with_bounds(solution, solution.lower_bound, solution.upper_bound, status="max_seconds")


BROKEN_SOLVES = {
    "": lambda s: s,
    "false": lambda s: with_bounds(s, s.lower_bound * (1 + 1e-5), s.upper_bound * (1 + 1e-5)),
    "crossed": lambda s: with_bounds(s, s.upper_bound, s.lower_bound),
    "unannounced": unannounced,
    "over limit": late,
    "raw exception": raising(OutOfTime()),
    "unclear message": raising(cm.errors.InputError("no")),
}


@pytest.mark.integration
@pytest.mark.parametrize("failure", BROKEN_SOLVES)
def test_a_broken_solve_is_found(failure, monkeypatch):
    limits = {"SHARE": 0.0, "GRACE": 1.5} if failure == "over limit" else {}
    record = a_solve(monkeypatch, BROKEN_SOLVES[failure], **limits)
    assert {found for found, _ in record.findings} == ({failure} if failure else set())
    assert not failure or record.findings
    if not failure:
        assert (record.outcome, record.judged) == ("optimal", ["own proof", "twin's proof"])


@pytest.mark.integration
def test_a_proof_that_is_far_weaker_is_found(monkeypatch):
    for name in ("write_certificate", "verify"):
        true = getattr(cm, name)

        def weaker(*given, true=true, **named):
            verdict = true(*given, **named)
            return replace(verdict, lower=verdict.lower - abs(verdict.lower) / 1000)

        monkeypatch.setattr(cm, name, weaker)
    record = a_solve(monkeypatch, lambda solution: solution)
    assert {found for found, _ in record.findings} == {"weak proof"}


@pytest.mark.integration
def test_what_ends_a_solve_is_found(monkeypatch):
    dead = a_solve(monkeypatch, lambda solution: os._exit(3))
    assert dead.findings == [("raw exception", "the process died: exit code 3")]
    hung = a_solve(monkeypatch, lambda solution: time.sleep(60.0), HUNG=0.1, WAIT=1.2, BUSY=1.0)
    assert [found for found, _ in hung.findings] == ["hung"]


@pytest.mark.integration
def test_records_are_taken_up_again(monkeypatch, tmp_path, capsys):
    file = tmp_path / "records"
    run = ["check_solves", "--records", str(file), "--cases"]
    monkeypatch.setattr(check_solves, "warm_up", lambda *of: None)
    for cases in ("1", "2"):
        monkeypatch.setattr("sys.argv", [*run, cases])
        assert check_solves.main() == 0
    assert "2 cases, 1 of them known" in capsys.readouterr().out
    assert len(file.read_text().splitlines()) == 2
