"""Stand in for numba, which browsers do not have: loops run as the Python they are written in, only slower.

Import this before ``convexmetric``.
"""

from __future__ import annotations

import sys
from typing import Any


def njit(**settings: Any) -> Any:
    """Leave a loop as it is."""
    return lambda loop: loop


def get_num_threads() -> int:
    """Number of threads of a loop."""
    return 1


def set_num_threads(number: int) -> None:
    """Take note of nothing: there is one thread."""


sys.modules.setdefault("numba", sys.modules[__name__])
