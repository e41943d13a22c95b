r"""
9. Pictures and words: retrieval across two modalities
======================================================

Ask with an image, get texts. The objects of the two kinds have different features, so there is no distance between them
to begin with; the fifth paper learns maps :math:`U` and :math:`V` to a common space from the rankings that queries of
one kind should make of the other,

.. math:: \hat x_{kij} = \|U^\top x_k - V^\top y_j\|^2 - \|U^\top x_k - V^\top y_i\|^2 \;>\; 0
   \qquad \text{for } y_i \text{ relevant to } x_k \text{ and } y_j \text{ not},

with a logistic loss, squared norms and graphs. In :math:`U, V` this is not convex. In
:math:`W = [U; V][U; V]^\top` it is, because :math:`\|U^\top x - V^\top y\|^2 = z^\top W z` for :math:`z = [x; -y]`;
all that is dropped is a limit on the rank of :math:`W`. So the optimum over all :math:`W \succeq 0` is a lower bound
for *every* number of columns :math:`c`, and if its own rank is small, the nonconvex problem is solved.

Here upper halves of handwritten digits are queries for lower halves. They have no pixel in common.
"""

import os

import matplotlib.pyplot as plt
import numpy as np

import convexmetric as cm
from convexmetric.plotting import COLOURS, MARKERS, STYLE, plot_precision_recall, show_pictures
from convexmetric.plotting.axes import AID

plt.style.use(STYLE)

digits = cm.datasets.load("digits")
rng = np.random.default_rng(0)
order = rng.permutation(len(digits.X))
train, test = order[:800], order[800:1200]
halves = digits.X.reshape(-1, 2, 32) / 16.0
upper, lower = halves[:, 0] - halves[train, 0].mean(axis=0), halves[:, 1] - halves[train, 1].mean(axis=0)
y = digits.y

problem = cm.CrossModalProblem(upper[train], lower[train], y[train], y[train], alpha=100.0, beta=0.01, random_state=0)
solution = cm.solve(problem, tol=1e-6)
print(problem)
print(solution)
assert solution.gap <= 1e-6

# %%
# How many columns are needed?
# ----------------------------
#
# The rank of the certified :math:`W` answers it. ``factors`` takes :math:`U` and :math:`V` from its eigenvectors, and
# the certificate bounds how far they are from the best ones of any number of columns.

for c in sorted({1, 2, 3, 5, solution.rank}):
    factors = problem.factors(solution, c=c)
    print(f"c = {c:2d}: objective {factors.objective:.6f}, at most {factors.gap:.1e} above the optimum over all c")
assert problem.factors(solution, c=solution.rank).gap <= 1e-5

# %%
# Retrieval
# ---------
#
# New halves take no part in learning. The baseline is cross-modal factor analysis, where the paper's descent starts:
# orthonormal :math:`U` and :math:`V` under which the two halves of each training digit agree best.

A, B = cm.papers.factor_analysis(upper[train], lower[train], c=10)
baseline = ((upper[test] @ A)[:, None] - (lower[test] @ B)[None]) ** 2
distances = {
    "factor analysis": baseline.sum(axis=2),
    "learned": problem.distances(solution.M, upper[test], lower[test]),
}
relevant = y[test][:, None] == y[test]
curves = {name: cm.evaluation.retrieval_curve(D, relevant) for name, D in distances.items()}
for name, curve in curves.items():
    print(f"{name:16s} {curve}")
assert curves["learned"].mean_average_precision > curves["factor analysis"].mean_average_precision

# %%
# What comes back
# ---------------
#
# Each row: the upper half as the query; then the five lower halves ranked first, each drawn beneath the
# query. Its own other half is among the candidates, but nothing tells the metric which one it is. A frame marks
# the right digit.

nearest = np.argsort(distances["learned"], axis=1, kind="stable")[:, :5]
queries = [np.flatnonzero(y[test] == digit)[1] for digit in range(10)]
figure, axes = plt.subplots(5, 13, figsize=(4.8, 2.6), layout="none")
figure.subplots_adjust(left=0.01, right=0.99, bottom=0.01, top=0.86, wspace=0.15, hspace=0.15)
for ax in axes.flat:
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_visible(False)
raw = digits.X[test].reshape(-1, 8, 8)
for number, query in enumerate(queries):
    row = axes[number % 5, 7 * (number // 5) :]
    asking = raw[query].copy()
    asking[4:] = 0.0
    row[0].imshow(asking, cmap="gray_r", vmin=0, vmax=16)
    row[0].axhline(3.5, color=AID, lw=0.8, ls=":")
    for ax, found in zip(row[1:6], nearest[query], strict=True):
        ax.imshow(np.vstack([raw[query, :4], raw[found, 4:]]), cmap="gray_r", vmin=0, vmax=16)
        ax.spines[:].set(visible=y[test][found] == y[test][query], color=COLOURS[4], lw=2.0)
for block in (0, 7):
    axes[0, block].set_title("asks")
    axes[0, block + 3].set_title("comes back,\nnearest first")
show_pictures()

# %%
# Precision against recall, and the common space: halves of both kinds under the two strongest columns of :math:`U` and
# :math:`V`, for six digits.

U, V = problem.split(problem.components(solution.certificate.M))
strongest = np.argsort(-(U**2).sum(axis=0) - (V**2).sum(axis=0))[:2]
figure, axes = plt.subplots(2, 1, figsize=(4.8, 7.6), height_ratios=(3, 4))
plot_precision_recall(curves, ax=axes[0]).set_title("upper halves retrieve lower halves, new digits")
for digit in range(6):
    of = y[test] == digit
    for points, factor, fill in ((upper, U, COLOURS[digit]), (lower, V, "none")):
        x, z = (points[test][of] @ factor[:, strongest]).T
        label = None if fill == "none" else str(digit)
        style = {"marker": MARKERS[digit], "color": fill, "edgecolors": COLOURS[digit], "linewidths": 0.8}
        axes[1].scatter(x, z, 18, label=label, **style)
axes[1].legend(loc="upper center", bbox_to_anchor=(0.5, -0.15), ncols=6, handletextpad=0.0)
axes[1].set(title="upper halves (filled) and lower ones (hollow) together", xlabel="1st column", ylabel="2nd column")
show_pictures()

# %%
# With the Wikipedia articles of the paper
# ----------------------------------------
#
# If the folder named by ``CONVEXMETRIC_DATA`` holds them: 2,866 articles with an image (128 numbers) and a text (10
# topics), in ten categories.

if os.environ.get("CONVEXMETRIC_DATA"):
    wiki = cm.datasets.load("wikipedia-crossmodal")
    train, test = wiki.extras["train"], wiki.extras["test"]
    # Square roots of shares, then standard scores by the training articles.
    images, texts = np.sqrt(wiki.X), np.sqrt(wiki.extras["text"])
    images, texts = ((Z - Z[train].mean(axis=0)) / Z[train].std(axis=0) for Z in (images, texts))
    labels, relevant = wiki.y[train], wiki.y[test][:, None] == wiki.y[test]
    paper = cm.CrossModalProblem(images[train], texts[train], labels, labels, alpha=3000.0, beta=0.001, random_state=0)
    found = cm.solve(paper, tol=1e-5)
    print(found)
    A, B = cm.papers.factor_analysis(images[train], texts[train], c=10)
    matched = ((images[test] @ A)[:, None] - (texts[test] @ B)[None]) ** 2
    curves = {
        "factor analysis": cm.evaluation.retrieval_curve(matched.sum(axis=2), relevant),
        "learned": cm.evaluation.retrieval_curve(paper.distances(found.M, images[test], texts[test]), relevant),
    }
    plot_precision_recall(curves, ax=plt.figure().add_subplot()).set_title("images retrieve texts")
    show_pictures()
