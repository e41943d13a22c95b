r"""A regularizer under constraints and with a convex term of the user's own.

With a set :math:`\mathcal{U}` of constraints and a convex term h, both written in CVXPY,

.. math:: \Omega'(M) = \Omega(M) + h(M) \text{ for } M \in \mathcal{U}, \text{ else } \infty

A dual point of a nonnegative risk gives :math:`R(M) \ge \max(0, v - \langle S, M \rangle)`, by the risk's oracle, and

.. math:: \min_{M \in K \cap \mathcal{U}} \; \max(0, v - \langle S, M \rangle) + \langle G, M \rangle + \Omega(M) + h(M)

bounds the optimum from below. This minimum involves no data, but has no closed form for arbitrary h and
:math:`\mathcal{U}`: it is bounded by the *dual* value that CLARABEL reports. For this value, and for how exactly the
constraints hold, bounds rest on the conic solver: they are of grade *conic*.

Conic solvers satisfy constraints to about 1e-8. A metric counts as one of :math:`\mathcal{U}` if it violates no
constraint by more than ``TOLERANCE`` times the size of the numbers compared, or, if they are smaller, the lesser of 1
and the metric's largest entry. The possible gain is added to the upper bound: the violation times CLARABEL's multiplier
of the constraint, by which the optimum rises, to first order, if the constraint is tightened by as much. A certificate
file proves bounds of its own (``certificates/conic_terms.py``), at a metric that satisfies all constraints exactly.

Constraints and terms may have variables of their own. The term is then its minimum over them, and the violation is the
entrywise distance to the nearest metric for which they have feasible values; both are found by CLARABEL.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from convexmetric.arrays import Array
from convexmetric.cones import BlockDiagonal, Cone
from convexmetric.described import Described
from convexmetric.errors import InputError
from convexmetric.programs.canonical import Canonical, canonical
from convexmetric.programs.lazy import cvxpy as cp
from convexmetric.regularizers.base import Grade, Regularizer
from convexmetric.regularizers.conic_calls import solve_conic

Constraints = Callable[["cp.Expression"], Any]
ExtraObjective = Callable[["cp.Expression"], Any]

#: Allowed violation of a constraint by a metric, relative to the numbers compared or to 1.
TOLERANCE = 1e-7
#: Step of the difference quotient for the slope of a term, as a fraction of the move.
STEP = 1e-4


def _as_it_is(M: cp.Expression) -> cp.Expression:
    return M


class SubjectTo(Regularizer):
    """``Omega(M) + h(M)`` on a set of metrics, infinite outside it.

    Parameters
    ----------
    omega : Regularizer
        The problem's regularizer; constraints and terms that users added to it before are kept.
    cone : Cone
    constraints : callable, optional
        From the metric in CVXPY (a symmetric matrix, or a vector of weights) to a list of constraints.
    extra_objective : callable, optional
        From the metric to a convex scalar, or a number.
    on_features : callable, optional
        From the problem's variable to the metric that these functions take.

    Raises
    ------
    InputError
        If a function fails or returns anything else, or a constraint or term is not convex by CVXPY's rules.
    """

    grade: ClassVar[Grade] = "conic"

    def __init__(
        self,
        omega: Regularizer,
        cone: Cone,
        *,
        constraints: Constraints | None = None,
        extra_objective: ExtraObjective | None = None,
        on_features: Callable[[cp.Expression], cp.Expression] = _as_it_is,
    ) -> None:
        for name, function in (("constraints", constraints), ("extra_objective", extra_objective)):
            if function is not None and not callable(function):
                raise InputError(
                    f"{name} must be a function of the metric's CVXPY variable, got {type(function).__name__}"
                )
        before = omega if isinstance(omega, SubjectTo) else None
        self.omega: Regularizer = omega if before is None else before.omega
        self.given: tuple[tuple[Constraints | None, ExtraObjective | None], ...] = (
            *(() if before is None else before.given),
            (constraints, extra_objective),
        )
        self.cone, self.on_features = cone, on_features
        self.M, self.in_cone = cone.variable("M")
        self.term, self.own = self._stated(self.M)
        for parameter in cp.Problem(cp.Minimize(self.term), self.own).parameters():
            if parameter.value is None:
                raise InputError(f"the CVXPY parameter {parameter.name()} in your constraints or term has no value")
        #: Constraints with variables besides the metric; in ``plain``, those that can be evaluated at the metric.
        self.joint = [each for each in self.own if self._has_others(each)]
        self.plain = [each for each in self.own if not self._has_others(each)]
        self.elsewhere = bool(self.joint) or self._has_others(self.term)
        #: Cache of the program of bounds: values of all parameters, the bound, multipliers of the user's constraints.
        self._answer: tuple[list[bytes], float, list[Any]] | None = None

    def _has_others(self, stated: cp.Expression | cp.Constraint) -> bool:
        return any(variable.id != self.M.id for variable in stated.variables())

    def _stated(self, M: cp.Expression) -> tuple[cp.Expression, list[cp.Constraint]]:
        """The user's term of the problem's variable, and the constraints on it."""
        term, constraints = self.added(self.on_features(M))
        return (cp.Constant(0.0) if term is None else term), constraints

    @property
    def base(self) -> Regularizer:
        """The regularizer without the terms and constraints that users added."""
        return self.omega

    def added(self, M: cp.Expression) -> tuple[cp.Expression | None, list[cp.Constraint]]:
        """Sum of the users' terms (None if there are none), and all of their constraints."""
        terms = [_scalar(given, M) for _, given in self.given if given is not None]
        constraints = [each for given, _ in self.given if given is not None for each in _listed(given, M)]
        return (sum(terms[1:], terms[0]) if terms else None), constraints

    def split(self, cone: Cone) -> tuple[Regularizer, Array | None, float]:
        """Split of the underlying regularizer, with the users' constraints and terms added to its ``Omega_0``."""
        omega, linear, constant = self.omega.split(cone)
        return (self if omega is self.omega else self.with_user_terms(omega)), linear, constant

    def with_user_terms(self, omega: Regularizer) -> Regularizer:
        """``omega`` with the constraints and terms of this regularizer."""
        made = self.omega.with_user_terms(omega)
        for constraints, extra in self.given:
            made = SubjectTo(
                made, self.cone, constraints=constraints, extra_objective=extra, on_features=self.on_features
            )
        return made

    def contents(self) -> tuple[Any, ...]:
        """For fingerprints: the regularizer, and CVXPY's program of ``min t`` with ``h(M) <= t`` over K and U."""
        t = cp.Variable()
        stated = cp.Problem(cp.Minimize(t), [self.term <= t, *self.in_cone, *self.own])
        data = stated.get_problem_data(cp.CLARABEL)[0]
        dims = data["dims"]
        sizes = [int(dims.zero), int(dims.nonneg), int(dims.exp), list(map(int, dims.soc)), list(map(int, dims.psd))]
        powers = [list(map(float, dims.p3d)), [[float(a) for a in alpha] for alpha in dims.pnd]]
        arrays = [np.asarray(data[name], dtype=np.float64) for name in ("c", "b")]
        return self.omega, sp.csr_array(data["A"], dtype=np.float64), *arrays, sizes, powers

    @property
    def form(self) -> Canonical:
        """CVXPY's program of ``min Omega(M) + h(M)`` over U, its first variables being the metric.

        Made anew at every call, as values of parameters may have changed.
        """
        cost = self.omega.expression(self.M, self.cone) + self.term
        stated = cp.Problem(cp.Minimize(cost), [*self.omega.constraints(self.M, self.cone), *self.own])
        return canonical(stated, first=self.M)

    def described(self, cone: Cone, points: Array | None) -> Described:
        """A conic program: the regularizer, the users' terms and constraints together."""
        if cone.free or isinstance(cone, BlockDiagonal):
            raise InputError(
                "constraints and terms of your own are proven on positive semidefinite and on diagonal metrics only"
            )
        form = self.form
        factored = [own.u.name() for own in form.forms if not own.exact]
        if factored:
            raise InputError(
                f"files have no statement of {factored[0]} in constraints or terms of your own, of which a "
                "factor is taken in floats: state cp.sum_squares(F @ x)"
            )
        table, arrays = form.program.described()
        return Described({"kind": "conic", **table}, arrays, constant=form.constant)

    def value(self, M: Array, cone: Cone) -> float:
        """``Omega(M) + h(M)``; infinite if constraints are violated beyond the tolerance, or h has no value."""
        return self.omega.value(M, cone) + self._term_at(M) if self._inside(M) else np.inf

    def repair(self, M: Array, cone: Cone) -> Array:
        """A metric near ``M`` that satisfies the constraint of ``Omega``; the users' constraints are not repaired."""
        return self.omega.repair(M, cone)

    def change(self, M: Array, other: Array, cone: Cone) -> float:
        """``|Omega(M') + h(M') - Omega(M) - h(M)|``, whether inside the constraints or not."""
        return self.omega.change(M, other, cone) + abs(self._term_at(other) - self._term_at(M))

    def violation(self, M: Array, cone: Cone) -> float:
        """Largest violation of the user's constraints at ``M``."""
        self.M.save_value(M)
        return max(max(map(_violation, self.plain), default=0.0), self._distance(M))

    def missed(self, M: Array, value: float, S: Array, G: Array | None, cone: Cone) -> float:
        """Estimate the gain of ``M`` from violating constraints: violations times the multipliers of a bound."""
        multipliers = self._bounded(value, S, G)[1]
        # Sets the values of the users' own variables.
        self._distance(M)
        self.M.save_value(M)
        return sum(_product(price, each) for price, each in zip(multipliers, self.own, strict=True))

    def _inside(self, M: Array) -> bool:
        # At the metric zero, the arguments of a constraint are the constants that it compares with.
        self.M.save_value(self.cone.zeros())
        least = min(1.0, float(np.abs(M).max()))
        sizes = [max(least, _size(each)) for each in self.plain]
        self.M.save_value(M)
        for each, size in zip(self.plain, sizes, strict=True):
            if _violation(each) > TOLERANCE * max(size, _size(each)):
                return False
        return self._distance(M) <= TOLERANCE * max(1.0, float(np.abs(M).max()))

    def _distance(self, M: Array) -> float:
        """Entrywise distance to the nearest metric at which some value of the other variables satisfies ``joint``."""
        if not self.joint:
            return 0.0
        program, P, width = self._nearest
        P.value = M
        solve_conic(program)
        return max(0.0, float(width.value))

    @cached_property
    def _nearest(self) -> tuple[cp.Problem, cp.Parameter, cp.Variable]:
        P, width = cp.Parameter(self.cone.shape), cp.Variable()
        return cp.Problem(cp.Minimize(width), [*self.joint, cp.abs(self.M - P) <= width]), P, width

    def _term_at(self, M: Array) -> float:
        """``h(M)``; infinite if it has no value."""
        if self.elsewhere:
            value = self._pin(M)[0]
        else:
            self.M.save_value(M)
            found = self.term.value
            value = np.inf if found is None else float(np.squeeze(found))
        return np.inf if np.isnan(value) else value

    def _pin(self, M: Array) -> tuple[float, Array]:
        """``h(M)`` and a subgradient, by a conic program with the metric fixed."""
        program, P, width, held = self._pinned
        P.value, width.value = M, 2.0 * self._distance(M) + (1e-9 if self.joint else 0.0)
        value = max(solve_conic(program), float(program.value))
        return value, -np.asarray(held.dual_value, dtype=np.float64).reshape(M.shape)

    @cached_property
    def _pinned(self) -> tuple[cp.Problem, cp.Parameter, cp.Parameter, cp.Constraint]:
        P, width = cp.Parameter(self.cone.shape), cp.Parameter(nonneg=True)
        if not self.joint:
            held = self.M == P
            return cp.Problem(cp.Minimize(self.term), [held]), P, width, held
        off = cp.Variable(self.cone.shape)
        held = self.M - off == P
        return cp.Problem(cp.Minimize(self.term), [held, cp.abs(off) <= width, *self.joint]), P, width, held

    def gradient(self, M: Array, cone: Cone) -> Array:
        """A subgradient of ``Omega + h`` at ``M``; if the constraints hold there, also of ``Omega'``."""
        slope = self.omega.gradient(M, cone)
        if not self.term.variables() and not self.joint:
            return slope
        own = self._pin(M)[1]
        return slope + (0.5 * (own + own.T) if own.ndim == 2 else own)

    def slope(self, M: Array, move: Array, cone: Cone) -> float:
        """Directional derivative at ``M`` along ``move``; that of the term by a difference quotient."""
        ahead = self._term_at(M + STEP * move) - self._term_at(M)
        return self.omega.slope(M, move, cone) + ahead / STEP

    def bound(self, value: float, S: Array, G: Array | None, cone: Cone, hint: Array) -> float:
        """CLARABEL's dual value of ``min max(0, v - <S, M>) + <G, M> + Omega(M) + h(M)`` over K and U.

        Raises
        ------
        InputError
            If no metric satisfies the constraints.
        SolverError
            If CLARABEL fails.
        """
        if not (np.isfinite(value) and np.isfinite(S).all()):
            return -np.inf
        return self._bounded(value, S, G)[0]

    def _bounded(self, value: float, S: Array, G: Array | None) -> tuple[float, list[Any]]:
        program, v, normal, linear = self._bounding
        v.value, normal.value, linear.value = value, S, self.cone.zeros() if G is None else G
        values = [each.value for each in program.parameters()]
        asked = [np.asarray(each.toarray() if sp.issparse(each) else each).tobytes() for each in values]
        if self._answer is None or self._answer[0] != asked:
            self._answer = asked, solve_conic(program), [each.dual_value for each in self.own]
        return self._answer[1:]

    @cached_property
    def _bounding(self) -> tuple[cp.Problem, cp.Parameter, cp.Parameter, cp.Parameter]:
        v, S, G = cp.Parameter(), cp.Parameter(self.cone.shape), cp.Parameter(self.cone.shape)
        plane = v - cp.sum(cp.multiply(S, self.M))
        cost = self.omega.expression(self.M, self.cone) + self.term + cp.pos(plane) + cp.sum(cp.multiply(G, self.M))
        inside = [*self.omega.constraints(self.M, self.cone), *self.in_cone, *self.own]
        return cp.Problem(cp.Minimize(cost), inside), v, S, G

    def expression(self, M: cp.Variable, cone: Cone) -> cp.Expression:
        """``Omega(M) + h(M)``."""
        return self.omega.expression(M, cone) + self._stated(M)[0]

    def constraints(self, M: cp.Variable, cone: Cone) -> list[cp.Constraint]:
        """The user's constraints."""
        return [*self.omega.constraints(M, cone), *self._stated(M)[1]]

    def _wishes(self, term: str, inside: str) -> str:
        given, extra = (any(one[i] is not None for one in self.given) for i in (0, 1))
        return (term if extra else "") + (inside if given else "")

    def latex(self, M: str) -> str:
        """The formula, with h and the indicator of the constraints."""
        return self.omega.latex(M) + self.added_latex(M)

    def added_latex(self, M: str) -> str:
        """``+ h(M)``, and the indicator of the constraints."""
        return self._wishes(f" + h({M})", rf" + \iota_{{\mathcal{{U}}}}({M})")

    def text(self, M: str) -> str:
        """The formula in plain text."""
        return self.omega.text(M) + self._wishes(f" + h({M})", f" + [{M} in U]")


def _listed(function: Constraints, M: cp.Expression) -> list[cp.Constraint]:
    given = _called(function, M, "constraints")
    given = [given] if isinstance(given, cp.Constraint) else given
    if not isinstance(given, list | tuple):
        raise InputError(f"constraints must return a list of CVXPY constraints, got {type(given).__name__}")
    for i, constraint in enumerate(given):
        if isinstance(constraint, bool | np.bool_):
            if not constraint:
                raise InputError(f"constraints returned False as constraint {i}: no metric satisfies it")
        elif not isinstance(constraint, cp.Constraint):
            raise InputError(f"constraints must return CVXPY constraints; item {i} is {type(constraint).__name__}")
        elif not constraint.is_dcp():
            raise InputError(f"constraint {i} is not convex by CVXPY's rules: {constraint}")
    return [constraint for constraint in given if isinstance(constraint, cp.Constraint)]


def _scalar(function: ExtraObjective, M: cp.Expression) -> cp.Expression:
    given = _called(function, M, "extra_objective")
    try:
        expression = cp.Constant(given) if np.isscalar(given) else given
        scalar = isinstance(expression, cp.Expression) and expression.is_scalar()
    except (TypeError, ValueError):
        scalar = False
    if not scalar:
        raise InputError(f"extra_objective must return a scalar CVXPY expression, got {type(given).__name__}")
    if not expression.is_convex():
        raise InputError(f"extra_objective is not convex by CVXPY's rules: {expression}")
    return cp.sum(expression)


def _called(function: Callable[..., Any], M: cp.Expression, name: str) -> Any:
    try:
        return function(M)
    except Exception as error:
        raise InputError(f"{name} failed on the metric's CVXPY variable of shape {M.shape}: {error}") from error


def _violation(constraint: cp.Constraint) -> float:
    """Largest violation at the current values of the variables; infinite if it is not a number."""
    found = np.max(constraint.violation(), initial=0.0)
    return np.inf if np.isnan(found) else float(found)


def _product(multipliers: Any, constraint: cp.Constraint) -> float:
    """Violations times absolute multipliers; for a cone, the sum of these times its distance, which is no less."""
    parts = multipliers if isinstance(multipliers, list) else [multipliers]
    sizes = np.concatenate([np.abs(np.ravel(np.asarray(part, dtype=np.float64))) for part in parts])
    missed = np.ravel(np.asarray(constraint.residual, dtype=np.float64))
    return float(sizes @ missed) if missed.size == sizes.size else float(sizes.sum() * missed.max(initial=0.0))


def _size(constraint: cp.Constraint) -> float:
    """Largest finite absolute value among the arguments of a constraint; 1 if none has a value."""
    found = [np.abs(np.asarray(each.value, dtype=np.float64)) for each in constraint.args if each.value is not None]
    return max((float(np.max(each, initial=0.0, where=np.isfinite(each))) for each in found), default=1.0)
