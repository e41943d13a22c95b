r"""L-BFGS-B on the dual of hinge losses with a squared Frobenius norm.

.. math:: \max_{0 \le u \le C} \; \mu \sum_t u_t - \frac{1}{2 \lambda} \| [S(u)]_+ \|_F^2, \qquad
   S(u) = \sum_t u_t D_t - G, \qquad M(u) = \frac{1}{\lambda} [S(u)]_+

The gradient is the margins left at ``M(u)``, ``mu - D(M(u))``: one adjoint, one projection and one forward product
a step. Cheap steps, linear convergence at best: it closes small problems in a fraction of a second and slows down
where many margins are near their kink.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
from scipy.optimize import Bounds, minimize

from convexmetric.cones.base import Array
from convexmetric.problem import MetricProblem
from convexmetric.risks import ListedHinges, Reason
from convexmetric.solvers.run import Monitor, Run, Solver, check_counts
from convexmetric.solvers.run.memory import FLOAT, metric_memory, pass_memory
from convexmetric.solvers.run.needs import linear_part, soft_hinges, squared_norm

__all__ = ["DualAscent"]


#: Share of the dual value that a run of L-BFGS-B must gain, or it is not repeated.
LEAST = 1e-12
#: Multiples of the start that are tried with a linear term.
SCALES = np.logspace(-3.0, 6.0, 37)


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
        check_counts(self, "max_steps", "look_every")

    def prepare(self, problem: MetricProblem) -> Run | Reason:
        """Needs soft hinges of listed comparisons and a squared Frobenius norm, with a linear term or without."""
        hinges, reg = soft_hinges(problem), squared_norm(problem)
        if isinstance(hinges, Reason):
            return hinges
        return reg if isinstance(reg, Reason) else partial(self._ascend, problem, hinges, reg)

    def memory(self, problem: MetricProblem) -> float | None:
        """Of a pass, the quasi-Newton method's fifty vectors of multipliers, and five metrics."""
        return pass_memory(problem) + FLOAT * 50.0 * problem.risk.parts + 5.0 * metric_memory(problem)

    def _ascend(self, problem: MetricProblem, hinges: ListedHinges, reg: float, monitor: Monitor) -> None:
        """Ascend, looking at the certified gap every few steps."""
        cone, comparisons, G = problem.cone, hinges.comparisons, linear_part(problem)
        count = len(comparisons)

        def metric(u: Array) -> Array:
            return cone.project(comparisons.adjoint(u) - G) / reg

        def negative_dual(u: Array) -> tuple[float, Array]:
            M = metric(u)
            return 0.5 * reg * cone.inner(M, M) - hinges.dual_value(u), comparisons.forward(M) - hinges.margins

        def look(u: Array) -> bool:
            M = metric(u)
            monitor.primal(M, problem.objective(M))
            monitor.dual(problem.dual_bound(u, hint=M), lambda: u)
            return monitor.iterate()

        # The best equal multipliers: the dual is a parabola in their size while no eigenvalue changes sign.
        equal = np.ones(count)
        M = cone.project(comparisons.adjoint(equal)) / reg
        square = reg * cone.inner(M, M)
        u = np.minimum(hinges.weights, hinges.dual_value(equal) / square if square > 0.0 else np.inf)
        if G.any():
            # With a linear term it is a parabola no more: the best multiple on a grid.
            u = min((hinges.clip(scale * u) for scale in SCALES), key=lambda u: negative_dual(u)[0])
        if look(u):
            return
        steps = 0

        def after_step(current: Array) -> None:
            nonlocal steps
            steps += 1
            if (steps % self.look_every == 0 or monitor.out_of_time) and look(current.copy()):
                raise StopIteration

        value = np.inf
        while steps < self.max_steps:
            options = {"maxiter": self.max_steps - steps, "maxfun": 10 * self.max_steps, "maxcor": 20}
            result = minimize(
                negative_dual,
                u,
                jac=True,
                method="L-BFGS-B",
                bounds=Bounds(np.zeros(count), hinges.weights),
                callback=after_step,
                options=options | {"ftol": 0.0, "gtol": 0.0},
            )
            u = np.asarray(result.x)
            # A line search may fail far from the optimum; with its memory cleared it goes on.
            if monitor.stopped or not value - result.fun > LEAST * abs(result.fun):
                break
            value = result.fun
        if steps % self.look_every and not monitor.stopped:
            look(u)
