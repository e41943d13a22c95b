"""Procedure LEARN METRIC by itself: what its steps give with the signs and sums that it prints, and corrected."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np

import convexmetric as cm
from convexmetric.approximate.batches import BatchState
from convexmetric.risks import PairwiseRisk

from .factors import area
from .nodes import Nodes, load
from .protocol import split

__all__ = ["LETTERS", "compared", "run"]

LETTERS = "FGHIJL"
#: lambda over the one from which on all triplets violate their margin: the largest of the grid with uniform entries
#: and no I1 alone, else the middle.
RATIOS = {letter: 1e-4 if letter in "FHI" else 1e-2 for letter in LETTERS}


def run(data: str, letter: str, r: int, batch: int, steps: int) -> dict[str, Any]:
    """AUC on test pairs after the last step on the first split of a graph, corrected and as printed."""
    nodes = load(data)
    train, test = (nodes.part(rows) for rows in split(len(nodes), 0, None))
    return compared(train, test, letter, r, batch, steps)


def compared(train: Nodes, test: Nodes, letter: str, r: int, batch: int, steps: int) -> dict[str, Any]:
    """The same on other nodes."""
    problem = train.problem(cm.papers.VARIANTS[letter], r, 0)
    problem = problem.with_reg(RATIOS[letter] * (problem.reg_max or 1.0))
    assert problem.projection is not None
    images = problem.projection.transform(test.X)
    risk = problem.risk
    assert isinstance(risk, PairwiseRisk)
    found = {}
    for printed in (False, True):
        state = BatchState(0, 0, problem.cone.zeros(), problem.cone.zeros())
        metrics = cm.approximate.StochasticBatch(batch, as_printed=printed).metrics(problem, risk, problem.reg, state)
        for _, M in islice(metrics, steps):
            last: np.ndarray = M
        found["printed" if printed else "corrected"] = area(images, last, test)
    return found
