r"""Distance metric learning for large margin nearest neighbours (Weinberger & Saul, JMLR 2009).

.. math::
   \min_{M \succeq 0} \quad (1 - \mu) \sum_{i, \, j \rightsquigarrow i} d_M(x_i, x_j)
   + \mu \sum_{i, \, j \rightsquigarrow i} \; \sum_{l : \, y_l \ne y_i}
     \big[ 1 + d_M(x_i, x_j) - d_M(x_i, x_l) \big]_+

=====================  ======================================================================================
M                      the metric; d_M(x, x') = (x - x')^T M (x - x'), called D_M in the paper
j ~> i                 x_j is a *target neighbour* of x_i: one of the k nearest points of its label in X
x_l                    an *impostor* of x_i where it comes nearer than a target neighbour plus the margin 1
mu                     weight of the push term, 1 - mu that of the pull term
G                      sum (x_i - x_j)(x_i - x_j)^T, so that the pull term is (1 - mu) <G, M>
rho                    ridge, 0 in the paper: adds to G, for every target neighbour, ``rho`` times the mean of
                       (x - x')(x - x')^T over all n^2 pairs of points, as if that share of them were points drawn at
                       random; pairs of a point with itself count, so that it is (n - 1) / n of the mean of the others
=====================  ======================================================================================

Points may have weights :math:`w_i`, which multiply both of their sums over target neighbours.

There is no regularizer: the pull term acts as one. With :math:`(1 - \mu) G = K K^\top` and :math:`M' = K^\top M K` it
is :math:`\mathrm{tr} M'`, and distances under M are distances under M' of the points :math:`K^{-1} x`. That is the same
problem in other coordinates: triplets with a trace, for all solvers that know these. Directions in which no two points
differ are left out of K; so are constant features, for diagonal metrics.

Where target neighbours agree in a direction in which other points differ, M may grow along it at no cost: impostors
that differ there are pushed away for free, and a certificate would have to bound the objective at infinity. Such data
are refused unless rho > 0 or there is a prior. Usually they have fewer points than features, for which the
paper takes principal components.

A prior :math:`M_0`, which the paper does not have, adds

.. math:: \frac{\lambda}{2} \, N \, \|M - M_0\|_F^2

to the objective, where N is the number of pairs of target neighbours, or the sum of their weights: so one
:math:`\lambda` serves any number of points. The norm is on the features, and M itself is the variable. In the
coordinates of K the norm would constrain the metric least where target neighbours agree, which is where the data do not
determine it; on the features it does constrain it there, and no data are refused.

The margin is 1, so that the scale of M_0 sets which share of a typical squared distance it is: a tenth if M_0 is I
times ten over the median squared distance of two points. The norm weighs all features equally: scale them first.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from convexmetric.arguments import check_count, check_flag, checked_part_weights, checked_weight, shown
from convexmetric.arrays import Array
from convexmetric.comparisons import Rankings
from convexmetric.comparisons.neighbours import nearest_by_label
from convexmetric.comparisons.pairs import LabelledPairs, ListedPairs
from convexmetric.comparisons.points import as_rows, translated
from convexmetric.cones import Cone, NonnegativeDiagonal, PSDCone
from convexmetric.errors import InputError
from convexmetric.papers.choices import points_under
from convexmetric.papers.cvxpy_terms import check_size, given, given_pairs, inner
from convexmetric.problem import MetricProblem
from convexmetric.programs.lazy import cvxpy as cp
from convexmetric.programs.lazy import program
from convexmetric.regularizers import Regularizer, SquaredFrobenius, Trace, towards
from convexmetric.risks import PairwiseRisk

#: Share of the scatter of all points that target neighbours must have in every direction.
LEAST_SHARE = 1e-10


class LargeMarginProblem(MetricProblem):
    """Learn a metric that keeps points of other labels farther than the nearest points of the same label.

    Without a prior the variable is M' of the module's formula. Solutions, files, audits, user-defined constraints and
    :meth:`objective` refer to the metric on the features of X; :meth:`value` and certificates refer to the variable, to
    which :meth:`from_features` converts it.

    Parameters
    ----------
    X : (n, d) array, or sparse matrix with ``diagonal``
        Points in rows.
    y : (n,) array
        Labels; every class needs two members.
    n_neighbors : int
        k, the number of target neighbours of a point, by Euclidean distance in X.
    push : float
        mu, between 0 and 1.
    diagonal : bool
        Learn one weight a feature instead of a matrix.
    weights : (n,) array, optional
        Weight of the terms in which the point is i; 1 by default. A point of weight 0 is not an i, but still a target
        neighbour and an impostor of others.
    ridge : float
        rho: every target neighbour adds to the pull term ``ridge`` times the mean squared distance over all n^2 pairs
        of points, those of a point with itself included.
    prior : "identity" or array, optional
        M_0, a ``(d, d)`` metric or the weights of a diagonal one, near which the metric stays.
    reg : float, optional
        lambda of ``lambda N / 2 ||M - M_0||_F^2``, N pairs of target neighbours; 1 by default. Only with a prior.

    Raises
    ------
    InputError
        If an argument is malformed, or there is neither prior nor ridge and target neighbours agree in a direction in
        which other points differ.

    Examples
    --------
    >>> import numpy as np
    >>> import convexmetric as cm
    >>> iris = cm.datasets.load("iris")
    >>> problem = cm.LargeMarginProblem(iris.X, iris.y, n_neighbors=3)
    >>> solution = cm.solve(problem)
    >>> print(f"{solution.upper_bound:.2f}, gap at most 1e-6: {solution.gap <= 1e-6}")
    225.49, gap at most 1e-6: True
    >>> verdict = cm.audit(problem, np.eye(4), reference=solution)
    >>> print(f"the Euclidean metric costs {verdict.objective:.3f}")
    the Euclidean metric costs 606.205
    """

    letter: ClassVar[str] = "M"
    risk: PairwiseRisk
    fixed_weights: ClassVar[tuple[str, ...]] = ("push",)

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        n_neighbors: int = 3,
        push: float = 0.5,
        diagonal: bool = False,
        weights: ArrayLike | None = None,
        ridge: float = 0.0,
        prior: ArrayLike | str | None = None,
        reg: float | None = None,
    ) -> None:
        (points,) = translated(points_under(diagonal, X))
        #: Points, in rows, less an offset that they all share.
        self.X = points
        check_count(n_neighbors, "n_neighbors")
        if checked_weight(push, "push") >= 1.0:
            raise InputError(f"push must be below 1, or nothing holds target neighbours together, got {shown(push)}")
        check_flag(diagonal, "diagonal")
        n = points.shape[0]
        relevance = nearest_by_label(points, y, int(n_neighbors), None)
        #: Weights of the points' terms; None where all are 1.
        self.point_weights = checked_part_weights(weights, n, "weights", "point")
        own = np.ones(n) if self.point_weights is None else self.point_weights
        anchors = np.flatnonzero(own)
        #: rho, and k and mu.
        self.ridge = checked_weight(ridge, "ridge", zero=True)
        self.n_neighbors, self.push = int(n_neighbors), float(push)
        i = np.repeat(np.arange(n), relevance.n_relevant.astype(np.intp))
        #: Rows (i, j): x_j is a target neighbour of x_i, whose weight is positive.
        self.targets = np.column_stack([i, relevance.relevant])[own[i] > 0.0]
        if prior is None and reg is not None:
            raise InputError("reg is the weight of a prior: pass prior='identity' or a metric too, or leave reg out")
        #: M_0 and lambda; None without a prior.
        self.prior = prior
        self.reg = None if prior is None else 1.0 if reg is None else checked_weight(reg, "reg")
        #: ``K^+``, (r, d), and K, (d, r); sparse for diagonal metrics; the identity with a prior.
        self.whitening: Any
        self.unwhitening: Any
        if prior is None:
            scaled, shares = _scales if diagonal else _axes, (1.0 - self.push) * own[self.targets[:, 0]]
            self.whitening, self.unwhitening = scaled(points, ListedPairs(self.targets, n), shares, self.ridge)
        else:
            d = points.shape[1]
            self.whitening = self.unwhitening = sp.eye_array(d, format="csr") if diagonal else np.eye(d)
        Z = (points if sp.issparse(points) else points - points.mean(axis=0)) @ self.whitening.T
        cone: Cone = NonnegativeDiagonal(Z.shape[1]) if diagonal else PSDCone(Z.shape[1])
        G = None if prior is None else (1.0 - self.push) * self._pull(cone)
        rankings = Rankings(Z, Z, relevance, cone)
        if len(anchors) < n:
            rankings = rankings.subset(anchors)
        #: Number of triplets (i, target neighbour, point of another label).
        self.count = int(rankings.pairs.sum())
        super().__init__(PairwiseRisk(rankings, self.push * own[anchors], 1.0), self._regularizer(self.reg, cone), G)
        self.prior = self.regularizer.prior

    @property
    def weight_of_targets(self) -> float:
        """N, the number of pairs of target neighbours, or the sum of their weights."""
        return float(len(self.targets) if self.point_weights is None else self.point_weights[self.targets[:, 0]].sum())

    def _regularizer(self, reg: float | None, cone: Cone) -> Regularizer:
        if self.prior is None or reg is None:
            return Trace(1.0)
        return towards(SquaredFrobenius(reg * self.weight_of_targets), self.prior, cone)

    def with_reg(self, reg: float) -> MetricProblem:
        """Copy the problem with another weight of its prior, sharing all data.

        Raises
        ------
        InputError
            If reg is malformed, or the problem has no prior.
        """
        if self.reg is None:
            return super().with_reg(reg)
        reg = checked_weight(reg, "reg")
        return self._under(self._regularizer(reg, self.cone), reg)

    def _pull(self, cone: Cone) -> Array:
        """Evaluate G, the linear term of the objective, on the features: ``(d, d)``, or ``(d,)`` where diagonal."""
        own = None if self.point_weights is None else self.point_weights[self.targets[:, 0]]
        targets = ListedPairs(self.targets, self.X.shape[0]).total(self.X, cone, own)
        return targets + self.ridge * self.weight_of_targets * self._mean(cone)

    def _mean(self, cone: Cone) -> Array:
        """The mean of ``(x - x')(x - x')^T`` over all n^2 pairs of points, on the features."""
        n = self.X.shape[0]
        return LabelledPairs(np.zeros(n, dtype=np.int64), same=True).total(self.X, cone) / n**2

    @property
    def feature_map(self) -> Any:
        """``K^+``."""
        return self.whitening

    @property
    def weighs_features(self) -> bool:
        """Whether metrics are diagonal: K is diagonal, too."""
        return self.cone.diagonal

    @property
    def in_other_coordinates(self) -> bool:
        """Whether the variable is ``M' = K^T M K`` instead of M; true unless there is a prior."""
        return self.reg is None

    @property
    def coordinates(self) -> str:
        """Coordinates of the module's formula, in which the pull term is a trace; the features with a prior."""
        if not self.in_other_coordinates:
            return ""
        return "M' = K^T M K on the points K^+ x, where K = problem.unwhitening and K^+ = problem.whitening"

    def from_features(self, M: ArrayLike) -> Array:
        """``M' = K^T M K``, the problem's variable, of a metric on the features of X (or of weights of these).

        Raises
        ------
        InputError
            If ``M`` has the wrong shape, is not symmetric, or has NaN or infinite entries.
        """
        d, K = self.unwhitening.shape[0], self.unwhitening
        if self.cone.diagonal:
            return np.asarray(K.power(2).T @ NonnegativeDiagonal(d).element(M, self.letter))
        metric = K.T @ PSDCone(d).element(M, self.letter) @ K
        return 0.5 * (metric + metric.T)

    def plain_metrics(self) -> list[Array]:
        """The identity, and the Euclidean metric of the features as a variable, both scaled to trace d."""
        d = self.unwhitening.shape[0]
        euclidean = self.from_features(np.ones(d) if self.cone.diagonal else np.eye(d))
        return [*super().plain_metrics(), euclidean * (self.cone.d / self.cone.trace(euclidean))]

    def on_features(self, M: cp.Expression) -> cp.Expression:
        """``K^-T M' K^-1`` in CVXPY, or the weights of the features."""
        L = self.whitening
        return L.power(2).T @ M if self.cone.diagonal else L.T @ M @ L

    def weights(self, M: Array) -> Array:
        """Convert the diagonal variable to weights of the features of X."""
        return np.asarray(self.whitening.power(2).T @ M)

    def to_cvxpy(self) -> program.Program:
        """The program above in CVXPY, on the metric M of the features, a constraint for every triplet.

        Slacks stand in place of the hinges, as in the paper.

        Raises
        ------
        InputError
            If there are too many triplets to write them out.
        """
        check_size(self.count, "triplets")
        cone = type(self.cone)(self.X.shape[1])
        M, in_cone = cone.variable("M")
        mu, xi = given("mu", self.push, nonneg=True), cp.Variable(self.count, nonneg=True, name="xi")
        d, x = cp.Variable(len(self.targets), name="d"), as_rows(self.X)
        D = given_pairs("D", lambda i, j: cone.outer(x[i] - x[j]))
        constraints, anchors, place = [], [], {}
        for t, (i, j) in enumerate(self.targets.tolist()):
            place[i, j] = t
            constraints.append((d[t] == inner(D(i, j), M)).set_label(f"target {i}, {j}"))
        for t, (i, j, k) in enumerate(self.rankings.triples().tolist()):
            margin = inner(D(i, k), M) - d[place[i, j]]
            constraints.append((margin + xi[t] >= 1).set_label(f"triplet {i}, {j}, {k}"))
            anchors.append(i)
        pull, push, own = cp.sum(d), cp.sum(xi), self.point_weights
        if own is not None:
            pull, push = cp.Constant(own[self.targets[:, 0]], name="w") @ d, cp.Constant(own[anchors], name="w'") @ xi
        N = cp.Constant(self.weight_of_targets, name="N")
        if self.ridge:
            r, mean = cp.Variable(name="r"), cp.Constant(self._mean(cone), name="D_mean")
            constraints.append((r == given("rho", self.ridge, nonneg=True) * inner(mean, M)).set_label("ridge"))
            pull += N * r
        objective = (1 - mu) * pull + mu * push
        if self.prior is not None:
            away = M - cp.Constant(self.prior, name="M0")
            objective += given("lambda", self.reg, nonneg=True) * N / 2 * cp.sum_squares(away)
        return self._program(objective, constraints + in_cone, M)

    def as_stated(self, M: Array) -> Array:
        """``K^-T M' K^-1``, or the weights of the features."""
        return self.weights(M) if self.cone.diagonal else self.full_matrix(M)

    def __str__(self) -> str:
        diagonal = self.cone.diagonal
        n, (r, d) = self.rankings.X.shape[0], self.whitening.shape
        left_out = f"; {d - r} that never vary left out" if r < d else ""
        w = "" if self.point_weights is None else "w_i "
        drawn = prior = ""
        pulled = f"(d_M(i, j) + {self.ridge:g} / {n}^2 sum_ab d_M(a, b))" if self.ridge else "d_M(i, j)"
        if self.reg is not None:
            drawn = f"\n{'':14}+ {self.regularizer.text('M')}"
            prior = f"\n  lambda    {self.reg:g}, times {self.weight_of_targets:g} pairs{self._prior_line('M')}"
        return (
            f"Large margin nearest neighbours (Weinberger & Saul 2009)\n\n"
            f"  minimise    {1.0 - self.push:g} sum {w}{pulled} "
            f"+ {self.push:g} sum {w}max(0, 1 + d_M(i, j) - d_M(i, l)){drawn}\n"
            f"  subject to  M {'diagonal and nonnegative' if diagonal else 'positive semidefinite'}\n\n"
            f"  M         {f'{d} weights, one a feature' if diagonal else f'{d} x {d}'}{left_out}\n"
            f"  j ~> i    {len(self.targets)} pairs of {n} points and {self.n_neighbors} target neighbours each\n"
            f"  (i, j, l) {self.count} triplets with a point of another label{prior}"
        )

    @property
    def rankings(self) -> Rankings:
        """Points, their target neighbours and the points of other labels, in the variable's coordinates."""
        return self.risk.rankings

    def latex(self) -> str:
        """The program as a formula, with its sizes."""
        diagonal = self.cone.diagonal
        cone = r"M \in \mathrm{diag}(\mathbb{R}^d_+)" if diagonal else r"M \succeq 0"
        d, w = self.whitening.shape[1], "" if self.point_weights is None else "w_i "
        pulled, drawn, more = r"d_M(x_i, x_j)", "", ""
        if self.ridge:
            pulled = r"\left(d_M(x_i, x_j) + \frac{\rho}{n^2} \sum_{a, b} d_M(x_a, x_b)\right)"
            more = rf",\quad \rho = {self.ridge:g},\quad n = {self.rankings.X.shape[0]}"
        if self.reg is not None:
            drawn = r" + \frac{\lambda}{2} N \|M - M_0\|_F^2"
            more += rf",\quad \lambda = {self.reg:g},\quad N = {self.weight_of_targets:g}"
        return (
            rf"$$\begin{{aligned}}\min_{{{cone},\; \xi \ge 0}}\quad & (1 - \mu) "
            rf"\sum_{{j \rightsquigarrow i}} {w}{pulled} + \mu \sum_{{ijl}} {w}\xi_{{ijl}}"
            rf"{drawn}{self.regularizer.added_latex('M')} \\"
            r"\text{s.t.}\quad & d_M(x_i, x_l) - d_M(x_i, x_j) \ge 1 - \xi_{ijl}"
            r"\quad \forall j \rightsquigarrow i,\ y_l \ne y_i\end{aligned}$$"
            r"$$d_M(x, x') = \langle D^{x,x'}, M \rangle,\quad "
            rf"M \in \mathbb{{R}}^{{{d} \times {d}}},\quad k = {self.n_neighbors},\quad \mu = {self.push:g},\quad "
            rf"{self.count}\ \mathrm{{triplets}}{more}$$"
        )


def _ridge(weights: Array, n: int, ridge: float) -> float:
    """Factor of the scatter of n points in G; the mean of (x - x')(x - x')^T over n^2 pairs is 2 / n the scatter."""
    return 2.0 * ridge * float(weights.sum()) / n


def _axes(X: Array, pull: ListedPairs, weights: Array, ridge: float) -> tuple[Array, Array]:
    """``K^+`` and K with ``K K^T = (1 - mu) G`` on the span of the points, from ``1 - mu`` times the weights."""
    U, s, Vt = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    # In a direction in which the points do not vary, centring leaves rounding errors of their entries.
    kept = s > max(s[0], np.sqrt(len(X)) * np.abs(X).max()) * max(X.shape) * np.finfo(float).eps
    U, s, Vt = U[:, kept], s[kept], Vt[kept]
    # In coordinates that whiten all points, eigenvalues of the pull are shares of the scatter of all points.
    shares, Q = np.linalg.eigh(pull.total(U, PSDCone(U.shape[1]), weights) if s.size else np.empty((0, 0)))
    shares = shares + _ridge(weights, len(X), ridge)
    _check(shares, X.shape[1], "direction")
    return (Q / np.sqrt(shares)).T @ (Vt / s[:, None]), (Vt.T * s) @ (Q * np.sqrt(shares))


def _scales(X: Any, pull: ListedPairs, weights: Array, ridge: float) -> tuple[sp.csr_array, sp.csr_array]:
    """``K^+`` and K for diagonal metrics, diagonal matrices. Sparse points are not centred, and have no need to be."""
    d = X.shape[1]
    low, high = (as_rows(end).ravel() for end in (X.min(axis=0), X.max(axis=0)))
    varies = np.flatnonzero(high > low)
    if not varies.size:
        _check(np.empty(0), d, "feature")
    points, n = X[:, varies], X.shape[0]
    mean = np.asarray(points.mean(axis=0)).ravel()
    if isinstance(points, np.ndarray):
        points, mean = points - mean, np.zeros(varies.size)
    cone = NonnegativeDiagonal(varies.size)
    scatter = cone.outer_sum(points, np.ones(n)) - n * mean**2
    g = pull.total(points, cone, weights) + _ridge(weights, n, ridge) * scatter
    _check(g / scatter, d, "feature")
    rows = np.arange(varies.size)
    K = sp.csr_array((np.sqrt(g), (varies, rows)), shape=(d, varies.size))
    return sp.csr_array((1.0 / np.sqrt(g), (rows, varies)), shape=(varies.size, d)), K


def _check(shares: Array, d: int, what: str) -> None:
    if not shares.size:
        raise InputError("X is the same point again and again: there is nothing to learn")
    free = int((shares < LEAST_SHARE).sum())
    if free:
        raise InputError(
            f"target neighbours agree in {free} of {d} {what}s in which other points differ, so that M may grow there "
            "at no cost; pass ridge=0.1 (--set ridge=0.1) or prior='identity', raise n_neighbors, take fewer principal "
            "components of X first (preprocess with 'pca:K'), or take a method with a regularizer (MLR; --method mlr)"
        )
