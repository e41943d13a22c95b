"""Few passes over all queries: cutting planes on a sample of the queries beside cutting planes on all of them.

    python benchmarks/bench_samples.py [--rows 20000] [--measures auc map] [--C 1 100] [--tol 1e-3] [--beside]

A made set of the shape of Letter Recognition (16 features, 26 classes, z-scored); every row queries the others. Printed
for every pass over all queries: what it cost so far in passes over all queries, those over the sample counted by its
share, with the seconds and the certified gap. A run has a process of its own. With ``--beside``, cutting planes without
samples get as many seconds.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

from environment import add_threads_option, limit_threads, surroundings
from isolated import run
from made_sets import letters
from tables import markdown

import convexmetric as cm


def solved(rows: int, measure: str, C: float, tol: float, limit: float, solver: str) -> dict[str, Any]:
    """Solve one problem; the cost, seconds and gap of every pass."""
    problem = cm.RankingProblem.from_labels(*letters(rows), measure=measure, C=C)
    few = cm.RankingProblem.from_labels(*letters(200, classes=4), measure=measure)
    few.risk.separate(few.cone.identity(), few.risk.rankings.rows(0 * few.risk.rankings.sizes))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cm.errors.GapWarning)
        solution = cm.solve(problem, tol=tol, solver=solver, max_seconds=limit)
    steps = []
    cost, before = 0.0, 0
    for progress in solution.history:
        sampled = progress.details.get("sampled_passes", 0)
        cost += 1.0 + (sampled - before) * progress.details.get("sample", 0) / rows
        before = sampled
        steps.append((progress.iteration, cost, progress.seconds, progress.gap))
    return {"steps": steps, "seconds": solution.seconds, "gap": solution.gap}


def main() -> None:
    """Print a table for each problem."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--measures", nargs="+", default=["auc", "map"])
    parser.add_argument("--C", type=float, nargs="+", default=[1.0, 100.0])
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--limit", type=float, default=600.0, help="seconds for each solve")
    parser.add_argument("--beside", action="store_true", help="give cutting planes without samples as many seconds")
    add_threads_option(parser)
    arguments = parser.parse_args()
    limit_threads(arguments.threads)
    print(surroundings())
    for measure in arguments.measures:
        for C in arguments.C:
            limit = arguments.limit
            for solver in ["sampled-cutting-planes", *(["cutting-planes"] if arguments.beside else [])]:
                what = arguments.rows, measure, C, arguments.tol, limit, solver
                outcome = run(solved, *what, limit=3.0 * limit + 60.0, threads=arguments.threads)
                print(
                    f"\n{measure}, C = {C:g}, {arguments.rows:,} rows, {solver}: {outcome.peak_bytes / 1e9:.2f} GB",
                    end="",
                )
                if outcome.failure:
                    print(f", {outcome.failure}")
                    continue
                limit = outcome.value["seconds"]
                print(f", {limit:.1f} s with certificates, gap {outcome.value['gap']:.1e}\n")
                steps = outcome.value["steps"]
                shown = steps[:: max(1, len(steps) // 15)]
                rows = [[f"{number}", f"{cost:.1f}", f"{took:.1f}", f"{gap:.1e}"] for number, cost, took, gap in shown]
                print(markdown(["pass", "cost in passes", "s", "gap"], rows), flush=True)


if __name__ == "__main__":
    main()
