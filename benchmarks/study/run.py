"""How far metrics of metric-learn and pyDML are from the certified optimum of their own objectives.

    CONVEXMETRIC_DATA=... python benchmarks/study/run.py --folder study [--sets wine iris]
    CONVEXMETRIC_DATA=... python benchmarks/study/run.py --folder study --sets wine iris --packages metric-learn pyDML
    python benchmarks/study/run.py --folder study --tables

Features are scaled to variance one (wine-unscaled: as published), or are 15 principal components; at most 240 rows of
the first 10 classes are learned from and 400 held out, both stratified. Each package runs in a process and an
environment of its own, made by ``requirements*.txt`` in a cache folder (``--python`` names others), and hands back
arrays. Every objective is stated by ``statements.py``, solved to 1e-6 or for ``--limit`` seconds, and written as a
certificate, whose proven lower bound is what a metric is compared with. Fits and records are kept in the folder, and
not made again. pyDML, which is slow and takes minutes to build, runs where ``--packages`` names it. Prints tables.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import subprocess
import sys
import time
import venv
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

if __name__ == "__main__":
    # Run as a script, this file sees its own folder only.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from environment import surroundings
from tables import markdown, seconds

import convexmetric as cm
from study import statements

HERE = Path(__file__).resolve().parent
TRAIN, HELD_OUT, CLASSES = 240, 400, 10
#: Absolute gap that is asked beside the relative one: the optimum of RCA is 0.
ZERO = 1e-9


def leading() -> Any:
    """Fifteen principal components: as many as all of these sets can have without a direction that is nearly empty."""
    return PCA(15, svd_solver="full")


def scaled_components() -> Any:
    """The same of digits' pixels, some of which are constant."""
    return make_pipeline(StandardScaler(), leading())


SETS: dict[str, Callable[[], Any]] = {
    "iris": StandardScaler,
    "wine": StandardScaler,
    "breast-cancer": StandardScaler,
    "balance-scale": StandardScaler,
    "ionosphere": scaled_components,
    "digits": scaled_components,
    "isolet": leading,
    "mnist-test": leading,
    "coil20": leading,
    "wine-unscaled": FunctionTransformer,
}
#: Settings of every method: as it comes, and by its own options where it has any that do not change its objective.
#: SDML and RCA have none; their second settings are other problems: a balance at which SDML does not warn, and as few
#: chunks as small sets have.
SETTINGS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "LMNN": ({}, {"learn_rate": 1e-3, "convergence_tol": 1e-6, "max_iter": 1500}),
    "ITML": ({}, {"tol": 1e-6, "max_iter": 3000}),
    "MMC": ({}, {"tol": 1e-9, "max_iter": 1000}),
    "LSML": ({}, {"tol": 1e-9, "max_iter": 10000}),
    "SDML": ({}, {"balance_param": "lowered"}),
    "RCA": ({"n_chunks": 100}, {"n_chunks": 40}),
    "pyDML-LMNN": ({}, {"learning_rate": "constant", "eta0": 1e-4, "max_iter": 200}),
}
#: Pinned requirements of every package, its methods, and whether it is built by what is pinned.
PACKAGES = {
    "metric-learn": ("requirements.txt", [method for method in SETTINGS if not method.startswith("pyDML")], ""),
    "pyDML": ("requirements-pydml.txt", ["pyDML-LMNN"], "pydml==0.1.0"),
}
NAMES = ("as it comes", "tuned")


def environment(folder: Path, package: str) -> Path:
    """Make an environment with a package, once for every text of its requirements, and return its Python."""
    file, _, built = PACKAGES[package]
    home = folder / f"{package}-{hashlib.sha256((HERE / file).read_bytes()).hexdigest()[:12]}"
    python = home / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    if not (home / "complete").exists():
        venv.create(home, with_pip=True, clear=True)
        install = [python, "-m", "pip", "install", "-q"]
        subprocess.run([*install, "-r", HERE / file], check=True)
        if built:
            subprocess.run([*install, "--no-build-isolation", "--no-deps", built], check=True)
        (home / "complete").touch()
    return python


def split(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Points and classes to learn from, and held out."""
    data = cm.datasets.load(name.removesuffix("-unscaled"))
    X, y = np.asarray(data.X, dtype=float), np.asarray(data.y)
    first = np.isin(y, np.unique(y)[:CLASSES])
    X, y = X[first], y[first]
    train = min(TRAIN, int(0.6 * len(y)))
    held_out = min(HELD_OUT, len(y) - train)
    X, Z, y, z = train_test_split(X, y, train_size=train, test_size=held_out, random_state=0, stratify=y)
    model = SETS[name]()
    return model.fit_transform(X), y, model.transform(Z), z


def error(M: np.ndarray, X: np.ndarray, y: np.ndarray, Z: np.ndarray, z: np.ndarray) -> float:
    """Share of held-out points that three nearest neighbours under M put in a wrong class."""
    w, V = np.linalg.eigh(0.5 * (M + M.T))
    L = V * np.sqrt(np.maximum(w, 0.0))
    return float(1.0 - KNeighborsClassifier(3).fit(X @ L, y).score(Z @ L, z))


def ratio(cost: float, lower: float, *, maximum: bool = False) -> float:
    """At most how many times the optimum a cost is; of a maximum, how many times less.

    NaN where the bound is negative or, as RCA's are, within ``ZERO`` of zero: then no ratio is a measure.
    """
    if maximum:
        return lower / cost if cost < 0.0 else math.inf
    return cost / lower if lower > ZERO else math.nan


def fits_of_peers(python: Path, folder: Path, X: np.ndarray, y: np.ndarray, methods: list[str]) -> list[dict[str, Any]]:
    """Run methods of a package on points in its own process; fits that are in the folder are not made again."""
    folder.mkdir(parents=True, exist_ok=True)
    jobs = [
        {"name": f"{method}-{of}", "method": method, "options": SETTINGS[method][of]}
        for method in methods
        for of in (0, 1)
    ]
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y)
    (folder / "jobs.json").write_text(json.dumps(jobs), "utf-8")
    subprocess.run([python, HERE / "peers.py", folder], check=True)
    fits = {fit["name"]: fit for fit in json.loads((folder / "results.json").read_text("utf-8"))}
    return [fits[job["name"]] for job in jobs]


def parts_of(folder: Path, fit: dict[str, Any]) -> dict[str, Any]:
    """What a fit left of its objective."""
    parts = {"bounds": fit.get("bounds")}
    for part in ("targets", "pairs", "r", "quadruplets", "chunks"):
        path = folder / f"{fit['name']}-{part}.npy"
        if path.exists():
            parts[part] = np.load(path, allow_pickle=False)
    return parts


def solved(statement: statements.Statement, path: Path, limit: float) -> dict[str, Any]:
    """Solve an objective and prove it: bounds, gap, seconds, and the metric on the features."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cm.errors.GapWarning)
        solution = cm.solve(statement.problem, max_seconds=limit, atol=ZERO)
    used = time.perf_counter() - start
    verdict = cm.write_certificate(path, solution)
    if not cm.verify(path).accepted:
        raise RuntimeError(f"{path.name} is not accepted")
    M = statement.on_features(solution.certificate.M) if statement.metric is None else statement.metric
    # The upper bound is the plain cost of the metric, so that one for a problem below does not pass for it.
    upper, lower = statement.cost(statement.feasible(M)), float(verdict.lower)
    gap = (upper - lower) / max(abs(upper), abs(lower), np.finfo(float).tiny)
    return {"lower": lower, "upper": upper, "gap": gap, "seconds": used, "M": M}


def compile_loops() -> None:
    """Solve a small problem, so that no limit is used up by compilation."""
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2
    cm.solve(cm.LargeMarginProblem(X, y, n_neighbors=1))


def judged(M: np.ndarray, statement: statements.Statement, optimum: dict[str, Any]) -> dict[str, Any]:
    """Compare a metric with the proven bound of its objective."""
    cost = statement.cost(statement.feasible(M))
    return {
        "cost": cost,
        "ratio": ratio(cost, optimum["lower"], maximum=statement.maximum),
        "excess": cost - optimum["lower"],
    }


def study(name: str, folder: Path, python: Path, methods: list[str], limit: float) -> list[dict[str, Any]]:
    """Records of all methods on a set."""
    X, y, Z, z = split(name)
    work, records = folder / name, []
    euclidean = error(np.eye(X.shape[1]), X, y, Z, z)
    optima: dict[tuple[str, str], tuple[statements.Statement, dict[str, Any]]] = {}
    for fit in fits_of_peers(python, work, X, y, methods):
        method, options = fit["method"], fit["options"]
        record = {
            "set": name, "n": len(X), "d": X.shape[1], "method": method, "settings": NAMES[int(fit["name"][-1])],
            "peer_seconds": fit["seconds"], "error": fit["error"], "warnings": fit["warnings"],
            "options": options, "euclidean": euclidean,
        }  # fmt: skip
        records.append(record)
        parts = parts_of(work, fit)
        balance = options.get("balance_param", 0.5)
        if method == "SDML" and statements.falls_forever(X, parts["pairs"], parts["r"], balance, 0.01):
            record["unbounded"] = True
        path = work / f"{fit['name']}.npy"
        metric = np.load(path, allow_pickle=False) if path.exists() else None
        if metric is not None:
            record["held_out"] = error(metric, X, y, Z, z)
        if metric is None or record.get("unbounded"):
            continue
        key = (method, str(balance if method == "SDML" else options.get("n_chunks")))
        if key not in optima:
            statement = statements.stated(method, X, y, parts, options)
            optima[key] = statement, solved(statement, work / f"{fit['name']}-certificate.npz", limit)
        statement, optimum = optima[key]
        record |= judged(metric, statement, optimum)
        record |= {"optimum_" + key: optimum[key] for key in ("lower", "upper", "gap", "seconds")}
        record["optimum_held_out"] = error(optimum["M"], X, y, Z, z)
    return records


def digits(value: float) -> str:
    """A ratio with the digits that tell it from 1."""
    if not math.isfinite(value):
        return "-" if math.isnan(value) else "inf"
    above = value - 1.0
    return f"{value:.4g}" if above >= 0.1 else f"{value:.4f}" if above >= 1e-4 else f"1 + {max(above, 0.0):.0e}"


def cell_of_ratio(record: dict[str, Any]) -> str:
    """What a metric costs over the optimum; what is known instead where that is no number."""
    if record.get("unbounded"):
        return "no optimum; " + ("refused" if record["error"] else "returned a metric")
    if record["error"]:
        kind = record["error"].partition(":")[0]
        return f"> {record['peer_seconds']:.0f} s" if kind == "TimeoutError" else kind
    value = record["ratio"]
    return digits(value) if math.isfinite(value) else f"+{record['excess']:.1e}"


def cell_of_error(record: dict[str, Any]) -> str:
    """Percent of held-out points in a wrong class."""
    return f"{100 * record['held_out']:.1f}" if "held_out" in record else "-"


def cell_of_seconds(record: dict[str, Any]) -> str:
    """Seconds of the fit."""
    return seconds(record["peer_seconds"])


def tables(records: list[dict[str, Any]]) -> str:
    """Three tables, sets down and methods across: ratios, held-out errors, seconds."""
    sets = list(dict.fromkeys(record["set"] for record in records))
    methods = list(dict.fromkeys(record["method"] for record in records))
    at = {(record["set"], record["method"], record["settings"]): record for record in records}
    euclidean = {record["set"]: f"{100 * record['euclidean']:.1f}" for record in records}

    def rows(cell: Callable[[dict[str, Any]], str], last: Callable[[dict[str, Any]], str] | None) -> list[list[str]]:
        lines = []
        for name in sets:
            line = [name]
            for method in methods:
                both = [at[name, method, of] for of in NAMES if (name, method, of) in at]
                cells = [cell(record) for record in both]
                if last is not None and both:
                    cells.append(next((last(record) for record in both if "optimum_gap" in record), "-"))
                line.append(" / ".join(cells))
            lines.append(line)
        return lines

    errors = rows(cell_of_error, lambda record: f"{100 * record['optimum_held_out']:.1f}")
    parts = (
        ("Cost over the certified lower bound, as it comes / tuned:", [], rows(cell_of_ratio, None)),
        (
            "Held-out error in %, as it comes / tuned / at the optimum:",
            ["Euclidean"],
            [[*line, euclidean[line[0]]] for line in errors],
        ),
        (
            "Seconds, as it comes / tuned / ours to the optimum:",
            [],
            rows(cell_of_seconds, lambda record: seconds(record["optimum_seconds"])),
        ),
    )
    return "\n\n".join(f"{title}\n\n{markdown(['set', *methods, *more], lines)}" for title, more, lines in parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="where records, arrays and certificates go")
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS))
    parser.add_argument("--packages", nargs="+", default=["metric-learn"], choices=list(PACKAGES))
    parser.add_argument("--python", nargs="+", type=Path, help="of environments with these packages, in their order")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "convexmetric")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds of a solve (default %(default)s)")
    parser.add_argument("--tables", action="store_true", help="print tables of the records that are there")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    records: list[dict[str, Any]] = []
    for package, given in zip(arguments.packages, arguments.python or [None] * len(arguments.packages)):
        for name in arguments.sets:
            kept = arguments.folder / f"{name}-{package}.json"
            if not kept.exists() and not arguments.tables:
                python = given or environment(arguments.cache, package)
                compile_loops()
                found = study(name, arguments.folder, python, PACKAGES[package][1], arguments.limit)
                kept.write_text(json.dumps(found, indent=1), "utf-8")
                print(f"{name} done", file=sys.stderr)
            if kept.exists():
                records += json.loads(kept.read_text("utf-8"))
    print(tables(records))
    print(surroundings("scikit-learn"), file=sys.stderr)


if __name__ == "__main__":
    main()
