r"""Learning similarity with operator-valued large-margin classifiers (Maurer, JMLR 2008).

.. math::
   \Lambda(A) = \frac{1}{m} \sum_{i=1}^m h_{\gamma_{r_i}}\!\big( r_i (1 - \langle Q_{x_i - x'_i}, A \rangle) \big)
              + \frac{\lambda}{\sqrt{m}} \|A\|_2, \qquad A = T^* T \succeq 0

=========================  ====================================================================================
S                          m pairs (x, x', r): similar (r = 1) or not (r = -1); with weights m is their sum, and the
                           mean over S a weighted one. Where S is all pairs of n points the mean is over all of them,
                           but m in the norm's weight is n
T                          ||Tx - Tx'|| < 1 means similar; A = T*T is what is learned
Q_x                        the outer product of x with itself: <Q_{x-x'}, A> = ||Tx - Tx'||^2 (lemma 3)
h_gamma                    hinge of margin gamma, max(0, 1 - t / gamma)
``gamma_1, gamma_-1``      inside margin of similar pairs, outside margin of the others (section 3.2)
||.||_2                    Hilbert-Schmidt norm, not squared; the trace norm as the variant discussed there
lambda                     weight of the norm; 0.005 (Hilbert-Schmidt) and 0.001 (trace) in all of section 6
kappa                      kernel: A lives in the span M of the differences x_i - x'_i (theorem 14, equation 7)
A_0                        a prior, not in the paper: the norm is then 1/2 ||A - A_0||_2^2, whose optimum at lambda
                           is that of ||A - A_0||_2 at lambda times this distance: the same metrics, solved faster
=========================  ====================================================================================

As margins: s = -r <Q_{x-x'}, A> and a loss max(0, gamma_r - r - s) / gamma_r. With gamma_1 >= 1 a similar pair costs
something at any distance, and its hinge is linear.

Errors of the paper: the loss step of table 1 lacks a factor 2 that its regularizer step has, so that it descends
the objective of twice the lambda, and its w_i ends in v_i where the gradient above it has v_j. The balanced oracle of
section 5.1 draws pairs with probabilities mu-bar; the procedure beneath it, "draw x, then x' from the class of x", does
the same only when all classes are equally likely. Here mu-bar is used. In section 4.1 the loss (y - t)^2 / (y - y_0)^2
with y_0 > 0 is infinite at y = y_0; what compensates for large distances is (y + y_0)^2. The proof of theorem 14 puts
T_n = U A_n^(1/2) with the partial isometry U of T_v, for which T_n* T_n is not A_n where A_v does not have the rank of
A_n; with U extended to an isometry of M, for which dim M <= m leaves room, the theorem is right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from convexmetric import arguments
from convexmetric.arrays import Array
from convexmetric.comparisons import PairDistances
from convexmetric.comparisons.pairs import LabelledPairs, ListedPairs, label_codes, one_a_pair, pair_signs
from convexmetric.comparisons.points import Checked, as_points, as_rows
from convexmetric.cones import Cone, NonnegativeDiagonal, PSDCone
from convexmetric.errors import InputError
from convexmetric.features import Kernel, KernelSpan
from convexmetric.losses import BoxLoss
from convexmetric.papers.cvxpy_terms import check_size, given, given_pairs, inner
from convexmetric.papers.spanned import SpannedProblem, check_no_kernel
from convexmetric.programs.lazy import cvxpy as cp
from convexmetric.programs.lazy import program
from convexmetric.regularizers import Frobenius, Regularizer, SquaredFrobenius, Trace, towards
from convexmetric.risks import LabelledPairRisk, PairHinge, Risk, SeparableRisk

NORMS: dict[str, type[Frobenius] | type[Trace]] = {"frobenius": Frobenius, "trace": Trace}
LOSSES = ("squared", "absolute", "weighted")


class _PairProblem(SpannedProblem):
    """Base of the problems on pairs: the span of the differences, and the regularizer ``lambda / sqrt(m) ||A||``."""

    letter: ClassVar[str] = "A"
    reg: float
    norm: str
    n_points: int
    m: float
    #: Weights of the pairs; None where all are 1.
    pair_weights: Array | None = None
    #: A_0; None without a prior.
    prior: ArrayLike | str | None = None

    def _spanned(self, points: Any, kernel: Any, pairs: np.ndarray | None, diagonal: bool = False) -> tuple[Any, Cone]:
        """Return coordinates of the points, and their cone; set the span under a kernel or with few points."""
        arguments.check_flag(diagonal, "diagonal")
        n, d = points.shape
        if diagonal:
            check_no_kernel(kernel)
            return points, NonnegativeDiagonal(d)
        # A prior acts outside of the span of the training points as well, where new points may lie.
        if kernel is None and (d <= n or self.prior is not None):
            return as_rows(points), PSDCone(d)
        self.span = KernelSpan.of(points, "linear" if kernel is None else kernel, pairs)
        features = as_points(self.span.coordinates)
        return features, PSDCone(features.shape[1])

    def _kept(self, weights: Any, pairs: np.ndarray, values: Array) -> tuple[np.ndarray, Array, Array]:
        """Select the pairs of positive weight, with their values and their weights over the sum m of all."""
        own = arguments.checked_part_weights(weights, len(pairs), "weights", "pair")
        if own is None:
            self.m = len(pairs)
            return pairs, values, np.full(len(pairs), 1.0 / len(pairs))
        kept, total = own > 0.0, float(own.sum())
        self.m, self.pair_weights = int(total) if total.is_integer() else total, own[kept]
        return pairs[kept], values[kept], own[kept] / total

    def _finish(self, risk: Risk, n_points: int, m: float, reg: float, penalty: str) -> None:
        arguments.check_one_of(penalty, NORMS, "penalty")
        if self.prior is not None and penalty != "frobenius":
            raise InputError(f"prior is for penalty='frobenius': leave prior out, or penalty, which is {penalty!r}")
        self.reg, self.norm = arguments.checked_weight(reg, "reg"), penalty
        self.n_points, self.m = n_points, m
        super().__init__(risk, self._regularizer(self.reg, risk.cone))
        self.prior = self.regularizer.prior

    def _regularizer(self, reg: float, cone: Cone) -> Regularizer:
        if self.prior is None:
            return NORMS[self.norm].over_root(reg, self.m)
        return towards(SquaredFrobenius.over_root(reg, self.m), self.prior, cone)

    def with_reg(self, reg: float) -> _PairProblem:
        """Copy the problem with another lambda, sharing all data."""
        reg = arguments.checked_weight(reg, "reg")
        return self._under(self._regularizer(reg, self.cone), reg)

    def _written(
        self, pairs: np.ndarray, mean: cp.Expression, bind: Callable[[int, cp.Expression], cp.Constraint]
    ) -> program.Program:
        """Write the program in CVXPY; ``bind`` maps a pair's number and ``<Q, A>`` to the constraint on its loss."""
        X = as_rows(self.risk.points[0])
        A, in_cone, users = self._stated_variable()
        lam, m, constraints = given("lambda", self.reg, nonneg=True), cp.Constant(self.m, name="m"), []
        norm = cp.norm(A, "fro") if self.norm == "frobenius" else self.cone.trace_expression(A)
        if self.prior is not None:
            norm = cp.sum_squares(A - cp.Constant(self.as_stated(np.asarray(self.prior)), name="A0")) / 2
        Q = given_pairs("Q", lambda i, j: self.as_stated(self.cone.outer(X[i] - X[j])))
        for t, (i, j) in enumerate(pairs.tolist()):
            constraints.append(bind(t, inner(Q(i, j), A)).set_label(f"pair {t}: {i}, {j}"))
        return self._program(lam / cp.sqrt(m) * norm + mean, constraints + in_cone, A, users)

    def _mean(self, losses: cp.Expression) -> cp.Expression:
        """The mean over listed pairs in CVXPY, a weighted one where pairs have weights."""
        own = self.pair_weights
        total = cp.sum(losses) if own is None else cp.Constant(own, name="c") @ losses
        return total / cp.Constant(self.m, name="m")

    def _mean_latex(self) -> str:
        return r"\frac{1}{m} \sum_{i=1}^m" if self.pair_weights is None else r"\frac{1}{m} \sum_i c_i"

    @property
    def _size(self) -> str:
        """m, the sum of the weights of the pairs, as text."""
        return str(self.m) if isinstance(self.m, int) else f"{self.m:.6g}"

    def _norm_text(self) -> str:
        if self.prior is not None:
            return "1/2 ||A - A0||_2^2"
        return "||A||_2" if self.norm == "frobenius" else "tr A"

    def _norm_latex(self) -> str:
        norm = r"\|A\|_2" if self.norm == "frobenius" else r"\mathrm{tr} A"
        if self.prior is not None:
            norm = r"\tfrac12 \|A - A_0\|_2^2"
        return rf"\frac{{\lambda}}{{\sqrt{{m}}}} {norm}{self.regularizer.added_latex('A')}"


class PairMarginProblem(_PairProblem):
    """Learn an operator under which similar points are nearer than 1, and others farther, by a margin.

    Parameters
    ----------
    X : (n, d) array or sparse matrix
        Points in rows.
    pairs : (m, 2) int array
        Rows ``(i, j)``; a pair may occur more than once.
    y : (m,) array
        +1 for similar, -1 for dissimilar pairs.
    reg : float
        lambda; the norm has the weight ``lambda / sqrt(m)``.
    margin : float or (float, float)
        gamma, or the margins of similar and of dissimilar pairs.
    penalty : str
        ``"frobenius"`` (Hilbert-Schmidt, not squared) or ``"trace"``.
    kernel : str, callable or (n, n) array, optional
        ``"linear"``, ``"rbf"``, ``"unit-rbf"`` (that of section 6.1), a function of two point matrices, or the kernel
        matrix of X. The metric then acts on coordinates of the span of the differences (:attr:`embedding`).
    weights : (m,) array, optional
        Weights of the pairs: a pair of weight 2 counts as if it were there twice, also in m. Those of weight 0 are
        left out.
    prior : "identity" or array, optional
        A_0 of ``lambda / (2 sqrt(m)) ||A - A_0||_2^2``, which takes the place of the norm: a ``(d, d)`` metric or the
        weights of a diagonal one, or one on coordinates of the span under a kernel. Not with the trace.
    diagonal : bool
        Learn one weight a feature instead of a matrix. Not with a kernel.

    Raises
    ------
    InputError
        If an argument is malformed.

    Examples
    --------
    >>> import convexmetric as cm
    >>> iris = cm.datasets.load("iris")
    >>> problem = cm.PairMarginProblem.from_labels(iris.X / 8.0, iris.y, n_pairs=200, random_state=0)
    >>> solution = cm.solve(problem)
    >>> print(f"{solution.upper_bound:.5f}, gap at most 1e-6: {solution.gap <= 1e-6}")
    0.20958, gap at most 1e-6: True
    """

    #: Number of all pairs of labelled points from which the pairs were drawn; None where nothing was drawn.
    drawn_of: int | None = None
    #: Whether similar and dissimilar pairs have the same total weight; of drawn pairs, the same expected number.
    balanced: bool = False

    def __init__(
        self,
        X: Any,
        pairs: ArrayLike,
        y: ArrayLike,
        *,
        reg: float = 0.005,
        margin: float | Sequence[float] = 1.0,
        penalty: str = "frobenius",
        kernel: Kernel | ArrayLike | None = None,
        weights: ArrayLike | None = None,
        prior: ArrayLike | str | None = None,
        diagonal: bool = False,
    ) -> None:
        points = as_points(X, sparse=True)
        listed = ListedPairs(pairs, points.shape[0]).pairs
        listed, r, shares = self._kept(weights, listed, pair_signs(y, len(listed)))
        self.pairs: np.ndarray | None = listed
        self.r, self.prior = r, prior
        self.margin = arguments.checked_margins(margin)
        self.n_similar = int((r > 0.0).sum())
        features, cone = self._spanned(points, kernel, listed, diagonal)
        gamma = np.where(r > 0.0, *self.margin)
        distances = PairDistances(Checked(features), listed, -r, cone)
        costs = 1.0 / (gamma * r.size) if self.pair_weights is None else shares / gamma
        loss = BoxLoss.hinge(costs, gamma - r, linear=(r > 0.0) & (gamma >= 1.0))
        self._finish(SeparableRisk(distances, loss), points.shape[0], self.m, reg, penalty)

    @classmethod
    def from_labels(
        cls,
        X: Any,
        y: ArrayLike,
        *,
        n_pairs: int | None = None,
        balanced: bool = True,
        random_state: int | np.random.Generator | None = None,
        reg: float = 0.005,
        margin: float | Sequence[float] = 1.0,
        penalty: str = "frobenius",
        kernel: Kernel | ArrayLike | None = None,
        prior: ArrayLike | str | None = None,
        diagonal: bool = False,
    ) -> PairMarginProblem:
        """State the problem on labelled points: pairs of equal labels are similar, others are not (section 5.1).

        Parameters
        ----------
        X : (n, d) array or sparse matrix
        y : (n,) array
            Labels.
        n_pairs : int or None
            Pairs drawn independently; None for all pairs, which are never listed.
        balanced : bool
            Whether similar and dissimilar pairs are equally likely to be drawn, or have the same total weight.
        random_state : int, numpy.random.Generator or None
            Seed or generator for the draws.
        reg, margin, penalty, kernel, prior, diagonal
            As for the class. With all pairs, m is the number n of points: no more of them are independent (section
            6.4).

        Raises
        ------
        InputError
            If an argument is malformed, or the labels have no two points alike or no two different ones.
        """
        points = as_points(X, sparse=True)
        codes = label_codes(y, points.shape[0])
        arguments.check_flag(balanced, "balanced")
        count = codes.size * (codes.size - 1) // 2
        if n_pairs is not None:
            pairs, r = balanced_pairs(y, n_pairs, random_state=random_state, balanced=bool(balanced))
            options: dict[str, Any] = {"penalty": penalty, "kernel": kernel, "prior": prior, "diagonal": diagonal}
            problem = cls(Checked(points), pairs, r, reg=reg, margin=margin, **options)
            problem.drawn_of = count
            return problem
        problem = cls.__new__(cls)
        problem.pairs, problem.margin, problem.prior = None, arguments.checked_margins(margin), prior
        problem.balanced = bool(balanced)
        problem.n_similar = len(LabelledPairs(codes, same=True)) // 2
        features, cone = problem._spanned(points, kernel, None, diagonal)
        if sp.issparse(features):
            raise InputError("X is sparse, and all of its pairs need a dense one: pass n_pairs, or X.toarray()")
        shares = [0.5 / kind if balanced else 1.0 / count for kind in (problem.n_similar, count - problem.n_similar)]
        same, other = (
            PairHinge(share / gamma, gamma - r, similar=r > 0)
            for share, gamma, r in zip(shares, problem.margin, (1, -1), strict=True)
        )
        risk = LabelledPairRisk(Checked(features), codes, same, other, cone)
        problem._finish(risk, codes.size, codes.size, reg, penalty)
        return problem

    def to_cvxpy(self) -> program.Program:
        """The program above in CVXPY, a hinge for every pair.

        Raises
        ------
        InputError
            If there are too many pairs to write them out.
        """
        check_size(self._count, "pairs")
        n, xi = self._count, cp.Variable(self._count, nonneg=True, name="xi")
        inside, outside = (given(f"gamma_{r}", g, nonneg=True) for r, g in zip((1, -1), self.margin, strict=True))
        if self.pairs is not None:
            pairs, similar, mean = self.pairs, self.r > 0.0, self._mean(xi)
        else:
            assert isinstance(self.risk, LabelledPairRisk)
            pairs = np.column_stack(np.triu_indices(self.n_points, 1))
            similar = np.equal(*self.risk.codes[pairs.T])
            own = np.where(similar, n / (2.0 * self.n_similar), n / (2.0 * (n - self.n_similar)))
            mean = (cp.Constant(own, name="c") @ xi if self.balanced else cp.sum(xi)) / cp.Constant(n, name="|S|")

        def hinge(t: int, distance: cp.Expression) -> cp.Constraint:
            return inside * (1 - xi[t]) <= 1 - distance if similar[t] else outside * (1 - xi[t]) <= distance - 1

        return self._written(pairs, mean, hinge)

    @property
    def _count(self) -> int:
        """Number of pairs."""
        return self.n_points * (self.n_points - 1) // 2 if self.pairs is None else len(self.pairs)

    def __str__(self) -> str:
        space = "features" if self.embedding is None else "coordinates of the differences' span under the kernel"
        drawn = "" if self.drawn_of is None else f" drawn of all {self.drawn_of}"
        kind = f"{'all ' if self.pairs is None else ''}{self._count}{'' if self.pair_weights is None else ' weighted'}"
        inside, outside = self.margin
        weighing = "; similar ones weigh as much as others" if self.balanced else ""
        cone = "diagonal and nonnegative" if self.cone.diagonal else "positive semidefinite"
        return (
            f"Operator-valued large-margin classifier (Maurer 2008)\n\n"
            f"  minimise    mean_S h(r (1 - ||Tx - Tx'||^2)) + {self.reg:g} / sqrt(m) {self._norm_text()},  A = T*T\n"
            f"  subject to  A {cone}\n\n"
            f"  A         {self.cone.d} {space}\n"
            f"  S         {kind} pairs{drawn} of {self.n_points} points, {self.n_similar} similar; "
            f"m = {self._size}{weighing}\n"
            f"  h         hinge of margin {inside:g} for similar pairs, {outside:g} for others{self._prior_line('A')}"
        )

    def latex(self) -> str:
        """The program as a formula, with its sizes."""
        n, same, mean, pairs = self._count, self.n_similar, self._mean_latex(), ""
        if self.pairs is None:
            mean, pairs = r"\frac{1}{|S|} \sum_{(x_i, x'_i, r_i) \in S}", rf",\quad |S| = {n}"
        cone = r"A \in \mathrm{diag}(\mathbb{R}^d_+)" if self.cone.diagonal else r"A \succeq 0"
        if self.balanced:
            mean, sizes = mean + " c_{r_i}", rf"|S_1| = {same},\quad |S_{{-1}}| = {n - same}"
            pairs += rf",\quad c_r = \frac{{|S|}}{{2 |S_r|}},\quad {sizes}"
        return (
            rf"$$\begin{{aligned}}\min_{{{cone}}}\quad & {mean} h_{{\gamma_{{r_i}}}}"
            r"(r_i (1 - \langle Q_{x_i - x'_i}, A\rangle)) \\"
            rf"& + {self._norm_latex()}\end{{aligned}}$$"
            r"$$h_\gamma(t) = \max(0, 1 - t / \gamma) = \min_{\xi \ge 0,\, \gamma (1 - \xi) \le t} \xi,\quad "
            rf"A \in \mathbb{{R}}^{{{self.cone.d} \times {self.cone.d}}},\quad m = {self._size}{pairs},\quad "
            rf"\lambda = {self.reg:g},\quad "
            rf"\gamma_1 = {self.margin[0]:g},\quad \gamma_{{-1}} = {self.margin[1]:g}$$"
        )


class SimilarityRegressionProblem(_PairProblem):
    r"""Similarity regression (section 4.1): squared distances under T come near given values.

    .. math:: \min_{A \succeq 0} \; \frac1m \sum_i \ell(y_i, \langle Q_{x_i - x'_i}, A \rangle)
              + \frac{\lambda}{\sqrt m} \|A\|_2

    Parameters
    ----------
    X : (n, d) array or sparse matrix
        Points in rows.
    pairs : (m, 2) int array
        Rows ``(i, j)``.
    y : (m,) array
        Targets of ``||Tx - Tx'||^2``, in [0, 1].
    reg : float
        lambda.
    loss : str
        ``"squared"``, (y - t)^2; ``"absolute"``, abs(y - t); ``"weighted"``, (y - t)^2 / (y + y0)^2.
    y0 : float
        y_0 of the weighted loss.
    as_printed : bool
        Use (y - t)^2 / (y - y0)^2 as the weighted loss.
    penalty, kernel, weights
        As for :class:`PairMarginProblem`.

    Raises
    ------
    InputError
        If an argument is malformed.

    Examples
    --------
    >>> import convexmetric as cm
    >>> X = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    >>> problem = cm.SimilarityRegressionProblem(X, [[0, 1], [0, 2]], [0.8, 0.1], reg=0.01)
    >>> cm.solve(problem).M.diagonal().round(2)
    array([0.79, 0.1 ])
    """

    def __init__(
        self,
        X: Any,
        pairs: ArrayLike,
        y: ArrayLike,
        *,
        reg: float = 0.005,
        loss: str = "squared",
        y0: float = 0.1,
        as_printed: bool = False,
        penalty: str = "frobenius",
        kernel: Kernel | ArrayLike | None = None,
        weights: ArrayLike | None = None,
    ) -> None:
        points = as_points(X, sparse=True)
        listed = ListedPairs(pairs, points.shape[0]).pairs
        self.pairs, targets, costs = self._kept(weights, listed, _values(y, len(listed)))
        self.y = targets
        arguments.check_one_of(loss, LOSSES, "loss")
        arguments.check_flag(as_printed, "as_printed")
        self.loss, self.y0, self.as_printed = loss, arguments.checked_weight(y0, "y0"), bool(as_printed)
        if loss == "weighted":
            scale = targets - self.y0 if as_printed else targets + self.y0
            if not scale.all():
                raise InputError(f"y0 must not be a value of y, where the printed loss is infinite; got {y0!r}")
            costs = costs / scale**2
        made = BoxLoss.absolute_error if loss == "absolute" else BoxLoss.squared_error
        features, cone = self._spanned(points, kernel, self.pairs)
        distances = PairDistances(Checked(features), self.pairs, np.ones(targets.size), cone)
        self._finish(SeparableRisk(distances, made(costs, targets)), len(features), self.m, reg, penalty)

    def to_cvxpy(self) -> program.Program:
        """The program above in CVXPY, a loss for every pair.

        Raises
        ------
        InputError
            If there are too many pairs to write them out.
        """
        check_size(len(self.pairs), "pairs")
        s = cp.Variable(len(self.y), name="s")
        y, y0 = given("y", self.y), given("y_0", self.y0, nonneg=True)

        def residual(t: int, distance: cp.Expression) -> cp.Constraint:
            shifted = y[t] - y0 if self.as_printed else y[t] + y0
            return (shifted * s[t] if self.loss == "weighted" else s[t]) == y[t] - distance

        return self._written(self.pairs, self._mean(cp.abs(s) if self.loss == "absolute" else cp.square(s)), residual)

    def __str__(self) -> str:
        sign = "-" if self.as_printed else "+"
        loss = {"squared": "(y - t)^2", "absolute": "abs(y - t)", "weighted": f"(y - t)^2 / (y {sign} {self.y0:g})^2"}
        counted = f"m = {self._size} pairs"
        if self.pair_weights is not None:
            counted = f"{len(self.pairs)} pairs of weights that add up to m = {self._size},"
        return (
            f"Similarity regression (Maurer 2008, section 4.1)\n\n"
            f"  minimise    mean_S {loss[self.loss]} + {self.reg:g} / sqrt(m) {self._norm_text()},"
            f"  t = ||Tx - Tx'||^2,  A = T*T\n"
            f"  subject to  A positive semidefinite\n\n"
            f"  A         {self.cone.d} coordinates\n"
            f"  S         {counted} of {self.n_points} points"
        )

    def latex(self) -> str:
        """The program as a formula, with its sizes."""
        loss = {"squared": "(y_i - t_i)^2", "absolute": "|y_i - t_i|"}
        loss["weighted"] = rf"\frac{{(y_i - t_i)^2}}{{(y_i {'-' if self.as_printed else '+'} y_0)^2}}"
        shift = rf",\quad y_0 = {self.y0:g}" if self.loss == "weighted" else ""
        return (
            rf"$$\begin{{aligned}}\min_{{A \succeq 0}}\quad & {self._mean_latex()} {loss[self.loss]} \\"
            rf"& + {self._norm_latex()}\end{{aligned}}$$"
            rf"$$t_i = \langle Q_{{x_i - x'_i}}, A\rangle,\quad "
            rf"A \in \mathbb{{R}}^{{{self.cone.d} \times {self.cone.d}}},\quad m = {self._size},\quad "
            rf"\lambda = {self.reg:g}{shift}$$"
        )


def balanced_pairs(
    y: ArrayLike, n_pairs: int, random_state: int | np.random.Generator | None = None, *, balanced: bool = True
) -> tuple[np.ndarray, Array]:
    r"""Draw from the pair oracle of a labelled task (section 5.1).

    A fair coin decides on a similar or a dissimilar pair, which is then drawn uniformly among all pairs of different
    points of that kind; without balance, among all pairs.

    Parameters
    ----------
    y : (n,) array
        Labels.
    n_pairs : int
        Number of draws; a pair can be drawn twice.
    random_state : int, numpy.random.Generator or None
    balanced : bool

    Returns
    -------
    pairs : (n_pairs, 2) int array
    r : (n_pairs,) array
        +1 for equal labels, -1 for different ones.

    Raises
    ------
    InputError
        If an argument is malformed, or the labels have no two points alike or no two different ones.
    """
    codes = label_codes(y)
    arguments.check_count(n_pairs, "n_pairs")
    rng = arguments.as_generator(random_state)
    same, other = LabelledPairs(codes, same=True), LabelledPairs(codes, same=False)
    share = 0.5 if balanced else len(same) / (len(same) + len(other))
    similar = rng.random(n_pairs) < share
    pairs = np.where(similar[:, None], same.sample(rng, n_pairs), other.sample(rng, n_pairs))
    return pairs, np.where(similar, 1.0, -1.0)


def _values(y: ArrayLike, m: int) -> Array:
    values = one_a_pair(y, m)
    wrong = np.flatnonzero(~((values >= 0.0) & (values <= 1.0)))
    if wrong.size:
        raise InputError(f"y must hold values from 0 to 1, but y[{wrong[0]}] = {values[wrong[0]]:g}")
    return values
