"""What comes out of a solve whose conic solver panics or fails, or whose time is out in a certificate: a solution."""

import itertools
import signal
import threading
import time

import cvxpy as cp
import numpy as np
import pytest
from catalogue import instance
from cvxpy.reductions.solvers.conic_solvers.clarabel_conif import CLARABEL
from samples import some, two_blocks

import convexmetric as cm
from convexmetric.comparisons import PairDistances, Triplets
from convexmetric.cones import NonnegativeDiagonal, PSDCone
from convexmetric.deadline import OutOfTime, deadline
from convexmetric.errors import SolverError
from convexmetric.losses import Hinge, Logistic, NegativeLog
from convexmetric.regularizers import SquaredFrobenius, Trace, conic_calls
from convexmetric.regularizers.log_det import LogDet
from convexmetric.regularizers.norm_term import Distance, EntrywiseL1, TraceDistance
from convexmetric.risks import SeparableRisk, SmoothSeparableRisk, tangent_dual
from convexmetric.solvers import Monitor
from convexmetric.solvers.finalize import solved
from convexmetric.solvers.pair_losses.dual_newton import DualNewton
from convexmetric.solvers.pair_losses.factored_lagrangian import FactoredLagrangian
from convexmetric.solvers.runtime import base, drive

pytestmark = pytest.mark.filterwarnings("ignore::convexmetric.errors.GapWarning")


class PanicException(BaseException):
    """As solvers in Rust raise it."""


def triplets(cone, n=12, seed=0):
    rng = np.random.default_rng(seed)
    rows = np.array([rng.choice(n, 3, replace=False) for _ in range(20)])
    return Triplets(rng.standard_normal((n, cone.d)), rows, cone)


def of_condition(d, condition):
    """A metric with eigenvalues from 1 down to the reciprocal of the condition."""
    turned = np.linalg.qr(np.random.default_rng(0).standard_normal((d, d)))[0]
    metric = (turned * np.logspace(0.0, -np.log10(condition), d)) @ turned.T
    return 0.5 * (metric + metric.T)


def sparse_near_a_prior(d=6, condition=1.0, n=12):
    cone = PSDCone(d)
    omega = EntrywiseL1(0.1, LogDet(of_condition(d, condition)))
    return cm.MetricProblem(SmoothSeparableRisk(triplets(cone, n), Logistic(1.0)), omega)


def failing(monkeypatch, error, first=1, last=1000):
    """In the calls of these numbers CLARABEL raises; returns what is called."""
    calls, solved = [], CLARABEL.solve_via_data

    def call(self, *arguments, **options):
        calls.append(self)
        if first <= len(calls) <= last:
            raise error
        return solved(self, *arguments, **options)

    monkeypatch.setattr(CLARABEL, "solve_via_data", call)
    return calls


def test_a_panic_of_a_conic_solver_is_its_failure(monkeypatch):
    x = cp.Variable()
    calls = failing(monkeypatch, PanicException("index out of bounds"))
    with pytest.raises(SolverError, match="it panicked: index out of bounds"):
        conic_calls.solve_conic(cp.Problem(cp.Minimize(x), [x >= 1]))
    assert len(calls) == len(conic_calls.ATTEMPTS)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_the_end_of_the_program_is_no_failure(monkeypatch, error):
    x = cp.Variable()
    calls = failing(monkeypatch, error())
    with pytest.raises(error):
        conic_calls.solve_conic(cp.Problem(cp.Minimize(x), [x >= 1]))
    assert len(calls) == 1


@pytest.mark.parametrize("first", some([1, 2, 3, 6], 2))
@pytest.mark.parametrize("error", [PanicException("index"), cp.SolverError("numbers")])
def test_a_solve_whose_conic_solver_breaks_down_has_a_solution_or_a_solver_error(monkeypatch, first, error):
    problem = sparse_near_a_prior()
    failing(monkeypatch, error, first)
    try:
        solution = cm.solve(problem)
    except SolverError:
        assert first == 1
        return
    monkeypatch.undo()
    exact = cm.solve(problem)
    assert solution.lower_bound <= exact.upper_bound
    assert solution.upper_bound >= exact.lower_bound


@pytest.mark.parametrize("first", [1, 2])
def test_an_interrupt_within_a_conic_solver_leaves_a_solution(monkeypatch, first):
    problem = sparse_near_a_prior()
    failing(monkeypatch, KeyboardInterrupt(), first, first)
    solution = cm.solve(problem, solver="cutting-planes")
    assert solution.keyboard_interrupt
    monkeypatch.undo()
    assert solution.lower_bound <= cm.solve(problem).upper_bound <= solution.upper_bound * (1.0 + 1e-4)


def test_a_signal_while_a_conic_solver_runs_leaves_a_solution(monkeypatch):
    problem = sparse_near_a_prior(d=25, condition=1e14, n=60)
    timer = threading.Timer(0.05, signal.raise_signal, [signal.SIGINT])
    guarded = conic_calls.guarded

    def started():
        if not timer.ident:
            timer.start()
        return guarded()

    monkeypatch.setattr(conic_calls, "guarded", started)
    # Whatever runs the tests, in the background perhaps, may have it ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        solution = cm.solve(problem, tol=1e-15, max_seconds=20.0)
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)
    assert timer.ident
    assert solution.keyboard_interrupt
    assert solution.lower_bound <= solution.upper_bound


def test_a_certificate_after_the_limit_does_not_run_out_of_time(monkeypatch):
    clock = itertools.count(0.0, 0.1)
    monkeypatch.setattr(base, "perf_counter", lambda: next(clock))
    rng = np.random.default_rng(0)
    pairs, X, cone = rng.permutation(20).reshape(10, 2), rng.standard_normal((20, 4)), PSDCone(4)
    # Its floor takes a pass over the pairs.
    rewards = SeparableRisk(PairDistances(X, pairs, np.ones(10), cone), NegativeLog(1.0))
    problem = cm.MetricProblem(rewards + SeparableRisk(triplets(cone), Hinge(1.0)), SquaredFrobenius(1.0))
    monitor = Monitor(1e-6, max_seconds=1.0, problem=problem)
    M = 0.5 * np.eye(4)
    dual = tangent_dual(problem.risk, M)
    point = problem.risk.minorant(dual)
    monitor.primal(M, problem.value(M), by_risk=True)
    monitor.dual(problem.bound(point.value, point.S, M), lambda: dual, point)
    # Simple metrics take more looks at the time than there are until the grace is over.
    clock = itertools.count(100.0, 0.1)
    solution = solved(problem, cm.solvers.Exact(), lambda monitor: monitor.end("max_seconds"), monitor)
    assert solution.status == "max_seconds"
    assert solution.upper_bound >= solution.lower_bound
    assert solution.lower_bound == pytest.approx(problem.dual_bound(dual, hint=M), rel=1e-9)


@pytest.mark.parametrize(
    ("name", "solver"), [("pairs-breast-cancer-2000", FactoredLagrangian()), ("pairs-wine-1000-rbf", DualNewton())]
)
def test_bounds_of_pairs_are_kept_where_their_certificate_has_no_time(name, solver):
    def too_slow(*_):
        raise OutOfTime

    problem = cm.load_problem(name)
    monitor = Monitor(1e-3, max_seconds=60.0, problem=problem)
    drive(solver.prepare(problem)(monitor), monitor)
    zero = problem.cone.zeros()
    monitor.primal(zero, problem.value(zero), by_risk=True)
    monitor.certificate = too_slow
    solution = solved(problem, solver, lambda monitor: monitor.end("max_seconds"), monitor)
    assert problem.value(solution.certificate.M) <= solution.upper_bound <= 1.01 * problem.value(monitor.M)
    assert 0.99 * monitor.lower_bound <= solution.lower_bound
    assert solution.lower_bound <= problem.dual_bound(solution.certificate.dual) * (1.0 + 1e-9)


def test_what_a_preparation_takes_is_part_of_the_limit(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(base, "perf_counter", lambda: now[0])

    class Slow(cm.solvers.CuttingPlanes):
        def prepare(self, problem):
            now[0] += 10.0
            return super().prepare(problem)

    assert cm.solve(instance("ranking from labels"), 1e-9, solver=Slow(), max_seconds=5.0).status == "max_seconds"


def test_a_conic_solver_has_the_time_that_is_left():
    problem = sparse_near_a_prior(d=30, condition=1e10, n=60)
    stated = problem.statement().problem
    stated.get_problem_data(cp.CLARABEL)
    begin, wall = time.process_time(), time.perf_counter()
    with pytest.raises(OutOfTime), deadline(lambda: 0.05 + wall - time.perf_counter()):
        conic_calls.solve_conic(stated)
    # A step takes less than that; all of them take seconds.
    assert time.process_time() - begin < 1.0


@pytest.mark.parametrize("cone", [PSDCone(4), NonnegativeDiagonal(4), two_blocks(4)])
def test_bounds_of_norms_beside_each_other_call_no_conic_solver(monkeypatch, cone):
    prior = cone.identity()
    inner = TraceDistance(0.2, prior, LogDet(prior, 0.3))
    omega = EntrywiseL1(0.1, Distance(0.5, prior, inner))
    problem = cm.MetricProblem(SeparableRisk(triplets(cone), Hinge(1.0)), omega)
    optimum = cm.solve(problem, 1e-7)
    assert optimum.status == "optimal"
    calls, solved = [], CLARABEL.solve_via_data
    monkeypatch.setattr(CLARABEL, "solve_via_data", lambda *a, **k: calls.append(1) or solved(*a, **k))
    lower = problem.dual_bound(optimum.certificate.dual, hint=optimum.certificate.M)
    fresh = cm.MetricProblem(problem.risk, EntrywiseL1(0.1, Distance(0.5, prior, inner)))
    searched = fresh.dual_bound(optimum.certificate.dual, hint=optimum.certificate.M)
    assert not calls
    assert [lower, searched] == pytest.approx([optimum.lower_bound] * 2, rel=1e-7)


@pytest.mark.parametrize("limit", some([0.5, 1.0], 1))
@pytest.mark.parametrize("omega", ["sparse", "nested", "user"])
def test_limits_hold_near_a_prior_that_is_nearly_singular(omega, limit):
    d, cone = 25, PSDCone(25)
    prior = of_condition(d, 1e14)
    regularizer = {
        "sparse": EntrywiseL1(10.0, LogDet(prior)),
        "nested": Distance(300.0, prior, TraceDistance(30.0, prior, LogDet(of_condition(d, 1e2), 0.005))),
        "user": LogDet(prior),
    }[omega]
    problem = cm.MetricProblem(SeparableRisk(triplets(cone, 40), Hinge(100.0)), regularizer)
    if omega == "user":
        problem = problem.subject_to(None, lambda M: cp.sum(cp.abs(M)))
    begin = time.process_time()
    solution = cm.solve(problem, 1e-9, max_seconds=limit)
    assert time.process_time() - begin <= 1.2 * limit + 2.0
    assert solution.lower_bound <= solution.upper_bound


def test_the_default_goes_on_where_a_conic_solver_fails(monkeypatch):
    problem = cm.MetricProblem(instance("psd triplets, trace").risk, Distance(0.1, np.eye(4), Trace(1.0)))
    monkeypatch.setattr(cp.Problem, "solve", lambda *_, **__: (_ for _ in ()).throw(cp.SolverError("numbers")))
    stages = cm.solvers.Conic(), cm.solvers.CuttingPlanes()
    solution = cm.solve(problem, 1e-5, solver=cm.solvers.Exact(stages))
    assert solution.solver == "cutting-planes"
    assert solution.status == "optimal"
