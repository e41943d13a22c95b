"""What a solve begins from: the metric of an earlier one, and its dual point as far as that is one of this problem.

Nothing of it is believed: the metric is evaluated and the dual point bounded anew, on the problem at hand. Any metric
is a start, and any dual point of the right shape proves something; a poor one only helps little.

Weighted cuts are taken over where evaluating them takes few passes. Those of cutting planes stand at ten to thirty
metrics, each a pass, and on other data or with another C they hardly shorten what follows: new cuts near the metric do
as well (``benchmarks/bench_start.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from convexmetric.certificates import Certificate
from convexmetric.cones.base import Array
from convexmetric.errors import InputError
from convexmetric.problem import MetricProblem
from convexmetric.risks import CutDual, SmoothedPairs
from convexmetric.solution import Solution

__all__ = ["Start", "start_from"]

#: Witnesses of weighted cuts up to which they are taken over: each is a pass.
FEW_WITNESSES = 2


@dataclass(frozen=True)
class Start:
    """A metric of a problem, and a dual point that may fit it.

    Attributes
    ----------
    M : array
        In the cone.
    dual : array, CutDual, SmoothedPairs or None
    """

    M: Array
    dual: Any = None


def start_from(problem: MetricProblem, given: Any) -> Start:
    """The start that ``given`` is for a problem.

    Parameters
    ----------
    problem : MetricProblem
    given : Solution, Certificate or array
        Of this problem or of one like it; or a metric as users have it.

    Raises
    ------
    InputError
        If it is none of these, or its metric does not fit the problem.
    """
    try:
        if isinstance(given, Solution):
            start = _from_solution(problem, given)
        elif isinstance(given, Certificate):
            start = Start(problem.metric(given.M), _carried(given.dual, problem.metric, problem.risk.parts))
        else:
            start = Start(problem.from_features(given))
    except InputError as error:
        raise InputError(f"start does not fit this problem: {error}") from error
    M = start.M if problem.cone.violation(start.M) == 0.0 else problem.cone.project(start.M)
    return replace(start, M=problem.risk.repair(M))


def _from_solution(problem: MetricProblem, solution: Solution) -> Start:
    """Metrics in this problem's variable; multipliers of hinges in units of its C, which is their upper end."""
    before, certificate = solution.problem, solution.certificate
    carried = partial(problem.metric_from, before)
    dual = _carried(certificate.dual, carried, problem.risk.parts)
    if isinstance(dual, np.ndarray) and problem.C is not None and before.C is not None and problem.C != before.C:
        factor = problem.C / before.C
        dual = factor * dual if 0.0 < factor < np.inf else None
    return Start(carried(certificate.M), dual)


def _carried(dual: Any, carried: Callable[[Array], Array], parts: int) -> Any:
    """A dual point with its metrics in this problem's variable; None for cuts that take many passes."""
    if isinstance(dual, SmoothedPairs):
        return replace(dual, M=carried(dual.M))
    if not isinstance(dual, CutDual):
        return dual
    if len(dual.witnesses) > FEW_WITNESSES:
        return None
    one_group = dual.weights.shape[1] == 1
    groups = np.zeros(parts, dtype=np.int64) if one_group else dual.groups
    return CutDual(np.array([carried(M) for M in dual.witnesses]), dual.weights, groups)
