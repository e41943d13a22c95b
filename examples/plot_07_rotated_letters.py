r"""
Kernels and rotated letters: similar under any angle
====================================================

Are these two images the same letter, turned? Maurer (2008) learns an operator :math:`T` that answers such questions:
points nearer than 1 under :math:`T` are similar, points farther than 1 are not. From pairs :math:`(x, x')` with
:math:`r = 1` for similar and :math:`r = -1` for dissimilar ones, it minimises

.. math:: \Lambda(A) = \frac{1}{m} \sum_i h_\gamma \bigl( r_i (1 - \langle Q_{x_i - x'_i}, A \rangle) \bigr)
   + \frac{\lambda}{\sqrt m} \|A\|_2, \qquad A = T^* T \succeq 0,

where :math:`\langle Q_{x - x'}, A \rangle = \|T x - T x'\|^2`, :math:`h_\gamma` is the hinge
:math:`\max(0, 1 - t / \gamma)`, and the norm is that of Hilbert and Schmidt, not squared.

Under a kernel the points live in a space of infinitely many dimensions. But :math:`A` never leaves the span of the
differences of training points: what it did outside would cost norm and gain nothing. In coordinates of that span
everything is finite, and exact.
"""

import matplotlib.pyplot as plt
import numpy as np

import convexmetric as cm
from convexmetric.plotting import COLOURS, plot_roc, plot_spectrum

# %%
# Letters and digits, turned
# --------------------------
#
# The package prints characters in all angles; the images are the same on every machine. The operator learns from twenty
# letters and is tested on *digits*, none of which it has ever seen: it must have learned what turning does.

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

T = cm.SimilarityOperator.of(solution)
others = np.arange(10, len(X_test), 40)
print(f"a {y_test[0]} against the digits {y_test[others]}: {T.verdicts(X_test[:1], X_test[others])[0]}")
print(f"essential rank of T: {T.essential_rank()}, in a span of {problem.cone.d} dimensions")

curves = {"kernel alone": cm.roc_curve(problem.embedding, X_test, y_test), "under T": cm.roc_curve(T, X_test, y_test)}
errors = {
    name: cm.single_prototype_error(operator, X_test, y_test)
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
# on the right. Frames are blue where it is the same digit and orange where it is not.


def nearest(operator, queries, k=5):
    """The k nearest other test images of each query."""
    Z = operator.transform(X_test)
    D = ((Z[queries, None] - Z) ** 2).sum(axis=2)
    D[np.arange(len(queries)), queries] = np.inf
    return np.argsort(D, axis=1, kind="stable")[:, :k]


# The fifth image of every digit asks.
queries = np.array([np.flatnonzero(y_test == digit)[4] for digit in np.unique(y_test)])
columns = {"nearest by the kernel": nearest(problem.embedding, queries), "nearest under T": nearest(T, queries)}
figure, axes = plt.subplots(len(queries), 12, figsize=(9.6, 8.4))
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
            ax.spines[:].set(visible=True, color=COLOURS[0] if y_test[other] == y_test[query] else COLOURS[1], lw=2.5)
axes[0, 0].set_title("query")
for block, (title, found) in enumerate(columns.items()):
    right = np.mean(y_test[found] == y_test[queries][:, None])
    axes[0, 3 + 6 * block].set_title(f"{title}: {right:.0%} right")
plt.show()

# %%
# The operator has a low rank: of all directions of the span, about as many matter as there are letters. On the right,
# the ROC curve over all pairs of digits.

figure, axes = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
plot_spectrum(solution, axes[0]).set_ylim(1e-6 * np.linalg.eigvalsh(solution.M)[-1], None)
axes[0].set_xlim(0, 60)
axes[0].set_title("eigenvalues of $A$")
plot_roc(curves, axes[1]).set_title("digits never seen in training")
plt.show()
