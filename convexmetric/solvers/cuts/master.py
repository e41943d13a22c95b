r"""The master problem of cutting planes: the penalty plus the current cuts, with a slack for each group.

.. math:: \min_{M \in K, \; \xi \ge 0} \; \Omega(M) + \langle G, M \rangle + \sum_g \xi_g \quad \text{s.t.} \quad
   \xi_g \ge b_t - \langle \Psi_t, M \rangle \;\; \text{for every cut t of group g}

Each master differs from the last by a few cuts, so it starts from the last one's interior path.

With many features, a matrix metric under a trace or a norm has low rank, and the program is solved over :math:`M = V U
V^\top` with few orthonormal columns V. The multipliers of that smaller program are feasible in the whole one; they are
optimal for it exactly when

.. math:: Z = C + L(M) - \sum_t a_t \Psi_t

has no negative eigenvalue. Otherwise the eigenvectors of the negative ones join V, directions that U does not use leave
it, and the program is solved again from the previous path.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from convexmetric.arrays import Array, congruent
from convexmetric.certificates.certificate import Bounds, relative_gap
from convexmetric.cones import Cone
from convexmetric.problem import MetricProblem
from convexmetric.risks import CutDual, Minorant
from convexmetric.solvers.cuts.factored import FactoredRows
from convexmetric.solvers.numerics.interior_point import Outcome, interior_point
from convexmetric.solvers.numerics.qp import ConicQP, SubspacePenalty, heavy_start, warm_start

#: Features from which matrix metrics are solved for in a subspace.
SUBSPACE_FROM = 48
#: Columns of V at first, and the most that join at a time.
FIRST, JOINING = 16, 8
#: Columns leave while their eigenvalues of U sum to less than this fraction of the tolerance, relative to all.
LEAVING = 0.1
#: Rounds of enlarging the subspace in one master.
ROUNDS = 8
#: With cuts stored as factors, columns join within a master only while its gap exceeds this many times the tolerance.
PATIENCE = 3.0

#: Normals of cuts as masters take them: coordinates or entries of matrices, or factors.
Rows = Array | FactoredRows


@dataclass(frozen=True)
class MasterPoint(Bounds):
    """An approximate solution of the master, with its bounds.

    Attributes
    ----------
    M : array
        Metric, in the cone.
    a : (k,) array
        Multipliers of the cuts, feasible.
    sums : Minorant
        Weighted sum of the cuts: ``sum a b`` and ``sum a Psi``.
    upper_bound, lower_bound : float
        Bounds of the master's value; the lower one also bounds the problem.
    iterations : int
        Interior-point steps taken.
    """

    M: Array
    a: Array
    sums: Minorant
    upper_bound: float
    lower_bound: float
    iterations: int


def works_in_subspace(cone: Cone) -> bool:
    """Whether masters on this cone are solved in a subspace: many features, and metrics on subspaces form a cone."""
    return cone.d >= SUBSPACE_FROM and cone.on_subspace(FIRST) is not None


def master_rows(cone: Cone, normals: Array) -> Array:
    """Convert normals to the master's form: coordinates, or entries of matrices in a subspace or on the dual."""
    entries = cone.free or works_in_subspace(cone)
    return cone.from_coordinates(normals).reshape(len(normals), -1) if entries else normals


@dataclass(frozen=True)
class MatrixRows:
    """Normals of cuts as matrices, ``(k, d^2)``."""

    normals: Array
    cone: Cone

    def combined(self, a: Array) -> Array:
        """``sum_t a_t Psi_t``."""
        return (self.normals.T @ a).reshape(self.cone.shape)

    def restricted(self, V: Array) -> Array:
        """``V^T Psi_t V`` of every cut, ``(k, r, r)``."""
        return congruent(self.normals.reshape(-1, *self.cone.shape), V)


class Master:
    """Solve masters whose cuts come and go, by an interior-point method.

    Parameters
    ----------
    problem : MetricProblem
        Gives the cone, the penalty and the lower bounds that multipliers prove.
    """

    def __init__(self, problem: MetricProblem) -> None:
        self.problem = problem
        self.path: list[tuple[Array, Array]] = []
        #: The inner plane of all bounds, where nothing but the data bounds metrics, once it is found.
        self.plane: tuple[CutDual, Minorant] | None = None
        self.subspace = _Subspace(problem) if works_in_subspace(problem.cone) else None

    def start(self) -> Array:
        """Metric of the first cuts: zero, so that the value of later masters is not zero."""
        return self.problem.cone.zeros()

    def solve(
        self, normals: Rows, offsets: Array, group: np.ndarray, C: Array, tol: float, stop: Callable[[], bool]
    ) -> MasterPoint:
        """Solve with the cuts ``offsets - <normals, M>`` to relative gap ``tol``, or as far as float64 carries."""
        if self.subspace is not None:
            return self.subspace.solve(normals, offsets, group, C, tol, stop)
        assert isinstance(normals, np.ndarray), "normals stay factors for work in a subspace"
        if self.plane is None and self.path:
            self.plane = self.problem.inner_plane(self.problem.cone.project(self.path[-1][0]))
        qp = ConicQP(self.problem.beside(self.plane), normals, offsets, group, C)
        outcome, self.path, iterations = follow(qp, self.path, tol, stop)
        a = outcome.a
        sums = Minorant(float(offsets @ a), self.problem.cone.from_coordinates(normals.T @ a))
        return MasterPoint(outcome.U, a, sums, outcome.upper_bound, outcome.lower_bound, iterations)


def follow(
    qp: ConicQP, path: list[tuple[Array, Array]], tol: float, stop: Callable[[], bool]
) -> tuple[Outcome, list[tuple[Array, Array]], int]:
    """Solve from the path of a related program, else from a cold and then a heavy start; outcome, path, iterations."""
    solved = partial(interior_point, qp, tol, stop=stop)
    start, place = warm_start(qp, path)
    outcome = solved(start=start)
    path, iterations = path[: place + 1] + outcome.path, outcome.iterations
    if outcome.gap > tol and start is not None:
        outcome = solved()
        path, iterations = outcome.path, iterations + outcome.iterations
    if outcome.gap > tol and not stop():
        again = solved(start=heavy_start(qp))
        iterations += again.iterations
        if again.gap < outcome.gap:
            outcome, path = again, again.path
    return outcome, path, iterations


class _Subspace:
    """Masters in a subspace: its columns V, and the interior path in their coordinates."""

    def __init__(self, problem: MetricProblem) -> None:
        self.problem = problem
        self.V: Array | None = None
        self.path: list[tuple[Array, Array]] = []

    def solve(
        self, normals: Rows, offsets: Array, group: np.ndarray, C: Array, tol: float, stop: Callable[[], bool]
    ) -> MasterPoint:
        problem, cone = self.problem, self.problem.cone
        linear = cone.from_coordinates(problem.linear())
        curvature = problem.quadratic()
        assert isinstance(curvature, float), "matrix metrics have no full quadratic form"
        cuts = MatrixRows(normals, cone) if isinstance(normals, np.ndarray) else normals
        # With cuts stored as factors a pass is short compared with steps in a wider subspace: columns join between
        # masters.
        inner, enough = (0.5, 1.0) if isinstance(normals, np.ndarray) else (1.0, PATIENCE)
        if self.V is None:
            pull = cuts.combined(np.ones(len(offsets))) - linear
            self.V = np.linalg.eigh(pull)[1][:, -FIRST:]
        best: MasterPoint | None = None
        iterations = 0
        for _ in range(ROUNDS):
            penalty = SubspacePenalty(problem, self.V)
            rows = penalty.cone.coordinates(cuts.restricted(self.V))
            qp = ConicQP(penalty, rows, offsets, group, C)
            outcome, self.path, steps = follow(qp, self.path, inner * tol, stop)
            iterations += steps
            M = self.V @ outcome.U @ self.V.T
            S = cuts.combined(outcome.a)
            sums = Minorant(float(offsets @ outcome.a), 0.5 * (S + S.T))
            lower = problem.bound(sums.value, sums.S, M)
            if best is None or lower > best.lower_bound:
                best = MasterPoint(M, outcome.a, sums, outcome.upper_bound, lower, iterations)
            Z = linear + curvature * M - S
            done = relative_gap(outcome.upper_bound, lower) <= enough * tol or stop()
            # Columns leave between masters only: dropped within one they may come and go for ever.
            self._renew(outcome.U, Z, LEAVING * tol if done else 0.0)
            if done:
                break
        assert best is not None
        return best

    def _renew(self, U: Array, Z: Array, share: float) -> None:
        """Add the eigenvectors of negative eigenvalues of Z to V, and remove directions that U hardly uses."""
        assert self.V is not None
        values, Q = np.linalg.eigh(U)
        keep = Q[:, np.cumsum(np.maximum(values, 0.0)) > share * values.sum()] if share else Q
        kept = self.V @ keep
        negative, vectors = np.linalg.eigh(Z)
        joining = vectors[:, :JOINING][:, negative[:JOINING] < 0.0]
        # All columns are orthonormalised anew, so that rounding never adds up: only the signs of those that stay may
        # change, and are restored.
        columns, R = np.linalg.qr(np.hstack([kept, joining]))
        columns *= np.where(np.diag(R) < 0.0, -1.0, 1.0)
        new = np.abs(np.diag(R)) > 1e-3
        self.V = columns[:, new]
        count = int(new.sum()) - kept.shape[1]
        self.path = [_extended(keep.T @ u @ keep, keep.T @ z @ keep, count) for u, z in self.path]


def _extended(U: Array, Z: Array, count: int) -> tuple[Array, Array]:
    """Extend a point of the interior path by ``count`` new columns, as central as it was."""
    if count == 0:
        return U, Z
    s = len(U)
    mu = float(np.vdot(U, Z)) / s
    zeta = float(np.trace(Z)) / s
    wider_u, wider_z = np.zeros((s + count, s + count)), np.zeros((s + count, s + count))
    wider_u[:s, :s], wider_z[:s, :s] = U, Z
    new = np.arange(s, s + count)
    wider_u[new, new], wider_z[new, new] = mu / zeta, zeta
    return wider_u, wider_z
