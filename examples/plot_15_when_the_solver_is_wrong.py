r"""
15. When a solver's answer is wrong, and what proves it
=======================================================

A conic solver stops when its residuals are small: its point *nearly* satisfies the constraints, its multipliers are
*nearly* dual feasible, the two objectives are *nearly* equal. What that is worth depends on the problem, on its units
and on luck. Lesson 12, *How wrong is my solver?*, shows it for a truss. Here are the ways in which metrics go wrong,
each from an actual answer of CLARABEL or SCS, and the one remedy for all: bounds that are computed from the answer
after it was made feasible.

The problem is that of triplets with a squared norm, on 60 triplets of wines with five features,

.. math:: \min_{R \succeq 0, \, \xi \ge 0} \; \frac{\lambda}{2} \|R\|_F^2 + \frac1n \sum_t \xi_t
   \qquad \text{such that} \qquad \langle D_t, R \rangle + \xi_t \ge 1 .

We also multiply all features by a factor :math:`f`, as if they were measured in other units. With
:math:`\lambda f^4` in place of :math:`\lambda` this is the same problem: the best metric is divided by :math:`f^2`, and
the optimal value does not change.
"""

import json
import tempfile
import warnings
import zipfile
from pathlib import Path

import cvxpy as cp
import matplotlib.pyplot as plt
import numpy as np

import convexmetric as cm
from convexmetric.certificates import CertificateError
from convexmetric.plotting import COLOURS, STYLE, show_pictures

plt.style.use(STYLE)

wine = cm.datasets.load("wine")
X, y = cm.datasets.preprocess(wine.X, ["zscore"])[:, -5:], wine.y
rng = np.random.default_rng(0)
i, j, k = rng.integers(0, len(X), (3, 2000))
triplets = np.unique(np.column_stack([i, j, k])[(y[i] == y[j]) & (y[i] != y[k]) & (i != j)], axis=0)
triplets = np.unique(triplets[rng.permutation(len(triplets))[:60]], axis=0)
reg, n, d = 0.01, len(triplets), X.shape[1]
i, j, k = triplets.T


def problem_in(factor):
    """The problem with features in other units."""
    return cm.TripletProblem(factor * X, triplets, reg=reg * factor**4)


reference = cm.solve(problem_in(1.0), tol=1e-9)
optimum = reference.upper_bound
print(reference)

# %%
# Claimed, and made feasible
# --------------------------
#
# We keep everything that a solver reports: its status, its two objectives, the metric, the multipliers :math:`u` of the
# triplets, and two residuals of the form that it was given (see lesson 14, *From the paper to the cone*): by how much
# :math:`b - A x` misses the point :math:`s` of the cone that it gives, :math:`\|b - A x - s\|_\infty`, and the
# residual of the dual, :math:`\|P x + q + A^\top z\|_\infty`.


def directions(factor):
    """``D_t`` of the triplets as rows."""
    far, near = factor * (X[i] - X[k]), factor * (X[i] - X[j])
    return (far[:, :, None] * far[:, None] - near[:, :, None] * near[:, None]).reshape(n, -1)


def answer(factor, solver, **options):
    """What a solver says of the problem in some units."""
    # With acceleration SCS's answers differ from processor to processor, as rounding does.
    options |= {"acceleration_lookback": 0} if solver == "SCS" else {}
    R, xi = cp.Variable((d, d), symmetric=True), cp.Variable(n, nonneg=True)
    lines = directions(factor) @ cp.vec(R, order="C") + xi >= 1
    program = cp.Problem(cp.Minimize(reg * factor**4 / 2 * cp.sum_squares(R) + cp.sum(xi) / n), [lines, R >> 0])
    data, chain, inverse = program.get_problem_data(solver, solver_opts=options)
    raw = chain.solve_via_data(program, data, solver_opts=options)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Solution may be inaccurate")
        program.unpack_results(raw, chain, inverse)
    if solver == "SCS":
        claims, (x, z, s) = (raw["info"]["pobj"], raw["info"]["dobj"]), (np.array(raw[name]) for name in "xys")
    else:
        claims, (x, z, s) = (raw.obj_val, raw.obj_val_dual), (np.array(at) for at in (raw.x, raw.z, raw.s))
    return {
        "factor": factor,
        "status": program.status,
        "primal": claims[0],
        "dual": claims[1],
        "R": R.value,
        "u": lines.dual_value,
        "missed": np.abs(data["A"] @ x + s - data["b"]).max(),
        "size": max(np.abs(data["A"] @ x).max(), np.abs(s).max(), np.abs(data["b"]).max()),
        "dual missed": np.abs(data["P"] @ x + data["c"] + data["A"].T @ z).max(),
    }


# %%
# Making it feasible is easy here. For the metric: set negative eigenvalues to zero, and choose the best slacks; then
# its objective is an upper bound. For the multipliers: clip :math:`u` to :math:`[0, \frac1n]`, and the dual function
# :math:`g(u) = \sum_t u_t - \|A(u)_+\|_F^2 / (2 \lambda)` is a lower bound (see lesson 5). So it is
# at all multiples :math:`\theta u` with :math:`0 \le \theta \le 1`, of which we take the best:
# :math:`\theta \sum_t u_t - \theta^2 \|A(u)_+\|_F^2 / (2 \lambda)` is a parabola. ``certify`` does the same.


def positive_part(A):
    """The matrix without its negative eigenvalues."""
    values, vectors = np.linalg.eigh((A + A.T) / 2)
    return (vectors * np.maximum(values, 0.0)) @ vectors.T


def by_hand(found):
    """Lower and upper bound from a metric and multipliers, whatever they are."""
    D, weight = directions(found["factor"]), reg * found["factor"] ** 4
    R, u = positive_part(found["R"]), np.clip(found["u"], 0.0, 1 / n)
    upper = weight / 2 * (R**2).sum() + np.maximum(0.0, 1.0 - D @ R.ravel()).mean()
    square = (positive_part((D.T @ u).reshape(d, d)) ** 2).sum() / weight
    theta = min(1.0, u.sum() / square)
    return theta * u.sum() - theta**2 * square / 2, upper


def proven(found):
    """Bounds by ``certify``; they are those made by hand."""
    certificate = cm.certify(problem_in(found["factor"]), found["R"], found["u"])
    assert np.allclose([certificate.lower_bound, certificate.upper_bound], by_hand(found), rtol=1e-6, atol=1e-12)
    return certificate.lower_bound, certificate.upper_bound


loose = {"eps_abs": 2e-3, "eps_rel": 2e-3}
answers = {
    "A  CLARABEL": answer(1.0, "CLARABEL"),
    "B  SCS, f = 0.1": answer(0.1, "SCS"),
    "C  SCS, loose": answer(1.0, "SCS", **loose),
    "D  SCS, f = 100, 100 steps": answer(100.0, "SCS", max_iters=100),
    "E  SCS, f = 10, 100 steps": answer(10.0, "SCS", max_iters=100),
    "F  CLARABEL, f = 0.0001": answer(0.0001, "CLARABEL"),
    "G  SCS, f = 0.001": answer(0.001, "SCS"),
}
print(f"{'':28s}{'status':20s}{'primal':>10s}{'dual':>11s}{'proven lower':>15s}{'upper':>10s}")
for name, found in answers.items():
    found["bounds"] = proven(found)
    claims = f"{found['primal']:10.6f} {found['dual']:10.6f}"
    print(f"{name:28s}{found['status']:20s}{claims}     {found['bounds'][0]:10.6f}{found['bounds'][1]:10.6f}")
    # The optimum is in the proven interval, always.
    assert found["bounds"][0] <= reference.upper_bound * (1 + 1e-9)
    assert found["bounds"][1] >= reference.lower_bound * (1 - 1e-9)

# %%
# A is as it should be. Now the others.
#
# A metric that is not one
# ------------------------
#
# The primal objective of B is *below* the proven lower bound: better than any metric can be. And the status is
# ``optimal``. Its matrix has a negative eigenvalue, and the constraints are missed by more than 1e-5, the tolerance
# that CVXPY asks of SCS. That is allowed, since the tolerance counts relative to the largest numbers of the program.
#
# D, stopped early, has less than half of the optimal value: by its "metric" many wines have negative squared distances.
# Its bounds are far apart, but they are bounds.


def negative_distances(found):
    """Pairs of wines whose squared distance is below zero."""
    differences = found["factor"] * (X[:, None] - X)
    squared = ((differences @ found["R"]) * differences).sum(axis=2)
    return int((squared < 0).sum()) // 2


B, C, D, E, F, G = (next(found for name, found in answers.items() if name[0] == letter) for letter in "BCDEFG")
for name, found in (("B", B), ("D", D)):
    values = np.linalg.eigvalsh(found["R"])
    print(
        f"{name}: eigenvalues from {values[0]:.1e} to {values[-1]:.1e}, constraints missed by {found['missed']:.0e}, "
        f"{negative_distances(found)} of {len(X) * (len(X) - 1) // 2} squared distances negative"
    )
    assert values[0] < 0.0
    assert found["primal"] < reference.lower_bound
assert B["status"] == "optimal"
assert 1e-5 < B["missed"] <= 1e-5 * (1 + B["size"])
assert negative_distances(D) > 1000

# %%
# Multipliers that prove nothing
# ------------------------------
#
# C asks SCS for a tolerance of 0.002. Its dual objective would be a lower bound if the multipliers were feasible. It is
# *above* the optimum, since the conditions of the dual are missed: in the proof of weak duality what is missed is
# multiplied by the solution, :math:`x^\top (P x + c + A^\top z)`. After clipping, the same :math:`u` gives a true
# bound, two or three tenths of a percent below.

print(f"C: dual objective {C['dual']:.6f} > optimum {optimum:.6f}, though only {C['dual missed']:.0e} are missed")
print(f"   from the same multipliers: {C['bounds'][0]:.6f} <= optimum")
assert C["status"] == "optimal"
assert C["dual"] > reference.upper_bound
assert 0.997 * optimum < C["bounds"][0] < 0.999 * optimum

# %%
# Units
# -----
#
# F and G are A in other units. In G the features are divided by 1,000. SCS calls it ``optimal``, and both objectives
# are 1 up to 1e-7, but the optimum is 0.0737. Its metric is next to zero, where the objective is 1; the best one has an
# eigenvalue of more than a million. CLARABEL gets further in F, with features divided by 10,000, but not to the
# optimum. For both answers the bounds of ``certify`` are far apart, which shows at once that nothing was solved.

best = np.linalg.eigvalsh(reference.M)[-1] / 0.001**2
print(f"largest eigenvalue: {best:.1e} at the optimum, {np.linalg.eigvalsh(G['R'])[-1]:.1e} of G")
assert G["status"] == "optimal"
assert abs(G["primal"] - G["dual"]) < 1e-6
assert G["primal"] > 10 * optimum
assert F["primal"] > 2 * optimum
assert all(found["bounds"][0] < 0.1 * found["bounds"][1] for found in (F, G))

# %%
# The way out is to choose units in which distances are about 1, as in A, and to convert the answer. Its multipliers
# have no unit: they prove the bound in the bad units as they are, and the metric is divided by :math:`f^2`.

A = answers["A  CLARABEL"]
converted = cm.certify(problem_in(0.001), A["R"] / 0.001**2, A["u"])
print("A, converted to the units of G:", converted)
assert converted.gap < 1e-6

# %%
# The same in a picture, as distances from the optimum. Every bar crosses the dashed line. The claims of B, D and E, and
# the dual one of C, are outside their bars. (The axis is logarithmic to both sides, and linear between 1e-5 and -1e-5.)

for found, claims in ((B, ("primal", "dual")), (D, ("primal", "dual")), (E, ("primal", "dual")), (C, ("dual",))):
    assert not any(found["bounds"][0] <= found[claim] <= found["bounds"][1] for claim in claims)

figure, ax = plt.subplots(figsize=(4.8, 5.4))
rows = np.arange(len(answers))
values = np.array([[*found["bounds"], found["primal"], found["dual"]] for found in answers.values()])
lower, upper, primal, dual = (values / optimum - 1).T
ax.hlines(rows, lower, upper, color=COLOURS[0], lw=7, label="proven: between")
ax.plot(primal, rows, color=COLOURS[5], marker="o", ms=8, ls="", label="claimed: primal")
ax.plot(dual, rows, color="black", marker="x", ms=6, mew=1.5, ls="", label="claimed: dual")
ax.axvline(0.0, color="black", lw=1, ls="--", zorder=0)
ax.set_xscale("symlog", linthresh=1e-5)
ax.set_xticks([-1.0, -1e-3, 0.0, 1e-3, 1.0])
ax.set_yticks(rows, [f"{name}\n{found['status']}" for name, found in answers.items()])
ax.set(xlabel="value / optimum - 1", xlim=(-2.0, 30.0), ylim=(len(answers) - 0.5, -0.5))
figure.legend(loc="outside upper center", ncols=2)
ax.grid(visible=False, axis="y")
show_pictures()

# %%
# The status is not the error
# ---------------------------
#
# E says ``optimal_inaccurate``, and is off by 1.3 percent. G says ``optimal``, and is 13 times the optimum. Is that
# an exception? Here are all units from 1e-4 to 1e4, with three settings, and by how much at least the claimed value is
# wrong.

assert E["status"] == "optimal_inaccurate"
assert abs(E["primal"] / optimum - 1) < 0.02

factors = 10.0 ** np.arange(-4, 5)
settings = {
    "CLARABEL": ("CLARABEL", {}, COLOURS[0], "o-"),
    "SCS": ("SCS", {}, COLOURS[5], "s--"),
    "SCS, 100 steps": ("SCS", {"max_iters": 100}, COLOURS[2], "^-."),
}
figure, ax = plt.subplots(figsize=(4.8, 4.2))
worst, mildest = 0.0, np.inf
for name, (solver, options, colour, look) in settings.items():
    swept = [answer(factor, solver, **options) for factor in factors]
    for found in swept:
        lower, upper = proven(found)
        assert lower <= reference.upper_bound * (1 + 1e-9)
        assert upper >= reference.lower_bound * (1 - 1e-9)
    claims = np.array([found["primal"] for found in swept])
    wrong = np.maximum(claims - reference.upper_bound, reference.lower_bound - claims) / optimum
    trusted = np.array([found["status"] == "optimal" for found in swept])
    worst = max(worst, wrong[trusted].max(initial=0.0))
    mildest = min(mildest, wrong[~trusted].min(initial=np.inf))
    wrong = np.maximum(wrong, 1e-10)
    ax.loglog(factors, wrong, look, color=colour, lw=1.2, ms=7, label=name)
    ax.loglog(factors[~trusted], wrong[~trusted], look[0], color=colour, ms=7, mfc="white")
print(f"called optimal, and wrong by {worst:.1f} times the optimum; called inaccurate, and wrong by {mildest:.4f}")
assert worst > 10
assert mildest < 0.02
ax.set(xlabel="factor f of the features", ylabel="error of the value / optimum", title="filled markers: called optimal")
ax.legend()
show_pictures()

# %%
# Called infeasible
# -----------------
#
# With hard margins a program may be infeasible. Six triplets of wines on two features can be satisfied: ``solve`` finds
# weights that do, and these can be checked. In small units the weights are large, and
# CLARABEL says ``infeasible``. ``solve`` chooses its own units.

wines = cm.datasets.preprocess(wine.X, ["zscore"])[:, [0, 2]]
six = np.array([[57, 36, 133], [131, 177, 110], [110, 126, 4], [91, 74, 31], [110, 96, 145], [164, 155, 95]])
hard = cm.RelativeComparisonProblem(0.001 * wines, six, C=np.inf)
program = hard.to_cvxpy()
program.solve(solver="CLARABEL")
found = cm.solve(hard)
squares = (0.001 * (wines[six[:, [0]]] - wines[six[:, [2, 1]]])) ** 2
margins = (squares[:, 0] - squares[:, 1]) @ found.w
print(f"CLARABEL: {program.status}; by these weights all margins are {margins.min():.9f} or more")
print(found.certificate)
assert program.status == "infeasible"
assert found.w.min() >= 0.0
assert margins.min() >= 1.0 - 1e-9

# %%
# Any conic program
# -----------------
#
# ``certify`` knows the problems of this package, and what to clip and to project. For every other program that CVXPY
# states there is ``certify_program``. It takes the values that the variables have, moves them to where all constraints
# hold, gets multipliers from CLARABEL, and proves both bounds in interval arithmetic. Here is a metric under which
# dissimilar pairs are as far apart as can be, while similar ones are near (Xing and others, 2003), on twenty of the
# wines with features divided by 100:
#
# .. math:: \max_{M \succeq 0} \; \operatorname*{mean}_{(i,j) \in D} \|x_i - x_j\|_M
#    \qquad \text{such that} \qquad \operatorname*{mean}_{(i,j) \in S} \|x_i - x_j\|_M^2 \le 1 .

few = np.arange(0, len(X), 9)
a, b = np.triu_indices(len(few), 1)
differences, same = 0.01 * (X[few][a] - X[few][b]), y[few][a] == y[few][b]
outer = (differences[:, :, None] * differences[:, None]).reshape(len(a), -1)
M = cp.Variable((d, d), symmetric=True, name="M")
apart = cp.sum(cp.sqrt(outer[~same] @ cp.vec(M, order="C"))) / (~same).sum()
xing = cp.Problem(cp.Maximize(apart), [outer[same].mean(axis=0) @ cp.vec(M, order="C") <= 1, M >> 0])
xing.solve(solver="SCS", **loose)
status, claimed = xing.status, xing.value
certificate = cm.certify_program(xing)
print(f"SCS: {status}, {claimed:.3f}")
print(certificate)
assert status == "optimal"
assert claimed > 5 * certificate.upper_bound

# %%
# No metric has more than the upper bound, and SCS claims several times as much. In good units CLARABEL finds the
# optimum, which is the same in all units. It is between the bounds that were proven in the bad ones.

outer_good = outer / 0.01**2
apart = cp.sum(cp.sqrt(outer_good[~same] @ cp.vec(M, order="C"))) / (~same).sum()
good = cp.Problem(cp.Maximize(apart), [outer_good[same].mean(axis=0) @ cp.vec(M, order="C") <= 1, M >> 0])
print(f"CLARABEL in good units: {good.solve(solver='CLARABEL'):.6f}")
assert certificate.lower_bound <= good.value * (1 + 1e-6)
assert certificate.upper_bound >= good.value * (1 - 1e-6)

# %%
# A metric from elsewhere
# -----------------------
#
# Often there is only a metric, without multipliers: from a colleague, a paper, another program. Take that of F.
# ``audit`` finds the bound itself, and shows how far from the optimum the metric is, and why.

print(cm.audit(problem_in(F["factor"]), F["R"]))

# %%
# A file that proves it
# ---------------------
#
# A certificate can be handed on. The file holds the problem, the metric and the dual point, and ``verify`` proves its
# bounds anew, in interval arithmetic, from nothing but its numbers. A file that claims more than follows from them is
# not accepted; nor is one whose arrays were changed.


def raised(content):
    """The file's table with the upper bound claimed as the lower one, too."""
    document = json.loads(content)
    document["claimed"]["lower"] = document["claimed"]["upper"]
    return json.dumps(document).encode()


def moved(content):
    """An array with its last byte changed."""
    return content[:-1] + bytes([content[-1] ^ 1])


def forged(path, part, change):
    """What ``verify`` says of a file with one part changed."""
    other = path.with_name("forged.npz")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(other, "w") as new:
        for name in old.namelist():
            new.writestr(name, change(old.read(name)) if name == part else old.read(name))
    try:
        return cm.verify(other).accepted
    except CertificateError as error:
        return str(error)


with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "wines.npz"
    cm.write_certificate(path, problem_in(1.0), solution=cm.certify(problem_in(1.0), A["R"], A["u"]))
    verdict = cm.verify(path)
    higher, other = forged(path, "certificate.json", raised), forged(path, "factor.npy", moved)
print(verdict)
print("with a higher lower bound:", higher)
print("with another metric:", other)
assert verdict.accepted
assert higher is False
assert "factor" in other
