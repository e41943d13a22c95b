"""Figures 3 and 5, a panel an experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from convexmetric.plotting import COLOURS, DASHES, panels, save_picture
from convexmetric.plotting.axes import AID

from .experiments import EXPERIMENTS
from .learners import INPUT
from .protocol import SPECTRUM

__all__ = ["draw_curves", "draw_spectra"]

Found = Mapping[tuple[str, str], Sequence[Mapping[str, Any]]]

#: Of the bars of different learners.
HATCHES = ("", "////", "....", "xxxx")


def draw_spectra(found: Found, experiments: Sequence[str], learners: Sequence[str], path: Path) -> None:
    """Figure 3: the largest eigenvalues of T*T in units of the first, and the 2% above which they are counted."""
    figure, axes = _panels(experiments)
    for ax, experiment in zip(axes, experiments, strict=True):
        for at, learner in enumerate(learners):
            results = found.get((experiment, learner), ())
            if results:
                values = results[0]["fit"]["spectrum"]
                places = np.arange(1, len(values) + 1) + (at - (len(learners) - 1) / 2) * 0.8 / len(learners)
                look = {
                    "color": COLOURS[at],
                    "hatch": HATCHES[at % len(HATCHES)],
                    "edgecolor": "white",
                    "linewidth": 0.0,
                }
                ax.bar(places, values, 0.8 / len(learners), label=learner, **look)
        ax.axhline(0.02, color=AID, linewidth=0.8, linestyle=":")
        ax.set_xlim(0.3, SPECTRUM + 0.7)
        ax.set_title(experiment, fontsize="medium")
    _finish(figure, axes, "eigenvalue of T*T", "in units of the largest", path)


def draw_curves(found: Found, experiments: Sequence[str], learners: Sequence[str], path: Path) -> None:
    """Figure 5: distances as detectors of equal categories on the first test task, of the input dotted."""
    figure, axes = _panels(experiments)
    for ax, experiment in zip(axes, experiments, strict=True):
        test = EXPERIMENTS[experiment].tests[0]
        for at, learner in enumerate([INPUT, *learners]):
            results = found.get((experiment, learner), ())
            if results:
                colour, style = (AID, ":") if learner == INPUT else (COLOURS[at - 1], DASHES[(at - 1) % len(DASHES)])
                curve = results[0]["tests"][test]["curve"]
                ax.plot(*curve, color=colour, linestyle=style, linewidth=1.4, label=learner)
        ax.set_aspect("equal")
        ax.set_title(f"{experiment}:\n{test}", fontsize="medium")
    _finish(figure, axes, "share of dissimilar pairs accepted", "share of similar pairs accepted", path)


def _panels(experiments: Sequence[str]) -> tuple[Figure, list[Axes]]:
    columns = min(2, len(experiments))
    figure, axes = panels(-(-len(experiments) // columns), columns, height=2.6, sharex=True, sharey=True)
    for ax in axes[len(experiments) :]:
        ax.remove()
    return figure, axes[: len(experiments)]


def _finish(figure: Figure, axes: Sequence[Axes], across: str, up: str, path: Path) -> None:
    figure.supxlabel(across, fontsize="medium")
    figure.supylabel(up, fontsize="medium")
    named = {label: handle for ax in axes for handle, label in zip(*ax.get_legend_handles_labels(), strict=True)}
    if named:
        figure.legend(named.values(), named, frameon=False, ncols=3, loc="outside upper center", fontsize="small")
    save_picture(figure, path)
