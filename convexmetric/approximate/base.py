"""Base of approximate descents: settings, reproducible random numbers, and when to evaluate the certified gap.

A *pass* costs as much as looking at every comparison once: an oracle pass over all queries, the gradient over all
terms, or as many random draws as there are comparisons. It is the unit of ``epochs`` and of ``passes`` in the history.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass

import numpy as np

from convexmetric.arguments import as_generator
from convexmetric.solvers.runtime import Solver, check_counts, check_flags


@dataclass(frozen=True)
class ApproximateSolver(Solver):
    """A descent that need not reach the optimum; the certified gap bounds its distance from it.

    Parameters
    ----------
    epochs : int
        Passes after which it ends, if nothing else ends it before.
    as_printed : bool
        Follow the paper as printed, mistakes included.
    """

    _: KW_ONLY
    epochs: int = 200
    as_printed: bool = False

    def __post_init__(self) -> None:
        check_counts(self, "epochs")
        check_flags(self, "as_printed")


@dataclass(frozen=True)
class RandomisedSolver(ApproximateSolver):
    """An approximate solver with random steps or a random start.

    Parameters
    ----------
    random_state : int, numpy.random.Generator or None
        Seed, or source of one: the same seed gives the same iterates, also through a checkpoint.
    epochs, as_printed
        See :class:`~convexmetric.approximate.ApproximateSolver`.
    """

    _: KW_ONLY
    random_state: int | np.random.Generator | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        as_generator(self.random_state)

    def fresh_seed(self) -> int:
        """Draw the integer seed of all random numbers of a run; checkpoints store it."""
        return int(as_generator(self.random_state).integers(2**62))


def generator_at(seed: int, place: int) -> np.random.Generator:
    """Random generator of one step, block or epoch; the same in a resumed run."""
    return np.random.default_rng((seed, place))


def next_stop(t: int, epoch: int) -> int:
    """Next step after t at which the gap is evaluated: powers of two in the first epoch, then 1, 2, 5, ... epochs."""
    if t < epoch:
        return min(epoch, 1 << t.bit_length())
    passes, scale = t // epoch + 1, 1
    while scale * 10 < passes:
        scale *= 10
    return epoch * next(scale * factor for factor in (1, 2, 5, 10) if scale * factor >= passes)
