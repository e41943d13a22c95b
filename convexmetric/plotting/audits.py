"""Pictures of an audit: scale, spectrum and costliest parts."""

from __future__ import annotations

from textwrap import fill
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from convexmetric.audits import RANK_SHARE, Audit
from convexmetric.cones import NonnegativeDiagonal, PSDCone
from convexmetric.errors import InputError
from convexmetric.plotting.axes import AID, LOG_FACTOR, LOWER, UPPER, axes_of, curve_axes, named, panels, plain, text_of
from convexmetric.problem import AnyProblem, as_problem
from convexmetric.solution import Solution

#: The picture of the scale shows multiples t from min(1, best) / SCALE_REACH to max(1, best) * SCALE_REACH.
SCALE_REACH, SCALE_POINTS = 8.0, 61

#: Share of the largest eigenvalue up to which others count as rounding and are not drawn.
DRAWN_ABOVE = 1e-12


def plot_audit(audit: Audit, problem: AnyProblem, *, reference: Solution | None = None) -> Figure:
    """Draw an audit: its scale, its spectrum with that of the reference, and its costliest parts.

    Parameters
    ----------
    audit : Audit
        Audit of a metric on the problem.
    problem : MetricProblem, Instance or str
    reference : Solution, optional
        Solution of the problem, for its spectrum.
    """
    figure, (scale, spectrum, worst) = panels(3, height=2.9)
    plot_scale(audit, problem, ax=scale)
    _audited_spectrum(audit, reference, spectrum)
    plot_worst(audit, ax=worst)
    figure.supxlabel(fill(text_of(audit.verdict), 64), fontsize="small")
    return figure


def plot_scale(audit: Audit, problem: AnyProblem, *, ax: Axes | None = None) -> Axes:
    """Draw the objective along multiples of an audited metric, the one given, the best one, and the certified bound.

    Parameters
    ----------
    audit : Audit
        Audit of a metric on the problem.
    problem : MetricProblem, Instance or str
    ax : Axes, optional
    """
    ax, problem = axes_of(ax), as_problem(problem)
    best = audit.scale.best if 0.0 < audit.scale.best < np.inf else 1.0
    ends = min(1.0, best) / SCALE_REACH, max(1.0, best) * SCALE_REACH
    factors = np.unique(np.r_[np.geomspace(*ends, SCALE_POINTS), 1.0, best])
    values = np.array([problem.value(t * audit.M) for t in factors])
    shown = np.isfinite(values)
    ax.plot(factors[shown], values[shown], color="black", lw=1.5)
    if np.isfinite(audit.projected_objective):
        ax.plot(1.0, audit.projected_objective, ls="", marker="o", ms=7, color=UPPER, label="as given")
    if 0.0 < audit.scale.best < np.inf:
        ax.plot(best, audit.scale.objective, ls="", marker="D", ms=6, color="black", label=f"best, times {best:.3g}")
    ax.axhline(audit.lower_bound, color=LOWER, lw=1.2, ls="--", label="certified bound")
    ax.set(xlim=ends, xscale="log")
    if audit.lower_bound > 0.0 and values[shown].max(initial=0.0) > LOG_FACTOR * audit.lower_bound:
        ax.set_yscale("log")
    ax.set(title=f"Scale repairs {audit.scale.share:.0%}", xlabel="multiple of the metric", ylabel="objective")
    ax.legend(framealpha=0.8, edgecolor="none", fontsize="small")
    return plain(ax)


def plot_spectrum(metrics: Any, *, ax: Axes | None = None) -> Axes:
    """Draw eigenvalues of metrics, or the weights of diagonal ones, in descending order, on a logarithmic axis.

    Values below 1e-12 of the largest one are rounding and not drawn.

    Parameters
    ----------
    metrics : Solution or array, or a mapping from names to these
        Metrics: ``(d, d)``, or ``(d,)`` weights.
    ax : Axes, optional

    Raises
    ------
    InputError
        If a metric is not a symmetric matrix or a vector, or has entries that are not finite.
    """
    ax = axes_of(ax)
    for name, metric, colour, marker in named(metrics):
        _draw_spectrum(ax, _spectrum(metric), DRAWN_ABOVE, name, colour, marker)
    ax.set(xlabel="number of the eigenvalue", ylabel="eigenvalue of the metric")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    return curve_axes(ax)


def plot_worst(audit: Audit, *, ax: Axes | None = None) -> Axes:
    """Draw the parts of the risk that cost most beyond the reference, as bars with their worst comparison.

    Parameters
    ----------
    audit : Audit
    ax : Axes, optional
    """
    ax = axes_of(ax)
    ax.set_title("Costs most beyond the reference" if audit.subspace is not None else "Costs most")
    if not audit.worst:
        ax.text(0.5, 0.5, "nothing costs more", transform=ax.transAxes, ha="center", color=AID)
        ax.set_axis_off()
        return ax
    places = np.arange(len(audit.worst))
    losses = np.array([part.loss for part in audit.worst])
    ax.barh(places, np.where(np.isfinite(losses), losses, np.nan), color=UPPER, height=0.62, label="metric")
    if audit.subspace is not None:
        ax.barh(places, [p.reference_loss for p in audit.worst], color=LOWER, height=0.3, label="reference")
        ax.legend(framealpha=0.8, edgecolor="none", fontsize="small", loc="lower right")
    ax.set_yticks(places, [text_of(f"{part.name}\n{part.comparison}") for part in audit.worst], fontsize="small")
    ax.invert_yaxis()
    ax.set_xlabel("loss, a term of the objective")
    return plain(ax, "x")


def _audited_spectrum(audit: Audit, reference: Solution | None, ax: Axes) -> None:
    """Draw the non-negligible eigenvalues or weights of an audited metric at its best scale and of the reference."""
    factor = audit.scale.best if 0.0 < audit.scale.best < np.inf else 1.0
    name = "metric as given" if factor == 1.0 else f"metric, times {factor:.3g}"
    if reference is not None:
        _draw_spectrum(ax, _spectrum(reference), RANK_SHARE, "reference", LOWER, "s", ranked=True)
    _draw_spectrum(ax, _spectrum(factor * audit.M), RANK_SHARE, name, UPPER, "o", ranked=True)
    what = "weight" if audit.M.ndim == 1 else "eigenvalue"
    ax.set(title="Spectrum, at the best scale", xlabel=f"{what}s, largest first", ylabel=what)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.legend(frameon=False, fontsize="small", title="rank", title_fontsize="small")
    plain(ax)


def _draw_spectrum(
    ax: Axes, values: NDArray[Any], above: float, label: str, colour: str, marker: str, ranked: bool = False
) -> None:
    """Draw the values above a share of the largest on a logarithmic axis; ``ranked`` labels them with their number."""
    shown = values[values > above * max(values[0], 0.0)]
    label = f"{label}: {len(shown)}" if ranked else label
    ax.plot(np.arange(1, len(shown) + 1), shown, color=colour, marker=marker, ms=4, lw=1.5, label=label)
    if shown.size:
        ax.set_yscale("log")


def _spectrum(metric: Any) -> NDArray[Any]:
    """Eigenvalues of a matrix, or entries of a vector, in descending order."""
    M = metric.certificate.M if isinstance(metric, Solution) else np.asarray(metric)
    if M.ndim not in (1, 2) or M.size == 0 or M.shape[0] != M.shape[-1]:
        raise InputError(f"a metric must be a square matrix, or the weights of a diagonal one, got shape {M.shape}")
    cone = NonnegativeDiagonal(len(M)) if M.ndim == 1 else PSDCone(len(M))
    return cone.spectrum(cone.element(M, "metric"))
