"""Pictures of scores: rankings, curves of retrieval and verification, and the choice of C."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import cycle
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike, NDArray

from convexmetric.arguments import check_count, check_integer, is_real
from convexmetric.evaluation import RetrievalCurve, RocCurve
from convexmetric.measures.reference import most_violated
from convexmetric.papers import RankingProblem
from convexmetric.plotting.axes import AID, DASHES, GRID, LOWER, UPPER, axes_of, curve_axes, look, named, plain, text_of
from convexmetric.selection import HeldOutQueries, Validation
from convexmetric.selection.records import ALONE


def plot_validation(validation: Validation, score: str | None = None, *, ax: Axes | None = None) -> Axes:
    """Draw the mean held-out score of all candidates, plus and minus one standard deviation, with the one chosen.

    The last parameter is on the axis. Candidates that differ in others have a line each; those that have no number
    there, such as a metric that is not learned, have a horizontal one.

    Parameters
    ----------
    validation : Validation
        Scores of candidates: from ``cross_validate``, or ``path_`` of a :class:`~convexmetric.WeightSearch` or a
        :class:`~convexmetric.NeighborMetric`.
    score : str, optional
        One of its scores; by default the deciding one.
    ax : Axes, optional

    Raises
    ------
    InputError
        If there is no such score.
    """
    name = validation.score if score is None else score
    mean, std, best = validation.mean(name), validation.std(name), validation.index
    ax = axes_of(ax)
    ax.set_xscale("log")
    for k, (label, places) in enumerate(_lines(validation).items()):
        style = look(k) | {"label": text_of(label), "lw": 1.5}
        if _on_axis(validation, places[0]):
            values = [validation.candidates[at][-1] for at in places]
            # Error bars, as a band between few values would be hard to see.
            ax.errorbar(values, mean[places], std[places], ms=4, capsize=3, **style)
        else:
            ax.axhline(mean[places[0]], **style | {"marker": ""})
    if _on_axis(validation, best):
        ax.axvline(validation.candidates[best][-1], color=UPPER, lw=1.2, ls="--")
        ax.plot(validation.candidates[best][-1], mean[best], marker="o", ms=10, mfc="none", color=UPPER)
    by = "" if name == validation.score else f", chosen by {text_of(validation.score)}"
    ax.set_title(fill(f"Best: {text_of(validation.label(best))}{by}", 56))
    ax.set_xlabel(validation.names[-1])
    ax.set_ylabel(f"{text_of(name)} of held-out {validation.items}")
    if len(validation.names) > 1:
        # Below the axes: there may be many lines.
        ax.legend(frameon=False, fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=2)
    return plain(ax, "both")


def _on_axis(validation: Validation, at: int) -> bool:
    """Whether a candidate has a place on a logarithmic axis of the last parameter."""
    value = validation.candidates[at][-1]
    return not (validation.unlearned and at == 0) and is_real(value) and 0.0 < value < ALONE


def _lines(validation: Validation) -> dict[str, list[int]]:
    """Numbers of the candidates of each line, by the label of the line."""
    found: dict[str, list[int]] = {}
    for at in range(len(validation.candidates)):
        found.setdefault(validation.label(at, -1 if _on_axis(validation, at) else None), []).append(at)
    return found


def plot_query_changes(held_out: HeldOutQueries, *, ax: Axes | None = None) -> Axes:
    """Draw the difference after - before of every held-out query, the largest first, and their mean.

    Parameters
    ----------
    held_out : HeldOutQueries
        ``held_out_`` of a :class:`~convexmetric.RetrievalAdapter`.
    ax : Axes, optional
    """
    ax = axes_of(ax)
    change = np.sort(held_out.changes)[::-1]
    ax.bar(np.arange(1, change.size + 1), change, width=1.0, color=np.where(change < 0.0, UPPER, LOWER))
    mean = held_out.deciding.difference
    ax.axhline(mean, color="black", lw=1.2, ls="--", label=f"mean {mean:+.4f}, p = {held_out.deciding.p_value:.2g}")
    ax.set(title=held_out.closing(), xlabel="held-out queries, by their change")
    ax.set_ylabel(f"{text_of(held_out.measure)}, after - before")
    return curve_axes(ax)


def plot_roc(curves: RocCurve | Mapping[str, RocCurve], *, ax: Axes | None = None) -> Axes:
    """ROC curves of distances as detectors of equal labels, with the areas under them.

    Parameters
    ----------
    curves : RocCurve, or a mapping from names to these
        From :func:`~convexmetric.evaluation.roc_curve`.
    ax : Axes, optional
    """
    ax = axes_of(ax)
    for (name, curve, colour, _), dashes in zip(named(curves), cycle(DASHES), strict=False):
        label = f"{name}, area {curve.area:.3f}" if name else f"area {curve.area:.3f}"
        ax.plot(curve.false_positive_rate, curve.true_positive_rate, color=colour, ls=dashes, lw=1.8, label=label)
    ax.plot([0.0, 1.0], [0.0, 1.0], color=AID, lw=1.0, ls=":")
    ax.set(xlabel="share of dissimilar pairs accepted", ylabel="share of similar pairs accepted", aspect="equal")
    return curve_axes(ax)


def plot_precision_recall(curves: RetrievalCurve | Mapping[str, RetrievalCurve], *, ax: Axes | None = None) -> Axes:
    """Precision at levels of recall, means over queries, with the mean average precision of each curve.

    Parameters
    ----------
    curves : RetrievalCurve, or a mapping from names to these
        From :func:`~convexmetric.evaluation.retrieval_curve`.
    ax : Axes, optional
    """
    ax = axes_of(ax)
    for name, curve, colour, marker in named(curves):
        score = f"MAP {curve.mean_average_precision:.3f}"
        label = f"{name}, {score}" if name else score
        ax.plot(curve.recall, curve.precision, color=colour, marker=marker, ms=4, lw=1.8, label=label)
    ax.set(ylim=(0.0, 1.02), xlabel="recall", ylabel="precision")
    return curve_axes(ax)


def plot_violated_ranking(
    problem: RankingProblem, M: ArrayLike, *, query: int = 0, ax: Axes | None = None, places: int = 20
) -> Axes:
    """Draw one query's ranking by distance and the most violated one, whose violation is the query's slack.

    Blue circles are relevant items, orange squares irrelevant ones; grey lines connect an item's places in the two
    rankings.

    Parameters
    ----------
    problem : RankingProblem
    M : array
        The metric.
    query : int
        Number of the query.
    ax : Axes, optional
    places : int
        Number of places of both rankings to show, from the top.

    Raises
    ------
    InputError
        If the metric does not fit, there is no query of that number, or ``places`` is not positive.
    """
    check_count(places, "places")
    n = len(problem.rankings)
    check_integer(query, 0, n - 1, f"query must be an integer from 0 to below {n}, the number of queries")
    by_distance, worst, relevant, loss, violation = _two_rankings(problem, problem.metric(M), int(query))
    ax = axes_of(ax)
    places_left = np.arange(1, len(by_distance) + 1)
    places_right = np.argsort(worst)[by_distance] + 1
    for left, right in zip(places_left, places_right, strict=True):
        if min(left, right) <= places:
            ax.plot([0.0, 1.0], [left, right], color=GRID if left == right else AID, ls="-", lw=0.8, zorder=1)
    shown = relevant[by_distance]
    for label, of_kind, colour, marker in named({"relevant": shown, "irrelevant": ~shown}):
        x = np.repeat([0.0, 1.0], of_kind.sum())
        y = np.concatenate([places_left[of_kind], places_right[of_kind]])
        ax.scatter(x, y, s=42, color=colour, marker=marker, edgecolor="white", linewidth=0.6, zorder=2, label=label)
    ax.set(ylim=(min(places, len(worst)) + 0.7, 0.3), xlim=(-0.35, 1.35), ylabel="place")
    ax.set_xticks([0.0, 1.0], ["by distance", "most violated"])
    ax.yaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    title = f"Query {query}, {text_of(problem.measure.label)}: loss {loss:.3g}, violation {violation:.3g}"
    ax.set_title(title)
    plain(ax).grid(visible=False)
    ax.legend(
        framealpha=0.9, edgecolor="none", fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.08), ncols=2
    )
    return ax


def _two_rankings(
    problem: RankingProblem, M: NDArray[Any], query: int
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], float, float]:
    """Rank a query's items by distance and by the separation oracle, with relevance, loss and violation of the latter.

    Items are numbered with the relevant ones first.
    """
    rankings = problem.rankings
    positives, negatives = rankings.relevance.of(query)
    V = rankings.X[np.concatenate([positives, negatives])] - rankings.points(np.array([query]))
    distances = problem.cone.quadratic_forms(V, M)
    p, n = len(positives), len(negatives)
    b, loss, violation = most_violated(problem.measure, distances[:p], distances[p:])
    first, others = (np.argsort(part, kind="stable") for part in (distances[:p], distances[p:]))
    worst = np.insert(p + others, b, first)
    return np.argsort(distances, kind="stable"), worst, np.arange(p + n) < p, loss, violation
