"""What people say of 85 shoes, learned from 283,770 triplets: which loss, which penalty, which prior.

    python examples/zappos_choices.py --output zappos.jsonl [--only objects-0] [--tol 0.01] [--seconds 60]
    python examples/zappos_choices.py --output zappos.jsonl --table

Needs the data folder (CONVEXMETRIC_DATA). Every result is kept in the output as soon as it is known; the same command
goes on where it was interrupted.

``held-out``: a random fifth of the triplets tests, a fifth of the others chooses lambda. ``objects-0``, ``objects-1``:
a random fifth of the shoes tests, by triplets of three of them, a quarter of the others chooses lambda; triplets with
shoes of several parts are left out. Features are the rows of a convolutional network, less their mean, on all their
principal axes but those without variance, and scaled to a mean squared distance of 1.

==========  =========================================================================================================
hinge       :class:`convexmetric.TripletProblem`, margin 1
logistic    a logistic loss of the same triplets, from blocks
softmax     :class:`convexmetric.ChoiceProblem`, of triplets the same loss, by another code
==========  =========================================================================================================

Each with a trace, with half the squared norm, and with that of the distance to a prior: 4 times the identity, under
which the mean squared distance is 4 margins.
"""

from __future__ import annotations

import argparse
import itertools
import re
import time
import warnings
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from experiments.results import Results

import convexmetric as cm
from convexmetric.comparisons import Triplets
from convexmetric.cones import PSDCone
from convexmetric.losses import Logistic
from convexmetric.problem import MetricProblem
from convexmetric.regularizers import SquaredFrobenius, Trace, towards
from convexmetric.risks import SmoothSeparableRisk

FEATURES = 4096
SPLITS = ("held-out", "objects-0", "objects-1")
LOSSES = ("hinge", "logistic", "softmax")
#: Penalties, with the scale of the identity to which they are a distance; 0 for none.
PENALTIES = (("trace", 0.0), ("squared-frobenius", 0.0), ("squared-frobenius", 4.0))
REG = {"trace": (1e-2, 1e-3, 1e-4), "squared-frobenius": (1e-3, 1e-4, 1e-5)}


def load() -> tuple[np.ndarray, np.ndarray]:
    """Shoes on their principal axes, and the triplets."""
    folder = cm.datasets.data_folder()
    if folder is None:
        raise SystemExit("set CONVEXMETRIC_DATA to the data folder")
    triplets, names = cm.datasets.read_triplets(folder / "zappos" / "deconflicted_triplets.csv.zip")
    with zipfile.ZipFile(folder / "zappos" / "cnn_feats.csv.zip") as archive:
        text = archive.read("cnn_feats.csv").decode()
    # Its rows follow each other without anything between, such as 2.354220.0 for 2.35422 and 0.0.
    cells = re.sub(r"(\.\d*)(\d\.)", r"\1,\2", text).split(",")
    X = np.array(cells, dtype=np.float64).reshape(-1, FEATURES)
    X = X[[int(name) for name in names]]
    U, s, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    Z = (U * s)[:, s > 1e-9 * s[0]]
    return Z / np.sqrt(2.0 * Z.var(axis=0).sum()), triplets


def parts(split: str, triplets: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Triplets to learn from, to choose lambda by, and to test with."""
    if split == "held-out":
        part = np.random.default_rng(0).permutation(len(triplets)) / len(triplets)
        return triplets[part >= 0.36], triplets[(part >= 0.2) & (part < 0.36)], triplets[part < 0.2]
    part = np.random.default_rng(int(split.split("-")[1])).permutation(n) / n
    of = np.digitize(part, [0.2, 0.4])[triplets]
    learn, choose, test = (triplets[(of == which).all(axis=1)] for which in (2, 1, 0))
    return learn, choose, test


def stated(X: np.ndarray, triplets: np.ndarray, loss: str, penalty: str, scale: float, reg: float) -> MetricProblem:
    """The problem of a loss, a penalty and a prior."""
    prior: Any = scale * np.eye(X.shape[1]) if scale else None
    if loss == "softmax":
        return cm.ChoiceProblem(X, triplets, penalty=penalty, reg=reg, prior=prior)
    if loss == "hinge":
        # The trace of that paper's problem has half a lambda before it.
        weight = 2.0 * reg if penalty == "trace" else reg
        return cm.TripletProblem(X, triplets, penalty=penalty, reg=weight, prior=prior)
    cone, norm = PSDCone(X.shape[1]), Trace(reg) if penalty == "trace" else SquaredFrobenius(reg)
    risk = SmoothSeparableRisk(Triplets(X, triplets, cone), Logistic(1.0 / len(triplets)))
    return MetricProblem(risk, towards(norm, prior, cone) if scale else norm)


def accuracy(M: np.ndarray, X: np.ndarray, triplets: np.ndarray) -> float:
    """Share of triplets in the right order, ties half."""
    products = X @ M @ X.T
    D = np.diag(products)[:, None] + np.diag(products) - 2.0 * products
    i, j, k = triplets.T
    return float(np.mean(0.5 + 0.5 * np.sign(D[i, k] - D[i, j])))


def run(split: str, loss: str, penalty: str, scale: float, tol: float, seconds: float) -> dict[str, Any]:
    """Accuracies at every lambda, with gaps and seconds of the processor."""
    X, triplets = load()
    learn, choose, test = parts(split, triplets, len(X))
    result: dict[str, Any] = {"sizes": [len(learn), len(choose), len(test)], "rows": []}
    result["euclidean"] = accuracy(np.eye(X.shape[1]), X, test)
    for reg in REG[penalty]:
        begun = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            s = cm.solve(stated(X, learn, loss, penalty, scale, reg), tol=tol, max_seconds=seconds)
        found = {"reg": reg, "gap": s.gap, "seconds": time.process_time() - begun, "rank": s.rank, "solver": s.solver}
        found |= {"chosen by": accuracy(s.M, X, choose), "test": accuracy(s.M, X, test)}
        result["rows"].append(found)
    return result


def table(results: Results, tasks: list[dict[str, Any]]) -> str:
    """Test accuracy at the lambda that was chosen, the largest gap of the three solves, and their seconds."""
    lines = []
    for split in dict.fromkeys(task["split"] for task in tasks):
        known = [(task, found) for task in tasks if task["split"] == split and (found := results.get(task))]
        if not known:
            continue
        learn, choose, test = known[0][1]["sizes"]
        lines += [f"\n{split}: {learn} triplets learn, {choose} choose, {test} test; Euclidean distance "]
        lines[-1] += f"{known[0][1]['euclidean']:.3f}\n"
        lines += ["| loss | penalty | prior | accuracy | lambda | rank | largest gap | processor s |"]
        lines += ["|---|---|---|--:|--:|--:|--:|--:|"]
        for task, found in known:
            best = max(found["rows"], key=lambda row: row["chosen by"])
            gap, spent = (max(row["gap"] for row in found["rows"]), sum(row["seconds"] for row in found["rows"]))
            prior = "identity" if task["scale"] else "-"
            lines += [
                f"| {task['loss']} | {task['penalty']} | {prior} | {best['test']:.3f} | {best['reg']:g} | "
                f"{best['rank']} | {gap:.0e} | {spent:.0f} |"
            ]
    return "\n".join(lines)


def main() -> None:
    """Run what is not yet known, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("zappos.jsonl"))
    parser.add_argument("--only", nargs="+", choices=SPLITS, default=SPLITS)
    parser.add_argument("--losses", nargs="+", choices=LOSSES, default=LOSSES)
    parser.add_argument("--tol", type=float, default=1e-2, help="certified gap of each solve")
    parser.add_argument("--seconds", type=float, default=60.0, help="limit of each solve")
    parser.add_argument("--table", action="store_true", help="run nothing")
    arguments = parser.parse_args()
    limits = {"tol": arguments.tol, "seconds": arguments.seconds}
    tasks = [
        {"split": split, "loss": loss, "penalty": penalty, "scale": scale} | limits
        for split, (penalty, scale), loss in itertools.product(arguments.only, PENALTIES, arguments.losses)
    ]
    results = Results(arguments.output)
    for task in tasks:
        if not arguments.table and results.get(task) is None:
            results.add(task, run(**task))
            print(task, flush=True)
    print(table(results, tasks))


if __name__ == "__main__":
    main()
