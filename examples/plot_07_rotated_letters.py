r"""
7. Kernels and rotated letters: similar under any angle
=======================================================

Are these two images the same letter, turned? Maurer (2008) learns an operator :math:`T` that answers such questions:
points nearer than 1 under :math:`T` are similar, points farther than 1 are not. From pairs :math:`(x, x')` with
:math:`r = 1` for similar and :math:`r = -1` for dissimilar ones, it minimises

.. math:: \Lambda(A) = \frac{1}{m} \sum_i h_\gamma \bigl( r_i (1 - \langle Q_{x_i - x'_i}, A \rangle) \bigr)
   + \frac{\lambda}{\sqrt m} \|A\|_2, \qquad A = T^* T \succeq 0,

where :math:`\langle Q_{x - x'}, A \rangle = \|T x - T x'\|^2`, :math:`h_\gamma` is the hinge
:math:`\max(0, 1 - t / \gamma)`, and the norm is that of Hilbert and Schmidt, not squared.

Under a kernel the points live in a space of infinitely many dimensions. But :math:`A` never leaves the span of the
differences of training points: anything outside would add to the norm and gain nothing. In coordinates of that span
everything is finite, and exact.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

import convexmetric as cm
from convexmetric.plotting import COLOURS, STYLE, plot_roc, plot_spectrum, show_pictures

plt.style.use(STYLE)

# %%
# Letters and digits, turned
# --------------------------
#
# The package prints characters in all angles; the images are the same on every machine. The operator learns from twenty
# letters and is tested on *digits*, none of which it has ever seen: it must have learned rotation itself.

letters, digits = cm.datasets.load("rotated-letters"), cm.datasets.load("rotated-digits")
rng = np.random.default_rng(0)


def some(data, each):
    """A number of images of every class."""
    chosen = np.concatenate([rng.permutation(np.flatnonzero(data.y == c))[:each] for c in np.unique(data.y)])
    return data.X[chosen], data.y[chosen]


X, y = some(letters, 25)
X_test, y_test = some(digits, 30)
problem = cm.PairMarginProblem.from_labels(X, y, kernel="unit-rbf", reg=0.005)
print(problem)

# %%
# All pairs take part, none of them is listed. The solution is certified in the whole span:

solution = cm.solve(problem, tol=1e-4)
print(solution)
assert solution.gap <= 1e-4

# %%
# New images get their coordinates from their kernel values with the training images; ``verify`` says 1 for similar and
# -1 for dissimilar pairs.

T = cm.evaluation.SimilarityOperator.of(solution)
others = np.arange(10, len(X_test), 40)
print(f"a {y_test[0]} against the digits {y_test[others]}: {T.verdicts(X_test[:1], X_test[others])[0]}")
print(f"essential rank of T: {T.essential_rank()}, in a span of {problem.cone.d} dimensions")

curves = {
    "kernel alone": cm.evaluation.roc_curve(problem.embedding, X_test, y_test),
    "under T": cm.evaluation.roc_curve(T, X_test, y_test),
}
errors = {
    name: cm.evaluation.single_prototype_error(operator, X_test, y_test)
    for name, operator in (("kernel alone", problem.embedding), ("under T", T))
}
for name, curve in curves.items():
    print(f"{name:14s} ROC area {curve.area:.4f}, error with one example of each digit {errors[name]:.3f}")
assert curves["under T"].area > curves["kernel alone"].area
assert errors["under T"] < errors["kernel alone"]

# %%
# What the numbers look like
# --------------------------
#
# Each row: a digit, then the five digits nearest to it, by the distance of the kernel on the left and under :math:`T`
# on the right. A frame marks the same digit.


def nearest(operator, queries, k=5):
    """The k nearest other test images of each query."""
    Z = operator.transform(X_test)
    D = ((Z[queries, None] - Z) ** 2).sum(axis=2)
    D[np.arange(len(queries)), queries] = np.inf
    return np.argsort(D, axis=1, kind="stable")[:, :k]


# The fifth image of every digit is the query.
queries = np.array([np.flatnonzero(y_test == digit)[4] for digit in np.unique(y_test)])
columns = {"nearest by the kernel": nearest(problem.embedding, queries), "nearest under T": nearest(T, queries)}
figure, axes = plt.subplots(len(queries), 12, figsize=(4.8, 4.4), layout="none")
figure.subplots_adjust(left=0.01, right=0.99, bottom=0.01, top=0.88, wspace=0.15, hspace=0.15)
for ax in axes.flat:
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_visible(False)
side = int(np.sqrt(X_test.shape[1]))
for row, query in zip(axes, queries, strict=True):
    row[0].imshow(X_test[query].reshape(side, side), cmap="gray")
    for block, found in enumerate(columns.values()):
        for ax, other in zip(
            row[1 + 6 * block : 6 + 6 * block], found[np.flatnonzero(queries == query)[0]], strict=True
        ):
            ax.imshow(X_test[other].reshape(side, side), cmap="gray")
            ax.spines[:].set(visible=y_test[other] == y_test[query], color=COLOURS[4], lw=2.0)
axes[0, 0].set_title("query")
for block, (title, found) in enumerate(columns.items()):
    right = np.mean(y_test[found] == y_test[queries][:, None])
    axes[0, 3 + 6 * block].set_title(f"{title}:\n{right:.0%} right")
show_pictures()

# %%
# The operator has a low rank: of all directions of the span, about as many matter as there are letters. Below, the ROC
# curve over all pairs of digits.

figure, axes = plt.subplots(2, 1, figsize=(4.8, 6.8))
eigenvalues = np.linalg.eigvalsh(solution.M)
shown = eigenvalues > 1e-6 * eigenvalues[-1]
plot_spectrum(solution, ax=axes[0]).set_ylim(eigenvalues[shown].min() / 2.0, None)
axes[0].set_xlim(0, np.sum(shown) + 1)
axes[0].set_title("eigenvalues of $A$ above 1e-6 of the largest")
plot_roc(curves, ax=axes[1]).set_title("digits never seen in training")
show_pictures()

# %%
# Descent on vectors has no local minima, if there are enough of them
# -------------------------------------------------------------------
#
# The paper never forms :math:`A`. It descends on vectors :math:`v_1, \dots, v_d` with :math:`A = \sum_i v_i v_i^\top`,
# in which the objective is not convex. Its theorem 14 states that with as many vectors as pairs every stable local
# minimum is global all the same; with fewer, a local minimum "was observed only for :math:`d \le 5`". A certified
# optimum can check both. Here are a hundred pairs of eight letters, whose differences span 47 dimensions:

X, y = some(letters, 6)
X, y = X[np.isin(y, np.unique(y)[:8])], y[np.isin(y, np.unique(y)[:8])]
pairs, r = cm.papers.balanced_pairs(y, 100, random_state=0)
few = cm.PairMarginProblem(X, pairs, r, kernel="unit-rbf", reg=0.005)
optimum = cm.solve(few, tol=1e-6)
coordinates = few.embedding.transform(X)
differences = coordinates[pairs[:, 0]] - coordinates[pairs[:, 1]]
print(f"optimum {optimum.upper_bound:.6f}, gap {optimum.gap:.0e}, rank {optimum.rank} in {few.cone.d} dimensions")


def smoothed(v, d, width):
    """The objective at d vectors, with hinges rounded off over a width, and its gradient."""
    V = v.reshape(d, -1)
    a, products = differences @ V.T, V @ V.T
    u, norm = 1.0 - r * (1.0 - (a**2).sum(axis=1)), np.linalg.norm(products)
    weight = few.reg / np.sqrt(len(r))
    slope = 2.0 / len(r) * (expit(u / width) * r)[:, None] * a
    gradient = slope.T @ differences + 2.0 * weight * products @ V / norm
    return width * np.logaddexp(0.0, u / width).mean() + weight * norm, gradient.ravel()


def descended(V, widths=(1e-1, 1e-2, 1e-3, 1e-4)):
    """Down to where nothing is gained."""
    for width in widths:
        options = {"maxiter": 1000, "ftol": 1e-12}
        V = minimize(smoothed, V.ravel(), (len(V), width), jac=True, method="L-BFGS-B", options=options).x.reshape(
            V.shape
        )
    return V


def above(V):
    """Relative distance of the objective from the certified lower bound."""
    return few.objective(V.T @ V) / optimum.lower_bound - 1.0


ends = {}
for d in (1, 2, 3, 4, 5, 6, 8, 20, len(pairs)):
    starts = [0.1 * np.random.default_rng(seed).standard_normal((d, few.cone.d)) for seed in range(6)]
    ends[d] = [descended(V) for V in starts]
    values = np.array([above(V) for V in ends[d]])
    print(f"{d:3d} vectors: {values.min():.4f} to {values.max():.4f} above the optimum")

# %%
# With 20 vectors or more every start ends at the optimum, to what the rounding of hinges costs. With few vectors starts
# end at different heights, so that most of them are at local minima. These are stable: nudged by a hundredth of their
# length, the highest ones fall back to where they were.

nudge = np.random.default_rng(9)
for d in (2, 3):
    worst = max(ends[d], key=above)
    nudged = worst + 0.01 * np.linalg.norm(worst) / np.sqrt(worst.size) * nudge.standard_normal(worst.shape)
    heights = [min(map(above, ends[d])), above(worst), above(descended(nudged, (1e-4,)))]
    print("{} vectors: best {:.4f}, highest end {:.4f}, nudged and let go {:.4f}".format(d, *heights))
assert max(above(V) for d in (20, len(pairs)) for V in ends[d]) < 1e-3
assert max(map(above, ends[2])) > 1.1 * min(map(above, ends[2]))

figure, axes = plt.subplots(2, 1, figsize=(4.8, 6.0), sharex=True)
for d, found in ends.items():
    values = np.array([above(V) for V in found])
    # What starts of one d differ by, less than a millionth of it drawn as that.
    apart = np.maximum((values - values.min()) / (1.0 + values.min()), 1e-6)
    for ax, heights in zip(axes, (values, apart), strict=True):
        ax.plot([d] * len(found), heights, "o", color=COLOURS[0], alpha=0.5)
for ax, place in zip(axes, ("the certified optimum", "the best end of the same d"), strict=True):
    ax.set(xscale="log", yscale="log", ylabel=f"height above\n{place}, relative")
axes[1].set_xlabel("vectors d")
show_pictures()
