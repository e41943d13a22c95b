r"""The master of cutting planes, ``min tr W + sum_g xi_g`` over k cuts, solved two ways.

    (P)  min  tr W + sum_g xi_g    s.t.  <Psi_t, W> + xi_g(t) >= b_t,  W PSD, xi >= 0

The package's interior-point method (cold start) beside SCS on (P), called directly, without a modelling layer. Cuts are
those of metric learning to rank by AUC at the metrics a short cutting-plane run visits. Both results are graded the
same way: W projected on the cone and valued with the smallest slacks, the multipliers clipped and shrunk to
feasibility. SCS's tolerance is tightened, 1e-7, 1e-8, ..., until the graded gap is at most ``--tol``; only the run that
got there is timed.

    python benchmarks/bench_master.py
    python benchmarks/bench_master.py --d 13 --k 30 300 --limit 60
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from environment import add_threads_option, limit_threads, surroundings
from isolated import run
from tables import markdown, ratio, seconds

import convexmetric as cm
from convexmetric.certificates import relative_gap
from convexmetric.regularizers import Trace
from convexmetric.risks import RankingRisk
from convexmetric.solvers.numerics.interior_point import interior_point
from convexmetric.solvers.numerics.qp import ConicQP

#: Solves shorter than this are repeated and the fastest is taken.
SHORT = 2.0
REPEATS = 3
#: Tolerances a peer is given, one after the other.
LADDER = (1e-7, 1e-8, 1e-9, 1e-10)
#: Sets by the number of their features.
SETS = {13: "wine", 30: "breast-cancer"}


@dataclass(frozen=True)
class Master:
    """Cuts ``<normals[t], W> + xi_group[t] >= offsets[t]`` of a problem, normals in svec coordinates."""

    problem: cm.MetricProblem
    normals: np.ndarray
    offsets: np.ndarray
    group: np.ndarray
    groups: int

    @property
    def k(self) -> int:
        """Number of cuts."""
        return len(self.offsets)

    def program(self) -> ConicQP:
        """In the solver's terms."""
        return ConicQP(self.problem, self.normals, self.offsets, self.group, np.ones(self.groups))

    def gap(self, W: np.ndarray, a: np.ndarray) -> float:
        """Relative gap that any W and a prove."""
        program = self.program()
        if not (np.isfinite(W).all() and np.isfinite(a).all()):
            return np.inf
        W, a = program.cone.project(W), program.feasible_multipliers(a)
        upper = program.primal_value(W, self.normals @ program.cone.coordinates(W) - self.offsets)
        return relative_gap(upper, program.dual_value(a, W))


class Recorded(RankingRisk):
    """A ranking risk that remembers where it, or a part of it, was separated."""

    visited: ClassVar[list[np.ndarray]] = []

    def separate(self, M: np.ndarray, groups: np.ndarray) -> Any:
        self.visited.append(M)
        return super().separate(M, groups)


def collect(d: int, k: int, groups: int, C: float) -> tuple[Master, str]:
    """k cuts: those of every group at the metrics visited by a cutting-plane run, the last pass cut short."""
    name = SETS[d]
    data = cm.datasets.load(name)
    X, y = cm.datasets.preprocess(data.X, ["zscore"]), data.y
    of = cm.RankingProblem.from_labels(X, y, measure="auc", C=C).ranking_risk
    risk = Recorded(of.rankings, of.measure, of.C)
    risk.visited.clear()
    problem = cm.MetricProblem(risk, Trace(1.0))
    passes = -(-k // groups)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cm.errors.GapWarning)
        cm.solve(problem, tol=1e-12, solver=cm.solvers.CuttingPlanes(groups=groups), max_iter=passes)
    if len(risk.visited) < passes:
        raise SystemExit(f"the run on {name} made {len(risk.visited)} passes, {passes} are needed: use more --groups")
    of_part = np.arange(risk.parts) * groups // risk.parts
    cuts = [RankingRisk.separate(risk, M, of_part) for M in risk.visited[:passes]]
    normals = np.concatenate([c.normals for c in cuts])[:k]
    offsets = np.concatenate([c.offsets for c in cuts])[:k]
    return Master(
        cm.MetricProblem(of, Trace(1.0)), normals, offsets, np.tile(np.arange(groups), passes)[:k], groups
    ), name


def fastest(solve: Callable[[], tuple[np.ndarray, np.ndarray]], master: Master) -> tuple[float, float]:
    """Seconds of the fastest of a few solves, and the gap reached."""
    best, gap = np.inf, np.inf
    for _ in range(REPEATS):
        start = perf_counter()
        W, a = solve()
        best = min(best, perf_counter() - start)
        gap = master.gap(W, a)
        if best > SHORT:
            break
    return best, gap


def ours(master: Master, tol: float) -> tuple[float, float]:
    def solve() -> tuple[np.ndarray, np.ndarray]:
        outcome = interior_point(master.program(), tol)
        return outcome.U, outcome.a

    return fastest(solve, master)


def scs_primal(master: Master, tol: float) -> tuple[float, float]:
    """Variables (svec W, xi); rows: cuts, xi >= 0, W PSD. SCS's svec order is the package's own."""
    import scs

    cone, d = master.problem.cone, master.problem.cone.d
    k, q, groups = master.k, cone.size, master.groups
    slack = sp.csc_array((np.ones(k), (np.arange(k), master.group)), shape=(k, groups))
    A = sp.vstack(
        [
            sp.hstack([-sp.csc_array(master.normals), -slack]),
            sp.hstack([sp.csc_array((groups, q)), -sp.eye_array(groups)]),
            sp.hstack([-sp.eye_array(q), sp.csc_array((q, groups))]),
        ],
        format="csc",
    )
    # SCS reads 32-bit indices in a csc_matrix.
    A = sp.csc_matrix((A.data, A.indices.astype(np.int32), A.indptr.astype(np.int32)), shape=A.shape)
    data = {
        "A": A,
        "b": np.concatenate([-master.offsets, np.zeros(groups + q)]),
        "c": np.concatenate([cone.coordinates(np.eye(d)), np.ones(groups)]),
    }

    def solve() -> tuple[np.ndarray, np.ndarray]:
        solver = scs.SCS(
            data,
            {"l": k + groups, "s": [d]},
            eps_abs=tol,
            eps_rel=tol,
            max_iters=10_000_000,
            verbose=False,
        )
        result = solver.solve()
        return cone.from_coordinates(result["x"][:q]), result["y"][:k]

    return fastest(solve, master)


def first_good(
    solver: Callable[[Master, float], tuple[float, float]], master: Master, options: argparse.Namespace
) -> tuple[float | None, str]:
    """Seconds at the loosest tolerance whose graded gap is good enough, and that gap or what went wrong."""
    best = np.inf
    for tol in LADDER:
        if tol > options.tol:
            continue
        outcome = run(solver, master, tol, limit=options.limit, threads=options.threads)
        if outcome.value is None:
            return None, outcome.failure + (f" (gap {best:.0e} before)" if np.isfinite(best) else "")
        time, gap = outcome.value
        if gap <= options.tol:
            return time, f"{gap:.0e}"
        best = min(best, gap)
    return None, f"gap {best:.0e} only"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--d", nargs="+", type=int, default=list(SETS), choices=list(SETS))
    parser.add_argument("--k", nargs="+", type=int, default=[30, 300, 1000])
    parser.add_argument("--groups", type=int, default=32, help="slacks; 1 where k is below twice this (default 32)")
    parser.add_argument("--C", type=float, default=100.0)
    parser.add_argument("--tol", type=float, default=1e-7, help="relative gap to reach (default %(default)s)")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for one solve (default %(default)s)")
    add_threads_option(parser)
    options = parser.parse_args()
    limit_threads(options.threads)
    print(f"# Master problem to a relative gap of {options.tol:g}, C = {options.C:g}\n")
    print(surroundings("scs"), flush=True)
    rows = []
    for d in options.d:
        for k in options.k:
            groups = options.groups if k >= 2 * options.groups else 1
            master, name = collect(d, k, groups, options.C)
            outcome = run(ours, master, options.tol, limit=options.limit, threads=options.threads)
            time, gap = outcome.value if outcome.value is not None else (None, np.inf)
            peer, note = first_good(scs_primal, master, options)
            rows.append([
                f"{name}, d = {d}", k, groups, seconds(time), outcome.failure or f"{gap:.0e}", seconds(peer), note,
                ratio(peer, time) if gap <= options.tol else "-",
            ])  # fmt: skip
            print(" ".join(map(str, rows[-1])), file=sys.stderr, flush=True)
    header = ["cuts from", "k", "groups", "this package, s", "gap", "SCS (P), s", "gap", "SCS / this package"]
    print(f"\n{markdown(header, rows)}")


if __name__ == "__main__":
    main()
