"""Solutions along a path of weights are those of separate solves, in fewer passes."""

from copy import copy
from itertools import islice

import cvxpy as cp
import numpy as np
import pytest
from catalogue import instance
from extensions import HonestlyLowered

import convexmetric as cm
from convexmetric.comparisons import Triplets
from convexmetric.cones import PSDCone
from convexmetric.errors import GapWarning, InputError
from convexmetric.regularizers import SquaredFrobenius
from convexmetric.risks import SeparableRisk

WEIGHTS = [30.0, 1.0, 300.0, 1.0]


def problem(**options):
    data = cm.datasets.load("wine")
    X = cm.datasets.preprocess(data.X, ["zscore"])[::3]
    return cm.RankingProblem.from_labels(X, data.y[::3], **options)


@pytest.mark.parametrize("options", [{}, {"measure": "map"}, {"measure": "precision", "k": 3, "diagonal": True}])
def test_every_solution_is_that_of_its_own_problem(options):
    given = problem(**options)
    planes = cm.solvers.CuttingPlanes()
    solutions = cm.solve_path(given, WEIGHTS, solver=planes)
    assert [solution.problem.C for solution in solutions] == WEIGHTS
    assert solutions[1] is solutions[3]
    passes = 0
    for C, solution in zip(WEIGHTS[:3], solutions[:3], strict=True):
        alone = cm.solve(given.with_C(C), solver=planes)
        passes += alone.iterations
        assert solution.status == "optimal"
        assert solution.lower_bound <= alone.upper_bound
        assert alone.lower_bound <= solution.upper_bound
        again = cm.certify(given.with_C(C), solution.certificate.M, solution.certificate.dual)
        assert again.lower_bound == pytest.approx(solution.lower_bound, rel=1e-10)
        assert again.upper_bound == pytest.approx(solution.upper_bound, rel=1e-10)
    assert sum(solution.iterations for solution in solutions[:3]) < passes


def test_constraints_stay_along_a_path():
    given = problem(measure="map").subject_to(lambda M: [cp.trace(M) <= 0.2])
    for C, solution in zip([1.0, 10.0], cm.solve_path(given, [1.0, 10.0], tol=1e-4), strict=True):
        alone = cm.solve(given.with_C(C), tol=1e-4)
        assert solution.status == "optimal"
        assert solution.certificate.grade == "conic"
        assert solution.M.trace() <= 0.2 + 1e-6
        assert max(solution.lower_bound, alone.lower_bound) <= min(solution.upper_bound, alone.upper_bound) + 1e-6


class Weighted(cm.MetricProblem):
    """A risk down to -C a triplet, which has cuts at zero that others are counted from."""

    def with_C(self, C):
        other, rng = copy(self), np.random.default_rng(0)
        rows = rng.permuted(np.tile(np.arange(8), (12, 1)), axis=1)[:, :3]
        triplets = Triplets(rng.standard_normal((8, 3)), rows, PSDCone(3))
        cm.MetricProblem.__init__(other, SeparableRisk(triplets, HonestlyLowered(C)), SquaredFrobenius(1.0))
        return other


def test_cuts_at_zero_are_scaled_with_the_others():
    weights = [1.0, 30.0, 0.2, 4.0]
    given = Weighted.__new__(Weighted).with_C(1.0)
    assert not given.risk.nonnegative
    for C, solution in zip(weights, cm.solve_path(given, weights, solver=cm.solvers.CuttingPlanes()), strict=True):
        alone = cm.solve(given.with_C(C), solver=cm.solvers.CuttingPlanes())
        assert solution.status == "optimal"
        assert max(solution.lower_bound, alone.lower_bound) <= min(solution.upper_bound, alone.upper_bound)
        again = cm.certify(given.with_C(C), solution.certificate.M, solution.certificate.dual)
        assert again.lower_bound == pytest.approx(solution.lower_bound, rel=1e-9)


def test_problems_without_cuts_are_solved_one_by_one():
    given = instance("relative, identity, soft")
    for C, solution in zip([0.1, 1.0], cm.solve_path(given, [0.1, 1.0]), strict=True):
        assert solution.problem.C == C
        expected = cm.solve(cm.RelativeComparisonProblem(given.triplets.X, given.triplets.triplets, C=C))
        assert solution.upper_bound == pytest.approx(expected.upper_bound, rel=2e-6)


def test_the_risk_is_proportional_to_c():
    given = problem(C=2.0)
    M = 0.1 * np.eye(13)
    other = given.with_C(6.0)
    assert other.risk.value(M) == pytest.approx(3.0 * given.risk.value(M))
    assert given.C == 2.0
    assert other.rankings is given.rankings
    assert other.fingerprint() != given.fingerprint()
    assert given.with_C(2.0).fingerprint() == given.fingerprint()


@pytest.mark.parametrize(
    ("given", "wrong", "named"),
    [
        (lambda: cm.TripletProblem(np.eye(3), [[0, 1, 2]]), "C", r"did you mean 'reg'\? solve_path\(problem, reg="),
        (problem, "reg", r"did you mean 'C'\? solve_path\(problem, C="),
        (lambda: instance("large margin"), "C", "its weight is push"),
        (lambda: cm.InformationTheoreticProblem(np.eye(3), [[0, 1], [0, 2]], [1, -1]), "reg", "its weight is gamma"),
    ],
)
def test_the_weight_that_a_problem_has_is_named(given, wrong, named):
    with pytest.raises(InputError, match=f"has no weight {wrong}.*{named}"):
        cm.solve_path(given(), **{wrong: [1.0]})


def test_a_solver_that_breaks_down_on_the_path_leaves_what_it_found(monkeypatch):
    given, follow = problem(measure="map"), cm.solvers.CuttingPlanes.follow

    def broken(self, *arguments):
        yield from islice(follow(self, *arguments), 2)
        raise FloatingPointError("planted")

    whole = cm.solve_path(given, [1.0])[0]
    monkeypatch.setattr(cm.solvers.CuttingPlanes, "follow", broken)
    with pytest.warns(GapWarning, match="stalled"):
        (left,) = cm.solve_path(given, [1.0])
    assert (left.status, left.iterations) == ("stalled", 2)
    assert left.lower_bound <= whole.upper_bound < left.upper_bound
