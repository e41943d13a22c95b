"""Random triplets, lists, metrics and dual points, and a reference that shares no code with the package's solvers."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

import convexmetric as cm
from convexmetric.cones import BlockDiagonal, Cone, NonnegativeDiagonal
from convexmetric.problem import MetricProblem, Statement
from convexmetric.risks import (
    LabelledPairRisk,
    LogisticRankingRisk,
    PairwiseRisk,
    RankingRisk,
    SeparableRisk,
)


def some(values: Iterable[Any], count: int = 3) -> list[Any]:
    """Parameters of a test, tuples being several, of which ``make test`` runs ``count`` that are spread evenly."""
    every = [value if isinstance(value, tuple) else (value,) for value in values]
    quick = {*np.linspace(0, len(every) - 1, min(count, len(every))).round().astype(int).tolist()}
    return [pytest.param(*given, marks=() if k in quick else pytest.mark.integration) for k, given in enumerate(every)]


def random_triplets(rng: np.random.Generator, n: int, count: int) -> np.ndarray:
    """Rows of three different indices."""
    return np.array([rng.choice(n, 3, replace=False) for _ in range(count)])


def consistent(features: Any, triplets: np.ndarray, w: np.ndarray, margin: float = 0.0) -> np.ndarray:
    """The triplets turned so that the diagonal metric ``w`` satisfies them, by more than ``margin``."""
    X = features.toarray() if sp.issparse(features) else np.asarray(features)
    i, j, k = triplets.T
    s = ((X[i] - X[k]) ** 2 - (X[i] - X[j]) ** 2) @ w
    turned = np.where((s < 0)[:, None], triplets[:, [0, 2, 1]], triplets)
    return turned[np.abs(s) > margin]


def random_metric(rng: np.random.Generator, cone: Cone, scale: float = 1.0) -> np.ndarray:
    """An element of the cone, of full rank or of low rank."""
    if isinstance(cone, NonnegativeDiagonal):
        return scale * rng.random(cone.d) * (rng.random(cone.d) < 0.8)
    if cone.free:
        return scale * random_element(rng, cone)
    factor = rng.standard_normal((cone.d, int(rng.integers(1, cone.d + 1))))
    return cone.outer_sum(factor.T, np.full(factor.shape[1], scale / cone.d))


def two_blocks(d: int) -> BlockDiagonal:
    """The cone of two blocks, the first smaller by one if d is odd; of one if d is 1."""
    return BlockDiagonal([d // 2, d - d // 2] if d > 1 else [1])


def random_element(rng: np.random.Generator, cone: Cone) -> np.ndarray:
    """An element of the space, in the cone or not."""
    return cone.from_coordinates(rng.standard_normal(cone.size))


def random_lists(rng: np.random.Generator, n_queries: int, n: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Relevant and irrelevant rows per query, of uneven lengths, leaving some rows out."""
    relevant, irrelevant = [], []
    for _ in range(n_queries):
        order = rng.permutation(n)
        p, m = rng.integers(1, 4), rng.integers(1, 5)
        relevant.append(order[:p])
        irrelevant.append(order[p : p + m])
    return relevant, irrelevant


def as_matrix(lists: list[np.ndarray], n: int) -> np.ndarray:
    """The same as a 0/1 matrix."""
    matrix = np.zeros((len(lists), n), dtype=int)
    for row, columns in zip(matrix, lists, strict=True):
        row[columns] = 1
    return matrix


def stated(problem: MetricProblem) -> Statement:
    """The compiled statement, solved by CVXPY and CLARABEL; its value is accurate to about 1e-8 relative."""
    statement = problem.statement()
    # It may end at 1e-9 where 1e-11 was asked for, which is enough here.
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        statement.problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11, max_iter=500)
    assert statement.problem.status in (cp.OPTIMAL, cp.OPTIMAL_INACCURATE)
    return statement


def clarabel(problem: MetricProblem) -> float:
    """The optimal value of the compiled statement."""
    return float(stated(problem).problem.value)


def multipliers(problem: MetricProblem) -> int:
    """Length of the problem's multiplier vector."""
    risk = problem.risk
    if isinstance(risk, SeparableRisk):
        return risk.parts
    if isinstance(risk, (PairwiseRisk, LogisticRankingRisk)):
        return int(risk.pairs.sum())
    if isinstance(risk, LabelledPairRisk):
        return risk.count
    assert isinstance(risk, RankingRisk)
    relevance = risk.rankings.relevance
    return int((relevance.n_relevant * relevance.n_irrelevant).sum())


def random_cut_dual(rng: np.random.Generator, problem: MetricProblem, scale: float = 1.0) -> cm.risks.CutDual:
    """Weighted cuts at random metrics, the weights neither clipped nor normalised."""
    parts, count = problem.risk.parts, int(rng.integers(1, 5))
    groups = rng.integers(0, min(3, parts), size=parts)
    witnesses = np.array([random_metric(rng, problem.cone, scale) for _ in range(count)])
    return cm.risks.CutDual(witnesses, rng.standard_normal((count, int(groups.max()) + 1)), groups)


def as_given(problem, M):
    """The problem's variable as a user would give the metric."""
    return problem.full_matrix(M) if problem.in_other_coordinates else M


def topical_collection(
    rng: np.random.Generator, *, topics: int, documents: int, queries: int, carrying: int, noise: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Vectors of documents and queries, of length one, and which are relevant: those of the same topic.

    Some columns carry the topic, others are noise.
    """
    of_document, of_query = np.arange(documents) % topics, rng.permutation(np.arange(queries) % topics)
    centres = rng.normal(size=(topics, carrying))

    def unit(of: np.ndarray) -> np.ndarray:
        X = np.hstack(
            [centres[of] + 0.4 * rng.normal(size=(len(of), carrying)), 1.5 * rng.normal(size=(len(of), noise))]
        )
        return X / np.linalg.norm(X, axis=1, keepdims=True)

    return unit(of_document), unit(of_query), of_query[:, None] == of_document
