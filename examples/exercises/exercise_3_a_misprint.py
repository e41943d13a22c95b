r"""
Exercise 3. Find the misprint
=============================

    python examples/exercises/exercise_3_a_misprint.py

Maurer (2008) descends on vectors :math:`v_1, \dots, v_d` with :math:`A = \sum_i v_i v_i^\top`. For one pair with
difference :math:`\delta = x - x'`, label r and margin :math:`\gamma`, the loss is
:math:`h = \max(0, 1 - r (1 - \langle Q_\delta, A \rangle) / \gamma)` with
:math:`\langle Q_\delta, A \rangle = \sum_i \langle v_i, \delta \rangle^2`. Where it is positive, Table 1 of the paper
prints the step

.. math:: v_i \leftarrow v_i - \theta \, \frac{r}{\gamma} \, a_i \, \delta, \qquad a_i = \langle v_i, \delta \rangle,

beside a step of the norm, :math:`v_i \leftarrow v_i - \theta \lambda \|A\|_2^{-1} \, 2 \sum_j \langle v_i, v_j \rangle
v_j`, that is right.

**Task 1.** Write ``loss_gradient(V, delta, r, gamma)``, the gradient of h in V, whose rows are the :math:`v_i`. It is
checked against finite differences.

**Task 2.** Compare with the step in print: the printed algorithm descends another objective, with another
:math:`\lambda`. Write ``lambda_descended(reg)``: the lambda that is minimised if one asks for ``reg``.

**To think about.** What would you have noticed had you only watched the objective fall?

Fill in the two functions and run the file.
"""

import warnings

import numpy as np

import convexmetric as cm

TASKS = ("loss_gradient", "lambda_descended")


def loss_gradient(V, delta, r, gamma):
    """Gradient of the hinge in V, of the shape of V; V (d, features)."""
    raise NotImplementedError("task 1")


def lambda_descended(reg):
    """The lambda whose objective the printed steps minimise."""
    raise NotImplementedError("task 2")


def check(loss_gradient=loss_gradient, lambda_descended=lambda_descended):
    """Finite differences for task 1; certified optima for task 2."""
    rng = np.random.default_rng(0)
    for r in (1.0, -1.0):
        for gamma in (0.5, 1.0):
            V, delta = 0.3 * rng.normal(size=(3, 4)), rng.normal(size=4)

            def loss(W, delta=delta, r=r, gamma=gamma):
                return max(0.0, 1.0 - r * (1.0 - ((W @ delta) ** 2).sum()) / gamma)

            numeric = np.zeros_like(V)
            for place in np.ndindex(V.shape):
                step = np.zeros_like(V)
                step[place] = 1e-6
                numeric[place] = (loss(V + step) - loss(V - step)) / 2e-6
            found = np.asarray(loss_gradient(V, delta, r, gamma))
            assert found.shape == V.shape, "task 1: one row for every vector"
            assert np.allclose(found, numeric, atol=1e-6), f"task 1: not the slope of the loss for r = {r}"

    wine = cm.datasets.load("wine")
    X = cm.datasets.preprocess(wine.X, ["zscore"])
    X = X / np.linalg.norm(X[:, None] - X, axis=2).max()
    pairs, r = cm.papers.balanced_pairs(wine.y, 800, random_state=0)
    problem = cm.PairMarginProblem(X, pairs, r, reg=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cm.errors.GapWarning)
        steps = cm.approximate.StochasticFactors(20, 0.005, steps=100_000, as_printed=True, random_state=0)
        printed = cm.solve(problem, solver=steps).M
    # Among neighbouring answers yours must explain best where the printed steps come to rest.
    answer = float(lambda_descended(problem.reg))
    excess = {}
    for factor in (0.5, 0.8, 1.0, 1.25, 2.0):
        other = problem.with_reg(factor * answer)
        excess[factor] = other.objective(printed) / cm.solve(other).lower_bound - 1.0
    assert min(excess, key=excess.get) == 1.0, "task 2: another lambda explains the steps better"
    assert lambda_descended(1.0) == 2.0 * lambda_descended(0.5), "task 2: a multiple of reg"
    assert lambda_descended(1.0) == round(lambda_descended(1.0), 9), "task 2: a whole multiple"


if __name__ == "__main__":
    check()
    print("All right: the optimum tells what the falling objective hides.")
