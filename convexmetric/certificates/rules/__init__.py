"""Searches for subgradients of regularizers: one for each class of the kernel, and the contract for others."""

from __future__ import annotations

from typing import Any

from convexmetric.certificates.kernel import regularizers as known
from convexmetric.certificates.rules.barriers import InverseTrace, LogDet
from convexmetric.certificates.rules.base import Bounded, Dual, Hinted, Rule, in_blocks
from convexmetric.certificates.rules.bounds import Budget, SpectralBound, Trace
from convexmetric.certificates.rules.forms import QuadraticForm
from convexmetric.certificates.rules.norms import Entrywise, Frobenius, RowNorms, SquaredFrobenius, TraceNorm

__all__ = ["RULES", "Bounded", "Dual", "Hinted", "Rule", "in_blocks", "search_of"]

#: Searches by the classes of the kernel; a sum has those of its summands.
RULES: dict[type, type[Rule]] = {
    known.Zero: Trace,
    known.Trace: Trace,
    known.Frobenius: Frobenius,
    known.SquaredFrobenius: SquaredFrobenius,
    known.TraceNorm: TraceNorm,
    known.Entrywise: Entrywise,
    known.LogDet: LogDet,
    known.Budget: Budget,
    known.SpectralBound: SpectralBound,
    known.RowNorms: RowNorms,
    known.InverseTrace: InverseTrace,
    known.QuadraticForm: QuadraticForm,
}


def search_of(omega: Any) -> type[Rule]:
    """Return the search of a regularizer: the ``search`` of its class, or that of the kernel's class; else by hints."""
    kind = type(omega)
    return getattr(kind, "search", None) or next((RULES[base] for base in kind.__mro__ if base in RULES), Hinted)
