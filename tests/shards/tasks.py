"""Tasks that misbehave: functions of a module, as engines in other processes find them by name."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from convexmetric.deadline import until_deadline


@dataclass(frozen=True)
class Unit:
    number: int


def count(unit, argument):
    """One a unit."""
    return {0: (1,), 1 + unit.number % 3: (unit.number,)}


def kill_once(unit, folder):
    """The process of the third unit dies, the first time."""
    mark = Path(folder) / "died"
    if unit.number == 3 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return count(unit, None)


def kill_always(unit, argument):
    """The process of the third unit dies whenever."""
    if unit.number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return count(unit, argument)


def slow(unit, seconds):
    """The third unit takes its time."""
    if unit.number == 3:
        time.sleep(seconds)
    return count(unit, None)


def blocks(unit, seconds):
    """A pass over data in many blocks."""
    for _ in until_deadline(range(100)):
        time.sleep(seconds / 100)
    return count(unit, None)


def wrong(unit, argument):
    """A mistake of the program."""
    raise TypeError("a mistake")


def threads(unit, argument):
    """How many threads a compiled loop would take."""
    import numba

    return {unit.number: (numba.get_num_threads(),)}
