r"""The alternating direction method of multipliers (ADMM) for losses of listed comparisons plus norms of the metric.

.. math:: \min_{M \in K} \; \sum_t \ell_t(s_t) + \langle G, M \rangle + \omega(M) + \sum_k \lambda_k \|M - M_k\|_k,
   \qquad s = D M

Losses, omega on the cone and every norm have their own copies of the variable
(:mod:`convexmetric.regularizers.splitting`). A step is one proximal map of each and a product with the inverse of a
matrix that is factored once; hundreds to thousands of steps are needed. Multipliers of the comparisons and slopes of
the norms are feasible in every step, and prove a bound.

A step treats all directions alike. Under a budget on :math:`\langle A, M \rangle` it is taken in the coordinates in
which A is the identity, :math:`M = T N T` with :math:`T = A^{-1/2}`: directions that A weighs very differently would
else take turns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from convexmetric.arrays import Array, congruent
from convexmetric.comparisons.points import row_width
from convexmetric.cones import Cone
from convexmetric.errors import UnsupportedProblemError
from convexmetric.problem import MetricProblem
from convexmetric.regularizers import Budget
from convexmetric.regularizers.splitting import Splitting
from convexmetric.risks import SeparableRisk
from convexmetric.solvers.runtime import Monitor, Run, Solver, Steps
from convexmetric.solvers.runtime.requirements import FLOAT, need, need_short_rows

#: Steps at most, and steps between two evaluations of the certified gap, which count as iterations.
MAX_STEPS, LOOK_EVERY = 20_000, 25
#: Rows that are whitened at a time.
BLOCK = 1_000
#: Evaluations in a row without a better gap after which it gives up.
IDLE_LOOKS = 100


@dataclass(frozen=True)
class ADMM(Solver):
    """Exact for penalties that have proximal maps, alone or norm by norm."""

    name: ClassVar[str] = "admm"

    def prepare(self, problem: MetricProblem) -> Run:
        """Needs listed comparisons, and a loss and a regularizer whose parts have proximal maps."""
        risk, cone = problem.risk.form(SeparableRisk), problem.cone
        base = problem.regularizer.chain(cone)[1]
        need(base.margin is not None or base.has_prox(cone), "its regularizer has no proximal map")
        try:
            risk.loss.prox(np.ones(risk.parts), 1.0)
        except NotImplementedError as error:
            raise UnsupportedProblemError("its loss has no proximal map") from error
        need_short_rows(risk.parts, row_width(risk.points, cone))
        return partial(self._solve, problem, risk)

    def memory(self, problem: MetricProblem) -> float | None:
        """Bytes of the rows, twice, of a square of their smaller side, and of some fifty iterates."""
        risk = problem.risk.form(SeparableRisk)
        small = min(risk.parts, problem.cone.size)
        states = 50.0 * (risk.parts + 3.0 * problem.cone.size)
        return FLOAT * (2.0 * risk.parts * row_width(risk.points, problem.cone) + float(small) ** 2 + states)

    def _solve(self, problem: MetricProblem, risk: SeparableRisk, monitor: Monitor) -> Steps:
        """Step until the certified gap closes."""
        cone, omega, loss = problem.cone, problem.regularizer, risk.loss
        terms, base, linear = omega.chain(cone)
        G = linear if problem.G is None else linear + problem.G
        rows, white = risk.comparisons.rows, None
        M = cone.zeros() if monitor.M is None else monitor.M
        if isinstance(base, Budget) and not terms and (cone.diagonal or cone.on_subspace(1) is not None):
            white = _Whitening(base.A, cone)
            G, rows, M = white.element(G), white.rows(rows), cone.zeros()
            base = Budget(cone.identity(), base.limit, weight=base.weight)
        splitting = Splitting(terms, base, cone, G, rows, loss.prox)
        splitting.start(M, loss.clip(np.zeros(risk.parts)), [cone.zeros() for _ in terms], cone.zeros())
        idle, gap = 0, monitor.gap
        for _ in range(0, MAX_STEPS, LOOK_EVERY):
            splitting.run(LOOK_EVERY)
            if not np.isfinite(splitting.v).all():
                return
            M = splitting.M if white is None else white.element(splitting.M)
            M = omega.repair(risk.repair(M), cone)
            monitor.primal(M, problem.value(M), by_risk=True)
            u = loss.clip(splitting.multipliers[: risk.parts])
            point = risk.minorant(u)
            if point is not None:
                point = replace(point, slopes=(1.0, splitting.slopes) if terms else None)
                monitor.dual(problem.holding(point.slopes).bound(point.value, point.S, M), partial(np.copy, u), point)
            idle = 0 if monitor.gap < gap else idle + 1
            gap = monitor.gap
            yield {"rho": splitting.rho}
            if idle == IDLE_LOOKS:
                return


class _Whitening:
    """Change of coordinates to ``M = T N T`` with ``T = A^-1/2``, of rows and linear terms as of metrics."""

    def __init__(self, A: Array, cone: Cone) -> None:
        self.cone, self.root = cone, A
        if not cone.diagonal:
            values, vectors = np.linalg.eigh(A)
            self.root = (vectors / np.sqrt(values)) @ vectors.T

    def element(self, S: Array) -> Array:
        """``T S T``, also of a stack."""
        return S / self.root if self.cone.diagonal else congruent(S, self.root)

    def rows(self, rows: Any) -> Any:
        """The same of rows in coordinates."""
        if sp.issparse(rows):
            return sp.csr_array(rows @ sp.diags_array(1.0 / self.root))
        blocks = (self.cone.from_coordinates(rows[at : at + BLOCK]) for at in range(0, len(rows), BLOCK))
        return np.vstack([self.cone.coordinates(self.element(block)) for block in blocks])
