"""Rankings of hundreds of thousands of rows on worker processes, from files, and what a million rows would take.

    python benchmarks/bench_million.py passes [--rows 200000] [--workers 1 2] [--passes 2]
    python benchmarks/bench_million.py solve [--rows 200000] [--workers 2] [--tol 1e-2]

The made set of bench_growth.py (16 features, 26 classes, C = 100, AUC), every row a query, written to a folder; workers
have one thread each. passes: seconds of a pass over all queries for every number of workers, and what that makes for a
million rows on 50 workers, as passes grow with the square of the rows. solve: the default, with the largest memory of
every process.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context

import numpy as np
from environment import surroundings
from made_sets import letters
from tables import markdown

import convexmetric as cm
from convexmetric.bench.processes import peak_bytes
from convexmetric.shards import ShardedRisk

#: Groups of cuts in a pass.
GROUPS = 64


@contextmanager
def processes(count: int) -> Iterator[tuple[ProcessPoolExecutor, list[int]]]:
    """Executor of worker processes, and their numbers."""
    with ProcessPoolExecutor(count, mp_context=get_context("spawn")) as pool:
        while len(pids := sorted(set(pool.map(pid, range(4 * count))))) < count:
            pass
        yield pool, pids


def pid(_: int) -> int:
    """Number of the process, after some time."""
    time.sleep(0.05)
    return os.getpid()


def passes(folder: str, arguments: argparse.Namespace) -> None:
    """Seconds of a pass by workers, and a forecast."""
    rng, rows, found = np.random.default_rng(0), [], []
    for count in arguments.workers:
        with processes(count) as (pool, _):
            risk = ShardedRisk(folder, shards=max(64, 8 * count)).on(pool)
            groups, taken = np.arange(risk.parts) % GROUPS, []
            # The first pass loads data and compiled loops.
            for _ in range(arguments.passes + 1):
                A = rng.standard_normal((16, 16))
                start = time.perf_counter()
                risk.separate(A @ A.T / 16.0, groups)
                taken.append(time.perf_counter() - start)
        found.append(count * min(taken[1:]))
        rows.append([f"{arguments.rows:,}", count, f"{min(taken[1:]):.1f}", f"{found[-1]:.0f}"])
        print(rows[-1], flush=True)
    print("\n" + markdown(["rows", "workers", "seconds a pass", "worker seconds"], rows))
    seconds = found[-1] * (1_000_000 / arguments.rows) ** 2 / 50
    print(f"\na million rows on 50 such workers: {seconds:.0f} s a pass")


def solve(folder: str, arguments: argparse.Namespace) -> None:
    """Solve by the default, and print what it took."""
    problem = cm.MetricProblem(ShardedRisk(folder, shards=128), cm.regularizers.Trace(1.0))
    for count in arguments.workers:
        with processes(count) as (pool, pids):
            found = cm.solve(problem, arguments.tol, backend=pool, callback=lambda p: print(p, flush=True))
            print(found)
            for number in pids:
                print(f"a worker: at most {peak_bytes(number) / 2**20:.0f} MiB")
    print(f"this process: at most {peak_bytes() / 2**20:.0f} MiB")


def main() -> None:
    """Write the set, and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["passes", "solve"])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--workers", type=int, nargs="+", default=[2])
    parser.add_argument("--measure", default="auc")
    parser.add_argument("--passes", type=int, default=2)
    parser.add_argument("--tol", type=float, default=1e-2)
    arguments = parser.parse_args()
    for name in ("NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ[name] = "1"
    print(surroundings(), flush=True)
    X, y = letters(arguments.rows)
    with tempfile.TemporaryDirectory() as folder:
        # Points in memory are written as they are; those that are not, from arrays of Dask (shards.write_labels).
        cm.shards.write(cm.RankingProblem.from_labels(X, y, measure=arguments.measure, C=100.0).risk, folder)
        del X, y
        {"passes": passes, "solve": solve}[arguments.what](folder, arguments)


if __name__ == "__main__":
    main()
