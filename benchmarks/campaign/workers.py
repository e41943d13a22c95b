"""Forked processes with limits on memory and time, and what a command does in one of them."""

from __future__ import annotations

import contextlib
import io
import json
import multiprocessing
import os
import re
import resource
import signal
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

__all__ = ["Ran", "command", "in_workers", "peak_from_here", "recorded", "silent"]

GRACE = 5.0
CONTEXT = multiprocessing.get_context("fork")


class TimeLimit(BaseException):
    """Not an Exception, so that nothing of what is tested can catch it by accident."""


@dataclass(frozen=True)
class Ran:
    """What a command did.

    Attributes
    ----------
    code : int or None
        What it returned or gave to SystemExit; 1, as the interpreter does, with a traceback; None where it was ended.
    stdout, stderr : str
    traceback : str
        Empty if it raised nothing.
    seconds : float
        Of the processor.
    peak : int
        Bytes by which resident memory grew at most.
    """

    code: int | None
    stdout: str
    stderr: str
    traceback: str
    seconds: float
    peak: int


def limited(bytes_more: int) -> None:
    """Limit the memory of this process to what it has and so much more."""
    most = _status("VmSize") + bytes_more
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    signal.signal(signal.SIGPROF, _late)


def _late(signum: int, frame: Any) -> None:
    raise TimeLimit


def _status(field: str) -> int:
    """A line of /proc/self/status, in bytes."""
    found = re.search(rf"^{field}:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    return int(found.group(1)) * 1024 if found else 0


def peak_from_here() -> Callable[[], int]:
    """What says by how many bytes the memory of this process has grown at most since now."""
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    return lambda: max(_status("VmHWM") - before, 0)


def command(main: Callable[[list[str]], Any], arguments: list[str], seconds: float, encoding: str = "ascii") -> Ran:
    """Run a command in this process for so many seconds of the processor at most.

    Its streams are caught, and of an encoding that raises where it does not reach.
    """
    streams = [io.TextIOWrapper(io.BytesIO(), encoding=encoding, write_through=True) for _ in range(2)]
    failure, code = "", None
    peak, start = peak_from_here(), time.process_time()
    try:
        signal.setitimer(signal.ITIMER_PROF, seconds)
        with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]):
            code = main(arguments) or 0
    except TimeLimit:
        failure = "late"
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        code, failure = 1, traceback.format_exc()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
    taken = time.process_time() - start
    grown = peak()
    out, err = (stream.buffer.getvalue().decode(encoding, "replace") for stream in streams)  # type: ignore[attr-defined]
    return Ran(None if failure == "late" else code, out, err, "" if failure == "late" else failure, taken, grown)


def in_workers(
    function: Callable[[int], Any], cases: Sequence[int], jobs: int, bytes_more: int, seconds: float, batch: int = 512
) -> Iterator[tuple[int, Any]]:
    """``(case, function(case))`` of all cases, from forked processes; a string, why, where a process died of a case.

    A process takes a batch. If it dies, or says nothing for ``seconds``, the rest goes to a new one.
    """
    waiting = [list(cases[at : at + batch]) for at in range(0, len(cases), batch)][::-1]
    running: dict[Connection, _Worker] = {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                worker = _Worker(function, waiting.pop(), bytes_more)
                running[worker.here] = worker
            ready = wait(list(running), timeout=1.0)
            for worker in list(running.values()):
                if worker.here in ready:
                    done = worker.heard()
                elif time.perf_counter() - worker.since > seconds + GRACE:
                    done = worker.ended(f"killed after {seconds + GRACE:.0f} s")
                else:
                    continue
                if done is not None:
                    yield done
                if not worker.alive:
                    del running[worker.here]
                    if worker.cases:
                        waiting.append(worker.cases)
    finally:
        for worker in running.values():
            worker.ended("")


def silent() -> None:
    """In a process of its own, show nothing of what compiled solvers print."""
    if multiprocessing.parent_process() is not None:
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)


def recorded(
    kind: Any, function: Callable[[int], Any], ended: Callable[[int, str], Any], numbers: Iterable[int], jobs: int,
    limits: tuple[int, float], path: Path | None,
) -> Iterator[tuple[Any, bool]]:  # fmt: skip
    """Records of numbers, from workers with limits on bytes and seconds, and whether each was in the file before.

    What a file has is not run again, and what is found is appended to it, so that a run that was cut off goes on.
    """
    numbers, lines = list(numbers), path.read_text().splitlines() if path is not None and path.exists() else []
    known = {record.number: record for record in (kind(**json.loads(line)) for line in lines)}
    yield from ((known[number], True) for number in numbers if number in known)
    waiting = [number for number in numbers if number not in known]
    for number, answer in in_workers(function, waiting, jobs, *limits, batch=64):
        record = ended(number, answer) if isinstance(answer, str) else answer
        if path is not None:
            with path.open("a") as file:
                file.write(json.dumps(asdict(record)) + "\n")
        yield record, False


class _Worker:
    """A process, the cases that it has not answered yet, and when it was last heard of."""

    def __init__(self, function: Callable[[int], Any], cases: list[int], bytes_more: int) -> None:
        self.cases, self.since, self.alive = cases, time.perf_counter(), True
        self.here, there = CONTEXT.Pipe(duplex=False)
        self.process = CONTEXT.Process(target=_serve, args=(there, function, cases, bytes_more), daemon=True)
        self.process.start()
        there.close()

    def heard(self) -> tuple[int, Any] | None:
        try:
            answer = self.here.recv()
        except EOFError:
            self.process.join(GRACE)
            return self.ended(f"the process died: exit code {self.process.exitcode}")
        self.since = time.perf_counter()
        return self.cases.pop(0), answer

    def ended(self, why: str) -> tuple[int, Any] | None:
        """The case it was at, and why it ended."""
        self.process.kill()
        self.process.join()
        self.here.close()
        self.alive = False
        return (self.cases.pop(0), why) if self.cases else None


def _serve(there: Connection, function: Callable[[int], Any], cases: list[int], bytes_more: int) -> None:
    limited(bytes_more)
    for case in cases:
        there.send(function(case))
    there.close()
