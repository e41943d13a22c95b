"""Solutions along a path of weights are those of separate solves, in fewer passes."""

import numpy as np
import pytest
from samples import instance

import convexmetric as cm
from convexmetric.errors import InputError

WEIGHTS = [30.0, 1.0, 300.0, 1.0]


def problem(**options):
    data = cm.datasets.load("wine")
    X = cm.datasets.preprocess(data.X, ["zscore"])[::2]
    return cm.RankingProblem.from_labels(X, data.y[::2], **options)


@pytest.mark.parametrize("options", [{}, {"measure": "map"}, {"measure": "precision", "k": 3, "diagonal": True}])
def test_every_solution_is_that_of_its_own_problem(options):
    given = problem(**options)
    planes = cm.CuttingPlanes()
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
        assert again.upper_bound == pytest.approx(solution.upper_bound, rel=1e-12)
    assert sum(solution.iterations for solution in solutions[:3]) < passes


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


def test_malformed_paths():
    with pytest.raises(InputError, match="C is empty"):
        cm.solve_path(problem(), [])
    with pytest.raises(InputError, match="C must be positive"):
        cm.solve_path(problem(), [1.0, -1.0])
    with pytest.raises(InputError, match="MetricProblem has no weight C"):
        cm.solve_path(instance("psd triplets, trace"), [1.0])
