"""The steps of the command ``fit``: choose a weight, learn, score held-out rows, and recommend uses of the metric."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from convexmetric.arrays import Array
from convexmetric.datasets import Dataset, preprocess
from convexmetric.deadline import Clock, OutOfTime
from convexmetric.errors import ConvexMetricError
from convexmetric.selection import HeldOut, Validation, held_out
from convexmetric.selection.folds import stratified_sample
from convexmetric.selection.rows import unsolved
from convexmetric.solution import Solution

if TYPE_CHECKING:
    # Imported where they are used: scikit-learn takes a while.
    from convexmetric.estimators.base import MetricEstimator

#: Methods that learn from points with labels: the estimator, and its purpose, in the words of
#: docs/estimators.md.
METHODS = {
    "neighbors": ("NeighborMetric", "nearest neighbours"),
    "large-margin": ("LargeMargin", "nearest neighbours, by the objective of LMNN"),
    "mlr": ("MLR", "to rank and to cluster"),
    "relative": ("RelativeComparisonMetric", "weights of columns"),
    "projection": ("RandomProjectionMetric", "triplets of all rows, the fastest"),
    "operator": ("OperatorMarginMetric", "same or different, with a threshold"),
}
#: Default method: keeps Euclidean distance unless held-out rows favour the learned metric.
DEFAULT_METHOD = "neighbors"
#: Methods that keep rows that are alone in their class, as dissimilar to all others; other methods leave them out with
#: a note.
KEEP_LONE = frozenset(["relative", "operator"])
#: Largest number of rows for choosing a weight and for scoring (a stratified sample of more), without and with a limit.
ROWS, ROWS_WITH_LIMIT = 2000, 500
#: Number of folds, and number of times that rows are dealt out to folds anew.
FOLDS, REPEATS = 5, 2
#: Seconds after which no further fold is begun, where there is no time limit.
PATIENCE = 60.0
#: Shares of a time limit: for stating the problem of all rows (else of a sample); for choice and fit if folds are
#: scored afterwards, and if not, as a solve may overrun its limit by a fifth; and until the end of the folds.
STATED_SHARE, FIT_SHARE, ALONE_SHARE, SAFE_SHARE = 0.5, 0.6, 0.75, 0.9
MORE_TIME = "raise --max-seconds"
#: Uses of a metric, as verdicts name them.
NEAREST, SAME_LABEL = "classifying by nearest neighbours", "finding rows of the same label"
#: Level at which discriminant analysis is said to do better: below that of the verdicts, as it is one more.
LDA_LEVEL = 0.01
#: k of nearest neighbours in scores, where the method has no parameter ``n_neighbors``.
NEIGHBOURS = 3


@dataclass(frozen=True)
class Fitted:
    """Result of ``fit`` on a table: estimator, choice of parameters, and held-out scores."""

    data: Dataset
    method: str
    scale: bool
    #: Parameters set by the user.
    settings: dict[str, Any]
    estimator: MetricEstimator
    #: How parameters were chosen; None where they were given, there are none, or ``unchosen`` says why not.
    path: Validation | None
    #: Held-out scores; None where they were not asked for, or were not possible: ``unscored`` says why.
    held_out: HeldOut | None
    unchosen: str = ""
    unscored: str = ""
    #: Whether Ctrl-C ended the fit or the folds.
    interrupted: bool = False

    @property
    def solution(self) -> Solution:
        """The certified metric."""
        return self.estimator.solution_

    @property
    def all_settings(self) -> dict[str, Any]:
        """Parameters set by the user, and those chosen."""
        return self.settings if self.path is None else {**self.settings, **self.path.settings}

    @property
    def kept(self) -> bool:
        """Whether the metric is a learned one, and not Euclidean distance."""
        return getattr(self.estimator, "kept_", True)

    @property
    def recommendation(self) -> str:
        """Advice in a few sentences: columns that give the label away, uses of the metric, and what does better."""
        names, columns = self.data.extras["columns"], self.data.X.T
        equal = [repr(name) for name, values in zip(names, columns, strict=True) if self._is_label(values)]
        leak = f"Column {', '.join(equal)} has one value for each label: --drop it if it is the label." if equal else ""
        return " ".join(filter(None, (leak, self._advice(), self._better())))

    def _is_label(self, values: Array) -> bool:
        """Whether a column tells every label from every other, by one value each."""
        pairs = np.column_stack([values, np.asarray(self.data.y)])
        return len(np.unique(values)) == len(self.data.target_names) == len(np.unique(pairs, axis=0))

    def _better(self) -> str:
        """Say what discriminant analysis does better than the metric."""
        found = [f"{use} ({lda:.3f} against {own:.3f})" for use, lda, own in self._lda_wins()]
        for_accuracy = self.method == DEFAULT_METHOD and self.settings.get("scoring", "accuracy") == "accuracy"
        choose = "; --set scoring=map chooses for retrieval" if for_accuracy else ""
        seconds = 0.0 if self.held_out is None else self.held_out.lda_seconds
        lda = f"LDA of scikit-learn, learned in {seconds:.2g} s, does better at"
        return f"{lda} {' and at '.join(found)}{choose}." if found else ""

    def _lda_wins(self) -> list[tuple[str, float, float]]:
        """List the uses for which discriminant analysis is measurably better, with both scores."""
        scores = self.held_out
        if scores is None or scores.accuracy.lda is None:
            return []
        # Average precision has no level for labels at random, so that the area decides.
        uses = (NEAREST, scores.accuracy, scores.accuracy), (SAME_LABEL, scores.retrieval, scores.average_precision)
        pairs = [(use, test.of_lda, shown.of_lda) for use, test, shown in uses]
        return [
            (use, float(shown.after.mean()), float(shown.before.mean()))
            for use, test, shown in pairs
            if test.p_value < LDA_LEVEL and min(test.difference, shown.difference) > 0.0
        ]

    def _advice(self) -> str:
        if self.held_out is None:
            kept = "" if self.kept else "Euclidean distance is kept. "
            return f"{kept}Nothing is known of new rows{self.unscored and ': ' + self.unscored}."
        if not self.kept:
            return "Euclidean distance is kept: no learned metric did clearly better on held-out rows."
        accuracy, retrieval = self.held_out.accuracy.verdict, self.held_out.retrieval.verdict
        lost = {use for use, _, _ in self._lda_wins()}
        next_ = "or try --method mlr" if self.method == DEFAULT_METHOD else f"or try --method {DEFAULT_METHOD}"
        euclidean = f"Euclidean distance of the {'scaled ' if self.scale else ''}columns"
        if self.held_out.accuracy.observations < 2:
            advice = "Give it more time"
        elif "hurts" in (accuracy, retrieval):
            uses = {"nearest neighbours": accuracy, "retrieval": retrieval}
            bad = " or ".join(use for use, verdict in uses.items() if verdict == "hurts")
            advice = f"Do not use it for {bad}: the {euclidean} does better; keep that, {next_}"
        elif accuracy == "helps" and NEAREST not in lost:
            rest = "" if SAME_LABEL in lost else " and whatever rests on distances"
            advice = f"Use it for nearest neighbours{rest}: convexmetric apply transforms rows"
        elif retrieval == "helps" and SAME_LABEL not in lost:
            classify = "" if accuracy == "helps" else f"; to classify, the {euclidean} may do as well, {next_}"
            advice = f"Use it to find rows of the same label{classify}"
        elif lost:
            return self.held_out.verdict
        else:
            advice = f"The {euclidean} does as well and is simpler: keep that, {next_}"
        return f"{self.held_out.verdict} {advice}."


def fit_table(
    data: Dataset,
    method: str,
    settings: dict[str, Any],
    scale: bool = True,
    tol: float = 1e-4,
    max_seconds: float | None = None,
    score: bool = True,
    progress: bool = False,
) -> Fitted:
    """Choose the weight of a method that has one, unless it is given, learn from all rows, and score held-out rows.

    Ctrl-C in the fit or in the folds keeps the results so far. If the limit leaves no time to state the problem of all
    rows, the metric is learned from a sample of them, with a warning.

    Raises
    ------
    InputError
        If a setting is malformed, or the method refuses the table.
    KeyboardInterrupt
        At Ctrl-C before there is a metric.
    """
    clock, labels = Clock(max_seconds), labels_of(data)
    rows = ROWS if max_seconds is None else ROWS_WITH_LIMIT
    learner = partial(_learner, method, settings, tol, rows)
    # An estimator that chooses its own parameters also scores that choice: no scores afterwards.
    scored_after = score and not getattr(estimator_of(method, settings), "chooses", False)
    whole = learner(clock.left(FIT_SHARE if scored_after else ALONE_SHARE), progress)
    interrupted = False
    try:
        with clock.until(STATED_SHARE if len(labels) > rows else inf):
            whole.fit(points_of(data, scale), labels)
    except OutOfTime:
        kept = stratified_sample(labels, rows, 0)
        warnings.warn(
            f"not enough time to state the problem of all {len(labels)} rows, which takes more than "
            f"{clock.spent:.0f} s: a stratified sample of {len(kept)} is learned from; {MORE_TIME}",
            stacklevel=2,
        )
        extras = {**data.extras, "lines": data.extras["lines"][kept]}
        part = replace(data, X=data.X[kept], y=np.asarray(data.y)[kept], extras=extras)
        return fit_table(part, method, settings, scale, tol, clock.left(), score, progress)
    except KeyboardInterrupt:
        # After Ctrl-C the estimator is fitted if it had found a metric.
        interrupted = True
        if not hasattr(getattr(whole, "estimator_", whole), "solution_"):
            raise
    estimator = getattr(whole, "estimator_", whole)
    path, unchosen = getattr(whole, "path_", None), getattr(whole, "reason_", "")
    fitted = Fitted(data, method, scale, settings, estimator, path, None, unchosen, unchosen, interrupted)
    if interrupted or not score or unchosen:
        return fitted
    if getattr(estimator, "held_out_", None) is not None:
        return replace(fitted, held_out=estimator.held_out_)
    if unsolved(fitted.solution):
        return replace(fitted, unscored=f"the gap of {estimator.gap_:.1g} is too large; {MORE_TIME}")
    return _scored(fitted, learner(clock.left(SAFE_SHARE, FOLDS * REPEATS), False), clock, rows, progress)


def _learner(method: str, settings: dict[str, Any], tol: float, rows: int, limit: float | None, progress: bool) -> Any:
    """Make the estimator of a method, within a search for its weight unless that is given."""
    from convexmetric.estimators import WeightSearch

    estimator = estimator_of(method, settings, tol=tol, max_seconds=limit, progress=progress)
    if estimator.weight is None or estimator.weight in settings:
        return estimator
    k = getattr(estimator, "n_neighbors", NEIGHBOURS)
    return WeightSearch(estimator, n_neighbors=k, max_rows=rows, max_seconds=limit, progress=progress)


def _scored(fitted: Fitted, part: Any, clock: Clock, rows: int, progress: bool) -> Fitted:
    """Add scores of held-out rows, by metrics learned from the others; or the reason why there are none."""
    data, labels = fitted.data, labels_of(fitted.data)
    sample, left = stratified_sample(labels, rows, 0), clock.left(SAFE_SHARE) or PATIENCE
    try:
        with clock.until(SAFE_SHARE), warnings.catch_warnings():
            # No warnings in the folds: the fit has warned of the same rows and of its gap.
            warnings.simplefilter("ignore")
            scores = held_out(
                part,
                data.X[sample],
                labels[sample],
                cv=FOLDS,
                repeats=REPEATS,
                n_neighbors=getattr(fitted.estimator, "n_neighbors", NEIGHBOURS),
                scale=fitted.scale,
                max_seconds=left,
                progress=progress,
            )
    except KeyboardInterrupt:
        return replace(fitted, unscored="interrupted before a fold was scored", interrupted=True)
    except OutOfTime:
        return replace(fitted, unscored=f"the limit left {left:.1f} s for scores, too little for a fold; {MORE_TIME}")
    except ConvexMetricError as error:
        return replace(fitted, unscored=str(error))
    return replace(fitted, held_out=replace(scores, of_rows=len(labels)), interrupted=scores.keyboard_interrupt)


def estimator_of(method: str, settings: dict[str, Any], **limits: Any) -> MetricEstimator:
    """Make the estimator of a method with the user's settings."""
    from convexmetric import estimators

    estimator: MetricEstimator = getattr(estimators, METHODS[method][0])(**limits)
    return estimator.set_params(**settings)


def labels_of(data: Dataset) -> np.ndarray:
    """Name of every row's label in the table."""
    return np.array(data.target_names)[data.y]


def deviations(data: Dataset, scale: bool) -> Array:
    """Standard deviations by which ``scale`` divides the columns; 1 for constant ones, and without it."""
    constant = data.X.min(axis=0) == data.X.max(axis=0)
    return np.where(constant | (not scale), 1.0, data.X.std(axis=0))


def points_of(data: Dataset, scale: bool) -> Array:
    """Rows in the form that methods get: with ``scale``, columns of mean 0 and deviation 1."""
    return np.asarray(preprocess(data.X, ["zscore"] if scale else []))
