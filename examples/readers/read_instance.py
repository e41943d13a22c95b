"""Reads an exported instance, and evaluates its objective: NumPy alone.

::

    python read_instance.py FOLDER/NAME

prints the objective at the Euclidean metric and the proven bounds. :func:`objective` has all risks, losses,
measures and regularizers of the library's instances; docs/instances.md says where they are specified.
"""

import json
import sys
from fractions import Fraction

import numpy as np

LOSSES = {
    "hinge": lambda s, mu: np.maximum(0.0, mu - s),
    "logistic": lambda s, mu: np.logaddexp(0.0, -s),
    "hard": lambda s, mu: np.where(s >= mu, 0.0, np.inf),
    "negative log": lambda s, mu: -np.log(s),
    "negative root": lambda s, mu: -np.sqrt(s),
    "itakura-saito": lambda s, mu: divergence(np.minimum(1.0, s / mu) if mu > 0.0 else np.maximum(1.0, s / mu)),
}
GAINS = {  # i = 1..p down the rows, b = 0..f along the columns, h = min(k, p)
    "map": lambda i, b, p, f, h: i / (p * (i + b)),
    "mrr": lambda i, b, p, f, h: (i == 1) / (1.0 + b),
    "err": lambda i, b, p, f, h: 0.5**i / (i + b) / np.sum(0.5**i / i),
    "precision": lambda i, b, p, f, h: (i + b <= h) / h,
    "knn": lambda i, b, p, f, h: 1.0 * ((i == h // 2 + 1) & (i + b <= h)),
    "ndcg": lambda i, b, p, f, h: (i + b <= h) * discount(i + b) / sum(map(discount, range(1, h + 1))),
    "ndcg-log2": lambda i, b, p, f, h: (i + b <= h) * discount(i + b + 1) / sum(map(discount, range(2, h + 2))),
}
REGULARIZERS = {  # t the table, a the arrays, M the metric less its prior; a diagonal metric is the matrix diag(w)
    "zero": lambda t, a, M: 0.0,
    "trace": lambda t, a, M: np.trace(M),
    "frobenius": lambda t, a, M: np.linalg.norm(M),
    "squared frobenius": lambda t, a, M: 0.5 * np.sum(M * M),
    "trace norm": lambda t, a, M: np.linalg.norm(M, "nuc"),
    "entrywise": lambda t, a, M: np.sum(abs(M)) - (0.0 if t["diagonal"] else np.sum(abs(np.diag(M)))),
    "log det": lambda t, a, M: bregman(M, square(a["prior_root"]) if a["prior_root"].ndim > 1 else a["prior_root"]),
    "budget": lambda t, a, M: excess(np.sum(square_of(a["spent"]) * M) - number(t, "limit"), "weight" in t),
    "quadratic form": lambda t, a, M: 0.5 * np.diag(M) @ form(t["of"], a) @ np.diag(M),
}


def number(table, key, default="1"):
    """Read a rational, as the float nearest to it."""
    return float(Fraction(table.get(key, default)))


def divergence(r):
    """Itakura and Saito's, infinite where r is not positive."""
    return np.where(r > 0.0, r - np.log(np.maximum(r, 1e-300)) - 1.0, np.inf)


def discount(t):
    """1 / log2 t, at most 1."""
    return 1.0 / np.log2(np.maximum(t, 2))


def square(root):
    """H of its root."""
    return root.T @ root


def square_of(A):
    """A diagonal as a matrix."""
    return np.diag(A) if A.ndim == 1 else A


def bregman(M, H):
    """<H, M> - ln det(H M) - d."""
    HM = square_of(H) @ M
    return np.trace(HM) - np.linalg.slogdet(HM)[1] - len(M)


def excess(over, soft):
    """What is spent beyond a budget; infinite if it is hard."""
    return np.maximum(0.0, over) if soft or over <= 0.0 else np.inf


def form(of, a):
    """The matrix of a quadratic form."""
    A = {"gram of A": a.get("gram_of"), "squared points": a["points"], "matrix": a.get("form")}[of]
    return A if of == "matrix" else (A.T @ A) ** 2 if of == "gram of A" else A * A


def read(path):
    """Description and arrays of FOLDER/NAME."""
    with open(f"{path}.json", encoding="utf-8") as file:
        return json.load(file), dict(np.load(f"{path}.npz"))


def own(start, a):
    """Arrays of a summand, under names without the beginning."""
    return a | {name.removeprefix(start): array for name, array in a.items() if name.startswith(start)}


def distances(Q, X, M, similar):
    """Of all rows of Q and of X; of similarities the negative."""
    if similar:
        return -Q @ M @ X.T
    Q, X = Q - X.mean(axis=0), X - X.mean(axis=0)
    return (Q @ M * Q).sum(1)[:, None] + (X @ M * X).sum(1) - 2 * Q @ M @ X.T


def parts(t, a, M, similar):
    """The numbers that a risk sums."""
    X, c = a["points"], number(t, "weight")
    if "short" in t or "targets" in a or "comparison_weights" in a:
        raise NotImplementedError("no instance of the library has cut scores, or targets or weights of comparisons")
    if t["kind"] == "sum":
        return np.concatenate([parts(of, own(f"summand{k}_", a), M, similar) for k, of in enumerate(t["summands"])])
    if t["kind"] == "worst":
        R = np.sort(parts(t["of"], a, M, similar))[::-1]
        kappa = 1.0 / max(1.0, number(t, "share") * len(R))
        return len(R) * np.clip(1.0 - kappa * np.arange(len(R)), 0.0, kappa) * R
    if t["kind"] == "listed choices":
        D = distances(X, X, M, similar)[tuple(a["pairs"].T)].reshape(-1, t["candidates"])
        return c * softmax(D / number(t, "temperature"), t["chosen"])
    if "terms" in t:
        i, j, *k = np.triu_indices(len(X), 1) if "codes" in a else a.get("triplets", a.get("pairs")).T
        D = distances(X, X, M, similar)
        s = D[i, k[0]] - D[i, j] if k else D[i, j]
        which = a["codes"][i] != a["codes"][j] if "codes" in a else a["terms"]
        each = [(which == n, term, number(term, "margin")) for n, term in enumerate(t["terms"])]
        return np.concatenate([number(u, "weight") * LOSSES[u["loss"]](u["sign"] * s[at], mu) for at, u, mu in each])
    near, found = np.split(a["near"], a["near_stops"][:-1]), []
    n, far = t.get("queries", len(near)), np.split(a["far"], a["far_stops"][:-1]) if "far" in a else None
    D = distances(a["queries"] if "queries" in a else X[a["anchors"]], X, M, similar)
    for q, rows in enumerate(near):
        others = far[q] if far else np.setdiff1d(np.arange(len(X)), np.append(rows, a["itself"][q]))
        x, z = np.sort(D[q, rows]), np.sort(D[q, others])
        found.append(of_lists(t, x, z, n, c) * (a["query_weights"][q] if "query_weights" in a else 1.0))
    return np.array(found)


def softmax(D, chosen):
    """Of a choice a row, whose first columns were chosen."""
    least = D.min(axis=1)
    return np.log(np.exp(least[:, None] - D).sum(1)) - least + D[:, :chosen].mean(1)


def of_lists(t, x, z, n, c):
    """One query's part of n, of ascending distances of near and far items."""
    p, f = len(x), len(z)
    if t["kind"] == "choices":
        return c * softmax(np.append(x, z)[None] / number(t, "temperature"), p)[0]
    if t["kind"] == "pairs of lists" or t["measure"] == "auc":
        c, mu = (c, number(t, "margin")) if t["kind"] == "pairs of lists" else (2 * number(t, "C") / (n * p * f), 0.5)
        return c * LOSSES[t.get("loss", "hinge")](z - x[:, None], mu).sum()
    i, b = np.arange(1, p + 1)[:, None], np.arange(f + 1)
    worth = GAINS[t["measure"]](i, b, p, f, min(t.get("k", p), p))
    worth = worth + 2 / (p * f) * (np.append(0.0, np.cumsum(z)) - b * x[:, None])
    # The i-th near item has no fewer far items above it than the one before: least worth, item by item.
    best = np.zeros(f + 1)
    for row in worth:
        best = np.minimum.accumulate(row + best)
    return number(t, "C") / n * (1.0 - best[-1])


def penalty(t, a, M):
    """A regularizer."""
    if t["kind"] == "sum":
        return sum(penalty(of, own(f"term{k}_", a), M) for k, of in enumerate(t["summands"]))
    given = M - square_of(a["prior"]) if t.get("prior") else M
    return number(t, "weight") / t.get("over_root_of", 1) ** 0.5 * REGULARIZERS[t["kind"]](t, a, given)


def objective(problem, a, M):
    """F(M) of the table ``problem`` and its arrays; M is (d, d) or (d, k), or the weights of a diagonal metric."""
    M = square_of(M)
    linear = np.sum(square_of(a["linear"]) * M) if problem["linear"] else 0.0
    R = parts(problem["risk"], a, M, problem["cone"] in ("matrices", "symmetric")).sum()
    return R + penalty(problem["regularizer"], a, M) + linear + number(problem, "constant", "0")


if __name__ == "__main__":
    description, arrays = read(sys.argv[1])
    features = description["problem"]["features"]
    value = objective(description["problem"], arrays, np.eye(features, description["problem"].get("features_of_items")))
    print(f"{value:.17g} at the identity; the optimum is in", *(float(Fraction(b)) for b in description["bounds"]))
