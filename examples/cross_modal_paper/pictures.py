"""Precision-recall curves, and descents against the certified optimum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from convexmetric.plotting import COLOURS, MARKERS

from .learners import METHODS

__all__ = ["draw_curves", "draw_descents"]


def draw_curves(found: Mapping[tuple[str, str], Mapping[str, Any]], tasks: Sequence[str], path: Path) -> None:
    """Figure 1: interpolated precision against recall, a panel a task."""
    figure = Figure(figsize=(4.4 * len(tasks), 3.6), layout="constrained")
    for ax, task in zip(np.atleast_1d(figure.subplots(1, len(tasks))), tasks, strict=True):
        for at, method in enumerate(METHODS):
            if (result := found.get((task, method))) is not None:
                style = {"color": COLOURS[at % len(COLOURS)], "marker": MARKERS[at % len(MARKERS)]}
                ax.plot(result["recall"], result["precision"], markersize=4, label=method, **style)
        ax.set_title(task)
        ax.set_xlabel("recall")
        ax.set_ylabel("precision")
        ax.set_ylim(bottom=0.0)
        ax.spines[["top", "right"]].set_visible(False)
    figure.axes[-1].legend(frameon=False, fontsize="small")
    figure.savefig(path, dpi=110)


def draw_descents(
    optima: Mapping[str, Mapping[str, Any]],
    found: Mapping[tuple[str, int], Sequence[Mapping[str, Any]]],
    path: Path,
) -> None:
    """Relative distance from the certified lower bound against steps; a colour a c, bold from the paper's start."""
    figure = Figure(figsize=(5.2 * len(optima), 3.8), layout="constrained")
    for ax, (task, optimum) in zip(np.atleast_1d(figure.subplots(1, len(optima))), optima.items(), strict=True):
        for at, c in enumerate(sorted(c for of, c in found if of == task)):
            for number, run in enumerate(found[task, c]):
                values = np.array(run["objectives"])
                above = np.maximum((values - optimum["lower"]) / np.abs(values), 1e-12)
                label = f"c = {c}" if number == 0 else None
                shade = COLOURS[at % len(COLOURS)]
                line = "-" if at < len(COLOURS) else "--"
                ax.loglog(
                    np.maximum(run["steps"], 1), above, line, color=shade, linewidth=0.6 if number else 1.8, label=label
                )
        ax.axhline((optimum["upper"] - optimum["lower"]) / abs(optimum["upper"]), color="#777777", linestyle=":")
        ax.set_title(f"{task} (certified optimum of rank {optimum['rank']})")
        ax.set_xlabel("steps of descent")
        ax.set_ylabel("relative distance from the optimum")
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, fontsize="x-small", ncols=2)
    figure.savefig(path, dpi=110)
