r"""
4. Oracles: why NDCG and average precision are harder than AUC
==============================================================

A ranking of :math:`p` relevant and :math:`n` irrelevant items is a choice of the places of the relevant ones. Metric
learning to rank asks, for every query and in every pass, for the *most violated* one of all these rankings,

.. math:: \max_y \; \Delta(y^*, y) - \langle W, \delta\psi(q, y^*, y) \rangle
   = \max_b \; 1 - \sum_{i=1}^p \Bigl[ g(i, b_i) + \frac{2}{p n} \sum_{j \le b_i} (z_j - x_i) \Bigr],

where :math:`x_1 \le \dots \le x_p` and :math:`z_1 \le \dots \le z_n` are the distances of the relevant and of the
irrelevant items, :math:`b_1 \le \dots \le b_p` are the numbers of irrelevant items above each relevant one, and
:math:`g` is the measure's gain for them. This lesson finds the maximum in three ways, one of which is wrong.
"""

from itertools import combinations
from math import comb
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np

import convexmetric as cm
from convexmetric.measures import measure_named
from convexmetric.measures.reference import most_violated
from convexmetric.plotting import MARKERS, STYLE, plot_violated_ranking, show_pictures

plt.style.use(STYLE)

for p, n in ((2, 2), (4, 4), (10, 10), (20, 80), (50, 950)):
    print(f"{p:3d} relevant and {n:3d} irrelevant items: {float(comb(p + n, p)):.3g} rankings")

# %%
# Brute force, for reference
# --------------------------
#
# Up to eight items we can simply try. ``measure.gains`` is :math:`g`.


def value(measure, x, z, b):
    """Loss minus the change of the feature, for one ranking."""
    p, n = len(x), len(z)
    inner = np.concatenate([[0.0], np.cumsum(z)])[b] - b * x
    return 1.0 - measure.gains(np.arange(1, p + 1), b, p, n).sum() - 2.0 / (p * n) * inner.sum()


def brute_force(measure, x, z):
    """The largest value over all rankings."""
    p, n = len(x), len(z)
    return max(value(measure, x, z, np.array(places) - np.arange(p)) for places in combinations(range(p + n), p))


# %%
# What decomposes, and what does not
# ----------------------------------
#
# For AUC :math:`g(i, b) = (n - b)/(p n)`: every inverted pair costs the same, and every pair can be decided alone, by
# comparing two distances. That is why AUC needs no more than sorting, and why its risk is a sum of hinges.
#
# For average precision, :math:`g(i, b) = i / (p (i + b))`, the value of a pair depends on how many items are above it.
# But the gains telescope: putting irrelevant item :math:`j` above the relevant items :math:`r, \dots, p` changes the
# value by
#
# .. math:: f_j(r) = \sum_{i \ge r} \Bigl[ g(i, j - 1) - g(i, j) - \frac{2}{p n} (z_j - x_i) \Bigr]
#
# whatever the others do. Choose the best :math:`r_j` for every :math:`j` alone; if these choices are in order,
# :math:`r_1 \le r_2 \le \dots`, they make a ranking, and it is the best one. Being in order also means that one can
# divide and conquer: settle the middle :math:`j`, and look only to the left of it for smaller ones and only to the
# right for larger ones (Mohapatra and others, 2018).


def gains_of_places(measure, x, z):
    """``f_j(r)`` for all j and r; r = p + 1 is below everything."""
    p, n = len(x), len(z)
    i, j = np.arange(1, p + 1), np.arange(1, n + 1)
    drop = measure.gains(i, j[:, None] - 1, p, n) - measure.gains(i, j[:, None], p, n)
    terms = drop - 2.0 / (p * n) * (z[:, None] - x)
    return np.hstack([np.cumsum(terms[:, ::-1], axis=1)[:, ::-1], np.zeros((n, 1))])


def divide_and_conquer(measure, x, z):
    """The value it finds, and whether the best places of single items are in order."""
    f = gains_of_places(measure, x, z)
    p, n = len(x), len(z)
    places = np.empty(n, dtype=int)

    def settle(first, last, low, high):
        if first >= last:
            return
        middle = (first + last) // 2
        window = f[middle, low : high + 1]
        places[middle] = low + np.flatnonzero(window == window.max())[-1]
        settle(first, middle, low, places[middle])
        settle(middle + 1, last, places[middle], high)

    settle(0, n, 0, p)
    alone = p - np.argmax(f[:, ::-1], axis=1)
    b = (places[:, None] <= np.arange(p)).sum(axis=0)
    return value(measure, x, z, b), bool((np.diff(alone) >= 0).all())


# %%
# The trap
# --------
#
# The same code runs for NDCG; nothing fails, and its answer is a ranking. Only brute force shows that it is often not
# the worst one. The discount of the paper has :math:`D(1) = D(2)` and drops to zero after place :math:`k`, so that the
# best places of single items are no longer in order, and the conquest cuts off the best ranking.

rng = np.random.default_rng(1)
measures = {name: measure_named(name, k) for name, k in (("auc", None), ("map", None), ("ndcg", 3))}
cases, short = 1500, {}
for name, measure in measures.items():
    missed, unordered = [], 0
    for _ in range(cases):
        p = rng.integers(2, 6)
        n = 8 - p
        x, z = np.sort(rng.standard_normal(p)), np.sort(rng.standard_normal(n))
        best = brute_force(measure, x, z)
        found, in_order = divide_and_conquer(measure, x, z)
        assert abs(most_violated(measure, x, z)[2] - best) < 1e-10
        missed.append(best - found)
        unordered += not in_order
    short[name] = np.array(missed)
    print(
        f"{name:5s} divide and conquer misses the worst ranking in {(short[name] > 1e-9).sum():4d} of {cases} cases, "
        f"by up to {short[name].max():.3f}; places out of order in {unordered}"
    )
assert short["auc"].max() < 1e-9
assert short["map"].max() < 1e-9
assert short["ndcg"].max() > 0.01

# %%
# An oracle that is occasionally wrong is worse than a slow one: the solver believes that no constraint is violated and
# stops above the optimum, and its upper bound is invalid. The package's oracle for NDCG settles the first :math:`k`
# places by dynamic programming; it was asserted above that the readable programme over all :math:`(i, b)`, against
# which it is tested, agreed with brute force in every case.
#
# What it costs
# -------------
#
# One query, a tenth of the items relevant; the time of sorting all distances is the yardstick. The compiled oracles
# include computing the distances. The dynamic programme, :math:`O(p n)`, is for checking.

sizes = np.array([100, 300, 1_000, 3_000, 10_000, 30_000, 100_000])
seconds = {}


def best_of(function, repeats=7):
    """Seconds of the fastest call; the first one is for warming up."""
    times = []
    for _ in range(repeats + 1):
        start = perf_counter()
        function()
        times.append(perf_counter() - start)
    return min(times[1:])


for n in sizes:
    points = rng.standard_normal((n, 1))
    distances = points[:, 0] ** 2
    seconds.setdefault("numpy.sort", []).append(best_of(lambda d=distances: np.sort(d)))
    for name, measure in measures.items():
        k = 10 if measure.k else None
        problem = cm.RankingProblem(points, [np.arange(n // 10)], queries=np.zeros((1, 1)), measure=name, k=k)
        passing = best_of(lambda problem=problem: problem.objective(np.eye(1)))
        seconds.setdefault(f"{name} oracle", []).append(passing)
    if n <= 3_000:
        near, far = distances[: n // 10], distances[n // 10 :]
        slow = best_of(lambda near=near, far=far: most_violated(measures["ndcg"], near, far), 1)
        seconds.setdefault("dynamic programme", []).append(slow)

figure, axes = plt.subplots(2, 1, figsize=(4.8, 6.4))
order = [*(f"{name} oracle" for name in measures), "numpy.sort", "dynamic programme"]
for name, marker in zip(order, MARKERS, strict=False):
    times = seconds[name]
    axes[0].loglog(sizes[: len(times)], times, marker=marker, lw=1.2, label=name)
# Room for the legend, above the steepest line.
axes[0].set(xlabel="items", ylabel="seconds for one query", title="time of an oracle", ylim=(None, 30.0))
axes[0].legend()
for name, missed in short.items():
    axes[1].plot(np.sort(missed)[::-1], label=name)
axes[1].set(xlabel="cases, the worst first", ylabel="value missed", title="divide and conquer against brute force")
axes[1].set_xlim(0, 1.5 * (short["ndcg"] > 1e-9).sum())
axes[1].legend()
show_pictures()

# %%
# Three worst rankings of one query
# ---------------------------------
#
# The same query, the same distances, three measures. AUC counts every pair equally and moves items by as much as their
# distances allow. Average precision and NDCG look at the top: a few irrelevant items go there, and the rest stays in
# place, as moving it would violate margins for too little gain.

wine = cm.datasets.load("wine")
X = cm.datasets.preprocess(wine.X, ["zscore"])[::4]
M = 0.02 * np.eye(X.shape[1])
figure, axes = plt.subplots(1, 3, figsize=(4.8, 6.4), sharey=True)
for ax, (name, measure) in zip(axes, measures.items(), strict=True):
    problem = cm.RankingProblem.from_labels(X, wine.y[::4], measure=name, k=10 if measure.k else None)
    plot_violated_ranking(problem, M, query=20, ax=ax, places=44)
    ax.set_title(ax.get_title().split(", ", 1)[1].replace(": ", "\n").replace(", ", "\n"))
    ax.set_xticklabels(["by\ndistance", "most\nviolated"])
    ax.get_legend().remove()
    ax.label_outer()
figure.suptitle("query 20", fontsize="medium")
figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=2)
show_pictures()
