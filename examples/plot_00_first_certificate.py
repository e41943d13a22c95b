"""
0. A first certificate
======================

Learn a metric that ranks wines of the same grape first, and read how far from optimal it can be at most.
"""

# %%
# The problem
# -----------
# Every wine queries all others; those of the same class are relevant. The paper minimises the trace of a positive
# semidefinite W plus C times the mean loss of the worst ranking of each query (McFee & Lanckriet, 2010).

import matplotlib.pyplot as plt
import numpy as np

import convexmetric as cm
from convexmetric.plotting import STYLE, plot_bounds, show_pictures

plt.style.use(STYLE)

wine = cm.datasets.load("wine")
X = cm.datasets.preprocess(wine.X, ["zscore"])
problem = cm.RankingProblem.from_labels(X, wine.y, measure="auc", C=100.0)
print(problem)

# %%
# The gap
# -------
# A solve returns a metric and a *dual point*: numbers from which a lower bound on the optimum follows, as lesson 5 does
# by hand. The two bounds are computed from these two alone, so that the gap holds whatever the solver did. The first
# run on a machine compiles loops for some seconds; after that this solve takes a fraction of a second.

solution = cm.solve(problem, tol=1e-6)
print(solution)

# %%
# The bounds close from both sides. Any point of the upper curve is a metric, any point of the lower one a proof that
# no metric does better.

figure, axes = plt.subplots()
plot_bounds(solution, ax=axes)
show_pictures()

# %%
# Any other metric
# ----------------
# The same proof judges metrics that come from elsewhere: the Euclidean one, at its best scale, is far from optimal.
# *Best scale* is the multiple of it with the lowest objective, and how much of the excess over the optimum that
# repairs: here next to nothing. *Largest angle* is between the ranges of this metric and of the reference: 0 degrees if
# one contains the other.

scales = np.logspace(-3, 1, 41)
best = min(scales, key=lambda scale: problem.objective(scale * np.eye(13)))
print(cm.audit(problem, best * np.eye(13), reference=solution))
