"""Run a function in a process of its own, which can be stopped and whose memory can be measured."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from convexmetric.bench import Channel, run_isolated

__all__ = ["Run", "run"]


@dataclass(frozen=True)
class Run:
    """What became of a run.

    Attributes
    ----------
    value : object or None
        What the function returned; None if it did not return.
    peak_bytes : int
        Largest resident memory of the process.
    failure : str
        Empty, ``"> 300 s"``, or the error.
    """

    value: Any
    peak_bytes: int = 0
    failure: str = ""


def run(function: Callable[..., Any], *arguments: Any, limit: float, threads: int) -> Run:
    """``function(*arguments)`` in a fresh interpreter, ended after ``limit`` seconds.

    The clock starts when the imports are done.
    """
    ((_, outcome),) = run_isolated(_timed, [(function, *arguments)], limit=limit, threads=threads)
    if outcome.failure:
        print(outcome.failure, file=sys.stderr)
    # A table has room for the kind of error only.
    failure = f"> {limit:.0f} s" if outcome.late else outcome.failure.partition(":")[0]
    return Run(outcome.value, outcome.peak_bytes, failure)


def _timed(channel: Channel, function: Callable[..., Any], *arguments: Any) -> Any:
    channel.start()
    return function(*arguments)
