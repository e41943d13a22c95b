"""Is the default the best route? Every solver of its stages, alone, beside it on the instances of the library.

python benchmarks/bench_routes.py [--instances '*'] [--limit 60] [--json FILE]

Each solve has a process of its own and `--limit` seconds; instances on which the default does not finish in them are
left out. The other solvers get no more than twice the wall time of the default and a second: whoever needs more is not
the better route. A solve before the clock starts loads compiled loops; solves of less than half a second are made three
times, of which the fastest counts.

Seconds are those of the processor, of all threads together, which other busy processes change less than those on the
wall; ratios still count only within one run. With `--json` every result is appended as soon as it is known, and is not
made again by the next call with the same file. By default the instances are those of wine, which take minutes; all of
them take hours.
"""

import argparse
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from results import Results, add_library_options, begun, ratios_in_words
from tables import markdown, ratio, seconds

import convexmetric as cm
from convexmetric.solvers.routes import ROUTES

DEFAULT = "exact"
#: Up to the first ratio the default counts as the best, above the second as beaten.
EQUAL, BEATEN = 1.05, 1.5
#: Seconds of the processor below which two solves are not told apart.
RESOLUTION = 0.01
#: Seconds for what a process does beside its measured solves: imports, data, the certificate after the limit.
START_UP = 120.0

RUN = """
import json, os, sys, time, warnings
from contextlib import suppress
import convexmetric as cm
name, solver, tol, limit = sys.argv[1], sys.argv[2], float(sys.argv[3]), float(sys.argv[4])
warnings.simplefilter("ignore")

def fits(other):
    try:
        return cm.solvers.SOLVERS[other]().unsupported(problem) is None
    except cm.errors.SolverNotInstalledError:
        return False

def solved():
    problem = cm.load_problem(name)
    wall, start = time.perf_counter(), time.process_time()
    solution = cm.solve(problem, tol=tol, solver=solver, max_seconds=limit)
    return time.process_time() - start, time.perf_counter() - wall, solution

problem = cm.load_problem(name)
with suppress(cm.errors.SolverError):
    cm.solve(problem, tol=tol, solver=solver, max_seconds=min(limit, 3.0))
try:
    taken, wall, solution = solved()
    for attempt in range(2 * (wall < 0.5)):
        taken, wall, solution = min((taken, wall, solution), solved(), key=lambda found: found[0])
    found = {
        "status": solution.status, "gap": solution.gap, "iterations": solution.iterations,
        "finished": solution.solver, "seconds": taken, "wall": wall,
    }
except cm.errors.SolverError as error:
    found = {"status": "failed", "message": str(error)}
load = round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None
print(json.dumps(found | {"load": load, "fits": [other for other in cm.solvers.SOLVERS if fits(other)]}))
"""


def run(name, solver, limit, arguments):
    """One solve in a process of its own: what it prints, or the status "limit" or "error"."""
    tol = max(arguments.tol, cm.bench.load_instance(name).how["tol"])
    command = [sys.executable, "-c", RUN, name, solver, str(tol), str(limit)]
    # Of this checkout; numba reads its threads when it is loaded, as the libraries that limit_threads has told.
    here = {"PYTHONPATH": str(Path(cm.__file__).parents[1]), "NUMBA_NUM_THREADS": str(arguments.threads)}
    patience = START_UP + 4.0 * limit
    try:
        done = subprocess.run(command, env=os.environ | here, capture_output=True, text=True, timeout=patience)
    except subprocess.TimeoutExpired:
        return {"status": "limit", "message": "did not stop at its limit"}
    if done.returncode:
        return {"status": "error", "message": "".join(done.stderr.strip().splitlines()[-1:])}
    return json.loads(done.stdout.splitlines()[-1])


def compare(results, name, solvers, arguments):
    """Run the default and, if it finishes, the others that fit; the results of all."""

    def get(solver, limit):
        asked = {"instance": name, "solver": solver, "tol": arguments.tol, "threads": arguments.threads}
        row = results.get(
            asked,
            lambda: {"solver": solver, "limit": limit, **run(name, solver, limit, arguments)},
            lambda row: row["status"] == "optimal" or (row["status"] != "error" and row["limit"] >= limit),
        )
        print(f"{name}, {solver}: {row['status']}, {seconds(row.get('seconds'))} s", file=sys.stderr, flush=True)
        return row

    first = get(DEFAULT, arguments.limit)
    if first["status"] != "optimal":
        return [first]
    limit = min(arguments.limit, 2.0 * first["wall"] + 1.0)
    return [first, *(get(solver, limit) for solver in solvers if solver in first["fits"])]


def table(compared):
    """A row for each instance on which the default finished, and its ratios of seconds over the best solver."""
    rows, ratios = [], {}
    for name, (first, *others) in compared.items():
        if first["status"] != "optimal":
            continue
        best = min([first, *(row for row in others if row["status"] == "optimal")], key=lambda row: row["seconds"])
        ratios[name] = max(first["seconds"], RESOLUTION) / max(best["seconds"], RESOLUTION)
        rows.append([
            name, first["finished"], seconds(first["seconds"]), best["solver"], seconds(best["seconds"]),
            ratio(ratios[name], 1.0), len(others),
        ])  # fmt: skip
    header = ["instance", "finished by", "default, s", "best", "best, s", "ratio", "others that fit"]
    return markdown(header, rows), ratios


def summary(compared, ratios):
    """How often the default is the best route, and where it is beaten."""
    unfinished = [f"{name} ({first['status']})" for name, (first, *_) in compared.items() if name not in ratios]
    lines = [f"Left out, as the default did not finish: {', '.join(unfinished)}."] if unfinished else []
    if not ratios:
        return "\n".join(lines)
    best = sum(value <= EQUAL for value in ratios.values())
    near = sum(value <= BEATEN for value in ratios.values())
    beaten = sorted((name for name in ratios if ratios[name] > BEATEN), key=ratios.__getitem__, reverse=True)
    lines += [
        f"Of {len(ratios)} instances the default is best (within {EQUAL:g}x) in {best}, within {BEATEN:g}x in {near}.",
        f"Seconds of the default over the best: {ratios_in_words(ratios)}.",
        f"Beaten by more than {BEATEN:g}x in {len(beaten)}:",
        *(f"- {name}, {ratios[name]:.2f}x" for name in beaten),
    ]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_library_options(parser, ["*-wine-*"])
    parser.add_argument("--solvers", nargs="+", help="instead of those of the default's stages")
    parser.add_argument("--jobs", type=int, default=1, help="instances side by side (default %(default)s)")
    parser.set_defaults(threads=1)
    arguments, names = begun(parser)
    solvers = arguments.solvers or [
        name for name in dict.fromkeys(route.solver.name for route in ROUTES) if name in cm.solvers.SOLVERS
    ]
    known = set(cm.solvers.SOLVERS) - {DEFAULT}
    if not set(solvers) <= known:
        parser.error(f"--solvers must be among {', '.join(sorted(known))}")
    results = Results(arguments.json)
    with ThreadPoolExecutor(arguments.jobs) as pool:
        found = pool.map(lambda name: compare(results, name, solvers, arguments), names)
        compared = dict(zip(names, found))
    lines, ratios = table(compared)
    print(f"\n{lines}\n\n{summary(compared, ratios)}")


if __name__ == "__main__":
    main()
