r"""Descent on a factor of the metric: a local method for the trace, judged by the bound of the convex problem.

.. math:: \min_{B \in \mathbb{R}^{r \times d}} \; R(B^\top B) + \langle G, B^\top B \rangle + \lambda \|B\|_F^2

has the optimal value of the problem in :math:`M = B^\top B \succeq 0` with :math:`\lambda \, \mathrm{tr} M`, once r is
the rank of an optimal metric, but it is not convex: what a start finds need not be the optimum. The hinges of R are
smoothed over a width that shrinks, each time from the last iterate of L-BFGS; the gradient is
:math:`2 (\lambda B + B G - B S)`, with the slopes of the smoothed hinges in S. At every width the same slopes bound
the convex problem from below.

With :math:`\lambda/2 \|B\|_F^2` this is variant E of paper 3, of which the objective is printed and no procedure: there
is nothing that ``as_printed`` could do.

Nothing of the size (d, d) is made while it descends: distances come from the points' images :math:`B x`, and B S
from sums over them (``cones/images.py``).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import scipy

from convexmetric.approximate.base import RandomisedSolver, generator_at, resumed
from convexmetric.approximate.pairwise_factor import PairwiseFactor, check_not_printed, factored
from convexmetric.arrays import Array
from convexmetric.problem import MetricProblem
from convexmetric.risks import PairwiseRisk
from convexmetric.solvers.runtime import Monitor, Run, check_counts

#: First width of the smoothed hinges, in margins.
FIRST_WIDTH = 1.0
#: Factor from one width to the next.
WIDTH_FACTOR = 0.3
#: L-BFGS ends where a step gains less than this share of the objective.
ACCURACY = 1e-9
#: Pairs of steps and changes of the gradient from which L-BFGS approximates the second derivative.
CORRECTIONS = 10


@dataclass(frozen=True)
class LowRankDescent(RandomisedSolver):
    """L-BFGS on a factor of the metric from random starts; it need not reach the optimum, and the gap bounds its error.

    Parameters
    ----------
    rank : int
        Rows of the factor; at most the number of features.
    starts : int
        Random starts, one after the other; the best metric is kept.
    widths : int
        Number of widths of the smoothing.
    steps : int
        L-BFGS steps at each width.
    epochs : int
        Passes after which it ends, of all starts together.
    as_printed : bool
        Refused: the paper prints no procedure.
    random_state : int, numpy.random.Generator or None
        Seed of the starts: the same seed makes the same iterates.
    """

    name: ClassVar[str] = "low-rank-descent"

    rank: int = 300
    starts: int = 1
    _: KW_ONLY
    epochs: int = 10_000
    widths: int = 5
    steps: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        check_counts(self, "rank", "starts", "widths", "steps")
        check_not_printed(self)

    def prepare(self, problem: MetricProblem) -> Run:
        """Needs a pairwise risk, full metrics and a trace."""
        return partial(self._descents, problem, *factored(problem))

    def _descents(self, problem: MetricProblem, risk: PairwiseRisk, reg: float, monitor: Monitor) -> None:
        """Descend from every start."""
        rank = min(self.rank, problem.cone.d)
        descent = _Descent(self, problem, risk, reg, monitor)
        left = resumed(monitor, self.name, {"numbers": (4,), "B": (rank, problem.cone.d)})
        first, number, B = 0, 0, None
        if left is not None:
            first, number, descent.passes, seed = map(int, left["numbers"])
            B = left["B"]
        else:
            seed = self.fresh_seed()
        for start in range(first, self.starts):
            B = descent.start(rank, generator_at(seed, start)) if B is None else B
            while number < self.widths and descent.passes < self.epochs:
                width = risk.margin * FIRST_WIDTH * WIDTH_FACTOR**number
                B = descent.descend(B, width)
                number += 1
                left_here = {"numbers": np.array([start, number, descent.passes, seed]), "B": B}
                monitor.state = partial(dict, left_here)
                if descent.look(B, width, start):
                    return
            number, B = 0, None


@dataclass
class _Descent:
    """The smoothed objective as a function of a factor, with the number of passes made."""

    settings: LowRankDescent
    problem: MetricProblem
    risk: PairwiseRisk
    reg: float
    monitor: Monitor
    passes: int = 0

    def __post_init__(self) -> None:
        self.factor = PairwiseFactor(self.problem, self.risk, self.monitor)
        self.G = self.problem.G

    def start(self, rank: int, rng: np.random.Generator) -> Array:
        """Random normal factor, scaled so that distances exceed each other by a few margins at most."""
        return self.factor.scaled(rng.standard_normal((rank, self.problem.cone.d)))

    def value(self, B: Array, width: float) -> tuple[float, Array]:
        """Smoothed objective and its gradient in B, ``2 (lambda B + B G - B S)``: one pass."""
        self.passes += 1
        here = self.factor.images(B).smoothed(B, width)
        value, slope = here.value + self.reg * float(np.vdot(B, B)), self.reg * B - here.point.S
        if self.G is not None:
            pulled = B @ self.G
            value, slope = value + float(np.vdot(pulled, B)), slope + pulled
        return value, 2.0 * slope

    def descend(self, B: Array, width: float) -> Array:
        """L-BFGS steps at one width, fewer if the time or the epochs are up."""
        settings = self.settings

        def value(flat: Array) -> tuple[float, Array]:
            value, gradient = self.value(flat.reshape(B.shape), width)
            return value, gradient.ravel()

        def stop_in_time(_: Array) -> None:
            if self.monitor.out_of_time or self.passes >= settings.epochs:
                raise StopIteration

        options = {
            "maxiter": settings.steps,
            "maxcor": CORRECTIONS,
            "maxfun": max(1, settings.epochs - self.passes),
            "ftol": ACCURACY,
            "gtol": 0.0,
        }
        result = scipy.optimize.minimize(
            value, B.ravel(), jac=True, method="L-BFGS-B", callback=stop_in_time, options=options
        )
        return np.asarray(result.x).reshape(B.shape)

    def look(self, B: Array, width: float, start: int) -> bool:
        """Offer the metric and the lower bound from its hinge slopes; True if the solve must stop."""
        return self.factor.look(B, width, passes=self.passes, start=start, width=width)
