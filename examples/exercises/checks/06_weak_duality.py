"""Checks of exercise 6: by an optimum that is found and proven with NumPy alone."""

from functools import cache

import numpy as np
from checking import expect, same, task, wine

C = 0.1


@cache
def forty_triplets():
    """Rows d_t: a wine of the first grower is nearer to one of the same grower than to one of another."""
    X, _ = wine()
    i = np.arange(40)
    j, k = i + 1 + (7 * i) % 18, 59 + (13 * i) % 119
    return (X[i] - X[k]) ** 2 - (X[i] - X[j]) ** 2


def F(w, D):
    return 0.5 * w @ w + C * np.maximum(0.0, 1.0 - D @ w).sum()


@cache
def optimum():
    """Optimal multipliers and weights, by coordinate ascent on the dual."""
    D, u = forty_triplets(), np.zeros(40)
    while True:
        for t in range(len(D)):
            # The slope of the dual in u_t is 1 - d_t w; a Newton step never overshoots along one coordinate here.
            w = np.maximum(0.0, u @ D)
            u[t] = np.clip(u[t] + (1.0 - D[t] @ w) / (D[t] @ D[t]), 0.0, C)
        w = np.maximum(0.0, u @ D)
        if F(w, D) - (u.sum() - 0.5 * w @ w) < 1e-9 * F(w, D):
            return u, w


def multipliers():
    """Points of the dual, feasible and not."""
    rng = np.random.default_rng(0)
    return np.zeros(40), rng.uniform(0, C, 40), optimum()[0], rng.normal(0, 10 * C, 40)


@task(2)
def objective(answer):
    D, rng = forty_triplets(), np.random.default_rng(1)
    for w in (np.zeros(13), optimum()[1], rng.uniform(0, 0.3, 13)):
        s = D @ w
        same(
            answer(w, D, C),
            F(w, D),
            "F has two terms: half the squared length of w, and C times the sum of the hinges max(0, 1 - d_t w).",
            what="F(w)",
            mistakes={
                "Margins above 1 cost nothing: max(0, ...) is missing.": 0.5 * w @ w + C * (1 - s).sum(),
                "The squared length has the factor 1/2.": w @ w + C * np.maximum(0, 1 - s).sum(),
                "C is missing before the hinges.": 0.5 * w @ w + np.maximum(0, 1 - s).sum(),
                "The hinges are summed, not averaged.": 0.5 * w @ w + C * np.maximum(0, 1 - s).mean(),
                "Here is 1 + d_t w in place of 1 - d_t w.": 0.5 * w @ w + C * np.maximum(0, 1 + s).sum(),
            },
        )


@task(5)
def bound(answer):
    D, (_, best) = forty_triplets(), optimum()
    for u in multipliers():
        clipped = np.clip(u, 0.0, C)
        S = clipped @ D
        right = clipped.sum() - 0.5 * (np.maximum(S, 0.0) ** 2).sum()
        raw, wide = np.maximum(u @ D, 0.0), np.clip(u, 0.0, 1.0)
        found = same(
            answer(u, D, C),
            right,
            "What is left is sum_t u_t + 1/2 ||w||^2 - S w with S = sum_t u_t d_t: one parabola for each weight.",
            "Each weight minimises 1/2 w_f^2 - S_f w_f over w_f >= 0. Where S_f < 0 the minimum is at 0.",
            what="the bound",
            mistakes={
                "You clipped to [0, 1]; here the box is [0, C].": wide.sum()
                - 0.5 * (np.maximum(wide @ D, 0.0) ** 2).sum(),
                "u may be outside of [0, C]: clip it first.": u.sum() - 0.5 * raw @ raw,
                "This minimises over all w. Weights cannot be negative.": clipped.sum() - 0.5 * S @ S,
                "A factor 1/2 is missing: put the minimiser into 1/2 ||w||^2 - S w.": clipped.sum()
                - (np.maximum(S, 0.0) ** 2).sum(),
                "The sign of the second term is wrong: minimising takes something off.": clipped.sum()
                + 0.5 * (np.maximum(S, 0.0) ** 2).sum(),
            },
        )
        expect(found <= F(best, D) * (1 + 1e-9), f"{found} is above the optimum {F(best, D)}, so it is no lower bound")


@task(3)
def weights(answer):
    D = forty_triplets()
    # With one triplet alone S has entries of both signs.
    for u in (C * np.eye(40)[0], *multipliers()):
        clipped = np.clip(u, 0.0, C)
        same(
            answer(u, D, C),
            np.maximum(clipped @ D, 0.0),
            "Each weight minimises 1/2 w_f^2 - S_f w_f over w_f >= 0, with S = sum_t u_t d_t after clipping.",
            what="the weights",
            mistakes={
                "Weights cannot be negative.": clipped @ D,
                "You clipped to [0, 1]; here the box is [0, C].": np.maximum(np.clip(u, 0.0, 1.0) @ D, 0.0),
                "u may be outside of [0, C]: clip it first, as in the bound.": np.maximum(u @ D, 0.0),
                "The sign of S is wrong.": np.maximum(-(clipped @ D), 0.0),
            },
        )
