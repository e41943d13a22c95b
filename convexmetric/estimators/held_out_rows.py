r"""What a learned metric is good for: nearest neighbours and retrieval on held-out rows, before and after.

Every fold is scored twice, by Euclidean distance of the features and by Euclidean distance of what a transformer makes
of them, so that the differences :math:`d_1, \dots, d_J` are paired. Folds share most of the rows they learn from, and
so differences are not independent; their plain standard error is too small. That of Nadeau & Bengio (Machine Learning
52, 2003, "corrected resampled t-test"; for repeated cross-validation Bouckaert & Frank, PAKDD 2004) is taken,

.. math:: \mathrm{se}^2 = \Big( \frac1J + \frac{n_\mathrm{test}}{n_\mathrm{train}} \Big)
   \frac{1}{J - 1} \sum_j (d_j - \bar d)^2, \qquad t = \bar d / \mathrm{se},

with a Student distribution of J - 1 degrees of freedom, two-sided. It is a heuristic, as all tests of a single
cross-validation are (there is no unbiased estimate of that variance: Bengio & Grandvalet, JMLR 2004), and a careful
one.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtr
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.preprocessing import StandardScaler

from convexmetric.arguments import check_count, check_flag, check_seconds
from convexmetric.arrays import Array
from convexmetric.comparisons import Rankings, Relevance
from convexmetric.comparisons.points import as_points
from convexmetric.comparisons.relevance import as_labels
from convexmetric.cones import NonnegativeDiagonal
from convexmetric.deadline import Clock, OutOfTime
from convexmetric.errors import InputError
from convexmetric.evaluation import knn_error, knn_right, query_scores
from convexmetric.measures import measure_named
from convexmetric.model_selection import progress_bar
from convexmetric.solution import Solution

__all__ = [
    "LARGEST_GAP",
    "HeldOut",
    "PairedScores",
    "dealt",
    "discriminant_scores",
    "distinct_rows",
    "held_out",
    "knn_accuracy",
    "row_scores",
    "unsolved",
]

#: A difference counts where so large a one, or a larger one, would be rarer than this without any.
LEVEL = 0.05
#: Metrics with a larger certified gap are not solved: nothing is said of what they are good for.
LARGEST_GAP = 0.5


@dataclass(frozen=True)
class PairedScores:
    """One score of every fold, or of every row, before and after.

    Attributes
    ----------
    before, after : (J,) array
        By Euclidean distance of the features, and of the transformed points; between 0 and 1, more is better.
    ratio : float
        Rows to score over rows to learn from, mean over folds; 0 for scores of single rows, which share nothing.
    """

    before: Array
    after: Array
    ratio: float

    @property
    def difference(self) -> float:
        """Mean of after - before."""
        return float(np.mean(self.after - self.before))

    @property
    def standard_error(self) -> float:
        """Standard error of the difference, corrected for what folds share (module's formula); NaN for one fold."""
        J = len(self.before)
        if J < 2:
            return float("nan")
        return float(np.sqrt((1.0 / J + self.ratio) * np.var(self.after - self.before, ddof=1)))

    @property
    def p_value(self) -> float:
        """P-value of the corrected t-test, two-sided; 1 where all folds are equal before and after."""
        if self.difference == 0.0:
            return 1.0
        error = self.standard_error
        t = abs(self.difference) / error if error > 0.0 else np.nan if np.isnan(error) else np.inf
        return float(2.0 * stdtr(len(self.before) - 1, -t))

    @property
    def verdict(self) -> str:
        """``"helps"``, ``"hurts"`` or ``"no measurable difference"``, at the level of 5%."""
        if len(self.before) < 2:
            return "one fold cannot tell"
        if self.p_value >= LEVEL:
            return "no measurable difference"
        return "helps" if self.difference > 0.0 else "hurts"


@dataclass(frozen=True, repr=False)
class HeldOut:
    """Scores of held-out rows, before and after.

    Attributes
    ----------
    accuracy : PairedScores
        Share of held-out rows whose label the majority of their nearest rows gets right (as
        :func:`~convexmetric.evaluation.knn_error` counts).
    retrieval : PairedScores
        Mean average precision: every held-out row ranks the rows that were learned from, relevant are those of its
        label. Held-out rows whose label is not among them are left out.
    n_neighbors : int
        Of the accuracy.
    rows : int
        Rows in all.
    folds, planned : int
        Folds that were scored, and folds asked for: a limit or Ctrl-C may end it before.
    seconds : float
        Wall time.
    lda : tuple of float
        Accuracy and retrieval by linear discriminant analysis of the same rows.
    keyboard_interrupt : bool
        Whether Ctrl-C ended it.
    copies : int
        Rows that are copies of others, which are kept in the fold of these.
    """

    accuracy: PairedScores
    retrieval: PairedScores
    n_neighbors: int
    rows: int
    folds: int
    planned: int
    seconds: float = field(compare=False)
    lda: tuple[float, float]
    keyboard_interrupt: bool = False
    copies: int = 0

    def named(self) -> list[tuple[str, PairedScores]]:
        """The scores, with their names."""
        return [(f"accuracy, {self.n_neighbors}-NN", self.accuracy), ("retrieval, MAP", self.retrieval)]

    @property
    def verdict(self) -> str:
        """Both verdicts in a plain sentence."""
        if self.folds < 2:
            return "One fold of held-out rows cannot tell whether the metric helps."
        words = {"no measurable difference": "makes no measurable difference to"}
        said = [
            f"{words.get(scores.verdict, scores.verdict)} {what}"
            for scores, what in (
                (self.accuracy, "classification by nearest neighbours"),
                (self.retrieval, "retrieval"),
            )
        ]
        return f"On held-out rows the metric {said[0]}, and {said[1]}."

    def heading(self) -> str:
        """What was scored, in a line."""
        part = "" if self.folds == self.planned else f" of {self.planned}"
        copies = f", of which {self.copies} are copies and in the fold of what they copy" if self.copies else ""
        folds = f"fold{'s' if self.planned != 1 else ''}"
        return f"held-out rows, mean of {self.folds}{part} {folds} ({self.rows} rows{copies})"

    def cells(self) -> list[tuple[str, ...]]:
        """The table: names of scores, and numbers and verdicts as text."""
        return [
            (
                name,
                f"{scores.before.mean():.4f}",
                f"{lda:.4f}",
                f"{scores.after.mean():.4f}",
                f"{scores.difference:+.4f}",
                f"{scores.standard_error:.4f}",
                scores.verdict,
            )
            for (name, scores), lda in zip(self.named(), self.lda, strict=True)
        ]

    def __repr__(self) -> str:
        return f"<HeldOut: {'; '.join(f'{name} {s.difference:+.4f}, {s.verdict}' for name, s in self.named())}>"

    def __str__(self) -> str:
        rows = [(self.heading(), *COLUMNS), *self.cells()]
        width = max(len(row[0]) for row in rows)
        lines = ["  ".join([row[0].ljust(width), *(c.rjust(10) for c in row[1:6]), row[6]]).rstrip() for row in rows]
        return "\n".join([*lines, "", self.verdict])

    def _repr_html_(self) -> str:
        rows = [(self.heading(), *COLUMNS), *self.cells()]
        lines = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
        return f"<div><strong>{escape(self.verdict)}</strong><table>{lines}</table></div>"


#: Headings of what :meth:`HeldOut.cells` gives, after the first.
COLUMNS = ("Euclidean", "LDA", "learned", "difference", "std. error", "verdict")


def held_out(
    estimator: Any,
    X: ArrayLike,
    y: ArrayLike,
    cv: Any = 5,
    repeats: int = 2,
    n_neighbors: int = 3,
    scale: bool = True,
    max_seconds: float | None = None,
    progress: bool = False,
    random_state: int = 0,
) -> HeldOut:
    """Cross-validated accuracy of nearest neighbours, and retrieval, before and after a transformer.

    Ctrl-C keeps the folds that are scored, if there is one; the result says so.

    Parameters
    ----------
    estimator : transformer
        Anything with ``fit(X, y)`` and ``transform(X)``; each fold fits a clone. A :class:`WeightSearch` chooses its
        weight anew in every fold, from the rows it learns from alone, so that the choice does not flatter the score.
    X, y : (n, d) array and (n,) labels
    cv : int or splitter
        Number of folds, stratified by label and shuffled, with identical rows in one; or a splitter of scikit-learn, as
        it is.
    repeats : int
        How often all rows are dealt out anew, with ``cv`` folds each.
    n_neighbors : int
        k of the accuracy.
    scale : bool
        Bring columns to mean 0 and deviation 1, by those of the rows learned from, for both.
    max_seconds : float, optional
        Begin no fold that would end later, going by the mean of those before. The first is scored in any case.
    progress : bool
        Show a progress bar on standard error.
    random_state : int
        Seed of the folds.

    Returns
    -------
    HeldOut

    Raises
    ------
    InputError
        If an argument is malformed, or there are fewer classes than two, or too few rows for the folds.
    KeyboardInterrupt
        At Ctrl-C before the first fold is scored.

    See Also
    --------
    convexmetric.cross_validate : scores over a path of C.

    Examples
    --------
    >>> import convexmetric as cm
    >>> wine = cm.datasets.load("wine")
    >>> scores = cm.held_out(cm.MLR(C=10.0, tol=1e-2), wine.X, wine.y)
    >>> scores.folds, scores.retrieval.verdict
    (10, 'helps')
    """
    points, labels = as_points(X), as_labels(y)
    check_count(n_neighbors, "n_neighbors")
    check_flag(scale, "scale")
    check_seconds(max_seconds, "max_seconds")
    folds = dealt(points, labels, cv, repeats, random_state)
    clock, interrupted = Clock(max_seconds), False
    scored: list[Array] = []
    with progress_bar(progress) as bar:
        task = bar.add_task("held-out folds", total=len(folds))
        try:
            for learn, rest in folds:
                if scored and max_seconds is not None and clock.spent * (1.0 + 1.0 / len(scored)) > max_seconds:
                    break
                scored.append(_scored(estimator, points, labels, learn, rest, n_neighbors, scale))
                bar.advance(task)
        except (KeyboardInterrupt, OutOfTime) as end:
            if not scored:
                raise
            interrupted = isinstance(end, KeyboardInterrupt)
    ratio = float(np.mean([len(rest) / len(learn) for learn, rest in folds[: len(scored)]]))
    # Fold; before, after or discriminant analysis; score.
    table = np.array(scored)
    accuracy, retrieval = (PairedScores(table[:, 0, s], table[:, 1, s], ratio) for s in (0, 1))
    lda = float(table[:, 2, 0].mean()), float(table[:, 2, 1].mean())
    copies = 0 if hasattr(cv, "split") else len(points) - len(distinct_rows(points)[0])
    folds_of = len(scored), len(folds)
    return HeldOut(accuracy, retrieval, n_neighbors, len(points), *folds_of, clock.spent, lda, interrupted, copies)


def knn_accuracy(Z: Array, y: np.ndarray, queries: Array, labels: np.ndarray, k: int) -> float:
    """Share of queries that the majority of their k nearest points gets right, by Euclidean distance."""
    error = knn_error(np.ones(Z.shape[1]), Z, y, queries, labels, min(k, len(Z)))
    assert isinstance(error, float)
    return 1.0 - error


def dealt(
    points: Array, labels: np.ndarray, cv: Any, repeats: int, random_state: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Rows to learn from and rows held out, fold by fold; identical rows are in one fold, but for a splitter's."""
    if len(labels) != len(points):
        raise InputError(f"y must have one label a point: X has {len(points)} rows, y has {len(labels)}")
    counts = np.unique(labels, return_counts=True)[1]
    if counts.size < 2:
        raise InputError("y has one class only, so that there is nothing to tell apart")
    if hasattr(cv, "split") and not isinstance(cv, str):
        return list(cv.split(points, labels))
    check_count(cv, "cv", " of at least 2, or a splitter of scikit-learn")
    check_count(repeats, "repeats")
    first, place = distinct_rows(points)
    counts = np.unique(labels[first], return_counts=True)[1]
    if not 2 <= cv <= counts.max():
        raise InputError(f"cv must be from 2 to {counts.max()}, the different rows of the largest class, got {cv}")
    with warnings.catch_warnings():
        # A class of fewer rows than folds is in some of them only, which is all that can be done.
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        splitter = RepeatedStratifiedKFold(n_splits=cv, n_repeats=repeats, random_state=random_state)
        tests = [rest for _, rest in splitter.split(first, labels[first])]
    held = [np.isin(place, rest) for rest in tests]
    return [(np.flatnonzero(~rest), np.flatnonzero(rest)) for rest in held]


def unsolved(solution: Solution) -> bool:
    """Whether a limit ended a solve with so large a gap that nothing is said of its metric."""
    return solution.gap > LARGEST_GAP and solution.status != "optimal"


def distinct_rows(points: Array) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of the rows that differ from all before them, and for every row which of these is like it."""
    places: dict[bytes, int] = {}
    # Added to 0 the two zeros are one.
    place = np.array([places.setdefault(row.tobytes(), len(places)) for row in points + 0.0])
    return np.unique(place, return_index=True)[1], place


def _scored(
    estimator: Any,
    points: Array,
    labels: np.ndarray,
    learn: np.ndarray,
    rest: np.ndarray,
    n_neighbors: int,
    scale: bool,
) -> Array:
    """Accuracy and mean average precision of a fold: before, after, and by discriminant analysis."""
    A, B = points[learn], points[rest]
    if scale:
        scaler = StandardScaler().fit(A)
        A, B = scaler.transform(A), scaler.transform(B)
    y, asked = labels[learn], labels[rest]
    known = np.isin(asked, y)
    if not known.any():
        raise InputError("no row of a fold has a label that is learned from: let cv stratify by label")
    transformer = clone(estimator).fit(A, y)
    solution = getattr(getattr(transformer, "estimator_", transformer), "solution_", None)
    if solution is not None and unsolved(solution):
        raise InputError(
            f"not enough time: the metric of a fold ended {solution.seconds:.0f} s later with a gap of "
            f"{solution.gap:.1g}; raise max_seconds"
        )
    images = [as_points(transformer.transform(part), "transform(X)") for part in (A, B)]
    found = [row_scores(*pair, n_neighbors) for pair in ((A, y, B, asked), (images[0], y, images[1], asked))]
    found.append(discriminant_scores(A, y, B, asked, n_neighbors))
    return np.array([(accuracy.mean(), precision[known].mean()) for accuracy, precision in found])


def row_scores(Z: Array, y: np.ndarray, queries: Array, labels: np.ndarray, k: int, retrieval: bool = True) -> Array:
    """``(2, queries)``: whether the k nearest points get the label right, and average precision, both by row.

    Precision is 0 for labels that no point has, and where ``retrieval`` is not asked for.
    """
    unit, k = np.ones(Z.shape[1]), min(k, len(Z))
    found = np.zeros((2, len(labels)))
    found[0] = knn_right(unit, Z, y, queries, labels, k)[k]
    known = np.isin(labels, y)
    if retrieval and known.any():
        relevance = Relevance.between(labels[known], y)
        rankings = Rankings(Z, queries[known], relevance, NonnegativeDiagonal(Z.shape[1]))
        found[1, known] = query_scores(rankings, unit, [measure_named("map")])[0]
    return found


def discriminant_scores(A: Array, y: np.ndarray, queries: Array, labels: np.ndarray, k: int) -> Array:
    """:func:`row_scores` in the coordinates of linear discriminant analysis."""
    with warnings.catch_warnings():
        # Collinear columns change nothing here.
        warnings.simplefilter("ignore")
        analysis = LinearDiscriminantAnalysis().fit(A, y)
    Z = analysis.transform(A)
    # Means of classes that coincide leave no direction.
    return row_scores(Z, y, analysis.transform(queries), labels, k) if Z.shape[1] else np.zeros((2, len(labels)))
