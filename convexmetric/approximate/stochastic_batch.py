r"""Stochastic batches of comparisons with steps of 1/(lambda t), and a certified gap.

.. math:: R_1 = 0, \qquad R_{t+1} = \Big[ R_t - \frac{1}{\lambda t} \Big( \lambda R_t + \hat G_t
   - \frac{c}{B} \sum_{b=1}^B 1\{\mu > \langle D_b, R_t \rangle\} D_b \Big) \Big]_+

for :math:`\frac{\lambda}{2} \|R\|_F^2 + \langle G, R \rangle + \sum_t c_t \max(0, \mu - \langle D_t, R \rangle)`: B
comparisons drawn in proportion to their weights, c the sum of all weights, and an estimate of G from B_1 similar and
B_2 dissimilar pairs. These are the subgradient steps of Pegasos (Shalev-Shwartz et al. 2007), as procedure LEARN METRIC
of paper 3, section 3.3, takes them: the error falls like 1/(lambda t), whatever the number of comparisons. The
projection is optional.

That procedure does not descend its objective as it is printed, for two reasons. The matrix C with
:math:`X^\top C X = (x_i - x_j)(x_i - x_j)^\top - (x_i - x_k)(x_i - x_k)^\top` has +1 in the entries jj, ik and ki, and
-1 in ij, ji and kk, by its definition; the procedure adds +1 to all six, which makes the product

.. math:: (x_i + x_j)(x_i + x_j)^\top + (x_i + x_k)(x_i + x_k)^\top - 2 x_i x_i^\top,

which is not a function of differences. And the sums over a batch are not divided by its size, although the objective
has means. The subgradient above is the corrected one; ``as_printed`` takes the printed one.

An epoch is as many draws as there are comparisons. If these are more than a million, it is a million, or the number of
ranked (query, item) pairs if that is larger: as many draws as there are distances.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from functools import partial
from itertools import count
from typing import ClassVar

import numpy as np

from convexmetric.approximate.base import generator_at
from convexmetric.approximate.batches import BOUND_WIDTH, BatchSolver, BatchState, TripletSampler, offered
from convexmetric.arrays import Array
from convexmetric.numerics.threads import blas_threads_for
from convexmetric.problem import MetricProblem
from convexmetric.risks import PairwiseRisk
from convexmetric.solvers.runtime import Monitor, Run, Steps, check_flags
from convexmetric.solvers.runtime.requirements import need_cone, norm_weights, squared_norm


@dataclass(frozen=True)
class StochasticBatch(BatchSolver):
    """Subgradient steps over random batches of comparisons, from the zero metric.

    Parameters
    ----------
    batch : int
        B, comparisons drawn for a step.
    batch_similar, batch_dissimilar : int or None
        B_1 and B_2, pairs of each kind drawn for the linear term; None for as many as comparisons.
    project : bool
        Project on the cone after every step. Otherwise only metrics that are offered are projected.
    average : bool
        Offer the mean of the metrics weighted by their number t, ``sum_t t R_t / sum_t t``, instead of the last one.
    epochs : int
        Passes after which it ends: one is as many draws as there are comparisons, or about a million if that is less.
    as_printed : bool
        Take the signs and the sums that the procedure prints.
    random_state : int, numpy.random.Generator or None
        Seed of the draws: the same seed makes the same iterates, also through a checkpoint.
    epoch_draws : int
        Most draws in an epoch, unless there are even more distances (of a query and an item).
    """

    name: ClassVar[str] = "stochastic-batch"

    batch: int = 1000
    _: KW_ONLY
    project: bool = True
    average: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_flags(self, "project", "average")

    def prepare(self, problem: MetricProblem) -> Run:
        """Needs a pairwise risk, a squared Frobenius norm and a cone."""
        need_cone(problem)
        risk, reg = problem.risk.form(PairwiseRisk), squared_norm(problem)
        norm_weights(problem, lambda weights: not weights.trace, "is not a squared Frobenius norm alone")
        return partial(self._step, problem, risk, reg)

    def _step(self, problem: MetricProblem, risk: PairwiseRisk, reg: float, monitor: Monitor) -> Steps:
        """Step from the zero metric, or the state in a checkpoint."""
        cone, width = problem.cone, BOUND_WIDTH * risk.margin
        state = BatchState.left(monitor, self.name, cone.shape, cone.shape)
        state = state or BatchState(0, self.fresh_seed(), cone.zeros(), cone.zeros())

        def look(metric: Array, passes: float) -> dict[str, float]:
            return offered(problem, risk, monitor, cone.project(metric), width, passes=passes)

        return self._follow(risk, monitor, state, self.metrics(problem, risk, reg, state), look)

    def metrics(
        self, problem: MetricProblem, risk: PairwiseRisk, reg: float, state: BatchState
    ) -> Iterator[tuple[int, Array]]:
        """Yield ``(t, metric)`` after every step, without end; with ``average`` the mean of all so far."""
        cone, draws = problem.cone, TripletSampler(risk.rankings, risk.weights)
        for t in count(state.t + 1):
            rng = generator_at(state.seed, t)
            with blas_threads_for(float(self.batch) * cone.size):
                gradient = self.gradient(problem, risk, draws, state.iterate, rng)
                metric = (1.0 - 1.0 / t) * state.iterate - gradient / (reg * t)
                state.iterate, state.t = cone.project(metric) if self.project else metric, t
            if self.average:
                state.mean = state.mean + 2.0 / (t + 1.0) * (state.iterate - state.mean)
            yield t, state.mean if self.average else state.iterate

    def gradient(
        self, problem: MetricProblem, risk: PairwiseRisk, draws: TripletSampler, metric: Array, rng: np.random.Generator
    ) -> Array:
        """A subgradient of risk and linear term over one batch; the squared norm is left out."""
        cone, rankings = risk.cone, risk.rankings
        query, positives, negatives = draws.sample(rng, self.batch)
        q, i, k = rankings.Q[query], rankings.X[positives], rankings.X[negatives]
        margins = cone.quadratic_forms(q - k, metric) - cone.quadratic_forms(q - i, metric)
        linear, total = problem.sampled_G(rng, *self.pairs)
        if self.as_printed:
            active = np.where(margins <= risk.margin, draws.total, 0.0)
            # The sum of ``X^T C X`` with +1 in all six entries of C.
            sums = cone.outer_sum(q + i, active) + cone.outer_sum(q + k, active) - 2.0 * cone.outer_sum(q, active)
            return sums + total
        active = np.where(margins < risk.margin, draws.total / self.batch, 0.0)
        return cone.outer_sum(q - i, active) - cone.outer_sum(q - k, active) + linear
