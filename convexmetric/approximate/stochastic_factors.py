r"""Stochastic gradient descent on factors of the metric, one pair per step.

.. math:: A_v = \sum_{i=1}^d v_i v_i^\top, \qquad
   v_i \leftarrow v_i + \theta \, P \Big( \frac{2 \sigma_t u_t}{p_t} \, a_i \, (x - x') - w_i \Big), \qquad
   a_i = \langle v_i, x - x' \rangle, \quad s_t = \sigma_t \sum_i a_i^2

for :math:`\sum_t \ell_t(s_t) + \langle G, A \rangle + \Omega(A)`: a pair t is drawn with probability p, :math:`-u_t` is
a subgradient of its loss at :math:`s_t`, and w is the gradient of the penalty in v,

.. math:: w_i = \frac{2 \lambda}{\|A_v\|_F} \sum_j \langle v_i, v_j \rangle v_j \;\text{ for } \lambda \|A\|_F, \qquad
   w_i = 2 \lambda v_i \;\text{ for } \lambda \, \mathrm{tr} A.

This is the algorithm of table 1 of paper 4 with the two savings of its section 3.3: about a hundred vectors instead of
one per pair, and w recomputed only every few steps, although it is applied in each. In print the loss step lacks the
factor 2 that w has, so that it descends the objective with twice the :math:`\lambda`; ``as_printed`` does so. The last
index of w is printed i, a misprint for the j of the gradient above, which both versions correct. Pairs in a list are
drawn uniformly; of pairs by labels first the kind, by its whole weight, and then a pair of that kind.

The paper keeps theta constant, so that the descent stays at a distance from the optimum. Here theta begins at
:math:`0.3 / \mathbb{E} \langle x - x', P (x - x') \rangle` and falls to 0.003 of that over the epochs asked for. P is
one over the root of the scatter of drawn pairs, which makes features of all scales move alike; in more than 200
dimensions it would cost more than the steps and is the identity. A ``learning_rate`` of the user's own stays constant,
with P the identity; ``as_printed`` without one takes :math:`0.01 / \mathbb{E} \|x - x'\|^2`, the 0.01 of the usual
setting for differences of length one.

Vectors start and stay in the span of the differences of points, so that these are the steps of the kernel version,
:math:`v_i = \sum_j \alpha^i_j (x_j - x'_j)` with inner products read off the kernel matrix, in coordinates of an
orthonormal basis of the span.

While w is constant, a block of steps is linear algebra except for one number per step. With the differences of the
block in rows of :math:`\Delta`, the products :math:`\Delta V^\top, \Delta W^\top, \Delta \Delta^\top` contain all that
a step needs of V after the steps before it, and V itself is changed once, at the end of the block.

An epoch is as many draws as there are pairs, a million at most. The problem in v is not convex. Bounds are those of the
convex problem, made at powers of two within the first epoch and after 1, 2, 5, 10, 20, ... epochs, as soon as these
cost less than the steps, and at the end: from the multipliers of the losses at the last metric, smoothed, and from the
mean multipliers since the last of these moments, which is better if few pairs are at the bend of their losses.
Multipliers that add to S are scaled to what the regularizer allows.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np
import scipy

from convexmetric.approximate.base import RandomisedSolver, generator_at, next_stop
from convexmetric.arrays import Array
from convexmetric.comparisons.pairs import LabelledPairs
from convexmetric.errors import UnsupportedProblemError
from convexmetric.numerics.compiling import compiled_in_any_order
from convexmetric.numerics.threads import blas_threads_for
from convexmetric.problem import MetricProblem
from convexmetric.regularizers import NormWeights
from convexmetric.risks import ImageRisk, LabelledPairRisk, ListedImages
from convexmetric.solvers.runtime import Monitor, Run, Steps, check_counts, check_flags, check_positive
from convexmetric.solvers.runtime.requirements import NORM_OR_TRACE, need_full_metrics, norm_weights

#: Entries of vectors that have diverged: their products leave the range of floats.
OVERFLOW = 1e50
#: First of the falling steps, over the mean squared length of differences.
FIRST_STEP = 0.3
#: Length of the last step as a share of the first.
LAST_STEP_SHARE = 0.003
#: The constant step of ``as_printed``, over the mean squared length of differences.
PRINTED_STEP = 0.01
#: Dimensions up to which differences are scaled; in more it would cost more than the steps.
MOST_SCALED = 200
#: Smallest eigenvalue of the scatter of differences, relative to its largest.
SCALING_FLOOR = 1e-3
#: Smoothings of the losses at a metric for lower bounds, in units of s.
BOUND_WIDTHS = (0.3, 0.03)
#: Evaluations in the search for the best scale of the multipliers.
SEARCH_STEPS = 12
#: Metrics averaged between two evaluations of the gap.
AVERAGED_METRICS = 64
#: Steps computed together as one block.
BLOCK_STEPS = 128
#: Pairs drawn at a time.
BLOCK_DRAWS = 8_192
#: Draws of an epoch where there are more pairs than that.
EPOCH_DRAWS = 1_000_000


@dataclass(frozen=True)
class StochasticFactors(RandomisedSolver):
    """Descent by one random pair per step on vectors whose outer products add up to the metric.

    It does not claim the optimum, and steps are not tested: if they are too long for the data, it diverges and ends.

    Parameters
    ----------
    vectors : int
        d, the rank that the metric can have; no more than there are dimensions are taken.
    learning_rate : float, optional
        theta, constant. Steps scale with squared differences. Default: falling steps that fit the data.
    refresh : int
        Steps from one computation of w to the next.
    steps : int, optional
        End after this many steps instead of epochs.
    start : float
        Mean squared distance of pairs under the first metric, whose vectors are normal; the paper does not state it.
    average : bool
        Also offer the mean metric over the steps since the last evaluation of the gap.
    epochs : int
        Passes after which it ends, over which the steps fall: as many draws each as there are pairs, a million at most.
    as_printed : bool
        Take the loss step without its factor 2, and constant steps.
    random_state : int, numpy.random.Generator or None
        Seed of start and draws: the same seed makes the same iterates, also through a checkpoint.
    """

    name: ClassVar[str] = "stochastic-factors"

    vectors: int = 100
    learning_rate: float | None = None
    refresh: int = 100
    _: KW_ONLY
    steps: int | None = None
    start: float = 0.1
    average: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_counts(self, "vectors", "refresh", *(["steps"] if self.steps is not None else []))
        check_positive(self, "start", *(["learning_rate"] if self.learning_rate is not None else []))
        check_flags(self, "average")

    def prepare(self, problem: MetricProblem) -> Run:
        """Needs losses of pairs, full metrics, and a Frobenius norm or a trace.

        The run steps until told to stop, through all steps, or until the vectors overflow.
        """
        images = problem.risk.form(ImageRisk)
        if not isinstance(images, LabelledPairRisk) and (not isinstance(images, ListedImages) or images.joint):
            raise UnsupportedProblemError("its pairs are neither listed nor all pairs of labelled points")
        need_full_metrics(problem)
        norms = norm_weights(problem, lambda w: not (w.squared or (w.trace and w.norm)), NORM_OR_TRACE)

        def run(monitor: Monitor) -> Steps:
            source = _Listed(images) if isinstance(images, ListedImages) else _Labelled(images)
            return _Run(self, problem, source, norms, monitor).follow()

        return run


class _Listed:
    """Pairs in a list, drawn uniformly.

    Every pair drawn has a row of five numbers, those of its loss divided by its probability: sign, offset, low and high
    end of the multipliers, and curvature.
    """

    def __init__(self, images: ListedImages) -> None:
        self.images, loss = images, images.loss
        self.pairs, self.signs = images.pairs, images.comparisons.signs_of_each()
        self.count = m = len(self.pairs)
        self.numbers = np.column_stack([self.signs, loss.offset, m * loss.low, m * loss.high, loss.curvature / m])

    def draw(self, rng: np.random.Generator, size: int) -> tuple[np.ndarray, Array]:
        """Draw pairs: ``(size, 2)`` indices of points, and ``(size, 5)`` numbers of their losses."""
        t = rng.integers(len(self.pairs), size=size)
        return self.pairs[t], self.numbers[t]


class _Labelled:
    """All pairs of labelled points: same or different labels drawn by their total weight, then a pair uniformly."""

    def __init__(self, risk: LabelledPairRisk) -> None:
        self.images = risk
        self.kinds = [LabelledPairs(risk.codes, same=same) for same in (True, False)]
        hinges = (risk.same, risk.other)
        sums = np.array([0.5 * len(pairs) * hinge.weight for pairs, hinge in zip(self.kinds, hinges, strict=True)])
        self.share, whole = sums[0] / sums.sum(), sums.sum()
        self.numbers = np.array([(h.sign, h.margin, whole if h.linear else 0.0, whole, 0.0) for h in hinges])
        self.codes = risk.codes
        self.count = self.codes.size * (self.codes.size - 1) // 2

    @property
    def signs(self) -> Array:
        """Signs of the squared distances, in the order of the risk's multipliers."""
        same = np.concatenate([self.codes[i] == self.codes[i + 1 :] for i in range(self.codes.size)])
        return np.where(same, self.numbers[0, 0], self.numbers[1, 0])

    def draw(self, rng: np.random.Generator, size: int) -> tuple[np.ndarray, Array]:
        kind = (rng.random(size) >= self.share).astype(np.int64)
        pairs = np.empty((size, 2), dtype=np.int64)
        for k, source in enumerate(self.kinds):
            drawn = np.flatnonzero(kind == k)
            if drawn.size:
                pairs[drawn] = source.sample(rng, drawn.size)
        return pairs, self.numbers[kind]


class _Run:
    """The state of one solve."""

    def __init__(
        self,
        settings: StochasticFactors,
        problem: MetricProblem,
        source: _Listed | _Labelled,
        norms: NormWeights,
        monitor: Monitor,
    ) -> None:
        self.settings, self.problem, self.source, self.monitor = settings, problem, source, monitor
        self.reg, self.trace = norms.trace + norms.norm, norms.trace > 0.0
        self.X = source.images.X
        self.d = min(settings.vectors, self.X.shape[1])
        self.epoch = min(source.count, EPOCH_DRAWS)
        self.last = settings.epochs * self.epoch if settings.steps is None else settings.steps
        self.t, self.chunk, self.window = 0, -1, 0
        self.slopes, self.metrics, self.count = np.zeros(1), np.zeros((1, 1)), 0
        monitor.state = self.state

    def follow(self) -> Steps:
        """Start or resume, and step to the end."""
        shape = (self.d, self.X.shape[1])
        left = self.monitor.left_by(self.settings.name, {"numbers": (2,), "V": shape, "W": shape})
        if left:
            self.t, self.seed = map(int, left["numbers"])
            self.V, self.W, self.window = left["V"], left["W"], self.t
            self.scale()
        else:
            self.begin()
            yield self.look()
        while self.t < self.last:
            with np.errstate(over="ignore", invalid="ignore"):
                self.advance(self.next_stop())
            if not np.abs(self.V).max() < OVERFLOW:
                return
            moment = self.moment(self.t - 1)
            if self.worth_a_look(moment) and self.t % self.spacing(moment) == 0:
                self.add_to_means()
            at_end = self.t == moment
            if (at_end and self.worth_a_look(moment)) or self.monitor.out_of_time:
                yield self.look()
            if at_end:
                self.slopes, self.metrics, self.count, self.window = np.zeros(1), np.zeros((1, 1)), 0, self.t

    def state(self) -> dict[str, np.ndarray]:
        """Arrays for a checkpoint, without running means."""
        return {"numbers": np.array([self.t, self.seed]), "V": self.V, "W": self.W}

    def begin(self) -> None:
        """Draw normal vectors under which pairs have the mean squared distance ``start``."""
        self.seed = self.settings.fresh_seed()
        i, j = self.drawn(0)[0].T
        spread = float(np.mean((self.X[i] - self.X[j]) ** 2)) * self.X.shape[1] or 1.0
        V = generator_at(self.seed, 0).standard_normal((self.d, self.X.shape[1]))
        self.V = np.sqrt(self.settings.start / (self.d * spread)) * V
        self.W = self.slope()
        self.scale()

    def scale(self) -> None:
        """Choose the first step length and P from the pairs drawn first."""
        settings, r = self.settings, self.X.shape[1]
        self.P: Array | None = None
        self.end, self.refresh = 1.0, settings.refresh
        if settings.learning_rate is not None:
            self.rate = float(settings.learning_rate)
            return
        i, j = self.drawn(0)[0].T
        differences = self.X[i] - self.X[j]
        scaled, largest = differences, 1.0
        if r <= MOST_SCALED and not settings.as_printed:
            values, vectors = np.linalg.eigh(differences.T @ differences / len(differences))
            values = np.maximum(values, SCALING_FLOOR * max(float(values.max()), np.finfo(float).tiny))
            self.P, largest = (vectors / np.sqrt(values)) @ vectors.T, float(values.min()) ** -0.5
            scaled = differences @ self.P
        size = float(np.mean(np.einsum("ij,ij->i", differences, scaled))) or 1.0
        if settings.as_printed:
            self.rate = PRINTED_STEP / size
            return
        # Curvature of the penalty alone: neither one step nor all steps with the same w may overshoot.
        linear = 0.0 if self.problem.G is None else float(np.linalg.norm(self.problem.G, 2))
        curvature = 2.0 * largest * (self.reg + linear)
        self.rate, self.end = min(FIRST_STEP / size, 1.0 / curvature), LAST_STEP_SHARE
        self.refresh = max(1, min(settings.refresh, int(0.5 / (self.rate * curvature))))

    def drawn(self, chunk: int) -> tuple[np.ndarray, Array]:
        """Pairs drawn for a chunk of steps; the seed determines them, also in a resumed run."""
        if chunk != self.chunk:
            self.draws = self.source.draw(generator_at(self.seed, 1 + chunk), BLOCK_DRAWS)
            self.chunk = chunk
        return self.draws

    def slope(self) -> Array:
        """Gradient w of the penalty in the vectors."""
        V = self.V
        if self.trace:
            W = 2.0 * self.reg * V
        else:
            gram = V @ V.T
            norm = float(np.linalg.norm(gram))
            W = (2.0 * self.reg / norm * gram) @ V if norm > 0.0 else np.zeros_like(V)
        return W if self.problem.G is None else W + 2.0 * V @ self.problem.G

    def advance(self, until: int) -> None:
        """Take one block of steps, with w constant."""
        settings = self.settings
        chunk, first = divmod(self.t, BLOCK_DRAWS)
        size = until - self.t
        pairs, numbers = self.drawn(chunk)
        i, j = pairs[first : first + size].T
        rate = self.rate * self.end ** (self.t / self.last)
        with blas_threads_for(float(size) * self.V.size):
            differences = self.X[i] - self.X[j]
            moved, W = (differences, self.W) if self.P is None else (differences @ self.P, self.W @ self.P)
            seen, pulled = differences @ self.V.T, differences @ W.T
            gram = differences @ moved.T
            _steps(seen, pulled, gram, numbers[first : first + size], rate, rate if settings.as_printed else 2.0 * rate)
            self.V, self.t = self.V + seen.T @ moved - (size * rate) * W, until
            if until % self.refresh == 0:
                self.W = self.slope()

    def next_stop(self) -> int:
        """Step at which the block that begins now has to end."""
        t, moment = self.t, self.moment(self.t)
        spaces = [self.refresh, BLOCK_DRAWS] + ([self.spacing(moment)] if self.worth_a_look(moment) else [])
        return min(t + BLOCK_STEPS, moment, *(t - t % space + space for space in spaces))

    def moment(self, t: int) -> int:
        """The next step after t at which bounds may be made; at most the last one."""
        return min(next_stop(t, self.epoch), self.last)

    def worth_a_look(self, moment: int) -> bool:
        """Whether the steps up to a moment cost more than the bounds there; after the last step it is always so."""
        n, r = self.X.shape
        products = 6.0 * SEARCH_STEPS * float(r) ** 3 + 6.0 * float(n) * r * (n + r)
        return moment >= self.last or moment * 6.0 * self.d * r >= products

    def spacing(self, moment: int) -> int:
        """Steps between two metrics of the mean up to a moment."""
        return max(1, (moment - self.window) // AVERAGED_METRICS)

    def add_to_means(self) -> None:
        """Add the multipliers, and if asked for the metric, at this step to their means."""
        images = self.source.images
        self.slopes = self.slopes + images.scaled_multipliers(images.at(self.X @ self.V.T, 0.0), 1.0)
        if self.settings.average:
            self.metrics = self.metrics + self.V.T @ self.V
        self.count += 1

    def look(self) -> dict[str, float]:
        """Offer metrics and bounds."""
        problem, images = self.problem, self.source.images
        M = self.V.T @ self.V
        Z = self.X @ self.V.T
        passes = [images.at(Z, width) for width in BOUND_WIDTHS]
        objective = passes[0].exact + problem.penalty(M)
        self.monitor.primal(M, objective)
        for here in passes:
            self.bound(images.scaled_multipliers(here, 1.0), M)
        if self.count:
            self.bound(self.slopes / self.count, M)
            if self.settings.average:
                mean = self.metrics / self.count
                self.monitor.primal(mean, problem.value(mean))
        return {"passes": self.t / self.epoch, "steps": self.t, "objective": objective}

    def bound(self, u: Array, M: Array) -> None:
        """Offer the lower bound of multipliers u, those that add to S at their best scale in [0, 1]."""
        problem, risk = self.problem, self.problem.risk
        adding = self.source.signs * u > 0.0
        whole, rest = risk.minorant(u), risk.minorant(np.where(adding, 0.0, u))
        if whole is None or rest is None:
            return
        value, S = whole.value - rest.value, whole.S - rest.S

        def loss(scale: float) -> float:
            return -problem.bound(rest.value + scale * value, rest.S + scale * S, M)

        found = scipy.optimize.minimize_scalar(
            loss, bounds=(0.0, 1.0), method="bounded", options={"maxiter": SEARCH_STEPS}
        )
        scaled = u if loss(1.0) <= found.fun else np.where(adding, float(found.x) * u, u)
        point = risk.minorant(scaled)
        if point is not None:
            self.monitor.proven(problem, point, M, lambda: scaled)


@compiled_in_any_order
def _steps(seen, pulled, gram, numbers, rate, factor):
    """Take the steps of a block in turn; row k of ``seen`` becomes what step k adds along difference k."""
    size, d = seen.shape
    active = np.empty(size, dtype=np.int64)
    count = 0
    for k in range(size):
        a = seen[k]
        for i in range(d):
            a[i] -= k * rate * pulled[k, i]
        for at in range(count):
            before = active[at]
            inner = gram[before, k]
            for i in range(d):
                a[i] += inner * seen[before, i]
        square = 0.0
        for i in range(d):
            square += a[i] * a[i]
        sign, offset, low, high, curvature = numbers[k]
        slope = offset - sign * square
        u = high if slope > 0.0 else low
        if curvature > 0.0:
            u = min(max(slope / curvature, low), high)
        move = factor * sign * u
        for i in range(d):
            a[i] *= move
        if move != 0.0:
            active[count] = k
            count += 1
