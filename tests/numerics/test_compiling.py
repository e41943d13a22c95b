"""What every compiled loop has, whoever wrote it."""

import ast
import errno
import gc
import importlib
import inspect
import json
import os
import pickle
import pkgutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from time import process_time

import numba
import numpy as np
import pytest
from numba.core.caching import IndexDataCacheFile

import convexmetric
from convexmetric.measures.map import every_weighted
from convexmetric.numerics import compiling, dispatchers
from convexmetric.numerics.compiling import Loop, compiled, compiled_in_any_order


def loops():
    """Every compiled loop of the package, where it is written."""
    for info in pkgutil.walk_packages(convexmetric.__path__, "convexmetric."):
        if not info.name.endswith("__main__"):
            for loop in vars(importlib.import_module(info.name)).values():
                if isinstance(loop, Loop) and loop.__module__ == info.name:
                    yield loop


def test_every_loop_is_cached_and_releases_the_lock():
    found = list(loops())
    assert len(found) > 60
    for loop in found:
        assert loop.dispatcher.targetoptions["nogil"], loop
        assert loop.dispatcher.targetoptions["error_model"] == "numpy", loop
        assert loop.dispatcher.stats.cache_path is not None, loop


#: Functions of NumPy that numba has compiled in a tenth of a second. ``np.cumsum``, ``np.append``, ``np.zeros``,
#: ``np.searchsorted``, ``np.arange`` and sums take three to ten times as long, an array set to another array 3 s. A
#: number of the type of an array, ``s.dtype.type(0.0)``, takes nothing.
QUICK = {"empty", "exp", "log", "log1p", "log2", "floor", "isfinite", "int32", "int64", "float32", "float64", "iinfo"}


def slow_to_compile(source):
    """What a loop says in one line of NumPy that numba takes long to compile."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            numpy = isinstance(node.func.value, ast.Name) and node.func.value.id == "np"
            if not (numpy and node.func.attr in QUICK) and not ast.unparse(node.func).endswith(".dtype.type"):
                yield ast.unparse(node)
        if isinstance(node, ast.Assign):
            target, value = node.targets[0], node.value
            several = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
            for to, what in zip(target.elts, value.elts, strict=True) if several else [(target, value)]:
                whole = isinstance(to, ast.Subscript) and isinstance(to.slice, ast.Slice)
                if whole and not isinstance(what, (ast.Constant, ast.UnaryOp)):
                    yield ast.unparse(node)


def test_loops_say_what_compiles_quickly():
    found = {loop.py_func.__qualname__: list(slow_to_compile(inspect.getsource(loop.py_func))) for loop in loops()}
    assert {name: slow for name, slow in found.items() if slow} == {}


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("x[1:] = np.cumsum(y)", ["x[1:] = np.cumsum(y)", "np.cumsum(y)"]),
        ("x[:], z = y, 0.0", ["x[:], z = (y, 0.0)"]),
        ("z = y.sum()", ["y.sum()"]),
        ("x[:], z[:] = 0.0, -1.0", []),
        ("x[0] = np.exp(y[0])", []),
    ],
)
def test_what_is_slow_to_compile_is_found(line, found):
    assert [one.replace("(x[:], z)", "x[:], z") for one in slow_to_compile(line)] == found


#: Problems of 30 points, and how many of the package's loops their first solve compiles.
FIRST_SOLVES = {
    "cm.RankingProblem.from_labels(X, y, measure='auc')": 13,
    "cm.RankingProblem.from_labels(X, y, measure='map')": 12,
    "cm.RankingProblem.from_labels(X, y, measure='mrr')": 16,
    "cm.RankingProblem.from_labels(X, y, measure='ndcg')": 19,
    "cm.RankingProblem.from_labels(X, y, measure='precision')": 19,
    "cm.RankingProblem.from_labels(X, y, measure='knn')": 19,
    "cm.LargeMarginProblem(X, y)": 15,
    "cm.TripletProblem.from_labels(X, y)": 14,
    "cm.PairMarginProblem.from_labels(X, y)": 4,
    "cm.RelativeComparisonProblem(X, [(0, 3, 1), (1, 4, 2)])": 0,
}


@pytest.mark.integration
@pytest.mark.parametrize("problem", FIRST_SOLVES)
def test_a_first_solve_compiles_few_loops_and_each_once(problem, tmp_path):
    code = (
        "import json, warnings; import numpy as np, convexmetric as cm; from numba.core import event\n"
        "warnings.simplefilter('ignore'); y = np.arange(30) % 3\n"
        "X = np.random.default_rng(0).standard_normal((30, 3))\n"
        "with event.install_recorder('numba:compile') as recorder:\n"
        f"    cm.solve({problem}, 1e-3)\n"
        "loops = [one.data['dispatcher'] for _, one in recorder.buffer if one.is_start]\n"
        "inner = [loop.targetoptions.get('no_cpython_wrapper', False) for loop in loops]\n"
        "loops = [loop.py_func for loop in loops]\n"
        "names = [f'{loop.__module__}.{loop.__name__}' for loop in loops]\n"
        "print(json.dumps([name + ' inner' * within for name, within in zip(names, inner)]))"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    compiled = json.loads(subprocess.check_output([sys.executable, "-c", code], env=environment, text=True))
    own = [name for name in compiled if name.startswith("convexmetric.")]
    assert len(own) == len(set(own)) <= FIRST_SOLVES[problem]


def test_a_second_process_loads_what_the_first_compiled_and_none_of_what_compiles(tmp_path):
    code = (
        "import sys, numpy as np; from convexmetric.measures.precision import relevant_in_head as loop\n"
        "loop(np.arange(3), 2); stats = loop.dispatcher.stats\n"
        "hits, misses = sum(stats.cache_hits.values()), sum(stats.cache_misses.values())\n"
        "print(hits, misses, 'numba.np.linalg' in sys.modules)"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    for said in ("0 1 True\n", "1 0 False\n"):
        command = [sys.executable, "-c", code]
        assert subprocess.check_output(command, env=environment, text=True) == said


def test_the_package_is_imported_without_numba_and_what_no_solve_needs():
    code = (
        "import sys, gc, convexmetric\n"
        "late = {'numba', 'numpy.f2py', 'scipy.sparse.csgraph', 'convexmetric.datasets'}\n"
        "print({*late, 'convexmetric.certificates.kernel'} & {*sys.modules}, gc.isenabled()); import convexmetric.cli\n"
        "print('numba' in sys.modules, sys.modules['numpy'].testing.__name__)"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "set() True\nFalse numpy.testing\n"


def test_threads_that_are_first_at_the_same_time_compile_once():
    loop, barrier = compiled(lambda a: a + 1), Barrier(8)

    def first(number):
        barrier.wait()
        return loop(number), loop.dispatcher

    with ThreadPoolExecutor(8) as pool:
        results, dispatchers_of_threads = zip(*pool.map(first, range(8)), strict=True)
    assert results == tuple(range(1, 9))
    assert set(dispatchers_of_threads) == {loop.dispatcher}


def test_a_loop_is_pickled_by_its_name():
    assert pickle.loads(pickle.dumps(every_weighted)) is every_weighted


def test_loops_divide_by_zero_as_numpy_does():
    @compiled_in_any_order
    def quotient(a, b):
        return a / b

    assert quotient(1.0, 0.0) == np.inf


def twice(a):
    return a + a


def refused(*_):
    raise OSError(errno.EROFS, os.strerror(errno.EROFS))


def test_where_no_folder_can_be_written_loops_are_compiled_and_one_warning_says_so(monkeypatch):
    monkeypatch.setattr(dispatchers._Places, "_locator_classes", ())
    dispatchers._warn_once.cache_clear()
    loops = compiled(twice), compiled_in_any_order(twice)
    with pytest.warns(UserWarning, match="set NUMBA_CACHE_DIR to a folder that 'convexmetric warm-up'") as caught:
        sums = [loop(2) for loop in loops]
    assert sums == [4, 4]
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert [loop.dispatcher.stats.cache_path for loop in loops] == [None, None]


def test_a_folder_of_the_environment_that_can_only_be_read_is_read(monkeypatch, tmp_path):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    assert compiled(twice)(2) == 4
    kept = sorted(tmp_path.rglob("*.nb?"))
    monkeypatch.setattr(dispatchers._OF_ENVIRONMENT, "ensure_cache_path", refused)
    loop = compiled(twice)
    assert loop(2) == 4
    assert sum(loop.dispatcher.stats.cache_hits.values()) == 1
    # What is not there is compiled, and cannot be kept.
    monkeypatch.setattr(IndexDataCacheFile, "_open_for_write", refused)
    assert loop(2.5) == 5.0
    assert sum(loop.dispatcher.stats.cache_misses.values()) == 1
    assert sorted(tmp_path.rglob("*.nb?")) == kept != []


@compiled
def double(a):
    return a + a


@compiled
def one_more_than_double(a):
    return double(a) + 1


def test_what_loops_call_is_kept_apart_from_what_python_calls(monkeypatch, tmp_path):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    assert (one_more_than_double(2), double(2)) == (5, 4)
    assert sorted("inner" in path.name for path in tmp_path.rglob("*double-*.nbi")) == [False, False, True]
    for inner in (False, True):
        again = dispatchers.dispatcher(double.py_func, {}, inner)
        again.compile((numba.int64,))
        assert sum(again.stats.cache_hits.values()) == 1


def test_loops_that_other_loops_call_have_no_machine_code_of_their_own(monkeypatch, tmp_path):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    inner, outer = (dispatchers.dispatcher(twice, {}, inner) for inner in (True, False))
    for loop in (inner, outer):
        loop.compile((numba.int64,))
    libraries = [loop.overloads[(numba.int64,)].library for loop in (inner, outer)]
    assert [kind for _, kind, _ in (one.serialize_using_object_code() for one in libraries)] == ["bitcode", "object"]


def test_a_numba_that_is_not_known_compiles_and_loads_as_it_does_by_itself(monkeypatch, tmp_path):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(dispatchers, "KNOWN", False)
    first, again = (dispatchers.dispatcher(twice, {}, True) for _ in range(2))
    for loop in (first, again):
        loop.compile((numba.int64,))
    library = first.overloads[(numba.int64,)].library
    assert not isinstance(library, dispatchers._InnerLibrary)
    assert library.serialize_using_object_code()[1] == "object"
    assert sum(again.stats.cache_hits.values()) == 1


@pytest.mark.parametrize("enabled", [True, False])
def test_garbage_is_collected_again_after_compiling_and_its_seconds_are_counted_once(monkeypatch, tmp_path, enabled):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(compiling, "seconds", 0.0)
    loop = compiled(lambda a: double(a) + 2)
    collecting, begin = gc.isenabled(), process_time()
    (gc.enable if enabled else gc.disable)()
    try:
        assert loop(2.5 + 0.0j) == 7.0
        assert gc.isenabled() == enabled
    finally:
        (gc.enable if collecting else gc.disable)()
    assert 0.0 < compiling.seconds < process_time() - begin
