"""What every solver rests on: the monitor that keeps bounds, checkpoints, and a line of progress."""

from convexmetric.solvers.run.base import Monitor, Run, Solver, check_counts

__all__ = ["Monitor", "Run", "Solver", "check_counts"]
