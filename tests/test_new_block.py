"""A block of a user's own, from its declaration to a proven certificate: nothing is registered anywhere."""

from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import pytest

import convexmetric as cm
from convexmetric.arrays import norm_of
from convexmetric.cones import NonnegativeDiagonal, PSDCone
from convexmetric.losses import Hinge
from convexmetric.regularizers import NormWeights, Regularizer, SquaredFrobenius
from convexmetric.risks import SeparableRisk


@dataclass(frozen=True)
class Elastic(Regularizer):
    """``a tr M + b / 2 ||M||_F^2``: low rank and small weights at once."""

    a: float
    b: float

    def value(self, M, cone):
        return self.a * cone.trace(M) + 0.5 * self.b * norm_of(M) ** 2

    def weights(self):
        return NormWeights(trace=self.a, squared=self.b)

    def bound(self, value, S, G, cone, hint):
        # The trace is a linear term.
        linear = self.a * cone.identity() if G is None else self.a * cone.identity() + G
        return SquaredFrobenius(self.b).bound(value, S, linear, cone, hint)

    def expression(self, M, cone):
        return self.a * cone.trace_expression(M) + 0.5 * self.b * cp.sum_squares(M)

    def text(self, M):
        return f"{self.a:g} tr({M}) + {self.b / 2:g} ||{M}||_F^2"

    latex = text


IRIS = cm.datasets.load("iris")
X, y = IRIS.X - IRIS.X.mean(axis=0), IRIS.y


def triplets(cone):
    rows = np.random.default_rng(0).integers(len(X), size=(400, 3))
    rows = rows[(y[rows[:, 0]] == y[rows[:, 1]]) & (y[rows[:, 0]] != y[rows[:, 2]]) & (rows[:, 0] != rows[:, 1])]
    return SeparableRisk(cm.comparisons.Triplets(X, rows, cone), Hinge(0.5))


def pairs():
    i, j = np.triu_indices(30, 1)
    rows = np.column_stack([i, j]) * 5
    kinds = np.where(y[rows[:, 0]] == y[rows[:, 1]], 1, -1)
    return cm.PairMarginProblem(X, rows, kinds).risk


@pytest.mark.parametrize(
    "weights", [(0.3, 0.7, 0.0), (0.3, 0.7, 0.4), (0.0, 0.7, 50.0), (0.3, 0.0, 0.4), (50.0, 0.0, 0.0)]
)
@pytest.mark.parametrize("cone", [PSDCone(3), NonnegativeDiagonal(3)], ids=repr)
def test_what_it_says_of_its_weights_gives_its_conjugate(weights, cone):
    class Weighed(Elastic):
        def weights(self):
            return NormWeights(*weights)

    a, b, c = weights
    omega, rng = Weighed(a, b), np.random.default_rng(0)
    assert omega.smooth_conjugate == (b > 0.0)
    for _ in range(5):
        S = 3.0 * cone.from_coordinates(rng.standard_normal(cone.size))
        M, inside = cone.variable("M")
        cost = a * cone.trace_expression(M) + 0.5 * b * cp.sum_squares(M) + c * cp.norm(cp.vec(M, order="F"))
        stated = cp.Problem(cp.Maximize(cp.sum(cp.multiply(S, M)) - cost), inside).solve(solver=cp.CLARABEL)
        most, N = omega.conjugate(S, cone)
        assert most == pytest.approx(stated, rel=1e-6, abs=1e-6)
        if np.isfinite(most):
            norms = a * cone.trace(N) + 0.5 * b * norm_of(N) ** 2 + c * norm_of(N)
            assert cone.violation(N) <= 1e-12
            assert cone.inner(S, N) - norms == pytest.approx(most, rel=1e-12, abs=1e-12)


RISKS = {
    "triplets, full": lambda: triplets(PSDCone(4)),
    "triplets, diagonal": lambda: triplets(NonnegativeDiagonal(4)),
    "AUC": lambda: cm.RankingProblem.from_labels(X[::3], y[::3], measure="auc", C=10.0).risk,
    "MAP": lambda: cm.RankingProblem.from_labels(X[::3], y[::3], measure="map", C=10.0).risk,
    "positives and negatives": lambda: cm.TripletProblem.from_labels(X, y, n_same=3, n_other=3).risk,
    "pairs": pairs,
}

#: Solvers beside cutting planes that ask for what the block says of itself.
FIT = {
    "triplets, full": {"interior-point", "admm", "dual-ascent", "factored-lagrangian"},
    "triplets, diagonal": {"interior-point", "admm", "dual-ascent", "augmented-lagrangian"},
    "AUC": {"semismooth-newton"},
    "MAP": set(),
    "positives and negatives": {"semismooth-newton"},
    "pairs": {"factored-lagrangian"},
}


@pytest.mark.integration
@pytest.mark.parametrize("name", RISKS)
def test_every_solver_that_fits_ends_within_the_bounds_of_every_other(name, tmp_path):
    problem = cm.MetricProblem(RISKS[name](), Elastic(0.05, 0.02))
    cm.check_problem(problem)
    solutions = [cm.solve(problem)]
    for solver in {"cutting-planes", *FIT[name]}:
        solutions.append(cm.solve(problem, solver=solver))
        assert (solutions[-1].solver, solutions[-1].status) == (solver, "optimal")
    assert max(solution.lower_bound for solution in solutions) <= min(solution.upper_bound for solution in solutions)
    verdict = cm.write_certificate(tmp_path / "new.npz", problem, solution=solutions[0])
    assert cm.verify(tmp_path / "new.npz").accepted
    assert float(verdict.upper - verdict.lower) <= 3e-6 * float(verdict.upper)


def test_without_words_on_its_weights_cutting_planes_solve_it_by_its_expression():
    class Silent(Elastic):
        def weights(self):
            return None

    problem = cm.MetricProblem(RISKS["MAP"](), Silent(0.05, 0.02))
    silent, spoken = cm.solve(problem), cm.solve(cm.MetricProblem(problem.risk, Elastic(0.05, 0.02)))
    assert silent.solver == "cutting-planes"
    assert silent.lower_bound <= spoken.upper_bound
    assert spoken.lower_bound <= silent.upper_bound
