"""Base of approximate descents: settings, reproducible random numbers, and when to evaluate the certified gap.

A *pass* costs as much as looking at every comparison once: an oracle pass over all queries, the gradient over all
terms, or as many random draws as there are comparisons. It is the unit of ``epochs`` and of ``passes`` in the history.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass

import numpy as np

from convexmetric.arguments import as_generator
from convexmetric.arrays import Array
from convexmetric.errors import InputError
from convexmetric.solvers.runtime import Monitor, Solver, check_counts, check_flags


@dataclass(frozen=True)
class ApproximateSolver(Solver):
    """A descent that need not reach the optimum; the certified gap bounds its distance from it.

    Parameters
    ----------
    epochs : int
        Passes after which it ends, if nothing else ends it before.
    as_printed : bool
        Do what the paper prints, mistakes included.
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
        Seed, or source of one: the same seed makes the same iterates, also through a checkpoint.
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
    """Next step after t to evaluate the gap at: powers of two in the first epoch, then 1, 2, 5, 10, ... epochs."""
    if t < epoch:
        return min(epoch, 1 << t.bit_length())
    passes, scale = t // epoch + 1, 1
    while scale * 10 < passes:
        scale *= 10
    return epoch * next(scale * factor for factor in (1, 2, 5, 10) if scale * factor >= passes)


def resumed(monitor: Monitor, name: str, shapes: Mapping[str, tuple[int | None, ...]]) -> dict[str, Array] | None:
    """Read the arrays that the solver left in a checkpoint and validate them; None if there are none.

    Parameters
    ----------
    monitor : Monitor
    name : str
        Name of the solver.
    shapes : dict
        Expected shape of every array; None for an axis of any length.

    Raises
    ------
    InputError
        If an array is missing, has another shape (as with other settings), or holds NaN or infinite entries.
    """
    left = monitor.left_by(name)
    if not left:
        return None
    found: dict[str, Array] = {}
    for key, shape in shapes.items():
        if key not in left or left[key].dtype.kind not in "fiu":
            raise InputError(f"the checkpoint's state of {name} is damaged (no {key}); remove it to start again")
        array = left[key] if left[key].dtype.kind in "iu" else np.asarray(left[key], dtype=np.float64)
        fits = array.ndim == len(shape) and all(n in (None, m) for n, m in zip(shape, array.shape, strict=True))
        if not fits or not np.isfinite(array).all():
            raise InputError(
                f"the checkpoint's {key} has another number or length, or is damaged; "
                "remove it to start again, or keep to the settings it was made with"
            )
        found[key] = array
    if "numbers" in found and found["numbers"].min(initial=0) < 0:
        raise InputError(f"the checkpoint's state of {name} is damaged (numbers); remove it to start again")
    return found
