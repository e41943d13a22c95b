"""Infrastructure of all solvers: the monitor that keeps bounds, checkpoints, progress, checks of settings."""

from convexmetric.solvers.runtime.base import (
    Details,
    Monitor,
    Run,
    Solver,
    Steps,
    check_counts,
    check_flags,
    check_positive,
    drive,
)

__all__ = [
    "Details", "Monitor", "Run", "Solver", "Steps", "check_counts", "check_flags", "check_positive", "drive",
]  # fmt: skip
