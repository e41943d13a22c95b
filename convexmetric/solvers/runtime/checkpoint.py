"""Checkpoints of long solves on disk: killing a solve at any moment loses nothing but the last pass.

A checkpoint is an NPZ file of plain arrays, written next to its final name and moved there in one step. Nothing in it
is trusted when it is read: the objective is recomputed at the metric, the lower bound from the dual point, and a
solver's cuts by the oracle at the metrics where they were made (the file stays small by storing metrics, not cuts).
Resuming a solve therefore costs two oracle passes for every such metric.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from convexmetric.arrays import Array
from convexmetric.errors import InputError
from convexmetric.files import check_writable, read_arrays, write_arrays
from convexmetric.problem import MetricProblem
from convexmetric.risks.dual_points import dual_arrays, dual_from_arrays
from convexmetric.solution import Progress

FORMAT = 1
#: Largest file that is read.
MAX_BYTES = 2**32
#: Fraction of the time of a solve that may go into writing.
SHARE = 0.1
SOLVER = "solver."
KEYS = {"format", "fingerprint", "history", "details", "seconds", "M", "solver"}


@dataclass
class State:
    """State of an unfinished solve.

    Attributes
    ----------
    M : array
        Best metric.
    dual : array or CutDual or None
        Best dual point.
    history : list of Progress
    seconds : float
    solver : str
        Name of the solver that was running.
    arrays : dict of arrays
        Arrays that this solver needs to go on.
    """

    M: Array
    dual: Any
    history: list[Progress]
    seconds: float
    solver: str
    arrays: dict[str, np.ndarray] = field(default_factory=dict)


class Checkpoint:
    """A checkpoint file of one problem.

    Parameters
    ----------
    path : str or Path
        Where to write; the folder must exist.
    problem : MetricProblem

    Raises
    ------
    InputError
        If no file can be written there.
    """

    def __init__(self, path: str | os.PathLike[str], problem: MetricProblem) -> None:
        if not isinstance(path, str | os.PathLike):
            raise InputError(f"checkpoint must be a path, got {type(path).__name__}")
        self.path = Path(path)
        try:
            check_writable(self.path)
        except InputError as error:
            raise InputError(f"checkpoint must be a file that can be written: {error}") from error
        self.problem = problem
        self.fingerprint = problem.fingerprint()
        self._written = -np.inf
        self._cost = 0.0
        self._failed = False

    @property
    def due(self) -> bool:
        """Whether writing now keeps the time spent on writing within ``SHARE``."""
        return perf_counter() - self._written >= self._cost / SHARE

    def write(self, state: State) -> None:
        """Write the state atomically: at any moment the file holds the last complete one.

        A failure to write is warned about once: the solve goes on, and tries again later.
        """
        began = perf_counter()
        history = [[p.iteration, p.seconds, p.upper_bound, p.lower_bound, p.gap] for p in state.history]
        arrays: dict[str, Any] = {
            "format": np.int64(FORMAT),
            "fingerprint": np.frombuffer(self.fingerprint.encode(), dtype=np.uint8),
            "history": np.array(history, dtype=np.float64).reshape(-1, 5),
            "details": np.frombuffer(json.dumps([p.details for p in state.history]).encode(), dtype=np.uint8),
            "seconds": np.float64(state.seconds),
            "M": state.M,
            "solver": np.frombuffer(state.solver.encode(), dtype=np.uint8),
        }
        arrays |= {} if state.dual is None else dual_arrays(state.dual)
        arrays |= {f"{SOLVER}{name}": array for name, array in state.arrays.items()}
        try:
            write_arrays(self.path, arrays)
        except InputError as error:
            if not self._failed:
                warnings.warn(f"the checkpoint is not up to date, and the solve goes on: {error}", stacklevel=2)
            self._failed = True
        self._written = perf_counter()
        self._cost = self._written - began

    def read(self) -> State | None:
        """Return the state in the file; None if there is no file.

        Raises
        ------
        InputError
            If the file is no checkpoint, is damaged, or belongs to another problem.
        """
        if not self.path.exists():
            return None
        try:
            arrays = read_arrays(self.path, max_bytes=MAX_BYTES)
        except InputError as error:
            raise InputError(f"{self.path} is not a readable checkpoint ({error}); remove it to start again") from error
        if not arrays.keys() >= KEYS or not np.array_equal(arrays["format"], FORMAT):
            raise InputError(f"{self.path} is no checkpoint that this version reads; remove it to start again")
        if arrays["fingerprint"].tobytes() != self.fingerprint.encode():
            raise InputError(
                f"{self.path} belongs to another problem (other data or parameters); remove it or name another file"
            )
        try:
            history = self._history(arrays)
            dual = dual_from_arrays(arrays)
            own = {name.removeprefix(SOLVER): a for name, a in arrays.items() if name.startswith(SOLVER)}
            M, seconds, solver = self.problem.metric(arrays["M"]), float(arrays["seconds"]), arrays["solver"]
            if not 0.0 <= seconds < np.inf:
                raise ValueError(f"it took {seconds} seconds")
            return State(M, dual, history, seconds, solver.tobytes().decode(), own)
        except Exception as error:
            raise InputError(f"{self.path} is damaged ({error!r}); remove it to start again") from error

    @staticmethod
    def _history(arrays: Mapping[str, np.ndarray]) -> list[Progress]:
        details = json.loads(arrays["details"].tobytes().decode())
        rows = arrays["history"].astype(np.float64).tolist()
        return [
            Progress(int(number), seconds, upper, lower, gap, {name: float(value) for name, value in detail.items()})
            for (number, seconds, upper, lower, gap), detail in zip(rows, details, strict=True)
        ]
