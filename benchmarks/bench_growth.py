"""How the time of a ranking problem grows with its rows, at a fixed certified gap.

python benchmarks/bench_growth.py [--rows 5000 20000 80000] [--measures auc map] [--tol 1e-2] [--threads 1]

Made sets of the shape of Letter Recognition (16 features, 26 classes), every row a query, C = 100. A pass over all
queries goes through rows x rows distances; most passes of the default are over a sample of the queries. The table shows
both, what one pass over all costs, and the exponents of the seconds from one size to the next. Seconds are the
processor's. Compiled loops are loaded by a solve of a part of the set before the clock starts.
"""

import argparse
import math
import time
import warnings
from itertools import pairwise

from bench_waiting import ranking
from environment import add_threads_option, limit_threads, surroundings
from tables import markdown

import convexmetric as cm


def measured(rows, measure, tol):
    """Seconds of a solve and of one evaluation of the objective, with gap, passes and solver."""
    make = ranking(rows, 16, measure)
    cm.solve(make(400), 0.1)
    problem = make(None)
    start = time.process_time()
    solution = cm.solve(problem, tol)
    seconds = time.process_time() - start
    start = time.process_time()
    problem.value(solution.M)
    return solution, seconds, time.process_time() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", nargs="+", type=int, default=[5_000, 20_000, 80_000])
    parser.add_argument("--measures", nargs="+", default=["auc", "map"])
    parser.add_argument("--tol", type=float, default=1e-2)
    add_threads_option(parser)
    arguments = parser.parse_args()
    limit_threads(arguments.threads)
    warnings.simplefilter("ignore")
    print(surroundings(), flush=True)
    table = []
    for measure in arguments.measures:
        taken = []
        for rows in arguments.rows:
            solution, seconds, one = measured(rows, measure, arguments.tol)
            taken.append((rows, seconds))
            sampled = solution.history[-1].details.get("sampled_passes", 0)
            # Cutting planes alone report steps that are passes over all.
            cells = len(solution.history), sampled, f"{one:.2f}", f"{seconds:.1f}", solution.solver
            table.append([measure, f"{rows:,}", f"{solution.gap:.1e}", *cells])
            print(table[-1], flush=True)
        steps = [*pairwise(taken), (taken[0], taken[-1])]
        for (few, before), (many, after) in steps:
            if few < many:
                exponent = math.log(after / before) / math.log(many / few)
                print(f"{measure}, {few:,} to {many:,} rows: exponent {exponent:.2f}", flush=True)
    header = ["measure", "rows", "gap", "passes over all", "over a sample", "s a pass", "s", "solver"]
    print("\n" + markdown(header, table))


if __name__ == "__main__":
    main()
