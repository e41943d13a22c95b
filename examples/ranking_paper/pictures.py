"""Figures 1 and 2."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from convexmetric.plotting import COLOURS, MARKERS, panels, save_picture
from convexmetric.plotting.axes import AID

from .toy import Toy


def draw_toy(toy: Toy, path: Path) -> None:
    """The points as they are, and along the top eigenvector of each learned metric."""
    figure, axes = panels(4, height=2.0, height_ratios=(1.8, 1.0, 1.0, 1.0))
    _scatter(axes[0], toy.X, toy.y)
    axes[0].set_title(f"As given (error {toy.errors['native']:.0%})", fontsize="medium")
    axes[0].set_xlabel("corrupted feature")
    axes[0].set_ylabel("informative feature")
    for ax, name in zip(axes[1:], ("LMNN", "logistic", "MLR-AUC"), strict=True):
        values, vectors = np.linalg.eigh(toy.metrics[name])
        axis = vectors[:, -1] * np.sign(vectors[np.argmax(np.abs(vectors[:, -1])), -1])
        along = toy.X @ axis * np.sqrt(values[-1])
        # Up and down is only there to keep the points apart.
        _scatter(ax, np.column_stack([along, np.arange(len(along)) * 0.618 % 1.0]), toy.y)
        ax.set_yticks([])
        ax.set_title(f"{name} (error {toy.errors[name]:.0%})", fontsize="medium")
        ax.set_xlabel(f"{axis[0]:+.2f} corrupted {axis[1]:+.2f} informative")
    save_picture(figure, path)


def _scatter(ax: Axes, points: np.ndarray, y: np.ndarray) -> None:
    for label in np.unique(y):
        ax.scatter(
            *points[y == label].T, s=22, color=COLOURS[label], marker=MARKERS[label], edgecolor="white", linewidth=0.4
        )


def draw_dimensions(medians: dict[str, dict[str, float]], native: dict[str, int], path: Path) -> None:
    """Bars of the median number of dimensions by method, a panel a data set, on a logarithmic axis."""
    methods = ["Euclidean", *medians]
    figure, axes = panels(-(-len(native) // 2), 2, height=0.22 * len(methods) + 0.8, sharex=True, sharey=True)
    for ax, (data, dimensions) in zip(axes, native.items(), strict=False):
        heights = {method: of[data] for method, of in {"Euclidean": native, **medians}.items() if data in of}
        colours = [AID if method == "Euclidean" else COLOURS[0] for method in heights]
        bars = ax.barh([methods.index(method) for method in heights], list(heights.values()), 0.7, color=colours)
        ax.bar_label(bars, fmt="%g", fontsize="small", padding=2)
        ax.set_xscale("symlog", linthresh=1.0)
        ax.set_xlim(0, 6 * max(native.values()))
        ax.set_title(f"{data}, {dimensions} features", fontsize="medium")
        ax.grid(visible=False, axis="y")
    for ax in axes[len(native) :]:
        ax.remove()
    axes[0].set_yticks(range(len(methods)), methods)
    axes[0].invert_yaxis()
    figure.supxlabel("dimensions for 95% of the spectrum", fontsize="medium")
    save_picture(figure, path)
