"""A regularizer with constraints and terms of the user's own, as a block of a problem."""

import os
import subprocess
import sys
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest
from catalogue import instance

import convexmetric as cm
from convexmetric.errors import InputError
from convexmetric.regularizers import Frobenius, SubjectTo, Trace
from convexmetric.regularizers.user_terms import TOLERANCE


def bounded(M):
    return [cp.trace(M) <= 2.0]


def entries(M):
    return 0.3 * cp.sum(cp.abs(M))


def test_it_is_infinite_outside_the_constraints_beyond_the_tolerance():
    problem = instance("ranking from labels")
    cone, added = problem.cone, problem.subject_to(bounded, entries).regularizer
    M = 2.0 / 3.0 * np.eye(3)
    assert added.value(M, cone) == pytest.approx(Trace(1.0).value(M, cone) + 0.6)
    assert np.isfinite(added.value((1.0 + 0.5 * TOLERANCE) * M, cone))
    assert added.value((1.0 + 2.0 * TOLERANCE) * M, cone) == np.inf
    assert added.violation(np.eye(3), cone) == pytest.approx(1.0)
    assert added.quadratic(cone) is None
    assert added.grade == "conic"


def test_the_tolerance_goes_by_the_numbers_compared():
    added = SubjectTo(Trace(), cm.cones.PSDCone(2), lambda M: [cp.trace(M) - 1e6 <= 0, M[0, 1] <= 1e-3])
    M = np.diag([1e6, 0.0])
    assert np.isfinite(added.value((1.0 + 0.5 * TOLERANCE) * M, added.cone))
    assert added.value((1.0 + 2.0 * TOLERANCE) * M, added.cone) == np.inf
    M[0, 1] = M[1, 0] = 1e-3 + 1e-6
    assert added.value(M, added.cone) == np.inf


def test_constraints_on_small_metrics_are_no_looser():
    """Of points of size 1e6 metrics have entries of 1e-12."""
    added = SubjectTo(Trace(), cm.cones.PSDCone(2), lambda M: [cp.trace(M) <= 1e-12])
    assert np.isfinite(added.value(np.diag([1e-12, 0.0]), added.cone))
    assert added.value(np.diag([1e-12, 1e-15]), added.cone) == np.inf


def test_twice_adds_constraints_and_terms():
    problem = instance("ranking from labels")
    once = problem.subject_to(bounded, entries)
    twice = problem.subject_to(bounded).subject_to(extra_objective=entries)
    assert type(twice) is type(problem)
    assert twice.fingerprint() == once.fingerprint() != problem.fingerprint()
    assert twice.risk is problem.risk
    assert problem.subject_to() is problem
    assert "h(W) + [W in U]" in str(twice)
    M = 0.3 * np.eye(3)
    assert twice.objective(M) == once.objective(M) == pytest.approx(problem.objective(M) + 0.27)


def test_other_weights_keep_them():
    ranking = instance("ranking from labels").subject_to(bounded, entries)
    other = ranking.with_C(3.0)
    assert other.objective(np.eye(3)) == np.inf
    assert other.regularizer is ranking.regularizer
    data = cm.datasets.load("iris")
    triplets = cm.TripletProblem.from_labels(data.X, data.y, n_same=2, n_other=2, reg=0.1)
    pairs = cm.PairMarginProblem.from_labels(data.X[::5], data.y[::5], reg=0.1)
    for problem in (triplets, pairs):
        plain, own = problem.with_reg(0.5), problem.subject_to(bounded, entries).with_reg(0.5)
        M = 0.1 * np.eye(4)
        assert own.objective(M) == pytest.approx(plain.objective(M) + 0.12)
        assert own.objective(np.eye(4)) == np.inf
        assert own.fingerprint() == plain.subject_to(bounded, entries).fingerprint()
    moved = cm.MetricProblem(ranking.risk, ranking.regularizer, constant=5.0)
    assert moved.without_constant().objective(np.eye(3)) == np.inf


@pytest.mark.parametrize("name", ["ranking from labels", "ranking, diagonal, squared norm"])
def test_blocks_with_terms_keep_the_contracts(name):
    cm.check_problem(instance(name).subject_to(lambda M: cp.sum(M) <= 1.0, entries))


@pytest.mark.parametrize("base", [Trace(0.5), Frobenius(0.5)])
def test_bounds_are_minima_over_the_constraints(base):
    rng = np.random.default_rng(0)
    cone = cm.cones.PSDCone(3)
    added = SubjectTo(base, cone, bounded, entries)
    S = cone.outer_sum(rng.standard_normal((2, 3)), np.array([1.0, -0.5]))
    M, inside = cone.variable("M")
    cost = cp.pos(1.5 - cp.sum(cp.multiply(S, M))) + base.expression(M, cone) + entries(M)
    expected = cp.Problem(cp.Minimize(cost), inside + bounded(M)).solve(solver=cp.CLARABEL)
    assert added.bound(1.5, S, None, cone, cone.zeros()) == pytest.approx(expected, abs=1e-7)
    assert added.bound(np.nan, S, None, cone, cone.zeros()) == -np.inf
    falling = SubjectTo(base, cone, None, lambda M: -cp.trace(M))
    assert falling.bound(0.0, 0.0 * S, None, cone, cone.zeros()) == -np.inf


def test_variables_of_their_own_are_minimised_over():
    """h(M) = sum |M - I|, stated directly and by entries B that are larger."""
    B, t = cp.Variable((3, 3)), cp.Variable()

    def above(M):
        return [M - np.eye(3) <= B, np.eye(3) - M <= B, cp.trace(M) <= t, t <= 2.0]

    problem = instance("ranking from labels")
    joint = problem.subject_to(above, lambda M: cp.sum(B))
    direct = problem.subject_to(bounded, lambda M: cp.sum(cp.abs(M - np.eye(3))))
    cone, M = problem.cone, np.array([[0.4, 0.1, 0.0], [0.1, 0.2, 0.0], [0.0, 0.0, 0.9]])
    assert joint.objective(M) == pytest.approx(direct.objective(M), rel=1e-7)
    np.testing.assert_allclose(
        joint.regularizer.gradient(M, cone)[M > 0], direct.regularizer.gradient(M, cone)[M > 0], atol=1e-6
    )
    assert joint.objective(np.eye(3)) == np.inf
    assert joint.regularizer.violation(np.eye(3), cone) == pytest.approx(1.0 / 3.0, abs=1e-7)
    first, second = (cm.solve(each, tol=1e-5) for each in (joint, direct))
    assert max(first.lower_bound, second.lower_bound) <= min(first.upper_bound, second.upper_bound) + 1e-7
    assert first.gap <= 1e-5


PROGRAM = """
import cvxpy as cp
import numpy as np
import convexmetric as cm

iris = cm.datasets.load("iris")
problem = cm.RankingProblem.from_labels(iris.X[::5], iris.y[::5])
most, own = cp.Parameter(value=2.0), cp.Variable((4, 4), PSD=True)
problem = problem.subject_to(lambda M: [cp.trace(M) <= most, M >> own, own[0, 0] >= 0.1])
print(problem.subject_to(None, lambda M: cp.sum_squares(M) + cp.norm(M[0] - own[1], 1) + 3.0).fingerprint())
"""


@pytest.mark.integration
def test_other_processes_know_the_problem_again():
    found = set()
    for seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(cm.__file__).parents[1])}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True, timeout=120
        )
        found.add(done.stdout)
    assert len(found) == 1


def test_what_differs_has_other_fingerprints():
    problem, most = instance("ranking from labels"), cp.Parameter(value=2.0)
    with_parameter = problem.subject_to(lambda M: [cp.trace(M) <= most])
    found = [with_parameter.fingerprint()]
    assert found[0] == problem.subject_to(bounded).fingerprint()
    most.value = 3.0
    found.append(with_parameter.fingerprint())
    for extra in (lambda M: 2.0, lambda M: 3.0, entries, lambda M: cp.sum_squares(M), lambda M: 2 * cp.sum_squares(M)):
        found.append(problem.subject_to(None, extra).fingerprint())
    assert len(set(found)) == len(found)


def test_parameters_need_values():
    with pytest.raises(InputError, match="the CVXPY parameter most in your constraints or term has no value"):
        instance("ranking from labels").subject_to(lambda M: [cp.trace(M) <= cp.Parameter(name="most")])
