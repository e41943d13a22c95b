"""Every exact route to an optimum agrees: default, conic solvers, cutting planes in all settings."""

import warnings
from itertools import pairwise

import cvxpy as cp
import numpy as np
import pytest
from catalogue import conic, names
from samples import consistent, random_triplets, some

import convexmetric as cm
from convexmetric.errors import GapWarning

TIGHT = {
    "CLARABEL": {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11},
    "SCS": {"eps_abs": 1e-10, "eps_rel": 1e-10, "max_iters": 1_000_000},
}


def thirty_points(kind):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((30, 4))
    y = np.repeat([0, 1, 2], 10)
    if kind == "ranking":
        return cm.RankingProblem.from_labels(X + 0.6 * y[:, None], y, C=10.0)
    A = rng.standard_normal((4, 6)) if "A" in kind else None
    kernel = "rbf" if "rbf" in kind else None
    triplets = random_triplets(rng, 30, 60)
    hard = "hard" in kind
    if hard:
        features = X if A is None else X @ A
        triplets = consistent(features, triplets, rng.random(features.shape[1]), 0.2)
    return cm.RelativeComparisonProblem(X, triplets, C=np.inf if hard else 0.5, A=A, kernel=kernel)


KINDS = ["ranking", *(f"relative {features}{margin}" for margin in ("", " hard") for features in ("I", "A", "rbf"))]


@pytest.mark.parametrize("kind", KINDS)
def test_statement_and_solver_agree_to_a_millionth(kind):
    problem = thirty_points(kind)
    solution = cm.solve(problem, tol=1e-7)
    assert solution.status == "optimal"
    for backend, options in TIGHT.items():
        statement = problem.statement().problem
        with warnings.catch_warnings(action="ignore", category=UserWarning):
            statement.solve(solver=backend, **options)
        assert statement.value == pytest.approx(solution.upper_bound, rel=1e-6)


SETTINGS = [
    cm.solvers.CuttingPlanes.plain(),
    cm.solvers.CuttingPlanes(groups=1, stabilisation=0.5, drop_after=1),
    cm.solvers.CuttingPlanes(groups=8, stabilisation=0.0, drop_after=None),
    cm.solvers.CuttingPlanes(groups=8, stabilisation=0.5, drop_after=1),
    cm.solvers.CuttingPlanes(groups=64, stabilisation=0.0, drop_after=1),
    cm.solvers.CuttingPlanes(groups=64, stabilisation=0.5, drop_after=None),
    cm.solvers.CuttingPlanes(groups=10_000, stabilisation=0.9, drop_after=3),
]


def described(setting):
    return f"groups {setting.groups}, in-out {setting.stabilisation}, drop after {setting.drop_after}"


@pytest.mark.parametrize("setting", some(SETTINGS, 3), ids=described)
@pytest.mark.parametrize("name", ["ranking from lists", "relative, rbf, soft", *names("no method")])
def test_cutting_planes_reach_the_optimum_in_every_setting(setting, name):
    problem, optimum = conic(name)[:2]
    solution = cm.solve(problem, tol=1e-5, solver=setting, max_iter=600)
    assert solution.status == "optimal"
    assert solution.gap <= 1e-5
    assert solution.lower_bound <= optimum * (1 + 1e-7)
    assert solution.upper_bound >= optimum * (1 - 1e-7)
    for before, after in pairwise(solution.history):
        assert after.upper_bound <= before.upper_bound
        assert after.lower_bound >= before.lower_bound
        assert after.seconds >= before.seconds
    last = solution.history[-1]
    assert last.gap == (last.upper_bound - last.lower_bound) / max(abs(last.upper_bound), abs(last.lower_bound))
    # The certificate is made anew, from the best metric and dual point: no worse than what was seen on the way.
    assert solution.upper_bound == pytest.approx(last.upper_bound, rel=1e-10)
    assert solution.lower_bound >= last.lower_bound * (1 - 1e-10)


@pytest.mark.parametrize("name", names("no method", "triplets", without=("logistic", "matrices")))
def test_interior_point_on_any_cone_and_penalty(name):
    problem, optimum = conic(name)[:2]
    inner = cm.solve(problem, tol=1e-8, solver="interior-point")
    outer = cm.solve(problem, tol=1e-6, solver="cutting-planes")
    assert inner.status == outer.status == "optimal"
    assert inner.iterations <= 25
    for solution in (inner, outer):
        assert solution.lower_bound <= optimum * (1 + 1e-7)
        assert solution.upper_bound >= optimum * (1 - 1e-7)


def test_dropping_cuts_keeps_fewer_of_them():
    problem = thirty_points("ranking")
    kept = cm.solve(problem, solver=cm.solvers.CuttingPlanes(drop_after=None))
    dropped = cm.solve(problem, solver=cm.solvers.CuttingPlanes(drop_after=1))
    assert kept.status == dropped.status == "optimal"
    assert kept.history[-1].details["cuts"] == 30 * kept.iterations
    assert dropped.history[-1].details["cuts"] < kept.history[-1].details["cuts"]


@pytest.mark.parametrize("kind", ["ranking", "relative I", "relative A"])
def test_an_unreachable_tolerance_ends_by_itself(kind):
    solvers = ["cutting-planes"] + ([] if kind == "ranking" else ["interior-point"])
    for solver in solvers:
        with warnings.catch_warnings(action="ignore", category=GapWarning):
            solution = cm.solve(thirty_points(kind), tol=1e-300, solver=solver, max_iter=2000)
        # Bounds may meet exactly in float64; else the solver gives up, long before the limit.
        assert solution.status == ("optimal" if solution.gap <= 1e-300 else "stalled")
        assert -1e-14 <= solution.gap <= 1e-7


def test_subgradient_steps_certify_how_far_they_came():
    problem, optimum = conic("ranking from labels")[:2]
    with pytest.warns(GapWarning):
        solution = cm.solve(problem, solver="subgradient", max_iter=300)
    assert solution.status == "max_iter"
    assert solution.lower_bound <= optimum <= solution.upper_bound
    assert solution.gap <= 0.1
    with pytest.warns(GapWarning):
        unlimited = cm.solve(problem, 1e-9, solver=cm.approximate.ProjectedSubgradient())
    assert unlimited.iterations == 1000


def test_conic_solvers_on_everything_installed():
    problem, optimum = conic("ranking from lists")[:2]
    for backend in cm.solvers.CONIC_SOLVERS:
        if backend.upper() not in cp.installed_solvers():
            continue
        with warnings.catch_warnings(action="ignore", category=GapWarning):
            solution = cm.solve(problem, solver=backend)
        assert solution.solver == backend
        assert solution.lower_bound <= optimum * (1 + 1e-7)
        assert solution.upper_bound >= optimum * (1 - 1e-7)
        assert solution.gap <= 1e-5
