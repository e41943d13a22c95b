r"""
0. A first certificate
======================

Learn a metric that ranks wines of the same grape first, and read how far from optimal it can be at most.
"""

# %%
# The problem
# -----------
# A metric is a positive semidefinite matrix W, under which two wines are :math:`(x - x')^\top W (x - x')` apart. Every
# wine is a query: it ranks all others by their distance, and those of the same class, the *relevant* ones, should come
# first. The paper (McFee & Lanckriet, 2010) minimises the trace of W plus C times the mean loss of the queries. A
# query pays nothing if the right order :math:`y^*` beats every other order y by a margin :math:`\Delta`, which grows
# with what y has wrong: here it is one minus the *AUC*: the share of pairs, one wine relevant and one not, that y has
# in the wrong order. ``dpsi`` below is linear in the squared distances; lesson 4 takes it apart.

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
# run on a machine compiles loops for some seconds; after that this solve takes a fraction of a second. *Grade float*
# says that the bounds are computed in double precision, and moved apart by an estimate of the rounding error.

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
# *Suboptimality* is the share of its objective that the optimum would save. *Best scale* is the multiple of it with the
# lowest objective, and how much of the excess over the optimum that repairs: here next to nothing. *Largest angle* is
# between the ranges of this metric and of the reference: 0 degrees if one contains the other. The last lines are the
# queries that cost most, and what each of them has most wrong.

scales = np.logspace(-3, 1, 41)
best = min(scales, key=lambda scale: problem.objective(scale * np.eye(13)))
print(cm.audit(problem, best * np.eye(13), reference=solution))
