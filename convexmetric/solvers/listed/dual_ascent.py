r"""L-BFGS-B on the dual of hinge losses with a squared Frobenius norm.

.. math:: \max_{0 \le u \le C} \; \mu \sum_t u_t - \frac{1}{2 \lambda} \| [S(u)]_+ \|_F^2, \qquad
   S(u) = \sum_t u_t D_t - G, \qquad M(u) = \frac{1}{\lambda} [S(u)]_+

The gradient is the margins left at ``M(u)``, ``mu - D(M(u))``: one adjoint, one projection and one forward product
a step. Cheap steps, linear convergence at best: it closes small problems in a fraction of a second and slows down
where many margins are near their kink.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import scipy

from convexmetric.cones.base import Array
from convexmetric.problem import MetricProblem
from convexmetric.risks import ListedHinges, Reason
from convexmetric.solvers.run import Monitor, Run, Solver, check_counts, check_shares
from convexmetric.solvers.run.memory import FLOAT, metric_memory, pass_memory
from convexmetric.solvers.run.needs import linear_part, soft_hinges, squared_norm

__all__ = ["DualAscent"]

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
    corrections : int
        Pairs of steps and changes of the gradient from which L-BFGS-B approximates the second derivative.
    evaluations_per_step : int
        A run of L-BFGS-B makes this many evaluations of the dual at most for each of ``max_steps``.
    restart_gain : float
        Share of the dual value that a run of L-BFGS-B must gain, or it is not repeated.
    """

    name: ClassVar[str] = "dual-ascent"

    max_steps: int = 100_000
    look_every: int = 20
    _: KW_ONLY
    corrections: int = 20
    evaluations_per_step: int = 10
    restart_gain: float = 1e-12

    def __post_init__(self) -> None:
        check_counts(self, "max_steps", "look_every", "corrections", "evaluations_per_step")
        check_shares(self, "restart_gain")

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
        dual = _Dual(problem, hinges, reg)

        def look(u: Array) -> bool:
            M = dual.metric(u)
            monitor.primal(M, problem.value(M), by_risk=True)
            monitor.dual(problem.dual_bound(u, hint=M), lambda: u)
            return monitor.iterate()

        u = dual.start()
        if look(u):
            return
        steps = 0

        def after_step(current: Array) -> None:
            nonlocal steps
            steps += 1
            if (steps % self.look_every == 0 or monitor.out_of_time) and look(current.copy()):
                raise StopIteration

        # The certified gap says when to stop, not the size of a step.
        options: dict[str, float] = {"maxcor": self.corrections, "maxfun": self.evaluations_per_step * self.max_steps}
        options |= {"ftol": 0.0, "gtol": 0.0}
        value = np.inf
        while steps < self.max_steps:
            result = scipy.optimize.minimize(
                dual.negative,
                u,
                jac=True,
                method="L-BFGS-B",
                bounds=scipy.optimize.Bounds(np.zeros(u.size), hinges.weights),
                callback=after_step,
                options=options | {"maxiter": self.max_steps - steps},
            )
            u = np.asarray(result.x)
            # A line search may fail far from the optimum; without the pairs of earlier steps it goes on.
            if monitor.stopped or not value - result.fun > self.restart_gain * abs(result.fun):
                break
            value = result.fun
        if steps % self.look_every and not monitor.stopped:
            look(u)


class _Dual:
    """The dual objective, in the module's letters."""

    def __init__(self, problem: MetricProblem, hinges: ListedHinges, reg: float) -> None:
        self.cone, self.hinges, self.reg, self.G = problem.cone, hinges, reg, linear_part(problem)

    def metric(self, u: Array) -> Array:
        """``M(u)``."""
        return self.cone.project(self.hinges.comparisons.adjoint(u) - self.G) / self.reg

    def negative(self, u: Array) -> tuple[float, Array]:
        """Minus the dual value, and its gradient."""
        M, hinges = self.metric(u), self.hinges
        value = 0.5 * self.reg * self.cone.inner(M, M) - hinges.loss.dual_value(u)
        return value, hinges.comparisons.forward(M) - hinges.margins

    def start(self) -> Array:
        """The best equal multipliers: the dual is a parabola in their size while no eigenvalue changes sign."""
        hinges = self.hinges
        equal = np.ones(len(hinges.comparisons))
        M = self.cone.project(hinges.comparisons.adjoint(equal)) / self.reg
        square = self.reg * self.cone.inner(M, M)
        u = np.minimum(hinges.weights, hinges.loss.dual_value(equal) / square if square > 0.0 else np.inf)
        if not self.G.any():
            return u
        # With a linear term it is a parabola no more: the best multiple on a grid.
        return min((hinges.loss.clip(scale * u) for scale in SCALES), key=lambda u: self.negative(u)[0])
