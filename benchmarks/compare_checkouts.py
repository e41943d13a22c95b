"""Two checkouts of the package on instances of the library, side by side in one run.

python benchmarks/compare_checkouts.py OTHER [--instances 'ranking-*'] [--tol 1e-6] [--limit 60] [--repeat 1]
    [--clock processor] [--json FILE]

OTHER is a folder with another version of the package, such as a `git worktree` of an earlier commit. Every instance is
solved by both, one after the other in a process of its own; compiled loops are warmed up by a first solve that does not
count. The table shows what each version certified, its rounding where it says so, and seconds; the last lines are the
geometric mean and the worst of the ratios of seconds, this one over OTHER. On a busy machine take seconds of the
processor, with one thread. OTHER may be laid out otherwise: only public names of the root are called.
"""

import argparse
import json
import math
import os
import subprocess
import sys
from pathlib import Path

from environment import add_threads_option, limit_threads, surroundings
from tables import markdown, ratio, seconds

from convexmetric.bench import chosen_instances
from convexmetric.errors import InputError

HERE = Path(__file__).resolve().parents[1]

RUN = """
import json, sys, time, warnings
import convexmetric as cm
name, tol, limit, repeat = sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
clock = time.process_time if sys.argv[5] == "processor" else time.perf_counter
warnings.simplefilter("ignore")
problem = cm.load_problem(name)
best = None
for attempt in range(repeat + 1):
    start = clock()
    solution = cm.solve(problem, tol=tol, max_seconds=limit)
    taken = clock() - start
    if attempt and (best is None or taken < best):
        best = taken
    if taken > 0.5 * limit:
        best = taken
        break
print(json.dumps({
    "package": cm.__file__,
    "lower": solution.lower_bound, "upper": solution.upper_bound, "gap": solution.gap, "status": solution.status,
    "iterations": solution.iterations, "solver": solution.solver, "seconds": best,
    "rounding": getattr(solution, "rounding", None),
}))
"""


def solved(root, name, arguments):
    """What the package in a folder makes of an instance; None if it fails."""
    environment = {**os.environ, "PYTHONPATH": str(root), "NUMBA_NUM_THREADS": str(arguments.threads)}
    given = name, arguments.tol, arguments.limit, arguments.repeat, arguments.clock
    command = [sys.executable, "-c", RUN, *map(str, given)]
    # Python looks in the current folder first.
    done = subprocess.run(command, env=environment, cwd=root, capture_output=True, text=True)
    if done.returncode:
        print(f"{root}: {name}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return None
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path)
    parser.add_argument("--instances", nargs="+", default=["*"], help="patterns of names")
    parser.add_argument("--tol", type=float, default=1e-6)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds a solve (default %(default)s)")
    parser.add_argument("--repeat", type=int, default=1, help="solves after the first, of which the fastest counts")
    parser.add_argument(
        "--clock", choices=["wall", "processor"], default="wall", help="what counts seconds (default %(default)s)"
    )
    parser.add_argument(
        "--json", type=Path, help="append every result to this file, and skip what it has by the same options"
    )
    add_threads_option(parser)
    arguments = parser.parse_args()
    other = arguments.other.resolve()
    if not (other / "convexmetric").is_dir():
        parser.error(f"{other} has no folder convexmetric")
    try:
        names = chosen_instances(arguments.instances)
    except InputError as error:
        parser.error(str(error))
    limit_threads(arguments.threads)
    print(surroundings(), flush=True)

    asked = {key: getattr(arguments, key) for key in ("tol", "limit", "repeat", "clock", "threads")}
    asked |= {"folder": str(other)}
    known = {}
    if arguments.json is not None and arguments.json.exists():
        lines = map(json.loads, arguments.json.read_text().splitlines())
        known = {row["name"]: row for row in lines if row.get("asked") == asked}
    rows, ratios = [], {}
    for name in names:
        found = known.get(name)
        if found is None:
            found = {"name": name, "asked": asked, "other": solved(other, name, arguments)}
            found["here"] = solved(HERE, name, arguments)
            if arguments.json is not None:
                with arguments.json.open("a") as file:
                    print(json.dumps(found), file=file)
        before, after = found["other"], found["here"]
        if before is None or after is None:
            rows.append([name, *(["-"] * 7)])
            continue
        ratios[name] = after["seconds"] / before["seconds"]
        relative = "-" if after["rounding"] is None else f"{after['rounding'] / abs(after['upper']):.0e}"
        rows.append([
            name, f"{before['gap']:.1e}", f"{after['gap']:.1e}", relative, seconds(before["seconds"]),
            seconds(after["seconds"]), ratio(after["seconds"], before["seconds"]),
            after["solver"] if after["solver"] == before["solver"] else f"{before['solver']} -> {after['solver']}",
        ])  # fmt: skip
        print(f"{name}: {rows[-1][1:]}", file=sys.stderr, flush=True)
    print(markdown(["instance", "gap before", "gap", "rounding / bound", "s before", "s", "ratio", "solver"], rows))
    if ratios:
        mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
        worst = max(ratios, key=ratios.__getitem__)
        print(f"\nratio of seconds: geometric mean {mean:.3f}, worst {ratios[worst]:.2f} ({worst})")


if __name__ == "__main__":
    main()
