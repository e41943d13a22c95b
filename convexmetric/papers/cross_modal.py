r"""Heterogeneous metrics for cross-media retrieval (paper 5, BPRHML), lifted to one convex problem.

.. math::
   \min_{W \succeq 0} \; \frac12 \sum_{k} \sum_{i \in D_k^+} \sum_{j \in D_k^-} \ln(1 + e^{-\hat x_{kij}})
   + \frac{\alpha}{2} \mathrm{tr}\, W + \beta \langle B, W \rangle, \qquad
   \hat x_{kij} = d_W(x_k, y_j)^2 - d_W(x_k, y_i)^2

=====================  ==========================================================================================
X, Y                   objects of the two modalities, here in rows; x_k is a query, Y holds what is retrieved
U, V, c                the paper's maps to a common space, (d_x, c) and (d_y, c)
W                      [U; V][U; V]^T with its rank dropped; z = [x; -y] gives the squared distance z^T W z
d_W(x, y)              ||U^T x - V^T y||, with a root (equation 5); the \hat x of equation 8 has the squares
D_k^+, D_k^-           representatives of the relevant and irrelevant objects of x_k (equations 9 to 12)
alpha, beta            weights of the squared norms s(U, V) = 1/2 tr W (equation 15) and of the graphs g(U, V)
B                      g(U, V) = <B, W> (equation 20), B = 1/2 [[X^T L'_x X, -N], [-N^T, Y^T L'_y Y]]
L'_x, L'_y, N          L_x + I, L_y + I; N = X^T D_x^-1/2 W_xy D_y^-1/2 Y
W_x, W_y, W_xy         graphs: nearest neighbours of the same label (equation 16); same label across (equation 18)
=====================  ==========================================================================================

The objective is not convex in (U, V), but it is a function of W, and convex there. So the optimum bounds the paper's
problem from below for every c, and is attained as soon as c is at least the rank of an optimal W.

What is printed and what is meant, found by checking gradients numerically and the rest by hand:

- equation 8 has :math:`\hat x_{kij} = d(x_k, y_i) - d(x_k, y_j)` without roots, which rewards relevant objects for
  being far; the sign is turned around here. The gradients 24 and 25 are those of equation 8 as printed, so that with
  :math:`\hat x` corrected their sums over triples change sign: :math:`\sum x_k (y_j - y_i)^\top V` and
  :math:`\sum (y_j - y_i) x_k^\top U + (y_i y_i^\top - y_j y_j^\top) V`, each with weight
  :math:`1 / (1 + e^{\hat x})`. Their other terms are right.
- the matrix forms in equations 17, 19 and 20 equal the sums next to them only if no degree is zero. An object without a
  neighbour (a class with one member) or without an object of its label in the other modality appears in no term of the
  sums, but would in I; the sums are meant.
- equation 21 has :math:`U U^\top = I`, impossible for tall U: :math:`U^\top U = I`.
- equation 22 needs :math:`U U^\top = I` after all, which only square U have: for c below the number of features the
  norms of :math:`U^\top X_1` depend on U. So the singular vectors of equation 23 maximise the trace in (22), but do not
  minimise (21); and the text there says (20) for (21).
- Algorithm 1, line 4, has X Y^T for X_1 Y_1^T of equation 23, whose columns are coupled; and K for c.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from convexmetric.arguments import check_count, checked_weight
from convexmetric.arrays import Array
from convexmetric.certificates import Certificate, relative_gap
from convexmetric.comparisons import Rankings
from convexmetric.comparisons.label_graphs import as_indicators, cross_product, neighbour_graph, smoothness
from convexmetric.comparisons.points import as_points
from convexmetric.cones import PSDCone
from convexmetric.errors import InputError
from convexmetric.features import Representatives, all_items, representatives
from convexmetric.papers.cvxpy_terms import check_size, given, inner, span_of
from convexmetric.problem import MetricProblem
from convexmetric.programs.lazy import cvxpy as cp
from convexmetric.programs.lazy import program
from convexmetric.regularizers import Trace
from convexmetric.risks import LogisticRankingRisk
from convexmetric.solution import Solution


@dataclass(frozen=True)
class Factors:
    """Maps U and V with a given number c of columns, and the certified lower bound over all c.

    Attributes
    ----------
    U : (d_x, c) array
    V : (d_y, c) array
    objective : float
        The paper's objective at U and V.
    lower_bound : float
        Certified bound on the optimum of the paper's problem, for every c.
    tol : float
        Relative gap up to which an objective counts as optimal.
    """

    U: Array
    V: Array
    objective: float
    lower_bound: float
    tol: float

    @property
    def gap(self) -> float:
        """Certified relative distance of the objective from the global optimum."""
        return relative_gap(self.objective, self.lower_bound)

    @property
    def solved_globally(self) -> bool:
        """Whether U and V are globally optimal to ``tol``, over all c."""
        return self.gap <= self.tol

    def __str__(self) -> str:
        c = self.U.shape[1]
        verdict = (
            f"solved globally: no U and V of any c are better by more than {self.gap:.1e}"
            if self.solved_globally
            else f"within {self.gap:.1e} of the optimum over all c; whether c = {c} allows better is not settled"
        )
        return f"c = {c}: objective {self.objective:.10g}, certified optimum >= {self.lower_bound:.10g}; {verdict}"


class CrossModalProblem(MetricProblem):
    """Learn one metric over two modalities under which queries of X rank what is relevant in Y first.

    Parameters
    ----------
    X : (m, d_x) array
        Objects of the one modality, in rows: the queries.
    Y : (n, d_y) array
        Objects of the other modality, in rows: what is retrieved. They need not be coupled to those of X.
    labels_x, labels_y : (m,) and (n,) arrays, or (m, L) and (n, L) 0/1 matrices
        A label for every object, or which of L labels each has. Objects that share a label are relevant to each other.
    alpha : float
        Weight of the squared norms, positive.
    beta : float
        Weight of the graphs; 0 leaves them out.
    n_clusters : int or None
        Number of k-means clusters whose centroids represent the relevant objects; the irrelevant ones are represented
        by the centroids of their classes. None: all objects, without representatives, for small data.
    n_neighbors : int
        Neighbours of the same label in the graphs inside a modality.
    random_state : int, numpy.random.Generator or None
        Seed or generator for k-means.

    Raises
    ------
    InputError
        If an argument is malformed, or nothing is ranked.

    Examples
    --------
    Sepals retrieve petals of the same species:

    >>> import convexmetric as cm
    >>> iris = cm.datasets.load("iris")
    >>> problem = cm.CrossModalProblem(iris.X[:, :2], iris.X[:, 2:], iris.y, iris.y, alpha=1.0, beta=0.1, n_clusters=2,
    ...                                n_neighbors=5, random_state=0)
    >>> solution = cm.solve(problem)
    >>> print(f"{solution.upper_bound:.3f}, rank {solution.rank}, gap at most 1e-6: {solution.gap <= 1e-6}")
    84.081, rank 1, gap at most 1e-6: True

    The rank is one, so that one column of U and V is enough to solve the printed problem globally:

    >>> factors = problem.factors(solution, c=1)
    >>> factors.U.shape, factors.V.shape
    ((2, 1), (2, 1))
    """

    letter: ClassVar[str] = "W"
    fixed_weights: ClassVar[tuple[str, ...]] = ("alpha", "beta")

    def __init__(
        self,
        X: ArrayLike,
        Y: ArrayLike,
        labels_x: Any,
        labels_y: Any,
        alpha: float,
        beta: float,
        *,
        n_clusters: int | None = 5,
        n_neighbors: int = 50,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.X, self.Y = as_points(X, "X"), as_points(Y, "Y")
        self.labels_x, self.labels_y = as_indicators(labels_x, labels_y)
        for points, labels, name in ((self.X, self.labels_x, "X"), (self.Y, self.labels_y, "Y")):
            if len(points) != labels.shape[0]:
                raise InputError(
                    f"labels_{name.lower()} must be one an object: {name} has {len(points)} rows, "
                    f"but there are {labels.shape[0]}"
                )
        check_count(n_neighbors, "n_neighbors")
        if n_clusters is None:
            chosen = all_items(self.Y, self.labels_x, self.labels_y)
        else:
            check_count(n_clusters, "n_clusters", " or None")
            chosen = representatives(self.Y, self.labels_x, self.labels_y, n_clusters, random_state=random_state)
        #: Representatives of the rows of Y, and the queries that rank them.
        self.representatives: Representatives = chosen
        dx, dy = self.X.shape[1], self.Y.shape[1]
        queries = np.hstack([self.X, np.zeros((len(self.X), dy))])
        items = np.hstack([np.zeros((len(chosen.items), dx)), chosen.items])
        rankings = Rankings(items, queries, chosen.relevance, PSDCone(dx + dy), chosen.queries)
        self._risk = LogisticRankingRisk(rankings, 0.5)
        #: B of equation 20, ``(d_x + d_y, d_x + d_y)``; ``<B, W>`` is the graph term g(U, V).
        self.B = graph_matrix(self.X, self.Y, self.labels_x, self.labels_y, n_neighbors)
        self._weigh(alpha, beta)

    @classmethod
    def from_relevance(
        cls, X: ArrayLike, Y: ArrayLike, relevance: Any, alpha: float, beta: float, **options: Any
    ) -> CrossModalProblem:
        """State the problem from a 0/1 matrix, dense or sparse, of which rows of Y are relevant to which of X.

        Every object of Y then has its own label: it represents itself where it is irrelevant, and has no neighbours in
        the graph inside Y. Objects of X are neighbours if an object of Y is relevant to both.

        Parameters
        ----------
        X, Y : (m, d_x) and (n, d_y) arrays
        relevance : (m, n) 0/1 matrix
        alpha, beta : float
        **options
            ``n_clusters``, ``n_neighbors``, ``random_state`` as for the class.

        Raises
        ------
        InputError
            If an argument is malformed.
        """
        if not (sp.issparse(relevance) or np.ndim(relevance) == 2):
            raise InputError(
                "relevance must be a 0/1 matrix with a row for every row of X and a column for every one of Y"
            )
        return cls(X, Y, relevance, sp.eye_array(relevance.shape[1], format="csr"), alpha, beta, **options)

    def _weigh(self, alpha: float, beta: float) -> None:
        self.alpha = checked_weight(alpha, "alpha")
        self.beta = checked_weight(beta, "beta", zero=True)
        super().__init__(self._risk, Trace(0.5 * self.alpha), self.beta * self.B if self.beta else None)

    def with_weights(self, alpha: float, beta: float) -> CrossModalProblem:
        """Copy the problem with another alpha and beta, sharing data, representatives and graphs."""
        other = copy(self)
        other._weigh(alpha, beta)
        return other

    @property
    def count(self) -> int:
        """Number of triples (query, relevant, irrelevant representative)."""
        return int(self._risk.pairs.sum())

    def join(self, U: ArrayLike, V: ArrayLike) -> Array:
        """The factor ``[U; V]^T``, ``(c, d_x + d_y)``, whose metric is ``W = [U; V][U; V]^T``.

        Raises
        ------
        InputError
            If the shapes do not fit.
        """
        u, v = as_points(U, "U"), as_points(V, "V")
        if u.shape[0] != self.X.shape[1] or v.shape[0] != self.Y.shape[1] or u.shape[1] != v.shape[1]:
            raise InputError(
                f"U and V must have shapes ({self.X.shape[1]}, c) and ({self.Y.shape[1]}, c), "
                f"got {u.shape} and {v.shape}"
            )
        return np.ascontiguousarray(np.vstack([u, v]).T)

    def split(self, factor: Array) -> tuple[Array, Array]:
        """Split a factor ``(c, d_x + d_y)`` into U and V."""
        dx = self.X.shape[1]
        return factor[:, :dx].T.copy(), factor[:, dx:].T.copy()

    def factors(self, solved: Solution | Certificate, c: int | None = None, *, tol: float = 1e-5) -> Factors:
        """Truncate a solved W to U and V with ``c`` columns, by its leading eigenvectors.

        With c at least the rank of W they give W itself; for smaller c, the nearest matrix in the Frobenius norm, from
        which descent finds better U and V (``join`` them for the start of a factored descent).

        Parameters
        ----------
        solved : Solution or Certificate
            Solution of this problem.
        c : int, optional
            Columns; by default as many as W has eigenvalues above rounding.
        tol : float
            Relative gap up to which U and V count as optimal.

        Raises
        ------
        InputError
            If c is not a positive integer.
        """
        certificate = solved.certificate if isinstance(solved, Solution) else solved
        factor = self.cone.factor(self.metric(certificate.M))
        if c is not None:
            check_count(c, "c")
        # W = 0 has one column of zeros.
        columns = max(1, len(factor)) if c is None else c
        factor = np.vstack([factor[:columns], np.zeros((max(0, columns - len(factor)), self.cone.d))])
        return self.judged(*self.split(factor), certificate.lower_bound, tol=tol)

    def judged(self, U: ArrayLike, V: ArrayLike, lower_bound: float, *, tol: float = 1e-5) -> Factors:
        """Evaluate the paper's objective at given U and V, with a certified lower bound to compare.

        Raises
        ------
        InputError
            If the shapes do not fit.
        """
        factor = self.join(U, V)
        return Factors(*self.split(factor), self.value(factor.T @ factor), lower_bound, tol)

    def initial_factor(self, c: int) -> Array:
        r"""The start of Algorithm 1, ``[U; V]^T`` by cross-modal :func:`~convexmetric.papers.factor_analysis`.

        Objects are coupled by their labels, :math:`X^\top D_x^{-1/2} W_{xy} D_y^{-1/2} Y` in place of
        :math:`X_1^\top Y_1`, so that rows of X and Y need not correspond.
        """
        check_count(c, "c")
        _, N, _ = cross_product(self.X, self.Y, self.labels_x, self.labels_y)
        return self.join(*_singular_maps(N, c))

    def distances(self, M: ArrayLike, X: ArrayLike, Y: ArrayLike) -> Array:
        """Squared distances ``d(x, y) = ||U^T x - V^T y||^2`` from all rows of X to all rows of Y, old or new.

        Raises
        ------
        InputError
            If the features do not fit.
        """
        W = self.metric(M)
        queries, items = as_points(X, "X"), as_points(Y, "Y")
        dx, dy = self.X.shape[1], self.Y.shape[1]
        if queries.shape[1] != dx or items.shape[1] != dy:
            raise InputError(f"X and Y must have {dx} and {dy} features, got {queries.shape[1]} and {items.shape[1]}")
        inside = np.einsum("ij,ij->i", queries @ W[:dx, :dx], queries)
        across = queries @ W[:dx, dx:] @ items.T
        return inside[:, None] - 2.0 * across + np.einsum("ij,ij->i", items @ W[dx:, dx:], items)

    def to_cvxpy(self) -> program.Program:
        """The program above in CVXPY, a logistic loss for every triple (k, i, j) of a query and two representatives.

        Raises
        ------
        InputError
            If there are too many triples to write them out.
        """
        check_size(self.count, "triples")
        W, in_cone = self.cone.variable("W")
        objective = given("alpha", self.alpha, nonneg=True) / 2 * cp.trace(W)
        if self.beta:
            objective += given("beta", self.beta, nonneg=True) * inner(cp.Constant(self.B, name="B"), W)
        rankings, cone = self._risk.rankings, self.cone
        x, y = rankings.Q, rankings.X
        for k, i, j in rankings.triples().tolist():
            D = given(f"D[{k}, {i}, {j}]", cone.outer(x[k] - y[i]) - cone.outer(x[k] - y[j]))
            objective += cp.logistic(inner(D, W)) / 2
        return self._program(objective, in_cone, W)

    def __str__(self) -> str:
        relevance = self.representatives.relevance
        p, n = relevance.n_relevant, relevance.n_irrelevant
        dx, dy = self.X.shape[1], self.Y.shape[1]
        graphs = f" + {self.beta:g} <B, W>" if self.beta else ""
        return (
            "Heterogeneous metric for cross-media retrieval (BPRHML), over all ranks of its maps\n\n"
            f"  minimise    1/2 sum log(1 + exp(d(x, y_i)^2 - d(x, y_j)^2)) + {self.alpha / 2:g} tr(W){graphs}\n"
            f"  subject to  W = [U; V][U; V]^T, of any rank: W positive semidefinite\n\n"
            f"  W         {dx + dy} x {dx + dy}: {dx} features of X and {dy} of Y\n"
            f"  queries   {len(relevance)} of {len(self.X)} objects of X, for {len(self.Y)} of Y\n"
            f"  y_i       {span_of(p)} representatives of relevant objects a query\n"
            f"  y_j       {span_of(n)} of irrelevant ones; {self.count} triples in all\n"
            f"  alpha     {self.alpha:g}\n"
            f"  beta      {self.beta:g}"
        )

    def latex(self) -> str:
        """The program as a formula, with its sizes; W is the product of (U, V) with its transpose."""
        graphs = r" + \beta \langle B, W \rangle" if self.beta else ""
        B = r",\quad \langle B, W \rangle = g(U, V)" if self.beta else ""
        return (
            r"$$\begin{aligned}\min_{W \succeq 0}\quad & \tfrac12 \sum_{k} \sum_{i \in D_k^+} \sum_{j \in D_k^-} "
            r"\ln(1 + e^{\langle D^{k,i,j}, W \rangle}) \\"
            rf"& + \frac{{\alpha}}{{2}} \mathrm{{tr}}\, W{graphs}{self.regularizer.added_latex('W')}\end{{aligned}}$$"
            r"$$\langle D^{k,i,j}, W \rangle = d_W(x_k, y_i)^2 - d_W(x_k, y_j)^2,"
            rf"\quad d_W(x, y)^2 = \|U^\top x - V^\top y\|^2{B},\quad "
            rf"W \in \mathbb{{R}}^{{{self.cone.d} \times {self.cone.d}}},\quad n = {self.count},\quad "
            rf"\alpha = {self.alpha:g},\quad \beta = {self.beta:g}$$"
        )


def graph_matrix(X: Array, Y: Array, labels_x: sp.csr_array, labels_y: sp.csr_array, n_neighbors: int) -> Array:
    """B of equation 20, positive semidefinite: ``<B, W>`` is a sum of squared distances."""
    XX, N, YY = cross_product(X, Y, labels_x, labels_y)
    within_x = XX + smoothness(X, neighbour_graph(X, labels_x, n_neighbors))
    within_y = YY + smoothness(Y, neighbour_graph(Y, labels_y, n_neighbors))
    return 0.5 * np.block([[within_x, -N], [-N.T, within_y]])


def factor_analysis(X: ArrayLike, Y: ArrayLike, c: int) -> tuple[Array, Array]:
    """Cross-modal factor analysis of coupled rows (equations 21 to 23): U and V with orthonormal columns.

    They maximise ``tr(X U V^T Y^T)`` under ``U^T U = V^T V = I``: the first c singular vectors of ``X^T Y`` (rows are
    objects). Beyond the smaller number of features columns are zero.

    Parameters
    ----------
    X, Y : (n, d_x) and (n, d_y) arrays
        Row i of X and row i of Y belong together.
    c : int

    Returns
    -------
    U, V : (d_x, c) and (d_y, c) arrays

    Raises
    ------
    InputError
        If the rows do not correspond, or c is not a positive integer.
    """
    x, y = as_points(X, "X"), as_points(Y, "Y")
    if len(x) != len(y):
        raise InputError(f"X and Y must be coupled row by row: they have {len(x)} and {len(y)} rows")
    check_count(c, "c")
    return _singular_maps(x.T @ y, c)


def _singular_maps(product: Array, c: int) -> tuple[Array, Array]:
    U, _, Vt = np.linalg.svd(product, full_matrices=False)
    missing = max(0, c - U.shape[1])
    return np.pad(U[:, :c], ((0, 0), (0, missing))), np.pad(Vt[:c].T, ((0, 0), (0, missing)))
