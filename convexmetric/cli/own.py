"""Problems of a user's own on the command line: ``module:factory``."""

from __future__ import annotations

import importlib
import sys
from inspect import signature
from pathlib import Path

from convexmetric.errors import InputError
from convexmetric.problem import MetricProblem


def made_by(name: str) -> MetricProblem:
    """Call ``module:factory`` and return its problem; the module may lie in the current folder.

    Raises
    ------
    InputError
        If there is no such module or function, it takes arguments, or it returns something else than a problem.
    """
    module_name, _, factory_name = name.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not module_name.startswith(error.name):
            raise
        raise InputError(f"{name}: there is no module {module_name!r} in {here} or on the path of Python") from error
    factory = getattr(module, factory_name, None)
    if not callable(factory):
        raise InputError(
            f"{name}: {module_name} has no function {factory_name!r}; name one that returns a MetricProblem"
        )
    try:
        # Check the signature before the call: a TypeError from inside the function must not look like a wrong call.
        signature(factory).bind()
    except TypeError as error:
        raise InputError(f"{name}: {factory_name}() must work without arguments; {error}") from error
    problem = factory()
    if not isinstance(problem, MetricProblem):
        raise InputError(f"{name}: {factory_name}() must return a MetricProblem, got {type(problem).__name__}")
    return problem
