"""Printed numbers beside ours, one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from experiments.sheet import Row

from . import printed

__all__ = ["scores"]


def scores(found: Mapping[tuple[str, str], Mapping[str, Any]]) -> Iterator[Row]:
    """Table 2, with errors over test queries."""
    for (task, method), result in found.items():
        there = printed.MAP.get(method, {}).get(task)
        title = f"{task}, {method}, MAP"
        yield Row(title, there, result["map"], result["standard_error"], result["queries"], "queries")
