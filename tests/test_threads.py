"""Threads: limits are kept inside, never raised, and undone."""

import os
from concurrent.futures import ThreadPoolExecutor

import numba
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from convexmetric.threads import one_thread, over_rows, shared_cores


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


@pytest.mark.parametrize(("rows", "numbers", "count"), [(1000, 10**6, 24), (5, 10**6, 5), (1, 10**6, 1), (1000, 10, 1)])
def test_every_row_is_gone_through_once_whatever_the_threads(monkeypatch, rows, numbers, count):
    monkeypatch.setattr(numba, "get_num_threads", lambda: 3)
    blocks = []
    over_rows(lambda begin, end, seen: seen.append((begin, end)), rows, numbers, blocks)
    assert len(blocks) == count
    assert [row for begin, end in sorted(blocks) for row in range(begin, end)] == list(range(rows))


def test_what_fails_in_a_thread_is_raised(monkeypatch):
    monkeypatch.setattr(numba, "get_num_threads", lambda: 2)
    with pytest.raises(ZeroDivisionError):
        over_rows(lambda begin, end: 1 // begin, 100, 10**6)


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
