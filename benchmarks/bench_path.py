"""A path over C that reuses cuts beside one solve after the other, to the same certified gap.

python benchmarks/bench_path.py [--data wine] [--measures auc map]
"""

from __future__ import annotations

import argparse
import warnings
from time import perf_counter

from environment import add_threads_option, limit_threads, surroundings
from tables import markdown, ratio, seconds

import convexmetric as cm
from convexmetric.measures import MEASURES, MeasureAtK

WEIGHTS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_threads_option(parser)
    parser.add_argument("--data", nargs="+", default=["wine", "breast-cancer"])
    parser.add_argument("--measures", nargs="+", default=["auc", "map", "ndcg"])
    parser.add_argument("--tol", type=float, default=1e-4)
    arguments = parser.parse_args()
    limit_threads(arguments.threads)
    print(surroundings() + f"\n\n{len(WEIGHTS)} weights from {WEIGHTS[0]:g} to {WEIGHTS[-1]:g}\n")
    rows = []
    for name in arguments.data:
        data = cm.datasets.load(name)
        X = cm.datasets.preprocess(data.X, ["zscore"])
        for measure in arguments.measures:
            k = 10 if issubclass(MEASURES[measure], MeasureAtK) else None
            problem = cm.RankingProblem.from_labels(X, data.y, measure=measure, k=k)
            problem.value(problem.cone.identity())
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", cm.errors.GapWarning)
                start = perf_counter()
                path = cm.solve_path(problem, WEIGHTS, tol=arguments.tol, solver=cm.solvers.CuttingPlanes())
                reused = perf_counter() - start
                start = perf_counter()
                apart = [cm.solve(problem.with_C(C), arguments.tol, solver=cm.solvers.CuttingPlanes()) for C in WEIGHTS]
                afresh = perf_counter() - start
            rows.append(
                [
                    f"{name}, {problem.measure.label}",
                    f"{sum(s.iterations for s in path)} / {sum(s.iterations for s in apart)}",
                    seconds(reused),
                    seconds(afresh),
                    ratio(afresh, reused),
                    f"{max(s.gap for s in [*path, *apart]):.1e}",
                ]
            )
    print(markdown(["problem", "passes: path / afresh", "path s", "afresh s", "ratio", "largest gap"], rows))


if __name__ == "__main__":
    main()
