"""Every measure on wine and breast cancer to a certified gap of 1e-6: passes and seconds, by both exact ways for AUC.

python benchmarks/bench_measures.py [--data wine] [--measures auc map]
"""

from __future__ import annotations

import argparse
import warnings
from time import perf_counter

from environment import add_threads_option, limit_threads, surroundings
from tables import markdown, seconds

import convexmetric as cm
from convexmetric.measures import MEASURES, MeasureAtK

WEIGHTS = (1.0, 100.0, 1e4)


def solved(problem: cm.RankingProblem, solver: str) -> tuple[cm.Solution, float]:
    """The solution and its wall time, certificate included."""
    start = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cm.errors.GapWarning)
        solution = cm.solve(problem, tol=1e-6, solver=solver)
    return solution, perf_counter() - start


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_threads_option(parser)
    parser.add_argument("--data", nargs="+", default=["wine", "breast-cancer"])
    parser.add_argument("--measures", nargs="+", default=list(MEASURES))
    arguments = parser.parse_args()
    limit_threads(arguments.threads)
    print(surroundings() + "\n")
    rows = []
    for name in arguments.data:
        data = cm.datasets.load(name)
        X = cm.datasets.preprocess(data.X, ["zscore"])
        for measure in arguments.measures:
            k = 10 if issubclass(MEASURES[measure], MeasureAtK) else None
            for solver in ("cutting-planes", "smoothed-newton") if measure == "auc" else ("cutting-planes",):
                problem = cm.RankingProblem.from_labels(X, data.y, measure=measure, k=k)
                # Compiled loops are built on first use.
                solved(problem, solver)
                for C in WEIGHTS:
                    solution, took = solved(problem.with_C(C), solver)
                    rows.append(
                        [
                            f"{name}, {problem.measure.label}, C = {C:g}, {solver}",
                            solution.iterations,
                            seconds(took),
                            f"{solution.gap:.1e}",
                            f"{solution.upper_bound:.8g}",
                            solution.rank,
                        ]
                    )
    print(markdown(["problem", "passes", "s", "certified gap", "optimum", "rank"], rows))


if __name__ == "__main__":
    main()
