r"""Accelerated proximal gradient steps for smooth risks, with the gap of the dual bound as the stopping test.

.. math:: M_{k+1} = \mathrm{prox}_{t \Omega}(N_k - t (\nabla R(N_k) + G)),

with the proximal map of the regularizer over the cone: for a trace, norms and their sums one projection on the cone, or
one singular value decomposition. :math:`N_k` extrapolates (Nesterov; Beck and Teboulle 2009), and restarts whenever the
step turns against it (O'Donoghue and Candes 2015). The step t is tried a little longer each time, and halved until the
quadratic bound holds. The tangent plane at :math:`N_k`, which a step needs anyway, is the dual point.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from convexmetric.arrays import Array
from convexmetric.problem import MetricProblem
from convexmetric.risks import SmoothRisk, tangent_dual
from convexmetric.solvers.runtime import Monitor, Run, Solver, Steps, check_counts
from convexmetric.solvers.runtime.requirements import metric_memory, need

#: Steps between two evaluations of the certified gap, which count as iterations.
LOOK_EVERY = 10
#: Distances in a pass per coordinate of the metric from which the gap is evaluated at every step: the additional matrix
#: decomposition is then cheap compared with the pass.
LONG_PASS = 10.0
#: Factor by which every step is first tried longer than the last one.
STEP_GROWTH = 1.1
#: Factor by which a step is shortened while the quadratic bound does not hold.
BACKTRACKING = 0.5


@dataclass(frozen=True)
class ProximalGradient(Solver):
    """Accelerated proximal gradient with restarts and backtracking.

    Parameters
    ----------
    max_steps : int
        Give up after this many steps.
    """

    max_steps: int = 20_000

    name: ClassVar[str] = "proximal-gradient"

    def __post_init__(self) -> None:
        check_counts(self, "max_steps")

    def prepare(self, problem: MetricProblem) -> Run:
        """Needs a smooth risk, and a regularizer with a proximal map."""
        risk = problem.risk.form(SmoothRisk)
        need(problem.regularizer.has_prox(problem.cone), "its regularizer has no proximal map")
        return partial(self._steps, problem, risk)

    def memory(self, problem: MetricProblem) -> float | None:
        """Bytes of a pass, and of eight metrics."""
        return problem.risk.pass_memory + 8.0 * metric_memory(problem)

    @staticmethod
    def _first_step(risk: SmoothRisk, S: Array, N: Array) -> float:
        """One over the curvature along the gradient, scaled to size one so that its squares are floats."""
        size = float(np.abs(S).max())
        if size == 0.0:
            return 1.0
        along = S / size
        curvature = risk.cone.inner(along, risk.second_derivative(N)(along))
        return risk.cone.inner(along, along) / curvature if curvature > 0.0 else 1.0

    def _steps(self, problem: MetricProblem, risk: SmoothRisk, monitor: Monitor) -> Steps:
        """Step until told to stop."""
        cone, omega, linear = problem.cone, problem.regularizer, 0.0 if problem.G is None else problem.G
        M = cone.zeros() if monitor.M is None else monitor.M
        N, momentum = M, 1.0
        step = np.inf
        look_every = 1 if risk.distances >= LONG_PASS * cone.size else LOOK_EVERY
        for number in range(self.max_steps):
            value, point = risk.tangent(N)
            if not np.isfinite(step):
                step = self._first_step(risk, point.S, N)
            if number % look_every == 0 or monitor.out_of_time:
                if number == 0:
                    monitor.primal(M, value + problem.penalty(M), by_risk=True)
                monitor.proven(problem, point, M, partial(tangent_dual, risk, N))
                yield {"steps": number, "step": step}
            tried = STEP_GROWTH * step
            if not 0.0 < tried < np.inf:
                # Steps of this length are out of the range of floats.
                return
            while True:
                there = omega.prox(N + tried * (point.S - linear), tried, cone)
                change = there - N
                # A step too far may overflow, and is shortened.
                with np.errstate(over="ignore", invalid="ignore"):
                    ahead = risk.value(there)
                # The slack is for rounding: without it steps shrink to nothing near the optimum.
                allowed = value - cone.inner(point.S, change) + 0.5 / tried * cone.inner(change, change)
                if ahead <= allowed + 1e-12 * abs(value) or tried < np.finfo(float).tiny:
                    break
                tried *= BACKTRACKING
            monitor.primal(there, ahead + problem.penalty(there), by_risk=True)
            if cone.inner(N - there, there - M) > 0.0:
                N, momentum = there, 1.0
            else:
                # Momentum for steps of changing length (Scheinberg, Goldfarb and Bai 2014).
                following = 0.5 + np.sqrt(0.25 + step / tried * momentum * momentum)
                N, momentum = there + (momentum - 1.0) / following * (there - M), following
            M, step = there, tried
