"""The methods of the tables: what each learns from nodes for every weight of its penalty."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh
from sklearn.linear_model import LogisticRegression

import convexmetric as cm

from .nodes import Nodes

__all__ = ["GRAPH_METHODS", "LABEL_METHODS", "Learned", "Precision", "folds_of", "is_random", "learn", "settings_of"]

#: Variants with normal entries in place of the uniform ones that the paper prints.
GAUSSIAN = {f"{letter} gaussian": replace(cm.papers.VARIANTS[letter], projection="gaussian") for letter in "FG"}
VARIANTS = {**cm.papers.VARIANTS, **GAUSSIAN}
GRAPH_METHODS = ("Euclidean", *"ABCDEFGHIJL", *GAUSSIAN)
LABEL_METHODS = ("Euclidean", *"AEFGHIJKL", *GAUSSIAN)
#: lambda as a share of the one from which on all triplets violate their margin.
RATIOS = (1e-1, 1e-2, 1e-3)
#: The same with uniform entries, which make that one large: all distances share a part that tells nothing. With I1
#: alone it is held down, and the others apply.
UNIFORM_RATIOS = (1e-4, 1e-5, 1e-6)
#: lambda of variant E as a share of the one from which on the zero metric is the optimum.
TRACE_RATIOS = (0.1, 0.03)
#: Folds of cross-validation at most for variant E, whose fits take longest.
TRACE_FOLDS = 2
#: C of the logistic regression, and the pairs it learns from at most.
LOGISTIC_C, LOGISTIC_PAIRS = (1e-2, 1e-1, 1.0), 30_000


@dataclass(frozen=True)
class Precision:
    """How far a fit is taken.

    Attributes
    ----------
    tol : float
        Certified relative gap.
    seconds : float
        Limit of a fit.
    widths, steps : int
        Of the descent of variant E.
    """

    tol: float
    seconds: float
    widths: int
    steps: int


@dataclass(frozen=True)
class Learned:
    """A way to tell how far nodes are from each other.

    Attributes
    ----------
    distances : callable
        From points to all distances between them, ``(n, n)``, up to a monotone map.
    gap, objective, seconds : float or None
        Certified gap and value of the fit, and the time it took, where there are any.
    rank : int or None
        Of the metric.
    """

    distances: Callable[[Any], np.ndarray]
    gap: float | None = None
    objective: float | None = None
    seconds: float | None = None
    rank: int | None = None


def is_random(method: str) -> bool:
    """Whether two trials differ."""
    return method in VARIANTS and (VARIANTS[method].low_rank or VARIANTS[method].projection not in (None, "pca"))


def settings_of(method: str) -> Sequence[float]:
    """What cross-validation chooses from."""
    if method == "Euclidean":
        return (0.0,)
    if method == "K":
        return LOGISTIC_C
    variant = VARIANTS[method]
    if variant.low_rank:
        return TRACE_RATIOS
    held_down = variant.intra and not variant.inter
    return UNIFORM_RATIOS if variant.projection == "uniform" and not held_down else RATIOS


def folds_of(method: str, folds: int) -> int:
    """Folds of cross-validation."""
    return min(folds, TRACE_FOLDS) if method in VARIANTS and VARIANTS[method].low_rank else folds


def learn(
    method: str, nodes: Nodes, settings: Sequence[float], r: int, seed: int, precision: Precision
) -> Iterator[Learned]:
    """What a method learns, for every setting."""
    if method == "Euclidean":
        yield Learned(_euclidean)
    elif method == "K":
        yield from (_logistic(nodes, C, seed) for C in settings)
    elif VARIANTS[method].low_rank:
        yield from _factors(nodes, settings, r, seed, precision)
    else:
        problem = nodes.problem(VARIANTS[method], r, seed)
        # Where no multiple of the identity gains anything the metric is zero for every lambda.
        largest = problem.reg_max or 1.0
        for ratio in settings:
            yield _learned(cm.solve(problem.with_reg(ratio * largest), precision.tol, max_seconds=precision.seconds))


def _factors(nodes: Nodes, settings: Sequence[float], r: int, seed: int, precision: Precision) -> Iterator[Learned]:
    """Variant E from a random start."""
    problem = nodes.problem(VARIANTS["E"], r, seed)
    zero = problem.cone.zeros()
    at_zero = problem.risk.smoothed(zero, 1e-3 * problem.margin).point.S  # type: ignore[attr-defined]
    largest = 2.0 * float(eigsh(at_zero, k=1, which="LA", return_eigenvectors=False)[0])
    for ratio in settings:
        solver = cm.approximate.LowRankDescent(r, random_state=seed, widths=precision.widths, steps=precision.steps)
        yield _learned(
            cm.solve(problem.with_reg(ratio * largest), precision.tol, solver=solver, max_seconds=precision.seconds)
        )


def _learned(solution: cm.Solution) -> Learned:
    problem, M = solution.problem, solution.certificate.M
    assert isinstance(problem, cm.TripletProblem)

    def distances(X: Any) -> np.ndarray:
        V = X if problem.projection is None else problem.projection.transform(X)
        norms = problem.cone.quadratic_forms(V, M)
        return np.asarray(norms[:, None] + norms[None, :] - 2.0 * problem.cone.gram(V, M, V))

    return Learned(distances, solution.gap, solution.upper_bound, solution.seconds, solution.rank)


def _euclidean(X: Any) -> np.ndarray:
    norms = np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.asarray(norms[:, None] + norms[None, :] - 2.0 * (X @ X.T).toarray())


def _logistic(nodes: Nodes, C: float, seed: int) -> Learned:
    """Maximum entropy: is a pair linked, given the words that both have; balanced weights, at most some pairs."""
    i, j = np.triu_indices(len(nodes), 1)
    rng = np.random.default_rng(seed)
    if len(i) > LOGISTIC_PAIRS:
        drawn = rng.choice(len(i), size=LOGISTIC_PAIRS, replace=False)
        i, j = i[drawn], j[drawn]
    X = sp.csr_array(nodes.X)
    model = LogisticRegression(C=C, class_weight="balanced", max_iter=300)
    model.fit(X[i].multiply(X[j]).tocsr(), nodes.linked()[i, j])

    def distances(points: Any) -> np.ndarray:
        # The features of a pair are products: its score is a form with the coefficients on the diagonal.
        return -(points.multiply(model.coef_[0][None, :]) @ points.T).toarray()

    return Learned(distances)
