"""Searches along a line against closed forms."""

import math

import numpy as np
import pytest

from convexmetric.numerics.searches import concave_maximum, last_true, shortened


@pytest.mark.parametrize("end", [0.0, 1e-9, 0.3, 1.0 / 3.0, 0.999])
def test_halving_ends_at_neighbours_around_the_last_true(end):
    low, high = last_true(lambda t: t <= end, 0.0, 1.0, halvings=2000)
    assert (low, high) == (end, math.nextafter(end, 1.0))


def test_halving_stops_where_it_is_near_enough():
    tried = []
    low, high = last_true(lambda t: tried.append(t) or t < 0.7, 0.0, 1.0, near=1e-3)
    assert low < 0.7 <= high
    assert high - low <= 1e-3 * high
    assert len(tried) == 11


SMOOTH = (lambda t: -((t - 0.3) ** 2), lambda t: -2.0 * (t - 0.3), 0.3)
KINKED = (lambda t: -abs(t - 0.7), lambda t: 1.0 if t < 0.7 else -1.0, 0.7)
PEAKED = (lambda t: math.sqrt(t) - t, lambda t: 0.5 / math.sqrt(t) - 1.0 if t > 0.0 else math.inf, 0.25)


@pytest.mark.parametrize(("value", "slope", "where"), [SMOOTH, KINKED, PEAKED])
def test_a_concave_function_is_at_most_its_bound_and_nearly_there(value, slope, where):
    ends = [(t, value(t), slope(t)) for t in (0.0, 1.0)]
    place, best, bound = concave_maximum(lambda t: (value(t), slope(t)), *ends, 120, 1e-15)
    assert best == value(place)
    assert best <= value(where) <= bound + 1e-15
    assert value(where) - best <= 1e-15
    assert abs(place - where) <= 1e-7


def test_outside_of_the_domain_there_is_no_value():
    def at(t):
        return (t, 1.0) if t <= 0.6 else (-np.inf, -np.inf)

    place, best, _ = concave_maximum(at, (0.0, *at(0.0)), (1.0, *at(1.0)), 200, 0.0)
    assert place == best == 0.6


def test_where_a_function_falls_from_the_start_on_its_start_is_best():
    assert concave_maximum(lambda t: pytest.fail(str(t)), (0.0, 2.0, -1.0), (1.0, 1.0, -1.0), 9, 0.0) == (0.0, 2.0, 2.0)


def test_steps_are_shortened_down_to_the_shortest_and_the_first_is_always_tried():
    assert list(shortened(0.5, 0.1)) == [1.0, 0.5, 0.25, 0.125]
    assert list(shortened(0.5, 0.5, 4.0)) == [4.0, 2.0, 1.0, 0.5]
    assert list(shortened(0.5, 1.0, 0.3)) == [0.3]
