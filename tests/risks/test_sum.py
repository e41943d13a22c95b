"""Sums of risks: triplets, pairs and rankings about one metric."""

import numpy as np
import pytest
from samples import random_metric

import convexmetric as cm
from convexmetric.audits import write_solution
from convexmetric.comparisons import PairDistances, Triplets, triplets_from_labels
from convexmetric.cones import NonnegativeDiagonal, PSDCone
from convexmetric.errors import DualError, InputError
from convexmetric.losses import BoxLoss, Hinge, Logistic
from convexmetric.regularizers import SquaredFrobenius, Trace
from convexmetric.risks import CutDual, JoinedDual, SeparableRisk, SmoothSeparableRisk, SumRisk
from convexmetric.risks.dual_points import dual_arrays, dual_from_arrays

WINE = cm.datasets.load("wine")
X, Y = cm.datasets.preprocess(WINE.X, ["zscore"])[::6, :4], WINE.y[::6]
CONE = PSDCone(4)
RNG = np.random.default_rng(0)
PAIRS = np.column_stack(np.triu_indices(len(X), 1))[RNG.permutation(400)[:50]]
SIGNS = np.where(Y[PAIRS[:, 0]] == Y[PAIRS[:, 1]], -1.0, 1.0)

TRIPLETS = SeparableRisk(Triplets(X, triplets_from_labels(Y, 40, random_state=0), CONE), Hinge(0.1))
MARGINS = SeparableRisk(
    PairDistances(X, PAIRS, SIGNS, CONE), BoxLoss.hinge(np.full(50, 0.05), np.where(SIGNS > 0, 2, -1))
)
ERRORS = SeparableRisk(
    PairDistances(X, PAIRS, np.ones(50), CONE), BoxLoss.squared_error(np.full(50, 0.02), 1.0 - SIGNS)
)
SMOOTH = SmoothSeparableRisk(Triplets(X, triplets_from_labels(Y, 30, random_state=1), CONE), Logistic(0.1))
RANKING = cm.RankingProblem(
    X, [[1, 2], [0, 3]], irrelevant=[[4, 9], [6]], queries=X[:2] + 0.1, measure="map", C=3.0
).risk
AUC = cm.RankingProblem.from_labels(X, Y, measure="auc", C=3.0).risk

SUMS = {
    "triplets and pairs": ((TRIPLETS, MARGINS), "admm"),
    "triplets and errors": ((TRIPLETS, ERRORS), "admm"),
    "triplets, pairs and a ranking": ((TRIPLETS, MARGINS, RANKING), "cutting-planes"),
    "hinges and logistic": ((TRIPLETS, SMOOTH), "cutting-planes"),
}


@pytest.mark.parametrize("name", list(SUMS))
def test_which_solver_begins(name):
    risks, first = SUMS[name]
    assert cm.explain(cm.MetricProblem(SumRisk(*risks), Trace(0.5)), measure=False).chosen == first


def test_a_soft_sum_is_no_barrier():
    soft = SumRisk(TRIPLETS, ERRORS)
    assert not soft.hard
    assert not soft.barrier
    taken = [step.name for step in cm.explain(cm.MetricProblem(soft, SquaredFrobenius(1.0)), measure=False).steps]
    assert {"admm", "dual-ascent", "cutting-planes"} <= {*taken}


def test_with_every_pair_of_a_ranking():
    problem = cm.MetricProblem(TRIPLETS + AUC, SquaredFrobenius(1.0))
    cm.check_problem(problem)
    assert cm.solve(problem).status == "optimal"


def test_values_cuts_and_parts_add_up():
    total, M = TRIPLETS + RANKING + SMOOTH, random_metric(RNG, CONE)
    risks = TRIPLETS, RANKING, SMOOTH
    assert len(total.risks) == 3
    assert total.value(M) == pytest.approx(sum(risk.value(M) for risk in risks))
    some = RNG.permutation(total.parts)[:20]
    of_queries = RANKING + AUC
    queries = RNG.permutation(of_queries.parts)[:20]
    expected = 2.0 * of_queries.part_values(M)[queries]
    assert of_queries.subset(queries, 2.0).part_values(M) == pytest.approx(expected)
    assert total.subset(some) is None
    assert [each.loss for each in total.worst_comparisons(some, M)] == pytest.approx(list(total.part_values(M)[some]))


def test_a_dual_point_is_one_of_each_and_goes_to_files(tmp_path):
    total, M = TRIPLETS + RANKING, random_metric(RNG, CONE)
    joined = JoinedDual((RNG.random(TRIPLETS.parts), RANKING.own_duals(M)[0]))
    said, back = total.minorant(joined), dual_from_arrays(dual_arrays(joined, "multipliers"), "multipliers")
    each = [risk.minorant(dual) for risk, dual in zip((TRIPLETS, RANKING), joined.duals, strict=True)]
    assert said.value == pytest.approx(sum(point.value for point in each))
    assert pytest.approx(said.S) == total.minorant(back).S
    assert isinstance(back.duals[1], CutDual)
    problem = cm.MetricProblem(total, Trace(0.5))
    path = write_solution(tmp_path / "solution.npz", cm.solve(problem, solver="clarabel"))
    assert path.exists()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"joined": np.array(10**9)}, "the number of dual points"),
        ({"joined": np.array(np.nan)}, "the number of dual points"),
        ({"joined": np.zeros(2)}, "the number of dual points"),
        ({"joined": np.array(1), "0.multipliers": None}, "no dual point of the risk number 0"),
        ({"1.groups": None}, "has no groups"),
    ],
)
def test_damaged_files_are_refused(changed, message):
    arrays = dual_arrays(JoinedDual((np.zeros(3), RANKING.own_duals(CONE.identity())[0])), "multipliers") | changed
    with pytest.raises(DualError, match=message):
        dual_from_arrays({name: array for name, array in arrays.items() if array is not None}, "multipliers")


def test_the_scales_of_mixed_points_do_not_matter_to_certificates():
    problem = cm.MetricProblem(TRIPLETS + MARGINS, Trace(0.5))
    solution = cm.solve(problem)
    again = cm.certify(problem, solution.certificate.M, solution.certificate.dual)
    assert again.lower_bound == pytest.approx(solution.lower_bound, rel=1e-9)


def test_what_it_refuses():
    with pytest.raises(InputError, match="at least one risk"):
        SumRisk()
    other = SeparableRisk(Triplets(X, [[0, 1, 2]], NonnegativeDiagonal(4)), Hinge(1.0))
    with pytest.raises(InputError, match="one kind of metric"):
        TRIPLETS + other
    with pytest.raises(DualError, match="2 risks, got 1"):
        (TRIPLETS + MARGINS).minorant(JoinedDual((np.zeros(40),)))
    with pytest.raises(DualError, match="multipliers must have shape"):
        (TRIPLETS + MARGINS).minorant(np.zeros(3))
    with pytest.raises(DualError, match="only where all"):
        (TRIPLETS + RANKING).minorant(np.zeros(42))
