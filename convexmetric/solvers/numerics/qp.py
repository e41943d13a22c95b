r"""Conic programs with few coordinates and many slacked rows.

.. math::
   \min_{U \in K, \; \xi \ge 0} \quad & \langle c, U \rangle + \tfrac12 \langle U, L U \rangle
   + \sum_g C_g \xi_g \qquad \text{s.t.} \quad A U + E \xi \ge b \\
   \max_{a \ge 0} \quad & \langle b, a \rangle - \tfrac12 \langle U, L U \rangle \qquad \text{s.t.} \quad
   Z = c + L U - A^\top a \in K, \quad \beta = C - E^\top a \ge 0

Row t has the slack of its group, ``E[t, group[t]] = 1``; groups with ``C_g`` infinite have none. It is the master of
cutting planes (a row a cut, a slack a group of queries) and the whole problem where every comparison is
one row.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from convexmetric.arrays import Array
from convexmetric.cones import Cone
from convexmetric.errors import SolverError
from convexmetric.risks.base import group_sums

#: Sizes between the reciprocal of this and this need no units of their own.
MODERATE = 1e9


class Penalty(Protocol):
    """Parts of a problem that the program needs: cone, ``<c, U> + 1/2 <U, L U>``, and lower bounds by multipliers."""

    @property
    def cone(self) -> Cone:
        """The cone K."""

    def linear(self) -> Array:
        """Linear part c, in coordinates of the cone."""

    def quadratic(self) -> float | Array | None:
        """Quadratic part L; None if the penalty is neither linear nor quadratic."""

    def bound(self, value: float, S: Array, hint: Array) -> float:
        """Lower bound that ``value - <S, U>`` below the slacks' part proves."""


class ConicQP:
    """The penalty of a problem, and in place of its risk a set of rows with slacks; notation of the module.

    Where rows, margins or weights are of extreme size, it is stated in units of its own, powers of two: products of a
    few of its numbers stay in the range of floats, and nothing is rounded. Arguments and results are in those of the
    problem.

    Parameters
    ----------
    problem : Penalty
        A problem or a part of one; gives the cone K, ``<c, U> + 1/2 <U, L U>`` (L a multiple of the identity, or a
        matrix on diagonal metrics), and the lower bounds that multipliers prove.
    A : (k, q) array or sparse matrix
        Rows in coordinates of the cone.
    b : (k,) array
    group : (k,) int array
        Slack of each row.
    C : (G,) array
        Weight of each slack; infinite for none.
    """

    def __init__(self, problem: Penalty, A: Any, b: Array, group: np.ndarray, C: Array) -> None:
        quadratic = problem.quadratic()
        if quadratic is None:
            raise SolverError("the interior-point method needs a linear or quadratic regularizer")
        self.problem = problem
        self.cone = problem.cone
        self.c = self.cone.from_coordinates(problem.linear())
        self.L: float | Array = quadratic
        self.A, self.b, self.group, self.C = A, b, group, C
        self.units = Units()
        self._scale()

    def _scale(self) -> None:
        """Choose units, and rescale the program to them."""
        row = _unit(np.abs(self.A.data if sp.issparse(self.A) else self.A).max(initial=0.0))
        margin = _unit(np.abs(self.b).max(initial=0.0))
        metric = margin / row
        linear, curved = float(np.abs(self.c).max()), float(np.abs(self.L).max())
        if self.hard:
            value = _unit(max(linear * metric, curved * metric * metric))
        else:
            value = margin * _unit(self.C.max(initial=0.0))
            # Where rows weigh nothing beside the penalty, the penalty alone limits the size of metrics.
            costs = max(linear * metric, curved * metric * metric) / value
            metric /= _unit(costs) if costs > MODERATE else 1.0
        self.units = units = Units(metric, margin, value)
        if units == Units():
            return
        with np.errstate(all="ignore"):
            self.A, self.b, self.C = self.A * (metric / margin), self.b / margin, self.C * (margin / value)
            self.c, self.L = self.c * (metric / value), self.L * (metric * (metric / value))

    @property
    def hard(self) -> bool:
        """Whether the rows have no slack."""
        return bool(np.isinf(self.C).any())

    @property
    def curved(self) -> bool:
        """Whether there is a quadratic part."""
        return bool(np.any(self.L))

    @cached_property
    def elements(self) -> Any:
        """The rows as elements of the cone's space, flattened: points are elements, and so all products take these."""
        rows = self.cone.from_coordinates(self.A)
        return rows if rows.ndim == 2 else rows.reshape(len(rows), -1)

    def times(self, U: Array) -> Array:
        """``A U``."""
        return np.asarray(self.elements @ U.ravel())

    def adjoint(self, a: Array) -> Array:
        """``A^T a`` as an element of the cone's space."""
        S = (self.elements.T @ a).reshape(self.cone.shape)
        return np.asarray(0.5 * (S + S.T))

    def gradient(self, U: Array) -> Array:
        """``c + L U``."""
        return self.c + self.quadratic(U)

    def quadratic(self, U: Array) -> Array:
        """``L U``."""
        return times(self.L, U)

    @cached_property
    def counts(self) -> Array:
        """Number of rows of every group."""
        return self.sums(np.ones(len(self.b)))

    def sums(self, values: Array) -> Array:
        """``E^T values``: sums by group."""
        return group_sums(values, self.group, self.C.size)

    def slacks(self, margins: Array) -> Array:
        """Smallest slacks for rows with ``A U - b = margins``."""
        xi = np.zeros(self.C.size)
        np.maximum.at(xi, self.group, -margins)
        return xi

    def primal_value(self, U: Array, margins: Array) -> float:
        """Objective at ``U`` with the smallest slacks; infinite if a hard row is violated."""
        value = self.cone.inner(self.c, U) + 0.5 * self.cone.inner(U, self.quadratic(U))
        if self.hard:
            return value if margins.min() >= 0.0 else np.inf
        return value + float(self.C @ self.slacks(margins))

    def dual_value(self, a: Array, U: Array) -> float:
        """Lower bound that feasible multipliers prove, with ``U`` as a hint."""
        units = self.units
        S = (units.value / units.metric) * self.adjoint(a)
        return self.problem.bound(units.value * float(self.b @ a), S, units.metric * U) / units.value

    def feasible_multipliers(self, a: Array) -> Array:
        """``a`` clipped to be nonnegative and shrunk group by group to ``E^T a <= C``."""
        a = np.maximum(a, 0.0)
        if self.hard:
            return a
        totals = self.sums(a)
        shrink = np.where(totals > self.C, self.C / np.where(totals > 0.0, totals, 1.0), 1.0)
        return a * shrink[self.group]


@dataclass(frozen=True)
class Units:
    """Units of a program, powers of two, by which its metric, margins and values are divided."""

    metric: float = 1.0
    margin: float = 1.0
    value: float = 1.0


def _unit(size: float) -> float:
    """Largest power of two up to a size; 1 for moderate sizes."""
    if not 0.0 < size < np.inf or 1.0 / MODERATE <= size <= MODERATE:
        return 1.0
    return float(np.ldexp(1.0, np.frexp(size)[1] - 1))


def times(L: float | Array, v: Array) -> Array:
    """``L v`` for a quadratic part: a multiple of the identity, or a matrix."""
    return L @ v if isinstance(L, np.ndarray) else L * v


@dataclass
class Iterate:
    """A strictly interior primal-dual point; elements of the cone, not coordinates."""

    U: Array
    Z: Array
    a: Array
    s: Array
    xi: Array
    beta: Array

    @property
    def finite(self) -> bool:
        """Whether no entry is NaN or infinite."""
        return all(np.isfinite(x).all() for x in (self.U, self.Z, self.a, self.s, self.xi, self.beta))
