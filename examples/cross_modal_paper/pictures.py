"""Precision-recall curves, and descents against the certified optimum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from convexmetric.plotting import COLOURS, DASHES, MARKERS, panels, save_picture
from convexmetric.plotting.axes import AID

from .learners import METHODS

__all__ = ["draw_curves", "draw_descents"]


def draw_curves(found: Mapping[tuple[str, str], Mapping[str, Any]], tasks: Sequence[str], path: Path) -> None:
    """Figure 1: interpolated precision against recall, a panel a task."""
    figure, axes = panels(len(tasks), sharex=True)
    for ax, task in zip(axes, tasks, strict=True):
        for at, method in enumerate(METHODS):
            if (result := found.get((task, method))) is not None:
                style = {"color": COLOURS[at % len(COLOURS)], "marker": MARKERS[at % len(MARKERS)]}
                style["linestyle"] = DASHES[at % len(DASHES)]
                ax.plot(result["recall"], result["precision"], markersize=4, label=method, **style)
        ax.set_title(task, fontsize="medium")
        ax.set_ylabel("precision")
        ax.set_ylim(bottom=0.0)
    axes[-1].set_xlabel("recall")
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=2, frameon=False, fontsize="small")
    save_picture(figure, path)


def draw_descents(
    optima: Mapping[str, Mapping[str, Any]],
    found: Mapping[tuple[str, int], Sequence[Mapping[str, Any]]],
    path: Path,
) -> None:
    """Relative distance from the certified lower bound against steps; a colour a c, bold from the paper's start."""
    figure, axes = panels(len(optima), height=4.2)
    for ax, (task, optimum) in zip(axes, optima.items(), strict=True):
        for at, c in enumerate(sorted(c for of, c in found if of == task)):
            for number, run in enumerate(found[task, c]):
                values = np.array(run["objectives"])
                above = np.maximum((values - optimum["lower"]) / np.abs(values), 1e-12)
                label = f"c = {c}" if number == 0 else None
                shade = COLOURS[at % len(COLOURS)]
                line = DASHES[at % len(DASHES)]
                look = {"lw": 0.6} if number else {"lw": 1.8, "marker": MARKERS[at % len(MARKERS)], "markevery": 0.2}
                ax.loglog(np.maximum(run["steps"], 1), above, ls=line, color=shade, label=label, **look)
        ax.axhline((optimum["upper"] - optimum["lower"]) / abs(optimum["upper"]), color=AID, linestyle=":")
        ax.set_title(f"{task} (certified optimum of rank {optimum['rank']})", fontsize="medium")
        ax.set_ylabel("relative distance from the optimum")
        ax.legend(fontsize="small", ncols=2, loc="lower left")
    axes[-1].set_xlabel("steps of descent")
    save_picture(figure, path)
