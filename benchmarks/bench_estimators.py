"""Which estimator helps k-NN on which data: twelve public sets, estimators as they come, beside two other packages.

    CONVEXMETRIC_DATA=... python benchmarks/bench_estimators.py [--sets wine isolet] [--methods mlr nca]

Features are scaled to variance one, or are 100 principal components (text: 100 dimensions of latent semantic
analysis, rows of norm one). Up to 2,000 rows: five folds; above: one stratified split, 70 to 30. Every fit is a process
of its own with one thread. Printed are accuracy of 3-NN and mean average precision on the held-out rows under Euclidean
distance and under each metric, bold where that is better by two standard errors of the difference over folds, in
italics where it is worse, means over the sets that all methods finished, and seconds of processor time, memory and
certified gap of the largest fit. ``nca`` and ``lda`` are scikit-learn's, ``lmnn`` metric-learn's (where it is
installed; 0.7.0 needs scikit-learn up to 1.7). Fits are appended to a file, and are not repeated when it has them.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from environment import surroundings
from isolated import run
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler
from tables import markdown, seconds

import convexmetric as cm


def leading() -> PCA:
    """The leading principal components."""
    return PCA(100, svd_solver="full")


#: What makes features of the columns of a set; learned on the rows to fit on.
SETS: dict[str, Callable[[], Any]] = {
    "iris": StandardScaler,
    "wine": StandardScaler,
    "balance-scale": StandardScaler,
    "ionosphere": StandardScaler,
    "wdbc": StandardScaler,
    "digits": StandardScaler,
    "binary-alphadigits": StandardScaler,
    "webkb-cmu": lambda: make_pipeline(TfidfTransformer(), TruncatedSVD(100, random_state=0), Normalizer()),
    "isolet": leading,
    "mnist-test": leading,
    "orl-faces": leading,
    "coil20": leading,
}
OURS: dict[str, Callable[[], Any]] = {
    "neighbors": cm.NeighborMetric,
    "large-margin": cm.LargeMargin,
    "mlr": cm.MLR,
    "relative": cm.RelativeComparisonMetric,
    "projection": cm.RandomProjectionMetric,
    "operator": cm.OperatorMarginMetric,
}
OTHERS = ("lda", "nca", "lmnn")
FEW_ROWS = 2_000
#: Retrieval is scored on as many queries at most.
QUERIES = 1_000
NEIGHBORS = 3


def estimator(method: str, limit: float) -> Any:
    """An estimator with the settings that it comes with."""
    if method == "lda":
        return LinearDiscriminantAnalysis()
    if method == "nca":
        return NeighborhoodComponentsAnalysis(random_state=0)
    if method == "lmnn":
        from metric_learn import LMNN

        return LMNN(n_neighbors=NEIGHBORS, random_state=0)
    return OURS[method]().set_params(max_seconds=limit)


def folds(X: Any, y: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows to fit on and rows to score."""
    if len(y) <= FEW_ROWS:
        yield from StratifiedKFold(5, shuffle=True, random_state=0).split(X, y)
    else:
        yield tuple(train_test_split(np.arange(len(y)), test_size=0.3, stratify=y, random_state=0))


def scores(X: np.ndarray, y: np.ndarray, Z: np.ndarray, z: np.ndarray) -> dict[str, float]:
    """Accuracy of k-NN and mean average precision of (Z, z) as queries to (X, y)."""
    accuracy = KNeighborsClassifier(NEIGHBORS).fit(X, y).score(Z, z)
    some = np.random.default_rng(0).permutation(len(Z))[:QUERIES]
    D = (X**2).sum(axis=1) - 2.0 * (Z[some] @ X.T)
    ordered = y[np.argsort(D, axis=1, kind="stable")] == z[some, None]
    hits = ordered.cumsum(axis=1)
    precision = np.where(ordered, hits / np.arange(1, len(X) + 1), 0.0).sum(axis=1) / hits[:, -1]
    return {"knn": float(accuracy), "map": float(precision.mean())}


def fitted(name: str, method: str, fold: int, limit: float) -> dict[str, Any]:
    """Fit on one fold and score the rest before and after."""
    data = cm.datasets.load(name)
    fit, rest = list(folds(data.X, data.y))[fold]
    features = SETS[name]()
    X, Z = features.fit_transform(data.X[fit]), features.transform(data.X[rest])
    y, z = data.y[fit], data.y[rest]
    if method in OURS:
        # Loops are compiled before the clock starts.
        iris = cm.datasets.load("iris")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            OURS[method]().set_params(tol=0.5).fit(iris.X, iris.y)
    model = estimator(method, limit)
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    spent = time.process_time() - start
    before, after = scores(X, y, Z, z), scores(model.transform(X), y, model.transform(Z), z)
    return {
        "before": before,
        "after": after,
        "seconds": spent,
        "gap": float(model.gap_) if hasattr(model, "gap_") else None,
        "shape": list(data.X.shape),
        "fitted": list(X.shape),
    }


def change(mine: list[dict[str, Any]], kind: str) -> tuple[float, float, float]:
    """Mean score before and after, and the standard error of the difference; of one split that of two proportions."""
    before, after = np.array([entry[kind] for entry in mine]).T
    if len(mine) > 1:
        return before.mean(), after.mean(), (after - before).std(ddof=1) / np.sqrt(len(mine))
    held_out = min(mine[0]["shape"][0] - mine[0]["fitted"][0], QUERIES if kind == "map" else np.inf)
    variances = before * (1.0 - before) + after * (1.0 - after)
    return before.mean(), after.mean(), float(np.sqrt(variances / held_out).item())


def cell(mine: list[dict[str, Any]], kind: str) -> str:
    """The score after, bold where it is better by two standard errors, in italics where it is worse."""
    if not mine or mine[-1]["failure"]:
        return mine[-1]["failure"] if mine else "-"
    before, after, error = change(mine, kind)
    mark = "**" if after - before > 2.0 * error else "*" if before - after > 2.0 * error else ""
    return f"{mark}{after:.3f}{mark}"


def cost(mine: list[dict[str, Any]]) -> str:
    """Seconds, megabytes and gap of the largest fit."""
    if not mine or mine[-1]["failure"]:
        return mine[-1]["failure"] if mine else "-"
    gaps = [entry["gap"] for entry in mine if entry["gap"] is not None]
    said = (
        f"{seconds(max(entry['seconds'] for entry in mine))} s, {max(entry['peak'] for entry in mine) / 2**20:.0f} MB"
    )
    return f"{said}, {max(gaps):.0e}" if gaps else said


def _finished(cell: str) -> bool:
    return cell.strip("*").startswith(("0.", "1."))


def tables(runs: list[dict[str, Any]], names: list[str], methods: list[str]) -> str:
    """Accuracies, mean average precisions and costs: a row a set, a column a method."""
    rows: dict[str, list[list[str]]] = {"knn": [], "map": [], "cost": []}
    for name in names:
        of = {m: [entry for entry in runs if (entry["set"], entry["method"]) == (name, m)] for m in methods}
        done = [mine for mine in of.values() if mine and not mine[-1]["failure"]]
        if not done:
            continue
        size = f"{name} ({done[0][0]['shape'][0]} x {done[0][0]['fitted'][1]})"
        for kind in ("knn", "map"):
            before = max(done, key=len)
            rows[kind].append([size, f"{change(before, kind)[0]:.3f}", *[cell(of[m], kind) for m in methods]])
        rows["cost"].append([size, *[cost(of[m]) for m in methods]])
    for kind in ("knn", "map"):
        whole = [[float(cell.strip("*")) for cell in row[1:]] for row in rows[kind] if all(map(_finished, row[1:]))]
        if whole:
            rows[kind].append([f"mean of {len(whole)}", *(f"{mean:.3f}" for mean in np.mean(whole, axis=0))])
    header = ["", "Euclidean", *methods]
    parts = [markdown(header, rows["knn"]), markdown(header, rows["map"]), markdown(["", *methods], rows["cost"])]
    return "\n\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--methods", nargs="+", choices=[*OTHERS, *OURS], default=[*OTHERS, *OURS])
    parser.add_argument("--seconds", type=float, default=120.0, help="max_seconds of our fits (default %(default)s)")
    parser.add_argument("--limit", type=float, default=600.0, help="seconds after which any fit is ended")
    parser.add_argument("--out", type=Path, default=Path("runs.jsonl"))
    options = parser.parse_args()
    print(surroundings("scikit-learn", "metric-learn"), file=sys.stderr)
    done = [json.loads(line) for line in options.out.read_text().splitlines()] if options.out.exists() else []
    known = {(entry["set"], entry["method"], entry["fold"]) for entry in done}
    for name in options.sets:
        data = cm.datasets.load(name)
        count = len(list(folds(data.X, data.y)))
        for method in options.methods:
            if method == "lmnn" and find_spec("metric_learn") is None:
                continue
            for fold in range(count):
                if (name, method, fold) in known:
                    continue
                outcome = run(fitted, name, method, fold, options.seconds, limit=options.limit, threads=1)
                entry = {"set": name, "method": method, "fold": fold, "peak": outcome.peak_bytes}
                entry["failure"] = outcome.failure
                if outcome.value is not None:
                    value = outcome.value
                    for kind in ("knn", "map"):
                        entry[kind] = [value["before"][kind], value["after"][kind]]
                    entry |= {key: value[key] for key in ("seconds", "gap", "shape", "fitted")}
                done.append(entry)
                with options.out.open("a") as file:
                    file.write(json.dumps(entry) + "\n")
                print(json.dumps(entry), file=sys.stderr)
                if outcome.failure:
                    break
    print(tables(done, options.sets, options.methods))


if __name__ == "__main__":
    main()
