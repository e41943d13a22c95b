"""Stochastic batches of triplets."""

from benchmark_utils.solving import LibrarySolver


class Solver(LibrarySolver):
    """Stochastic batches of triplets."""

    name = solver = "stochastic-batch"
