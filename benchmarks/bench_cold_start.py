"""The first solve of a fresh process: imports, compiled functions, everything; without a cache of numba and with one.

Every row is a process of its own. ``cold`` has an empty folder for numba's cache, ``second`` is the same command again
with what the first left there. Data are handed over as plain arrays, so that no import of a data set is counted.

    python benchmarks/bench_cold_start.py [--threads 1] [--problems map auc]

``python -X importtime -c "import convexmetric"`` lists the imports.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

# Neither NumPy nor the package above: in a measured process their imports are part of the measurement.
MEASURES = ("auc", "map", "err", "mrr", "ndcg", "ndcg-log2", "precision", "knn")


def ranking(measure: str) -> Callable[[Any, Any, Any, Any], Any]:
    return lambda cm, X, y, _: cm.RankingProblem.from_labels(X, y, measure=measure, C=100.0)


PROBLEMS: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
    **{measure: ranking(measure) for measure in MEASURES},
    "large margin": lambda cm, X, y, _: cm.LargeMarginProblem(X, y),
    "relative comparisons": lambda cm, X, _, triplets: cm.RelativeComparisonProblem(X, triplets, C=1.0),
    "triplets": lambda cm, X, y, _: cm.TripletProblem.from_labels(X, y, reg=0.1),
    "pairs": lambda cm, X, y, _: cm.PairMarginProblem.from_labels(X, y),
    "softmax": lambda cm, *_: cm.load_problem("blocks-softmax-wine"),
}
COLUMNS = ("import", "compile", "solve", "in all", "import cpu", "solve cpu", "in all cpu")


def measured(name: str, data: str) -> dict[str, float]:
    """Seconds of the import and of the first solve, here and now."""
    begin, cpu = perf_counter(), process_time()
    import convexmetric as cm

    imported, imported_cpu = perf_counter() - begin, process_time() - cpu
    import numpy as np
    from numba.core import event

    arrays = np.load(data)
    X, y, triplets = arrays["X"], arrays["y"], arrays["triplets"]
    begin, cpu = perf_counter(), process_time()
    with event.install_recorder("numba:compile") as recorder:
        cm.solve(PROBLEMS[name](cm, X, y, triplets))
    solved, solved_cpu = perf_counter() - begin, process_time() - cpu
    seconds = imported, compiling(recorder.buffer), solved, imported + solved
    processor = imported_cpu, solved_cpu, imported_cpu + solved_cpu
    return dict(zip(COLUMNS, seconds + processor))


def compiling(events: list[tuple[float, Any]]) -> float:
    """Seconds of all compilations, of which one may be within another."""
    total, depth, begin = 0.0, 0, 0.0
    for at, event in events:
        begin = at if event.is_start and depth == 0 else begin
        depth += event.is_start - event.is_end
        total += at - begin if event.is_end and depth == 0 else 0.0
    return total


def run(name: str, data: str, cache: str, threads: int) -> dict[str, float]:
    """:func:`measured` in a process of its own."""
    limits = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    environment = {**os.environ, **dict.fromkeys(limits, str(threads)), "NUMBA_CACHE_DIR": cache}
    # Bytecode is there after an installation.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [sys.executable, __file__, "--measure", name, data]
    answer = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return json.loads(answer.stdout.splitlines()[-1])


def wine(folder: str) -> str:
    """Wine, every feature with mean 0 and variance 1, its labels and 1,000 triplets of them, in a file."""
    import numpy as np

    import convexmetric as cm
    from convexmetric.comparisons import triplets_from_labels

    data = cm.datasets.load("wine")
    X, triplets = cm.datasets.preprocess(data.X, ["zscore"]), triplets_from_labels(data.y, 1000, random_state=0)
    path = str(Path(folder) / "wine.npz")
    np.savez(path, X=X, y=data.y, triplets=triplets)
    return path


def main() -> None:
    """Print one row a process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--threads", type=int, default=2, help="threads of BLAS and numba (default %(default)s)")
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=list(PROBLEMS))
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measured(*arguments.measure)))
        return
    from environment import limit_threads, surroundings
    from tables import markdown

    limit_threads(arguments.threads)
    print(surroundings())
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        data = wine(folder)
        # Not measured: it leaves bytecode behind.
        run(arguments.problems[0], data, folder, arguments.threads)
        for name in arguments.problems:
            cache = str(Path(folder) / name.replace(" ", "-"))
            for start in ("cold", "second"):
                seconds = run(name, data, cache, arguments.threads)
                rows.append([f"{name}, {start}", *[f"{seconds[column]:.2f}" for column in COLUMNS]])
    print()
    print(markdown(["wine", *[f"{column} s" for column in COLUMNS]], rows))


if __name__ == "__main__":
    main()
