r"""The last digits: an interior-point solve over the slopes of pairs near the kink and a subspace of the metric.

At a metric :math:`M_0` near the optimum the slopes of most pairs are known, 0 or 1. Those of the pairs F near the kink
are free, and a matrix metric is restricted to the span of V, eigenvectors of :math:`M_0` to begin with:

.. math:: \min_{M = V U V^\top} \; \Omega(M) + \langle G, M \rangle + \max(0, v_0 - \langle S_0, M \rangle)
          + \sum_{t \in F} c_t \max(0, \mu - \langle D_t, M \rangle)

where :math:`v_0 - \langle S_0, M \rangle` are the other pairs at their known slopes. That is a small program (a row for
every free pair), solved to full accuracy in some fifteen steps, whatever the number of pairs. Pairs whose slope at its
solution differs from that at :math:`M_0` become free, and eigenvectors of the whole program's dual slack with negative
eigenvalues join V. After a few rounds neither is needed, and the multipliers prove that the metric is optimal.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import scipy.sparse as sp

from convexmetric.arrays import Array
from convexmetric.problem import MetricProblem
from convexmetric.risks import Minorant, PairwiseRisk, SmoothedPairs
from convexmetric.solvers.numerics.interior_point import interior_points
from convexmetric.solvers.numerics.qp import ConicQP, Penalty, SubspacePenalty
from convexmetric.solvers.pairwise.kinks import Kinks
from convexmetric.solvers.runtime import Monitor, Steps

#: Free pairs at most.
MOST_FREE = 4_000
#: Rounds at most, and steps in each.
ROUNDS, STEPS = 15, 40
#: Features up to which V has all directions, and columns that join it at a time.
ALL_DIRECTIONS, JOINING = 40, 20
#: Eigenvalues of a metric below this share of the largest one have no column of V.
NEGLIGIBLE = 1e-7
#: Share of the tolerance to which the small programs are solved.
ACCURACY = 0.1


def finish(
    problem: MetricProblem, risk: PairwiseRisk, monitor: Monitor, M: Array, width: float, most: float = np.inf
) -> Steps:
    """Close the gap from a metric near the optimum, if few pairs are on the kink of hinges smoothed over a width.

    The penalty is linear, with a multiple of the squared Frobenius norm or without. It ends before a program whose
    steps take more than ``most`` multiplications.
    """
    listed = int(min(risk.pairs.max(), 4 * MOST_FREE // risk.parts + 16))
    here = risk.smoothed(M, width, 1.0, listed)
    if len(here.sample) < here.kinks or here.kinks > MOST_FREE:
        return
    order = np.lexsort(here.places.T[::-1])
    places, sample = here.places[order], here.sample[order]
    accuracy = ACCURACY * monitor.tol
    subspace = None if problem.cone.diagonal else _range(M)
    for _ in range(ROUNDS):
        others, kinks = risk.with_exceptions(M, places, np.zeros(len(places))), Kinks(risk, sample, np.empty(0))
        qp, found = _program(problem, subspace, risk.margin, others, kinks), None
        few, many = sorted(qp.A.shape)
        if float(few) ** 2 * many > most:
            return
        for found in interior_points(qp, accuracy, max_steps=STEPS):  # noqa: B007
            yield {"kinks": len(places), "width": 0.0}
        if found is None:
            return
        best = found()
        metric = problem.cone.project(best.U if subspace is None else subspace @ best.U @ subspace.T)
        u = np.clip(best.a[1:], 0.0, kinks.weights)
        total = others.value + risk.margin * float(u.sum())
        point = Minorant(total, others.S + kinks.adjoint(u), 2.0 * total / risk.margin)
        monitor.primal(metric, problem.value(metric), by_risk=True)
        monitor.proven(problem, point, metric, partial(SmoothedPairs, M, 0.0, places, u / kinks.weights))
        turned, rows = risk.turned(M, metric)
        together, first = np.unique(np.concatenate([places, turned]), axis=0, return_index=True)
        wider = subspace if subspace is None else _wider(problem, subspace, metric, point.S, accuracy)
        settled = len(together) == len(places) and wider is subspace
        yield {"kinks": len(places), "width": 0.0}
        if settled or len(together) > 2 * MOST_FREE:
            return
        places, sample, subspace = together, np.concatenate([sample, rows])[first], wider


def _program(problem: MetricProblem, V: Array | None, margin: float, others: Minorant, kinks: Kinks) -> ConicQP:
    """The small program: a row for the other pairs, and one for each free pair."""
    b, weights = np.full(len(kinks) + 1, margin), np.concatenate([[1.0], kinks.weights])
    b[0] = others.value
    penalty: Penalty
    if V is None:
        penalty, rows, S = problem, kinks.rows, problem.cone.coordinates(others.S)
    else:
        penalty = SubspacePenalty(problem, V)
        positives, negatives = kinks.turned(V).differences()
        rows, S = penalty.cone.outer_rows(negatives) - penalty.cone.outer_rows(positives), penalty.restricted(others.S)
    A = sp.vstack([sp.csr_array(S[None]), rows], format="csr") if sp.issparse(rows) else np.vstack([S[None], rows])
    return ConicQP(penalty, A, b, np.arange(len(b)), weights)


def _range(M: Array) -> Array:
    """Eigenvectors, in columns, of a metric's eigenvalues that are not negligible; all of them with few features."""
    values, vectors = np.linalg.eigh(M)
    return vectors if len(M) <= ALL_DIRECTIONS else vectors[:, values > NEGLIGIBLE * values[-1]]


def _wider(problem: MetricProblem, V: Array, M: Array, S: Array, tol: float) -> Array:
    """Extend V by eigenvectors of negative eigenvalues of the dual slack ``c + L M - S``; V itself without any."""
    linear, quadratic = problem.cone.from_coordinates(problem.linear()), problem.quadratic()
    values, vectors = np.linalg.eigh(linear + np.asarray(quadratic) * M - S)
    joining = vectors[:, :JOINING][:, values[:JOINING] < -tol * np.abs(linear).max()]
    columns, R = np.linalg.qr(np.hstack([V, joining]))
    new = np.abs(np.diag(R)) > NEGLIGIBLE
    return columns[:, new] if new.sum() > V.shape[1] else V
