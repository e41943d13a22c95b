"""What the kernel computes of small random statements of every kind, and what the second checker does in fractions.

Values of risks and regularizers, what dual points and slopes say, and bounds: the exact numbers are inside of the
kernel's, which differ by rounding only. Feasibility is tried a hair on both sides of the boundary.
"""

import copy
import itertools
from fractions import Fraction

import numpy as np
import pytest
import second_checker as exact
from forgery import archive, packed

from convexmetric.certificates import kernel
from convexmetric.certificates.kernel import Arrays, Problem

N, D = 7, 3
#: Features of items where queries have D.
K = 4
ONE = 2**20


#: Boxes by what they are: linear ones, with ends or without, with an end and a curvature.
BOXES = {
    "linear": {"low": "1", "high": "1", "curvature": "0"},
    "pinball": {"low": "-3/7", "high": "4/3", "curvature": "0"},
    "squared hinge": {"low": "0", "curvature": "1/2"},
    "squared from above": {"high": "1/3", "curvature": "5/7"},
    "huber": {"low": "-2/3", "high": "1/3", "curvature": "1/3"},
    "squared in a box": {"curvature": "3/7"},
    "kept": {"low": "-1/3", "curvature": "0"},
}
#: Where slopes of them are drawn from.
SLOPES = {
    "absolute": (-1.0, 1.0), "squared": (-2.0, 2.0), "hard": (0.0, 2.0), "itakura-saito": (0.01, 0.4),
    "linear": (1.0, 1.0), "pinball": (-0.4, 1.3), "squared hinge": (0.0, 2.0), "squared from above": (-1.0, 0.3),
    "huber": (-0.6, 0.3), "squared in a box": (-1.0, 1.0), "kept": (-0.3, 2.0),
}  # fmt: skip


def listed(rng, losses, pairs=False, targets=None, weighted=False, margins=None, T=9):
    """Comparisons with several terms, of both signs where losses allow it; slopes in their boxes."""
    terms = []
    for at, loss in enumerate(losses):
        margin = "-50" if loss in ("hard", "kept") else (margins or ["3/2", "1/3"])[at % 2]
        sign = -1 if loss in ("hinge", "absolute", "squared", "logistic", "pinball", "exponential") and at % 2 else 1
        sign = (1 if Fraction(margin) > 0 else -1) if loss == "itakura-saito" else sign
        terms.append({"loss": loss, "weight": "1" if loss == "hard" else f"{at + 1}/3", "margin": margin, "sign": sign})
        terms[-1] |= {"loss": "box", **BOXES[loss]} if loss in BOXES else {}
    kinds = np.arange(T) % len(losses)
    rows = np.array([rng.choice(N, 2 if pairs else 3, replace=False) for _ in range(T)])
    rows[-1] = rows[0]
    low, high = np.array([SLOPES.get(loss, (0.05, 1.0)) for loss in losses])[kinds].T
    arrays = {"pairs" if pairs else "triplets": rows, "terms": kinds}
    arrays |= {} if targets is None else {"targets": targets(rng, T)}
    arrays |= {"comparison_weights": rng.random(T) * (np.arange(T) != 3)} if weighted else {}
    hints = {"slopes": rng.uniform(low, high)}
    return {"kind": "listed comparisons", "terms": terms}, arrays, {"kind": "slopes"}, hints


def sparse(rng, name, rows, columns):
    """Rows of a matrix, of which the second has no entry."""
    dense = rng.standard_normal((rows, columns)) * (rng.random((rows, columns)) < 0.6)
    dense[1], dense[0, -1] = 0.0, 1.5
    at = np.nonzero(dense)
    starts = np.append(0, np.cumsum(np.count_nonzero(dense, axis=1)))
    return {f"{name}_data": dense[at], f"{name}_indices": at[1], f"{name}_indptr": starts}


def of_sparse_points(rng, losses, **how):
    table, arrays, dual, hints = listed(rng, losses, **how)
    return table, arrays | sparse(rng, "points", N, D), dual, hints


def combinations(rng, losses, T=6, queries=False):
    """Combinations of seven pairs, one of them there twice; perhaps of queries and points."""
    table, arrays, dual, hints = listed(rng, losses, pairs=True, T=T)
    pairs = np.array([rng.choice(N, 2, replace=False) for _ in range(7)])
    pairs[3] = pairs[0]
    arrays |= {"pairs": pairs % [3, N] if queries else pairs} | sparse(rng, "matrix", T, 7)
    return table, arrays | ({"queries": rng.standard_normal((3, D))} if queries else {}), dual, hints


def of_queries(rng, losses):
    """Triplets of queries, and points that are nearer and farther."""
    table, arrays, dual, hints = listed(rng, losses, weighted=True)
    arrays["triplets"][:, 0] %= 3
    return table, arrays | {"queries": rng.standard_normal((3, D))}, dual, hints


def all_pairs(rng):
    terms = [
        {"loss": "hinge", "weight": "1/2", "margin": "5/4", "sign": 1},
        {"loss": "squared", "weight": "1/3", "margin": "-1/2", "sign": -1},
    ]
    hints = {"slopes": rng.uniform(0.1, 0.9, N * (N - 1) // 2)}
    return {"kind": "all pairs", "terms": terms}, {"codes": rng.integers(0, 3, N)}, {"kind": "slopes"}, hints


def targeted(rng, risk):
    """With a margin and a weight of each comparison."""
    table, arrays, dual, hints = risk
    T = len(hints["slopes"])
    return table, arrays | {"targets": rng.standard_normal(T), "comparison_weights": rng.random(T)}, dual, hints


def lists(rng, queries=3, own=False, weighted=False, itself=False):
    """Near and lists of negatives of several lengths, with an item twice."""
    p = [2, 1, 3][:queries]
    near = [rng.choice(N - 2, count, replace=False) for count in p]
    arrays = {"near": np.concatenate(near), "near_stops": np.cumsum(p)}
    if itself:
        arrays["itself"] = np.array([N - 1, N, near[-1][0]])[:queries]
        f = [
            len(set(range(N)) - set(items.tolist()) - {row})
            for items, row in zip(near, arrays["itself"].tolist(), strict=True)
        ]
    else:
        f = [3, 2, 2][:queries]
        far = [rng.choice(N, count, replace=False) for count in f]
        far[0][1] = far[0][0]
        arrays |= {"far": np.concatenate(far), "far_stops": np.cumsum(f)}
    arrays |= {"queries": rng.standard_normal((queries, D))} if own else {"anchors": rng.integers(0, N, queries)}
    arrays |= {"query_weights": np.array([0.5, 2.0, 0.0])[:queries]} if weighted else {}
    return arrays, p, f


def sums(rng, p, f):
    """Sums of rows and columns of slopes."""
    made = [rng.integers(0, ONE + 1, (a, b)) for a, b in zip(p, f, strict=True)]
    made[-1][:] = ONE
    return {
        "near_sums": np.concatenate([a.sum(1) for a in made]), "far_sums": np.concatenate([a.sum(0) for a in made])
    }  # fmt: skip


def hinges(rng, **how):
    arrays, p, f = lists(rng, **how)
    table = {"kind": "pairs of lists", "loss": "hinge", "weight": "2/3", "margin": "3/4"}
    return table, arrays, {"kind": "sums", "bits": 20}, sums(rng, p, f)


def logistic(rng, **how):
    arrays, p, f = lists(rng, **how)
    slopes = [rng.integers(0, ONE + 1, a * b) for a, b in zip(p, f, strict=True)]
    slopes[0][:2] = 0, ONE
    table = {"kind": "pairs of lists", "loss": "logistic", "weight": "2/3"}
    return table, arrays, {"kind": "slopes", "bits": 20}, {"slopes": np.concatenate(slopes)}


def probabilities(rng, sizes):
    """Integers that add up to one, some of them zero."""
    made = [rng.multinomial(ONE, rng.dirichlet(np.ones(size))) for size in sizes]
    made[0][0] += made[0][-1]
    made[0][-1] = 0
    if sizes[0] > 2:
        # The least that is not zero.
        made[0][0] += made[0][1] - 1
        made[0][1] = 1
    made[-1][:] = ONE * (np.arange(len(made[-1])) == 0)
    return {"probabilities": np.concatenate(made)}


def choices(rng, **how):
    arrays, p, f = lists(rng, **how)
    table = {"kind": "choices", "weight": "2/3", "temperature": "5/7"}
    return table, arrays, {"kind": "probabilities", "bits": 20}, probabilities(rng, np.add(p, f))


def trials(rng, candidates=3, chosen=1, T=5):
    """Trials of pairs, one of them with a pair twice, and one with a point beside itself."""
    pairs = rng.integers(0, N, (T * candidates, 2))
    pairs[1], pairs[-1] = pairs[0], 2
    table = {"kind": "listed choices", "weight": "2/3", "temperature": "5/7"}
    table |= {"candidates": candidates, "chosen": chosen}
    dual = {"kind": "probabilities", "bits": 20}
    return table, {"pairs": pairs}, dual, probabilities(rng, [candidates] * T)


def rankings(rng, measure, k=None, short=False, more=None, moved=True, **how):
    """Three weighted rankings in two groups, one without weight; sums that these majorise."""
    table = {"kind": "rankings", "measure": measure, "C": "3/2"} | ({} if k is None else {"k": k})
    table |= ({"short": "printed"} if short else {}) | ({"queries": more} if more else {})
    arrays, p, f = lists(rng, **how)
    if measure == "auc":
        return table, arrays, {"kind": "sums", "bits": 20}, sums(rng, p, f)
    groups, T, ends = np.arange(len(p)) % 2, 4, np.cumsum(p)
    weights = np.array([[2, 1], [0, 5], [9, 0], [3, 7]]) * (ONE // 16)
    weights[3] = ONE - weights[:3].sum(axis=0)
    steps, near, far = np.zeros((T, sum(p)), dtype=np.int64), [], []
    for q, (a, b) in enumerate(zip(p, f, strict=True)):
        counts = np.sort(rng.integers(0, b + 1, (T, a)), axis=1)
        counts[3, -1] = b
        steps[:, ends[q] - a : ends[q]] = np.diff(counts, axis=1, prepend=0)
        w = weights[:, groups[q]]
        steps[w == 0, ends[q] - a : ends[q]] = min(f)
        r = w @ counts
        c = (w[:, None] * (counts[:, :, None] > np.arange(b)).sum(1)).sum(0)
        for sums_of in (r, c):
            if moved and len(sums_of) > 1 and sums_of.max() > sums_of.min() + 6:
                sums_of[sums_of.argmax()] -= 3
                sums_of[sums_of.argmin()] += 3
        near.append(rng.permutation(r))
        far.append(rng.permutation(c))
    hints = {
        "near_sums": np.concatenate(near), "far_sums": np.concatenate(far), "steps": steps, "weights": weights,
        "groups": groups,
    }  # fmt: skip
    return table, arrays, {"kind": "rankings", "bits": 20}, hints


def summed(rng, *risks):
    """A sum of risks, the first of which has points of its own."""
    arrays, hints = {"summand0_points": rng.standard_normal((N, D))}, {}
    for number, (_, own, _, of_dual) in enumerate(risks):
        arrays |= {f"summand{number}_{name}": array for name, array in own.items()}
        hints |= {f"summand{number}_{name}": array for name, array in of_dual.items()}
    table = {"kind": "sum", "summands": [risk[0] for risk in risks]}
    return table, arrays, {"kind": "sum", "summands": [risk[2] for risk in risks]}, hints


def shared(risk):
    """The same sum with the points of the second summand for those of all that have none."""
    table, arrays, *dual = risk
    return table, {name.replace("summand1_points", "points"): array for name, array in arrays.items()}, *dual


def worst(rng, risk, share):
    """The worst parts of a risk, with weights of parts of which one has the cap; all zero but one for a share of 0."""
    table, arrays, dual, hints = risk
    n = len(arrays["near_stops"]) if "near_stops" in arrays else len(arrays["terms"])
    most = int(min(Fraction(1), 1 / (Fraction(share) * n) if Fraction(share) else Fraction(1)) * ONE)
    weights = np.minimum(rng.permutation(np.r_[most, rng.integers(0, 1 + (ONE - most) // n, n - 1)]), most)
    table = {"kind": "worst", "share": share, "of": table}
    return table, arrays, {"kind": "worst", "bits": 20, "of": dual}, hints | {"parts_weights": weights}


def of_both_signs(rng, T):
    return np.where(np.arange(T) % 2, -1.0, 1.0) * rng.uniform(0.5, 2.0, T)


RISKS = {
    "hinges": lambda rng: listed(rng, ["hinge", "hinge"]),
    "hinges of pairs": lambda rng: listed(rng, ["hinge", "hinge"], pairs=True, weighted=True),
    "absolute": lambda rng: listed(rng, ["absolute", "absolute"]),
    "squared": lambda rng: listed(rng, ["squared", "squared"], targets=lambda rng, T: rng.standard_normal(T)),
    "logistic": lambda rng: listed(rng, ["logistic", "logistic"], weighted=True),
    "hard": lambda rng: listed(rng, ["hard", "hinge"]),
    "divergence": lambda rng: listed(rng, ["itakura-saito"] * 2, pairs=True, margins=["2", "-7/4"]),
    "divergence of small bounds": lambda rng: listed(rng, ["itakura-saito"] * 2, pairs=True, margins=["1/50", "-1/40"]),
    "log": lambda rng: listed(rng, ["negative log", "hinge"], pairs=True),
    "root": lambda rng: listed(rng, ["negative root", "negative log"], pairs=True),
    "boxes": lambda rng: listed(rng, ["pinball", "huber", "pinball"], weighted=True),
    "boxes without ends": lambda rng: listed(rng, ["squared hinge", "squared from above", "squared in a box"]),
    "box that is kept": lambda rng: listed(rng, ["kept", "hinge"]),
    "linear box": lambda rng: listed(rng, ["linear", "hinge"], targets=lambda rng, T: rng.standard_normal(T)),
    "exponential": lambda rng: listed(rng, ["exponential"] * 2, pairs=True, weighted=True),
    "all pairs": all_pairs,
    "all pairs of targets": lambda rng: targeted(rng, all_pairs(rng)),
    "combinations": lambda rng: combinations(rng, ["hinge", "hinge"]),
    "combinations and shared sparse points": lambda rng: shared(
        summed(rng, combinations(rng, ["squared"]), of_sparse_points(rng, ["hinge", "absolute"], pairs=True))
    ),
    "sparse triplets": lambda rng: of_sparse_points(rng, ["hinge", "squared"], weighted=True),
    "lists": hinges,
    "lists of weights": lambda rng: hinges(rng, own=True, weighted=True, itself=True),
    "logistic lists": lambda rng: logistic(rng, weighted=True),
    "logistic lists of the rest": lambda rng: logistic(rng, itself=True),
    "auc": lambda rng: rankings(rng, "auc", more=5, weighted=True),
    "map": lambda rng: rankings(rng, "map", weighted=True),
    "map of the rest": lambda rng: rankings(rng, "map", itself=True, own=True, more=4, moved=False),
    "mrr": lambda rng: rankings(rng, "mrr"),
    "err": lambda rng: rankings(rng, "err"),
    "precision": lambda rng: rankings(rng, "precision", 2),
    "precision, printed": lambda rng: rankings(rng, "precision", 2, True),
    "knn": lambda rng: rankings(rng, "knn", 3),
    "knn, printed": lambda rng: rankings(rng, "knn", 3, True),
    "knn of one": lambda rng: rankings(rng, "knn", 1),
    "ndcg": lambda rng: rankings(rng, "ndcg", 3),
    "ndcg, printed": lambda rng: rankings(rng, "ndcg", 4, True),
    "ndcg-log2": lambda rng: rankings(rng, "ndcg-log2", 10**12),
    "ndcg-log2, printed": lambda rng: rankings(rng, "ndcg-log2", 3, True),
    "choices": choices,
    "choices of weights": lambda rng: choices(rng, own=True, weighted=True, itself=True),
    "one choice": lambda rng: choices(rng, queries=1),
    "odd ones out": trials,
    "few trials": lambda rng: trials(rng, 3, 2, 2),
    "three chosen of five": lambda rng: trials(rng, 5, 3, 4),
    "sum of choices": lambda rng: summed(rng, choices(rng), trials(rng, 2, 1, 2)),
    "sum": lambda rng: summed(rng, listed(rng, ["hinge"]), rankings(rng, "map"), logistic(rng)),
    "two": lambda rng: summed(rng, listed(rng, ["hinge"], T=2), hinges(rng, queries=1)),
    "logistic list": lambda rng: logistic(rng, queries=1),
    "few": lambda rng: listed(rng, ["hinge"], T=2),
    "worst lists": lambda rng: worst(rng, hinges(rng, weighted=True), "2/3"),
    "worst of map": lambda rng: worst(rng, rankings(rng, "map", more=4), "1/2"),
    "worst of auc": lambda rng: worst(rng, rankings(rng, "auc", itself=True), "0"),
    "worst of logistic lists": lambda rng: worst(rng, logistic(rng), "1"),
    "worst comparisons": lambda rng: worst(rng, listed(rng, ["hinge", "squared"], weighted=True), "3/10"),
    "sum of worst": lambda rng: summed(rng, listed(rng, ["hinge"], T=2), worst(rng, hinges(rng), "1/2")),
    "worst in a sum": lambda rng: summed(rng, worst(rng, hinges(rng), "1/2"), listed(rng, ["hinge"], T=2)),
    "sum that may be negative": lambda rng: summed(rng, listed(rng, ["negative log"], pairs=True), hinges(rng)),
}  # fmt: skip


CHOICES = ("choices of weights", "odd ones out", "sum of choices")


def symmetric(rng, diagonal, size=1.0):
    A = rng.standard_normal((D, D)) * size
    return A.diagonal().copy() if diagonal else (A + A.T) / 2


def triangle(rng, diagonal, size):
    T = np.triu(rng.standard_normal((D, D))) + size * np.eye(D)
    return np.abs(T.diagonal()) if diagonal else np.where(np.eye(D) > 0, np.abs(T), T)


def with_slope(kind, prior=True, **more):
    """A slope that is a little less than the weight allows."""

    def make(rng, cone, M):
        diagonal = cone == "diagonal"
        table = {"kind": kind, "weight": "7/2"} | ({"prior": True} if prior else {}) | more
        weight = 3.5 / np.sqrt(more.get("over_root_of", 1))
        P = symmetric(rng, diagonal)
        if more.get("diagonal") is False:
            P[np.diag_indices(D)] = 0.0
        size = {"trace norm": lambda: np.abs(P).max() if diagonal else np.abs(np.linalg.eigvalsh(P)).max()}
        size = size.get(kind, (lambda: np.abs(P).max()) if kind == "entrywise" else (lambda: np.linalg.norm(P)))()
        arrays = {"prior": symmetric(rng, diagonal)} if prior else {}
        hints = {"slope": P * (weight * (1 - 1e-9) / size)}
        if kind == "trace norm" and not diagonal:
            X = M - arrays.get("prior", 0.0)
            hints["above"] = np.diag(np.linalg.eigvalsh(X).max() + np.arange(D)) + np.outer([1, 2, 3], [1, 2, 3])
        return table, arrays, {}, hints

    return make


def log_det(rng, cone, M):
    diagonal = cone == "diagonal"
    arrays, hints = {"prior_root": triangle(rng, diagonal, 2.0)}, {"root": triangle(rng, diagonal, 0.5)}
    return {"kind": "log det", "weight": "3/7", "over_root_of": 3}, arrays, {}, hints


def spectral_bound(rng, cone, M):
    """A bound that the metric is a little below, and a slope of rank two."""
    if cone == "block-diagonal":
        M = np.where(np.equal.outer([1, 0, 0], [1, 0, 0]), M, 0.0)
    return (
        {"kind": "spectral bound"},
        {"upper": M + 1e-9 * np.eye(D)},
        {},
        {"root_of_slope": rng.standard_normal((2, D))},
    )


def row_norms(rng, cone, M):
    """Rows that are a little shorter than the weight."""
    Q = rng.standard_normal((D, D))
    Q *= 7 / 3 * (1 - 1e-9) / np.linalg.norm(Q, axis=1, keepdims=True)
    return {"kind": "row norms", "weight": "7/3"}, {}, {}, {"slope": Q}


def inverse_trace(rows):
    def make(rng, cone, M):
        """A root of a prior, and a matrix a little above."""
        C = rng.standard_normal((rows, D))
        N = C @ np.linalg.solve(np.diag(M) if M.ndim == 1 else M, C.T)
        hints = {"slope": rng.standard_normal((rows, D)), "above": (N + N.T) / 2 + 1e-9 * np.eye(rows)}
        return {"kind": "inverse trace", "weight": "3/11"}, {"root_of_prior": C}, {}, hints

    return make


def budget(weight=None, multiplier="5/2"):
    def make(rng, cone, M):
        A = symmetric(rng, cone == "diagonal") * 0.1 + (np.ones(D) if cone == "diagonal" else np.eye(D))
        spent = float((A * M).sum())
        limit = Fraction(spent * (0.75 if weight else 1.25)).limit_denominator(1000)
        table = {"kind": "budget", "limit": str(limit)} | ({"weight": weight} if weight else {})
        return table, {"spent": A}, {"multiplier": multiplier}, {}

    return make


def form(of):
    def make(rng, cone, M):
        table, parameters, hints = {"kind": "quadratic form", "of": of}, {"lack": "7"}, {"z": rng.standard_normal(D)}
        if of == "gram of A":
            return table, {"gram_of": rng.standard_normal((4, D))}, {}, hints
        A = rng.random((D, D))
        A = A + A.T
        A[:, 1] = A[1] = 0.0
        return table, {"form" if of == "matrix" else "points": A}, parameters, hints

    return make


def several(*makers):
    def make(rng, cone, M):
        made = [maker(rng, cone, M) for maker in makers]
        arrays, hints = (
            {f"term{k}_{name}": array for k, one in enumerate(made) for name, array in one[which].items()}
            for which in (1, 3)
        )
        parameters = {"summands": [one[2] for one in made]}
        return {"kind": "sum", "summands": [one[0] for one in made]}, arrays, parameters, hints

    return make


def conic(quadratic=False, others=2, moves=False):
    """A program with every kind of cone, ``others`` variables beside the metric, and points inside.

    If the metric ``moves``, it satisfies two equations nearly.
    """

    def make(rng, cone, M):
        i, j = np.triu_indices(D)
        given = M if cone == "diagonal" else M[i, j]
        k, n = len(given), len(given) + others
        equations = min(others, 1) + 2 * moves
        A = 0.3 * rng.standard_normal((14 + equations, n))
        A[equations - 2 * moves : equations, k:] = 0.0
        L = rng.standard_normal((n, n)) * (rng.random(n) < 0.7)
        P, h = (L @ L.T + np.eye(n), 0.1 * rng.standard_normal(n)) if quadratic else (np.zeros((n, n)), np.zeros(n))
        x = np.append(given, rng.standard_normal(others))
        slack = (
            [0.0] * (equations - 2 * moves)
            + [1e-14, -1e-14] * moves
            + [1.0, 0.5, 2.0, 0.5, -0.5, 1.0, 0.2, 1.0, 0.1, 1.0, 2.0, 1.0, 2.0, 0.5]
        )
        z = rng.standard_normal(equations)
        z = np.append(z, [0.3, 0.7, 2.0, 0.5, -0.5, 1.0, 0.3, 1.0, -1.0, 0.2, 1.5, 1.0, 1.0, -0.4])
        q = np.append(rng.standard_normal(k), -(A.T @ z + P @ h)[k:])
        cones = {
            "zero": equations,
            "nonnegative": 2,
            "second_order": 1,
            "semidefinite": 1,
            "exponential": 1,
            "power": 1,
        }
        table = {"kind": "conic", "variables": n, "cones": cones, "quadratic": quadratic}
        arrays = {"q": q, "b": A @ x + slack, "second_order_sizes": np.array([3]), "semidefinite_sizes": np.array([2])}
        arrays |= {"power_exponents": np.array([0.3])} | by_columns("a", A)
        arrays |= by_columns("p", P) if quadratic else {}
        hints = {"x": x[k:], "z": z} | ({"h": h} if quadratic else {})
        off = {"x": 1e-14 if moves else 1e-7}
        hints = {name: of + off.get(name, 1e-7) * rng.standard_normal(len(of)) for name, of in hints.items()}
        spread = {f"{name}_spreads": np.exp(rng.uniform(-1, 1, len(of))) for name, of in hints.items()}
        # Entries between the blocks of a block-diagonal metric are the second and the third.
        held = np.isin(np.arange(k), [1, 2] if cone == "block-diagonal" else [1])
        spread |= {"metric_spreads": np.exp(rng.uniform(-1, 1, k)) * ~held} if moves else {}
        spread |= {} if equations else {"x_spreads": None}
        return table, arrays, {}, hints | {name: of for name, of in spread.items() if of is not None}

    return make


def by_columns(name, M):
    """Entries of a matrix and their places."""
    j, i = np.nonzero(M.T)
    return {f"{name}_values": M[i, j], f"{name}_rows": i, f"{name}_columns": j}


def plain(table):
    return lambda rng, cone, M: (table, {}, {}, {})


TRACE = plain({"kind": "trace", "weight": "40/3", "over_root_of": 5})
REGULARIZERS = {
    "zero": plain({"kind": "zero"}), "trace": TRACE, "norm": with_slope("frobenius"),
    "norm to nothing": with_slope("frobenius", False, over_root_of=2), "squared norm": with_slope("squared frobenius"),
    "squared norm to nothing": with_slope("squared frobenius", False), "trace norm": with_slope("trace norm"),
    "trace norm to nothing": with_slope("trace norm", False), "log det": log_det,
    "entries": with_slope("entrywise", diagonal=True), "other entries": with_slope("entrywise", diagonal=False),
    "budget": budget(), "penalised budget": budget("5/2"), "budget that is kept": budget("3", "0"),
    "gram": form("gram of A"), "form": form("matrix"), "squared points": form("squared points"),
    "spectral bound": spectral_bound, "row norms": row_norms, "inverse trace": inverse_trace(4),
    "inverse trace of one": inverse_trace(1), "sum with a bound": several(spectral_bound, TRACE, row_norms),
    "sum": several(TRACE, with_slope("frobenius"), budget("3")),
    "sum with a log det": several(log_det, plain({"kind": "zero"})),
    "conic": conic(), "conic, quadratic": conic(True), "conic, of the metric alone": conic(others=0),
    "conic, of a metric that moves": conic(moves=True), "conic, of it alone": conic(others=0, moves=True),
}  # fmt: skip


def certificate(rng, risk, cone, regularizer, linear=True):
    """A random certificate, and the same with a linear term that makes its slope feasible by a hair, or not."""
    diagonal, moves = cone == "diagonal", regularizer.endswith(("that moves", "of it alone"))
    definite = moves or "log det" in regularizer or "inverse trace" in regularizer
    table, arrays, dual, hints = RISKS[risk](rng)
    points = {} if "points_indptr" in arrays else {"points": rng.standard_normal((N, D))}
    factor = triangle(rng, diagonal, 1.0) if definite else rng.standard_normal((2, D))
    if cone == "block-diagonal":
        # Of the features 1 and 2, and of the first.
        factor[0, slice(1, None) if definite else 0] = 0.0
        factor[1:] *= [0.0, 1.0, 1.0] if definite else [1.0, 0.0, 0.0]
    M = (factor if definite else rng.random(D)) if diagonal else factor.T @ factor
    omega, of_omega, parameters, slope = REGULARIZERS[regularizer](rng, cone, M)
    problem = {"cone": cone, "features": D, "risk": table, "regularizer": omega, "linear": linear, "constant": "-22/7"}
    whole = "negative" in str(table) or "'low': '1'" in str(table)
    document = {
        "format": "convexmetric-certificate", "version": kernel.VERSION, "title": "random", "problem": problem,
        "dual": dual | {"share": "1" if whole else "5/7", "regularizer": parameters},
        "claimed": {"lower": "0", "upper": "1"}, "sha256": {},
    }  # fmt: skip
    arrays = (
        points
        | arrays
        | of_omega
        | hints
        | slope
        | {"weights_of_metric" if diagonal else "factor": M if diagonal else factor}
    )
    arrays |= {"linear": symmetric(rng, diagonal)} if linear else {}
    arrays |= {"blocks": np.array([1, 0, 0])} if cone == "block-diagonal" else {}
    return document, {name: np.ascontiguousarray(array) for name, array in arrays.items()}


def whole(contents):
    return archive(packed(contents))


def proved(*contents):
    found = []
    for document, arrays in contents:
        hashes = {name: kernel.digest(array) for name, array in arrays.items()}
        found.append(kernel.files.checked(document | {"sha256": hashes}, arrays))
    return kernel.prove(found)


def close(ball, low, high, scale=1.0):
    """A ball contains an interval, and is little wider."""
    mid, rad = Fraction(float(ball.mid)), Fraction(float(ball.rad))
    assert mid - rad <= low
    assert high <= mid + rad
    assert float(rad) <= 1e-11 * max(scale, abs(float(mid)))


def entries(cone, K):
    return [K[i][i] for i in range(D)] if cone == "diagonal" else [x for row in K for x in row]


def compared(contents):
    """Everything that both compute of a certificate; its slack P - (share S - G), in fractions."""
    document, arrays = contents
    second, of, cone = exact.Part(whole(contents)), Arrays(arrays), document["problem"]["cone"]
    problem = Problem(document, of)
    factor, share, given = problem.read(document["dual"], of)
    # Ends of rows, and what the dual point says.
    value = second.costs()
    risk = problem.cost(problem.risk, factor, given)
    close(risk, value.low, value.high, 10.0)
    says, true = problem.risk.dual(document["dual"], of), second.says()
    close(says.value, true.v.low, true.v.high)
    assert says.S.mid.shape == ((D,) if cone == "diagonal" else (D, D))
    for at, number in enumerate(entries(cone, true.S)):
        close(flat(says.S)[at], number, number, 10.0)
    assert of.used == set(arrays)
    # Omega, and its slope.
    value = second.omega.value(second.M, second.B)
    close(problem.omega.value(factor, problem.cone.metric(factor), given), value.low, value.high, 10.0)
    upper = second.upper(second.costs())
    if isinstance(second.omega, exact.Form):
        known = second.G is None and not second.risk.negative
        slope = second.omega.slope_below(upper if known else None)
    else:
        slope, known = second.omega.slope(), True
    slopes, e = problem.omega.slopes(given, max(upper, Fraction(0)) if known else None)
    # What a form may lack is paid by upper ends of norms.
    assert slope.e.high <= e.upper() <= slope.e.high + Fraction(1, 10**10) * max(abs(slope.e.high), 1)
    assert e.lower() <= slope.e.low or not known or isinstance(second.omega, exact.Form)
    if slopes:
        P = sum(slopes[1:], slopes[0])
        for at, number in enumerate(entries(cone, slope.P)):
            close(flat(P)[at], number, number, 1e3)
    K = [[p - share * s for p, s in zip(*rows, strict=True)] for rows in zip(slope.P, true.S, strict=True)]
    return K


def flat(ball):
    return [ball[at] for at in np.ndindex(ball.mid.shape)]


def proven(contents):
    """The bounds of the kernel, which the exact ones are inside of, if there are any."""
    found, true = proved(contents), exact.judge(whole(contents))
    assert found.lower is None or (true.lower is not None and found.lower <= true.lower)
    assert found.upper is None or found.upper >= true.upper
    for mine, its in ((found.lower, true.lower), (found.upper, true.upper)):
        if mine is not None:
            assert abs(float(mine - its)) <= 1e-9 * max(1.0, abs(float(its)))
    return found


def at_the_boundary(contents, K):
    """The linear term that leaves nothing, and a hair more or less."""
    cone = contents[0]["problem"]["cone"]
    K = np.array([[float(x) for x in row] for row in K])
    G = -(K.diagonal() if cone == "diagonal" else (K + K.T) / 2)
    size, unit = np.abs(G).max(), np.ones(D) if cone == "diagonal" else np.eye(D)
    for hair in (1e-9, 0.0, -1e-9):
        yield hair, (contents[0], contents[1] | {"linear": G + hair * size * unit})
    if cone != "diagonal":
        # What stands between blocks does not count, and of one block does.
        between = np.zeros((D, D))
        between[0, 2] = between[2, 0] = size
        yield (
            (1.0 if cone == "block-diagonal" else -1.0),
            (contents[0], contents[1] | {"linear": G + 1e-9 * size * unit + between}),
        )


def checked_whole(seed, risk, cone, regularizer, linear=True):
    contents = certificate(np.random.default_rng(seed), risk, cone, regularizer, linear)
    K = compared(contents)
    found = proven(contents)
    assert found.upper is not None
    if linear:
        for hair, changed in at_the_boundary(contents, K):
            found = proved(changed)
            assert (found.lower is not None) == (hair > 0), (hair, found.reason)
            assert found.upper is not None
    return contents


@pytest.mark.parametrize("risk", RISKS)
def test_risks(risk):
    seed = list(RISKS).index(risk)
    cones = ["psd", "diagonal"] if "logistic" not in risk else [["psd", "diagonal"][seed % 2]]
    for other, cone in enumerate(["diagonal"] if "sparse" in risk else cones):
        checked_whole(seed + 100 * other, risk, cone, "trace")


@pytest.mark.parametrize("cone", ["psd", "diagonal", "block-diagonal"])
@pytest.mark.parametrize("regularizer", REGULARIZERS)
def test_regularizers(regularizer, cone):
    form_of = regularizer in ("gram", "form", "squared points")
    full = any(word in regularizer for word in ("entries", "bound", "row norms", "inverse trace"))
    if (form_of and cone != "diagonal") or (full and cone == "diagonal"):
        pytest.skip("not of these metrics")
    if regularizer in ("form", "squared points"):
        pytest.skip("these want no linear term")
    checked_whole(1, "hinges", cone, regularizer)
    checked_whole(2, "root", cone, regularizer)


def test_quadratic_forms_without_linear_term():
    """With a point at which the gradient covers the dual matrix; where nothing is left of that, too."""
    for seed in range(3):
        contents = certificate(np.random.default_rng(seed), "hinges of pairs", "diagonal", "form", False)
        # Distances that are to be small: the dual matrix is negative.
        for term in contents[0]["problem"]["risk"]["terms"]:
            term["sign"] = -1
        contents[1]["z"] = np.array([1.0, 7.0, 3.0])
        compared(contents)
        assert proven(contents).lower is not None
        # Where the form does not lack what is said, all of it is zero, or the risk may be negative.
        for change in ({"lack": "1/1000"}, {"lack": "-1"}):
            document = copy.deepcopy(contents[0])
            document["dual"]["regularizer"] = change
            assert proven((document, contents[1])).lower is None
        flat_form = contents[1] | {"form": np.zeros((D, D))}
        compared((contents[0], flat_form))
        assert proven((contents[0], flat_form)).lower is not None
        with_linear = (copy.deepcopy(contents[0]), contents[1] | {"linear": np.ones(D)})
        with_linear[0]["problem"]["linear"] = True
        assert "upper bound, and no G" in proven(with_linear).reason
    contents = certificate(np.random.default_rng(0), "root", "diagonal", "form", False)
    assert "upper bound, and no G" in proven(contents).reason


def test_quadratic_forms_of_squared_points():
    """Points that are a symmetric matrix; there are as many as features."""
    rng = np.random.default_rng(5)
    document, arrays = certificate(rng, "hinges", "diagonal", "squared points", False)
    rows = np.array([[0, 1, 2], [2, 0, 1]])
    points = symmetric(rng, False)
    arrays |= {"triplets": rows, "terms": np.zeros(2, np.int64), "slopes": np.array([0.001, 0.002]), "points": points}
    arrays["z"] = np.full(D, 4.0)
    document["problem"]["risk"]["terms"] = document["problem"]["risk"]["terms"][:1]
    compared((document, arrays))
    assert proven((document, arrays)).lower is not None
    # What is lacking outweighs all else, so that a least diagonal entry that is rounded upward shows.
    for z in (1e-3, 1e6 / 3):
        document["dual"]["regularizer"]["lack"], arrays["z"] = f"{10**20}", np.full(D, z)
        compared((document, arrays))


#: Risks over lists whose queries have points of their own.
OF_LISTS = {
    "choices": lambda rng: choices(rng, own=True, weighted=True),
    "choices of the rest": lambda rng: choices(rng, own=True, itself=True),
    "hinges": lambda rng: hinges(rng, own=True),
    "logistic": lambda rng: logistic(rng, own=True, weighted=True),
    "auc": lambda rng: rankings(rng, "auc", own=True),
    "map": lambda rng: rankings(rng, "map", own=True, itself=True),
    "sum": lambda rng: summed(rng, choices(rng, own=True), rankings(rng, "map", own=True)),
    "triplets": lambda rng: of_queries(rng, ["hinge", "squared"]),
    "combinations": lambda rng: combinations(rng, ["hinge", "absolute"], queries=True),
}


def matrices(rng, risk, space, kind, shape=None, prior=True, linear=True, rank=None, **more):
    """A certificate over matrices without a cone, with a weight that its slope is a little less than."""
    shape = shape or ((D, K) if space == "matrices" else (D, D))

    def element():
        A = rng.standard_normal(shape)
        return A if space == "matrices" else (A + A.T) / 2

    table, arrays, dual, hints = OF_LISTS[risk](rng)
    for name in [name for name in arrays if name.endswith("points")]:
        arrays[name] = rng.standard_normal((N, shape[1]))
    for name in [name for name in arrays if name.endswith("queries")]:
        arrays[name] = rng.standard_normal((len(arrays[name]), shape[0]))
    W, omega = element(), {"kind": kind, "weight": "1", **more} | ({"prior": True} if prior else {})
    arrays |= {"points": rng.standard_normal((N, shape[1])), "matrix": W}
    arrays |= ({"prior": element()} if prior else {}) | ({"linear": element()} if linear else {})
    if kind == "trace norm":
        left, values, right = np.linalg.svd(W - arrays.get("prior", 0.0), full_matrices=False)
        hints |= {"left": (left * np.sqrt(values))[:, :rank], "right": (right.T * np.sqrt(values))[:, :rank]}
    problem = {"cone": space, "features": shape[0], "risk": table, "regularizer": omega, "linear": linear}
    problem |= {"features_of_items": shape[1]} if space == "matrices" else {}
    document = {
        "format": "convexmetric-certificate", "version": kernel.VERSION, "title": "random", "problem": problem,
        "dual": dual | {"share": "5/7", "regularizer": {}}, "claimed": {"lower": "0", "upper": "1"}, "sha256": {},
    }  # fmt: skip
    contents = document, {name: np.ascontiguousarray(array) for name, array in (arrays | hints).items()}
    omega["weight"] = weight_of(size_of(contents, kind), 1e-9, **more)
    return contents


def weight_of(size, hair, over_root_of=1):
    return str(Fraction(float(size * (1 + hair) * np.sqrt(over_root_of))))


def slope_of(contents):
    """The share of the dual matrix, less the linear term, in fractions."""
    second = exact.Part(whole(contents))
    A = exact.plus(second.space.zeros(), second.says().S, second.share)
    return second, A if second.G is None else exact.plus(A, second.G, -exact.ONE)


def size_of(contents, kind):
    A = np.array([[float(x) for x in row] for row in slope_of(contents)[1]])
    return np.linalg.norm(A, 2) if kind == "trace norm" else np.linalg.norm(A)


def compared_matrices(contents):
    """What both compute: the risk, its minorant, the regularizer, and its conjugate at the slope."""
    document, arrays = contents
    (second, A), of = slope_of(contents), Arrays(arrays)
    problem = Problem(document, of)
    factor, share, given = problem.read(document["dual"], of)
    assert problem.cone.shape == (second.d, second.k)
    value = second.costs()
    close(problem.risk.value(factor), value.low, value.high, 10.0)
    says, true = problem.risk.dual(document["dual"], of), second.says()
    close(says.value, true.v.low, true.v.high)
    assert says.S.mid.shape == problem.cone.shape
    for at, number in enumerate(x for row in true.S for x in row):
        close(flat(says.S)[at], number, number, 10.0)
    value = second.omega.value(second.M, second.B)
    close(problem.omega.value(factor, problem.cone.metric(factor), given), value.low, value.high, 10.0)
    P = says.S * kernel.Ball.of(share)
    e, slope = problem.omega.offset(P if problem.G is None else P - problem.G), second.omega.slope_of(A)
    close(e, slope.e.low, slope.e.high, 10.0)
    assert of.used == set(arrays)


NORMS = ("frobenius", "squared frobenius", "trace norm")


@pytest.mark.parametrize(
    ("risk", "kind", "space"),
    [
        # Every risk beside every norm, in one space and the other in turn.
        pytest.param(*given, marks=[pytest.mark.integration] * (k // 2 % 2 != k % 2))
        for k, given in enumerate(itertools.product(OF_LISTS, NORMS, ["matrices", "symmetric"]))
    ],
)
def test_matrices_without_a_cone(risk, kind, space):
    rng = np.random.default_rng(len(risk) + len(kind))
    many = risk in ("choices", "hinges")
    for prior, linear, more in ((True, True, {}), (False, False, {"over_root_of": 3}), (True, False, {}))[
        : 1 + 2 * many
    ]:
        contents = matrices(rng, risk, space, kind, prior=prior, linear=linear, **more)
        compared_matrices(contents)
        found = proven(contents)
        assert found.upper is not None
        assert found.lower is not None
        if kind == "squared frobenius":
            continue
        # The norm that is dual decides, up to a hair.
        tight = copy.deepcopy(contents)
        tight[0]["problem"]["regularizer"]["weight"] = weight_of(size_of(contents, kind), -1e-9, **more)
        found = proven(tight)
        assert found.lower is None
        assert found.upper is not None
        assert ("feasible" if kind == "frobenius" else "the square of the weight") in found.reason


@pytest.mark.parametrize("shape", [(2, 5), (5, 2), (1, 3), (3, 1)])
def test_matrices_of_any_shape(shape):
    for kind in NORMS:
        for rank in (None, 1, 0) if kind == "trace norm" else (None,):
            contents = matrices(np.random.default_rng(3), "choices", "matrices", kind, shape, rank=rank)
            compared_matrices(contents)
            assert proven(contents).lower is not None


def test_factors_of_a_trace_norm_need_not_be_those_of_the_matrix():
    """Any two bound it from above, the better the nearer their product is."""
    contents = matrices(np.random.default_rng(4), "choices", "matrices", "trace norm")
    best = proven(contents).upper
    for left, right in ((2.0, 2.0), (0.0, 0.0), (2.0, 0.5), (-1.0, 1.0)):
        arrays = contents[1] | {"left": left * contents[1]["left"], "right": right * contents[1]["right"]}
        compared_matrices((contents[0], arrays))
        assert proven((contents[0], arrays)).upper > best


@pytest.mark.parametrize(
    "risk",
    [
        "hinges",
        "all pairs",
        "auc",
        "map",
        "logistic lists",
        "lists of weights",
        "sum",
        "sum of worst",
        "worst in a sum",
        *CHOICES,
    ],
)
def test_parts(risk):
    """Any division of the rows proves the same, in any order; and none without all of them."""
    document, arrays = certificate(np.random.default_rng(7), risk, "psd", "trace")
    of = Arrays(arrays)
    problem = Problem(document, of)
    count, wholes = len(problem.risk), proved((document, arrays))
    cuts = [0, 2, count - 1, count] if count > 3 else [0, 1, 3]
    parts = [part(document, arrays, problem.risk, first, end) for first, end in itertools.pairwise(cuts)]
    found = proved(*parts[::-1])
    true = exact.judge(*map(whole, parts))
    assert found.reason == "" or "claimed" in found.reason
    for mine, its, one in ((found.lower, true.lower, wholes.lower), (found.upper, true.upper, wholes.upper)):
        assert abs(float(mine - its)) <= 1e-9 * max(1.0, abs(float(its)))
        assert abs(float(mine - one)) <= 1e-9 * max(1.0, abs(float(its)))
    assert found.lower <= true.lower
    assert found.upper >= true.upper
    for some, said in ((parts[1:], "no part"), (parts[:-1], "no part"), ([*parts, parts[0]], "more than one")):
        missing = proved(*some)
        assert missing.lower is missing.upper is None
        assert said in missing.reason


def part(document, arrays, risk, first, end):
    """The rows of a certificate from one to another."""
    document, arrays = copy.deepcopy(document), dict(arrays)
    document["dual"]["rows"] = [first, end]
    if "summands" in document["dual"]:
        at = 0
        for number, own in enumerate(risk.risks):
            rows = slice(max(first - at, 0), max(min(end - at, len(own)), 0))
            cut(arrays, own, rows, f"summand{number}_")
            at += len(own)
    else:
        cut(arrays, risk, slice(first, end), "")
    return document, arrays


def cut(arrays, risk, rows, start):
    if rows.start >= rows.stop:
        for name in kernel.files.OF_ROWS:
            arrays.pop(start + name, None)
        return
    if isinstance(risk, kernel.Worst):
        return
    if isinstance(risk, kernel.ListedChoices):
        some = slice(rows.start * risk.k, rows.stop * risk.k)
        arrays[f"{start}probabilities"] = arrays[f"{start}probabilities"][some]
        return
    if not hasattr(risk, "p"):
        arrays[f"{start}slopes"] = arrays[f"{start}slopes"][rows]
        return
    sizes = {
        "near_sums": risk.p,
        "far_sums": risk.n,
        "steps": risk.p,
        "slopes": risk.p * risk.n,
        "probabilities": risk.p + risk.n,
    }
    for name, size in sizes.items():
        ends = np.concatenate([[0], np.cumsum(size)])
        own = slice(int(ends[rows.start]), int(ends[rows.stop]))
        if start + name in arrays:
            arrays[start + name] = np.ascontiguousarray(arrays[start + name][..., own])
    if f"{start}groups" in arrays:
        arrays[f"{start}groups"] = arrays[f"{start}groups"][rows]
