"""Seconds until metrics of peers, and ours, are within 1e-1, 1e-2, 1e-3 and 1e-6 of the optimum; all in one run.

    CONVEXMETRIC_DATA=... python benchmarks/bench_peers.py --folder peers --python METRIC-LEARN TORCH

METRIC-LEARN is the Python of an environment with what ``study/requirements.txt`` pins, TORCH of one with PyTorch and
SciPy; without them their rows are left out. One statement is the same for all. A peer's metric is judged by its excess:
our objective there over our certified lower bound, less 1. Ours is judged by the certified gap of a solve to every
tolerance. All seconds are those of one processor: ours with stating, CVXPY's with translating. Fits are kept in the
folder, and not made again.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import cvxpy as cp
import numpy as np
from environment import limit_threads, surroundings
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from study.run import error, fits_of_peers, parts_of
from study.statements import Statement, stated
from tables import markdown, seconds

import convexmetric as cm
from convexmetric.comparisons import triplets_from_labels

MARKS = (1e-1, 1e-2, 1e-3, 1e-6)
#: Mark whose seconds are compared for growth; seconds of a solve or a fit, and of a run of steps.
GROWTH_AT, LIMIT, STEPS = 1e-2, 60.0, 3.0
#: Step sizes of PyTorch, of which every cell has the best, and triplets of a batch.
RATES, BATCH = (3e-3, 1e-2, 3e-2), 250
#: Solves of CVXPY: CLARABEL as it comes, and SCS at two tolerances. Their limit is on the wall.
WALL = 300.0
CONIC = [("CLARABEL", {"time_limit": WALL})]
CONIC += [("SCS", {"time_limit_secs": WALL, "eps_abs": e, "eps_rel": e, "max_iters": 10**6}) for e in (1e-3, 1e-6)]
Trail = list[tuple[float, float]]


@dataclass
class Case:
    """A statement of some size, from what the fits leave; points, their labels or triplets, jobs of peers."""

    family: str
    size: int
    X: np.ndarray
    y: np.ndarray
    jobs: list[dict[str, Any]]
    state: Callable[[dict[str, Any]], Statement]
    conic: bool = False


def job(peer: str, method: str, number: int, **options: Any) -> dict[str, Any]:
    return {"name": f"{method}-{number}", "peer": peer, "method": method, "options": options}


def scaled(name: str, components: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    data = cm.datasets.load(name)
    X = cm.datasets.preprocess(data.X, ["zscore"])
    return (X if components is None else PCA(components, svd_solver="full").fit_transform(X)), data.y


def by_metric_learn(method: str, name: str, counts: tuple[int, ...], rows: int | None = None, **options: Any) -> Case:
    """The objective of an estimator of metric-learn, which comes as it is, and ends after so many iterations."""
    X, y = (part[:rows] for part in scaled(name, rows and 20))
    jobs = [job("metric-learn", method, k, max_iter=count, **options) for k, count in enumerate(counts)]
    jobs.append(job("metric-learn", method, len(counts)))
    return Case(f"{method}, {name}", len(X), X, y, jobs, partial(stated, method, X, y, options={}), method == "ITML")


def own(make: Callable[[], cm.MetricProblem], _: Any) -> Statement:
    """A problem of ours, whose objective is the cost."""
    problem = make()
    return Statement(lambda M: problem.value(problem.cone.project(M)), problem)


def hinges(case: Case, rows: np.ndarray, weights: np.ndarray, **options: float) -> Case:
    """The case with jobs of PyTorch for weighted hinges of triplets, all of them at a step or a batch."""
    kinds = [(f"PyTorch, {words}", batch, rate) for words, batch in (("all", 0), ("batches", BATCH)) for rate in RATES]
    options |= {"seconds": STEPS}
    jobs = [job(peer, "torch-hinges", k, batch=b, rate=rate, **options) for k, (peer, b, rate) in enumerate(kinds)]
    return replace(case, y=np.column_stack([rows, weights]), jobs=jobs)


def triplets(count: int, components: int, reg: float, conic: bool) -> Case:
    """Mean hinge of triplets of digits and a squared norm; 61 pixels are not constant."""
    X, y = scaled("digits", components)
    rows = np.asarray(triplets_from_labels(y, count, random_state=0))
    make, weights = partial(cm.TripletProblem, X, rows, reg=reg), np.full(count, 1.0 / count)
    case = Case(f"triplets, digits x {components}", count, X, y, [], partial(own, make), conic)
    return hinges(case, rows, weights, margin=1.0, trace=0.0, squared=reg)


def auc(count: int, conic: bool) -> Case:
    """Metric learning to rank on wine by AUC: a pair costs ``max(0, 1 + 2 (near - far))``, and a trace."""
    X, y = (part[np.random.default_rng(0).permutation(178)[:count]] for part in scaled("wine"))
    make = partial(cm.RankingProblem.from_labels, X, y, measure="auc", C=100.0)
    rankings = make().rankings
    rows = rankings.triples()
    case = Case("AUC, wine", count, X, y, [], partial(own, make), conic)
    return hinges(case, rows, 200.0 / count / rankings.pairs[rows[:, 0]], margin=0.5, trace=1.0, squared=0.0)


def items(n: int, reg: float) -> Case:
    """Softmax of 5,000 triplets of points of three coordinates, a tenth of them turned, and a trace; no features."""
    rng = np.random.default_rng(0)
    places, rows = rng.normal(size=(n, 3)), np.array([rng.choice(n, 3, replace=False) for _ in range(5000)])
    near, far = (((places[rows[:, 0]] - places[rows[:, k]]) ** 2).sum(axis=1) for k in (1, 2))
    rows = np.where(((near > far) != (rng.random(5000) < 0.1))[:, None], rows[:, [0, 2, 1]], rows)
    make = partial(cm.ChoiceProblem, None, rows, reg=reg)
    rank = len(cm.solve(make(), tol=1e-4).components) + 2
    jobs = [job(f"L-BFGS, {of} columns", "scipy-lbfgs", of, rank=of, reg=reg, seconds=STEPS) for of in (n, rank)]
    return Case(f"logistic Gram, {reg:g}", n, np.eye(n), rows, jobs, partial(own, make))


def cases() -> list[Case]:
    steps, rounds = (10, 30, 100, 300, 1500), (1, 3, 5, 7, 10, 15, 20, 30, 50, 100, 300) * 3
    large_margins = [("wine", None), ("breast-cancer", None), ("digits", 300), ("digits", 600), ("digits", 1200)]
    return [
        *(by_metric_learn("LMNN", name, steps, rows, learn_rate=1e-3) for name, rows in large_margins),
        *(by_metric_learn("ITML", name, rounds, tol=1e-12) for name in ("wine", "breast-cancer")),
        triplets(1000, 20, 0.1, True), triplets(5000, 61, 10.0, False), triplets(20_000, 61, 10.0, False),
        auc(40, True), auc(60, True), auc(178, False), *(items(n, reg) for reg in (2e-3, 2e-4) for n in (50, 100)),
    ]  # fmt: skip


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.process_time()
    done = work()
    return time.process_time() - begin, done


def by_cvxpy(problem: cm.MetricProblem, solver: str, options: dict[str, Any]) -> np.ndarray:
    """The metric of the textbook statement; zero where there is none in time."""
    statement = problem.statement()
    with contextlib.suppress(cp.SolverError):
        statement.problem.solve(solver=solver, **options)
    return problem.cone.zeros() if statement.metric.value is None else problem.cone.project(statement.metric.value)


def trails(case: Case, folder: Path, pythons: list[Path]) -> dict[str, Trail]:
    """Seconds and excess of everybody, step by step; ours is the least of three solves to every mark."""
    work, fits = folder / f"{case.family}, {case.size}", []
    if pythons:
        python = pythons[case.jobs[0]["peer"] != "metric-learn"]
        fits = fits_of_peers(python, work, case.X, case.y, case.jobs, LIMIT)
    parts = parts_of(work, fits[0]) if fits else {}
    if case.jobs[0]["peer"] == "metric-learn" and not fits:
        return {}
    found: dict[str, Trail] = {"ours, certified": []}
    for tol in MARKS:
        runs = [timed(lambda: cm.solve(case.state(parts).problem, tol=tol, max_seconds=LIMIT)) for _ in range(3)]  # noqa: B023
        found["ours, certified"].append((min(used for used, _ in runs), runs[0][1].gap))
    statement = case.state(parts)
    lower = cm.solve(statement.problem, tol=1e-7, max_seconds=LIMIT).lower_bound
    for fit in fits:
        value = statement.cost(np.load(work / f"{fit['name']}.npy"))
        trail = fit.get("trail", [(fit["seconds"], value)])
        if abs(trail[-1][1] / value - 1.0) > 1e-8:
            raise RuntimeError(f"the objective of {fit['peer']} is not ours")
        found.setdefault(fit["peer"], []).extend((used, cost / lower - 1.0) for used, cost in trail)
    for solver, options in CONIC if case.conic else []:
        used, M = timed(lambda: by_cvxpy(case.state(parts).problem, solver, options))  # noqa: B023 - called at once
        found.setdefault(f"CVXPY, {solver}", []).append((used, statement.cost(M) / lower - 1.0))
    return found


def reached(trail: Trail, mark: float) -> float | None:
    return min((used for used, excess in trail if excess <= mark), default=None)


def neighbours() -> str:
    """3-NN error of NCA, which has another objective, beside ours on three splits that hold 30% out."""
    nca, rows = partial(NeighborhoodComponentsAnalysis, random_state=0), []
    for name, components in (("wine", None), ("breast-cancer", None), ("digits", 20)):
        points, labels = scaled(name, components)
        runs = np.empty((3, 3, 2))
        for seed in range(3):
            X, Z, y, z = train_test_split(points, labels, test_size=0.3, random_state=seed, stratify=labels)
            for k, make in enumerate((nca, cm.LargeMargin, cm.NeighborMetric)):
                used, model = timed(lambda: make().fit(X, y))  # noqa: B023 - called at once
                runs[k, seed] = 100.0 * error(model.components_.T @ model.components_, X, y, Z, z), used
        rows.append([name, *(f"{wrong:.1f}, {used:.2g}" for wrong, used in runs.mean(axis=1))])
    return markdown(["3-NN error in %, s", "NCA", "LargeMargin()", "NeighborMetric()"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=Path("peers"), help="where the fits go (default %(default)s)")
    parser.add_argument("--python", nargs=2, type=Path, default=[], help="of the environments of the peers")
    arguments = parser.parse_args()
    limit_threads(1)
    warnings.simplefilter("ignore")
    print(surroundings("scikit-learn", "cvxpy", "clarabel", "scs"), flush=True)
    rows, before = [], {}
    for case in cases():
        for peer, trail in trails(case, arguments.folder, arguments.python).items():
            excess, used = min((excess, used) for used, excess in trail)
            size, at = before.get((case.family, peer), (case.size, None))
            here = reached(trail, GROWTH_AT)
            before[case.family, peer] = case.size, here
            growth = f"{math.log(here / at) / math.log(case.size / size):.1f}" if here and at else "-"
            cells = [seconds(reached(trail, mark)) for mark in MARKS]
            rows.append([f"{case.family}, {case.size:,}", peer, *cells, f"{excess:.0e}, {seconds(used)}", growth])
            print(*rows[-1], flush=True)
    print(f"\n{markdown(['statement', 'who', *(f'{mark:g}' for mark in MARKS), 'least, s', 'growth'], rows)}\n")
    print(neighbours())


if __name__ == "__main__":
    main()
