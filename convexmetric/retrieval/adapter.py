r"""A linear map for the vectors of an encoder, learned from judged queries, and kept only if held-out ones gain by it.

.. math:: \min_{W \succeq 0} \; \tfrac12 \|W - W_0\|_F^2 + \frac{C}{n} \sum_{q} \xi_q(W)

with the prior :math:`W_0 = I` (the encoder as it is) and the loss of metric learning to rank. The loss is a
*mean* over queries, and vectors are divided by the root of the mean squared distance between a query and a document, so
that the same values of C serve any number of queries and any encoder. C = 0, which is the prior, is always among them,
and where C is not given so is the map halfway to each W, :math:`I + s (W - I)` with s = 1/2: of a map that overfits,
half is often the better one, and it costs no solve.

Two more things may be chosen. The *loss* is that of a ranking measure; or softmax, the cross-entropy of the relevant
documents among all of them (:class:`~convexmetric.risks.SoftmaxRisk`) times its temperature :math:`\tau`, so that it
is in units of distances as the others are; or one of two that take no solver and have no bounds, ridge and InfoNCE
(``maps.py``), which are also reported beside the choice. And the *side*:

=========  =============================================  ==============================  ==============================
side       W                                              documents are ranked by         what is mapped
=========  =============================================  ==============================  ==============================
``both``   :math:`W \succeq 0`, a metric                  :math:`(q - x)^\top W (q - x)`  queries and documents, by
                                                                                          :math:`W^{1/2}`
``query``  :math:`W \in \mathbb{R}^{d \times d}`          :math:`2 q^\top W x`            queries alone, by
                                                                                          :math:`W^\top`: an index of
                                                                                          inner products stays as it is
=========  =============================================  ==============================  ==============================

The factor of two is that of the Euclidean distance, so that C and temperatures mean the same on both sides. With the
query side alone the prior ranks by inner products, otherwise by Euclidean distances; of documents of length one the two
rankings are the same.

Queries are assigned to J folds. The deciding scores are independent of the choice of C:

=====================  =================================================================================================
learned without        what for
=====================  =================================================================================================
two folds i and j      every C is scored on the queries of i and of j. The choice for fold j uses the scores of the
                       other folds, by metrics learned without fold j too: J(J - 1)/2 paths over C serve all J choices
fold j                 the metric with the C chosen for j ranks for the queries of j: the score *after*
no fold                what is returned, with the C that is best on all folds
=====================  =================================================================================================

Candidates are compared by the mean of two scores of every query: the measure asked for, and AP. A measure that looks
at ten places has much noise, and AP has less. So every query has a score before (by the prior) and after, by a metric
whose learning and choice did not use its judgements. The map is kept if the mean of the differences :math:`d_q` is
positive: what is expected of other queries is then a gain. Whether chance may have done it is another question, which
a paired t-test over queries answers,

.. math:: t = \bar d \Big/ \sqrt{\tfrac{1}{n} \cdot \tfrac{1}{n - 1} \sum_q (d_q - \bar d)^2},

two-sided, with n - 1 degrees of freedom. Where a level is given, the p-value must be below it as well. The test treats
the J learned metrics as fixed: it generalises to other queries to the same corpus, not to other training sets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import product
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from convexmetric import arguments
from convexmetric.arrays import Array
from convexmetric.comparisons import Rankings, Relevance
from convexmetric.comparisons.points import Checked, as_points, check_width
from convexmetric.cones import AllMatrices, PSDCone
from convexmetric.deadline import Clock
from convexmetric.errors import InputError
from convexmetric.estimators.base import parameters
from convexmetric.estimators.scikit_learn import BaseEstimator, TransformerMixin
from convexmetric.measures import MEASURES, MeasureAtK, measure_named
from convexmetric.papers import RankingProblem
from convexmetric.problem import MetricProblem
from convexmetric.regularizers import SquaredDistance
from convexmetric.retrieval.judgements import Qrels, identifiers_of, judged_relevance
from convexmetric.retrieval.maps import infonce_map, ridge_map
from convexmetric.retrieval.runs import kept, rank_corpus, scored
from convexmetric.risks import RankingRisk, SoftmaxRisk
from convexmetric.selection import HeldOutQueries, PairedScores, Validation
from convexmetric.selection.folds import NestedFolds, Rows, dealt_evenly
from convexmetric.selection.records import LARGEST_GAP
from convexmetric.solution import Solution
from convexmetric.solvers import solve

#: Values of C tried by default, from metrics close to the prior to metrics almost independent of it.
USUAL_C = (10.0, 100.0, 1e3, 1e4)
#: The same for softmax on both sides, and for maps of queries alone, which overfit sooner.
SOFTMAX_C, QUERY_C = (30.0, 300.0, 3e3), (10.0, 100.0, 1e3)
#: Temperatures of softmax tried by default, in units of the mean squared distance between a query and a document.
TEMPERATURES = (0.05, 0.1)
#: What is mapped: queries and documents, or queries alone.
SIDES = ("both", "query")
#: Shares s of the way from the identity to a learned map, I + s (W - I), that are tried with the usual weights.
SHARES = (0.5, 1.0)
#: Measures that are reported in addition to the deciding one.
REPORTED = ("nDCG@10", "AP", "RR@10", "R@100")
#: Documents of every query that are scored; in a larger corpus, measures without a cutoff are named with this one.
DEPTH = 1000
#: Share of a time limit for the folds; the last solve has the rest.
FOLDS_SHARE = 0.8
#: Names of measures in reports, and of their exact losses.
EXACT = {"ndcg": "ndcg-log2", "ap": "map", "map": "map", "rr": "mrr", "mrr": "mrr", "p": "precision", "auc": "auc"}
WRITTEN = {"ndcg": "nDCG", "ap": "AP", "map": "AP", "rr": "RR", "mrr": "RR", "p": "P"}

#: Losses that take no solver, and the values of C tried for them: weights, and the number of steps.
QUICK: dict[str, Callable[..., Array]] = {"ridge": ridge_map, "InfoNCE": infonce_map}
QUICK_C = {"ridge": (3.0, 10.0, 30.0, 100.0, 300.0, 1e3, 3e3), "InfoNCE": (100.0,)}
#: What a short name stands for, without regard to case.
SHORT = {loss.lower(): [loss] for loss in QUICK} | {"softmax": [f"softmax@{tau:g}" for tau in TEMPERATURES]}
#: Losses tried by default besides these and the exact one.
USUAL_LOSSES = ("softmax@0.1",)
#: Parameters that a candidate sets, and what joins the names of two measures whose mean decides.
NAMES, BOTH = ("loss", "side", "C", "share"), " and "
#: Said of a map whose gain is not significant.
DOUBT = " Chance alone could gain as much; level=0.05 (--level) asks for more."
#: A loss, a side, C, and the share of the way from the identity.
Candidate = tuple[str, str, float, float]


@parameters
class RetrievalAdapter(TransformerMixin, BaseEstimator):
    """A linear map of documents' and queries' vectors that ranks better, or the identity if none does.

    Parameters
    ----------
    measure : str
        The measure to improve: the mean of it and AP decides. ``"nDCG@10"``, ``"AP"``, ``"RR"``, ``"RR@10"``, ``"P@5"``
        or ``"AUC"``, which decides by AP. Of a corpus of more than 1,000 documents the first 1,000 of every query are
        scored, and AP is reported as AP@1000; a larger cutoff is used if named, as in ``"AP@5000"``.
    loss : str or sequence of str, optional
        The loss to learn: the exact loss of a measure, by its name; ``"softmax"``, with two temperatures to try, 0.05
        and 0.1 in units of the mean squared distance between a query and a document, of which ``"softmax@0.1"`` fixes
        one; ``"ridge"`` or ``"InfoNCE"``. Of several losses the best is chosen together with C. By default ridge,
        InfoNCE, ``"softmax@0.1"``, and AP, which looks at the whole list and did better for nDCG@10 than its own loss
        (``examples/retrieval_study``), or AUC for ``measure="AUC"``. With a C of your own it is AP, or AUC, alone.
    side : str or sequence of str, optional
        ``"both"``, a metric, whose root maps queries and documents; or ``"query"``, a matrix of similarities, which
        maps queries and leaves documents alone: their vectors should be of length one if the encoder is meant for
        cosines. Of several the best is chosen together with C. By default ``"query"`` for ridge and InfoNCE, which have
        no other, and ``"both"`` for all others.
    C : float or sequence of float, optional
        Weight of the mean loss of a query against the distance to the prior; of InfoNCE the number of steps. Of
        several, and 0, the best is chosen on held-out queries; a single one is used as it is. By default several are
        tried, with the map of each and the one halfway to it.
    encoder : object, optional
        Anything with ``encode(texts)``, such as a model of sentence-transformers: documents and queries may then be
        lists of texts. ``encode_query`` and ``encode_document`` are used where it has them.
    cv : int
        Folds of queries; at least 3 if there is a choice.
    level : float, optional
        The map is kept only if the p-value of its gain is below it. By default any gain of the mean counts.
    unjudged, relevant_from, mined
        As for :meth:`RankingProblem.from_qrels <convexmetric.RankingProblem.from_qrels>`, with one degree.
    tol : float
        Certified relative gap of every solve.
    max_seconds : float, optional
        Time limit of the whole fit, most of it for the folds; solves that it ends have a larger gap, which is reported.
    progress : bool
        Show a progress bar on standard error.
    random_state : int
        Seed of the folds.

    Attributes
    ----------
    components_ : (d, d) array
        The map, the symmetric root of the metric, or W^T, which maps queries alone; the identity where the adapter is
        not kept.
    side_ : str
        What ``components_`` maps: ``"both"`` or ``"query"``.
    kept_ : bool
        Whether held-out queries gain by the map, significantly if there is a level.
    held_out_ : HeldOutQueries
        Scores of every query before and after, and their test; the first is what decides, the mean of the measure
        and AP.
    path_ : Validation
        Candidates and the one chosen for all queries, each scored by a metric learned without its fold; the
        first candidate is the prior. A candidate is (loss, side, C, share).
    result_ : str
        What ``components_`` is: ``"the learned map"`` or ``"the identity"``.
    solution_ : Solution or None
        The certified metric that was learned from all queries, on vectors divided by ``scale_`` (queries twice that,
        where they alone are mapped): if the adapter is not kept, the rejected one; if the share is 1/2, the one that
        the map is halfway to. None if the prior itself was chosen, or a loss that takes no solver.
    scale_ : float
        Root of the mean squared distance between a query and a document.

    Examples
    --------
    Vectors with four informative features and four of noise:

    >>> import numpy as np
    >>> import convexmetric as cm
    >>> rng = np.random.default_rng(0)
    >>> topics, of_document, of_query = 2.0 * rng.normal(size=(8, 4)), np.arange(80) % 8, np.arange(32) % 8
    >>> noise = lambda n: np.hstack([rng.normal(size=(n, 4)), 4.0 * rng.normal(size=(n, 4))])
    >>> vectors = lambda of: np.hstack([topics[of], np.zeros((len(of), 4))]) + noise(len(of))
    >>> qrels = cm.retrieval.Qrels.from_matrix((of_query[:, None] == of_document).astype(int))
    >>> adapter = cm.RetrievalAdapter("AP", C=[1, 10], cv=3).fit(vectors(of_document), vectors(of_query), qrels)
    >>> adapter.kept_, adapter.solution_.gap <= 1e-2
    (True, True)
    """

    measure: str = field(default="nDCG@10", kw_only=False)
    loss: str | Sequence[str] | None = None
    side: str | Sequence[str] | None = None
    C: float | Sequence[float] | None = None
    encoder: Any = None
    cv: int = 5
    level: float | None = None
    unjudged: str = "irrelevant"
    relevant_from: int = 1
    mined: int = 100
    tol: float = 1e-2
    max_seconds: float | None = None
    progress: bool = False
    random_state: int = 0

    def fit(
        self,
        corpus: Any,
        queries: Any,
        qrels: Any,
        *,
        corpus_ids: Iterable[Any] | None = None,
        query_ids: Iterable[Any] | None = None,
    ) -> Self:
        """Choose, test, and learn from all queries.

        Queries without a relevant or without an irrelevant document are left out, with a warning; queries that are
        documents are left out of their own lists, also with a warning (:meth:`RankingProblem.from_qrels
        <convexmetric.RankingProblem.from_qrels>`).

        Parameters
        ----------
        corpus, queries : (n, d) and (n_q, d) arrays, or lists of str
            Vectors of documents and queries, normalised if the encoder is meant for cosines; or texts, which the
            ``encoder`` makes into vectors.
        qrels, corpus_ids, query_ids
            As for :meth:`RankingProblem.from_qrels <convexmetric.RankingProblem.from_qrels>`.

        Raises
        ------
        InputError
            If an argument is malformed, a judged identifier is not among those given, or there are fewer queries than
            folds.
        KeyboardInterrupt
            At Ctrl-C. In the last solve the estimator is fitted all the same, with the best metric so far.
        """
        self._check()
        clock = Clock(self.max_seconds)
        candidates = self._candidates()
        points, asked = self._vectors(corpus, "corpus"), self._vectors(queries, "queries")
        task = self._task(points, asked, qrels, corpus_ids, query_ids, candidates)
        n, d = len(task.queries), task.corpus.shape[1]
        least = 2 if len(candidates) == 1 else 3
        if n < self.cv or self.cv < least:
            raise InputError(f"cv must be from {least} to {n}, the number of queries with judgements, got {self.cv}")
        # Folds of queries are not stratified.
        fold = dealt_evenly(np.zeros(n), self.cv, self.random_state)
        folds = _Folds(task, candidates, fold, self.tol, clock).scored(self.progress, "held-out queries")
        self.scale_, self.n_features_in_ = task.scale, d
        scores = {task.reported[0]: folds.alone[:, 0].mean(axis=1, keepdims=True)}
        tried = NAMES, tuple(folds.candidates), scores, folds.gaps[:, None], folds.best(), n, n
        self.path_ = Validation(*tried, clock.spent, "queries", "the prior")
        # Every query is scored once, so that no correction for shared rows is needed: the ratio is 0.
        found = zip(task.reported, *folds.chosen(), strict=True)
        paired = {name: PairedScores(before, after, 0.0) for name, before, after in found}
        choices = tuple(folds.candidates[at] for at in folds.choices())
        self.held_out_ = HeldOutQueries(task.queries, paired, fold, choices, self.level, folds.beside())
        self.kept_ = self.path_.index > 0 and self.held_out_.helps
        loss, side, C, share = self.path_.best
        self.solution_: Solution | None = None
        self.result_ = "the learned map" if self.kept_ else "the identity"
        self.side_ = side if self.kept_ else task.prior_side
        self.components_ = np.eye(d)
        if C > 0.0:
            start = folds.solutions.get(self.path_.index)
            how: Any = {"tol": self.tol, "start": start, "max_seconds": clock.left()}
            learned, self.solution_ = task.learned(loss, side, C, None, **how)
            M = shrunk(learned, share)
            if self.kept_:
                self.components_ = M.T if side == "query" else _symmetric_root(M)
        if self.solution_ is not None:
            self.solution_.pass_on_interrupt()
        return self

    def __getstate__(self) -> Any:
        """State for pickling, without the solution, which has the vectors."""
        return {name: value for name, value in super().__getstate__().items() if name != "solution_"}

    def _vectors(self, given: Any, name: str) -> Any:
        """Vectors of texts by the encoder; vectors as they are."""
        # Texts may also be an array or a Series of pandas.
        texts = given.tolist() if getattr(given, "ndim", 0) == 1 and hasattr(given, "tolist") else given
        if not isinstance(texts, list | tuple) or not texts or not isinstance(texts[0], str):
            return given
        # Encoders may tell queries from documents.
        kind = "encode_query" if name == "queries" else "encode_document"
        encode = getattr(self.encoder, kind, getattr(self.encoder, "encode", None))
        if encode is None or isinstance(self.encoder, str):
            raise InputError(f"{name} are texts, for which encoder must have encode(texts), got {self.encoder!r}")
        return np.asarray(encode(list(texts)), dtype=np.float64)

    def transform(self, X: Any) -> Array:
        """``(n, d)`` vectors of documents as an index stores them; unchanged if queries alone are mapped.

        With a map of both sides, queries may be passed as well: the Euclidean distance between all images is the
        learned one.

        Raises
        ------
        InputError
            If they have another number of features.
        """
        points = self._points(X, "X")
        return points if self.side_ == "query" else np.asarray(points @ self.components_.T)

    def transform_queries(self, queries: Any) -> Array:
        """``(n_q, d)`` vectors with which to search the index for the nearest documents by Euclidean distance.

        If queries alone are mapped, search by the largest inner product instead.

        Raises
        ------
        InputError
            If they have another number of features.
        """
        return np.asarray(self._points(queries, "queries") @ self.components_.T)

    def _points(self, X: Any, name: str) -> Array:
        check_is_fitted(self)
        points = as_points(self._vectors(X, name), name)
        check_width(points, self.n_features_in_, f"{name} has", "the adapter was fitted with")
        return np.asarray(points)

    @property
    def verdict(self) -> str:
        """State in a sentence whether the map was kept, and why."""
        check_is_fitted(self)
        held = self.held_out_
        each = [_changed(name, held.scores[name]) for name in held.measure.split(BOTH)]
        tested = f"{', '.join(each)} on {len(held.queries)} held-out queries, paired t-test{'s' * (len(each) > 1)}"
        if self.kept_:
            doubt = held.deciding.verdict != "helps" and held.level is None
            return f"The adapter is kept: {tested}.{DOUBT * doubt}"
        returned = f"and {self.result_} is returned: {tested}"
        if self.path_.index == 0:
            return f"No adapter did better than the prior on held-out queries, {returned}.{self._unsolved}"
        gain = f"{held.measure} in the mean {held.deciding.difference:+.4f}, p = {held.deciding.p_value:.2g}"
        why = "which is no gain."
        if held.level is not None:
            why = f"where level = {held.level:g} (--level) asks for a gain with p < {held.level:g}. {held.power}"
        return f"The adapter is not kept, {returned}; {gain}, {why}{self._unsolved}"

    @property
    def on_bounds(self) -> str:
        """What the bounds of ``solution_`` are about, if not the map itself; why there are none, if there are none."""
        loss, _, _, share = self.path_.best
        if not self.kept_:
            return "no map was kept, and there is nothing to bound"
        if self.solution_ is None:
            return f"the map is of {loss}, which has no bounds"
        return "" if share == 1.0 else f"the bounds are of share = 1; the map is {share:g} of the way there from I"

    @property
    def _unsolved(self) -> str:
        """Sentence on the candidates that time was too short for; empty where there are none."""
        unsolved = int((~self.path_.solved).sum())
        short = f" Not enough time: {unsolved} of {len(self.path_.gaps) - 1} choices have maps with a gap above "
        return f"{short}{LARGEST_GAP:g}; raise max_seconds (--max-seconds)." if unsolved else ""

    def _check(self) -> None:
        arguments.check_count(self.cv, "cv")
        if self.level is not None:
            arguments.check_share(self.level, "level")
        arguments.check_share(self.tol, "tol")
        arguments.check_seconds(self.max_seconds, "max_seconds")
        arguments.check_integer(self.relevant_from, -np.inf, np.inf, "relevant_from must be one degree")

    def _candidates(self) -> list[Candidate]:
        """Candidates to try, with C ascending for each loss and side."""
        exact = "AUC" if exact_measure(self.measure)[0] == "auc" else "AP"
        # Weights of one's own are of one loss.
        usual = exact if self.C is not None else (*QUICK, exact, *USUAL_LOSSES)
        given = _several("loss", usual if self.loss is None else self.loss)
        losses = [loss for name in given for loss in losses_of(name)]
        sides = _several("side", SIDES if self.side is None else self.side)
        weights = None if self.C is None else sorted({arguments.checked_weight(C, "C") for C in _several("C", self.C)})
        for side in sides:
            arguments.check_one_of(side, SIDES, "side")
        found = [
            (loss, side, C, share)
            for loss, side in product(dict.fromkeys(losses), dict.fromkeys(sides))
            if side in sides_of(loss) and (self.side is not None or side == sides_of(loss)[0])
            for C in weights or usual_weights(loss, side)
            for share in (SHARES if weights is None else SHARES[-1:])
        ]
        if not found:
            raise InputError(f"loss {losses[0]!r} maps queries alone; take side='query', or leave side out")
        return found

    def _task(
        self, corpus: Any, queries: Any, qrels: Any, corpus_ids: Any, query_ids: Any, candidates: list[Candidate]
    ) -> _Task:
        """Prepare what all folds share: checked vectors and judgements, the scale, and rankings for each side."""
        wanted = dict.fromkeys([reported_measure(self.measure), *REPORTED])
        points, asked, table = as_points(corpus, "corpus"), as_points(queries, "queries"), Qrels.of(qrels)
        check_width(asked, points.shape[1], "queries have", "corpus has")
        depth = max(DEPTH, *(int(name.partition("@")[2] or 0) for name in wanted))
        cut = "" if len(points) <= depth else f"@{depth}"
        measures = tuple(dict.fromkeys(name if "@" in name else f"{name}{cut}" for name in wanted))
        documents = identifiers_of(corpus_ids, len(points), "corpus_ids")
        names = identifiers_of(query_ids, len(asked), "query_ids")
        given = None if corpus_ids is None else documents, None if query_ids is None else names
        judged = judged_relevance(
            points, asked, table, *given, self.unjudged, self.relevant_from, self.mined, skip_incomplete=True
        )
        asked, names = asked[judged.rows], [names[row] for row in judged.rows]
        table = table.subset(names)
        scale = _scale(points, asked)
        # A copy of the vectors in double precision.
        points, asked = points / scale, asked / scale
        problems: dict[str, RankingProblem] = {}
        rankings: dict[str, Rankings] = {}
        checked: Any = Checked(points), Checked(asked)
        for loss, side in dict.fromkeys(candidate[:2] for candidate in candidates if candidate[0] not in QUICK):
            if side == "both" and temperature_of(loss) is None:
                name, k = exact_measure(loss)
                options: Any = {"measure": name, "k": k, "penalty": "squared-frobenius", "prior": "identity"}
                problems[loss] = RankingProblem(checked[0], judged.relevance, queries=checked[1], **options)
                problems[loss].judged = judged.words
            elif side not in rankings:
                d = points.shape[1]
                # Twice, as in ||q - x||^2 = ... - 2 q^T x: C and temperatures then mean the same on both sides.
                of = (asked, PSDCone(d)) if side == "both" else (2.0 * asked, AllMatrices(d))
                rankings[side] = Rankings(points, of[0], judged.relevance, of[1])
        prior = "both" if any(candidate[1] == "both" for candidate in candidates) else "query"
        lists = documents, tuple(names), judged.itself, table
        deciding = tuple(dict.fromkeys([measures[0], f"AP{cut}"]))
        return _Task(
            points, asked, *lists, scale, measures, deciding, depth, prior, judged.relevance, problems, rankings
        )


@dataclass(frozen=True)
class _Task:
    """Vectors divided by their scale, judgements, and problems of all queries or the rankings that state them."""

    corpus: Array
    asked: Array
    documents: list[str]
    queries: tuple[str, ...]
    #: Row of the corpus that is the query itself, -1 for none.
    itself: Rows
    qrels: Qrels
    scale: float
    measures: tuple[str, ...]
    #: The measure asked for, and AP, which looks at the whole list and so has less noise: their mean decides.
    deciding: tuple[str, ...]
    depth: int
    prior_side: str
    relevance: Relevance
    #: Rankings for both sides, by the measures whose loss is learned.
    problems: dict[str, RankingProblem]
    rankings: dict[str, Rankings]

    def problem(self, loss: str, side: str, C: float, rows: Rows | None = None) -> MetricProblem:
        """State a candidate's problem on given queries, by default on all."""
        if side == "both" and loss in self.problems:
            problem = self.problems[loss]
            return (problem if rows is None else problem.with_queries(rows)).with_C(C)
        rankings, tau = self.rankings[side], temperature_of(loss)
        rankings = rankings if rows is None else rankings.subset(rows)
        risk: SoftmaxRisk | RankingRisk
        if tau is None:
            risk = RankingRisk(rankings, measure_named(*exact_measure(loss)), C)
        else:
            # Multiplied by the temperature, the loss is in units of distances, and one C suits all temperatures.
            risk = SoftmaxRisk(rankings, C * tau / len(rankings), tau)
        return MetricProblem(risk, SquaredDistance(1.0, rankings.cone.identity()))

    def learned(self, loss: str, side: str, C: float, rows: Rows | None, **how: Any) -> tuple[Array, Solution | None]:
        """Learn from given queries, by default from all: the matrix, and the solution where a problem was solved."""
        if loss in QUICK:
            chosen = np.arange(len(self.queries)) if rows is None else rows
            return QUICK[loss](self.asked[chosen], self.corpus, self.relevant[chosen], C), None
        solution = solve(self.problem(loss, side, C, rows), **how)
        return solution.certificate.M, solution

    @property
    def reported(self) -> tuple[str, ...]:
        """What queries are scored by: the mean of the deciding measures, and each measure."""
        return tuple(dict.fromkeys([BOTH.join(self.deciding), *self.measures]))

    @cached_property
    def relevant(self) -> sp.csr_array:
        """Which documents are relevant, 0/1, queries by documents."""
        lists, first = self.relevance, self.relevance.relevant_start
        starts = np.append(first, len(lists.relevant))
        return sp.csr_array((np.ones(len(lists.relevant)), lists.relevant, starts), (len(first), len(self.corpus)))

    def scores(self, M: Array, side: str, rows: Rows) -> Array:
        """Score given queries under a metric, or a matrix of similarities: ``(measures, rows)``."""
        names = [self.queries[row] for row in rows]
        # One more, as queries are left out of their own lists.
        how: Any = {"k": self.depth + 1, "similarity": side == "query"}
        run = rank_corpus(M, self.corpus, self.asked[rows], corpus_ids=self.documents, query_ids=names, **how)
        run = kept(run, run.document != self.itself[rows][run.query])
        found = scored(run, self.qrels.subset(names), self.measures)
        place = {query: at for at, query in enumerate(found.queries)}
        order = [place[name] for name in names]
        each = {measure: values[order] for measure, values in found.scores.items()}
        both = np.mean([each[measure] for measure in self.deciding], axis=0)
        return np.array([each.get(name, both) for name in self.reported])


class _Folds(NestedFolds):
    """Scores of every loss, side and weight on held-out queries; the prior is the first candidate."""

    def __init__(self, task: _Task, candidates: list[Candidate], fold: Rows, tol: float, clock: Clock) -> None:
        before = task.scores(np.eye(task.corpus.shape[1]), task.prior_side, np.arange(len(fold)))
        # The prior can be chosen as well, unless a single candidate was given.
        super().__init__(fold, before, [("", task.prior_side, 0.0, 0.0), *candidates], len(candidates) > 1)
        self.task, self.tol, self.clock = task, tol, clock
        self.solutions: dict[int, Solution] = {}

    def learned(self, out: tuple[int, ...]) -> Iterator[tuple[int, float, Callable[[Rows], Array]]]:
        """Learn for each loss and side along ascending C, from the last solution; yields as in the base class."""
        kept, found, last = self.without(out), dict[tuple[Any, ...], Any](), dict[tuple[str, str], Solution | None]()
        for at, (loss, side, C, share) in list(enumerate(self.candidates))[1:]:
            if (loss, side, C) not in found:
                limit = self.clock.left(FOLDS_SHARE, self.solves - self.done)
                how: Any = {"tol": self.tol, "start": last.get((loss, side)), "max_seconds": limit}
                found = {(loss, side, C): self.task.learned(loss, side, C, kept, **how)}
            M, solution = found[loss, side, C]
            if solution is not None:
                solution.pass_on_interrupt()
                last[loss, side] = self.solutions[at] = solution
            yield at, 0.0 if solution is None else solution.gap, partial(self.task.scores, shrunk(M, share), side)

    def beside(self) -> dict[str, dict[str, Array]]:
        """Scores of every query by each of the quick losses alone, its weight chosen without the query's fold."""
        found, losses = {}, np.array([candidate[0] for candidate in self.candidates])
        for loss in [quick for quick in QUICK if self.choice and quick in losses]:
            found[loss] = dict(zip(self.task.reported, self.chosen(losses == loss)[1], strict=True))
        return found


def losses_of(name: str) -> list[str]:
    """Losses by a name: both temperatures of ``"softmax"``, otherwise one.

    Raises
    ------
    InputError
        If there is no such loss.
    """
    short = name.lower() if isinstance(name, str) else ""
    if short not in SHORT:
        temperature_of(name)
    return SHORT.get(short, [name])


def sides_of(loss: str) -> tuple[str, ...]:
    """Sides that a loss can map, the usual one first."""
    return SIDES[1:] if loss in QUICK else SIDES


def usual_weights(loss: str, side: str) -> tuple[float, ...]:
    """Values of C to try for a loss and a side."""
    return QUICK_C.get(loss) or (QUERY_C if side == "query" else SOFTMAX_C if temperature_of(loss) else USUAL_C)


def shrunk(M: Array, share: float) -> Array:
    """The matrix a share of the way from the identity to M."""
    return M if share == 1.0 else (1.0 - share) * np.eye(len(M)) + share * M


def exact_measure(name: str, role: str = "measure") -> tuple[str, int | None]:
    """Parse the name of a reported measure: name of its exact loss, and its k; names of losses are accepted as well.

    The ``role`` is the argument that an error names: ``"measure"``, or ``"loss"``, which may be another.

    Raises
    ------
    InputError
        If the measure has no exact loss.

    Examples
    --------
    >>> from convexmetric.retrieval.adapter import exact_measure
    >>> exact_measure("nDCG@10"), exact_measure("AP")
    (('ndcg-log2', 10), ('map', None))
    """
    word, mark, at = name.partition("@") if isinstance(name, str) else ("", "", "")
    loss = (dict(zip(MEASURES, MEASURES, strict=True)) | EXACT).get(word.lower())
    if loss is None or (mark and not (at.isdecimal() and int(at) > 0)):
        usual = ("nDCG@10", "AP", "RR", "P@10", "AUC", *(["softmax", *QUICK] if role == "loss" else []))
        raise InputError(f"{arguments.not_one_of(role, usual, name)}; any k will do")
    return loss, int(at or 10) if issubclass(MEASURES[loss], MeasureAtK) else None


def temperature_of(loss: str) -> float | None:
    """Parse the name of a loss: the temperature of softmax, as in ``"softmax@0.1"``; None for the loss of a measure.

    Raises
    ------
    InputError
        If it is neither, or its temperature is not a positive number.
    """
    word, _, at = loss.partition("@") if isinstance(loss, str) else ("", "", "")
    if word.lower() != "softmax":
        exact_measure(loss, "loss")
        return None
    try:
        tau = float(at)
    except ValueError:
        tau = np.nan
    if not 0.0 < tau < np.inf:
        raise InputError(f"loss {loss!r} needs a positive temperature, such as softmax@0.1; 'softmax' chooses one")
    return tau


def reported_measure(name: str) -> str:
    """Name under which a measure is reported, with its k; AP for the area under the curve, which is not reported.

    Raises
    ------
    InputError
        If it is not reported, or lacks its k.
    """
    loss, _ = exact_measure(name)
    word, mark, at = name.partition("@")
    if loss == "auc":
        return "AP"
    written = WRITTEN.get(word.lower())
    if written is None:
        raise InputError(f"measure {name!r} is no measure of reports: name what is to decide, and loss={name!r}")
    if written in ("P", "nDCG") and not mark:
        raise InputError(f"measure {name!r} needs a k, such as {written}@10")
    return f"{written}{mark}{at}"


def _changed(name: str, scores: PairedScores) -> str:
    """A measure's means before and after, and the test of their difference, as text."""
    means = f"{name} {scores.before.mean():.4f} -> {scores.after.mean():.4f}"
    return f"{means} ({scores.difference:+.4f}, p = {scores.p_value:.2g})"


def _scale(points: Array, asked: Array) -> float:
    """Root of the mean of ||q - x||^2 over all queries and documents."""
    cone = PSDCone(points.shape[1])
    squared = sum(float(cone.quadratic_forms(some, cone.identity()).mean()) for some in (points, asked))
    squared -= 2.0 * float(points.mean(axis=0) @ asked.mean(axis=0))
    if not squared > 0.0:
        raise InputError("all vectors are the same, so that there is nothing to rank by")
    return float(np.sqrt(squared))


def _several(name: str, given: Any) -> list[Any]:
    """One value or several, as a list that is not empty."""
    values = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    if not values:
        raise InputError(f"{name} is empty; give at least one")
    return values


def _symmetric_root(M: Array) -> Array:
    """The symmetric root, which is near the identity where the metric is."""
    values, vectors = np.linalg.eigh(M)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)
