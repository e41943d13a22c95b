r"""Gradient descent on a factor of the metric, judged by the bound of the convex problem.

.. math:: B \leftarrow B - \eta \, \nabla F(B), \qquad
   F(B) = R(B^\top B) + \langle G + \lambda I, B^\top B \rangle, \qquad \nabla F = 2 B (\lambda I + G - S)

with :math:`S = -\nabla R(B^\top B)`. This is Algorithm 1 of paper 5, where :math:`B = [U; V]^\top`: F is its
objective. It is not convex in B, so that a start need not lead to the optimum, and the descent itself cannot tell. The
tangent plane at :math:`B^\top B` bounds the convex problem from below, and so all factors with any number of rows.

The paper uses a constant learning rate and does not state its value. The variant with a line search tries the
shorter length of Barzilai and Borwein (1988) and halves it until the objective decreases enough; with the longer one,
200 passes on texts that query images ended 1.5% above the optimum, with this one at 0.03%.

As printed, equation 8 of the paper has the difference of distances with the wrong sign, and so have its gradients:
``as_printed`` descends that objective, with positives and negatives exchanged, and reports the values of the corrected
one.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from convexmetric.approximate.base import RandomisedSolver
from convexmetric.arguments import as_generator, is_real, shown
from convexmetric.arrays import Array, real_array
from convexmetric.errors import InputError, UnsupportedProblemError
from convexmetric.numerics.searches import SUFFICIENT, shortened
from convexmetric.problem import MetricProblem
from convexmetric.risks import LogisticRankingRisk, Minorant, SmoothRisk, tangent_dual
from convexmetric.solvers.runtime import Monitor, Run, Steps, check_counts
from convexmetric.solvers.runtime.requirements import linear_part, need_full_metrics, trace_weight

#: Factor by which a step that gains too little is shortened.
BACKTRACKING = 0.5
#: The line search gives up at this share of the first length.
SHORTEST_STEP = 1e-12


@dataclass(frozen=True)
class FactoredDescent(RandomisedSolver):
    """Algorithm 1 of paper 5: gradient steps on a factor, a local method whose error the certified gap bounds.

    Parameters
    ----------
    c : int
        Rows of the factor, which are columns of the paper's U and V.
    step : float, optional
        Constant learning rate. Default: a line search.
    start : array, ``"own"`` or ``"random"``
        First factor, ``(c, d)``. ``"own"`` is the factor that the problem's paper starts from (cross-modal factor
        analysis), if there is one; otherwise, and with ``"random"``, entries are normal, at the best scale.
    accuracy : float
        Ends when ``look_every`` steps together reduce the objective by less than this fraction of it.
    look_every : int
        Steps between two evaluations of the certified gap. A step is a pass, and every trial of the line search is one.
    epochs : int
        Passes after which it ends, if nothing else ends it before.
    as_printed : bool
        Descend equation 8 as the paper prints it, with positives and negatives exchanged.
    random_state : int, numpy.random.Generator or None
        Seed of a random start.
    """

    name: ClassVar[str] = "factored-descent"

    c: int = 10
    step: float | None = None
    start: Any = "own"
    _: KW_ONLY
    epochs: int = 5_000
    accuracy: float = 1e-10
    look_every: int = 50

    def __post_init__(self) -> None:
        super().__post_init__()
        check_counts(self, "c", "look_every")
        if self.step is not None and not (is_real(self.step) and 0.0 < self.step < np.inf):
            raise InputError(f"step must be a positive number, or None for a line search, got {shown(self.step)}")
        if not (is_real(self.accuracy) and 0.0 <= self.accuracy < 1.0):
            raise InputError(f"accuracy must be a number from 0 to below 1, got {shown(self.accuracy)}")
        if isinstance(self.start, str) and self.start not in ("own", "random"):
            raise InputError(f"start must be 'own', 'random' or a factor, got {shown(self.start)}")

    def prepare(self, problem: MetricProblem) -> Run:
        """Needs a smooth risk, full metrics and a trace."""
        risk = problem.risk.form(SmoothRisk)
        need_full_metrics(problem)
        trace_weight(problem)
        if not self.as_printed:
            return partial(self._descend, problem, risk, risk)
        if not isinstance(risk, LogisticRankingRisk):
            raise UnsupportedProblemError(
                "as_printed is about a sign in the logistic loss over positives and negatives, which it does not have"
            )
        return partial(self._descend, problem, risk, risk.exchanged())

    def _descend(self, problem: MetricProblem, risk: SmoothRisk, descended: SmoothRisk, monitor: Monitor) -> Steps:
        """Descend until nothing more is gained."""
        objective = _Objective(descended, linear_part(problem))
        left = monitor.left_by(self.name, {"numbers": (2,), "B": (self.c, problem.cone.d), "lengths": (2,)})
        if not left:
            number, last = 0, np.inf
            here = objective.at(self._start(problem, objective))
            length = self.step if self.step is not None else objective.newton_length(here)
        else:
            length, last = map(float, left["lengths"])
            here = objective.at(left["B"])
            number, objective.passes = map(int, left["numbers"])
        looked_at = number if left else -1

        def look() -> dict[str, float]:
            """Offer the metric and the lower bound of its tangent plane."""
            M = here.B.T @ here.B
            value, point = (here.risk, here.point) if not self.as_printed else risk.tangent(M)
            total = value + problem.penalty(M)
            monitor.primal(M, total)
            monitor.proven(problem, point, M, partial(tangent_dual, risk, M))
            return {"passes": objective.passes, "steps": number, "objective": total}

        while True:
            ends = objective.passes >= self.epochs
            if number != looked_at and (number % self.look_every == 0 or ends or monitor.out_of_time):
                lengths = np.array([length, here.value])
                own = {"numbers": np.array([number, objective.passes]), "B": here.B, "lengths": lengths}
                monitor.state = partial(dict, own)
                yield look()
                if not here.value < last - self.accuracy * abs(here.value):
                    return
                last = here.value
            if ends:
                return
            number += 1
            if self.step is not None:
                # With too large a rate the factor may leave the range of floats, which ends it.
                with np.errstate(over="ignore", invalid="ignore"):
                    here = objective.at(here.B - self.step * here.gradient)
                if not np.isfinite(here.value):
                    return
                continue
            there = self._searched(objective, here, length)
            if there is None:
                yield look()
                return
            step, change = there.B - here.B, there.gradient - here.gradient
            curvature = float(np.vdot(step, change))
            length = curvature / float(np.vdot(change, change)) if curvature > 0.0 else 2.0 * length
            here = there

    def _searched(self, objective: _Objective, here: _Point, length: float) -> _Point | None:
        square = float(np.vdot(here.gradient, here.gradient))
        for share in shortened(BACKTRACKING, SHORTEST_STEP) if square > 0.0 else ():
            there = objective.at(here.B - share * length * here.gradient)
            if there.value <= here.value - SUFFICIENT * share * length * square:
                return there
        return None

    def _start(self, problem: MetricProblem, objective: _Objective) -> Array:
        if not isinstance(self.start, str):
            B = real_array(self.start, "start")
            if B.shape != (self.c, problem.cone.d) or not np.isfinite(B).all():
                raise InputError(f"start must be a finite array of shape (c, d) = {(self.c, problem.cone.d)}")
            return B
        own = problem.initial_factor(self.c) if self.start == "own" else None
        if own is not None:
            return own
        B = as_generator(self.random_state).standard_normal((self.c, problem.cone.d))
        return B * objective.best_scale(B)


@dataclass(frozen=True)
class _Point:
    """A factor with the objective's value and gradient."""

    B: Array
    risk: float
    point: Minorant
    value: float
    gradient: Array


class _Objective:
    """``R(B^T B) + <H, B^T B>``."""

    def __init__(self, risk: SmoothRisk, H: Array) -> None:
        self.risk, self.H = risk, H
        self.passes = 0

    def at(self, B: Array) -> _Point:
        M = B.T @ B
        self.passes += 1
        risk, point = self.risk.tangent(M)
        return _Point(B, risk, point, risk + float(np.vdot(self.H, M)), 2.0 * (B @ (self.H - point.S)))

    def newton_length(self, here: _Point) -> float:
        """Length of the first step: Newton's along the gradient, if the objective is convex along it."""
        g = here.gradient
        curvature = float(np.vdot(g, 2.0 * (g @ (self.H - here.point.S) + self.risk.second_along(here.B)(g))))
        square = float(np.vdot(g, g))
        return square / curvature if curvature > 0.0 else 1.0 / max(1.0, np.sqrt(square))

    def best_scale(self, B: Array) -> float:
        """Factor t for which ``t^2 B^T B`` is one Newton step from zero along ``B^T B``."""
        M = B.T @ B
        zero = np.zeros_like(M)
        _, point = self.risk.tangent(zero)
        slope = float(np.vdot(point.S - self.H, M))
        curvature = float(np.vdot(M, self.risk.second_derivative(zero)(M)))
        return float(np.sqrt(slope / curvature)) if slope > 0.0 < curvature else 1.0 / float(np.sqrt(np.trace(M)))
