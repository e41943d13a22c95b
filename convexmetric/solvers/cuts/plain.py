r"""Cutting planes as printed: Algorithm 1 of McFee and Lanckriet (2010), which is Kelley's method.

.. math:: \min_{M \in K, \; \xi \ge 0} \; \Omega(M) + \langle G, M \rangle + \xi \quad \text{s.t.} \quad
   \xi \ge b_t - \langle \Psi_t, M \rangle, \quad t = 1, 2, \ldots

The printed algorithm stops when the mean violation exceeds the slack by at most epsilon; this one when its bounds meet,
which is what that threshold estimates. :class:`~convexmetric.solvers.cuts.cutting_planes.CuttingPlanes` finds the same
optimum in fewer passes.
"""

from __future__ import annotations

import numpy as np

from convexmetric.arrays import Array
from convexmetric.problem import MetricProblem
from convexmetric.solvers.cuts.master import Master, master_rows


def cutting_planes(problem: MetricProblem, tol: float = 1e-4, passes: int = 1000) -> tuple[Array, float, float]:
    """Solve by one cut a pass, made at the master's solution.

    Parameters
    ----------
    problem : MetricProblem
        With a nonnegative risk and a linear or quadratic penalty.
    tol : float
        Relative gap at which to stop.
    passes : int
        Largest number of cuts.

    Returns
    -------
    M : array
        The best metric that was visited.
    lower, upper : float
        Bounds of the optimal value; ``upper`` is the objective at M.
    """
    risk, cone, master = problem.risk, problem.cone, Master(problem)
    together = np.zeros(risk.parts, dtype=np.int64)
    rows, offsets = [], []
    M = best = master.start()
    lower, upper = -np.inf, np.inf
    for _ in range(passes):
        # The oracle: the most violated constraint at M, a plane below the risk that touches it there.
        cut = risk.separate(M, together)
        objective = float(cut.values.sum()) + problem.penalty(M)
        if objective < upper:
            best, upper = M, objective
        rows.append(master_rows(cone, cut.normals))
        offsets.append(cut.offsets)
        # The master: the penalty plus the largest of all planes so far.
        one_slack = np.zeros(len(rows), dtype=np.int64)
        found = master.solve(
            np.vstack(rows), np.concatenate(offsets), one_slack, np.ones(1), 0.1 * tol, stop=lambda: False
        )
        lower = max(lower, found.lower_bound)
        if upper - lower <= tol * upper:
            break
        M = cone.project(found.M)
    return best, lower, upper
