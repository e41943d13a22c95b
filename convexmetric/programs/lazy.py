"""CVXPY, imported when it is first used: its import takes longer than all of the package, and most solves need none.

Write ``from convexmetric.programs.lazy import cvxpy as cp`` instead of ``import cvxpy as cp``; the rest of the code
stays the same. Only :mod:`convexmetric.programs.program`, which needs a class of CVXPY as a base, imports CVXPY itself,
and is imported lazily.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from convexmetric.imports import optional


class _Lazy(ModuleType):
    """A module that imports the module of its name when an attribute is first accessed."""

    def __getattr__(self, attribute: str) -> Any:
        optional("cvxpy", "conic", "a program of CVXPY")
        return getattr(import_module(self.__name__), attribute)


if TYPE_CHECKING:
    import cvxpy as cvxpy

    from convexmetric.programs import program as program
else:
    cvxpy, program = _Lazy("cvxpy"), _Lazy("convexmetric.programs.program")
