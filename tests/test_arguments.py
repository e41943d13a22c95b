"""Checks of arguments: what passes, and what the message names."""

import numpy as np
import pytest

import convexmetric as cm
from convexmetric.arguments import check_count, check_flag
from convexmetric.errors import InputError


@pytest.mark.parametrize("value", [1, np.int32(7)])
def test_positive_integers_are_counts(value):
    check_count(value, "k")


@pytest.mark.parametrize("value", [0, -1, True, 1.0, "2", None, np.nan])
def test_nothing_else_is(value):
    with pytest.raises(InputError, match=r"^k must be a positive integer or None, got "):
        check_count(value, "k", " or None")


def test_flags():
    check_flag(True, "diagonal")
    check_flag(np.bool_(False), "diagonal")
    for value in (0, 1, None, "yes"):
        with pytest.raises(InputError, match="diagonal must be True or False, got"):
            check_flag(value, "diagonal")


def test_long_values_are_shortened_in_messages():
    many = np.linspace(0.0, 1.0, 500)
    for value in (many, many.tolist(), many.reshape(50, 10)):
        with pytest.raises(InputError, match="margin must be a positive number") as raised:
            cm.TripletProblem(many[:, None], [[0, 1, 2]], margin=value)
        assert len(str(raised.value)) < 300
