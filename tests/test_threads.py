"""Threads: limits are kept inside, never raised, and undone."""

import os
from concurrent.futures import ThreadPoolExecutor

import numba
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from convexmetric.threads import one_thread, shared_cores


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


def test_tasks_side_by_side_have_a_thread_each_and_leave_no_limit():
    loops, inside = numba.get_num_threads(), []

    def task(_):
        with one_thread():
            inside.append((numba.get_num_threads(), blas_threads()))

    with threadpool_limits(64, "blas"):
        before = blas_threads()
        with one_thread(), ThreadPoolExecutor(4) as pool:
            list(pool.map(task, range(50)))
        assert blas_threads() == before
    assert set(inside) == {(1, 1)}
    assert numba.get_num_threads() == loops
