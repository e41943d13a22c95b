"""What holds for every problem of the catalogue; a new paper or block is entered there.

The truth comes from CVXPY and CLARABEL, which share no code with the package's solvers.
"""

import warnings
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise

import cvxpy as cp
import numpy as np
import pytest
from catalogue import REPRESENTATIVES, cases, conic, instance, names, solved
from extensions import WRONG
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import random_cut_dual, random_metric, some

import convexmetric as cm
from convexmetric.errors import (
    ContractError,
    DualError,
    GapWarning,
    InputError,
    SolverNotInstalledError,
    UnsupportedProblemError,
)
from convexmetric.risks import (
    CutDual,
    JoinedDual,
    LabelledPairRisk,
    PairwiseRisk,
    SeparableRisk,
    SmoothedPairs,
    SumRisk,
)
from convexmetric.solvers import SOLVERS


def valid(bound, optimum):
    return bound <= optimum + 1e-6 * abs(optimum) + 1e-9


@pytest.mark.parametrize("name", cases())
def test_every_block_keeps_its_contract(name):
    cm.check_problem(instance(name))


@pytest.mark.parametrize("name", list(WRONG))
@pytest.mark.parametrize("random_state", some(range(3), 1))
def test_wrong_blocks_are_named_with_the_rule_they_break(name, random_state):
    make, message = WRONG[name]
    with pytest.raises(ContractError) as caught:
        cm.check_problem(make(), random_state)
    assert str(caught.value).startswith(message)


def test_only_problems_are_checked():
    with pytest.raises(
        InputError, match="problem must be a MetricProblem, an Instance or the name of one, got ndarray"
    ):
        cm.check_problem(np.eye(3))


@pytest.mark.parametrize("name", cases())
def test_the_default_certifies_the_optimum_of_the_statement(name):
    problem, optimum, _, _ = conic(name)
    found = solved(name)
    assert found.status == "optimal"
    assert found.gap <= 1e-7
    assert valid(found.lower_bound, optimum)
    assert found.upper_bound >= optimum - 1e-6 * abs(optimum) - 1e-9
    M = found.certificate.M
    assert problem.cone.violation(M) <= 1e-12 * abs(M).max()
    assert problem.value(M) == pytest.approx(found.upper_bound, rel=1e-9)
    again = cm.certify(problem, M, found.certificate.dual, slopes=found.certificate.slopes)
    assert again.upper_bound == pytest.approx(found.upper_bound, rel=1e-12)
    assert again.lower_bound == pytest.approx(found.lower_bound, rel=1e-9)


@pytest.mark.integration
@pytest.mark.parametrize("name", names())
def test_a_second_conic_solver_finds_the_same_optimum(name):
    stated = instance(name).statement().problem
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        stated.solve(solver="SCS", eps_abs=1e-9, eps_rel=1e-9, max_iters=200_000)
    # SCS ends at its limit where there are exponential cones.
    assert stated.value == pytest.approx(conic(name).optimum, rel=1e-4)


# Beside a barrier a conic solver is not exact enough for metrics that are given.
@pytest.mark.parametrize("name", cases(without="barrier"))
def test_the_objective_is_the_statements_value_at_any_metric(name):
    problem, rng = instance(name), np.random.default_rng(3)
    statement = problem.statement()
    at = cp.Parameter(problem.cone.shape, symmetric=problem.cone.size < np.prod(problem.cone.shape))
    pinned = cp.Problem(statement.problem.objective, [*statement.problem.constraints, statement.metric == at])
    for _ in range(3):
        M = problem.risk.repair(random_metric(rng, problem.cone, float(10.0 ** rng.uniform(-2, 0))))
        expected = problem.value(M)
        if not np.isfinite(expected):
            continue
        at.value = M
        with warnings.catch_warnings(action="ignore", category=UserWarning):
            pinned.solve(solver="CLARABEL")
        assert pinned.value == pytest.approx(expected, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("name", names("hard"))
def test_hard_margins_are_cvxpys_constraints(name):
    problem, optimum, M, _ = conic(name)
    statement, w = problem.statement(), problem.risk.repair(M)
    assert problem.value(w) == pytest.approx(optimum, rel=1e-4)
    statement.metric.value = w
    assert statement.problem.objective.value == pytest.approx(problem.value(w), rel=1e-10)
    assert all(np.max(constraint.violation()) <= 1e-8 for constraint in statement.problem.constraints)
    assert problem.value(0.5 * w) == np.inf
    statement.metric.value = 0.5 * w
    assert max(np.max(constraint.violation()) for constraint in statement.problem.constraints) > 0.1


CORRUPTIONS = {
    "as it is": lambda u, rng: u,
    "negative": lambda u, rng: -u - 0.1,
    "some negative": lambda u, rng: u - u.max() / 2,
    "above the box": lambda u, rng: u + 1e3,
    "halved": lambda u, rng: 0.5 * u,
    "a little less": lambda u, rng: 0.999 * u,
    "a little more": lambda u, rng: 1.001 * u,
    "twice": lambda u, rng: 2.0 * u,
    "a million times": lambda u, rng: 1e6 * u,
    "1e200 times": lambda u, rng: 1e200 * u,
    "the largest numbers": lambda u, rng: np.full_like(u, 1.7e308),
    "the smallest numbers": lambda u, rng: np.full_like(u, 5e-324),
    "reversed": lambda u, rng: u[::-1].copy(),
    "permuted": lambda u, rng: rng.permutation(u),
    "zero": lambda u, rng: np.zeros_like(u),
    "rounded": lambda u, rng: u + 1e-9 * rng.standard_normal(u.shape),
    "noise": lambda u, rng: u + 0.3 * rng.standard_normal(u.shape),
    "much noise": lambda u, rng: u + 1e3 * rng.standard_normal(u.shape),
    "of nobody": lambda u, rng: rng.exponential(size=u.shape),
    "whole numbers": lambda u, rng: np.ones(u.shape, dtype=np.int64),
    "truth values": lambda u, rng: u > 0,
    "half precision": lambda u, rng: np.clip(u, 0, 6e4).astype(np.float16),
}


def summands(problem, dual):
    """The risk of every dual point: a summand; or of worst parts one of them, after the weights of all."""
    risk = problem.risk
    if isinstance(risk, SumRisk):
        return risk.risks
    return [risk.risk, *(risk.risk.subset(np.array([q])) for q in range(risk.risk.parts))]


def corrupted(dual, problem, rng):
    """Corruptions of a dual point that have the right shape, by name."""
    if isinstance(dual, JoinedDual):
        risks = zip(summands(problem, dual), dual.duals, strict=True)
        for k, (risk, part) in enumerate(risks):
            for word, change in corrupted(part, cm.MetricProblem(risk, problem.regularizer, G=problem.G), rng):
                yield f"{k}, {word}", JoinedDual((*dual.duals[:k], change, *dual.duals[k + 1 :]))
    elif isinstance(dual, CutDual):
        for word, change in CORRUPTIONS.items():
            yield f"weights {word}", replace(dual, weights=change(dual.weights, rng))
        for word in ("negative", "halved", "a million times", "zero", "permuted", "noise"):
            yield f"witnesses {word}", replace(dual, witnesses=CORRUPTIONS[word](dual.witnesses, rng))
        parts, groups = problem.risk.parts, dual.weights.shape[1]
        yield "groups permuted", replace(dual, groups=rng.permutation(dual.groups))
        yield "other groups", replace(dual, groups=rng.integers(0, groups, parts))
        yield "one group", replace(dual, groups=np.zeros(parts, dtype=int))
        yield "no cut", CutDual(dual.witnesses[:0], dual.weights[:0], dual.groups)
        twice = [np.repeat(array, 2, axis=0) for array in (dual.witnesses, dual.weights)]
        yield "every cut twice", CutDual(*twice, dual.groups)
    elif isinstance(dual, SmoothedPairs):
        for word, change in CORRUPTIONS.items():
            if word not in ("some negative", "of nobody", "truth values"):
                yield f"metric {word}", replace(dual, M=change(dual.M, rng))
        for factor in (1e-12, 0.5, 2.0, 1e6, 1e300):
            yield f"width {factor}", replace(dual, width=factor * dual.width)
        for _ in range(5):
            yield "another metric", replace(dual, M=random_metric(rng, problem.cone))
        pairs = (problem.risk if isinstance(problem.risk, PairwiseRisk) else problem.risk.pairs).pairs
        places = np.column_stack([np.arange(pairs.size), np.zeros((pairs.size, 2), dtype=int)])
        for slopes in (np.zeros(pairs.size), np.full(pairs.size, 1e6), -np.ones(pairs.size), rng.random(pairs.size)):
            yield "slopes", SmoothedPairs(dual.M, dual.width, places, slopes)
            yield "slopes elsewhere", SmoothedPairs(random_metric(rng, problem.cone), 0.0, places, slopes)
    else:
        for word, change in CORRUPTIONS.items():
            yield word, change(dual, rng)


@pytest.mark.parametrize("name", cases())
def test_corrupted_dual_points_never_prove_too_much(name):
    problem, optimum, M, multipliers = conic(name)
    own = solved(name).certificate.dual
    rng = np.random.default_rng(4)
    # Where the default's own dual point is of another kind it is tried on representatives, since it takes longer.
    other = isinstance(own, type(multipliers)) or name not in REPRESENTATIVES
    for dual in (multipliers,) if other else (multipliers, own):
        for word, point in corrupted(dual, problem, rng):
            poor = problem.risk.repair(random_metric(rng, problem.cone, float(10.0 ** rng.uniform(-2, 1))))
            with np.errstate(all="ignore"):
                certificate = cm.certify(problem, M if rng.random() < 0.3 else poor, point)
            assert valid(certificate.lower_bound, optimum), word
            upper = certificate.upper_bound
            assert upper >= optimum - 1e-6 * abs(optimum) - 1e-9, word
            if optimum >= 0.0:
                # The gap is never smaller than the metric's true distance from the optimum.
                distance = (upper - optimum) / max(upper, 1e-300) if np.isfinite(upper) else 1.0
                assert certificate.gap >= distance - 1e-6, word
    assert cm.certify(problem, M, multipliers).gap <= 1e-4


def begun(array, number):
    """The array with another number at its beginning."""
    changed = array.copy()
    changed.flat[0] = number
    return changed


def poisoned(dual, poison):
    """The dual point with one number that is none."""
    if isinstance(dual, JoinedDual):
        for k, part in enumerate(dual.duals):
            for point in poisoned(part, poison):
                yield JoinedDual((*dual.duals[:k], point, *dual.duals[k + 1 :]))
    elif isinstance(dual, CutDual):
        yield replace(dual, weights=begun(dual.weights, poison))
        yield replace(dual, witnesses=begun(dual.witnesses, poison))
    elif isinstance(dual, SmoothedPairs):
        yield replace(dual, M=begun(dual.M, poison))
        yield replace(dual, width=poison)
        yield SmoothedPairs(dual.M, 1.0, np.zeros((1, 3), dtype=int), np.array([poison]))
    else:
        yield begun(dual, poison)
        yield begun(dual[::-1], poison)[::-1]


@pytest.mark.parametrize("name", cases())
def test_one_entry_that_is_no_number_proves_nothing(name):
    problem, _, M, multipliers = conic(name)
    cuts = random_cut_dual(np.random.default_rng(0), problem)
    for dual in (multipliers, solved(name).certificate.dual, cuts):
        for poison in (np.nan, np.inf, -np.inf):
            for point in poisoned(dual, poison):
                assert problem.dual_bound(point) == -np.inf
                certificate = cm.certify(problem, M, point)
                assert certificate.lower_bound == -np.inf
                assert certificate.gap == np.inf


def misshapen(dual, problem):
    """Dual points that do not fit the problem, or are none."""
    if isinstance(dual, JoinedDual):
        yield JoinedDual(dual.duals[:-1])
        yield JoinedDual((*dual.duals, dual.duals[-1]))
        for k, part in enumerate(dual.duals):
            own = summands(problem, dual)[k]
            for point in misshapen(part, cm.MetricProblem(own, problem.regularizer, G=problem.G)):
                yield JoinedDual((*dual.duals[:k], point, *dual.duals[k + 1 :]))
    elif isinstance(dual, CutDual):
        count, n_groups = dual.weights.shape
        yield replace(dual, witnesses=dual.witnesses[..., :-1])
        yield replace(dual, witnesses=dual.witnesses[0])
        yield replace(dual, witnesses=dual.witnesses[1:])
        yield replace(dual, witnesses=np.full((count, *problem.cone.shape), "a"))
        yield replace(dual, weights=dual.weights[0])
        yield replace(dual, weights=np.ones((count + 1, n_groups)))
        yield replace(dual, weights=[[1.0], [1.0, 2.0]])
        yield replace(dual, groups=dual.groups[:-1])
        yield replace(dual, groups=dual.groups + n_groups)
        yield replace(dual, groups=dual.groups - n_groups)
        yield replace(dual, groups=dual.groups.astype(float))
        yield replace(dual, groups=np.zeros((problem.risk.parts, 1), dtype=int))
    elif isinstance(dual, SmoothedPairs):
        yield SmoothedPairs(dual.M[:-1], 1.0)
        yield SmoothedPairs(dual.M[0], 1.0)
        yield SmoothedPairs(np.eye(9), 1.0)
        for places in ([[0, 0]], [[-1, 0, 0]], [[0, 10**6, 0]], [[0, 0, 10**6]], [[10**6, 0, 0]], [[0, 0, 0]] * 2):
            yield SmoothedPairs(dual.M, 1.0, np.array(places), np.ones(len(places)))
        yield SmoothedPairs(dual.M, 1.0, np.zeros((1, 3)), np.ones(1))
        yield SmoothedPairs(dual.M, 1.0, np.array([[1, 0, 0], [0, 0, 0]]), np.ones(2))
        yield SmoothedPairs(dual.M, 1.0, np.zeros((1, 3), dtype=int), np.ones(2))
    else:
        T = dual.size
        yield from (dual[:-1], np.append(dual, 0.0), dual[:, None], np.float64(1.0), np.zeros(0))
        yield from (np.array(["u"] * T), np.zeros(T, dtype=complex), list(dual), None, "dual")


@pytest.mark.parametrize("name", cases())
def test_dual_points_of_the_wrong_shape_or_type_are_refused(name):
    problem = instance(name)
    cuts = random_cut_dual(np.random.default_rng(0), problem)
    for dual in (conic(name).dual, solved(name).certificate.dual, cuts):
        for point in misshapen(dual, problem):
            with pytest.raises(DualError):
                problem.dual_bound(point)
            with pytest.raises(DualError):
                cm.certify(problem, problem.cone.identity(), point)


@given(st.sampled_from(REPRESENTATIVES), st.integers(0, 10**6))
@settings(max_examples=100)
def test_weak_duality_on_random_pairs(name, seed):
    rng = np.random.default_rng(seed)
    problem, optimum, _, dual = conic(name, seed % 3)
    M = random_metric(rng, problem.cone, float(10.0 ** rng.uniform(-3, 2)))
    M = problem.risk.repair(M)
    objective = problem.value(M)
    hint = random_metric(rng, problem.cone) if rng.random() < 0.5 else None
    duals = [random_cut_dual(rng, problem, float(10.0 ** rng.uniform(-3, 2)))]
    if isinstance(dual, np.ndarray):
        duals.append(10.0 ** rng.uniform(-4, 3) * rng.standard_normal(dual.size))
        duals.append(10.0 ** rng.uniform(-4, 1) * rng.exponential(size=dual.size))
    for point in duals:
        with np.errstate(all="ignore"):
            bound = problem.dual_bound(point, hint=hint)
        assert bound <= objective + 1e-9 * max(1.0, abs(objective))
        assert valid(bound, optimum)


@pytest.mark.parametrize("name", cases(without="hard"))
def test_cuts_with_weights_of_both_signs_are_no_extrapolation(name):
    # k + 1 times one plane minus k times another would be a plane above the risk.
    problem, optimum, _, _ = conic(name)
    rng = np.random.default_rng(0)
    best = solved(name).certificate.M
    groups = np.zeros(problem.risk.parts, dtype=np.int64)
    for _ in range(4):
        near = best + 0.3 * random_metric(rng, problem.cone) * rng.random()
        for far in (problem.cone.zeros(), random_metric(rng, problem.cone), 1.2 * best):
            for k in (0.5, 3.0, 100.0):
                for witnesses in ([near, far], [far, near]):
                    dual = CutDual(np.array(witnesses), np.array([[k + 1.0], [-k]]), groups)
                    assert valid(problem.dual_bound(dual, hint=best), optimum)


@pytest.mark.parametrize("name", names("hard"))
def test_cuts_say_nothing_about_hard_margins(name):
    problem, optimum, _, _ = conic(name)
    rng = np.random.default_rng(0)
    for _ in range(5):
        with np.errstate(all="ignore"):
            assert valid(problem.dual_bound(random_cut_dual(rng, problem)), optimum)


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
        if compared.cone.free:
            near, far = (-(compared.X[items] @ M.T @ compared.Q[row]) for items in (relevant, irrelevant))
        else:
            near = compared.cone.quadratic_form_expressions(compared.Q[row] - compared.X[relevant], M)
            far = compared.cone.quadratic_form_expressions(compared.Q[row] - compared.X[irrelevant], M)
        parts += [2 * (far - near[i]) for i in range(len(relevant))]
        pairs = len(relevant) * len(irrelevant)
        caps += [weights[q] * problem.risk.C / len(compared) / pairs] * pairs
    return cp.hstack(parts), np.array(caps), 1.0


def penalised(problem, M, cost):
    """The regularizer, the linear term and a cost of margins."""
    objective = problem.regularizer.expression(M, problem.cone) + cost
    return objective if problem.G is None else objective + cp.sum(cp.multiply(problem.G, M))


OTHER_LOSSES = ("hard", "similarity", "logistic", "choices", "measure", "combination", "information-theoretic")


@pytest.mark.parametrize("name", cases(without=(*OTHER_LOSSES, "user terms", "user blocks")))
def test_optimal_multipliers_of_a_steeper_loss_are_clipped_to_the_truth(name):
    # A loss that is steeper, or grows beyond the margin as well, has an optimum above ours; its multipliers leave the
    # box and would prove that larger value.
    problem, optimum, _, _ = conic(name)
    M, in_cone = problem.cone.variable("M")
    s, caps, margin = margins(problem, M)
    for below, above in ((1.0, 0.0), (1.0, 0.5), (5.0, 0.0), (5.0, 1.0)):
        short, beyond = cp.Variable(caps.size, nonneg=True), cp.Variable(caps.size, nonneg=True)
        rows = [s >= margin - short, s <= margin + beyond]
        cost = caps @ (below * short + above * beyond)
        steeper = cp.Problem(cp.Minimize(penalised(problem, M, cost)), rows + in_cone)
        steeper.solve(solver=cp.CLARABEL, tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
        assert steeper.value >= optimum * (1 - 1e-6)
        u = rows[0].dual_value - rows[1].dual_value
        bound = problem.dual_bound(np.asarray(u), hint=problem.cone.project(np.asarray(M.value)))
        assert valid(bound, optimum)
        if (below, above) == (1.0, 0.0):
            assert bound == pytest.approx(optimum, rel=1e-4)


@pytest.mark.parametrize("name", names("logistic"))
def test_optimal_multipliers_of_a_larger_logistic_loss_are_clipped_to_the_truth(name):
    problem, optimum, _, _ = conic(name)
    M, in_cone = problem.cone.variable("M")
    risk = problem.risk if isinstance(problem.risk, SeparableRisk) else problem.risk.listed()
    for factor in (1.0, 1.2, 5.0):
        t = cp.Variable(risk.parts)
        rows = risk.comparisons.expression(M) >= t
        cost = factor * risk.loss.C * cp.sum(cp.logistic(-t))
        larger = cp.Problem(cp.Minimize(penalised(problem, M, cost)), [rows, *in_cone])
        larger.solve(solver=cp.CLARABEL)
        assert larger.value >= optimum * (1 - 1e-6)
        bound = problem.dual_bound(np.asarray(rows.dual_value), hint=problem.cone.project(np.asarray(M.value)))
        assert valid(bound, optimum)
        if factor == 1.0:
            assert bound == pytest.approx(optimum, rel=1e-4)


#: Iterations of exact solvers, and of others, which only have to stay outside the bounds.
ITERATIONS, STEPS = 250, 60
#: Solvers that may end short of the tolerance, and say so.
MAY_STALL = ("admm", "cutting-planes-plain", "dual-ascent", "smoothed-newton")


def every_solver():
    """Solvers that are installed, by name; of the cutting planes also those with one bundle for all parts."""
    found = {"one bundle": cm.solvers.CuttingPlanes(groups=1)}
    for name, make in SOLVERS.items():
        with suppress(SolverNotInstalledError):
            found[name] = make()
    return found


#: Problems of which every solver takes one, and a few others: what ``make test`` solves with all of them.
TAKEN = (
    "ranking from labels",
    "relative, identity, soft",
    "cross-modal, representatives",
    "pairs, listed, frobenius, features, margin (0.5, 1.5)",
    "triplets, list",
    *REPRESENTATIVES[4::6],
)


def test_every_solver_takes_a_problem():
    problems = [instance(name) for name in TAKEN]
    idle = {word for word, solver in every_solver().items() if all(map(solver.unsupported, problems))}
    # Samples want more queries than problems of the catalogue have.
    assert idle == {"sampled-cutting-planes"}


@pytest.mark.parametrize(
    "name", [name if name in TAKEN else pytest.param(name, marks=pytest.mark.integration) for name in names()]
)
def test_every_solver_ends_between_the_bounds(name):
    problem, best, ended = instance(name), solved(name), 0
    for word, solver in every_solver().items():
        exact = "approximate" not in type(solver).__module__
        try:
            with warnings.catch_warnings(action="ignore", category=GapWarning):
                found = cm.solve(problem, tol=1e-5, solver=solver, max_iter=ITERATIONS if exact else STEPS)
        except UnsupportedProblemError:
            # The other way round a prior may be split off first.
            assert solver.unsupported(problem) is not None, word
            continue
        assert found.lower_bound <= best.upper_bound + 1e-12 * abs(best.upper_bound), word
        assert found.upper_bound >= best.lower_bound - 1e-12 * abs(best.lower_bound), word
        for before, after in pairwise(found.history):
            assert after.upper_bound <= before.upper_bound, word
            assert after.lower_bound >= before.lower_bound, word
            assert after.iteration == before.iteration + 1, word
        if exact:
            ended += 1
            assert found.gap <= 1e-4 or (word in MAY_STALL and found.status != "optimal"), (word, found.gap)
    assert ended >= 2
