r"""A budget for a linear function of the metric, such as the squared distances of similar pairs (Xing et al.).

.. math:: \Omega(M) = \kappa \, \max(0, \langle A, M \rangle - b), \qquad
   \Omega^*_K(S) = b \max(0, t), \quad t = \max_{M \in K} \frac{\langle S, M \rangle}{\langle A, M \rangle} \le \kappa,
   \text{ else } \infty

With :math:`\kappa = \infty` it is the constraint :math:`\langle A, M \rangle \le b`. A finite weight above the
multiplier of that constraint is an exact penalty: the optimum is the same.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from convexmetric.arguments import check_positive_number, is_real, shown
from convexmetric.arrays import Array, norm_of
from convexmetric.cones import Cone
from convexmetric.described import Described, symmetric
from convexmetric.errors import InputError
from convexmetric.programs.lazy import cvxpy as cp
from convexmetric.regularizers.base import Regularizer

#: Unit roundoff, and the multiple of an eigendecomposition's rounding by which repaired metrics stay below a budget.
U, CAREFUL = 2.0**-53, 4.0


class Budget(Regularizer):
    """``weight * max(0, <A, M> - limit)``.

    Parameters
    ----------
    A : array
        Of the shape of a metric, positive definite (weights: positive); otherwise metrics could grow at no cost.
    limit : float
        b, positive.
    weight : float
        kappa, positive; infinite for a constraint.

    Raises
    ------
    InputError
        If ``A`` is not positive definite, or a number is not positive.
    """

    def __init__(self, A: ArrayLike, limit: float = 1.0, *, weight: float = np.inf) -> None:
        self.A = np.asarray(A, dtype=np.float64)
        check_positive_number(limit, "limit")
        if not is_real(weight) or not weight > 0.0:
            raise InputError(f"weight must be positive, or infinite for a constraint, got {shown(weight)}")
        least = np.linalg.eigvalsh(self.A)[0] if self.A.ndim == 2 else self.A.min()
        if not least > 0.0:
            raise InputError(
                f"A must be positive definite, its smallest eigenvalue (or weight) is {least:g}: take more pairs, or "
                "fewer features, such as the principal components of the pairs' differences"
            )
        self.limit, self.weight = float(limit), float(weight)

    def described(self, cone: Cone, points: Array | None) -> Described:
        """The limit, the weight if it is finite, and A."""
        weight = {} if np.isinf(self.weight) else {"weight": self.weight}
        return Described({"kind": "budget", "limit": self.limit, **weight}, {"spent": symmetric(self.A)})

    def value(self, M: Array, cone: Cone) -> float:
        """``weight * max(0, <A, M> - limit)``."""
        over = cone.inner(self.A, M) - self.limit
        return self.weight * over if over > 0.0 else 0.0

    def gradient(self, M: Array, cone: Cone) -> Array:
        """``weight A`` above the limit, else zero."""
        return self.weight * self.A if cone.inner(self.A, M) > self.limit else cone.zeros()

    def conjugate(self, S: Array, cone: Cone) -> tuple[float, Array]:
        """Attained where the ratio is largest, at a metric of rank one that uses the whole budget."""
        t = cone.largest_ratio(S, self.A)
        if t <= 0.0:
            return 0.0, cone.zeros()
        # The kernel of t A - S, by the eigenvector of its smallest eigenvalue.
        v = cone.bottom(t * self.A - S)
        return (self.limit * t if t <= self.weight else np.inf), self.limit / cone.inner(self.A, v) * v

    @property
    def margin(self) -> tuple[Array, Callable[[Array, Array], Array]]:  # type: ignore[override]
        """A, and the proximal map of the penalty: ``v`` lowered towards the limit by at most ``t weight``."""
        return self.A, lambda v, t: v - np.clip(v - self.limit, 0.0, t * self.weight)

    def repair(self, M: Array, cone: Cone) -> Array:
        """Scale ``M`` down until it satisfies a hard budget despite rounding; return ``M`` itself if it does.

        ``|<A, M> - float| <= gamma_k <|A|, |M|>`` for the k products, as the kernel of certificates bounds it, and a
        metric differs from the square of its factor by a few roundings of its norm.
        """
        if not np.isinf(self.weight):
            return M
        spent = cone.inner(self.A, M)
        radius = (M.size + 8.0) * U * cone.inner(np.abs(self.A), np.abs(M))
        if not cone.diagonal:
            radius += CAREFUL * (4.0 + 2.0 * np.sqrt(cone.d)) * U * norm_of(self.A) * norm_of(M)
        # Twice the radius, so that a repaired metric is not repaired again.
        return M * (self.limit / (spent + 2.0 * radius)) if spent + radius > self.limit else M

    def expression(self, M: cp.Variable, cone: Cone) -> cp.Expression:
        """The penalty; zero for a hard budget."""
        return cp.Constant(0.0) if np.isinf(self.weight) else self.weight * cp.pos(self._over(M))

    def constraints(self, M: cp.Variable, cone: Cone) -> list[cp.Constraint]:
        """``<A, M> <= limit`` for a hard budget; else none."""
        return [self._over(M) <= 0.0] if np.isinf(self.weight) else []

    def _over(self, M: cp.Variable) -> cp.Expression:
        return cp.sum(cp.multiply(self.A, M)) - self.limit

    def latex(self, M: str) -> str:
        """The formula."""
        spent = rf"\langle A, {M} \rangle"
        if np.isinf(self.weight):
            return rf"\iota\{{{spent} \le {self.limit:g}\}}"
        return rf"{self.weight:g} \, [{spent} - {self.limit:g}]_+"

    def text(self, M: str) -> str:
        """The formula in plain text."""
        if np.isinf(self.weight):
            return f"[<A, {M}> <= {self.limit:g}]"
        return f"{self.weight:g} max(0, <A, {M}> - {self.limit:g})"
