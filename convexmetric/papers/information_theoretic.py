r"""Information-theoretic metric learning (Davis, Kulis, Jain, Sra & Dhillon, ICML 2007).

.. math::
   \min_{A \succeq 0, \; \xi} \quad & D_{\ell d}(A, A_0)
   + \gamma \, D_{\ell d}(\mathrm{diag}\,\xi, \mathrm{diag}\,\xi_0) \\
   \text{s.t.} \quad & d_A(x_i, x_j) \le \xi_{ij} \quad (i, j) \in S, \qquad
   d_A(x_i, x_j) \ge \xi_{ij} \quad (i, j) \in D

=================  ==========================================================================================
A, A_0             the metric, and the prior; d_A(x, x') = (x - x')^T A (x - x')
S, D               similar and dissimilar pairs
xi_0               u for similar pairs and l for dissimilar ones: desired upper and lower bounds on distances
gamma              weight of the slacks
D_ld(A, A_0)       tr(A A_0^-1) - log det(A A_0^-1) - d, the log-determinant divergence
=================  ==========================================================================================

Eliminating each slack gives :math:`\gamma h(d / u)` for similar pairs farther than u, and :math:`\gamma h(d / l)` for
dissimilar ones nearer than l, with :math:`h(t) = t - \ln t - 1`
(:class:`~convexmetric.losses.ItakuraSaito`, :class:`~convexmetric.regularizers.LogDet`).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from convexmetric.arguments import checked_weight, shown
from convexmetric.comparisons import PairDistances
from convexmetric.comparisons.points import Checked, as_points, as_rows
from convexmetric.cones import NonnegativeDiagonal
from convexmetric.errors import InputError
from convexmetric.losses import ItakuraSaito
from convexmetric.papers.choices import cone_of
from convexmetric.papers.cvxpy_terms import check_size, given, inner
from convexmetric.papers.pair_margin import balanced_pairs
from convexmetric.problem import MetricProblem
from convexmetric.programs.lazy import cvxpy as cp
from convexmetric.programs.lazy import program
from convexmetric.regularizers import LogDet
from convexmetric.risks import SeparableRisk

#: Percentiles of the distances of random pairs that the paper takes as u and l.
NEAR, FAR = 5.0, 95.0


class InformationTheoreticProblem(MetricProblem):
    """Learn a metric near a given one under which similar pairs are near and dissimilar ones far.

    Parameters
    ----------
    X : (n, d) array
        Points in rows.
    pairs : (m, 2) int array
        Rows (i, j).
    r : (m,) array
        1 for similar pairs, -1 for dissimilar ones, which must be of different points.
    u, l : float
        Desired upper bound on squared distances of similar pairs, and lower bound on those of dissimilar ones.
    gamma : float
        Weight of the slacks.
    prior : "identity" or array
        A_0, positive definite; a vector of weights if ``diagonal``.
    diagonal : bool
        Learn one weight a feature instead of a matrix.

    Raises
    ------
    InputError
        If an argument is malformed, or points of a dissimilar pair are the same.

    Examples
    --------
    >>> import convexmetric as cm
    >>> iris = cm.datasets.load("iris")
    >>> problem = cm.InformationTheoreticProblem.from_labels(iris.X, iris.y, 200, random_state=0)
    >>> solution = cm.solve(problem)
    >>> solution.status, solution.rank
    ('optimal', 4)
    """

    letter: ClassVar[str] = "A"
    fixed_weights: ClassVar[tuple[str, ...]] = ("gamma",)

    def __init__(
        self,
        X: Any,
        pairs: ArrayLike,
        r: ArrayLike,
        *,
        u: float = 1.0,
        l: float = 2.0,  # noqa: E741 - the paper's letter
        gamma: float = 1.0,
        prior: ArrayLike | str = "identity",
        diagonal: bool = False,
    ) -> None:
        (cone, points), kinds = cone_of(X, diagonal), np.asarray(r)
        if isinstance(prior, str) and prior != "identity":
            raise InputError(f"prior must be 'identity' or a metric, got {shown(prior)}")
        self.u, self.l, self.gamma = checked_weight(u, "u"), checked_weight(l, "l"), checked_weight(gamma, "gamma")
        if kinds.shape != (len(np.asarray(pairs)),) or not np.isin(kinds, (1, -1)).all():
            raise InputError("r must have 1 or -1 for each pair: similar or dissimilar")
        # Margins: minus the squared distance of a similar pair, plus the squared distance of a dissimilar one.
        signs = np.where(kinds == 1, -1.0, 1.0)
        compared = PairDistances(Checked(points), pairs, signs, cone)
        same = (np.abs(compared.differences(slice(None))).sum(axis=1) == 0.0) & (signs > 0.0)
        if same.any():
            raise InputError(f"pair {int(np.argmax(same))} is dissimilar, but its points are the same: leave it out")
        loss = ItakuraSaito(self.gamma, np.where(signs < 0.0, self.u, self.l), signs)
        A0 = cone.identity() if isinstance(prior, str) else cone.element(prior, "prior")
        super().__init__(SeparableRisk(compared, loss), LogDet(A0))
        self.comparisons, self.signs = compared, signs

    @classmethod
    def from_labels(
        cls,
        X: ArrayLike,
        y: ArrayLike,
        count: int,
        *,
        gamma: float = 1.0,
        prior: ArrayLike | str = "identity",
        diagonal: bool = False,
        random_state: Any = None,
    ) -> InformationTheoreticProblem:
        """Draw pairs at random, half of them of one label; u and l are percentiles 5 and 95 of their distances.

        Pairs of the same point, and dissimilar ones at distance zero, are left out.

        Raises
        ------
        InputError
            If an argument is malformed.
        """
        points = as_points(X, sparse=diagonal)
        pairs, r = balanced_pairs(y, count, random_state=random_state)
        d = NonnegativeDiagonal(points.shape[1]).quadratic_forms(
            points[pairs[:, 0]] - points[pairs[:, 1]], np.ones(points.shape[1])
        )
        kept = (d > 0.0) | (r == 1)
        u, l = np.percentile(d[kept], (NEAR, FAR))  # noqa: E741
        points = Checked(points)
        return cls(points, pairs[kept], r[kept], u=float(u), l=float(l), gamma=gamma, prior=prior, diagonal=diagonal)

    def to_cvxpy(self) -> program.Program:
        """The program above in CVXPY, a constraint for every pair.

        Raises
        ------
        InputError
            If there are too many pairs to write them out.
        """
        check_size(len(self.comparisons), "pairs")
        A, in_cone = self.cone.variable(self.letter)
        gamma, u, l = (given(name, getattr(self, name), nonneg=True) for name in ("gamma", "u", "l"))  # noqa: E741
        # Slacks as multiples s of u and l: xi is u s or l s, which allows u and l to be changed.
        s, x, constraints = cp.Variable(len(self.signs), name="s"), as_rows(self.comparisons.X), []
        for t, (i, j) in enumerate(self.comparisons.pairs.tolist()):
            distance = inner(given(f"Q[{i}, {j}]", self.cone.outer(x[i] - x[j])), A)
            bound = distance <= u * s[t] if self.signs[t] < 0.0 else distance >= l * s[t]
            constraints.append(bound.set_label(f"pair {t}: {i}, {j}"))
        A0: Any = self.regularizer.base.prior
        inverse = cp.Constant(1.0 / A0 if self.cone.diagonal else np.linalg.inv(A0), name="A0^-1")
        log_det = (lambda M: cp.sum(cp.log(M))) if self.cone.diagonal else cp.log_det
        at_A0 = log_det(cp.Constant(A0, name="A0")) - cp.Constant(self.cone.d, name="d")
        objective = inner(inverse, A) - log_det(A) + at_A0 + gamma * cp.sum(s - cp.log(s) - 1)
        return self._program(objective, constraints + in_cone, A)

    def __str__(self) -> str:
        similar = int((self.signs < 0.0).sum())
        dissimilar = len(self.signs) - similar
        return (
            f"Information-theoretic metric learning (Davis et al. 2007)\n\n"
            f"  minimise    {self.regularizer.text('A')} + gamma D_ld(xi, xi0)\n"
            f"  subject to  d_A <= xi for similar pairs, d_A >= xi for dissimilar ones\n"
            f"              A {'diagonal and nonnegative' if self.cone.diagonal else 'positive semidefinite'}\n\n"
            f"  A         {self.cone.d} features\n"
            f"  pairs     {similar} similar, u = {self.u:.6g}; {dissimilar} dissimilar, l = {self.l:.6g}\n"
            f"  gamma     {self.gamma:g}{self._prior_line('A')}"
        )

    def latex(self) -> str:
        """The program as a formula, with its sizes."""
        similar = int((self.signs < 0.0).sum())
        sign = r"\ge" if self.cone.diagonal else r"\succeq"
        return (
            rf"$$\begin{{aligned}}\min_{{A {sign} 0,\; s}}\quad & D_{{\ell d}}(A, A_0) "
            rf"+ \gamma \sum_t (s_t - \ln s_t - 1){self.regularizer.added_latex('A')} \\"
            r"\text{s.t.}\quad & \langle Q_{x_i - x_j}, A\rangle \le u s_t \quad \forall (i, j) \in S \\"
            r"& \langle Q_{x_i - x_j}, A\rangle \ge l s_t \quad \forall (i, j) \in D\end{aligned}$$"
            rf"$$D_{{\ell d}}(A, A_0) = \mathrm{{tr}}(A A_0^{{-1}}) - \ln\det(A A_0^{{-1}}) - d,\quad "
            rf"d = {self.cone.d},\quad |S| = {similar},\quad |D| = {len(self.signs) - similar},\quad "
            rf"u = {self.u:.6g},\quad l = {self.l:.6g},\quad \gamma = {self.gamma:g}$$"
        )
