"""Performance profiles and data profiles of solvers on named problems."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, PercentFormatter
from numpy.typing import NDArray

from convexmetric.bench.records import RESOLUTION, Run, SolveTimes, performance_profile, solve_times
from convexmetric.errors import InputError
from convexmetric.plotting.axes import axes_of, look, panels, plain, text_of

#: Solvers in a picture, at most.
MOST_SOLVERS = 100


def plot_performance_profile(runs: Iterable[Run], tol: float | None = None, *, ax: Axes | None = None) -> Axes:
    """Performance profiles: the share of instances that a solver certifies within tau times the best solver's time.

    At tau = 1 a line has the share of instances on which its solver is the fastest, ties for each of them; to the right
    the share that it solves at all. An instance that a solver does not support, or certify in time, counts as unsolved.
    The axis of tau is log2 (Dolan and More, 2002).

    Parameters
    ----------
    runs : iterable of Run
        From :func:`~convexmetric.bench.benchmark` or :func:`~convexmetric.bench.read_runs`. Instances
        that not all solvers were run on are left out.
    tol : float, optional
        Relative gap that counts as solved: 1e-1, 1e-2, ..., 1e-6 or what was asked for, which is the default.
    ax : Axes, optional

    Returns
    -------
    Axes

    Raises
    ------
    InputError
        If there is nothing to compare.
    """
    times = _few(solve_times(runs, tol))
    ratios = performance_profile(times.seconds)
    finite = ratios[np.isfinite(ratios)]
    # Leave room on the right, where profiles are constant.
    end = max(2.0, float(finite.max(initial=1.0)) ** 1.08)
    ax = _drawn(ax, times, ratios, (1.0, end), 2)
    ax.xaxis.set_major_formatter(
        FuncFormatter(lambda tau, _: f"{tau:g}" if tau < 1e4 else f"$2^{{{np.log2(tau):.0f}}}$")
    )
    ax.set_xlabel(r"$\tau$: seconds, as a multiple of the fastest solver's")
    ax.set_title("Performance profile", fontsize="medium")
    return ax


def plot_data_profile(runs: Iterable[Run], tol: float | None = None, *, ax: Axes | None = None) -> Axes:
    """The share of instances that a solver certifies within a number of seconds, on a logarithmic axis.

    Arguments and errors are those of :func:`plot_performance_profile`.

    Parameters
    ----------
    runs : iterable of Run
    tol : float, optional
    ax : Axes, optional

    Returns
    -------
    Axes
    """
    times = _few(solve_times(runs, tol))
    seconds = np.maximum(times.seconds, RESOLUTION)
    finite = seconds[np.isfinite(seconds)]
    # Leave room on both sides; solvers that solve nothing are drawn as well.
    span = (finite.min() / 1.5, finite.max() * 1.5) if len(finite) else (1.0, 10.0)
    ax = _drawn(ax, times, seconds, span, 10)
    decades = np.log10(span[1] / span[0])
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 3, 5, 7) if decades < 1 else (1, 2, 5) if decades < 2 else (1,)))
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda seconds, _: f"{seconds:g}"))
    ax.set_xlabel("seconds")
    ax.set_title("Instances certified against time", fontsize="medium")
    return ax


def plot_benchmark(runs: Iterable[Run], tol: float | None = None) -> Figure:
    """Performance profile above data profile, with one legend.

    Arguments and errors are those of :func:`plot_performance_profile`.

    Parameters
    ----------
    runs : iterable of Run
    tol : float, optional

    Returns
    -------
    Figure
    """
    everything = list(runs)
    figure, axes = panels(2, height=4.2)
    plot_performance_profile(everything, tol, ax=axes[0])
    plot_data_profile(everything, tol, ax=axes[1])
    handles, labels = axes[0].get_legend_handles_labels()
    for ax in axes:
        ax.legend_ = None
    figure.legend(
        handles, labels, loc="outside lower center", ncols=2, frameon=False, handlelength=4.0, fontsize="small"
    )
    return figure


def _few(times: SolveTimes) -> SolveTimes:
    if len(times.solvers) > MOST_SOLVERS:
        raise InputError(f"a picture has at most {MOST_SOLVERS} solvers, got {len(times.solvers)}: choose some")
    return times


def _drawn(
    ax: Axes | None, times: SolveTimes, values: NDArray[np.float64], span: tuple[float, float], base: int
) -> Axes:
    """Draw the empirical distribution of each column over a span, with the legend from the highest line down.

    Later lines are thinner, so that lines at the same height are all visible. The axis of values has the logarithm to a
    base.
    """
    ax = plain(axes_of(ax), "both")
    count, left_out = len(times.instances), f", {times.left_out} not run by all left out" if times.left_out else ""
    ax.set_ylabel(f"share of {count} instance{'s' if count > 1 else ''} certified to {times.tol:.0e}{left_out}")
    ax.set_ylim(-0.02, 1.02)
    ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    ax.set_xscale("log", base=base)
    start, end = ax.set_xlim(*span)
    solved = np.isfinite(values)
    order = np.lexsort((np.where(solved, np.log(np.where(solved, values, 1.0)), 0.0).sum(axis=0), -solved.sum(axis=0)))
    for place, s in enumerate(order):
        at = np.sort(values[solved[:, s], s])
        later = at[at > start]
        x = np.concatenate([[start], later, [end]])
        share = (len(at) - len(later) + np.array([*range(len(later) + 1), len(later)])) / len(values)
        ax.step(
            x,
            share,
            where="post",
            lw=max(3.0 - 0.3 * place, 1.4),
            ms=5.0,
            markevery=list(range(len(later) + 1)),
            label=text_of(times.solvers[s]),
            **look(s),
        )
    ax.legend(frameon=False, fontsize="small", handlelength=4.0, loc="lower right")
    return ax
