r"""
Exercise 1. A lower bound for relative comparisons
==================================================

    python examples/exercises/exercise_1_weak_duality.py

Schultz and Joachims (2003) minimise over weights :math:`w \ge 0`

.. math:: F(w) = \tfrac12 \|w\|^2 + C \sum_{t=1}^T \max(0, 1 - d_t^\top w),

where row :math:`d_t = \Delta^{x_i, x_k} - \Delta^{x_i, x_j}` of the matrix D belongs to triplet t. The paper's program
has a slack for every hinge, and so has ``problem.to_cvxpy()``: run this file once to see it printed. Its constraint
``triplet i, j, k`` has a multiplier, ``constraint.dual_value`` after a solve: that is the :math:`u_t` of the tasks.

**Task 1.** For :math:`0 \le u_t \le C` every hinge satisfies
:math:`C \max(0, 1 - s) \ge u_t (1 - s)`. Minimise what is left over :math:`w \ge 0` by hand and write the resulting
lower bound as the function ``bound(u, D, C)``. Whatever ``u`` is given, also a wrong one, the result must be a lower
bound: clip first.

**Task 2.** The minimiser over w in task 1 is a metric. Write it as ``weights(u, D, C)``.

**To think about.** For which u is the bound of task 1 equal to F at the weights of task 2? What does this say about
triplets whose margin is kept with room to spare?

Fill in the two functions and run the file.
"""

import numpy as np

import convexmetric as cm

TASKS = ("bound", "weights")


def bound(u, D, C):
    """A lower bound on the minimum of F; u (T,), D (T, d)."""
    raise NotImplementedError("task 1")


def weights(u, D, C):
    """The minimising weights (d,)."""
    raise NotImplementedError("task 2")


TRIPLETS = [(i, i + 1 + (7 * i) % 18, 59 + (13 * i) % 119) for i in range(40)]


def forty_triplets():
    """A wine of the first grower is nearer to one of the same than to one of another."""
    wine = cm.datasets.load("wine")
    return cm.RelativeComparisonProblem(cm.datasets.preprocess(wine.X, ["zscore"]), TRIPLETS, C=0.1)


def check(bound=bound, weights=weights):
    """Hold the answers against the package."""
    problem = forty_triplets()
    program = problem.to_cvxpy()
    program.solve(solver="CLARABEL")
    solution = cm.solve(problem, tol=1e-8)
    given, C = program.param_dict, problem.C
    D = np.array([given[f"Delta[{i}, {k}]"].value - given[f"Delta[{i}, {j}]"].value for i, j, k in TRIPLETS])
    best = np.array([constraint.dual_value for constraint in program.constraints[: len(D)]])
    rng = np.random.default_rng(0)
    assert np.isclose(bound(best, D, C), solution.lower_bound, rtol=1e-6), "task 1: not the optimum at an optimal u"
    for u in (np.zeros(len(D)), rng.uniform(0, C, len(D)), best, rng.normal(0, 10 * C, len(D))):
        clipped, w = np.clip(u, 0, C), weights(u, D, C)
        mine, at_weights = bound(u, D, C), clipped @ (1 - D @ w) + 0.5 * w @ w
        assert np.isclose(mine, at_weights, rtol=1e-9, atol=1e-9), f"{mine}, but at the weights it is {at_weights}"
        for _ in range(20):
            other = np.maximum(0, w + rng.normal(0, 0.1 * np.abs(w).max() + 0.1, len(w)))
            value = clipped @ (1 - D @ other) + 0.5 * other @ other
            assert mine <= value + 1e-6 * abs(value), "task 1: these weights get below it, so it is no lower bound"
    w = weights(best, D, C)
    assert np.shape(w) == program.metric.shape, "task 2: one weight a feature"
    assert np.min(w) >= 0.0, "task 2: weights must not be negative"
    assert np.allclose(w, solution.w, atol=1e-3 * solution.w.max()), "task 2: far from the optimal weights"


if __name__ == "__main__":
    lines = str(forty_triplets().to_cvxpy()).splitlines()
    print(*lines[:5], "           ...", lines[-1], sep="\n")
    check()
    print("All right: a bound that nobody can forge, and the metric that belongs to it.")
