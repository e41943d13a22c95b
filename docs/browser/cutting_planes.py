"""The page "Cutting planes, by hand": lesson 3 in two dimensions, at numbers that the reader chooses."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from browser import lessons
from matplotlib import rc_context
from matplotlib.figure import Figure
from scipy.optimize import linprog

import convexmetric as cm
from convexmetric.plotting import COLOURS, STYLE
from convexmetric.plotting.axes import AID, BAND, LOWER, UPPER

PASSES, TOL = 60, 1e-4
#: Every third wine: loops are not compiled here.
EVERY = 3


@cache
def wine() -> tuple[np.ndarray, np.ndarray]:
    """Colour and proline of wines, and their growers."""
    data = cm.datasets.load("wine")
    return cm.datasets.preprocess(data.X, ["zscore"])[::EVERY, [9, 12]], data.y[::EVERY]


def plane(X: np.ndarray, C: float, batch: list[Any]) -> tuple[float, np.ndarray]:
    """Offset b and normal Psi of the plane that a batch of rankings makes: the risk is at least ``b - <Psi, w>``."""
    changes = [y.coefficients @ (X[list(y.order)] - X[y.query]) ** 2 for y in batch]
    return C * float(np.mean([y.loss for y in batch])), C * np.mean(changes, axis=0)


def master(planes: list[tuple[float, np.ndarray]]) -> tuple[float, np.ndarray]:
    """Minimise ``w_1 + w_2 + xi`` over ``w, xi >= 0`` above all planes: a lower bound, and the weights.

    The bound is made of the multipliers mu of the planes: of mu >= 0 with ``sum_t mu_t <= 1`` and
    ``sum_t mu_t Psi_t <= 1``, which are clipped and scaled here, so that no mistake of the solver can make it wrong.
    """
    b, Psi = np.array([row[0] for row in planes]), np.array([row[1] for row in planes])
    found = linprog([1.0, 1.0, 1.0], A_ub=np.column_stack([-Psi, -np.ones(len(b))]), b_ub=-b)
    mu = np.maximum(0.0, -found.ineqlin.marginals)
    mu /= max(1.0, mu.sum(), *(mu @ Psi))
    return float(mu @ b), found.x[:2]


@cache
def algorithm_1(measure: str, C: float, stabilisation: float) -> tuple[list[Any], list[Any]]:
    """Planes, and of every pass the point asked, the best one so far, the master's solution and its bound."""
    X, y = wine()
    problem = cm.RankingProblem.from_labels(X, y, measure=measure, C=C, diagonal=True)
    w, best, planes, record = np.zeros(2), None, [], []
    while True:
        offset, normal = plane(X, C, problem.worst_rankings(w))
        # The plane touches the risk where the oracle was asked.
        value = w.sum() + max(0.0, offset - normal @ w)
        if best is None or value < best[1]:
            best = (w, value)
        planes.append((offset, normal))
        lower, found = master(planes)
        record.append((w, best, found, lower))
        if best[1] - lower <= TOL * best[1] or len(planes) == PASSES:
            return planes, record
        w = np.maximum(0.0, stabilisation * best[0] + (1.0 - stabilisation) * found)


@rc_context(STYLE)
def answer(measure: str, C: float, stabilisation: float, shown: float) -> dict[str, Any]:
    """Draw what is known after a pass, with the lesson's own functions, and say what it proves."""
    planes, record = algorithm_1(measure, C, stabilisation)
    t = min(int(shown), len(record)) - 1
    optimum = record[-1][1]
    side = max(3.45 * optimum[0].max(), 1e-3)
    namespace: dict[str, Any] = {"np": np, "side": side, "reference": type("", (), {"w": optimum[0]})}
    namespace.update(COLOURS=COLOURS, AID=AID, BAND=BAND, LOWER=LOWER, UPPER=UPPER)
    lessons.take("plot_03_cutting_planes.py", ("model", "draw_region", "draw_bounds"), namespace)
    for names, count in (("V1 V2", 300), ("W1 W2", 60)):
        ticks = np.linspace(0.0, side, count)
        namespace.update(zip(names.split(), np.meshgrid(ticks, ticks), strict=True))
    # Level lines of what is known of F so far.
    F = np.max([b - p[0] * namespace["W1"] - p[1] * namespace["W2"] for b, p in planes[: t + 1]], axis=0)
    F = namespace["W1"] + namespace["W2"] + np.maximum(0.0, F)
    levels = F.min() + (F.max() - F.min()) * np.linspace(0.0, 1.0, 14)[1:] ** 2
    namespace.update(F=F, levels=np.unique(levels))

    figure = Figure(figsize=(4.8, 6.8))
    region, bounds = figure.subplots(2, 1, height_ratios=(2, 1))
    namespace["draw_region"](region, planes, record, t)
    region.legend(loc="upper right", frameon=True, framealpha=0.9, edgecolor="none")
    namespace["draw_bounds"](bounds, record, t)
    bounds.locator_params("x", integer=True)
    w, (best, upper), _, lower = record[t]
    offset, normal = planes[t]
    terms = " ".join(f"{'-' if slope >= 0.0 else '+'} {abs(slope):.4f} w_{k}" for k, slope in enumerate(normal, 1))
    return {
        "picture": lessons.png(figure),
        "last": len(record),
        "text": "\n".join(
            [
                f"pass {t + 1} of {len(record)}",
                f"{max(lower, 0.0):.6f} <= optimum <= {upper:.6f}   (gap {upper - max(lower, 0.0):.1e})",
                f"the oracle was asked at w = ({w[0]:.4f}, {w[1]:.4f}); best so far ({best[0]:.4f}, {best[1]:.4f})",
                f"its plane: xi(w) >= {offset:.4f} {terms}",
            ]
        ),
    }
