"""Experiments in processes of their own, each result kept as soon as it is known."""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
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

__all__ = ["CHANCE", "Queue", "Stages", "Task", "done", "run_missing", "run_queues", "run_stages"]

#: Where the result goes, under which settings, the function, and its arguments.
Task = tuple[Results, dict[str, Any], Callable[..., dict[str, Any]], dict[str, Any]]

#: Lists of tasks; the tasks of one are done before the next is asked for.
Stages = Iterator[list[Task]]

#: Settings that count repetitions.
CHANCE = ("split", "part", "fold", "seed", "draw", "start", "sample")

#: Seconds that a process stays with a queue after others had as much.
STAY = 20.0


def done(tasks: Iterable[Task]) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Settings and results of the tasks that were run."""
    return [(settings, found) for results, settings, _, _ in tasks if (found := results.get(settings)) is not None]


@dataclass
class Queue:
    """Tasks that share the processes with those of other queues.

    Attributes
    ----------
    name : str
    stages : Stages
    guess : callable
        From a task to the seconds that it may take, as long as none like it was measured.
    weight : float
        Share of the time that is given to this queue, beside the weights of others.
    waiting : list
        Tasks of the stage that have not been started, first repetitions first.
    running : int
    measured : dict
        Seconds of tasks that differ by chance alone.
    spent : float
        Seconds of the processor of tasks that are done, and estimates of those that run.
    failed : list of str
        What went wrong; no further stage is begun then.
    """

    name: str
    stages: Stages
    guess: Callable[[Task], float] = lambda task: 0.0
    weight: float = 1.0
    waiting: list[Task] = field(default_factory=list)
    running: int = 0
    measured: dict[str, list[float]] = field(default_factory=dict)
    spent: float = 0.0
    failed: list[str] = field(default_factory=list)
    ended: bool = False

    def advance(self) -> None:
        """Begin stages until one has a task without a result, or all are over."""
        while not (self.waiting or self.running or self.failed or self.ended):
            try:
                tasks = next(self.stages)
            except StopIteration:
                self.ended = True
                return
            except Exception as error:
                self.failed.append(f"{self.name}: {type(error).__name__}: {error}")
                return
            self.waiting = sorted((task for task in tasks if task[0].get(task[1]) is None), key=_repetition)
            self.spent += sum(self.measure(task) for task in tasks)

    def measure(self, task: Task) -> float:
        """Seconds that a task took, 0 if that is not known; others like it are expected to take as long."""
        seconds = task[0].seconds(task[1])
        if seconds is not None:
            self.measured.setdefault(_kind(task), []).append(seconds)
        return seconds or 0.0

    def estimate(self, task: Task) -> float:
        """Seconds that a task may take."""
        known = self.measured.get(_kind(task))
        return sum(known) / len(known) if known else self.guess(task)

    def first(self, within: float) -> Task | None:
        """The first task that is likely to take no longer than so many seconds."""
        return next((task for task in self.waiting if self.estimate(task) <= within), None)


def run_missing(tasks: Iterable[Task], jobs: int, threads: int = 1, until: float | None = None) -> list[str]:
    """Run the tasks without a result, ``jobs`` at a time with so many threads each; see :func:`run_queues`."""
    return run_stages(iter([list(tasks)]), jobs, threads, until)


def run_stages(stages: Stages, jobs: int, threads: int = 1, until: float | None = None) -> list[str]:
    """Run the tasks of all stages that have no result; see :func:`run_queues`."""
    return run_queues([Queue("experiments", stages)], jobs, threads, until)


def run_queues(
    queues: Sequence[Queue],
    jobs: int,
    threads: int = 1,
    until: float | None = None,
    grace: float = 20.0,
    longest: float = math.inf,
) -> list[str]:
    """Run what has no result, and say what went wrong.

    The next task is of the queue that had the least time for its weight, so that every queue has its first repetitions
    early; a process stays with one for some seconds more, since it has read its data. No task is started after
    ``until``, a time of ``time.monotonic()``, nor one whose estimate ends later; those that still run have so many
    seconds of ``grace``. Ctrl-C does the same at once, a second one ends everything. What is finished is kept. A task
    that fails, or whose process is killed, does not stop the others.

    Returns
    -------
    list of str
        A line for every task that failed.
    """
    lost: list[str] = []
    for queue in queues:
        queue.advance()
    end = math.inf if until is None else until
    if _next(queues, min(longest, end - time.monotonic()), None) is None:
        return [line for queue in queues for line in queue.failed]
    # Processes started from now on read these; libraries loaded here have read them already.
    for name in ("OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ[name] = str(threads)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    workers = [_Worker() for _ in range(jobs)]
    try:
        with Progress(*columns, console=Console(stderr=True)) as progress, _interrupts() as interrupts:
            bar, done = progress.add_task("experiments"), 0
            while True:
                now = time.monotonic()
                if interrupts:
                    end = min(end, interrupts[0])
                for worker in workers:
                    if worker.queue is None and now < end:
                        worker.take(_next(queues, min(longest, end - now), worker.last))
                busy = [worker for worker in workers if worker.queue is not None]
                progress.update(bar, completed=done, total=done + len(busy) + sum(len(q.waiting) for q in queues))
                if not busy:
                    break
                if now > end + grace:
                    lost = [f"{worker.label()}: ended with the time that was given" for worker in busy]
                    break
                # Not for ever: an interrupt is noticed within a second.
                for ready in connection.wait([worker.pipe for worker in busy], timeout=1.0):
                    worker = next(worker for worker in busy if worker.pipe is ready)
                    progress.update(bar, description=worker.label())
                    done += 1
                    worker.finish()
    finally:
        for worker in workers:
            worker.stop()
    for line in lost:
        print(line, file=sys.stderr)
    return [line for queue in queues for line in queue.failed]


def _next(queues: Sequence[Queue], within: float, last: Queue | None) -> tuple[Queue, Task] | None:
    """A task of the queue that had the least time for its weight, or of the last one while it is little ahead."""
    for queue in sorted(queues, key=lambda queue: queue.spent / queue.weight - (STAY if queue is last else 0.0)):
        if (task := queue.first(within)) is not None:
            return queue, task
    return None


def _kind(task: Task) -> str:
    """The file of a task and its settings, but for those that count repetitions."""
    kept = {key: value for key, value in task[1].items() if key not in CHANCE}
    return task[0].path.stem + json.dumps(kept, sort_keys=True)


def _repetition(task: Task) -> int:
    """Tasks of the first split before those of the second; other orders stay as they are."""
    return max((value for name in CHANCE if isinstance(value := task[1].get(name), int)), default=0)


class _Worker:
    """A process that runs one task at a time."""

    def __init__(self) -> None:
        self.queue: Queue | None = None
        self.last: Queue | None = None
        self._begin()

    def _begin(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs,))
        self.process.start()
        theirs.close()

    def take(self, chosen: tuple[Queue, Task] | None) -> None:
        """Start a task, if there is one."""
        if chosen is None:
            return
        self.queue, self.task = chosen
        self.queue.waiting.remove(self.task)
        self.queue.running += 1
        self.estimate = self.queue.estimate(self.task)
        self.queue.spent += self.estimate
        self.pipe.send(self.task[2:])

    def finish(self) -> None:
        """Keep the result, or say what went wrong; a process that is gone is begun anew."""
        assert self.queue is not None
        results, settings, _, _ = self.task
        seconds = 0.0
        try:
            result, problem, seconds = self.pipe.recv()
            if not problem:
                results.add(settings, result, seconds)
                self.queue.measure(self.task)
        except (EOFError, OSError):
            self.stop()
            self._begin()
            problem = "its process was killed, perhaps for want of memory"
        except (TypeError, ValueError) as error:
            problem = f"the result cannot be kept: {error}"
        self.queue.spent += seconds - self.estimate
        self.queue.running -= 1
        if problem:
            print(f"{self.label()}: {problem}", file=sys.stderr)
            self.queue.failed.append(f"{self.label()}: {problem.strip().splitlines()[-1]}")
        self.queue.advance()
        self.queue, self.last = None, self.queue

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
