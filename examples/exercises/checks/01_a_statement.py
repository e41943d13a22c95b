"""Checks of exercise 1: by values at random points, and by optima that a bound by hand proves."""

import warnings

import numpy as np
from checking import SEED, expect, same, several, task, wine


def measured():
    """Differences of wines in three measurements, and their distances under a metric, with noise."""
    X, _ = wine()
    rng = np.random.default_rng(SEED)
    V, root = X[:40, :3] - X[60:100, :3], np.eye(3) + 0.2 * rng.normal(size=(3, 3))
    return V, np.linalg.norm(V @ root, axis=1) * rng.uniform(0.8, 1.2, 40)


def E(M, V, delta):
    return np.mean((delta - np.sqrt(np.einsum("ti,ij,tj->t", V, M, V))) ** 2)


@task(2)
def error(answer):
    V, delta = measured()
    for root in (np.eye(3), np.random.default_rng(1).normal(size=(3, 3)), np.zeros((3, 3))):
        q = ((V @ root) ** 2).sum(axis=1)
        same(
            answer(root @ root.T, V, delta),
            np.mean((delta - np.sqrt(q)) ** 2),
            "The squared distance of pair t is v_t^T M v_t: `np.einsum`, or the diagonal of V M V^T.",
            what="E(M)",
            mistakes={
                "The root is missing: delta is a distance, and v^T M v a squared one.": np.mean((delta - q) ** 2),
                "The errors are averaged, not summed.": np.sum((delta - np.sqrt(q)) ** 2),
                "The square is missing.": np.mean(np.abs(delta - np.sqrt(q))),
            },
        )


@task(2)
def factors(answer):
    V, delta = measured()
    L, other = map(np.asarray, several(answer(V, delta), "two matrices", "L, other"))
    values = [E(factor.T @ factor, V, delta) for factor in (L, other, (L + other) / 2)]
    expect(
        values[2] > np.mean(values[:2]) * (1 + 1e-9),
        f"half way the error is {values[2]:.4g}, not above the mean of {values[0]:.4g} and {values[1]:.4g}",
        "Which other factor has the same metric as L?",
        "Half way between L and -L the metric is zero. Choose an L that is better than that.",
    )


def solved(answer, *data):
    """Solve the program of an answer, which CVXPY must accept: its value, and its metric."""
    import cvxpy as cp

    program = answer(*data)
    expect(isinstance(program, cp.Problem), "expected a cvxpy.Problem", "`return cp.Problem(cp.Minimize(...), [...])`")
    expect(
        program.is_dcp(),
        "CVXPY does not see that this is convex",
        "Ask `is_dcp` of each part. A root of something linear is concave: it may be subtracted, not squared.",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = program.solve(solver="CLARABEL")
    return value, next((variable.value for variable in program.variables() if variable.ndim == 2), None)


@task(3)
def statement(answer):
    V, delta = measured()
    value, M = solved(answer, V, delta)
    expect(M is not None, "expected a program with a matrix as variable", "`cp.Variable((d, d), PSD=True)`")
    same(value, E(M, V, delta), "E is a mean of delta^2 - 2 delta sqrt(q) + q.", what="the value", rtol=1e-5)
    expect(np.linalg.eigvalsh(M)[0] >= -1e-6, "the matrix has a negative eigenvalue", "`PSD=True`, or `M >> 0`")
    # As sqrt(q) <= (q / a + a) / 2 for every a > 0, no metric has less than this if S has no negative eigenvalue.
    a = np.sqrt(np.einsum("ti,ij,tj->t", V, M, V))
    S, least = (V.T * (1 - delta / a)) @ V / len(V), np.mean(delta**2 - delta * a)
    expect(
        np.linalg.eigvalsh(S)[0] >= -1e-3 and np.isclose(value, least, rtol=1e-2),
        f"expected the minimum; yours, {value:.6g}, is not proven to be the least",
        "Is M free but for the cone?",
    )


@task(3)
def intervals(answer):
    lengths, low = np.abs(wine()[0][:2, :4]) + 0.5
    hints = ("A squared distance is linear in M: square the intervals.", "low**2 <= q, and q <= high**2.")
    shorter = {"Compare squared distances with squares of the intervals.": np.sum(low / lengths**2)}
    value, _ = solved(answer, np.diag(lengths), low, 2.0 * low)
    same(value, np.sum((low / lengths) ** 2), *hints, what="the least trace", mistakes=shorter, rtol=1e-5)
    # The same difference twice, and four times as far in squares: it cannot be less.
    V = np.diag(lengths)[[0, 0]] * np.array([[1.0], [2.0]])
    value, _ = solved(answer, V, low[[0, 0]], np.array([1.5, 1.9]) * low[0])
    expect(np.isinf(value), f"expected no metric; yours has the trace {value:.6g}", "Is `high` in it?", *hints)
