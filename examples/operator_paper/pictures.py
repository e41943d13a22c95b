"""Figures 3 and 5, a panel an experiment."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from convexmetric.plotting import COLOURS

from .experiments import EXPERIMENTS
from .learners import INPUT
from .protocol import SPECTRUM
from .tables import Found

__all__ = ["draw_curves", "draw_spectra"]


def draw_spectra(found: Found, experiments: Sequence[str], ways: Sequence[tuple[str, int | None]], path: Path) -> None:
    """Figure 3: the largest eigenvalues of T*T in units of the first, and the 2% above which they are counted."""
    figure, axes = _panels(experiments)
    for ax, experiment in zip(axes, experiments, strict=True):
        for at, (learner, pairs) in enumerate(ways):
            results = found.get((experiment, learner, pairs), ())
            if results:
                values = results[0]["fit"]["spectrum"]
                places = np.arange(1, len(values) + 1) + (at - (len(ways) - 1) / 2) * 0.8 / len(ways)
                ax.bar(places, values, 0.8 / len(ways), color=COLOURS[at], label=learner)
        ax.axhline(0.02, color="#777777", linewidth=0.8, linestyle=":")
        ax.set_xlim(0.3, SPECTRUM + 0.7)
        ax.set_title(experiment, fontsize="medium")
    _finish(figure, axes, "eigenvalue of T*T", "in units of the largest", path)


def draw_curves(found: Found, experiments: Sequence[str], ways: Sequence[tuple[str, int | None]], path: Path) -> None:
    """Figure 5: distances as detectors of equal categories on the first test task, of the input dotted."""
    figure, axes = _panels(experiments)
    for ax, experiment in zip(axes, experiments, strict=True):
        test = EXPERIMENTS[experiment].tests[0]
        for at, (learner, pairs) in enumerate([(INPUT, None), *ways]):
            results = found.get((experiment, learner, pairs), ())
            if results:
                colour, style = ("#777777", ":") if learner == INPUT else (COLOURS[at - 1], "-")
                curve = results[0]["tests"][test]["curve"]
                ax.plot(*curve, color=colour, linestyle=style, linewidth=1.4, label=learner)
        ax.set_aspect("equal")
        ax.set_title(f"{experiment}: {test}", fontsize="medium")
    _finish(figure, axes, "share of dissimilar pairs accepted", "share of similar pairs accepted", path)


def _panels(experiments: Sequence[str]) -> tuple[Figure, list[Axes]]:
    columns = min(3, len(experiments))
    rows = -(-len(experiments) // columns)
    figure = Figure(figsize=(3.4 * columns, 3.1 * rows + 0.5), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for ax in axes[len(experiments) :]:
        ax.remove()
    return figure, list(axes[: len(experiments)])


def _finish(figure: Figure, axes: Sequence[Axes], across: str, up: str, path: Path) -> None:
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
    figure.supxlabel(across, fontsize="medium")
    figure.supylabel(up, fontsize="medium")
    named = {label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    if named:
        figure.legend(
            named.values(), named, frameon=False, ncols=len(named), loc="outside upper center", fontsize="small"
        )
    figure.savefig(path, dpi=110)
