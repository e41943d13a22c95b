r"""Stochastic batches of comparisons with steps of 1/(lambda t) on a factor of the metric, judged by the convex bound.

.. math:: L_{t+1} = L_t - \frac{1}{\lambda (t + t_0)} \Big( \lambda L_t + 2 L_t \hat G_t
   - \frac{2 c}{B} \sum_{b=1}^B 1\{\mu > \langle D_b, L_t^\top L_t \rangle\} L_t D_b \Big)

for :math:`\frac{\lambda}{2} \|L\|_F^2 + \langle G, L^\top L \rangle + \sum_t c_t \max(0, \mu - \langle D_t, L^\top L
\rangle)`: the steps of :class:`~convexmetric.approximate.StochasticBatch` on a factor, from a random start. The
objective is that of variant E of paper 3, which prints no procedure for it; with :math:`t_0 = 0` the steps are those of
its procedure LEARN METRIC. The optimum is that of the convex problem in :math:`M = L^\top L \succeq 0` with
:math:`\lambda/2 \, \mathrm{tr} M`, which bounds it from below.

The objective is not convex in L, and steps multiply:

.. math:: L_{t+1} = L_t \Big( \frac{t + t_0 - 1}{t + t_0} I + \frac{1}{\lambda (t + t_0)} \hat S_t \Big)

with minus twice the batch's subgradient in :math:`\hat S_t`. With :math:`t_0 = 0` the first step keeps nothing of the
start outside of the span of the first batch, and what it keeps is multiplied by up to :math:`\|\hat S_1\| / \lambda`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from functools import partial
from itertools import count
from typing import ClassVar

import numpy as np

from convexmetric.approximate.base import generator_at
from convexmetric.approximate.batches import BOUND_WIDTH, BatchSolver, BatchState, TripletSampler
from convexmetric.approximate.low_rank_descent import PairwiseFactor, check_not_printed, factored
from convexmetric.arrays import Array
from convexmetric.cones.factored import Images
from convexmetric.numerics.threads import blas_threads_for
from convexmetric.problem import MetricProblem
from convexmetric.risks import PairwiseRisk
from convexmetric.solvers.runtime import Monitor, Run, Steps, check_counts, check_flags, check_positive


@dataclass(frozen=True)
class StochasticLowRank(BatchSolver):
    """Subgradient steps on a factor over random batches; it need not reach the optimum, and the gap bounds its error.

    Parameters
    ----------
    rank : int
        Rows of the factor; at most the number of features.
    batch : int
        B, comparisons drawn for a step.
    batch_similar, batch_dissimilar : int or None
        Pairs of each kind drawn for the linear term; None for as many as comparisons.
    epochs : int
        Passes after which it ends: one is as many draws as there are comparisons, or about a million if that is less.
    delay : int or None
        t_0 in the steps 1/(lambda (t + t_0)); None for the paper's 0. With ``2 lambda_0 / lambda``, lambda_0 the least
        lambda for which the zero metric is optimal, the first steps do not inflate the factor repeatedly.
    start : float or None
        Largest difference of the distances to a negative and to a positive under the start, in margins; None to take
        the entries as drawn.
    uniform : bool
        Draw the start's entries uniformly in (0, 1), as the paper does for its projections, instead of normal ones.
    as_printed : bool
        Refused: the paper prints no procedure.
    random_state : int, numpy.random.Generator or None
        Seed of start and draws: the same seed makes the same iterates, also through a checkpoint.
    epoch_draws : int
        Most draws in an epoch, unless there are even more distances (of a query and an item).
    """

    name: ClassVar[str] = "stochastic-low-rank"

    rank: int = 300
    _: KW_ONLY
    delay: int | None = None
    start: float | None = 2.0
    uniform: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_counts(self, "rank", *(["delay"] if self.delay is not None else []))
        check_positive(self, *(["start"] if self.start is not None else []))
        check_flags(self, "uniform")
        check_not_printed(self)

    def prepare(self, problem: MetricProblem) -> Run:
        """Needs a pairwise risk, full metrics and a trace."""
        return partial(self._descend, problem, *factored(problem))

    def _descend(self, problem: MetricProblem, risk: PairwiseRisk, reg: float, monitor: Monitor) -> Steps:
        """Step from a random factor, or the state in a checkpoint."""
        factor, width = PairwiseFactor(problem, risk, monitor), BOUND_WIDTH * risk.margin
        state = self.state(factor)

        def look(L: Array, passes: float) -> dict[str, float]:
            return factor.look(L, width, passes=passes)

        return self._follow(risk, monitor, state, self.factors(factor, 2.0 * reg, state), look)

    def state(self, factor: PairwiseFactor) -> BatchState:
        """Initial state with a random factor, or the state in a checkpoint."""
        d = factor.problem.cone.d
        shape = min(self.rank, d), d
        left = BatchState.left(factor.monitor, self.name, shape, (0,))
        if left is not None:
            return left
        seed = self.fresh_seed()
        rng = generator_at(seed, 0)
        L = rng.random(shape) if self.uniform else rng.standard_normal(shape)
        return BatchState(0, seed, L if self.start is None else factor.scaled(L, self.start), np.zeros(0))

    def factors(self, factor: PairwiseFactor, reg: float, state: BatchState) -> Iterator[tuple[int, Array]]:
        """Yield ``(t, factor)`` after every step, without end; ``reg`` is lambda."""
        draws = TripletSampler(factor.risk.rankings, factor.risk.weights)
        delay = self.delay or 0
        for t in count(state.t + 1):
            rng = generator_at(state.seed, t)
            L = state.iterate
            with blas_threads_for(float(self.batch) * L.size):
                gradient = reg * L + self.gradient(factor, draws, L, rng)
                state.iterate, state.t = L - gradient / (reg * (t + delay)), t
            yield t, state.iterate

    def gradient(self, factor: PairwiseFactor, draws: TripletSampler, L: Array, rng: np.random.Generator) -> Array:
        """Subgradient in L of risk and linear term over one batch: ``2 L`` times the one in M."""
        risk, cone, problem = factor.risk, Images(L), factor.problem
        rankings = risk.rankings
        query, positives, negatives = draws.sample(rng, self.batch)
        q, i, k = rankings.Q[query], rankings.X[positives], rankings.X[negatives]
        margins = cone.quadratic_forms(q - k, L) - cone.quadratic_forms(q - i, L)
        violated = np.flatnonzero(margins < risk.margin)
        q, i, k = q[violated], i[violated], k[violated]
        weights = np.full(len(violated), draws.total / self.batch)
        slope = cone.outer_sum(q - i, weights) - cone.outer_sum(q - k, weights)
        if problem.G is not None:
            slope = slope + L @ problem.sampled_G(rng, *self.pairs)[0]
        return 2.0 * slope
