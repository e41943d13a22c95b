"""Plots of the certified suboptimality of solvers along their iterates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from convexmetric.bench import AuditTrail
from convexmetric.errors import InputError
from convexmetric.plotting.axes import AID, GRID, look, panels, plain, text_of

#: Ratio of the ends of trails above which the axis of seconds or passes is logarithmic.
SPREAD = 5.0
#: A logarithmic axis begins no earlier than this factor before the end of the trails.
START = 30.0
#: Suboptimality below which a logarithmic axis would show rounding.
FLOOR = 1e-12


def plot_trails(trails: Sequence[AuditTrail], axes: Sequence[Axes] | None = None) -> tuple[Axes, Axes]:
    """Certified suboptimality of several solvers against seconds and against passes, on logarithmic axes.

    Lines are the best so far; dots are single iterates. The grey floor is the reference's own gap, below which metrics
    cannot be distinguished. Trails without seconds are in the second panel only.

    Parameters
    ----------
    trails : sequence of AuditTrail
        With their name as label.
    axes : two Axes, optional

    Returns
    -------
    tuple of two Axes

    Raises
    ------
    InputError
        If there is no trail, one has no iterate, or there are not two axes.
    """
    trails = list(trails)
    if not trails or not all(isinstance(trail, AuditTrail) and len(trail) for trail in trails):
        raise InputError("trails must be AuditTrail objects with an iterate each, at least one")
    if axes is None:
        _, axes = panels(2)
    if len(axes) != 2:
        raise InputError(f"axes must be two, one for seconds and one for passes, got {len(axes)}")
    gaps = [trail.reference_gap for trail in trails if np.isfinite(trail.reference_gap) and trail.reference_gap > 0.0]
    floor = max(max(gaps, default=0.0), FLOOR)
    reach = [_draw(trail, axes, look(k), floor) for k, trail in enumerate(trails)]
    lowest, highest = min(low for low, _ in reach), max(high for _, high in reach)
    units = " or ".join(dict.fromkeys(trail.unit for trail in trails))
    for ax, label, values in zip(
        axes, ("seconds", units), ([t.seconds for t in trails], [t.passes for t in trails]), strict=True
    ):
        ax.set_yscale("log")
        if gaps:
            _shade(ax, floor)
        ax.set_ylim(min(lowest, floor) / (3.0 if gaps else 1.5), highest * 2.0)
        _limit(ax, [v for v in values if np.isfinite(v).all()])
        ax.set_xlabel(label)
        ax.set_ylabel("suboptimality, at most")
        plain(ax)
    axes[1].legend(framealpha=0.8, edgecolor="none", fontsize="small", loc="best")
    return axes[0], axes[1]


def _draw(trail: AuditTrail, axes: Sequence[Axes], style: dict[str, Any], floor: float) -> tuple[float, float]:
    """Draw one trail in both panels; return its lowest and its highest value."""
    each, best = np.maximum(trail.suboptimality, floor / 2.0), np.maximum(trail.best_so_far, floor / 2.0)
    finite = np.isfinite(each)
    lowest, size = floor, 3.5 if len(trail) <= 60 else 2.0
    label = f"{trail.name} ({trail.error})" if trail.error and len(trail.error) <= 30 else trail.name
    # A single point is drawn as a marker, as it makes no line.
    alone: dict[str, Any] = {"ms": 6} if len(trail) == 1 else {"marker": None}
    for ax, at in zip(axes, (trail.seconds, trail.passes), strict=True):
        if np.isfinite(at).all():
            ax.plot(at[finite], each[finite], ms=size, alpha=0.45, **style | {"ls": ""})
            ax.step(at, np.where(np.isfinite(best), best, np.nan), where="post", lw=1.8, label=text_of(label),
                    **style | alone)  # fmt: skip
            lowest = min(lowest, float(best.min()))
    return lowest, float(each[finite].max(initial=floor))


def _shade(ax: Axes, floor: float) -> None:
    """Shade the region below the reference's own gap."""
    ax.axhspan(floor / 3.0, floor, color=GRID, lw=0, zorder=0)
    ax.annotate(
        f"the reference's own gap, {floor:.0e}", (0.99, floor), xycoords=("axes fraction", "data"),
        xytext=(0, -4), textcoords="offset points", ha="right", va="top", fontsize="small", color=AID,
    )  # fmt: skip


def _limit(ax: Axes, known: Sequence[NDArray[Any]]) -> None:
    """Set the limits of the axis of seconds or passes, from the trails that have them."""
    ends = [float(v[-1]) for v in known]
    if known and max(ends) > SPREAD * min(ends):
        # Logarithmic, to show solvers of different speed side by side; the start at zero is left out.
        positive = np.concatenate(known)
        ax.set_xscale("log")
        first = float(positive[positive > 0.0].min(initial=max(ends)))
        ax.set_xlim(left=max(first, min(ends) / START) / 1.3)
    elif known:
        ax.set_xlim(left=0.0)
    else:
        ax.set_xticks([])
        ax.text(0.5, 0.5, "no seconds were recorded", transform=ax.transAxes, ha="center", color=AID)
