r"""Proofs that a set of hard comparisons cannot hold together.

Either some :math:`w \ge 0` has :math:`D w > 0`, or some :math:`u \ge 0, u \ne 0` has :math:`D^\top u \le 0`
(Gordan), and the comparisons with positive u contradict each other. The matrix game
:math:`\max_{w \in \text{simplex}} \min_t (D w)_t` has a positive value exactly when the comparisons are feasible.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
import scipy.sparse as sp

from convexmetric.comparisons.triplets import Triplets

#: Margins below this fraction of the largest squared differences count as zero.
SMALLEST_MARGIN = 1e-10


def contradiction(comparisons: Triplets) -> np.ndarray | None:
    """Indices of triplets that no nonnegative weights satisfy together, or None if all can hold."""
    D = _in_units(comparisons)
    value, u = _game(D)
    if value > SMALLEST_MARGIN:
        return None
    rows = np.flatnonzero(u > 1e-9 * u.max())
    # Deletion filter: a contradictory set remains, none of whose comparisons can be removed.
    for t in rows:
        rest = rows[rows != t]
        if rest.size and _game(D[rest])[0] <= SMALLEST_MARGIN:
            rows = rest
    return rows


def _in_units(comparisons: Triplets) -> Any:
    """Rows of the comparisons with every feature divided by its largest squared difference.

    Weights in these units are still nonnegative, so that the answer is the same; but the linear program sees
    features of every scale.
    """
    largest = np.zeros(comparisons.cone.d)
    for other in (comparisons.triplets[:, 1], comparisons.triplets[:, 2]):
        differences = comparisons.X[comparisons.triplets[:, 0]] - comparisons.X[other]
        extreme = abs(differences).max(axis=0)
        largest = np.maximum(largest, extreme.toarray().ravel() if sp.issparse(extreme) else extreme)
    unit = np.where(largest > 0.0, largest, 1.0)
    return sp.csr_array(comparisons.rows) @ sp.diags_array(1.0 / unit**2)


def _game(D: Any) -> tuple[float, np.ndarray]:
    """Value of the game, and the column player's weights ``u`` on the comparisons."""
    T, d = D.shape
    result = scipy.optimize.linprog(
        np.append(np.zeros(d), -1.0),
        A_ub=sp.hstack([-D, np.ones((T, 1))], format="csr"),
        b_ub=np.zeros(T),
        A_eq=np.append(np.ones(d), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0, None)] * d + [(None, None)],
        method="highs-ds",
    )
    if result.x is None:
        # Without a proof no contradiction is reported.
        return np.inf, np.zeros(T)
    return float((D @ result.x[:-1]).min()), np.maximum(-result.ineqlin.marginals, 0.0)
