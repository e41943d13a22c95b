"""Cutting planes with a master in CVXPY, for problems with constraints and terms of the user's own.

The same as :mod:`convexmetric.solvers.cuts.cutting_planes` but for the master, which is stated in CVXPY with a block of
parameters for the cuts: so many rows for each group, the unused ones void. Setting them anew takes milliseconds where
stating the problem anew would take most of the time; when a group is out of rows the block is doubled. Listed
comparisons need no cuts: their statement and the user's terms are one conic program.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import cvxpy as cp
import numpy as np

from convexmetric.certificates import UserTerms, solve_conic
from convexmetric.certificates.user_terms import TIGHT
from convexmetric.cones.base import Array
from convexmetric.errors import SolverError
from convexmetric.problem import MetricProblem
from convexmetric.risks import Reason, SeparableRisk
from convexmetric.solvers.cuts.cutting_planes import Pool
from convexmetric.solvers.run import Monitor, Run, Solver

__all__ = ["ConicCuttingPlanes"]

#: Rows for the cuts of a group, at first.
ROWS = 8


@dataclass(frozen=True)
class ConicCuttingPlanes(Solver):
    """Cutting planes for a problem with the user's terms.

    Parameters
    ----------
    groups : int
        Number of slacks.
    stabilisation : float
        Cuts are made at ``stabilisation * best + (1 - stabilisation) * master``.
    drop_after : int
        Drop cuts with less than a tenth of the mean weight of their group in this many masters running.
    """

    name: ClassVar[str] = "conic-cutting-planes"

    groups: int = 32
    stabilisation: float = 0.5
    drop_after: int = 4

    def prepare(self, problem: MetricProblem) -> Run | Reason:
        """Needs a risk that is nonnegative, or listed."""
        if problem.risk.nonnegative or isinstance(problem.risk, SeparableRisk):
            return lambda monitor: self.run_with(problem, monitor, UserTerms(problem, None, None))
        return Reason("its risk may be negative, or does not say that it is not")

    def run_with(self, problem: MetricProblem, monitor: Monitor, terms: UserTerms) -> None:
        """Alternate separation and master, or solve listed comparisons at once."""
        if isinstance(problem.risk, SeparableRisk):
            self._at_once(problem, monitor, terms)
        else:
            self._by_cuts(problem, monitor, terms)

    def _at_once(self, problem: MetricProblem, monitor: Monitor, terms: UserTerms) -> None:
        """One conic program with everything written out."""
        statement = problem.statement()
        objective = statement.problem.objective.expr + terms.extra_on(statement.metric)
        constraints = statement.problem.constraints + terms.constraints_on(statement.metric)
        whole = cp.Problem(cp.Minimize(objective), constraints)
        solve_conic(whole, TIGHT)
        metric = problem.risk.repair(problem.cone.project(np.asarray(statement.metric.value, dtype=np.float64)))
        monitor.primal(metric, problem.objective(metric) + terms.value(metric))
        multipliers = statement.dual()
        point = problem.risk.dual_point(multipliers)
        if point is None:
            raise SolverError("CLARABEL left multipliers that are no numbers")
        monitor.dual(terms.lower_bound(point), lambda: multipliers)
        monitor.iterate()

    def _by_cuts(self, problem: MetricProblem, monitor: Monitor, terms: UserTerms) -> None:
        """Cutting planes; the master's first solution satisfies the user's constraints, and so do all that follow."""
        risk = problem.risk
        pool = Pool.empty(problem, self.groups)
        master = _Master(terms, pool.n_groups)
        metric = master.solve(pool)[0]
        while True:
            cuts = risk.separate(metric, pool.groups)
            monitor.primal(metric, float(cuts.values.sum()) + problem.penalty(metric) + terms.value(metric))
            pool.add(metric, cuts)
            M, weights, lower = master.solve(pool)
            pool.weigh(weights)
            improved = monitor.dual(lower, pool.dual_point())
            if monitor.iterate(cuts=len(pool.offsets)):
                return
            if improved:
                pool.drop(self.drop_after)
            assert monitor.M is not None
            metric = self.stabilisation * monitor.M + (1.0 - self.stabilisation) * M


class _Master:
    """Penalty, user's terms and cuts in CVXPY, with the cuts as parameters."""

    def __init__(self, terms: UserTerms, n_groups: int) -> None:
        self.terms = terms
        self.n_groups = n_groups
        self._state(ROWS)

    def _state(self, rows: int) -> None:
        cone, M = self.terms.problem.cone, self.terms.M
        count = rows * self.n_groups
        self.rows = rows
        self.normals = cp.Parameter((count, int(np.prod(cone.shape))))
        self.offsets = cp.Parameter(count)
        self.xi = cp.Variable(self.n_groups, nonneg=True)
        slack_of = np.kron(np.eye(self.n_groups), np.ones((rows, 1)))
        flat = cp.vec(M, order="C") if len(cone.shape) == 2 else M
        self.cuts = self.normals @ flat + slack_of @ self.xi >= self.offsets
        objective = self.terms.penalty() + cp.sum(self.xi)
        constraints = [*self.terms.in_cone, *self.terms.constraints, self.cuts]
        self.program = cp.Problem(cp.Minimize(objective), constraints)

    def solve(self, pool: Pool) -> tuple[Array, Array, float]:
        """Metric, multipliers clipped to be feasible, and CLARABEL's dual value."""
        cone = self.terms.problem.cone
        counts = np.bincount(pool.group, minlength=self.n_groups)
        if counts.max(initial=0) > self.rows:
            self._state(2 * int(counts.max()))
        place = np.empty(len(pool.offsets), dtype=np.int64)
        for g in range(self.n_groups):
            members = np.flatnonzero(pool.group == g)
            place[members] = g * self.rows + np.arange(len(members))
        normals = np.zeros(self.normals.shape)
        # A void row asks for xi >= -1.
        offsets = np.full(self.offsets.shape, -1.0)
        if len(place):
            full = cone.from_coordinates(pool.normals) if pool.normals.shape[1] == cone.size else pool.normals
            normals[place] = full.reshape(len(place), -1)
            offsets[place] = pool.offsets
        self.normals.value, self.offsets.value = normals, offsets
        lower = solve_conic(self.program, {"tol_gap_abs": 1e-9, "tol_gap_rel": 1e-9, "tol_feas": 1e-9})
        a = np.maximum(np.asarray(self.cuts.dual_value)[place], 0.0)
        totals = np.bincount(pool.group, a, self.n_groups)
        a = a / np.maximum(1.0, totals)[pool.group]
        return cone.project(np.asarray(self.terms.M.value, dtype=np.float64)), a, lower
