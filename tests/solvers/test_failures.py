"""What happens when a solver does not fit, fails, or is stopped at once."""

import cvxpy as cp
import numpy as np
import pytest
from catalogue import instance, names

import convexmetric as cm
from convexmetric.errors import GapWarning, SolverError, SolverNotInstalledError, UnsupportedProblemError
from convexmetric.regularizers import SquaredDistance
from convexmetric.regularizers.base import Regularizer
from convexmetric.solvers import Monitor


class Norm(Regularizer):
    """``||M||_F``: neither linear nor quadratic."""

    def value(self, M, cone):
        return float(np.linalg.norm(M))

    def bound(self, value, S, G, cone, hint):
        size = np.linalg.norm(cone.project(S))
        return max(0.0, value * min(1.0, 1.0 / size if size > 0 else 1.0))

    def expression(self, M, cone):
        return cp.norm(M, "fro")

    def latex(self, M):
        return rf"\|{M}\|_F"

    def text(self, M):
        return f"||{M}||_F"

    def quadratic(self, cone):
        return None


def test_a_regularizer_of_another_kind_is_left_to_conic_solvers():
    listed = instance("psd triplets, trace")
    problem = cm.MetricProblem(listed.risk, Norm())
    for solver in ("interior-point", "subgradient"):
        with pytest.raises(UnsupportedProblemError, match="neither linear nor quadratic"):
            cm.solve(problem, solver=solver)
    solutions = [cm.solve(problem, tol=1e-5, solver=solver) for solver in ("clarabel", "cutting-planes", None)]
    for solution in solutions:
        assert solution.status == "optimal"
        assert solution.certificate.grade == "float"
        assert max(each.lower_bound for each in solutions) <= solution.upper_bound


@pytest.mark.parametrize("solver", ["cutting-planes", "subgradient"])
def test_hard_margins_are_not_for_cuts(solver):
    for name in names("hard")[:2]:
        with pytest.raises(UnsupportedProblemError, match="hard constraints"):
            cm.solve(instance(name), solver=solver)


def test_a_conic_solver_that_fails_is_a_solver_error(monkeypatch):
    def fail(self, *_, **__):
        raise cp.SolverError("numerical trouble")

    monkeypatch.setattr(cp.Problem, "solve", fail)
    with pytest.raises(
        SolverError,
        match=r"CLARABEL failed: numerical trouble; leave solver out .* give equalities",
    ):
        cm.solve(instance("ranking from lists"), solver="clarabel")


@pytest.mark.parametrize(
    ("said", "kind", "message"),
    [
        (
            "err_missing_license_file(1008): License cannot be located.\n",
            SolverNotInstalledError,
            "MOSEKLM_LICENSE_FILE",
        ),
        ("err_license_expired(1001): The license has expired.", SolverNotInstalledError, "has no licence here"),
        ("err_space(1051): Out of space.", SolverError, r"MOSEK failed: err_space\(1051\): Out of space"),
    ],
)
def test_errors_of_mosek_s_own_are_of_the_package(monkeypatch, said, kind, message):
    def fail(self, *_, **__):
        raise type("Error", (Exception,), {"__module__": "mosek"})(said)

    monkeypatch.setattr(cp, "installed_solvers", lambda: ["MOSEK"])
    monkeypatch.setattr(cp.Problem, "solve", fail)
    with pytest.raises(SolverError, match=message) as raised:
        cm.solve(instance("ranking from lists"), solver="mosek")
    assert raised.type is kind


@pytest.mark.parametrize("name", ["ranking from labels", "relative, rbf, soft", "relative, A, hard"])
def test_no_time_at_all_still_gives_certified_bounds(name):
    problem = instance(name)
    # What is compiled at its first use takes longer than all of the solve.
    problem.check_numbers()
    with pytest.warns(GapWarning):
        solution = cm.solve(problem, max_seconds=1e-9)
    assert solution.status == "max_seconds"
    assert solution.iterations == 1
    if "hard" not in name:
        assert np.isfinite(solution.gap)


def test_an_interrupt_in_the_first_pass_leaves_the_best_simple_metric(monkeypatch):
    problem = instance("ranking from labels")

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(type(problem.risk), "separate", interrupt)
    with pytest.warns(GapWarning, match="interrupted"):
        solution = cm.solve(problem, solver="cutting-planes")
    assert solution.keyboard_interrupt
    assert 0.0 <= solution.lower_bound <= problem.objective(solution.M) <= solution.upper_bound < np.inf
    identity = problem.cone.identity()
    assert solution.upper_bound <= min(problem.value(t * identity) for t in (0.0, 1e-2, 0.1, 1.0)) * (1.0 + 1e-9)


@pytest.mark.parametrize("call", [1, 2, 3, 4])
def test_an_interrupt_while_a_prior_is_looked_at_leaves_something_certified(monkeypatch, call):
    data = instance("ranking from labels")
    prior = np.diag(np.arange(1.0, 1.0 + data.cone.d))
    problem = cm.MetricProblem(data.risk, SquaredDistance(1.0, prior))
    kind, calls = type(problem.risk), []

    def interrupted(method):
        def wrapped(*arguments, **options):
            calls.append(method)
            if len(calls) == call:
                raise KeyboardInterrupt
            return method(*arguments, **options)

        return wrapped

    for name in ("value", "minorant", "separate"):
        monkeypatch.setattr(kind, name, interrupted(getattr(kind, name)))
    with pytest.warns(GapWarning, match="interrupted"):
        solution = cm.solve(problem, solver="cutting-planes")
    monkeypatch.undo()
    assert solution.keyboard_interrupt
    assert len(calls) >= call
    assert solution.lower_bound <= problem.value(solution.M) <= solution.upper_bound < np.inf
    assert solution.upper_bound <= min(problem.value(M) for M in (problem.cone.zeros(), prior)) * (1.0 + 1e-9)


def test_errors_of_a_callback_are_not_swallowed():
    def fail(progress):
        raise ZeroDivisionError(progress.iteration)

    with pytest.raises(ZeroDivisionError, match="1"):
        cm.solve(instance("ranking from labels"), callback=fail)


def test_a_bound_that_is_no_number_does_not_hide_later_ones():
    monitor = Monitor(tol=1e-6)
    assert not monitor.primal(np.eye(2), np.nan)
    assert not monitor.dual(np.nan, lambda: "forged")
    assert monitor.dual_point is None
    assert monitor.primal(np.eye(2), 3.0)
    assert monitor.dual(1.0, lambda: "first")
    assert not monitor.primal(np.eye(2), 3.5)
    assert not monitor.dual(0.5, lambda: "worse")
    assert monitor.dual(2.0, lambda: "better")
    assert monitor.dual_point == "better"
    assert (monitor.upper_bound, monitor.lower_bound) == (3.0, 2.0)
    assert monitor.gap == pytest.approx(1 / 3)


def test_a_solver_that_offers_nothing_is_an_error():
    class Idle(cm.solvers.Solver):
        name = "idle"

        def prepare(self, problem):
            return lambda monitor: None

    with pytest.raises(SolverError, match="idle left no certified point"):
        cm.solve(instance("ranking from labels"), solver=Idle())


def test_a_solver_that_lies_is_found_out():
    problem = instance("ranking from labels")
    pairs = int((problem.rankings.relevance.n_relevant * problem.rankings.relevance.n_irrelevant).sum())

    class Liar(cm.solvers.Solver):
        name = "liar"

        def prepare(self, problem):
            def run(monitor):
                monitor.primal(problem.cone.identity(), 1.0)
                monitor.dual(1.0, lambda: np.zeros(pairs))
                yield {}
                # The monitor makes the certificate before it believes that a gap is closed.
                assert not monitor.stopped

            return run

    with pytest.warns(GapWarning, match="stalled"):
        solution = cm.solve(problem, solver=Liar())
    assert solution.status == "stalled"
    assert solution.upper_bound == pytest.approx(problem.value(np.eye(3)), rel=1e-12)
    assert solution.lower_bound == 0.0
    assert solution.gap == 1.0


def test_no_advice_names_an_option_that_there_is_not(monkeypatch):
    def fail(*_, **__):
        raise cp.SolverError("Solver 'CLARABEL' failed. Try another solver, or solve with verbose=True for more.")

    monkeypatch.setattr(cp.Problem, "solve", fail)
    with pytest.raises(SolverError) as raised:
        cm.solve(instance("ranking from labels"), solver="clarabel")
    assert str(raised.value).startswith("CLARABEL failed: Solver 'CLARABEL' failed; leave solver out for the default")
    assert "verbose" not in str(raised.value)


@pytest.mark.parametrize("kind", ["ranking", "relative"])
def test_an_equality_on_the_trace_of_wine_is_solved(kind):
    wine = cm.datasets.load("wine")
    X = cm.datasets.preprocess(wine.X, ["zscore"])
    if kind == "relative":
        problem = cm.RelativeComparisonProblem(X, cm.comparisons.triplets_from_labels(wine.y, 300, random_state=0))
    else:
        problem = cm.RankingProblem.from_labels(X[::6], wine.y[::6], measure="auc")
    solution = cm.solve(problem, tol=1e-3, constraints=lambda M: [(cp.sum(M) if M.ndim == 1 else cp.trace(M)) == 1])
    assert solution.status == "optimal"
    assert np.trace(solution.M) == pytest.approx(1.0, abs=1e-6)
