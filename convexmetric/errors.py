"""Exceptions and warnings of the package.

Every error a user can cause is a :class:`ConvexMetricError`; those about an argument are also
``ValueError``, so code written for scikit-learn or NumPy catches them as it always did. Exceptions of
third-party solvers are caught and re-raised as :class:`SolverError`.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "BackendError",
    "ContractError",
    "ConvexMetricError",
    "CrossedBoundsError",
    "DataNotFoundError",
    "DualError",
    "GapWarning",
    "InfeasibleError",
    "InputError",
    "LongSolveWarning",
    "LostShardsWarning",
    "NotInstalledError",
    "SolverError",
    "SolverNotInstalledError",
    "UnboundedError",
    "UnsupportedProblemError",
]


class ConvexMetricError(Exception):
    """Base of all errors raised by convexmetric."""


class InputError(ConvexMetricError, ValueError):
    """An argument is malformed; the message names the argument and the fix."""


class InfeasibleError(InputError):
    """No metric satisfies the hard constraints; the message names some that contradict each other."""


class UnboundedError(InputError):
    """The objective is unbounded below along ``direction``, a value of the problem's variable: it has no optimum."""

    def __init__(self, message: str, direction: Any = None) -> None:
        super().__init__(message)
        self.direction = direction


class DualError(InputError):
    """A dual point has the wrong shape for its problem, so that it proves nothing."""


class ContractError(ConvexMetricError):
    """A block of a problem breaks its contract; the message names the block and the rule."""


class CrossedBoundsError(ConvexMetricError, ArithmeticError):
    """A lower bound came out above an upper one by more than rounding explains, so that one of them is false."""


class DataNotFoundError(ConvexMetricError, FileNotFoundError):
    """A data set is neither bundled, nor in the data folder, nor available from the network."""


class SolverError(ConvexMetricError, RuntimeError):
    """A solver failed and left no usable point."""


class BackendError(ConvexMetricError, RuntimeError):
    """The engine that evaluates shards is lost; the message says how to go on."""


class SolverNotInstalledError(SolverError, ImportError):
    """An optional solver was asked for but is not installed; the message has the install line."""


class NotInstalledError(ConvexMetricError, ImportError):
    """Something needs an optional package that is not installed; the message has the install line."""


class UnsupportedProblemError(ConvexMetricError, TypeError):
    """The solver asked for cannot handle this problem; the message says what is missing."""


class GapWarning(UserWarning):
    """A solve ended with a certified gap above the tolerance asked for."""


class LongSolveWarning(UserWarning):
    """A solve without a limit will take minutes or more; the message says how long, and how to limit it."""


class LostShardsWarning(UserWarning):
    """Some shards could not be evaluated in a pass: its lower bound is valid, and its upper bound has to wait."""
