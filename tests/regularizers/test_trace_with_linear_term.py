"""The trace with a linear term: the best shrinking of a dual point, whatever the linear term is like."""

import numpy as np
import pytest
from samples import random_element, random_metric

from convexmetric.cones import NonnegativeDiagonal, PSDCone
from convexmetric.regularizers import Trace


@pytest.mark.parametrize("cone", [PSDCone(5), NonnegativeDiagonal(5)], ids=repr)
@pytest.mark.parametrize("seed", range(20))
def test_the_largest_share_of_a_dual_point_is_taken(cone, seed):
    rng = np.random.default_rng(seed)
    S, reg = random_element(rng, cone) * 10.0 ** rng.uniform(-3, 3), 0.7
    # Definite, semidefinite, or indefinite with lambda I + G still positive.
    G = [random_metric(rng, cone), -0.69 * cone.identity(), 0.5 * random_metric(rng, cone) - 0.3 * cone.identity()]
    for term in G:
        bound = Trace(reg).bound(1.0, S, term, cone, cone.zeros())
        assert 0.0 <= bound <= 1.0
        assert cone.largest(bound * S - term) <= reg
        more = min(1.0, bound * (1.0 + 1e-9))
        assert bound == 1.0 or cone.largest(more * S - term) > reg


def test_a_linear_term_that_outweighs_the_trace_proves_nothing():
    cone = PSDCone(2)
    assert Trace(0.5).bound(1.0, np.eye(2), np.diag([-0.6, 3.0]), cone, cone.zeros()) == -np.inf
    # On the edge the metric is free along one direction: S must not gain there.
    edge = np.diag([-0.5, 3.0])
    assert Trace(0.5).bound(1.0, np.diag([-1.0, 2.0]), edge, cone, cone.zeros()) == 1.0
    assert Trace(0.5).bound(1.0, np.diag([1.0, 2.0]), edge, cone, cone.zeros()) == pytest.approx(0.0, abs=1e-12)
    assert Trace(0.5).bound(1.0, np.diag([-1.0, 7.0]), edge, cone, cone.zeros()) == pytest.approx(0.5)


@pytest.mark.parametrize("cone", [PSDCone(4), NonnegativeDiagonal(4)], ids=repr)
def test_largest_ratio(cone):
    rng = np.random.default_rng(1)
    S, H = random_element(rng, cone), random_metric(rng, cone) + cone.identity()
    top = cone.largest_ratio(S, H)
    assert cone.largest(S - top * H) == pytest.approx(0.0, abs=1e-12)
    for _ in range(50):
        M = random_metric(rng, cone)
        assert cone.inner(S, M) <= top * cone.inner(H, M) + 1e-12
    assert np.isnan(cone.largest_ratio(S, -H))
