"""Printed numbers beside ours, one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from experiments.sheet import Row, row_of

from . import printed
from .nodes import GRAPHS

__all__ = ["areas"]


def areas(found: Mapping[tuple[str, str], Sequence[Mapping[str, Any]]]) -> Iterator[Row]:
    """Tables 2 and 4: a number a split or fold, the mean of its trials."""
    for (data, method), results in found.items():
        means = [float(np.mean(result["auc"])) for result in results]
        if data not in GRAPHS:
            yield row_of(f"Table 4, {method} on {data}, AUC", printed.PHENOTYPES.get(method), means, "folds")
            continue
        for graph, there in zip(
            ("Search Engine", "Philosophy"), printed.WIKIPEDIA.get(method, (None,) * 2), strict=True
        ):
            yield row_of(f"Table 2, {method} on {data} for {graph}, AUC", there, means, "splits")
