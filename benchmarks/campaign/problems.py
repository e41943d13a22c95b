"""Problems of the campaign against the checker: solved ones of all families, and extreme ones."""

from __future__ import annotations

import itertools
import tempfile
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import convexmetric as cm
from campaign.families import drawn
from convexmetric.errors import ConvexMetricError

from catalogue import instance, names  # isort: skip
from forgery import Contents, opened  # isort: skip

__all__ = ["FEW", "Problem", "extreme", "solved"]

Ends = tuple[Any, Any]
SOLVED = tuple(names(without=("user terms", "user blocks")))
#: Of these, those that the short test takes.
FEW = (
    "ranking from labels", "relative, rbf, soft", "relative, A, hard", "triplets, graph, diagonal",
    "pairs, all, frobenius, features, margin 1.0", "cross-modal, representatives", "psd triplets, trace, G",
    "map, trace, full", "hinge, linear term, full", "itakura-saito, log det, full", "hinge, l1 and log det, full",
    "hinge, trace distance, full", "root, budget, blocks", "log, budget, full",
    "hinge, distance, blocks",
)  # fmt: skip


@dataclass(frozen=True)
class Problem:
    """A certificate, and proven bounds on the optimal value."""

    name: str
    contents: Contents
    optimum: Ends


def certified(name: str, problem: Any, limit: float | None = None) -> Problem:
    """Solve a problem, and prove what the solution proves; errors are those of the package."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solution, path = cm.solve(problem, tol=1e-7, max_seconds=limit), Path(folder) / "c.npz"
        verdict = cm.write_certificate(path, problem, solution=solution, title=name)
        return Problem(name, opened(path), (verdict.lower, verdict.upper))


def extreme(seed: int) -> Problem:
    """One of the campaign of solves; its twin on well-scaled data bounds the same optimum in other units."""
    for attempt in itertools.count():
        name, _, case, _ = drawn(seed, int(np.random.default_rng([seed, attempt]).integers(2**20)), most=9)
        try:
            found = certified(name, case.make(), limit=1.0)
        except ConvexMetricError:
            continue
        if case.twin is not None and not case.slack:
            with suppress(ConvexMetricError):
                low, high = (case.factor * end for end in certified(name, case.twin(), limit=1.0).optimum)
                return Problem(name, found.contents, (max(low, found.optimum[0]), min(high, found.optimum[1])))
        return found
    raise AssertionError


def solved(chosen: Sequence[str] = SOLVED) -> list[Problem]:
    """Certificates of the package's own solvers for the problems of the tests' catalogue, which have all blocks."""
    return [certified(name, instance(name)) for name in chosen]
