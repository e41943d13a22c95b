"""What every compiled loop has, whoever wrote it."""

import importlib
import os
import pkgutil
import subprocess
import sys

import numpy as np
from numba.core.registry import CPUDispatcher

import convexmetric
from convexmetric.numerics.compiling import compiled_in_any_order


def loops():
    """Every compiled loop of the package, where it is written."""
    for info in pkgutil.walk_packages(convexmetric.__path__, "convexmetric."):
        if not info.name.endswith("__main__"):
            for loop in vars(importlib.import_module(info.name)).values():
                if isinstance(loop, CPUDispatcher) and loop.__module__ == info.name:
                    yield loop


def test_every_loop_is_cached_and_releases_the_lock():
    found = list(loops())
    assert len(found) > 60
    for loop in found:
        assert loop.targetoptions["nogil"], loop
        assert loop.targetoptions["error_model"] == "numpy", loop
        assert loop.stats.cache_path is not None, loop


def test_a_second_process_loads_what_the_first_compiled(tmp_path):
    code = (
        "import numpy as np; from convexmetric.measures.precision import relevant_in_head as loop\n"
        "loop(np.arange(3), 2); print(sum(loop.stats.cache_hits.values()), sum(loop.stats.cache_misses.values()))"
    )
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    for hits_and_misses in ("0 1\n", "1 0\n"):
        command = [sys.executable, "-c", code]
        assert subprocess.check_output(command, env=environment, text=True) == hits_and_misses


def test_loops_divide_by_zero_as_numpy_does():
    @compiled_in_any_order
    def quotient(a, b):
        return a / b

    assert quotient(1.0, 0.0) == np.inf
