"""Run a function in a process of its own, which can be stopped and whose memory can be measured."""

from __future__ import annotations

import multiprocessing
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from environment import limit_threads

from convexmetric.processes import peak_bytes

__all__ = ["Run", "run"]

#: Seconds a new process may take to import what it needs, which is not measured.
START_UP = 120.0


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
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(sender, function, arguments, threads), daemon=True)
    process.start()
    sender.close()
    try:
        if not receiver.poll(START_UP):
            return Run(None, failure="did not start")
        receiver.recv()
        if not receiver.poll(limit):
            return Run(None, failure=f"> {limit:.0f} s")
        value, peak, failure = receiver.recv()
        return Run(value, peak, failure)
    except EOFError:
        return Run(None, failure="died (out of memory?)")
    finally:
        if process.is_alive():
            process.kill()
        process.join()
        receiver.close()


def _child(sender: Connection, function: Callable[..., Any], arguments: tuple[Any, ...], threads: int) -> None:
    limit_threads(threads)
    sender.send("ready")
    try:
        value, failure = function(*arguments), ""
    except Exception as error:
        traceback.print_exc(file=sys.stderr)
        value, failure = None, f"{type(error).__name__}"
    sender.send((value, peak_bytes(), failure))
    sender.close()
