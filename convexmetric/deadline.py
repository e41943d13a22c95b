"""Time limits that hold inside a pass.

A pass over the data goes block by block, a block being at most about a second of work. Before each block the loop calls
:func:`check_deadline`, which raises :class:`OutOfTime` if the time is out. That ends the pass and everything above it
up to the ``with deadline(...)`` that set the limit. A pass that was ended gives no value; what was known before stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from math import inf
from time import perf_counter
from typing import TypeVar

#: When the import of the package began. It takes a second or more, which counts towards a command's time limit.
BEGUN = perf_counter()

Block = TypeVar("Block")


class OutOfTime(BaseException):
    """The time is out, in the middle of a pass.

    Like ``KeyboardInterrupt`` it is not an ``Exception``, so that handlers of a block's errors let it pass.
    """


#: Seconds left for the current work; threads that it starts have no limit of their own.
_left: ContextVar[Callable[[], float]] = ContextVar("left", default=lambda: inf)


@contextmanager
def deadline(left: Callable[[], float]) -> Iterator[None]:
    """Let :func:`check_deadline` raise :class:`OutOfTime` once ``left()`` is not positive; the caller catches it.

    Of nested deadlines the innermost counts.
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
    """Iterate over ``blocks``, with :func:`check_deadline` before each."""
    for block in blocks:
        check_deadline()
        yield block


#: Fraction of a time limit that a part of the work gets however late it begins, so that a solve ends in good order.
SHORTEST = 0.01


class Clock:
    """A limit on wall time, in seconds; None for no limit."""

    def __init__(self, limit: float | None, begun: float | None = None) -> None:
        self.limit, self.begun = limit, perf_counter() if begun is None else begun

    @property
    def spent(self) -> float:
        """Seconds since ``begun``."""
        return perf_counter() - self.begun

    def left(self, share: float = 1.0, parts: int = 1) -> float | None:
        """Seconds left of ``share * limit``, over ``parts``; at least ``SHORTEST * limit``, None without a limit."""
        if self.limit is None:
            return None
        return max((share * self.limit - self.spent) / parts, SHORTEST * self.limit)

    def until(self, share: float) -> AbstractContextManager[None]:
        """Let work in the block end by :class:`OutOfTime` once ``share * limit`` seconds are spent."""
        limit = self.limit
        return nullcontext() if limit is None else deadline(lambda: share * limit - self.spent)
