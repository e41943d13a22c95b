"""Problems whose risk is evaluated on another engine, shard by shard."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from copy import copy
from tempfile import TemporaryDirectory
from typing import Any

from convexmetric.problem import MetricProblem
from convexmetric.shards.backends import as_backend
from convexmetric.shards.risk import ShardedRisk
from convexmetric.shards.writing import write


@contextmanager
def spread(problem: MetricProblem, engine: Any) -> Iterator[MetricProblem]:
    """Move the risk of a problem to an engine; data in memory go to a temporary folder while the context lasts.

    Raises
    ------
    InputError
        If it is no engine, or the risk cannot be cut into shards.
    """
    with ExitStack() as stack:
        backend = as_backend(engine)
        stack.callback(backend.close)
        risk = problem.risk
        if not isinstance(risk, ShardedRisk):
            folder = stack.enter_context(TemporaryDirectory(prefix="convexmetric-shards-", ignore_cleanup_errors=True))
            risk = write(risk, folder)
        other = copy(problem)
        other.risk = risk.on(backend)
        yield other
