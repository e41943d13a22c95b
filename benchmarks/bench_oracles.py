"""The separation oracle beside what it cannot do without: the distances, and one sort of them.

IsoLet's training part (6,238 rows, each a query to the others, PCA to 170 features). A pass of the oracle is the matrix
product for all distances and the most violated ranking of every query, without the cut's final products. It is
compared with the same product in the same blocks and a row-wise ``numpy.sort`` of the distances, in the same process
with the same threads (``numpy.sort`` has no use for a second one).

    CONVEXMETRIC_DATA=... python benchmarks/bench_oracles.py [--threads 1]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import perf_counter

import numpy as np
from environment import add_threads_option, limit_threads, surroundings
from tables import markdown

import convexmetric as cm
from convexmetric.measures import MEASURES, most_violated_rankings

SIZES = (1000, 1500, 2000, 3000, 4000, 6000)


def isolet(features: int = 170) -> tuple[np.ndarray, np.ndarray]:
    """The training part, projected on its first principal axes."""
    data = cm.datasets.load("isolet")
    rows = np.isin(data.extras["part"], (1, 2, 3, 4))
    return cm.datasets.preprocess(data.X[rows], [f"pca:{features}"]), data.y[rows]


def spaced(X: np.ndarray, y: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """n rows at equal distances."""
    rows = np.linspace(0, len(X) - 1, n).astype(int)
    return X[rows], y[rows]


def fastest(work: Callable[[], object], repeats: int) -> float:
    """Seconds of the fastest run."""
    times = []
    for _ in range(repeats):
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return min(times)


def oracle(problem: cm.RankingProblem, M: np.ndarray) -> None:
    """One pass without the final products."""
    for block in problem.rankings.blocks(M, np.arange(len(problem.rankings))):
        most_violated_rankings(problem.measure, block)


def sorting(problem: cm.RankingProblem, M: np.ndarray) -> None:
    """Distances in the same blocks, sorted row by row."""
    for block in problem.rankings.blocks(M, np.arange(len(problem.rankings))):
        np.sort(block.values.reshape(len(block), -1), axis=1)


def main() -> None:
    """Print the ratios and the growth."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_threads_option(parser)
    parser.add_argument("--features", type=int, default=170)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    limit_threads(arguments.threads)
    print(surroundings())
    X, y = isolet(arguments.features)
    few = cm.RankingProblem.from_labels(*spaced(X, y, 1000), C=1.0)
    learned = cm.solve(few, tol=0.02, solver="cutting-planes").M
    metrics = {"0.1 identity": 0.1 * np.eye(arguments.features), "learned on 1,000 rows": learned}
    rows = []
    for title, M in metrics.items():
        beside = cm.RankingProblem.from_labels(X, y)
        baseline = fastest(lambda p=beside, M=M: sorting(p, M), arguments.repeats)
        for name in MEASURES:
            problem = cm.RankingProblem.from_labels(X, y, measure=name)
            oracle(problem, M)
            took = fastest(lambda p=problem, M=M: oracle(p, M), arguments.repeats)
            whole = fastest(lambda p=problem, M=M: p.risk.separate(M, np.arange(len(X)) * 32 // len(X)), 1)
            cells = [f"{took:.3f}", f"{baseline:.3f}", f"{took / baseline:.2f}", f"{whole:.3f}"]
            rows.append([f"{problem.measure.label}, {title}", *cells])
    print()
    print(markdown(["measure, metric", "oracle pass s", "product + sort s", "ratio", "with 32 cuts s"], rows))

    times = {name: [] for name in MEASURES}
    for n in SIZES:
        part = spaced(X, y, n)
        for name in MEASURES:
            problem = cm.RankingProblem.from_labels(*part, measure=name)
            oracle(problem, learned)
            times[name].append(fastest(lambda p=problem: oracle(p, learned), arguments.repeats))
    law = np.log([n**2 * np.log(n) for n in SIZES])
    print()
    print(
        markdown(
            ["measure", *[f"n = {n}" for n in SIZES], "exponent of n^2 log n"],
            [
                [name, *[f"{t:.3f}" for t in times[name]], f"{np.polyfit(law, np.log(times[name]), 1)[0]:.2f}"]
                for name in MEASURES
            ],
        )
    )


if __name__ == "__main__":
    main()
