"""A verdict on anybody's metric, on the iterates of anybody's solver, and the files that hold them."""

from convexmetric.audits.metric_files import Iterates, read_certificate, read_iterates, read_metric, write_solution
from convexmetric.audits.optimality import (
    RANK_SHARE,
    Conditions,
    Scale,
    Subspace,
    best_scale,
    compare_ranges,
    optimality_conditions,
)
from convexmetric.audits.verdict import Audit, Reference, WorstPart, audit, projected, reference_of, worst_parts
from convexmetric.bench.traces import AuditTrail, Recorder, audit_iterates, trace

__all__ = [
    "RANK_SHARE",
    "Audit",
    "AuditTrail",
    "Conditions",
    "Iterates",
    "Recorder",
    "Reference",
    "Scale",
    "Subspace",
    "WorstPart",
    "audit",
    "audit_iterates",
    "best_scale",
    "compare_ranges",
    "optimality_conditions",
    "projected",
    "read_certificate",
    "read_iterates",
    "read_metric",
    "reference_of",
    "trace",
    "worst_parts",
    "write_solution",
]
