r"""
5. Duality: a certificate by hand
=================================

With sliders, in the browser: :doc:`/in-browser`.

How can you know that a metric is nearly optimal without knowing the optimum? By a *lower bound*: a number that no
metric's objective falls below. This lesson computes one with NumPy alone and compares it with ``cm.certify``.

The problem is that of triplets with a squared norm,

.. math:: \min_{R \succeq 0} \; F(R) = \frac{\lambda}{2} \|R\|_F^2
   + \frac1n \sum_{t=1}^n \max(0, \; 1 - \langle D_t, R \rangle), \qquad
   D_t = (x_i - x_k)(x_i - x_k)^\top - (x_i - x_j)(x_i - x_j)^\top

for the triplets :math:`t = (i, j, k)`. A hinge is a maximum of lines:
:math:`\frac1n \max(0, 1 - s) = \max_{0 \le u \le 1/n} u (1 - s)`. Choose any :math:`u_t \in [0, \frac1n]` for every
triplet, and the hinges are at least :math:`u_t (1 - \langle D_t, R \rangle)`. What remains is a quadratic function of
:math:`R`, which can be minimised in closed form:

.. math:: F(R) \;\ge\; \sum_t u_t
   + \min_{R \succeq 0} \Bigl[ \frac{\lambda}{2} \|R\|_F^2 - \langle A, R \rangle \Bigr]
   \;=\; \sum_t u_t - \frac{\|A_+\|_F^2}{2 \lambda}, \qquad A = \sum_t u_t D_t ,

where :math:`A_+` keeps the positive eigenvalues; the minimum is at :math:`R = A_+ / \lambda`.
"""

import matplotlib.pyplot as plt
import numpy as np

import convexmetric as cm
from convexmetric.plotting import STYLE, show_pictures
from convexmetric.plotting.axes import BAND, LOWER, UPPER

plt.style.use(STYLE)

rng = np.random.default_rng(0)
wine = cm.datasets.load("wine")
X, y = cm.datasets.preprocess(wine.X, ["zscore"]), wine.y
i, j, k = rng.integers(0, len(X), (3, 8000))
triplets = np.unique(np.column_stack([i, j, k])[(y[i] == y[j]) & (y[i] != y[k]) & (i != j)], axis=0)
reg = 2.0
problem = cm.TripletProblem(X, triplets, reg=reg)
assert (problem.triplets == triplets).all()
print(problem)

# %%
# Both sides, in a few lines
# --------------------------
#
# No matrix :math:`D_t` is ever made: :math:`\langle D_t, R \rangle` is a difference of two squared distances, and
# :math:`\sum_t u_t D_t` a difference of two weighted products.

far, near = X[triplets[:, 0]] - X[triplets[:, 2]], X[triplets[:, 0]] - X[triplets[:, 1]]
count = len(triplets)


def positive_part(A):
    """The matrix with its negative eigenvalues set to zero."""
    values, vectors = np.linalg.eigh(A)
    return (vectors * np.maximum(values, 0.0)) @ vectors.T


def margins(R):
    """``<D_t, R>`` of every triplet."""
    return ((far @ R) * far).sum(axis=1) - ((near @ R) * near).sum(axis=1)


def primal(R):
    """F(R)."""
    return reg / 2 * (R**2).sum() + np.maximum(0.0, 1.0 - margins(R)).mean()


def weighted(u):
    """``sum_t u_t D_t``."""
    return (far * u[:, None]).T @ far - (near * u[:, None]).T @ near


def dual(u):
    """The lower bound that u proves, and the metric that belongs to it."""
    A_plus = positive_part(weighted(u))
    return u.sum() - (A_plus**2).sum() / (2 * reg), A_plus / reg


# %%
# A proof of optimality
# ---------------------
#
# The bound is a concave function of :math:`u`, and its gradient at :math:`u_t` is
# :math:`1 - \langle D_t, R \rangle` with the metric :math:`R = A_+ / \lambda`: climb, clip to :math:`[0, \frac1n]`,
# and look at both sides. Nesterov's momentum makes the climb quicker. Nothing is taken on trust: each step gives a
# metric and a number that no metric's objective falls below.

# How steep the gradient can get, by the power method.
u = rng.random(count)
for _ in range(30):
    u = margins(weighted(u / np.linalg.norm(u)))
steepness = 1.1 * np.linalg.norm(u) / reg

u = v = np.full(count, 0.5 / count)
momentum, best_upper, best_lower, history = 1.0, np.inf, -np.inf, []
for _ in range(400):
    bound, R = dual(v)
    value = primal(R)
    if value < best_upper:
        best_upper, best_R = value, R
    if bound > best_lower:
        best_lower, best_u = bound, v
    history.append((best_upper, best_lower))
    gradient = 1.0 - margins(R)
    last, u = u, np.clip(v + gradient / steepness, 0.0, 1.0 / count)
    before, momentum = momentum, (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
    if gradient @ (u - last) < 0.0:
        momentum = before = 1.0
    v = np.clip(u + (before - 1.0) / momentum * (u - last), 0.0, 1.0 / count)

print(f"by hand: {best_lower:.9f} <= optimum <= {best_upper:.9f}")

# %%
# The same by the package
# -----------------------
#
# ``certify`` takes a metric and a dual point, of any origin, and evaluates both sides. Its own solver's interval must
# overlap with ours: both hold the optimum.

certificate = cm.certify(problem, best_R, best_u)
print(certificate)
assert np.isclose(certificate.upper_bound, best_upper, rtol=1e-12)
assert np.isclose(certificate.lower_bound, best_lower, rtol=1e-12)

solution = cm.solve(problem, tol=1e-8)
print(solution)
assert solution.lower_bound <= best_upper
assert best_lower <= solution.upper_bound

# %%
# A bound cannot be forged
# ------------------------
#
# What if the dual point is wrong, because of a mistake or on purpose? By hand, we have to clip to
# :math:`[0, \frac1n]` ourselves: for larger ones the formula gives a number that proves nothing. ``certify`` clips its
# input, so that any point yields a valid bound, if perhaps a useless one.

wrong = {
    "the best one": best_u,
    "ten times too large": 10.0 * best_u,
    "negative": -best_u,
    "shuffled": rng.permutation(best_u),
    "noise": rng.normal(0.0, 3.0, count) / count,
    "not a number": np.full(count, np.nan),
}
for name, multipliers in wrong.items():
    bound = cm.certify(problem, best_R, multipliers).lower_bound
    print(f"{name:20s} lower bound {bound:12.6f}")
    assert bound <= solution.upper_bound

# %%
# Everything at once: above our two sides closing in on the optimum; below the bounds that random multipliers prove and
# the objectives of random metrics. Neither crowd crosses the line of the optimum between them.

bounds, values = [], []
for _ in range(600):
    sharpness = rng.uniform(0.0, 1.0)
    mixed = np.clip(best_u + sharpness**3 * rng.normal(0.0, 1.0, count) / count, 0.0, 1.0 / count)
    bounds.append(cm.certify(problem, best_R, mixed).lower_bound)
    L = rng.normal(0.0, 1.0, best_R.shape)
    values.append(problem.objective(best_R + sharpness**3 * 0.1 * L @ L.T / len(L)))
assert max(bounds) <= solution.upper_bound
assert min(values) >= solution.lower_bound

figure, axes = plt.subplots(2, 1, figsize=(4.8, 6.6))
upper, lower = np.array(history).T
axes[0].fill_between(np.arange(len(upper)), lower, upper, color=BAND)
axes[0].plot(upper, color=UPPER, ls="-", label="$F(R)$, best so far")
axes[0].plot(lower, color=LOWER, ls="--", label="dual bound, best so far")
axes[0].set(xlabel="steps", ylabel="objective", title="two sides of one number")
axes[0].set_xscale("symlog", linthresh=10)
span = upper[5] - lower[5]
axes[0].set_ylim(solution.lower_bound - span, solution.upper_bound + span)
axes[0].legend()
edges = solution.upper_bound * np.linspace(0.5, 1.5, 61)
axes[1].hist(np.clip(bounds, edges[0], None), edges, color=LOWER, alpha=0.8, label="bounds of random duals")
axes[1].hist(
    np.clip(values, None, edges[-1]), edges, color=UPPER, alpha=0.8, hatch="///", label="objectives of random metrics"
)
axes[1].axvline(solution.upper_bound, ymax=0.7, color="black", lw=1.5, ls="--", label="optimum")
axes[1].set(xlabel="value (the outermost bars hold all beyond)", ylabel="how many", ylim=(0, 560))
axes[1].set_title("no dual above, no metric below")
axes[1].legend()
show_pictures()
