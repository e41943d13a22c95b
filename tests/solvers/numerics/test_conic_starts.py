"""Starts are interior, and their complementarity products are all equal."""

import numpy as np
import pytest
from programs import KINDS, SLACKS, program
from sklearn.datasets import load_wine

import convexmetric as cm
from convexmetric.solvers.numerics.interior_point import interior_point
from convexmetric.solvers.numerics.qp import cold_start, heavy_start, warm_start


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("slacks", SLACKS)
@pytest.mark.parametrize("make", [cold_start, heavy_start])
def test_a_start_is_interior_and_centred(kind, slacks, make):
    qp = program(kind, slacks)
    point, cone = make(qp), qp.cone
    assert point.finite
    assert cone.smallest(point.U) > 0.0
    assert cone.smallest(point.Z) > 0.0
    mu = cone.inner(point.U, point.Z) / cone.d
    assert np.linalg.norm(cone.full(point.U) @ cone.full(point.Z) - mu * np.eye(cone.d)) <= 1e-8 * mu
    np.testing.assert_allclose(point.a * point.s, mu, rtol=1e-9)
    if qp.hard:
        return
    np.testing.assert_allclose(point.xi * point.beta, mu, rtol=1e-9)
    np.testing.assert_allclose(point.s, qp.times(point.U) - qp.b + point.xi[qp.group], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(qp.C - qp.sums(point.a), point.beta, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_a_related_program_starts_on_the_path(kind):
    first, more = program(kind, "shared", 12), program(kind, "shared", 13)
    path = interior_point(first, 1e-8).path
    point, place = warm_start(more, path)
    assert 0 <= place < len(path)
    assert more.cone.smallest(point.U) > 0.0
    assert interior_point(more, 1e-8, start=point).gap <= 1e-8
    assert warm_start(more, []) == (None, -1)


def test_a_heavy_start_leaves_room_where_rows_cancel():
    # Of features in units of their own; the second master ended at a gap of 0.9.
    problem = cm.RankingProblem.from_labels(*load_wine(return_X_y=True), measure="knn", C=1.0)
    assert cm.solve(problem, tol=1e-4).status == "optimal"
