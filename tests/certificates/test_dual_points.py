"""No dual point whatsoever proves too much, for any method; the truth comes from CVXPY and CLARABEL."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import (
    EVERYTHING,
    HARD,
    LATER_PAPERS,
    METHODS,
    RANKING,
    SIMILARITY,
    SMOOTH,
    instance,
    instance_with_optimum,
    multipliers,
    random_cut_dual,
    random_metric,
)

import convexmetric as cm
from convexmetric.errors import DualError
from convexmetric.risks import LabelledPairRisk, PairwiseRisk, SeparableRisk
from convexmetric.solvers import SOLVERS


def valid(bound, optimum):
    return bound <= optimum + 1e-6 * abs(optimum) + 1e-9


@pytest.mark.parametrize("name", sorted(HARD))
def test_hard_objective_is_cvxpys(name):
    problem, optimum = instance_with_optimum(name)
    statement = problem.statement()
    statement.problem.solve(solver=cp.CLARABEL)
    w = problem.risk.repair(problem.cone.project(statement.metric.value))
    assert problem.value(w) == pytest.approx(optimum, rel=1e-4)
    statement.metric.value = w
    assert statement.problem.objective.value == pytest.approx(problem.value(w), rel=1e-10)
    assert all(np.max(constraint.violation()) <= 1e-8 for constraint in statement.problem.constraints)
    assert problem.value(0.5 * w) == np.inf
    statement.metric.value = 0.5 * w
    assert max(np.max(constraint.violation()) for constraint in statement.problem.constraints) > 0.1


@given(st.sampled_from(sorted(EVERYTHING)), st.integers(0, 10**6))
@settings(max_examples=150)
def test_weak_duality_on_random_pairs(name, seed):
    rng = np.random.default_rng(seed)
    problem = instance(name, seed % 3)
    M = random_metric(rng, problem.cone, float(10.0 ** rng.uniform(-3, 2)))
    M = problem.risk.repair(M)
    objective = problem.value(M)
    hint = random_metric(rng, problem.cone) if rng.random() < 0.5 else None
    duals = [random_cut_dual(rng, problem, float(10.0 ** rng.uniform(-3, 2)))]
    if name != "ranking, diagonal, squared norm" or rng.random() < 0.5:
        duals.append(10.0 ** rng.uniform(-4, 3) * rng.standard_normal(multipliers(problem)))
    for dual in duals:
        with np.errstate(all="ignore"):
            bound = problem.dual_bound(dual, hint=hint)
        assert bound <= objective + 1e-9 * max(1.0, abs(objective))
        assert valid(bound, instance_with_optimum(name, seed % 3)[1])


def optimal_dual(problem):
    """Multipliers from CLARABEL, a metric beside, and nothing of our solvers."""
    statement = problem.statement()
    statement.problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    return problem.cone.project(np.asarray(statement.metric.value)), statement.dual()


CORRUPTIONS = {
    "as it is": lambda u, rng: u,
    "negative": lambda u, rng: -u - 0.1,
    "some negative": lambda u, rng: u - u.max() / 2,
    "above the box": lambda u, rng: u + 1e3,
    "halved": lambda u, rng: 0.5 * u,
    "twice": lambda u, rng: 2.0 * u,
    "a million times": lambda u, rng: 1e6 * u,
    "1e200 times": lambda u, rng: 1e200 * u,
    "the largest numbers": lambda u, rng: np.full_like(u, 1.7e308),
    "the smallest numbers": lambda u, rng: np.full_like(u, 5e-324),
    "reversed": lambda u, rng: u[::-1].copy(),
    "permuted": lambda u, rng: rng.permutation(u),
    "zero": lambda u, rng: np.zeros_like(u),
    "noise": lambda u, rng: u + 0.3 * rng.standard_normal(u.size),
    "whole numbers": lambda u, rng: np.ones(u.size, dtype=np.int64),
    "truth values": lambda u, rng: u > 0,
    "half precision": lambda u, rng: np.clip(u, 0, 6e4).astype(np.float16),
}


@pytest.mark.parametrize("name", sorted(EVERYTHING))
@pytest.mark.parametrize("corruption", CORRUPTIONS)
def test_corrupted_multipliers_never_prove_too_much(name, corruption):
    problem, optimum = instance_with_optimum(name)
    M, u = optimal_dual(problem)
    rng = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        corrupted = CORRUPTIONS[corruption](u, rng)
        poor = problem.risk.repair(random_metric(rng, problem.cone))
        certificates = [cm.certify(problem, metric, corrupted) for metric in (M, poor)]
    for certificate in certificates:
        assert valid(certificate.lower_bound, optimum)
        assert certificate.upper_bound >= optimum - 1e-6 * abs(optimum)
        # The gap is never smaller than the metric's true distance from the optimum.
        upper = certificate.upper_bound
        distance = (upper - optimum) / max(abs(upper), abs(optimum)) if np.isfinite(upper) else 1.0
        assert certificate.gap >= distance - 1e-6
    if corruption == "as it is":
        assert certificates[0].gap <= 1e-4


@pytest.mark.parametrize("name", sorted(EVERYTHING))
@pytest.mark.parametrize("entry", [np.nan, np.inf, -np.inf])
def test_one_entry_that_is_no_number_proves_nothing(name, entry):
    problem = instance(name)
    M = problem.cone.identity()
    u = np.zeros(multipliers(problem))
    u[-1] = entry
    dual = random_cut_dual(np.random.default_rng(0), problem)
    weights, witnesses = dual.weights.copy(), dual.witnesses.copy()
    weights[0, 0] = entry
    witnesses[0, 0] = entry
    for corrupted in (
        u,
        cm.risks.CutDual(dual.witnesses, weights, dual.groups),
        cm.risks.CutDual(witnesses, dual.weights, dual.groups),
    ):
        assert problem.dual_bound(corrupted) == -np.inf
        assert cm.certify(problem, M, corrupted).lower_bound == -np.inf
        assert cm.certify(problem, M, corrupted).gap == np.inf


@pytest.mark.parametrize("name", sorted(EVERYTHING))
def test_duals_of_the_wrong_shape_or_type_are_refused(name):
    problem = instance(name)
    T, parts, shape = multipliers(problem), problem.risk.parts, problem.cone.shape
    good = random_cut_dual(np.random.default_rng(0), problem)
    count, n_groups = good.weights.shape
    wrong = [
        np.zeros(T + 1),
        np.zeros(T - 1),
        np.zeros((T, 1)),
        np.float64(1.0),
        np.zeros(0),
        np.array(["u"] * T),
        np.zeros(T, dtype=complex),
        list(np.zeros(T)),
        None,
        "dual",
        cm.risks.CutDual(good.witnesses[..., :-1], good.weights, good.groups),
        cm.risks.CutDual(good.witnesses[0], good.weights, good.groups),
        cm.risks.CutDual(good.witnesses, good.weights[0], good.groups),
        cm.risks.CutDual(good.witnesses, np.ones((count + 1, n_groups)), good.groups),
        cm.risks.CutDual(np.full((count, *shape), "a"), good.weights, good.groups),
        cm.risks.CutDual(good.witnesses, [[1.0], [1.0, 2.0]], good.groups),
        cm.risks.CutDual(good.witnesses, good.weights, good.groups[:-1]),
        cm.risks.CutDual(good.witnesses, good.weights, good.groups + n_groups),
        cm.risks.CutDual(good.witnesses, good.weights, good.groups - n_groups),
        cm.risks.CutDual(good.witnesses, good.weights, good.groups.astype(float)),
        cm.risks.CutDual(good.witnesses, good.weights, np.zeros((parts, 1), dtype=int)),
    ]
    for dual in wrong:
        with pytest.raises(DualError):
            problem.dual_bound(dual)
        with pytest.raises(DualError):
            cm.certify(problem, problem.cone.identity(), dual)


@pytest.mark.parametrize("name", sorted(RANKING))
def test_cuts_that_were_tampered_with_prove_no_more_than_the_truth(name):
    problem, optimum = instance_with_optimum(name)
    solution = cm.solve(problem, solver="cutting-planes")
    dual = solution.certificate.dual
    assert isinstance(dual, cm.risks.CutDual)
    assert problem.dual_bound(dual) == pytest.approx(optimum, rel=1e-6)
    rng = np.random.default_rng(0)
    parts, n_groups = problem.risk.parts, dual.weights.shape[1]
    tampered = [
        cm.risks.CutDual(dual.witnesses, factor * dual.weights, dual.groups) for factor in (-1, 0.5, 1.5, 1e6, 1e300)
    ]
    tampered += [
        cm.risks.CutDual(size * dual.witnesses, dual.weights, dual.groups) for size in (-1, 0, 0.5, 1e6, 1e300)
    ]
    tampered += [
        cm.risks.CutDual(dual.witnesses, rng.permutation(dual.weights), dual.groups),
        cm.risks.CutDual(rng.permutation(dual.witnesses), dual.weights, dual.groups),
        cm.risks.CutDual(dual.witnesses, dual.weights, rng.integers(0, n_groups, parts)),
        cm.risks.CutDual(dual.witnesses, dual.weights, np.zeros(parts, dtype=int)),
        cm.risks.CutDual(np.repeat(dual.witnesses, 2, axis=0), np.repeat(dual.weights, 2, axis=0), dual.groups),
        cm.risks.CutDual(dual.witnesses[:0], dual.weights[:0], dual.groups),
    ]
    for forged in tampered:
        with np.errstate(all="ignore"):
            assert valid(problem.dual_bound(forged), optimum)


@pytest.mark.parametrize("name", sorted(set(EVERYTHING) - set(HARD)))
def test_cuts_with_weights_of_both_signs_are_no_extrapolation(name):
    # k + 1 times one plane minus k times another would be a plane above the risk.
    problem, optimum = instance_with_optimum(name)
    rng = np.random.default_rng(0)
    best = cm.solve(problem).certificate.M
    groups = np.zeros(problem.risk.parts, dtype=np.int64)
    for _ in range(30):
        near = best + 0.3 * random_metric(rng, problem.cone) * rng.random()
        for far in (problem.cone.zeros(), random_metric(rng, problem.cone), 1.2 * best):
            for k in (0.5, 3.0, 100.0):
                for witnesses in ([near, far], [far, near]):
                    dual = cm.risks.CutDual(np.array(witnesses), np.array([[k + 1.0], [-k]]), groups)
                    assert valid(problem.dual_bound(dual, hint=best), optimum)


def margins(problem, M):
    """CVXPY: the margin of every multiplier's comparison, and the multiplier's largest value."""
    listed = problem.risk.listed() if isinstance(problem.risk, LabelledPairRisk) else problem.risk
    if isinstance(listed, SeparableRisk):
        loss = listed.loss.box(listed.parts)
        return listed.comparisons.expression(M), loss.high, loss.offset
    if isinstance(problem.risk, PairwiseRisk):
        risk = problem.risk
        return risk.listed().comparisons.expression(M), np.repeat(risk.weights, risk.pairs), risk.margin
    compared, parts, caps = problem.risk.rankings, [], []
    weights = np.ones(len(compared)) if problem.risk.weights is None else problem.risk.weights
    for q, row in enumerate(compared.rows(np.arange(len(compared)))):
        relevant, irrelevant = compared.relevance.of(q)
        near = compared.cone.quadratic_form_expressions(compared.Q[row] - compared.X[relevant], M)
        far = compared.cone.quadratic_form_expressions(compared.Q[row] - compared.X[irrelevant], M)
        parts += [2 * (far - near[i]) for i in range(len(relevant))]
        pairs = len(relevant) * len(irrelevant)
        caps += [weights[q] * problem.risk.C / len(compared) / pairs] * pairs
    return cp.hstack(parts), np.array(caps), 1.0


@pytest.mark.parametrize("name", sorted(set(EVERYTHING) - set(HARD) - set(SIMILARITY) - set(SMOOTH)))
@pytest.mark.parametrize(("below", "above"), [(1.0, 0.0), (1.0, 0.5), (5.0, 0.0), (5.0, 1.0)])
def test_optimal_multipliers_of_a_steeper_loss_are_clipped_to_the_truth(name, below, above):
    # A loss that is steeper, or grows beyond the margin as well, has an optimum above ours; its multipliers leave the
    # box and would prove that larger value.
    problem, optimum = instance_with_optimum(name)
    M, in_cone = problem.cone.variable("M")
    s, caps, margin = margins(problem, M)
    short, beyond = cp.Variable(caps.size, nonneg=True), cp.Variable(caps.size, nonneg=True)
    rows = [s >= margin - short, s <= margin + beyond]
    objective = problem.regularizer.expression(M, problem.cone) + caps @ (below * short + above * beyond)
    if problem.G is not None:
        objective += cp.sum(cp.multiply(problem.G, M))
    steeper = cp.Problem(cp.Minimize(objective), rows + in_cone)
    steeper.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    assert steeper.value >= optimum * (1 - 1e-6)
    u = rows[0].dual_value - rows[1].dual_value
    bound = problem.dual_bound(np.asarray(u), hint=problem.cone.project(np.asarray(M.value)))
    assert valid(bound, optimum)
    if (below, above) == (1.0, 0.0):
        assert bound == pytest.approx(optimum, rel=1e-4)


@pytest.mark.parametrize("name", sorted(SMOOTH))
@pytest.mark.parametrize("factor", [1.0, 1.2, 5.0])
def test_optimal_multipliers_of_a_larger_logistic_loss_are_clipped_to_the_truth(name, factor):
    problem, optimum = instance_with_optimum(name)
    M, in_cone = problem.cone.variable("M")
    risk = problem.risk if isinstance(problem.risk, SeparableRisk) else problem.risk.listed()
    t = cp.Variable(risk.parts)
    rows = risk.comparisons.expression(M) >= t
    objective = problem.regularizer.expression(M, problem.cone) + factor * risk.loss.C * cp.sum(cp.logistic(-t))
    if problem.G is not None:
        objective += cp.sum(cp.multiply(problem.G, M))
    larger = cp.Problem(cp.Minimize(objective), [rows, *in_cone])
    larger.solve(solver=cp.CLARABEL)
    assert larger.value >= optimum * (1 - 1e-6)
    bound = problem.dual_bound(np.asarray(rows.dual_value), hint=problem.cone.project(np.asarray(M.value)))
    assert valid(bound, optimum)
    if factor == 1.0:
        assert bound == pytest.approx(optimum, rel=1e-4)


@pytest.mark.parametrize("name", sorted(HARD))
def test_cuts_say_nothing_about_hard_margins(name):
    problem, optimum = instance_with_optimum(name)
    rng = np.random.default_rng(0)
    for _ in range(5):
        with np.errstate(all="ignore"):
            assert valid(problem.dual_bound(random_cut_dual(rng, problem)), optimum)


@pytest.mark.parametrize("name", sorted(set(METHODS) - set(HARD)))
def test_every_solver_lands_between_the_bounds(name):
    problem, optimum = instance_with_optimum(name)
    solvers = ["cutting-planes", "clarabel", "scs", "interior-point", "semismooth-newton", "factored-lagrangian"]
    solvers += ["low-rank-newton", "proximal-gradient"]
    able = [solver for solver in solvers if SOLVERS[solver]().unsupported(problem) is None]
    assert len(able) >= 3
    for solver in able:
        solution = cm.solve(problem, solver=solver)
        assert solution.status == "optimal"
        assert solution.lower_bound <= optimum + 1e-7 * abs(optimum)
        assert solution.upper_bound >= optimum - 1e-7 * abs(optimum)


@pytest.mark.parametrize("name", sorted(LATER_PAPERS))
def test_a_later_paper_fits_without_a_method(name):
    problem, optimum = instance_with_optimum(name)
    solution = cm.solve(problem)
    assert solution.status == "optimal"
    assert solution.lower_bound <= optimum * (1 + 1e-7)
    assert solution.upper_bound >= optimum * (1 - 1e-7)
