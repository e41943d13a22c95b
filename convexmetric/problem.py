r"""The one convex problem behind every method.

.. math:: \min_{M \in K} \; R(M) + \langle G, M \rangle + \Omega(M) + c

A :class:`MetricProblem` is data: a risk R, a regularizer Omega, an optional linear term G and a constant c over a cone
K. It can evaluate, state and bound itself; it never solves itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from convexmetric.arguments import shown
from convexmetric.arrays import Array, altered, norm_of
from convexmetric.comparisons.points import as_rows
from convexmetric.cones import Cone, PSDCone
from convexmetric.doors import LIBRARY
from convexmetric.errors import ContractError, InputError
from convexmetric.fingerprint import fingerprint
from convexmetric.programs.lazy import cvxpy as cp
from convexmetric.programs.lazy import program
from convexmetric.regularizers import NormWeights, Regularizer, SubjectTo
from convexmetric.regularizers.user_terms import Constraints, ExtraObjective
from convexmetric.risks import CutDual, Minorant, Ranking, Risk, tangent_dual

__all__ = ["MetricProblem", "Statement"]

#: Features up to which a metric is written out as a matrix, and that of a diagonal one is dense.
MOST_DENSE = 10_000
#: Relative norm up to which the part of a metric that :attr:`MetricProblem.feature_map` leaves out counts as rounding.
OFF_ROWS = 1e-9
#: Distances beyond a metric, in units of its mean eigenvalue, at which :meth:`MetricProblem.inner_plane` tries tangent
#: planes first; and the relative amount by which a plane is lowered for rounding.
BEYOND, ROUNDED = (0.1, 1.0, 10.0), 1e-9
#: A few units of roundoff.
ROUNDING = 2.0**-51


@dataclass(frozen=True)
class Statement:
    """A problem compiled to CVXPY, all comparisons in one constraint.

    Attributes
    ----------
    problem : cvxpy.Problem
    metric : cvxpy.Variable
    dual : callable
        After a solve: the dual point, for :meth:`~convexmetric.MetricProblem.dual_bound`.
    """

    problem: cp.Problem
    metric: cp.Variable
    dual: Callable[[], Any]


class MetricProblem:
    """Minimise ``R(M) + <G, M> + Omega(M) + c`` over a cone of metrics.

    Parameters
    ----------
    risk : Risk
        What the data ask for.
    regularizer : Regularizer
        What keeps the metric simple.
    G : array, optional
        Linear term, an element of the cone's space.
    constant : float
        c, which moves the optimal value and nothing else.

    Raises
    ------
    InputError
        If ``G`` has the wrong shape, is not symmetric, or it or ``constant`` is not finite.

    Examples
    --------
    A problem of your own, from a risk and a regularizer:

    >>> import numpy as np
    >>> import convexmetric as cm
    >>> from convexmetric.comparisons import Triplets
    >>> from convexmetric.cones import PSDCone
    >>> from convexmetric.losses import Hinge
    >>> from convexmetric.regularizers import Trace
    >>> from convexmetric.risks import SeparableRisk
    >>> X = np.array([[0.0, 0.0], [1.0, 3.0], [2.0, 0.5], [0.2, 2.0]])
    >>> triplets = Triplets(X, [[0, 3, 2], [1, 3, 2]], PSDCone(2))
    >>> solution = cm.solve(cm.MetricProblem(SeparableRisk(triplets, Hinge(1.0)), Trace(0.1)))
    >>> print(f"{solution.upper_bound:.5f}, rank {solution.rank}")
    0.03535, rank 1
    """

    #: The metric's letter in the paper.
    letter: ClassVar[str] = "M"
    #: Weight of the risk that :meth:`with_C` changes; None where a problem has no such weight.
    C: float | None = None
    #: Weights that are set at construction, and that no method changes.
    fixed_weights: ClassVar[tuple[str, ...]] = ()
    #: Map from points to the coordinates on which :meth:`components` act, under a kernel; None for features.
    embedding: Any = None
    #: What :meth:`beside` gave: a plane, or the empty tuple for none.
    _plane: tuple[CutDual, Minorant] | tuple[()] | None = None

    def __init__(
        self, risk: Risk, regularizer: Regularizer, G: ArrayLike | None = None, *, constant: float = 0.0
    ) -> None:
        if isinstance(constant, bool) or not isinstance(constant, int | float | np.number) or not np.isfinite(constant):
            raise InputError(f"constant must be a finite number, got {shown(constant)}")
        self.risk = risk
        self.regularizer = regularizer
        self.G = None if G is None else risk.cone.element(G, "G")
        self.constant = float(constant)

    def __repr__(self) -> str:
        kind, count = self.risk.part_kind, self.risk.parts
        kinds = f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"
        what = f"{self.regularizer.text(self.letter)}, {self.letter} in {self.cone!r}"
        return f"<{type(self).__name__}: {count} {kind if count == 1 else kinds}, {what}>"

    def __str__(self) -> str:
        linear = "" if self.G is None else f" + <G, {self.letter}>"
        constant = f" {'-' if self.constant < 0.0 else '+'} {abs(self.constant):g}" if self.constant else ""
        return (
            f"Minimise R({self.letter}){linear} + {self.regularizer.text(self.letter)}{constant}\n\n"
            f"  {self.letter}  in {self.cone!r}\n"
            f"  R  {self.risk.words}, {self.risk.parts} parts"
        )

    @property
    def cone(self) -> Cone:
        """The cone of the problem's variable."""
        return self.risk.cone

    def fingerprint(self) -> str:
        """SHA-256 over data and parameters: the same for the same problem, on any machine."""
        constant = () if self.constant == 0.0 else (self.constant,)
        return fingerprint(self.risk, self.regularizer, self.G, *constant)

    def with_C(self, C: float) -> MetricProblem:
        """A copy of the problem with another weight of the risk, sharing all data.

        The risk is proportional to C, so that its supporting planes for one C are those for another after scaling.

        Raises
        ------
        InputError
            If C is malformed, or the problem has no such weight.
        """
        raise InputError(self._without("C"))

    def with_reg(self, reg: float) -> MetricProblem:
        """A copy of the problem with another weight of the regularizer, sharing all data.

        Raises
        ------
        InputError
            If reg is malformed, or the problem has no such weight.
        """
        raise InputError(self._without("reg"))

    def _under(self, omega: Regularizer, reg: float) -> Self:
        """A copy of the problem with another regularizer and its weight; users' own terms stay."""
        return altered(self, reg=reg, regularizer=self.regularizer.with_user_terms(omega))

    def _without(self, weight: str) -> str:
        """The message that the problem has no such weight, and which one it has."""
        words, other = f"{type(self).__name__} has no weight {weight}", "reg" if weight == "C" else "C"
        if self.fixed_weights:
            return f"{words}: its weight is {' or '.join(self.fixed_weights)}; make and solve a problem for every value"
        if getattr(type(self), f"with_{other}") is not getattr(MetricProblem, f"with_{other}"):
            return f"{words}; did you mean {other!r}? solve_path(problem, {other}=...), problem.with_{other}(...)"
        return words

    def subject_to(self, constraints: Constraints | None = None, extra_objective: ExtraObjective | None = None) -> Self:
        """A copy of the problem under constraints and with a convex term of your own, sharing all data.

        Both are functions of the user's metric (:meth:`on_features`), written in CVXPY; further calls add to those
        already there. What bounds rest on is described in :mod:`convexmetric.regularizers.user_terms`.

        Parameters
        ----------
        constraints : callable, optional
            From the metric (a symmetric matrix, or the vector of weights of a diagonal one) to a list of CVXPY
            constraints.
        extra_objective : callable, optional
            From the metric to a convex CVXPY expression, or a number, that is added to the objective.

        Raises
        ------
        InputError
            If a function fails or returns anything else, or a constraint or the term is not convex by CVXPY's rules.

        Examples
        --------
        >>> import convexmetric as cm
        >>> import cvxpy as cp
        >>> iris = cm.datasets.load("iris")
        >>> problem = cm.RankingProblem.from_labels(iris.X, iris.y, measure="map", C=10.0)
        >>> small = problem.subject_to(lambda W: [cp.trace(W) <= 0.5])
        >>> solution = cm.solve(small, tol=1e-4)
        >>> print(f"trace {solution.M.trace():.3f}, grade {solution.certificate.grade}")
        trace 0.500, grade conic
        """
        if constraints is None and extra_objective is None:
            return self
        omega = SubjectTo(
            self.regularizer,
            self.cone,
            constraints=constraints,
            extra_objective=extra_objective,
            on_features=self.on_features,
        )
        return altered(self, regularizer=omega)

    def sampled_G(self, rng: np.random.Generator, similar: int, dissimilar: int | None = None) -> tuple[Array, Array]:
        """The linear term from random pairs: an unbiased estimate, and the sum over all draws.

        Parameters
        ----------
        rng : numpy.random.Generator
        similar, dissimilar : int
            Numbers of draws of either kind; None for as many dissimilar ones as similar ones. A linear term that is not
            a mean over pairs is returned unchanged for both.
        """
        G = self.cone.zeros() if self.G is None else self.G
        return G, G

    def initial_factor(self, c: int) -> Array | None:
        """Factor with ``c`` rows at which the paper starts descent; None where no paper gives one."""
        return None

    def objective(self, M: ArrayLike) -> float:
        """Value of the objective at a user's metric: ``Solution.M``, or the weights of a diagonal one.

        ``M`` is taken as it is; whether it lies in the cone is not checked.
        Infinite where a hard margin is violated. For the problem's variable use :meth:`value`.

        Raises
        ------
        InputError
            If ``M`` has the wrong shape, is not symmetric, or has NaN or infinite entries, or is no metric that the
            problem can have.
        """
        return self.value(self.from_features(M))

    def value(self, M: ArrayLike) -> float:
        """Value of the objective at the problem's variable, as solvers and certificates use it.

        Raises
        ------
        InputError
            If ``M`` has the wrong shape, is not symmetric, or has NaN or infinite entries.
        """
        M = self.metric(M)
        return self.risk.value(M) + self.penalty(M)

    def metric(self, M: ArrayLike) -> Array:
        """``M`` as the problem's variable, an element of the cone's space (not necessarily in the cone).

        Raises
        ------
        InputError
            If ``M`` has the wrong shape, is not symmetric, or has NaN or infinite entries.
        """
        return self.cone.element(M, self.letter)

    @property
    def feature_map(self) -> Any:
        """L, ``(r, d)``: the variable acts on ``L x``, so that ``L^T M L`` is the metric on the features x; or None.

        Where there is one, :attr:`Solution.M <convexmetric.Solution.M>`, files, audits and :meth:`objective` use the
        metric on the features; :meth:`value`, certificates and dual points use the variable.
        """
        return None

    def from_features(self, M: ArrayLike) -> Array:
        """Convert a metric on the features to the problem's variable; other shapes are taken for the variable itself.

        Raises
        ------
        InputError
            If ``M`` has the wrong shape, is not symmetric, has NaN or infinite entries, or is not of the form that
            :attr:`feature_map` gives.
        """
        L = self.feature_map
        if L is None or np.shape(M) != (L.shape[1],) * 2:
            return self.metric(M)
        given, rows = PSDCone(L.shape[1]).element(M, self.letter), as_rows(L)
        back = np.linalg.pinv(rows)
        R = back.T @ given @ back
        mixed = self.cone.diagonal and norm_of(R - np.diag(np.diag(R))) > OFF_ROWS * norm_of(R)
        if mixed or norm_of(rows.T @ R @ rows - given) > OFF_ROWS * norm_of(given):
            r, d = rows.shape
            raise InputError(
                f"{self.letter} must have the form L.T @ R @ L with L = problem.feature_map ({r} x {d}): pass R, "
                f"({r}, {r}), or its weights if it is diagonal; on the span of points "
                f"pass problem.full_matrix(problem.nearest({self.letter})), its part of that form"
            )
        return np.diag(R).copy() if self.cone.diagonal else 0.5 * (R + R.T)

    def nearest(self, M: ArrayLike) -> Array:
        """The variable nearest to a metric on the features, :attr:`Solution.M <convexmetric.Solution.M>`, as a start.

        Raises
        ------
        InputError
            If ``M`` has the wrong shape, is not symmetric, or has NaN or infinite entries.
        """
        return self.from_features(M)

    def metric_from(self, other: MetricProblem, M: Array) -> Array:
        """Convert the variable ``M`` of another problem to this one's: the same metric on the same features.

        Raises
        ------
        InputError
            If it acts on other features, or one metric is diagonal and the other is not.
        """
        if other.cone.diagonal != self.cone.diagonal:
            kinds = "weights of features", "a full matrix"
            has, learns = kinds if other.cone.diagonal else kinds[::-1]
            raise InputError(f"it is {has}, and this problem learns {learns}")
        if not (self.in_other_coordinates or other.in_other_coordinates):
            return self.metric(M)
        return self.nearest(other.weights(M) if other.cone.diagonal else other.full_matrix(M))

    def plain_metrics(self) -> list[Array]:
        """Baseline metrics that need no learning, up to a factor; a solve that is cut short should not be worse."""
        return [self.cone.identity()]

    def on_features(self, M: cp.Expression) -> cp.Expression:
        """Map the problem's variable to the metric on the features, in CVXPY: the inverse of :meth:`from_features`."""
        return M

    @property
    def in_other_coordinates(self) -> bool:
        """Whether :attr:`feature_map` is square: then shapes do not tell a metric on the features from the variable."""
        L = self.feature_map
        return L is not None and L.shape[0] == L.shape[1]

    @property
    def coordinates(self) -> str:
        """Description of what the variable and its certificates act on, if that is not the features; else empty."""
        return ""

    def working_set(self, dual: Any) -> list[Ranking]:
        """The rankings that a dual point consists of; for problems of rankings only.

        Raises
        ------
        AttributeError
            If the problem has no rankings.
        """
        raise AttributeError(f"{type(self).__name__} has no rankings: working_set is of a RankingProblem")

    def penalty(self, M: Array) -> float:
        """The part of the objective without data: ``<G, M> + Omega(M) + c``."""
        linear = 0.0 if self.G is None else self.cone.inner(self.G, M)
        return float(linear + self.regularizer.value(M, self.cone) + self.constant)

    def dual_bound(self, dual: Any, hint: ArrayLike | None = None) -> float:
        """Lower bound on the optimal value that ``dual`` proves, after clipping and shrinking it.

        Whatever the entries of ``dual``, the result is a valid bound: negative or too large ones are clipped, and a
        dual with NaN or infinite entries proves nothing (minus infinity).

        Parameters
        ----------
        dual : array or CutDual
            Multipliers, one a comparison; or weighted cuts.
        hint : array, optional
            A metric near the optimum, which some regularizers use to tighten the bound.

        Raises
        ------
        DualError
            If the shape of ``dual`` does not fit the problem.
        """
        point = self.risk.minorant(dual)
        if point is None or not (np.isfinite(point.value) and np.isfinite(point.S).all()):
            return -np.inf
        metric = self.cone.zeros() if hint is None else self.cone.project(self.cone.element(hint, "hint"))
        return self.bound(point.value, point.S, self.regularizer.sharpened(point.S, self.G, metric))

    def settled(self, point: Minorant, hint: Array) -> tuple[float, list[Array]] | None:
        """Slopes of norms that go with a minorant: its own, or those of its best bound; None where there are none."""
        if point.slopes is not None or not (np.isfinite(point.value) and np.isfinite(point.S).all()):
            return point.slopes
        try:
            return self.regularizer.settled(point.value, point.S, self.G, self.cone, hint)
        except np.linalg.LinAlgError:
            return None

    def holding(self, slopes: tuple[float, list[Array]] | None) -> MetricProblem:
        """Return the problem with fixed slopes of its norms (``Minorant.slopes``), so that bounds need no search."""
        return self if slopes is None else altered(self, regularizer=self.regularizer.holding(slopes))

    def bound(self, value: float, S: Array, hint: Array) -> float:
        """Lower bound on the optimal value from ``R(M) >= value - <S, M>`` for all metrics ``M``.

        A regularizer scales S towards zero, which requires a nonnegative risk. Any other risk is shifted by a floor, a
        minorant ``f - <F, M>``: ``R'(M) = R(M) - f + <F, M>`` is nonnegative, and the problem is that of R' with the
        linear term ``G - F`` and the constant ``c + f``. Floors are ``risk.floor()`` and the dual point's own minorant.
        """
        if not (np.isfinite(value) and np.isfinite(S).all()):
            # Multipliers of hard margins have no upper end: their sums may overflow, and then prove nothing.
            return -np.inf
        try:
            bound = self._bound(value, S, hint)
        except np.linalg.LinAlgError:
            # Overflow: numbers are beyond the range of floats.
            return -np.inf
        return float(bound + self.constant) if np.isfinite(bound) else -np.inf

    def missed(self, value: float, S: Array, M: Array) -> float:
        """Estimate of what M gains by violating users' constraints, priced by the multipliers of a minorant's bound."""
        if not self.risk.nonnegative:
            value, S, G = 0.0, self.cone.zeros(), -S if self.G is None else self.G - S
            return self.regularizer.missed(M, value, S, G, self.cone)
        return self.regularizer.missed(M, value, S, self.G, self.cone)

    def _bound(self, value: float, S: Array, hint: Array) -> float:
        if self.risk.nonnegative:
            bound = self.regularizer.bound(value, S, self.G, self.cone, hint)
        else:
            floors = (self.risk.floor(), Minorant(value, S))
            bound = max(self._bound_above(floor, value, S, hint) for floor in floors if floor is not None)
        if bound < value:
            inner = self.inner_plane(hint) if self._plane is None else self._plane
            bound = max(bound, self._bound_above(inner[1], value, S, hint)) if inner else bound
        return bound

    def beside(self, plane: tuple[CutDual, Minorant] | None) -> MetricProblem:
        """Return the problem whose bounds use this :meth:`inner_plane`, or none, instead of looking for one each."""
        return altered(self, _plane=plane or ())

    def bound_beside(self, value: float, S: Array, hint: Array) -> float:
        """Lower bound as :meth:`bound`, by an inner plane where a trace is less than the rounding of S."""
        inner = self.inner_plane(hint, slopes=S)
        bound = -np.inf if inner is None else self._bound_above(inner[1], value, S, hint)
        return float(bound + self.constant) if np.isfinite(bound) else -np.inf

    def _bound_above(self, floor: Minorant, value: float, S: Array, hint: Array) -> float:
        G = -floor.S if self.G is None else self.G - floor.S
        # The minorant is lowered by the rounding of ``S - floor.S``, in which a large floor may swamp S.
        lost = ROUNDING * norm_of(floor.S) * self.cone.identity()
        bound = self.regularizer.bound(value - floor.value, S - floor.S + lost, G, self.cone, hint)
        bound += floor.value - ROUNDING * abs(floor.value)
        return bound if np.isfinite(bound) else -np.inf

    @property
    def held_by_data_alone(self) -> bool:
        """Whether Omega is zero and G not positive definite, so that only the risk grows with every metric."""
        return self.regularizer.weights() == NormWeights() and (self.G is None or self.cone.largest(-self.G) >= 0.0)

    def _is_held_by_data(self, slopes: Array | None) -> bool:
        """Whether only the risk grows in some direction, or a trace does by less than the rounding of these slopes."""
        weights = self.regularizer.weights()
        if weights is None or weights != NormWeights(trace=weights.trace):
            return False
        if self.G is not None:
            return self.cone.largest(-self.G) >= (1.0 - ROUNDED) * weights.trace
        return weights.trace == 0.0 or (slopes is not None and weights.trace < ROUNDING * norm_of(slopes) < np.inf)

    def inner_plane(
        self, hint: Array, tries: int = len(BEYOND), slopes: Array | None = None
    ) -> tuple[CutDual, Minorant] | None:
        """If only the risk grows in some direction, find a dual point near ``hint`` whose plane does too; else None.

        It is also searched for where a trace grows by less than the rounding of ``slopes``, a sum of the risk's.

        A minorant whose S has an eigenvalue of 1e-9 must be scaled to nothing; moved towards this plane instead of
        towards zero it hardly changes. It is the tangent plane at a metric beyond ``hint``. After the first tries it is
        the mean of all planes so far, and the next metric lies beyond ``hint`` in the direction in which this mean
        grows least.
        """
        if not self._is_held_by_data(slopes) or self.risk.hard or not hint.any():
            return None
        cone, plane, weights = self.cone, Minorant(0.0, self.cone.zeros()), self.regularizer.weights()
        G = cone.zeros() if self.G is None else self.G
        room = 0.0 if self.G is None or weights is None else (1.0 - ROUNDED) * weights.trace
        around = cone.bottom(G) if room else cone.identity() / cone.d
        metrics: list[Array] = []
        points: list[Minorant] = []
        for k in range(tries):
            beyond = BEYOND[k] * around if k < len(BEYOND) else cone.bottom(G - plane.S)
            metrics.append(hint + cone.trace(hint) * beyond)
            point = self.risk.minorant(tangent_dual(self.risk, metrics[-1]))
            if point is None or not np.isfinite(point.value):
                return None
            points.append(point)
            mean = slice(k if k < len(BEYOND) else 0, k + 1)
            plane = _lowered_mean(points[mean], cone)
            # A plane that is inside only where nothing but the risk grows is so everywhere after it is shrunk.
            share = 1.0
            if room and self.risk.nonnegative:
                share = 0.5 * (self.regularizer.max_dual_scaling(plane.S, G, cone) or 0.0)
            if share and cone.largest(share * plane.S - G) < room:
                witnesses = np.array(metrics[mean])
                each = np.full((len(witnesses), 1), share / len(witnesses))
                inside = Minorant(share * plane.value, share * plane.S)
                return CutDual(witnesses, each, np.zeros(self.risk.parts, dtype=np.int64)), inside
        return None

    def without_constant(self) -> MetricProblem:
        """Return the problem that solvers work on: less :attr:`offset`, a prior as a linear term, sharing all data."""
        omega, linear, _ = self.regularizer.split(self.cone)
        if self.constant == 0.0 and omega is self.regularizer:
            return self
        G = self.G if linear is None else linear if self.G is None else self.G + linear
        return altered(self, constant=0.0, regularizer=omega, G=G)

    @property
    def offset(self) -> float:
        """The objective less that of :meth:`without_constant`: c, and the cost of a prior at the metric zero."""
        return self.constant + self.regularizer.split(self.cone)[2]

    def check_numbers(self) -> None:
        """Evaluate the blocks at the metric zero and at the Euclidean one, where nothing can overflow.

        Raises
        ------
        ContractError
            If the risk or the regularizer returns NaN there, or a cut of the risk NaN or infinity.
        """
        for words, M in (("zero", self.cone.zeros()), ("identity", self.cone.identity())):
            omega = self.regularizer.value(M, self.cone)
            if np.isnan(omega):
                raise ContractError(f"{type(self.regularizer).__name__} returned NaN at the metric {words}")
            value = self.risk.value(M)
            if np.isnan(value):
                raise ContractError(f"{self.risk.words} returned NaN at the metric {words}")
            if np.isfinite(value):
                cuts = self.risk.separate(M, np.zeros(self.risk.parts, dtype=np.int64))
                if not (np.isfinite(cuts.offsets).all() and np.isfinite(cuts.normals).all()):
                    raise ContractError(
                        f"{self.risk.words} made a cut at the metric {words} with NaN or infinity in it; if its weight "
                        "is extreme, rescale it"
                    )

    def linear(self) -> Array:
        """Linear part of the penalty, in coordinates of the cone."""
        linear = self.regularizer.linear(self.cone)
        return linear if self.G is None else linear + self.cone.coordinates(self.G)

    def quadratic(self) -> float | Array | None:
        """Quadratic part of the penalty: a multiple of the identity or a matrix in coordinates, None if neither."""
        return self.regularizer.quadratic(self.cone)

    def to_cvxpy(self) -> program.Program:
        """The paper's program in plain CVXPY, to be read, changed and solved by hand; for small instances.

        Its variables and parameters have the letters of the paper, and a comparison is a line of its own. A problem put
        together from blocks has no paper: this is its compiled :meth:`statement` then.

        Raises
        ------
        InputError
            If there are too many comparisons to write them out.
        """
        written = self.statement()
        stated = written.problem
        return program.Program(stated.objective.expr, stated.constraints, written.metric, self.latex())

    def as_stated(self, M: Array) -> Array:
        """Value of the metric of :meth:`to_cvxpy` at the problem's variable ``M``."""
        return M

    def latex(self) -> str:
        """The program as a formula, with its sizes; notebooks show it."""
        linear = "" if self.G is None else rf" + \langle G, {self.letter} \rangle"
        constant = f" {'-' if self.constant < 0.0 else '+'} {abs(self.constant):g}" if self.constant else ""
        return (
            rf"$$\min_{{{self.letter} \in K}}\quad R({self.letter}){linear} + {self.regularizer.latex(self.letter)}"
            f"{constant}$$"
        )

    def _repr_latex_(self) -> str:
        return self.latex()

    def _repr_html_(self) -> str:
        return f'<div class="math">{escape(self.latex())}</div>'

    def _prior_line(self, M: str) -> str:
        """The line of ``str(problem)`` about the prior; empty without one."""
        prior = self.regularizer.base.prior
        if prior is None:
            return ""
        euclidean = np.array_equal(prior, self.cone.identity())
        of = "the identity" if euclidean else f"a metric of trace {self.cone.trace(prior):.6g}"
        return f"\n  {M + '0':<10}{of}, known before"

    def _program(
        self,
        objective: cp.Expression,
        constraints: list[cp.Constraint],
        metric: cp.Variable,
        users: cp.Expression | None = None,
    ) -> program.Program:
        """Build a paper's program with the terms that users added, functions of ``users`` or else of the metric."""
        extra, added = self.regularizer.added(metric if users is None else users)
        if extra is not None:
            objective = objective + extra
        return program.Program(objective, [*constraints, *added], metric, self.latex())

    def statement(self) -> Statement:
        """The problem compiled to CVXPY from its blocks, with a reader of the dual point: the conic reference.

        It has the optimum of :meth:`to_cvxpy`, in the problem's own variable, and one constraint for all comparisons.

        Raises
        ------
        InputError
            If there are too many comparisons to list them.
        """
        M, in_cone = self.cone.variable(self.letter)
        risk = self.risk.statement(M)
        objective = self.regularizer.expression(M, self.cone) + risk.expression
        if self.G is not None:
            objective = objective + cp.sum(cp.multiply(self.G, M))
        if self.constant:
            objective = objective + self.constant
        constraints = risk.constraints + in_cone + self.regularizer.constraints(M, self.cone)
        return Statement(cp.Problem(cp.Minimize(objective), constraints), M, risk.dual)

    def components(self, M: Array) -> Any:
        """A factor ``L`` of the metric on the data as given, ``(rank, features)``: distances are ``||Lx - Lx'||^2``.

        A sparse matrix if :attr:`sparse_metrics` is true.
        """
        factor: Any
        if self.sparse_metrics:
            kept = np.flatnonzero(M > 0.0)
            factor = sp.csr_array((np.sqrt(M[kept]), (np.arange(kept.size), kept)), shape=(kept.size, M.size))
        else:
            factor = self.cone.factor(M)
        return factor if self.feature_map is None else factor @ self.feature_map

    @property
    def weighs_features(self) -> bool:
        """Whether the metric is diagonal on the data as given, so that :meth:`weights` determine it."""
        return self.cone.diagonal and self.feature_map is None

    def weights(self, M: Array) -> Array:
        """Weights of a diagonal metric, one a feature (or what else the problem gives weights to)."""
        return M

    def full_matrix(self, M: Array) -> Any:
        """The metric as a ``(features, features)`` matrix on the data as given by the user.

        A sparse matrix if :attr:`sparse_metrics` is true.

        Raises
        ------
        InputError
            If there are too many features to write it out: use :meth:`components`.
        """
        if self.weighs_features:
            w = self.weights(M)
            return sp.csr_array(sp.diags_array(w)) if self.sparse_metrics else np.diag(w)
        if self.feature_map is None:
            return self.cone.full(M)
        L = as_rows(self.feature_map)
        if L.shape[1] > MOST_DENSE:
            raise InputError(
                f"the metric on {L.shape[1]} features is too large to write out; use components, its factor"
            )
        return (L.T * M) @ L if self.cone.diagonal else L.T @ M @ L

    @property
    def sparse_metrics(self) -> bool:
        """Whether matrices of diagonal metrics are sparse: of sparse points, and of more than 10,000 features."""
        sparse = any(sp.issparse(points) for points in self.risk.points)
        return self.cone.diagonal and (sparse or self.cone.d > MOST_DENSE)


def _lowered_mean(points: list[Minorant], cone: Cone) -> Minorant:
    """The mean of minorants, lowered by more than its rounding."""
    sizes = [(abs(one.value) if one.size is None else one.size, norm_of(one.S)) for one in points]
    off, less = ROUNDED * np.mean(sizes, axis=0)[::-1]
    S = np.mean([one.S for one in points], axis=0) + off * cone.identity()
    return Minorant(float(np.mean([one.value for one in points]) - less), S)


@runtime_checkable
class KnownProblem(Protocol):
    """A problem whose optimal value is known between bounds, such as a :class:`~convexmetric.bench.Instance`."""

    @property
    def name(self) -> str:
        """What it is called in messages."""

    @property
    def proven(self) -> tuple[float, float]:
        """Lower and upper bound on the optimal value."""

    @property
    def grade(self) -> str:
        """How the bounds are established."""

    def problem(self) -> MetricProblem:
        """State the problem on its data."""


#: What functions take as a problem: one that is stated, an instance of the library, or the name of one.
AnyProblem = MetricProblem | KnownProblem | str


def named(given: Any) -> Any:
    """Look up the instance of the library that a text names; anything else is returned as it is."""
    return LIBRARY.open().load_instance(given) if isinstance(given, str) else given


def as_problem(problem: AnyProblem) -> MetricProblem:
    """Return ``problem``; an instance of the library, or the name of one, is stated on its data.

    An instance reads its data and states its problem at every call.

    Raises
    ------
    InputError
        If it is none of these, or there is no instance of that name.
    DataNotFoundError
        If the data set of the instance is not there.
    """
    given = named(problem)
    if isinstance(given, KnownProblem):
        given = given.problem()
    if not isinstance(given, MetricProblem):
        what = type(problem).__name__
        raise InputError(f"problem must be a MetricProblem, an Instance or the name of one, got {what}")
    return given
