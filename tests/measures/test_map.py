"""The divide and conquer of average precision, where it leaves items out."""

import numpy as np
import pytest
from oracles import oracle

from convexmetric.measures import measure_named
from convexmetric.measures.map import SAMPLE
from convexmetric.measures.reference import most_violated


@pytest.mark.parametrize("name", ["map", "err"])
@pytest.mark.parametrize("sampled", [0.001, 0.03, 3.0, 40.0])
@pytest.mark.parametrize("others", [0.02, 1.0, 30.0])
def test_a_sample_that_misleads_leaves_nothing_out(name, sampled, others):
    """Every item of the sample nearer, or farther, than all others, by which ranks are guessed many times too large."""
    rng = np.random.default_rng(0)
    p, step = 6, 11
    z = others * (1.0 + rng.random(step * SAMPLE - 1))
    z[:: 1 + len(z) // SAMPLE] = sampled * (1.0 + rng.random(len(z[:: 1 + len(z) // SAMPLE])))
    x = 0.1 * rng.random(p)
    T, losses, violations = oracle(measure_named(name), np.concatenate([x, z])[None], p)
    b, loss, violation = most_violated(measure_named(name), x, z)
    assert violations[0] == pytest.approx(violation, abs=1e-12)
    assert losses[0] == pytest.approx(loss, abs=1e-12)
    np.testing.assert_array_equal(np.sort(np.rint(-0.5 * p * len(z) * T[0, :p])), b)
