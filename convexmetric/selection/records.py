r"""Records of choices (:class:`Validation`) and of tests on held-out data (:class:`HeldOut`), printed as tables.

Scores before and after are paired, :math:`d_1, \dots, d_J` being their differences. Folds share most of the rows they
learn from, so that differences of folds are not independent, and their plain standard error is too small. That of
Nadeau & Bengio (Machine Learning 52, 2003, "corrected resampled t-test"; for repeated cross-validation Bouckaert &
Frank, PAKDD 2004) is used,

.. math:: \mathrm{se}^2 = \Big( \frac1J + \frac{n_\mathrm{test}}{n_\mathrm{train}} \Big)
   \frac{1}{J - 1} \sum_j (d_j - \bar d)^2, \qquad t = \bar d / \mathrm{se},

with a Student distribution of J - 1 degrees of freedom, two-sided. It is a heuristic, as all tests of a single
cross-validation are (there is no unbiased estimate of that variance: Bengio & Grandvalet, JMLR 2004), and a
conservative one. Scores of single rows or queries share nothing: the ratio is 0, and the test the paired t-test.
It takes the metrics as given: it speaks of other rows, not of metrics from other training rows. Copies of a row are one
observation, with the sum of their differences:

.. math:: \mathrm{se}^2 = \frac{G}{G - 1} \sum_g \Big( \frac1J \sum_{j \in g} (d_j - \bar d) \Big)^2

for G groups of copies, and G - 1 degrees of freedom.

With few queries only large gains are detectable. With s the standard deviation of the differences and t the quantiles
of n - 1 degrees of freedom, the smallest true gain that the test finds with probability 0.8 is about

.. math:: (t_{1 - \mathrm{level} / 2} + t_{0.8}) \, s / \sqrt n.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from convexmetric.arguments import check_one_of
from convexmetric.arrays import Array
from convexmetric.notebooks import printable

#: Level of the tests: a difference counts where its p-value is below.
LEVEL = 0.05
#: Largest certified relative gap at which a metric counts as solved; others are not scored or chosen.
LARGEST_GAP = 0.5
#: Smallest p-value that is printed; smaller ones rest on the normality of the mean's far tails.
LEAST_P = 1e-6
#: Value of a parameter from which on it counts as infinite: a strength that leaves a prior alone.
ALONE = 1e9
#: Power: the probability with which the test detects a gain of the size reported as detectable.
POWER = 0.8


class Tabled:
    """Base of results printed as a table: a heading, rows of a name, numbers and a remark, and a closing line."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Headings of the columns."""
        raise NotImplementedError

    def heading(self) -> str:
        """Heading of the table: what was done, in a line."""
        raise NotImplementedError

    def cells(self) -> list[tuple[str, ...]]:
        """Rows of the table as text, with a cell for each of :attr:`columns`."""
        raise NotImplementedError

    def closing(self) -> str:
        """Closing line: the conclusion from the table; empty where the heading states it."""
        return ""

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.heading()}>"

    def __str__(self) -> str:
        rows = [self.columns, *self.cells()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:-1], widths[1:-1]), row[-1]]).rstrip()
            for row in rows
        ]
        return "\n".join([self.heading(), *lines, *(["", self.closing()] if self.closing() else [])])

    def _repr_html_(self) -> str:
        return self.as_html(self.heading(), self.closing())

    def as_html(self, *titles: str) -> str:
        """Write the table in HTML, under titles."""
        rows = [self.columns, *self.cells()]
        lines = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
        title = "<br>".join(escape(line) for line in titles if line)
        return printable(f"<div><strong>{title}</strong><table>{lines}</table></div>")


@dataclass(frozen=True, repr=False)
class Validation(Tabled):
    """Candidates that were tried, and their scores on held-out data.

    Attributes
    ----------
    names : tuple of str
        Parameters that a candidate sets: ``("C",)``, ``("reg",)``, ``("scale", "strength")``,
        ``("loss", "side", "C")``.
    candidates : tuple of tuples
        Values of the parameters, from the strongest regularization on.
    scores : dict of (c, folds) arrays
        Scores by name; higher is better, and the first score decides. A single column is the mean over all held-out
        items.
    gaps : (c, folds) array
        Certified relative gaps of the solves; a single column has the largest.
    index : int
        Index of the candidate chosen, in ``candidates``.
    rows, of_rows : int
        Rows or queries that were held out, in turn or once, and how many there are: a part where there are many.
    seconds : float
        Wall time.
    items : str
        What was held out: ``"rows"`` or ``"queries"``.
    unlearned : str
        Name of the first candidate where it is a metric that is not learned.
    at_limit : bool
        Whether no value beyond that of the last parameter that was chosen is ever tried.
    """

    names: tuple[str, ...]
    candidates: tuple[tuple[Any, ...], ...]
    scores: dict[str, Array]
    gaps: Array
    index: int
    rows: int
    of_rows: int
    seconds: float = field(compare=False)
    items: str = "rows"
    unlearned: str = ""
    at_limit: bool = False

    @property
    def score(self) -> str:
        """Name of the score that decides."""
        return next(iter(self.scores))

    def mean(self, score: str | None = None) -> Array:
        """``(c,)`` mean of a score over folds; by default of the deciding one."""
        return np.asarray(self._of(score).mean(axis=1))

    def std(self, score: str | None = None) -> Array:
        """``(c,)`` standard deviation over folds (of a sample); zero where there is one column."""
        values = self._of(score)
        return np.zeros(len(values)) if values.shape[1] == 1 else np.asarray(values.std(axis=1, ddof=1))

    @property
    def values(self) -> Array:
        """Values of the last parameter, ``(c,)``."""
        return np.array([candidate[-1] for candidate in self.candidates])

    @property
    def best(self) -> Any:
        """The value chosen; of several parameters a tuple."""
        best = self.candidates[self.index]
        return best if len(best) > 1 else best[0]

    @property
    def settings(self) -> dict[str, Any]:
        """Parameters of the candidate chosen, by name."""
        return dict(zip(self.names, self.candidates[self.index], strict=True))

    @property
    def solved(self) -> NDArray[np.bool_]:
        """Boolean mask ``(c,)`` of candidates with no gap above 0.5."""
        return np.asarray((self.gaps <= LARGEST_GAP).all(axis=1))

    def label(self, at: int, end: int | None = None) -> str:
        """Text for a candidate: words as they are, and numbers with the names of their parameters.

        Parameters
        ----------
        at : int
            Number of the candidate.
        end : int, optional
            End of the parameters to name, as of a slice: -1 leaves out the last.
        """
        if self.unlearned and at == 0:
            return self.unlearned
        named = zip(self.names[:end], self.candidates[at][:end], strict=True)
        return ", ".join(_shown(name, value) for name, value in named)

    def heading(self) -> str:
        """Heading of the table: the candidate chosen, and by what."""
        folds = self.gaps.shape[1]
        of = "" if self.rows == self.of_rows else f", a sample of {self.of_rows}"
        by = f"in {folds} folds" if folds > 1 else f"of held-out {self.items}"
        return f"{self.label(self.index)}, chosen by {self.score} {by} ({self.rows} {self.items}{of})"

    @property
    def columns(self) -> tuple[str, ...]:
        """Headings: parameters, scores, and the largest gap where it is recorded."""
        return " and ".join(self.names), *self.scores, *(["largest gap"] if self.gaps.any() else []), ""

    def cells(self) -> list[tuple[str, ...]]:
        """Rows: candidate, its scores with their deviations, its largest gap and a remark, as text."""
        means, stds = ([of(name) for name in self.scores] for of in (self.mean, self.std))
        chosen = f"chosen, the last {self.names[-1]} that is tried" if self.at_limit else "chosen"
        spread, gaps, solved = self.gaps.shape[1] > 1, self.gaps.max(axis=1), self.solved
        return [
            (
                self.label(at) if len(self.names) > 1 else f"{self.values[at]:.4g}",
                *(f"{m[at]:.4f}" + (f" +- {s[at]:.4f}" if spread else "") for m, s in zip(means, stds, strict=True)),
                *([f"{gaps[at]:.1e}" if gaps[at] else ""] if gaps.any() else []),
                chosen if at == self.index else "" if solved[at] else "not solved in time",
            )
            for at in range(len(self.candidates))
        ]

    def _of(self, score: str | None) -> Array:
        name = self.score if score is None else score
        check_one_of(name, self.scores, "score")
        return self.scores[name]


def _shown(name: str, value: Any) -> str:
    """Print the value of a parameter."""
    if isinstance(value, str):
        return value
    return "alone" if ALONE <= value < np.inf else f"{name} = {value:.4g}"


@dataclass(frozen=True)
class PairedScores:
    """Paired scores of every fold, row or query, before (without a learned metric) and after (with it).

    Attributes
    ----------
    before, after : (J,) array
        Scores by the metric that is not learned, and by the learned one; more is better, and means are from 0 to 1.
    ratio : float
        Rows to score over rows to learn from, mean over folds; 0 for scores of single rows, which share nothing.
    lda : (J,) array, optional
        Scores by linear discriminant analysis.
    fixed_chance : bool
        Whether labels at random score the same under all metrics; otherwise a difference has no verdict.
    groups : (J,) int array, optional
        Number, from 0, of the distinct row that a row is a copy of.
    weights : (J,) array, optional
        Weights of rows: as many copies of a row that are one observation.
    """

    before: Array
    after: Array
    ratio: float
    lda: Array | None = None
    fixed_chance: bool = True
    groups: NDArray[np.int64] | None = None
    weights: Array | None = None

    @property
    def observations(self) -> int:
        """Number of folds, queries or distinct rows."""
        return len(self.before) if self.groups is None else int(self.groups.max()) + 1

    @property
    def of_lda(self) -> PairedScores:
        """Scores after, paired with those of linear discriminant analysis in place of before."""
        assert self.lda is not None
        return replace(self, before=self.after, after=self.lda, lda=None)

    def mean(self, scores: Array) -> float:
        """Mean of scores of the folds, rows or queries, by their weights."""
        return float(np.average(scores, weights=self.weights))

    @property
    def difference(self) -> float:
        """Mean of after - before."""
        return self.mean(self.after - self.before)

    @property
    def standard_error(self) -> float:
        """Standard error of the difference, corrected for what folds share (module's formula); NaN for one fold."""
        count = self.observations
        if count < 2:
            return float("nan")
        apart = self.after - self.before - self.difference
        if self.weights is not None:
            apart = apart * (self.weights / self.weights.mean())
        if self.groups is not None:
            apart = np.asarray(np.bincount(self.groups, apart) * (count / len(self.before)), dtype=np.float64)
        return float(np.sqrt((1.0 / count + self.ratio) * (apart**2).sum() / (count - 1)))

    @property
    def p_value(self) -> float:
        """P-value of the corrected t-test, two-sided; 1 where all folds are equal before and after."""
        if self.difference == 0.0:
            return 1.0
        error = self.standard_error
        t = abs(self.difference) / error if error > 0.0 else np.nan if np.isnan(error) else np.inf
        return float(2.0 * scipy.special.stdtr(self.observations - 1, -t))

    @property
    def verdict(self) -> str:
        """``"helps"``, ``"hurts"`` or ``"no measurable difference"``, at the level of 5%, or why there is none."""
        if not self.fixed_chance:
            return "no fixed chance level"
        if self.observations < 2:
            return "one fold cannot tell"
        if self.p_value >= LEVEL:
            return "no measurable difference"
        return "helps" if self.difference > 0.0 else "hurts"


def printed_p(value: float) -> str:
    """Print a p-value with two digits, or as below the least that is printed."""
    return f"{value:.2g}" if value >= LEAST_P or np.isnan(value) else f"< {LEAST_P:.0e}"


class _PairedTable(Tabled):
    """Base of tables of paired scores by name, with their tests."""

    def named(self) -> list[tuple[str, PairedScores]]:
        """List the scores by name."""
        raise NotImplementedError

    @property
    def columns(self) -> tuple[str, ...]:
        """Headings of the columns: name, scores before and after, difference and its test."""
        lda = [] if self.named()[0][1].lda is None else ["LDA"]
        return "score", "before", *lda, "after", "difference", "std. error", "p", "verdict"

    def cells(self) -> list[tuple[str, ...]]:
        """Rows: names of scores, with numbers and verdicts as text."""
        return [
            (
                name,
                f"{scores.mean(scores.before):.4f}",
                *([] if scores.lda is None else [f"{scores.mean(scores.lda):.4f}"]),
                f"{scores.mean(scores.after):.4f}",
                f"{scores.difference:+.4f}",
                f"{scores.standard_error:.4f}",
                printed_p(scores.p_value) if scores.fixed_chance else "",
                scores.verdict,
            )
            for name, scores in self.named()
        ]


@dataclass(frozen=True, repr=False)
class HeldOut(_PairedTable):
    r"""Scores of held-out rows, before (by Euclidean distance) and after.

    A difference is evidence for a metric only if labels drawn at random score the same under every metric. Two scores
    of rankings by label do not: a metric learned from the labels of the corpus, even if they are noise, brings rows of
    equal label together, which raises average precision; and it moves rows of a frequent label to the middle, which
    raises the plain mean area under the ROC curve. But let A_c be the area of one query for the label c, which n_c of
    the N rows of the corpus have. The places of all rows have a fixed sum, so that

    .. math:: \sum_c n_c (N - n_c) (A_c - \tfrac12) = 0

    for every query and metric: the mean in which a query counts by N - n_c is 1/2 for labels drawn from the corpus.

    Attributes
    ----------
    accuracy : PairedScores
        Share of held-out rows whose label the majority of their nearest rows gets right (as
        :func:`~convexmetric.evaluation.knn_error` counts).
    retrieval : PairedScores
        Area under the ROC curve: every held-out row ranks the training rows, of which those of its label are relevant,
        and is weighted in the mean by the number of irrelevant ones. Held-out rows whose label no training row has are
        left out.
    average_precision : PairedScores
        Mean average precision of the same rankings, without a verdict.
    n_neighbors : int
        k of the accuracy.
    rows : int
        Rows in all.
    folds, planned : int
        Folds that were scored, and folds asked for: a limit or Ctrl-C may end the test earlier.
    seconds : float
        Wall time.
    keyboard_interrupt : bool
        Whether Ctrl-C ended it.
    copies : int
        Number of rows that are copies of others; copies stay in one fold.
    balanced : PairedScores, optional
        Mean of the accuracies of all labels, where these are unequal.
    learned_from, of_rows : int
        Rows that the metrics were learned from, where not all were held out in turn; and rows there are, if more.
    lda_seconds : float
        Wall time in which linear discriminant analysis learned, the longest of the folds.
    """

    accuracy: PairedScores
    retrieval: PairedScores
    average_precision: PairedScores
    n_neighbors: int
    rows: int
    folds: int
    planned: int
    seconds: float = field(compare=False)
    keyboard_interrupt: bool = False
    copies: int = 0
    balanced: PairedScores | None = None
    learned_from: int = 0
    of_rows: int = 0
    lda_seconds: float = field(default=0.0, compare=False)

    def named(self) -> list[tuple[str, PairedScores]]:
        """List the scores by name."""
        k, balanced = self.n_neighbors, self.balanced
        accuracy = [(f"accuracy, {k}-NN", self.accuracy), *([("the same, balanced", balanced)] if balanced else [])]
        return [*accuracy, ("retrieval, AUC", self.retrieval), ("retrieval, MAP", self.average_precision)]

    @property
    def test(self) -> str:
        """Name of the test, in words."""
        if self.accuracy.ratio > 0.0:
            return "the corrected resampled t-test over folds (Nadeau and Bengio 2003)"
        return "the paired t-test over distinct rows, given these metrics"

    @property
    def verdict(self) -> str:
        """Verdicts by accuracy and by AUC in a plain sentence."""
        if self.accuracy.observations < 2:
            return "One fold of held-out rows cannot tell whether the metric helps."
        words = {"no measurable difference": "makes no measurable difference to"}
        uses = ((self.accuracy, "classification by nearest neighbours"), (self.retrieval, "retrieval"))
        said = [f"{words.get(scores.verdict, scores.verdict)} {what}" for scores, what in uses]
        sample = "a sample of " if self.rows < self.of_rows else ""
        return f"On {sample}held-out rows the metric {said[0]}, and {said[1]}."

    def heading(self) -> str:
        """Heading of the table: what was scored, and how."""
        part = "" if self.folds == self.planned else f" of {self.planned}"
        copies = f", of which {self.copies} are copies and in the fold of what they copy" if self.copies else ""
        sample = f", a sample of {self.of_rows}" if self.rows < self.of_rows else ""
        if self.learned_from:
            return f"{self.rows} held-out rows{sample}{copies}, by metrics learned from {self.learned_from}"
        folds = f"fold{'s' if self.planned != 1 else ''}"
        return f"held-out rows, mean of {self.folds}{part} {folds} ({self.rows} rows{sample}{copies})"

    def closing(self) -> str:
        """Closing line: the verdict."""
        return self.verdict


@dataclass(frozen=True, repr=False)
class HeldOutQueries(_PairedTable):
    """Out-of-fold scores of every query, before (the prior) and after (learned).

    Attributes
    ----------
    queries : tuple of str
    scores : dict of PairedScores
        Scores by measure, in the order of the queries; the first measure decides.
    fold : (n,) array
        Fold of every query.
    choices : tuple of (str, str, float, float)
        Loss, side, C and share by which the queries of each fold were scored, chosen without them; the prior has no
        loss.
    level : float, optional
        Level of the test: a difference counts where its p-value is below. By default any gain of the mean counts.
    beside : dict of dicts of arrays
        Scores of the queries by simpler methods, by name and measure, for comparison: each chosen in the same way.
    """

    queries: tuple[str, ...]
    scores: dict[str, PairedScores] = field(repr=False)
    fold: NDArray[np.int64]
    choices: tuple[tuple[str, str, float, float], ...]
    level: float | None = None
    beside: dict[str, dict[str, Array]] = field(default_factory=dict, repr=False)

    def named(self) -> list[tuple[str, PairedScores]]:
        """List the scores by measure."""
        return list(self.scores.items())

    @property
    def columns(self) -> tuple[str, ...]:
        """Headings of the columns, with one for each of the simpler methods."""
        name, before, *rest = super().columns
        return name, before, *self.beside, *rest

    def cells(self) -> list[tuple[str, ...]]:
        """Rows: names of measures, with numbers and verdicts as text."""
        each = zip(self.scores, super().cells(), strict=True)
        means = {name: [f"{scores[name].mean():.4f}" for scores in self.beside.values()] for name in self.scores}
        return [(*cells[:2], *means[name], *cells[2:]) for name, cells in each]

    @property
    def measure(self) -> str:
        """Name of the measure that decides."""
        return next(iter(self.scores))

    @property
    def deciding(self) -> PairedScores:
        """Scores by the measure that decides."""
        return self.scores[self.measure]

    @property
    def helps(self) -> bool:
        """Whether the mean difference is positive, and its p-value below the level if there is one."""
        return self.deciding.difference > 0.0 and (self.level is None or self.deciding.p_value < self.level)

    @property
    def detectable(self) -> float:
        """The smallest true gain that the test finds at this level, or 5%, with probability 0.8 (module's formula).

        Not a number where all queries are alike before and after.
        """
        level = LEVEL if self.level is None else self.level
        quantiles = scipy.special.stdtrit(len(self.queries) - 1, [1.0 - level / 2.0, POWER])
        error = self.deciding.standard_error
        return float(quantiles.sum() * error) if error > 0.0 else float("nan")

    @property
    def power(self) -> str:
        """State :attr:`detectable` in a sentence; empty where it is not a number."""
        least = self.detectable
        return f"{len(self.queries)} queries can show a gain of {least:.2g} or more." if least > 0.0 else ""

    @property
    def changes(self) -> Array:
        """Differences after - before, ``(n,)``, of the measure that decides."""
        return np.asarray(self.deciding.after - self.deciding.before)

    def heading(self) -> str:
        """Heading of the table: what was scored, and how."""
        return f"{len(self.queries)} held-out queries in {len(self.choices)} folds, paired t-test over queries"

    def closing(self) -> str:
        """Closing line: how many queries rank better, worse and alike by the measure that decides."""
        better, worse = int((self.changes > 0.0).sum()), int((self.changes < 0.0).sum())
        return f"{better} queries better, {worse} worse, {len(self.queries) - better - worse} alike"
