r"""Stochastic batches of comparisons with steps of 1/(lambda t), with a certificate of how far they came.

.. math:: R_1 = 0, \qquad R_{t+1} = \Big[ R_t - \frac{1}{\lambda t} \Big( \lambda R_t + \hat G_t
   - \frac{c}{B} \sum_{b=1}^B 1\{\mu > \langle D_b, R_t \rangle\} D_b \Big) \Big]_+

for :math:`\frac{\lambda}{2} \|R\|_F^2 + \langle G, R \rangle + \sum_t c_t \max(0, \mu - \langle D_t, R \rangle)`: B
comparisons drawn in proportion to their weights, c the sum of all weights, and an estimate of G from as many pairs.
These are the subgradient steps of Pegasos (Shalev-Shwartz et al. 2007), as procedure LEARN METRIC of paper 3, section
3.3, takes them: the error falls like 1/(lambda t), whatever the number of comparisons. The projection is optional.

That procedure does not descend its objective as it is printed, for two reasons. The matrix C with
:math:`X^\top C X = (x_i - x_j)(x_i - x_j)^\top - (x_i - x_k)(x_i - x_k)^\top` has +1 in the entries jj, ik and ki, and
-1 in ij, ji and kk, as its definition has it; the procedure adds +1 to all six, which makes the product

.. math:: (x_i + x_j)(x_i + x_j)^\top + (x_i + x_k)(x_i + x_k)^\top - 2 x_i x_i^\top,

no function of differences. And the sums over a batch are not divided by its size, where the objective has means. The
subgradient above is the corrected one; ``as_printed`` takes the printed one.

An epoch is as many draws as there are comparisons. Where these are more than a million, it is a million, or the number
of (query, item) pairs that are ranked at all if that is larger: as many draws as there are distances.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any, ClassVar

import numpy as np

from convexmetric.comparisons.draws import Draws
from convexmetric.comparisons.sampling import as_generator
from convexmetric.cones import Cone
from convexmetric.cones.base import Array
from convexmetric.errors import InputError, SolverError
from convexmetric.problem import MetricProblem
from convexmetric.regularizers import SquaredFrobenius
from convexmetric.risks import PairwiseRisk, SmoothedPairs
from convexmetric.solvers.base import Monitor, Solver, check_counts
from convexmetric.threads import blas_threads_for

__all__ = ["StochasticBatch"]

#: Draws of an epoch, where there are more comparisons and fewer distances.
EPOCH_DRAWS = 1_000_000
#: Smoothing, in margins, of the hinges whose slopes give the lower bound.
WIDTH = 0.01


@dataclass(frozen=True)
class StochasticBatch(Solver):
    """Subgradient steps over random batches of comparisons, from the zero metric.

    Parameters
    ----------
    batch : int
        Comparisons drawn for a step; as many pairs of each kind for the linear term.
    epochs : int
        After how many it ends, if nothing else ends it before.
    project : bool
        Project on the cone after every step. Otherwise only metrics that are looked at are projected.
    as_printed : bool
        Take the signs and sums of the printed procedure, which are wrong.
    random_state : int, numpy.random.Generator or None
        Of the draws.
    average : bool
        Offer the mean of the metrics weighted by their number t, ``sum_t t R_t / sum_t t``, instead of the last one.
    """

    name: ClassVar[str] = "stochastic-batch"

    batch: int = 1000
    epochs: int = 10
    project: bool = True
    as_printed: bool = False
    random_state: int | np.random.Generator | None = None
    average: bool = False

    def __post_init__(self) -> None:
        check_counts(self, "batch", "epochs")
        for flag, name in ((self.project, "project"), (self.as_printed, "as_printed"), (self.average, "average")):
            if not isinstance(flag, bool | np.bool_):
                raise InputError(f"{name} must be True or False, got {flag!r}")
        as_generator(self.random_state)

    def unsupported(self, problem: MetricProblem) -> str | None:
        """Needs a pairwise risk and a squared Frobenius norm."""
        if not isinstance(problem.risk, PairwiseRisk):
            return "its risk is not a sum of hinges over pairs of near and far items"
        if not isinstance(problem.regularizer, SquaredFrobenius):
            return "its regularizer is not a squared Frobenius norm"
        return None

    def run(self, problem: MetricProblem, monitor: Monitor) -> None:
        """Step until told to stop, or through all epochs."""
        risk, regularizer = problem.risk, problem.regularizer
        if not isinstance(risk, PairwiseRisk) or not isinstance(regularizer, SquaredFrobenius):
            raise SolverError("stochastic batches need a pairwise risk and a squared Frobenius norm")
        if _look(problem, risk, monitor, problem.cone.zeros(), 0.0):
            return
        steps = -(-epoch_draws(risk) // self.batch)
        for t, metric in self.metrics(problem, risk, float(regularizer.reg)):
            if not (_due(t, steps) or monitor.out_of_time):
                continue
            if _look(problem, risk, monitor, metric, t / steps) or t == self.epochs * steps:
                return

    def metrics(self, problem: MetricProblem, risk: PairwiseRisk, reg: float) -> Iterator[tuple[int, Array]]:
        """The metric after every step, or the mean of all so far; without end."""
        cone, rng = problem.cone, as_generator(self.random_state)
        draws = Draws(risk.rankings, risk.weights)
        metric, mean = cone.zeros(), cone.zeros()
        for t in count(1):
            with blas_threads_for(float(self.batch) * cone.size):
                gradient = self.gradient(problem, risk, draws, metric, rng)
                metric = (1.0 - 1.0 / t) * metric - gradient / (reg * t)
                if self.project:
                    metric = cone.project(metric)
            if self.average:
                mean = mean + 2.0 / (t + 1.0) * (metric - mean)
            yield t, mean if self.average else metric

    def gradient(
        self, problem: MetricProblem, risk: PairwiseRisk, draws: Draws, metric: Array, rng: np.random.Generator
    ) -> Array:
        """A subgradient of risk and linear term over one batch; the squared norm is left out."""
        cone, rankings = risk.cone, risk.rankings
        query, near, far = draws.sample(rng, self.batch)
        q, i, k = rankings.Q[query], rankings.X[near], rankings.X[far]
        margins = cone.quadratic_forms(q - k, metric) - cone.quadratic_forms(q - i, metric)
        linear, size = problem.sampled_G(rng, self.batch)
        if self.as_printed:
            active = np.where(margins <= risk.margin, draws.total, 0.0)
            return _printed_sum(cone, q, i, k, active) + size * linear
        active = np.where(margins < risk.margin, draws.total / self.batch, 0.0)
        return cone.outer_sum(q - i, active) - cone.outer_sum(q - k, active) + linear


def _printed_sum(cone: Cone, q: Any, i: Any, k: Any, active: Array) -> Array:
    """The sum of ``X^T C X`` with +1 in all six entries of C."""
    return cone.outer_sum(q + i, active) + cone.outer_sum(q + k, active) - 2.0 * cone.outer_sum(q, active)


def epoch_draws(risk: PairwiseRisk) -> int:
    """Draws of an epoch: all comparisons, or all distances if the comparisons are too many."""
    return min(int(risk.pairs.sum()), max(EPOCH_DRAWS, int(risk.rankings.sizes.sum())))


def _due(t: int, steps: int) -> bool:
    """Whether to look after step t: after powers of two within the first epoch, then after every epoch."""
    return t % steps == 0 or (t < steps and t & (t - 1) == 0)


def _look(problem: MetricProblem, risk: PairwiseRisk, monitor: Monitor, metric: Array, epoch: float) -> bool:
    """Offer what a metric and the slopes of the hinges there prove; True if the solve must stop."""
    M = problem.cone.project(metric)
    width = WIDTH * risk.margin
    here = risk.smoothed(M, width)
    objective = here.exact + problem.penalty(M)
    monitor.primal(M, objective)
    bound = problem.bound(here.point.value, here.point.S, M)
    monitor.dual(bound, lambda: SmoothedPairs(M, width), here.point)
    return monitor.iterate(epoch=epoch, objective=objective)
