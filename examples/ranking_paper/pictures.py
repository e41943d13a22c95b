"""Figures 1 and 2."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from convexmetric.plotting import COLOURS, MARKERS

from .toy import Toy


def draw_toy(toy: Toy, path: Path) -> None:
    """The points as they are, and along the top eigenvector of each learned metric."""
    figure = Figure(figsize=(13.0, 3.4), layout="constrained")
    axes = figure.subplots(1, 4, width_ratios=(1.5, 1.0, 1.0, 1.0))
    _scatter(axes[0], toy.X, toy.y)
    axes[0].set_title(f"As given (error {toy.errors['native']:.0%})")
    axes[0].set_xlabel("corrupted feature")
    axes[0].set_ylabel("informative feature")
    for ax, name in zip(axes[1:], ("LMNN", "logistic", "MLR-AUC"), strict=True):
        values, vectors = np.linalg.eigh(toy.metrics[name])
        axis = vectors[:, -1] * np.sign(vectors[np.argmax(np.abs(vectors[:, -1])), -1])
        along = toy.X @ axis * np.sqrt(values[-1])
        # Up and down is only there to keep the points apart.
        _scatter(ax, np.column_stack([along, np.arange(len(along)) * 0.618 % 1.0]), toy.y)
        ax.set_yticks([])
        ax.set_title(f"{name} (error {toy.errors[name]:.0%})")
        ax.set_xlabel(f"{axis[0]:+.2f} corrupted {axis[1]:+.2f} informative")
    figure.savefig(path, dpi=110)


def _scatter(ax: Axes, points: np.ndarray, y: np.ndarray) -> None:
    for label in np.unique(y):
        ax.scatter(
            *points[y == label].T, s=22, color=COLOURS[label], marker=MARKERS[label], edgecolor="white", linewidth=0.4
        )
    ax.spines[["top", "right"]].set_visible(False)


def draw_dimensions(medians: dict[str, dict[str, float]], native: dict[str, int], path: Path) -> None:
    """Bars of the median number of dimensions by data set and method, on a logarithmic axis."""
    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    ax = figure.add_subplot()
    methods = ["Euclidean", *medians]
    width = 0.8 / len(methods)
    for m, method in enumerate(methods):
        heights = native if method == "Euclidean" else medians[method]
        places = [at for at, data in enumerate(native) if data in heights]
        values = [heights[data] for data in native if data in heights]
        bars = ax.bar(
            np.array(places) + (m - (len(methods) - 1) / 2) * width,
            values,
            width,
            color="#BBBBBB" if method == "Euclidean" else COLOURS[m % len(COLOURS)],
            label=method,
        )
        ax.bar_label(bars, fmt="%g", fontsize=7, padding=1)
    ax.set_yscale("symlog", linthresh=1.0)
    ax.set_ylim(0, 3 * max(native.values()))
    ax.set_xticks(range(len(native)), list(native))
    ax.set_ylabel("dimensions for 95% of the spectrum")
    ax.spines[["top", "right"]].set_visible(False)
    figure.legend(ncols=-(-len(methods) // 2), frameon=False, fontsize="small", loc="outside upper center")
    figure.savefig(path, dpi=110)
