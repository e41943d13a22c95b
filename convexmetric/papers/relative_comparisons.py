r"""Learning a distance metric from relative comparisons (Schultz & Joachims, NIPS 2003).

.. math::
   \min_{w \ge 0, \; \xi \ge 0} \quad & \tfrac12 w^\top L w + C \sum_{ijk} \xi_{ijk} \\
   \text{s.t.} \quad & w^\top (\Delta^{x_i, x_k} - \Delta^{x_i, x_j}) \; \ge \; 1 - \xi_{ijk}
   \qquad \forall (i, j, k) \in P

=====================  ======================================================================================
P                      triplets: x_i is closer to x_j than to x_k
A                      any fixed matrix; the metric is A W A^T with W = diag(w) (equation 1)
d_w(x, x')             sqrt((x - x')^T A W A^T (x - x')); the program has its square, w^T Delta^{x, x'}
Delta^{x, x'}          (A^T x - A^T x') * (A^T x - A^T x'), entrywise (equation 6; equation 7 prints the
                       definition of Delta^{x_i, x_j} with x_k)
L                      (A^T A) * (A^T A), so that w^T L w = ||A W A^T||_F^2; the identity for A = I
K                      kernel matrix, for A = Phi: A^T x holds the K(x, x_i) and L = K * K (equations 3-4)
C                      weight of each slack, times a weight of its triplet where these are given; infinite for the
                       hard margin of section 4
=====================  ======================================================================================
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from convexmetric.arguments import checked_part_weights, checked_weight
from convexmetric.arrays import Array, real_array
from convexmetric.comparisons import Triplets
from convexmetric.comparisons.contradictions import contradiction
from convexmetric.comparisons.points import Checked, as_points, as_rows
from convexmetric.comparisons.triplets import checked_triplets
from convexmetric.cones import NonnegativeDiagonal
from convexmetric.errors import InfeasibleError, InputError
from convexmetric.features import KernelValues, kernel_matrix
from convexmetric.losses import BoxLoss, Hinge, Loss
from convexmetric.papers.cvxpy_terms import check_size, given, given_pairs
from convexmetric.problem import MetricProblem
from convexmetric.programs.lazy import cvxpy as cp
from convexmetric.programs.lazy import program
from convexmetric.regularizers import QuadraticForm, Regularizer, SquaredFrobenius, towards
from convexmetric.regularizers.quadratic_form import is_positive_semidefinite
from convexmetric.risks import SeparableRisk


class RelativeComparisonProblem(MetricProblem):
    """Learn nonnegative weights under which given triplets keep a margin.

    Parameters
    ----------
    X : (n, d) array or sparse matrix
        Points in rows.
    triplets : (T, 3) int array
        Rows ``(i, j, k)``: x_i is closer to x_j than to x_k.
    C : float
        Weight of each violated margin; ``inf`` for hard margins.
    A : (d, m) array, optional
        Fixed linear map; one weight for each of its m columns. Default: the identity, one weight a feature.
    kernel : str, callable or (n, n) array, optional
        ``A = Phi``: one weight for each point of ``X``. ``"linear"``, ``"rbf"`` (exp(-gamma ||x - x'||^2) with
        gamma = 1/d), a function of two point matrices such as those of ``sklearn.metrics.pairwise``, or the
        kernel matrix of ``X``.
    weights : (T,) array, optional
        Weights of the triplets, by which C is multiplied; those of weight 0 are left out. Only with finite C: a hard
        margin has no weight.
    prior : "identity" or (d,) array, optional
        w_0 of ``1/2 ||w - w_0||^2``, prior weights, to which w tends as C falls. Without ``A`` and ``kernel``.

    Raises
    ------
    InputError
        If an argument is malformed, ``A`` and ``kernel`` are both given, a prior with one of them, or ``weights`` with
        an infinite C.
    InfeasibleError
        If ``C`` is infinite and no weights satisfy all triplets; the message names some that contradict each other.

    Examples
    --------
    Four points, of which the first two are closer to the last than to the third:

    >>> import convexmetric as cm
    >>> X = [[0.0, 0.0], [1.0, 3.0], [2.0, 0.5], [0.2, 2.0]]
    >>> problem = cm.RelativeComparisonProblem(X, [[0, 3, 2], [1, 3, 2]], C=1.0)
    >>> solution = cm.solve(problem, tol=1e-8)
    >>> solution.w.round(4)
    array([0.4065, 0.1626])
    >>> print(f"{solution.lower_bound:.6f} <= optimum <= {solution.upper_bound:.6f}")
    0.095842 <= optimum <= 0.095842
    """

    letter: ClassVar[str] = "w"
    C: float

    def __init__(
        self,
        X: Any,
        triplets: ArrayLike,
        *,
        C: float = 1.0,
        A: ArrayLike | None = None,
        kernel: str | Callable[[Any, Any], ArrayLike] | ArrayLike | None = None,
        weights: ArrayLike | None = None,
        prior: ArrayLike | str | None = None,
    ) -> None:
        points = as_points(X, sparse=True)
        if A is not None and kernel is not None:
            raise InputError("A and kernel exclude each other: kernel means A = Phi; pass one of them")
        if prior is not None and not (A is None and kernel is None):
            raise InputError("prior is for weights of features: leave it out, or A and kernel")
        self.A: Array | None = None
        self.K: Array | None = None
        self._kernel_values: KernelValues | None = None
        if kernel is not None:
            self.K = features = kernel_matrix(points, kernel)
            if not is_positive_semidefinite(features * features):
                raise InputError(
                    "kernel must be positive semidefinite; a matrix of similarities may need its diagonal raised"
                )
            if isinstance(kernel, str) or callable(kernel):
                self._kernel_values = KernelValues(kernel, points)
            regularizer: Regularizer = QuadraticForm(features * features)
        elif A is not None:
            self.A = as_points(A, "A")
            if self.A.shape[0] != points.shape[1]:
                raise InputError(
                    f"A must have one row a feature: X has {points.shape[1]}, A has {self.A.shape[0]} rows"
                )
            features = as_points(np.asarray(points @ self.A))
            regularizer = QuadraticForm.gram(self.A)
        else:
            features = points
            regularizer = SquaredFrobenius(1.0)
            if prior is not None:
                regularizer = towards(regularizer, prior, NonnegativeDiagonal(points.shape[1]))
        listed = checked_triplets(triplets, features.shape[0])
        #: Weights of the triplets; None where all are 1.
        self.triplet_weights = checked_part_weights(weights, len(listed), "weights", "triplet")
        if self.triplet_weights is not None:
            kept = self.triplet_weights > 0.0
            listed, self.triplet_weights = listed[kept], self.triplet_weights[kept]
        self.triplets = Triplets(Checked(features), listed, NonnegativeDiagonal(features.shape[1]))
        self._weigh(C, regularizer)

    def with_C(self, C: float) -> RelativeComparisonProblem:
        """Copy the problem with another C, sharing all data."""
        other = copy(self)
        other._weigh(C, self.regularizer)
        return other

    def _weigh(self, C: float, regularizer: Regularizer) -> None:
        self.C = checked_weight(C, "C", infinite=True)
        loss: Loss = Hinge(self.C)
        if self.triplet_weights is not None:
            if np.isinf(self.C):
                raise InputError(
                    "C=inf asks for hard margins, which have no weights: leave weights (of estimators "
                    "sample_weight) out, or lower C"
                )
            loss = BoxLoss.hinge(self.C * self.triplet_weights, np.ones(len(self.triplets)))
        super().__init__(SeparableRisk(self.triplets, loss), regularizer)
        if np.isinf(self.C):
            self._check_feasible()

    def _check_feasible(self) -> None:
        clash = contradiction(self.triplets)
        if clash is None:
            return
        triplets = [
            f"triplets[{t}] = ({i}, {j}, {k})"
            for t, (i, j, k) in zip(clash, self.triplets.triplets[clash], strict=True)
        ]
        more = f"; and {clash.size - 6} more" if clash.size > 6 else ""
        these = "this triplet" if clash.size == 1 else f"these {clash.size} triplets together"
        raise InfeasibleError(
            f"C=inf asks for hard margins, but no weights satisfy {these}: {'; '.join(triplets[:6])}{more}. "
            "Drop one of them, or allow violations with a finite C"
        )

    def metric(self, M: ArrayLike) -> Array:
        """Check the weights ``w``. With ``A`` a matrix is refused: it could be ``diag(w)`` or ``A diag(w) A^T``."""
        if self.A is not None and real_array(M, self.letter).ndim == 2:
            raise InputError(f"with A, pass the {self.cone.d} weights w (Solution.w), not a matrix")
        return super().metric(M)

    def from_features(self, M: ArrayLike) -> Array:
        """Return the weights unchanged, after the checks of :meth:`metric`."""
        return self.metric(M)

    @property
    def feature_map(self) -> Any:
        """``A^T``; None without A."""
        return None if self.A is None else self.A.T

    @property
    def embedding(self) -> KernelValues | None:
        """Kernel values with the points; None without a kernel, or where only their matrix is known."""
        return self._kernel_values

    def to_cvxpy(self) -> program.Program:
        """The program above in CVXPY, a constraint for every triplet.

        Raises
        ------
        InputError
            If there are too many triplets to write them out.
        """
        check_size(len(self.triplets), "triplets")
        w, in_cone = self.cone.variable("w")
        root = self.A.T @ self.A if self.A is not None else self.K
        if root is None:
            prior = self.regularizer.base.prior
            objective = cp.sum_squares(w if prior is None else w - given("w0", prior)) / 2
        else:
            objective = cp.quad_form(w, cp.psd_wrap(cp.Constant(root * root, name="L"))) / 2
        xi = cp.Variable(len(self.triplets), nonneg=True, name="xi")
        if soft := np.isfinite(self.C):
            weights = self.triplet_weights
            slacks = cp.sum(xi) if weights is None else cp.Constant(weights, name="c") @ xi
            objective += given("C", self.C, nonneg=True) * slacks
        x, constraints = as_rows(self.triplets.X), []
        Delta = given_pairs("Delta", lambda i, j: (x[i] - x[j]) ** 2)
        for t, (i, j, k) in enumerate(self.triplets.triplets.tolist()):
            margin = w @ Delta(i, k) - w @ Delta(i, j) + (xi[t] if soft else 0.0)
            constraints.append((margin >= 1).set_label(f"triplet {i}, {j}, {k}"))
        return self._program(objective, constraints + in_cone, w)

    def __str__(self) -> str:
        n, d = self.triplets.X.shape
        m = self.cone.d
        if self.K is not None:
            space, form = f"A = Phi, a kernel on {n} points: one weight a point", "1/2 w^T (K*K) w"
        elif self.A is not None:
            space, form = f"A is {self.A.shape[0]} x {m}: one weight a column", "1/2 w^T (A^T A * A^T A) w"
        else:
            space, form = f"A = I: one weight for each of {d} features", "1/2 w^T w"
            if self.regularizer.base.prior is not None:
                form = "1/2 ||w - w0||^2"
        hard = np.isinf(self.C)
        slack = "" if hard else f" + C sum_ijk {'' if self.triplet_weights is None else 'c_ijk '}xi_ijk"
        margin = "1" if hard else "1 - xi_ijk"
        return (
            f"Metric from relative comparisons (Schultz & Joachims 2003), {'hard' if hard else 'soft'} margin\n\n"
            f"  minimise    {form}{slack}\n"
            f"  subject to  d_w(x_i, x_k)^2 - d_w(x_i, x_j)^2 >= {margin}   for every triplet (i, j, k)\n"
            f"              w >= 0{'' if hard else ', xi >= 0'}\n\n"
            f"  w         {m} weights; {space}\n"
            f"  triplets  {len(self.triplets)} on {n} points\n"
            f"  C         {self.C:g}{self._prior_line('w')}"
        )

    def latex(self) -> str:
        """The program as a formula, with its sizes."""
        hard = np.isinf(self.C)
        weight = "" if self.triplet_weights is None else "c_{ijk} "
        slack = "" if hard else rf" + C \sum_{{ijk}} {weight}\xi_{{ijk}}"
        margin = "1" if hard else r"1 - \xi_{ijk}"
        signs = r"w \ge 0" if hard else r"w \ge 0, \; \xi \ge 0"
        C = r"\infty" if hard else f"{self.C:g}"
        norm = r"\tfrac12 w^\top L w" if self.regularizer.base.prior is None else r"\tfrac12 \|w - w_0\|^2"
        return (
            rf"$$\begin{{aligned}}\min_{{{signs}}}\quad & {norm}{slack}"
            rf"{self.regularizer.added_latex('w')} \\"
            rf"\text{{s.t.}}\quad & w^\top(\Delta^{{x_i,x_k}} - \Delta^{{x_i,x_j}}) \ge {margin}"
            r"\quad \forall (i,j,k) \in P\end{aligned}$$"
            rf"$$w \in \mathbb{{R}}^{{{self.cone.d}}},\quad |P| = {len(self.triplets)},\quad "
            rf"C = {C},\quad L = {self._latex_L()}$$"
        )

    def _latex_L(self) -> str:
        if self.K is not None:
            return r"K \circ K"
        return "I" if self.A is None else r"(A^\top A) \circ (A^\top A)"
