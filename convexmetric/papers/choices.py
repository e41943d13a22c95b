r"""Judgements of people as choices: the odd one out of three, the k nearest of n, the nearer of two.

.. math::
   \min_{M \succeq 0} \quad \Omega(M) + \frac{1}{T} \sum_{t=1}^{T} \bigg( \ln \sum_{c=1}^{k} e^{-d_{tc} / \tau}
   + \frac{1}{m} \sum_{c=1}^{m} \frac{d_{tc}}{\tau} \bigg)

=====================  ======================================================================================
M                      the metric; d_M(x, x') = (x - x')^T M (x - x')
t                      a trial: a person was shown k candidates, each a pair of objects, and chose m of them
d_tc                   d_M of candidate c of trial t, the chosen ones first
odd one out            objects i, j, k of which k was named: of (i, j), (i, k), (j, k) the first pair was chosen
anchor                 an object a and n others, m of which were named: candidates are the pairs (a, c)
triplets               i is closer to j than to k: an anchor and two others
tau                    temperature: candidates are chosen with probabilities proportional to exp(-d / tau)
Omega                  lambda tr M, or lambda / 2 ||M||_F^2; with a prior M_0 that of M - M_0
=====================  ======================================================================================

The term of a trial is its surprisal in nats: minus the log-probability of the chosen candidate (the mean over several),
ln k under the metric zero, for which all candidates are equally likely. For one chosen candidate the whole is a
multinomial logit model (McFadden 1974) fitted by maximum likelihood; of odd ones out it is the model of Hebart, Zheng,
Pereira and Baker (Nature Human Behaviour, 2020) with distances between features in place of products of learned
embeddings, and of two candidates a logistic loss of triplets (:class:`~convexmetric.losses.Logistic`).

The temperature only sets a unit: M at tau is tau times the metric at 1, with the trace for lambda tau in place of
lambda and with the squared norm for lambda tau^2. If people guess, the learned metric is small.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from convexmetric.arguments import check_count, check_flag, check_one_of, check_positive_number, checked_weight
from convexmetric.arrays import Array, norm_of
from convexmetric.comparisons import PairDistances
from convexmetric.comparisons.points import Checked, as_points, as_rows, rows_of
from convexmetric.cones import Cone, NonnegativeDiagonal, PSDCone
from convexmetric.errors import InputError
from convexmetric.papers.cvxpy_terms import check_size, given, inner
from convexmetric.problem import MetricProblem
from convexmetric.programs.lazy import cvxpy as cp
from convexmetric.programs.lazy import program
from convexmetric.regularizers import Regularizer, SquaredFrobenius, Trace, towards
from convexmetric.risks import ChoiceRisk

#: Kinds of trials, in words.
KINDS = {"odd-one-out": "odd one out of three", "anchor": "{m} nearest of {k}", "triplets": "nearer one of two"}
PENALTIES: dict[str, type[Trace] | type[SquaredFrobenius]] = {"trace": Trace, "squared-frobenius": SquaredFrobenius}


class ChoiceProblem(MetricProblem):
    """Learn a metric under which the choices of people are probable.

    Parameters
    ----------
    X : (n, d) array, or sparse matrix with ``diagonal``, or None
        Objects in rows. None where they have no features: M is then the Gram matrix of the objects 0, ..., n - 1.
    trials : (T, k) int array
        A judgement a row, as row numbers of X. ``"odd-one-out"``: (i, j, k), the last of which is the odd one.
        ``"anchor"``: the anchor, the objects that were chosen as most like it, and those that were not.
        ``"triplets"``: (i, j, k), i is closer to j than to k.
    chosen : int
        m of ``"anchor"``: how many others were chosen, in no order.
    kind : str
        What the rows are: ``"triplets"``, ``"odd-one-out"`` or ``"anchor"``.
    reg : float
        lambda, the weight of the regularizer.
    temperature : float
        tau, in units of squared distances.
    penalty : str
        ``"trace"``, or ``"squared-frobenius"`` for half the squared norm.
    prior : "identity" or array, optional
        M_0, a metric known beforehand: with the trace the absolute eigenvalues of M - M_0 are summed.
    diagonal : bool
        Learn one weight a feature instead of a matrix.

    Raises
    ------
    InputError
        If an argument is malformed.

    Examples
    --------
    >>> import numpy as np
    >>> import convexmetric as cm
    >>> rng = np.random.default_rng(0)
    >>> X, rows = rng.standard_normal((30, 4)), np.array([rng.permutation(30)[:3] for _ in range(500)])
    >>> first = np.abs(X[:, 0][rows[:, [0, 0, 1]]] - X[:, 0][rows[:, [1, 2, 2]]]).argmin(axis=1)  # pairs 01, 02, 12
    >>> odd = np.take_along_axis(rows, np.array([[0, 1, 2], [0, 2, 1], [1, 2, 0]])[first], axis=1)
    >>> problem = cm.ChoiceProblem(X, odd, kind="odd-one-out")
    >>> solution = cm.solve(problem)
    >>> print(f"{problem.risk.value(solution.M):.2f} nats a trial, 1.10 for guesses; gap at most 1e-6: "
    ...       f"{solution.gap <= 1e-6}")
    0.12 nats a trial, 1.10 for guesses; gap at most 1e-6: True
    """

    risk: ChoiceRisk

    def __init__(
        self,
        X: Any,
        trials: ArrayLike,
        *,
        chosen: int = 1,
        kind: str = "triplets",
        reg: float = 0.01,
        temperature: float = 1.0,
        penalty: str = "trace",
        prior: ArrayLike | str | None = None,
        diagonal: bool = False,
    ) -> None:
        check_one_of(kind, KINDS, "kind")
        check_count(chosen, "chosen")
        if kind != "anchor" and chosen != 1:
            raise InputError(f"chosen must be 1 where kind is {kind!r}; with an anchor pass kind='anchor'")
        check_positive_number(temperature, "temperature")
        #: Whether M is a Gram matrix of objects without features.
        self.is_gram = X is None
        if self.is_gram and diagonal:
            raise InputError("diagonal=True learns weights of features, of which X=None has none")
        cone, points = cone_of(identity_of(trials, kind, int(chosen)) if self.is_gram else X, diagonal)
        #: The trials, and their kind.
        self.trials, self.kind = checked_trials(trials, points.shape[0], kind, int(chosen)), kind
        pairs = candidate_pairs(self.trials, kind)
        compared = PairDistances(Checked(points), pairs.reshape(-1, 2), np.broadcast_to(1.0, pairs[..., 0].size), cone)
        risk = ChoiceRisk(compared, pairs.shape[1], int(chosen), 1.0 / len(pairs), temperature)
        self.reg, self.penalty_name = checked_weight(reg, "reg"), penalty
        super().__init__(risk, penalised(penalty, self.reg, prior, cone))

    def with_reg(self, reg: float) -> ChoiceProblem:
        """Copy the problem with another lambda, sharing all data."""
        reg = checked_weight(reg, "reg")
        return self._under(penalised(self.penalty_name, reg, self.regularizer.base.prior, self.cone), reg)

    @property
    def reg_max(self) -> float:
        """With a trace, a lambda from which on the metric is zero, or the prior.

        This is the largest eigenvalue of the slope there; with a prior the largest absolute one. With the squared norm,
        the lambda at which the linearised loss alone would fall by one nat a trial.
        """
        prior = self.regularizer.base.prior
        S = self.risk.tangent(self.cone.zeros() if prior is None else prior)[1].S
        if self.penalty_name == "squared-frobenius":
            return norm_of(self.cone.project(S) if prior is None else S) ** 2
        return max(self.cone.largest(S), 0.0 if prior is None else -self.cone.smallest(S))

    def to_cvxpy(self) -> program.Program:
        """The program above in CVXPY, a logarithm for every trial.

        Raises
        ------
        InputError
            If there are too many candidates to write them out.
        """
        risk = self.risk
        k, chosen = risk.candidates, risk.chosen
        check_size(len(self.trials) * k, "candidates")
        T, m = cp.Constant(len(self.trials), name="T"), cp.Constant(chosen, name="m")
        M, in_cone = self.cone.variable("w" if self.cone.diagonal else "M")
        lam, tau = given("lambda", self.reg, nonneg=True), given("tau", risk.temperature, pos=True)
        s, x, constraints = cp.Variable((len(self.trials), k), name="s"), as_rows(risk.points[0]), []
        objective = lam * penalty_term(self.penalty_name, self.regularizer.base.prior, self.cone, M)
        for t, pairs in enumerate(candidate_pairs(self.trials, self.kind).tolist()):
            for c, (i, j) in enumerate(pairs):
                D = given(f"D[{i}, {j}]", self.cone.outer(x[i] - x[j]))
                constraints.append((tau * s[t, c] == inner(D, M)).set_label(f"trial {t}: {i}, {j}"))
            objective += (cp.log_sum_exp(-s[t]) + cp.sum(s[t, :chosen]) / m) / T
        return self._program(objective, constraints + in_cone, M)

    def __str__(self) -> str:
        n, tau, letter = self.risk.points[0].shape[0], self.risk.temperature, "w" if self.cone.diagonal else "M"
        words = KINDS[self.kind].format(m=self.risk.chosen, k=self.risk.candidates)
        return (
            f"Choices of people as a softmax\n\n"
            f"  minimise    {self.regularizer.text(letter)} + mean -ln p(chosen),  p ~ exp(-d_{letter} / {tau:g})\n"
            f"  subject to  {letter} {'>= 0' if letter == 'w' else 'positive semidefinite'}\n\n"
            f"  {letter}         {'a Gram matrix: no' if self.is_gram else self.cone.d} features\n"
            f"  trials    {len(self.trials)} of {n} objects: {words}\n"
            f"  lambda    {self.reg:g}{self._prior_line(letter)}"
        )

    def latex(self) -> str:
        """The program as a formula, with its sizes."""
        M, sign = ("w", r"\ge 0") if self.cone.diagonal else ("M", r"\succeq 0")
        return (
            rf"$$\begin{{aligned}}\min_{{{M} {sign}}}\quad & {penalty_latex(self.penalty_name, self.regularizer, M)} "
            rf"+ \frac{{1}}{{T}} \sum_{{t=1}}^{{T}} \left( \ln \sum_{{c=1}}^{{k}} e^{{-s_{{tc}}}} "
            rf"+ \frac{{1}}{{m}} \sum_{{c=1}}^{{m}} s_{{tc}} \right) \\"
            rf"\text{{s.t.}}\quad & \tau s_{{tc}} = d_{M}(x_i, x_j) = \langle D^{{ij}}, {M} \rangle"
            r"\end{aligned}$$"
            rf"$$T = {len(self.trials)},\quad k = {self.risk.candidates},\quad m = {self.risk.chosen},\quad "
            rf"d = {self.cone.d},\quad \lambda = {self.reg:g},\quad "
            rf"\tau = {self.risk.temperature:g}$$"
        )


def cone_of(X: Any, diagonal: bool) -> tuple[Cone, Any]:
    """Return the cone of metrics on the points, and the checked points; sparse ones need a diagonal metric."""
    check_flag(diagonal, "diagonal")
    points = points_under(diagonal, X)
    return NonnegativeDiagonal(points.shape[1]) if diagonal else PSDCone(points.shape[1]), points


def points_under(diagonal: bool, X: Any, name: str = "X") -> Any:
    """Check the points, which may be sparse only under a diagonal metric."""
    if sp.issparse(X) and not diagonal:
        raise InputError(f"{name} is sparse: pass diagonal=True, or {name}.toarray()")
    return as_points(X, name, sparse=True)


def penalised(penalty: str, reg: float, prior: ArrayLike | str | None, cone: Cone) -> Regularizer:
    """Return ``reg`` times the trace or half the squared norm, of M or, with a prior, of M minus it."""
    check_one_of(penalty, PENALTIES, "penalty")
    return PENALTIES[penalty](reg) if prior is None else towards(PENALTIES[penalty](reg), prior, cone)


def penalty_term(penalty: str, prior: Array | None, cone: Cone, M: cp.Variable) -> cp.Expression:
    """The regularizer of :func:`penalised` at lambda = 1, in CVXPY."""
    away = M if prior is None else M - cp.Constant(prior, name=f"{M.name()}0")
    if penalty == "squared-frobenius":
        return cp.sum_squares(away) / 2
    return cone.trace_expression(M) if prior is None else (cp.norm1 if cone.diagonal else cp.normNuc)(away)


def penalty_latex(penalty: str, omega: Regularizer, M: str, weight: str = r"\lambda") -> str:
    """The regularizer of :func:`penalised` in LaTeX, with letters for weights, and terms that users added."""
    away = M if omega.base.prior is None else rf"{M} - {M}_0"
    if penalty == "squared-frobenius":
        norm = rf"\frac{{\lambda}}{{2}} \|{away}\|_F^2"
    else:
        norm = rf"{weight} \, " + (rf"\mathrm{{tr}} {M}" if away == M else rf"\|{away}\|_*")
    return norm + omega.added_latex(M)


def checked_trials(trials: Any, n: int, kind: str, chosen: int = 1) -> np.ndarray:
    """Check that trials are rows of distinct objects, at least one of which was not chosen.

    Raises
    ------
    InputError
        If they are not.
    """
    try:
        rows = np.asarray(trials)
    except ValueError as error:
        raise InputError("trials must have rows of one length, got different ones") from error
    if rows.ndim != 2 or not len(rows):
        raise InputError(f"trials must have shape (T, k), a judgement a row, got {rows.shape}")
    wanted, width = f"{chosen + 2} or more" if kind == "anchor" else "3", rows.shape[1]
    if width < chosen + 2 or (width > 3 and kind != "anchor"):
        raise InputError(f"trials must have {wanted} objects a row for kind={kind!r}, {chosen} chosen, got {width}")
    rows = rows_of(rows, n, "trials")
    in_order = np.sort(rows, axis=1)
    wrong = np.flatnonzero((in_order[:, 1:] == in_order[:, :-1]).any(axis=1))
    if wrong.size:
        raise InputError(f"trials must name different objects, but trials[{wrong[0]}] repeats one ({wrong.size} such)")
    return rows


def identity_of(trials: Any, kind: str, chosen: int) -> Array:
    """Return the identity with a row for each object of the trials, under which a metric is their Gram matrix.

    Raises
    ------
    InputError
        If the trials are malformed, leave out a number, or never compare some of the objects with the others.
    """
    rows = checked_trials(trials, np.iinfo(np.int64).max, kind, chosen)
    named = np.unique(rows)
    n = len(named)
    if named[-1] >= n:
        missing = np.flatnonzero(named != np.arange(n))[0]
        raise InputError(
            f"trials must name every object from 0 to {named[-1]}, but {missing} is in none; "
            "numpy.unique(trials, return_inverse=True) numbers those that are"
        )
    first, others = np.broadcast_arrays(rows[:, :1], rows[:, 1:])
    met = sp.coo_array((np.ones(others.size), (first.ravel(), others.ravel())), shape=(n, n))
    groups, group = sp.csgraph.connected_components(met, directed=False)
    if groups > 1:
        raise InputError(
            f"trials must connect all objects, but {groups} groups never meet, such as those of 0 and of "
            f"{np.argmax(group != group[0])}: nothing is known of distances between them; learn each by itself"
        )
    return np.eye(n)


def candidate_pairs(trials: np.ndarray, kind: str) -> np.ndarray:
    """The candidates of all trials, ``(T, k, 2)``, the chosen ones first."""
    if kind == "odd-one-out":
        return trials[:, [[0, 1], [0, 2], [1, 2]]]
    return np.stack([np.broadcast_to(trials[:, :1], trials[:, 1:].shape), trials[:, 1:]], axis=2)
