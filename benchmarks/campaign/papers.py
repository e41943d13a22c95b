"""Problems of the papers for the campaign of solves, each with a twin on well-scaled data where there is one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

import convexmetric as cm
from campaign.draws import GRID, Case, Draw, RedrawError, exact, power, some_triplets, weights, written

__all__ = ["PAPERS"]


def ranking(measure: str) -> Callable[[Draw], Case]:
    def make(of: Draw) -> Case:
        rng, X, n = of.rng, of.X, len(of.X0)
        k = {"k": int(rng.integers(1, 6))} if measure in ("precision", "ndcg", "ndcg-log2", "knn") else {}
        squared = rng.random() < 0.3
        options = {"measure": measure, "diagonal": bool(rng.random() < 0.3), **k}
        options["penalty"] = "squared-frobenius" if squared else "trace"
        factor = of.scale ** (-4 if squared else -2)
        C, C0 = weights(of, factor, 0, 9)
        of.notes.append(f"{options}")
        if not of.few:
            labels = cm.RankingProblem.from_labels
            return Case(lambda: labels(X, of.y, C=C, **options), lambda: labels(of.X0, of.y, C=C0, **options), factor)
        near, far = [[1]], [[2]] if rng.random() < 0.5 else [list(range(2, n))]
        q, q0 = X[:1], of.X0[:1]
        return Case(
            lambda: cm.RankingProblem(X, near, irrelevant=far, queries=q, C=C, **options),
            lambda: cm.RankingProblem(of.X0, near, irrelevant=far, queries=q0, C=C0, **options),
            factor,
        )

    return make


def turned(X: np.ndarray, triplets: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Triplets that some weights satisfy by a margin, whatever the units of the columns."""
    scales = np.maximum(np.abs(X).max(axis=0), GRID)
    w = (rng.random(X.shape[1]) + 0.1) / scales**2
    i, j, k = triplets.T
    s = ((X[i] - X[k]) ** 2 - (X[i] - X[j]) ** 2) @ w
    kept = np.where((s < 0)[:, None], triplets[:, [0, 2, 1]], triplets)[np.abs(s) > 0.05]
    if not len(kept):
        raise RedrawError
    return kept


def relative(form: str, hard: bool) -> Callable[[Draw], Case]:
    def make(of: Draw) -> Case:
        rng, X0, X, options = of.rng, of.X0, of.X, {}
        n, d = X0.shape
        chosen = form if form != "kernel" else str(rng.choice(["linear", "matrix", "rbf"]))
        degree, itself, features, other = -4, False, X0, {}
        if chosen == "map":
            A = rng.integers(0, 3, (d, int(rng.integers(1, 5)))).astype(float)
            options = other = {"A": A}
            features = X0 @ A
        elif chosen == "sparse":
            X, X0 = sp.csr_array(X), sp.csr_array(X0)
        elif chosen in ("linear", "matrix"):
            # Products of points on a coarse grid are exact; translation would change them.
            X0 = np.round(X0 * 2.0**8) * 2.0**-8
            X, features = X0 * exact(of.scale), X0 @ X0.T
            options = other = {"kernel": "linear"}
            if chosen == "matrix":
                degree = -2
                options, other = {"kernel": features * exact(of.scale)}, {"kernel": features}
                X = X0
        elif chosen == "rbf":
            options, itself = {"kernel": "rbf"}, True
        triplets = some_triplets(rng, n, of.few)
        factor = of.scale**degree
        C = C0 = np.inf
        if hard:
            triplets = turned(np.exp(-((X[:, None] - X) ** 2).mean(2)) if itself else features, triplets, rng)
        else:
            C, C0 = weights(of, factor)
        of.notes.append(chosen)
        made = cm.RelativeComparisonProblem
        twin = None if itself else lambda: made(X0, triplets, C=C0, **other)
        return Case(lambda: made(X, triplets, C=C, **options), twin, factor)

    return make


def triplets(of: Draw) -> Case:
    rng, X, n, mu = of.rng, of.X, len(of.X0), of.margin
    squared, form = rng.random() < 0.7, rng.random()
    reg, reg0 = weights(of, of.scale**4 / mu if squared else of.scale**2, -6, 3)
    margin = rng.integers(1, 9).item() * power(-2)
    options = {"intra": float(rng.choice([0.0, 0.5])), "inter": 0.25 if squared and rng.random() < 0.3 else 0.0}
    options |= {
        "diagonal": bool(rng.random() < 0.4),
        "penalty": "squared-frobenius" if squared else "trace",
    }
    mine, other = {"reg": reg, "margin": exact(margin * mu)}, {"reg": reg0, "margin": written(margin)}
    of.notes.append(f"{options}")
    if form < 0.4 or of.few:
        rows = some_triplets(rng, n, of.few)
        make, arguments = cm.TripletProblem, (rows,)
    elif form < 0.7:
        # Neighbours are found in the twin's points: distances of others round.
        make, arguments = cm.TripletProblem.from_labels, (of.y,)
        for each in (mine, other):
            each |= {"n_same": None, "n_other": None}
    else:
        links = rng.random((n, n)) < 0.2
        links[0, 1], links[0, 2] = True, False
        make, arguments = cm.TripletProblem.from_graph, (links,)
    return Case(lambda: make(X, *arguments, **mine, **options), lambda: make(of.X0, *arguments, **other, **options), mu)


def pairs(of: Draw) -> Case:
    rng, X, n, d = of.rng, of.X, *of.X0.shape
    reg, reg0 = weights(of, of.scale**2, -8, 1)
    margin: Any = (0.5, 1.5) if rng.random() < 0.4 else float(rng.choice([1.0, 0.25]))
    if of.kind == "margins":
        margin = tuple(2.0 ** rng.integers(-60, 61, 2)) if rng.random() < 0.5 else float(2.0 ** rng.integers(-60, 61))
    options = {"margin": margin, "penalty": str(rng.choice(["frobenius", "trace"]))}
    itself = d > n
    if rng.random() < 0.2:
        options["kernel"], itself = str(rng.choice(["linear", "rbf", "unit-rbf"])), True
    of.notes.append(f"{options}")
    if rng.random() < 0.5 and not of.few:
        make, arguments = cm.PairMarginProblem.from_labels, (of.y,)
    else:
        listed = np.array([rng.choice(n, 2, replace=False) for _ in range(1 if of.few else int(rng.integers(4, 40)))])
        r = np.where(of.y[listed[:, 0]] == of.y[listed[:, 1]], 1, -1)
        make, arguments = cm.PairMarginProblem, (listed, r)
    twin = None if itself else lambda: make(of.X0, *arguments, reg=reg0, **options)
    return Case(lambda: make(X, *arguments, reg=reg, **options), twin)


PAPERS: dict[str, Callable[[Draw], Case]] = {
    **{
        f"ranking, {measure}": ranking(measure)
        for measure in ("auc", "precision", "map", "mrr", "ndcg", "ndcg-log2", "knn", "err")
    },
    "relative, features": relative("features", hard=False),
    "relative, sparse": relative("sparse", hard=False),
    "relative, A": relative("map", hard=False),
    "relative, kernel": relative("kernel", hard=False),
    "relative, hard": relative("features", hard=True),
    "relative, kernel, hard": relative("kernel", hard=True),
    "triplets": triplets,
    "pairs": pairs,
}
