"""How large may a program be? Seconds of proving bounds, of writing the file and of its check, and memory.

python benchmarks/bench_program_size.py [--share 0.1] [--limit 600] [NAME ...]

Each program runs in a process of its own; *peak* is the most memory that this held, CVXPY and the solver with it.
"""

import argparse
import multiprocessing
import tempfile
import time
from pathlib import Path

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from convex_programs import PROGRAMS as CONVEX
from environment import add_threads_option, limit_threads, surroundings
from tables import markdown

import convexmetric as cm
from convexmetric.bench.processes import peak_bytes


def least_squares(rng, share):
    V, c = rng.standard_normal((int(30_200 * share), 3)), cp.Variable(3, name="c")
    return cp.Problem(cp.Minimize(cp.sum_squares(rng.standard_normal(len(V)) - V @ c)))


def linear(rng, share, kind, rows=5_000, columns=10_000):
    m, n = int(rows * share), int(columns * share)
    places = np.concatenate([rng.choice(m, 5, replace=False) for _ in range(n)]), np.repeat(np.arange(n), 5)
    A = sp.csc_array((rng.uniform(0.5, 1.5, 5 * n), places), shape=(m, n))
    x, costs = cp.Variable(n, nonneg=kind != "box", name="x"), rng.uniform(0.5, 1.5, n)
    if kind == "equations":
        return cp.Problem(cp.Minimize(costs @ x), [A @ x == A @ rng.uniform(0.0, 1.0, n)])
    return cp.Problem(cp.Maximize(costs @ x), [A @ x <= rng.uniform(1.0, 2.0, m), *[x >= -1, x <= 1] * (kind == "box")])


PROGRAMS = {
    "least squares": least_squares,
    "logistic regression": lambda rng, share: CONVEX["logistic regression"].build(rng, int(400 * share)),
    "linear, inequalities": lambda rng, share: linear(rng, share, "inequalities"),
    "linear, equations": lambda rng, share: linear(rng, share, "equations", rows=2_000),
    "linear, box": lambda rng, share: linear(rng, share, "box"),
}


def measured(name, given, path, line):
    limit_threads(given.threads)
    problem, clock = PROGRAMS[name](np.random.default_rng(0), given.share), [time.perf_counter()]
    try:
        certificate = cm.certify_program(problem)
        clock.append(time.perf_counter())
        cm.write_certificate(path, certificate)
        clock.append(time.perf_counter())
        sizes = [f"{size:,}" for size in cm.verify(path).sizes.values()]
        seconds = [f"{each:.1f}" for each in np.diff([*clock, time.perf_counter()])]
        mib = [f"{number / 2**20:,.1f}" for number in (path.stat().st_size, peak_bytes())]
        line.send([*sizes, f"{certificate.gap:.0e}", *seconds, *mib])
    except Exception as error:
        line.send([f"{type(error).__name__}: {error}"[:80], *[""] * 7])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", default=[*PROGRAMS])
    parser.add_argument("--share", type=float, default=1.0, help="size of programs (default %(default)s)")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds of a program (default %(default)s)")
    add_threads_option(parser)
    given, table, context = parser.parse_args(), [], multiprocessing.get_context("spawn")
    print(surroundings("cvxpy", "clarabel"), flush=True)
    for name in given.names:
        line, end = context.Pipe(duplex=False)
        with tempfile.TemporaryDirectory() as folder:
            process = context.Process(target=measured, args=(name, given, Path(folder) / "c.npz", end))
            process.start()
            process.join(given.limit)
            process.kill()
        table.append([name, *(line.recv() if line.poll() else [f"not in {given.limit:g} s", *[""] * 7])])
    print(markdown(["program", "n", "m", "gap", "certify s", "write s", "verify s", "MiB", "peak MiB"], table))


if __name__ == "__main__":
    main()
