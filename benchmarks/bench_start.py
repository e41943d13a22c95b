"""Solves that begin from an earlier solution beside solves from nothing: iterations and processor seconds.

Three changes: C three times as large (or a third of the weight of the regularizer), 10 % more rows, and new rows of the
same features.

    python benchmarks/bench_start.py [--only wine ...] [--tol 1e-3]
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from time import process_time
from typing import Any

import numpy as np
from environment import add_threads_option, limit_threads, surroundings
from tables import markdown, ratio, seconds

import convexmetric as cm

#: Of points, labels and a weight relative to the usual one.
Maker = Callable[[Any, Any, float], cm.MetricProblem]


def ranking(measure: str, C: float) -> Maker:
    return lambda X, y, weight: cm.RankingProblem.from_labels(X, y, measure=measure, C=C * weight)


def triplets(X: Any, y: Any, weight: float) -> cm.MetricProblem:
    return cm.TripletProblem.from_labels(X, y, n_same=3, n_other=10, reg=0.01 / weight)


def pairs(X: Any, y: Any, weight: float) -> cm.MetricProblem:
    return cm.PairMarginProblem.from_labels(X, y, reg=0.05 / weight)


def families() -> Iterator[tuple[str, str, str, Maker]]:
    """Data, what is learned, solver, and how problems are made."""
    for data in ("wine", "breast-cancer"):
        yield data, "MAP", "cutting-planes", ranking("map", 30.0)
        yield data, "triplets", "semismooth-newton", triplets
    yield "digits", "triplets", "semismooth-newton", triplets
    yield "digits", "pairs", "factored-lagrangian", pairs
    yield "isolet", "triplets", "semismooth-newton", triplets
    yield "isolet", "MAP", "cutting-planes", ranking("map", 30.0)


def points(name: str, most: int, features: int) -> tuple[Any, Any]:
    """Rows in random order; features z-scored and, where there are many, their principal components."""
    data = cm.datasets.load(name)
    X = cm.datasets.preprocess(data.X, ["drop-constant", "zscore"])
    if X.shape[1] > features:
        X = cm.datasets.preprocess(X, [f"pca:{features}"])
    order = np.random.default_rng(0).permutation(len(X))[:most]
    return X[order] / np.sqrt(X.shape[1]), np.asarray(data.y)[order]


def changes(make: Maker, X: Any, y: Any) -> Iterator[tuple[str, cm.MetricProblem, cm.MetricProblem]]:
    """What changes, the problem that is solved first, and the one that is begun from its solution."""
    fewer, half = round(len(X) / 1.1), len(X) // 2
    whole = make(X, y, 1.0)
    yield "weight x 3", make(X, y, 1.0 / 3.0), whole
    yield "10 % more rows", make(X[:fewer], y[:fewer], 1.0), whole
    yield "other rows", make(X[:half], y[:half], 1.0), make(X[half:], y[half:], 1.0)


def timed(problem: cm.MetricProblem, **options: Any) -> tuple[cm.Solution, float]:
    begin = process_time()
    solution = cm.solve(problem, **options)
    return solution, process_time() - begin


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_threads_option(parser)
    parser.add_argument("--only", nargs="+", help="names of data sets; isolet needs the data folder")
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--rows", type=int, default=3_000, help="rows of a set at most (default %(default)s)")
    parser.add_argument("--features", type=int, default=30, help="principal components at most (default %(default)s)")
    parser.add_argument("--max-seconds", type=float, default=60.0, help="limit on a solve (default %(default)s)")
    arguments = parser.parse_args()
    limit_threads(arguments.threads)
    print(surroundings() + "\n")
    warnings.simplefilter("ignore", cm.errors.GapWarning)
    rows = []
    for data, learned, solver, make in families():
        if arguments.only and data not in arguments.only:
            continue
        X, y = points(data, arguments.rows, arguments.features)
        options = {"tol": arguments.tol, "solver": solver, "max_seconds": arguments.max_seconds}
        cm.solve(make(X, y, 1.0), **options | {"max_iter": 3})
        for change, first, problem in changes(make, X, y):
            given = cm.solve(first, **options)
            (cold, afresh), (warm, begun) = timed(problem, **options), timed(problem, start=given, **options)
            rows.append(
                [
                    f"{data}, {len(X)} rows, {learned}, {solver}: {change}",
                    f"{cold.iterations} / {warm.iterations}",
                    seconds(afresh),
                    seconds(begun),
                    ratio(afresh, begun),
                    f"{max(given.gap, cold.gap, warm.gap):.1e}",
                ]
            )
    print(markdown(["problem", "iterations: cold / warm", "cold s", "warm s", "ratio", "largest gap"], rows))


if __name__ == "__main__":
    main()
