"""Checks of exercise 5: by finite differences, and by certified optima."""

import warnings
from functools import cache

import numpy as np
from checking import expect, numbers, same, task, wine


def pairs():
    """Differences of wines, labels and margins, and vectors that make some losses positive and others not."""
    X, y = wine()
    rng = np.random.default_rng(0)
    for a, b in ((0, 5), (3, 90), (60, 65), (10, 170), (20, 30), (70, 150)):
        for gamma in (0.5, 1.0):
            V = 0.1 * rng.normal(size=(3, 13))
            yield V, X[a] - X[b], 1.0 if y[a] == y[b] else -1.0, gamma


def slope(function, V):
    """Central differences."""
    found = np.zeros_like(V)
    for place in np.ndindex(V.shape):
        step = np.zeros_like(V)
        step[place] = 1e-6
        found[place] = (function(V + step) - function(V - step)) / 2e-6
    return found


@task(3)
def loss_gradient(answer):
    several = 0
    for V, delta, r, gamma in pairs():

        def loss(W, delta=delta, r=r, gamma=gamma):
            return max(0.0, 1.0 - r * (1.0 - ((W @ delta) ** 2).sum()) / gamma)

        right, step = slope(loss, V), np.outer(V @ delta, delta)
        several += bool(right.any())
        same(
            answer(V, delta, r, gamma),
            right,
            "The gradient of <v_i, delta>^2 in v_i is 2 <v_i, delta> delta.",
            "Times r / gamma where the loss is positive, and zero where it is not.",
            what=f"the gradient for r = {r:g} and gamma = {gamma:g}, by finite differences",
            mistakes={
                "This is the step in print. Differentiate the square.": r / gamma * step,
                "Where the hinge is zero, so is its gradient.": 2.0 * r / gamma * step,
                "gamma is missing: the loss has r / gamma.": 2.0 * r * step * bool(right.any()),
                "r is missing: pairs of the same class are drawn together, others pushed apart.": 2.0 / gamma * step,
            },
            rtol=1e-6,
            atol=1e-7,
        )
    assert 0 < several < 12


@task(3)
def norm_gradient(answer):
    for V, *_ in pairs():
        A = V.T @ V
        same(
            answer(V),
            slope(lambda W: np.linalg.norm(W.T @ W), V),
            "The norm has the gradient A / ||A|| in A. How does A = sum_i v_i v_i^T change with v_i?",
            "In v_i it is 2 A v_i / ||A||.",
            what="the gradient of the norm, by finite differences",
            mistakes={
                "This is the gradient of the squared norm.": 4.0 * V @ A,
                "The norm itself is missing below: ||A||^-1.": 2.0 * V @ A,
                "This is the gradient of the trace of A, not of its norm.": 2.0 * V,
                "This is for the norm of V, not of A.": V / np.linalg.norm(V),
            },
            rtol=1e-6,
            atol=1e-7,
        )


@cache
def at_rest():
    """The problem of 800 pairs of wines with lambda = 0.5, and where the printed steps come to rest."""
    import convexmetric as cm

    X, y = wine()
    X = X / np.linalg.norm(X[:, None] - X, axis=2).max()
    problem = cm.PairMarginProblem(X, *cm.papers.balanced_pairs(y, 800, random_state=0), reg=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cm.errors.GapWarning)
        steps = cm.approximate.StochasticFactors(20, 0.005, steps=100_000, as_printed=True, random_state=0)
        return problem, cm.solve(problem, solver=steps).M


@task(4)
def lambda_descended(answer):
    import convexmetric as cm

    problem, printed = at_rest()
    own = float(numbers(answer(problem.reg), (), "lambda"))
    expect(own > 0.0, f"expected a positive lambda; yours is {own:g}")
    # Among neighbouring answers yours must explain best where the printed steps come to rest.
    excess = {}
    for factor in (0.5, 0.8, 1.0, 1.25, 2.0):
        other = problem.with_reg(factor * own)
        excess[factor] = other.objective(printed) / cm.solve(other).lower_bound - 1.0
    best = min(excess, key=excess.get)
    expect(
        best == 1.0,
        f"where the printed steps rest, the objective of {own:g} is {excess[1.0]:.1%} above its certified optimum, "
        f"and that of {best * own:g} only {excess[best]:.1%}",
        "It is the wrong way round: less of the loss is more of the norm." if own < problem.reg else "",
        "The printed steps are those of half the loss with the whole norm.",
    )
    expect(answer(1.0) == 2.0 * answer(0.5), "expected a multiple of reg")
    expect(answer(1.0) == round(answer(1.0), 9), f"expected a whole multiple of reg; yours is {answer(1.0)}")
