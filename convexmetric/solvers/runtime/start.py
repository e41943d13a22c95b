"""What a solve begins from: the metric of an earlier one, and its dual point where that may be one of this problem.

Nothing of it is believed: the metric is evaluated and the dual point bounded anew, on the problem at hand. Any metric
is a start, and any dual point of the right shape proves something.

Weighted cuts are not taken over. They stand at some ten metrics, and to remake them takes a pass each: more than the
passes that a solve from the metric alone needs beyond what it needs with them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from convexmetric.arrays import Array
from convexmetric.errors import InputError
from convexmetric.problem import MetricProblem
from convexmetric.risks import SmoothedPairs
from convexmetric.solution import Solution

__all__ = ["start_from"]


def start_from(problem: MetricProblem, given: Solution | ArrayLike) -> tuple[Array, Any]:
    """A metric in the problem's cone, and a dual point that may fit it or None.

    Parameters
    ----------
    problem : MetricProblem
    given : Solution or array
        Of a problem with the same features; or a metric as :attr:`Solution.M <convexmetric.Solution.M>` has it.

    Raises
    ------
    InputError
        If it is neither, or its metric does not fit the problem.
    """
    try:
        if isinstance(given, Solution):
            M, dual = problem.metric_from(given.problem, given.certificate.M), _dual(problem, given)
        else:
            M, dual = problem.nearest(given), None
    except InputError as error:
        raise InputError(
            f"start does not fit this problem ({error}); pass a Solution of a problem with the same features, "
            "or a metric such as its M (w for weights of features)"
        ) from error
    M = M if problem.cone.violation(M) == 0.0 else problem.cone.project(M)
    return problem.risk.repair(M), dual


def _dual(problem: MetricProblem, solution: Solution) -> Any:
    dual = solution.certificate.dual
    if isinstance(dual, SmoothedPairs):
        return replace(dual, M=problem.metric_from(solution.problem, dual.M))
    return dual if isinstance(dual, np.ndarray) else None
