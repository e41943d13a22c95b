"""Dots of the tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from convexmetric.plotting import COLOURS, MARKERS, panels, save_picture
from convexmetric.plotting.axes import AID, GRID

__all__ = ["draw_areas"]


def draw_areas(
    found: Mapping[tuple[str, str], Sequence[Mapping[str, Any]]],
    data: Sequence[str],
    methods: Sequence[str],
    paper: Mapping[str, Mapping[str, float]],
    path: Path,
) -> None:
    """A column a method: a filled dot for every trial on our sets, a hollow one for the paper's on its own."""
    figure, (ax,) = panels(height=4.4)
    columns = len(data) + len(paper)
    for at, name in enumerate(data):
        points = [
            (place + 0.7 * (at - (columns - 1) / 2) / columns, value)
            for place, method in enumerate(methods)
            for result in found.get((name, method), ())
            for value in result["auc"]
        ]
        if points:
            ax.scatter(*np.transpose(points), s=24, color=COLOURS[at], marker=MARKERS[at], label=name)
    for at, (name, values) in enumerate(paper.items(), start=len(data)):
        places = [place for place, method in enumerate(methods) if method in values]
        shifted = np.array(places) + 0.7 * (at - (columns - 1) / 2) / columns
        heights = [values[methods[place]] for place in places]
        ax.scatter(shifted, heights, s=24, facecolor="none", edgecolor=AID, marker=MARKERS[at], label=f"paper: {name}")
    ax.axhline(0.5, color=AID, linewidth=0.8, linestyle=":")
    for place in range(len(methods) - 1):
        ax.axvline(place + 0.5, color=GRID, linewidth=0.8, linestyle="-", zorder=0)
    ax.set_xticks(range(len(methods)), methods, rotation=90)
    ax.grid(visible=False, axis="x")
    ax.set_ylabel("AUC on test pairs")
    ax.legend(frameon=False, fontsize="small", ncols=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    save_picture(figure, path)
