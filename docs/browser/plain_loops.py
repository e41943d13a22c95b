"""Stand in for numba, which browsers do not have: loops run as the Python they are written in, only slower.

Import this before ``convexmetric``.
"""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

#: Of no version whose compiler is known.
version_info = SimpleNamespace(short=(0, 0))
rtsys = None


def njit(**settings: Any) -> Any:
    """Leave a loop as it is."""
    return lambda loop: loop


def get_num_threads() -> int:
    """Number of threads of a loop."""
    return 1


def set_num_threads(number: int) -> None:
    """Take note of nothing: there is one thread."""


class FunctionCache:
    """Keep nothing, as nothing is compiled."""

    def __init__(self, loop: Any) -> None: ...


class Compiler:
    """Compile nothing."""


class JITCodeLibrary:
    """Code of nothing."""

    serialize_using_bitcode = None


class CompileResultCacheImpl:
    """Places of nothing."""

    _locator_classes = (object,)


for _part in ("", ".core.caching", ".core.codegen", ".core.compiler", ".core.runtime"):
    sys.modules.setdefault(f"numba{_part}", sys.modules[__name__])
