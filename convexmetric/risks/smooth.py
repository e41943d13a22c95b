r"""Risks with two derivatives.

.. math:: R(N) \; \ge \; R(M) + \langle \nabla R(M), N - M \rangle = v - \langle S, N \rangle, \qquad
   S = -\nabla R(M)

The tangent plane at any metric M is a dual point, so that a metric proves a lower bound by itself: as one cut with
weight one (:func:`~convexmetric.risks.tangent_dual`). Along a factor, :math:`M = B^\top B`, the second derivative is
needed only as a product with B, :math:`B \, \nabla^2 R[B^\top E + E^\top B]`, which may be far cheaper.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import ClassVar

from convexmetric.arrays import Array
from convexmetric.risks.base import Minorant, Risk

Derivative = Callable[[Array], Array]


class SmoothRisk(Risk):
    """A risk with two derivatives."""

    form_words: ClassVar[str] = "smooth"
    smooth: ClassVar[bool] = True

    @abstractmethod
    def tangent(self, M: Array) -> tuple[float, Minorant]:
        """``R(M)`` and the tangent plane at ``M``; minus its S is the gradient."""

    @abstractmethod
    def second_derivative(self, M: Array) -> Derivative:
        """The second derivative at ``M``, a linear map of the cone's space."""

    def second_along(self, B: Array) -> Derivative:
        """Map E, ``(r, d)``, to B times the second derivative at ``B^T B`` along ``B^T E + E^T B``."""
        second = self.second_derivative(B.T @ B)
        return lambda E: B @ second(B.T @ E + E.T @ B)
