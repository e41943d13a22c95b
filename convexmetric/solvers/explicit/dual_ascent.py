r"""L-BFGS-B on the dual of listed comparisons, for any regularizer whose conjugate has a derivative.

.. math:: \max_{a \le u \le b} \; \sum_t -\ell_t^*(-u_t) - \Omega^*_K(S(u)), \qquad S(u) = \sum_t u_t D_t - G

The gradient is the margins that attain :math:`\ell_t^*` less those at the metric M(u) that attains
:math:`\Omega^*_K`. With hinges and a squared Frobenius norm that is

.. math:: \max_{0 \le u \le C} \; \mu \sum_t u_t - \frac{1}{2 \lambda} \| [S(u)]_+ \|_F^2, \qquad
   M(u) = \frac{1}{\lambda} [S(u)]_+, \qquad \text{gradient } \mu - D(M(u))

One adjoint, one conjugate and one forward product a step. Cheap steps, linear convergence at best: it closes small
problems in a fraction of a second and slows down where many margins are near the bend of their hinge.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import ClassVar

import numpy as np
import scipy

from convexmetric.arrays import Array, norm_of
from convexmetric.problem import MetricProblem
from convexmetric.risks import SeparableRisk
from convexmetric.solvers.runtime import Monitor, Run, Solver, Steps, check_counts
from convexmetric.solvers.runtime.requirements import FLOAT, dual_slopes, metric_memory, need

#: Grid of scales for equal multipliers whose S has norm one.
SCALES = np.logspace(-6.0, 6.0, 25)
#: The certified gap is evaluated after so many steps at first, then after twice as many, and at least every so many.
FIRST_LOOK, LOOK_EVERY = 5, 20
#: Steps of the first run of L-BFGS-B, which count as an iteration. Runs are twice as long as those before.
FIRST_RUN = 100
#: Pairs of steps and changes of the gradient from which L-BFGS-B approximates the second derivative.
CORRECTIONS = 20
#: A run of L-BFGS-B makes this many evaluations of the dual at most for each of ``max_steps``.
EVALUATIONS_PER_STEP = 10
#: Share of the dual value that a run of L-BFGS-B must gain, or it is not repeated.
RESTART_GAIN = 1e-12


@dataclass(frozen=True)
class DualAscent(Solver):
    """Quasi-Newton ascent on the multipliers.

    Parameters
    ----------
    max_steps : int
        Give up after this many steps.
    """

    name: ClassVar[str] = "dual-ascent"

    max_steps: int = 100_000

    def __post_init__(self) -> None:
        check_counts(self, "max_steps")

    def prepare(self, problem: MetricProblem) -> Run:
        """Needs listed comparisons, a loss with dual slopes, and a regularizer whose conjugate has a derivative."""
        risk = problem.risk.form(SeparableRisk)
        box = dual_slopes(problem)
        need(problem.regularizer.smooth_conjugate, "the conjugate of its regularizer has no derivative")
        return partial(self._ascend, problem, risk, box)

    def memory(self, problem: MetricProblem) -> float | None:
        """Bytes of a pass, the quasi-Newton method's fifty vectors of multipliers, and five metrics."""
        return problem.risk.pass_memory + FLOAT * 50.0 * problem.risk.parts + 5.0 * metric_memory(problem)

    def _ascend(self, problem: MetricProblem, risk: SeparableRisk, box: tuple[Array, Array], monitor: Monitor) -> Steps:
        """Ascend, and evaluate the certified gap every few steps."""
        dual = _Dual(problem, risk, box)
        u, steps, length = dual.start(), 0, FIRST_RUN
        looked = 0

        def look(u: Array) -> None:
            nonlocal looked
            looked = steps
            M = dual.attained(u)[1]
            monitor.primal(M, problem.value(M), by_risk=True)
            # The list is its own dual point; a risk that states it otherwise would sort it anew.
            point = risk.minorant(u)
            if point is not None:
                hint = problem.regularizer.sharpened(point.S, problem.G, M)
                monitor.proven(problem, point, hint, lambda: u)

        look(u)
        yield {}
        # The first step has the length 1, and where conjugates are infinite it must not be far longer than u.
        unit = 1.0 if problem.quadratic() is not None else max(float(np.abs(u).max()), np.finfo(float).tiny)

        def scaled(x: Array) -> tuple[float, Array]:
            value, slopes = dual.negative(unit * x)
            return value, unit * slopes

        def after_step(current: Array) -> None:
            nonlocal steps
            steps += 1
            if steps - looked >= min(max(FIRST_LOOK, looked), LOOK_EVERY) or monitor.out_of_time:
                look(unit * current)
                if monitor.reached or monitor.out_of_time:
                    raise StopIteration

        # The certified gap decides when to stop, not the size of a step.
        options: dict[str, float] = {"maxcor": CORRECTIONS, "maxfun": EVALUATIONS_PER_STEP * self.max_steps}
        options |= {"ftol": 0.0, "gtol": 0.0}
        value = np.inf
        while steps < self.max_steps:
            result = scipy.optimize.minimize(
                scaled,
                u / unit,
                jac=True,
                method="L-BFGS-B",
                bounds=scipy.optimize.Bounds(box[0] / unit, box[1] / unit),
                callback=after_step,
                options=options | {"maxiter": min(length, self.max_steps - steps)},
            )
            u = np.clip(unit * np.asarray(result.x), *box)
            if looked < steps:
                look(u)
            yield {"steps": steps}
            # A line search may fail far from the optimum; without the pairs of earlier steps it goes on.
            if not value - result.fun > RESTART_GAIN * abs(result.fun):
                return
            value, length = result.fun, 2 * length


class _Dual:
    """The dual objective, in the notation of the module."""

    def __init__(self, problem: MetricProblem, risk: SeparableRisk, box: tuple[Array, Array]) -> None:
        self.cone, self.comparisons, self.loss, self.box = problem.cone, risk.comparisons, risk.loss, box
        self.regularizer, self.G = problem.regularizer, problem.G
        #: The largest value so far, and how far a step outside of the domain of the conjugate falls below it.
        self.known, self.fall = -np.inf, 1.0

    def attained(self, u: Array) -> tuple[float, Array]:
        """``Omega*_K(S(u))`` and M(u)."""
        S = self.comparisons.adjoint(u)
        return self.regularizer.conjugate(S if self.G is None else S - self.G, self.cone)

    def negative(self, u: Array) -> tuple[float, Array]:
        """Minus the dual value, and its gradient; outside of the domain a value that line searches reject."""
        conjugate, M = self.attained(u)
        slopes = self.comparisons.forward(M) - self.loss.dual_slopes(u)
        value = self.loss.dual_value(u) - conjugate
        if not np.isfinite(value):
            return self.fall - self.known, np.zeros_like(u)
        self.known, self.fall = max(self.known, value), max(self.fall, abs(value))
        return -value, slopes

    def start(self) -> Array:
        """Best equal multipliers to start from, or the best multiple of the slopes where equal ones gain nothing.

        With hinges and a squared norm alone the dual is a parabola in their size while no eigenvalue changes sign;
        otherwise the best size on a grid is taken.
        """
        low, high = self.box
        u = np.ones(len(self.comparisons))
        norms = self.regularizer.weights()
        if self.G is None and norms is not None and norms.trace == norms.norm == 0.0 and not low.any():
            # Outside of the domain of another loss there is no value, and the grid is taken.
            with np.errstate(invalid="ignore"):
                conjugate, value = self.attained(u)[0], self.loss.dual_value(u)
            if value > 0.0:
                return np.clip(0.5 * value / conjugate if conjugate > 0.0 else np.inf * u, low, high)
        equal, gains = self._scaled(u)
        # Nearly at zero line searches see only rounding. There the dual rises along its slopes.
        return equal if gains else self._scaled(-self.negative(equal)[1])[0]

    def _scaled(self, u: Array) -> tuple[Array, bool]:
        """The best multiple on a grid, and whether the dual rises at all along these multipliers."""
        size = norm_of(self.comparisons.adjoint(u))
        u = u / size if size > 0.0 else u
        tried = [np.clip(scale * u, *self.box) for scale in SCALES]
        # A concave dual that falls goes on falling, up to the ends of the box.
        values = (self.negative(u)[0] for u in tried)
        falls = next((k for k, (here, there) in enumerate(pairwise(values)) if there > here), len(tried) - 1)
        return tried[falls], falls > 0
