"""As many threads as the work is worth.

Solves of small problems are thousands of small matrix products. Handing each to many threads costs more than the
product: at d = 13, four threads take five times as long as one, and far longer on a busy machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController

__all__ = ["blas_threads_for", "openmp_threads_for"]

#: Multiplications in one product from which a second thread pays, and from which all do.
TWO_THREADS, ALL_THREADS = 2e7, 2e9
#: Numbers that a loop of OpenMP reads over and over from which more than one thread pays.
OPENMP_THREADS = 1_000_000


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="blas")


@cache
def _openmp() -> ThreadpoolController:
    return ThreadpoolController().select(user_api="openmp")


@contextmanager
def blas_threads_for(work: float) -> Iterator[None]:
    """Limit BLAS while products of ``work`` multiplications are done; never raise a limit that is set."""
    if work >= ALL_THREADS:
        yield
        return
    most = 1 if work < TWO_THREADS else 2
    allowed = max((library.num_threads for library in _controller().lib_controllers), default=1)
    with _controller().limit(limits=min(most, allowed)):
        yield


@contextmanager
def openmp_threads_for(numbers: int) -> Iterator[None]:
    """One OpenMP thread for a loop over so few numbers; never raise a limit that is set.

    On a busy machine hundreds of small k-means took thirty times as long with four threads as with one.
    """
    if numbers >= OPENMP_THREADS:
        yield
        return
    with _openmp().limit(limits=1):
        yield
