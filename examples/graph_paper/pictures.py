"""Dots of the tables, and curves over the number of features after projection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from convexmetric.plotting import COLOURS, MARKERS

from .dimensions import KINDS
from .tables import Found

__all__ = ["draw_areas", "draw_dimensions", "draw_factors"]


def draw_areas(
    found: Found, data: Sequence[str], methods: Sequence[str], paper: Mapping[str, Mapping[str, float]], path: Path
) -> None:
    """A column a method: a filled dot for every trial on our sets, a hollow one for the paper's on its own."""
    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    ax = figure.add_subplot()
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
        ax.scatter(
            shifted, heights, s=24, facecolor="none", edgecolor="#777777", marker=MARKERS[at], label=f"paper: {name}"
        )
    ax.axhline(0.5, color="#999999", linewidth=0.8, linestyle=":")
    for place in range(len(methods) - 1):
        ax.axvline(place + 0.5, color="#EEEEEE", linewidth=0.8, zorder=0)
    ax.set_xticks(range(len(methods)), [method.replace(" ", "\n") for method in methods], fontsize="small")
    ax.set_ylabel("AUC on test pairs")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize="small", ncols=columns, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    figure.savefig(path, dpi=110)


def draw_dimensions(found: Mapping[tuple[str, int], Sequence[Mapping[str, Any]]], path: Path) -> None:
    """Exact optimum and test AUC against r: means over seeds, with bars from the smallest to the largest."""
    figure = Figure(figsize=(9.0, 3.4), layout="constrained")
    for ax, key, label in zip(
        figure.subplots(1, 2), ("optimum", "auc"), ("optimum (1 = zero metric)", "AUC on test pairs"), strict=True
    ):
        for at, kind in enumerate(KINDS):
            sizes = sorted(r for of, r in found if of == kind)
            values = [[result[key] for result in found[kind, r]] for r in sizes]
            if not sizes:
                continue
            means = np.array([np.mean(of) for of in values])
            reach = [means - [min(of) for of in values], [max(of) for of in values] - means]
            ax.errorbar(sizes, means, reach, color=COLOURS[at], marker=MARKERS[at], markersize=5, capsize=2, label=kind)
        ax.set_xscale("log")
        ax.set_xlabel("features after projection, r")
        ax.set_ylabel(label)
        ax.spines[["top", "right"]].set_visible(False)
    figure.axes[1].legend(frameon=False, fontsize="small")
    figure.savefig(path, dpi=110)


def draw_factors(found: Mapping[tuple[str, str, float], Mapping[str, Any]], path: Path) -> None:
    """A strip for every method and lambda: a dot for every seed, a panel for every set."""
    data = list(dict.fromkeys(name for name, _, _ in found))
    ratios = sorted({ratio for _, _, ratio in found}, reverse=True)
    figure = Figure(figsize=(10.0, 3.6 * len(data)), layout="constrained")
    for ax, name in zip(np.atleast_1d(figure.subplots(len(data), 1)), data, strict=True):
        strips = [(method, ratio) for of, method, ratio in found if of == name]
        for place, (method, ratio) in enumerate(strips):
            values = np.array(found[name, method, ratio]["auc"])
            at = place + np.linspace(-0.3, 0.3, len(values)) if len(values) > 1 else np.array([float(place)])
            colour = COLOURS[ratios.index(ratio)]
            ax.scatter(at, values, s=14, color=colour, alpha=0.8)
            ax.hlines(np.median(values), place - 0.38, place + 0.38, color=colour, linewidth=1.2)
        labels = [f"{method}\n{ratio:g}" for method, ratio in strips]
        ax.set_xticks(range(len(strips)), labels, fontsize="x-small", rotation=60, ha="right")
        ax.set_ylabel("AUC on test pairs")
        ax.set_title(name, fontsize="medium", loc="left")
        ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=110)
