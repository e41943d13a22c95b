"""How subgradients of regularizers are found: one file for each class of the kernel, which only evaluates them.

A rule (:class:`~convexmetric.certificates.rules.base.Rule`) finds in floats by what to multiply a dual point and which
subgradient shows that it is feasible then; both are backed off a little, because the kernel counts its own rounding
against them. What is found here is no part of a proof: a false number is not accepted.
"""

from convexmetric.certificates.kernel import regularizers as known
from convexmetric.certificates.rules.base import Rule
from convexmetric.certificates.rules.budget import Budget
from convexmetric.certificates.rules.entrywise import Entrywise
from convexmetric.certificates.rules.frobenius import Frobenius, SquaredFrobenius
from convexmetric.certificates.rules.log_det import LogDet
from convexmetric.certificates.rules.quadratic_form import QuadraticForm
from convexmetric.certificates.rules.trace import Trace
from convexmetric.certificates.rules.trace_norm import TraceNorm

__all__ = ["RULES"]

#: Rules by the classes of the kernel; a sum has those of its summands.
RULES: dict[type, type[Rule]] = {
    known.Zero: Trace,
    known.Trace: Trace,
    known.Frobenius: Frobenius,
    known.SquaredFrobenius: SquaredFrobenius,
    known.TraceNorm: TraceNorm,
    known.Entrywise: Entrywise,
    known.LogDet: LogDet,
    known.Budget: Budget,
    known.QuadraticForm: QuadraticForm,
}
