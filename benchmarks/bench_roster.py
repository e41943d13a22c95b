"""Does every solver of the default earn its place? The default with it and without it, on the instances of the library.

python benchmarks/bench_roster.py [--instances '*'] [--limit 60] [--json FILE]

For each instance that the default closes within `--limit` seconds of the processor: these seconds, and for every solver
that it ran the seconds of the default whose table has no route to that solver. A solver is needed where the default
without it takes more than 1.5 times as long, or does not close the gap. The default without a solver gets no more than
three times the seconds of the default, and one second.

All solves are made in this process, one after the other, on one thread. A solve of at most two seconds before each one
loads compiled loops; solves of less than half a second are made three times, of which the fastest counts. With `--json`
every result is appended as soon as it is known, and is not made again by the next call with the same file.
"""

import argparse
import json
import math
import sys
import time
import warnings
from collections import defaultdict
from pathlib import Path

from environment import add_threads_option, limit_threads, surroundings
from tables import markdown, seconds

import convexmetric as cm
from convexmetric.bench import chosen_instances
from convexmetric.solvers import Exact
from convexmetric.solvers.conic import CONIC_SOLVERS
from convexmetric.solvers.routes import ROUTES, Candidates

#: Ratio of seconds from which the default is slower without a solver, and how far it is followed.
SLOWER, FOLLOWED = 1.5, 3.0
#: Seconds of the processor below which two solves are not told apart, and below which they are made again.
RESOLUTION, QUICK = 0.01, 0.5
#: Solves of more seconds on the wall, for one of the processor, are stopped.
PATIENCE = 5.0
#: Seconds of a solve that loads compiled loops.
WARM = 2.0


def stages(problem, routes):
    """The solvers that a table takes for a problem, in order."""
    found = Candidates(problem.without_constant(), routes)
    return tuple(candidate.route.solver for candidate in found if candidate.run is not None)


def measured(name, taken, limit, tol):
    """Seconds of the processor that some solvers in turn take, and which one ends; whether they close the gap."""

    def solved(limit):
        problem, start = cm.load_problem(name), time.process_time()
        solution = cm.solve(
            problem, tol=tol, solver=Exact(stages=taken), max_seconds=PATIENCE * limit,
            callback=lambda progress: time.process_time() - start > limit,
        )  # fmt: skip
        return time.process_time() - start, solution

    if not taken:
        return {"closed": False, "seconds": 0.0, "gap": math.inf, "finished": None}
    try:
        solved(min(limit, WARM))
        spent, solution = solved(limit)
        for _ in range(2 * (spent < QUICK)):
            spent, solution = min((spent, solution), solved(limit), key=lambda found: found[0])
    except cm.errors.SolverError as error:
        return {"closed": False, "seconds": 0.0, "gap": math.inf, "finished": str(error)}
    closed = solution.status == "optimal"
    return {"closed": closed, "seconds": spent, "gap": solution.gap, "finished": solution.solver}


class Results:
    """Results by instance and the solver that was left out, kept in a file of JSON lines if there is one."""

    def __init__(self, path):
        self._path, self._rows = path, {}
        if path is not None and path.exists():
            for row in map(json.loads, path.read_text().splitlines()):
                self._rows[row["instance"], row["without"]] = row

    def get(self, name, without, routes, limit, tol):
        """The result of the default without a solver (None: with all), made now unless it is known."""
        if (name, without) not in self._rows:
            problem = cm.load_problem(name)
            taken = stages(problem, tuple(route for route in routes if route.solver.name != without))
            tol = max(tol, cm.bench.load_instance(name).how["tol"])
            names = [solver.name for solver in taken]
            row = {"instance": name, "without": without, "taken": names, **measured(name, taken, limit, tol)}
            self._rows[name, without] = row
            if self._path is not None:
                with self._path.open("a") as file:
                    print(json.dumps(row), file=file)
            print(f"{name}, without {without}: {described(row)} by {row['finished']}", file=sys.stderr, flush=True)
        return self._rows[name, without]


def described(row):
    """Seconds, and the gap where it is not closed."""
    return seconds(row["seconds"]) if row["closed"] else f"{seconds(row['seconds'])} (gap {row['gap']:.0e})"


def ran(row):
    """The solvers that were asked: those up to the one that ended."""
    names = row["taken"]
    ended = "conic" if row["finished"] in CONIC_SOLVERS else row["finished"]
    return names[: names.index(ended) + 1] if ended in names else []


def compare(names, results, routes, arguments):
    """For each solver its rows with and without it, on the instances where it ran; instances that were not closed."""
    found, left = defaultdict(list), []
    for name in names:
        row = results.get(name, None, routes, arguments.limit, arguments.tol)
        if not row["closed"]:
            left.append(name)
            continue
        for solver in set(ran(row)) & set(arguments.solvers or row["taken"]):
            limit = min(arguments.limit, FOLLOWED * row["seconds"] + 1.0)
            found[solver].append((row, results.get(name, solver, routes, limit, arguments.tol)))
    return found, left


def ratio(row, without):
    """Seconds without a solver over seconds with it; infinite where the gap is not closed."""
    return max(without["seconds"], RESOLUTION) / max(row["seconds"], RESOLUTION) if without["closed"] else math.inf


def table(found, routes, examples):
    """A row for each solver of the table."""
    rows = []
    for solver in dict.fromkeys(route.solver.name for route in routes):
        pairs = sorted(found.get(solver, []), key=lambda pair: ratio(*pair), reverse=True)
        needed = [pair for pair in pairs if ratio(*pair) > SLOWER]
        closed = [pair for pair in pairs if pair[1]["closed"]]
        mean = math.exp(sum(math.log(ratio(*pair)) for pair in closed) / len(closed)) if closed else math.nan
        shown = [f"{row['instance']} {described(row)} / {described(without)}" for row, without in needed[:examples]]
        rows.append([
            solver, len(pairs), len(needed), len(pairs) - len(closed), f"{mean:.2f}" if closed else "-",
            "; ".join(shown) or "-",
        ])  # fmt: skip
    return markdown(["solver", "ran", "needed", "not closed", "mean ratio", "seconds with / without"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instances", nargs="+", default=["*"], help="names or patterns (default %(default)s)")
    parser.add_argument("--solvers", nargs="+", help="leave out these alone (default: each that ran)")
    parser.add_argument("--tol", type=float, default=1e-6, help="certified gap, or that of the file if it is larger")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds of the processor (default %(default)s)")
    parser.add_argument("--examples", type=int, default=3, help="instances shown for a solver (default %(default)s)")
    parser.add_argument("--json", type=Path, help="append every result to this file, and skip what is in it")
    add_threads_option(parser)
    parser.set_defaults(threads=1)
    arguments = parser.parse_args()
    limit_threads(arguments.threads)
    print(surroundings(), flush=True)
    warnings.simplefilter("ignore")
    try:
        names = chosen_instances(arguments.instances)
    except cm.errors.InputError as error:
        parser.error(str(error))
    found, left = compare(names, Results(arguments.json), ROUTES, arguments)
    print(f"\n{table(found, ROUTES, arguments.examples)}")
    if left:
        print(f"\nLeft out, as the default did not close the gap: {', '.join(left)}.")


if __name__ == "__main__":
    main()
