"""The page "Duality, by hand": both sides of the problem of lesson 5, at numbers that the reader chooses."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import islice
from types import SimpleNamespace
from typing import Any

import numpy as np
from browser import lessons
from matplotlib import rc_context
from matplotlib.figure import Figure

import convexmetric as cm
from convexmetric.plotting import STYLE
from convexmetric.plotting.axes import BAND, LOWER, UPPER

STEPS = 400
Step = tuple[float, float, np.ndarray, np.ndarray]


def triplets() -> tuple[np.ndarray, np.ndarray]:
    """Points and triplets of the lesson."""
    rng = np.random.default_rng(0)
    X, y = lessons.wine()
    i, j, k = rng.integers(0, len(X), (3, 8000))
    return X, np.unique(np.column_stack([i, j, k])[(y[i] == y[j]) & (y[i] != y[k]) & (i != j)], axis=0)


@cache
def stated(reg: float) -> tuple[Any, Any]:
    """The problem, and the lesson's functions by name."""
    X, T = triplets()
    problem = cm.TripletProblem(X, T, reg=reg)
    far, near = X[T[:, 0]] - X[T[:, 2]], X[T[:, 0]] - X[T[:, 1]]
    namespace = {"np": np, "far": far, "near": near, "count": len(T), "reg": reg}
    lessons.take("plot_05_duality.py", ("positive_part", "margins", "primal", "weighted", "dual"), namespace)
    return problem, SimpleNamespace(**namespace)


def climb(reg: float, pace: float, momentum: bool, steps: int = STEPS) -> list[Step]:
    """Climb so many steps; those that were climbed before are known."""
    known, others = climbing(reg, pace, momentum)
    known.extend(islice(others, max(0, steps - len(known))))
    return known[:steps]


@cache
def climbing(reg: float, pace: float, momentum: bool) -> tuple[list[Step], Iterator[Step]]:
    """Steps that were climbed, and those to come."""
    return [], steps_from_half(reg, pace, momentum)


def steps_from_half(reg: float, pace: float, momentum: bool) -> Iterator[Step]:
    """Climb from the middle of the box by steps of length ``pace``, in units of what is safe: bound, F(R), u and R.

    The safe length is 1 / L, where L bounds how fast the gradient of the dual changes. Momentum is that of the lesson.
    """
    _, by_hand = stated(reg)
    # The power method, as in the lesson.
    u = np.random.default_rng(0).random(by_hand.count)
    for _ in range(30):
        u = by_hand.margins(by_hand.weighted(u / np.linalg.norm(u)))
    steepness = 1.1 * np.linalg.norm(u) / reg
    u = v = np.full(by_hand.count, 0.5 / by_hand.count)
    weight = 1.0
    while True:
        bound, R = by_hand.dual(v)
        yield float(bound), float(by_hand.primal(R)), v, R
        gradient = 1.0 - by_hand.margins(R)
        last, u = u, np.clip(v + pace / steepness * gradient, 0.0, 1.0 / by_hand.count)
        before, weight = weight, (1.0 + np.sqrt(1.0 + 4.0 * weight**2)) / 2.0
        if not momentum or gradient @ (u - last) < 0.0:
            weight = before = 1.0
        v = np.clip(u + (before - 1.0) / weight * (u - last), 0.0, 1.0 / by_hand.count)


def best_of(record: list[Step]) -> tuple[np.ndarray, np.ndarray]:
    """The multipliers with the highest bound, and the metric with the lowest F."""
    return max(record, key=lambda row: row[0])[2], min(record, key=lambda row: row[1])[3]


@rc_context(STYLE)
def answer(reg: float, pace: float, steps: float, momentum: str, spoilt: float) -> dict[str, str]:
    """Draw the two sides up to some step, and say what they prove; multipliers are spoilt by noise of a given size."""
    problem, by_hand = stated(reg)
    record = climb(reg, pace, momentum == "yes", int(steps))
    lower = np.maximum.accumulate([row[0] for row in record])
    upper = np.minimum.accumulate([row[1] for row in record])
    u, R = best_of(record)
    given = u + spoilt * np.random.default_rng(0).normal(0.0, 1.0, len(u)) / len(u)
    certificate = cm.certify(problem, R, given)
    raw = by_hand.dual(given)[0]
    u, R = best_of(climb(reg, 1.0, True))
    optimum = cm.certify(problem, R, u)

    figure = Figure(figsize=(4.8, 4.2))
    ax = figure.subplots()
    at = np.arange(1, len(record) + 1)
    bottom, top = 0.4 * optimum.upper_bound, 1.6 * optimum.upper_bound
    ax.fill_between(at, lower, upper, color=BAND)
    ax.plot(at, upper, color=UPPER, ls="-", label="$F(R)$, best so far")
    ax.plot(at, lower, color=LOWER, ls="--", label="dual bound, best so far")
    ax.plot(at, [row[0] for row in record], color=LOWER, ls="-.", lw=0.7, label="... of each step")
    # Below the picture it is drawn on its edge, with its value.
    mark, name = (len(record), max(certificate.lower_bound, bottom)), "bound of best u" + " + noise" * (spoilt > 0.0)
    ax.plot(*mark, "v", color="black", ms=9, clip_on=False, zorder=3, label=name)
    if certificate.lower_bound < bottom:
        left = len(record) > STEPS**0.5
        place = {"xytext": (-9 if left else 9, 6), "textcoords": "offset points", "ha": "right" if left else "left"}
        ax.annotate(f"{certificate.lower_bound:.3g}", mark, **place)
    ax.axhline(optimum.upper_bound, color="black", lw=1.2, ls=":", label="optimum")
    ax.set(xlim=(1, STEPS), ylim=(bottom, top), xscale="log", xlabel="steps", ylabel="objective")
    figure.legend(loc="outside upper center", ncols=2)
    wrong = ": above the optimum, so it proves nothing" if raw > optimum.upper_bound else ""
    clipped, as_it_is = ("   with noise, clipped", "   with noise, not clipped") if spoilt else ("", "")
    return {
        "picture": lessons.png(figure),
        "text": f"by hand     {lower[-1]:.6f} <= optimum <= {upper[-1]:.6f}   (gap {upper[-1] - lower[-1]:.1e})\n"
        f"cm.certify  {certificate.lower_bound:.6f} <= optimum <= {certificate.upper_bound:.6f}{clipped}\n"
        f"formula     {raw:.6f}{as_it_is}{wrong}\n"
        f"optimum     {optimum.lower_bound:.6f} to {optimum.upper_bound:.6f}, by {STEPS} steps with momentum",
    }
