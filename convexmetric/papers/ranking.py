r"""Metric learning to rank (McFee & Lanckriet, ICML 2010).

.. math::
   \min_{W \succeq 0, \; \xi \ge 0} \quad & \mathrm{tr}\, W + \frac{C}{n} \sum_{q} \xi_q \\
   \text{s.t.} \quad & \langle W, \; \delta\psi_{po}(q, y^*_q, y) \rangle_F \; \ge \; \Delta(y^*_q, y) - \xi_q
   \qquad \forall q, \; \forall y \in \mathcal{Y}

========================  ===================================================================================
X, q, n                   corpus (points in rows), a query, the number of queries
W                         the metric; distances are (q - x)^T W (q - x)
y, y*                     a ranking of the corpus for q; the perfect one
Delta(y*, y)              Score(y*) - Score(y) by the ranking measure (section 4), where Score(y*) = 1
psi_po                    partial order feature (equation 3) of phi(q, x) = -(q - x)(q - x)^T (equation 4)
delta psi_po(q, y*, y)    psi_po(q, y*) - psi_po(q, y): 2/(p n) per inverted pair of the p relevant and
                          n irrelevant items
C                         slack trade-off
========================  ===================================================================================

Eliminating each slack gives the risk ``C/n sum_q max_y Delta - <W, delta psi>``. The paper's Algorithm 1 has one
slack shared by all queries; both statements have the same optimum.

Variants: the squared norm ``1/2 ||W||_F^2``, which section 3.1 replaces by the trace; a diagonal W >= 0, one weight for
each feature, with which the problem is a linear or a quadratic program; and a kernel, the paper's future work, under
which W is an operator on the kernel's Hilbert space. It acts on the span of the differences of points, and trace and
norm are those of the operator: nothing is approximated (:mod:`convexmetric.papers.spanned`). Queries may have weights:
the mean of their slacks is then a weighted one, ``C / sum_q w_q sum_q w_q xi_q``. With a prior W_0 the norm is
``1/2 ||W - W_0||_F^2``, so that what the data do not determine stays at the prior.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from copy import copy
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from convexmetric.arguments import checked_part_weights, checked_weight
from convexmetric.arrays import Array
from convexmetric.comparisons import Rankings, Relevance
from convexmetric.comparisons.points import Checked, as_points, check_width, rows_of
from convexmetric.comparisons.relevance import as_labels
from convexmetric.cones import PSDCone
from convexmetric.doors import JUDGEMENTS
from convexmetric.errors import InputError
from convexmetric.features import Kernel, KernelSpan
from convexmetric.measures import Measure, measure_named
from convexmetric.papers.choices import cone_of, penalised, points_under
from convexmetric.papers.cvxpy_terms import check_size, given, inner, span_of
from convexmetric.papers.spanned import SpannedProblem, check_no_kernel
from convexmetric.programs.lazy import cvxpy as cp
from convexmetric.programs.lazy import program
from convexmetric.regularizers import Regularizer, towards
from convexmetric.risks import CutDual, Ranking, RankingRisk


class RankingProblem(SpannedProblem):
    """Learn a metric that ranks the corpus well for every query.

    Parameters
    ----------
    X : (n, d) array, or sparse matrix with ``diagonal``
        Corpus, points in rows. Sparse points are never made dense: distances come from products of sparse matrices.
        If it is an array of PyTorch, CuPy or JAX on an accelerator, passes are made there in double precision.
    relevant : sequence of int arrays, or (n_q, n) 0/1 matrix
        For every query the rows of ``X`` that are relevant.
    irrelevant : same, or None
        For every query the rows that are irrelevant; None means all that are not relevant. With the corpus as
        queries, the query itself is left out. Rows in neither list take no part.
    queries : (n_q, d) array, optional
        Query points; by default the corpus itself.
    measure : str
        Ranking measure: ``"auc"``, ``"precision"`` (at k), ``"map"``, ``"mrr"``, ``"ndcg"`` (at k, the paper's
        discount 1 / log2 t), ``"ndcg-log2"`` (at k, the discount in general use, 1 / log2(t + 1)), ``"knn"`` (binary
        k-nearest-neighbour), ``"err"``; or one of your own, see :func:`~convexmetric.measures.register`.
    C : float
        Weight of the mean loss against the regularizer; positive.
    k : int, optional
        Cutoff of precision, ndcg and knn; 10 by default.
    penalty : str
        ``"trace"``, the paper's, or ``"squared-frobenius"``, ``1/2 ||W||_F^2``.
    diagonal : bool
        Learn nonnegative weights of the features instead of a full matrix.
    short : str
        Loss of a query with p < k relevant points: ``"cut"`` departs from the paper and takes the first p places and
        1 - Score(y); ``"printed"`` takes the first k and the paper's Score(y*) - Score(y), which is then at most
        Score(y*) < 1.
    kernel : str, callable or (m, m) array, optional
        ``"linear"``, ``"rbf"`` (exp(-||x - x'||^2 / d)), ``"unit-rbf"``, a function of two point matrices such as those
        of ``sklearn.metrics.pairwise``, or the kernel matrix of the points: of X, followed by ``queries`` where these
        are given. The metric then acts on coordinates of the span of all differences of points (:attr:`embedding`).
    query_weights : (n_q,) array, optional
        Weights of the queries in the mean of the losses, of which only the ratios matter: a query of weight 2 counts as
        if it were there twice. Those of weight 0 are left out, and the others numbered anew.
    prior : "identity" or array, optional
        W_0 of ``1/2 ||W - W_0||_F^2``, a ``(d, d)`` metric or the weights of a diagonal one; on coordinates of the span
        under a kernel. With ``penalty="trace"`` the sum of the absolute eigenvalues of W - W_0 takes the place of
        the trace: for small problems, as conic solvers help to bound it.

    Raises
    ------
    InputError
        If an argument is malformed, a query has no relevant or no irrelevant point, or both ``diagonal`` and a
        ``kernel`` are asked for.

    Notes
    -----
    Memory: a pass of the oracle holds three blocks of 28 MiB; relevance takes the size of its lists, and for labels no
    more than the corpus. Time of a pass: the matrix products for all distances, and sorting the relevant ones.

    Examples
    --------
    >>> import convexmetric as cm
    >>> iris = cm.datasets.load("iris")
    >>> problem = cm.RankingProblem.from_labels(iris.X, iris.y, measure="map", C=10.0)
    >>> solution = cm.solve(problem)
    >>> print(f"{solution.upper_bound:.5f}, rank {solution.rank}, gap at most 1e-6: {solution.gap <= 1e-6}")
    3.26475, rank 1, gap at most 1e-6: True

    Separate queries, with lists of their relevant points; all other points are irrelevant:

    >>> problem = cm.RankingProblem(iris.X, [[0, 1, 2], [50, 51]], queries=[[5.0, 3.4, 1.5, 0.2], [6.0, 2.8, 4.3, 1.3]])
    >>> round(problem.objective(cm.solve(problem).M), 4) <= 1.0
    True
    """

    letter: ClassVar[str] = "W"
    C: float
    #: How judgements were converted to relevance, in words; None where the problem was not made by :meth:`from_qrels`.
    judged: str | None = None

    def __init__(
        self,
        X: Any,
        relevant: Any,
        irrelevant: Any = None,
        *,
        queries: Any = None,
        measure: str = "auc",
        C: float = 1.0,
        k: int | None = None,
        penalty: str = "trace",
        diagonal: bool = False,
        short: str = "cut",
        kernel: Kernel | ArrayLike | None = None,
        query_weights: ArrayLike | None = None,
        prior: ArrayLike | str | None = None,
    ) -> None:
        cone, corpus = cone_of(X, diagonal)
        points = corpus if queries is None else points_under(diagonal, queries, "queries")
        if diagonal:
            check_no_kernel(kernel)
        if kernel is not None:
            corpus, points, self.span = _spanned(corpus, points, kernel, same=queries is None)
            cone = PSDCone(corpus.shape[1])
        relevance = Relevance.from_lists(
            relevant, irrelevant, points.shape[0], corpus.shape[0], exclude_self=queries is None
        )
        rankings = Rankings(Checked(corpus, X), Checked(points), relevance, cone)
        weights = checked_part_weights(query_weights, len(rankings), "query_weights", "query")
        if weights is not None and not weights.all():
            kept = np.flatnonzero(weights)
            rankings, weights = rankings.subset(kept), weights[kept]
        measured = measure_named(measure, k, short=short)
        #: The trace or the squared norm, of the metric or of its distance to the prior.
        self.norm = penalised(penalty, 1.0, None, cone)
        self._state(rankings, measured, checked_weight(C, "C"), penalised(penalty, 1.0, prior, cone), weights)

    def _state(
        self, rankings: Rankings, measure: Measure, C: float, regularizer: Regularizer, weights: Array | None
    ) -> None:
        self.rankings, self.measure, self.C = rankings, measure, C
        #: Weights of the queries, of mean 1; None where all are 1.
        self.query_weights = None if weights is None or np.ptp(weights) == 0.0 else weights / weights.mean()
        self.ranking_risk = RankingRisk(rankings, measure, C, self.query_weights)
        super().__init__(self.ranking_risk, regularizer)

    def with_C(self, C: float) -> RankingProblem:
        """Copy the problem with another C, sharing all data."""
        other = copy(self)
        other._state(self.rankings, self.measure, checked_weight(C, "C"), self.regularizer, self.query_weights)
        return other

    def with_queries(self, queries: ArrayLike) -> RankingProblem:
        """Restrict the problem to some of its queries, given by their numbers; the corpus stays whole.

        Raises
        ------
        InputError
            If there is no query left, or no query of that number.
        """
        rows = rows_of(queries, len(self.rankings), "queries")
        if rows.size == 0:
            raise InputError("queries is empty; keep at least one")
        weights = None if self.query_weights is None else self.query_weights[rows]
        other = copy(self)
        other._state(self.rankings.subset(rows), self.measure, self.C, self.regularizer, weights)
        return other

    @classmethod
    def from_labels(
        cls,
        X: ArrayLike,
        y: ArrayLike,
        *,
        measure: str = "auc",
        C: float = 1.0,
        k: int | None = None,
        penalty: str = "trace",
        diagonal: bool = False,
        short: str = "cut",
        kernel: Kernel | ArrayLike | None = None,
        query_weights: ArrayLike | None = None,
        prior: ArrayLike | str | None = None,
    ) -> RankingProblem:
        """State the problem on labelled points: each point queries the others, and those of its label are relevant.

        Raises
        ------
        InputError
            If there is one class only, or a class with a single member.
        """
        corpus = points_under(diagonal, X)
        relevance = Relevance.from_labels(as_labels(y, corpus.shape[0]))
        how: dict[str, Any] = {"measure": measure, "k": k, "short": short, "query_weights": query_weights}
        what: dict[str, Any] = {"C": C, "penalty": penalty, "diagonal": diagonal, "kernel": kernel, "prior": prior}
        return cls(Checked(corpus, X), relevance, **how, **what)

    @classmethod
    def from_qrels(
        cls,
        corpus: Any,
        queries: Any,
        qrels: Any,
        *,
        corpus_ids: Iterable[Any] | None = None,
        query_ids: Iterable[Any] | None = None,
        unjudged: str = "irrelevant",
        relevant_from: int | Iterable[int] = 1,
        mined: int = 100,
        skip_incomplete: bool = False,
        **settings: Any,
    ) -> RankingProblem:
        """State the problem from queries, a corpus, and judgements of documents by identifier.

        Queries that are documents, the same identifier in both as in BEIR's ArguAna and Quora, are left out of their
        own lists unless judged relevant to themselves, with a warning.

        Parameters
        ----------
        corpus : (n, d) array
            Vectors of the documents; single precision and memory maps are read as double precision.
        queries : (n_q, d) array
            Vectors of the queries, all of which must be judged.
        qrels : Qrels, dict of dicts, data frame, or triples
            Judgements: query, document, degree (:func:`convexmetric.retrieval.read_qrels`).
        corpus_ids, query_ids : sequences of str or int, optional
            Identifiers of the rows; by default their numbers, from 0.
        unjudged : str
            Treatment of documents without a judgement for a query: ``"irrelevant"``, all count as irrelevant, as in
            evaluation, and none is listed; ``"ignore"``, they take no part; ``"mined"``, those nearest to the query in
            Euclidean distance count as irrelevant and the others take no part.
        relevant_from : int or sequence of int
            The degree from which a judged document is relevant; documents judged lower are irrelevant. With several,
            every query is used once for each degree at which it has documents of both kinds: the loss is the mean
            over them, by any measure, and for ``"auc"`` a sum of hinges over the pairs of unequal degree.
        mined : int
            Number of unjudged documents per query that count as irrelevant with ``"mined"``.
        skip_incomplete : bool
            Leave out queries without a relevant or without an irrelevant document, as in LETOR, with a warning.
        **settings
            As for :class:`RankingProblem`: measure, C, k, penalty and so on.

        Raises
        ------
        InputError
            If an argument is malformed, a judged identifier is not among those given, or a query is not judged, or has
            no relevant or no irrelevant document; the message names them.

        Examples
        --------
        >>> import convexmetric as cm
        >>> iris = cm.datasets.load("iris")
        >>> qrels = {"setosa?": {0: 1, 1: 1, 50: 0}, "virginica?": {101: 2, 102: 1}}
        >>> questions = [[5.0, 3.4, 1.5, 0.2], [6.5, 3.0, 5.5, 2.0]]
        >>> names = ["setosa?", "virginica?"]
        >>> problem = cm.RankingProblem.from_qrels(iris.X, questions, qrels, query_ids=names, measure="ndcg-log2")
        >>> print(str(problem).splitlines()[-3])
          judged    relevant from degree 1 on; unjudged documents are irrelevant
        """
        points, asked = as_points(corpus, "corpus", sparse=True), as_points(queries, "queries", sparse=True)
        check_width(asked, points.shape[1], "queries have", "corpus has")
        for name in ("relevant", "irrelevant"):
            if name in settings:
                raise InputError(f"{name} follows from qrels; leave it out")
        judged = JUDGEMENTS.open().judged_relevance(
            points, asked, qrels, corpus_ids, query_ids, unjudged, relevant_from, mined, skip_incomplete
        )
        if settings.get("query_weights") is not None:
            settings["query_weights"] = _weights_by_row(settings["query_weights"], asked.shape[0])[judged.rows]
        problem = cls(Checked(points), judged.relevance, queries=Checked(asked[judged.rows]), **settings)
        problem.judged = judged.words
        return problem

    def to_cvxpy(self, rankings: Sequence[Ranking] | Sequence[Sequence[Ranking]] | None = None) -> program.Program:
        """The program above in CVXPY; with ``rankings`` the master problem restricted to these.

        Parameters
        ----------
        rankings : list of Ranking, or list of lists of these, optional
            Which constraints to write out, such as :attr:`Solution.working_set <convexmetric.Solution.working_set>`.
            A list of lists is the paper's Algorithm 1: a *batch* has a ranking for every query, makes one constraint,
            and all share one slack. Default: every ranking of every query.

        Raises
        ------
        InputError
            If there are too many rankings to write them out, or a batch lacks a query.

        Examples
        --------
        >>> import convexmetric as cm
        >>> X = [[0.0, 0.0], [0.0, 2.0], [1.0, 0.0]]
        >>> problem = cm.RankingProblem(X, [[1]], irrelevant=[[2]], queries=[[0.0, 0.1]], measure="map", C=10.0)
        >>> print(problem.to_cvxpy())
        minimize   trace(W)
                   + C / n * sum(xi)
        subject to ranking 0, 0: <dpsi[0, 0], W> + xi[0] >= Delta[0, 0]
                   W >> 0
                   xi >= 0
        with       C = 10, n = 1
        """
        written, n = self._written(rankings)
        C: cp.Expression = given("C", self.C, nonneg=True)
        # Batches share one slack, of weight C.
        C = C / cp.Constant(n, name="n") if rankings is None or n > 1 else C
        W, in_cone, users = self._stated_variable()
        xi = cp.Variable(n, nonneg=True, name="xi")
        w = np.ones(len(self.rankings)) if self.query_weights is None else self.query_weights
        constraints = []
        for name, slack, batch in written:
            own = w[[y.query for y in batch]] if len(batch) > 1 else np.ones(1)
            Delta = given(f"Delta[{name}]", np.mean(own * [y.loss for y in batch]))
            dpsi = given(f"dpsi[{name}]", self.as_stated(self.ranking_risk.normal(batch, own / len(batch))))
            constraints.append((inner(dpsi, W) + xi[slack] >= Delta).set_label(f"ranking {name}"))
        omega, prior = self.norm, self.regularizer.base.prior
        if prior is not None:
            omega = towards(omega, self.as_stated(prior), PSDCone(W.shape[0]) if W.ndim == 2 else self.cone)
        # In a batch the weights multiply the rankings of the queries; otherwise their slacks.
        weighted = self.query_weights is not None and n == len(w)
        slacks = cp.Constant(w, name="w") @ xi if weighted else cp.sum(xi)
        return self._program(omega.expression(W, self.cone) + C * slacks, constraints + in_cone, W, users)

    def ranking(self, query: int, order: ArrayLike) -> Ranking:
        """Make the ranking of a query for a given order of its items, with its loss.

        Parameters
        ----------
        query : int
            Number of the query.
        order : sequence of int
            Rows of the corpus from top to bottom: all that are relevant or irrelevant to the query, each once.

        Raises
        ------
        InputError
            If there is no such query, or ``order`` is no ranking of its items.
        """
        (q,) = rows_of([query], len(self.rankings), "query")
        positives, negatives = self.rankings.relevance.of(q)
        rows = rows_of(order, self.rankings.X.shape[0], "order")
        if not np.array_equal(np.sort(rows), np.sort(np.concatenate([positives, negatives]))):
            raise InputError(
                f"order must have the {len(positives) + len(negatives)} rows that query {q} ranks, each once: "
                f"{len(positives)} relevant and {len(negatives)} irrelevant ones"
            )
        relevant = np.isin(rows, positives)
        loss = 1.0 - self.measure.score(relevant)
        return Ranking(int(q), tuple(rows.tolist()), tuple(relevant.tolist()), loss)

    def worst_ranking(self, query: int, W: ArrayLike) -> Ranking:
        """The most violated ranking of a query at a metric, by the separation oracle.

        Raises
        ------
        InputError
            If there is no such query, or ``W`` is no metric.
        """
        return self.worst_rankings(W, rows_of([query], len(self.rankings), "query"))[0]

    def worst_rankings(self, W: ArrayLike, queries: ArrayLike | None = None) -> list[Ranking]:
        """The most violated rankings of some queries, by default of all, at a metric: a batch of Algorithm 1.

        Raises
        ------
        InputError
            If ``W`` is no metric.
        """
        rows = np.arange(len(self.rankings)) if queries is None else rows_of(queries, len(self.rankings), "queries")
        return self.ranking_risk.worst(self.metric(W), rows)

    def working_set(self, dual: Any) -> list[Ranking]:
        """Extract the rankings that support a dual point: the most violated ones at its witnesses, each once.

        Raises
        ------
        InputError
            If the dual point is not made of rankings.
        """
        if not isinstance(dual, CutDual):
            raise InputError(
                f"this dual point is a {type(dual).__name__}, made of pairs and not of rankings; "
                "solve with solver='cutting-planes'"
            )
        found: dict[object, Ranking] = {}
        for witness, weights in zip(dual.witnesses, dual.weights, strict=True):
            for ranking in self.ranking_risk.worst(witness, np.flatnonzero(weights[dual.groups] > 0.0)):
                if ranking.inverted:
                    found.setdefault(ranking.key, ranking)
        return sorted(found.values(), key=lambda ranking: ranking.query)

    def _written(self, rankings: Sequence[Any] | None) -> tuple[list[tuple[str, int, list[Ranking]]], int]:
        """Name, slack and rankings of every constraint, and the number of slacks."""
        n = len(self.rankings)
        if rankings is None:
            check_size(self.ranking_risk.count(), "rankings", "state it for rankings=solution.working_set, ")
            rankings = [y for q in range(n) for y in self.ranking_risk.every_ranking(q)]
        check_size(len(rankings), "rankings")
        if len(rankings) and not isinstance(rankings[0], Ranking):
            for batch in rankings:
                if sorted(y.query for y in batch) != list(range(n)):
                    raise InputError(f"a batch has one ranking for each of the {n} queries")
            return [(str(t), 0, list(batch)) for t, batch in enumerate(rankings)], 1
        counts = Counter[int]()
        written = []
        for y in rankings:
            written.append((f"{y.query}, {counts[y.query]}", self.ranking(y.query, y.order).query, [y]))
            counts[y.query] += 1
        return written, n

    def __str__(self) -> str:
        relevance = self.rankings.relevance
        p, n = relevance.n_relevant, relevance.n_irrelevant
        diagonal, d = self.cone.diagonal, self.cone.d
        weights = self.query_weights
        weighed = "" if weights is None else f"; weights w_q from {weights.min():.3g} to {weights.max():.3g}"
        space = "features" if self.embedding is None else "coordinates of the points' span under the kernel"
        judged = "" if self.judged is None else f"  judged    {self.judged}\n"
        return (
            f"Metric learning to rank by {self.measure.title} (McFee & Lanckriet 2010)\n\n"
            f"  minimise    {self.regularizer.text('W')} + C/n sum_q {'' if weights is None else 'w_q '}xi_q\n"
            f"  subject to  <W, dpsi(q, y*, y)> >= Delta(y*, y) - xi_q   for every query q and ranking y\n"
            f"              {'W diagonal and nonnegative' if diagonal else 'W positive semidefinite'}, xi >= 0\n\n"
            f"  W         {f'{d} weights, one a feature' if diagonal else f'{d} x {d}, one for all {d} {space}'}\n"
            f"  queries   n = {len(self.rankings)}, ranking a corpus of {self.rankings.X.shape[0]} points{weighed}\n"
            f"  relevant  {span_of(p)} points a query; irrelevant {span_of(n)}\n"
            f"{judged}"
            f"  Delta     {self._loss()}\n"
            f"  C         {self.C:g}{self._prior_line('W')}"
        )

    def _loss(self) -> str:
        """Describe Delta(y*, y) in words, with the separate rule for queries of fewer than k relevant points."""
        k, short = self.measure.k, getattr(self.measure, "short", "")
        score = self.measure.name.upper() + (f"@{k}" if k else "")
        if not short or self.rankings.relevance.n_relevant.min() >= k:
            return f"1 - {score}(y)"
        if short == "printed":
            return f"{score}(y*) - {score}(y)"
        return f"1 - {self.measure.name.upper()}@min({k}, p_q)(y), of a query q with p_q relevant points"

    def latex(self) -> str:
        """The program as a formula, with its sizes."""
        diagonal = self.cone.diagonal
        cone = r"W \in \mathrm{diag}(\mathbb{R}^d_+)" if diagonal else r"W \succeq 0"
        loss, _, short = self._loss().replace("(y*)", "(y^*_q)").replace("min", r"\min").partition(", of")
        loss = re.sub(r"[A-Z][-\w]*(@\d+)?", r"\\mathrm{\g<0>}", loss)
        loss += r",\quad p_q = |\mathcal{X}^+_q|" if short else ""
        return (
            rf"$$\begin{{aligned}}\min_{{{cone},\; \xi \ge 0}}\quad &{self.regularizer.latex('W')}"
            rf" + \frac{{C}}{{n}}\sum_{{q=1}}^{{n}}{'' if self.query_weights is None else 'w_q '}\xi_q \\"
            r"\text{s.t.}\quad & \langle W, \delta\psi_{po}(q, y^*_q, y)\rangle_F \ge \Delta(y^*_q, y) - \xi_q"
            r"\quad \forall q,\ \forall y \in \mathcal{Y}\end{aligned}$$"
            f"$$W \\in \\mathbb{{R}}^{{{self.cone.d} \\times {self.cone.d}}},\\quad n = {len(self.rankings)},\\quad "
            f"C = {self.C:g},\\quad \\Delta(y^*_q, y) = {loss}$$"
        )


def _weights_by_row(weights: Any, n_queries: int) -> Array:
    """Check the weights of queries, one a row, before rows are repeated for several degrees of relevance."""
    found = np.asarray(weights)
    if found.shape != (n_queries,):
        raise InputError(f"query_weights must have one weight a query: shape ({n_queries},), got {found.shape}")
    return found


def _spanned(corpus: Array, points: Array, kernel: Any, *, same: bool) -> tuple[Array, Array, KernelSpan]:
    """Coordinates of corpus and queries, and the span of all their differences."""
    check_width(points, corpus.shape[1], "queries have", "X has")
    span = KernelSpan.of(corpus if same else np.concatenate([corpus, points]), kernel)
    found = as_points(span.coordinates)
    return (found, found, span) if same else (found[: len(corpus)], found[len(corpus) :], span)
