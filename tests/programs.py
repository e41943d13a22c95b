"""Small conic programs of every form: cone, quadratic part, slacks."""

from typing import Any

import numpy as np

from convexmetric.comparisons import Triplets
from convexmetric.cones import NonnegativeDiagonal, PSDCone
from convexmetric.losses import Hinge
from convexmetric.problem import MetricProblem
from convexmetric.regularizers import QuadraticForm, SquaredFrobenius, Trace
from convexmetric.risks import SeparableRisk
from convexmetric.solvers.numerics.qp import ConicQP

D = 3
_ROOT = np.random.default_rng(5).random((D, D))

#: Cone and regularizer by name.
KINDS: dict[str, Any] = {
    "psd, linear": (PSDCone(D), Trace(1.0)),
    "psd, quadratic": (PSDCone(D), SquaredFrobenius(0.5)),
    "diagonal, linear": (NonnegativeDiagonal(D), Trace(1.0)),
    "diagonal, quadratic": (NonnegativeDiagonal(D), SquaredFrobenius(0.5)),
    "diagonal, matrix": (NonnegativeDiagonal(D), QuadraticForm(_ROOT @ _ROOT.T + np.eye(D))),
}

#: How rows share slacks.
SLACKS = ("own", "shared", "hard")


def penalty(kind: str, regularizer: Any = None) -> MetricProblem:
    """A problem of which a program takes the penalty."""
    cone, usual = KINDS[kind]
    triplets = Triplets(np.random.default_rng(0).standard_normal((4, D)), np.array([[0, 1, 2]]), cone)
    return MetricProblem(SeparableRisk(triplets, Hinge(1.0)), usual if regularizer is None else regularizer)


def program(kind: str, slacks: str, count: int = 12, seed: int = 0) -> ConicQP:
    """Random rows that some metric of the cone satisfies by their margins."""
    rng, problem = np.random.default_rng(seed), penalty(kind)
    cone = problem.cone
    near, far = rng.standard_normal((2, count, D))
    rows = cone.outer_rows(far) - cone.outer_rows(near)
    rows *= np.sign(rows @ cone.coordinates(cone.identity()))[:, None]
    group = np.arange(count) % 4 if slacks == "shared" else np.arange(count)
    C = np.full(int(group.max()) + 1, np.inf if slacks == "hard" else 3.0)
    return ConicQP(problem, rows, np.full(count, 1.0), group, C)
