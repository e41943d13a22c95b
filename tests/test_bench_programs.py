"""The convex programs of benchmarks/convex_programs.py, and how benchmarks/bench_programs.py judges answers to them."""

import json
import sys
from dataclasses import replace
from fractions import Fraction

import bench_programs
import cvxpy as cp
import numpy as np
import pytest
from bench_programs import TOLERANCES, Answer, certify, digits, distances, gap, judged, records, solve, tables, verdict
from convex_programs import PROGRAMS, cancer, diabetes
from samples import some
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import Lasso, LogisticRegression

import convexmetric as cm

pytestmark = [
    pytest.mark.filterwarnings("ignore:Solution may be inaccurate:UserWarning"),
    # A geometric mean by cones of second order, which is exact here.
    pytest.mark.filterwarnings("ignore:.*Consider using approx=False:UserWarning"),
]


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_convex_and_the_same_at_every_call(name):
    problem, again = (PROGRAMS[name].problem(small=True) for _ in range(2))
    assert problem.is_dcp()
    answers = [solve(p, cp.CLARABEL) for p in (problem, again)]
    assert answers[0].value == answers[1].value
    assert np.isfinite(answers[0].value)
    assert solve(PROGRAMS[name].problem(small=True, seed=1), cp.CLARABEL).value != answers[0].value


@pytest.mark.parametrize("name", some(PROGRAMS, 8))
def test_answers_of_two_solvers_prove_bounds_that_agree(name):
    problem = PROGRAMS[name].problem(small=True)
    answers = [solve(problem, solver) for solver in TOLERANCES]
    for answer, widest in zip(answers, (1e-5, 1e-2), strict=True):
        certify(problem, answer)
        assert not answer.missing
        # A solver that calls its own answer inaccurate is held to less.
        assert gap(answer.lower, answer.upper) < (widest if answer.status == "optimal" else 1e-2)
    # Both intervals hold the optimum, so they meet; and it is near the value of the interior-point method.
    lower, upper = max(a.lower for a in answers), min(a.upper for a in answers)
    assert lower <= upper
    assert distances(answers[0].value, lower, upper)[0] < 1e-5 * max(1.0, abs(upper))
    # An answer that is far from optimal proves wide bounds, and no false ones.
    rough = cm.certify_program(problem, solver=cp.SCS, max_iters=25)
    assert not rough.missing
    assert rough.lower_bound <= upper
    assert rough.upper_bound >= lower


def least_squares(rows):
    X, y = diabetes(np.random.default_rng(1), rows)
    w = np.linalg.solve(X.T @ X + 10.0 * np.eye(X.shape[1]), X.T @ y)
    return np.sum((X @ w - y) ** 2) + 10.0 * np.sum(w**2)


def coordinate_descent(rows):
    X, y = diabetes(np.random.default_rng(1), rows)
    w = Lasso(alpha=0.05, fit_intercept=False, tol=1e-12, max_iter=100_000).fit(X, y).coef_
    return np.sum((X @ w - y) ** 2) / (2 * rows) + 0.05 * np.abs(w).sum()


def newton(rows):
    X, y = cancer(np.random.default_rng(1), rows)
    found = LogisticRegression(C=1.0, tol=1e-12, solver="newton-cholesky", max_iter=1000).fit(X, y)
    w = found.coef_[0]
    return np.logaddexp(0.0, -y * (X @ w + found.intercept_)).sum() + 0.5 * w @ w


def pool_adjacent_violators(points):
    noisy = np.sqrt(np.arange(points)) + np.random.default_rng(1).normal(size=points)
    return np.sum((IsotonicRegression().fit_transform(np.arange(points), noisy) - noisy) ** 2)


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("ridge", least_squares),
        ("LASSO", coordinate_descent),
        ("logistic regression", newton),
        ("isotonic regression", pool_adjacent_violators),
    ],
)
def test_optima_that_are_found_without_cvxpy_are_within_the_bounds(name, other):
    problem = PROGRAMS[name].problem(small=True, seed=1)
    answer = solve(problem, cp.CLARABEL)
    certify(problem, answer)
    optimum = other(PROGRAMS[name].small)
    assert answer.lower * (1.0 - 1e-12) <= optimum <= answer.upper * (1.0 + 1e-7)


def known(maximise=False):
    """A program whose optimum is 2, or -2 as a maximum."""
    x = cp.Variable(3)
    objective, constraints = cp.sum_squares(x), [cp.sum(x) == np.sqrt(6.0)]
    return cp.Problem(cp.Maximize(-objective) if maximise else cp.Minimize(objective), constraints)


@pytest.mark.parametrize("solver", TOLERANCES)
@pytest.mark.parametrize("maximise", [False, True])
def test_the_report_of_a_solver_is_read(solver, maximise):
    problem = known(maximise)
    answer = solve(problem, solver)
    assert answer.status == cp.OPTIMAL
    assert answer.value == pytest.approx(-2.0 if maximise else 2.0, rel=1e-4)
    # Objectives of the minimisation that the solver was given.
    assert answer.primal == pytest.approx(2.0, rel=1e-4)
    assert answer.dual == pytest.approx(2.0, rel=1e-4)
    assert answer.eps == TOLERANCES[solver]
    assert answer.violation == pytest.approx(abs(problem.constraints[0].residual), abs=1e-15)


def test_a_violation_is_of_constraints_and_of_what_variables_are():
    x, M = cp.Variable(2, nonneg=True), cp.Variable((2, 2), PSD=True)
    problem = cp.Problem(cp.Minimize(cp.sum(x) + cp.trace(M)), [x[0] >= 1.0])
    x.save_value(np.array([0.75, 0.5]))
    M.save_value(np.eye(2))
    assert bench_programs.violation(problem) == 0.25
    x.save_value(np.array([1.0, -0.5]))
    assert bench_programs.violation(problem) == 0.5
    x.save_value(np.array([1.0, 0.5]))
    M.save_value(np.diag([1.0, -3.0]))
    assert bench_programs.violation(problem) == pytest.approx(3.0)


def test_verdicts_by_bounds():
    answer = Answer("SCS", cp.OPTIMAL, 2.0, 2.0, 2.0, 1e-5, 0.0, 0.0)
    assert verdict(answer, 0.5, 0.5, 2.1, 2.4) == "kept"
    assert verdict(answer, 0.5, 0.5, 2.1, 2.6) == "open"
    assert verdict(answer, 0.5, 0.5, 2.6, 2.7) == "false"
    assert verdict(answer, 0.5, 0.5, 1.0, 1.4) == "false"
    assert verdict(answer, 0.5, 0.5, -np.inf, np.inf) == "open"
    assert verdict(answer, 0.5, 0.5, 2.6, np.inf) == "false"
    # What is allowed depends on an optimum of which only bounds are known.
    assert verdict(answer, 0.5, 0.7, 2.6, 2.65) == "open"
    assert verdict(answer, 0.3, 0.7, 2.1, 2.4) == "open"


@pytest.mark.parametrize("maximise", [False, True])
def test_a_planted_false_claim_is_found(maximise):
    problem = known(maximise)
    honest = solve(problem, cp.CLARABEL)
    certify(problem, honest)
    assert honest.lower < honest.upper
    # The same proof, a value that is beyond the optimum, and two objectives that agree on it.
    sign = -1.0 if maximise else 1.0
    liar = replace(honest, value=sign * 1.999, primal=1.999, dual=1.999 - 1e-7)
    modest = replace(liar, dual=1.999 + 0.01)
    first, second, third = judged("known", problem, [honest, liar, modest])
    assert first["tolerance"] == "kept"
    assert (second["claim"], second["tolerance"], second["better_than_possible"]) == ("false", "false", True)
    assert second["error_at_least"] == pytest.approx(0.0005, rel=1e-3)
    assert (third["claim"], third["tolerance"]) == ("kept", "false")
    # Two proofs cannot contradict each other.
    with pytest.raises(RuntimeError, match="cross"):
        judged("known", problem, [honest, replace(honest, lower=honest.upper + 1.0, upper=honest.upper + 2.0)])
    # On the other side of the optimum a value is wrong, but not impossible.
    (heavy,) = judged("known", problem, [replace(liar, value=sign * 2.001)])
    assert (heavy["claim"], heavy["better_than_possible"]) == ("false", False)
    assert "false for 2 (50 %), for 2 by more than ten times" in bench_programs.summary(
        "CLARABEL", [first, second, third, heavy]
    )


def test_what_is_not_proven_is_counted_and_left_open(monkeypatch):
    def refuse(problem, **options):
        raise cm.errors.InputError("no")

    monkeypatch.setattr(cm, "certify_program", refuse)
    found = records(["ridge"], [cp.CLARABEL], small=True)
    assert [(r["claim"], r["tolerance"], r["missing"]) for r in found] == [("open", "open", "no")]
    assert "Not proven: ridge" in tables(found)


def test_a_file_that_proves_less_than_its_certificate_stops_the_benchmark(monkeypatch):
    problem, verify = known(), cm.verify
    answer = solve(problem, cp.CLARABEL)
    certify(problem, answer)
    assert answer.file_bytes > 0
    monkeypatch.setattr(cm, "verify", lambda path: replace(verify(path), lower=Fraction(1)))
    with pytest.raises(RuntimeError, match="proves less"):
        certify(problem, answer)


def test_the_shape_of_what_a_solver_is_given():
    x, M = cp.Variable(2), cp.Variable((3, 3), PSD=True)
    constraints = [cp.norm(x) <= 1, cp.exp(x[0]) <= 2, M[0, 0] == 1]
    problem = cp.Problem(cp.Minimize(cp.trace(M) + cp.sum(x)), constraints)
    shape = bench_programs.shape(problem)
    # M has six entries on and below its diagonal, the exponential and the norm have epigraph variables.
    assert shape == {"n": 10, "m": 1 + 2 + 3 + 6 + 3, "cones": "z1 l2 1xq3 1xs3 1xe", "quadratic": False}


def test_digits_of_an_interval():
    assert digits(2.0, 2.1) == "[2, 2.1]"
    assert digits(205.340454, 205.340501) == "[205.34045, 205.3405]"
    assert digits(-0.1234567, -0.1234561) == "[-0.1234567, -0.1234561]"
    assert digits(-np.inf, 1.5) == "[-inf, 1.5]"


def test_the_command_prints_tables_and_writes_records(monkeypatch, tmp_path, capsys):
    call = ["bench_programs.py", "--small", "ridge", "Chebyshev centre", "--threads", "1"]
    monkeypatch.setattr(sys, "argv", [*call, "--json", str(tmp_path / "r.json")])
    bench_programs.main()
    printed = capsys.readouterr().out
    assert "| ridge " in printed
    assert "SCS: of 2 answers" in printed
    found = json.loads((tmp_path / "r.json").read_text())
    assert [(r["program"], r["solver"]) for r in found] == [
        (name, solver) for name in ("ridge", "Chebyshev centre") for solver in TOLERANCES
    ]
