"""Checks of exercise 2: by identities that hold for any coordinates of the span."""

from functools import cache

import numpy as np
from checking import expect, numbers, same, task, wine


@cache
def kernels():
    """Kernel matrices of thirty wines, Gaussian and linear (of rank 13 and, with a wine twice, not of full rank)."""
    X, _ = wine()
    return [values(X[::6], X[::6], kind) for kind in ("gaussian", "linear", "twice")]


def values(X, Y, kind):
    """Kernel values of points in rows."""
    if kind == "linear":
        return (X + 1.0) @ (Y + 1.0).T
    if kind == "twice":
        X, Y = X.copy(), Y.copy()
        X[1], Y[1] = X[0], Y[0]
    return np.exp(-((X[:, None] - Y) ** 2).sum(axis=2) / 13)


def distances(K):
    return np.diag(K)[:, None] + np.diag(K) - 2.0 * K


def about_mean(K):
    J = np.eye(len(K)) - 1.0 / len(K)
    return J @ K @ J


def some_coordinates(K):
    """Coordinates in a basis that no eigenvector has, so that answers are not compared basis by basis."""
    found, vectors = np.linalg.eigh(about_mean(K))
    kept = found > 1e-10 * found[-1]
    turn, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(kept.sum(), kept.sum())))
    return (vectors[:, kept] * np.sqrt(found[kept])) @ turn


@task(2)
def squared_distances(answer):
    for K in kernels():
        diagonal = np.diag(K)
        same(
            answer(K),
            distances(K),
            "Expand the square: ||a - b||^2 = <a, a> + <b, b> - 2 <a, b>.",
            what="the squared distances",
            mistakes={
                "<a, b> comes twice.": diagonal[:, None] + diagonal - K,
                "These are distances, not squared.": np.sqrt(np.maximum(distances(K), 0.0)),
                "The diagonal of K need not be 1.": 2.0 - 2.0 * K,
                "K has inner products of the points, and is no matrix of points.": ((K[:, None] - K) ** 2).sum(axis=2),
            },
        )


@task(3)
def coordinates(answer):
    for K in kernels():
        found, r = answer(K), some_coordinates(K).shape[1]
        expect(
            np.ndim(found) == 2 and len(found) == len(K),
            f"expected Z with {len(K)} rows, one for each point; yours has shape {np.shape(found)}",
            "Rows are points, columns are coordinates.",
        )
        Z = numbers(found, np.shape(found), "Z")
        hint = "Take the mean off rows and columns of K: then it has the inner products of the points about their mean."
        same(
            distances(Z @ Z.T),
            distances(K),
            "A symmetric matrix of inner products is Z Z^T: factor it by its eigenvalues and eigenvectors.",
            hint,
            what="squared distances of the rows",
            rtol=1e-6,
            mistakes={
                "Columns of Z are eigenvectors times *roots* of eigenvalues.": distances(about_mean(K) @ about_mean(K))
            },
        )
        expect(
            np.abs(Z.mean(axis=0)).max() <= 1e-6 * np.abs(Z).max(),
            "expected columns of Z that sum to zero; yours do not",
            hint,
        )
        expect(
            Z.shape[1] == r,
            f"expected {r} coordinates; yours has {Z.shape[1]}",
            "Leave eigenvalues that are zero out, at most 1e-10 times the largest."
            if Z.shape[1] > r
            else "A coordinate is missing: which eigenvalues are zero?",
        )


@task(3)
def operator(answer):
    for K in kernels():
        Z = some_coordinates(K)
        root = np.random.default_rng(1).normal(size=Z.shape)
        M = root.T @ root
        B = numbers(answer(M, Z), K.shape, "B")
        same(
            distances(K @ B @ K),
            distances(Z @ M @ Z.T),
            "Write an orthonormal basis as e_l = sum_i E_il phi(x_i); then A = sum M_kl e_k x e_l has B = E M E^T.",
            "E = Z (Z^T Z)^-1: check that E^T K E = I.",
            what="distances under the operator",
            rtol=1e-6,
            mistakes={
                "This is Z M Z^T, the inner products under M. They are K B K, but for the mean.": distances(
                    K @ Z @ M @ Z.T @ K
                )
            },
        )
        same(np.trace(B @ K), np.trace(M), what="the trace of A, tr BK", rtol=1e-6)
        same(np.trace(B @ K @ B @ K), np.sum(M * M), what="the squared norm of A, tr BKBK", rtol=1e-6)


@task(2)
def transform(answer):
    X, _ = wine()
    new = X[1::17]
    for K, kind in zip(kernels(), ("gaussian", "linear", "twice"), strict=True):
        Z = some_coordinates(K)
        E = Z @ np.linalg.inv(Z.T @ Z)
        anew = values(np.vstack([X[::6], new]), X[::6], kind)[len(K) :]
        for k, what in ((K, "coordinates of the old points, as if they were new"), (anew, "coordinates of new points")):
            same(
                answer(k, K, Z),
                (k - K.mean(axis=0)) @ E,
                "<z, z_i> is k_i minus the mean of row i of K, up to a constant that is the same for all i.",
                "The mean has the inner products K.mean(axis=0). Multiply what is left by Z (Z^T Z)^-1.",
                what=what,
                rtol=1e-6,
                mistakes={
                    "Take off the mean of the old points, whose inner products are the means of columns of K.": k @ E,
                    "Z^T Z is not the identity.": (k - K.mean(axis=0)) @ Z,
                },
            )
