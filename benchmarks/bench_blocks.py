"""What a block costs: lines to write it and to use it, seconds to a certified gap of 1e-6, and what CVXPY says.

python benchmarks/bench_blocks.py            every row, and its table in RESULTS.md anew
python benchmarks/bench_blocks.py NAME ...   these instances, printed only

Each row is an instance of the library. Rankings are written out for CVXPY, one constraint a ranking, so that all three
solve the same problem on a few rows of the data. CLARABEL and SCS get the statement that is compiled from the blocks,
with tolerances far below the gap, and `--limit` seconds.
"""

from __future__ import annotations

import argparse
import inspect
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import cvxpy as cp
import numpy as np
from environment import add_threads_option, limit_threads, surroundings
from tables import markdown, seconds

import convexmetric as cm
from convexmetric.bench.blocks import CLASSES, compose
from convexmetric.bench.named_data import MADE, pairs_by_name
from convexmetric.measures import measure_named

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "benchmarks" / "RESULTS.md"
BEGIN, END = "<!-- table of bench_blocks.py: begin -->", "<!-- table of bench_blocks.py: end -->"
#: What each instance is there for: a class, a measure, or what has no file of its own.
BLOCKS = {
    "blocks-zero-wine": "Zero",
    "blocks-constant-wine": "a constant",
    "blocks-linear-iris": "a linear term that falls without end",
    "blocks-linear-held-iris": "a linear term that only the risk holds",
    "blocks-sum-triplets-pairs-wine": "SumRisk",
    "blocks-sum-rankings-pairs-wine": "SumRisk",
    "blocks-l1-wine": "EntrywiseL1",
    "blocks-l1-off-diagonal-wine": "EntrywiseL1",
    "blocks-l1-logdet-iris": "EntrywiseL1",
    "blocks-logdet-wine": "LogDet",
    "blocks-logdet-digits": "LogDet",
    "blocks-itml-wine": "InformationTheoreticProblem",
    "blocks-itml-breast-cancer-diagonal": "InformationTheoreticProblem",
    "blocks-itakura-saito-wine": "ItakuraSaito",
    "blocks-log-wine": "NegativeLog",
    "blocks-budget-root-wine": "NegativeRoot",
    "blocks-budget-hinge-wine": "Budget",
    "blocks-budget-penalty-wine": "Budget",
    "blocks-prior-identity-triplets-wine": "SquaredDistance",
    "blocks-prior-triplets-breast-cancer": "SquaredDistance",
    "blocks-prior-auc-wine": "SquaredDistance",
    "blocks-prior-map-wine": "SquaredDistance",
    "blocks-distance-wine": "Distance",
    "blocks-trace-distance-wine": "TraceDistance",
    "blocks-l1-distance-wine": "EntrywiseL1",
    "blocks-two-groups-wine": "BlockDiagonal",
    "blocks-logistic-breast-cancer": "Logistic",
    "ranking-auc-wine-c100-prior": "SquaredDistance",
    "ranking-map-wine-c100-prior": "SquaredDistance",
    "ranking-err-wine-c100": "err",
    "ranking-ndcg-log2-wine-c100": "ndcg-log2",
}
#: Rows of the problem that is solved three times where rankings are written out, and draws of pairs among them.
FEW, DRAWS = 8, 20
#: Far below the gap, so that what differs is not theirs.
SOLVERS: dict[str, dict[str, Any]] = {
    "CLARABEL": {"tol_gap_abs": 1e-9, "tol_gap_rel": 1e-9, "tol_feas": 1e-9},
    "SCS": {"eps_abs": 1e-8, "eps_rel": 1e-8, "max_iters": 1_000_000},
}
LIMITS = {"CLARABEL": "time_limit", "SCS": "time_limit_secs"}


def stated(instance: cm.bench.Instance) -> tuple[cm.MetricProblem, str]:
    """The problem, small enough to write out, and the number of rows where they are fewer."""
    said = repr(instance.parameters)
    if "RankingProblem" not in said and "RankingRisk" not in said:
        return instance.problem(), ""
    X, labels = instance.rows()
    kept = np.linspace(0, len(labels) - 1, FEW).astype(int)
    drawn = pairs_by_name(*cm.papers.balanced_pairs(labels[kept], DRAWS, random_state=0))
    # A prior is known from all data.
    made = {name: MADE[name](X, drawn) for name in instance.tables.get("arrays", {})}
    return compose(instance.parameters, {"X": X[kept], "y": labels[kept], **drawn, **made}), f", {FEW} rows"


def lines_of(instance: cm.bench.Instance, block: str) -> str:
    """Lines of the statement in its file, plus those of the block's own file."""
    text = (ROOT / "problems" / f"{instance.name}.toml").read_text(encoding="utf-8").partition("[bounds]")[0]
    own = sum(bool(line.strip()) for line in text.splitlines())
    kind = CLASSES.get(block) or (type(measure_named(block)) if " " not in block else None)
    if kind is None:
        return str(own)
    file = Path(inspect.getsourcefile(kind) or "")
    return f"{own} + {len(file.read_text(encoding='utf-8').splitlines())}"


def timed(solve: Callable[[], Any]) -> tuple[Any, float]:
    """What comes, and seconds; the faster of two, as compiled loops are loaded by the first."""
    took = []
    for _ in range(2):
        start = perf_counter()
        found = solve()
        took.append(perf_counter() - start)
    return found, min(took)


def peer(problem: cm.MetricProblem, solver: str, limit: float) -> tuple[float | None, float]:
    """The optimal value that CVXPY reports, if it comes in time, and seconds of the call."""
    program, start = problem.statement().problem, perf_counter()
    try:
        value = program.solve(solver=solver, **SOLVERS[solver], **{LIMITS[solver]: limit})
    except cp.SolverError:
        value = None
    took = perf_counter() - start
    # What is short of their tolerances counts as well: the table shows how far it is.
    return (float(value) if program.status in cp.settings.SOLUTION_PRESENT else None), took


def row(name: str, limit: float) -> list[str]:
    """One line of the table."""
    instance = cm.bench.load_instance(name)
    problem, fewer = stated(instance)
    solution, took = timed(lambda: cm.solve(problem, tol=1e-6))
    cells = [f"{BLOCKS[name]}: `{name}`{fewer}", lines_of(instance, BLOCKS[name]), seconds(took)]
    cells += [f"{solution.gap:.0e}", instance.grade]
    for solver in SOLVERS:
        value, needed = peer(problem, solver, limit)
        away = None if value is None else abs(value - solution.upper_bound) / abs(solution.upper_bound)
        cells.append("-" if away is None else f"{away:.0e}")
        cells.append(f"> {limit:g}" if needed >= limit else seconds(needed) if value is not None else "failed")
    return cells


def main() -> None:
    """Print the table, and write it into the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_threads_option(parser)
    parser.add_argument("names", nargs="*", metavar="NAME", help="instances; all if none is named")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for CLARABEL and for SCS")
    arguments = parser.parse_args()
    limit_threads(arguments.threads)
    warnings.simplefilter("ignore")
    about = surroundings("cvxpy", "clarabel", "scs")
    rows = []
    for name in arguments.names or BLOCKS:
        rows.append(row(name, arguments.limit))
        print(" | ".join(rows[-1]), flush=True)
    head = ["block: instance", "lines", "s", "gap", "grade", "to CLARABEL", "s", "to SCS", "s"]
    table = f"{markdown(head, rows)}\n\n{about}"
    print(f"\n{table}")
    if not arguments.names:
        before, begin, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        _, end, after = rest.partition(END)
        if not (begin and end):
            sys.exit(f"{PAGE.name} has lost its markers {BEGIN} and {END}")
        PAGE.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
