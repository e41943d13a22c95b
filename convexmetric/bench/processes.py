"""Functions in processes of their own, which are ended at a time limit with all their descendants.

Results are frames of JSON, of bounded size: nothing is unpickled. Foreign code runs in another process next to that of
the call (:class:`Beside`), which judges it. All processes of a call are one group, which is killed as one. On Linux,
processes that left the group are found too: all descendants of a call stay below its process.
"""

from __future__ import annotations

import ctypes
import json
import multiprocessing
import os
import re
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, is_dataclass
from multiprocessing import util
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import numpy as np

from convexmetric.bench.lines import Line
from convexmetric.numerics.threads import THREAD_VARIABLES, limit_threads

#: Seconds within which a function must start its clock, after imports, loading data and compiled loops.
START_UP = 600.0
#: Bytes of a frame to the parent, at most.
MOST_BYTES = 2**26
#: Option of Linux's ``prctl`` by which orphans go to this process.
SUBREAPER = 36
#: Number of the last file that a fresh process may have open.
MOST_FILES = 2**10
#: Seconds between two looks at what a process has started; the kind of Linux's clock of a process's processor time.
LOOK_EVERY, CPU_CLOCK = 0.1, 2
#: Times that descendants are looked for, a millisecond apart.
LOOKS = 2000


@dataclass(frozen=True)
class Outcome:
    """Outcome of a call in a process of its own.

    Attributes
    ----------
    value : object or None
        What the function returned, as JSON has it: lists for tuples, mappings for records; None if it did not.
    report : object or None
        The last report that the function made, likewise.
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
    """First argument of the function in the child process: starts the clock, and sends reports to the parent.

    Reports are numbers, texts, lists, mappings, records (dataclasses) and arrays.
    """

    def __init__(self, sender: Connection) -> None:
        self._sender = sender

    def start(self) -> None:
        """Start the clock of the time limit; what was done before does not count."""
        self._tell("start")

    def extend(self, seconds: float) -> None:
        """Add seconds to the time limit, for what is not the function's own time; negative ones take away."""
        self._tell("extend", seconds)

    def report(self, value: Any) -> None:
        """Send a report of progress; the last one is kept when the process is killed."""
        self._tell("report", value)

    def _tell(self, *said: Any) -> None:
        self._sender.send_bytes(json.dumps(said, default=_plain).encode())


class Beside:
    """A process next to that of a call, which runs foreign code, and the connection to it.

    Attributes
    ----------
    line : Line
        This end of the connection.
    peak_bytes : int
        Largest resident memory of the process when it was last looked at.
    """

    def __init__(self, function: Callable[..., Any], arguments: tuple[Any, ...], threads: int) -> None:
        # A fork, before any thread is started, saves the imports; elsewhere it is not safe, or not there.
        how = "fork" if sys.platform == "linux" else "spawn"
        ours, self.process = _started(how, _beside, function, arguments, threads)
        self.line, self.peak_bytes = Line(ours), 0
        self._alone, self._looked = True, -np.inf

    def processor_seconds(self) -> float:
        """Processor time of the process; infinite where the system does not tell, or it has started another."""
        if sys.platform != "linux" or not self._alone:
            return np.inf
        if monotonic() > self._looked + LOOK_EVERY:
            self._alone = set(_below(os.getpid())) <= {self.process.pid}
            self._looked = monotonic()
        with suppress(OSError):
            return time.clock_gettime((~(self.process.pid or 0) << 3) | CPU_CLOCK)
        return np.inf

    def look(self, said: object) -> None:
        """Measure its memory; what it says itself counts where the system does not tell."""
        self.peak_bytes = peak_bytes(self.process.pid) or (said if type(said) is int and said > 0 else 0)

    def died(self) -> str:
        """How it ended, in words, once its line is closed."""
        self.process.join(1.0)
        return _died(self.process)


def run_isolated(
    function: Callable[..., Any],
    calls: Sequence[tuple[Any, ...]],
    *,
    limit: float,
    n_jobs: int = 1,
    threads: int = 1,
    beside: Mapping[int, Callable[..., Any]] | None = None,
) -> Generator[tuple[int, Outcome], None, None]:
    """``function(channel, *arguments)`` in a fresh interpreter for each of ``calls``, ``n_jobs`` of them at a time.

    Yields the number of a call and its outcome as soon as it is known. A process is killed ``limit`` seconds after its
    function called ``channel.start()``; all are when the generator is closed. With a process go all that it started.
    Ctrl-C reaches the caller alone. What is printed over there goes to standard error. ``beside`` has the functions
    ``f(line, *arguments)`` that run in a process beside that of the call of this number, which then gets a
    :class:`Beside` as its last argument.
    """
    waiting = deque(enumerate(calls))
    running: list[_Process] = []
    try:
        while waiting or running:
            while waiting and len(running) < n_jobs:
                number, arguments = waiting.popleft()
                running.append(_Process(number, function, arguments, limit, threads, (beside or {}).get(number)))
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
    """Peak resident memory of this program, or of another process; 0 if the system does not report it.

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
        self,
        number: int,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        limit: float,
        threads: int,
        beside: Callable[..., Any] | None,
    ) -> None:
        self.number, self.limit = number, limit
        with _thread_variables(threads):
            self.receiver, self.process = _started("spawn", _child, function, arguments, threads, beside)
        self._killed = util.Finalize(self, _killed, args=(self.process,), exitpriority=0)
        self.deadline, self.started, self.report = monotonic() + START_UP, False, None

    def look(self) -> Outcome | None:
        """Receive the messages of the process; returns its outcome, None while it is under way."""
        try:
            while self.receiver.poll():
                kind, *said = json.loads(self.receiver.recv_bytes(MOST_BYTES))
                if kind == "done":
                    value, peak, failure = said
                    return Outcome(value, self.report, peak, failure)
                if kind == "report":
                    (self.report,) = said
                elif kind == "extend":
                    self.deadline += said[0]
                else:
                    self.deadline, self.started = monotonic() + self.limit, True
        except EOFError:
            self._killed()
            return Outcome(report=self.report, failure=_died(self.process))
        except (OSError, TypeError, ValueError) as error:
            return Outcome(report=self.report, failure=f"what it returned cannot be read ({error})")
        if monotonic() < self.deadline:
            return None
        failure = "" if self.started else f"no start within {START_UP:.0f} s"
        pid = self.process.pid or 0
        peak = max(map(peak_bytes, _below(pid) or [pid]))
        return Outcome(None, self.report, peak, failure, self.started)

    def end(self) -> None:
        """Kill the process with all that it started, and close its connection."""
        self._killed()
        self.receiver.close()


def _started(how: str, target: Callable[..., None], *arguments: Any) -> tuple[Connection, BaseProcess]:
    """Start a process whose function has the other end of a line as its first argument; this end, and the process."""
    context: Any = multiprocessing.get_context(how)
    # A socket: unlike a pipe it cannot be opened through /proc by what runs beside the child.
    ours, theirs = context.Pipe()
    process = context.Process(target=target, args=(theirs, *arguments))
    process.start()
    theirs.close()
    return ours, process


def _killed(process: BaseProcess) -> None:
    """Kill a process, all that descends from it, and its group; those below first, while it is there to keep them."""
    pid = process.pid or 0
    _end_below(pid)
    # Before it is waited for: its number, and that of its group, is its own until then.
    if hasattr(os, "killpg"):
        with suppress(OSError):
            os.killpg(pid, signal.SIGKILL)
    if process.exitcode is None:
        process.kill()
    process.join()


def _died(process: BaseProcess) -> str:
    code = process.exitcode or 0
    how = next((f"by {number.name}" for number in signal.Signals if number == -code), f"with exit code {code}")
    return f"the process died {how}"


def _below(pid: int) -> list[int]:
    """Living descendants of a process, on Linux; none are found elsewhere."""
    parents: dict[int, int] = {}
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError):
            state, parent = file.read_bytes().rpartition(b")")[2].split()[:2]
            if state not in (b"Z", b"X"):
                parents[int(file.parent.name)] = int(parent)
    found = [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found[1:]


def _end_below(pid: int) -> None:
    """Kill all descendants of a process, until there are none."""
    for _ in range(LOOKS):
        found = _below(pid)
        if not found:
            return
        for one in found:
            with suppress(OSError):
                os.kill(one, signal.SIGKILL)
        sleep(1e-3)


def _child(
    sender: Connection,
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    threads: int,
    beside: Callable[..., Any] | None,
) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.dup2(2, 1)
    if hasattr(os, "setsid"):
        os.setsid()
    if sys.platform == "linux":
        # Whatever loses its parent below goes to this process, and no further up.
        ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    others = () if beside is None else (Beside(beside, arguments, threads),)
    limit_threads(threads)
    value, failure = None, ""
    channel = Channel(sender)
    try:
        value = function(channel, *arguments, *others)
    except Exception as error:
        failure = " ".join(f"{type(error).__name__}: {error}".split())
    peak = others[0].peak_bytes if others else peak_bytes()
    _end_below(os.getpid())
    channel._tell("done", value, peak, failure)
    sender.close()


def _beside(connection: Connection, function: Callable[..., Any], arguments: tuple[Any, ...], threads: int) -> None:
    """Run a function with nothing open but the standard streams and its end of the line."""
    if sys.platform == "linux":
        os.closerange(3, connection.fileno())
        os.closerange(connection.fileno() + 1, MOST_FILES)
    limit_threads(threads)
    function(Line(connection), *arguments)


def _plain(value: Any) -> Any:
    """Convert a record, an array or a number of NumPy to the types of JSON."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if is_dataclass(value):
        return vars(value)
    raise TypeError(f"a process returns numbers, texts, lists, mappings and records, not {type(value).__name__}")


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
