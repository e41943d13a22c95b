"""How long solvers take, from the sizes of a problem: a line of fitted numbers for each.

The logarithm of the seconds is linear in logarithms of the numbers of distances, parts, features and points and of the
share of the penalty (``Monitor.share``), in their squares and some products, with weights of their own under squared
norms, Frobenius norms, for diagonal metrics, and where there are as many points as features (items that are compared,
Gram matrices), and additions for the kind of risk and for other penalties. That is for a gap of 1e-4; a coarser one
takes a share of that time, of which every solver has its own. Of passes longer than those of the fit a solver takes
some at least.
``forecasts.json`` has been fitted to solves of made problems and of the library, one thread, to a gap of 1e-4:
``python benchmarks/bench_routes.py --fit``. Other machines are faster or slower by about the same factor for all
solvers, which changes no choice.
"""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from convexmetric.arrays import Array
from convexmetric.problem import MetricProblem
from convexmetric.risks import PairwiseRisk, Risk, SeparableRisk
from convexmetric.risks.query import QueryRisk
from convexmetric.solvers.pairwise.nearby import listable

__all__ = ["features", "forecast"]

#: The penalty's share where it is not known, and the least that is told from others.
USUAL_SHARE, LEAST_SHARE = 0.05, 1e-4
#: The gap that forecasts are fitted to, and the one that is known to take the share ``early`` of that time.
FITTED_GAP, EARLY_GAP = 1e-4, 0.1
#: Seconds forecast are between these.
SHORTEST, LONGEST = 1e-3, 1e6
#: Distances of a pass that are more than in all but a few problems of the fit, seconds of one, and queries of a sample.
LONG_PASS, SECONDS, SAMPLE = 4e6, 1.5e-8, 500


@cache
def table() -> dict[str, Any]:
    """Numbers by solver: weights of :func:`features`, an addition for every class of risks, ``early``, and ``passes``.

    The last are the passes to a gap of 1e-2 over made letters of 4,000 to 20,000 rows: over all queries, over a sample
    of ``SAMPLE``, and over the sample for each feature.
    """
    text = files(__package__).joinpath("forecasts.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def features(problem: MetricProblem, share: float | None, risk: Risk) -> Array:
    """What forecasts are linear in, of a problem whose risk is taken in this form."""
    cone, quadratic, norms = problem.cone, problem.quadratic(), problem.regularizer.weights()
    usual = np.log(max(USUAL_SHARE if share is None else share, LEAST_SHARE))
    points = sum(each.shape[0] for each in risk.points)
    distances, parts, d, n = np.log(np.maximum([risk.distances, risk.parts, cone.d, points], 1.0))
    sizes = np.array([distances, parts, d, n, usual])
    squared = isinstance(quadratic, np.ndarray) or bool(quadratic)
    norm = quadratic is None and norms is not None
    kinds = np.array([True, squared, norm, cone.diagonal, points == cone.d], dtype=float)
    products = [parts * d, usual * parts, usual * d]
    return np.array([*kinds, float(quadratic is None), *np.outer(kinds, sizes).ravel(), *sizes**2, *products])


def forecast(solver: str, problem: MetricProblem, share: float | None = None, tol: float = FITTED_GAP) -> float:
    """Seconds that a solver is expected to take to a gap of ``tol``; infinite for one that has no line."""
    line = table().get(solver)
    if line is None:
        return np.inf
    risk: Any = problem.risk
    if isinstance(risk, PairwiseRisk) and type(risk).__name__ not in line["risks"]:
        # A solver of listed comparisons lists the pairs.
        risk = risk.as_form(SeparableRisk)
    found = float(features(problem, share, risk) @ line["weights"]) + line["risks"].get(type(risk).__name__, 0.0)
    coarse = max(0.0, np.log(tol / FITTED_GAP) / np.log(EARLY_GAP / FITTED_GAP))
    found += coarse * np.log(line["early"])
    return max(float(np.exp(np.clip(found, np.log(SHORTEST), np.log(LONGEST)))), _least(solver, problem))


def _least(solver: str, problem: MetricProblem) -> float:
    """Seconds of the passes that a solver takes at least, where they are long and not over short lists."""
    risk, passes = problem.risk, table()[solver].get("passes")
    if passes is None or risk.distances < LONG_PASS or not isinstance(risk, QueryRisk):
        return 0.0
    pairs = risk.as_form(PairwiseRisk)
    if solver.startswith("smoothed") and isinstance(pairs, PairwiseRisk) and listable(pairs):
        return 0.0
    (whole, sample, each), share = passes, min(1.0, SAMPLE / risk.parts)
    return float(SECONDS * risk.distances * (whole + share * (sample + each * problem.cone.d)))
