"""What a measurement depends on: threads, versions, machine."""

from __future__ import annotations

import argparse
import os
import platform
from importlib.metadata import PackageNotFoundError, packages_distributions, version

import numba
from threadpoolctl import threadpool_info

from convexmetric.numerics.threads import limit_threads

__all__ = ["add_threads_option", "limit_threads", "surroundings"]


def add_threads_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--threads", type=int, default=2, help="threads of BLAS and numba (default %(default)s)")


def surroundings(*packages: str) -> str:
    """Threads in use, versions of Python and of the named packages, and the machine, in one paragraph."""
    pools = {"numba": numba.get_num_threads()}
    for pool in threadpool_info():
        pools[pool["internal_api"]] = max(pool["num_threads"], pools.get(pool["internal_api"], 0))
    threads = ", ".join(f"{name} {count}" for name, count in sorted(pools.items()))
    versions, found = [f"Python {platform.python_version()}"], packages_distributions()
    for package in ("numpy", "scipy", "numba", *packages):
        # A module may come from a distribution of another name, as CuPy does.
        named = found.get(package.replace("-", "_"), [package])[0]
        try:
            versions.append(f"{named} {version(named)}")
        except PackageNotFoundError:
            versions.append(f"{package} not installed")
    load = f", load {os.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else ""
    return (
        f"Threads: {threads}. Versions: {', '.join(versions)}. "
        f"Machine: {platform.machine()}, {os.cpu_count()} cores{load}."
    )
