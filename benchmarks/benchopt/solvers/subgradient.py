"""Projected subgradients."""

from benchmark_utils.solving import LibrarySolver
from benchopt.stopping_criterion import SufficientProgressCriterion


class Solver(LibrarySolver):
    """Projected subgradients."""

    name = solver = "subgradient"
    # The first steps may all be worse than the start.
    stopping_criterion = SufficientProgressCriterion(patience=15, strategy="iteration")
