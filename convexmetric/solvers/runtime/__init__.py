"""Infrastructure of all solvers: the monitor that keeps bounds, checkpoints, progress, checks of settings."""

from convexmetric.solvers.runtime.base import Monitor, Run, Solver, check_counts, check_flags, check_positive

__all__ = ["Monitor", "Run", "Solver", "check_counts", "check_flags", "check_positive"]
