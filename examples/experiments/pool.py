"""Experiments in processes of their own, each result kept as soon as it is known."""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from multiprocessing import connection
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

import convexmetric as cm
from convexmetric import deadline
from convexmetric.solvers.runtime import base
from experiments.results import Results

__all__ = ["Queue", "Stages", "Task", "run_queues"]

#: Where the result goes, its settings, and the function that they are the arguments of.
Task = tuple[Results, dict[str, Any], Callable[..., dict[str, Any]]]

#: Lists of tasks; the tasks of one are done before the next is asked for.
Stages = Iterator[list[Task]]

#: Settings that count repetitions.
CHANCE = ("split", "part", "fold", "seed", "draw", "start", "sample")


@dataclass
class Queue:
    """Tasks that share the processes with those of other queues.

    Attributes
    ----------
    name : str
    stages : Stages
    waiting : list
        Tasks of the stage that have not been started, first repetitions first.
    running : int
    failed : list of str
        What went wrong; no further stage is begun then.
    """

    name: str
    stages: Stages
    waiting: list[Task] = field(default_factory=list)
    running: int = 0
    failed: list[str] = field(default_factory=list)

    def advance(self) -> None:
        """Begin stages until one has a task without a result, or all are over."""
        while not (self.waiting or self.running or self.failed):
            try:
                tasks = next(self.stages)
            except StopIteration:
                return
            except Exception as error:
                self.failed.append(f"{self.name}: {type(error).__name__}: {error}")
                return
            self.waiting = sorted((task for task in tasks if task[0].get(task[1]) is None), key=repetition)


def repetition(task: Task) -> int:
    """Number of the split, fold or draw: those of the first come before all of the second, in every queue."""
    return max((value for name in CHANCE if isinstance(value := task[1].get(name), int)), default=0)


def run_queues(queues: Sequence[Queue], jobs: int, until: float = math.inf, grace: float = 20.0) -> list[str]:
    """Run what has no result, ``jobs`` at a time with one thread each, and say what went wrong.

    First repetitions of all queues come first. No task is started after ``until``, a time of ``time.monotonic()``;
    those that still run have so many seconds of ``grace``. Ctrl-C does the same at once, a second one ends everything.
    What is finished is kept. A task that fails, or whose process is killed, does not stop the others.

    Returns
    -------
    list of str
        A line for every task that failed.
    """
    for queue in queues:
        queue.advance()
    if time.monotonic() < until and any(queue.waiting for queue in queues):
        # Processes started from now on read these; libraries loaded here have read them already.
        for name in ("OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS"):
            os.environ[name] = "1"
        workers = [_Worker() for _ in range(jobs)]
        try:
            for line in _run(queues, workers, until, grace):
                print(line, file=sys.stderr)
        finally:
            for worker in workers:
                worker.stop()
    return [line for queue in queues for line in queue.failed]


def _run(queues: Sequence[Queue], workers: Sequence[_Worker], end: float, grace: float) -> list[str]:
    """Keep the workers busy until nothing is left or the time is over; name the tasks that were cut off then."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress, _interrupts() as interrupts:
        bar, done = progress.add_task("experiments"), 0
        while True:
            now = time.monotonic()
            end = min([end, *interrupts])
            for worker in workers:
                if worker.queue is None and now < end and (first := _next(queues)) is not None:
                    worker.take(first)
            busy = [worker for worker in workers if worker.queue is not None]
            progress.update(bar, completed=done, total=done + len(busy) + sum(len(q.waiting) for q in queues))
            if not busy:
                return []
            if now > end + grace:
                return [f"{worker.label()}: ended with the time that was given" for worker in busy]
            # Not for ever: an interrupt is noticed within a second.
            for ready in connection.wait([worker.pipe for worker in busy], timeout=1.0):
                worker = next(worker for worker in busy if worker.pipe is ready)
                progress.update(bar, description=worker.label())
                done += 1
                worker.finish()


def _next(queues: Sequence[Queue]) -> Queue | None:
    """The queue whose first task is of the earliest repetition; of equal ones the one that has least running."""
    waiting = [queue for queue in queues if queue.waiting]
    return min(waiting, key=lambda queue: (repetition(queue.waiting[0]), queue.running), default=None)


class _Worker:
    """A process that runs one task at a time."""

    def __init__(self) -> None:
        self.queue: Queue | None = None
        self._begin()

    def _begin(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs,))
        self.process.start()
        theirs.close()

    def take(self, queue: Queue) -> None:
        """Start the first task of a queue."""
        self.queue, self.task = queue, queue.waiting.pop(0)
        queue.running += 1
        self.pipe.send((self.task[2], self.task[1]))

    def finish(self) -> None:
        """Keep the result, or say what went wrong; a process that is gone is begun anew."""
        assert self.queue is not None
        results, settings, _ = self.task
        try:
            result, problem, seconds = self.pipe.recv()
            if not problem:
                results.add(settings, result, seconds)
        except (EOFError, OSError):
            self.stop()
            self._begin()
            problem = "its process was killed, perhaps for want of memory"
        except (TypeError, ValueError) as error:
            problem = f"the result cannot be kept: {error}"
        self.queue.running -= 1
        if problem:
            print(f"{self.label()}: {problem}", file=sys.stderr)
            self.queue.failed.append(f"{self.label()}: {problem.strip().splitlines()[-1]}")
        self.queue.advance()
        self.queue = None

    def label(self) -> str:
        """Which task it is, in short."""
        assert self.queue is not None
        words = (str(value) for value in self.task[1].values() if isinstance(value, (str, int)))
        return f"{self.queue.name}: {' '.join(list(words)[:4])}"

    def stop(self) -> None:
        """End the process."""
        self.process.terminate()
        self.process.join()
        self.pipe.close()


def _serve(pipe: connection.Connection) -> None:
    """Run functions that come through the pipe, until it is closed."""
    # Ctrl-C reaches all processes of a terminal; the first one decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Limits on the seconds of a solve count the processor's: a busy machine must not change results.
    base.perf_counter = deadline.perf_counter = time.process_time  # type: ignore[attr-defined]
    # Gaps are in the tables.
    warnings.simplefilter("ignore", cm.errors.GapWarning)
    while True:
        try:
            function, arguments = pipe.recv()
        except EOFError:
            return
        # Of the processor: other programs on the machine do not count.
        start = time.process_time()
        try:
            answer = function(**arguments), ""
        except Exception:
            answer = None, traceback.format_exc()
        pipe.send((*answer, time.process_time() - start))


@contextmanager
def _interrupts() -> Iterator[list[float]]:
    """Times of Ctrl-C and of requests to end; the second one interrupts."""
    times: list[float] = []

    def note(number: int, frame: Any) -> None:
        if times:
            raise KeyboardInterrupt
        times.append(time.monotonic())

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield times
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
