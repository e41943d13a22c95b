r"""
6. Stochastic against exact: finding mistakes in print
======================================================

Three of the papers print an algorithm that takes many cheap steps and never tells how far it got. All three have a
mistake in print. As printed one comes to rest as if nothing were wrong, one never leaves the zero metric, and one
climbs. Whoever plots the objective sees that the last two have failed; that the first is in the wrong place only a
certified optimum shows.

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
# Each algorithm on a problem of its own paper. At every look ``history`` has the objective of the metric that the steps
# have reached by then. The last one is printed, not ``upper_bound``: that is of the best metric known, wherever it came
# from, and hides what the steps do.

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
    exact, zero = cm.solve(problem, tol=1e-7), problem.objective(problem.cone.zeros())
    found = {name: cm.solve(problem, solver=solver(name == "as printed")) for name in ("as printed", "corrected")}
    curves = {name: [look.details["objective"] for look in solution.history] for name, solution in found.items()}
    runs[title] = exact, found["as printed"], curves
    print(f"{title}\n  certified  {exact.lower_bound:.7g} <= optimum <= {exact.upper_bound:.7g}; at zero {zero:.7g}")
    for name, curve in curves.items():
        print(f"  {name:10s} ends at {curve[-1]:.7g}, above the optimum by {curve[-1] / exact.lower_bound - 1.0:.3%}")
    assert curves["as printed"][-1] > curves["corrected"][-1] >= exact.lower_bound

# %%
# The printed steps of paper 3 point out of the cone, so that the projection leaves zero. Those of paper 5 push relevant
# objects away. Both can be seen in the objective. Of paper 4 nothing can: it falls, and comes to rest.

paper_4, paper_3, paper_5 = (np.array(curves["as printed"]) / exact.upper_bound for exact, _, curves in runs.values())
assert np.ptp(paper_3) < 1e-6
assert paper_5[-1] > 5.0 * paper_5[0]
assert 1.055 < paper_4[-1] < min(1.065, 1.01 * paper_4[-2])

# %%
# What a doubled weight looks like
# --------------------------------
#
# The table says that the printed steps of paper 4 solve the problem of twice the :math:`\lambda`. That can be tested:
# evaluate the best of their metrics in *that* problem, and compare with its certified optimum.

problem, _ = problems["paper 4: vectors, one pair a step"]
exact, printed, _ = runs["paper 4: vectors, one pair a step"]
doubled = problem.with_reg(2.0 * problem.reg)
exact_doubled = cm.solve(doubled, tol=1e-7)
excess = {
    "in the problem it was meant for": printed.upper_bound / exact.lower_bound - 1.0,
    "in the problem of twice lambda": doubled.objective(printed.M) / exact_doubled.lower_bound - 1.0,
}
for where, value in excess.items():
    print(f"the printed steps, {where}: {value:.3%} above the optimum")
assert excess["in the problem of twice lambda"] < excess["in the problem it was meant for"]

# %%
# The picture
# -----------
#
# The distance of the iterates from the certified optimum, on a logarithmic axis; looks come at growing intervals in the
# first panel. Without the optimum, all you see there is that both curves have become flat.

figure, axes = plt.subplots(3, 1, figsize=(4.8, 7.8))
for ax, (title, (exact, _, curves)) in zip(axes, runs.items(), strict=True):
    looks_like = ({"color": COLOURS[5], "ls": "--", "marker": "s"}, {"color": COLOURS[0], "ls": "-", "marker": "o"})
    for (name, curve), style in zip(curves.items(), looks_like, strict=True):
        above = np.array(curve) / exact.lower_bound - 1.0
        ax.semilogy(np.arange(1, len(curve) + 1), above, ms=3, label=name, **style)
    ax.set_title(title)
    ax.legend()
axes[2].set_xlabel("looks at the objective")
figure.supylabel("objective above the certified optimum, relative", fontsize="medium")
show_pictures()
