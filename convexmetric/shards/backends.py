"""The interface between solvers and engines that evaluate shards: a single operation.

A :class:`Backend` maps a function over shards with one argument for all and adds up what comes back. Shards are small
descriptions and functions are module-level: no engine ever gets an array of data, a closure or an actor, and any task
can be repeated anywhere. Any object with the ``submit`` of ``concurrent.futures`` executors works as an engine
(threads, processes, MPI's ``mpi4py.futures``); any other needs a subclass with one method.
"""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from time import monotonic, time
from typing import Any

from convexmetric.arguments import check_positive_number
from convexmetric.deadline import seconds_left, until_deadline
from convexmetric.errors import BackendError, InputError
from convexmetric.numerics.threads import one_thread
from convexmetric.shards.folder import Shard
from convexmetric.shards.sums import Partial, Task, Tree, cut, evaluate, evaluate_run, level_of, lost

#: Default time limit of a pass over the shards, in seconds.
PASS_SECONDS = 3600.0
#: Number of retries of a shard within a pass after its process died.
RETRIES = 2


class Backend(ABC):
    """Protocol of engines that evaluate shards and add up the results."""

    @abstractmethod
    def total(self, task: Task, shards: Sequence[Shard], argument: Any) -> Partial:
        """Sum ``task(shard, argument)`` over shards numbered 0, 1, 2, ...; the result lists the lost ones.

        The sum is that of a fixed binary tree, whatever order tasks end in. A shard is lost when its data cannot be
        read, when its process died repeatedly, or when the time for a pass is over, or that of the solve
        (``convexmetric.deadline.seconds_left``). Any other error of the task is raised.

        Raises
        ------
        BackendError
            If the engine itself is gone.
        """

    def close(self) -> None:  # noqa: B027 - most have nothing to release
        """Release resources that were opened here; those that the user opened stay open."""


class Serial(Backend):
    """Backend that evaluates one shard after the other in this process."""

    def total(self, task: Task, shards: Sequence[Shard], argument: Any) -> Partial:
        """Evaluate the shards in order, and sum the results."""
        tree = Tree(len(shards))
        for shard in until_deadline(shards):
            tree.put(shard.number, evaluate(shard, task, argument))
        return tree.root


class Executors(Backend):
    """Backend of any executor of ``concurrent.futures``; sums are made in this process as results come in.

    Parameters
    ----------
    executor : concurrent.futures.Executor, or callable
        A pool; or a function without arguments that makes one. A pool of processes breaks for good when one of them is
        killed: a function is then called for a new pool.
    seconds : float
        Time for a pass: shards that are not done by then are lost to it.

    Raises
    ------
    InputError
        If an argument is malformed.
    """

    def __init__(self, executor: Executor | Callable[[], Executor], *, seconds: float = PASS_SECONDS) -> None:
        check_positive_number(seconds, "seconds")
        self._make = None if isinstance(executor, Executor) else executor
        self._pool = executor if isinstance(executor, Executor) else self._made()
        self._seconds = float(seconds)

    def _made(self) -> Executor:
        assert self._make is not None
        pool = self._make()
        if not isinstance(pool, Executor):
            raise InputError(f"backend: the function must return an executor, got {type(pool).__name__}")
        return pool

    def close(self) -> None:
        """Shut down a pool that was made here."""
        if self._make is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)

    def total(self, task: Task, shards: Sequence[Shard], argument: Any) -> Partial:
        """Submit a task for each shard, or for each run of consecutive shards if these far outnumber the workers.

        After a process died, its shards are submitted one by one.
        """
        tree, deadline = Tree(len(shards)), monotonic() + min(self._seconds, seconds_left())
        waiting, level = shards, level_of(len(shards), getattr(self._pool, "_max_workers", 0))
        for _ in range(RETRIES + 1):
            with one_thread():
                waiting = self._round(task, waiting, level, argument, tree, deadline)
            if not waiting:
                return tree.root
            if self._make is None:
                raise BackendError(
                    "a process of the executor died, and with it the executor: processes may be short of memory, or "
                    "were started by fork after threads (use ProcessPoolExecutor(mp_context="
                    "multiprocessing.get_context('spawn'))). Give a function that makes an executor, and it is "
                    "replaced: backend=lambda: ProcessPoolExecutor(...)"
                )
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool, level = self._made(), 0
        for shard in waiting:
            tree.put(shard.number, lost([shard], f"its process died {RETRIES + 1} times"))
        return tree.root

    def _round(
        self, task: Task, shards: Sequence[Shard], level: int, argument: Any, tree: Tree, deadline: float
    ) -> list[Shard]:
        """Evaluate shards and put their sums into the tree; returns the shards whose process died."""
        run_of: dict[Future[Partial], list[Shard]] = {}
        until = time() + deadline - monotonic()
        died: list[Shard] = []
        try:
            for run in cut(shards, level):
                try:
                    run_of[self._pool.submit(evaluate_run, run, task, argument, until)] = run
                except BrokenExecutor:
                    died += run
            while run_of:
                done, _ = wait(run_of, max(0.0, deadline - monotonic()), FIRST_COMPLETED)
                for future in done:
                    run = run_of.pop(future)
                    try:
                        tree.put(run[0].number, future.result(), level)
                    except BrokenExecutor:
                        died += run
                if not done:
                    for run in run_of.values():
                        tree.put(run[0].number, lost(run, f"not done within {self._seconds:g} s"), level)
                    return died
        finally:
            for future in run_of:
                future.cancel()
        return sorted(died, key=lambda shard: shard.number)


def as_backend(engine: Any) -> Backend:
    """Make a backend from an engine given by the user.

    Parameters
    ----------
    engine : None, Backend, Executor, callable, Client or str
        None for this process; an executor, or a function that makes one; a client of Dask ``distributed``, the
        address of its scheduler, or ``"dask"`` for the current client.

    Raises
    ------
    InputError
        If it is none of these.
    SolverNotInstalledError
        If it is a text and Dask is not installed.
    """
    if engine is None:
        return Serial()
    if isinstance(engine, Backend):
        return engine
    if isinstance(engine, str) or type(engine).__module__.partition(".")[0] == "distributed":
        from convexmetric.shards.cluster import DaskBackend

        return DaskBackend(engine)
    if isinstance(engine, Executor) or callable(engine):
        return Executors(engine)
    raise InputError(
        "backend must be an executor of concurrent.futures or a function that makes one, a Client of dask.distributed, "
        f"the address of its scheduler, or 'dask', got {type(engine).__name__}"
    )


def picklable(engine: Any) -> Any:
    """Convert an engine to what can be pickled.

    A client of Dask becomes the address of its scheduler. An executor exists only in its process and becomes None, and
    so does a function that cannot be found by name in a module.
    """
    if isinstance(engine, Backend | Executor):
        return None
    if type(engine).__module__.partition(".")[0] == "distributed":
        return str(engine.scheduler.address)
    try:
        pickle.dumps(engine)
    except (pickle.PicklingError, AttributeError, TypeError):
        return None
    return engine
