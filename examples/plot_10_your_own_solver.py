r"""
10. Validate a solver of your own
=================================

You have written a solver, for a problem in this package or for one that can be stated with it. Does it work? A falling
objective does not answer that, nor does a useful result. The *instance library* holds problems on
public data with their certified optima, and ``cm.audit`` judges any metric against them.

The solver to be judged here is projected gradient descent in thirty lines of NumPy, for relative comparisons
(Schultz and Joachims 2003):

.. math:: \min_{w \ge 0} \; F(w) = \tfrac12 \|w\|^2
   + C \sum_{(i, j, k) \in P} \max \bigl( 0, \; 1 - w^\top (\Delta^{x_i, x_k} - \Delta^{x_i, x_j}) \bigr) .
"""

import matplotlib.pyplot as plt
import numpy as np

import convexmetric as cm
from convexmetric.plotting import STYLE, show_pictures

plt.style.use(STYLE)

instance = cm.bench.load_instance("relative-wine-1000")
problem = instance.problem()
print(problem)
print(f"\ncertified: {instance.lower_bound:.9g} <= optimum <= {instance.upper_bound:.9g}")

# %%
# The solver
# ----------
#
# It knows nothing of the package: it takes points and triplets, and returns weights. Two common faults can be switched
# on: a wrong margin, and weights that are never projected.


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
# The suboptimality of the best weights so far. Of the three sound rules, the two whose steps shrink keep going down,
# each at its own pace. Constant steps are the quickest at first, and then they stop: after step 3,000 nothing better
# than 1.4e-4 is seen. The solver with the wrong margin also goes down, nicely, and stays at its own optimum; so
# does the one without projection, of which the projected weights are judged. Without the certified bound
# nothing distinguishes the five.

figure, ax = plt.subplots(figsize=(4.8, 4.2))
for name, found in verdicts.items():
    ax.loglog(looks, np.minimum.accumulate([verdict.suboptimality for verdict in found]), label=name)
ax.set(xlabel="steps", ylabel="suboptimality, certified", title=instance.title)
ax.legend()
show_pictures()

# %%
# Why constant steps stop
# -----------------------
#
# It is not a fault. The objective has kinks, and its optimum is at one, where the subgradient jumps from one side to
# the other and does not become short. A constant step times a length that does not shrink never becomes small: the
# weights go to and fro across the kinks. How far above the optimum they do so should then be about proportional to the
# step, and it is: with half the step they are a little less than half as far from it.

levels = []
for rate in (1e-4, 5e-5, 2.5e-5):
    visited = descend(X, triplets, problem.C, 10_000, lambda t, rate=rate: rate)
    levels.append(np.mean([problem.objective(w) for w in visited[-1000:]]) / instance.lower_bound - 1.0)
    length = np.linalg.norm(visited[-1] - visited[-2]) / rate
    print(f"steps {rate:.1e}: the last 1000 are {levels[-1]:.1e} above the optimum; step / rate = {length:.0f}")
ratios = np.divide(levels[:-1], levels[1:])
assert np.all(abs(ratios - 2.0) < 0.5)

# %%
# So steps must shrink to zero, but not so fast that they never arrive. And a flat curve does not tell a fault from a
# step rule: the two faulty solvers use the rule of the first curve, and only the bound exposes them.

# %%
# To go on: ``cm.bench.list_problems()`` names the instances, of all five papers. The exact solvers of the package
# reach a gap that a first-order method will not:

solution = cm.solve(problem)
print(solution)
assert solution.gap <= 1e-6
print(f"\n{len(cm.bench.list_problems())} instances, for example {', '.join(cm.bench.list_problems()[:3])}")
