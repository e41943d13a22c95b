"""Printed numbers beside ours, one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from experiments.sheet import Row, row_of

from . import printed
from .tables import best, validated

__all__ = ["errors", "matchings"]


def errors(found: Mapping[tuple[str, str], Mapping[int, dict[str, Any]]]) -> Iterator[Row]:
    """Table 2, with the best choice in hindsight, and with the one of validation."""
    for (data, method), by_split in found.items():
        there, results = printed.ERRORS[method].get(data), list(by_split.values())
        every = 100.0 * np.array([result["errors"] for result in results])
        title = f"{method} on {data}, error in percent"
        yield row_of(f"{title}, best in hindsight", there, every[:, *best(results)], "splits", 1)
        if (chosen := 100.0 * validated(results)).size:
            yield row_of(f"{title}, validated", there, chosen, "splits", 1)


def matchings(scores: Mapping[str, Sequence[Sequence[float]]]) -> Iterator[Row]:
    """Table 4: AUC, MAP and MRR by method, one of each a set of users."""
    for method, each in scores.items():
        paper = printed.MATCHINGS.get(method, (None,) * 3)
        for at, measure in enumerate(("AUC", "MAP", "MRR")):
            yield row_of(f"{method} on matchings, {measure}", paper[at], [one[at] for one in each], "sets")
