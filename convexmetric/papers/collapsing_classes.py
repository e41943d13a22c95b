r"""Metric learning by collapsing classes (Globerson & Roweis, NIPS 2005).

.. math::
   \min_{M \succeq 0} \quad \sum_{i=1}^n \mathrm{KL}\big( p_0(\cdot \mid i) \,\|\, p_M(\cdot \mid i) \big) + \Omega(M),
   \qquad p_M(j \mid i) = \frac{e^{-d_M(x_i, x_j)}}{\sum_{k \ne i} e^{-d_M(x_i, x_k)}}, \quad j \ne i

=====================  ======================================================================================
M                      the metric, A in the paper; d_M(x, x') = (x - x')^T M (x - x')
p_M(j | i)             probability that point i picks point j as its neighbour
p_0(j | i)             1 / n_i for the n_i other points of the label of i, and 0 for the rest
Omega                  0 in the paper; lambda tr M or lambda / 2 ||M||_F^2 with ``reg``
=====================  ======================================================================================

With :math:`p_0` uniform, :math:`\mathrm{KL}_i = -\ln n_i + \frac{1}{n_i} \sum_{j : y_j = y_i} d_M(x_i, x_j) + \ln
\sum_{k \ne i} e^{-d_M(x_i, x_k)}`: a softmax loss whose chosen candidates are the points of the class, at temperature
1, plus a constant (:class:`~convexmetric.risks.SoftmaxRisk`).

If a linear map collapses every class to its own point, M may grow along it, and the sum tends to 0, which no M
attains: without a regularizer there is no optimum, and solves end at metrics as large as the tolerance requires. This
happens when there are few points relative to features. The data bound M in directions in which all classes vary;
``reg`` bounds it in all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from convexmetric.arguments import checked_weight
from convexmetric.comparisons import Rankings, Relevance
from convexmetric.comparisons.points import Checked, as_rows
from convexmetric.comparisons.relevance import as_labels
from convexmetric.errors import InputError
from convexmetric.papers.choices import cone_of, penalised, penalty_latex, penalty_term
from convexmetric.papers.cvxpy_terms import check_size, given, inner
from convexmetric.problem import MetricProblem
from convexmetric.programs.lazy import cvxpy as cp
from convexmetric.programs.lazy import program
from convexmetric.regularizers import Zero
from convexmetric.risks import SoftmaxRisk


class CollapsingClassesProblem(MetricProblem):
    """Learn a metric under which the neighbours of a point are the points of its label, all equally likely.

    Parameters
    ----------
    X : (n, d) array, or sparse matrix with ``diagonal``
        Points in rows.
    y : (n,) array
        Labels; every class needs two members.
    reg : float
        lambda; 0 for the paper's problem.
    penalty : str
        ``"squared-frobenius"`` for half the squared norm, or ``"trace"``.
    prior : "identity" or array, optional
        M_0: the penalty is then on M - M_0; needs a positive ``reg``.
    diagonal : bool
        Learn one weight a feature instead of a matrix.

    Raises
    ------
    InputError
        If an argument is malformed.

    Examples
    --------
    >>> import convexmetric as cm
    >>> iris = cm.datasets.load("iris")
    >>> problem = cm.papers.CollapsingClassesProblem(iris.X, iris.y, reg=0.1)
    >>> solution = cm.solve(problem)
    >>> print(f"{solution.upper_bound:.3f}, gap at most 1e-6: {solution.gap <= 1e-6}")
    29.291, gap at most 1e-6: True
    """

    risk: SoftmaxRisk

    def __init__(
        self,
        X: Any,
        y: ArrayLike,
        *,
        reg: float = 0.0,
        penalty: str = "squared-frobenius",
        prior: ArrayLike | str | None = None,
        diagonal: bool = False,
    ) -> None:
        cone, points = cone_of(X, diagonal)
        relevance = Relevance.from_labels(as_labels(y, points.shape[0]))
        self.reg, self.penalty_name = checked_weight(reg, "reg", zero=True), penalty
        omega = penalised(penalty, self.reg or 1.0, prior, cone)
        if self.reg == 0.0 and prior is not None:
            raise InputError("prior is what the norm is a distance to: pass a positive reg too, or leave prior out")
        risk = SoftmaxRisk(Rankings(Checked(points), Checked(points), relevance, cone))
        super().__init__(risk, omega if self.reg else Zero(), constant=-float(np.log(relevance.n_relevant).sum()))

    def with_reg(self, reg: float) -> CollapsingClassesProblem:
        """Copy the problem with another lambda, sharing all data."""
        prior = self.regularizer.base.prior
        reg = checked_weight(reg, "reg", zero=prior is None)
        return self._under(penalised(self.penalty_name, reg, prior, self.cone) if reg else Zero(), reg)

    def to_cvxpy(self) -> program.Program:
        """The program above in CVXPY, a divergence for every point.

        Raises
        ------
        InputError
            If there are too many pairs of points to write them out.
        """
        rankings = self.risk.rankings
        x, n, n_same = as_rows(rankings.X), len(rankings), rankings.relevance.n_relevant
        check_size(n * (n - 1), "pairs of points")
        M, in_cone = self.cone.variable("w" if self.cone.diagonal else "M")
        d, constraints, objective = cp.Variable((n, n - 1), name="d"), [], cp.Constant(0.0)
        if self.reg:
            norm = penalty_term(self.penalty_name, self.regularizer.base.prior, self.cone, M)
            objective = given("lambda", self.reg, nonneg=True) * norm
        for i in range(n):
            for c, j in enumerate(np.concatenate(rankings.relevance.of(i)).tolist()):
                D = given(f"D[{i}, {j}]", self.cone.outer(x[i] - x[j]))
                constraints.append((d[i, c] == inner(D, M)).set_label(f"points {i}, {j}"))
            n_i = cp.Constant(n_same[i], name=f"n[{i}]")
            objective += cp.sum(d[i, : n_same[i]]) / n_i + cp.log_sum_exp(-d[i]) - cp.log(n_i)
        return self._program(objective, constraints + in_cone, M)

    def __str__(self) -> str:
        rankings, letter = self.risk.rankings, "w" if self.cone.diagonal else "M"
        drawn = f" + {self.regularizer.text(letter)}" if self.reg else ""
        return (
            f"Metric learning by collapsing classes (Globerson & Roweis 2005)\n\n"
            f"  minimise    sum_i KL(p0(.|i) || p(.|i)){drawn},  p(j|i) ~ exp(-d_{letter}(i, j))\n"
            f"  subject to  {letter} {'>= 0' if letter == 'w' else 'positive semidefinite'}\n\n"
            f"  {letter}         {self.cone.d} features\n"
            f"  i         {len(rankings)} points, each with {rankings.relevance.n_relevant.min()} to "
            f"{rankings.relevance.n_relevant.max()} others of its label\n"
            f"  lambda    {self.reg:g}{self._prior_line(letter)}"
        )

    def latex(self) -> str:
        """The program as a formula, with its sizes."""
        M, sign = ("w", r"\ge 0") if self.cone.diagonal else ("M", r"\succeq 0")
        norm = penalty_latex(self.penalty_name, self.regularizer, M) + " + " if self.reg else ""
        return (
            rf"$$\begin{{aligned}}\min_{{{M} {sign}}}\quad & {norm}\sum_{{i=1}}^{{n}} "
            rf"\left( \frac{{1}}{{n_i}} \sum_{{j : y_j = y_i}} d_{{ij}} "
            rf"+ \ln \sum_{{j \ne i}} e^{{-d_{{ij}}}} - \ln n_i \right)"
            r" \\"
            rf"\text{{s.t.}}\quad & d_{{ij}} = d_{M}(x_i, x_j) = \langle D^{{ij}}, {M} \rangle\end{{aligned}}$$"
            rf"$$n = {len(self.risk.rankings)},\quad d = {self.cone.d},\quad \lambda = {self.reg:g}$$"
        )
