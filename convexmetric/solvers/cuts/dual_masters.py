r"""Masters of cutting planes solved on their dual, in as many unknowns as there are cuts.

With multipliers a of the cuts :math:`b_t - \langle \Psi_t, M \rangle` the dual of the master is

.. math:: \max_{a \ge 0, \; \sum_{t \in g} a_t \le C_g} \; \varphi(a) = b^\top a - \Omega^*_K(S(a)), \qquad
   S(a) = \sum_t a_t \Psi_t - G

with the gradient :math:`b_t - \langle \Psi_t, M(a) \rangle` at the metric M(a) that attains the conjugate. Two kinds of
penalties make that worthwhile.

The first is a squared norm near a prior, with an optimum of high rank:

.. math:: \varphi(a) = b^\top a - \frac{\lambda}{2} \|M(a)\|_F^2, \qquad
   M(a) = \frac{1}{\lambda} \Big[ \sum_t a_t \Psi_t - G \Big]_+

and because the projection onto the cone is not expansive

.. math:: \varphi(a') \ge \varphi(a) + \nabla \varphi(a)^\top (a' - a) - \tfrac12 (a' - a)^\top H (a' - a),
   \qquad H_{st} = \langle \Psi_s, \Psi_t \rangle / \lambda,

with equality if no eigenvalue is cut off. So the right side is maximised repeatedly, a quadratic program that
:func:`simplex_qp` solves, from points that are extrapolated (Nesterov) as long as that helps. Far from the prior, where
the multipliers are large and many eigenvalues are cut off, many steps are needed: the first master that is not solved
by :data:`STEPS` of them, and all that follow, are left to :class:`Master`. Without a cone no eigenvalue is ever cut
off, and the first program is exact.

The second is a penalty with a self-concordant conjugate, such as a log-determinant. Newton's method maximises the
quadratic model over the same multipliers, and backtracks along the step to that maximum. No step depends on the
coordinates of metrics, so that a prior may be nearly singular.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from convexmetric.arrays import Array
from convexmetric.certificates import relative_gap
from convexmetric.cones.scaling import longest_step
from convexmetric.numerics.searches import SUFFICIENT, shortened
from convexmetric.problem import MetricProblem
from convexmetric.risks import Minorant
from convexmetric.solvers.cuts.master import Master, MasterPoint, works_in_subspace
from convexmetric.solvers.numerics.qp import least_slacks, within_groups

#: Steps of a master at most. Near a prior they are 2 to 30.
STEPS = 100
#: Eigenvalues above the first fraction of the largest count towards the rank of a prior; it is high above the second
#: fraction of d.
COUNTS, MANY = 0.01, 0.25
#: Interior-point steps of the quadratic program: fraction of the way to the boundary, and factor by which mu falls.
LENGTH, FALL = 0.99, 0.1
#: Iterations of the quadratic program at most, and its accuracy relative to the size of its terms.
ITERATIONS, ACCURACY = 80, 1e-12
#: Newton steps at most, and the shortest share of a step.
NEWTON_STEPS, SHORTEST = 200, 1e-12


def near_a_prior(problem: MetricProblem) -> bool:
    """Whether metrics are matrices of many features, and a squared norm draws them to a prior of high rank."""
    if not works_in_subspace(problem.cone) or problem.G is None or not isinstance(problem.quadratic(), float):
        return False
    values = -np.linalg.eigvalsh(problem.G)
    return bool(np.count_nonzero(values > COUNTS * values[0]) > MANY * len(values)) if values[0] > 0.0 else False


class DualMaster:
    """Solve masters whose cuts come and go, on their dual; the interface of :class:`Master`.

    Parameters
    ----------
    problem : MetricProblem
        A problem of matrices with a squared norm, and a linear term that draws them to a prior.
    """

    def __init__(self, problem: MetricProblem) -> None:
        self.problem = problem
        curvature = problem.quadratic()
        assert isinstance(curvature, float), "near_a_prior has asked"
        self.reg = curvature
        self.known: dict[tuple[float, int, bytes], int] = {}
        self.gram, self.a = np.empty((0, 0)), np.empty(0)
        #: Master that takes over where metrics are far from the prior.
        self.successor: Master | None = None

    def start(self) -> Array:
        """Metric of least penalty: the prior."""
        return self._metric(self.problem.cone.zeros())

    def _metric(self, S: Array) -> Array:
        """``M(a) = [S - G]_+ / lambda``, for ``S = sum a Psi``."""
        G = self.problem.G
        return np.asarray(self.problem.cone.project((S if G is None else S - G) / self.reg))

    def solve(
        self, normals: Array, offsets: Array, group: np.ndarray, C: Array, tol: float, stop: Callable[[], bool]
    ) -> MasterPoint:
        """Solve with the cuts ``offsets - <normals, M>`` to relative gap ``tol``, or as far as float64 carries."""
        if self.successor is not None:
            return self.successor.solve(normals, offsets, group, C, tol, stop)
        cone, shape = self.problem.cone, self.problem.cone.shape
        H, a = self._carried_over(normals, offsets, group)
        y, momentum, best = a, 1.0, None
        least, before = np.inf, -np.inf
        for step in range(1, STEPS + 1):
            S = (y @ normals).reshape(shape)
            M = self._metric(S)
            norm, slopes = 0.5 * self.reg * float(np.vdot(M, M)), offsets - normals @ M.ravel()
            value = float(offsets @ y) - norm
            linear = 0.0 if self.problem.G is None else cone.inner(self.problem.G, M)
            upper = norm + linear + float(C @ least_slacks(slopes, group, len(C)))
            least = min(least, upper)
            # Extrapolated multipliers may be negative, and prove nothing then.
            feasible = y is a
            if feasible and (best is None or value > best.lower_bound):
                sums = Minorant(float(offsets @ a), S if cone.free else 0.5 * (S + S.T))
                lower = self.problem.bound(sums.value, sums.S, M)
                best = MasterPoint(M, a, sums, upper, max(lower, -np.inf), step)
            if best is not None and (relative_gap(least, best.lower_bound) <= tol or stop()):
                break
            following = simplex_qp(H, slopes + H @ y, group, C)
            # Back to the last point where extrapolation overshot: the value fell, or the step turned.
            overshot = value < before or float((y - following) @ (following - a)) > 0.0
            before = value
            if overshot and not feasible:
                y, momentum = a, 1.0
                continue
            longer = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
            extrapolated = following + (momentum - 1.0) / longer * (following - a)
            a, momentum = following, longer
            # Every other point is not extrapolated: bounds are made at these.
            y = a if step % 2 else extrapolated
        else:
            self.successor = Master(self.problem)
            return self.successor.solve(normals, offsets, group, C, tol, stop)
        assert best is not None
        self.a = best.a
        return MasterPoint(best.M, best.a, best.sums, max(least, best.lower_bound), best.lower_bound, step)

    def _carried_over(self, normals: Array, offsets: Array, group: np.ndarray) -> tuple[Array, Array]:
        """Return H and starting multipliers: those of the last master for its cuts, zero for new ones."""
        # Cuts of one offset, group and diagonal are the same cut, which may be in the pool more than once.
        diagonals = normals[:, :: self.problem.cone.d + 1]
        keys = [(float(b), int(g), row.tobytes()) for b, g, row in zip(offsets, group, diagonals, strict=True)]
        old = np.array([self.known.get(key, -1) for key in keys])
        kept, new = np.flatnonzero(old >= 0), np.flatnonzero(old < 0)
        gram, a = np.empty((len(keys), len(keys))), np.zeros(len(keys))
        gram[np.ix_(kept, kept)] = self.gram[np.ix_(old[kept], old[kept])]
        first = kept[np.unique(old[kept], return_index=True)[1]]
        a[first] = self.a[old[first]]
        products = normals[new] @ normals.T
        gram[new], gram[:, new] = products, products.T
        self.known, self.gram = {key: row for row, key in enumerate(keys)}, gram
        return gram / self.reg, a


def simplex_qp(H: Array, c: Array, group: np.ndarray, C: Array) -> Array:
    r"""``argmax c'x - x'Hx / 2`` over nonnegative x whose sums by group are at most C, by an interior-point method.

    With multipliers z of :math:`x \ge 0`, slacks s and multipliers w of the sums, a step solves

    .. math:: (H + \mathrm{diag}(z / x) + A^\top \mathrm{diag}(w / s) A) \, dx
       = c - H x + \sigma \mu / x - A^\top (\sigma \mu / s).

    The result is a little inside, so that it is feasible whatever the accuracy.
    """
    k, members = len(c), np.bincount(group, minlength=len(C))
    size = max(float(np.abs(c).max(initial=0.0)), float(H.diagonal().max(initial=0.0)), np.finfo(float).tiny)
    H, c = H / size, c / size
    x = (C / (members + 1.0))[group]
    s = C - np.bincount(group, x, len(C))
    mu = max(float(np.abs(c - H @ x) @ x) / (k + len(C)), ACCURACY)
    z, w = mu / x, mu / s
    target = ACCURACY * max(1.0, float(np.abs(c) @ x))
    same = group[:, None] == group[None, :]
    for _ in range(ITERATIONS):
        aim = FALL * mu
        K = H + np.where(same, (w / s)[group][None, :], 0.0)
        K[np.diag_indices(k)] += z / x
        try:
            dx = cho_solve(cho_factor(K, check_finite=False), c - H @ x + aim / x - (aim / s)[group])
        except (np.linalg.LinAlgError, ValueError):
            # Not positive definite, or numbers beyond floats.
            break
        ds = -np.bincount(group, dx, len(C)).astype(np.float64)
        dz, dw = aim / x - z - z / x * dx, aim / s - w - w / s * ds
        primal = min(1.0, LENGTH * longest_step(x, dx), LENGTH * longest_step(s, ds))
        dual = min(1.0, LENGTH * longest_step(z, dz), LENGTH * longest_step(w, dw))
        x, s, z, w = x + primal * dx, s + primal * ds, z + dual * dz, w + dual * dw
        mu = float(x @ z + s @ w) / (k + len(C))
        if mu * (k + len(C)) <= target and min(primal, dual) > 0.5:
            break
    return within_groups(x, group, C)


def has_newton_master(problem: MetricProblem) -> bool:
    """Whether the conjugate has a second derivative (``dual_gram``), and is finite at multipliers of zero."""
    cone, omega = problem.cone, problem.regularizer
    if omega.dual_gram(cone.identity(), cone.identity()[None], cone) is None:
        return False
    return bool(np.isfinite(omega.conjugate(cone.zeros() if problem.G is None else -problem.G, cone)[0]))


class NewtonMaster:
    """Solve masters whose cuts come and go, by Newton's method; the interface of :class:`Master`.

    Parameters
    ----------
    problem : MetricProblem
        A problem for which :func:`has_newton_master` is true.
    """

    def __init__(self, problem: MetricProblem) -> None:
        self.problem = problem
        #: Multipliers of the last master by their cuts.
        self.known: dict[tuple[float, int, bytes], float] = {}

    def start(self) -> Array:
        """The metric of least penalty."""
        return self._conjugate(self.problem.cone.zeros())[1]

    def _conjugate(self, S: Array) -> tuple[float, Array]:
        G = self.problem.G
        return self.problem.regularizer.conjugate(S if G is None else S - G, self.problem.cone)

    def solve(
        self, normals: Array, offsets: Array, group: np.ndarray, C: Array, tol: float, stop: Callable[[], bool]
    ) -> MasterPoint:
        """Solve with the cuts ``offsets - <normals, M>`` to relative gap ``tol``, or as far as float64 carries."""
        problem, cone = self.problem, self.problem.cone
        coordinates = normals.shape[1] == cone.size
        rows = cone.from_coordinates(normals) if coordinates else normals.reshape(-1, *cone.shape)

        def at(a: Array) -> tuple[Array, Array, float]:
            S = np.tensordot(a, rows, axes=1)
            conjugate, M = self._conjugate(S)
            return S, M, float(offsets @ a) - conjugate

        # Multipliers start from those of the last master; a cut that is in the pool more than once gets them once.
        cuts = [(float(b), int(g), row.tobytes()) for b, g, row in zip(offsets, group, normals, strict=True)]
        a = within_groups(np.array([self.known.pop(cut, 0.0) for cut in cuts]), group, C)
        S, M, value = at(a)
        best: MasterPoint | None = None
        for step in range(1, NEWTON_STEPS + 1):
            slopes = offsets - np.tensordot(rows, M, axes=M.ndim)
            upper = problem.penalty(M) + float(C @ least_slacks(slopes, group, len(C)))
            sums = Minorant(float(offsets @ a), S)
            lower = problem.bound(sums.value, S, M)
            here = MasterPoint(M, a, sums, upper, lower, step)
            if best is not None and not upper < best.upper_bound:
                here = replace(here, M=best.M, upper_bound=best.upper_bound)
            if best is not None and not lower > best.lower_bound:
                here = replace(here, a=best.a, sums=best.sums, lower_bound=best.lower_bound)
            best = here
            gram = problem.regularizer.dual_gram(M, rows, cone)
            assert gram is not None, "has_newton_master has asked"
            if best.gap <= tol or stop():
                break
            move = simplex_qp(gram, slopes + gram @ a, group, C) - a
            rise = float(slopes @ move)
            for share in shortened(0.5, SHORTEST):
                following = at(a + share * move)
                if following[2] >= value + SUFFICIENT * share * rise:
                    break
            if not following[2] > value:
                break
            a, (S, M, value) = a + share * move, following
        assert best is not None
        self.known = dict(zip(cuts, best.a.tolist(), strict=True))
        return best
