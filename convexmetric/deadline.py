"""Time limits that hold inside a pass.

A pass over the data goes block by block, a block being at most about a second of work. Before each block the loop
calls :func:`look`, and where the time is out that raises :class:`OutOfTime`. It ends the pass and everything above it
up to the ``with deadline(...)`` that set the limit. A pass that was ended gives no value; what was known before stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

__all__ = ["OutOfTime", "deadline", "look", "looking"]

Block = TypeVar("Block")


class OutOfTime(BaseException):
    """The time is out, in the middle of a pass.

    Like a ``KeyboardInterrupt`` it is no ``Exception``: who handles errors of a block must not take it for one.
    """


def _never() -> bool:
    return False


#: Whether the time of the work at hand is out; threads that it starts have no limit of their own.
_passed: ContextVar[Callable[[], bool]] = ContextVar("passed", default=_never)


@contextmanager
def deadline(passed: Callable[[], bool]) -> Iterator[None]:
    """Let :func:`look` raise :class:`OutOfTime` once ``passed()``; who enters this handles it. The innermost counts."""
    token = _passed.set(passed)
    try:
        yield
    finally:
        _passed.reset(token)


def look() -> None:
    """Raise :class:`OutOfTime` if the time is out: called before every block of work."""
    if _passed.get()():
        raise OutOfTime


def looking(blocks: Iterable[Block]) -> Iterator[Block]:
    """The same blocks, with a look at the time before each."""
    for block in blocks:
        look()
        yield block
