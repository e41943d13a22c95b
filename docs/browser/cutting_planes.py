"""The page "Cutting planes, by hand": lesson 3 in two dimensions, at numbers that the reader chooses."""

from __future__ import annotations

from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
from browser import lessons
from matplotlib import rc_context
from matplotlib.figure import Figure

import convexmetric as cm
from convexmetric.plotting import COLOURS, STYLE
from convexmetric.plotting.axes import AID, BAND, LOWER, UPPER

PASSES, TOL = 60, 1e-4
#: Every fourth wine: loops are not compiled here.
EVERY = 4


@cache
def wine() -> tuple[np.ndarray, np.ndarray]:
    """Colour and proline of wines, and their growers."""
    X, y = lessons.wine()
    return X[::EVERY, [9, 12]], y[::EVERY]


def plane(X: np.ndarray, C: float, batch: list[Any]) -> tuple[float, np.ndarray]:
    """Offset b and normal Psi of the plane that a batch of rankings makes: the risk is at least ``b - <Psi, w>``."""
    changes = [y.coefficients @ (X[list(y.order)] - X[y.query]) ** 2 for y in batch]
    return C * float(np.mean([y.loss for y in batch])), C * np.mean(changes, axis=0)


def master(planes: list[tuple[float, np.ndarray]]) -> tuple[float, np.ndarray]:
    """Minimise ``w_1 + w_2 + xi`` over ``w, xi >= 0`` above all planes: a lower bound, and the weights.

    The optimum is a corner, where three of the constraints are equations, and its multipliers are of such three as
    well: in so few dimensions all can be tried. A solver of SciPy takes a browser a second more to load.
    """
    b, Psi = np.array([row[0] for row in planes]), np.array([row[1] for row in planes])
    A, c = np.vstack([np.column_stack([Psi, np.ones(len(b))]), np.eye(3)]), np.append(b, np.zeros(3))
    A, c = A / (lengths := np.linalg.norm(A, axis=1))[:, None], c / lengths
    three = np.array(list(combinations(range(len(A)), 3)))
    three = three[np.abs(np.linalg.det(A[three])) > 1e-12]
    points = np.linalg.solve(A[three], c[three][..., None])[..., 0]
    feasible = (points @ A.T >= c - 1e-9 * np.abs(c).max()).all(axis=1)
    prices = np.linalg.solve(A[three].transpose(0, 2, 1), np.ones((3, 1)))[..., 0]
    best = np.argmax(np.where((prices >= 0.0).all(axis=1), (prices * c[three]).sum(axis=1), -np.inf))
    mu = np.zeros(len(A))
    mu[three[best]] = prices[best] / lengths[three[best]]
    return bound(mu[: len(b)], b, Psi), min(points[feasible], key=np.sum)[:2]


def bound(mu: np.ndarray, b: np.ndarray, Psi: np.ndarray) -> float:
    """The lower bound that multipliers of the planes prove, whatever they are.

    It holds for mu >= 0 with ``sum_t mu_t <= 1`` and ``sum_t mu_t Psi_t <= 1``: others are clipped and scaled.
    """
    mu = np.maximum(0.0, mu)
    return float(mu @ b / max(1.0, mu.sum(), *(mu @ Psi)))


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
