r"""
13. Reading a statement
=======================

``problem.to_cvxpy()`` is a problem of this package as a program in CVXPY: the paper's letters, one line for every
comparison. This lesson reads such a program line by line. CVXPY has two sets of rules for it: *DCP* (disciplined convex
programming) decides which programs are recognised as convex, and *DPP* (disciplined parametrized programming) which of
them need to be translated only once while their numbers change.

Paper 2 measures :math:`d_w(x_i, x_j)^2 = \sum_f w_f (x_{if} - x_{jf})^2 = w^\top \Delta^{x_i,x_j}` with weights
:math:`w \ge 0`, where :math:`\Delta^{x_i,x_j}` holds the squared differences. A triplet :math:`(i, j, k)` says that
:math:`x_i` is nearer to :math:`x_j` than to :math:`x_k`. We take six triplets of wines, and two features, so that
everything can be drawn.
"""

import warnings
from time import perf_counter
from unittest import mock

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np
from cvxpy.reductions.dcp2cone.dcp2cone import Dcp2Cone
from scipy.optimize import minimize

import convexmetric as cm
from convexmetric.plotting import COLOURS, STYLE, show_pictures
from convexmetric.plotting.axes import AID

plt.style.use(STYLE)

wine = cm.datasets.load("wine")
X, y = cm.datasets.preprocess(wine.X, ["zscore"])[:, [0, 2]], wine.y
i, j, k = np.random.default_rng(79).integers(0, len(X), (3, 400))
triplets = np.column_stack([i, j, k])[(y[i] == y[j]) & (y[i] != y[k]) & (i != j)][:6]
problem = cm.RelativeComparisonProblem(X, triplets, C=0.3)

# %%
# What CVXPY sees
# ---------------
#
# CVXPY does not test whether a function is convex. It knows the curvature of some hundred functions, and a few rules: a
# sum of convex functions is convex; a convex function that grows, of a convex one, is convex; and so on. Every
# expression has a curvature by these rules, or none.

far, near = ((X[triplets[:, 0]] - X[triplets[:, at]]) ** 2 for at in (2, 1))
w = cp.Variable(2, nonneg=True)
d2_far, d2_near = w @ far[0], w @ near[0]
L = cp.Variable((2, 2))
L_far, L_near = (cp.sum_squares(L @ (X[triplets[0, 0]] - X[triplets[0, at]])) for at in (2, 1))

curvature = {
    "a squared distance, in w": d2_far,
    "a distance, in w": cp.sqrt(d2_far),
    "hinge of squared distances, in w": cp.pos(1 - d2_far + d2_near),
    "hinge of distances, in w": cp.pos(1 - cp.sqrt(d2_far) + cp.sqrt(d2_near)),
    "a squared distance, in L": L_far,
    "hinge of squared distances, in L": cp.pos(1 - L_far + L_near),
    "square(sqrt(squared distance)), in w": cp.square(cp.sqrt(d2_far)),
}
for name, expression in curvature.items():
    print(f"{name:38s} {expression.curvature}")
assert [name for name, expression in curvature.items() if not expression.is_dcp()] == [
    "hinge of distances, in w",
    "hinge of squared distances, in L",
    "square(sqrt(squared distance)), in w",
]

# %%
# A squared distance is *affine* in the weights (and in a matrix :math:`M`): that is why the package learns
# :math:`M`, and not as :math:`L` with :math:`M = L^\top L`. Its root is concave. In a hinge the far distance has a
# minus, which makes its root convex, and the near distance has a plus, which leaves its root concave: the sum is
# neither. In :math:`L` it is the far distance that breaks convexity.
#
# The last line shows that the rules know less than we do: the square of a root is its argument, but CVXPY looks at
# one function at a time, and ``square`` of something concave is not convex by any of them. A curvature of ``UNKNOWN``
# or ``QUASILINEAR`` means: not recognised as convex. It does not mean: not convex.
#
# Here it really is not
# ---------------------
#
# With roots and C = 8, the program of the same six triplets has more than one place where a descent stops. Between two
# of them the objective rises, which a convex function cannot do.


def objective(w, root, C=8.0):
    """The program's value at w with the best slacks; ``root`` is np.sqrt, or np.positive for none."""
    return w @ w / 2 + C * np.maximum(0.0, 1.0 - root(far @ w) + root(near @ w)).sum()


def descent(start):
    """Where the objective with roots stops falling."""
    return minimize(objective, start, args=(np.sqrt,), method="Nelder-Mead", bounds=[(0.0, None)] * 2, tol=1e-9).x


stops = [descent(start) for start in ([3.0, 3.0], [1.5, 0.0])]
share = np.linspace(-0.6, 1.0, 321)
segment = stops[0] + share[:, None] * (stops[1] - stops[0])
with_roots, without = (np.array([objective(w, root) for w in segment]) for root in (np.sqrt, np.positive))
print("stops at", ", and at ".join(f"{np.round(stop, 3)} with {objective(stop, np.sqrt):.3f}" for stop in stops))
between = with_roots[(share > 0.0) & (share < 1.0)].max()
assert between > 1.02 * max(objective(stop, np.sqrt) for stop in stops)
# Without roots every piece of the segment is below its chord.
assert (without[1:-1] <= (without[:-2] + without[2:]) / 2 + 1e-9).all()

figure, axes = plt.subplots(2, 1, figsize=(4.8, 5.6), sharex=True)
titles = ("hinges of distances", "hinges of squared distances")
for ax, values, title in zip(axes, (with_roots, without), titles, strict=True):
    ax.plot(share, values, ls="-")
    ax.set(title=title, ylabel="objective")
axes[0].plot([0.0, 1.0], [objective(stop, np.sqrt) for stop in stops], color=COLOURS[5], marker="o", ls="--")
axes[0].annotate("two descents\nstop here", (0.55, 8.3), ha="center", color=COLOURS[5])
axes[1].set_xlabel("along the segment")
show_pictures()

# %%
# The statement
# -------------
#
# The paper calls the rooted distance :math:`d_w`, and its program has the squares:
#
# .. math:: \min_{w \ge 0, \, \xi \ge 0} \; \tfrac12 w^\top L w + C \sum_{(i,j,k)} \xi_{ijk} \qquad \text{such that}
#    \qquad w^\top \Delta^{x_i,x_k} - w^\top \Delta^{x_i,x_j} \ge 1 - \xi_{ijk} .
#
# Without a matrix :math:`A` the paper's :math:`L`, which is not the factor above, is the identity. In CVXPY:

program = problem.to_cvxpy()
print(program)
assert program.is_dcp()

# %%
# Line by line:
#
# - :math:`\frac12 w^\top L w` is half the sum of squares of w: convex.
# - :math:`C \sum \xi_{ijk}` is affine; ``C`` is a parameter, whose value can be changed.
# - :math:`w^\top \Delta^{x_i,x_k}`, which is :math:`d_w(x_i, x_k)^2`, is the product of w with the parameter
#   ``Delta[i, k]``: affine.
# - The constraint of a triplet is a line with the label ``triplet i, j, k``. CVXPY takes such a line if its larger side
#   is concave and its smaller side convex; affine is both.
# - The last lines are the signs :math:`w \ge 0` and :math:`\xi \ge 0`.
#
# Everything has a name, by which it is found again. Names of parameters are the paper's letters for what is given:

print("variables: ", ", ".join(program.var_dict))
print("parameters:", ", ".join(program.param_dict))
i, j, k = triplets[0]
assert program.param_dict["C"].value == problem.C
assert np.allclose(program.param_dict[f"Delta[{i}, {k}]"].value, far[0])
assert np.allclose(program.param_dict[f"Delta[{i}, {j}]"].value, near[0])

# %%
# Dual values by name
# -------------------
#
# After solving, each constraint has a dual value: by how much the optimal value falls, per unit, if this line asks for
# a little less. Slacks cost C each, so that no line is worth more than C: a triplet that stays violated has exactly C,
# one with room to spare has 0.

value = program.solve(solver="CLARABEL")
weights, slacks = program.var_dict["w"].value, program.var_dict["xi"].value
dual = {line.label: float(line.dual_value) for line in program.constraints if line.label}
margins = (far - near) @ weights
for (label, price), margin, slack in zip(dual.items(), margins, slacks, strict=True):
    print(f"{label:24s} margin {margin:7.4f}   slack {slack:7.4f}   dual value {price:7.4f}")
u = np.array(list(dual.values()))
assert list(dual) == [f"triplet {i}, {j}, {k}" for i, j, k in triplets]
assert np.allclose(slacks, np.maximum(0.0, 1.0 - margins), atol=1e-5)
assert (slacks > 1e-3).any()
assert (margins > 1.001).any()
assert np.allclose(u[slacks > 1e-3], problem.C, atol=1e-4)
assert np.allclose(u[margins > 1.001], 0.0, atol=1e-4)

# %%
# These prices, in the order of the triplets, are a dual point: ``certify`` proves from them how near the weights are to
# the optimum, without any trust in CVXPY or in CLARABEL.

certificate = cm.certify(problem, weights, u)
print(certificate)
assert certificate.gap < 1e-6
assert certificate.lower_bound <= value * (1 + 1e-6)
assert certificate.upper_bound >= value * (1 - 1e-6)

# %%
# A path with one translation
# ---------------------------
#
# CVXPY translates a program into the form that solvers take, and for small programs this takes most of the time. A
# program is DPP if, by CVXPY's rules, the numbers of that form are affine functions of the parameters: then new values
# of parameters go into the old translation. We count the translations of 51 values of C, once by changing the
# parameter, once by a new statement for each.


stats = program.solver_stats
print(f"translated in {1e3 * program.compilation_time:.1f} ms, solved in {1e3 * stats.solve_time:.1f} ms")


def translations(run):
    """What a function returns, how often CVXPY translated meanwhile, and the seconds."""
    start = perf_counter()
    with mock.patch.object(Dcp2Cone, "apply", autospec=True, side_effect=Dcp2Cone.apply) as apply:
        found = run()
    return found, apply.call_count, perf_counter() - start


def changed_parameter():
    """Values and dual values along the path: one statement."""
    path, program = [], problem.to_cvxpy()
    for C in path_of_C:
        program.param_dict["C"].value = C
        value = program.solve(solver="CLARABEL")
        path.append(
            (value, program.var_dict["w"].value, [line.dual_value for line in program.constraints if line.label])
        )
    return path


def new_statements():
    """Values along the path: a statement for each."""
    return [problem.with_C(C).to_cvxpy().solve(solver="CLARABEL") for C in path_of_C]


assert program.is_dpp()
path_of_C = np.geomspace(0.001, 100.0, 51)
path, once, quick = translations(changed_parameter)
values, each, slow = translations(new_statements)
print(f"one statement:  {once:2d} translation,  {quick:.2f} s")
print(f"new statements: {each:2d} translations, {slow:.2f} s")
assert (once, each) == (1, len(path_of_C))
assert np.allclose(values, [value for value, _, _ in path], rtol=1e-6)

# %%
# And every point of the path is certified:

gaps = [cm.certify(problem.with_C(C), w, np.ravel(u)).gap for C, (_, w, u) in zip(path_of_C, path, strict=True)]
print(f"proven gaps along the path: at most {max(gaps):.1e}")
assert max(gaps) < 1e-4

# %%
# What breaks it
# --------------
#
# Affine in the parameters: so no product of two of them, no parameter below a fraction line, no square of one, no
# matrix of a quadratic form. Each has a way out: a parameter for what is needed, computed before.

lam, mu, gamma = (cp.Parameter(nonneg=True, name=name, value=2.0) for name in ("lam", "mu", "gamma"))
P = cp.Parameter((2, 2), PSD=True, name="P", value=np.eye(2))
product, inverse = cp.Parameter(nonneg=True, value=4.0), cp.Parameter(nonneg=True, value=0.5)
F = cp.Parameter((2, 2), name="F", value=np.eye(2))
pairs = {
    "lam * mu * norm(w)": (lam * mu * cp.norm(w), product * cp.norm(w)),
    "norm(w) / gamma": (cp.norm(w) / gamma, inverse * cp.norm(w)),
    "square(lam) * norm(w)": (cp.square(lam) * cp.norm(w), product * cp.norm(w)),
    "quad_form(w, P), P = F' F": (cp.quad_form(w, P), cp.sum_squares(F @ w)),
}
for name, (broken, repaired) in pairs.items():
    print(f"{name:28s} DCP {broken.is_dcp()}, DPP {broken.is_dpp()}; with a new parameter: DPP {repaired.is_dpp()}")
    assert broken.is_dcp()
    assert not broken.is_dpp()
    assert repaired.is_dpp()
    w.value = [0.3, 0.7]
    assert np.isclose(broken.value, repaired.value)

# %%
# A program that is not DPP is not wrong. It is translated anew for every value, and CVXPY warns:


def not_parametrized():
    """Solve for five values of mu."""
    asked = cp.Problem(cp.Minimize(cp.norm(w - 1.0) + lam * mu * cp.norm(w)))
    for mu.value in np.linspace(0.1, 0.5, 5):
        asked.solve(solver="CLARABEL")


with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    _, count, _ = translations(not_parametrized)
print(f"{count} translations for 5 values; CVXPY: {str(caught[0].message).split('.')[0]}")
assert count == 5

# %%
# The path, in pictures: the optimal value, and the dual values as shares of C. Where C is small every triplet is
# violated, and all shares are 1. As C grows, triplets are satisfied one after the other, and their shares fall, though
# not at every step. From the largest of the prices on (dotted) no triplet is violated, and a larger C changes nothing
# any more: this is the program with hard margins, ``C=inf``.

prices = np.array([np.ravel(u) for _, _, u in path])
shares = prices / path_of_C[:, None]
hard = cm.solve(problem.with_C(np.inf))
settled = path_of_C > prices[-1].max()
assert np.allclose(shares[0], 1.0, atol=1e-3)
assert np.allclose(prices[settled], prices[-1], atol=1e-3)
assert np.allclose([value for value, _, _ in path][-1], hard.upper_bound, rtol=1e-5)

figure, axes = plt.subplots(2, 1, figsize=(4.8, 6.4), sharex=True)
axes[0].loglog(path_of_C, [value for value, _, _ in path], marker="o", ms=2.5, lw=1.2)
axes[0].set(ylabel="optimal value", title="51 values, one translation")
for (i, j, k), share_of_C in zip(triplets, shares.T, strict=True):
    axes[1].plot(path_of_C, share_of_C, label=f"{i}, {j}, {k}")
axes[1].set(xlabel="C", ylabel="dual value / C", title="the price of each triplet")
figure.legend(loc="outside lower center", ncols=3)
for ax in axes:
    ax.axvline(prices[-1].max(), color=AID, lw=1.2, ls=":")
show_pictures()
