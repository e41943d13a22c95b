"""The kernel and the second checker, which share no code but the specification, agree on true and on mutated files."""

from dataclasses import replace
from fractions import Fraction
from math import e, log

import pytest
import second_checker
from campaign.judge import OF_FILES, Campaign, compare
from campaign.problems import FEW, solved
from catalogue import cases, instance
from hypothesis import given
from hypothesis import strategies as st

import convexmetric as cm
from convexmetric.certificates import checker

#: Choices, with a cone and without, and their worst parts, which only these two judge.
NEW = ("softmax, trace norm, rectangular", "odd one out, square, full", "worst choices and auc, trace")
WRITTEN = [*cases("method"), *cases("choices"), *cases("combination")]
WRITTEN += cases("measure", "matrices")


@pytest.mark.parametrize("name", WRITTEN)
def test_both_accept_what_is_written(name, tmp_path):
    problem, path = instance(name), tmp_path / "c.npz"
    cm.write_certificate(path, problem, solution=cm.solve(problem, tol=1e-6))
    assert compare([path], [path.read_bytes()]) == "accepted"


@pytest.mark.parametrize("numbers", [range(6), pytest.param(range(6, 40), marks=pytest.mark.integration)])
def test_they_agree_on_mutated_files(numbers, tmp_path):
    campaign = Campaign(solved((*FEW, *NEW)), 1, tmp_path, mutations=OF_FILES, fresh=0.0)
    found = [campaign(case) for case in numbers]
    assert [case for case in found if case.findings] == []
    assert {"not proven", "refused"} <= {case.judged for case in found}


def test_disagreement_is_noticed(tmp_path, monkeypatch):
    problem, path = instance("psd triplets, trace"), tmp_path / "c.npz"
    cm.write_certificate(path, problem, solution=cm.solve(problem, tol=1e-6))
    true = checker.verify(path)
    for end, by in (("lower", 1), ("upper", -1)):
        moved = getattr(true, end) * (1 + by * Fraction(1, 10**9))
        monkeypatch.setattr(checker, "verify", lambda *paths, end=end, moved=moved: replace(true, **{end: moved}))
        assert "exact one" in compare([path], [path.read_bytes()])


@given(st.fractions(min_value=Fraction(1, 10**6), max_value=10**6))
def test_its_enclosures_are_narrow_and_hold(value):
    found = second_checker.logarithm(value)
    assert 0 <= found.high - found.low < Fraction(1, 10**30)
    assert float(found.low) == pytest.approx(log(value), rel=1e-12, abs=1e-15)
    power = second_checker.exponential(-min(value, Fraction(200)))
    assert 0 < power.low <= power.high <= power.low * (1 + Fraction(1, 10**30))
    assert float(power.low) == pytest.approx(e ** -float(min(value, 200)), rel=1e-12)
    square = second_checker.root(value)
    assert square.low**2 <= value <= square.high**2
