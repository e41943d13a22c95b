r"""Stochastic subgradients over listed triplets, for weights of features.

.. math:: w \leftarrow \big[ w - \eta_t \, h_t \circ g_t \big]_+, \qquad
   g_t = L w + G - \frac{C T}{B} \sum_{b=1}^B 1\{\mu > \langle d_b, w \rangle\} \, d_b

for :math:`\frac12 w^\top L w + \langle G, w \rangle + C \sum_t \max(0, \mu - \langle d_t, w \rangle)` over
:math:`w \ge 0`, the problem of paper 2, for which that paper prints no descent: its quadratic program goes to a solver.
T triplets come in a new order every epoch, B a step.

Where C T is large beside L, as it is in all of that paper's experiments, the steps 1/(lambda t) of Pegasos are far too
long for thousands of epochs (``pegasos=True``; with a matrix L, lambda is its row sums, feature by feature). Here h is
one over the root mean square of every feature's slopes so far (AdaGrad, Duchi, Hazan and Singer 2011), and

.. math:: \eta_t = \frac{\eta \|w_0\|}{\sqrt d} \; 1000^{-t / t_{\mathrm{end}}}, \qquad
   w_0 = \alpha \, [ \textstyle\sum_t d_t ]_+ \text{ with the best } \alpha

falls to a thousandth over the epochs asked for.

As printed, equation 7 defines :math:`\Delta^{x_i, x_j}` with :math:`x_k`, so that both distances of a triplet are
one and the same, every d is zero and no metric violates less than another: ``as_printed`` descends that, to zero.

Bounds come from the slopes of the hinges, smoothed over some widths, at metrics where the gap is evaluated, and from
the fraction of the last epoch's steps in which a triplet was active.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
import scipy

from convexmetric.approximate.base import RandomisedSolver, generator_at, next_stop, resumed
from convexmetric.arrays import Array
from convexmetric.problem import MetricProblem
from convexmetric.risks import ListedHinges
from convexmetric.solvers.numerics.qp import times
from convexmetric.solvers.runtime import Monitor, Run, check_counts, check_flags, check_positive
from convexmetric.solvers.runtime.requirements import need_diagonal_metrics, positive_quadratic, soft_hinges

#: Length of the last step as a share of the first.
LAST_STEP_SHARE = 1e-3
#: Smoothings, in margins, of the hinges whose slopes give lower bounds.
BOUND_WIDTHS = (0.01, 0.1, 0.5)


@dataclass(frozen=True)
class StochasticTriplets(RandomisedSolver):
    """Subgradient steps over batches of shuffled triplets.

    Parameters
    ----------
    batch : int
        Triplets a step.
    learning_rate : float
        Length of the first step in units of the start's norm, as if all features moved alike.
    pegasos : bool
        Take steps 1/(lambda t) from the zero metric instead.
    average : bool
        Also offer the mean metric of the last epoch.
    epochs : int
        Times that every triplet is seen, over which the steps fall.
    as_printed : bool
        Descend the constraints of equation 7, which compare nothing.
    random_state : int, numpy.random.Generator or None
        Seed of the shuffles: the same seed makes the same iterates, also through a checkpoint.
    """

    name: ClassVar[str] = "stochastic-triplets"

    batch: int = 20
    learning_rate: float = 1.0
    _: KW_ONLY
    pegasos: bool = False
    average: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_counts(self, "batch")
        check_positive(self, "learning_rate")
        check_flags(self, "pegasos", "average")

    def prepare(self, problem: MetricProblem) -> Run:
        """Needs soft hinges of listed comparisons, diagonal metrics, and a quadratic regularizer."""
        hinges = soft_hinges(problem)
        need_diagonal_metrics(problem)
        quadratic = positive_quadratic(problem)
        return lambda monitor: _Run(self, problem, hinges, quadratic, monitor).follow()


class _Run:
    """State of one run."""

    def __init__(
        self,
        settings: StochasticTriplets,
        problem: MetricProblem,
        hinges: ListedHinges,
        quadratic: float | Array,
        monitor: Monitor,
    ) -> None:
        self.settings, self.problem, self.monitor = settings, problem, monitor
        self.triplets, self.hinges = hinges.comparisons, hinges
        self.linear, self.quadratic = problem.linear(), quadratic
        self.count, self.d = len(self.triplets), problem.cone.d
        self.steps = -(-self.count // settings.batch)
        self.t, self.order_of, self.order = 0, -1, np.empty(0, dtype=np.int64)
        self.forget()

    def forget(self) -> None:
        """Reset the means, at the start of an epoch."""
        self.total, self.active, self.summed = np.zeros(self.d), np.zeros(self.count), 0

    def follow(self) -> None:
        """Start or resume, and step to the end."""
        shapes = dict.fromkeys(("w", "squares", "first"), (self.d,)) | {"numbers": (2,)}
        left = resumed(self.monitor, self.settings.name, shapes)
        self.monitor.state = self.state
        if left is not None:
            self.t, self.seed = map(int, left["numbers"])
            self.w, self.squares, self.first = left["w"], left["squares"], left["first"]
        else:
            self.seed = self.settings.fresh_seed()
            self.squares = np.zeros(self.d)
            self.first = self.start()
            self.w = np.zeros(self.d) if self.settings.pegasos else self.first
            if self.look():
                return
        last = self.settings.epochs * self.steps
        while self.t < last:
            stop = min(next_stop(self.t, self.steps), last)
            while self.t < stop and not self.monitor.out_of_time:
                if self.t % self.steps == 0:
                    self.forget()
                self.step(last)
            if self.look():
                return

    def state(self) -> dict[str, np.ndarray]:
        """Arrays for a checkpoint."""
        numbers = np.array([self.t, self.seed])
        return {"w": self.w, "squares": self.squares, "first": self.first, "numbers": numbers}

    def start(self) -> Array:
        """Starting weights: the best multiple of ``[sum_t d_t - G]_+``."""
        w = np.maximum(self.triplets.adjoint(np.ones(self.count)) - self.linear, 0.0)
        margins = self.triplets.forward(w)
        size = float(np.abs(margins).mean())
        if not 0.0 < size < np.inf:
            return np.ones(self.d)
        curved, linear = float(w @ times(self.quadratic, w)), float(self.linear @ w)

        def value(scale: float) -> float:
            return self.hinges.loss.value(scale * margins) + scale * linear + 0.5 * scale**2 * curved

        scale = float(
            scipy.optimize.minimize_scalar(value, bounds=(0.0, 10.0 * self.hinges.size / size), method="bounded").x
        )
        return scale * w

    def rows(self) -> tuple[np.ndarray, Any]:
        """Indices of this step's triplets, and their d in rows."""
        epoch, place = divmod(self.t, self.steps)
        if epoch != self.order_of:
            self.order_of, self.order = epoch, generator_at(self.seed, epoch).permutation(self.count)
        chosen = self.order[place * self.settings.batch : (place + 1) * self.settings.batch]
        return chosen, self.triplets.block(chosen, slice(None))

    def step(self, last: int) -> None:
        """Take one step on the next batch."""
        chosen, rows = self.rows()
        w, self.t = self.w, self.t + 1
        gradient = self.linear + times(self.quadratic, w)
        if not self.settings.as_printed:
            active = (rows @ w < self.hinges.margins[chosen]).astype(np.float64)
            weights = self.hinges.weights[chosen] * self.count / chosen.size
            gradient = gradient - np.asarray(rows.T @ (weights * active))
            self.active[chosen] += active
        if self.settings.pegasos:
            strength = times(self.quadratic, np.ones(self.d))
            move = gradient / (np.maximum(strength, np.finfo(float).tiny) * self.t)
        else:
            self.squares = self.squares + gradient**2
            spread = np.sqrt(self.squares / self.t)
            length = self.settings.learning_rate * float(np.linalg.norm(self.first)) / np.sqrt(self.d)
            length_now = length * LAST_STEP_SHARE ** (self.t / last)
            move = length_now * np.divide(gradient, spread, where=spread > 0.0, out=np.zeros(self.d))
        self.w = np.maximum(w - move, 0.0)
        self.total, self.summed = self.total + self.w, self.summed + 1

    def look(self) -> bool:
        """Offer metrics and bounds; True if the solve must stop."""
        w, hinges = self.w, self.hinges
        s = self.triplets.forward(w)
        objective = hinges.loss.value(s) + self.problem.penalty(w)
        self.monitor.primal(w, objective)
        for width in BOUND_WIDTHS:
            self.bound(hinges.smoothed_multipliers(s, width * hinges.size), w)
        if self.summed:
            if not self.settings.as_printed:
                self.bound(hinges.weights * np.minimum(1.0, self.active * self.steps / self.summed), w)
            if self.settings.average:
                mean = self.total / self.summed
                self.monitor.primal(mean, self.problem.value(mean))
        return self.monitor.iterate(passes=self.t / self.steps, objective=objective)

    def bound(self, u: Array, hint: Array) -> None:
        """Offer the lower bound of multipliers u."""
        self.monitor.dual(self.problem.dual_bound(u, hint=hint), lambda: u)
