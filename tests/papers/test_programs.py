"""The papers' programs in plain CVXPY, the compiled statement and our own value are one function."""

import re
import warnings

import cvxpy as cp
import numpy as np
import pytest
from catalogue import cases, instance
from samples import random_lists

import convexmetric as cm
from convexmetric.errors import InputError
from convexmetric.risks import Ranking

#: What stands in a formula for the name of a variable or a parameter.
LETTERS = {
    "xi": (r"\xi", r"["),
    "Delta": (r"\Delta",),
    "dpsi": (r"\delta\psi",),
    "lambda": (r"\lambda",),
    "mu": (r"\mu",),
    "rho": (r"\rho",),
    "gamma": (r"\gamma",),
    "tau": (r"\tau",),
    "alpha": (r"\alpha",),
    "beta": (r"\beta",),
    "Q": (r"Q_",),
    "D": (r"D^", "d_"),
    "I": ("I_",),
}
TIGHT = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}


def solved(program):
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        return program.solve(solver=cp.CLARABEL, **TIGHT)


def held(program, metric):
    """A function of M: the least value of a program whose metric is held at M, compiled for all M together."""
    at = cp.Parameter(metric.shape)
    pinned = cp.Problem(program.objective, [*program.constraints[:-1], metric == at])
    free = len(program.variables()) > 1 or bool(program.constraints[:-1])

    def value_at(M):
        if free:
            at.value = M
            return solved(pinned)
        metric.value = 0.5 * (M + M.T) if M.ndim == 2 else M
        return program.objective.value

    return value_at


def program_of(problem):
    """The program, or where a query ranks too many items that of the rankings that carry the optimum."""
    try:
        return problem.to_cvxpy(), True
    except InputError:
        assert isinstance(problem, cm.RankingProblem)
        solution = cm.solve(problem, solver="cutting-planes", tol=1e-8)
        return problem.to_cvxpy(rankings=solution.working_set), False


@pytest.mark.parametrize("name", cases("method"))
def test_the_program_the_compiled_statement_and_the_objective_agree(name):
    problem = instance(name)
    program, whole = program_of(problem)
    assert program.is_dcp()
    assert program.is_dpp()
    solution = cm.solve(problem, tol=1e-8)
    assert solved(program) == pytest.approx(solution.upper_bound, rel=2e-6)
    compiled = problem.statement()
    assert compiled.problem.is_dcp()
    assert solved(compiled.problem) == pytest.approx(solution.upper_bound, rel=2e-6)
    found = solution.certificate.M
    np.testing.assert_allclose(
        problem.as_stated(found), solution.w if problem.cone.diagonal else metric_of(problem, solution), atol=1e-12
    )
    rng = np.random.default_rng(1)
    of_program, of_compiled = held(program, program.metric), held(compiled.problem, compiled.metric)
    for _ in range(3 if whole else 0):
        shape = (problem.cone.d, problem.cone.d + 2)
        factor = rng.standard_normal(shape)
        M = rng.random(problem.cone.d) if problem.cone.diagonal else factor @ factor.T / problem.cone.d
        M = problem.risk.repair(M)
        expected = problem.value(M)
        if np.isfinite(expected):
            assert of_program(problem.as_stated(M)) == pytest.approx(expected, rel=1e-6)
            assert of_compiled(M) == pytest.approx(expected, rel=1e-6)


def metric_of(problem, solution):
    """``Solution.M``, or what acts on the projected points of a projection."""
    return solution.certificate.M if getattr(problem, "projection", None) is not None else solution.M


@pytest.mark.parametrize("name", cases("method"))
def test_program_and_formula_use_the_same_letters(name):
    problem = instance(name)
    program, _ = program_of(problem)
    latex = program.latex()
    assert latex == problem.latex() == problem._repr_latex_() == program._repr_latex_()
    named = {leaf.name() for leaf in [*program.variables(), *program.parameters(), *program.constants()]}
    letters = {re.match(r"[A-Za-z]+", text).group() for text in named if re.match(r"[A-Za-z]", text)}
    assert letters >= {program.metric.name()}
    for letter in letters:
        assert any(written in latex for written in LETTERS.get(letter, (letter,))), letter


@pytest.mark.parametrize("name", cases("method"))
def test_what_is_printed_is_short_and_names_every_comparison(name):
    program, _ = program_of(instance(name))
    text = str(program)
    assert "None" not in text
    assert "Promote" not in text
    assert max(map(len, text.splitlines())) <= 110
    labels = [constraint.label for constraint in program.constraints[:-1]]
    assert all(labels)
    assert len(set(labels)) == len(labels) or "triplet" in labels[0]


def test_a_parameter_is_changed_by_its_name():
    problem = instance("ranking from lists")
    program = problem.to_cvxpy()
    program.param_dict["C"].value = 3.0
    assert solved(program) == pytest.approx(cm.solve(problem.with_C(3.0), tol=1e-8).upper_bound, rel=1e-6)


def test_users_terms_are_in_the_program():
    problem = instance("large margin").subject_to(lambda M: [cp.trace(M) <= 0.5], lambda M: cp.sum_squares(M))
    program = problem.to_cvxpy()
    assert solved(program) == pytest.approx(cm.solve(problem, tol=1e-7).upper_bound, rel=1e-5)
    assert program.metric.value.trace() <= 0.5 + 1e-6


def test_more_features_than_points_are_stated_on_the_features():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5, 7))
    problem = cm.PairMarginProblem(X, [[0, 1], [1, 2], [3, 4], [0, 4]], [1, -1, 1, -1], reg=0.3)
    assert problem.cone.d < 7
    program = problem.to_cvxpy()
    solution = cm.solve(problem, tol=1e-8)
    assert program.metric.shape == solution.M.shape == (7, 7)
    assert solved(program) == pytest.approx(solution.upper_bound, rel=1e-6)
    np.testing.assert_allclose(program.metric.value, solution.M, atol=1e-4)


@pytest.fixture(scope="module", params=["map", "auc", "ndcg", "ndcg-log2", "mrr", "precision", "knn"])
def ranked(request):
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1, 2], 6)
    X = rng.standard_normal((18, 3)) + 0.6 * y[:, None]
    problem = cm.RankingProblem.from_labels(X, y, measure=request.param, C=20.0)
    return problem, cm.solve(problem, solver="cutting-planes", tol=1e-7)


def test_the_working_set_is_a_master_with_the_optimum(ranked):
    problem, solution = ranked
    rankings = solution.working_set
    assert len({ranking.key for ranking in rankings}) == len(rankings) > 0
    program = problem.to_cvxpy(rankings=rankings)
    value = solved(program)
    slack = 1e-7 * value
    assert solution.lower_bound - slack <= value <= solution.upper_bound + slack
    assert problem.value(program.metric.value) == pytest.approx(solution.upper_bound, rel=1e-2)


def test_the_worst_ranking_is_what_the_risk_is_made_of(ranked):
    problem, solution = ranked
    for M in (solution.M, np.zeros((3, 3)), np.eye(3)):
        batch = problem.worst_rankings(M)
        violations = [
            ranking.loss - float(np.vdot(problem.ranking_risk.normal([ranking], np.ones(1)), M)) for ranking in batch
        ]
        assert problem.C * np.mean(violations) == pytest.approx(problem.risk.value(M), rel=1e-9, abs=1e-9)
        assert problem.worst_ranking(4, M) == batch[4]
        for ranking in batch:
            again = problem.ranking(ranking.query, ranking.order)
            assert again.relevant == ranking.relevant
            assert again.loss == pytest.approx(ranking.loss, abs=1e-12)


def test_algorithm_1_by_hand(ranked):
    problem, solution = ranked
    W, batches, upper = np.zeros((3, 3)), [], np.inf
    for _ in range(200):
        upper = min(upper, problem.value(W))
        batches.append(problem.worst_rankings(W))
        master = problem.to_cvxpy(rankings=batches)
        lower = solved(master)
        W = problem.cone.project(master.metric.value)
        if upper - lower <= 1e-2 * upper:
            break
    assert lower <= solution.upper_bound * (1 + 1e-6)
    assert upper >= solution.lower_bound * (1 - 1e-6)
    assert upper - lower <= 1e-2 * upper


def test_listed_rankings_of_a_query_are_those_with_an_inverted_pair():
    rng = np.random.default_rng(0)
    X, queries = rng.standard_normal((9, 3)), rng.standard_normal((4, 3))
    problem = cm.RankingProblem(X, *random_lists(rng, 4, 9), queries=queries, measure="map")
    for q in range(4):
        listed = problem.ranking_risk.every_ranking(q)
        assert len({ranking.key for ranking in listed}) == len(listed)
        assert all(ranking.inverted for ranking in listed)
        for ranking in listed:
            assert problem.ranking(q, ranking.order) == ranking
    ranking = problem.ranking(0, listed_order := problem.ranking_risk.every_ranking(0)[0].order)
    assert isinstance(ranking, Ranking)
    assert all(str(row) in str(ranking) for row in listed_order)


def test_what_is_no_ranking_is_refused():
    problem = instance("ranking from lists")
    order = problem.ranking_risk.every_ranking(0)[0].order
    with pytest.raises(InputError, match="order must have the"):
        problem.ranking(0, order[:-1])
    with pytest.raises(InputError, match="query"):
        problem.ranking(99, order)
    with pytest.raises(InputError, match="a batch has one ranking for each of the 4 queries"):
        problem.to_cvxpy(rankings=[[problem.ranking(0, order)]])
    labels = instance("ranking from labels")
    with pytest.raises(InputError, match=r"rankings=solution\.working_set"):
        labels.to_cvxpy()
    pairs = cm.solve(labels, solver="smoothed-newton")
    with pytest.raises(InputError, match="solve with solver='cutting-planes'"):
        _ = pairs.working_set
    with pytest.raises(AttributeError, match="has no rankings"):
        _ = cm.solve(instance("triplets, list")).working_set


def test_too_many_comparisons_are_refused():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((80, 2)), np.arange(80) % 2
    for problem in (
        cm.TripletProblem.from_labels(X, y, n_same=3, n_other=10),
        cm.LargeMarginProblem(X, y),
        cm.PairMarginProblem.from_labels(X, y),
    ):
        with pytest.raises(InputError, match=r"too many to write out one by one .*statement\(\)"):
            problem.to_cvxpy()
        assert problem.statement().problem.is_dcp()


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("short", ["cut", "printed"])
def test_rankings_in_a_span_and_of_short_lists(kernel, short):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((5, 7))
    relevant, irrelevant = [[1], [3, 4], [0]], [[2, 3], [0, 2], [1, 4]]
    problem = cm.RankingProblem(
        X, relevant, irrelevant=irrelevant, queries=X[:3], measure="precision", k=2, C=9.0, short=short, kernel=kernel
    )
    solution = cm.solve(problem, tol=1e-8)
    program = problem.to_cvxpy()
    assert program.metric.shape == solution.M.shape
    assert solved(program) == pytest.approx(solution.upper_bound, rel=1e-6)
    master = problem.to_cvxpy(rankings=solution.working_set)
    assert solved(master) == pytest.approx(solution.upper_bound, rel=1e-6)
