"""Functions in processes of their own, which are ended at a time limit and whose memory is measured."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from time import monotonic
from typing import Any

from convexmetric.numerics.threads import THREAD_VARIABLES, limit_threads

#: Seconds within which a function must start its clock, after imports, loading data and compiled loops.
START_UP = 600.0


@dataclass(frozen=True)
class Outcome:
    """Outcome of a call in a process of its own.

    Attributes
    ----------
    value : object or None
        What the function returned; None if it did not.
    report : object or None
        The last report that the function made.
    peak_bytes : int
        Largest resident memory of the process.
    failure : str
        The error; empty where there was none.
    late : bool
        Whether it was ended at the time limit.
    """

    value: Any = None
    report: Any = None
    peak_bytes: int = 0
    failure: str = ""
    late: bool = False


class Channel:
    """First argument of the function in the child process: starts its clock, and sends reports to the parent."""

    def __init__(self, sender: Connection) -> None:
        self._sender = sender

    def start(self) -> None:
        """Start the clock of the time limit; what was done before does not count."""
        self._sender.send(("start", None))

    def extend(self, seconds: float) -> None:
        """Add seconds to the time limit, for what is not the function's own time; negative ones take away."""
        self._sender.send(("extend", seconds))

    def report(self, value: Any) -> None:
        """Send a report of progress; the last one is kept when the process is killed."""
        self._sender.send(("report", value))


def run_isolated(
    function: Callable[..., Any], calls: Sequence[tuple[Any, ...]], *, limit: float, n_jobs: int = 1, threads: int = 1
) -> Generator[tuple[int, Outcome], None, None]:
    """``function(channel, *arguments)`` in a fresh interpreter for each of ``calls``, ``n_jobs`` of them at a time.

    Yields the number of a call and its outcome as soon as it is known. A process is killed ``limit`` seconds after its
    function called ``channel.start()``; all are when the generator is closed. Ctrl-C reaches the caller alone. What is
    printed over there goes to standard error.
    """
    waiting = deque(enumerate(calls))
    running: list[_Process] = []
    try:
        while waiting or running:
            while waiting and len(running) < n_jobs:
                number, arguments = waiting.popleft()
                running.append(_Process(number, function, arguments, limit, threads))
            remaining = min(process.deadline for process in running) - monotonic()
            wait([process.receiver for process in running], timeout=max(remaining, 0.0))
            for process in list(running):
                outcome = process.look()
                if outcome is not None:
                    running.remove(process)
                    process.end()
                    yield process.number, outcome
    finally:
        for process in running:
            process.end()


def peak_bytes(pid: int | None = None) -> int:
    """Peak resident memory of this program, or of another process; 0 where the system does not tell.

    ``ru_maxrss`` of a new process starts at what its parent held when it was started; Linux's VmHWM does not.
    """
    with suppress(OSError):
        status = Path(f"/proc/{'self' if pid is None else pid}/status").read_text(encoding="ascii", errors="replace")
        kilobytes = re.search(r"^VmHWM:\s*(\d+)", status, re.MULTILINE)
        if kilobytes:
            return 1024 * int(kilobytes[1])
    if pid is not None or sys.platform == "win32":
        return 0
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


class _Process:
    """Child process of a call under way."""

    def __init__(
        self, number: int, function: Callable[..., Any], arguments: tuple[Any, ...], limit: float, threads: int
    ) -> None:
        context = multiprocessing.get_context("spawn")
        self.number, self.limit = number, limit
        self.receiver, sender = context.Pipe(duplex=False)
        self.process = context.Process(target=_child, args=(sender, function, arguments, threads), daemon=True)
        with _thread_variables(threads):
            self.process.start()
        sender.close()
        self.deadline, self.started, self.report = monotonic() + START_UP, False, None

    def look(self) -> Outcome | None:
        """Receive the messages of the process; returns its outcome, None while it is under way."""
        try:
            while self.receiver.poll():
                kind, value, *rest = self.receiver.recv()
                if kind == "done":
                    return Outcome(value, self.report, *rest)
                if kind == "report":
                    self.report = value
                elif kind == "extend":
                    self.deadline += value
                else:
                    self.deadline, self.started = monotonic() + self.limit, True
        except EOFError:
            self.process.join()
            code = self.process.exitcode
            how = next(
                (f"by {number.name}" for number in signal.Signals if number == -(code or 0)), f"with exit code {code}"
            )
            return Outcome(report=self.report, failure=f"the process died {how}")
        if monotonic() < self.deadline:
            return None
        failure = "" if self.started else f"no start within {START_UP:.0f} s"
        return Outcome(None, self.report, peak_bytes(self.process.pid), failure, self.started)

    def end(self) -> None:
        """Kill the process if it is alive, and close its connection."""
        if self.process.is_alive():
            self.process.kill()
        self.process.join()
        self.receiver.close()


def _child(sender: Connection, function: Callable[..., Any], arguments: tuple[Any, ...], threads: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.dup2(2, 1)
    limit_threads(threads)
    value, failure = None, ""
    try:
        value = function(Channel(sender), *arguments)
    except Exception as error:
        failure = " ".join(f"{type(error).__name__}: {error}".split())
    sender.send(("done", value, peak_bytes(), failure))
    sender.close()


@contextmanager
def _thread_variables(threads: int) -> Iterator[None]:
    """Set the environment variables by which libraries of a child process limit their threads."""
    names = (*THREAD_VARIABLES, "NUMBA_NUM_THREADS")
    before = {name: os.environ[name] for name in names if name in os.environ}
    os.environ.update(dict.fromkeys(names, str(threads)))
    try:
        yield
    finally:
        for name in names:
            os.environ.pop(name, None)
        os.environ.update(before)
