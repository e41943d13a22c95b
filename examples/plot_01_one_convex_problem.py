r"""
1. One convex problem for five papers
=====================================

Five papers learn metrics in five ways: from rankings, from comparisons "i is closer to j than to k", from the links of
a graph, from pairs that are similar or not, and from images and texts that belong together. Underneath they are one
problem,

.. math:: \min_{M \in K} \quad R(M) + \langle G, M \rangle + \Omega(M)

with a metric :math:`M` and squared distances :math:`(x - x')^\top M (x - x')`. The *risk* :math:`R` is what the data
ask for, the *regularizer* :math:`\Omega` keeps the metric simple, :math:`G` is a linear term that some papers have, and
:math:`K` is a cone: the positive semidefinite matrices, or the nonnegative diagonal ones.

All parts are convex. So a metric is either optimal or it can be improved by a small step, there are no bad local
optima, and, what matters most here, every problem has a dual whose points *prove* how good the best metric can be.
"""

import matplotlib.pyplot as plt
import numpy as np

import convexmetric as cm
from convexmetric.plotting import COLOURS, MARKERS, STYLE, show_pictures

plt.style.use(STYLE)

# %%
# Five problems on data that everybody has
# ----------------------------------------
#
# The first four use the 178 wines of the UCI repository, thirteen measurements each, scaled to unit variance; every
# third wine is enough here. For the last we need objects of two kinds: the upper and the lower halves of handwritten
# digits, cut apart.

wine = cm.datasets.load("wine")
X, y = cm.datasets.preprocess(wine.X, ["zscore"])[::3], wine.y[::3]
digits = cm.datasets.load("digits")
images = digits.X[:200].reshape(-1, 8, 8) / 16.0
upper, lower, which = images[:, :4].reshape(200, 32), images[:, 4:].reshape(200, 32), digits.y[:200]

rng = np.random.default_rng(0)
i, j, k = rng.integers(0, len(X), (3, 20_000))
triplets = np.column_stack([i, j, k])[(y[i] == y[j]) & (y[i] != y[k]) & (i != j)][:500]

problems = {
    "1 rankings": cm.RankingProblem.from_labels(X, y, measure="map", C=10.0),
    "2 relative comparisons": cm.RelativeComparisonProblem(X, triplets, C=0.01),
    "3 triplets of a graph": cm.TripletProblem.from_labels(X, y, reg=0.01, intra=1.0),
    "4 pairs": cm.PairMarginProblem.from_labels(X, y, reg=0.05),
    "5 two modalities": cm.CrossModalProblem(upper, lower, which, which, alpha=50.0, beta=0.1, random_state=0),
}

# %%
# Each problem states itself in its paper's notation:

print(problems["1 rankings"])

# %%
# ... and in the common one: the risk, the regularizer and the cone of each.

for name, problem in problems.items():
    risk, regularizer, cone = (type(part).__name__ for part in (problem.risk, problem.regularizer, problem.cone))
    linear = "0" if problem.G is None else "G"
    print(f"{name:24s} R: {risk:20s} G: {linear:3s} Omega: {regularizer:18s} K: {cone}")

# %%
# One call solves them all
# ------------------------
#
# ``solve`` chooses an algorithm that suits the problem. The result does not rest on that algorithm: the upper
# bound is the objective at the metric, the lower bound follows from a dual point (lesson 5), and both are evaluated
# anew, by code that knows nothing of the solver.

solutions = {name: cm.solve(problem, tol=1e-6) for name, problem in problems.items()}
for name, solution in solutions.items():
    print(
        f"{name:24s} {solution.lower_bound:.9g} <= optimum <= {solution.upper_bound:.9g}   "
        f"gap {solution.gap:.0e}, rank {solution.rank}, {solution.solver}"
    )
assert all(solution.gap <= 1e-6 for solution in solutions.values())

# %%
# What convex looks like
# ----------------------
#
# Along the ray :math:`s M^*`, with :math:`M^*` the optimal metric, each objective is a convex function of :math:`s`. It
# ends in the cone's tip at :math:`s = 0`, the metric under which all points are equal, and has its minimum at
# :math:`s = 1`. The dashed line is the certified lower bound: *no* metric of the cone, on this ray or off it, lies
# below. The first four are sums of hinges, :math:`\max(0, 1 - s)`, and hence have kinks, so many that the eye sees a
# smooth curve; the logistic loss of the last paper has none.

scales = np.linspace(0.0, 2.5, 61)
figure, axes = plt.subplots(3, 2, figsize=(4.8, 6.6))
for ax, (name, solution) in zip(axes.flat, solutions.items(), strict=False):
    values = [solution.problem.objective(s * solution.certificate.M) for s in scales]
    assert min(values) >= solution.lower_bound
    ax.plot(scales, values, label="objective at $s M^*$")
    ax.axhline(solution.lower_bound, color=COLOURS[5], ls="--", lw=1.5, label="certified\nlower bound")
    ax.plot(1.0, solution.upper_bound, "o", color="black", ms=5, label="optimum")
    ax.set_title(name)
    ax.set_xlabel("$s$")
axes[2, 1].axis("off")
axes[2, 1].legend(*axes[0, 0].get_legend_handles_labels(), loc="center left")
show_pictures()

# %%
# Another thing that the five have in common: optimal metrics are often simple. Here are their eigenvalues above 1e-6 of
# the largest; the five are moved apart a little, as they would hide each other. Of problem 2 all
# 13 are; of the others most eigenvalues are zero, up to the requested accuracy, although the rank was never fixed. The
# distance then depends on a few directions of the data only.

figure, spectra = plt.subplots()
for place, (name, solution) in enumerate(solutions.items()):
    values = np.sort(np.linalg.eigvalsh(solution.M))[::-1]
    values = values[values > 1e-6 * values[0]] / values[0]
    numbers = np.arange(1, len(values) + 1) + 0.12 * (place - 2)
    spectra.semilogy(numbers, values, marker=MARKERS[place], lw=1.0, label=f"{name}: {len(values)}")
spectra.set(xlabel="number of the eigenvalue", ylabel="eigenvalue of $M^*$, largest = 1")
spectra.legend()
show_pictures()
