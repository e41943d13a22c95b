"""Kill workers of a Dask cluster with SIGKILL at random while it solves; every solve must end at the same bounds.

python benchmarks/cluster_kill_test.py [--runs 20] [--workers 3] [--every 3] [--kills 5] [--n 2000] [--d 16]

A LocalCluster of processes solves the same problem again and again, and every few seconds one of them is killed, up to
a few times a run: a new process imports for seconds, and a cluster whose workers never live that long does nothing. In
one run all but one are killed at once. In the last the scheduler, which is a process of its own, is killed: the solve
ends with an error, and the same call on another cluster goes on from the checkpoint. A run that takes ten times as
long as an undisturbed one and five minutes is a hang.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from distributed import Client, LocalCluster, Status

import convexmetric as cm
from convexmetric.errors import BackendError
from convexmetric.shards import ShardedRisk, write


def problem(folder, n, d):
    """Rankings in a folder, with a trace."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 10
    X = rng.standard_normal((n, d)) + 1.5 * rng.standard_normal((10, d))[y] / np.sqrt(d)
    whole = cm.RankingProblem.from_labels(X, y, measure="map", C=10.0)
    write(whole.risk, folder)
    return cm.MetricProblem(ShardedRisk(folder, shards=16), whole.regularizer)


class Killer(threading.Thread):
    """Kills one process of a cluster every few seconds, a few in all; or all but one, once."""

    def __init__(self, cluster, every, most, all_but_one):
        super().__init__(daemon=True)
        self.cluster, self.every, self.most, self.all_but_one = cluster, every, most, all_but_one
        self.ended, self.killed = threading.Event(), 0

    def run(self):
        while self.killed < self.most and not self.ended.wait(random.expovariate(1.0 / self.every)):
            # Whose process dies while it starts is given up by its nanny, and never replaced.
            victims = [nanny.pid for nanny in self.cluster.workers.values() if nanny.status is Status.running]
            random.shuffle(victims)
            for pid in victims[1:] if self.all_but_one else victims[:1]:
                try:
                    os.kill(pid, signal.SIGKILL)
                    self.killed += 1
                except ProcessLookupError:
                    pass
            if self.all_but_one:
                return


def solve(there, backend, limit, **options):
    """Solution and seconds; an error after the limit, which would be a hang."""
    signal.signal(signal.SIGALRM, lambda *_: sys.exit("A HANG"))
    signal.alarm(int(limit))
    start = time.perf_counter()
    try:
        return cm.solve(there, tol=1e-3, backend=backend, **options), time.perf_counter() - start
    finally:
        signal.alarm(0)


def with_kills(there, arguments, limit, all_but_one):
    """One solve while workers are killed; how many were."""
    cluster = LocalCluster(
        n_workers=arguments.workers, threads_per_worker=1, dashboard_address=":0", silence_logs="CRITICAL"
    )
    with cluster, Client(cluster) as client:
        killer = Killer(cluster, arguments.every, arguments.kills, all_but_one)
        killer.start()
        try:
            return *solve(there, client, solver=limit), killer.killed
        finally:
            killer.ended.set()
            killer.join()


class Processes:
    """A scheduler and workers that are processes of their own."""

    def __init__(self, folder, workers):
        file = Path(folder) / f"scheduler-{time.time_ns()}.json"
        run = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--no-dashboard", "--port", "0"]
        self.scheduler = subprocess.Popen([*run, "--scheduler-file", str(file)], stderr=subprocess.DEVNULL)
        run = [sys.executable, "-m", "distributed.cli.dask_worker", "--no-dashboard", "--nthreads", "1"]
        run += ["--scheduler-file", str(file), "--death-timeout", "10"]
        self.workers = [subprocess.Popen(run, stderr=subprocess.DEVNULL) for _ in range(workers)]
        while not file.exists():
            time.sleep(0.1)
        self.client = Client(scheduler_file=str(file), timeout=10)
        self.client.wait_for_workers(workers, timeout=120)

    def end(self):
        self.client.close()
        for process in (*self.workers, self.scheduler):
            process.terminate()
            process.wait()


def without_scheduler(there, arguments, limit, folder):
    """The scheduler is killed in the fifth pass; another cluster goes on from the checkpoint."""
    path = Path(folder) / "state.npz"
    first = Processes(folder, arguments.workers)

    def callback(progress):
        if progress.iteration == 5:
            first.scheduler.kill()

    try:
        solve(there, first.client, solver=limit, callback=callback, checkpoint=path)
        sys.exit("THE SCHEDULER WAS KILLED, BUT THE SOLVE ENDED")
    except BackendError as error:
        print(f"  {error}")
    finally:
        first.end()
    second = Processes(folder, arguments.workers)
    try:
        return *solve(there, second.client, solver=limit, checkpoint=path), 1
    finally:
        second.end()


def main():
    """Print a line a run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument("--every", type=float, default=3.0, help="mean seconds between two kills")
    parser.add_argument("--kills", type=int, default=5, help="at most, in a run")
    parser.add_argument("--n", type=int, default=2_000)
    parser.add_argument("--d", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        there = problem(Path(folder) / "risk", arguments.n, arguments.d)
        expected, seconds = solve(there, None, solver=3600)
        bounds = expected.lower_bound, expected.upper_bound, expected.iterations
        print(
            f"undisturbed, in this process: {bounds[0]!r} {bounds[1]!r}, {bounds[2]} passes, {seconds:.0f} s",
            flush=True,
        )
        limit = max(300.0, 10.0 * seconds)
        wrong = kills = 0
        for run in range(arguments.runs):
            if run + 1 < arguments.runs:
                found, seconds, killed = with_kills(there, arguments, limit, run == 1)
                # Sums are the same bits whoever made them: so are the solves.
                same = (found.lower_bound, found.upper_bound, found.iterations) == bounds
                name = "all but one" if run == 1 else "workers"
            else:
                found, seconds, killed = without_scheduler(there, arguments, limit, folder)
                same = found.gap <= found.tol and found.lower_bound <= bounds[1] and bounds[0] <= found.upper_bound
                name = "scheduler"
            wrong, kills = wrong + (not same), kills + killed
            said = "the same bounds" if same else f"OTHER BOUNDS {found.lower_bound!r} {found.upper_bound!r}"
            print(
                f"run {run + 1:2d}: {name}, {killed} killed, gap {found.gap:.1e}, {seconds:.0f} s: {said}", flush=True
            )
        print(f"{arguments.runs} runs, {kills} kills, {wrong} wrong")
    raise SystemExit(wrong > 0)


if __name__ == "__main__":
    main()
