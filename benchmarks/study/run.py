"""How far from optimal are the metrics that other packages return?

    CONVEXMETRIC_DATA=... python benchmarks/study/run.py --folder study --packages pyDML --python ENVIRONMENT/bin/python
    python benchmarks/study/run.py --folder study --tables

Methods of metric-learn, pyDML and PyTorch are fitted to public sets, with their defaults and tuned. Each package runs
in a process and an environment of its own, with what ``requirements*.txt`` pin, and hands back arrays. Every objective
is stated by ``statements.py``, solved to 1e-6 or for ``--limit`` seconds, and written as a certificate, whose proven
lower bound is what a metric is compared with. Fits and records are kept in the folder and not made again: a run that
was cut off goes on. ``--tables`` prints the records that are there; ``RESULTS.md`` has those of all sets.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import time
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

from environment import limit_threads, surroundings
from tables import markdown

import convexmetric as cm
from study import statements

HERE = Path(__file__).resolve().parent
TRAIN, HELD_OUT, CLASSES = 240, 400, 10
#: pyDML compares all pairs in loops.
TRAIN_OF = {"pyDML": 100}
#: Absolute gap that is asked beside the relative one: the optimum of RCA is 0.
ZERO = 1e-9


def leading() -> Any:
    """Fifteen principal components: as many as all of these sets can have without a direction that is nearly empty."""
    return PCA(15, svd_solver="full")


def scaled_components() -> Any:
    """The same of digits' pixels, some of which are constant."""
    return make_pipeline(StandardScaler(), leading())


#: Features of every set; ``leading`` ones are divided by one number, their standard deviation.
SETS: dict[str, Callable[[], Any]] = {
    "iris": StandardScaler,
    "wine": StandardScaler,
    "wine-unscaled": FunctionTransformer,
    "breast-cancer": StandardScaler,
    "balance-scale": StandardScaler,
    "ionosphere": scaled_components,
    "digits": scaled_components,
    "isolet": leading,
    "mnist-test": leading,
    "coil20": leading,
    "binary-alphadigits": leading,
}
#: Settings of every method: as it comes, and by its own options where it has any that do not change its objective.
#: SDML and RCA have none; their second settings are other problems: a balance at which SDML does not warn, and as few
#: chunks as small sets have. The weight decay of PyTorch's, 0 by default, is part of the problem.
DECAY = {"weight_decay": 1e-2}
STEPS: tuple[dict[str, Any], dict[str, Any]] = (
    {"lr": 1e-3, "epochs": 100, **DECAY},
    {"lr": "searched", "epochs": 300, **DECAY},
)
SETTINGS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "LMNN": ({}, {"learn_rate": 1e-3, "convergence_tol": 1e-6, "max_iter": 1500}),
    "MMC": ({}, {"tol": 1e-9, "max_iter": 1000}),
    "LSML": ({}, {"tol": 1e-9, "max_iter": 10000}),
    "SDML": ({}, {"balance_param": "lowered"}),
    "RCA": ({"n_chunks": 100}, {"n_chunks": 40}),
    "ITML": ({}, {"tol": 1e-6, "max_iter": 3000}),
    "torch-triplet-SGD": STEPS,
    "torch-triplet-Adam": STEPS,
    "torch-InfoNCE-SGD": STEPS,
    "torch-InfoNCE-Adam": STEPS,
    "pyDML-LMNN": ({}, {"learning_rate": "constant", "eta0": 1e-4, "max_iter": 200}),
    "pyDML-DML_eig": ({}, {"max_it": 100}),
    "pyDML-ITML": ({}, {"max_iter": 300000}),
    "pyDML-MCML": ({}, {"eta0": 1e-3, "max_iter": 150, "prec": 1e-9, "tol": 1e-9}),
    "pyDML-LDML": ({}, {"eta0": 1e-4, "max_iter": 60, "prec": 1e-9, "tol": 1e-9}),
    "pyDML-LSI": ({"supervised": True}, {"supervised": True, "err": 1e-9, "max_iter": 150}),
}
#: Packages, whose pinned requirements are beside this file; the order is that of a run.
PACKAGES = ("metric-learn", "PyTorch", "pyDML")
PREFIX = {"metric-learn": "", "PyTorch": "torch-", "pyDML": "pyDML-"}
NAMES = ("as it comes", "tuned")


def package_of(method: str) -> str:
    """Package that has a method."""
    return next((package for package, prefix in PREFIX.items() if prefix and method.startswith(prefix)), "metric-learn")


def split(name: str, rows: int = TRAIN) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Points and classes to learn from, and held out."""
    data = cm.datasets.load(name.removesuffix("-unscaled"))
    X, y = np.asarray(data.X, dtype=float), np.asarray(data.y)
    first = np.isin(y, np.unique(y)[:CLASSES])
    X, y = X[first], y[first]
    train = min(rows, int(0.6 * len(y)))
    held_out = min(HELD_OUT, len(y) - train)
    X, Z, y, z = train_test_split(X, y, train_size=train, test_size=held_out, random_state=0, stratify=y)
    model = SETS[name]()
    X, Z = model.fit_transform(X), model.transform(Z)
    size = X.std() if SETS[name] is leading else 1.0
    return X / size, y, Z / size, z


def error(M: np.ndarray, X: np.ndarray, y: np.ndarray, Z: np.ndarray, z: np.ndarray) -> float:
    """Share of held-out points that three nearest neighbours under M put in a wrong class."""
    w, V = np.linalg.eigh(0.5 * (M + M.T))
    # Neighbours do not change with the scale of a metric.
    L = V * np.sqrt(np.maximum(w, 0.0) / max(abs(w[-1]), np.finfo(float).tiny))
    return float(1.0 - KNeighborsClassifier(3).fit(X @ L, y).score(Z @ L, z))


def ratio(cost: float, lower: float, *, maximum: bool = False) -> float:
    """At most how many times the optimum a cost is; of a maximum, how many times less.

    NaN where the bound is negative or, as RCA's are, within ``ZERO`` of zero: then no ratio is a measure.
    """
    if maximum:
        return lower / cost if cost < 0.0 else math.inf
    return cost / lower if lower > ZERO else math.nan


def jobs_of(methods: list[str]) -> list[dict[str, Any]]:
    """Both settings of every method."""
    return [
        {"name": f"{method}-{of}", "method": method, "options": SETTINGS[method][of]}
        for method in methods
        for of in (0, 1)
    ]


def fits_of_peers(
    python: Path, folder: Path, X: np.ndarray, y: np.ndarray, jobs: list[dict[str, Any]], limit: float
) -> list[dict[str, Any]]:
    """Run jobs of a package on points in its own process; fits that are in the folder are not made again."""
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "X.npy", X)
    np.save(folder / "y.npy", y)
    (folder / "jobs.json").write_text(json.dumps(jobs), "utf-8")
    subprocess.run([python, HERE / "peers.py", folder, str(limit)], check=True)
    fits = {fit["name"]: fit for fit in json.loads((folder / "results.json").read_text("utf-8"))}
    return [fits[job["name"]] for job in jobs]


def parts_of(folder: Path, fit: dict[str, Any]) -> dict[str, Any]:
    """What a fit left of its objective."""
    parts = {"bounds": fit.get("bounds")}
    for part in ("targets", "pairs", "r", "quadruplets", "chunks", "near", "far", "listed"):
        path = folder / f"{fit['name']}-{part}.npy"
        if path.exists():
            parts[part] = np.load(path, allow_pickle=False)
    return parts


def solved(state: Callable[[], statements.Statement], path: Path, limit: float) -> dict[str, Any]:
    """State an objective, solve it and prove it: bounds, gap, seconds, verdict, the metric on the features."""
    start = time.process_time()
    statement = state()
    if statement.certificate is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cm.errors.GapWarning)
            found = cm.solve(statement.problem, max_seconds=limit, atol=ZERO).certificate
    else:
        found = statement.certificate
    used = time.process_time() - start
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cm.errors.GapWarning)
        cm.write_certificate(path, statement.problem, solution=found, rules=statement.rules)
    verdict = cm.verify(path, rules=statement.rules)
    if not verdict.accepted:
        raise RuntimeError(f"{path.name} is not accepted")
    M = statement.on_features(found.M) if statement.metric is None else statement.metric
    # The upper bound is the plain cost of the metric, so that one for a problem below does not pass for it.
    upper, lower = statement.cost(statement.feasible(M)), float(verdict.lower)
    gap = (upper - lower) / max(abs(upper), abs(lower), np.finfo(float).tiny)
    said = {"verdict": "accepted", "proof_seconds": verdict.seconds, "own_rules": len(verdict.rules), "file": path.name}
    return {"statement": statement, "lower": lower, "upper": upper, "gap": gap, "seconds": used, "M": M, **said}


def compile_loops() -> None:
    """Solve a small problem, so that no limit is used up by compilation."""
    X, y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 2
    cm.solve(cm.LargeMarginProblem(X, y, n_neighbors=1))


def judged(M: np.ndarray, statement: statements.Statement, optimum: dict[str, Any]) -> dict[str, Any]:
    """Compare a metric with the proven bound of its objective."""
    cost = statement.cost(statement.feasible(M))
    found = {
        "cost": cost,
        "ratio": ratio(cost, optimum["lower"], maximum=statement.maximum),
        "excess": cost - optimum["lower"],
    }
    if statement.inside is not None:
        mapped = statement.cost(statement.feasible(statement.inside(M)))
        found["mapped"] = ratio(mapped, optimum["lower"], maximum=statement.maximum)
    return found


def study(
    name: str, folder: Path, python: Path, methods: list[str], limit: float, fit_limit: float = 60.0
) -> list[dict[str, Any]]:
    """Records of methods of a package on a set; those that are in the folder are not made again."""
    package = package_of(methods[0])
    X, y, Z, z = split(name, TRAIN_OF.get(package, TRAIN))
    work, records = folder / name / package, []
    euclidean = error(np.eye(X.shape[1]), X, y, Z, z)
    optima: dict[tuple[str, str], dict[str, Any]] = {}
    for fit in fits_of_peers(python, work, X, y, jobs_of(methods), fit_limit):
        done = work / f"{fit['name']}-record.json"
        if done.exists():
            records.append(json.loads(done.read_text("utf-8")))
            continue
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
        record["diverged"] = metric is not None and not np.isfinite(metric).all()
        if metric is not None and not record["diverged"]:
            record["held_out"] = error(metric, X, y, Z, z)
        if metric is not None and not record.get("unbounded"):
            key = (method, str(balance if method == "SDML" else options.get("n_chunks")))
            if key not in optima:

                def state() -> statements.Statement:
                    return statements.stated(method, X, y, parts, options)  # noqa: B023 - called before the next one

                optima[key] = solved(state, work / f"{fit['name']}-certificate.npz", limit)
            statement, optimum = optima[key]["statement"], optima[key]
            if not record["diverged"]:
                record |= judged(metric, statement, optimum)
            kept = ("lower", "upper", "gap", "seconds", "verdict", "proof_seconds", "own_rules", "file")
            record |= {"optimum_" + key: optimum[key] for key in kept}
            record["optimum_held_out"] = error(optimum["M"], X, y, Z, z)
        done.write_text(json.dumps(record, indent=1), "utf-8")
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
        return "not ended" if kind == "TimeoutError" else kind
    if record.get("diverged"):
        return "diverged"
    value = record["ratio"]
    if "mapped" in record:
        return f"{digits(value)} ({digits(record['mapped'])})"
    return digits(value) if math.isfinite(value) else f"+{record['excess']:.1e}"


def cell_of_error(record: dict[str, Any]) -> str:
    """Percent of held-out points in a wrong class."""
    return f"{100 * record['held_out']:.1f}" if "held_out" in record else "-"


def cell_of_seconds(record: dict[str, Any]) -> str:
    """Seconds of the fit."""
    ended = not record["error"].startswith("TimeoutError")
    return f"{record['peer_seconds']:.2g}" if ended else f"> {record['peer_seconds']:.0f}"


def table(
    records: list[dict[str, Any]],
    package: str,
    cell: Callable[[dict[str, Any]], str],
    last: Callable[[dict[str, Any]], str] | None = None,
    euclidean: bool = False,
) -> str:
    """A table of a package, sets down and methods across: both settings, and what is said of the optimum."""
    records = [record for record in records if package_of(record["method"]) == package]
    sets = [name for name in SETS if any(record["set"] == name for record in records)]
    methods = [method for method in SETTINGS if any(record["method"] == method for record in records)]
    at = {(record["set"], record["method"], record["settings"]): record for record in records}
    lines = []
    for name in sets:
        line = [name]
        for method in methods:
            both = [at[name, method, of] for of in NAMES if (name, method, of) in at]
            cells = [cell(record) for record in both]
            if last is not None and both:
                cells.append(next((last(record) for record in both if "optimum_gap" in record), "-"))
            line.append(" / ".join(cells))
        if euclidean:
            line.append(next(f"{100 * record['euclidean']:.1f}" for record in records if record["set"] == name))
        lines.append(line)
    header = [method.removeprefix(PREFIX[package]) for method in methods]
    return markdown([package, *header, *(["Euclidean"] if euclidean else [])], lines)


def proofs(records: list[dict[str, Any]]) -> str:
    """How many certificates there are, what became of them, and their gaps."""
    files = {(r["set"], r["method"], r["optimum_file"]): r for r in records if "optimum_file" in r}
    accepted = [r for r in files.values() if r["optimum_verdict"] == "accepted"]
    own = sum(r["optimum_own_rules"] > 0 for r in accepted)
    wide = [r for r in accepted if r["optimum_gap"] > 2e-6 and r["method"] != "RCA"]
    seconds = [r["optimum_proof_seconds"] for r in accepted]
    text = (
        f"{len(files)} certificate files, {len(accepted)} of them accepted, {len(accepted) - own} by the kernel alone "
        f"and {own} with `benchmarks/study/rules.py`; a proof takes {statistics.median(seconds):.2g} s in the middle "
        f"and {max(seconds):.2g} s at most. "
    )
    if wide:
        said = ", ".join(f"{r['method']} on {r['set']} {r['optimum_gap']:.0e}" for r in wide)
        return text + f"Relative gaps are at most 2e-6, but for {said}."
    return text + "Relative gaps are at most 2e-6 (RCA, whose optimum is 0: absolute ones)."


def tables(records: list[dict[str, Any]]) -> str:
    """All tables: ratios by package, PyTorch's epochs, held-out errors, seconds, certificates."""
    packages = [package for package in PACKAGES if any(package_of(record["method"]) == package for record in records)]
    parts = ["Cost over the certified lower bound, as it comes / tuned:"]
    parts += [table(records, package, cell_of_ratio) for package in packages]
    parts.append("Held-out error in %, as it comes / tuned / at the optimum:")
    parts += [
        table(records, package, cell_of_error, lambda r: f"{100 * r['optimum_held_out']:.1f}", euclidean=True)
        for package in packages
    ]
    parts.append("Seconds of one processor, as it comes / tuned / ours to the optimum (`>`: not ended):")
    parts += [table(records, package, cell_of_seconds, lambda r: f"{r['optimum_seconds']:.2g}") for package in packages]
    if any("optimum_file" in record for record in records):
        parts.append(proofs(records))
    cells = {(record["set"], package_of(record["method"])) for record in records}
    if len(cells) < len(SETS) * len(PACKAGES):
        parts.append(f"So far {len(cells)} of {len(SETS) * len(PACKAGES)} runs of a package on a set are here.")
    return "\n\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="where records, arrays and certificates go")
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS))
    parser.add_argument("--packages", nargs="+", default=list(PACKAGES), choices=list(PACKAGES))
    parser.add_argument("--python", nargs="+", type=Path, help="of environments with these packages, in their order")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds of a solve (default %(default)s)")
    parser.add_argument(
        "--fit-limit", type=float, default=45.0, help="seconds of a package's fit (default %(default)s)"
    )
    parser.add_argument("--tables", action="store_true", help="print tables of the records that are there")
    arguments = parser.parse_args()
    # Seconds are those of the processor: one thread makes them those of a clock on an idle machine.
    limit_threads(1)
    folder, cells = arguments.folder, [(name, package) for package in arguments.packages for name in arguments.sets]
    folder.mkdir(parents=True, exist_ok=True)
    missing = [cell for cell in cells if not (folder / "{}-{}.json".format(*cell)).exists() and not arguments.tables]
    if missing and len(arguments.python or ()) != len(arguments.packages):
        parser.error(f"--python names the Python of an environment with each of {', '.join(arguments.packages)}")
    compile_loops()
    for name, package in missing:
        methods = [method for method in SETTINGS if package_of(method) == package]
        python = arguments.python[arguments.packages.index(package)]
        found = study(name, folder, python, methods, arguments.limit, arguments.fit_limit)
        (folder / f"{name}-{package}.json").write_text(json.dumps(found, indent=1), "utf-8")
    records: list[dict[str, Any]] = []
    for name, package in cells:
        # Those of a cell that was cut off, too.
        order = {f"{method}-{of}": len(NAMES) * k + of for k, method in enumerate(SETTINGS) for of in (0, 1)}
        paths = (folder / name / package).glob("*-record.json")
        for path in sorted(paths, key=lambda path: order[path.name.removesuffix("-record.json")]):
            records.append(json.loads(path.read_text("utf-8")))
    print(tables(records))
    print(surroundings("scikit-learn"), file=sys.stderr)


if __name__ == "__main__":
    main()
