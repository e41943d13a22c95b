"""Is the default the best route? It and every solver that fits, alone, on made problems or on instances of the library.

python benchmarks/bench_routes.py --grid 0:400:2 --json FILE [--limit 4] [--solvers exact]
python benchmarks/bench_routes.py --instances 'ranking-*' --json FILE [--limit 8]
python benchmarks/bench_routes.py --fit FILE ...

Made problems (``made_problems.py``) have seeds: even ones below 400 are those to decide by, odd ones to judge by. Each
solve has a process of its own, which has begun the same solve once before, so that no seconds are those of loading
compiled loops. The clock is the processor's, of one thread; what does not close the gap within `--limit`
seconds counts as twice that. With `--json` every result is appended as soon as it is known, and is not made again.

`--fit` writes the table of forecasts (``convexmetric/solvers/forecasts.json``) from such files: for every solver a
ridge regression of the logarithm of its seconds, of which those that did not end are known to be above the limit.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import sys
import time
import warnings
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from made_problems import made
from results import Results, add_library_options, begun, ratios_in_words
from scipy.stats import norm
from tables import markdown, seconds

import convexmetric as cm
from convexmetric.solvers import forecasts
from convexmetric.solvers.exact import offer_zero
from convexmetric.solvers.routes import ROUTES
from convexmetric.solvers.runtime import Monitor

DEFAULT, CONIC = "exact", "clarabel"
#: Seconds of the processor below which two solves are not told apart, and ratios above which the default is beaten.
RESOLUTION, BEATEN, BADLY = 0.02, 1.5, 3.0
#: Seconds of the solve that loads compiled loops.
LOADING = 1.0
#: Seconds beside its limit that a process may take to build its problem and to certify; bytes that it may hold.
PATIENCE, BYTES = 60.0, 8 << 30
#: Weight of the ridge of a fit, and its rounds.
RIDGE, ROUNDS = 4.0, 20
TABLE = Path(forecasts.__file__).with_name("forecasts.json")


def problem_of(key: int | str) -> cm.MetricProblem:
    """The made problem of a seed, or the problem of an instance."""
    return made(key).problem if isinstance(key, int) else cm.load_problem(key)


def one(key: int | str, solver: str, tol: float, limit: float, pipe: Any) -> None:
    """Solve, in this process, and send what came out."""
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    for most in (min(LOADING, limit), limit):
        problem = problem_of(key)
        start = time.process_time()
        try:
            solution = cm.solve(
                problem, tol=tol, solver=solver, max_seconds=3.0 * limit,
                callback=lambda _, end=start + most: time.process_time() > end,
            )  # fmt: skip
        except cm.errors.ConvexMetricError as error:
            pipe.send({"status": "failed", "message": str(error)[:200]})
            return
    pipe.send({
        "status": solution.status, "gap": solution.gap, "seconds": time.process_time() - start,
        "lower": solution.lower_bound, "upper": solution.upper_bound, "turns": solution.turns,
        "path": [(step.seconds, step.gap) for step in solution.history],
    })  # fmt: skip


def forked(key: int | str, solver: str, tol: float, limit: float) -> dict[str, Any]:
    """The row of one solve in a process of its own."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=one, args=(key, solver, tol, limit, there))
    process.start()
    there.close()
    row: dict[str, Any] = {"status": "limit"}
    if here.poll(PATIENCE + 4.0 * limit):
        with suppress(EOFError):
            row = here.recv()
    process.kill()
    process.join()
    return row


def cost(row: dict[str, Any], least: float = RESOLUTION) -> float:
    """Seconds to the gap, twice the limit for what did not close it."""
    limit = row["asked"]["limit"]
    return max(least, row["seconds"]) if row["status"] == "optimal" and row["seconds"] <= limit else 2.0 * limit


def compare(keys: list[Any], solvers: list[str], arguments: argparse.Namespace) -> dict[Any, dict[str, Any]]:
    """Run the solvers that fit on every problem; rows by problem and solver."""
    results = Results(arguments.json)
    found: dict[Any, dict[str, Any]] = {}
    for key in keys:
        problem, found[key] = problem_of(key), {}
        for solver in solvers:
            if cm.solvers.SOLVERS[solver]().unsupported(problem) is None:
                asked = {"seed": key, "solver": solver, "tol": arguments.tol, "limit": arguments.limit}
                make = partial(forked, key, solver, arguments.tol, arguments.limit)
                found[key][solver] = results.get(asked, make)
        print(key, file=sys.stderr, flush=True)
    return found


def report(found: dict[Any, dict[str, Any]]) -> str:
    """Ratios of the default over the best, and a row for each problem on which it is beaten."""
    ratios, rows = {}, []
    for key, by_solver in found.items():
        costs = {name: cost(row) for name, row in by_solver.items() if row["status"] != "failed"}
        if DEFAULT not in costs or len(costs) < 2:
            continue
        best = min((name for name in costs if name != DEFAULT), key=costs.__getitem__)
        ratios[key] = costs[DEFAULT] / min(costs[DEFAULT], costs[best])
        if ratios[key] > BEATEN:
            turns = ", ".join(turn[0] for turn in by_solver[DEFAULT].get("turns", []))
            words = made(key).words if isinstance(key, int) else ""
            rows.append([key, words, turns, seconds(costs[DEFAULT]), best, seconds(costs[best]), f"{ratios[key]:.1f}"])
    if not ratios:
        return "Nothing to compare the default with."
    values = np.array(list(ratios.values()))
    return "\n\n".join([
        markdown(["problem", "what", "ran", "default, s", "best", "best, s", "ratio"], rows),
        f"Seconds of the default over the best solver alone, {len(values)} problems: {ratios_in_words(ratios)}; above "
        f"{BEATEN:g} on {(values > BEATEN).mean():.1%}, above {BADLY:g} on {(values > BADLY).sum()}.",
    ])  # fmt: skip


def with_successor(row: dict[str, Any], costs: dict[str, float]) -> float:
    """Seconds to the gap; for a solver that gave up before the limit, its own and those of the best other."""
    own = costs[row["asked"]["solver"]]
    if row["status"] != "stalled":
        return own
    others = [seconds for name, seconds in costs.items() if name != row["asked"]["solver"]]
    return min(own, row["seconds"] + min(others, default=own))


def early(rows: list[dict[str, Any]]) -> float | None:
    """Share of the time to a gap of 1e-4 that one of 0.1 takes: the geometric mean; None if no row has its path."""
    paths = [row["path"] for row in rows if row["status"] == "optimal" and row.get("path")]
    shares = [next(at for at, gap in path if gap <= forecasts.EARLY_GAP) / path[-1][0] for path in paths if path[-1][0]]
    return round(float(np.exp(np.mean(np.log(shares)))), 2) if shares else None


def regression(Z: np.ndarray, y: np.ndarray, late: np.ndarray) -> np.ndarray:
    """Weights of a ridge regression with normal errors (Tobit), where late y are twice what they exceed."""
    ridge, known = np.diag([1e-6, *[RIDGE] * (Z.shape[1] - 1)]), y
    for _ in range(ROUNDS):
        b = np.linalg.solve(Z.T @ Z + ridge, Z.T @ y)
        rest = known - Z @ b
        error = float(np.std(rest[~late]))
        least = (rest - np.log(2.0)) / error
        y = np.where(late, Z @ b + error * norm.pdf(least) / norm.sf(least), known)
    return b


def fit(files: list[Path]) -> dict[str, Any]:
    """Weights of the features of a forecast, an addition for every class of risks, and ``early``, by solver.

    Shares ``early`` stay as they are where no row has a path. Two are made by hand: that of dual ascent, which looks
    more often than it yields, from solves to either gap, and that of low-rank Newton, which has few steps, as proximal
    gradient's: with the larger one of its paths the default takes 1.32 in place of 1.20 times as long as the better of
    the two to a gap of 0.1, on 36 problems.
    """
    rows = [json.loads(line) for path in files for line in path.read_text().splitlines()]
    rows = [row for row in rows if row["asked"]["solver"] != DEFAULT and row["status"] not in ("failed", "unsupported")]
    known: dict[Any, tuple[np.ndarray, str]] = {}
    for key in {row["asked"]["seed"] for row in rows}:
        problem = problem_of(key)
        bare, monitor = problem.without_constant(), Monitor(1e-4, problem=problem)
        offer_zero(bare, monitor)
        known[key] = forecasts.features(bare, monitor.share, bare.risk), type(bare.risk).__name__
    costs: dict[Any, dict[str, float]] = {}
    for row in rows:
        costs.setdefault(row["asked"]["seed"], {})[row["asked"]["solver"]] = cost(row, 0.0)
    table: dict[str, Any] = {}
    for solver in sorted({row["asked"]["solver"] for row in rows}):
        mine = [row for row in rows if row["asked"]["solver"] == solver]
        keys = [row["asked"]["seed"] for row in mine]
        X = np.array([known[key][0] for key in keys])
        y = np.log([with_successor(row, costs[row["asked"]["seed"]]) for row in mine])
        risks = sorted({known[key][1] for key in keys})
        K = np.array([[float(known[key][1] == risk) for risk in risks] for key in keys])
        centre, spread = X.mean(axis=0), X.std(axis=0)
        centre[0], spread[spread < 1e-9] = 0.0, np.inf
        spread[0] = 1.0
        late = np.array([row["status"] != "stalled" and cost(row) > row["asked"]["limit"] for row in mine])
        b = regression(np.hstack([(X - centre) / spread, K]), y, late)
        weights = b[: len(centre)] / spread
        weights[0] -= float(centre @ weights)
        name = "conic" if solver == CONIC else solver
        table[name] = forecasts.table()[name] | {
            "weights": [round(float(value), 4) for value in weights],
            "risks": dict(zip(risks, np.round(b[len(centre) :], 4).tolist(), strict=True)),
            "early": early(mine) or forecasts.table()[name]["early"],
        }
    # Too few problems are large enough for it; it is taken where a pass is long, and needs few over all data.
    planes, sampled = table["cutting-planes"], forecasts.table()["sampled-cutting-planes"]
    weights = [round(planes["weights"][0] - 0.5, 4), *planes["weights"][1:]]
    table["sampled-cutting-planes"] = planes | {"weights": weights, "passes": sampled["passes"]}
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_library_options(parser, ["*-wine-*"])
    parser.add_argument("--grid", help="seeds of made problems, as first:end:step, in place of instances")
    parser.add_argument("--solvers", nargs="+", help="instead of the default and all that it takes")
    parser.add_argument("--fit", nargs="+", type=Path, metavar="FILE", help="write the table of forecasts")
    parser.set_defaults(threads=1, tol=1e-4, limit=4.0)
    arguments, names = begun(parser)
    warnings.simplefilter("ignore")
    if arguments.fit:
        TABLE.write_text(json.dumps(fit(arguments.fit), indent=1) + "\n")
        return
    keys = list(range(*map(int, arguments.grid.split(":")))) if arguments.grid else names
    every = dict.fromkeys(route.solver.name for route in ROUTES if route.solver.name in cm.solvers.SOLVERS)
    print(report(compare(keys, arguments.solvers or [DEFAULT, *every, CONIC], arguments)))


if __name__ == "__main__":
    main()
