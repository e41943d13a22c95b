r"""L-BFGS-B on the dual of hinge losses with a squared Frobenius norm.

.. math:: \max_{0 \le u \le C} \; \mu \sum_t u_t - \frac{1}{2 \lambda} \| [S(u)]_+ \|_F^2, \qquad
   S(u) = \sum_t u_t D_t - G, \qquad M(u) = \frac{1}{\lambda} [S(u)]_+

The gradient is the margins left at ``M(u)``, ``mu - D(M(u))``: one adjoint, one projection and one forward product
a step. Cheap steps, linear convergence at best: it closes small problems in a fraction of a second and slows down
where many margins are near their kink.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.optimize import minimize

from convexmetric.cones.base import Array
from convexmetric.errors import InputError, SolverError
from convexmetric.losses import Hinge
from convexmetric.problem import MetricProblem
from convexmetric.regularizers import SquaredFrobenius
from convexmetric.risks import SeparableRisk
from convexmetric.solvers.run import Monitor, Solver

__all__ = ["DualAscent"]


@dataclass(frozen=True)
class DualAscent(Solver):
    """Quasi-Newton ascent on the multipliers.

    Parameters
    ----------
    max_steps : int
        Give up after this many steps.
    look_every : int
        Steps between two looks at the certified gap, which count as iterations.
    """

    name: ClassVar[str] = "dual-ascent"

    max_steps: int = 100_000
    look_every: int = 20

    def __post_init__(self) -> None:
        if self.max_steps < 1 or self.look_every < 1:
            raise InputError("max_steps and look_every must be at least 1")

    def unsupported(self, problem: MetricProblem) -> str | None:
        """Needs soft hinge losses of listed comparisons and a squared Frobenius norm."""
        risk = problem.risk
        if not isinstance(risk, SeparableRisk) or not isinstance(risk.loss, Hinge) or risk.loss.hard:
            return "its risk is not a sum of soft hinge losses of listed comparisons"
        if not isinstance(problem.regularizer, SquaredFrobenius):
            return "its regularizer is not a squared Frobenius norm"
        return None

    def run(self, problem: MetricProblem, monitor: Monitor) -> None:
        """Ascend, looking at the certified gap every few steps."""
        risk, regularizer = problem.risk, problem.regularizer
        if not isinstance(risk, SeparableRisk) or not isinstance(risk.loss, Hinge):
            raise SolverError("dual ascent needs hinge losses of listed comparisons")
        if not isinstance(regularizer, SquaredFrobenius):
            raise SolverError("dual ascent needs a squared Frobenius norm")
        cone, comparisons, loss = problem.cone, risk.comparisons, risk.loss
        reg = regularizer.reg

        def metric(u: Array) -> Array:
            S = comparisons.adjoint(u)
            return cone.project(S if problem.G is None else S - problem.G) / reg

        def negative_dual(u: Array) -> tuple[float, Array]:
            M = metric(u)
            return 0.5 * reg * cone.inner(M, M) - loss.dual_value(u), comparisons.forward(M) - loss.margin

        def look(u: Array) -> bool:
            M = metric(u)
            monitor.primal(M, problem.objective(M))
            monitor.dual(problem.dual_bound(u, hint=M), lambda: u)
            return monitor.iterate()

        # The best equal multipliers: the dual is a parabola in their size while no eigenvalue changes sign.
        equal = np.ones(risk.parts)
        M = metric(equal)
        square = reg * cone.inner(M, M)
        u = np.minimum(loss.C, loss.dual_value(equal) / square if square > 0.0 else loss.C) * equal
        if look(u):
            return
        steps = 0

        def after_step(current: Array) -> None:
            nonlocal steps
            steps += 1
            if (steps % self.look_every == 0 or monitor.out_of_time) and look(current.copy()):
                raise StopIteration

        result = minimize(
            negative_dual,
            u,
            jac=True,
            method="L-BFGS-B",
            bounds=[(0.0, loss.C)] * risk.parts,
            callback=after_step,
            options={"maxiter": self.max_steps, "maxfun": 10 * self.max_steps, "maxcor": 20, "ftol": 0.0, "gtol": 0.0},
        )
        if steps % self.look_every:
            look(np.asarray(result.x))
