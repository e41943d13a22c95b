r"""
Stochastic against exact: finding mistakes in print
===================================================

Three of the papers print an algorithm that takes many cheap steps and never tells how far it got. All three have a
mistake in print. The steps of each converge as if nothing were wrong; only a certified optimum shows that they converge
to the wrong place.

========  ==================================================================  ========================================
paper     printed                                                             meant
========  ==================================================================  ========================================
4         the step of the loss is :math:`\theta (r/\gamma) a_i (x - x')`      twice that, as the step of the norm has
                                                                              it; in print :math:`\lambda` is doubled
3         all six entries of :math:`C` grow by 1, sums over the batch         three of them shrink by 1, and means
5         :math:`\hat x_{kij} = d(x_k, y_i) - d(x_k, y_j)`                    the other way around
========  ==================================================================  ========================================

The package has each algorithm twice: corrected, and ``as_printed=True``.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

import convexmetric as cm
from convexmetric.plotting import COLOURS, STYLE, show_pictures

plt.style.use(STYLE)

# These methods stop above the tolerance, which is the point here: ignore the warning.
warnings.simplefilter("ignore", cm.errors.GapWarning)

wine = cm.datasets.load("wine")
X, y = cm.datasets.preprocess(wine.X, ["zscore"]), wine.y
scaled = X / np.linalg.norm(X[:, None] - X, axis=2).max()
digits = cm.datasets.load("digits")
images = digits.X[:300].reshape(-1, 8, 8) / 16.0
upper, lower, which = images[:, :4].reshape(300, 32), images[:, 4:].reshape(300, 32), digits.y[:300]

# %%
# Each algorithm on a problem of its own paper. ``history`` holds the best certified objective after every look, so that
# the curves cannot rise; where the printed version makes things worse its curve is flat.

pairs, r = cm.papers.balanced_pairs(y, 1500, random_state=0)
problems = {
    "paper 4: vectors, one pair a step": (
        cm.PairMarginProblem(scaled, pairs, r, reg=0.5),
        lambda printed: cm.approximate.StochasticFactors(20, 0.005, steps=100_000, as_printed=printed, random_state=0),
    ),
    "paper 3: batches of triplets": (
        cm.TripletProblem.from_labels(X, y, reg=0.05),
        lambda printed: cm.approximate.StochasticBatch(500, epochs=60, as_printed=printed, random_state=0),
    ),
    "paper 5: descent on U and V": (
        cm.CrossModalProblem(upper, lower, which, which, alpha=50.0, beta=0.1, random_state=0),
        lambda printed: cm.approximate.FactoredDescent(
            10, as_printed=printed, start="random", random_state=0, look_every=5
        ),
    ),
}

runs = {}
for title, (problem, solver) in problems.items():
    exact = cm.solve(problem, tol=1e-7)
    found = {name: cm.solve(problem, solver=solver(name == "as printed")) for name in ("as printed", "corrected")}
    runs[title] = exact, found
    print(f"{title}\n  certified  {exact.lower_bound:.7g} <= optimum <= {exact.upper_bound:.7g}")
    for name, solution in found.items():
        excess = solution.upper_bound / exact.lower_bound - 1.0
        print(f"  {name:10s} objective {solution.upper_bound:.7g}, above the optimum by {excess:.3%}")
    assert found["as printed"].upper_bound > found["corrected"].upper_bound >= exact.lower_bound

# %%
# What a doubled weight looks like
# --------------------------------
#
# The table says that the printed steps of paper 4 solve the problem of twice the :math:`\lambda`. That can be tested:
# evaluate their final metric in *that* problem, and compare with its certified optimum.

problem, _ = problems["paper 4: vectors, one pair a step"]
exact, found = runs["paper 4: vectors, one pair a step"]
doubled = problem.with_reg(2.0 * problem.reg)
exact_doubled = cm.solve(doubled, tol=1e-7)
excess = {
    "in the problem it was meant for": found["as printed"].upper_bound / exact.lower_bound - 1.0,
    "in the problem of twice lambda": doubled.objective(found["as printed"].M) / exact_doubled.lower_bound - 1.0,
}
for where, value in excess.items():
    print(f"the printed steps, {where}: {value:.3%} above the optimum")
assert excess["in the problem of twice lambda"] < excess["in the problem it was meant for"]

# %%
# The picture
# -----------
#
# The distance from the certified optimum, on a logarithmic axis; looks come at growing intervals in the first panel.
# Without the optimum, all you see is that a curve has become flat, and a converged curve looks flat, too.

figure, axes = plt.subplots(3, 1, figsize=(4.8, 7.8))
for ax, (title, (exact, found)) in zip(axes, runs.items(), strict=True):
    looks_like = ({"color": COLOURS[5], "ls": "--", "marker": "s"}, {"color": COLOURS[0], "ls": "-", "marker": "o"})
    for (name, solution), style in zip(found.items(), looks_like, strict=True):
        looks = [step.iteration for step in solution.history]
        above = [step.upper_bound / exact.lower_bound - 1.0 for step in solution.history]
        ax.semilogy(looks, above, ms=3, label=name, **style)
    ax.set_title(title)
    ax.legend()
axes[2].set_xlabel("looks at the objective")
figure.supylabel("objective above the certified optimum, relative", fontsize="medium")
show_pictures()
