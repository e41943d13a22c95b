"""Time limits that hold inside a pass.

A pass over the data goes block by block, a block being at most about a second of work. Before each block the loop
calls :func:`check_deadline`, and where the time is out that raises :class:`OutOfTime`. It ends the pass and everything
above it up to the ``with deadline(...)`` that set the limit. A pass that was ended gives no value; what was known
before stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from math import inf
from time import perf_counter
from typing import TypeVar

__all__ = ["BEGUN", "Clock", "OutOfTime", "check_deadline", "deadline", "seconds_left", "until_deadline"]

#: When the import of the package began: the rest of it takes a second or more, which counts of a command's limit.
BEGUN = perf_counter()

Block = TypeVar("Block")


class OutOfTime(BaseException):
    """The time is out, in the middle of a pass.

    Like a ``KeyboardInterrupt`` it is no ``Exception``: who handles errors of a block must not take it for one.
    """


def _no_limit() -> float:
    return inf


#: Seconds left for the work at hand; threads that it starts have no limit of their own.
_left: ContextVar[Callable[[], float]] = ContextVar("left", default=_no_limit)


@contextmanager
def deadline(left: Callable[[], float]) -> Iterator[None]:
    """Let :func:`check_deadline` raise :class:`OutOfTime` when ``left()`` seconds are none: who enters this handles it.

    The innermost counts.
    """
    token = _left.set(left)
    try:
        yield
    finally:
        _left.reset(token)


def seconds_left() -> float:
    """Seconds until the time is out, for solvers with a limit of their own; infinite without a limit."""
    return _left.get()()


def check_deadline() -> None:
    """Raise :class:`OutOfTime` if the time is out: called before every block of work."""
    if seconds_left() <= 0.0:
        raise OutOfTime


def until_deadline(blocks: Iterable[Block]) -> Iterator[Block]:
    """The same blocks, with a look at the time before each."""
    for block in blocks:
        check_deadline()
        yield block


#: Share of a limit on time that the last part of the work has however late it begins, for a solve to end in good order.
SHORTEST = 0.01


class Clock:
    """What is left of a limit on time, in seconds of wall time; None for no limit."""

    def __init__(self, limit: float | None, begun: float | None = None) -> None:
        self.limit, self.begun = limit, perf_counter() if begun is None else begun

    @property
    def spent(self) -> float:
        """Seconds since it began."""
        return perf_counter() - self.begun

    def left(self, share: float = 1.0, parts: int = 1) -> float | None:
        """An equal part of what is left of a share; a moment at least."""
        if self.limit is None:
            return None
        return max((share * self.limit - self.spent) / parts, SHORTEST * self.limit)

    def until(self, share: float) -> AbstractContextManager[None]:
        """Let work end by :class:`OutOfTime` when a share of the limit is spent."""
        limit = self.limit
        return nullcontext() if limit is None else deadline(lambda: share * limit - self.spent)
