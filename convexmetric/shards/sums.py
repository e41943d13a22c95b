"""Sums over shards, in an order that is fixed by their numbers alone.

Floating-point sums depend on the order. Here neighbours are added eight at a time, then their sums, and so on: a tree
that depends only on the number of shards, so that a pass gives the same bits with any engine and in whatever order
tasks end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf
from time import time
from typing import Any

import numpy as np

from convexmetric.deadline import OutOfTime, deadline, until_deadline
from convexmetric.errors import InputError
from convexmetric.numerics.threads import one_thread
from convexmetric.shards.folder import Shard

#: Number of neighbours that are added at a time: the fan-in of the tree.
FAN = 8
#: Smallest number of tasks for each worker where tasks are runs of shards, so that the last task is short.
TASKS_A_WORKER = 8
#: Exceptions by which a shard counts as lost, as its data cannot be read; others are errors of the program.
LOSSES = (OSError, InputError, MemoryError)

Terms = dict[int, tuple[Any, ...]]
"""Terms of several sums by number: tuples of floats and arrays."""

Task = Callable[[Any, Any], Terms]
"""A function of a module: of a shard and the argument that all shards share."""


@dataclass(frozen=True)
class Partial:
    """Partial sums over a set of shards, and the shards lost.

    Attributes
    ----------
    terms : dict of tuples
        The sums by number; sums without a contribution are left out.
    lost : dict of str
        Reasons of the lost shards, which contribute nothing, by their numbers.
    """

    terms: Terms = field(default_factory=dict)
    lost: dict[int, str] = field(default_factory=dict)


def evaluate(shard: Shard, task: Task, argument: Any) -> Partial:
    """Evaluate ``task(shard, argument)``; a shard whose data cannot be read is returned as lost, with the reason."""
    try:
        return Partial(task(shard, argument))
    except LOSSES as error:
        return lost([shard], error)


def evaluate_run(shards: Sequence[Shard], task: Task, argument: Any, until: float = inf) -> Partial:
    """Sum a run of neighbours of :func:`cut` on one core: a node of the tree over all shards.

    It ends when the clock of the machine, which every process can read, says ``until``; then all of it is lost.
    """
    tree = Tree(len(shards))
    try:
        with one_thread(), deadline(lambda: until - time()):
            for place, shard in enumerate(until_deadline(shards)):
                tree.put(place, evaluate(shard, task, argument))
    except OutOfTime:
        return lost(shards, "the time was out")
    return tree.root


def level_of(count: int, workers: int) -> int:
    """Choose the level of the tree whose nodes are tasks: the highest one that keeps all workers busy.

    Every task costs scheduling, and its sum has to be sent. Zero, which is a task for each shard, if the number
    of workers is unknown (0).
    """
    level = 0
    while workers and count >= FAN ** (level + 1) * TASKS_A_WORKER * workers:
        level += 1
    return level


def cut(shards: Sequence[Shard], level: int) -> list[list[Shard]]:
    """Cut the shards into runs of neighbours, those below each node of a level."""
    width = FAN**level
    return [list(shards[first : first + width]) for first in range(0, len(shards), width)]


def lost(shards: Sequence[Shard], why: BaseException | str) -> Partial:
    """Make the ``Partial`` of lost shards."""
    reason = why if isinstance(why, str) else f"{type(why).__name__}: {why}"
    return Partial(lost={shard.number: reason for shard in shards})


def add(partials: Sequence[Partial]) -> Partial:
    """Add partial sums from the first to the last, without changing them."""
    terms: Terms = {}
    missing: dict[int, str] = {}
    own: set[int] = set()
    for partial in partials:
        missing |= partial.lost
        for number, term in partial.terms.items():
            if number not in terms:
                terms[number] = term
            elif number not in own:
                terms[number] = tuple(a + b for a, b in zip(terms[number], term, strict=True))
                own.add(number)
            else:
                terms[number] = tuple(_grown(a, b) for a, b in zip(terms[number], term, strict=True))
    return Partial(terms, missing)


def _grown(a: Any, b: Any) -> Any:
    """Add ``a + b``, in place if a is an array that this module made."""
    if isinstance(a, np.ndarray) and a.shape:
        a += b
        return a
    return a + b


class Tree:
    """Accumulator that adds partial sums in the order of the tree, whatever order they arrive in.

    Parameters
    ----------
    count : int
        Number of leaves, at least one.
    """

    def __init__(self, count: int) -> None:
        self._widths = [count]
        while self._widths[-1] > 1:
            self._widths.append(-(-self._widths[-1] // FAN))
        self._nodes: list[dict[int, Partial]] = [{} for _ in self._widths]

    def put(self, leaf: int, partial: Partial, level: int = 0) -> None:
        """Insert a leaf, or a node of a higher level; compute the sums that it completes, and free their terms."""
        place = leaf // FAN**level
        for height in range(level, len(self._nodes)):
            nodes = self._nodes[height]
            nodes[place] = partial
            if height + 1 == len(self._nodes):
                return
            place //= FAN
            children = range(FAN * place, min(FAN * (place + 1), self._widths[height]))
            if not all(child in nodes for child in children):
                return
            partial = add([nodes.pop(child) for child in children])

    @property
    def root(self) -> Partial:
        """Sum of all leaves, once they are inserted."""
        return self._nodes[-1][0]
