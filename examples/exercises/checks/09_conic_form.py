"""Checks of exercise 9: by values at random points, and by weak duality."""

import numpy as np
from checking import Wrong, comparisons, expect, numbers, same, several, task, wine


def triplets(T=30, d=4):
    """Triplets of wines in a few of their measurements: their matrices (T, d, d)."""
    X, _ = wine()
    i = np.arange(T)
    X = X[:, [6, 12, 9, 0][:d]]
    return comparisons(X[i] - X[60 + 3 * i % 100], X[i] - X[i + 7])


def svec_of(M):
    d = len(M)
    return np.array([M[i, j] * (1.0 if i == j else np.sqrt(2.0)) for j in range(d) for i in range(j + 1)])


def smat_of(v):
    d = int(np.sqrt(2 * len(v)))
    places = [(i, j) for j in range(d) for i in range(j + 1)]
    M = np.zeros((d, d))
    for (i, j), value in zip(places, v, strict=True):
        M[i, j] = M[j, i] = value / (1.0 if i == j else np.sqrt(2.0))
    return M


@task(2)
def svec(answer):
    for d in (1, 2, 4):
        for M in triplets(5, d):
            plain = np.array([M[i, j] for j in range(d) for i in range(j + 1)])
            off = np.array([i != j for j in range(d) for i in range(j + 1)])
            by_rows = [M[i, j] * (1.0 if i == j else np.sqrt(2.0)) for i in range(d) for j in range(i, d)]
            same(
                answer(M),
                svec_of(M),
                "(1, 1), (1, 2), (2, 2), (1, 3), (2, 3), (3, 3), ...: column by column, down to the diagonal.",
                "<svec M, svec N> must be <M, N>: the entries off the diagonal come twice there.",
                what=f"svec of a {d} x {d} matrix",
                mistakes={
                    "The root of 2 is missing off the diagonal.": plain,
                    "Off the diagonal it is the root of 2, not 2.": plain * (1.0 + off),
                    "This goes row by row. CLARABEL goes column by column.": by_rows,
                    "The diagonal stays as it is.": np.sqrt(2.0) * plain,
                },
            )


@task(2)
def smat(answer):
    for d in (1, 2, 4):
        for M in triplets(5, d):
            half = np.triu(M)
            same(
                answer(svec_of(M)),
                M,
                "Undo task 1: divide by the root of 2 off the diagonal, and put each entry in both places.",
                "The size d of the matrix follows from the length d (d + 1) / 2 of the vector.",
                what=f"the {d} x {d} matrix of its vector",
                mistakes={
                    "Only one triangle is filled.": half,
                    "Only the lower triangle is filled.": half.T,
                    "Off the diagonal the root of 2 is still there.": M
                    * (np.sqrt(2.0) + (1 - np.sqrt(2.0)) * np.eye(d)),
                    "Multiplied by the root of 2 where one must divide.": M * (2.0 - np.eye(d)),
                    "The diagonal is there twice.": M + np.diag(np.diag(M)),
                },
            )


@task(4)
def conic_form(answer):
    mu, rng = 0.1, np.random.default_rng(0)
    for T, d in ((1, 2), (6, 3), (30, 4)):
        D, n = triplets(T, d), d * (d + 1) // 2
        found = several(answer(D, mu), "three arrays, q, A and b", "q, A, b")
        dense = found[1].toarray() if hasattr(found[1], "toarray") else found[1]
        A = numbers(dense, (2 * T + n, n + T), "A")
        q, b = numbers(found[0], (n + T,), "q"), numbers(found[2], (2 * T + n,), "b")
        for _ in range(3):
            root, xi = rng.normal(size=(d, d)), rng.uniform(0, 2, T)
            M = root @ root.T
            x = np.concatenate([svec_of(M), xi])
            left = b - A @ x
            same(
                q @ x,
                np.trace(M) + mu * xi.sum(),
                "q has svec I, for tr M = <I, M>, and mu for each slack.",
                what="q x, the objective",
            )
            margins = np.einsum("tij,ij->t", D, M) + xi - 1.0
            parts = (
                ("the first n rows of b - Ax", left[:T], margins),
                ("the next n rows of b - Ax", left[T : 2 * T], xi),
                ("the last rows of b - Ax", left[2 * T :], svec_of(M)),
            )
            for what, mine, right in parts:
                same(
                    mine,
                    right,
                    "The sign: it is b - Ax that must be in the cone, so A has -svec D_t, -1 for each slack, and -I.",
                    "b is -1 in the first T rows, and 0 in all others.",
                    what=what,
                    mistakes={
                        "The sign of b: <D_t, M> + xi_t - 1 has -1.": right + 2.0,
                        "The sign of A: b - Ax has minus Ax.": -right - 2.0 if what.startswith("the first") else -right,
                        "The slack is missing here.": right - xi if what.startswith("the first") else np.nan * right,
                        "The sign of the slack.": right - 2.0 * xi if what.startswith("the first") else np.nan * right,
                    },
                )


@task(2)
def solve(answer):
    import clarabel  # noqa: F401
    import scipy.sparse  # noqa: F401

    mu = 0.1
    for T, d in ((30, 4), (20, 3)):
        D = triplets(T, d)
        found = several(answer(D, mu), "two arrays, M and u", "M, u")
        M, u = numbers(found[0], (d, d), "M"), numbers(found[1], (T,), "u")
        values, vectors = np.linalg.eigh(0.5 * (M + M.T))
        expect(
            values[0] >= -1e-6 and np.allclose(M, M.T),
            f"the metric is not feasible: it has the eigenvalue {values[0]:.3g}",
            "x begins with svec M: `smat` of its first d (d + 1) / 2 numbers.",
        )
        M = (vectors * np.maximum(values, 0.0)) @ vectors.T
        objective = np.trace(M) + mu * np.maximum(0.0, 1.0 - np.einsum("tij,ij->t", D, M)).sum()
        expect(
            u.min() >= -1e-6 and u.max() <= mu * (1 + 1e-6),
            f"expected multipliers from 0 to mu = {mu}; yours are from {u.min():.3g} to {u.max():.3g}",
            "They are the first n numbers of z, not of x or s.",
        )
        u = np.clip(u, 0.0, mu)
        top = np.linalg.eigvalsh(np.tensordot(u, D, axes=1))[-1]
        lower = u.sum() / max(1.0, top)
        if objective - lower > 1e-5 * objective:
            raise Wrong(
                f"expected a value that the multipliers prove; M has {objective:.8g}, and u prove {lower:.8g}",
                "Are the rows in the order of the cones, the 2 n numbers first?",
                "If q, A and b are right: M are the first numbers of x, and u of z.",
            )
