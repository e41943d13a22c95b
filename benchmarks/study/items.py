"""Embeddings of items that have no features: those of cblearn beside the convex optimum, on the same triplets.

    CONVEXMETRIC_DATA=... python benchmarks/study/items.py --folder items --python ENVIRONMENT/bin/python

``ENVIRONMENT`` has cblearn 0.4.0. Answers about wines and digits are made, with noise; those about shoes are of people.
Weights and dimensions are chosen by a fifth of the triplets to learn from, and errors are those of other triplets, over
five draws of both. What is in the folder is not made again.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

if __name__ == "__main__":
    # Run as a script, this file sees its own folder only.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from environment import limit_threads, surroundings
from tables import markdown

import convexmetric as cm
from convexmetric.comparisons import Triplets
from convexmetric.cones import PSDCone
from convexmetric.losses import Hinge
from convexmetric.regularizers import Trace
from convexmetric.risks import SeparableRisk

SPLITS, LEARN, TEST = 5, 4000, 2000
#: Shares of the weight of a trace at which metrics begin, from the strongest on.
SHARES = (0.5, 0.3, 0.2, 0.1, 0.05, 0.02)


def made(name: str, items: int, noise: float, rng: np.random.Generator) -> np.ndarray:
    """Answers by distances of standardised features, each turned with the probability of a logistic with that noise."""
    data = cm.datasets.load(name)
    X = cm.datasets.preprocess(data.X, ["zscore", "pca:10"])[rng.permutation(len(data.X))[:items]]
    rows = np.array([rng.choice(items, 3, replace=False) for _ in range(LEARN + TEST)])
    near, far = (((X[rows[:, 0]] - X[rows[:, place]]) ** 2).sum(axis=1) for place in (1, 2))
    turned = near - far + noise * np.std(near) * rng.logistic(size=len(rows)) > 0.0
    return np.where(turned[:, None], rows[:, [0, 2, 1]], rows)


def shoes(rng: np.random.Generator) -> np.ndarray:
    """Some of the triplets of people about 85 pictures of shoes."""
    folder = cm.datasets.data_folder() / "zappos"
    triplets, _ = cm.datasets.read_triplets(folder / "deconflicted_triplets.csv.zip")
    return triplets[rng.permutation(len(triplets))[: LEARN + TEST]]


SETS: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
    "60 wines": lambda rng: made("wine", 60, 0.1, rng),
    "100 digits": lambda rng: made("digits", 100, 0.1, rng),
    "85 shoes": shoes,
}


def error(Z: np.ndarray, triplets: np.ndarray) -> float:
    """Share of triplets that an embedding does not order, ties counted half."""
    near, far = (((Z[triplets[:, 0]] - Z[triplets[:, place]]) ** 2).sum(axis=1) for place in (1, 2))
    return float(np.mean(near > far) + 0.5 * np.mean(near == far))


def logistic(triplets: np.ndarray, share: float) -> cm.MetricProblem:
    problem = cm.ChoiceProblem(None, triplets)
    return problem.with_reg(share * problem.reg_max)


def hinges(triplets: np.ndarray, share: float) -> cm.MetricProblem:
    n = int(triplets.max()) + 1
    risk = SeparableRisk(Triplets(np.eye(n), triplets, PSDCone(n)), Hinge(1.0))
    begins = risk.cone.largest(risk.minorant(np.ones(len(triplets))).S)
    return cm.MetricProblem(risk, Trace(share * begins))


def optimum(
    state: Callable[[np.ndarray, float], cm.MetricProblem], learn: np.ndarray, inner: int, shares: tuple[float, ...]
) -> tuple[cm.Solution, dict[str, float]]:
    """Solve with the share that is the best on the triplets kept apart; and seconds, of the last solve and of all."""

    def solved(rows: np.ndarray, share: float, tol: float) -> cm.Solution:
        return cm.solve(state(rows, share), tol=tol, max_seconds=30.0)

    begin = time.process_time()
    errors = [error(solved(learn[:inner], share, 1e-2).components.T, learn[inner:]) for share in shares]
    share, last = shares[int(np.argmin(errors))], time.process_time()
    solution = solved(learn, share, 1e-4)
    seconds = time.process_time() - last
    said = {"share": share, "gap": solution.gap, "rank": len(solution.components), "seconds": seconds}
    return solution, said | {"seconds in all": time.process_time() - begin}


def studied(name: str, folder: Path, python: Path) -> list[dict[str, Any]]:
    """Results of every method on five draws of a set."""
    folder.mkdir(parents=True, exist_ok=True)
    kept, drawn = [], []
    for seed in range(SPLITS):
        answers = SETS[name](np.random.default_rng(seed))
        learn, test, inner = answers[:LEARN], answers[LEARN:], int(0.8 * LEARN)
        ours = {
            "logistic": optimum(logistic, learn, inner, SHARES),
            "hinges": optimum(hinges, learn, inner, SHARES),
            "ChoiceMetric()": optimum(lambda rows, _: cm.ChoiceMetric().problem(rows), learn, inner, (1.0,)),
        }
        lambd = ours["hinges"][0].problem.regularizer.weights().trace
        by = {f"by-{method}": solution.components.T for method, (solution, _) in ours.items()}
        np.savez(
            folder / f"{seed}.npz", learn=learn, test=test, inner=inner, items=1 + answers.max(), lambd=lambd, **by
        )
        kept.append({method: said | {"error": error(by[f"by-{method}"], test)} for method, (_, said) in ours.items()})
        drawn.append((test, ours))
    subprocess.run([python, Path(__file__).with_name("embeddings.py"), folder], check=True)
    for seed, (test, ours) in enumerate(drawn):
        for method, said in json.loads((folder / f"{seed}.json").read_text("utf-8")).items():
            one = kept[seed].setdefault(method, {})
            one |= said
            if method in ours:
                continue
            Z = np.load(folder / f"{seed}-{method}.npy")
            one["error"] = error(Z, test)
            against = "hinges" if "lambd" in method else "logistic" if method == "STE" else None
            if against is not None:
                verdict = cm.audit(ours[against][0].problem, Z @ Z.T, reference=ours[against][0])
                cost = verdict.scale.objective if method == "STE" else verdict.objective
                one["excess"] = cost / verdict.lower_bound - 1.0
    return kept


def table(found: dict[str, list[dict[str, Any]]], title: str, cell: Callable[[list[dict[str, Any]]], str]) -> str:
    methods = list(next(iter(found.values()))[0])
    rows = [[name, *(cell([draw[method] for draw in draws]) for method in methods)] for name, draws in found.items()]
    return markdown([title, *methods], rows)


def mean(draws: list[dict[str, Any]], key: str, form: str) -> str:
    values = [draw[key] for draw in draws if key in draw]
    return form.format(np.mean(values), np.std(values, ddof=1) / np.sqrt(SPLITS)) if values else "-"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="where triplets, embeddings and results go")
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=list(SETS))
    parser.add_argument("--python", type=Path, required=True, help="of an environment with cblearn")
    arguments = parser.parse_args()
    limit_threads(1)
    warnings.simplefilter("ignore")
    cm.solve(logistic(SETS["60 wines"](np.random.default_rng(0)), 0.5))  # compiled loops are loaded
    found = {}
    for name in arguments.sets:
        path = arguments.folder / f"{name}.json"
        if not path.exists():
            results = studied(name, arguments.folder / name, arguments.python)
            path.write_text(json.dumps(results, indent=1), "utf-8")
        found[name] = json.loads(path.read_text("utf-8"))
    print(
        table(
            found,
            "held-out error, %",
            lambda draws: mean([{"e": 100 * d["error"]} for d in draws], "e", "{:.1f} ± {:.1f}"),
        )
    )
    print(
        table(found, "cblearn's score, %", lambda draws: mean([{"s": 100 * d["score"]} for d in draws], "s", "{:.1f}"))
    )
    print(
        table(
            found,
            "seconds",
            lambda draws: mean(draws, "seconds", "{:.2g}") + " / " + mean(draws, "seconds in all", "{:.2g}"),
        )
    )
    for key, title in (
        ("excess", "excess over the lower bound"),
        ("gap", "gap"),
        ("share", "share"),
        ("rank", "rank"),
        ("dimensions", "dimensions"),
    ):
        print(table(found, title, lambda draws, key=key: mean(draws, key, "{:.2g}")))
    print(surroundings("scikit-learn"), file=sys.stderr)


if __name__ == "__main__":
    main()
