"""Ranking: the ways to say who is relevant, and the ways to write the statement out."""

import cvxpy as cp
import numpy as np
import pytest
from catalogue import instance, names
from samples import random_lists

import convexmetric as cm
from convexmetric.comparisons import Relevance
from convexmetric.errors import InputError


def test_relevance_may_be_given_as_such():
    X, y = np.random.default_rng(0).standard_normal((6, 2)), [0, 0, 0, 1, 1, 1]
    relevance = Relevance.from_labels(y)
    M = np.array([[2.0, 0.3], [0.3, 1.0]])
    expected = cm.RankingProblem.from_labels(X, y).objective(M)
    assert cm.RankingProblem(X, relevance).objective(M) == expected
    # With the corpus as queries nobody is irrelevant to itself.
    listed = [relevance.of(q)[0] for q in range(6)]
    assert cm.RankingProblem(X, listed).objective(M) == expected
    with pytest.raises(InputError, match="irrelevant is already part of a Relevance"):
        cm.RankingProblem(X, relevance, irrelevant=[[0]] * 6)


@pytest.mark.parametrize("seed", range(3))
def test_every_ranking_written_out_has_the_optimum_of_the_pairs(seed):
    rng = np.random.default_rng(seed)
    X, queries = rng.standard_normal((10, 3)), rng.standard_normal((3, 3))
    problem = cm.RankingProblem(X, *random_lists(rng, 3, 10), queries=queries, C=30.0)
    solution = cm.solve(problem, tol=1e-7)
    sizes = set()
    for statement in (problem.to_cvxpy(), problem.statement().problem):
        statement.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
        assert statement.value == pytest.approx(solution.upper_bound, rel=1e-6)
        sizes.add(sum(constraint.size for constraint in statement.constraints))
    assert len(sizes) == 2


@pytest.mark.parametrize("name", names("method", "ranking"))
def test_the_statement_gives_multipliers_that_prove_the_optimum(name):
    problem = instance(name)
    statement = problem.statement()
    statement.problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    assert problem.dual_bound(statement.dual()) == pytest.approx(statement.problem.value, rel=1e-6)


def test_statements_too_large_to_write_out_are_refused():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 5)
    ten = cm.RankingProblem.from_labels(rng.standard_normal((10, 2)), y)
    with pytest.raises(InputError, match="too many to write out one by one"):
        ten.to_cvxpy()
    assert ten.statement().problem.is_dcp()
    large = cm.RankingProblem.from_labels(rng.standard_normal((160, 2)), np.repeat([0, 1], 80))
    with pytest.raises(InputError, match="cannot be written out at this size"):
        large.statement()
    with pytest.raises(InputError, match="cannot be written out"):
        cm.solve(large, solver="clarabel")
