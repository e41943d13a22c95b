"""Problems that fall without end are said to, with a direction to check; others are not."""

import cvxpy as cp
import numpy as np
import pytest
from catalogue import cases, instance

import convexmetric as cm
from convexmetric.comparisons import Triplets
from convexmetric.cones import PSDCone
from convexmetric.errors import InputError, UnboundedError
from convexmetric.regularizers import Frobenius, Trace, Zero
from convexmetric.regularizers.log_det import LogDet
from convexmetric.regularizers.norm_term import EntrywiseL1
from convexmetric.risks.base import Cuts, Risk
from convexmetric.solvers.runtime.unbounded import check_bounded

LISTED = instance("psd triplets, trace").risk
EUCLIDEAN = np.eye(4)
FALLING = {
    "trace": (Trace(1.0), -5.0),
    "large trace": (Trace(1e6), -5e6),
    "norm": (Frobenius(1.0), -5.0),
    "sizes": (EntrywiseL1(1.0), -5.0),
    "log det": (LogDet(EUCLIDEAN, 1.0), -5.0),
}


@pytest.mark.parametrize("solver", [None, "cutting-planes", "clarabel"])
@pytest.mark.parametrize("name", FALLING)
def test_a_linear_term_that_outweighs_the_rest_is_found_out(name, solver):
    omega, share = FALLING[name]
    problem = cm.MetricProblem(LISTED, omega, G=share * EUCLIDEAN)
    with pytest.raises(UnboundedError, match="falls without end") as raised:
        cm.solve(problem, solver=solver)
    D = raised.value.direction
    assert isinstance(raised.value, InputError)
    assert problem.cone.violation(D) == pytest.approx(0.0, abs=1e-12)
    assert np.trace(D) == pytest.approx(1.0)
    values = [problem.value(t * D) for t in (1e4, 1e8, 1e12)]
    assert values[0] < 0.0
    # Slopes do not rise: the function is convex, and these go down by the same share as the metric goes out.
    assert values[2] / 1e12 == pytest.approx(values[1] / 1e8, rel=1e-2)


def test_a_term_of_the_users_own_is_found_out():
    problem = cm.MetricProblem(LISTED, Trace(1.0)).subject_to(None, lambda M: -20.0 * cp.trace(M))
    with pytest.raises(UnboundedError):
        cm.solve(problem)
    bounded = problem.subject_to(lambda M: [cp.trace(M) <= 7.0])
    assert cm.solve(bounded, 1e-4).status == "optimal"


@pytest.mark.parametrize(("omega", "G"), [(Zero(), np.diag([1.0, 1.0, 1.0, -0.01])), (Trace(1.0), -0.5 * EUCLIDEAN)])
def test_a_linear_term_that_the_risk_or_the_penalty_outweighs_is_not(omega, G):
    problem = cm.MetricProblem(LISTED, omega, G=G)
    assert cm.solve(problem, 1e-3).status == "optimal"


@pytest.mark.parametrize("name", cases(without="user terms"))
def test_problems_with_an_optimum_are_not_said_to_fall(name):
    check_bounded(instance(name).without_constant())


class Boosting(Risk):
    """``log sum exp(-s_t)`` of listed margins: it falls without end where all can be positive."""

    def __init__(self, comparisons):
        self.comparisons, self.cone = comparisons, comparisons.cone

    @property
    def nonnegative(self):
        return False

    parts, part_kind = 1, "sample"

    def statement(self, M):
        raise NotImplementedError

    def worst_comparisons(self, parts, M, other=None):
        raise NotImplementedError

    def value(self, M):
        return float(np.logaddexp.reduce(-self.comparisons.forward(M)))

    def part_values(self, M):
        return np.array([self.value(M)])

    def separate(self, M, groups):
        s = self.comparisons.forward(M)
        normal = self.comparisons.adjoint(np.exp(-s - np.logaddexp.reduce(-s)))
        value = self.value(M)
        offset = value + self.cone.inner(normal, M)
        return Cuts(np.array([value]), np.array([offset]), self.cone.coordinates(normal)[None])


@pytest.mark.parametrize("reg", [1e-6, 1e3])
def test_boosting_falls_where_its_margins_outweigh_the_trace(reg):
    X = np.array([[0.0, 0.0], [1.0, 0.2], [3.0, 1.0], [0.5, -0.3]])
    problem = cm.MetricProblem(Boosting(Triplets(X, [[0, 1, 2], [3, 0, 2]], PSDCone(2))), Trace(reg))
    if reg < 1.0:
        with pytest.raises(UnboundedError):
            check_bounded(problem)
    else:
        check_bounded(problem)
