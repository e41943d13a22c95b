r"""
14. From the paper to the cone
==============================

Between a paper's formula and the numbers that a conic solver sees are a few steps, which textbooks show and programs
hide: Lagrangian, dual, optimality conditions, standard form. This lesson takes all of them for the smallest instance
that shows all of them: four points, two features, three triplets. Each formula is followed by an ``assert``.

With :math:`D_t = (x_i - x_k)(x_i - x_k)^\top - (x_i - x_j)(x_i - x_j)^\top` of triplet :math:`t = (i, j, k)`, a
squared norm and margins :math:`\gamma_t` (all 1 for now), the hinges :math:`\max(0, \gamma_t - \langle D_t, R \rangle)`
become slacks:

.. math:: \min_{R, \xi} \; \frac{\lambda}{2} \|R\|_F^2 + \frac1n \sum_t \xi_t
   \qquad \text{such that} \qquad \langle D_t, R \rangle + \xi_t \ge \gamma_t, \quad \xi \ge 0, \quad R \succeq 0 .

Lesson 5 has the bound alone, for thousands of triplets.
"""

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np

import convexmetric as cm
from convexmetric.plotting import COLOURS, STYLE, show_pictures

plt.style.use(STYLE)

X = np.array([[0.0, 1.0], [2.0, 1.0], [0.0, 0.0], [0.0, 3.0]])
triplets = np.array([[0, 2, 3], [1, 3, 0], [2, 0, 1]])
reg, n = 2.0, len(triplets)
ones = np.ones(n)
D = np.array([np.outer(X[i] - X[k], X[i] - X[k]) - np.outer(X[i] - X[j], X[i] - X[j]) for i, j, k in triplets])
for t, (i, j, k) in enumerate(triplets):
    print(f"t = {t + 1}: x{i} nearer to x{j} than to x{k},  D = {D[t].astype(int).tolist()}")

# %%
# Lagrangian
# ----------
#
# Every constraint gets a multiplier: :math:`u_t \ge 0` the margins, :math:`v_t \ge 0` the signs of the slacks,
# :math:`Z \succeq 0` the cone.
#
# .. math:: \mathcal L(R, \xi; u, v, Z) = \frac{\lambda}{2} \|R\|_F^2 + \frac1n \sum_t \xi_t
#    + \sum_t u_t (\gamma_t - \langle D_t, R \rangle - \xi_t) - \sum_t v_t \xi_t - \langle Z, R \rangle
#
# What is added is at most zero at every feasible point: a product of two nonnegative numbers with a minus, or
# :math:`-\langle Z, R \rangle`, where the inner product of two positive semidefinite matrices is not negative. So the
# Lagrangian is *below* the objective wherever the objective counts.

rng = np.random.default_rng(0)


def margins(R):
    """``<D_t, R>`` of the triplets."""
    return np.tensordot(D, R)


def objective(R, xi):
    """Norm, and mean of the slacks."""
    return reg / 2 * (R**2).sum() + xi.mean()


def lagrangian(R, xi, u, v, Z):
    """Objective, and what the multipliers add."""
    return objective(R, xi) + u @ (ones - margins(R) - xi) - v @ xi - (Z * R).sum()


def semidefinite():
    """A random positive semidefinite matrix."""
    F = rng.normal(size=(2, 2))
    return F @ F.T


for _ in range(1000):
    R, Z = semidefinite(), semidefinite()
    xi = np.maximum(0.0, ones - margins(R)) + rng.random(n)
    assert lagrangian(R, xi, rng.random(n), rng.random(n), Z) <= objective(R, xi)

# %%
# Dual
# ----
#
# Minimise the Lagrangian over all :math:`R` and :math:`\xi`, feasible or not: what comes out is below every objective,
# and is the *dual function* of the multipliers. In :math:`\xi` the Lagrangian is linear with slope
# :math:`\frac1n - u_t - v_t`, which has a minimum only where this is zero: :math:`v_t = \frac1n - u_t`, and hence
# :math:`0 \le u_t \le \frac1n`. In :math:`R` it is a quadratic, with the minimum at
#
# .. math:: \lambda R = A(u) + Z, \quad A(u) = \sum_t u_t D_t, \qquad \text{and the value} \qquad
#    \sum_t \gamma_t u_t - \frac{1}{2 \lambda} \|A(u) + Z\|_F^2 .
#
# The best :math:`Z` makes :math:`A + Z` as short as can be: it takes away the negative eigenvalues, :math:`Z = (-A)_+`
# and :math:`A + Z = A_+`. What remains is a problem in three numbers:
#
# .. math:: \max_{0 \le u_t \le 1/n} \; \sum_t \gamma_t u_t - \frac{1}{2 \lambda} \|A(u)_+\|_F^2 .


def positive_part(A):
    """The matrix without its negative eigenvalues."""
    values, vectors = np.linalg.eigh(A)
    return (vectors * np.maximum(values, 0.0)) @ vectors.T


def dual(u):
    """The dual function with the best Z, and the metric that belongs to it."""
    A_plus = positive_part(np.tensordot(u, D, 1))
    return ones @ u - (A_plus**2).sum() / (2 * reg), A_plus / reg


for _ in range(1000):
    u, Z, R = rng.random(n) / n, semidefinite(), semidefinite()
    A = np.tensordot(u, D, 1)
    Rmin = (A + Z) / reg
    value = ones @ u - ((A + Z) ** 2).sum() / (2 * reg)
    assert np.isclose(lagrangian(Rmin, rng.random(n), u, 1 / n - u, Z), value)
    assert lagrangian(Rmin + 0.1 * rng.normal(size=(2, 2)), xi, u, 1 / n - u, Z) >= value
    assert np.allclose(A + positive_part(-A), positive_part(A))
    assert value <= dual(u)[0] + 1e-12
    assert dual(u)[0] <= objective(R, np.maximum(0.0, ones - margins(R)))

# %%
# It is maximised by a few lines of NumPy: its gradient is :math:`\gamma_t - \langle D_t, R \rangle` with
# :math:`R = A_+ / \lambda`, so climb, and clip.

steepness = np.linalg.norm(np.tensordot(D, D, ((1, 2), (1, 2))), 2) / reg
u = np.full(n, 0.5 / n)
for _ in range(20_000):
    u = np.clip(u + (ones - margins(dual(u)[1])) / steepness, 0.0, 1 / n)
bound, R = dual(u)
xi = np.maximum(0.0, ones - margins(R))
v, Z = 1 / n - u, positive_part(-np.tensordot(u, D, 1))
print(f"dual {bound:.12f} <= optimum <= primal {objective(R, xi):.12f}")
assert objective(R, xi) - bound < 1e-9

# %%
# Optimality conditions
# ---------------------
#
# Where both sides meet, every term that the multipliers added must vanish. These are the conditions of Karush, Kuhn and
# Tucker:
#
# .. math:: \lambda R = A(u) + Z, \quad u_t + v_t = \frac1n, \qquad
#    u_t (\langle D_t, R \rangle + \xi_t - \gamma_t) = 0, \quad v_t \xi_t = 0, \quad \langle Z, R \rangle = 0 ,
#
# *stationarity* and *complementary slackness*, besides feasibility of both sides. They sort the triplets into three
# kinds, of which our instance has one each: violated, then :math:`v_t = 0` and :math:`u_t = \frac1n`; exactly on the
# margin, and :math:`u_t` somewhere between; satisfied with room to spare, and :math:`u_t = 0`.
# And :math:`\langle Z, R \rangle = 0` for two semidefinite matrices means :math:`Z R = 0`: directions that the
# metric does not see are the only ones that :math:`Z` may see.


def check_conditions(R, xi, u, v, Z, tolerance):
    """Assert all conditions up to a tolerance."""
    assert np.allclose(reg * R, np.tensordot(u, D, 1) + Z, atol=tolerance)
    assert np.allclose(u + v, 1 / n, atol=tolerance)
    for product in (u * (margins(R) + xi - ones), v * xi, Z @ R):
        assert np.allclose(product, 0.0, atol=tolerance)
    for number in (u, v, xi, margins(R) + xi - ones, np.linalg.eigvalsh(Z), np.linalg.eigvalsh(R)):
        assert number.min() >= -tolerance


check_conditions(R, xi, u, v, Z, 1e-6)
# The data were chosen for answers that are fractions.
assert np.allclose(u, [1 / 3, 1 / 4, 0.0])
for t in range(n):
    print(f"t = {t + 1}: <D, R> = {margins(R)[t]:.4f}, xi = {xi[t]:.4f}, u = {u[t]:.4f}, v = {v[t]:.4f}")
print("eigenvalues of R:", np.round(np.linalg.eigvalsh(R), 6), " of Z:", np.round(np.linalg.eigvalsh(Z), 6))
assert xi[0] > 0.01
assert 0.01 < u[1] < 1 / n - 0.01
assert margins(R)[2] > 1.01
assert np.linalg.matrix_rank(R, tol=1e-6) == np.linalg.matrix_rank(Z, tol=1e-6) == 1

# %%
# CVXPY has the same multipliers, under its constraints. Its Lagrangian is ours, so that the signs agree.

gamma = cp.Parameter(n, name="gamma", value=ones)
lower_end = cp.Parameter((2, 2), symmetric=True, name="E", value=np.zeros((2, 2)))
R_, xi_ = cp.Variable((2, 2), symmetric=True, name="R"), cp.Variable(n, name="xi")
margin_lines = [cp.trace(D[t] @ R_) + xi_[t] >= gamma[t] for t in range(n)]
signs, cone = xi_ >= 0, R_ + lower_end >> 0
program = cp.Problem(cp.Minimize(reg / 2 * cp.sum_squares(R_) + cp.sum(xi_) / n), [*margin_lines, signs, cone])
program.solve(solver="CLARABEL")
by_cvxpy = {
    "R": (R_.value, R),
    "xi": (xi_.value, xi),
    "u": (np.array([line.dual_value for line in margin_lines]), u),
    "v": (signs.dual_value, v),
    "Z": (cone.dual_value, Z),
}
for name, (theirs, ours) in by_cvxpy.items():
    print(f"{name}: CVXPY and NumPy differ by {np.abs(theirs - ours).max():.0e}")
    assert np.allclose(theirs, ours, atol=1e-4)
check_conditions(*(theirs for theirs, _ in by_cvxpy.values()), 1e-4)

# %%
# What a multiplier means
# -----------------------
#
# Ask a triplet for a larger margin, and the optimal value :math:`F^*(\gamma)` grows. How fast? By :math:`u_t`. It is a
# subgradient of :math:`F^*`, which is convex: for every other :math:`\gamma'`, the old multipliers still prove
# :math:`F^*(\gamma') \ge F^*(\gamma) + \sum_t u_t (\gamma'_t - \gamma_t)`. So :math:`u_t` is between the slopes to both
# sides:
#
# .. math:: \frac{F^*(\gamma) - F^*(\gamma - \delta e_t)}{\delta} \;\le\; u_t \;\le\;
#    \frac{F^*(\gamma + \delta e_t) - F^*(\gamma)}{\delta} .
#
# ``certify_program`` proves bounds on each of these values, and hence on the slopes, whatever the solver believes.


def value_bounds(margin, E=None):
    """Proven lower and upper bound on the optimal value."""
    gamma.value, lower_end.value = margin, np.zeros((2, 2)) if E is None else E
    program.solve(solver="CLARABEL")
    certificate = cm.certify_program(program)
    return np.array([certificate.lower_bound, certificate.upper_bound])


def slopes(before, here, after, step):
    """Lower end of the slope to the left, upper end of the slope to the right."""
    return (here[0] - before[1]) / step, (after[1] - here[0]) / step


step, here = 1e-3, value_bounds(ones)
for t, e in enumerate(np.eye(n)):
    low, high = slopes(value_bounds(ones - step * e), here, value_bounds(ones + step * e), step)
    print(f"t = {t + 1}: {low:9.6f} <= u = {u[t]:9.6f} <= {high:9.6f}")
    assert low <= u[t] + 1e-6
    assert u[t] <= high + 1e-6
    assert high - low < 1e-2

# %%
# The same for the cone. Let the metric be a little negative along a direction :math:`z`,
# :math:`R \succeq -\epsilon z z^\top`: the optimal value falls by about :math:`\epsilon \, z^\top Z z`. So :math:`Z`
# is the price of insisting on a metric, direction by direction.

z = np.linalg.eigh(Z)[1][:, -1]
wider, narrower = (value_bounds(ones, sign * step * np.outer(z, z)) for sign in (1.0, -1.0))
low, high = slopes(wider, here, narrower, step)
print(f"cone:  {low:9.6f} <= z' Z z = {z @ Z @ z:9.6f} <= {high:9.6f}")
assert low <= z @ Z @ z + 1e-6
assert z @ Z @ z <= high + 1e-6
assert high - low < 2e-2

# %%
# The form that solvers see
# -------------------------
#
# CLARABEL and SCS take every program in one form, :math:`K` a product of cones:
#
# .. math:: \min_x \; \tfrac12 x^\top P x + q^\top x \qquad \text{such that} \qquad b - A x \in K .
#
# CVXPY makes these arrays. The variables are ours, the upper triangle of :math:`R` row by row, and a copy :math:`y` of
# its four entries, which the norm is taken of.

gamma.value, lower_end.value = ones, np.zeros((2, 2))
data, chain, inverse = program.get_problem_data("CLARABEL")
print("what CVXPY hands over:", ", ".join(data))
print(data["dims"])

# %%
# For 2 x 2 matrices it is easy to write the same by hand. The row for the margin of triplet t says
# :math:`\langle D_t, R \rangle + \xi_t - \gamma_t \ge 0`; off-diagonal entries are met twice in an inner product.
#
# The rows of the cone hold :math:`\mathrm{svec}(R) = (R_{11}, \sqrt2 R_{12}, R_{22})`. Why the root? A solver works
# with vectors, and takes :math:`(b - A x)^\top z` for the inner product of a cone's point and its multiplier. With the
# root, :math:`\mathrm{svec}(R)^\top \mathrm{svec}(Z) = \langle R, Z \rangle`, and the cone is its own dual; without,
# the multipliers would be those of another cone.


def svec(M):
    """Upper triangle, off-diagonal entries times the root of two."""
    return np.array([M[0, 0], np.sqrt(2.0) * M[0, 1], M[1, 1]])


assert np.isclose(svec(R + Z) @ svec(R - Z), ((R + Z) * (R - Z)).sum())

# Columns: y11, y21, y12, y22, xi1, xi2, xi3, R11, R12, R22.
columns = [
    "$y_{11}$",
    "$y_{21}$",
    "$y_{12}$",
    "$y_{22}$",
    r"$\xi_1$",
    r"$\xi_2$",
    r"$\xi_3$",
    "$R_{11}$",
    "$R_{12}$",
    "$R_{22}$",
]
y_at, xi_at, R_at = np.arange(4), np.arange(4, 7), np.arange(7, 10)
copies, margin_rows, sign_rows, cone_rows = (np.zeros((size, 10)) for size in (4, n, n, 3))
copies[:, y_at] = -np.eye(4)
copies[np.arange(4), R_at[[0, 1, 1, 2]]] = 1.0
margin_rows[:, xi_at] = -np.eye(n)
margin_rows[:, R_at] = -np.column_stack([D[:, 0, 0], 2.0 * D[:, 0, 1], D[:, 1, 1]])
sign_rows[:, xi_at] = -np.eye(n)
cone_rows[:, R_at] = -np.diag([1.0, np.sqrt(2.0), 1.0])
blocks = {
    "R - y = 0": (copies, np.zeros(4)),
    "margins": (margin_rows, -ones),
    "slacks": (sign_rows, np.zeros(n)),
    "cone": (cone_rows, np.zeros(3)),
}
A, b = (np.concatenate(parts) for parts in zip(*blocks.values(), strict=True))
names = [name for name, (rows, _) in blocks.items() for _ in rows]
q = np.zeros(10)
q[xi_at] = 1 / n
P = np.zeros((10, 10))
P[y_at, y_at] = reg

# %%
# Is this what CVXPY made? Up to the order of the rows within a kind of cone, exactly. Each of its rows is looked up
# among ours.

theirs = np.column_stack([data["A"].toarray(), data["b"]])
ours = np.column_stack([A, b])
found = [int(np.flatnonzero(np.abs(ours - row).max(axis=1) < 1e-12)[0]) for row in theirs]
assert sorted(found) == list(range(len(ours)))
assert np.allclose(data["c"], q)
assert np.allclose(data["P"].toarray(), P)
print("CVXPY's rows:", ", ".join(dict.fromkeys(names[row] for row in found)))

# %%
# Now the solver alone. Its multipliers :math:`z`, one a row, satisfy :math:`P x + q + A^\top z = 0` and
# :math:`(b - A x)^\top z = 0`, with :math:`z` in the dual cone. They are ours: the rows of the margins have
# :math:`u`, those of the slacks :math:`v`, those of the cone :math:`\mathrm{svec}(Z)`. The copies have
# :math:`\lambda y`, the slope of the quadratic.

raw = chain.solve_via_data(program, data)
x, z = np.array(raw.x), np.array(raw.z)
# From CVXPY's order to ours.
z = z[np.argsort(found)]
y = np.ravel(R)
expected = {"R - y = 0": reg * y, "margins": u, "slacks": v, "cone": svec(Z)}
for name, numbers in expected.items():
    got = z[[row == name for row in names]]
    print(f"{name:10s} z = {np.round(got, 4)}")
    assert np.allclose(got, numbers, atol=1e-4)
assert np.allclose(x[R_at], [R[0, 0], R[0, 1], R[1, 1]], atol=1e-4)
assert np.allclose(P @ x + q + A.T @ z, 0.0, atol=1e-6)
assert abs((b - A @ x) @ z) < 1e-6

# %%
# SCS gets the same arrays here, and finds the same multipliers. From three features on the two differ in the order of a
# matrix: CLARABEL takes the upper triangle column by column, SCS the lower one.

data_scs, chain_scs, _ = program.get_problem_data("SCS")
raw_scs = chain_scs.solve_via_data(program, data_scs, solver_opts={"eps_abs": 1e-9, "eps_rel": 1e-9})
assert np.allclose(data_scs["A"].toarray(), data["A"].toarray())
assert np.allclose(raw_scs["y"], raw.z, atol=1e-4)
three = cp.Variable((3, 3), symmetric=True)
entries = ["11", "12", "13", "22", "23", "33"]
orders = {}
for solver in ("CLARABEL", "SCS"):
    rows = cp.Problem(cp.Minimize(cp.trace(three)), [three >> 0]).get_problem_data(solver)[0]["A"].toarray()
    orders[solver] = [entries[at] for at in np.argmax(np.abs(rows), axis=1)]
    print(f"{solver:9s}", *orders[solver])
assert orders == {"CLARABEL": ["11", "12", "22", "13", "23", "33"], "SCS": ["11", "12", "13", "22", "23", "33"]}

# %%
# Quadratic, or a cone
# --------------------
#
# A solver without :math:`P` gets the norm as a *second-order cone* with one more variable :math:`\tau` in the
# objective, :math:`\frac{\lambda}{2} \tau`:
#
# .. math:: \|R\|_F^2 \le \tau \qquad \Longleftrightarrow \qquad
#    \bigl\| (1 - \tau, \; 2 \, \mathrm{vec}(R)) \bigr\|_2 \le 1 + \tau ,
#
# for :math:`(1 + \tau)^2 - (1 - \tau)^2 = 4 \tau`. Six rows more, four copies less, and the same optimum.

conic = program.get_problem_data("CLARABEL", solver_opts={"use_quad_obj": False})[0]
print(conic["dims"])
assert "P" not in conic
assert conic["dims"].soc == [6]
at = conic["dims"].zero + conic["dims"].nonneg
rows, sides = conic["A"].toarray()[at : at + 6], conic["b"][at : at + 6]
tau = int(np.flatnonzero(np.isclose(conic["c"], reg / 2))[0])
point = np.zeros(rows.shape[1])
point[tau] = (R**2).sum()
# R's three entries are the last variables, as before.
point[-3:] = R[0, 0], R[0, 1], R[1, 1]
in_cone = sides - rows @ point
assert np.allclose(in_cone, [1 + point[tau], 1 - point[tau], *2 * np.ravel(R)])
assert np.isclose(np.linalg.norm(in_cone[1:]), in_cone[0])
assert np.isclose(program.solve(solver="CLARABEL", use_quad_obj=False), bound, atol=1e-6)

# %%
# The same numbers from the package
# ---------------------------------
#
# ``solve`` and ``certify`` know the problem by its formula. Multipliers are our :math:`u`, with the :math:`\frac1n` in
# them. And as the problem has one margin for all triplets, its slope in that margin is :math:`\sum_t u_t`.

problem = cm.TripletProblem(X, triplets, reg=reg)
assert (problem.triplets == triplets).all()
solution = cm.solve(problem, tol=1e-9)
certificate = cm.certify(problem, R, u)
print(solution)
print(certificate)
assert np.allclose(solution.M, R, atol=1e-4)
assert np.isclose(certificate.upper_bound, objective(R, xi), rtol=1e-12)
assert np.isclose(certificate.lower_bound, bound, rtol=1e-12)
assert solution.lower_bound <= certificate.upper_bound
assert certificate.lower_bound <= solution.upper_bound


def with_margin(margin):
    """Proven bounds for another margin of all triplets."""
    found = cm.solve(cm.TripletProblem(X, triplets, reg=reg, margin=margin), tol=1e-9)
    return found.lower_bound, found.upper_bound


low, high = slopes(with_margin(1 - step), with_margin(1.0), with_margin(1 + step), step)
print(f"all margins: {low:.6f} <= sum of u = {u.sum():.6f} <= {high:.6f}")
assert low <= u.sum() + 1e-6
assert u.sum() <= high + 1e-6
assert high - low < 1e-2

# %%
# The matrix :math:`A` and the side :math:`b`, as a solver gets them.

figure, ax = plt.subplots(figsize=(4.8, 5.2))
everything = np.column_stack([A, b])
ax.imshow(np.sign(everything), cmap="RdBu_r", vmin=-3, vmax=3, aspect="auto")
for (row, column), number in np.ndenumerate(everything):
    if number:
        text = r"$-\sqrt{2}$" if np.isclose(number, -np.sqrt(2.0)) else f"{number:g}"
        ax.text(column, row, text, ha="center", va="center")
ax.set_xticks(range(11), [*columns, "$b$"])
ax.xaxis.tick_top()
edges = np.cumsum([0, *(len(rows) for rows, _ in blocks.values())])
ax.set_yticks((edges[:-1] + edges[1:] - 1) / 2, list(blocks), rotation=90, va="center")
for edge in edges[1:-1]:
    ax.axhline(edge - 0.5, color="black", lw=1)
ax.axvline(9.5, color="black", lw=1)
ax.tick_params(length=0)
ax.grid(visible=False)
show_pictures()

# %%
# The optimal value in the margin of each triplet, with the line of slope :math:`u_t` at 1 (dashed): below the curve
# everywhere. The curve of the violated triplet is straight there, and that of the satisfied one is flat.

figure, ax = plt.subplots(figsize=(4.8, 4.0))
grid = np.linspace(0.0, 2.0, 13)
looks = (("violated", COLOURS[0], "o"), ("on the margin", COLOURS[5], "s"), ("satisfied", COLOURS[2], "^"))
for t, (e, (kind, colour, marker)) in enumerate(zip(np.eye(n), looks, strict=True)):
    curve = np.array([value_bounds(ones + (margin - 1) * e) for margin in grid])
    line = bound + u[t] * (grid - 1)
    assert (curve[:, 1] >= line - 1e-6).all()
    label = f"triplet {t + 1}, {kind}: u = {u[t]:.3f}"
    ax.plot(grid, curve.mean(axis=1), color=colour, marker=marker, ls="-", label=label)
    ax.plot(grid, line, color=colour, lw=1.2, ls="--")
ax.plot(1.0, bound, color="black", marker="*", ms=11, zorder=3)
ax.set(xlabel="margin of one triplet", ylabel="optimal value", title="multipliers are slopes")
ax.legend()
show_pictures()
