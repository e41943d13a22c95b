r"""Douglas-Rachford splitting (ADMM in consensus form) of a metric's norms, its cone and a function of its margins.

.. math:: \min_{M \in K} \; f(D M) + \langle G, M \rangle + \omega(M) + \sum_k \lambda_k \|M - M_k\|_k

Every part has a copy of its own: margins :math:`s = D M`, a metric in K for :math:`\omega`, and one for each norm. A
step takes the proximal map of every part at a point v, and lets the copies agree by least squares:

.. math:: z = \mathrm{prox}(v), \qquad x = \arg\min_x \|A x - (2 z - v)\|, \qquad v \leftarrow v + \alpha (A x - z)

where A makes all copies of a metric (Eckstein and Bertsekas 1992; Boyd et al. 2011). With a step length
:math:`1 / \rho`, :math:`\rho (v - z)` are slopes of the parts at z: multipliers of f, and points of the dual balls.
The least-squares problem does not depend on :math:`\rho`, and is factored once. Where D is large and nearly all of it
zero, as of triplets of items without features, conjugate gradients visit its entries alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from scipy.linalg import lapack

from convexmetric.arrays import Array, norm_of
from convexmetric.cones import Cone
from convexmetric.deadline import seconds_left
from convexmetric.numerics.conjugate_gradients import conjugate_gradients
from convexmetric.regularizers.trace import Zero

if TYPE_CHECKING:
    from convexmetric.regularizers.base import Regularizer
    from convexmetric.regularizers.norm_term import NormTerm

#: Over-relaxation.
ALPHA = 1.7
#: Steps after which rho is first balanced; the number doubles each time.
FIRST = 5
#: Largest factor by which rho changes, and the factor below which it does not.
FARTHEST, NEAREST = 100.0, 1.5
#: Entries of the factor, for each entry of D, from which products take less time than solves by the factor; accuracy of
#: conjugate gradients, and their most steps.
PRODUCTS, CG_ACCURACY, CG_STEPS = 100, 1e-9, 500
#: Steps combined by the acceleration, and the relative ridge on the Gram matrix of their residuals.
MEMORY, RIDGE = 20, 1e-12
#: An accelerated step is given up if its residual is above the least one so far by this factor.
WORSE = 2.0
#: Growth of the state by an accelerated step above which the plain step is taken.
GROWTH = 10.0


class _Acceleration:
    """Anderson acceleration (1965): combine the last plain steps for the least residual of a linear model.

    Stores differences of steps and of residuals in ring buffers, with the Gram matrix of the latter, to which a step
    adds a row.
    """

    def __init__(self, size: int) -> None:
        self.steps, self.residuals = np.empty((MEMORY, size)), np.empty((MEMORY, size))
        self.gram = np.empty((MEMORY, MEMORY))
        self.forget()

    def forget(self) -> None:
        """Discard the stored steps."""
        self.count, self.least = 0, np.inf
        self.last: tuple[Array, Array] | None = None

    def combined(self, following: Array, apart: Array) -> Array:
        """Return the state to continue from after a plain step to ``following`` with residual ``apart``."""
        before, self.last = self.last, (following, apart)
        self.least = min(self.least, norm_of(apart))
        if before is None:
            return following
        at = self.count % MEMORY
        self.count += 1
        kept = min(self.count, MEMORY)
        np.subtract(following, before[0], out=self.steps[at])
        np.subtract(apart, before[1], out=self.residuals[at])
        residuals = self.residuals[:kept]
        self.gram[at, :kept] = self.gram[:kept, at] = residuals @ residuals[at]
        gram = self.gram[:kept, :kept].copy()
        diagonal = gram.reshape(-1)[:: kept + 1]
        diagonal *= 1.0 + RIDGE
        diagonal += RIDGE * diagonal.sum()
        with suppress(np.linalg.LinAlgError):
            combined = following - np.linalg.solve(gram, residuals @ apart) @ self.steps[:kept]
            # With nearly dependent residuals the combination would be arbitrary.
            if norm_of(combined) <= GROWTH * norm_of(following):
                return np.asarray(combined)
        return following


class _Normal:
    """Solves ``(copies I + D^T D) x = right``: by a factor, or by conjugate gradients (see the module)."""

    def __init__(self, rows: Any, copies: float) -> None:
        side, entries = min(rows.shape), rows.nnz if sp.issparse(rows) else np.count_nonzero(rows)
        self.by_products = side * side > PRODUCTS * entries
        self.rows = sp.csr_array(rows) if self.by_products else rows
        self.columns = self.rows.T.tocsr() if sp.issparse(self.rows) else self.rows.T
        self.copies, self.wide = copies, rows.shape[0] < rows.shape[1]
        if self.by_products:
            self.diagonal = copies + np.asarray(self.rows.multiply(self.rows).sum(axis=0)).ravel()
            return
        gram = self.rows @ self.columns if self.wide else self.columns @ self.rows
        gram = gram.toarray() if sp.issparse(gram) else gram
        gram = gram + copies * np.eye(len(gram))
        self.factor, self.lower = la.cho_factor(gram, overwrite_a=True, check_finite=False)

    def solve(self, right: Array) -> Array:
        """The solution x."""
        if self.by_products:
            return conjugate_gradients(self._product, right, self.diagonal, CG_ACCURACY, CG_STEPS)[0]
        if not self.wide:
            return self._solved(right)
        return np.asarray((right - self.columns @ self._solved(self.rows @ right)) / self.copies)

    def _product(self, x: Array) -> Array:
        return np.asarray(self.copies * x + self.columns @ (self.rows @ x))

    def _solved(self, right: Array) -> Array:
        """``cho_solve``, of which the checks take longer than the solve of a small system."""
        return np.asarray(lapack.dpotrs(self.factor, right, lower=self.lower)[0])


class Splitting:
    """State of one run of Douglas-Rachford splitting.

    Parameters
    ----------
    terms : sequence of NormTerm
        The norms.
    base : Regularizer
        omega, with a :meth:`~Regularizer.prox`.
    cone : Cone
    linear : array
        G.
    rows : (T, cone.size) array or sparse matrix
        D in coordinates.
    prox : callable
        ``prox(s, t)``, the proximal map of f at margins s with step lengths t.
    """

    def __init__(
        self,
        terms: Sequence[NormTerm],
        base: Regularizer,
        cone: Cone,
        linear: Array,
        rows: Any,
        prox: Callable[[Array, Array], Array],
    ) -> None:
        self.terms, self.base, self.cone, self.linear, self.prox = terms, base, cone, linear, prox
        size = norm_of(rows.data if sp.issparse(rows) else rows) / np.sqrt(max(1, rows.shape[0]))
        #: Factors of the margins, such that rows of D have norm one on average, like the other copies.
        self.units = np.full(rows.shape[0], 1.0 / size if size > 0.0 else 1.0)
        if base.margin is not None:
            A, last = cone.coordinates(base.margin[0])[None], base.margin[1]
            rows = sp.csr_array(sp.vstack([rows, A])) if sp.issparse(rows) else np.vstack([rows, A])
            self.units = np.append(self.units, 1.0 / norm_of(A))
            self.base = Zero()
            self.prox = lambda v, t: np.append(prox(v[:-1], t[:-1]), last(v[-1:], t[-1:]))
        scaled = sp.csr_array(sp.diags_array(self.units) @ rows) if sp.issparse(rows) else self.units[:, None] * rows
        self.normal = _Normal(scaled, 1.0 + len(terms))
        self.rows, self.columns = self.normal.rows, self.normal.columns
        self.centres = [cone.zeros() if term.centre is None else term.centre for term in terms]
        self.steps, self.due, self.rho = 0, FIRST, 1.0

    def start(self, M: Array, multipliers: Array, slopes: Sequence[Array], base: Array) -> None:
        """Begin at a metric M with multipliers of f, slopes of the norms, and a slope ``base`` of omega."""
        multipliers = np.append(multipliers, np.zeros(self.units.size - multipliers.size))
        cone = self.cone
        parts = np.array([cone.coordinates(part) for part in (base, *slopes)])
        sizes = np.hypot(norm_of(parts), norm_of(self.columns @ (multipliers / self.units))), norm_of(M)
        self.rho = float(sizes[0] / sizes[1]) if min(sizes) > 0.0 and np.isfinite(sizes[0] / sizes[1]) else 1.0
        at = cone.coordinates(M)
        margins = self.rows @ at - multipliers / (self.rho * self.units)
        self.v = np.concatenate([margins, (at + parts / self.rho).ravel()])
        self.acceleration = _Acceleration(self.v.size)

    def run(self, steps: int) -> None:
        """Take ``steps`` steps: at least one, and no more once the time is up.

        Sets the metric ``M`` of the cone, ``multipliers`` of f there and ``slopes`` of the norms.
        """
        for _ in range(steps):
            z, apart = self._step()
            self.steps += 1
            if self.steps == self.due:
                self._balance(z, apart)
            elif self.acceleration.last is not None and norm_of(apart) > WORSE * self.acceleration.least:
                # The accelerated step went too far: go on from the last plain one.
                self.v = self.acceleration.last[0]
                self.acceleration.forget()
            else:
                self.v = self.acceleration.combined(self.v + ALPHA * apart, apart)
            self.before = z
            if seconds_left() <= 0.0:
                break

    def _step(self) -> tuple[Array, Array]:
        """The copies ``z = prox(v)``, and ``A x - z`` for the metric x that fits ``2 z - v`` best."""
        cone, units, time, T = self.cone, self.units, 1.0 / self.rho, self.units.size
        metrics = self.v[T:].reshape(-1, cone.size)
        s = units * self.prox(self.v[:T] / units, time / units**2)
        V = cone.from_coordinates(metrics)
        self.M = self.base.prox(V[0] - time * self.linear, time, cone)
        self.multipliers = self.rho * units * (s - self.v[:T])
        self.slopes = [
            term.project_dual_ball(self.rho * (N - centre), cone)
            for term, centre, N in zip(self.terms, self.centres, V[1:], strict=True)
        ]
        copies = [cone.coordinates(self.M)]
        copies += [N - time * cone.coordinates(Y) for N, Y in zip(metrics[1:], self.slopes, strict=True)]
        z = np.concatenate([s, *copies])
        towards = 2.0 * z - self.v
        # The metric nearest in least squares to the margins and to all copies.
        x = self.normal.solve(self.columns @ towards[:T] + towards[T:].reshape(metrics.shape).sum(axis=0))
        apart = np.empty_like(z)
        apart[:T], apart[T:].reshape(metrics.shape)[:] = self.rows @ x, x
        apart -= z
        return z, apart

    def _balance(self, z: Array, apart: Array) -> None:
        """Change rho so that the relative residual of the copies is about the relative change of the slopes."""
        self.due *= 2
        left = self.v - z
        sizes = norm_of(apart), norm_of(z), norm_of(z - self.before), norm_of(left)
        factor = 1.0
        if all(0.0 < size < np.inf for size in sizes):
            wanted = np.sqrt(sizes[0] / sizes[1] * sizes[3] / sizes[2])
            factor = float(np.clip(wanted, 1.0 / FARTHEST, FARTHEST))
        if 1.0 / NEAREST < factor < NEAREST:
            self.v = self.v + ALPHA * apart
            return
        # Keeps the slopes rho (v - z).
        self.rho *= factor
        self.v = z + left / factor
        self.acceleration.forget()
