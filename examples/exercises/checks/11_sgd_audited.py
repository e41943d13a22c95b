"""Checks of exercise 11: by a dual bound that is found with NumPy alone."""

from functools import cache

import numpy as np
from checking import comparisons, expect, numbers, positive_part, same, task, wine

LAM, GAMMA = 10.0, 1.0


@cache
def triplets():
    """Two hundred triplets of wines: the points, rows (i, j, k), and their matrices (200, 13, 13)."""
    X, y = wine()
    rng = np.random.default_rng(0)
    rows = []
    for i in rng.integers(0, 178, 200):
        alike = np.flatnonzero(y == y[i])
        rows.append((i, rng.choice(alike[alike != i]), rng.choice(np.flatnonzero(y != y[i]))))
    rows = np.array(sorted(rows))
    return X, rows, comparisons(X[rows[:, 0]] - X[rows[:, 2]], X[rows[:, 0]] - X[rows[:, 1]])


def F(R, D):
    return 0.5 * LAM * np.sum(R * R) + np.maximum(0.0, GAMMA - np.einsum("tij,ij->t", D, R)).mean()


@cache
def optimum():
    """Multipliers, metric and lower bound, by accelerated ascent on the dual."""
    D = triplets()[2]
    flat, n = D.reshape(len(D), -1), len(D)
    speed = LAM / np.linalg.norm(flat, 2) ** 2
    u = ahead = np.zeros(n)
    t = 1.0
    while True:
        R = positive_part((ahead @ flat).reshape(13, 13)) / LAM
        slope = GAMMA - flat @ R.ravel()
        new = np.clip(ahead + speed * slope, 0.0, 1.0 / n)
        t = 1.0 if (new - u) @ slope < 0.0 else t
        after = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t))
        u, ahead, t = new, new + (t - 1.0) / after * (new - u), after
        R = positive_part((u @ flat).reshape(13, 13)) / LAM
        lower = GAMMA * u.sum() - 0.5 * LAM * np.sum(R * R)
        if F(R, D) - lower <= 1e-6 * lower:
            return u, R, lower


@task(2)
def subgradient(answer):
    D, (_, best, _) = triplets()[2], optimum()
    for R in (0.5 * best, 0.01 * np.eye(13), 2.0 * best):
        for some in (D, D[:10]):
            violated = np.einsum("tij,ij->t", some, R) < GAMMA
            part = np.tensordot(violated, some, axes=1)
            same(
                answer(R, some, LAM, GAMMA),
                LAM * R - part / len(some),
                "The norm has the gradient lambda R, a violated triplet -D_t, and one that keeps its margin zero.",
                "Violated are those with <D_t, R> < gamma. Divide their sum by the number of all triplets.",
                what="the subgradient",
                mistakes={
                    "The sign of the hinge: it falls as <D_t, R> grows.": LAM * R + part / len(some),
                    "The hinges are averaged, not summed.": LAM * R - part,
                    "Divide by the number of all triplets, not of those that are violated.": LAM * R
                    - part / max(1, violated.sum()),
                    "Triplets that keep their margin have no part in it.": LAM * R - some.mean(axis=0),
                    "The norm has the gradient lambda R.": -part / len(some),
                    "The derivative of 1/2 lambda ||R||^2 is lambda R: no factor 2, and no 1/2.": 2 * LAM * R
                    - part / len(some),
                    "These are the triplets that keep their margin, not the violated ones.": LAM * R
                    - (some.sum(axis=0) - part) / len(some),
                },
            )


@task(4)
def descend(answer):
    D, (_, best, lower) = triplets()[2], optimum()
    for seed in (0, 1):
        R = numbers(answer(D, LAM, GAMMA, 5000, 20, np.random.default_rng(seed)), (13, 13), "the metric")
        size = np.abs(R).max()
        expect(size > 0.0, "the metric is zero", "R never changes: is it assigned in the loop?")
        expect(np.abs(R - R.T).max() <= 1e-9 * size, "expected a symmetric metric; yours is not symmetric")
        least = np.linalg.eigvalsh(R)[0]
        expect(
            least >= -1e-9 * size,
            f"expected a metric of the cone; yours is not feasible, it has the eigenvalue {least:.3g}",
            "Project after every step.",
        )
        times = F(R, D) / lower
        hint = "Are all steps taken, with the subgradient of task 1?"
        if times > F(np.zeros_like(R), D) / lower:
            hint = "It is worse than R = 0: does a step go up, or are steps far too long?"
        elif np.linalg.norm(R) < 0.8 * np.linalg.norm(best):
            hint = "R is still far too small: steps are too short."
        elif times < 1.2:
            hint = "It is near, and swings about the optimum: steps must shrink faster."
        expect(
            times <= 1.002,
            f"expected at most 1.002 times the optimum; yours is {times:.5f} times",
            hint,
            "For a lambda-strongly convex function: 1 / (lambda s) at step s = 1, 2, ...",
        )


@task(2)
def times_optimum(answer):
    D, (u, best, _) = triplets()[2], optimum()
    rng = np.random.default_rng(0)
    for R in (best, 0.5 * best, 0.01 * np.eye(13)):
        for given in (u, 0.3 * u, u + rng.normal(0.0, 0.1, len(u)) / len(u)):
            clipped = np.clip(given, 0.0, 1.0 / len(u))

            def dual(v, part=positive_part):
                S = part(np.tensordot(v, D, axes=1))
                return GAMMA * v.sum() - np.sum(S * S) / (2.0 * LAM)

            value = F(R, D)
            same(
                answer(R, given, D, LAM, GAMMA),
                value / dual(clipped),
                "Divide F(R) by a lower bound on the optimum: the dual value at u, clipped to [0, 1/n].",
                what="F(R) over the lower bound",
                mistakes={
                    "Multipliers outside of [0, 1/n] prove nothing: clip them.": value / dual(given),
                    "Only the positive part of S counts.": value / dual(clipped, lambda S: S),
                    "It is the wrong way round: the objective over the bound is at least 1.": dual(clipped) / value,
                    "This is the relative gap. Asked for is F(R) over the bound.": value / dual(clipped) - 1.0,
                },
            )


@task(2)
def audited(answer):
    import convexmetric as cm

    X, rows, D = triplets()
    _, best, lower = optimum()
    for R in (best, 0.5 * best):
        verdict = answer(X, rows, LAM, GAMMA, R)
        expect(
            isinstance(verdict, cm.audits.Audit),
            f"expected what cm.audit returns; yours is a {type(verdict).__name__}",
            "`return cm.audit(problem, R)`",
        )
        hint = "Is `margin` gamma and `reg` lambda, and the rest as it is by default?"
        same(verdict.objective, F(R, D), hint, what="the objective that is judged", rtol=1e-6)
        same(verdict.lower_bound, lower, hint, what="the certified lower bound", rtol=1e-5)
