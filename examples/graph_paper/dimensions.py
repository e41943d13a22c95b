"""What the number of features after projection does: exact optimum and test AUC."""

from __future__ import annotations

from typing import Any

import numpy as np

import convexmetric as cm

from .nodes import load
from .protocol import pair_auc, split

__all__ = ["KINDS", "run"]

KINDS = ("uniform", "gaussian", "sparse", "orthonormal", "pca")
#: What the ratio is multiplied by for uniform entries, whose largest lambda comes from a part of all distances that
#: tells nothing.
UNIFORM_SHARE = 1e-3


def run(data: str, kind: str, r: int, seed: int, ratio: float, tol: float, seconds: float) -> dict[str, Any]:
    """Variant F with some projection at a fixed lambda ratio; the split of the nodes is always the first.

    The ``optimum`` is certified up to ``gap``; the zero metric has the value 1.
    """
    nodes = load(data)
    train, test = (nodes.part(rows) for rows in split(len(nodes), 0, None))
    variant = cm.papers.Variant("F", projection=kind)
    share = UNIFORM_SHARE if kind == "uniform" else 1.0
    problem = train.problem(variant, r, seed)
    solution = cm.solve(
        problem.with_reg(share * ratio * problem.reg_max),
        tol,
        solver=cm.solvers.SemismoothNewton(),
        max_seconds=seconds,
    )
    assert problem.projection is not None
    V, M = problem.projection.transform(test.X), solution.certificate.M
    norms = problem.cone.quadratic_forms(V, M)
    distances = norms[:, None] + norms[None, :] - 2.0 * problem.cone.gram(V, M, V)
    return {
        "auc": pair_auc(np.asarray(distances), test.linked()),
        "optimum": solution.upper_bound,
        "gap": solution.gap,
        "rank": solution.rank,
        "seconds": solution.seconds,
    }
