"""Cutting planes; an iteration is a pass of the oracle."""

from benchmark_utils.solving import LibrarySolver


class Solver(LibrarySolver):
    """Cutting planes; an iteration is a pass of the oracle."""

    name = solver = "cutting-planes"
