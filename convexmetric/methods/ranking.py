r"""Metric learning to rank (McFee & Lanckriet, ICML 2010).

.. math::
   \min_{W \succeq 0, \; \xi \ge 0} \quad & \mathrm{tr}\, W + \frac{C}{n} \sum_{q} \xi_q \\
   \text{s.t.} \quad & \langle W, \; \delta\psi_{po}(q, y^*_q, y) \rangle_F \; \ge \; \Delta(y^*_q, y) - \xi_q
   \qquad \forall q, \; \forall y \in \mathcal{Y}

========================  ===================================================================================
X, q, n                   corpus (points in rows), a query, the number of queries
W                         the metric; distances are (q - x)^T W (q - x)
y, y*                     a ranking of the corpus for q; the perfect one
Delta(y*, y)              1 - score of y by the ranking measure (section 4)
psi_po                    partial order feature (equation 3) of phi(q, x) = -(q - x)(q - x)^T (equation 4)
delta psi_po(q, y*, y)    psi_po(q, y*) - psi_po(q, y): 2/(p n) per inverted pair of the p relevant and
                          n irrelevant items
C                         slack trade-off
========================  ===================================================================================

Eliminating each slack gives the risk ``C/n sum_q max_y Delta - <W, delta psi>``. The paper's Algorithm 1 has one
slack shared by all queries; both statements have the same optimum.
"""

from __future__ import annotations

from typing import Any, ClassVar

import cvxpy as cp
from numpy.typing import ArrayLike

from convexmetric.comparisons import Rankings, Relevance
from convexmetric.comparisons.points import as_points
from convexmetric.comparisons.relevance import as_labels
from convexmetric.cones import PSDCone
from convexmetric.errors import InputError
from convexmetric.measures import MEASURES
from convexmetric.problem import MetricProblem, checked_weight
from convexmetric.regularizers import Trace
from convexmetric.risks import RankingRisk

__all__ = ["RankingProblem"]


class RankingProblem(MetricProblem):
    """Learn a full metric that ranks the corpus well for every query.

    Parameters
    ----------
    X : (n, d) array
        Corpus, points in rows.
    relevant : sequence of int arrays, or (n_q, n) 0/1 matrix
        For every query the rows of ``X`` that are relevant.
    irrelevant : same, or None
        For every query the rows that are irrelevant; None means all that are not relevant. With the corpus as
        queries, the query itself is left out. Rows in neither list take no part.
    queries : (n_q, d) array, optional
        Query points; by default the corpus itself.
    measure : str
        Ranking measure: ``"auc"``.
    C : float
        Weight of the mean loss against the trace; positive.

    Raises
    ------
    InputError
        If an argument is malformed, or a query has no relevant or no irrelevant point.

    Notes
    -----
    Memory: a pass of the oracle holds three blocks of 64 MiB; relevance takes what its lists take, and for labels no
    more than the corpus. Time of a pass: the matrix products for all distances, and sorting the relevant ones.
    """

    letter: ClassVar[str] = "W"

    def __init__(
        self,
        X: ArrayLike,
        relevant: Any,
        irrelevant: Any = None,
        queries: ArrayLike | None = None,
        measure: str = "auc",
        C: float = 1.0,
    ) -> None:
        corpus = as_points(X)
        points = corpus if queries is None else as_points(queries, "queries")
        if isinstance(relevant, Relevance):
            if irrelevant is not None:
                raise InputError("irrelevant is already part of a Relevance; pass one or the other")
            relevance = relevant
        else:
            relevance = Relevance.from_lists(
                relevant, irrelevant, len(points), len(corpus), exclude_self=queries is None
            )
        if not isinstance(measure, str) or measure not in MEASURES:
            raise InputError(f"measure must be one of {', '.join(map(repr, MEASURES))}, got {measure!r}")
        self.C = checked_weight(C, "C")
        self.measure = MEASURES[measure]()
        rankings = Rankings(corpus, points, relevance, PSDCone(corpus.shape[1]))
        self.rankings = rankings
        self.ranking_risk = RankingRisk(rankings, self.measure, self.C)
        super().__init__(self.ranking_risk, Trace(1.0))

    @classmethod
    def from_labels(cls, X: ArrayLike, y: ArrayLike, measure: str = "auc", C: float = 1.0) -> RankingProblem:
        """Every point queries the others; relevant are those with the same label, the query itself excluded.

        Raises
        ------
        InputError
            If there is one class only, or a class with a single member.
        """
        corpus = as_points(X)
        labels = as_labels(y)
        if len(labels) != len(corpus):
            raise InputError(f"y must have one label a point: X has {len(corpus)} rows, y has {len(labels)}")
        return cls(corpus, Relevance.from_labels(labels), measure=measure, C=C)

    def to_cvxpy(self, every_ranking: bool | None = None) -> cp.Problem:
        """The statement above in CVXPY.

        Parameters
        ----------
        every_ranking : bool, optional
            True: one constraint for every ranking of every query (up to seven items a query). False: the
            measure's closed form of the worst ranking, one hinge a relevant-irrelevant pair for AUC, which has the same
            optimum. By default the first where it is possible.
        """
        W, in_cone = self.cone.variable(self.letter)
        return self._assembled(W, in_cone, self.ranking_risk.statement(W, every_ranking)).problem

    def __str__(self) -> str:
        relevance = self.rankings.relevance
        p, n = relevance.n_relevant, relevance.n_irrelevant
        return (
            f"Metric learning to rank by {self.measure.title} (McFee & Lanckriet 2010)\n"
            f"\n"
            f"  minimise    tr(W) + C/n sum_q xi_q\n"
            f"  subject to  <W, dpsi(q, y*, y)> >= Delta(y*, y) - xi_q   for every query q and ranking y\n"
            f"              W positive semidefinite, xi >= 0\n"
            f"\n"
            f"  W         {self.cone.d} x {self.cone.d}, one for all {self.cone.d} features\n"
            f"  queries   n = {len(self.rankings)}, ranking a corpus of {len(self.rankings.X)} points\n"
            f"  relevant  {_range(p)} points a query; irrelevant {_range(n)}\n"
            f"  C         {self.C:g}"
        )

    def _repr_latex_(self) -> str:
        return (
            r"$$\begin{aligned}\min_{W \succeq 0,\; \xi \ge 0}\quad &"
            r"\mathrm{tr}\,W + \frac{C}{n}\sum_{q=1}^{n}\xi_q \\"
            r"\text{s.t.}\quad & \langle W, \delta\psi_{po}(q, y^*_q, y)\rangle_F \ge \Delta(y^*_q, y) - \xi_q"
            r"\quad \forall q,\ \forall y \in \mathcal{Y}\end{aligned}$$"
            f"$$W \\in \\mathbb{{R}}^{{{self.cone.d} \\times {self.cone.d}}},\\quad n = {len(self.rankings)},\\quad "
            f"C = {self.C:g},\\quad \\Delta = 1 - \\mathrm{{{self.measure.name.upper()}}}$$"
        )


def _range(counts: Any) -> str:
    low, high = int(counts.min()), int(counts.max())
    return str(low) if low == high else f"{low} to {high}"
