r"""
2. Relative comparisons: from judgements to maps
================================================

"A is closer to B than to C" is a judgement that people and search logs give readily, without having to quantify it.
Schultz and Joachims (2003) learn a metric from such triplets :math:`(i, j, k)`, with one nonnegative weight for each
column of a fixed matrix :math:`A`:

.. math::
   \min_{w \ge 0, \; \xi \ge 0} \quad & \tfrac12 w^\top L w + C \sum_{ijk} \xi_{ijk} \\
   \text{s.t.} \quad & w^\top (\Delta^{x_i, x_k} - \Delta^{x_i, x_j}) \; \ge \; 1 - \xi_{ijk}
   \qquad \forall (i, j, k) \in P

Here :math:`\Delta^{x, x'}` holds the squared differences of the entries of :math:`A^\top x` and :math:`A^\top x'`, so
that :math:`w^\top \Delta^{x, x'}` is the learned squared distance. With :math:`A = I` there is one weight for each
feature and :math:`L = I`; with a kernel, :math:`A = \Phi`, one for each training point, and :math:`L = K \circ K`, the
squares of the entries of K. It is a quadratic program, and this lesson looks at what its solutions do to the plane and
to a set of images.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import KernelPCA
from sklearn.metrics.pairwise import rbf_kernel

import convexmetric as cm
from convexmetric.plotting import COLOURS, MARKERS, STYLE, plot_embedding, show_pictures

plt.style.use(STYLE)

rng = np.random.default_rng(3)


def plane_of(D):
    """Points in the plane with distances near those given: classical multidimensional scaling."""
    return KernelPCA(2, kernel="precomputed", eigen_solver="dense").fit_transform(-0.5 * D**2)


def triplets_of(y, count):
    """All of i, j alike and k different, among ``count`` random draws."""
    i, j, k = rng.integers(0, len(y), (3, count))
    return np.column_stack([i, j, k])[(y[i] == y[j]) & (y[i] != y[k]) & (i != j)]


def distances_of(features, w):
    """Learned distances between all rows, not squared."""
    Z = features * np.sqrt(w)
    squares = (Z**2).sum(axis=1)
    D = np.sqrt(np.maximum(0.0, squares[:, None] + squares - 2.0 * Z @ Z.T))
    D = 0.5 * (D + D.T)
    np.fill_diagonal(D, 0.0)
    return D


def satisfied(D, triplets):
    """Share of triplets that distances obey."""
    i, j, k = triplets.T
    return float(np.mean(D[i, k] > D[i, j]))


# %%
# Two toy figures
# ---------------
#
# The first figure of the paper has two examples. In the first one squares and circles differ along the horizontal axis,
# while most of the spread is vertical: stretching one axis and shrinking the other is enough. In the second one
# circles surround squares, and no weights of the two axes can separate them. A kernel can: every point becomes the
# vector of its kernel values with all training points, and these get the weights.

names = ["circles", "squares"]
apart = np.vstack([rng.normal([1, 0], [0.25, 2.0], (20, 2)), rng.normal([-1, 0], [0.25, 2.0], (20, 2))])
angle = rng.uniform(0, 2 * np.pi, 20)
ring = 2.2 * np.column_stack([np.cos(angle), np.sin(angle)]) + rng.normal(0, 0.15, (20, 2))
around = np.vstack([ring, rng.normal(0, 0.5, (20, 2))])
kind = np.repeat([0, 1], 20)
P = triplets_of(kind, 1200)

linear = cm.solve(cm.RelativeComparisonProblem(apart, P, C=1.0))
hopeless = cm.solve(cm.RelativeComparisonProblem(around, P, C=1.0))
kernel = cm.solve(cm.RelativeComparisonProblem(around, P, C=1.0, kernel="rbf"))
for name, solution in {"1: A = I": linear, "2: A = I": hopeless, "2: A = Phi": kernel}.items():
    print(f"{name:11s} {solution.certificate}")
print(f"\nweights of the two axes in example 1: {linear.w}")

# %%
# The learned distances are all that is needed to draw the points anew: classical multidimensional scaling finds a
# picture in the plane whose distances approximate them. On the left the points as they are given, on the right the
# learned distance.

K = rbf_kernel(around, gamma=0.5)
maps = {"1": (apart, distances_of(apart, linear.w)), "2": (around, distances_of(K, kernel.w))}
figure, axes = plt.subplots(2, 2, figsize=(4.8, 5.4))
for row, (name, (points, D)) in zip(axes, maps.items(), strict=True):
    for c, label in enumerate(names):
        row[0].scatter(*points[kind == c].T, s=26, color=COLOURS[c], marker=MARKERS[c], edgecolor="white", label=label)
    before, after = satisfied(distances_of(points, np.ones(2)), P), satisfied(D, P)
    row[0].set_title(f"{name}a: as given,\n{before:.0%} of triplets satisfied")
    row[0].set_aspect("equal", adjustable="datalim")
    plot_embedding(plane_of(D), kind, None, ax=row[1], target_names=names).get_legend().remove()
    row[1].set_title(f"{name}b: learned,\n{after:.0%} of triplets satisfied")
    assert after > before
figure.legend(*row[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
# Axes of equal scale find their ticks while they are drawn; what is drawn next leaves room for them.
figure.draw_without_rendering()
show_pictures()
assert satisfied(maps["2"][1], P) > satisfied(distances_of(around, hopeless.w), P)

# %%
# Three maps of the same objects
# ------------------------------
#
# Triplets can define what "close" means. The paper draws maps of web pages: under the plain distance, under one
# learned from topics, and under one that also wants faculty pages closer to student pages than to others.
# Here are the same three maps of handwritten digits that took no part in learning. The topic is the digit, and the
# extra wish is that a 1 be closer to a 7 than to anything else. All three are judged by the same triplets of digits
# that took no part.

SEPARATE = {"0": 0, "1": 1, "2": 2, "3": 3, "4": 4, "7": 5}


def maps_of(train, y, test, y_test, names, friends, count=4000):
    """Three distances between test points with the solves they come from, and what all of them are judged by."""

    def judgements(labels):
        topic = triplets_of(labels, 4 * count)[:count]
        i, j, k = rng.integers(0, len(labels), (3, 200 * count))
        first, second = friends
        mine = (labels[i] == first) & (labels[j] == second) & ~np.isin(labels[k], friends)
        return {"topics": topic, "the wish": np.column_stack([i, j, k])[mine][: count // 4]}

    told, held_out = judgements(y), judgements(y_test)
    lists = {
        "learned from topics": told["topics"],
        f"... and {names[friends[0]]} near {names[friends[1]]}": np.vstack(list(told.values())),
    }
    found = {"unweighted": (distances_of(test, np.ones(test.shape[1])), None)}
    for title, triplets in lists.items():
        solution = cm.solve(cm.RelativeComparisonProblem(train, triplets, C=1.0), tol=1e-4)
        found[title] = (distances_of(test, solution.w), solution)
    return found, held_out


def draw_maps(found, held_out, labels, names):
    """One map for each distance, and how many of the same held-out triplets it satisfies."""
    figure, axes = plt.subplots(2, 2, figsize=(4.8, 6.2))
    for ax, (title, (D, solution)) in zip(axes.flat, found.items(), strict=False):
        plot_embedding(plane_of(D), labels, None, ax=ax, target_names=names).get_legend().remove()
        shares = ",\n".join(f"{satisfied(D, triplets):.1%} of {kind}" for kind, triplets in held_out.items())
        ax.set_title(f"{title}\n{shares}")
        if solution is not None:
            print(f"{title:30s} {solution.certificate}")
        for collection in ax.collections:
            collection.set_sizes([10])
    axes[1, 1].axis("off")
    classes, labels = axes[0, 0].get_legend_handles_labels()
    axes[1, 1].legend(classes, labels, loc="center", title="held-out triplets\nsatisfied above each map")


digits = cm.datasets.load("digits")
chosen = np.isin(digits.y, [int(name) for name in SEPARATE])
X, y = digits.X[chosen] / 16.0, np.array([SEPARATE[str(digit)] for digit in digits.y[chosen]])
order = rng.permutation(len(X))
train, test = order[:700], order[700:950]
found, held_out = maps_of(X[train], y[train], X[test], y[test], list(SEPARATE), (1, 5))
draw_maps(found, held_out, y[test], list(SEPARATE))
show_pictures()

# %%
# The same wish as a number: the mean distance between a 1 and a 7, in units of the mean distance of all pairs.

for title, (D, _) in found.items():
    between = D[np.ix_(y[test] == 1, y[test] == 5)].mean() / D.mean()
    print(f"{title:30s} {between:.2f}")

# %%
# With the web pages of the paper
# -------------------------------
#
# If the folder named by ``CONVEXMETRIC_DATA`` holds the WebKB pages, the three maps of the paper follow. Features
# tell which words a page has, and the weights then belong to words.

if os.environ.get("CONVEXMETRIC_DATA"):
    webkb = cm.datasets.load("webkb-cmu")
    topics = list(webkb.target_names)
    words = (webkb.X > 0).astype(float)
    order = rng.permutation(words.shape[0])
    train, test = order[:2900], order[2900:3300]
    pages = words[train], webkb.y[train], words[test].toarray(), webkb.y[test]
    friends = topics.index("faculty"), topics.index("student")
    draw_maps(*maps_of(*pages, topics, friends, count=20_000), webkb.y[test], topics)
    show_pictures()
