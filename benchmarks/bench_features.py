"""Full metrics on many features: rankings by AUC and triplets on images of 256 and 784 points.

    CONVEXMETRIC_DATA=... python benchmarks/bench_features.py [--rows 2000 5000] [--features 256 784] [--tol 1e-3]

MNIST's test digits, centred and of variance one on average; for 256 features averaged over a grid of 16 x 16. Every row
queries the others: rankings by AUC with a trace, and triplets of all positives and negatives with a squared norm, at a
hundredth of the weight from which the zero metric is optimal. Printed for each problem: iterations, seconds and the
largest memory of the process, which is its own. The first pass, with which loops are compiled, is not timed.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
from environment import add_threads_option, limit_threads, surroundings
from isolated import run
from tables import markdown

import convexmetric as cm


def images(rows: int, features: int) -> tuple[np.ndarray, np.ndarray]:
    """Digits as vectors of 784 grey levels, or of means over a grid of fewer."""
    data = cm.datasets.load("mnist-test")
    side, old = int(np.sqrt(features)), 28
    # The share of every old row in every new one.
    ends = np.linspace(0.0, old, side + 1)
    share = np.clip(
        np.minimum.outer(ends[1:], np.arange(old) + 1.0) - np.maximum.outer(ends[:-1], np.arange(old)), 0, 1
    )
    share /= share.sum(axis=1, keepdims=True)
    X = (share @ data.X[:rows].reshape(-1, old, old) @ share.T).reshape(rows, -1)
    X = X - X.mean(axis=0)
    return X / X.std(), data.y[:rows]


def problem_of(kind: str, rows: int, features: int, C: float) -> cm.MetricProblem:
    """One of the two problems."""
    X, y = images(rows, features)
    if kind == "auc":
        return cm.RankingProblem.from_labels(X, y, measure="auc", C=C)
    problem = cm.TripletProblem.from_labels(X, y)
    return problem.with_reg(0.01 * problem.reg_max)


def solved(kind: str, rows: int, features: int, C: float, tol: float, limit: float) -> dict[str, Any]:
    """Solve one problem."""
    problem = problem_of(kind, rows, features, C)
    few = problem_of(kind, 300, features, C)
    cm.solve(few, tol=0.5, solver=cm.explain(problem, measure=False).chosen)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cm.errors.GapWarning)
        solution = cm.solve(problem, tol=tol, max_seconds=limit)
    passes = solution.history[-1].details.get("passes", solution.iterations)
    return {
        "solver": solution.solver,
        "gap": solution.gap,
        "passes": passes,
        "seconds": solution.seconds,
        "rank": solution.rank,
    }


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[2_000, 5_000])
    parser.add_argument("--features", type=int, nargs="+", default=[256, 784])
    parser.add_argument("--kinds", nargs="+", default=["auc", "triplets"])
    parser.add_argument("--C", type=float, nargs="+", default=[1.0, 100.0], help="for rankings")
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--limit", type=float, default=900.0, help="seconds for each solve")
    add_threads_option(parser)
    arguments = parser.parse_args()
    limit_threads(arguments.threads)
    print(surroundings() + "\n", flush=True)
    table = []
    for rows in arguments.rows:
        for features in arguments.features:
            for kind in arguments.kinds:
                for C in arguments.C if kind == "auc" else [1.0]:
                    what = kind, rows, features, C, arguments.tol, arguments.limit
                    outcome = run(solved, *what, limit=1.5 * arguments.limit + 60.0, threads=arguments.threads)
                    name = f"{kind}, C = {C:g}" if kind == "auc" else kind
                    row = [f"{rows:,} x {features}, {name}"]
                    if found := outcome.value:
                        numbers = f"{found['passes']:g}", f"{found['seconds']:.0f}", f"{found['gap']:.1e}"
                        row += [found["solver"], *numbers, f"{found['rank']}", f"{outcome.peak_bytes / 1e6:.0f}"]
                    else:
                        row += [outcome.failure, "", "", "", "", ""]
                    table.append(row)
                    print(*row, flush=True)
    print("\n" + markdown(["problem", "solver", "passes", "s", "gap", "rank", "MB"], table))


if __name__ == "__main__":
    main()
