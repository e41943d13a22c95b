"""Cutting planes on many rows and features: IsoLet's training part, 6,238 rows (or fewer) of 170 features.

    CONVEXMETRIC_DATA=... python benchmarks/bench_isolet.py
    CONVEXMETRIC_DATA=... python benchmarks/bench_isolet.py --rows 2000 --measures auc --C 1

Every row queries the others. Printed for each problem: the certified gap that was reached, after how many passes and
seconds, and the largest memory of the process, which is its own. Building the problem and the first pass, with which
loops are compiled, are not timed.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

from environment import add_threads_option, limit_threads, surroundings
from isolated import run
from isolet import isolet, spaced
from tables import markdown, seconds

import convexmetric as cm
from convexmetric.measures import MEASURES, MeasureAtK


def solved(rows: int, measure: str, C: float, tol: float, limit: float) -> dict[str, Any]:
    """Solve one problem."""
    X, y = isolet()
    if rows < len(X):
        X, y = spaced(X, y, rows)
    k = 10 if issubclass(MEASURES[measure], MeasureAtK) else None
    problem = cm.RankingProblem.from_labels(X, y, measure=measure, C=C, k=k)
    problem.value(problem.cone.identity())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cm.errors.GapWarning)
        solution = cm.solve(problem, tol=tol, max_seconds=limit)
    return {
        "gap": solution.gap,
        "passes": int(solution.history[-1].details.get("passes", solution.iterations)),
        "seconds": solution.seconds,
        "lower": solution.lower_bound,
        "upper": solution.upper_bound,
        "rank": solution.rank,
    }


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=[6238])
    parser.add_argument("--measures", nargs="+", default=["auc", "map", "ndcg"])
    parser.add_argument("--C", type=float, nargs="+", default=[1.0, 100.0])
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for each solve")
    add_threads_option(parser)
    arguments = parser.parse_args()
    limit_threads(arguments.threads)
    print(surroundings() + "\n")
    table = []
    for rows in arguments.rows:
        for measure in arguments.measures:
            for C in arguments.C:
                outcome = run(
                    solved,
                    *(rows, measure, C, arguments.tol, arguments.limit),
                    limit=2 * arguments.limit + 60,
                    threads=arguments.threads,
                )
                row = [f"{rows} rows, {measure}, C = {C:g}"]
                if found := outcome.value:
                    row += [
                        f"{found['gap']:.1e}",
                        str(found["passes"]),
                        seconds(found["seconds"]),
                        f"{outcome.peak_bytes / 1e6:.0f}",
                        f"{found['lower']:.6g}",
                        f"{found['upper']:.6g}",
                        str(found["rank"]),
                    ]
                else:
                    row += [outcome.failure, *["-"] * 6]
                table.append(row)
                print("...", *row, flush=True)
    header = ["problem", "certified gap", "passes", "s", "peak MB", "optimum at least", "at most", "rank"]
    print("\n" + markdown(header, table))


if __name__ == "__main__":
    main()
