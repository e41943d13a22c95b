"""Sections 4.1 and 4.2: choose lambda by cross-validation on training nodes, judge on pairs of held-out nodes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import rankdata
from sklearn.model_selection import KFold, train_test_split

import convexmetric as cm

from .learners import Precision, is_random, learn
from .nodes import Nodes, load

__all__ = ["pair_auc", "run", "run_on", "split"]


def run(
    data: str, part: int, parts: int | None, exact: dict[str, Any], rough: dict[str, Any], **choices: Any
) -> dict[str, Any]:
    """One method on one split of a set; see :func:`run_on`.

    ``parts`` is None for a random fifth of the nodes to test on, else the number of folds of which ``part`` tests.
    ``exact`` and ``rough`` are the :class:`Precision` of final fits and of those of cross-validation.
    """
    nodes = load(data)
    train, test = (nodes.part(rows) for rows in split(len(nodes), part, parts))
    return run_on(train, test, seed=part, exact=Precision(**exact), rough=Precision(**rough), **choices)


def split(n: int, part: int, parts: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Nodes to train and to test on."""
    if parts is None:
        train, test = train_test_split(np.arange(n), train_size=0.8, random_state=part)
        return np.sort(train), np.sort(test)
    return list(KFold(parts, shuffle=True, random_state=0).split(np.arange(n)))[part]


def run_on(
    train: Nodes,
    test: Nodes,
    method: str,
    grid: Sequence[float],
    r: int,
    folds: int,
    trials: int,
    seed: int,
    exact: Precision,
    rough: Precision,
    widen: int = 0,
) -> dict[str, Any]:
    """Choose a setting of the grid among training nodes, learn with it from all of them, rank all pairs of test nodes.

    ``widen`` is how often the grid may grow at an end that was chosen.

    Returns ``auc``, ``gaps``, ``objectives``, ``seconds`` and ``ranks`` of the trials, which differ in the random
    projection or start; the setting ``chosen`` by ``held_out`` AUC (a list of folds for every one of ``tried``);
    ``rough_gaps`` of cross-validation.
    """
    tried: dict[float, list[float]] = {}
    rough_gaps: list[float] = []
    chosen, missing = grid[0], list(grid) if len(grid) > 1 else []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cm.errors.GapWarning)
        while missing:
            tried |= {setting: [] for setting in missing}
            for inner, outer in KFold(folds, shuffle=True, random_state=seed).split(np.arange(len(train))):
                judge = train.part(outer)
                for setting, one in zip(
                    missing, learn(method, train.part(inner), missing, r, seed, rough), strict=True
                ):
                    tried[setting].append(pair_auc(one.distances(judge.X), judge.linked()))
                    rough_gaps += [] if one.gap is None else [one.gap]
            chosen = max(tried, key=lambda setting: float(np.nanmean(tried[setting])))
            missing = beyond(list(tried), chosen) if len(tried) < len(grid) + widen else []
        fits = [
            next(iter(learn(method, train, [chosen], r, seed + 100 * trial, exact)))
            for trial in range(trials if is_random(method) else 1)
        ]
    return {
        "auc": [pair_auc(fit.distances(test.X), test.linked()) for fit in fits],
        "gaps": [fit.gap for fit in fits],
        "objectives": [fit.objective for fit in fits],
        "seconds": [fit.seconds for fit in fits],
        "ranks": [fit.rank for fit in fits],
        "chosen": chosen,
        "tried": list(tried),
        "held_out": list(tried.values()),
        "rough_gaps": rough_gaps,
    }


def beyond(grid: Sequence[float], chosen: float) -> list[float]:
    """The next number of a geometric grid beyond its end, if the end was chosen."""
    ordered = sorted(grid)
    for end, inner in ((ordered[0], ordered[1]), (ordered[-1], ordered[-2])):
        if chosen == end:
            return [float(f"{end * end / inner:.6g}")]
    return []


def pair_auc(distances: np.ndarray, linked: np.ndarray) -> float:
    """Probability that a linked pair is closer than an unlinked one, ties half; all pairs of different nodes."""
    pairs = np.triu_indices(len(linked), 1)
    near, ranks = linked[pairs], rankdata(distances[pairs])
    count = int(near.sum())
    if count in (0, len(near)):
        return float("nan")
    below = ranks[near].sum() - count * (count + 1) / 2
    return float(1.0 - below / (count * (len(near) - count)))
