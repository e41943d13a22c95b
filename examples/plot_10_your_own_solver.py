r"""
Validate a solver of your own
=============================

You have written a solver, for a problem in this package or for one that can be stated with it. Does it work? That its
objective falls is no answer, and that the result is useful is none either. The *instance library* holds problems on
public data with their certified optima, and ``cm.audit`` judges anybody's metric against them.

The solver to be judged here is projected gradient descent in thirty lines of NumPy, for relative comparisons
(Schultz and Joachims 2003):

.. math:: \min_{w \ge 0} \; F(w) = \tfrac12 \|w\|^2
   + C \sum_{(i, j, k) \in P} \max \bigl( 0, \; 1 - w^\top (\Delta^{x_i, x_k} - \Delta^{x_i, x_j}) \bigr) .
"""

import matplotlib.pyplot as plt
import numpy as np

import convexmetric as cm
from convexmetric.plotting import COLOURS, show_pictures

instance = cm.bench.load_instance("relative-wine-1000")
problem = instance.problem()
print(problem)
print(f"\ncertified: {instance.lower_bound:.9g} <= optimum <= {instance.upper_bound:.9g}")

# %%
# The solver
# ----------
#
# It knows nothing of the package: it takes points and triplets, and gives weights. Two faults can be switched on, of
# the kind that one makes: a margin of another size, and weights that are never projected.


def descend(X, triplets, C, steps, rate, margin=1.0, project=True):
    """Weights after each of some steps of subgradient descent, and the step numbers."""
    i, j, k = triplets.T
    D = (X[i] - X[k]) ** 2 - (X[i] - X[j]) ** 2
    w = np.zeros(X.shape[1])
    visited = []
    for t in range(1, steps + 1):
        violated = D @ w < margin
        gradient = w - C * D[violated].sum(axis=0)
        w = w - rate(t) * gradient
        if project:
            w = np.maximum(w, 0.0)
        visited.append(w)
    return visited


# %%
# The verdict
# -----------
#
# ``audit`` evaluates the objective as the package defines it, takes the certified lower bound from the library, and
# checks that the weights are feasible; a metric outside the cone is also judged by its projection. *Suboptimality* is
# at least the relative distance to the optimum. It is a statement about the answer alone, whatever made it.

X, triplets = problem.triplets.X, problem.triplets.triplets
runs = {
    "steps 1/t": {"rate": lambda t: 1.0 / t},
    "steps 1e-3 / sqrt(t)": {"rate": lambda t: 1e-3 / np.sqrt(t)},
    "constant steps 1e-4": {"rate": lambda t: 1e-4},
    "fault: margin 1/2": {"rate": lambda t: 1.0 / t, "margin": 0.5},
    "fault: no projection": {"rate": lambda t: 1.0 / t, "project": False},
}
steps = 20_000
looks = np.unique(np.geomspace(1, steps, 60).astype(int))
verdicts = {}
for name, settings in runs.items():
    visited = descend(X, triplets, problem.C, steps, **settings)
    verdicts[name] = [cm.audit(problem, visited[t - 1], reference=instance.lower_bound) for t in looks]
    last = verdicts[name][-1]
    feasible = "" if last.feasible else f"  NOT feasible, smallest weight {last.min_eigenvalue:.3g}"
    print(f"{name:24s} suboptimality <= {last.suboptimality:8.1e}{feasible}")

good, wrong, outside = (verdicts[name][-1] for name in ("steps 1/t", "fault: margin 1/2", "fault: no projection"))
assert good.feasible
assert not outside.feasible
assert good.suboptimality < wrong.suboptimality

# %%
# The picture
# -----------
#
# The suboptimality of the best weights so far. A sound method goes down as far as one has patience for: each of the
# three rules has its own pace. The solver with the other margin also goes down, nicely, and then stays where its own
# optimum is; so does the one without projection, of which the projected weights are judged. Without the certified bound
# there is nothing to tell the five apart.

figure, ax = plt.subplots(figsize=(8.5, 5), layout="constrained")
for c, (name, found) in enumerate(verdicts.items()):
    best = np.minimum.accumulate([verdict.suboptimality for verdict in found])
    ax.loglog(looks, best, color=COLOURS[c], lw=2, ls="--" if "fault" in name else "-", label=name)
ax.set(xlabel="steps", ylabel="suboptimality, certified", title=instance.title)
ax.grid(color="#E5E5E5", lw=0.6)
ax.legend(frameon=False)
show_pictures()

# %%
# To go on: ``cm.bench.list_problems()`` names the instances, of all five papers. The exact solvers of the package
# reach a gap that a first-order method will not:

solution = cm.solve(problem)
print(solution)
assert solution.gap <= 1e-6
print(f"\n{len(cm.bench.list_problems())} instances, for example {', '.join(cm.bench.list_problems()[:3])}")
