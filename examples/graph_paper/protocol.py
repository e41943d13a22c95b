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
    data: str,
    part: int,
    method: str,
    grid: list[float],
    r: int,
    folds: int,
    parts: int | None,
    trials: int,
    exact: dict[str, Any],
    rough: dict[str, Any],
) -> dict[str, Any]:
    """One method on one split of a set.

    ``parts`` is None for a random fifth of the nodes to test on, else the number of folds of which ``part`` tests.
    ``exact`` and ``rough`` are the :class:`Precision` of final fits and of those of cross-validation.
    """
    nodes = load(data)
    train, test = split(len(nodes), part, parts)
    return run_on(
        nodes.part(train),
        nodes.part(test),
        method,
        grid,
        r,
        folds,
        trials,
        part,
        Precision(**exact),
        Precision(**rough),
    )


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
    settings: Sequence[float],
    r: int,
    folds: int,
    trials: int,
    seed: int,
    exact: Precision,
    rough: Precision,
) -> dict[str, Any]:
    """Choose a setting among training nodes, learn with it from all of them, rank all pairs of test nodes.

    Returns ``auc``, ``gaps``, ``objectives``, ``seconds`` and ``ranks`` of the trials, which differ in the random
    projection or start; the setting ``chosen`` by ``held_out`` AUC; ``rough_gaps`` of cross-validation.
    """
    held_out, rough_gaps = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cm.errors.GapWarning)
        if len(settings) > 1:
            for inner, outer in KFold(folds, shuffle=True, random_state=seed).split(np.arange(len(train))):
                judge = train.part(outer)
                found = list(learn(method, train.part(inner), settings, r, seed, rough))
                held_out.append([pair_auc(one.distances(judge.X), judge.linked()) for one in found])
                rough_gaps += [one.gap for one in found if one.gap is not None]
        chosen = int(np.argmax(np.nanmean(held_out, axis=0))) if held_out else 0
        fits = [
            next(iter(learn(method, train, settings[chosen : chosen + 1], r, seed + 100 * trial, exact)))
            for trial in range(trials if is_random(method) else 1)
        ]
    return {
        "auc": [pair_auc(fit.distances(test.X), test.linked()) for fit in fits],
        "gaps": [fit.gap for fit in fits],
        "objectives": [fit.objective for fit in fits],
        "seconds": [fit.seconds for fit in fits],
        "ranks": [fit.rank for fit in fits],
        "chosen": settings[chosen],
        "held_out": held_out,
        "rough_gaps": rough_gaps,
    }


def pair_auc(distances: np.ndarray, linked: np.ndarray) -> float:
    """Probability that a linked pair is closer than an unlinked one, ties half; all pairs of different nodes."""
    pairs = np.triu_indices(len(linked), 1)
    near, ranks = linked[pairs], rankdata(distances[pairs])
    count = int(near.sum())
    if count in (0, len(near)):
        return float("nan")
    below = ranks[near].sum() - count * (count + 1) / 2
    return float(1.0 - below / (count * (len(near) - count)))
