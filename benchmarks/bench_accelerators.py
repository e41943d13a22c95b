"""Passes over rankings and whole solves with the points on a GPU, beside the processor's cores; at most eight minutes.

    python benchmarks/bench_accelerators.py [--threads 2] [--seconds 60]

A pass is the risk of metric learning to rank by AUC and its slopes, over all queries, timed over 4,000 of them; a solve
is the default's to 1e-2, for so many seconds at most. Beside the seconds of a pass stand the shares that it reaches of
two rates of the same device, which a copy and a product of matrices measure: of the bandwidth, if every distance is
written and read once, and of the product's, by its two products with the points. Without a GPU a pass of an array
library on the processor is compared with NumPy's, and that is all.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from time import perf_counter
from typing import Any
from unittest.mock import patch

import numpy as np
from environment import add_threads_option, limit_threads, surroundings
from made_sets import letters
from tables import markdown, seconds

import convexmetric as cm
from convexmetric.comparisons import passes

Move = Callable[[np.ndarray], Any]
#: Rows and features, queries of a timed pass, and rows of the square matrix that is copied and multiplied.
SIZES, QUERIES, SIDE = ((20_000, 100), (100_000, 100)), 4000, 8192


def card() -> tuple[str, Move] | None:
    """Name of the GPU, and a function that moves points there; None where PyTorch is not at hand or sees none."""
    if not find_spec("torch"):
        return None
    import torch

    if not torch.cuda.is_available():
        return None
    return f"{torch.cuda.get_device_name()}, PyTorch", lambda X: torch.asarray(X, device="cuda")


def without_card() -> str:
    """Passes of an array library on the processor beside NumPy's, in one sentence."""
    library = next((name for name in ("array_api_strict", "torch") if find_spec(name)), None)
    if library is None or not find_spec("array_api_compat"):
        return "No GPU is at hand, nor array-api-compat and a library whose passes could be compared with NumPy's."
    (X, y), M, one = letters(300, 8), np.eye(8) / 8.0, np.zeros(300, dtype=np.int64)
    with patch.object(passes, "HOST", None):
        # Points in the host's memory count as on an accelerator.
        there = ranking(import_module(library).asarray(X), y).separate(M, one).normals
    here = ranking(X, y).separate(M, one).normals
    apart = np.abs(there - here).max() / np.abs(here).max()
    return f"No GPU is at hand; on the processor slopes of a pass by {library} and by NumPy are {apart:.0e} apart."


def ranking(X: Any, y: np.ndarray) -> Any:
    return cm.RankingProblem.from_labels(X, y, measure="auc", C=100.0).risk


def least(work: Callable[[], Any]) -> float:
    """Least seconds of two calls on the wall."""
    begins = [(perf_counter(), work(), perf_counter()) for _ in range(2)]
    return min(end - begin for begin, _, end in begins)


def rates(move: Move) -> tuple[float, float]:
    """Bytes a second of a copy, read and written, and operations a second of a product of square matrices."""
    X = move(np.ones((SIDE, SIDE)))
    xp = passes.compat().array_namespace(X)
    # Fetching an entry waits for the device.
    copied = least(lambda: passes.numpy_array(xp.asarray(X, copy=True)[:1, :1]))
    multiplied = least(lambda: passes.numpy_array((X @ X)[:1, :1]))
    return 16.0 * SIDE**2 / copied, 2.0 * SIDE**3 / multiplied


def measured(name: str, move: Move, limit: float) -> list[list[object]]:
    """A row for every size."""
    rows: list[list[object]] = []
    bandwidth, products = rates(move)
    for n, d in ((500, 10), *SIZES):
        X, y = letters(n, d)
        X = move(X)
        some, M = ranking(X, y).subset(np.arange(min(n, QUERIES))), np.eye(d) / d
        groups = np.zeros(some.parts, dtype=np.int64)
        distances = float(some.parts * n)
        used = least(lambda: some.separate(M, groups))  # noqa: B023 - called at once
        begin = perf_counter()
        solution = cm.solve(cm.RankingProblem.from_labels(X, y, measure="auc", C=100.0), tol=1e-2, max_seconds=limit)
        solved = f"{seconds(perf_counter() - begin)} ({solution.gap:.0e})"
        shares = 16.0 * distances / bandwidth / used, 4.0 * distances * d / products / used
        rows.append([f"{n:,} x {d}", name, seconds(used * n / some.parts), *(f"{s:.1%}" for s in shares), solved])
    # The first size loads compiled loops and the device's.
    return rows[1:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="of a solve (default %(default)s)")
    add_threads_option(parser)
    arguments = parser.parse_args()
    limit_threads(arguments.threads)
    found = card()
    if found is None:
        print(without_card())
        return
    print(surroundings("torch", "array-api-compat"), flush=True)
    rows = measured(*found, arguments.seconds) + measured("processor", np.asarray, arguments.seconds)
    header = ["points", "on", "a pass, s", "of the bandwidth", "of the products' rate", "a solve, s (gap)"]
    print(f"\n{markdown(header, rows)}")


if __name__ == "__main__":
    main()
