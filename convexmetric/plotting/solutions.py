"""Pictures of a solve: bounds, gap, the data before and after, the weights of features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, PercentFormatter
from numpy.typing import ArrayLike, NDArray

from convexmetric.errors import InputError
from convexmetric.plotting import axes as drawing
from convexmetric.plotting.embeddings import plot_embedding, share_legend
from convexmetric.solution import Solution

#: First bounds that are off by more than this factor are left outside the axis.
LOG_REACH = 1e3


def plot_bounds(solution: Solution, *, ax: Axes | None = None) -> Axes:
    """Upper and lower bound after each iteration, with the band between them, which holds the optimum.

    The axis is logarithmic when the bounds are positive and far apart. Bounds that are not finite yet are left out.

    Raises
    ------
    InputError
        If the solution has no history.
    """
    ax = drawing.axes_of(ax)
    passes, upper, lower, _ = _history(solution)
    highest = max(upper[np.isfinite(upper)], default=solution.upper_bound)
    lowest = min(lower[np.isfinite(lower)], default=solution.lower_bound)
    logarithmic = solution.lower_bound > 0.0 and highest > drawing.LOG_FACTOR * lowest
    bottom = -np.inf
    if logarithmic:
        bottom = max(lowest / 2.0, solution.lower_bound / LOG_REACH)
        ax.set(yscale="log", ylim=(bottom, min(highest * 2.0, solution.upper_bound * LOG_REACH)))
    drawn = np.maximum(lower, bottom)
    ax.fill_between(passes, drawn, upper, step="post", color=drawing.BAND, lw=0, label="optimum is here")
    # A single iteration has no steps to show.
    style: dict[str, Any] = {"where": "post", "lw": 1.8, "marker": "o" if len(passes) == 1 else None}
    ax.step(passes, upper, color=drawing.UPPER, label="upper bound: best metric so far", **style)
    ax.step(passes, lower, color=drawing.LOWER, ls=drawing.DASHES[1], label="lower bound: dual certificate", **style)
    if not logarithmic:
        _focus(ax, solution, highest, lowest)
    ax.set_title(f"Objective {solution.upper_bound:.7g}, certified within {max(0.0, solution.gap):.0e}")
    _passes_axis(ax, solution, "objective")
    ax.legend(frameon=False, fontsize="small")
    return ax


def plot_gap(solution: Solution, *, ax: Axes | None = None) -> Axes:
    """Certified relative gap after each iteration on a logarithmic axis, with the tolerance asked for.

    Raises
    ------
    InputError
        If the solution has no history.
    """
    ax = drawing.axes_of(ax)
    passes, _, _, gap = _history(solution)
    ax.semilogy(passes[gap > 0.0], gap[gap > 0.0], color="black", lw=1.5, marker="o", ms=3)
    ax.axhline(solution.tol, color=drawing.UPPER, lw=1.2, ls="--")
    label, place, beside = f"tol = {solution.tol:.0e}", (0.01, solution.tol), ("axes fraction", "data")
    ax.annotate(label, place, (0, 4), beside, "offset points", color=drawing.UPPER, fontsize="small")
    _passes_axis(ax, solution, "certified relative gap")
    return ax


def plot_solution(
    solution: Solution, X: Any = None, y: ArrayLike | None = None, *, target_names: Sequence[str] | None = None
) -> Figure:
    """Draw the convergence of the bounds; with ``X``, also the data before and after.

    ``X`` has the features the metric acts on.

    Raises
    ------
    InputError
        If the solution has no history, or the shapes do not fit.
    """
    rows = 2 if X is None else 3
    figure, axes = drawing.panels(rows, height=2.7, height_ratios=(3, 2, 4)[:rows])
    plot_bounds(solution, ax=axes[0]).set_xlabel("")
    plot_gap(solution, ax=axes[1]).sharex(axes[0])
    axes[0].tick_params(labelbottom=False)
    if X is not None:
        axes[2].remove()
        cell: Any = axes[2].get_subplotspec()
        before, after = cell.subgridspec(1, 2).subplots()
        plot_embedding(X, y, None, ax=before, target_names=target_names)
        plot_embedding(X, y, solution.M, ax=after, target_names=target_names)
        after.set_title(f"After: optimal, rank {solution.rank}", fontsize="medium")
        share_legend(figure, before, after)
    return figure


def plot_weights(M: ArrayLike, names: Sequence[str] | None = None, *, ax: Axes | None = None, most: int = 15) -> Axes:
    """Shares of features in the trace of a metric, the largest as bars.

    Parameters
    ----------
    M : (d, d) or (d,) array
        The metric, or the weights of a diagonal one; features should have one scale.
    names : sequence of str, optional
        Names of the features; by default their numbers.
    ax : Axes, optional
    most : int
        Bars to draw.

    Raises
    ------
    InputError
        If there is not one name a feature.
    """
    weights = np.asarray(M, dtype=np.float64)
    weights = np.diag(weights) if weights.ndim == 2 else weights
    names = [f"feature {k}" for k in range(len(weights))] if names is None else names
    if len(names) != len(weights):
        raise InputError(f"names must name the {len(weights)} features of M, got {len(names)} names")
    shares = weights / (weights.sum() or 1.0)
    order = np.argsort(-shares, kind="stable")[:most]
    ax = drawing.axes_of(ax)
    ax.barh(np.arange(len(order)), shares[order], color=drawing.LOWER, height=0.65)
    short = drawing.shortened([names[feature] for feature in order])
    ax.set_yticks(np.arange(len(order)), [drawing.text_of(name) for name in short], fontsize="small")
    ax.invert_yaxis()
    ax.xaxis.set_major_locator(MaxNLocator(5))
    ax.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=None))
    ax.set_xlabel("share of the trace")
    return drawing.plain(ax, "x")


def _history(solution: Solution) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Iterations, upper and lower bounds and gaps; NaN where they are not finite."""
    if not solution.history:
        raise InputError("solution has no history to plot")
    rows = np.array([(p.iteration, p.upper_bound, p.lower_bound, p.gap) for p in solution.history], dtype=np.float64)
    passes, upper, lower, gap = np.where(np.isfinite(rows), rows, np.nan).T
    return passes, upper, lower, gap


def _focus(ax: Axes, solution: Solution, highest: float, lowest: float) -> None:
    """Limit the axis so that first bounds far off do not hide how the gap closes."""
    reach = 2.0 * max(abs(solution.upper_bound), abs(solution.lower_bound)) or 1.0
    low = max(lowest, solution.lower_bound - reach)
    high = min(highest, solution.upper_bound + reach)
    margin = 0.05 * (high - low) or 0.05 * reach
    ax.set_ylim(low - margin, high + margin)


def _passes_axis(ax: Axes, solution: Solution, what: str) -> None:
    ax.set(xlabel=solution.unit, ylabel=what)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    drawing.plain(ax)
