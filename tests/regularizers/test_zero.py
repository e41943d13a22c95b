"""Nothing but the data: lower bounds where no regularizer grows."""

from copy import copy

import numpy as np
import pytest

import convexmetric as cm
from convexmetric.comparisons import Triplets, triplets_from_labels
from convexmetric.cones import NonnegativeDiagonal, PSDCone
from convexmetric.errors import GapWarning
from convexmetric.losses import Hinge, Logistic
from convexmetric.regularizers import Budget, Zero
from convexmetric.risks import SeparableRisk, SmoothSeparableRisk

WINE = cm.datasets.load("wine")
X, Y = cm.datasets.preprocess(WINE.X, ["zscore"])[::3, :5], WINE.y[::3]
TRIPLETS = triplets_from_labels(Y, 200, random_state=0)
# One in five says the contrary, so that no metric satisfies them all, however large.
TRIPLETS[::5] = TRIPLETS[::5][:, [0, 2, 1]]


def risk(cone, loss):
    kind = SmoothSeparableRisk if isinstance(loss, Logistic) else SeparableRisk
    return kind(Triplets(X, TRIPLETS, cone), loss)


@pytest.mark.parametrize("cone", [PSDCone(5), NonnegativeDiagonal(5)], ids=repr)
@pytest.mark.parametrize("loss", [Logistic(1.0), Hinge(1.0)], ids=repr)
def test_contradictory_data_hold_the_metric_by_themselves(cone, loss):
    """The bounds are those of the problem under a budget that its optimum does not spend."""
    solution = cm.solve(cm.MetricProblem(risk(cone, loss), Zero()))
    assert solution.status == "optimal"
    limit = 10.0 * cone.trace(solution.certificate.M)
    under = cm.solve(cm.MetricProblem(risk(cone, loss), Budget(cone.identity(), limit)))
    assert under.status == "optimal"
    assert cone.trace(under.certificate.M) < 0.5 * limit
    assert max(solution.lower_bound, under.lower_bound) <= min(solution.upper_bound, under.upper_bound)


def test_a_dual_matrix_that_is_hardly_infeasible_hardly_loses():
    problem = cm.MetricProblem(risk(PSDCone(5), Logistic(1.0)), Zero())
    solution = cm.solve(problem, tol=1e-8)
    M, cone = solution.certificate.M, problem.cone
    point = problem.risk.minorant(solution.certificate.dual)
    top = cone.largest(point.S)
    for excess in (1e-10, 1e-7, 1e-4, 1.0, 100.0):
        S = point.S + (excess - top) * cone.identity()
        # Of a plane that is lower by what S is larger on metrics up to this one's size.
        bound = problem.bound(point.value, S, M)
        assert bound <= solution.upper_bound
        assert bound >= solution.upper_bound * (1.0 - 1e-7 - 10.0 * excess)


def test_planes_of_one_risk_say_nothing_of_another():
    heavy = cm.MetricProblem(risk(PSDCone(5), Logistic(1.0)), Zero())
    solution = cm.solve(heavy)
    point = heavy.risk.minorant(solution.certificate.dual)
    assert heavy.bound(point.value, point.S + 1e-6 * np.eye(5), solution.certificate.M) > 0.9 * solution.upper_bound
    light = copy(heavy)
    light.risk = risk(PSDCone(5), Logistic(1e-3))
    point = light.risk.minorant(solution.certificate.dual)
    bound = light.bound(point.value, point.S + np.eye(5), solution.certificate.M)
    assert bound <= 1.001e-3 * solution.upper_bound


def test_where_no_bound_is_found_the_advice_is_a_budget():
    """One triplet is satisfied the better the larger the metric is: there is no optimum, and what is below is zero."""
    alone = SmoothSeparableRisk(Triplets(X, TRIPLETS[1:2], PSDCone(5)), Logistic(1.0))
    with pytest.warns(GapWarning, match=r"give a Budget\(A, limit\) that the optimum does not spend, or atol"):
        solution = cm.solve(cm.MetricProblem(alone, Zero()), max_iter=20)
    assert solution.lower_bound == 0.0
