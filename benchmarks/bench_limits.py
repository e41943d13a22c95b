"""What a short time limit buys: certified gaps of the default with what it begins with then, and without.

    python benchmarks/bench_limits.py [--rows 3000] [--measures auc map] [--C 1 100] [--limits 2 5 10]

A made set of the shape of Letter Recognition (16 features, 26 classes, z-scored); every row queries the others. Limits
are on seconds of the processor on one thread, which take the place of the wall's so that other busy processes change
little.
"""

from __future__ import annotations

import argparse
import time
import warnings

from environment import limit_threads, surroundings
from made_sets import letters
from tables import markdown

import convexmetric as cm
from convexmetric.solvers.run import base


def solved(problem: cm.MetricProblem, solver: cm.solvers.Solver | None, limit: float, tol: float) -> str:
    """The gap, and the seconds at which the solve was over."""
    start = time.process_time()
    solution = cm.solve(problem, tol=tol, solver=solver, max_seconds=limit)
    return f"{solution.gap:.1e} ({time.process_time() - start:.1f} s)"


def main() -> None:
    """Print a table with a line for each problem and limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=3_000)
    parser.add_argument("--measures", nargs="+", default=["auc", "map"])
    parser.add_argument("--C", type=float, nargs="+", default=[1.0, 100.0])
    parser.add_argument("--limits", type=float, nargs="+", default=[2.0, 5.0, 10.0])
    parser.add_argument("--tol", type=float, default=1e-3)
    arguments = parser.parse_args()
    limit_threads(1)
    print(surroundings())
    warnings.simplefilter("ignore", cm.errors.GapWarning)
    base.perf_counter = time.process_time  # type: ignore[attr-defined]
    rows = []
    for measure in arguments.measures:
        # Compiled loops are loaded, or made, before the clock starts.
        cm.solve(cm.RankingProblem.from_labels(*letters(300), measure=measure), tol=0.1)
        for C in arguments.C:
            problem = cm.RankingProblem.from_labels(*letters(arguments.rows), measure=measure, C=C)
            plain = cm.Exact(stages=tuple(step.solver for step in cm.explain(problem, measure=False).steps))
            for limit in arguments.limits:
                found = [solved(problem, solver, limit, arguments.tol) for solver in (plain, None)]
                rows.append([measure, f"{C:g}", f"{limit:g}", *found])
    print(markdown(["measure", "C", "limit, s", "the table's solvers alone", "the default"], rows))


if __name__ == "__main__":
    main()
