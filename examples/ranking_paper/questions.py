"""Why some rows of the tables differ from the paper's: an experiment for each explanation.

``choices``         other splits, other target neighbours, other measures: errors of every setting of a method, of which
                    the best is taken once for all splits or split by split
``collapsed``       MLCC without a regularizer, by projected gradient descent that is stopped early
``loose``           Algorithm 1 with a master that is left before its optimum, on synthetic matchings
``components``      NCA on IsoLet from other starts, and stopped earlier
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from experiments.pool import Task
from experiments.results import Results
from scipy.optimize import minimize
from sklearn.model_selection import train_test_split

import convexmetric as cm

from . import matchings
from .classification import SMALL, dimensions, errors, isolet_split, learn, small_split

#: Settings that are tried: target neighbours and mu of LMNN, k and C of the measures of k places, C of MLR-MAP, weights
#: of the squared norm of MLCC.
TARGETS = [(targets, mu) for targets in (1, 2, 3, 5, 8, 10) for mu in (0.1, 0.5, 0.9)]
PLACES = [(k, C) for k in (10, 31, 100) for C in (10.0, 100.0, 1000.0)]
WEIGHTS = [1.0, 10.0, 100.0, 1000.0]
NORMS = [1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0]
#: Iterates of MLCC, steps of NCA, and subgradient steps of a loose master, at which they are stopped.
ITERATES = [1, 2, 5, 10, 20, 50]
STEPS = [5, 10, 20, 50]
LOOSE = [3, 10, 30, 100]

QUESTIONS = ("balance", "targets", "places", "batches", "components")
#: Passes after which Algorithm 1 with a loose master is given up.
MOST_PASSES = 400
#: A step of descent must gain this share of what the slope promises.
SUFFICIENT = 1e-4
SHORTEST_STEP = 1e-15


def split_of(data: str, split: int, stratified: bool) -> tuple[np.ndarray, ...]:
    """Training and test points and labels of a split of a small set, z-scored by the training part."""
    if stratified:
        return small_split(data, split)[:4]
    known = cm.datasets.load(data)
    train, test = train_test_split(np.arange(len(known.y)), train_size=0.8, random_state=split)
    mean, deviation = known.X[train].mean(axis=0), known.X[train].std(axis=0)
    Z = (known.X - mean) / np.where(deviation > 0.0, deviation, 1.0)
    return Z[train], known.y[train], Z[test], known.y[test]


def choices(
    data: str, split: int, method: str, settings: list[Any], tol: float, stratified: bool = True
) -> dict[str, Any]:
    """Test errors of every setting, by the number of neighbours.

    Settings of ``"LMNN"`` are pairs of target neighbours and mu, those of ``"precision"`` and ``"knn"`` pairs of k and
    C, those of any other method what they are in Table 2.
    """
    X, y, T, t = split_of(data, split, stratified)
    if method == "LMNN":
        problems = [cm.LargeMarginProblem(X, y, n_neighbors=targets, push=mu) for targets, mu in settings]
        solutions = [cm.solve(problem, tol=tol) for problem in problems]
    elif method in ("precision", "knn"):
        solutions = [
            cm.solve(cm.RankingProblem.from_labels(X, y, measure=method, k=k, C=C), tol=tol) for k, C in settings
        ]
    else:
        learned = learn(method, X, y, settings, [], tol, None)
        return {"errors": [errors(M, X, y, T, t) for M in learned.metrics], "gaps": learned.gaps}
    return {
        "errors": [errors(s.M, X, y, T, t) for s in solutions],
        "gaps": [s.gap for s in solutions],
        "dimensions": [dimensions(s.M) for s in solutions],
    }


class Collapse:
    """The divergences of MLCC and their gradient, all pairs of points at once: a computation of its own."""

    def __init__(self, X: np.ndarray, y: np.ndarray) -> None:
        same = (y[:, None] == y) & ~np.eye(len(y), dtype=bool)
        self.X, self.wanted = X, same / same.sum(axis=1, keepdims=True)
        self.constant = -float(np.log(same.sum(axis=1)).sum())

    def __call__(self, M: np.ndarray) -> tuple[float, np.ndarray]:
        """The sum of the divergences at M, and its gradient."""
        XM = self.X @ M
        square = np.einsum("ij,ij->i", XM, self.X)
        distance = square[:, None] + square - 2.0 * XM @ self.X.T
        pull = float((self.wanted * distance).sum())
        np.fill_diagonal(distance, np.inf)
        least = distance.min(axis=1, keepdims=True)
        weight = np.exp(least - distance)
        total = weight.sum(axis=1, keepdims=True)
        value = self.constant + pull + float((np.log(total) - least).sum())
        excess = self.wanted - weight / total
        excess = excess + excess.T
        return value, self.X.T @ (excess.sum(axis=1)[:, None] * self.X - excess @ self.X)


def collapsed(data: str, split: int, stops: list[int], tol: float) -> dict[str, Any]:
    """MLCC without a regularizer: the errors of the iterates at ``stops``, from the Euclidean metric.

    Beside them the objective there, and the certified optimum with a tiny weight on the norm.
    """
    X, y, T, t, *_ = small_split(data, split)
    objective, found = Collapse(X, y), []
    M = np.eye(X.shape[1])
    value, slope = objective(M)
    step = 1.0 / float(np.linalg.norm(slope))
    for passes in range(1, max(stops) + 1):
        step *= 2.0
        while True:
            nearer = positive_part(M - step * slope)
            ahead = objective(nearer)
            if ahead[0] <= value - SUFFICIENT * np.sum(slope * (M - nearer)) or step < SHORTEST_STEP:
                break
            step /= 2.0
        M, (value, slope) = nearer, ahead
        if passes in stops:
            found.append((errors(M, X, y, T, t), value))
    solution = cm.solve(cm.papers.CollapsingClassesProblem(X, y, reg=1e-5 * len(y)), tol=tol)
    return {
        "errors": [of for of, _ in found] + [errors(solution.M, X, y, T, t)],
        "values": [at for _, at in found],
        "optimum": solution.lower_bound,
    }


def positive_part(S: np.ndarray) -> np.ndarray:
    """The nearest positive semidefinite matrix."""
    values, vectors = np.linalg.eigh(S)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)


def loose(method: str, share: float, C: float, steps: int, tol: float) -> dict[str, Any]:
    """Algorithm 1 whose master takes so many subgradient steps, each projected, and is then left.

    It ends as printed: when the mean violation of a new batch exceeds the slack of the old ones, at the metric that the
    master was left with, by at most epsilon. Step t has length ``1 / sqrt(t)``. Returns the number of batches, how far
    the objective is above the certified optimum, and scores on the test interval.
    """
    train, test = matchings.intervals(share)
    problem = matchings.problem_of(method, train, C)
    together, start = np.zeros(problem.risk.parts, dtype=int), time.process_time()
    W = problem.cone.zeros()
    normals: list[np.ndarray] = []
    offsets: list[float] = []
    while len(offsets) < MOST_PASSES:
        batch = problem.risk.separate(W, together)
        if offsets and float(batch.values[0]) <= _slack(normals, offsets, W)[0] + C * matchings.EPSILON:
            break
        normals.append(problem.cone.from_coordinates(batch.normals[0]))
        offsets.append(float(batch.offsets[0]))
        for t in range(1, steps + 1):
            slack, normal = _slack(normals, offsets, W)
            slope = np.eye(len(W)) - (normal if slack > 0.0 else 0.0)
            W = positive_part(W - slope / (np.linalg.norm(slope) * np.sqrt(t)))
    cpu = time.process_time() - start
    optimum = cm.solve(problem, tol=tol)
    return {
        "batches": len(offsets),
        "over": problem.objective(W) / optimum.lower_bound - 1.0,
        "gap": optimum.gap,
        "scores": matchings.scores(method, W, test),
        "best": matchings.scores(method, optimum.M, test),
        "cpu": cpu,
    }


def _slack(normals: Sequence[np.ndarray], offsets: Sequence[float], W: np.ndarray) -> tuple[float, np.ndarray]:
    """The slack of the batches at W, C times, and the normal of the one that sets it."""
    margins = [offset - float(np.sum(normal * W)) for normal, offset in zip(normals, offsets, strict=True)]
    worst = int(np.argmax(margins))
    return max(0.0, margins[worst]), normals[worst]


class Components:
    """The objective of NCA, to be minimised, and its gradient in the factor L, rows of which are directions.

    Expected errors of a random neighbour: ``sum_i (1 - sum_{j of the class of i} p_ij)``, divided by n.
    """

    def __init__(self, X: np.ndarray, y: np.ndarray) -> None:
        self.X, self.same = X, (y[:, None] == y) & ~np.eye(len(y), dtype=bool)

    def __call__(self, entries: np.ndarray) -> tuple[float, np.ndarray]:
        """The objective at the factor with these entries, and its gradient."""
        L = entries.reshape(-1, self.X.shape[1])
        Z = self.X @ L.T
        square = np.einsum("ij,ij->i", Z, Z)
        distance = square[:, None] + square - 2.0 * Z @ Z.T
        np.fill_diagonal(distance, np.inf)
        weight = np.exp(distance.min(axis=1, keepdims=True) - distance)
        p = weight / weight.sum(axis=1, keepdims=True)
        right = (p * self.same).sum(axis=1)
        # Twice the sum over pairs of p_ij (p_i - [same]) z_ij x_ij'.
        pull = p * self.same - p * right[:, None]
        pull = pull + pull.T
        slope = 2.0 * (Z.T @ (pull.sum(axis=1)[:, None] * self.X - pull @ self.X))
        return 1.0 - float(right.mean()), slope.ravel() / len(self.X)


def components(split: int, start: str, stops: list[int], points: int) -> dict[str, Any]:
    """NCA on so many training points of IsoLet, from the Euclidean metric or a small random one.

    Errors after so many steps of L-BFGS, of neighbours among the same points.
    """
    X, y, T, t, V, v = isolet_split(split)
    X, y = X[:points], y[:points]
    d, objective = X.shape[1], Components(X, y)
    rng = np.random.default_rng(split)
    L = {"euclidean": np.eye(d), "random": 0.01 * rng.standard_normal((d, d))}[start].ravel()
    found: list[tuple[list[float], list[float], float]] = []

    def watch(entries: np.ndarray) -> None:
        watch.steps += 1  # type: ignore[attr-defined]
        if watch.steps in stops:  # type: ignore[attr-defined]
            factor = entries.reshape(-1, d)
            M = factor.T @ factor
            found.append((errors(M, X, y, T, t), errors(M, X, y, V, v), objective(entries)[0]))

    watch.steps = 0  # type: ignore[attr-defined]
    minimize(objective, L, jac=True, method="L-BFGS-B", callback=watch, options={"maxiter": max(stops)})
    return {
        "errors": [of for of, _, _ in found],
        "chosen": [of for _, of, _ in found],
        "values": [value for *_, value in found],
        "steps": watch.steps,  # type: ignore[attr-defined]
    }


def tasks(
    output: Path,
    questions: Sequence[str],
    splits: int,
    tol: float = 1e-2,
    share: float = 0.05,
    points: int = 1500,
) -> Iterator[Task]:
    """The experiments of some of :data:`QUESTIONS`, split by split."""
    results = {question: Results(output / f"{question}.jsonl") for question in questions}
    for split in range(splits):
        for question in questions:
            for function, settings in _settings(question, split, tol, share, points):
                yield results[question], settings, function, settings


def _settings(question: str, split: int, tol: float, share: float, points: int) -> Iterator[tuple[Any, dict[str, Any]]]:
    small = {"data": "balance-scale", "split": split, "tol": tol}
    if question == "balance":
        for stratified in (True, False):
            for method, settings in (("Euclidean", []), ("MLCC", NORMS), ("MLR-MAP", WEIGHTS)):
                yield choices, small | {"method": method, "settings": settings, "stratified": stratified}
        yield collapsed, small | {"stops": ITERATES}
    if question == "targets":
        for stratified in (True, False):
            yield choices, small | {"method": "LMNN", "settings": TARGETS, "stratified": stratified}
    if question == "places":
        for data in SMALL:
            for method in ("precision", "knn"):
                yield choices, small | {"data": data, "method": method, "settings": PLACES}
    if question == "batches" and split == 0:
        for method in ("MLR-AUC", "MLR-MAP", "MLR-MRR"):
            for steps in LOOSE:
                yield loose, {"method": method, "share": share, "C": 100.0, "steps": steps, "tol": tol}
    if question == "components":
        for start in ("euclidean", "random"):
            yield components, {"split": split, "start": start, "stops": STEPS, "points": points}
