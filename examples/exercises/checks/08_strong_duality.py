"""Checks of exercise 8: by the conditions themselves, and by values that are known by hand."""

import numpy as np
from checking import SEED, comparisons, expect, numbers, same, several, task, wine


def triplets(n, d):
    """Triplets of wines in a few of their measurements: their matrices (n, d, d)."""
    X, _ = wine()
    i = np.arange(n)
    return comparisons((X[i] - X[60 + i])[:, :d], (X[i] - X[i + 9])[:, :d])


@task(2)
def strict(answer):
    for D in (triplets(20, 3), -triplets(5, 2)):
        found = several(answer(D), "a matrix and slacks", "M, xi")
        M, xi = numbers(found[0], D.shape[1:], "M"), numbers(found[1], (len(D),), "xi")
        hint = "Take a multiple of I. Slacks cost something only in the objective: make them large."
        spare = {"the cone": np.linalg.eigvalsh(M)[0], "xi >= 0": xi.min()}
        spare["a triplet"] = (np.tensordot(D, M) + xi - 1.0).min()
        for what, left in spare.items():
            expect(left >= 1.0 - 1e-9, f"{what}: expected at least 1 to spare; yours has {left:.4g}", hint)


@task(2)
def best(answer):
    for c, eps in ((1.0, 1.0), (0.5, 1e-3), (1.0, 0.0)):
        M = numbers(answer(eps, c), (2, 2), "M")
        feasible = np.allclose(M, M.T) and np.linalg.eigvalsh(M)[0] >= -1e-9 * max(1.0, np.abs(M).max())
        expect(
            feasible and M[0, 0] <= eps * (1 + 1e-9) and M[0, 1] >= -c * (1 + 1e-9),
            f"eps = {eps}, c = {c}: your M is not feasible",
            "M_12^2 <= M_11 M_22. With M_11 = 0, what can M_12 be?",
        )
        same(M[0, 1], -c if eps else 0.0, "M_22 is free. How large must it be for M_12 = -c?", what="M_12")


@task(2)
def bound(answer):
    for a, u, eps, c in ((0.0, 1.0, 0.0, 1.0), (2.0, 1.0, 0.1, 0.5), (0.0, 0.0, 0.0, 1.0), (3.0, 0.5, 1.0, 2.0)):
        found = answer(a, u, eps, c)
        if u == 1.0:
            forgotten = {"a eps is missing.": -c} if a * eps else {}
            same(found, -a * eps - c, "What is left is - a eps - u c.", what="the bound", mistakes=forgotten)
        else:
            hint = "Z_22 = 0, as M_22 is in no other term; so Z_12 = 0. What multiplies M_12 then?"
            expect(np.isneginf(found), f"u = {u}: expected minus infinity; yours is {found}", hint)


def cycle(n, d):
    """Comparisons that add up to zero with positive weights, and the weights."""
    D, u = triplets(n, d), np.random.default_rng([SEED, n]).uniform(0.5, 2.0, n)
    D[-1] = -np.tensordot(u[:-1], D[:-1], axes=1) / u[-1]
    return D, u


@task(2)
def refutes(answer):
    D, u = cycle(4, 3)
    gamma, turned = np.array([1.0, 1.0, 0.5, 0.1]), np.array([1.0, 1.0, 1.0, -1.0])
    for v, matrices, right, proves, hint in (
        (u, D, gamma, True, "All three conditions hold."),
        (u, D - 0.1 * np.eye(3), gamma, True, "A sum without positive eigenvalues is enough; it need not be zero."),
        (turned * u, turned[:, None, None] * D, gamma, False, "u may not have negative entries."),
        (u, D, -gamma, False, "The sum of u_t gamma_t must be positive."),
        (u + np.eye(4)[0], D + 0.1 * np.eye(3), gamma, False, "The sum of u_t D_t has a positive eigenvalue."),
    ):
        expect(bool(answer(v, matrices, right)) == proves, f"expected {proves}; yours is {not proves}", hint)


@task(2)
def refutation(answer):
    for n, d in ((3, 3), (5, 4)):
        D, _ = cycle(n, d)
        u = numbers(answer(D), (n,), "u")
        left = np.abs(np.tensordot(u, D, axes=1)).max()
        expect(
            left <= 1e-9 * np.abs(u).max() * np.abs(D).max(),
            f"expected a sum of u_t D_t that is zero; yours has an entry of {left:.3g}",
            "The matrices as vectors are columns of a matrix A (d^2, n) with A u = 0: the last row of `svd(A)[2]`.",
        )
        expect(u.min() > 0.0, "expected positive multipliers", "A null vector may be turned around: times -1.")
