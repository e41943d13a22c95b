"""Passes over rankings where the points are: in NumPy, in PyTorch and JAX on the processor, and on a GPU if at hand.

Points of twenty clusters, each a query to the others. A pass gives the supporting planes of 32 groups of queries. For
AUC all of it is done in the array library; for MAP distances and adjoint are, and the oracle is a compiled loop. Points
in the host's memory would be taken to NumPy; here they stay in their library, to compare results without a GPU. Every
plane is compared with NumPy's: the table has the largest relative difference of the bounds that they prove. Libraries
that are not installed, and a GPU that is not there, are named as skipped.

    python benchmarks/bench_accelerators.py [--threads 1] [--rows 3000] [--features 100]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import numpy as np
from environment import add_threads_option, limit_threads, surroundings
from tables import markdown

import convexmetric as cm
from convexmetric.comparisons import passes

GROUPS = 32


def libraries(threads: int) -> Iterator[tuple[str, Callable[[np.ndarray], Any] | None]]:
    """Names of array libraries and devices, with a function that moves points there; None where it is not at hand."""
    yield "NumPy", np.asarray
    compat = find_spec("array_api_compat") is not None
    if compat and find_spec("torch"):
        import torch

        torch.set_num_threads(threads)
        yield "PyTorch, processor", torch.asarray
        cuda = torch.cuda.is_available()
        yield "PyTorch, GPU", (lambda X: torch.asarray(X, device="cuda")) if cuda else None
    else:
        yield "PyTorch", None
    if compat and find_spec("jax"):
        import jax

        jax.config.update("jax_enable_x64", True)
        yield f"JAX, {jax.default_backend()}", jax.numpy.asarray
    else:
        yield "JAX", None
    if compat and find_spec("cupy"):
        import cupy

        yield "CuPy, GPU", cupy.asarray
    else:
        yield "CuPy", None


def main() -> None:
    """Print seconds and differences."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_threads_option(parser)
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--features", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    limit_threads(arguments.threads)
    passes.HOST = None
    print(surroundings("torch", "jax", "cupy", "array-api-compat"))
    rng = np.random.default_rng(0)
    y = rng.integers(0, 20, arguments.rows)
    shape = arguments.rows, arguments.features
    X = rng.normal(size=shape) + 0.5 * rng.normal(size=(20, arguments.features))[y]
    M = 0.02 * np.eye(arguments.features)
    groups = np.arange(len(X)) % GROUPS
    rows, skipped, beside = [], [], {}
    for name, move in libraries(arguments.threads):
        if move is None:
            skipped.append(name)
            continue
        for measure in ("auc", "map"):
            problem = cm.RankingProblem.from_labels(move(X), y, measure=measure, C=10.0)
            cuts, times = problem.risk.separate(M, groups), []
            for _ in range(arguments.repeats):
                start = perf_counter()
                problem.risk.separate(M, groups)
                times.append(perf_counter() - start)
            bounds = np.append(cuts.offsets - cuts.normals @ problem.cone.coordinates(M), cuts.offsets)
            seconds, plain = beside.setdefault(measure, (min(times), bounds))
            difference = np.abs(bounds / plain - 1.0).max()
            rows.append(
                [name, problem.measure.label, f"{min(times):.3f}", f"{min(times) / seconds:.2f}", f"{difference:.0e}"]
            )
    print()
    print(markdown(["library", "measure", "seconds a pass", "over NumPy's", "difference of bounds"], rows))
    if skipped:
        print(f"\nskipped, not at hand: {'; '.join(skipped)}")


if __name__ == "__main__":
    main()
