"""Library of named problems, benchmarks of solvers on them, traces of solvers, and readers of research data."""

from typing import TYPE_CHECKING

from convexmetric.bench.benchmarking import RUNS_FILE, benchmark, chosen_instances
from convexmetric.bench.exporting import export_instance
from convexmetric.bench.library import Instance, list_problems, load_instance, load_problem, read_instance
from convexmetric.bench.loading import loaded_solver
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
    shifted_geometric_mean,
    solve_times,
)
from convexmetric.bench.submissions import Submission, submit
from convexmetric.bench.suites import Suite, load_suite
from convexmetric.bench.traces import AuditTrail, Recorder, audit_iterates, trace
from convexmetric.imports import late

if TYPE_CHECKING:
    from convexmetric.bench.profiles import plot_benchmark, plot_data_profile, plot_performance_profile
    from convexmetric.bench.trails import plot_trails

__all__ = [
    "GAPS",
    "RESOLUTION",
    "RUNS_FILE",
    "STATUSES",
    "AuditTrail",
    "Channel",
    "Instance",
    "Outcome",
    "Recorder",
    "Run",
    "RunFile",
    "SolveTimes",
    "Submission",
    "Suite",
    "audit_iterates",
    "benchmark",
    "chosen_instances",
    "export_instance",
    "list_problems",
    "load_instance",
    "load_problem",
    "load_suite",
    "loaded_solver",
    "peak_bytes",
    "performance_profile",
    "plot_benchmark",
    "plot_data_profile",
    "plot_performance_profile",
    "plot_trails",
    "read_instance",
    "read_runs",
    "run_isolated",
    "shifted_geometric_mean",
    "solve_times",
    "submit",
    "trace",
]

# Imported on demand, as Matplotlib takes a third of a second to import.
if not TYPE_CHECKING:
    _PROFILES = ("plot_benchmark", "plot_data_profile", "plot_performance_profile")
    __getattr__ = late(__name__, dict.fromkeys(_PROFILES, "profiles") | {"plot_trails": "trails"})
