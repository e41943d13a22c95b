"""Shards on a cluster of Dask ``distributed``.

The argument of a pass is sent once, as a task of its own. Every shard is a task, or a run of consecutive shards if
these far outnumber the workers, and so is every node of the tree of sums. One result comes back. Any worker can repeat
any of these tasks, including the argument; scattered data could not be recomputed after the last worker that held them
died. When a worker dies, the scheduler repeats the tasks whose results it held. This module gives up shards that
repeatedly kill their workers or are not done in time, restarts a pass after the scheduler was away, and raises an error
if the scheduler does not come back.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from time import monotonic, sleep, time
from typing import Any

from convexmetric.arguments import check_positive_number
from convexmetric.deadline import check_deadline, seconds_left
from convexmetric.errors import BackendError, InputError, SolverNotInstalledError
from convexmetric.shards.backends import PASS_SECONDS, RETRIES, Backend
from convexmetric.shards.folder import Shard
from convexmetric.shards.sums import Partial, Task, Tree, add, cut, evaluate_run, level_of, lost

#: Seconds between checks whether the scheduler is back.
PAUSE = 0.2
#: Seconds between checks for running workers, and longest time without one.
LOOK, PATIENCE = 5.0, 300.0
#: Seconds for fetching finished results when the time of a pass is over.
LAST_SUM = 60.0


class DaskBackend(Backend):
    """Backend of a running Dask cluster.

    Parameters
    ----------
    client : distributed.Client or str
        A client, the address of a scheduler, or ``"dask"`` for the current client. Workers need this package,
        and the files of the shards under the same path.
    seconds : float
        Time for a pass: shards that are not done by then are lost to it.
    patience : float
        Seconds to wait for a worker if none takes tasks.

    Raises
    ------
    InputError
        If there is no such client.
    SolverNotInstalledError
        If Dask is not installed.
    """

    def __init__(self, client: Any, *, seconds: float = PASS_SECONDS, patience: float = PATIENCE) -> None:
        check_positive_number(seconds, "seconds")
        check_positive_number(patience, "patience")
        try:
            import distributed
        except ImportError as error:
            raise SolverNotInstalledError("backend: pip install 'convexmetric[dask]'") from error
        named = client
        try:
            if named == "dask":
                client = distributed.get_client()
            elif isinstance(named, str):
                client = distributed.Client(named, set_as_default=False)
        except (ValueError, OSError) as error:
            raise InputError(f"backend: {named!r} leads to no Dask client or scheduler ({error})") from error
        if not isinstance(client, distributed.Client) or client.asynchronous:
            raise InputError("backend must be a distributed.Client that is not asynchronous, an address, or 'dask'")
        self.client = client
        self._opened = isinstance(named, str) and named != "dask"
        self.seconds, self.patience = float(seconds), float(patience)

    def close(self) -> None:
        """Close a client that was opened here."""
        if self._opened:
            self.client.close()

    def total(self, task: Task, shards: Sequence[Shard], argument: Any) -> Partial:
        """Submit a task for each shard, or run of neighbours where shards far outnumber workers, and for each sum."""
        return _Pass(self, task, shards, argument).total()


class _Pass:
    """One pass: the tasks of its shards, and their results."""

    def __init__(self, backend: DaskBackend, task: Task, shards: Sequence[Shard], argument: Any) -> None:
        self.client, self.task, self.shards, self.argument = backend.client, task, shards, argument
        self.patience, self.seen_working = backend.patience, monotonic()
        self.seconds, limit = backend.seconds, min(backend.seconds, seconds_left())
        self.deadline, self.until = monotonic() + limit, time() + limit
        #: Runs of shards, a task each, and the level of the tree of sums that these tasks form.
        self.runs: list[list[Shard]] = []
        self.level = 0
        #: Future of each run, by the number of its first shard; a ``Partial`` if the run is lost.
        self.leaves: dict[int, Any] = {}
        self.failures = {shard.number: 0 for shard in shards}

    def total(self) -> Partial:
        """Submit and retry until every shard is done or lost; returns the sum."""
        while True:
            try:
                self._submit()
                return self._result(self._root())
            except Exception as error:
                # OSError covers TimeoutError and the connection errors of distributed.
                if isinstance(error, CancelledError | OSError) or self.client.status != "running":
                    self._check_scheduler(error)
                elif not self._forgive(error):
                    raise
            if monotonic() >= self.deadline:
                # Tasks are cancelled when nobody holds their futures.
                check_deadline()
                return self._what_is_there()

    def _submit(self) -> None:
        """Submit the runs that are not yet submitted, done or lost."""
        if not self.runs:
            self.level = level_of(len(self.shards), sum(self._running().values()))
            self.runs = cut(self.shards, self.level)
        missing = [run for run in self.runs if run[0].number not in self.leaves]
        if missing:
            sent = self.client.submit(_same, self.argument, pure=False)
            task, until = self.task, self.until
            futures = self.client.map(evaluate_run, missing, task=task, argument=sent, until=until, pure=False)
            self.leaves |= {run[0].number: future for run, future in zip(missing, futures, strict=True)}

    def _root(self) -> Any:
        """Submit the tree of sums; returns the future of its root."""
        nodes = [self.leaves[run[0].number] for run in self.runs]
        while True:
            # Sums have priority over shards, as they free the memory of their terms.
            nodes = self.client.map(add, cut(nodes, 1), pure=False, priority=1)
            if len(nodes) == 1:
                return nodes[0]

    def _running(self) -> dict[str, int]:
        """Number of threads of each worker that takes tasks."""
        return self.client.sync(self.client.scheduler.ncores_running)

    def _result(self, root: Any) -> Partial:
        """Wait for the sum up to the deadline, checking now and then that workers are running."""
        while True:
            left = self.deadline - monotonic()
            try:
                return root.result(timeout=max(0.0, min(left, LOOK)))
            except TimeoutError:
                if left <= LOOK:
                    raise
            self._check_workers()

    def _check_workers(self) -> None:
        """Raise an error if no worker has taken tasks for too long; workers near their memory limit are paused."""
        if self._running():
            self.seen_working = monotonic()
        elif monotonic() - self.seen_working > self.patience:
            raise BackendError(
                f"the Dask cluster has had no worker that takes tasks for {self.patience:g} s: none is left, or all "
                "are paused because they are near their memory limit (then give workers more memory, or cut the risk "
                "into more shards and keep less of it: ShardedRisk(folder, shards=..., cache=...))"
            )

    def _check_scheduler(self, error: BaseException) -> None:
        """Wait for the scheduler to come back, and forget tasks that it no longer knows."""
        while self.client.status == "connecting" and monotonic() < self.deadline:
            sleep(PAUSE)
        if self.client.status != "running":
            raise BackendError(
                "the scheduler of the Dask cluster is gone; start a cluster and call again, with checkpoint=path to go "
                "on from where the solve stood"
            ) from error
        for number, leaf in list(self.leaves.items()):
            if not isinstance(leaf, Partial) and leaf.status in ("cancelled", "lost"):
                del self.leaves[number]

    def _what_is_there(self) -> Partial:
        """Sum the results available so far, in this process, as a worker might hang."""
        tree, end = Tree(len(self.shards)), monotonic() + LAST_SUM
        for run in self.runs or cut(self.shards, 0):
            leaf = self.leaves.get(run[0].number)
            tree.put(run[0].number, leaf if isinstance(leaf, Partial) else self._fetched(run, leaf, end), self.level)
        return tree.root

    def _fetched(self, run: list[Shard], future: Any, end: float) -> Partial:
        if future is not None and future.status == "finished":
            with suppress(OSError, CancelledError):
                return future.result(timeout=max(0.0, end - monotonic()))
        return lost(run, f"not done within {self.seconds:g} s")

    def _forgive(self, error: Exception) -> bool:
        """Whether workers died, rather than the task failing; marks shards whose workers died too often as lost."""
        from distributed import KilledWorker

        if not isinstance(error, KilledWorker):
            return False
        if self.level:
            # To find the failing shard of a run, submit each shard as a task of its own.
            self.level, self.runs = 0, cut(self.shards, 0)
            self.leaves.clear()
            return True
        for shard in self.shards:
            leaf = self.leaves[shard.number]
            if not isinstance(leaf, Partial) and leaf.status == "error":
                del self.leaves[shard.number]
                self.failures[shard.number] += 1
                if self.failures[shard.number] > RETRIES:
                    self.leaves[shard.number] = lost([shard], error)
        return True


def _same(argument: Any) -> Any:
    """Identity, as a task: holds the argument of a pass on the cluster."""
    return argument
