"""Threads: limits are kept inside, never raised, and undone."""

import os

import numba
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from convexmetric.threads import shared_cores


def blas_threads():
    return max(info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas")


@pytest.mark.parametrize("allowed", [1, 64])
def test_cores_are_shared_and_given_back(allowed):
    half = max(1, (os.cpu_count() or 2) // 2)
    loops = numba.get_num_threads()
    with threadpool_limits(allowed, "blas"):
        before = blas_threads()
        with shared_cores():
            assert blas_threads() == min(before, half)
            assert numba.get_num_threads() == min(loops, half)
        assert blas_threads() == before
    assert numba.get_num_threads() == loops
