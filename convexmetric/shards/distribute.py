"""A problem whose risk is evaluated elsewhere, shard by shard."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from copy import copy
from tempfile import TemporaryDirectory
from typing import Any

from convexmetric.problem import MetricProblem
from convexmetric.risks import Reason
from convexmetric.shards import ShardedRisk, as_backend, write

__all__ = ["spread"]


@contextmanager
def spread(problem: MetricProblem, engine: Any) -> Iterator[MetricProblem]:
    """The same problem with its risk on an engine; data in memory are in a temporary folder as long as this lasts.

    Raises
    ------
    InputError
        If the engine is none, or the risk cannot be cut into shards.
    """
    with ExitStack() as stack:
        backend = as_backend(engine)
        stack.callback(backend.close)
        risk = problem.risk.form(ShardedRisk)
        if isinstance(risk, Reason):
            folder = stack.enter_context(TemporaryDirectory(prefix="convexmetric-shards-", ignore_cleanup_errors=True))
            risk = write(problem.risk, folder)
        other = copy(problem)
        other.risk = risk.on(backend)
        yield other
