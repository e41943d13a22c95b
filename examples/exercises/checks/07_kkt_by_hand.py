"""Checks of exercise 7: by the optimality conditions, and by primal and dual values that agree."""

from functools import cache

import numpy as np
from checking import comparisons, positive_part, same, several, task, wine


@cache
def triplets():
    """Twelve triplets of wines, their comparisons (12, 4, 4) in four of the measurements."""
    X, _ = wine()
    i = np.arange(0, 48, 4)
    j, k = i + 3, 60 + 9 * np.arange(12)
    X = X[:, [0, 6, 9, 12]]
    return X[i], X[j], X[k], comparisons(X[i] - X[k], X[i] - X[j])


def swapped(S):
    """Take rows of eigenvectors for columns."""
    values, vectors = np.linalg.eigh(S)
    return (vectors.T * np.maximum(values, 0.0)) @ vectors


@cache
def optimum():
    """Multipliers and metric of the twelve triplets at lambda = 2 and gamma = 1, by ascent on the dual."""
    *_, D = triplets()
    u, speed = np.full(12, 0.5 / 12), 2.0 / np.linalg.norm(D.reshape(12, -1), 2) ** 2
    last = u + 1.0
    while np.abs(u - last).max() > 1e-14:
        R, last = positive_part(np.tensordot(u, D, axes=1)) / 2.0, u
        u = np.clip(u + speed * (1.0 - np.einsum("tij,ij->t", D, R)), 0.0, 1.0 / 12)
    primal = np.sum(R * R) + np.maximum(0.0, 1.0 - np.einsum("tij,ij->t", D, R)).mean()
    assert primal - (u.sum() - np.sum(R * R)) <= 1e-9 * primal
    return u, R


@task(2)
def comparison(answer):
    for i, j, k, D in zip(*triplets(), strict=True):
        same(
            answer(i, j, k),
            D,
            "A squared distance is an inner product: v^T R v = <R, v v^T>.",
            "One outer product for the pair (i, k), minus one for (i, j).",
            what="D",
            mistakes={
                "The sign is wrong: the pair that should be far, (i, k), comes with +.": -D,
                "The pair (j, k) has no part in the triplet.": np.outer(j - k, j - k) - np.outer(i - j, i - j),
                "The two outer products are subtracted, not added.": np.outer(i - k, i - k) + np.outer(i - j, i - j),
                "This is (x_i - x_k)(x_i - x_j)^T or the like: square each difference by itself.": np.outer(
                    i - k, i - k
                )
                - np.outer(i - k, i - j),
            },
        )


@task(3)
def metric(answer):
    *_, D = triplets()
    rng = np.random.default_rng(0)
    for u in (optimum()[0], rng.uniform(0.0, 1.0 / 12, 12), np.eye(12)[3] / 12):
        for lam in (0.5, 2.0):
            S = np.tensordot(u, D, axes=1)
            same(
                answer(u, D, lam),
                positive_part(S) / lam,
                "Write S for the sum of u_t D_t: S = lambda R - Z is a difference of two matrices of the cone.",
                "<Z, R> = 0 makes them the positive and the negative part of S, by its eigenvalues.",
                what="R",
                mistakes={
                    "Not feasible: R must be positive semidefinite. What does Z take away?": S / lam,
                    "The 1/n of the mean is in the multipliers: it is there twice.": positive_part(S) / lam / 12,
                    "Divide by lambda, and do not multiply.": positive_part(S) * lam,
                    "This is Z, the negative part.": positive_part(-S) / lam,
                    "lambda is missing.": positive_part(S),
                    "Eigenvectors are the columns of `vectors`: V diag(values) V^T.": swapped(S) / lam,
                    "Set eigenvalues, not entries, to zero.": np.maximum(S, 0.0) / lam,
                },
            )


@task(3)
def multiplier(answer):
    *_, several = triplets()
    i, j = several[0][0], several[0][1]
    for D in (*several, -np.outer(i - j, i - j), -np.diag([1.0, 2.0, 3.0, 4.0]), np.zeros((4, 4))):
        most = np.sum(positive_part(D) ** 2)
        for lam, gamma in ((0.5, 1.0), (3.0, 2.0), (100.0, 1.0)):
            u = min(1.0, lam * gamma / most) if most > 0.0 else 1.0
            found = same(
                answer(D, lam, gamma),
                u,
                "The metric is u [D]_+ / lambda, and <[D]_+, D> = ||[D]_+||^2. For which u is <D, R> = gamma?",
                "Three cases: that u is at most 1; it is larger, and then u = 1; [D]_+ = 0, and then u = 1.",
                what=f"u for lambda = {lam} and gamma = {gamma}",
                mistakes={
                    "No eigenvalue of D is positive: no metric brings the hinge below gamma. Then u = 1.": 0.0
                    if most < 1e-12
                    else np.inf,
                    "Multipliers are at most 1: if the margin cannot be met, the hinge stays positive.": lam
                    * gamma
                    / most
                    if most > 0.0
                    else np.inf,
                    "Only the positive part of D is in the metric.": min(1.0, lam * gamma / np.sum(D**2))
                    if D.any()
                    else 1.0,
                    "gamma is missing.": min(1.0, lam / most) if most > 0.0 else 1.0,
                    "The norm is squared.": min(1.0, lam * gamma / np.sqrt(most)) if most > 0.0 else 1.0,
                },
            )
            # Primal and dual values of the smallest instance agree at this u and at no other.
            R = found * positive_part(D) / lam
            primal = 0.5 * lam * np.sum(R * R) + max(0.0, gamma - np.sum(R * D))
            assert np.isclose(primal, found * gamma - 0.5 * lam * np.sum(R * R))


@task(2)
def allowed(answer):
    *_, D = triplets()
    u, R = optimum()
    missing = 1.0 - np.einsum("tij,ij->t", D, R)
    least, most = (missing > 1e-6) / 12, (missing >= -1e-6) / 12
    assert np.array_equal(np.clip(u, least, most), u)
    # Hinges that are met up to 1e-8, which depends on no computer's rounding.
    R = (1.0 + 1e-8) * R
    missing = 1.0 - np.einsum("tij,ij->t", D, R)
    found = several(answer(R, D, 1.0), "two arrays, the least and the largest values", "least, largest")
    hints = (
        "Violated: u = 1/n. Kept with room to spare: u = 0. Met exactly: anything from 0 to 1/n.",
        "gamma - <D_t, R> is positive where the triplet is violated.",
    )
    swapped = {"Least and largest are swapped, or violated triplets and those with room to spare.": most}
    late, early = missing > 0.0, missing >= 0.0
    sign, exact = "The sign of the test.", "Compare with 1e-6, not with 0: these hinges are met up to rounding."
    same(found[0], least, *hints, what="the least values", mistakes=swapped | {sign: 1 / 12 - most, exact: late / 12})
    same(found[1], most, *hints, what="the largest values", mistakes={sign: 1 / 12 - least, exact: early / 12})
