"""Requirements of solvers on a problem, checked and returned as typed data, and on memory.

A problem that fails one raises :class:`~convexmetric.errors.UnsupportedProblemError`, with the reason as a clause.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

import numpy as np

from convexmetric.arrays import Array
from convexmetric.cones.base import NO_CONE
from convexmetric.errors import UnsupportedProblemError
from convexmetric.problem import MetricProblem
from convexmetric.regularizers import NormWeights
from convexmetric.risks import ListedHinges, SeparableRisk
from convexmetric.solvers.runtime.base import Solver

NORM_OR_TRACE = "is neither a Frobenius norm nor a trace"
#: Bytes of a number.
FLOAT = 8.0
#: Bytes of comparisons in coordinates above which they are not written out.
MAX_BYTES = 2 * 2**30
#: Limit and use of a control group, version 2 and version 1.
CGROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)

_allowed: ContextVar[float | None] = ContextVar("allowed", default=None)


def need(holds: bool, reason: str) -> None:
    """Refuse a problem, with ``reason`` as a clause, unless ``holds``."""
    if not holds:
        raise UnsupportedProblemError(reason)


def need_cone(problem: MetricProblem) -> None:
    """Refuse matrices that are not restricted to a cone."""
    need(not problem.cone.free, NO_CONE)


def need_full_metrics(problem: MetricProblem) -> None:
    """Refuse cones other than that of all semidefinite matrices."""
    need_cone(problem)
    need(not problem.cone.diagonal, "its metrics are diagonal")
    need(problem.cone.on_subspace(1) is not None, "its metrics have zeros that stay zeros")


def need_short_rows(count: int, width: float) -> None:
    """Refuse ``count`` comparisons of ``width`` coordinates each if their rows take more than ``MAX_BYTES``."""
    need(count * width * FLOAT <= MAX_BYTES, f"the rows of its comparisons take more than {MAX_BYTES / 2**30:.3g} GiB")


def need_planes(problem: MetricProblem) -> None:
    """Refuse a risk without supporting planes at metrics that a solver may visit."""
    risk = problem.risk
    need(risk.barrier or not risk.hard, "its margins are hard constraints")
    # There are no cuts at zero to subtract from the others.
    need(risk.nonnegative or not risk.hard, "its losses are infinite at zero and without a lower bound")


def quadratic_part(problem: MetricProblem) -> float | Array:
    """Q of a penalty ``<linear, M> + <M, Q M> / 2``: a multiple of the identity, or a matrix for diagonal metrics."""
    quadratic = problem.quadratic()
    if quadratic is None:
        raise UnsupportedProblemError("its regularizer is neither linear nor quadratic")
    full = isinstance(quadratic, np.ndarray) and not problem.cone.diagonal
    need(not full, "its quadratic form is for diagonal metrics only")
    return quadratic


def soft_hinges(problem: MetricProblem) -> ListedHinges:
    """Return the risk as hinges of listed comparisons; refuse hard constraints."""
    hinges = problem.risk.form(ListedHinges)
    need(not hinges.hard, "its margins are hard constraints")
    return hinges


def dual_slopes(problem: MetricProblem) -> tuple[Array, Array]:
    """Least and largest slope of the loss of every listed comparison."""
    risk = problem.risk.form(SeparableRisk)
    box = risk.loss.dual_box(risk.parts)
    if box is None:
        reason = "its margins are hard constraints" if risk.hard else "its loss says no dual slopes"
        raise UnsupportedProblemError(reason)
    return box


def norm_weights(problem: MetricProblem, fits: Callable[[NormWeights], bool], reason: str) -> NormWeights:
    """Return the weights of a sum of norms; refuse the regularizer with ``reason`` unless ``fits`` accepts them."""
    weights = problem.regularizer.weights()
    if weights is None or not fits(weights):
        raise UnsupportedProblemError(f"its regularizer {reason}")
    return weights


def frobenius_norm(problem: MetricProblem) -> NormWeights:
    """Weights of a regularizer that is a Frobenius norm, squared or not."""
    return norm_weights(problem, lambda w: not (w.trace or (w.squared and w.norm)), "is not a Frobenius norm")


def norm_or_trace(problem: MetricProblem) -> NormWeights:
    """Weights of a regularizer that is a Frobenius norm, its square with a trace or without, or a trace."""
    return norm_weights(problem, lambda w: not (w.norm and (w.trace or w.squared)), NORM_OR_TRACE)


def squared_norm(problem: MetricProblem) -> float:
    """Lambda of a penalty ``<linear, M> + lambda/2 ||M||^2``."""
    quadratic = problem.quadratic()
    if quadratic is None or isinstance(quadratic, np.ndarray) or quadratic == 0.0:
        raise UnsupportedProblemError("its regularizer is not a squared Frobenius norm")
    return float(quadratic)


def has_linear_penalty(problem: MetricProblem) -> bool:
    """Whether the penalty is ``<linear, M>``."""
    quadratic = problem.quadratic()
    return not isinstance(quadratic, np.ndarray) and quadratic == 0.0


def need_linear_penalty(problem: MetricProblem) -> None:
    """Refuse a penalty that is not ``<linear, M>``."""
    need(has_linear_penalty(problem), "its penalty is not linear")


def positive_definite_penalty(problem: MetricProblem) -> Array:
    """Return H of a penalty ``<H, M>`` of full metrics; refuse one that is not positive definite."""
    need_full_metrics(problem)
    need_linear_penalty(problem)
    H = linear_part(problem)
    try:
        np.linalg.cholesky(H)
    except np.linalg.LinAlgError as error:
        raise UnsupportedProblemError("its penalty does not grow with every metric") from error
    return H


def linear_part(problem: MetricProblem) -> Array:
    """The linear part of a penalty that is linear plus quadratic, an element of the cone's space."""
    linear = problem.cone.from_coordinates(problem.regularizer.linear(problem.cone))
    return linear if problem.G is None else linear + problem.G


def trace_weight(problem: MetricProblem) -> float:
    """Lambda of a regularizer ``lambda tr M``."""
    return norm_weights(problem, lambda w: not (w.squared or w.norm), "is not a trace").trace


@contextmanager
def memory_limit(size: float | None) -> Iterator[None]:
    """Limit solvers to ``size`` bytes in addition to the problem; None for what the machine has left."""
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
        # "max" is not a number, and means no limit.
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
    """Refuse a solver whose estimated memory exceeds what is available, before it allocates any."""
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
