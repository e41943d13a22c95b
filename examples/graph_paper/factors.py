"""Variant E step by step: how much what it learns depends on the seed, and which part of the steps makes it so."""

from __future__ import annotations

import warnings
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np
import scipy.sparse as sp

import convexmetric as cm
from convexmetric.approximate.low_rank_descent import PairwiseFactor
from convexmetric.solvers import Monitor

from .nodes import Labelled, Nodes
from .protocol import pair_auc, split

__all__ = ["DATA", "METHODS", "RATIOS", "area", "load", "run", "stepped"]

DATA = ("cornell", "digits")
#: lambda over the one from which on the zero metric is the optimum.
RATIOS = (0.1, 0.03, 0.01)
#: Of the projected variants: the middle of their grids.
PROJECTED = {"F, steps": ("F", 1e-5), "L, steps": ("L", 1e-2)}
#: What is learned, and at which ratios.
METHODS: dict[str, tuple[float, ...]] = {
    "optimum": RATIOS,
    "L-BFGS": RATIOS,
    "steps": RATIOS,
    "delayed steps": RATIOS,
    "steps, one start": (0.03,),
    "steps, one order": (0.03,),
    "steps, uniform start": (0.03,),
    "steps from the optimum": (0.03,),
    "steps, B = 1000": (0.03,),
    **{name: (ratio,) for name, (_, ratio) in PROJECTED.items()},
}
#: Images of digits that take part.
DIGITS = 400


def run(data: str, method: str, ratio: float, seeds: int, r: int, batch: int, steps: int) -> dict[str, Any]:
    """AUC on test pairs and objective of the last metric, for every seed.

    ``bound`` is the certified lower bound of the optimum, where one is known.
    """
    nodes = load(data)
    train, test = (nodes.part(rows) for rows in split(len(nodes), 0, None))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cm.errors.GapWarning)
        if method in PROJECTED:
            return _projected(train, test, PROJECTED[method][0], ratio, seeds, r, batch, steps)
        return _factors(train, test, method, ratio, seeds, r, batch, steps)


def load(data: str) -> Labelled:
    """Pages of one university with five topics, or some handwritten digits."""
    if data == "digits":
        digits = cm.datasets.load("digits")
        rows = np.random.default_rng(0).permutation(len(digits.y))[:DIGITS]
        return Labelled(sp.csr_array(np.asarray(digits.X)[rows] / 16.0), digits.y[rows])
    webkb = cm.datasets.load("webkb-linqs")
    rows = np.flatnonzero(webkb.extras["university"] == webkb.extras["university_names"].index(data))
    return Labelled(sp.csr_array(webkb.X[rows]), webkb.y[rows])


def _factors(
    train: Labelled, test: Labelled, method: str, ratio: float, seeds: int, r: int, batch: int, steps: int
) -> dict[str, Any]:
    """Variant E by some method; where features are many, on the span of training nodes, as an optimal metric is."""
    V = np.eye(train.X.shape[1])
    if len(V) > len(train):
        _, sizes, V = np.linalg.svd(train.X.toarray(), full_matrices=False)
        V = V[sizes > 1e-9 * sizes[0]]
    spanned = Labelled(train.X @ V.T, train.y)
    images = test.X @ V.T
    problem = spanned.problem(cm.papers.VARIANTS["E"], r, 0)
    at_zero = problem.risk.smoothed(problem.cone.zeros(), 1e-3 * problem.margin).point.S  # type: ignore[attr-defined]
    problem = problem.with_reg(ratio * 2.0 * float(np.linalg.eigvalsh(at_zero)[-1]))
    result: dict[str, Any] = {"auc": [], "objective": [], "bound": None}
    for seed in range(1 if method == "optimum" else seeds):
        if method in ("optimum", "L-BFGS"):
            solver = None if method == "optimum" else cm.approximate.LowRankDescent(r, random_state=seed)
            solution = cm.solve(problem, 1e-3, solver=solver, max_seconds=60.0)
            M, result["bound"] = solution.certificate.M, max(result["bound"] or 0.0, solution.lower_bound)
        else:
            L = stepped(problem, method, ratio, seed, r, batch, steps)
            M = L.T @ L
        result["auc"].append(area(images, M, test))
        result["objective"].append(problem.objective(M))
    return result


def stepped(
    problem: cm.TripletProblem, method: str, ratio: float, seed: int, r: int, batch: int, steps: int
) -> np.ndarray:
    """The factor after the last step."""
    delay = int(2.0 / ratio) if method == "delayed steps" else None
    size = 1000 if method.endswith("1000") else batch
    uniform = method.endswith("uniform start")
    start = None if uniform else 2.0
    solver = cm.approximate.StochasticLowRank(
        r, batch=size, delay=delay, start=start, uniform=uniform, random_state=seed
    )
    factor = PairwiseFactor(problem, problem.risk, Monitor(1e-6))  # type: ignore[arg-type]
    state = solver.state(factor)
    fixed = cm.approximate.StochasticLowRank(r, random_state=0).state(factor)
    if method.endswith("one start"):
        state.iterate = fixed.iterate
    elif method.endswith("one order"):
        state.seed = fixed.seed
    elif method.endswith("the optimum"):
        state.iterate = _optimal(problem, len(state.iterate))
    for _, L in islice(solver.factors(factor, problem.reg, state), steps):
        last: np.ndarray = L
    return last


@lru_cache(maxsize=1)
def _optimal(problem: cm.TripletProblem, r: int) -> np.ndarray:
    """A factor near the optimum."""
    solution = cm.solve(problem, 1e-3, solver=cm.approximate.LowRankDescent(r, random_state=0))
    values, vectors = np.linalg.eigh(solution.certificate.M)
    return np.asarray((np.sqrt(np.maximum(values, 0.0)) * vectors).T[-r:])


def _projected(
    train: Labelled, test: Labelled, letter: str, ratio: float, seeds: int, r: int, batch: int, steps: int
) -> dict[str, Any]:
    """The same steps on a convex problem after a random projection."""
    result: dict[str, Any] = {"auc": [], "objective": [], "bound": None, "gap": []}
    for seed in range(seeds):
        problem = train.problem(cm.papers.VARIANTS[letter], r, seed)
        problem = problem.with_reg(ratio * problem.reg_max)
        solver = cm.approximate.StochasticBatch(batch, random_state=seed, epochs=1, epoch_draws=batch * steps)
        solution = cm.solve(problem, 1e-6, solver=solver)
        assert problem.projection is not None
        result["auc"].append(area(problem.projection.transform(test.X), solution.certificate.M, test))
        result["objective"].append(solution.upper_bound)
        result["gap"].append(solution.gap)
    return result


def area(V: Any, M: np.ndarray, test: Nodes) -> float:
    """AUC on test pairs of a metric of their images; a factor's size does not matter to it, but overflows."""
    V = np.asarray(V)
    M = M / max(float(np.abs(M).max()), np.finfo(float).tiny)
    norms = np.einsum("ij,ij->i", V @ M, V)
    return pair_auc(norms[:, None] + norms[None, :] - 2.0 * V @ M @ V.T, test.linked())
