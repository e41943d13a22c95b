r"""Projected subgradient descent: the plain approximate method, with a certificate of how far it came.

.. math:: M \leftarrow \Big[ M - \frac{\eta R}{\sqrt{t}} \frac{g}{\|g\|_F} \Big]_+, \qquad g \in \partial
   \big( R + \langle G, \cdot \rangle + \Omega \big)(M)

with R the norm of the starting metric. The average of the supporting planes met on the way is a dual point.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

import numpy as np

from convexmetric.cones.base import Array
from convexmetric.errors import InputError
from convexmetric.problem import MetricProblem
from convexmetric.risks import CutDual
from convexmetric.solvers.base import Monitor, Solver

__all__ = ["ProjectedSubgradient"]


@dataclass(frozen=True)
class ProjectedSubgradient(Solver):
    """Subgradient steps with spectral projection, from the Euclidean metric.

    Parameters
    ----------
    step : float
        First step's length relative to the starting metric's norm.
    """

    name: ClassVar[str] = "subgradient"

    step: float = 0.3

    def __post_init__(self) -> None:
        if not isinstance(self.step, Real) or not 0.0 < self.step < np.inf:
            raise InputError(f"step must be a positive number, got {self.step!r}")

    def unsupported(self, problem: MetricProblem) -> str | None:
        """Needs a finite risk and a linear or quadratic regularizer."""
        if problem.quadratic() is None:
            return "its regularizer is neither linear nor quadratic"
        if problem.risk.value(problem.cone.zeros()) == np.inf:
            return "its margins are hard constraints"
        return None

    def run(self, problem: MetricProblem, monitor: Monitor) -> None:
        """Step until told to stop; without a limit, 1,000 steps."""
        cone, risk = problem.cone, problem.risk
        groups = np.zeros(risk.parts, dtype=np.int64)
        linear, quadratic = problem.linear(), problem.quadratic()
        metric = cone.identity()
        radius = np.sqrt(cone.inner(metric, metric))
        visited: list[Array] = []
        offset, normal = 0.0, np.zeros(cone.size)
        steps = 1000 if monitor.max_iter is None else monitor.max_iter
        for t in range(1, steps + 1):
            cuts = risk.separate(metric, groups)
            monitor.primal(metric, float(cuts.values.sum()) + problem.penalty(metric))
            visited.append(metric)
            offset += float(cuts.offsets[0])
            normal += cuts.normals[0]
            bound = problem.bound(offset / t, cone.from_coordinates(normal / t), metric)
            monitor.dual(bound, _average(visited[:], groups))
            if monitor.iterate():
                return
            u = cone.coordinates(metric)
            curvature = quadratic @ u if isinstance(quadratic, np.ndarray) else (quadratic or 0.0) * u
            gradient = linear + curvature - cuts.normals[0]
            length = self.step * radius / np.sqrt(t) / max(float(np.linalg.norm(gradient)), 1e-300)
            metric = cone.project(cone.from_coordinates(u - length * gradient))


def _average(visited: list[Array], groups: np.ndarray) -> Callable[[], CutDual]:
    weights = np.full((len(visited), 1), 1.0 / len(visited))
    return lambda: CutDual(np.array(visited), weights, groups)
