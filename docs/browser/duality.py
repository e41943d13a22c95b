"""The page "Duality, by hand": both sides of the problem of lesson 5, at numbers that the reader chooses."""

from __future__ import annotations

from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import convexmetric as cm
from browser import lessons
from convexmetric.plotting import COLOURS

STEPS = 400


def triplets() -> tuple[np.ndarray, np.ndarray]:
    """Points and triplets of the lesson."""
    rng = np.random.default_rng(0)
    wine = cm.datasets.load("wine")
    X, y = cm.datasets.preprocess(wine.X, ["zscore"]), wine.y
    i, j, k = rng.integers(0, len(X), (3, 8000))
    return X, np.unique(np.column_stack([i, j, k])[(y[i] == y[j]) & (y[i] != y[k]) & (i != j)], axis=0)


@cache
def stated(reg: float) -> tuple[Any, Any, Any]:
    """The problem, its optimum as the package proves it, and the lesson's functions by name."""
    X, T = triplets()
    problem = cm.TripletProblem(X, T, reg=reg)
    far, near = X[T[:, 0]] - X[T[:, 2]], X[T[:, 0]] - X[T[:, 1]]
    namespace = {"np": np, "far": far, "near": near, "count": len(T), "reg": reg}
    lessons.take("plot_05_duality.py", ("positive_part", "margins", "primal", "weighted", "dual"), namespace)
    return problem, cm.solve(problem, tol=1e-6), SimpleNamespace(**namespace)


@cache
def climb(reg: float, pace: float) -> list[tuple[float, float, np.ndarray, np.ndarray]]:
    """Climb from u = 1/2 by gradient steps of length ``pace``, in units of what is safe: bound, F(R), u and R of each.

    The safe length is 1 / L, where L bounds how fast the gradient of the dual changes.
    """
    _, _, by_hand = stated(reg)
    # The power method, as in the lesson.
    u = np.random.default_rng(0).random(by_hand.count)
    for _ in range(30):
        u = by_hand.margins(by_hand.weighted(u / np.linalg.norm(u)))
    steepness = 1.1 * np.linalg.norm(u) / (by_hand.count * reg)
    u, record = np.full(by_hand.count, 0.5), []
    for _ in range(STEPS):
        bound, R = by_hand.dual(u)
        record.append((float(bound), float(by_hand.primal(R)), u, R))
        u = np.clip(u + pace / steepness * (1.0 - by_hand.margins(R)) / by_hand.count, 0.0, 1.0)
    return record


def answer(reg: float, pace: float, steps: float, spoilt: float) -> dict[str, str]:
    """Draw the two sides up to some step, and say what they prove; multipliers are spoilt by noise of a given size."""
    problem, solution, by_hand = stated(reg)
    record = climb(reg, pace)[: int(steps)]
    lower = np.maximum.accumulate([row[0] for row in record])
    upper = np.minimum.accumulate([row[1] for row in record])
    _, _, u, R = record[int(np.argmax([row[0] for row in record]))]
    best = record[int(np.argmin([row[1] for row in record]))][3]
    given = u + spoilt * np.random.default_rng(0).normal(0.0, 1.0, len(u))
    certificate = cm.certify(problem, best, given / len(u))

    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    ax = figure.subplots()
    at = np.arange(1, len(record) + 1)
    room = 0.6 * solution.upper_bound
    bottom, top = solution.upper_bound - room, solution.upper_bound + room
    ax.fill_between(at, lower, upper, color="#DDE6EE")
    ax.plot(at, upper, color=COLOURS[5], lw=2, label="$F(R)$, best so far")
    ax.plot(at, lower, color=COLOURS[0], lw=2, label="dual bound, best so far")
    # Below the picture it is drawn on its edge.
    spoilt_bound = max(certificate.lower_bound, bottom)
    ax.plot(len(record), spoilt_bound, "v", color="black", ms=9, clip_on=False, zorder=3, label="bound of u + noise")
    ax.axhline(solution.upper_bound, color="black", lw=1.2, ls="--", label="optimum")
    ax.set(xlim=(1, STEPS), ylim=(bottom, top), xscale="log", xlabel="steps", ylabel="objective")
    ax.legend(loc="upper right", fontsize=9)
    raw = by_hand.dual(given)[0]
    return {
        "picture": lessons.png(figure),
        "text": "\n".join(
            [
                f"by hand      {lower[-1]:.6f} <= optimum <= {upper[-1]:.6f}   (gap {upper[-1] - lower[-1]:.1e})",
                f"cm.solve     {solution.lower_bound:.6f} <= optimum <= {solution.upper_bound:.6f}",
                f"u + noise    {certificate.lower_bound:.6f} <= optimum, by cm.certify, which clips u first",
                f"             {raw:.6f} by the formula without clipping"
                + (": above the optimum, it proves nothing" if raw > solution.upper_bound else ""),
                f"rank of the best R: {np.linalg.matrix_rank(best, tol=1e-8 * np.linalg.norm(best))} of {len(best)}",
            ]
        ),
    }
