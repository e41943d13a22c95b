"""Section 6.1: what learns an operator from pairs of images."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import convexmetric as cm

__all__ = ["INPUT", "LEARNERS", "Learner"]

#: The images as they are, of unit length.
INPUT = "input"
#: lambda of all experiments, and the kernel.
REG = {"frobenius": 0.005, "trace": 0.001}
KERNEL = "unit-rbf"
#: Vectors and constant step of the descent.
VECTORS, STEP = 100, 0.01


@dataclass(frozen=True)
class Learner:
    """A statement of the problem, and a way to solve it.

    Attributes
    ----------
    norm : str
    descent, as_printed : bool
        Whether the stochastic descent of table 1 takes the place of an exact solver, and whether as it is printed.
    """

    norm: str = "frobenius"
    descent: bool = False
    as_printed: bool = False

    def problem(self, X: np.ndarray, y: np.ndarray, pairs: int | None, seed: int) -> cm.PairMarginProblem:
        """All pairs of the images, or so many drawn from the balanced oracle."""
        return cm.PairMarginProblem.from_labels(
            X, y, n_pairs=pairs, random_state=seed, reg=REG[self.norm], penalty=self.norm, kernel=KERNEL
        )

    def solve(self, problem: cm.PairMarginProblem, tol: float, seconds: float, steps: int, seed: int) -> cm.Solution:
        """Down to a certified gap or for so many seconds; the descent takes so many steps, however long they take."""
        if not self.descent:
            return cm.solve(problem, tol, max_seconds=seconds)
        solver = cm.approximate.StochasticFactors(
            VECTORS, STEP, steps=steps, as_printed=self.as_printed, random_state=seed
        )
        return cm.solve(problem, tol, solver=solver)


LEARNERS = {
    "exact": Learner(),
    "exact-trace": Learner(norm="trace"),
    "descent": Learner(descent=True),
    "descent-printed": Learner(descent=True, as_printed=True),
}
"""By the names used in tables."""
