"""The campaigns in small: they find nothing, but find what is wrong in a checker or a solver that is broken."""

import copy
import os
import time
import types
from dataclasses import replace
from fractions import Fraction

import check_solves
import forgery
import numpy as np
import pytest
import samples
from campaign import judge
from campaign.attacks import ATTACKS, FILES
from campaign.composed import COMPOSED
from campaign.families import FAMILIES, drawn
from campaign.judge import OF_FILES, Campaign
from campaign.problems import FEW, extreme, solved
from check_certificates import run
from samples import some

import convexmetric as cm
from convexmetric.certificates import checker, instances, kernel
from convexmetric.deadline import OutOfTime


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    problems = [*solved(FEW), *map(extreme, range(6))]
    return Campaign(problems, 0, tmp_path_factory.mktemp("campaign"), mutations=OF_FILES, fresh=0.0)


def attacked(campaign, *names, seconds=10.0):
    """The campaign of some attacks alone."""
    return replace(campaign, mutations={name: (ATTACKS | FILES)[name] for name in names}, seconds=seconds)


@pytest.mark.parametrize("count", [48, pytest.param(128, marks=pytest.mark.integration)])
def test_nothing_false_is_proven(count, campaign):
    records = run(campaign, range(count), 1)
    assert [record for record in records if record.findings] == []
    assert {record.outcome for record in records} == {"accepted", "not proven", "refused"}
    # The second checker says the same of what is accepted and of what is not.
    assert {"accepted", "not proven", "refused"} <= {record.judged for record in records}


@pytest.mark.integration
def test_no_attack_succeeds(campaign):
    records = run(attacked(campaign, *ATTACKS), range(128), 1)
    assert [record for record in records if record.findings] == []
    assert {record.mutation for record in records} == set(ATTACKS)
    assert {record.outcome for record in records} <= {"accepted", "not proven", "refused"}


def found_in(campaign, name, start, cases=40, **options):
    """Whether there is a finding that starts so."""
    records = run(attacked(campaign, name, **options), range(cases), 1)
    return any(finding.startswith(start) for record in records for finding in record.findings)


@pytest.mark.integration
def test_keys_that_are_passed_over_are_found(campaign, monkeypatch):
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

    assert not found_in(campaign, "parts", "FALSE: two readers")
    monkeypatch.setattr(checker, "read", read)
    assert found_in(campaign, "parts", "FALSE: two readers")


@pytest.mark.integration
def test_what_passes_for_an_instance_is_found(campaign, monkeypatch):
    monkeypatch.setattr(instances, "difference", lambda *given: ("", 0.0))
    assert found_in(campaign, "parts", "FALSE: instance")


@pytest.mark.integration
def test_work_beyond_its_estimate_is_found(campaign, monkeypatch):
    monkeypatch.setattr(checker, "operations", lambda *given: 0.0)
    monkeypatch.setattr(judge, "GRACE", 0.0)
    assert found_in(campaign, "parts", "work: more than estimated", cases=8)


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


@pytest.mark.parametrize("end", [0, 1])
def test_what_both_checkers_believe_is_held_against_other_knowledge(campaign, end, tmp_path):
    """An optimum that is known, as of an extreme problem by its twin, and values of the objective elsewhere."""
    problem = campaign.solved[-1 if end else 0]
    low, high = problem.optimum
    assert low <= high
    beyond = (high + 1, None) if end else (None, low - 1)
    alone = replace(campaign, solved=[replace(problem, optimum=beyond)], mutations={"none": OF_FILES["none"]})
    assert "FALSE: a lower bound" in run(alone, [0], 1)[0].findings[0]
    path = forgery.written(tmp_path / "c.npz", problem.contents)
    verdict = checker.verify(path)
    assert judge._at_other_metrics([path], verdict) == []
    false = replace(verdict, lower=abs(verdict.upper) * 10**9 + 10**9)
    assert "is above a value of the objective" in judge._at_other_metrics([path], false)[0]


BROKEN = [
    without_radii, a_little_more, rounded_inward, accepting, slopes_of_any_size, priors_for_nothing, any_multiplier,
    anything_above, rows_across_blocks, blocks_for_all, roots_of_any_form,
]  # fmt: skip


@pytest.mark.integration
@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_checker_is_found(broken, campaign, monkeypatch):
    broken(monkeypatch)
    assert false_of_any(campaign)


@pytest.mark.integration
def test_a_checker_that_lets_rewards_have_any_share_is_found(campaign, monkeypatch):
    shares_of_anything(monkeypatch)
    assert false_of_any(replace(campaign, solved=[one for one in campaign.solved if one.name.startswith("root")]))


def false_of_any(campaign):
    """Whether a case is false."""
    return any(
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

    quick = replace(campaign, seconds=0.3, memory=2**28, mutations=OF_FILES | ATTACKS)
    monkeypatch.setattr(checker, "verify", late)
    assert all("late" in record.findings for record in run(quick, range(1, 3), 1))
    monkeypatch.setattr(checker, "verify", large)
    assert all("MemoryError" in record.findings[0] for record in run(quick, range(1, 3), 1))
    monkeypatch.setattr(checker, "verify", lambda *given, **limits: 1 / 0)
    assert all("traceback" in record.findings[0] for record in run(quick, range(1, 3), 1))


# Solves ---------------------------------------------------------------------------------------------------------------

NAMES = list(FAMILIES)


@pytest.mark.parametrize("name", some(COMPOSED, 10))
def test_a_twin_is_the_same_problem_in_other_units(name):
    """``F(unit M) = factor F_0(M)`` for every metric M, up to rounding of the sizes that cancel."""
    compared = 0
    for number in range(NAMES.index(name), 40 * len(NAMES), len(NAMES)):
        _, _, case, notes = drawn(3, number)
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
        ((record, _),) = check_solves.campaign([NAMES.index("triplets")], 0, 1, 3.0)
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
    hung = a_solve(monkeypatch, lambda solution: time.sleep(60.0), HUNG=-1.0)
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
