"""CVXPY, imported when it is first used: its import takes longer than all of the package, and most solves need none.

``from convexmetric.programs.lazy import cvxpy as cp`` instead of ``import cvxpy as cp``; what follows reads the same.
Only what needs a class of CVXPY as a base (:mod:`convexmetric.programs.program`) imports CVXPY itself, and is imported
late.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any


class _Lazy(ModuleType):
    """A module that imports the one of its name when an attribute is first asked for."""

    def __getattr__(self, attribute: str) -> Any:
        return getattr(import_module(self.__name__), attribute)


if TYPE_CHECKING:
    import cvxpy as cvxpy

    from convexmetric.programs import program as program
else:
    cvxpy, program = _Lazy("cvxpy"), _Lazy("convexmetric.programs.program")
