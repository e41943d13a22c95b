"""Checks of exercise 3: by the theorem of Eckart and Young, and by a certified bound."""

from functools import cache

import numpy as np
from checking import SEED, expect, numbers, same, task, wine


@task(5)
def best_factor(answer):
    X, _ = wine()
    W = np.cov(X, rowvar=False)
    values, vectors = np.linalg.eigh(W)
    for c in (1, 3, 5):
        B = numbers(answer(W, c), (c, 13), "B")
        top = vectors[:, -c:]
        same(
            B.T @ B,
            (top * values[-c:]) @ top.T,
            "Which eigenvalues of W may stay, if only c may?",
            "The rows of B are the roots of the c largest eigenvalues times their eigenvectors.",
            what=f"B^T B for c = {c}",
            rtol=1e-7,
            mistakes={
                "`eigh` gives ascending eigenvalues: the largest are the last.": (vectors[:, :c] * values[:c])
                @ vectors[:, :c].T,
                "B^T B has the squares of what multiplies the eigenvectors: take roots.": (top * values[-c:] ** 2)
                @ top.T,
                "The eigenvectors are there, but not the eigenvalues.": top @ top.T,
                "Eigenvectors are the columns of `vectors`, not its rows.": (vectors[-c:].T * values[-c:])
                @ vectors[-c:],
            },
        )


@cache
def halves():
    """The upper and the lower halves of handwritten digits, two modalities, and the certified optimum."""
    import convexmetric as cm

    digits = cm.datasets.load("digits")
    X, y = digits.X[:150].reshape(-1, 2, 32) / 16.0, digits.y[:150]
    X = X - X.mean(axis=0)
    problem = cm.CrossModalProblem(X[:, 0], X[:, 1], y, y, alpha=60.0, beta=0.01, random_state=SEED)
    return problem, cm.solve(problem, tol=1e-8)


@task(5)
def enough_columns(answer):
    problem, solution = halves()
    W, lower = solution.certificate.M, solution.lower_bound
    values, vectors = np.linalg.eigh(W)
    for tol in (0.3, 1e-5):
        gaps = []
        while not gaps or gaps[-1] > tol:
            top = vectors[:, -len(gaps) - 1 :]
            gaps.append(1.0 - lower / problem.objective((top * values[-len(gaps) - 1 :]) @ top.T))
        found = numbers(answer(problem, W, lower, tol), (), "the number of columns")
        hint = {
            len(gaps) - 1: "One too few: columns are counted from 1.",
            len(gaps) + 1: "One too many: is the smallest number returned as soon as it is enough?",
            int((values > 1e-6 * values[-1]).sum()): "This is the rank of W. Fewer columns may do within tol.",
            len(W): "This is the size of W. Fewer columns may do within tol.",
        }
        expect(
            found == len(gaps),
            f"expected {len(gaps)} columns for a gap of {tol}; yours are {found:g}",
            hint.get(int(found), "Is the gap relative to the objective: (objective - bound) / objective?"),
            f"The gaps of 1, 2, ... columns are {', '.join(f'{gap:.2g}' for gap in gaps[:6])}, ...",
        )
