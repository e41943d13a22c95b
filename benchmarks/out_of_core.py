"""Solve for data of ten times the memory that a worker may have.

python benchmarks/out_of_core.py [--limit 512] [--times 10] [--d 32] [--folder FOLDER]

A folder of pieces is written, one in memory at a time: each has 40,000 points of its own and 5 queries that rank them.
A LocalCluster of two processes with a memory limit solves for it; Dask ends a worker that comes near its limit. Printed
are the peaks of every process, by the system's count.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from distributed import Client, LocalCluster
from environment import surroundings

import convexmetric as cm
from convexmetric.bench.processes import peak_bytes
from convexmetric.shards import write_pieces

POINTS, QUERIES = 40_000, 5
#: Bytes of data that a worker keeps from pass to pass: those of a piece.
CACHE = 2**24


def piece(number, d, C):
    """Points around ten centres that all pieces share, and queries to which those of their centre are relevant."""
    rng = np.random.default_rng(number)
    centres = 2.0 * np.random.default_rng(10**9).standard_normal((10, d)) / np.sqrt(d)
    y, asked = rng.integers(10, size=POINTS), rng.integers(10, size=QUERIES)
    X = rng.standard_normal((POINTS, d)) + centres[y]
    queries = rng.standard_normal((QUERIES, d)) + centres[asked]
    relevance = cm.comparisons.Relevance.between(asked, y)
    return cm.RankingProblem(X, relevance, queries=queries, measure="map", C=C).risk


def main():
    """Write, solve, and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=int, default=512, help="MiB of a worker")
    parser.add_argument("--times", type=float, default=10.0, help="size of the data, in limits of a worker")
    parser.add_argument("--d", type=int, default=32)
    parser.add_argument("--tol", type=float, default=1e-2)
    parser.add_argument("--folder", help="where to write; a temporary folder by default")
    arguments = parser.parse_args()
    print(surroundings("distributed"))
    count = round(arguments.times * arguments.limit * 2**20 / (POINTS * arguments.d * 8))
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        start = time.perf_counter()
        risk = write_pieces((piece(number, arguments.d, 10.0 / count) for number in range(count)), folder, cache=CACHE)
        size = sum(file.stat().st_size for file in Path(folder).rglob("*.npy"))
        print(
            f"{count} pieces, {size / 2**20:,.0f} MiB, written in {time.perf_counter() - start:.0f} s; "
            f"this process at most {peak_bytes() / 2**20:.0f} MiB",
            flush=True,
        )
        problem = cm.MetricProblem(risk, cm.regularizers.Trace(1.0))
        cluster = LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit=f"{arguments.limit}MiB",
            dashboard_address=":0",
            silence_logs="ERROR",
        )
        with cluster, Client(cluster) as client:
            workers = sorted(nanny.pid for nanny in cluster.workers.values())
            solution = cm.solve(problem, tol=arguments.tol, backend=client, callback=lambda p: print(p, flush=True))
            print(solution)
            print(f"{solution.seconds / (solution.iterations + 2):.1f} s a pass, with those of the certificate")
            for pid in (nanny.pid for nanny in cluster.workers.values()):
                print(f"a worker{'' if pid in workers else ' (a new one)'}: at most {peak_bytes(pid) / 2**20:.0f} MiB")
        print(f"this process: at most {peak_bytes() / 2**20:.0f} MiB")


if __name__ == "__main__":
    main()
