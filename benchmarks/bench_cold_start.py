"""The first solve of a fresh process: imports, compiled functions, everything; without a cache of numba and with one.

Every row is a process of its own. ``cold`` has an empty folder for numba's cache, ``second`` is the same command again
with what the first left there. Data are handed over as plain arrays, so that no import of a data set is counted.

    python benchmarks/bench_cold_start.py [--threads 1] [--problems map auc] [--functions]

``--functions`` lists the compiled functions of each cold solve, each with what it calls; ``python -X importtime -c
"import convexmetric"`` lists the imports.
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


def measured(name: str, data: str) -> dict[str, Any]:
    """Seconds of the import and of the first solve, here and now, and what was compiled."""
    begin, cpu = perf_counter(), process_time()
    import convexmetric as cm

    imported, imported_cpu = perf_counter() - begin, process_time() - cpu
    import numpy as np
    from numba.core import event

    arrays = np.load(data)
    X, y, triplets = arrays["X"], arrays["y"], arrays["triplets"]
    begin, cpu = perf_counter(), process_time()
    with event.install_recorder("numba:compile") as recorder:
        solution = cm.solve(PROBLEMS[name](cm, X, y, triplets))
    solved, solved_cpu = perf_counter() - begin, process_time() - cpu
    functions, compiling = compiled(recorder.buffer)
    return {
        "import": imported,
        "compile": compiling,
        "solve": solved,
        "in all": imported + solved,
        "import cpu": imported_cpu,
        "solve cpu": solved_cpu,
        "in all cpu": imported_cpu + solved_cpu,
        "gap": float(solution.gap),
        "functions": functions,
    }


def compiled(events: list[tuple[float, Any]]) -> tuple[list[tuple[str, float, int]], float]:
    """Name, seconds and depth of every compilation, and the seconds of all."""
    open_at: list[tuple[str, float]] = []
    found: list[tuple[str, float, int]] = []
    for at, event in events:
        if event.is_start:
            open_at.append((event.data["dispatcher"].py_func.__qualname__, at))
        elif event.is_end:
            name, begin = open_at.pop()
            found.append((name, at - begin, len(open_at)))
    return found, sum(seconds for _, seconds, depth in found if depth == 0)


def run(name: str, data: str, cache: str, threads: int) -> dict[str, Any]:
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
    parser.add_argument("--functions", action="store_true", help="list the compiled functions")
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measured(*arguments.measure)))
        return
    from environment import limit_threads, surroundings
    from tables import markdown

    limit_threads(arguments.threads)
    print(surroundings())
    rows, listed = [], []
    with tempfile.TemporaryDirectory() as folder:
        data = wine(folder)
        # Not measured: it leaves bytecode behind.
        run(arguments.problems[0], data, folder, arguments.threads)
        for name in arguments.problems:
            cache = str(Path(folder) / name.replace(" ", "-"))
            for start in ("cold", "second"):
                seconds = run(name, data, cache, arguments.threads)
                rows.append([f"{name}, {start}", *[f"{seconds[column]:.2f}" for column in COLUMNS]])
                listed += [(name, *function) for function in seconds["functions"]]
    print()
    print(markdown(["wine", *[f"{column} s" for column in COLUMNS]], rows))
    if arguments.functions:
        print()
        for name, function, took, depth in listed:
            print(f"{name:20} {took:7.2f} s  {'  ' * depth}{function}")


if __name__ == "__main__":
    main()
