"""Pictures of a solve and of a metric, on Matplotlib axes.

Each function draws on ``ax``, or on the axes of a new figure, and returns the axes. Nothing here touches
``pyplot``: no state is shared, no window opens; ``ax.figure.savefig(path)`` writes a picture.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter, MaxNLocator, PercentFormatter
from numpy.typing import ArrayLike, NDArray

from convexmetric.audit import Audit
from convexmetric.comparisons.points import as_points
from convexmetric.comparisons.relevance import as_labels
from convexmetric.cones import NonnegativeDiagonal, PSDCone
from convexmetric.errors import InputError
from convexmetric.measures.programme import most_violated
from convexmetric.methods import RankingProblem
from convexmetric.optimality import RANK_SHARE
from convexmetric.plane import Plane, distance_plane, metric_plane
from convexmetric.problem import MetricProblem
from convexmetric.retrieval import RetrievalCurve
from convexmetric.runs import RESOLUTION, Run, SolveTimes, performance_profile, solve_times
from convexmetric.solution import Solution
from convexmetric.trails import AuditTrail
from convexmetric.validation import Validation
from convexmetric.verification import RocCurve

__all__ = [
    "plot_audit",
    "plot_benchmark",
    "plot_bounds",
    "plot_data_profile",
    "plot_embedding",
    "plot_gap",
    "plot_mds",
    "plot_path",
    "plot_performance_profile",
    "plot_precision_recall",
    "plot_roc",
    "plot_scale",
    "plot_solution",
    "plot_spectrum",
    "plot_trails",
    "plot_validation",
    "plot_violated_ranking",
    "plot_worst",
    "save_picture",
]

#: Colours of Okabe and Ito, told apart with any colour vision; classes also differ in marker.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#999999")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "p")
#: One for each solver: with the colours, 8 x 7 lines before two look alike, and neighbours differ in both.
DASHES: tuple[Any, ...] = (
    "-",
    (0, (5, 1.5)),
    (0, (1, 1)),
    "-.",
    (0, (8, 2, 2, 2)),
    (0, (3, 1, 1, 1, 1, 1)),
    (0, (2, 2)),
)
UPPER, LOWER, BAND = "#D55E00", "#0072B2", "#DDE6EE"

#: A legend of more classes than this would hide the data.
LEGEND_LIMIT = 12
#: Bounds that span more than this factor are drawn on a logarithmic axis.
LOG_FACTOR = 10.0
#: First bounds that are off by more than this factor are cut off.
LOG_REACH = 1e3
#: Multiples of a metric in the picture of its scale lie between this share of 1 and of the best, and its inverse.
SCALE_REACH, SCALE_POINTS = 8.0, 61
#: Ends of trails farther apart than this factor are drawn on a logarithmic axis.
SPREAD = 5.0
#: What a trail did before this share of its time is not worth half of the axis.
START = 30.0
#: Suboptimality below which a logarithmic axis would show rounding.
FLOOR = 1e-12


def plot_bounds(solution: Solution, ax: Axes | None = None) -> Axes:
    """Upper and lower bound after each iteration, with the band between them, which holds the optimum.

    The axis is logarithmic when the bounds are positive and far apart. Bounds that are not finite yet are left out.

    Raises
    ------
    InputError
        If the solution has no history.
    """
    ax = _axes(ax)
    passes, upper, lower, _ = _history(solution)
    finite_upper, finite_lower = upper[np.isfinite(upper)], lower[np.isfinite(lower)]
    highest = max(finite_upper, default=solution.upper_bound)
    lowest = min(finite_lower, default=solution.lower_bound)
    logarithmic = solution.lower_bound > 0.0 and highest > LOG_FACTOR * lowest
    bottom = -np.inf
    if logarithmic:
        bottom = max(lowest / 2.0, solution.lower_bound / LOG_REACH)
        ax.set_yscale("log")
        ax.set_ylim(bottom, min(highest * 2.0, solution.upper_bound * LOG_REACH))
    shown = np.isfinite(upper) & np.isfinite(lower)
    ax.fill_between(
        passes, np.maximum(lower, bottom), upper, where=shown, step="post", color=BAND, lw=0, label="optimum is here"
    )
    # A single iteration has no steps to show.
    marker = "o" if len(passes) == 1 else None
    for bound, colour, label in (
        (upper, UPPER, "upper bound: best metric so far"),
        (lower, LOWER, "lower bound: dual certificate"),
    ):
        finite = np.where(np.isfinite(bound), bound, np.nan)
        ax.step(passes, finite, where="post", color=colour, lw=1.8, marker=marker, label=label)
    if not logarithmic:
        _focus(ax, solution, highest, lowest)
    ax.set_title(f"Objective {solution.upper_bound:.7g}, certified within {solution.gap:.0e}")
    ax.set_ylabel("objective")
    _passes_axis(ax, solution)
    ax.legend(frameon=False, fontsize="small")
    return ax


def plot_gap(solution: Solution, ax: Axes | None = None) -> Axes:
    """Certified relative gap after each iteration on a logarithmic axis, with the tolerance asked for.

    Raises
    ------
    InputError
        If the solution has no history.
    """
    ax = _axes(ax)
    passes, _, _, gap = _history(solution)
    shown = np.isfinite(gap) & (gap > 0.0)
    ax.semilogy(passes[shown], gap[shown], color="#333333", lw=1.5, marker="o", ms=3)
    ax.axhline(solution.tol, color=UPPER, lw=1.2, ls="--")
    ax.annotate(
        f"tol = {solution.tol:.0e}",
        (0.01, solution.tol),
        xycoords=("axes fraction", "data"),
        xytext=(0, 4),
        textcoords="offset points",
        color=UPPER,
        fontsize="small",
    )
    ax.set_ylabel("certified relative gap")
    _passes_axis(ax, solution)
    return ax


def plot_embedding(
    X: Any,
    y: ArrayLike | None,
    M: ArrayLike | None,
    ax: Axes | None = None,
    target_names: Sequence[str] | None = None,
) -> Axes:
    """The data in the plane of the two top eigenvectors of a metric.

    Parameters
    ----------
    X : (n, d) array or sparse matrix
        Points.
    y : (n,) array, optional
        Class of each point.
    M : (d, d) or (d,) array, optional
        The metric, or the weights of a diagonal one; None is the Euclidean metric, whose plane is that of the two top
        principal axes. Distances in the picture are at most those of the metric, and equal to them up to rank 2.
        A metric of rank 1 has no second direction: the principal axis of what it ignores is drawn instead.
    ax : Axes, optional
    target_names : sequence of str, optional
        Names of the classes, in the order of ``numpy.unique(y)``.

    Raises
    ------
    InputError
        If the shapes do not fit.
    """
    points = as_points(X, sparse=True)
    plane = metric_plane(points, M)
    labels, names = _classes(y, target_names, points.shape[0])
    ax = _axes(ax)
    for k, name in enumerate(names):
        chosen = labels == k
        ax.scatter(
            plane.points[chosen, 0],
            plane.points[chosen, 1],
            s=26,
            color=COLOURS[k % len(COLOURS)],
            marker=MARKERS[k % len(MARKERS)],
            edgecolor="white",
            linewidth=0.5,
            alpha=0.9,
            label=name,
        )
    ax.set_title("Before: Euclidean metric" if M is None else f"Learned metric, rank {plane.rank}")
    ax.set_xlabel(_axis_label(plane, 0, M is None))
    ax.set_ylabel(_axis_label(plane, 1, M is None))
    if all(plane.in_metric):
        # Distances are to be read off the picture.
        ax.set_aspect("equal", adjustable="datalim")
    if 1 < len(names) <= LEGEND_LIMIT:
        ax.legend(framealpha=0.8, edgecolor="none", fontsize="small")
    return ax


def plot_solution(
    solution: Solution,
    X: Any = None,
    y: ArrayLike | None = None,
    target_names: Sequence[str] | None = None,
) -> Figure:
    """The bounds closing; and with ``X``, the data before and after.

    ``X`` has the features the metric acts on.

    Raises
    ------
    InputError
        If the solution has no history, or the shapes do not fit.
    """
    size = (6.4, 6.0) if X is None else (15.0, 5.4)
    figure = Figure(figsize=size, layout=ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.06))
    grid = figure.add_gridspec(2, 1 if X is None else 3, height_ratios=(3, 2))
    bounds = figure.add_subplot(grid[0, 0])
    gap = figure.add_subplot(grid[1, 0], sharex=bounds)
    plot_bounds(solution, bounds)
    plot_gap(solution, gap)
    bounds.set_xlabel("")
    bounds.tick_params(labelbottom=False)
    if X is not None:
        plot_embedding(X, y, None, figure.add_subplot(grid[:, 1]), target_names)
        after = plot_embedding(X, y, solution.M, figure.add_subplot(grid[:, 2]), target_names)
        after.set_title(f"After: optimal metric, rank {solution.rank}")
    return figure


def plot_validation(validation: Validation, score: str | None = None, ax: Axes | None = None) -> Axes:
    """Mean score of held-out queries against C, plus and minus one standard deviation, with the C that was chosen.

    Parameters
    ----------
    validation : Validation
        From ``cross_validate`` or ``cross_validate_queries``.
    score : str, optional
        One of its scores; by default the one that chooses.
    ax : Axes, optional

    Raises
    ------
    InputError
        If there is no such score.
    """
    name = validation.score if score is None else score
    mean, std = validation.mean(name), validation.std(name)
    ax = _axes(ax)
    ax.set_xscale("log")
    ax.fill_between(validation.C, mean - std, mean + std, color=BAND, lw=0)
    ax.plot(validation.C, mean, color=LOWER, lw=1.8, marker="o", ms=4)
    ax.axvline(validation.best_C, color=UPPER, lw=1.2, ls="--")
    by = "" if name == validation.score else f", chosen by {validation.score}"
    ax.set_title(f"Best C = {validation.best_C:g}{by}")
    ax.set_xlabel("C")
    ax.set_ylabel(f"{name} of held-out queries")
    return _plain(ax)


def plot_path(solutions: Sequence[Solution], ax: Axes | None = None) -> Axes:
    """Eigenvalues of the optimal metrics, or the weights of diagonal ones, against C.

    Parameters
    ----------
    solutions : sequence of Solution
        From :func:`~convexmetric.solve_path`, of one problem for several C.
    ax : Axes, optional

    Raises
    ------
    InputError
        If there is no solution, or their problems have no C.
    """
    weights = [float(getattr(solution.problem, "C", np.nan)) for solution in solutions]
    if not weights or not np.all(np.isfinite(weights)):
        raise InputError("solutions must be those of a path over C, at least one")
    order = np.argsort(weights)
    C = np.array(weights)[order]
    diagonal = solutions[0].certificate.M.ndim == 1
    metrics = [solutions[i].certificate.M for i in order]
    lines = np.array([M if diagonal else np.linalg.eigvalsh(M)[::-1] for M in metrics])
    ax = _axes(ax)
    ax.set_xscale("log")
    for i, line in enumerate(lines.T):
        ax.plot(C, line, color=COLOURS[i % len(COLOURS)], lw=1.5, marker="o", ms=3)
    widest = max(solution.gap for solution in solutions)
    ax.set_title(f"{len(C)} optimal metrics, each certified within {widest:.0e}")
    ax.set_xlabel("C")
    ax.set_ylabel("weight" if diagonal else "eigenvalue of the optimal metric")
    return _plain(ax)


def plot_trails(trails: Sequence[AuditTrail], axes: Sequence[Axes] | None = None) -> tuple[Axes, Axes]:
    """Certified suboptimality of several solvers against seconds and against passes, on logarithmic axes.

    Lines are the best so far; dots are single iterates. The grey floor is the reference's own gap, below which nothing
    can be told apart. Trails without seconds are in the second panel only.

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
        figure = Figure(figsize=(11.0, 4.6), layout=ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.08))
        axes = [figure.add_subplot(1, 2, 1), figure.add_subplot(1, 2, 2)]
    if len(axes) != 2:
        raise InputError(f"axes must be two, one for seconds and one for passes, got {len(axes)}")
    gaps = [trail.reference_gap for trail in trails if np.isfinite(trail.reference_gap) and trail.reference_gap > 0.0]
    floor = max(max(gaps, default=0.0), FLOOR)
    lowest = highest = floor
    for k, trail in enumerate(trails):
        colour, marker = COLOURS[k % len(COLOURS)], MARKERS[k % len(MARKERS)]
        each, best = np.maximum(trail.suboptimality, floor / 2.0), np.maximum(trail.best_so_far, floor / 2.0)
        finite = np.isfinite(each)
        highest = max(highest, float(each[finite].max(initial=highest)))
        for ax, at in zip(axes, (trail.seconds, trail.passes), strict=True):
            if not np.isfinite(at).all():
                continue
            sparse = len(trail) <= 60
            ax.plot(at[finite], each[finite], ls="", marker=marker, ms=3.5 if sparse else 2.0, color=colour, alpha=0.45)
            # Alone a point is no line.
            alone: dict[str, Any] = {"marker": marker, "ms": 6} if len(trail) == 1 else {}
            ax.step(at, np.where(np.isfinite(best), best, np.nan), where="post", color=colour, lw=1.8,
                    label=_trail_label(trail), **alone)  # fmt: skip
            lowest = min(lowest, float(best.min()))
    for ax, label, values in zip(
        axes, ("seconds", _unit_label(trails)), ([t.seconds for t in trails], [t.passes for t in trails]), strict=True
    ):
        ax.set_yscale("log")
        if gaps:
            ax.axhspan(floor / 3.0, floor, color="#E3E3E3", lw=0, zorder=0)
            ax.annotate(
                f"the reference's own gap, {floor:.0e}", (0.99, floor), xycoords=("axes fraction", "data"),
                xytext=(0, -4), textcoords="offset points", ha="right", va="top", fontsize="x-small", color="#555555",
            )  # fmt: skip
        ax.set_ylim(min(lowest, floor) / (3.0 if gaps else 1.5), highest * 2.0)
        known = [v for v in values if np.isfinite(v).all()]
        ends = [float(v[-1]) for v in known]
        if known and max(ends) > SPREAD * min(ends):
            # Solvers of different speed are not seen side by side otherwise; the start at zero is left out.
            positive = np.concatenate(known)
            ax.set_xscale("log")
            first = float(positive[positive > 0.0].min(initial=max(ends)))
            ax.set_xlim(left=max(first, min(ends) / START) / 1.3)
        elif known:
            ax.set_xlim(left=0.0)
        else:
            ax.set_xticks([])
            ax.text(0.5, 0.5, "no seconds were recorded", transform=ax.transAxes, ha="center", color="#555555")
        ax.set_xlabel(label)
        ax.set_ylabel("suboptimality, at most")
        _plain(ax)
    axes[1].set_ylabel("")
    axes[1].legend(framealpha=0.8, edgecolor="none", fontsize="small", loc="best")
    return axes[0], axes[1]


def _audited_spectrum(audit: Audit, reference: Solution | None = None, ax: Axes | None = None) -> Axes:
    """Eigenvalues (or weights, sorted) of an audited metric at its best scale, and of the reference, above its rank.

    Parameters
    ----------
    audit : Audit
    reference : Solution, optional
    ax : Axes, optional
    """
    ax = _axes(ax)
    factor = audit.scale.best if 0.0 < audit.scale.best < np.inf else 1.0
    name = "metric as given" if factor == 1.0 else f"metric, times {factor:.3g}"
    drawn = [(factor * audit.M, name, UPPER, "o", 3.5)]
    if reference is not None:
        drawn.append((reference.certificate.M, "reference", LOWER, "s", 5.5))
    for M, label, colour, marker, size in reversed(drawn):
        spectrum = _spectrum(M)
        shown = spectrum[spectrum > RANK_SHARE * max(spectrum[0], 0.0)]
        style: dict[str, Any] = {"marker": marker, "ms": size} if len(shown) <= 100 else {}
        ax.plot(np.arange(1, len(shown) + 1), shown, color=colour, lw=1.3, label=f"{label}: {len(shown)}", **style)
        if shown.size:
            ax.set_yscale("log")
    what = "weight" if audit.M.ndim == 1 else "eigenvalue"
    ax.set_title("Spectrum, at the best scale")
    ax.set_xlabel(f"{what}s, largest first")
    ax.set_ylabel(what)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.legend(frameon=False, fontsize="small", title="rank", title_fontsize="small")
    return _plain(ax)


def plot_spectrum(metrics: Any, ax: Axes | None = None) -> Axes:
    """Eigenvalues of metrics, or the weights of diagonal ones, from the largest down, on a logarithmic axis.

    Values below 1e-12 of the largest one are rounding and not drawn.

    Parameters
    ----------
    metrics : Solution or array, or a mapping from names to such
        Metrics: ``(d, d)``, or ``(d,)`` weights.
    ax : Axes, optional

    Raises
    ------
    InputError
        If a metric is not a symmetric matrix or a vector, or has entries that are not finite.
    """
    ax = _axes(ax)
    for i, (name, metric) in enumerate(_named(metrics)):
        values = _spectrum(metric)
        shown = values > 1e-12 * max(values[0], 0.0)
        colour, marker = COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)]
        number = np.arange(1, len(values) + 1)
        ax.semilogy(number[shown], values[shown], color=colour, marker=marker, ms=4, lw=1.5, label=name)
    ax.set_xlabel("number of the eigenvalue")
    ax.set_ylabel("eigenvalue of the metric")
    _curve_axes(ax)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    return ax


def plot_roc(curves: RocCurve | Mapping[str, RocCurve], ax: Axes | None = None) -> Axes:
    """ROC curves of distances as detectors of equal labels, with the areas under them.

    Parameters
    ----------
    curves : RocCurve, or a mapping from names to such
        From :func:`~convexmetric.roc_curve`.
    ax : Axes, optional
    """
    ax = _axes(ax)
    for i, (name, curve) in enumerate(_named(curves)):
        label = f"{name}, area {curve.area:.3f}" if name else f"area {curve.area:.3f}"
        x, y = curve.false_positive_rate, curve.true_positive_rate
        ax.plot(x, y, color=COLOURS[i % len(COLOURS)], lw=1.8, label=label)
    ax.plot([0.0, 1.0], [0.0, 1.0], color="#999999", lw=1.0, ls=":")
    ax.set_xlabel("share of dissimilar pairs accepted")
    ax.set_ylabel("share of similar pairs accepted")
    ax.set_aspect("equal")
    _curve_axes(ax)
    return ax


def plot_precision_recall(curves: RetrievalCurve | Mapping[str, RetrievalCurve], ax: Axes | None = None) -> Axes:
    """Precision at levels of recall, means over queries, with the mean average precision of each curve.

    Parameters
    ----------
    curves : RetrievalCurve, or a mapping from names to such
        From :func:`~convexmetric.retrieval_curve`.
    ax : Axes, optional
    """
    ax = _axes(ax)
    for i, (name, curve) in enumerate(_named(curves)):
        score = f"MAP {curve.mean_average_precision:.3f}"
        colour, marker = COLOURS[i % len(COLOURS)], MARKERS[i % len(MARKERS)]
        label = f"{name}, {score}" if name else score
        ax.plot(curve.recall, curve.precision, color=colour, marker=marker, ms=4, lw=1.8, label=label)
    ax.set_ylim(0.0, 1.02)
    ax.set_xlabel("recall")
    ax.set_ylabel("precision")
    _curve_axes(ax)
    return ax


def plot_violated_ranking(
    problem: RankingProblem, M: ArrayLike, query: int = 0, ax: Axes | None = None, places: int = 20
) -> Axes:
    """One query's ranking by distance, and beside it the most violated one, which the query's slack pays for.

    Blue circles are relevant items, orange squares irrelevant ones; grey lines lead from an item's place in the one
    ranking to its place in the other.

    Parameters
    ----------
    problem : RankingProblem
    M : array
        The metric.
    query : int
        Number of the query.
    ax : Axes, optional
    places : int
        Places of both rankings that are shown, from the top.

    Raises
    ------
    InputError
        If the metric does not fit, there is no query of that number, or ``places`` is not positive.
    """
    for value, name, least in ((query, "query", 0), (places, "places", 1)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise InputError(f"{name} must be an integer of at least {least}, got {value!r}")
    if query >= len(problem.rankings):
        raise InputError(f"query must be below {len(problem.rankings)}, the number of queries, got {query}")
    by_distance, worst, relevant, loss, violation = _two_rankings(problem, problem.metric(M), int(query))
    ax = _axes(ax)
    place_of = np.empty(len(worst), dtype=np.int64)
    place_of[worst] = np.arange(1, len(worst) + 1)
    places_left = np.arange(1, len(by_distance) + 1)
    places_right = place_of[by_distance]
    for left, right in zip(places_left, places_right, strict=True):
        if min(left, right) <= places:
            ax.plot([0.0, 1.0], [left, right], color="#CCCCCC" if left == right else "#777777", lw=0.8, zorder=1)
    for kind, colour, marker in ((True, COLOURS[0], "o"), (False, COLOURS[1], "s")):
        of_kind = relevant[by_distance] == kind
        x = np.concatenate([np.zeros(of_kind.sum()), np.ones(of_kind.sum())])
        y = np.concatenate([places_left[of_kind], places_right[of_kind]])
        label = "relevant" if kind else "irrelevant"
        ax.scatter(x, y, s=42, color=colour, marker=marker, edgecolor="white", linewidth=0.6, zorder=2, label=label)
    ax.set_ylim(min(places, len(worst)) + 0.7, 0.3)
    ax.set_xlim(-0.35, 1.35)
    ax.set_xticks([0.0, 1.0], ["by distance", "most violated"])
    ax.yaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    ax.set_ylabel("place")
    title = f"Query {query}, {problem.measure.label}: loss {loss:.3g}, violation {violation:.3g}"
    ax.set_title(title, fontsize="medium")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(
        framealpha=0.9, edgecolor="none", fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=2
    )
    return ax


def _two_rankings(
    problem: RankingProblem, M: NDArray[Any], query: int
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], float, float]:
    """Items by distance and in the most violated order, who is relevant, and loss and violation of the latter.

    Items are numbered from the relevant ones on.
    """
    rankings = problem.rankings
    near, far = rankings.relevance.of(query)
    V = rankings.X[np.concatenate([near, far])] - rankings.points(np.array([query]))
    distances = problem.cone.quadratic_forms(V, M)
    p, n = len(near), len(far)
    b, loss, violation = most_violated(problem.measure, distances[:p], distances[p:])
    relevant = np.arange(p + n) < p
    worst = np.empty(p + n, dtype=np.int64)
    places = np.arange(p) + b
    worst[places] = np.argsort(distances[:p], kind="stable")
    worst[np.setdiff1d(np.arange(p + n), places)] = p + np.argsort(distances[p:], kind="stable")
    return np.argsort(distances, kind="stable"), worst, relevant, loss, violation


def _named(things: Any) -> list[tuple[str, Any]]:
    return [(str(name), thing) for name, thing in things.items()] if isinstance(things, Mapping) else [("", things)]


def _spectrum(metric: Any) -> NDArray[Any]:
    """Eigenvalues of a matrix, or entries of a vector, from the largest down."""
    M = metric.certificate.M if isinstance(metric, Solution) else np.asarray(metric)
    if M.ndim not in (1, 2) or M.size == 0 or M.shape[0] != M.shape[-1]:
        raise InputError(f"a metric must be a square matrix, or the weights of a diagonal one, got shape {M.shape}")
    if M.ndim == 1:
        return np.sort(NonnegativeDiagonal(M.size).element(M, "metric"))[::-1]
    return np.linalg.eigvalsh(PSDCone(M.shape[0]).element(M, "metric"))[::-1]


def _curve_axes(ax: Axes) -> None:
    _plain(ax, "both")
    if any(label for label in ax.get_legend_handles_labels()[1]):
        ax.legend(frameon=False, fontsize="small")


def plot_scale(problem: MetricProblem, audit: Audit, ax: Axes | None = None) -> Axes:
    """The objective of all multiples of an audited metric, the one as given, the best one, and the certified bound.

    Parameters
    ----------
    problem : MetricProblem
    audit : Audit
        Of a metric on this problem.
    ax : Axes, optional
    """
    ax = _axes(ax)
    best = audit.scale.best if 0.0 < audit.scale.best < np.inf else 1.0
    ends = min(1.0, best) / SCALE_REACH, max(1.0, best) * SCALE_REACH
    factors = np.unique(np.r_[np.geomspace(*ends, SCALE_POINTS), 1.0, best])
    values = np.array([problem.objective(t * audit.M) for t in factors])
    shown = np.isfinite(values)
    ax.plot(factors[shown], values[shown], color="#333333", lw=1.5)
    if np.isfinite(audit.projected_objective):
        ax.plot(1.0, audit.projected_objective, ls="", marker="o", ms=7, color=UPPER, label="as given")
    if 0.0 < audit.scale.best < np.inf:
        ax.plot(best, audit.scale.objective, ls="", marker="D", ms=6, color=COLOURS[2], label=f"best, times {best:.3g}")
    ax.axhline(audit.lower_bound, color=LOWER, lw=1.2, ls="--", label="certified bound")
    ax.set_xlim(ends)
    ax.set_xscale("log")
    if audit.lower_bound > 0.0 and values[shown].max(initial=0.0) > LOG_FACTOR * audit.lower_bound:
        ax.set_yscale("log")
    ax.set_title(f"Scale repairs {audit.scale.share:.0%}")
    ax.set_xlabel("multiple of the metric")
    ax.set_ylabel("objective")
    ax.legend(framealpha=0.8, edgecolor="none", fontsize="small")
    return _plain(ax)


def plot_worst(audit: Audit, ax: Axes | None = None) -> Axes:
    """The parts of the risk that cost most beyond the reference, as bars with their worst comparison.

    Parameters
    ----------
    audit : Audit
    ax : Axes, optional
    """
    ax = _axes(ax)
    ax.set_title("Costs most beyond the reference" if audit.subspace is not None else "Costs most")
    if not audit.worst:
        ax.text(0.5, 0.5, "nothing costs more", transform=ax.transAxes, ha="center", color="#555555")
        ax.set_axis_off()
        return ax
    places = np.arange(len(audit.worst))
    losses = np.array([part.loss for part in audit.worst])
    ax.barh(places, np.where(np.isfinite(losses), losses, np.nan), color=UPPER, height=0.62, label="metric")
    if audit.subspace is not None:
        ax.barh(places, [p.reference_loss for p in audit.worst], color=LOWER, height=0.3, label="reference")
        ax.legend(framealpha=0.8, edgecolor="none", fontsize="small", loc="lower right")
    ax.set_yticks(places, [f"{part.name}\n{part.comparison}" for part in audit.worst], fontsize="x-small")
    ax.invert_yaxis()
    ax.set_xlabel("loss, a term of the objective")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def plot_audit(problem: MetricProblem, audit: Audit, reference: Solution | None = None) -> Figure:
    """One audit in a picture: its scale, its spectrum beside that of the reference, and what costs most.

    Parameters
    ----------
    problem : MetricProblem
    audit : Audit
        Of a metric on this problem.
    reference : Solution, optional
        Of this problem, for its spectrum.
    """
    figure = Figure(figsize=(14.0, 4.8), layout=ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.08))
    grid = figure.add_gridspec(1, 3)
    plot_scale(problem, audit, figure.add_subplot(grid[0]))
    _audited_spectrum(audit, reference, figure.add_subplot(grid[1]))
    plot_worst(audit, figure.add_subplot(grid[2]))
    figure.supxlabel(audit.verdict, fontsize="medium")
    return figure


def _trail_label(trail: AuditTrail) -> str:
    return f"{trail.name} ({trail.error})" if trail.error and len(trail.error) <= 30 else trail.name


def _unit_label(trails: Sequence[AuditTrail]) -> str:
    units = list(dict.fromkeys(trail.unit for trail in trails))
    return " or ".join(units)


def _plain(ax: Axes, lines: Literal["y", "both"] = "y") -> Axes:
    """No frame, and grid lines behind the data."""
    ax.grid(axis=lines, color="#E5E5E5", lw=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def plot_performance_profile(runs: Iterable[Run], tol: float | None = None, ax: Axes | None = None) -> Axes:
    """Performance profiles: the share of instances that a solver certifies within tau times the best solver's time.

    At tau = 1 a line has the share of instances on which its solver is the fastest, ties for each of them; to the right
    the share that it solves at all. What a solver does not support, or does not certify in time, it never solves.
    The axis of tau is log2 (Dolan and More, 2002).

    Parameters
    ----------
    runs : iterable of Run
        From :func:`~convexmetric.benchmark` or :func:`~convexmetric.read_runs`. Instances that not all solvers were run
        on are left out.
    tol : float, optional
        Relative gap that counts as solved: 1e-1, 1e-2, ..., 1e-6 or what was asked for, which is the default.
    ax : Axes, optional

    Raises
    ------
    InputError
        If there is nothing to compare.
    """
    times = solve_times(runs, tol)
    ratios = performance_profile(times.seconds)
    finite = ratios[np.isfinite(ratios)]
    # Room to the right, where the lines stay as they are.
    end = max(2.0, float(finite.max(initial=1.0)) ** 1.08)
    ax = _profile_axes(ax, times)
    ax.set_xscale("log", base=2)
    ax.set_xlim(1.0, end)
    ax.xaxis.set_major_formatter(
        FuncFormatter(lambda tau, _: f"{tau:g}" if tau < 1e4 else f"$2^{{{np.log2(tau):.0f}}}$")
    )
    _draw_profiles(ax, times, ratios, 1.0, end)
    ax.set_xlabel(r"$\tau$: seconds, as a multiple of the fastest solver's")
    ax.set_title("Performance profile")
    return ax


def plot_data_profile(runs: Iterable[Run], tol: float | None = None, ax: Axes | None = None) -> Axes:
    """The share of instances that a solver certifies within so many seconds, on a logarithmic axis.

    Parameters and errors are those of :func:`plot_performance_profile`.
    """
    times = solve_times(runs, tol)
    seconds = np.maximum(times.seconds, RESOLUTION)
    finite = seconds[np.isfinite(seconds)]
    # Room on both sides; nothing solved is drawn as well.
    start, end = (finite.min() / 1.5, finite.max() * 1.5) if len(finite) else (1.0, 10.0)
    ax = _profile_axes(ax, times)
    ax.set_xscale("log")
    ax.set_xlim(start, end)
    ax.xaxis.set_major_formatter(FuncFormatter(lambda seconds, _: f"{seconds:g}"))
    _draw_profiles(ax, times, seconds, start, end)
    ax.set_xlabel("seconds")
    ax.set_title("Instances certified against time")
    return ax


def plot_benchmark(runs: Iterable[Run], tol: float | None = None) -> Figure:
    """Performance profile and data profile side by side, with one legend.

    Parameters and errors are those of :func:`plot_performance_profile`.
    """
    everything = list(runs)
    figure = Figure(figsize=(13.0, 5.0), layout=ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.06))
    left, right = figure.subplots(1, 2, sharey=True)
    plot_performance_profile(everything, tol, left)
    plot_data_profile(everything, tol, right)
    handles, labels = left.get_legend_handles_labels()
    for ax in (left, right):
        ax.get_legend().remove()
    right.set_ylabel("")
    figure.legend(handles, labels, loc="outside right upper", frameon=False, handlelength=4.0)
    return figure


def _profile_axes(ax: Axes | None, times: SolveTimes) -> Axes:
    ax = _axes(ax)
    count, left_out = len(times.instances), f", {times.left_out} not run by all left out" if times.left_out else ""
    ax.set_ylabel(f"share of {count} instance{'s' if count > 1 else ''} certified to {times.tol:.0e}{left_out}")
    ax.set_ylim(-0.02, 1.02)
    ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    return _plain(ax, "both")


def _draw_profiles(ax: Axes, times: SolveTimes, values: NDArray[np.float64], start: float, end: float) -> None:
    """Each column's share of values at most x, from start to end; the legend from the highest line down.

    Lines drawn later are thinner, so that of lines at the same height all can be seen.
    """
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
            color=COLOURS[s % len(COLOURS)],
            ls=DASHES[s % len(DASHES)],
            lw=max(3.0 - 0.3 * place, 1.4),
            marker=MARKERS[s % len(MARKERS)],
            ms=5.0,
            markevery=list(range(len(later) + 1)),
            label=times.solvers[s],
        )
    ax.legend(frameon=False, fontsize="small", handlelength=4.0, loc="lower right")


def save_picture(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure to a file of any format Matplotlib knows by its suffix.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error


def _axes(ax: Axes | None) -> Axes:
    return Figure(layout="constrained").add_subplot() if ax is None else ax


def _history(solution: Solution) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    if not solution.history:
        raise InputError("solution has no history to plot")
    rows = [(p.iteration, p.upper_bound, p.lower_bound, p.gap) for p in solution.history]
    passes, upper, lower, gap = np.array(rows, dtype=np.float64).T
    return passes, upper, lower, gap


def _focus(ax: Axes, solution: Solution, highest: float, lowest: float) -> None:
    """Cut off first bounds that are so far out that the closing would not be seen."""
    reach = 2.0 * max(abs(solution.upper_bound), abs(solution.lower_bound)) or 1.0
    low = max(lowest, solution.lower_bound - reach)
    high = min(highest, solution.upper_bound + reach)
    margin = 0.05 * (high - low) or 0.05 * reach
    ax.set_ylim(low - margin, high + margin)


def _passes_axis(ax: Axes, solution: Solution) -> None:
    ax.set_xlabel("oracle passes" if solution.solver.startswith("cutting-planes") else "iterations")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    _plain(ax)


def _classes(y: ArrayLike | None, target_names: Sequence[str] | None, n: int) -> tuple[NDArray[Any], list[str]]:
    if y is None:
        return np.zeros(n, dtype=np.int64), [""]
    labels = as_labels(y)
    if len(labels) != n:
        raise InputError(f"y must have one label a point: X has {n} rows, y has {len(labels)}")
    present, codes = np.unique(labels, return_inverse=True)
    if target_names is None:
        words = labels.dtype.kind in "USO"
        return codes, [str(label) if words else f"class {label}" for label in present]
    if len(target_names) != len(present):
        raise InputError(f"target_names must name the {len(present)} classes of y, got {len(target_names)} names")
    return codes, [str(name) for name in target_names]


def _axis_label(plane: Plane, axis: int, euclidean: bool) -> str:
    ordinal = ("1st", "2nd")[axis]
    share = plane.shares[axis]
    if euclidean:
        return f"{ordinal} principal axis ({share:.0%} of the variance)"
    if plane.in_metric[axis]:
        features = np.flatnonzero(plane.directions[:, axis])
        if len(features) == 1:
            return rf"feature {features[0]} $\times\,\sqrt{{w_{{{features[0]}}}}}$  ({share:.0%} of the trace)"
        return (
            rf"{ordinal} eigenvector $\times\,\sqrt{{\lambda_{axis + 1}}}$"
            f"  ({share:.0%} of the trace)"
        )
    if not plane.directions[:, axis].any():
        return "no further direction"
    return f"residual principal axis ({share:.0%} of its variance)\nweight 0 in the metric"


def plot_mds(
    distances: ArrayLike,
    y: ArrayLike | None = None,
    ax: Axes | None = None,
    target_names: Sequence[str] | None = None,
) -> Axes:
    """Points in the plane by classical multidimensional scaling of their distances.

    Unlike :func:`plot_embedding` it needs distances only, from whatever metric, kernel or judgement.

    Parameters
    ----------
    distances : (n, n) array
        Symmetric, not squared.
    y : (n,) array, optional
        Class of each point.
    ax : Axes, optional
    target_names : sequence of str, optional
        Names of the classes, in the order of ``numpy.unique(y)``.

    Raises
    ------
    InputError
        If the matrix is not one of distances, or the labels do not fit.
    """
    points, shares = distance_plane(distances)
    labels, names = _classes(y, target_names, len(points))
    ax = _axes(ax)
    for k, name in enumerate(names):
        colour, marker = COLOURS[k % len(COLOURS)], MARKERS[k % len(MARKERS)]
        x, z = points[labels == k].T
        ax.scatter(x, z, s=26, color=colour, marker=marker, edgecolor="white", linewidth=0.5, alpha=0.9, label=name)
    ax.set_title("Multidimensional scaling")
    ax.set_xlabel(f"1st axis ({shares[0]:.0%} of the scatter)")
    ax.set_ylabel(f"2nd axis ({shares[1]:.0%} of the scatter)")
    ax.set_aspect("equal", adjustable="datalim")
    if 1 < len(names) <= LEGEND_LIMIT:
        ax.legend(framealpha=0.8, edgecolor="none", fontsize="small")
    return ax
