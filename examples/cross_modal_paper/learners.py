"""The methods of Table 2: what each learns from a part, for every setting that cross-validation chooses from."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

import convexmetric as cm

from . import printed
from .media import Part

__all__ = ["DISTANCES", "METHODS", "Learned", "distances_of", "learn", "settings_of"]

#: Columns of the maps; 0 for as many as there are.
COLUMNS = (1, 2, 3, 5, 8, 0)
#: How images in the common space are compared.
DISTANCES = ("euclidean", "cosine", "inner")
#: Ridge of CCA, as a share of the mean variance, and strength of the logistic regressions of SCM.
RIDGES, STRENGTHS = (1e-6, 1e-2, 1.0), (1e-2, 1.0)
#: alpha and beta, on Wikipedia among them the paper's. The risk is a sum, so alpha goes with the number of its terms.
#: Images that query keywords take a minute a fit: for them there is one choice, the best of 3,000 and 30,000.
ALPHAS = {
    "image-text": (86.0, 1000.0, 3000.0),
    "text-image": (86.0, 1000.0, 3000.0),
    "image-keyword": (3000.0,),
    "keyword-image": (3000.0, 10000.0),
}
BETAS = {
    "image-text": (0.001, 1.0, 7.1),
    "text-image": (0.001, 1.0, 7.1),
    "image-keyword": (0.001,),
    "keyword-image": (0.001, 10.0),
}
#: Columns of the descents with the paper's weights; it does not say how many it had.
C = 10

METHODS = ("Random", "CCA", "CFA", "SCM", "MSmethod", "BPRHML", "BPRHML, paper's weights", "BPRHML, as printed")

Distances = Callable[[Part], np.ndarray]


@dataclass(frozen=True)
class Learned:
    """A way to rank.

    Attributes
    ----------
    setting : dict
        What was chosen.
    distances : callable
        From a part to ``(queries, items)``.
    gap, seconds, rank : float, float, int, or None
        Of the exact solve, where there is one.
    """

    setting: dict[str, Any]
    distances: Distances
    gap: float | None = None
    seconds: float | None = None
    rank: int | None = None


def settings_of(method: str, task: str) -> list[dict[str, Any]]:
    """All settings that cross-validation chooses from."""
    ways = [{"c": c, "distance": distance} for c, distance in itertools.product(COLUMNS, DISTANCES)]
    if method in ("CFA", "MSmethod"):
        return ways
    if method == "CCA":
        return [{"ridge": ridge, **way} for ridge in RIDGES for way in ways]
    if method == "SCM":
        every = itertools.product(RIDGES, STRENGTHS, DISTANCES)
        return [{"ridge": ridge, "strength": strength, "distance": distance} for ridge, strength, distance in every]
    if method == "BPRHML":
        weights = itertools.product(ALPHAS[task], BETAS[task])
        return [{"alpha": alpha, "beta": beta, **way} for alpha, beta in weights for way in ways]
    return [{}]


def learn(
    method: str, task: str, part: Part, settings: list[dict[str, Any]], tol: float, limit: float, seed: int = 0
) -> Iterator[Learned]:
    """What a method learns, for every setting; exact solves to a certified gap, or so many seconds."""
    if method == "Random":
        yield Learned({}, lambda of: np.random.default_rng(seed).random((len(of.X), len(of.Y))))
    elif method == "BPRHML":
        yield from _exact(part, settings, tol, limit)
    elif method.startswith("BPRHML"):
        yield _with_the_papers_weights(method, task, part, tol, limit, seed)
    else:
        for setting in settings:
            yield Learned(setting, BASELINES[method](part, **setting))


def _exact(part: Part, settings: list[dict[str, Any]], tol: float, limit: float) -> Iterator[Learned]:
    problem = _problem(part, 1.0, 0.0, 0)
    for (alpha, beta), group in itertools.groupby(settings, key=lambda s: (s["alpha"], s["beta"])):
        solution = _solved(problem.with_weights(alpha, beta), tol, limit)
        for setting in group:
            found = problem.factors(solution, setting["c"] or None)
            yield Learned(
                setting, distances_of(found, setting["distance"]), solution.gap, solution.seconds, solution.rank
            )


def _with_the_papers_weights(method: str, task: str, part: Part, tol: float, limit: float, seed: int) -> Learned:
    """The exact optimum, or the descent of Algorithm 1 with the sign of equation 8 as printed."""
    problem = _problem(part, *printed.WEIGHTS[task], seed)
    if method.endswith("as printed"):
        descent = cm.approximate.FactoredDescent(C, as_printed=True)
        solution = _solved(problem, tol, limit, descent)
    else:
        solution = _solved(problem, tol, limit)
    found = problem.factors(solution)
    return Learned({}, distances_of(found, "euclidean"), solution.gap, solution.seconds, solution.rank)


def _problem(part: Part, alpha: float, beta: float, seed: int) -> cm.CrossModalProblem:
    return cm.CrossModalProblem(
        part.X, part.Y, part.labels_x, part.labels_y, alpha, beta, n_clusters=5, n_neighbors=50, random_state=seed
    )


def _solved(problem: cm.CrossModalProblem, tol: float, limit: float, solver: Any = None) -> cm.Solution:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cm.errors.GapWarning)
        return cm.solve(problem, tol, solver=solver, max_seconds=limit)


def _columns(c: int, part: Part) -> int:
    most = min(part.X.shape[1], part.Y.shape[1])
    return min(c or most, most)


def _compared(s: np.ndarray, t: np.ndarray, distance: str) -> np.ndarray:
    """Squared distances of rows, or minus their cosine, or minus their inner product."""
    if distance == "euclidean":
        return np.asarray((s**2).sum(axis=1)[:, None] - 2.0 * s @ t.T + (t**2).sum(axis=1))
    if distance == "cosine":
        s, t = (m / np.maximum(np.linalg.norm(m, axis=1, keepdims=True), 1e-300) for m in (s, t))
    return np.asarray(-s @ t.T)


def _mapped(U: np.ndarray, V: np.ndarray, distance: str) -> Distances:
    return lambda of: _compared(of.X @ U, of.Y @ V, distance)


def distances_of(found: cm.papers.Factors, distance: str) -> Distances:
    """How learned maps rank."""
    return _mapped(found.U, found.V, distance)


def _coupled(part: Part) -> tuple[np.ndarray, np.ndarray]:
    return part.X[part.couples[:, 0]], part.Y[part.couples[:, 1]]


def _factors(part: Part, c: int, distance: str) -> Distances:
    """Cross-modal factor analysis."""
    return _mapped(*cm.papers.factor_analysis(*_coupled(part), _columns(c, part)), distance)


def _canonical(part: Part, ridge: float, c: int, distance: str) -> Distances:
    """Canonical correlation analysis."""
    return _mapped(*_correlated(*_coupled(part), ridge, _columns(c, part)), distance)


def _separated(part: Part, c: int, distance: str) -> Distances:
    """Orthonormal maps under which relevant objects are near and irrelevant ones far, in the mean over pairs.

    As in factor analysis the norms of images are left out, so that the maps are singular vectors: of the mean of
    ``x y^T`` over relevant pairs minus that over irrelevant ones.
    """
    relevant = part.relevant().astype(np.float64)
    weights = relevant / relevant.sum() - (1.0 - relevant) / (relevant.size - relevant.sum())
    U, _, Vt = np.linalg.svd(part.X.T @ weights @ part.Y, full_matrices=False)
    columns = _columns(c, part)
    return _mapped(U[:, :columns], Vt[:columns].T, distance)


def _correlated(x: np.ndarray, y: np.ndarray, ridge: float, c: int) -> tuple[np.ndarray, np.ndarray]:
    """Canonical correlation analysis of coupled rows with mean zero."""
    roots = []
    for points in (x, y):
        covariance = points.T @ points / len(points)
        values, vectors = np.linalg.eigh(covariance)
        values = values + ridge * values.mean()
        roots.append((vectors / np.sqrt(values)) @ vectors.T)
    U, correlations, Vt = np.linalg.svd(roots[0] @ (x.T @ y / len(x)) @ roots[1])
    # Every direction counts as much as it is correlated, so that noise does not fill the distance.
    weights = np.sqrt(correlations[:c])
    return roots[0] @ U[:, :c] * weights, roots[1] @ Vt[:c].T * weights


def _semantic(part: Part, ridge: float, strength: float, distance: str) -> Distances:
    """Semantic correlation matching: probabilities of the categories by logistic regression on canonical variates."""
    U, V = _correlated(*_coupled(part), ridge, _columns(0, part))
    models = [
        LogisticRegression(C=strength, max_iter=1000).fit(points @ to, np.asarray(labels.argmax(axis=1)).ravel())
        for points, to, labels in ((part.X, U, part.labels_x), (part.Y, V, part.labels_y))
    ]

    def distances(of: Part) -> np.ndarray:
        p, q = (
            model.predict_proba(points @ to) for model, points, to in zip(models, (of.X, of.Y), (U, V), strict=True)
        )
        # Less their mean, which every object has in common: the cosine is then a correlation.
        return _compared(p - p.mean(axis=1, keepdims=True), q - q.mean(axis=1, keepdims=True), distance)

    return distances


BASELINES: dict[str, Callable[..., Distances]] = {
    "CCA": _canonical,
    "CFA": _factors,
    "SCM": _semantic,
    "MSmethod": _separated,
}
