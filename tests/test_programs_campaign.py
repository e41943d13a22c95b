"""The campaign against the translation of convex programs in small: it finds nothing false, but would find it."""

import math
from types import SimpleNamespace

import check_programs
import cvxpy as cp
import numpy as np
import pytest
from campaign import translation
from campaign.translation import KINDS, Drawn, draw, least, rational

import convexmetric as cm


@pytest.mark.parametrize("each", [2, pytest.param(4, marks=pytest.mark.integration)])
def test_nothing_false_is_proven(each):
    records = check_programs.run(range(each * len(KINDS)), 1)
    assert [record for record in records if record.false] == []
    counts = {outcome: sum(record.outcome == outcome for record in records) for outcome in check_programs.OUTCOMES}
    assert counts["both"] > len(records) / 2
    assert counts["raised"] == counts["ended"] == 0
    assert {record.way for record in records} == set(check_programs.WAYS)
    assert check_programs.table(records).count("\n") == len(KINDS) + 2


@pytest.mark.parametrize(
    ("optimum", "lower", "upper", "beyond"),
    [
        (3, 3.0, 3.0, ""), (3, -math.inf, math.inf, ""), (3, 3.5, math.inf, "lower"), (3, 2.0, 2.5, "upper"),
        (3, math.nan, 3.0, "lower"), (3, 3.0, math.nan, "upper"), (3, math.nextafter(3.0, 4.0), 4.0, "lower"),
        (math.inf, 7.0, math.inf, ""), (math.inf, 7.0, 8.0, "upper"), (-math.inf, -math.inf, 8.0, ""),
        (-math.inf, 7.0, 8.0, "lower"), (3, 4.0, 2.0, "lower upper"),
    ],
)  # fmt: skip
def test_bounds_that_exclude_the_optimum_are_false(optimum, lower, upper, beyond):
    said = check_programs.excluded((optimum, optimum), lower, upper)
    assert [name for name in ("lower", "upper") if f"{name} bound" in said] == beyond.split()


def test_a_broken_translation_is_found(monkeypatch):
    """Of a program that is solved by another one, of an infeasible one, and of one with integers."""
    monkeypatch.setattr(
        cm, "certify_program", lambda *given, **options: SimpleNamespace(lower_bound=-1e99, upper_bound=-1e98)
    )
    monkeypatch.setattr(cm, "write_certificate", lambda *given: None)
    monkeypatch.setattr(cm, "verify", lambda path: SimpleNamespace(accepted=False, reason="broken"))
    by_kind = {record.kind: record for record in check_programs.run(range(len(KINDS)), 1)}
    for kind in ("linear", "norms, means", "integers"):
        assert by_kind[kind].false
    assert "not accepted" in by_kind["linear"].false[1]
    monkeypatch.setattr(cm, "certify_program", lambda *given, **options: 1 / 0)
    assert {record.outcome for record in check_programs.run(range(3), 1)} == {"raised"}


def test_programs_that_take_more_than_their_limits_are_ended(monkeypatch):
    def late(*given, **options):
        while True:
            pass

    monkeypatch.setattr(cm, "certify_program", late)
    monkeypatch.setattr(check_programs, "SECONDS", -4.0)
    (record,) = check_programs.run([0], 1)
    assert (record.outcome, record.said) == ("ended", "killed after 1 s")


#: Kinds of which a solver finds the optimum to some digits where scales are plain.
PLAIN = [name for name in KINDS if name not in ("nearly dependent", "contradictory", "tight rows", "transportation",
         "indefinite", "indefinite ellipsoid", "asymmetric ellipsoid", "asymmetric", "integers")]  # fmt: skip


@pytest.mark.parametrize("kind", PLAIN)
def test_exact_optima_are_those_of_a_solver(kind, monkeypatch):
    monkeypatch.setattr(translation, "WIDTHS", (0, 2))
    at = list(KINDS).index(kind)
    for seed in range(at, at + 3 * len(KINDS), len(KINDS)):
        problem, (low, high) = draw(seed)[2].problem, draw(seed)[2].optimum
        value = problem.solve(solver=cp.CLARABEL)
        assert low <= high
        assert value == pytest.approx(float(low), rel=1e-5, abs=1e-5)


def test_exact_optima_of_programs_that_are_not_convex():
    """``xy`` is least at a corner, ``x^2 - y^2`` on an edge, and squares on a line at one of its ends."""

    def in_a_box(P, lo, hi, A=(), b=()):
        n = len(lo)
        equations = np.reshape(A, (-1, n)), np.reshape(b, -1)
        G, h = np.vstack([np.eye(n), -np.eye(n)]), np.concatenate([hi, -np.asarray(lo)])
        return least(*map(rational, (P, np.zeros(n), *equations, G, h)))

    box = np.array([-1.0, -3.0]), np.array([2.0, 1.0])
    assert in_a_box(np.array([[0.0, 1.0], [0.0, 0.0]]), *box) == -6
    assert in_a_box(np.diag([1.0, -1.0]), *box) == -9
    assert in_a_box(np.diag([-1.0, 0.0]), *box, [1.0, 2.0], [1.0]) == -4
    assert in_a_box(np.diag([-1.0, 0.0]), *box, [1.0, 2.0], [9.0]) == math.inf
    assert in_a_box(np.diag([3.0, 0.0]), *box, [1.0, 2.0], [4.0]) == 12


def test_a_seed_is_a_program():
    one, other = draw(7)[2], draw(7)[2]
    assert isinstance(one, Drawn)
    assert one.optimum == other.optimum
    assert len(one.problem.constraints) == len(other.problem.constraints)
