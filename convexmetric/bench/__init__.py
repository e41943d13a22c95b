"""Named problems, and solvers side by side on them, each run in a process of its own."""

from convexmetric.bench.benchmarking import QUICK, RUNS_FILE, benchmark, chosen_instances, loaded_solver
from convexmetric.bench.library import Instance, list_problems, load_instance, load_problem, read_instance
from convexmetric.bench.processes import Channel, Outcome, peak_bytes, run_isolated
from convexmetric.bench.records import (
    GAPS,
    RESOLUTION,
    STATUSES,
    Run,
    RunFile,
    SolveTimes,
    performance_profile,
    read_runs,
    solve_times,
)

__all__ = [
    "GAPS",
    "QUICK",
    "RESOLUTION",
    "RUNS_FILE",
    "STATUSES",
    "Channel",
    "Instance",
    "Outcome",
    "Run",
    "RunFile",
    "SolveTimes",
    "benchmark",
    "chosen_instances",
    "list_problems",
    "load_instance",
    "load_problem",
    "loaded_solver",
    "peak_bytes",
    "performance_profile",
    "read_instance",
    "read_runs",
    "run_isolated",
    "solve_times",
]
