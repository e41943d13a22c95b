"""Stochastic steps on factors, of pairs."""

from benchmark_utils.solving import LibrarySolver


class Solver(LibrarySolver):
    """Stochastic steps on factors, of pairs."""

    name = solver = "stochastic-factors"
