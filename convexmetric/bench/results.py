"""The file ``results.json`` of a benchmark: settings, machine, and every run with its curve."""

from __future__ import annotations

import json
import os
import platform
import re
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from convexmetric import __version__
from convexmetric.arrays import RESULTS_VERSION
from convexmetric.bench.records import Run
from convexmetric.files import all_or_nothing
from convexmetric.notebooks import printable


def write_results(runs: Sequence[Run], path: Path, suite: str | None) -> None:
    """Write runs with machine, versions, settings and suite as JSON (``docs/benchmarking.md``, Benchmark).

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    document = {
        "schema": RESULTS_VERSION,
        "suite": suite,
        "machine": {"processor": processor(), "cores": os.cpu_count(), "memory_bytes": _memory()},
        "system": platform.platform(),
        "versions": {"python": platform.python_version(), "convexmetric": __version__}
        | {name: version(name) for name in ("numpy", "scipy", "numba")},
        **{name: getattr(runs[0], name) for name in ("threads", "seed", "tol", "max_seconds")},
        "runs": [run.to_dict() for run in runs],
    }
    with all_or_nothing(path) as unfinished:
        unfinished.write_text(json.dumps(document, allow_nan=False) + "\n", encoding="utf-8")


def processor() -> str:
    """Name of the processor."""
    with suppress(OSError):
        said = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
        if said:
            return printable(said[1].strip())
    return printable(platform.processor() or platform.machine())


def _memory() -> int | None:
    """Memory of the machine in bytes; None if the system does not report it."""
    with suppress(AttributeError, ValueError, OSError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return None
