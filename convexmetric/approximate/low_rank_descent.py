r"""Descent on a factor of the metric: a local method for the trace, judged by the bound of the convex problem.

.. math:: \min_{B \in \mathbb{R}^{r \times d}} \; R(B^\top B) + \langle G, B^\top B \rangle + \lambda \|B\|_F^2

has the optimal value of the problem in :math:`M = B^\top B \succeq 0` with :math:`\lambda \, \mathrm{tr} M`, once r is
the rank of an optimal metric, but it is not convex: what a start finds need not be the optimum. The hinges of R are
smoothed over a width that shrinks, each time from the last iterate of L-BFGS; the gradient is
:math:`2 (\lambda B + B G - B S)`, with the slopes of the smoothed hinges in S. At every width the same slopes bound
the convex problem from below.

With :math:`\lambda/2 \|B\|_F^2` this is variant E of paper 3, which prints the objective but no procedure, so that
``as_printed`` is refused.

No (d, d) array is made during the descent: distances come from the points' images :math:`B x`, and B S
from sums over them (``cones/factored.py``).
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import scipy
import scipy.sparse as sp

from convexmetric.approximate.base import RandomisedSolver, generator_at
from convexmetric.approximate.batches import offered
from convexmetric.arrays import Array, altered
from convexmetric.cones.factored import Images
from convexmetric.errors import InputError
from convexmetric.problem import MetricProblem
from convexmetric.risks import PairwiseRisk
from convexmetric.solvers.runtime import Monitor, Run, Steps, check_counts
from convexmetric.solvers.runtime.requirements import need_full_metrics, trace_weight

#: Largest difference of the distances to a negative and to a positive under a random start, in margins.
START = 2.0
#: Fraction of nonzero entries up to which points are stored as sparse arrays.
SPARSE_SHARE = 0.2
#: First width of the smoothed hinges, in margins.
FIRST_WIDTH = 1.0
#: Factor from one width to the next.
WIDTH_FACTOR = 0.3
#: L-BFGS ends when a step gains less than this share of the objective.
ACCURACY = 1e-9
#: Pairs of steps and changes of the gradient from which L-BFGS approximates the second derivative.
CORRECTIONS = 10


@dataclass
class PairwiseFactor:
    """The risk as a function of a factor B, by images ``B x`` of the points, and bounds on the convex problem.

    Attributes
    ----------
    problem : MetricProblem
    risk : PairwiseRisk
        Risk of the problem; points with few nonzero entries are converted to sparse arrays.
    monitor : Monitor
    """

    problem: MetricProblem
    risk: PairwiseRisk
    monitor: Monitor

    def __post_init__(self) -> None:
        given = self.risk.rankings
        if not given.dense or sp.issparse(given.X) or np.count_nonzero(given.X) > SPARSE_SHARE * given.X.size:
            return
        X = sp.csr_array(given.X)
        rankings = altered(given, X=X, Q=X if given.Q is given.X else sp.csr_array(given.Q))
        self.risk = PairwiseRisk(rankings, self.risk.weights, self.risk.margin)

    def images(self, B: Array) -> PairwiseRisk:
        """The risk as a function of the factor."""
        rankings = altered(self.risk.rankings, cone=Images(B))
        return PairwiseRisk(rankings, self.risk.weights, self.risk.margin)

    def scaled(self, B: Array, margins: float = START) -> Array:
        """Multiple of B whose largest ``d(q, negative) - d(q, positive)`` is the given number of margins."""
        largest = self.images(B).largest_margin(B)
        return B * np.sqrt(margins * self.risk.margin / largest) if largest > 0.0 else B

    def look(self, B: Array, width: float, /, **details: float) -> dict[str, float]:
        """Offer the metric, and the lower bound from its hinge slopes."""
        return offered(self.problem, self.risk, self.monitor, B.T @ B, width, **details)


def factored(problem: MetricProblem) -> tuple[PairwiseRisk, float]:
    """Pairwise risk and trace weight of a problem; refuses other risks, regularizers, and diagonal metrics."""
    risk, reg = problem.risk.form(PairwiseRisk), trace_weight(problem)
    need_full_metrics(problem)
    return risk, reg


def check_not_printed(settings: RandomisedSolver) -> None:
    """Refuse ``as_printed``: the paper prints no procedure.

    Raises
    ------
    InputError
        If ``as_printed`` is set.
    """
    if settings.as_printed:
        raise InputError("as_printed must be False: the paper prints no procedure for descent on a factor")


@dataclass(frozen=True)
class LowRankDescent(RandomisedSolver):
    """L-BFGS on a factor of the metric from a random start; it may miss the optimum, and the gap bounds its error.

    Parameters
    ----------
    rank : int
        Rows of the factor; at most the number of features.
    widths : int
        Number of widths of the smoothing.
    steps : int
        L-BFGS steps at each width.
    epochs : int
        Passes after which it ends, if nothing else ends it before.
    as_printed : bool
        Refused: the paper prints no procedure.
    random_state : int, numpy.random.Generator or None
        Seed of the start: the same seed makes the same iterates.
    """

    name: ClassVar[str] = "low-rank-descent"

    rank: int = 300
    _: KW_ONLY
    epochs: int = 10_000
    widths: int = 5
    steps: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        check_counts(self, "rank", "widths", "steps")
        check_not_printed(self)

    def prepare(self, problem: MetricProblem) -> Run:
        """Needs a pairwise risk, full metrics and a trace."""
        return partial(self._descend, problem, *factored(problem))

    def _descend(self, problem: MetricProblem, risk: PairwiseRisk, reg: float, monitor: Monitor) -> Steps:
        """Descend at one width after the other, from a random normal factor or the one in a checkpoint."""
        shape = min(self.rank, problem.cone.d), problem.cone.d
        descent = _Descent(problem, risk, monitor, self, reg)
        left = monitor.left_by(self.name, {"numbers": (2,), "B": shape})
        if left:
            number, descent.passes = map(int, left["numbers"])
            B = left["B"]
        else:
            number, B = 0, descent.scaled(generator_at(self.fresh_seed(), 0).standard_normal(shape))
        while number < self.widths and descent.passes < self.epochs:
            width = risk.margin * FIRST_WIDTH * WIDTH_FACTOR**number
            B = descent.descend(B, width)
            number += 1
            monitor.state = partial(dict, {"numbers": np.array([number, descent.passes]), "B": B})
            yield descent.look(B, width, passes=descent.passes, width=width)


@dataclass
class _Descent(PairwiseFactor):
    """The smoothed objective as a function of a factor, with the number of passes made."""

    settings: LowRankDescent
    reg: float
    passes: int = 0

    def value(self, B: Array, width: float) -> tuple[float, Array]:
        """Smoothed objective and its gradient in B, ``2 (lambda B + B G - B S)``: one pass."""
        self.passes += 1
        here = self.images(B).smoothed(B, width)
        value, slope = here.value + self.reg * float(np.vdot(B, B)), self.reg * B - here.point.S
        if self.problem.G is not None:
            pulled = B @ self.problem.G
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
