"""Solvers from names, modules and files of the user's own, and how a callable is called."""

from __future__ import annotations

import hashlib
import importlib
import inspect
import os
import re
import runpy
import sys
from collections.abc import Callable, Iterator
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from convexmetric.arguments import not_one_of
from convexmetric.errors import ConvexMetricError, InputError
from convexmetric.problem import MetricProblem
from convexmetric.solvers import SOLVERS, Solver

if TYPE_CHECKING:
    from convexmetric.bench.traces import Recorder

ForeignSolver = Callable[..., Any]
"""A solver to be watched, ``f(problem)`` or ``f(problem, record)``: it records metrics, yields them, or returns one."""

Target = str | Solver | ForeignSolver
"""A solver's name, ``file.py``, ``file.py:name``, ``module:attribute``, a solver, or a callable of a problem."""

#: A file, and perhaps the name of what is in it.
_FILE = re.compile(r"(?P<path>.+\.py)(?::(?P<name>\w+))?", re.DOTALL)
#: Names that a file's solver may have, and parameters of a callable that take the seed.
SOLVER_NAMES, SEED_NAMES = ("solver", "solve"), ("seed", "random_state")


def file_of(target: object) -> Path | None:
    """The file that a target names; None if it names none.

    Raises
    ------
    InputError
        If there is no such file.
    """
    found = _FILE.fullmatch(target) if isinstance(target, str) else None
    if found is None:
        return None
    path = Path(found["path"])
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    return path


def source_of(target: object) -> str:
    """The first 16 digits of the SHA-256 of the file that a target names; empty if it names none."""
    path = file_of(target)
    return "" if path is None else hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def loaded_solver(target: Target) -> Solver | ForeignSolver:
    """The solver, or the callable, that a name stands for; a module or a file is imported, **which runs its code**.

    Parameters
    ----------
    target : str, Solver or callable
        Name of a solver of the package; ``"module:attribute"``; ``"file.py"``, whose attribute ``solver``, or else
        ``solve``, is taken; ``"file.py:name"``. A class is called without arguments.

    Raises
    ------
    InputError
        If there is none.
    SolverNotInstalledError
        If it is a conic solver that is not installed.
    """
    try:
        found: Any = _imported(target) if isinstance(target, str) else target
        if isinstance(found, type):
            found = found()
    except ConvexMetricError:
        raise
    except Exception as error:
        raise InputError(f"cannot load the solver {target!r}: {type(error).__name__}: {error}") from error
    if not isinstance(found, Solver) and not callable(found):
        raise InputError(f"{target!r} must be a Solver or a callable of a problem, got {type(found).__name__}")
    return found


def check_module(target: str) -> tuple[str, str]:
    """Module and attribute that a target names; nothing is imported.

    Raises
    ------
    InputError
        If it does not name them, or there is no such module.
    """
    module, colon, attribute = target.partition(":")
    if not (module and colon and attribute):
        raise InputError(not_one_of("solver", SOLVERS, target, ", a file.py, or module:attribute"))
    top = module.partition(".")[0]
    if not (PathFinder.find_spec(top, [os.getcwd()]) or find_spec(top)):
        raise InputError(f"cannot load the solver {target!r}: there is no module {top}")
    return module, attribute


def called(solver: ForeignSolver, problem: MetricProblem, record: Recorder, seed: int | None = None) -> None:
    """Call a solver and record all metrics that it shows.

    It is given ``record`` if it has a parameter of that name or a second one without a default, and the seed if it has
    a parameter ``seed`` or ``random_state``.

    Raises
    ------
    InputError
        If it shows something that is not a metric, or shows none.
    """
    try:
        parameters = [*inspect.signature(solver).parameters.values()]
    except (TypeError, ValueError):
        parameters = []  # Some callables of C have no signature.
    given: list[Any] = [problem]
    options: dict[str, Any] = {p.name: seed for p in parameters if p.name in SEED_NAMES and seed is not None}
    for number, p in enumerate(p for p in parameters if p.name not in SEED_NAMES):
        if p.kind is p.VAR_POSITIONAL or (number == 1 and p.kind is p.POSITIONAL_ONLY):
            given.append(record)
        elif p.name == "record" or (number == 1 and p.kind is p.POSITIONAL_OR_KEYWORD and p.default is p.empty):
            options[p.name] = record
    result = solver(*given, **options)
    if isinstance(result, Iterator):
        for shown in result:
            if isinstance(shown, tuple) and len(shown) == 2:
                record(shown[0], passes=shown[1])
            else:
                record(shown)
    elif isinstance(result, np.ndarray) or (result is not None and not record.rows):
        record(result)


def _imported(target: str) -> Any:
    if target in SOLVERS:
        return SOLVERS[target]()
    path = file_of(target)
    if path is None:
        module, attribute = check_module(target)
        if os.getcwd() not in sys.path:
            # Import from the current folder first, as python -m does.
            sys.path.insert(0, os.getcwd())
        return getattr(importlib.import_module(module), attribute)
    # Modules next to the file can be imported, but do not replace others.
    sys.path.append(str(path.resolve().parent))
    found = runpy.run_path(str(path), run_name=f"file_{path.stem}")
    name = target[len(str(path)) + 1 :]
    for candidate in (name,) if name else SOLVER_NAMES:
        if candidate in found:
            return found[candidate]
    raise InputError(f"{path} has no {name or ' or '.join(SOLVER_NAMES)}: add it, or name another as {path.name}:name")
