r"""
8. Random projections: how much is lost
=======================================

On a large graph with many features a full metric is out of reach, and the third paper learns one on a projection
:math:`v = L x` to :math:`r` dimensions instead. What does the projection cost? Experiments usually answer with test
errors. With exact solvers there is a sharper answer: solve the problem in full and on the projection, both to
optimality, and compare the two optima.

For rows of :math:`L` that are orthogonal, :math:`L = s Q` with :math:`Q Q^\top = I`, the comparison is fair without any
correction. A metric :math:`R` on the projection is the metric :math:`M = L^\top R L` on the features, and
:math:`\|M\|_F = s^2 \|R\|_F`. So with :math:`\lambda s^4` in place of :math:`\lambda`, the projected problem *is* the
full one, restricted to metrics that see the row space of :math:`Q` only:

.. math:: \min_{R \succeq 0} F_r(R) \;=\; \min \{ F(M) : M \succeq 0, \; M = Q^\top Q M Q^\top Q \}
   \;\ge\; \min_{M \succeq 0} F(M).
"""

import matplotlib.pyplot as plt
import numpy as np

import convexmetric as cm
from convexmetric.plotting import COLOURS, STYLE, show_pictures

plt.style.use(STYLE)

digits = cm.datasets.load("digits")
rng = np.random.default_rng(0)
order = rng.permutation(len(digits.X))
train, test = order[:600], order[600:1200]
X, y = digits.X[train] / 16.0, digits.y[train]
X_test, y_test = digits.X[test] / 16.0, digits.y[test]

reg = 1e-3
full = cm.TripletProblem.from_labels(X, y, n_same=5, n_other=10, reg=reg)
optimum = cm.solve(full, tol=1e-6)
print(full)
print(optimum)

# %%
# Solve on projections of all sizes
# ---------------------------------
#
# The triplets stay those of the neighbours in all features: they are part of the problem, not of the method. Each
# projected optimum is lifted to the features and audited against the certified bound of the full problem, which checks
# the identity above along the way.

near_far = full.rankings.relevance
triplets = np.concatenate(
    [np.stack(np.meshgrid([i], *near_far.of(i), indexing="ij"), axis=-1).reshape(-1, 3) for i in range(len(near_far))]
)


def lost(kind, r, seed):
    """Relative excess of the projected optimum over the full one, and the test error of its metric."""
    projection = cm.features.make_projection(kind, X, r, random_state=seed)
    scale = float(np.linalg.norm(projection.L[0]))
    assert np.allclose(projection.L @ projection.L.T, scale**2 * np.eye(r), atol=1e-8)
    projected = cm.TripletProblem(X, triplets, reg=reg * scale**4, projection=projection)
    solution = cm.solve(projected, tol=1e-5)
    verdict = cm.audit(full, solution.M, reference=optimum)
    assert np.isclose(verdict.objective, solution.upper_bound, rtol=1e-7)
    error = cm.evaluation.knn_error(solution.M, X, y, X_test, y_test, k=[3])[3]
    return solution.upper_bound / optimum.lower_bound - 1.0, error


dimensions = np.array([2, 4, 8, 16, 32, 48, 64])
random = {r: [lost("orthonormal", r, seed) for seed in range(4)] for r in dimensions}
principal = {r: lost("pca", r, 0) for r in dimensions[:-1]}
for r in dimensions:
    excess = [value for value, _ in random[r]]
    by_pca = f"{principal[r][0]:8.2%}" if r in principal else ""
    print(f"r = {r:2d}: above the optimum by {min(excess):8.2%} to {max(excess):8.2%}; principal components {by_pca}")
assert min(value for values in random.values() for value, _ in values) > -1e-6
assert max(value for value, _ in random[64]) < 1e-4

# %%
# The picture
# -----------
#
# Above what is lost of the objective, below the error of three nearest neighbours on new digits. The first
# vanishes only with all dimensions. The second is what matters in the end, and is far less
# sensitive: most of what the restricted metric loses is margin, not neighbours. With all features there is little
# left to learn here: the errors without a metric and with the full one are less than a percent apart.

errors = {
    "no metric": cm.evaluation.knn_error(np.eye(64), X, y, X_test, y_test, k=[3])[3],
    "full metric": cm.evaluation.knn_error(optimum.M, X, y, X_test, y_test, k=[3])[3],
}
assert abs(errors["no metric"] - errors["full metric"]) < 0.01
figure, axes = plt.subplots(2, 1, figsize=(4.8, 6.8))
labels = ("optimum above that of\nall features, relative", "error of 3 nearest neighbours")
for column, (ax, label) in enumerate(zip(axes, labels, strict=True)):
    values = np.array([[run[column] for run in random[r]] for r in dimensions])
    ax.plot(dimensions, values.mean(axis=1), color=COLOURS[0], ls="-", marker="o", label="random, mean of 4")
    ax.fill_between(dimensions, values.min(axis=1), values.max(axis=1), color=COLOURS[0], alpha=0.15, lw=0)
    by_pca = [principal[r][column] for r in dimensions[:-1]]
    ax.plot(dimensions[:-1], by_pca, color=COLOURS[1], ls="--", marker="s", label="principal components")
    ax.set(xlabel="dimensions r", ylabel=label)
    ax.set_xscale("log", base=2)
axes[0].set_yscale("symlog", linthresh=1e-3)
axes[0].set_ylim(0, None)
axes[1].set_yscale("log")
for (name, error), colour, style in zip(errors.items(), (COLOURS[5], "black"), (":", "--"), strict=True):
    axes[1].axhline(error, color=colour, lw=1.2, ls=style, label=f"{name}, all features: {error:.1%}")
axes[0].legend()
axes[1].legend()
show_pictures()
