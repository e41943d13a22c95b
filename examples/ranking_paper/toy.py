"""Figure 1: target neighbours chosen by Euclidean distance, when one feature is corrupted.

The height of a point tells its class; its position along the horizontal axis, at a large scale, is that of one of a few
columns and says nothing about new points. The classes of the columns take turns, so that height alone separates them by
one cut. LMNN (``LargeMarginProblem``) is solved exactly, so that what is seen is the choice of targets and not an
optimiser. Logistic regression, which has no targets either, is shown as well.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import convexmetric as cm

from .classification import logistic_metric

TARGETS = 3
COLUMNS, IN_COLUMN = 4, 15


@dataclass(frozen=True)
class Toy:
    """Points, labels, test points, and metrics with their solutions by name."""

    X: np.ndarray
    y: np.ndarray
    metrics: dict[str, np.ndarray]
    errors: dict[str, float]
    gaps: dict[str, float]


def columns(rng: np.random.Generator, classes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Columns of one class each from left to right, anywhere along the horizontal axis."""
    y = np.repeat(classes, IN_COLUMN)
    place = np.cumsum(rng.uniform(15.0, 25.0, len(classes))) - 50.0 + rng.uniform(-20.0, 20.0)
    across = np.repeat(place, IN_COLUMN) + rng.normal(scale=0.4, size=y.size)
    height = (2 * y - 1) * rng.uniform(0.3, 3.0, y.size)
    return np.column_stack([across, height]), y


def toy(seed: int = 0, C: float = 100.0) -> Toy:
    """Learn the metrics on columns whose classes take turns, and test them on columns in any order."""
    rng = np.random.default_rng(seed)
    classes = np.arange(COLUMNS) % 2
    X, y = columns(rng, classes)
    new = [columns(rng, rng.permutation(classes)) for _ in range(20)]
    T, t = np.concatenate([points for points, _ in new]), np.concatenate([labels for _, labels in new])
    solutions = {
        "LMNN": cm.solve(cm.LargeMarginProblem(X, y, n_neighbors=TARGETS), tol=1e-4),
        "MLR-AUC": cm.solve(cm.RankingProblem.from_labels(X, y, C=C), tol=1e-4),
    }
    metrics = {"native": np.eye(2)} | {name: solution.M for name, solution in solutions.items()}
    metrics["logistic"] = logistic_metric(X, y, 1.0)
    errors = {name: float(cm.evaluation.knn_error(M, X, y, T, t, k=TARGETS)) for name, M in metrics.items()}
    return Toy(X, y, metrics, errors, {name: solution.gap for name, solution in solutions.items()})
