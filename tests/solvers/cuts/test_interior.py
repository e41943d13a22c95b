"""Dual points off the border of feasibility, where no penalty holds metrics."""

import numpy as np
import pytest

import convexmetric as cm
from convexmetric.risks import CutDual, Minorant
from convexmetric.risks.rounding import error_of_sums
from convexmetric.solvers.cuts.accelerations import STALLED_MASTERS, Interior, Patience

PROBLEM = cm.load_problem("blocks-zero-mrr-wine")


def point(value, eigenvalues, size):
    """A sum of cuts with these eigenvalues of S, and a dual point of as many metrics as ``size``."""
    parts, shape = PROBLEM.risk.parts, PROBLEM.cone.shape
    metrics = np.full((size, *shape), float(size))
    dual = CutDual(metrics, np.full((size, 2), 1.0 / size), np.arange(parts) % 2)
    return Minorant(value, np.diag(eigenvalues), weight=1.0, size=value), lambda: dual


def test_the_point_farthest_inside_makes_up_for_rounding():
    interior, d = Interior(PROBLEM), PROBLEM.cone.d
    inside, border = -np.ones(d), -np.linspace(0.0, 2.0, d)
    kept, of_kept = interior.mixed(*point(1.0, inside, 3))
    assert np.array_equal(kept.S, np.diag(inside))
    assert len(of_kept().witnesses) == 3
    sums, dual = interior.mixed(*point(2.0, border, 2))
    rounding = error_of_sums(PROBLEM.risk.points, 1.0, PROBLEM.cone).max()
    share = -np.linalg.eigvalsh(sums.S)[-1]
    assert 2.0 * rounding <= share < 1e-3
    assert sums.value == pytest.approx(2.0 - share, rel=1e-12)
    assert np.allclose(sums.S, np.diag((1.0 - share) * border + share * inside), rtol=1e-12)
    # Weights of a group still sum to 1, those of the point inside to its share.
    table = dual().weights
    assert len(dual().witnesses) == len(table) == 5
    assert np.allclose(table.sum(axis=0), 1.0, rtol=1e-12)
    assert np.allclose(table[2:].sum(axis=0), share, rtol=1e-9)


def test_nothing_is_mixed_without_a_point_inside():
    interior, d = Interior(PROBLEM), PROBLEM.cone.d
    sums, made = point(1.0, np.append(-np.ones(d - 1), 1e-12), 2)
    same, dual = interior.mixed(sums, made)
    assert same is sums
    assert dual is made


def test_after_stalled_masters_cuts_nearer_to_the_best_metric_close_the_gap():
    # Where the master first stalls the gap is 5e-3. Another processor stalls elsewhere: it may not reach 1e-6.
    assert cm.solve("blocks-zero-ndcg-iris", tol=1e-4, solver="cutting-planes").status == "optimal"


def test_stalled_masters_end_a_solve_unless_the_gap_shrinks():
    patience = Patience()
    assert not any(patience.over(gap) for gap in np.geomspace(1.0, 1e-9, 200))
    assert [patience.over(1e-9) for _ in range(2 * STALLED_MASTERS)].index(True) <= STALLED_MASTERS
