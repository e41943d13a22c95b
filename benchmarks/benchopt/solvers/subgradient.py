"""Projected subgradients."""

from benchmark_utils.solving import LibrarySolver


class Solver(LibrarySolver):
    """Projected subgradients."""

    name = solver = "subgradient"
