r"""
3. Cutting planes, watched in two dimensions
============================================

With sliders, in the browser: :doc:`/in-browser`.

Metric learning to rank (McFee and Lanckriet 2010) has one constraint for every ranking of every query, more than there
are atoms in the world. Its Algorithm 1 never writes them down. It asks an *oracle* for the most violated ones at the
current metric, adds them to a small *master* problem, solves that, and asks again.

With two features and a diagonal metric the unknowns are two weights, and all of this can be seen. The problem is

.. math:: \min_{w \ge 0} \; F(w), \qquad F(w) = w_1 + w_2 + \xi(w), \qquad
   \xi(w) = \frac{C}{n} \sum_q \max_y \; \Delta(y^*_q, y) - \langle w, \delta\psi(q, y^*_q, y) \rangle ,

and the rankings found at a point :math:`w_t` make a plane that is below the risk everywhere and touches it there:

.. math:: \xi(w) \ge b_t - \langle \Psi_t, w \rangle .
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.animation import FuncAnimation

import convexmetric as cm
from convexmetric.plotting import COLOURS, STYLE, show_pictures
from convexmetric.plotting.axes import AID, BAND, LOWER, UPPER

plt.style.use(STYLE)

wine = cm.datasets.load("wine")
X = cm.datasets.preprocess(wine.X, ["zscore"])[:, [9, 12]]
problem = cm.RankingProblem.from_labels(X, wine.y, measure="map", C=25.0, diagonal=True)
reference = cm.solve(problem, tol=1e-9)
print(reference)

# %%
# What the oracle finds
# ---------------------
#
# At weights zero all distances are equal, and the worst ranking of a query has all relevant items at the end. At the
# optimum it is a compromise of loss and distance. Items stand from top to bottom, relevant ones with a star.

for weights in (np.zeros(2), reference.w):
    ranking = problem.worst_ranking(0, weights)
    print(f"{str(ranking)[:72]} ... loss {ranking.loss:.3f}, {ranking.inverted} inverted pairs")

# %%
# Algorithm 1 in twenty lines
# ---------------------------
#
# A pass asks the oracle for the worst ranking of every query: a *batch*. The master problem is the paper's program with
# the batches so far as constraints, which ``to_cvxpy`` writes out in CVXPY. Its value is a lower bound, because it
# knows only some of the constraints. The objective at the points visited is an upper bound. Their difference bounds
# the error: no guess is needed.


def algorithm_1(stabilisation=0.0, tol=1e-4, passes=60):
    """The master; and of every pass the point asked, the best one so far, the master's solution and its value."""
    w, best, batches, record = np.zeros(2), None, [], []
    while True:
        value = problem.objective(w)
        if best is None or value < best[1]:
            best = (w, value)
        batches.append(problem.worst_rankings(w))
        master = problem.to_cvxpy(rankings=batches)
        lower = master.solve(solver="CLARABEL")
        found = master.metric.value
        record.append((w, best, found, lower))
        if best[1] - lower <= tol * best[1] or len(batches) == passes:
            return master, record
        w = np.maximum(0.0, stabilisation * best[0] + (1.0 - stabilisation) * found)


def planes_of(master):
    """``C Delta`` and ``C dpsi`` of every batch, as they stand in the master."""
    given = master.param_dict
    count = len(master.constraints) - 1
    return [
        (given["C"].value * given[f"Delta[{t}]"].value, given["C"].value * given[f"dpsi[{t}]"].value)
        for t in range(count)
    ]


master, record = algorithm_1()
print("\n".join(str(master).splitlines()[:5]), "...", sep="\n")
stable_master, stable_record = algorithm_1(stabilisation=0.5)
planes, stable_planes = planes_of(master), planes_of(stable_master)
for name, (_, best, _, lower), count in (
    ("as printed", record[-1], len(record)),
    ("in-out", stable_record[-1], len(stable_record)),
):
    print(f"{name:11s} {lower:.6f} <= optimum <= {best[1]:.6f} after {count} passes")
    assert lower - 1e-7 <= reference.upper_bound
    assert best[1] >= reference.lower_bound - 1e-7

# %%
# The picture
# -----------
#
# Grey lines are level lines of :math:`F`. After each pass the optimum must lie where the planes so far do not exceed
# the best value so far: in the blue region. The new plane's line cuts it, and it shrinks until only the
# optimum is left. The open circle is where the oracle was asked, the square the master's solution, where it will be
# asked next. Kelley's method, which this is, jumps from end to end of the region.

side = 3.45 * reference.w.max()
ticks = np.linspace(0.0, side, 60)
W1, W2 = np.meshgrid(ticks, ticks)
F = np.array([problem.objective(w) for w in np.column_stack([W1.ravel(), W2.ravel()])]).reshape(W1.shape)
levels = reference.upper_bound + (F.max() - reference.upper_bound) * np.linspace(0.0, 1.0, 14)[1:] ** 2
fine = np.linspace(0.0, side, 400)
V1, V2 = np.meshgrid(fine, fine)


def model(planes):
    """Largest of the planes plus the trace, on the fine grid: below F everywhere."""
    heights = [offset - normal[0] * V1 - normal[1] * V2 for offset, normal in planes]
    return V1 + V2 + np.maximum(0.0, np.max(heights, axis=0))


def draw_region(ax, planes, record, t):
    """What is known after pass t."""
    ax.clear()
    ax.contour(W1, W2, F, levels, colors=AID, linewidths=0.4)
    w, (_, upper), master, lower = record[t]
    below = model(planes[: t + 1])
    ax.contourf(V1, V2, below, [-np.inf, upper * (1 + 1e-9)], colors=[COLOURS[4]], alpha=0.5)
    offset, normal = planes[t]
    # Where the newest plane alone reaches the best value so far.
    ax.contour(V1, V2, V1 + V2 + offset - normal[0] * V1 - normal[1] * V2, [upper], colors=LOWER, linewidths=1.5)
    ax.plot(*w, "o", mfc="white", mec="black", ms=7, clip_on=max(w) > side, label="oracle asked here")
    ax.plot(*np.minimum(master, 0.985 * side), "s", color=UPPER, ms=6, clip_on=False, label="master's solution")
    ax.plot(*reference.w, "*", color="black", ms=11, clip_on=False, label="optimum")
    ax.set(xlim=(0, side), ylim=(0, side), aspect="equal", xlabel="$w_1$ (colour)", ylabel="$w_2$ (proline)")
    ax.set_title(f"pass {t + 1}: {max(lower, 0.0):.3f} to {upper:.3f}")
    ax.grid(visible=False)


def draw_bounds(ax, record, t):
    """Bounds up to pass t."""
    ax.clear()
    passes = np.arange(1, t + 2)
    upper, lower = ([row[1][1] for row in record[: t + 1]], [max(row[3], 0.0) for row in record[: t + 1]])
    ax.fill_between(passes, lower, upper, step="post", color=BAND)
    # At the first pass a line has no length yet: the marker of the last one shows.
    ax.step(passes, upper, ".-", where="post", color=UPPER, ms=9, markevery=[t], clip_on=False, label="upper bound")
    ax.step(passes, lower, ".--", where="post", color=LOWER, ms=9, markevery=[t], clip_on=False, label="lower bound")
    ax.set(xlim=(1, max(2, len(record))), ylim=(0, 1.05 * record[0][1][1]), xlabel="oracle passes", ylabel="objective")
    ax.legend()


figure, (region, bounds) = plt.subplots(2, 1, figsize=(4.8, 6.8), height_ratios=(2, 1))


def frame(t):
    """One picture of the film."""
    draw_region(region, planes, record, t)
    region.legend(loc="upper right", frameon=True, framealpha=0.9, edgecolor="none")
    draw_bounds(bounds, record, t)


film = FuncAnimation(figure, frame, frames=len(record), interval=900)
if sys.argv[-1].endswith(".gif"):
    # python examples/plot_03_cutting_planes.py film.gif
    film.save(sys.argv[-1], writer="pillow")
# Begins the film if it has not begun; still pictures show its middle.
figure.canvas.draw()
frame(len(record) // 2)
show_pictures()

# %%
# Four passes below each other, on the left those of the algorithm as printed, on the right those of *in-out
# separation*, which asks the oracle half way between the master's solution and the best point so far:

figure, axes = plt.subplots(4, 2, figsize=(4.8, 9.8), sharex=True, sharey=True)
for column, cuts, steps, name in zip(
    axes.T, (planes, stable_planes), (record, stable_record), ("as printed", "in-out"), strict=True
):
    for ax, t in zip(column, (1, 3, 5, min(7, len(steps) - 1)), strict=True):
        draw_region(ax, cuts, steps, t)
        ax.set_title(f"{name}, {ax.get_title()}".replace(": ", ":\n"))
        ax.label_outer()
figure.legend(*ax.get_legend_handles_labels(), loc="outside lower center", ncols=3)
show_pictures()

# %%
# In two dimensions both are quick. In a hundred dimensions the jumps make the plain method slow: the package's
# ``CuttingPlanes`` asks between the two points, has a plane for each of 32 groups of queries instead of one for all,
# and drops planes that no longer matter. ``CuttingPlanes.plain()`` is the algorithm as printed:

full = cm.RankingProblem.from_labels(
    cm.datasets.preprocess(wine.X, ["zscore"])[::2], wine.y[::2], measure="map", C=25.0
)
solved = {
    name: cm.solve(full, solver=solver, tol=1e-3, max_iter=400)
    for name, solver in (
        ("as printed", cm.solvers.CuttingPlanes.plain()),
        ("the package's", cm.solvers.CuttingPlanes()),
    )
}
for name, solution in solved.items():
    print(f"{name:14s} {solution.iterations:4d} passes to a gap of {solution.gap:.1e}")
assert 5 * solved["the package's"].iterations < solved["as printed"].iterations
