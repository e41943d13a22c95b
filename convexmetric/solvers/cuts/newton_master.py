r"""The master problem of cutting planes for a penalty whose conjugate is self-concordant: log-determinants.

With multipliers a of the cuts :math:`b_t - \langle \Psi_t, M \rangle` the dual of the master is

.. math:: \max_{a \ge 0, \; \sum_{t \in g} a_t \le C_g} \; \varphi(a) = b^\top a - \Omega^*_K(S(a)), \qquad
   S(a) = \sum_t a_t \Psi_t - G

in as many unknowns as there are cuts, with the gradient :math:`b_t - \langle \Psi_t, M(a) \rangle` at the metric M(a)
that attains the conjugate. Newton's method takes the maximum of the quadratic model over the same multipliers
(:func:`simplex_qp`) and as much of the step to it as the function allows. No step depends on the coordinates of
metrics, so that a prior may be nearly singular.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from convexmetric.arrays import Array
from convexmetric.certificates import relative_gap
from convexmetric.numerics.searches import SUFFICIENT, shortened
from convexmetric.problem import MetricProblem
from convexmetric.risks import Minorant
from convexmetric.solvers.cuts.dual_master import simplex_qp
from convexmetric.solvers.cuts.master import MasterPoint

#: Newton steps at most, and the shortest share of a step.
STEPS, SHORTEST = 200, 1e-12


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

        # Multipliers start from those of the last master; a cut that is in hand more than once gets them once.
        cuts = [(float(b), int(g), row.tobytes()) for b, g, row in zip(offsets, group, normals, strict=True)]
        a = np.array([self.known.pop(cut, 0.0) for cut in cuts])
        a *= (C / np.maximum(C, np.bincount(group, a, len(C))))[group]
        S, M, value = at(a)
        best: MasterPoint | None = None
        for step in range(1, STEPS + 1):
            slopes = offsets - np.tensordot(rows, M, axes=M.ndim)
            slack = np.zeros(len(C))
            np.maximum.at(slack, group, slopes)
            upper, sums = problem.penalty(M) + float(C @ slack), Minorant(float(offsets @ a), S)
            lower = problem.bound(sums.value, S, M)
            if best is not None:
                M_best, upper = (M, upper) if upper < best.upper_bound else (best.M, best.upper_bound)
                a_best, sums, lower = (
                    (a, sums, lower) if lower > best.lower_bound else (best.a, best.sums, best.lower_bound)
                )
            else:
                M_best, a_best = M, a
            best = MasterPoint(M_best, a_best, sums, upper, lower, step)
            gram = problem.regularizer.dual_gram(M, rows, cone)
            assert gram is not None, "has_newton_master has asked"
            if relative_gap(upper, lower) <= tol or stop():
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
