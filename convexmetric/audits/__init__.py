"""Audits of metrics from any source against certified bounds, and the files that hold metrics and iterates."""

from convexmetric.audits.metric_files import (
    Iterates,
    read_certificate,
    read_iterates,
    read_map,
    read_metric,
    write_solution,
)
from convexmetric.audits.scale_and_range import RANK_SHARE, best_scale
from convexmetric.audits.verdict import Audit, Reference, WorstPart, audit, worst_parts

__all__ = [
    "RANK_SHARE",
    "Audit",
    "Iterates",
    "Reference",
    "WorstPart",
    "audit",
    "best_scale",
    "read_certificate",
    "read_iterates",
    "read_map",
    "read_metric",
    "worst_parts",
    "write_solution",
]
