"""Memory: what the machine has left or a caller allows, and sizes of arrays, to estimate what solvers take."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

from convexmetric.errors import UnsupportedProblemError
from convexmetric.problem import MetricProblem
from convexmetric.solvers.runtime.base import Solver

#: Bytes of a number.
FLOAT = 8.0
#: Limit and use of a control group, version 2 and version 1.
CGROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)

_allowed: ContextVar[float | None] = ContextVar("allowed", default=None)


@contextmanager
def memory_limit(size: float | None) -> Iterator[None]:
    """Let solvers hold at most so many bytes beside the problem; None for what the machine has left."""
    token = _allowed.set(available_memory() if size is None else float(size))
    try:
        yield
    finally:
        _allowed.reset(token)


def available_memory() -> float:
    """Bytes that this process may still take: the least of the machine's, its control group's and its own limit."""
    return min(_of_machine(), _of_group(), _of_process())


def _of_machine() -> float:
    with suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return 1024.0 * int(line.split()[1])
    with suppress(OSError, ValueError, AttributeError):
        return float(os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    return float("inf")


def _of_group() -> float:
    for limit, used in CGROUPS:
        # "max" is no number: no limit.
        with suppress(OSError, ValueError):
            return max(0.0, float(int(Path(limit).read_text(encoding="ascii")) - int(Path(used).read_text("ascii"))))
    return float("inf")


def _of_process() -> float:
    # Some platforms have no such limit.
    with suppress(ImportError, OSError, ValueError, IndexError):
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
            return max(0.0, float(limit - pages * resource.getpagesize()))
    return float("inf")


def check_memory(problem: MetricProblem, solver: Solver) -> None:
    """Refuse a solver that would hold more memory than there is, before it takes any."""
    needed, there = solver.memory(problem), _allowed.get()
    there = available_memory() if there is None else there
    if needed is not None and needed > there:
        raise UnsupportedProblemError(
            f"it would need about {readable_bytes(needed)} beside the data, and there are {readable_bytes(there)}: "
            "take fewer pairs or rows, raise max_memory, or name another solver"
        )


def readable_bytes(size: float) -> str:
    """Format a number of bytes, in GB or MB."""
    return f"{size / 1e9:.2g} GB" if size >= 1e9 else f"{max(1.0, size / 1e6):.0f} MB"


def metric_memory(problem: MetricProblem) -> float:
    """Bytes of one metric."""
    return FLOAT * float(problem.cone.size if problem.cone.diagonal else problem.cone.d**2)
