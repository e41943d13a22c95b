r"""
12. How wrong is my solver?
===========================

A conic solver stops when some residuals are small, and says ``optimal``. It does not say how far its value may be from
the optimum. This lesson asks for the lightest truss, a semidefinite program that looks harmless, and proves what the
answers are worth.

Bars join the nodes of a grid that is held at its left end; a force :math:`f` pulls at the right. With volumes
:math:`v_i \ge 0` of the bars, the stiffness of the truss is :math:`K(v) = \sum_i v_i b_i b_i^\top`, and the work of the
force, :math:`f^\top K(v)^{-1} f`, shall be at most 1. The lightest such truss is

.. math:: \min_{v \ge 0} \; \sum_i v_i \qquad \text{such that} \qquad
   \begin{pmatrix} 1 & f^\top \\ f & K(v) \end{pmatrix} \succeq 0 ,

where the matrix inequality is equivalent to the bound on the work (by the Schur complement).
"""

import warnings

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import linprog

import convexmetric as cm
from convexmetric.plotting import COLOURS, STYLE, show_pictures
from convexmetric.plotting.axes import AID, GRID

plt.style.use(STYLE)

columns, rows = 5, 3
nodes = np.array([(x, y) for x in range(columns) for y in range(rows)], dtype=float)
number = {node: 2 * (node - rows) for node in range(rows, len(nodes))}
pairs, directions = [], []
for i in range(len(nodes)):
    for j in range(max(i + 1, rows), len(nodes)):
        across = nodes[j] - nodes[i]
        if np.abs(across).max() <= 1:
            direction = np.zeros(2 * len(number))
            for node, sign in ((i, -1.0), (j, 1.0)):
                if node in number:
                    direction[number[node] : number[node] + 2] = sign * across / (across @ across)
            pairs.append((i, j))
            directions.append(direction)
b = np.array(directions)


def truss(force):
    """Problem, volumes, semidefinite constraint and force, which pulls down in the middle of the right end."""
    f = np.zeros(b.shape[1])
    f[-2 * (rows // 2) - 1] = -force
    v = cp.Variable(len(b), nonneg=True)
    stiff = cp.bmat([[np.ones((1, 1)), f[None]], [f[:, None], b.T @ cp.diag(v) @ b]]) >> 0
    return cp.Problem(cp.Minimize(cp.sum(v)), [stiff]), v, stiff, f


# With acceleration SCS's answers differ from processor to processor, as rounding does.
PLAIN = {"acceleration_lookback": 0}

problem, v, stiff, f = truss(1.0)
problem.solve(solver="SCS", **PLAIN)
report = problem.solver_stats.extra_stats["info"]
print(f"{len(b)} bars; SCS: {problem.status}, volume {problem.value:.9f}")
print(f"primal objective {report['pobj']:.9f}, dual objective {report['dobj']:.9f}")

# %%
# What is claimed, and what is proven
# -----------------------------------
#
# The two objectives would enclose the optimum if both points were exactly feasible. They are not: solvers leave
# residuals of about the size of their tolerance in the constraints. ``certify_program`` takes the answer, whatever it
# is, and proves bounds on the optimum of the program that CVXPY has made of ours.

certificate = cm.certify_program(problem)
print(certificate)

claimed = abs(report["pobj"] - report["dobj"])
error = max(certificate.lower_bound - problem.value, problem.value - certificate.upper_bound)
print(f"claimed: wrong by at most {claimed:.1e}; proven: wrong by at least {error:.1e}")
assert error > claimed

# %%
# Weak duality, by hand
# ---------------------
#
# Why can anything be proven from an answer that is not even feasible? Take any displacement :math:`u` of the nodes. By
# the inequality of Cauchy and Schwarz, for every truss that is stiff enough,
#
# .. math:: (f^\top u)^2 \;\le\; f^\top K(v)^{-1} f \cdot u^\top K(v) u \;\le\; \sum_i v_i (b_i^\top u)^2
#    \;\le\; \max_i \, (b_i^\top u)^2 \cdot \sum_i v_i ,
#
# so that no truss is lighter than :math:`(f^\top u)^2 / \max_i (b_i^\top u)^2`. Every :math:`u` proves something,
# wherever it comes from. A good one is the first column of SCS's multiplier of the semidefinite constraint. Dividing by
# the largest strain *repairs* it: afterwards no strain is above 1, but for the rounding of one line.

u = stiff.dual_value[1:, 0]
by_hand = (f @ u) ** 2 / np.max((b @ u) ** 2)
print(f"by hand from SCS's multiplier: no truss is lighter than {by_hand:.9f}")

# %%
# The best :math:`u` is a linear program, which gives us the optimum by another way. It must be between all bounds.

best = linprog(-f, A_ub=np.vstack([b, -b]), b_ub=np.ones(2 * len(b)), bounds=(None, None))
optimum = best.fun**2
print(f"by a linear program: {optimum:.12f}")
assert by_hand <= optimum * (1 + 1e-9)
assert certificate.lower_bound <= optimum * (1 + 1e-9)
assert certificate.upper_bound >= optimum * (1 - 1e-9)

# %%
# The same for any program
# ------------------------
#
# CVXPY converts every convex program to one form, which has one dual:
#
# .. math:: \min_x \; q^\top x \;\; \text{such that} \;\; g - A x \in K , \qquad\qquad
#    \max_z \; -g^\top z \;\; \text{such that} \;\; q + A^\top z = 0, \; z \in K^* .
#
# If :math:`z` is exactly feasible, then :math:`q^\top x = -z^\top A x = z^\top (g - A x) - g^\top z \ge -g^\top z`
# for every feasible :math:`x`: the whole proof. A solver's :math:`z` leaves a residual :math:`r = q + A^\top z`, and
# numbers in floating point cannot make it vanish. But with positive spreads :math:`w` one can solve
#
# .. math:: \bigl( A^\top \mathrm{diag}(w) A \bigr) \, y = -r , \qquad z^\star = z + w \circ (A y) ,
#
# and then :math:`q + A^\top z^\star = r - r = 0`. Interval arithmetic proves that the matrix is invertible, and
# encloses :math:`y`. So :math:`z^\star` exists, and is known up to tiny intervals, though it is never written down;
# if all of these intervals are in :math:`K^*`, the bound is proven. That needs a little room inside :math:`K^*`, and
# there is such room exactly if the points of the program with a bounded objective are bounded.
#
# Tolerances
# ----------
#
# Now all tolerances from 1e-2 to 1e-8, by two solvers, and three numbers of each answer: the gap between its two
# objectives; how wrong its value is, at least, by the best of all bounds; and the gap that is proven from it. The first
# is a claim about the second, and should be above it. Mostly it is not.


def answer(problem, solver, tolerance):
    """Value and claimed gap of an answer, and what is proven from it."""
    names = ("eps_abs", "eps_rel") if solver == "SCS" else ("tol_gap_abs", "tol_gap_rel", "tol_feas")
    options = {**dict.fromkeys(names, tolerance), **({"max_iters": 20_000, **PLAIN} if solver == "SCS" else {})}
    data, chain, inverse = problem.get_problem_data(solver, solver_opts=options)
    raw = chain.solve_via_data(problem, data, solver_opts=options)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Solution may be inaccurate")
        problem.unpack_results(raw, chain, inverse)
    p, d = (raw["info"]["pobj"], raw["info"]["dobj"]) if solver == "SCS" else (raw.obj_val, raw.obj_val_dual)
    return problem.value, abs(p - d), cm.certify_program(problem, solver=solver, **options)


tolerances = 10.0 ** -np.arange(2.0, 9.0)
answers = {solver: [answer(problem, solver, t) for t in tolerances] for solver in ("SCS", "CLARABEL")}
proofs = [
    cm.certify_program(problem, solver="CLARABEL"),
    *(proof for found in answers.values() for _, _, proof in found),
]
lower, upper = max(c.lower_bound for c in proofs), min(c.upper_bound for c in proofs)
print(f"proven: {lower:.10f} <= lightest truss <= {upper:.10f}")
assert lower <= optimum * (1 + 1e-9)
assert upper >= optimum * (1 - 1e-9)

figure, axes = plt.subplots(2, 1, figsize=(4.8, 7.4), sharex=True)
for ax, (solver, found) in zip(axes, answers.items(), strict=True):
    values, gaps = np.array([(value, gap) for value, gap, _ in found]).T
    wrong = np.maximum(0.0, np.maximum(lower - values, values - upper))
    false = np.sum(wrong > gaps)
    print(f"{solver}: {false} of {len(gaps)} claims are false")
    assert false > len(gaps) / 2
    for numbers, colour, marker, dashes, label in (
        (gaps / optimum, COLOURS[0], "o", "-", "claimed: the two objectives"),
        (np.where(wrong, wrong, np.nan) / optimum, COLOURS[5], "s", "--", "proven: wrong by at least"),
        ([proof.gap for _, _, proof in found], COLOURS[2], "^", "-.", "proven: gap of the bounds"),
    ):
        ax.loglog(tolerances, numbers, color=colour, marker=marker, ls=dashes, label=label)
    ax.loglog(tolerances, tolerances, color=AID, lw=1, ls=":", label="the tolerance")
    ax.set(title=f"{solver}: {false} of {len(gaps)} claims are false", ylabel="relative to the optimum")
axes[1].set_xlabel("tolerance asked for")
axes[1].invert_xaxis()
axes[0].legend()
show_pictures()

# %%
# A matter of units
# -----------------
#
# The force was 1, in some unit. Take another one, in which it is 0.003. The lightest truss becomes lighter by a
# known factor, :math:`0.003^2`, and nothing else should change. But the tolerances of a solver are partly
# absolute, so that *nearly feasible* now means something else. With its default accuracy SCS says ``optimal`` again,
# of a volume that is proven to be too small by a factor of more than a hundred. (The upper bound is that of SCS's truss
# after what is needed was added to it. Where an optimum is below 1, the gap that is printed is the difference itself.)

small, small_v, _, _ = truss(0.003)
small.solve(solver="SCS", **PLAIN)
small_report = small.solver_stats.extra_stats["info"]
small_certificate = cm.certify_program(small)
small_optimum = optimum * 0.003**2
print(f"SCS: {small.status}, volume {small.value:.3e}, gap {abs(small_report['pobj'] - small_report['dobj']):.0e}")
print(small_certificate)
assert small_certificate.lower_bound > 100.0 * small.value
assert small_certificate.lower_bound <= small_optimum * (1 + 1e-9)
assert small_certificate.upper_bound >= small_optimum * (1 - 1e-9)

# %%
# The two trusses, each in units of its own optimum. The bars of the second are there, and are too thin to be seen.


def draw(ax, volumes, title):
    """Bars as thick as their volume over their length."""
    for (i, j), volume in zip(pairs, np.maximum(volumes, 0.0), strict=True):
        width = 60.0 * volume / np.linalg.norm(nodes[j] - nodes[i])
        ax.plot(*nodes[[i, j]].T, color=GRID, ls="-", lw=0.6, zorder=1)
        ax.plot(*nodes[[i, j]].T, color=COLOURS[0], ls="-", lw=width, solid_capstyle="round", zorder=2)
    ax.plot(*nodes[rows:].T, ls="", marker="o", ms=4, color="black")
    ax.plot(*nodes[:rows].T, ls="", marker="s", ms=9, color="black")
    ax.annotate("", (columns - 1, 0.35), (columns - 1, 1), arrowprops={"color": COLOURS[5], "width": 3})
    ax.set(title=title, aspect="equal")
    ax.axis("off")


problem.solve(solver="CLARABEL")
figure, axes = plt.subplots(2, 1, figsize=(4.8, 5.4))
draw(axes[0], v.value / optimum, "force 1, by CLARABEL")
share = small.value / small_optimum
draw(axes[1], small_v.value / small_optimum, f"force 0.003, by SCS: {share:.1%} of the volume needed")
show_pictures()
