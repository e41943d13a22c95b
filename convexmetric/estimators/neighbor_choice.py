r"""The choice of a metric for nearest neighbours, on rows held out from learning, at the size of the table.

A *candidate* is a prior, a scale and a strength (:mod:`convexmetric.estimators.neighbors` has the formula). The weight
of a prior against a mean over triplets must fall as rows grow, so that a strength is one per row: lambda is the
strength times :math:`10 \lambda_{\max} / n`. That carries a choice from a sample to the table but for a factor, so
that both neighbours of a strength are tried again whenever the rows grow. Within a sample the strengths go on, by
factors of ten, while the largest or the smallest wins; but not to smaller ones where the triplets keep nearly all of
their margins, as there is nothing left to learn, and solves take long.

For retrieval metric learning to rank is a candidate too (``"ranking"``); of a long table ``MOST_QUERIES`` rows rank the
others, in the choice as in the metric that is kept.

Up to ``max_rows`` rows every candidate is learned without each fold in turn. Longer tables begin with a sample of as
many rows and two folds. The best candidate of each prior and scale, if it is within two standard errors of the best of
all, goes on to samples four times as large, and at last to the whole table, of which folds are held out until they
have some 1,000 rows. Samples are drawn from the folds that are never held out, if these have rows enough, so that the
rows that score the choice had no part in it.

What decides (``scoring="accuracy"``) is the accuracy over 1, k, 2k - 1 and 3k neighbours, on average, plus three
hundredths of the average precision: both vary less from sample to sample than the accuracy of k neighbours, and the
k-NN accuracy of what they choose is as high. Euclidean distance is kept unless the winner's accuracy exceeds it by two
standard errors over distinct rows, or its area under the ROC curve does, which labels at random do not raise, and its
accuracy is not lower. For retrieval the area alone must.

The scores that are reported are of a choice that is made for each fold by the rows of the others, whose neighbours are
then sought outside that fold too: two near rows of one label raise each other's score. (Of a single fold, the choice is
made for each half by the other half.) The metrics of other folds have learned from the fold's rows, though, which
nested folds would avoid at several times the cost; on labels drawn at random the verdicts hold their level
(``benchmarks/RESULTS.md``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from convexmetric.arrays import Array
from convexmetric.comparisons import Relevance
from convexmetric.comparisons.points import Checked
from convexmetric.deadline import Clock, check_deadline
from convexmetric.errors import InputError
from convexmetric.estimators.base import has_class_mate
from convexmetric.features import Projection, make_projection
from convexmetric.papers import RankingProblem, TripletProblem
from convexmetric.problem import MetricProblem
from convexmetric.selection import HeldOut, PairedScores, Validation, solve_path
from convexmetric.selection.folds import Rows, dealt, distinct_rows, stratified_sample
from convexmetric.selection.records import ALONE, LARGEST_GAP
from convexmetric.selection.rows import (
    balance,
    discriminant_scores,
    factor_of,
    fitted_discriminant,
    paired,
    row_scores,
    unequal,
)
from convexmetric.solution import Solution
from convexmetric.solvers import solve

#: Prior, scale and strength.
Candidate = tuple[str, float, float]
#: At the strength ``ALONE`` the optimum is the prior to some 1e-7, and bounds have few digits fewer than usual.
EUCLIDEAN: Candidate = ("identity", 1.0, ALONE)
#: Name of metric learning to rank among the priors, and its strengths that are tried where rankings are scored.
RANKING, RANKING_STRENGTHS = "ranking", (1.0, 0.1)
#: Strengths to which the grid goes on.
LEAST_STRENGTH, MOST_STRENGTH = 1e-4, 1e3
#: Strengths at which a path to a weaker one begins.
ON_THE_WAY = (0.1, 0.01, 1e-3)
#: Certified relative gaps, and absolute ones in units of the margin, of which either ends a solve: those that choose a
#: candidate, and those that score the choice. Where few triplets break their margins, relative ones take long.
CHOICE_TOL, SCORE_TOL = (0.2, 1e-2), (1e-2, 1e-3)
#: Absolute gap at which the last solve stops as well: an objective below this counts as zero.
ZERO = 1e-9
#: Largest number of features; beyond it the metric is learned on as many principal components.
MOST_FEATURES = 100
#: Number of random pairs of points from which the median distance is estimated.
SAMPLED_PAIRS = 10_000
#: Of the discriminant prior: share of the mean variance within classes that is added to all, and least weight.
SHRINKAGE, LEAST_WEIGHT = 0.1, 0.02
#: By how much each sample exceeds the one before, and how many priors and scales go on to it.
GROWTH, MOST_SURVIVORS = 4, 4
#: Number of standard errors from which on a difference is clear.
CLEAR = 2.0
#: Rows of a long table that score the choice: folds are held out until they have so many, and no fold scores more than
#: the second number, or ranks other rows for more than the third.
ENOUGH_ROWS, MOST_SCORED, MOST_RANKED = 1000, 4000, 1000
#: Rows that rank the others in metric learning to rank.
MOST_QUERIES = 1000
#: Share of average precision in the score that decides.
PRECISION_SHARE = 0.03
#: Shares of a limit on time for the choice, and until the end of its scores; the last solve has the rest.
FOLDS_SHARE, SCORED_SHARE = 0.6, 0.75
#: Place in the table of candidates of the score that decides.
SCORINGS = {"accuracy": 0, "map": 1, "auc": 2}
#: Places of the scores of a row.
ACCURACY, AREA, PRECISION, MEAN_ACCURACY = range(4)


@dataclass(frozen=True)
class Table:
    """Rows to learn from.

    Attributes
    ----------
    points, labels : arrays
    k : int
        Neighbours of each kind in the triplets of a row.
    weights : (n,) array, optional
        Weights of the triplets of which a row is the first, and of its score where it is held out.
    """

    points: Array
    labels: np.ndarray
    k: int
    weights: Array | None = None

    def of(self, rows: Any) -> Table:
        """Rows of the table."""
        weights = None if self.weights is None else self.weights[rows]
        return Table(self.points[rows], self.labels[rows], self.k, weights)


def stated(table: Table, name: str) -> TripletProblem:
    """State the triplet problem of a prior without the prior, with the lambda of strength 1."""
    points, labels, k = table.points, table.labels, table.k
    n, d = points.shape
    r = min(MOST_FEATURES, n - 1)
    projection = (
        make_projection("pca", points, r, random_state=np.random.default_rng(0)) if r < d > MOST_FEATURES else None
    )
    near = None
    if name == "whitened":
        projection = _whitening(points, labels, projection)
        near = projection.transform(points)
    options: dict[str, Any] = {"near": near, "projection": projection, "weights": table.weights}
    problem = TripletProblem.from_labels(Checked(points), labels, n_same=k, n_other=k, **options)
    return problem.with_reg(10.0 / n * (problem.reg_max or 1.0))


def _whitening(points: Array, labels: np.ndarray, projection: Projection | None) -> Projection:
    """Make the coordinates in which the discriminant prior is the identity."""
    metric = prior(points if projection is None else projection.transform(points), labels, "discriminant")
    weights, axes = np.linalg.eigh(metric)
    kept = weights >= 1e-12 * weights.max()
    L = np.sqrt(weights[kept])[:, None] * axes[:, kept].T
    return Projection(L if projection is None else L @ projection.L, "whitening")


class RankedImages(RankingProblem):
    """Metric learning to rank by AUC on the images ``L x`` of points: rows rank the others."""

    def __init__(self, base: TripletProblem, table: Table) -> None:
        super().__init__(base.rankings.X, Relevance.from_labels(table.labels), query_weights=table.weights)
        self._images = base.feature_map

    @property
    def feature_map(self) -> Any:
        """L of the images."""
        return self._images

    @property
    def coordinates(self) -> str:
        """Description of the images."""
        return f"{self.letter} on images of the points, problem.feature_map"

    def nearest(self, M: ArrayLike) -> Array:
        """The variable of a metric on the features: images are not coordinates of a span."""
        return MetricProblem.nearest(self, M)

    def __str__(self) -> str:
        return f"{super().__str__()}\n  on        images L x of the points x, L = problem.feature_map"


class Bases:
    """Problems of a table without priors, stated when first asked for; priors in the same coordinates share one."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._stated: dict[bool, TripletProblem] = {}

    def of(self, name: str) -> TripletProblem:
        """The problem of a prior without the prior."""
        whitened = name == "whitened"
        if whitened not in self._stated:
            self._stated[whitened] = stated(self.table, name)
        return self._stated[whitened]

    @cached_property
    def ranking(self) -> RankingProblem:
        """The problem of metric learning to rank, on whitened points; of a long table a sample of rows are queries."""
        problem = RankedImages(self.of("whitened"), self.table)
        return problem.with_queries(stratified_sample(self.table.labels, MOST_QUERIES, 0))

    def problem(self, candidate: Candidate) -> MetricProblem:
        """State the problem of a candidate."""
        name, scale, strength = candidate
        if name == RANKING:
            return self.ranking.with_C(len(self.table.labels) / (10.0 * strength))
        base = self.of(name)
        return base.with_reg(strength * base.reg).with_prior(scale * prior(base.rankings.X, self.table.labels, name))


def prior(points: Array, labels: np.ndarray, name: str) -> Array:
    """Make a prior of scale 1, with zeros for features that do not vary, as nothing is known of them."""
    varies = np.ptp(points, axis=0) > 0.0
    metric = np.zeros(2 * points.shape[1:])
    if varies.any():
        metric[np.ix_(varies, varies)] = PRIORS[name](points[:, varies], labels)
    i, j = np.random.default_rng(0).integers(len(points), size=(2, SAMPLED_PAIRS))
    apart = points[i] - points[j]
    squared = ((apart @ metric) * apart).sum(axis=1)
    size = np.median(squared[squared > 0.0]) if (squared > 0.0).any() else 10.0
    return np.asarray(10.0 / size * metric)


def _identity(points: Array, labels: np.ndarray) -> Array:
    return np.eye(points.shape[1])


def _discriminant(points: Array, labels: np.ndarray) -> Array:
    """Whiten by the shrunken covariance within classes, and weigh directions by b / (1 + b), b between classes."""
    codes, counts = np.unique(labels, return_inverse=True, return_counts=True)[1:]
    means = np.array([points[codes == code].mean(axis=0) for code in range(len(counts))])
    within = np.cov((points - means[codes]).T, bias=True).reshape(2 * points.shape[1:])
    sizes, axes = np.linalg.eigh(within)
    # The floor matters only where nothing varies within classes.
    sizes = np.maximum(sizes + SHRINKAGE * sizes.mean(), 1e-12 * points.var(axis=0).max())
    whitening = axes / np.sqrt(sizes)
    apart = np.sqrt(counts / len(points))[:, None] * (means - points.mean(axis=0)) @ whitening
    between, directions = np.linalg.eigh(apart.T @ apart)
    L = (whitening @ directions) * np.sqrt(np.maximum(between / (1.0 + between), LEAST_WEIGHT))
    return np.asarray(L @ L.T)


def _lda(points: Array, labels: np.ndarray) -> Array:
    """Linear discriminant analysis of scikit-learn: as many directions as classes less one, which count alike."""
    analysis = fitted_discriminant(points, labels)
    L = analysis.scalings_[:, : analysis._max_components]
    return np.asarray(L @ L.T)


#: Priors by name, which make a metric of any size from points and labels; a ranking has none.
PRIORS = {"identity": _identity, "discriminant": _discriminant, "whitened": _identity, "lda": _lda, RANKING: _identity}


@dataclass
class Split:
    """Rows to learn from, and others that score what was learned."""

    table: Table
    learn: Rows
    rest: Rows
    #: Rows among which neighbours are sought: those learned from, and, for the choice for each part, those outside it.
    corpora: list[Rows]

    def __post_init__(self) -> None:
        self.bases = Bases(self.table.of(self.learn[has_class_mate(self.table.labels[self.learn])]))

    def scored(
        self, wanted: Sequence[Candidate], tol: tuple[float, float], limit: float | None
    ) -> Iterator[tuple[Candidate, float, bool, Array]]:
        """Learn candidates, each scale of a prior as a path over its strengths.

        Yields gaps, whether the objective is so small that its absolute gap ended the solve, and scores of rows.
        """
        for name, of_prior in groupby(sorted(wanted, key=lambda one: (one[0], one[1], -one[2])), lambda one: one[0]):
            if name == RANKING:
                yield from self._ranked(of_prior, tol[0], limit)
                continue
            base = self.bases.of(name)
            metric = prior(base.rankings.X, self.bases.table.labels, name)
            for scale, group in groupby(of_prior, lambda one: one[1]):
                members = list(group)
                problem = base.with_prior(scale * metric)
                if members[0][2] >= ALONE:
                    yield members.pop(0), 0.0, False, self._scores(problem.components(scale * metric))
                reg = [one[2] * base.reg for one in members]
                # Newton's method is slow from afar: the weakest are reached by way of stronger ones.
                above = [way * base.reg for way in ON_THE_WAY if members and way > members[0][2]]
                path = [*above, *reg]
                found = solve_path(problem, reg=path, tol=tol[0], atol=tol[1], max_seconds=limit) if reg else []
                for one, solution in zip(members, found[len(above) :], strict=True):
                    check_deadline()
                    gap = _unsolved_gap(solution)
                    yield one, gap, gap == 0.0 and solution.gap > tol[0], self._scores(factor_of(solution))

    def _ranked(
        self, wanted: Iterable[Candidate], tol: float, limit: float | None
    ) -> Iterator[tuple[Candidate, float, bool, Array]]:
        """Learn to rank by several strengths, as :meth:`scored`."""
        for one in wanted:
            check_deadline()
            # At a gap of 0.2 cutting planes may have a metric far worse than the optimal one.
            solution = solve(self.bases.problem(one), tol=tol, max_seconds=limit, solver="smoothed-low-rank")
            yield one, _unsolved_gap(solution), False, self._scores(factor_of(solution))

    def _scores(self, L: Array) -> Array:
        rest, y, Z = self.rest, self.table.labels, self.table.points @ L.T
        asked = Z[rest], y[rest], self.table.k, MOST_RANKED
        found = {
            id(rows): row_scores(Z[rows], y[rows], *asked) for rows in {id(one): one for one in self.corpora}.values()
        }
        return np.array([found[id(rows)] for rows in self.corpora])

    def discriminant(self) -> tuple[Array, float]:
        """Score linear discriminant analysis on all features; also the seconds in which it learned."""
        known, asked = ((part.points, part.labels) for part in map(self.table.of, (self.learn, self.rest)))
        return discriminant_scores(*known, *asked, self.table.k, MOST_RANKED)


class Stage:
    """Candidates, scored on rows held out from a sample or from the table."""

    def __init__(self, splits: list[Split], scoring: str, clock: Clock) -> None:
        self.splits, self.scoring, self.clock = splits, scoring, clock
        #: Rows that are scored, split by split, and the place where those of a split begin.
        self.rows = np.concatenate([split.rest for split in splits])
        self.begins = np.cumsum([0, *(len(split.rest) for split in splits)])
        self.table = splits[0].table.of(self.rows)
        #: Number of the distinct row of every row, and of its part: a choice is made for each by the others.
        self.groups = distinct_rows(self.table.points)[1]
        self.part = self.groups % 2 if len(splits) == 1 else np.repeat(np.arange(len(splits)), np.diff(self.begins))
        self.scores: dict[Candidate, Array] = {}
        self.gaps: dict[Candidate, float] = {}
        #: Candidates under which triplets keep nearly all of their margins.
        self.satisfied: set[Candidate] = set()

    def run(
        self, wanted: Sequence[Sequence[Candidate]], tol: tuple[float, float], share: float
    ) -> dict[Candidate, Array]:
        """Learn and score the candidates wanted in each split: ``(corpora, 4, rows)``, zero in other splits."""
        found = {
            one: np.zeros((len(self.splits[0].corpora), 4, len(self.rows))) for of_split in wanted for one in of_split
        }
        limit = self.clock.left(share, sum(map(len, wanted)))
        for split, ones, begin, end in zip(self.splits, wanted, self.begins, self.begins[1:], strict=False):
            for one, gap, satisfied, scores in split.scored(ones, tol, limit):
                found[one][:, :, begin:end] = scores
                self.satisfied |= {one} if satisfied else set()
                self.gaps[one] = max(self.gaps.get(one, 0.0), gap)
        return found

    def tried(self, wanted: Sequence[Candidate], go_on: bool) -> Self:
        """Score candidates, and strengths beyond the largest and the smallest while these win."""
        self.scores |= self.run([wanted] * len(self.splits), CHOICE_TOL, FOLDS_SHARE)
        untried = [one for one in self.worthwhile(self.best()) if one not in self.scores] if go_on else []
        return self.tried(untried, go_on) if untried else self

    def worthwhile(self, one: Candidate) -> list[Candidate]:
        """List the strengths beside, without the smaller one where nothing is left to learn."""
        return [other for other in beside(one) if other[2] > one[2] or one not in self.satisfied]

    def view(self, one: Candidate, part: int | None = None) -> Array:
        """Scores of a candidate by which a choice is made: for all rows, or for a part by the others."""
        scores = self.scores[one]
        return scores[0] if part is None else scores[1 + part][:, self.part != part]

    def ranked(self, part: int | None = None) -> NDArray[np.bool_]:
        """Which rows are scored as queries: average precision is zero only for those that are not."""
        return np.asarray(self.view(EUCLIDEAN, part)[PRECISION] > 0.0)

    def deciding(self, one: Candidate, part: int | None = None) -> float:
        """Score by which candidates are chosen."""
        scores, ranked = self.view(one, part), self.ranked(part)
        area, precision = (self.mean(scores[at], ranked, part) for at in (AREA, PRECISION))
        accuracy = self.mean(scores[MEAN_ACCURACY], np.full(len(ranked), True), part) + PRECISION_SHARE * precision
        return {"accuracy": accuracy, "auc": area, "map": precision}[self.scoring]

    def mean(self, scores: Array, rows: NDArray[np.bool_], part: int | None = None) -> float:
        """Mean of the scores of rows, by their weights; zero where there are no rows."""
        return float(np.average(scores[rows], weights=self.weights(rows, part))) if rows.any() else 0.0

    def weights(self, rows: Any, part: int | None = None) -> Array | None:
        """Weights of rows of :meth:`view`."""
        weights = self.table.weights
        return None if weights is None else (weights if part is None else weights[self.part != part])[rows]

    def best(self, part: int | None = None) -> Candidate:
        """Choose the best candidate that was solved; of equal ones the first."""
        able = [one for one in self.scores if self.gaps[one] <= LARGEST_GAP]
        return max(able, key=lambda one: round(self.deciding(one, part), 12))

    def kept(self, part: int | None = None) -> Candidate:
        """Choose the best candidate, or Euclidean distance where that candidate is not clearly better."""
        best = self.best(part)
        accuracy, area = (self.ahead(best, EUCLIDEAN, gate, part) for gate in (MEAN_ACCURACY, AREA))
        better = area > CLEAR and (accuracy >= 0.0 or self.scoring != "accuracy")
        return best if better or (accuracy > CLEAR and self.scoring == "accuracy") else EUCLIDEAN

    def ahead(self, one: Candidate, other: Candidate, gate: int, part: int | None = None) -> float:
        """Gain of a candidate over another in standard errors over distinct rows; zero where they are alike."""
        rows = self.ranked(part) if gate == AREA else np.full(self.view(one, part).shape[1], True)
        groups = (self.groups if part is None else self.groups[self.part != part])[rows]
        before, after = (self.view(of, part)[gate, rows] for of in (other, one))
        groups, weights = np.unique(groups, return_inverse=True)[1], self.weights(rows, part)
        gain = PairedScores(before, after, 0.0, groups=groups, weights=weights)
        return gain.difference / gain.standard_error if gain.difference and gain.standard_error else 0.0

    def survivors(self) -> list[Candidate]:
        """List what goes on to a larger sample: priors alone, the best of each prior and scale that is close, and more.

        Priors alone take no time, and their places depend most on the number of rows. More are the strengths beside.
        """
        best, near = self.best(), dict[tuple[str, float], Candidate]()
        alone, learned = ([one for one in self.scores if (one[2] >= ALONE) == is_alone] for is_alone in (True, False))
        for one in sorted(learned, key=self.deciding, reverse=True):
            if self.ahead(best, one, MEAN_ACCURACY if self.scoring == "accuracy" else AREA) <= CLEAR:
                near.setdefault(one[:2], one)
        go_on = list(near.values())[:MOST_SURVIVORS]
        return list(dict.fromkeys([*alone, *go_on, *(other for one in go_on for other in self.worthwhile(one))]))

    def validation(self, of_rows: int) -> Validation:
        """Record what was tried, from the strongest prior on, and what was chosen."""
        priors, k, every = list(PRIORS), self.table.k, np.full(len(self.rows), True)
        tried = sorted(self.scores, key=lambda one: (one != EUCLIDEAN, priors.index(one[0]), one[1], -one[2]))
        named = [("MAP", PRECISION, self.ranked()), ("AUC", AREA, self.ranked()), (f"{k}-NN", ACCURACY, every)]
        named.insert(0, (f"accuracy, 1 to {3 * k}-NN", MEAN_ACCURACY, every))
        # What decides comes first.
        named.insert(0, named.pop(SCORINGS[self.scoring]))
        means = {name: np.array([[self.mean(self.view(one)[at], rows)] for one in tried]) for name, at, rows in named}
        gaps, chosen = np.array([[self.gaps[one]] for one in tried]), tried.index(self.kept())
        counts, at_limit = (len(self.rows), of_rows, self.clock.spent), len(beside(tried[chosen])) == 1
        names, first = ("prior", "scale", "strength"), "Euclidean distance"
        return Validation(names, tuple(tried), means, gaps, chosen, *counts, unlearned=first, at_limit=at_limit)

    def held_out(self, of_rows: int, fine: bool = True) -> HeldOut:
        """Score every part by what the other parts choose for it, or by Euclidean distance where that is kept."""
        order = np.argsort(self.rows)
        y, k, weights = self.table.labels[order], self.table.k, self.weights(order)
        before = after = self.view(EUCLIDEAN)
        if self.kept() != EUCLIDEAN:
            chosen = [self.kept(part) for part in range(int(self.part.max()) + 1)]
            wanted = [list(set(chosen))] if len(self.splits) == 1 else [[one] for one in chosen]
            scores = self.scores | (self.run(wanted, SCORE_TOL, SCORED_SHARE) if fine else {})
            after = np.array([scores[chosen[part]][0][:, row] for row, part in enumerate(self.part)]).T
        lda, seconds = zip(*(split.discriminant() for split in self.splits), strict=True)
        table = np.array([before, after, np.hstack(lda)])[:, :, order]
        table[:, MEAN_ACCURACY] = table[:, ACCURACY] * balance(y, weights)
        accuracy, area, precision, balanced = paired(table, 0.0, self.ranked()[order], self.groups[order], weights)
        folds, rows, copies = len(self.splits), len(self.rows), len(self.rows) - accuracy.observations
        found = HeldOut(accuracy, area, precision, k, rows, folds, folds, self.clock.spent, copies=copies)
        learned_from = len(self.splits[0].learn) if rows < of_rows else 0
        found = replace(found, balanced=balanced if unequal(y) else None, lda_seconds=max(seconds))
        return replace(found, learned_from=learned_from, of_rows=of_rows)


def _unsolved_gap(solution: Solution) -> float:
    """Gap of a solve that a limit ended, else 0."""
    return solution.gap if solution.status != "optimal" else 0.0


def tried_at_first(candidates: Sequence[Candidate], scoring: str) -> list[Candidate]:
    """List Euclidean distance, the priors alone, what goes with the discriminant prior, and the candidates.

    With it go discriminant analysis, and for scores of rankings metric learning to rank.
    """
    priors = {one[0] for one in candidates} - {RANKING}
    ranked: list[Candidate] = []
    if "discriminant" in priors:
        # Alone, the whitened prior is the discriminant one.
        priors = (priors - {"whitened"}) | {"lda"}
        ranked = [(RANKING, 1.0, one) for one in RANKING_STRENGTHS if scoring != "accuracy"]
    alone = [(name, 1.0, ALONE) for name in PRIORS if name in priors]
    return list(dict.fromkeys([EUCLIDEAN, *alone, *candidates, *ranked]))


def beside(one: Candidate) -> list[Candidate]:
    """List the candidates of ten times and of a tenth of the strength; none beside a prior alone."""
    name, scale, strength = one
    near = [float(f"{strength * factor:.6g}") for factor in (10.0, 0.1)] if strength < ALONE else []
    return [(name, scale, other) for other in near if LEAST_STRENGTH <= other <= MOST_STRENGTH]


def stages(table: Table, cv: int, max_rows: int, seed: int) -> Iterator[list[Split]]:
    """Deal the rows of each stage: of a sample, of larger ones, and of the table."""
    points, labels = table.points, table.labels
    n, rng = len(labels), np.random.default_rng(seed)

    def splits(parts: list[tuple[Rows, Rows]]) -> list[Split]:
        made = []
        for learn, rest in parts:
            others = [learn if other is rest else np.setdiff1d(learn, other) for _, other in parts]
            # Held-out rows of a single fold are no neighbours of each other: its halves have the same corpus.
            corpora = [learn, *(others if len(parts) > 1 else [learn, learn])]
            scored = rest if table.weights is None else rest[table.weights[rest] > 0.0]
            if not scored.size:
                raise InputError("a fold has no row of positive sample_weight")
            # At random, as only the first are ranked.
            made.append(Split(table, learn, rng.permutation(scored)[:MOST_SCORED], corpora))
        return made

    def folds(rows: Rows) -> list[tuple[Rows, Rows]]:
        largest = int(np.unique(labels[rows][distinct_rows(points[rows])[0]], return_counts=True)[1].max())
        parts = dealt(points[rows], labels[rows], min(cv, largest), 1, seed)
        return [(rows[learn], rows[rest]) for learn, rest in parts]

    whole = folds(np.arange(n))
    if n > max_rows:
        whole = whole[: max(1, -(-len(whole) * ENOUGH_ROWS // n))]
        held = np.unique(np.concatenate([rest for _, rest in whole]))
        free = np.setdiff1d(np.arange(n), held) if len(held) + max_rows <= n else np.arange(n)
        yield splits(folds(free[stratified_sample(labels[free], max_rows, seed)])[:2])
        size = GROWTH * max_rows
        while 2 * size <= len(whole[0][0]) and size + max_rows <= len(free):
            learn = free[stratified_sample(labels[free], size, seed)]
            yield splits([(learn, np.setdiff1d(free, learn))])
            size *= GROWTH
    yield splits(whole)
