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
import math
import sys
import time
import warnings
from collections import defaultdict

from results import Results, add_library_options, begun
from tables import markdown, seconds

import convexmetric as cm
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


def without(results, name, solver, limit, tol):
    """The result of the default without a solver (None: with all)."""

    def make():
        routes = tuple(route for route in ROUTES if route.solver.name != solver)
        taken, least = stages(cm.load_problem(name), routes), cm.bench.load_instance(name).how["tol"]
        names = [one.name for one in taken]
        return {"instance": name, "taken": names, **measured(name, taken, limit, max(tol, least))}

    row = results.get({"instance": name, "without": solver, "tol": tol}, make)
    print(f"{name}, without {solver}: {described(row)} by {row['finished']}", file=sys.stderr, flush=True)
    return row


def described(row):
    """Seconds, and the gap where it is not closed."""
    return seconds(row["seconds"]) if row["closed"] else f"{seconds(row['seconds'])} (gap {row['gap']:.0e})"


def ran(row):
    """The solvers that were asked: those up to the one that ended."""
    names = row["taken"]
    ended = "conic" if row["finished"] in CONIC_SOLVERS else row["finished"]
    return names[: names.index(ended) + 1] if ended in names else []


def compare(names, results, arguments):
    """For each solver its rows with and without it, on the instances where it ran; instances that were not closed."""
    found, left = defaultdict(list), []
    for name in names:
        row = without(results, name, None, arguments.limit, arguments.tol)
        if not row["closed"]:
            left.append(name)
            continue
        for solver in set(ran(row)) & set(arguments.solvers or row["taken"]):
            limit = min(arguments.limit, FOLLOWED * row["seconds"] + 1.0)
            found[solver].append((row, without(results, name, solver, limit, arguments.tol)))
    return found, left


def ratio(row, left):
    """Seconds without a solver over seconds with it; infinite where the gap is not closed."""
    return max(left["seconds"], RESOLUTION) / max(row["seconds"], RESOLUTION) if left["closed"] else math.inf


def table(found, examples):
    """A row for each solver of the table."""
    rows = []
    for solver in dict.fromkeys(route.solver.name for route in ROUTES):
        pairs = sorted(found.get(solver, []), key=lambda pair: ratio(*pair), reverse=True)
        needed = [pair for pair in pairs if ratio(*pair) > SLOWER]
        closed = [pair for pair in pairs if pair[1]["closed"]]
        mean = math.exp(sum(math.log(ratio(*pair)) for pair in closed) / len(closed)) if closed else math.nan
        shown = [f"{row['instance']} {described(row)} / {described(left)}" for row, left in needed[:examples]]
        rows.append([
            solver, len(pairs), len(needed), len(pairs) - len(closed), f"{mean:.2f}" if closed else "-",
            "; ".join(shown) or "-",
        ])  # fmt: skip
    return markdown(["solver", "ran", "needed", "not closed", "mean ratio", "seconds with / without"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_library_options(parser, ["*"])
    parser.add_argument("--solvers", nargs="+", help="leave out these alone (default: each that ran)")
    parser.add_argument("--examples", type=int, default=3, help="instances shown for a solver (default %(default)s)")
    parser.set_defaults(threads=1)
    arguments, names = begun(parser)
    warnings.simplefilter("ignore")
    found, left = compare(names, Results(arguments.json), arguments)
    print(f"\n{table(found, arguments.examples)}")
    if left:
        print(f"\nLeft out, as the default did not close the gap: {', '.join(left)}.")


if __name__ == "__main__":
    main()
