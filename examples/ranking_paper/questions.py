"""Why some rows of the tables differ from the paper's: an experiment for each explanation.

``balance``         MLCC, MLR-MAP and Euclidean distance, the best setting chosen once for all splits or split by split,
                    splits stratified or not; MLCC without a regularizer, by projected gradient descent that is stopped
                    early
``targets``         LMNN with other target neighbours and other weights, in the same way, on balance and wdbc
``neighbours``      Euclidean distance by the number of neighbours, on the sets of Table 2
``accuracy``        MLR solved exactly and by Algorithm 1 up to its accuracy threshold, on balance
``places``          precision at k beside a majority among k neighbours, on the sets of two classes
``batches``         Algorithm 1 with a master that is left before its optimum, on a share of the synthetic matchings;
                    needs no data folder
``components``      NCA on points of IsoLet from two starts, stopped early
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from experiments.pool import Task
from experiments.results import Results
from experiments.sheet import Row, Sheet, row_of, standard_error
from experiments.summary import Known
from scipy.optimize import minimize
from sklearn.model_selection import train_test_split

import convexmetric as cm

from . import matchings, printed
from .classification import NEIGHBOURS, VARIANTS, dimensions, errors, isolet_split, learn, small_split

#: What is tried: target neighbours and mu of LMNN, k of the measures of k places, C of MLR (the long list is that of
#: Table 2), weights of the squared norm of MLCC.
TARGETS = [(targets, mu) for targets in (1, 2, 3, 5, 8, 10) for mu in (0.1, 0.5, 0.9)]
PLACES = [31, 100]
WEIGHTS = [1.0, 10.0, 100.0, 1000.0]
LONG_WEIGHTS = [0.1, *WEIGHTS, 10_000.0]
NORMS = [1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0]
#: Iterates of MLCC, steps of NCA, and subgradient steps of a loose master, at which they are stopped.
ITERATES = [1, 2, 5, 10, 20, 50]
STEPS = [5, 10, 20, 50]
LOOSE = [3, 10, 30, 100]

QUESTIONS = ("balance", "targets", "neighbours", "accuracy", "places", "batches", "components")
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
    data: str,
    split: int,
    method: str,
    settings: list[Any],
    tol: float,
    stratified: bool = True,
    stopped: bool = False,
) -> dict[str, Any]:
    """Test errors of every setting, by the number of neighbours.

    Settings of ``"LMNN"`` are pairs of target neighbours and mu, those of ``"precision"`` and ``"knn"`` pairs of k and
    C, those of any other method what they are in Table 2. ``stopped`` says that Algorithm 1 solves, up to its accuracy
    threshold.
    """
    X, y, T, t = split_of(data, split, stratified)
    measure, of_places = VARIANTS.get(method, (None, False))
    places = PLACES[-1:] if of_places else []
    if stopped:
        problem = cm.RankingProblem.from_labels(X, y, measure=measure, k=places[0] if places else None)
        algorithm = cm.solvers.CuttingPlanes.plain(matchings.EPSILON)
        solutions = [cm.solve(problem.with_C(C), tol=tol, solver=algorithm) for C in settings]
    elif method == "LMNN":
        problems = [cm.LargeMarginProblem(X, y, n_neighbors=targets, push=mu) for targets, mu in settings]
        solutions = [cm.solve(problem, tol=tol) for problem in problems]
    elif method in ("precision", "knn"):
        solutions = [
            cm.solve(cm.RankingProblem.from_labels(X, y, measure=method, k=k, C=C), tol=tol) for k, C in settings
        ]
    else:
        learned = learn(method, X, y, settings, places, tol, None)
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


def loose(method: str, share: float, C: float, steps: int | None, tol: float) -> dict[str, Any]:
    """Algorithm 1 whose master takes so many subgradient steps, each projected, and is then left.

    It ends as printed: when the mean violation of a new batch exceeds the slack of the old ones, at the metric that the
    master was left with, by at most epsilon. Step t has length ``1 / sqrt(t)``. With None the problem is solved to the
    gap ``tol`` instead. Returns the objective, a lower bound if there is one, scores on the test interval, and the
    number of batches.
    """
    train, test = matchings.intervals(share)
    problem, start = matchings.problem_of(method, train, C), time.process_time()
    if steps is None:
        solution = cm.solve(problem, tol=tol)
        W, batches, lower = solution.M, solution.iterations, solution.lower_bound
    else:
        W, batches = _loosely(problem, steps, C * matchings.EPSILON)
        lower = None
    return {
        "batches": batches,
        "objective": problem.objective(W),
        "lower": lower,
        "scores": matchings.scores(method, W, test),
        "cpu": time.process_time() - start,
    }


def _loosely(problem: cm.RankingProblem, steps: int, enough: float) -> tuple[np.ndarray, int]:
    """The metric at which Algorithm 1 with a loose master ends, and its number of batches."""
    together, W = np.zeros(problem.risk.parts, dtype=int), problem.cone.zeros()
    normals: list[np.ndarray] = []
    offsets: list[float] = []
    while len(offsets) < MOST_PASSES:
        batch = problem.risk.separate(W, together)
        if offsets and float(batch.values[0]) <= _slack(normals, offsets, W)[0] + enough:
            break
        normals.append(problem.cone.from_coordinates(batch.normals[0]))
        offsets.append(float(batch.offsets[0]))
        for t in range(1, steps + 1):
            slack, normal = _slack(normals, offsets, W)
            slope = np.eye(len(W)) - (normal if slack > 0.0 else 0.0)
            W = positive_part(W - slope / (np.linalg.norm(slope) * np.sqrt(t)))
    return W, len(offsets)


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
    X, y, T, t, *_ = isolet_split(split)
    X, y = X[:points], y[:points]
    d, objective = X.shape[1], Components(X, y)
    rng = np.random.default_rng(split)
    L = {"euclidean": np.eye(d), "random": 0.01 * rng.standard_normal((d, d))}[start].ravel()
    found: list[tuple[list[float], float]] = []
    steps = 0

    def keep(entries: np.ndarray) -> None:
        L = entries.reshape(-1, d)
        found.append((errors(L.T @ L, X, y, T, t), objective(entries)[0]))

    def watch(entries: np.ndarray) -> None:
        nonlocal steps
        steps += 1
        if steps in stops:
            keep(entries)

    options = {"maxiter": max(stops)}
    end = minimize(objective, L, jac=True, method="L-BFGS-B", callback=watch, options=options).x
    if steps not in stops:
        keep(end)
    return {"errors": [of for of, _ in found], "values": [value for _, value in found], "steps": steps}


def tasks(
    output: Path,
    splits: int = 5,
    tol: float = 1e-2,
    share: float = 0.05,
    points: int = 1500,
    C: Sequence[float] = (10.0, 100.0, 1000.0),
) -> Iterator[Task]:
    """The experiments, split by split; the results of a question go to a file of its own."""
    results = {question: Results(output / f"{question}.jsonl") for question in QUESTIONS}
    for split in range(splits):
        for question in QUESTIONS:
            for function, settings in _settings(question, split, tol, share, points, C):
                yield results[question], settings, function, settings


def _settings(
    question: str, split: int, tol: float, share: float, points: int, C: Sequence[float]
) -> Iterator[tuple[Any, dict[str, Any]]]:
    small = {"data": "balance-scale", "split": split, "tol": tol}
    if question == "balance":
        for stratified in (True, False):
            for method, settings in (("Euclidean", []), ("MLCC", NORMS), ("MLR-MAP", WEIGHTS)):
                yield choices, small | {"method": method, "settings": settings, "stratified": stratified}
        yield collapsed, small | {"stops": ITERATES}
    if question == "targets":
        for data, stratified in product(("balance-scale", "wdbc"), (True, False)):
            yield choices, small | {"data": data, "method": "LMNN", "settings": TARGETS, "stratified": stratified}
    if question == "neighbours":
        for data in ("balance-scale", "ionosphere", "wdbc", "wine"):
            yield choices, small | {"data": data, "method": "Euclidean", "settings": [], "stratified": True}
    if question == "accuracy":
        for method, stopped in product(("MLR-AUC", "MLR-P@k", "MLR-NDCG"), (False, True)):
            yield choices, small | {"method": method, "settings": LONG_WEIGHTS, "stratified": True, "stopped": stopped}
    if question == "places":
        # The paper speaks of two classes.
        for data in ("ionosphere", "wdbc"):
            for method in ("precision", "knn"):
                settings = [(k, weight) for k in PLACES for weight in C]
                yield choices, small | {"data": data, "method": method, "settings": settings}
    if question == "batches" and split == 0:
        for method in ("MLR-AUC", "MLR-MAP", "MLR-MRR"):
            for steps in (*LOOSE, None):
                yield loose, {"method": method, "share": share, "C": 100.0, "steps": steps, "tol": tol}
    if question == "components":
        for start in ("euclidean", "random"):
            yield components, {"split": split, "start": start, "stops": STEPS, "points": points}


def sheets(known: Mapping[str, Sequence[Known]]) -> list[Sheet]:
    """A table a question."""
    make = {
        "balance": choices_sheet,
        "targets": choices_sheet,
        "neighbours": neighbours_sheet,
        "accuracy": choices_sheet,
        "places": places_sheet,
        "batches": batches_sheet,
        "components": components_sheet,
    }
    return [make[question](found) for question, found in known.items()]


def choices_sheet(known: Sequence[Known]) -> Sheet:
    """Errors, the best setting chosen once or split by split; and of early iterates."""
    sheet = Sheet(
        "Error of neighbours in percent, mean and standard error",
        ["", "splits", "one choice for all", "a choice a split", "smallest and largest over the settings"],
    )
    for name, each in _by_method(known).items():
        best = each.mean(axis=0).min(axis=1)
        low, high = 100.0 * best.min(), 100.0 * best.max()
        row = [name, str(len(each)), _said(_chosen(each)), _said(each.min(axis=(1, 2)))]
        sheet.rows.append([*row, f"{low:.1f}, {high:.1f}"])
    return sheet


def _by_method(known: Sequence[Known]) -> dict[str, np.ndarray]:
    """Errors by method and data set: splits, settings, numbers of neighbours."""
    groups: dict[str, list[Any]] = {}
    for settings, result in known:
        data = settings["data"]
        if "stops" in settings:
            for at, of in zip([*settings["stops"], "the optimum"], result["errors"], strict=True):
                groups.setdefault(f"MLCC on {data}, unregularized, stopped at {at}", []).append([of])
        else:
            drawn = "" if settings["stratified"] else ", splits not stratified"
            drawn += ", Algorithm 1" if settings.get("stopped") else ""
            groups.setdefault(f"{settings['method']} on {data}{drawn}", []).append(result["errors"])
    return {name: np.array(errors_of) for name, errors_of in groups.items()}


def neighbours_sheet(known: Sequence[Known]) -> Sheet:
    """Errors by the number of neighbours."""
    numbers = [str(k) for k in NEIGHBOURS]
    sheet = Sheet("Error in percent by the number of neighbours", ["", "splits", *numbers])
    for name, each in _by_method(known).items():
        sheet.rows.append([name, str(len(each)), *(_said(each[:, 0, place]) for place in range(len(NEIGHBOURS)))])
    return sheet


def _chosen(each: np.ndarray) -> np.ndarray:
    """Errors of all splits at the one choice that is best in the mean."""
    means = each.mean(axis=0)
    return np.asarray(each[(slice(None), *np.unravel_index(means.argmin(), means.shape))])


def places_sheet(known: Sequence[Known]) -> Sheet:
    """Errors under metrics for precision of k places and for a majority among them, at the best C in hindsight."""
    sheet = Sheet(
        "Precision at k, and a majority of relevant points among k: error of neighbours in percent",
        ["", "k", "splits", "precision", "majority", "difference"],
    )
    found: dict[tuple[str, int, str], list[Any]] = {}
    for settings, result in known:
        for k in dict.fromkeys(k for k, _ in settings["settings"]):
            rows = [row for row, (of, _) in enumerate(settings["settings"]) if of == k]
            found.setdefault((settings["data"], k, settings["method"]), []).append(np.array(result["errors"])[rows])
    for data, k, method in found:
        if method == "precision" and (data, k, "knn") in found:
            pair = [np.array(found[data, k, name]) for name in ("precision", "knn")]
            count = min(map(len, pair))
            chosen = [_chosen(of[:count]) for of in pair]
            sheet.rows.append([data, str(k), str(count), *map(_said, chosen), _said(chosen[1] - chosen[0])])
    return sheet


def batches_sheet(known: Sequence[Known]) -> Sheet:
    """Batches that Algorithm 1 makes when its master takes few steps."""
    sheet = Sheet(
        "Algorithm 1, its master left after so many subgradient steps",
        ["", "steps", "batches", "objective over the lower bound", "AUC, MAP, MRR", "CPU s"],
    )
    lower = {settings["method"]: result["lower"] for settings, result in known if settings["steps"] is None}
    for settings, result in known:
        scores = ", ".join(f"{score:.3f}" for score in result["scores"])
        bound = lower.get(settings["method"])
        over = "-" if bound is None else f"{100 * (result['objective'] / bound - 1.0):.1f}%"
        steps = "the default solver" if settings["steps"] is None else str(settings["steps"])
        row = [settings["method"], steps, str(result["batches"]), over, scores]
        sheet.rows.append([*row, f"{result['cpu']:.0f}"])
    return sheet


def components_sheet(known: Sequence[Known]) -> Sheet:
    """NCA on IsoLet, by start and stop."""
    sheet = Sheet(
        "NCA on IsoLet: errors in percent",
        ["points", "start", "steps", "expected training error", "one neighbour", "best of the numbers"],
    )
    for settings, result in known:
        for stop, of, value in zip(_stops(settings, result), result["errors"], result["values"], strict=False):
            row = [str(settings["points"]), settings["start"], str(stop), f"{100 * value:.1f}"]
            sheet.rows.append([*row, f"{100 * of[NEIGHBOURS.index(1)]:.1f}", f"{100 * min(of):.1f}"])
    return sheet


def _stops(settings: Mapping[str, Any], result: Mapping[str, Any]) -> list[int]:
    """Steps after which there are errors, the last ones included."""
    return [stop for stop in settings["stops"] if stop < result["steps"]] + [result["steps"]]


def rows(known: Mapping[str, Sequence[Known]]) -> Iterator[Row]:
    """Errors of table 2 in percent, and batches of table 4, beside ours."""
    for question in ("balance", "targets", "accuracy"):
        for name, each in _by_method(known.get(question, [])).items():
            method, _, data = name.partition(",")[0].partition(" on ")
            there = printed.ERRORS[method][data]
            for way, of in (("one choice for all", _chosen(each)), ("a choice a split", each.min(axis=(1, 2)))):
                yield row_of(f"{name}, error in percent, {way}", there, 100.0 * of, "splits", 1)
    for settings, result in known.get("batches", []):
        if settings["steps"] is not None:
            title = f"{settings['method']}, master left after {settings['steps']} steps, batches"
            yield Row(title, printed.MATCHINGS[settings["method"]][4], result["batches"], None, 1, "sets", 0)
    ends: dict[str, list[list[float]]] = {}
    for settings, result in known.get("components", []):
        for stop, of in zip(_stops(settings, result), result["errors"], strict=False):
            when = f"{stop} steps" if stop in settings["stops"] else "the last step"
            start = f"NCA on {settings['points']} points of isolet, {settings['start']} start"
            ends.setdefault(f"{start}, after {when}", []).append(of)
    for name, errors_of in ends.items():
        there = printed.ERRORS["NCA"]["isolet"]
        yield row_of(f"{name}, error in percent", there, 100.0 * _chosen(np.array(errors_of)), "splits", 1)


def _said(errors_of: np.ndarray) -> str:
    spread = f" ± {100 * standard_error(errors_of):.1f}" if len(errors_of) > 1 else ""
    return f"{100 * errors_of.mean():.1f}{spread}"
