r"""Distance metrics from large graphs: triplets, intra-class and inter-class distances, random projection.

.. math::
   F(R) = \frac{\lambda}{2} \|R\|_F^2
        + \frac{1}{|S|} \sum_{(i,j,k) \in S} Z_+(D^{i,j}_R - D^{i,k}_R + \xi)
        + \frac{1}{|S_1|} \sum_{(i,j) \in S_1} D^{i,j}_R
        - \frac{1}{|S_2|} \sum_{(i,k) \in S_2} D^{i,k}_R, \qquad R \succeq 0

=========================  ====================================================================================
S                          triplets: i is closer to j than to k; for a graph, all with A_ij = 1 and A_ik = 0
S_1, S_2                   pairs that should be close, and pairs that should not (equations 3 and 4)
v = L x                    a fixed projection (section 3.1); D^{i,j}_R = (v_i - v_j)^T R (v_i - v_j) (equation 1)
Z_+                        hinge max(0, .), xi its margin (equation 2)
lambda                     weight of the norm (equation 5); the paper allows weights of the last two terms as well
A .. J, L                  the paper's variants (section 4.1): see VARIANTS
=========================  ====================================================================================

The two pair terms are linear in R: with weights ``intra`` and ``inter`` they are <G, R>, G = intra * mean over S_1 of
(v_i - v_j)(v_i - v_j)^T - inter * mean over S_2. Variant E has R = L^T L and lambda/2 ||L||_F^2 = lambda/2 tr R, so
that its global optimum is that of the same problem with a trace.

Triplets may have weights: the mean over S is then a weighted one.

The stochastic procedure LEARN METRIC of section 3.3 prints +1 for C_ij, C_ji and C_kk, where the definition of C above
it has -1, and sums where the objective has means.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from convexmetric.arguments import check_flag, checked_part_weights, checked_weight, closest
from convexmetric.arrays import Array
from convexmetric.comparisons import Rankings, Relevance
from convexmetric.comparisons.neighbours import as_adjacency, grouped_triplets, linked_triplets, nearest_by_label
from convexmetric.comparisons.pairs import LabelledPairs, ListedPairs, Pairs, UnlinkedPairs
from convexmetric.comparisons.points import Checked, as_points, as_rows
from convexmetric.comparisons.triplets import checked_triplets
from convexmetric.cones import Cone, NonnegativeDiagonal, PSDCone
from convexmetric.errors import InputError
from convexmetric.features import Projection, make_projection
from convexmetric.papers.choices import penalised, penalty_latex, penalty_term
from convexmetric.papers.cvxpy_terms import check_size, given, inner
from convexmetric.problem import MetricProblem
from convexmetric.programs.lazy import cvxpy as cp
from convexmetric.programs.lazy import program
from convexmetric.regularizers import Regularizer
from convexmetric.risks import PairwiseRisk

__all__ = ["VARIANTS", "TripletProblem", "Variant"]


@dataclass(frozen=True)
class _Groups:
    """Triplets grouped by i into queries: j and k, i and weight of each query, and S_1 and S_2 unless given."""

    relevance: Relevance
    anchors: np.ndarray | None
    weights: Array | None
    positives: Pairs | None = None
    negatives: Pairs | None = None


class TripletProblem(MetricProblem):
    """Learn a metric under which given triplets keep a margin, close pairs are close and others far.

    Parameters
    ----------
    X : (n, d) array or sparse matrix
        Points in rows.
    triplets : (T, 3) int array
        Rows ``(i, j, k)``: x_i is closer to x_j than to x_k. Multipliers are in the order of :attr:`triplets`: sorted
        by i, j, k.
    reg : float
        lambda, the weight of half the squared norm.
    margin : float
        xi, by how much farther x_k must be.
    intra, inter : float
        Weights of the mean distance of similar pairs, and of (minus) that of dissimilar ones; 0 leaves the term out.
    similar, dissimilar : (P, 2) int array, optional
        S_1 and S_2. Default: the different pairs (i, j), and (i, k), of the triplets.
    diagonal : bool
        Learn one weight a feature instead of a matrix.
    projection : Projection, optional
        Learn the metric on ``v = L x`` (see :func:`~convexmetric.features.make_projection`). Sparse points need this or
        ``diagonal``.
    penalty : str
        ``"squared-frobenius"``, or ``"trace"`` for lambda/2 tr R.
    weights : (T,) array, optional
        Weights of the triplets in the mean over S, of which only the ratios matter; those of weight 0 are left out.
        Not with ``intra`` or ``inter``, whose means over pairs have no weights.
    prior : "identity" or array, optional
        R_0 of ``lambda/2 ||R - R_0||_F^2``, a metric on v = L x or its weights: the metric tends to it as lambda
        grows. With a trace, the sum of the absolute eigenvalues of R - R_0 takes the place of the norm.

    Raises
    ------
    InputError
        If an argument is malformed.

    Examples
    --------
    >>> import convexmetric as cm
    >>> iris = cm.datasets.load("iris")
    >>> problem = cm.TripletProblem.from_labels(iris.X, iris.y, n_same=3, n_other=3, reg=0.1)
    >>> problem.count
    1350
    >>> solution = cm.solve(problem)
    >>> print(f"{solution.upper_bound:.5f}, gap at most 1e-6: {solution.gap <= 1e-6}")
    0.36494, gap at most 1e-6: True
    """

    letter: ClassVar[str] = "R"
    risk: PairwiseRisk

    def __init__(
        self,
        X: Any,
        triplets: ArrayLike,
        *,
        reg: float = 1.0,
        margin: float = 1.0,
        intra: float = 0.0,
        inter: float = 0.0,
        similar: ArrayLike | None = None,
        dissimilar: ArrayLike | None = None,
        diagonal: bool = False,
        projection: Projection | None = None,
        penalty: str = "squared-frobenius",
        weights: ArrayLike | None = None,
        prior: ArrayLike | str | None = None,
    ) -> None:
        points = as_points(X, sparse=True)
        n = points.shape[0]
        #: The triplets, in the order of their multipliers; None where they are not listed.
        self.triplets: np.ndarray | None = None
        if isinstance(triplets, _Groups):
            groups = triplets
        else:
            listed = checked_triplets(triplets, n)
            own = checked_part_weights(weights, len(listed), "weights", "triplet")
            if own is not None:
                listed, own = listed[own > 0.0], own[own > 0.0]
            relevance, anchors, order = grouped_triplets(listed, own)
            self.triplets = listed = listed[order]
            if own is not None:
                # All triplets of a query have the same weight: take that of its first one.
                own = own[order][relevance.irrelevant_start]
            similar = np.unique(listed[:, [0, 1]], axis=0) if similar is None else similar
            dissimilar = np.unique(listed[:, [0, 2]], axis=0) if dissimilar is None else dissimilar
            groups = _Groups(relevance, anchors, own)
        #: S_1 and S_2.
        self.similar: Any = groups.positives if similar is None else ListedPairs(similar, n, "similar")
        self.dissimilar: Any = groups.negatives if dissimilar is None else ListedPairs(dissimilar, n, "dissimilar")
        check_flag(diagonal, "diagonal")
        if projection is not None and not isinstance(projection, Projection):
            raise InputError(f"projection must be a Projection (see make_projection), got {type(projection).__name__}")
        if projection is None and sp.issparse(points) and not diagonal:
            raise InputError("X is sparse: pass diagonal=True, a projection, or X.toarray()")
        self.reg, self.margin = checked_weight(reg, "reg"), checked_weight(margin, "margin")
        self.intra, self.inter = checked_weight(intra, "intra", zero=True), checked_weight(inter, "inter", zero=True)
        own = groups.weights
        if own is not None and (self.intra or self.inter):
            raise InputError(
                "weights (sample_weight of estimators) are of triplets, and the means over pairs that intra and inter "
                "weigh have none: leave weights out, or intra and inter at 0"
            )
        self.projection, self.regularizer_name = projection, penalty
        V = points if projection is None else as_points(projection.transform(Checked(points)))
        cone: Cone = NonnegativeDiagonal(V.shape[1]) if diagonal else PSDCone(V.shape[1])
        self.rankings = rankings = Rankings(Checked(V, X), Checked(V), groups.relevance, cone, groups.anchors)
        self.count = int(rankings.pairs.sum())
        #: Whether triplets have weights.
        self.weighted = own is not None and np.ptp(own) > 0.0
        shares = np.full(len(rankings), 1.0 / self.count)
        if own is not None and self.weighted:
            shares = own / float(own @ rankings.pairs)
        risk = PairwiseRisk(rankings, shares, self.margin)
        weighted = (self.intra, self.similar), (-self.inter, self.dissimilar)
        means = [share * pairs.mean(rankings.X, cone) for share, pairs in weighted if share]
        super().__init__(risk, self._norm(self.reg, prior, cone), sum(means) if means else None)

    @classmethod
    def from_labels(
        cls,
        X: Any,
        y: ArrayLike,
        *,
        n_same: int | None = 10,
        n_other: int | None = 10,
        near: Any = None,
        **options: Any,
    ) -> TripletProblem:
        """State the problem on triplets of a point, a near point of its label and a near point of another label.

        Only neighbours are listed, never triplets: ``None`` for both means all triplets of the labels. S_1 and S_2 are
        the pairs of a point with its neighbours of the same label, and of other labels.

        Parameters
        ----------
        X : (n, d) array or sparse matrix
        y : (n,) array
            Labels; every class needs two members.
        n_same, n_other : int or None
            Number of neighbours of each kind, by Euclidean distance in ``near``; None for all.
        near : (n, p) array, optional
            The points in other coordinates, in which neighbours are found; X by default.
        **options
            ``reg``, ``margin``, ``intra``, ``inter``, ``similar``, ``dissimilar``, ``diagonal``, ``projection``,
            ``penalty``, ``prior`` as for the class; ``weights``, (n,), one a point: the weight of the triplets
            of which it is the i.

        Raises
        ------
        InputError
            If an argument is malformed.
        """
        points = as_points(X, sparse=True)
        found = points if near is None else as_points(near, "near")
        if found.shape[0] != points.shape[0]:
            raise InputError(
                f"near must have a row for each of the {points.shape[0]} points, got {found.shape[0]} rows"
            )
        relevance = nearest_by_label(found, y, n_same, n_other)
        codes = np.unique(np.asarray(y), return_inverse=True)[1]
        positives: Pairs = LabelledPairs(codes, same=True) if n_same is None else _pairs_of(relevance, positives=True)
        negatives: Pairs = (
            LabelledPairs(codes, same=False) if n_other is None else _pairs_of(relevance, positives=False)
        )
        return cls._of(Checked(points, X), _Groups(relevance, None, None, positives, negatives), options)

    @classmethod
    def from_graph(cls, X: Any, adjacency: Any, **options: Any) -> TripletProblem:
        """State the problem on all triplets (i, j, k) of a graph with A_ij = 1 and A_ik = 0.

        S_1 holds the linked pairs, and S_2 all others.

        Parameters
        ----------
        X : (n, d) array or sparse matrix
        adjacency : (n, n) array or sparse matrix
            Ones for links; need not be symmetric; self-links are ignored.
        **options
            As for :meth:`from_labels`.

        Raises
        ------
        InputError
            If an argument is malformed, or there is no triplet.
        """
        points = as_points(X, sparse=True)
        graph = as_adjacency(adjacency, points.shape[0])
        relevance, anchors = linked_triplets(graph)
        unlinked = UnlinkedPairs(graph)
        return cls._of(Checked(points, X), _Groups(relevance, anchors, None, unlinked.links, unlinked), options)

    @classmethod
    def _of(cls, points: Checked, groups: Any, options: dict[str, Any]) -> TripletProblem:
        known = [*inspect.signature(cls).parameters][2:]
        for name in options:
            if name not in known:
                hint = closest(name, known, "did you mean {}?") or f"known: {', '.join(known)}"
                raise InputError(f"{name!r} is not an option; {hint}")
        own = checked_part_weights(options.pop("weights", None), points.points.shape[0], "weights", "point")
        if own is not None:
            anchors = np.arange(len(own)) if groups.anchors is None else groups.anchors
            kept = np.flatnonzero(own[anchors])
            if not kept.size:
                raise InputError("weights is zero for every point that is the i of a triplet; make one positive")
            anchors = anchors[kept]
            groups = replace(groups, relevance=groups.relevance.subset(kept), anchors=anchors, weights=own[anchors])
        return cls(points, groups, **options)

    def _norm(self, reg: float, prior: Any, cone: Cone) -> Regularizer:
        # The trace is that of lambda / 2 ||L||_F^2.
        return penalised(self.regularizer_name, 0.5 * reg if self.regularizer_name == "trace" else reg, prior, cone)

    def with_reg(self, reg: float) -> TripletProblem:
        """Copy the problem with another lambda, sharing all data."""
        reg = checked_weight(reg, "reg")
        return self._under(self._norm(reg, self.regularizer.base.prior, self.cone), reg)

    def with_prior(self, prior: ArrayLike | str | None) -> TripletProblem:
        """Copy the problem with another prior, or without one, sharing all data."""
        return self._under(self._norm(self.reg, prior, self.cone), self.reg)

    @property
    def reg_max(self) -> float:
        """The lambda from which on every triplet violates its margin at the optimum, ``[mean D - G]_+ / lambda``.

        For the squared norm; below it the optimum depends on individual triplets. Zero if no metric improves on zero:
        then R = 0 is optimal at every lambda.

        Raises
        ------
        InputError
            If there is a prior: the optimum then tends to it, and its margins are not those of zero.
        """
        if self.regularizer.base.prior is not None:
            raise InputError("reg_max is for problems without a prior: choose reg itself")
        S = self.risk.smoothed(self.cone.zeros(), 1e-3 * self.margin).point.S
        M = self.cone.project(S if self.G is None else S - self.G)
        return self.risk.largest_margin(M) / self.margin

    def sampled_G(self, rng: np.random.Generator, similar: int, dissimilar: int | None = None) -> tuple[Array, Array]:
        """Estimate the linear term G from pairs drawn from S_1 and S_2, as means; also returns their sums."""
        V, cone = self.rankings.X, self.cone
        estimate, total = cone.zeros(), cone.zeros()
        sizes = similar, similar if dissimilar is None else dissimilar
        for pairs, share, size in zip((self.similar, self.dissimilar), (self.intra, -self.inter), sizes, strict=True):
            if share != 0.0:
                i, j = pairs.sample(rng, size).T
                mean = share * cone.outer_sum(V[i] - V[j], np.full(size, 1.0 / size))
                estimate, total = estimate + mean, total + size * mean
        return estimate, total

    @property
    def feature_map(self) -> Any:
        """L of the projection, ``(r, d)``; None without one."""
        return None if self.projection is None else self.projection.L

    @property
    def coordinates(self) -> str:
        """Description of the projected coordinates; empty without a projection."""
        return "" if self.projection is None else f"{self.letter} on projected points, problem.projection"

    def to_cvxpy(self) -> program.Program:
        """The program above in CVXPY, a hinge for every triplet; R acts on v = L x.

        Raises
        ------
        InputError
            If there are too many triplets to write them out.
        """
        check_size(self.count, "triplets")
        R, in_cone = self.cone.variable("w" if self.cone.diagonal else "R")
        lam, xi = given("lambda", self.reg, nonneg=True), given("xi", self.margin, nonneg=True)
        norm = penalty_term(self.regularizer_name, self.regularizer.base.prior, self.cone, R)
        objective = (lam / 2 if self.regularizer_name == "trace" else lam) * norm
        V, cone = as_rows(self.rankings.X), self.cone
        if self.intra:
            mean = cp.Constant(self.similar.mean(self.rankings.X, cone), name="I1")
            objective += given("intra", self.intra, nonneg=True) * inner(mean, R)
        if self.inter:
            mean = cp.Constant(self.dissimilar.mean(self.rankings.X, cone), name="I2")
            objective -= given("inter", self.inter, nonneg=True) * inner(mean, R)
        shares = np.repeat(self.risk.weights, self.rankings.pairs.astype(np.intp))
        count = cp.Constant(self.count, name="|S|")
        for t, (i, j, k) in enumerate(self.rankings.triples().tolist()):
            D = given(f"D[{i}, {j}, {k}]", cone.outer(V[i] - V[j]) - cone.outer(V[i] - V[k]))
            hinge = cp.pos(inner(D, R) + xi)
            objective += cp.Constant(shares[t], name=f"c[{t}]") * hinge if self.weighted else hinge / count
        return self._program(objective, in_cone, R)

    def __str__(self) -> str:
        n, r = self.rankings.X.shape
        letter = "w" if self.cone.diagonal else "R"
        of = "" if self.projection is None else f", {self.projection.kind} projection of {self.projection.L.shape[1]}"
        terms = "".join(
            f" {sign} {share:g} mean_{name} D" if share else ""
            for sign, share, name in (("+", self.intra, "S1"), ("-", self.inter, "S2"))
        )
        return (
            f"Metric from triplets with intra- and inter-class distances, for large graphs\n\n"
            f"  minimise    {self.regularizer.text(letter)} + mean_S max(0, D_ij - D_ik + {self.margin:g}){terms}\n"
            f"  subject to  {letter} {'>= 0' if letter == 'w' else 'positive semidefinite'}\n\n"
            f"  {letter}         {r} features{of}\n"
            f"  S         {self.count} triplets on {n} points{', weighted in the mean' if self.weighted else ''}\n"
            f"  lambda    {self.reg:g}{self._prior_line(letter)}"
        )

    def latex(self) -> str:
        """The program as a formula, with its sizes."""
        diagonal = self.cone.diagonal
        M, sign = ("w", r"\ge 0") if diagonal else ("R", r"\succeq 0")
        space = f"{self.cone.d}" if diagonal else rf"{self.cone.d} \times {self.cone.d}"
        norm = penalty_latex(self.regularizer_name, self.regularizer, M, r"\frac{\lambda}{2}")
        linear = weights = ""
        for added, name, share, at in (("+", "intra", self.intra, 1), ("-", "inter", self.inter, 2)):
            if share:
                linear += rf" {added} \mathrm{{{name}}}\, \langle I_{at}, {M} \rangle"
                weights += rf",\quad \langle I_{at}, {M} \rangle = \mathrm{{mean}}_{{S_{at}}} D_{M}"
                weights += rf",\quad \mathrm{{{name}}} = {share:g}"
        mean = r"\frac{1}{|S|} \sum_{(i,j,k) \in S}"
        if self.weighted:
            mean, weights = r"\sum_{(i,j,k) \in S} c_{ijk}", weights + r",\quad \sum_S c_{ijk} = 1"
        return (
            rf"$$\begin{{aligned}}\min_{{{M} {sign}}}\quad & {norm}{linear} \\"
            rf"& + {mean} Z_+(\langle D^{{i,j,k}}, {M} \rangle + \xi)"
            r"\end{aligned}$$"
            rf"$$\langle D^{{i,j,k}}, {M} \rangle = D^{{i,j}}_{M} - D^{{i,k}}_{M}{weights},\quad "
            rf"{M} \in \mathbb{{R}}^{{{space}}},\quad |S| = {self.count},\quad "
            rf"\lambda = {self.reg:g},\quad \xi = {self.margin:g}$$"
        )


@dataclass(frozen=True)
class Variant:
    """One of the paper's variants (section 4.1).

    Attributes
    ----------
    formula : str
        As in the paper.
    diagonal : bool
    intra, inter : bool
        Whether the objective has the pair terms.
    projection : str or None
        Kind of projection.
    low_rank : bool
        Variant E: a factor of R is learned; its global optimum is that of a trace.
    """

    formula: str
    diagonal: bool = False
    intra: bool = False
    inter: bool = False
    projection: str | None = None
    low_rank: bool = False

    def problem(
        self,
        make: Callable[..., TripletProblem],
        X: Any,
        *arguments: Any,
        reg: float = 1.0,
        r: int = 300,
        random_state: int | np.random.Generator | None = None,
        **options: Any,
    ) -> TripletProblem:
        """State the problem of the variant on given data.

        Parameters
        ----------
        make : callable
            :class:`~convexmetric.TripletProblem`, or its ``from_labels`` or ``from_graph``.
        X, *arguments
            Arguments of ``make``: points, and triplets, labels or a graph.
        reg : float
            lambda.
        r : int
            Features after projection, at most those of X.
        random_state : int, numpy.random.Generator or None
            For random projections.
        **options
            Further options of ``make``, such as ``margin``.
        """
        points = as_points(X, sparse=True)
        if self.low_rank and sp.issparse(points):
            points = points.toarray()
        projection = None
        if self.projection is not None:
            most = min(points.shape[0] - 1, points.shape[1]) if self.projection == "pca" else points.shape[1]
            projection = make_projection(self.projection, Checked(points), min(r, most), random_state=random_state)
        options |= {"reg": reg, "intra": float(self.intra), "inter": float(self.inter), "diagonal": self.diagonal}
        penalty = "trace" if self.low_rank else "squared-frobenius"
        return make(Checked(points), *arguments, projection=projection, penalty=penalty, **options)


VARIANTS: dict[str, Variant] = {
    "A": Variant("lambda/2 ||M||_F^2 + HL(M)", diagonal=True),
    "B": Variant("lambda/2 ||M||_F^2 + HL(M) + I1(M)", diagonal=True, intra=True),
    "C": Variant("lambda/2 ||M||_F^2 + HL(M) - I2(M)", diagonal=True, inter=True),
    "D": Variant("lambda/2 ||M||_F^2 + HL(M) + I1(M) - I2(M)", diagonal=True, intra=True, inter=True),
    "E": Variant("lambda/2 ||L||_F^2 + HL(L)", low_rank=True),
    "F": Variant("lambda/2 ||R||_F^2 + HL(R)", projection="uniform"),
    "G": Variant("lambda/2 ||R||_F^2 + HL(R) + I1(R)", projection="uniform", intra=True),
    "H": Variant("lambda/2 ||R||_F^2 + HL(R) - I2(R)", projection="uniform", inter=True),
    "I": Variant("lambda/2 ||R||_F^2 + HL(R) + I1(R) - I2(R)", projection="uniform", intra=True, inter=True),
    "J": Variant("lambda/2 ||M||_F^2 + HL(M), PCA", projection="pca"),
    "L": Variant("lambda/2 ||R||_F^2 + HL(R) + I1(R), orthonormal projection", projection="orthonormal", intra=True),
}
"""The paper's variants by letter (K is its baseline, a logistic regression on pairs)."""


def _pairs_of(relevance: Relevance, *, positives: bool) -> ListedPairs:
    """List all pairs of a query with its positives, or with its negatives."""
    items = [relevance.of(query)[0 if positives else 1] for query in range(len(relevance))]
    queries = np.repeat(np.arange(len(relevance)), [len(own) for own in items])
    return ListedPairs(np.column_stack([queries, np.concatenate(items)]), len(relevance))
