r"""Operators for new tasks: which of those available fits, and samples of several tasks as one (paper 4, section 5.2).

With K operators that were learned before, and m independent pairs S' of a new task, with probability at least
:math:`1 - \delta` for all of them at once

.. math:: R(T_k) \le \hat R(T_k, S') + \sqrt{\frac{\ln K + \ln(1/\delta)}{2 m}}

(Maurer 2008; Hoeffding's inequality and the union bound), so that the operator with the least empirical risk can be
taken and its risk is known. Where even that is large, the task is of a new kind. The operators must not have been
learned from S': once S' has been merged into the sample of one of them, it says nothing more about that one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from convexmetric.arguments import is_real
from convexmetric.arrays import Array
from convexmetric.errors import InputError
from convexmetric.evaluation import empirical_risk, empirical_risk_from_labels
from convexmetric.features import Embedding
from operator_paper.theory.risk_bounds import RiskBound, independent_pairs, transfer_bound


@dataclass(frozen=True)
class OperatorChoice:
    """Which operator fits a task best.

    Attributes
    ----------
    best : str
        Name of the operator with the least risk; of equal ones the first.
    risks : dict
        Empirical risk by name.
    bounds : dict
        Upper bound on the risk by name; all hold at once with probability at least 1 - delta.
    threshold : float or None
    """

    best: str
    risks: dict[str, float]
    bounds: dict[str, RiskBound]
    threshold: float | None

    @property
    def risk(self) -> float:
        """Empirical risk of the best."""
        return self.risks[self.best]

    @property
    def bound(self) -> RiskBound:
        """Upper bound on the risk of the best."""
        return self.bounds[self.best]

    @property
    def new_kind(self) -> bool:
        """Whether even the least risk is above the threshold, so that an operator of its own should be learned."""
        return self.threshold is not None and self.risk > self.threshold


def choose_operator(
    operators: Mapping[str, Embedding] | Sequence[Embedding],
    X: Any,
    y: ArrayLike,
    *,
    pairs: ArrayLike | None = None,
    balanced: bool = True,
    delta: float = 0.05,
    threshold: float | None = None,
) -> OperatorChoice:
    """Choose the operator with the least empirical risk on a new task.

    Parameters
    ----------
    operators : dict from names to operators, or a list
        In a list they are named "0", "1", ...
    X : (n, d) array
        Points of the task, which no operator was learned from.
    y : array
        Labels of the points; all their pairs are then used. With ``pairs``: +1 for similar, -1 for dissimilar pairs.
    pairs : (m, 2) int array, optional
        Pairs drawn independently from the oracle of the task.
    balanced : bool
        With labels: whether similar and dissimilar pairs weigh one half each. What all pairs are worth for the bound
        says :func:`independent_pairs`. Listed pairs weigh the same.
    delta : float
        Probability with which a bound may fail.
    threshold : float, optional
        Empirical risk above which the task is of a new kind.

    Returns
    -------
    OperatorChoice

    Raises
    ------
    InputError
        If an argument is malformed, or there is no operator.
    """
    named = dict(operators) if isinstance(operators, Mapping) else {str(k): T for k, T in enumerate(operators)}
    if not named:
        raise InputError("operators is empty: at least one operator is needed")
    for name, T in named.items():
        if not isinstance(T, Embedding):
            raise InputError(f"operators[{name}] must be a SimilarityOperator, got {type(T).__name__}")
    if threshold is not None and not (is_real(threshold) and 0.0 <= threshold <= 1.0):
        raise InputError(f"threshold must be a risk from 0 to 1, or None, got {threshold!r}")
    if pairs is None:
        risks = {name: empirical_risk_from_labels(T, X, y, balanced=balanced) for name, T in named.items()}
        m = independent_pairs(y, balanced=balanced)
    else:
        risks = {name: empirical_risk(T, X, pairs, y) for name, T in named.items()}
        m = float(len(np.asarray(pairs)))
    # By rounding, means of losses can exceed one.
    bounds = {
        name: transfer_bound(min(1.0, risk), m, delta=delta, n_operators=len(named)) for name, risk in risks.items()
    }
    return OperatorChoice(min(risks, key=lambda name: risks[name]), risks, bounds, threshold)


def concatenate_tasks(tasks: Sequence[tuple[Array, Array, Array]]) -> tuple[Array, Array, Array]:
    r"""Concatenate samples of tasks: a sample of the mixed oracle :math:`\sum_k c_k \rho_k`, c_k the share of pairs.

    A sample is points ``(n, d)``, pairs ``(m, 2)`` of them and +1 or -1 for every pair, in the order in which problems
    take them. Points are stacked, pairs of one task stay within it. An operator learned from the whole serves all tasks
    (section 5.2). The sizes of the samples being fixed, the whole is independent but not identically distributed; the
    bounds of :func:`~operator_paper.theory.risk_bound` hold for the mixed oracle all the same.
    """
    points, pairs, signs = zip(*tasks, strict=True)
    before = np.cumsum([0, *(len(X) for X in points[:-1])])
    shifted = [np.asarray(own) + first for own, first in zip(pairs, before, strict=True)]
    return np.concatenate(points), np.concatenate(shifted), np.concatenate(signs)
