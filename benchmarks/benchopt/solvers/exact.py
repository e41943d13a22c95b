"""Whatever fits of the exact solvers."""

from benchmark_utils.solving import LibrarySolver


class Solver(LibrarySolver):
    """Whatever fits of the exact solvers."""

    name = solver = "exact"
