r"""The master of cutting planes, ``min tr W + sum_g xi_g`` over k cuts, solved three ways.

    (P)  min  tr W + sum_g xi_g    s.t.  <Psi_t, W> + xi_g(t) >= b_t,  W PSD, xi >= 0
    (D)  max  sum_t b_t a_t        s.t.  sum_t a_t Psi_t <= I,  sum_(t in g) a_t <= 1,  a >= 0

The package's interior-point method (cold start) beside SCS on (P) and CVXOPT's ``conelp`` on (D), each in
the form that suits it and called directly, without a modelling layer. The cuts are real ones: those of metric
learning to rank by AUC at the metrics a short cutting-plane run visits. Every solver's result is
graded the same way: W projected on the cone and valued with the smallest slacks, a clipped and shrunk to feasibility.
A peer's tolerance is tightened, 1e-7, 1e-8, ..., until the graded gap is at most ``--tol``; only the
run that got there is timed.

    python benchmarks/bench_master.py
    python benchmarks/bench_master.py --d 13 30 --k 30 300 --limit 60

CVXOPT is optional: pip install 'convexmetric[cvxopt]'
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
import scipy.sparse as sp
from environment import add_threads_option, limit_threads, surroundings
from isolated import run
from tables import markdown, ratio, seconds

import convexmetric as cm
from convexmetric.certificates import relative_gap
from convexmetric.cones.psd import PSDCone
from convexmetric.regularizers import Trace
from convexmetric.risks import Cuts, RankingRisk, Risk, RiskStatement
from convexmetric.solvers.numerics.interior_point import interior_point
from convexmetric.solvers.numerics.qp import ConicQP

#: Solves shorter than this are repeated and the fastest is taken.
SHORT = 2.0
REPEATS = 3
#: Tolerances a peer is given, one after the other.
LADDER = (1e-7, 1e-8, 1e-9, 1e-10)
INSTALL_CVXOPT = "pip install 'convexmetric[cvxopt]'"


class NoData(Risk):
    """The risk that is zero: what is left of a problem when cuts stand for its data."""

    parts = 1

    def __init__(self, cone: PSDCone) -> None:
        self.cone = cone

    def value(self, M: np.ndarray) -> float:
        return 0.0

    def separate(self, M: np.ndarray, groups: np.ndarray) -> Cuts:
        return Cuts(np.zeros(1), np.zeros(1), np.zeros((1, self.cone.size)))

    def statement(self, M: Any) -> RiskStatement:
        return RiskStatement(0.0, [], lambda: np.zeros(0))


@dataclass(frozen=True)
class Master:
    """Cuts ``<normals[t], W> + xi_group[t] >= offsets[t]``, normals in svec coordinates."""

    d: int
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
        penalty = cm.MetricProblem(NoData(PSDCone(self.d)), Trace(1.0))
        return ConicQP(penalty, self.normals, self.offsets, self.group, np.ones(self.groups))

    def gap(self, W: np.ndarray, a: np.ndarray) -> float:
        """Relative gap that any W and a prove."""
        program = self.program()
        if not (np.isfinite(W).all() and np.isfinite(a).all()):
            return np.inf
        u = program.cone.coordinates(program.cone.project(W))
        a = program.feasible_multipliers(a)
        upper = program.primal_value(u, self.normals @ u - self.offsets)
        return relative_gap(upper, program.dual_value(a, u))


class Recorded(RankingRisk):
    """A ranking risk that remembers where it was separated."""

    def __init__(self, risk: RankingRisk) -> None:
        super().__init__(risk.rankings, risk.measure, risk.C)
        self.visited: list[np.ndarray] = []

    def separate(self, M: np.ndarray, groups: np.ndarray) -> Any:
        self.visited.append(M)
        return super().separate(M, groups)


def points(d: int, seed: int) -> tuple[np.ndarray, np.ndarray, str]:
    """Real data for d = 13 and 30; for any other d, ten overlapping Gaussian classes."""
    names = {13: "wine", 30: "breast-cancer"}
    if d in names:
        data = cm.datasets.load(names[d])
        X, y, name = data.X, data.y, names[d]
    else:
        rng = np.random.default_rng(seed)
        y = np.repeat(np.arange(10), 60)
        means = rng.standard_normal((10, 12)) @ rng.standard_normal((12, d))
        # Class means in 12 directions, and noise that is strong where the spectrum of real data is.
        noise = rng.standard_normal((len(y), d)) * (4.0 / np.sqrt(1.0 + np.arange(d)))
        X = means[y] + noise @ np.linalg.qr(rng.standard_normal((d, d)))[0] + rng.standard_normal((len(y), d))
        name = "Gaussian classes"
    return cm.datasets.preprocess(X, ["zscore"]), y, name


def collect(d: int, k: int, groups: int, C: float, seed: int) -> tuple[Master, str]:
    """k cuts: those of every group at the metrics visited by a cutting-plane run, the last pass cut short."""
    X, y, name = points(d, seed)
    risk = Recorded(cm.RankingProblem.from_labels(X, y, measure="auc", C=C).ranking_risk)
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
    return Master(d, normals, offsets, np.tile(np.arange(groups), passes)[:k], groups), name


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

    cone = PSDCone(master.d)
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
        "c": np.concatenate([cone.coordinates(np.eye(master.d)), np.ones(groups)]),
    }

    def solve() -> tuple[np.ndarray, np.ndarray]:
        solver = scs.SCS(
            data,
            {"l": k + groups, "s": [master.d]},
            eps_abs=tol,
            eps_rel=tol,
            max_iters=10_000_000,
            verbose=False,
        )
        result = solver.solve()
        return cone.from_coordinates(result["x"][:q]), result["y"][:k]

    return fastest(solve, master)


def cvxopt_dual(master: Master, tol: float) -> tuple[float, float]:
    """Variables a; rows: a >= 0, group sums at most 1, and the matrix inequality as d * d dense rows."""
    import cvxopt

    d, k, groups = master.d, master.k, master.groups
    matrices = PSDCone(d).from_coordinates(master.normals).reshape(k, d * d)
    rows = np.concatenate([np.arange(k), k + master.group])
    columns = np.tile(np.arange(k), 2)
    signs = np.repeat([-1.0, 1.0], k)
    linear = cvxopt.spmatrix(cvxopt.matrix(signs), cvxopt.matrix(rows), cvxopt.matrix(columns), (k + groups, k))
    G = cvxopt.sparse([linear, cvxopt.matrix(np.asfortranarray(matrices.T))])
    h = cvxopt.matrix(np.concatenate([np.zeros(k), np.ones(groups), np.eye(d).ravel()]))
    c = cvxopt.matrix(-master.offsets)
    options = {"abstol": tol, "reltol": tol, "feastol": tol, "maxiters": 200, "show_progress": False}

    def solve() -> tuple[np.ndarray, np.ndarray]:
        result = cvxopt.solvers.conelp(c, G, h, {"l": k + groups, "q": [], "s": [d]}, options=options)
        # The upper triangle of CVXOPT's matrices is not kept up to date.
        lower = np.tril(np.array(result["z"][k + groups :]).reshape(d, d, order="F"))
        return lower + np.tril(lower, -1).T, np.array(result["x"]).ravel()

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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--d", nargs="+", type=int, default=[13, 30, 100])
    parser.add_argument("--k", nargs="+", type=int, default=[30, 300, 1000])
    parser.add_argument("--groups", type=int, default=32, help="slacks; 1 where k is below twice this (default 32)")
    parser.add_argument("--C", type=float, default=100.0)
    parser.add_argument("--tol", type=float, default=1e-7, help="relative gap to reach (default %(default)s)")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for one solve (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--solvers", nargs="+", default=["scs", "cvxopt"], choices=["scs", "cvxopt"])
    add_threads_option(parser)
    options = parser.parse_args()

    limit_threads(options.threads)
    print(f"# Master problem to a relative gap of {options.tol:g}, C = {options.C:g}\n")
    print(surroundings("scs", "cvxopt"), flush=True)
    peers = {"scs": ("SCS (P)", scs_primal), "cvxopt": ("CVXOPT (D)", cvxopt_dual)}
    chosen = [peers[name] for name in options.solvers]
    if "cvxopt" in options.solvers and importlib.util.find_spec("cvxopt") is None:
        print(f"\nCVXOPT is not installed and left out; install it with: {INSTALL_CVXOPT}")
        chosen.remove(peers["cvxopt"])

    rows = []
    for d in options.d:
        for k in options.k:
            groups = options.groups if k >= 2 * options.groups else 1
            master, name = collect(d, k, groups, options.C, options.seed)
            outcome = run(ours, master, options.tol, limit=options.limit, threads=options.threads)
            time, gap = outcome.value if outcome.value is not None else (None, np.inf)
            row = [f"{name}, d = {d}", k, groups, seconds(time), outcome.failure or f"{gap:.0e}"]
            ratios = []
            for _, solver in chosen:
                peer, note = first_good(solver, master, options)
                row += [seconds(peer), note]
                ratios.append(ratio(peer, time) if gap <= options.tol else "-")
            rows.append([*row, *ratios])
            print(" ".join(map(str, rows[-1])), file=sys.stderr, flush=True)
    header = ["cuts from", "k", "groups", "this package, s", "gap"]
    for name, _ in chosen:
        header += [f"{name}, s", "gap"]
    print()
    print(markdown([*header, *[f"{name} / this package" for name, _ in chosen]], rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
