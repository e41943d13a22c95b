"""Dots of the tables, and curves over the number of features after projection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from convexmetric.plotting import COLOURS, DASHES, MARKERS, panels, save_picture
from convexmetric.plotting.axes import AID, GRID

from .dimensions import KINDS
from .tables import Found

__all__ = ["draw_areas", "draw_dimensions", "draw_factors"]


def draw_areas(
    found: Found, data: Sequence[str], methods: Sequence[str], paper: Mapping[str, Mapping[str, float]], path: Path
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


def draw_dimensions(found: Mapping[tuple[str, int], Sequence[Mapping[str, Any]]], path: Path) -> None:
    """Exact optimum and test AUC against r: means over seeds, with bars from the smallest to the largest."""
    figure, axes = panels(2, sharex=True)
    labels = ("optimum (1 = zero metric)", "AUC on test pairs")
    for ax, key, label in zip(axes, ("optimum", "auc"), labels, strict=True):
        for at, kind in enumerate(KINDS):
            sizes = sorted(r for of, r in found if of == kind)
            values = [[result[key] for result in found[kind, r]] for r in sizes]
            if not sizes:
                continue
            means = np.array([np.mean(of) for of in values])
            reach = [means - [min(of) for of in values], [max(of) for of in values] - means]
            look = {"color": COLOURS[at], "marker": MARKERS[at], "linestyle": DASHES[at]}
            ax.errorbar(sizes, means, reach, markersize=5, capsize=2, label=kind, **look)
        ax.set_xscale("log")
        ax.set_ylabel(label)
    axes[1].set_xlabel("features after projection, r")
    axes[1].legend(frameon=False, fontsize="small")
    save_picture(figure, path)


def draw_factors(found: Mapping[tuple[str, str, float], Mapping[str, Any]], path: Path) -> None:
    """A strip for every method and lambda, from the top: a dot for every seed; a panel for every set."""
    data = list(dict.fromkeys(name for name, _, _ in found))
    ratios = sorted({ratio for _, _, ratio in found}, reverse=True)
    strips = {name: [(method, ratio) for of, method, ratio in found if of == name] for name in data}
    figure, axes = panels(len(data), height=0.24 * max(map(len, strips.values())) + 1.0)
    for ax, name in zip(axes, data, strict=True):
        for place, (method, ratio) in enumerate(strips[name]):
            values = np.array(found[name, method, ratio]["auc"])
            at = place + np.linspace(-0.3, 0.3, len(values)) if len(values) > 1 else np.array([float(place)])
            look = ratios.index(ratio)
            ax.scatter(values, at, s=14, color=COLOURS[look], marker=MARKERS[look], alpha=0.8)
            ax.vlines(np.median(values), place - 0.38, place + 0.38, color=COLOURS[look], linewidth=1.5)
        labels = [f"{method}, {ratio:g}" for method, ratio in strips[name]]
        ax.set_yticks(range(len(labels)), labels, fontsize="small")
        ax.invert_yaxis()
        ax.set_xlabel("AUC on test pairs")
        ax.set_title(name, loc="left", fontsize="medium")
    save_picture(figure, path)
