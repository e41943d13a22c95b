"""What a cluster costs: overhead of Dask, of shards, and how many workers a driver can keep busy.

    python benchmarks/bench_cluster.py [overhead] [shards] [workers] [master] [--sizes 8000x64] [--keep-memory]

overhead: a pass over rankings on a LocalCluster of two workers with one thread each, beside two threads in one process:
the risk in memory, and the same shards on a ThreadPoolExecutor. Processor seconds are those of all processes.
shards: the same pass cut into more and more shards.
workers: a pass of 100 and 1,000 shards that take a set time each on up to 1,000 simulated workers, with cuts of the
real size: processor seconds of the driver, and what it sends and gets where workers are processes; and tasks that do
nothing, on Dask.
master: what the driver does between two passes.
"""

from __future__ import annotations

import argparse
import pickle
import tempfile
import threading
import time
import warnings
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from heapq import heappop, heappush
from itertools import product
from typing import Any

import dask
import numpy as np
from environment import add_threads_option, limit_threads, surroundings
from tables import markdown

import convexmetric as cm
from convexmetric.shards import ShardedRisk, as_backend, write

GROUPS = 32


def problem(n: int, d: int) -> cm.RankingProblem:
    """Ten clusters that overlap; every point ranks the others."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 10
    X = rng.standard_normal((n, d)) + 1.5 * rng.standard_normal((10, d))[y] / np.sqrt(d)
    return cm.RankingProblem.from_labels(X, y, measure="map", C=100.0)


def cluster() -> Any:
    from distributed import Client, LocalCluster

    workers = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs="ERROR")
    return workers, Client(workers)


def times(risks: dict[str, Any], client: Any, passes: int) -> dict[str, tuple[float, float, float]]:
    """Least and median wall seconds, and median processor seconds, of a pass; the passes take turns."""

    def processors() -> float:
        return time.process_time() + sum(client.run(time.process_time).values())

    rng = np.random.default_rng(1)
    first = next(iter(risks.values()))
    groups = np.arange(first.parts) * GROUPS // first.parts
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in risks}
    for _ in range(passes + 1):
        A = rng.standard_normal((first.cone.d, first.cone.d))
        M = A @ A.T / first.cone.d
        for name, risk in risks.items():
            wall, processor = time.perf_counter(), processors()
            risk.separate(M, groups)
            found[name].append((time.perf_counter() - wall, processors() - processor))
    # The first one loads the data.
    rows = {name: np.array(pairs[1:]) for name, pairs in found.items()}
    return {name: (r[:, 0].min(), np.median(r[:, 0]), np.median(r[:, 1])) for name, r in rows.items()}


def overhead(passes: int, sizes: list[tuple[int, int]]) -> None:
    workers, client = cluster()
    rows = []
    with workers, client, ThreadPoolExecutor(2) as pool, tempfile.TemporaryDirectory() as folder:
        for n, d in sizes:
            risk = problem(n, d).risk
            sharded = write(risk, f"{folder}/{n}-{d}")
            risks = {
                "in memory, two threads": risk,
                "64 shards, two threads": sharded.on(pool),
                "64 shards, two workers": sharded.on(client),
            }
            found = times(risks, client, passes)
            base = found["64 shards, two threads"]
            for name, row in found.items():
                more = [f"{a:.3f} ({a / b - 1.0:+.0%})" for a, b in zip(row, base)]
                rows.append([f"n = {n:,}, d = {d}: {name}", *more])
    print(markdown(["a pass", "least seconds", "median", "processor seconds"], rows), flush=True)


def shards(passes: int) -> None:
    workers, client = cluster()
    with workers, client, tempfile.TemporaryDirectory() as folder:
        for d in (64, 784):
            risk = problem(4_000, d).risk
            write(risk, f"{folder}/{d}")
            counts = (2, 8, 32, 64, 128, 256, 512, 1_000)
            risks = {str(count): ShardedRisk(f"{folder}/{d}", shards=count).on(client) for count in counts}
            found = times(risks, client, passes)
            rows = [[name, *(f"{value:.3f}" for value in row)] for name, row in found.items()]
            print(f"\nn = 4,000, d = {d}\n")
            print(markdown(["shards", "least seconds", "median", "processor seconds"], rows), flush=True)


class Simulated(Executor):
    """Workers that take a set time for a shard; what comes back is made once, and there in advance."""

    def __init__(self, workers: int, seconds: float) -> None:
        self.free, self._max_workers = [0.0] * workers, workers
        self.seconds = seconds
        self.due: list[tuple[float, int, Future[Any], Any]] = []
        self.more = threading.Condition()
        self.count = 0
        self.made: dict[int, Any] = {}
        threading.Thread(target=self._clock, daemon=True).start()

    def submit(self, function: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        run = arguments[0]
        if run[0].number not in self.made:
            self.made[run[0].number] = function(*arguments)
        seconds = self.seconds * len(run)
        start = max(time.perf_counter(), heappop(self.free))
        heappush(self.free, start + seconds)
        with self.more:
            self.count += 1
            heappush(self.due, (start + seconds, self.count, future, self.made[run[0].number]))
            self.more.notify()
        return future

    def _clock(self) -> None:
        while True:
            with self.more:
                while not self.due or self.due[0][0] > time.perf_counter():
                    self.more.wait(self.due[0][0] - time.perf_counter() if self.due else None)
                _, _, future, result = heappop(self.due)
            future.set_result(result)


class Unit:
    """A shard that is only a number."""

    def __init__(self, number: int, count: int, size: int) -> None:
        self.number, self.count, self.size = number, count, size


NORMALS: dict[int, np.ndarray] = {}


def cuts(unit: Unit, argument: np.ndarray) -> dict[int, tuple[Any, ...]]:
    """Cuts of the groups that a shard has parts of, of the size that they have."""
    normal = NORMALS.setdefault(unit.size, np.ones(unit.size))
    first, last = unit.number * GROUPS // unit.count, ((unit.number + 1) * GROUPS - 1) // unit.count
    return dict.fromkeys(range(first, min(last, GROUPS - 1) + 1), (1.0, 1.0, 1.0, normal))


def units(count: int, d: int) -> list[Unit]:
    return [Unit(number, count, d * (d + 1) // 2) for number in range(count)]


def mebibytes(*things: Any) -> float:
    return sum(len(pickle.dumps(thing)) for thing in things) / 2**20


def workers(passes: int) -> None:
    rows = []
    for d, count, simulated, seconds in product((64, 784), (100, 1_000), (10, 100, 1_000), (0.1,)):
        pool, M = Simulated(simulated, seconds), np.eye(d)
        backend, taken = as_backend(pool), []
        for _ in range(passes + 1):
            start, own = time.perf_counter(), time.thread_time()
            backend.total(cuts, units(count, d), M)
            taken.append((time.perf_counter() - start, time.thread_time() - own))
        wall, own = np.median(taken[1:], axis=0)
        tasks, ideal = len(pool.made), seconds * -(-count // simulated)
        sent, back = tasks * mebibytes(M), mebibytes(*pool.made.values())
        row = [f"{wall - ideal:.2f}", f"{own:.2f}", f"{sent:,.0f}", f"{back:,.0f}"]
        rows.append([d, f"{count:,}", f"{simulated:,}", tasks, f"{ideal:.1f}", *row])
    print("\nAny executor, 0.1 s a shard; a message that processes would get: sums made by the driver\n")
    columns = ["d", "shards", "workers", "tasks", "ideal seconds", "above it", "driver", "MiB sent", "MiB back"]
    print(markdown(columns, rows), flush=True)
    running, client = cluster()
    rows = []
    with running, client:
        for d, count in product((64, 784), (32, 100, 300, 1_000)):
            backend, M, taken = as_backend(client), np.eye(d), []
            for _ in range(passes + 1):
                start, process, own = time.perf_counter(), time.process_time(), time.thread_time()
                backend.total(cuts, units(count, d), M)
                ends = time.perf_counter(), time.process_time(), time.thread_time()
                taken.append([ends[0] - start, ends[1] - process, ends[2] - own])
            wall, process, own = np.median(taken[1:], axis=0)
            rows.append(
                [d, f"{count:,}", f"{wall:.2f}", f"{process:.2f}", f"{own:.3f}", f"{1e3 * process / count:.1f}"]
            )
    print("\nDask, two workers, shards that take no time: sums made by the workers\n")
    columns = ["d", "shards", "a pass, seconds", "driver and scheduler", "driver alone", "milliseconds a shard"]
    print(markdown(columns, rows), flush=True)


class Timed(cm.risks.RankingRisk):
    """Remembers how long its passes took."""

    def __init__(self, *of: Any) -> None:
        super().__init__(*of)
        self.spent: list[float] = []

    def separate(self, M: Any, groups: Any) -> Any:
        start = time.perf_counter()
        found = super().separate(M, groups)
        self.spent.append(time.perf_counter() - start)
        return found


def master(passes: int) -> None:
    rows = []
    for d in (64, 784):
        whole = problem(2_000, d)
        timed = Timed(whole.risk.rankings, whole.measure, whole.C)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cm.errors.GapWarning)
            solution = cm.solve(cm.MetricProblem(timed, whole.regularizer), max_iter=10 * passes)
        inside = sum(timed.spent[: solution.iterations])
        between = (solution.history[-1].seconds - inside) / solution.iterations
        rows.append([f"d = {d}", solution.iterations, f"{between:.2f}", f"{solution.gap:.1e}"])
    print(markdown(["", "passes", "seconds of the driver a pass", "gap"], rows), flush=True)


def main() -> None:
    """Print the tables that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_threads_option(parser)
    names = ["overhead", "shards", "workers", "master"]
    parser.add_argument("tables", nargs="*", choices=[*names, []], default=names)
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--sizes", nargs="+", default=["2000x64", "8000x64", "4000x784"], help="of overhead, n x d")
    parser.add_argument("--keep-memory", action="store_true", help="workers keep what they give free")
    arguments = parser.parse_args()
    limit_threads(arguments.threads)
    if arguments.keep_memory:
        spawned = "distributed.nanny.pre-spawn-environ."
        names = {"MALLOC_TRIM_THRESHOLD_": 2**28, "MALLOC_MMAP_THRESHOLD_": 2**25}
        dask.config.set({spawned + name: value for name, value in names.items()})
    print(surroundings("distributed"))
    if "overhead" in arguments.tables:
        overhead(arguments.passes, [(int(n), int(d)) for n, d in (size.split("x") for size in arguments.sizes)])
    if "shards" in arguments.tables:
        shards(arguments.passes)
    if "workers" in arguments.tables:
        workers(arguments.passes)
    if "master" in arguments.tables:
        master(arguments.passes)


if __name__ == "__main__":
    main()
