"""Fit metrics of metric-learn or pyDML, in an environment that has it: a program of its own, without this package.

    python peers.py FOLDER

The folder holds ``X.npy`` and ``y.npy``, rows to learn from and their classes, and ``jobs.json``, a list of
``{"name", "method", "options"}``. For every job ``NAME.npy`` is written, the metric L^T L, with what the objective is
made of: ``NAME-pairs.npy`` and ``NAME-r.npy`` (1 for similar pairs, -1 for others), ``NAME-quadruplets.npy``,
``NAME-targets.npy`` or ``NAME-chunks.npy``. ``results.json`` has seconds, iterations, bounds and errors.
"""

from __future__ import annotations

import importlib
import json
import signal
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

#: The fit of a metric may take so many seconds.
LIMIT = 60.0
#: Drawing of pairs, quadruplets and chunks.
SEED = 0


def late(*_: Any) -> None:
    raise TimeoutError(f"not done after {LIMIT:.0f} s")


def drawn(y: np.ndarray, *, same_length: bool = False) -> np.ndarray:
    """Pairs of one class, then of two, as rows (i, j, 1 or -1): those that the supervised estimators draw by a seed."""
    from metric_learn.constraints import Constraints

    count = 20 * len(np.unique(y)) ** 2
    a, b, c, d = Constraints(y).positive_negative_pairs(count, same_length=same_length, random_state=SEED)
    near, far = np.column_stack([a, b, np.ones_like(a)]), np.column_stack([c, d, -np.ones_like(c)])
    return np.vstack([near, far])


def lowered(X: np.ndarray, rows: np.ndarray) -> float:
    """The largest balance among 0.05, 0.005, ... whose matrix ``I + balance sum r v v^T`` is positive definite."""
    V, balance = X[rows[:, 0]] - X[rows[:, 1]], 0.05
    scatter = (V.T * rows[:, 2]) @ V
    while np.linalg.eigvalsh(np.eye(X.shape[1]) + balance * scatter)[0] <= 0.0:
        balance /= 10.0
    return balance


def fitted(method: str, options: dict[str, Any], X: np.ndarray, y: np.ndarray) -> tuple[Any, dict[str, np.ndarray]]:
    """An estimator, fitted, and the parts of its objective."""
    if method == "pyDML-LMNN":
        import dml

        estimator = dml.LMNN(**options)
        estimator.fit(X, y)
        return estimator, {"targets": estimator.target_neighbors_}
    import metric_learn as ml

    if method == "LMNN":
        estimator = ml.LMNN(**options).fit(X, y)
        labels = np.unique(y, return_inverse=True)[1]
        return estimator, {"targets": estimator._select_targets(X, labels)}
    if method == "RCA":
        chunks = ml.constraints.Constraints(y).chunks(options["n_chunks"], 2, random_state=SEED)
        return ml.RCA_Supervised(random_state=SEED, **options).fit(X, y), {"chunks": chunks}
    rows = drawn(y, same_length=method == "LSML")
    parts = {"pairs": rows[:, :2], "r": rows[:, 2]}
    if options.get("balance_param") == "lowered":
        options["balance_param"] = lowered(X, rows)
    if method == "LSML":
        half = len(rows) // 2
        parts = {"quadruplets": np.hstack([rows[:half, :2], rows[half:, :2]])}
    return getattr(ml, f"{method}_Supervised")(random_state=SEED, **options).fit(X, y), parts


def main() -> None:
    folder = Path(sys.argv[1])
    X, y = np.load(folder / "X.npy", allow_pickle=False), np.load(folder / "y.npy", allow_pickle=False)
    signal.signal(signal.SIGALRM, late)
    kept = folder / "results.json"
    results = json.loads(kept.read_text("utf-8")) if kept.exists() else []
    done = {result["name"] for result in results}
    jobs = json.loads((folder / "jobs.json").read_text("utf-8"))
    # So that no fit is charged with the import.
    importlib.import_module("dml" if jobs[0]["method"].startswith("pyDML") else "metric_learn")
    for job in jobs:
        if job["name"] in done:
            continue
        options, start, warned = dict(job["options"]), time.perf_counter(), []
        result = {**job, "error": ""}
        try:
            signal.setitimer(signal.ITIMER_REAL, LIMIT)
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                estimator, parts = fitted(job["method"], options, X.copy(), y)
            pydml = job["method"].startswith("pyDML")
            metric = estimator.metric() if pydml else estimator.components_.T @ estimator.components_
            np.save(folder / f"{job['name']}.npy", np.asarray(metric, dtype=float))
            for part, array in parts.items():
                np.save(folder / f"{job['name']}-{part}.npy", array)
            result["iterations"] = int(getattr(estimator, "n_iter_", 0))
            result["bounds"] = [float(end) for end in getattr(estimator, "bounds_", ())]
        except Exception as error:
            # Whatever a package raises is a row of the table.
            result["error"] = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            if job["method"] == "SDML":
                rows = drawn(y)
                np.save(folder / f"{job['name']}-pairs.npy", rows[:, :2])
                np.save(folder / f"{job['name']}-r.npy", rows[:, 2])
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
        result["seconds"] = time.perf_counter() - start
        result["options"] = options
        result["warnings"] = sorted({str(each.message).splitlines()[0][:120] for each in warned})
        results.append(result)
        kept.write_text(json.dumps(results, indent=1), "utf-8")


if __name__ == "__main__":
    main()
