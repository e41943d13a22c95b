"""Sorting by cells."""

import numpy as np
import pytest

from convexmetric.measures.sorting import ascending

RNG = np.random.default_rng(0)
KINDS = {
    "spread": RNG.standard_normal(3000),
    "ties": RNG.integers(0, 40, 3000) / 8.0,
    "a crowd and outliers": np.concatenate([1e-9 * RNG.standard_normal(2000), [1e12, -1e12]]),
    "equal": np.full(500, 0.5),
    "infinite": np.where(RNG.random(400) < 0.1, np.inf, RNG.integers(0, 9, 400)),
    "one": np.zeros(1),
    "none": np.empty(0),
}


def test_no_numbers_come_last():
    z = np.where(RNG.random(400) < 0.1, np.nan, RNG.standard_normal(400))
    items, values = ascending(z)
    np.testing.assert_array_equal(values, np.sort(z))
    np.testing.assert_array_equal(z[items], values)
    np.testing.assert_array_equal(np.sort(items), np.arange(400))


@pytest.mark.parametrize("kind", KINDS)
def test_items_are_in_order_of_value_then_index(kind):
    items, values = ascending(KINDS[kind])
    np.testing.assert_array_equal(items, np.argsort(KINDS[kind], kind="stable"))
    np.testing.assert_array_equal(values, np.sort(KINDS[kind]))
