r"""Projected subgradient descent with spectral projection (paper 1, section 3.2), one oracle pass a step.

.. math:: M \leftarrow P \big[ P^{-1} (M - s \, P^2 g P^2) P^{-1} \big]_+ P, \qquad
   s = \frac{f(M) - f_{\mathrm{level}}}{\|P g P\|_F^2}, \qquad
   P^2 = \Big( \sum_\tau g_\tau g_\tau^\top \Big)^{-1/4}

with g a subgradient of the objective f at M. These are Polyak's steps towards a level below the best objective so far,
whose distance is halved whenever twenty passes have not covered half of it (Brannlund 1995; Goffin and Kiwiel 1999), in
the scaling of Shampoo (Gupta, Koren and Singer 2018), which for diagonal metrics is that of AdaGrad: the projection is
the nearest metric in that scaling. With features as correlated as those of breast cancer (AUC, C = 100) the same steps
without scaling end 5% above the optimum after 200 passes, these at 0.5%. The dual point is a weighted mean of the
supporting planes so far, in which those of the last twenty passes count most.

The paper prints a solver inside of Algorithm 1: its steps descend the *master*, the maximum over the batches of
rankings found so far, and the oracle is called again when the master is solved. ``as_printed`` does that. Neither
length nor number of the steps is printed; they have lengths :math:`R / \sqrt{t}`, R being the distance from zero at
which the objective would vanish, and a pass is made every ``master_steps`` of them. The printed method is not wrong: it
keeps all batches, which costs memory and time and is worth it.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from convexmetric.approximate.base import ApproximateSolver
from convexmetric.arrays import Array
from convexmetric.problem import MetricProblem
from convexmetric.risks import CutDual, Cuts
from convexmetric.solvers.numerics.qp import times
from convexmetric.solvers.runtime import Monitor, Run, Steps, check_counts
from convexmetric.solvers.runtime.requirements import need, need_cone, quadratic_part

#: First distance of the level from the objective, as a share of the objective's size.
FIRST_LEVEL = 0.5
#: Passes after which the level comes nearer, if they have not covered ``LEVEL_PROGRESS`` of the distance to it.
LEVEL_PASSES = 20
#: Fraction of the distance to the level that counts as progress.
LEVEL_PROGRESS = 0.5
#: Factor by which the level's distance shrinks without progress.
LEVEL_FACTOR = 0.5
#: Factor by which a supporting plane's weight in the dual point shrinks with every pass.
PLANE_DECAY = 0.95
#: Smallest eigenvalue of the scaling's matrix, relative to its largest.
SCALING_FLOOR = 1e-8


@dataclass(frozen=True)
class ProjectedSubgradient(ApproximateSolver):
    """Subgradient steps with spectral projection.

    Parameters
    ----------
    master_steps : int
        Steps on the master between two passes, with ``as_printed``.
    epochs : int
        Oracle passes after which it ends.
    as_printed : bool
        Take the steps on the masters of Algorithm 1.
    """

    name: ClassVar[str] = "subgradient"

    _: KW_ONLY
    epochs: int = 1000
    master_steps: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        check_counts(self, "master_steps")

    def prepare(self, problem: MetricProblem) -> Run:
        """Needs a finite risk, a linear or quadratic regularizer, and a cone."""
        quadratic = quadratic_part(problem)
        need(not problem.risk.hard, "its margins are hard constraints")
        need_cone(problem)
        return partial(self._steps, problem, quadratic)

    def _steps(self, problem: MetricProblem, quadratic: float | Array, monitor: Monitor) -> Steps:
        """Alternate passes and steps, until told to stop or through all epochs."""
        course = (_Master if self.as_printed else _Level)(self, problem, quadratic, monitor)
        course.restore()
        monitor.state = course.state
        while course.t < self.epochs:
            yield course.advance()


class _Course:
    """Metrics visited, their supporting planes, and weights whose mean of the planes is the dual point."""

    #: Names of further numbers for a checkpoint.
    own: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self, settings: ProjectedSubgradient, problem: MetricProblem, quadratic: float | Array, monitor: Monitor
    ) -> None:
        self.settings, self.problem, self.monitor = settings, problem, monitor
        self.cone, self.risk = problem.cone, problem.risk
        self.groups = np.zeros(self.risk.parts, dtype=np.int64)
        self.linear, self.quadratic = problem.linear(), quadratic
        self.metric = self.cone.zeros()
        self.t = 0
        self.visited: list[Array] = []
        self.weights: list[float] = []
        self.value, self.normal = 0.0, np.zeros(self.cone.size)

    def state(self) -> dict[str, np.ndarray]:
        """Arrays for a checkpoint."""
        visited = np.array(self.visited).reshape(-1, *self.cone.shape)
        return {
            "metric": self.metric,
            "visited": visited,
            "weights": np.array(self.weights),
            "own": np.array([getattr(self, name) for name in self.own]),
        }

    def restore(self) -> None:
        """Resume from a checkpoint; planes are recomputed at their metrics."""
        shape = self.cone.shape
        shapes = {"metric": shape, "visited": (None, *shape), "weights": (None,), "own": (len(self.own),)}
        left = self.monitor.left_by(self.settings.name, shapes)
        if not left or len(left["visited"]) != len(left["weights"]):
            return
        for name, number in zip(self.own, left["own"].tolist(), strict=True):
            setattr(self, name, number)
        for metric, weight in zip(left["visited"], left["weights"], strict=True):
            self.add_plane(metric, self.risk.separate(metric, self.groups), float(weight))
        self.t, self.metric = len(self.visited), left["metric"]

    def add_plane(self, metric: Array, cuts: Cuts, weight: float) -> None:
        """Add the supporting plane at a metric to the weighted sum."""
        self.visited.append(metric)
        self.weights.append(weight)
        self.value += weight * float(cuts.offsets[0])
        self.normal += weight * cuts.normals[0]

    def advance(self) -> dict[str, float]:
        """Make one pass, offer metric and bound, and take one step."""
        self.t += 1
        cuts = self.risk.separate(self.metric, self.groups)
        objective = float(cuts.values.sum()) + self.problem.penalty(self.metric)
        self.monitor.primal(self.metric, objective)
        following = self.follow(cuts, objective)
        self.bound(self.metric)
        self.metric = following
        return {"passes": self.t, "objective": objective}

    def follow(self, cuts: Cuts, objective: float) -> Array:
        """Add the supporting plane, and return the next metric."""
        raise NotImplementedError

    def bound(self, hint: Array) -> None:
        """Offer the lower bound of the weighted mean of the planes."""
        total = sum(self.weights)
        if total > 0.0:
            S = self.cone.from_coordinates(self.normal / total)
            weights = np.array(self.weights)[:, None] / total
            point = partial(CutDual, np.array(self.visited), weights, self.groups)
            self.monitor.dual(self.problem.bound(self.value / total, S, hint), point)

    def gradient(self, u: Array, normal: Array) -> Array:
        """Gradient of penalty and plane, in coordinates."""
        return np.asarray(self.linear + times(self.quadratic, u) - normal)


class _Level(_Course):
    """Polyak steps towards a level, preconditioned by the gradients so far."""

    own = ("reference", "distance", "since")
    # At first there is no level, and there are no gradients.
    reference, distance, since = 0.0, -1.0, 0
    squares = np.zeros(())

    def add_plane(self, metric: Array, cuts: Cuts, weight: float) -> None:
        super().add_plane(metric, cuts, weight)
        g = self.cone.from_coordinates(self.gradient(self.cone.coordinates(metric), cuts.normals[0]))
        self.squares = self.squares + (g @ g if g.ndim == 2 else g * g)

    def level(self, objective: float) -> float:
        """Objective value that the next step aims at."""
        best = self.monitor.upper_bound
        if self.distance < 0.0:
            self.reference, self.distance, self.since = best, FIRST_LEVEL * abs(best) or 1.0, 0
        if objective <= self.reference - LEVEL_PROGRESS * self.distance:
            self.reference, self.since = best, 0
        elif self.since >= LEVEL_PASSES:
            self.reference, self.distance, self.since = best, LEVEL_FACTOR * self.distance, 0
        self.since += 1
        return max(self.reference - self.distance, self.monitor.lower_bound)

    def follow(self, cuts: Cuts, objective: float) -> Array:
        cone = self.cone
        u = cone.coordinates(self.metric)
        g = cone.from_coordinates(self.gradient(u, cuts.normals[0]))
        excess = objective - self.level(objective)
        self.weights = [PLANE_DECAY * weight for weight in self.weights]
        self.value, self.normal = PLANE_DECAY * self.value, PLANE_DECAY * self.normal
        self.add_plane(self.metric, cuts, 1.0)
        scaling = _Scaling(self.squares, SCALING_FLOOR)
        square = float(np.sum(scaling.by(g) ** 2))
        step = max(excess, 0.0) / max(square, np.finfo(float).tiny)
        moved = scaling.by(self.metric - step * scaling.by(scaling.by(g)), -1)
        return scaling.by(cone.project(moved))


class _Scaling:
    """Products with P and its inverse from both sides; entry by entry for diagonal metrics."""

    def __init__(self, squares: Array, floor: float) -> None:
        if squares.ndim == 1:
            self.vectors, values = None, squares
        else:
            values, self.vectors = np.linalg.eigh(squares)
        values = np.maximum(values, floor * max(float(values.max()), np.finfo(float).tiny))
        self.roots = (values / values.max()) ** -0.125

    def by(self, A: Array, power: int = 1) -> Array:
        """``P A P``, or the same with a power of P."""
        roots = self.roots**power
        if self.vectors is None:
            return np.asarray(roots * A * roots)
        P = (self.vectors * roots) @ self.vectors.T
        product = P @ A @ P
        return np.asarray(0.5 * (product + product.T))


class _Master(_Course):
    """Algorithm 1 of paper 1, with masters solved by subgradient steps."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.offsets: list[float] = []
        self.normals: list[Array] = []

    def add_plane(self, metric: Array, cuts: Cuts, weight: float) -> None:
        super().add_plane(metric, cuts, weight)
        self.offsets.append(float(cuts.offsets[0]))
        self.normals.append(cuts.normals[0].copy())

    def follow(self, cuts: Cuts, objective: float) -> Array:
        self.add_plane(self.metric, cuts, 0.0)
        offsets, normals = np.array(self.offsets), np.array(self.normals)
        start = self.gradient(np.zeros(self.cone.size), normals[0])
        radius = offsets[0] / max(float(np.linalg.norm(start)), 1e-300)
        u = self.cone.coordinates(self.metric)
        chosen = np.zeros(len(offsets))
        for inner in range(1, self.settings.master_steps + 1):
            violations = offsets - normals @ u
            worst = int(np.argmax(violations))
            active = violations[worst] > 0.0
            chosen[worst] += active
            gradient = self.gradient(u, normals[worst] if active else np.zeros(self.cone.size))
            length = radius / np.sqrt(inner + self.t) / max(float(np.linalg.norm(gradient)), 1e-300)
            u = self.cone.coordinates(self.cone.project(self.cone.from_coordinates(u - length * gradient)))
        if not chosen.any():
            chosen[-1] = 1.0
        self.weights, self.value, self.normal = chosen.tolist(), float(chosen @ offsets), chosen @ normals
        return self.cone.from_coordinates(u)
