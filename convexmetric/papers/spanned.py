r"""Problems whose metric may act on coordinates of a span: under a kernel, or where features outnumber points.

Metrics enter such a problem by squared distances of points alone, and by a trace or a Frobenius norm. Under a kernel
they are positive semidefinite operators A of the kernel's Hilbert space. With the projection P on the span of the
differences of points, P A P gives the same distances, has no larger trace and no larger norm, and is an operator of the
span. So the optimum is attained there, and is :math:`A = \sum_{kl} M_{kl} \, e_k \otimes e_l` in an orthonormal basis
:math:`e_k` of the span (:class:`~convexmetric.features.KernelSpan`): tr A = tr M and the norms agree. Nothing is
approximated, and a certificate of the problem in M is one of the problem in A.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from convexmetric.arrays import Array
from convexmetric.cones import PSDCone
from convexmetric.errors import InputError
from convexmetric.features import KernelSpan
from convexmetric.problem import MetricProblem
from convexmetric.programs.lazy import cvxpy as cp


def check_no_kernel(kernel: Any) -> None:
    """Refuse a kernel where metrics are diagonal."""
    if kernel is not None:
        raise InputError("diagonal and kernel exclude each other: under a kernel there are no features to weigh")


class SpannedProblem(MetricProblem):
    """Problem stated on coordinates of a span, whose metric is returned on the features or on :attr:`embedding`."""

    #: The span on whose coordinates the problem is stated; None where these are the features.
    span: KernelSpan | None = None

    @property
    def embedding(self) -> KernelSpan | None:
        """Map from points to the coordinates on which :meth:`components` act; None where these are the features."""
        return None if self.span is None or self.span.kernel == "linear" else self.span

    @cached_property
    def feature_map(self) -> Any:
        """Orthonormal basis of the span under the linear kernel, ``(r, d)``; None where there is none."""
        if self.span is None or self.embedding is not None:
            return None
        return np.asarray(self.span.coefficients.T @ self.span.points)

    @property
    def coordinates(self) -> str:
        """Description of the span's coordinates; empty where the problem is on the features."""
        return "" if self.span is None else f"{self.letter} on coordinates of the points' span, problem.span"

    def nearest(self, M: ArrayLike) -> Array:
        """Project a metric on the features to the span: ``B M B^T`` with the basis B, ``(r, d)``."""
        basis = self.feature_map
        if basis is None:
            return super().nearest(M)
        metric = basis @ PSDCone(basis.shape[1]).element(M, self.letter) @ basis.T
        return 0.5 * (metric + metric.T)

    def metric_from(self, other: MetricProblem, M: Array) -> Array:
        """Convert the variable ``M`` of another problem to this one's: its projection on this problem's span.

        Raises
        ------
        InputError
            If it acts on other features, or under another kernel, or on other points under a kernel given as a matrix.
        """
        span, before = self.span, other.span if isinstance(other, SpannedProblem) else None
        if span is before or other.cone.diagonal or self.cone.diagonal:
            return super().metric_from(other, M)
        kernel, kernel_before = ("linear" if one is None else one.kernel for one in (span, before))
        if kernel is None or kernel != kernel_before:
            raise InputError("it acts under another kernel, or under a matrix of kernel values of other points")
        if span is None or before is None:
            return self.nearest(other.full_matrix(M))
        # Inner products <e_k, e'_l>: columns of coefficients sum to zero, so the offset of the coordinates drops out.
        along = before.coefficients.T @ span.transform(before.points)
        return self.metric(along.T @ M @ along)

    def as_stated(self, M: Array) -> Array:
        """The metric, or the matrix of a comparison, on the features, or on coordinates of :attr:`embedding`."""
        return M if self.span is None else self.full_matrix(M)

    def _stated_variable(self) -> tuple[cp.Variable, list[cp.Constraint], cp.Expression]:
        """The metric of the program on the features, its cone, and the metric to which user-defined terms apply."""
        basis = self.feature_map
        cone = self.cone if basis is None else PSDCone(basis.shape[1])
        M, in_cone = cone.variable(self.letter)
        return M, in_cone, M if basis is None else basis @ M @ basis.T
