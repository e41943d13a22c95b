"""Limits on the threads of BLAS, OpenMP and compiled loops, in proportion to the work.

Solves of small problems are thousands of small matrix products. Handing each to many threads costs more than the
product: at d = 13, four threads take five times as long as one, and far longer on a busy machine.

Functions import numba themselves, as many commands call no loop.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from itertools import pairwise, starmap
from typing import Any

from threadpoolctl import ThreadpoolController, threadpool_limits

from convexmetric.deadline import check_deadline, until_deadline
from convexmetric.imports import uncollected

#: Environment variables that set the number of threads of a library; read when it is loaded.
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")

#: Multiplications in one product from which a second thread pays, and from which all threads do.
TWO_THREADS, ALL_THREADS = 2e7, 2e9
#: Numbers processed by a compiled loop from which threads are worth starting: some milliseconds of work.
LOOP_THREADS = 400_000
#: Numbers processed between checks of the deadline, at most: some tenths of a second.
MOST_NUMBERS = 10_000_000
#: Blocks of rows per thread, so that no thread waits long for the last.
BLOCKS_A_THREAD = 8
#: Numbers that a loop of OpenMP reads over and over from which more than one thread pays.
OPENMP_THREADS = 1_000_000


@cache
def _controller(library: str) -> ThreadpoolController:
    return ThreadpoolController().select(user_api=library)


def _at_most(threads: int) -> AbstractContextManager[Any]:
    """Limit the threads of BLAS without raising a limit that is set."""
    blas = _controller("blas")
    allowed = max((library.num_threads for library in blas.lib_controllers), default=1)
    return blas.limit(limits=threads) if threads < allowed else nullcontext()


def blas_threads_for(work: float) -> AbstractContextManager[Any]:
    """Limit BLAS while products of ``work`` multiplications are done; never raise a limit that is set."""
    return nullcontext() if work >= ALL_THREADS else _at_most(1 if work < TWO_THREADS else 2)


@contextmanager
def _limited(blas: int, loops: int) -> Iterator[None]:
    """Limit the threads of BLAS and of compiled loops."""
    with uncollected():
        import numba

    before = numba.get_num_threads()
    numba.set_num_threads(min(loops, before))
    try:
        with _at_most(blas):
            yield
    finally:
        numba.set_num_threads(before)


@contextmanager
def shared_cores() -> Iterator[None]:
    """Give half of the cores to BLAS and the others to compiled loops; never raise a limit that is set.

    Threads of BLAS wait for the next product by spinning, for some hundredths of a second, and so slow down the loops
    that follow. With four threads for each on four cores thirty solves and audits of triplets took 91 s, with two for
    each 16 s. The thread that calls BLAS does not spin, so that loops get one thread more than BLAS leaves.
    """
    cores = os.cpu_count() or 2
    half = max(1, cores // 2)
    with _limited(half, cores - half + 1):
        yield


def over_rows(compiled: Callable[..., Any], rows: int, numbers: int, *arguments: Any) -> None:
    """Call ``compiled(begin, end, *arguments)`` for all rows, in blocks shared among numba's threads.

    A ``parallel=True`` loop of numba takes several times as long to compile.

    Parameters
    ----------
    compiled : callable
        Releases the interpreter's lock. What it does to a row must not depend on other rows: then the result does not
        depend on threads.
    rows, numbers : int
        Number of rows, and of numbers that all rows together process.
    *arguments
        Passed on to ``compiled``.

    Raises
    ------
    OutOfTime
        If the time is out, before it begins or between blocks.
    """
    import numba

    threads = numba.get_num_threads() if numbers >= LOOP_THREADS else 1
    blocks = min(rows, max(BLOCKS_A_THREAD * threads if threads > 1 else 1, -(-numbers // MOST_NUMBERS)))
    starts = [rows * block // max(1, blocks) for block in range(blocks + 1)]
    if threads == 1 or blocks < 2:
        for ends in until_deadline(pairwise(starts)):
            compiled(*ends, *arguments)
        return
    check_deadline()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for done in until_deadline([pool.submit(compiled, *ends, *arguments) for ends in pairwise(starts)]):
                done.result()
        except BaseException:
            # Out of time, or Ctrl-C: blocks that have not begun are cancelled.
            pool.shutdown(cancel_futures=True)
            raise


def side_by_side(call: Callable[..., Any], arguments: Sequence[tuple[Any, ...]], work: float) -> Iterable[Any]:
    """Return the results of calls that take ``work`` multiplications in all, made in turn or on threads.

    Each thread uses one thread of BLAS: so products that are too small to be shared still keep all cores busy.
    """
    import numba

    threads = min(numba.get_num_threads(), len(arguments))
    if work < TWO_THREADS or threads < 2:
        return starmap(call, arguments)
    with _at_most(1), ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda own: call(*own), arguments))


def one_thread() -> AbstractContextManager[None]:
    """Limit BLAS and compiled loops to one thread, for a task that shares a machine with others.

    The limit of BLAS applies to the whole process. If threads run tasks in parallel, the thread that started them
    should hold it meanwhile, so that it stays when one of them ends.
    """
    return _limited(1, 1)


def openmp_threads_for(numbers: int) -> AbstractContextManager[Any]:
    """Limit a loop over few numbers to one OpenMP thread; never raise a limit that is set.

    On a busy machine hundreds of small k-means took thirty times as long with four threads as with one.
    """
    return nullcontext() if numbers >= OPENMP_THREADS else _controller("openmp").limit(limits=1)


def limit_threads(threads: int) -> None:
    """Limit BLAS, OpenMP and numba, here and in processes started from here."""
    import numba

    for name in THREAD_VARIABLES:
        os.environ[name] = str(threads)
    # numba first, which loads its threading library here; then all that is loaded. A library loaded later, as
    # CVXOPT's own BLAS may, reads the environment.
    numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
    threadpool_limits(threads)
