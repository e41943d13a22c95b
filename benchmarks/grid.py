"""The default and every solver that fits, on made problems, each solve in a process of its own.

Processes are forked from one that has solved a few problems of every family, so that no seconds are those of compiling
loops. The clock is the processor's, of one thread; whoever does not close the gap within the limit counts as having
taken twice that.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import sys
import time
import warnings
from contextlib import suppress
from typing import Any

import numpy as np
from made_problems import FAMILIES, made
from results import Results
from tables import markdown, seconds

import convexmetric as cm
from convexmetric.solvers.routes import ROUTES

#: Seconds of the processor below which two solves are not told apart.
RESOLUTION = 0.02
#: Seconds that a solve may outlive its limit, for the building of its problem and the certificate.
PATIENCE = 60.0
BYTES = 8 << 30


def solvers_of_routes() -> list[str]:
    """Names of the solvers of the default's table."""
    return list(dict.fromkeys(route.solver.name for route in ROUTES if route.solver.name in cm.solvers.SOLVERS))


def warm_up() -> None:
    """Load the compiled loops of every family and solver."""
    smallest: dict[str, int] = {}
    for seed in range(0, 12 * len(FAMILIES)):
        problem = made(seed).problem if seed < 6 * len(FAMILIES) else None
        if problem is None or problem.risk.distances > 300_000 or problem.cone.size > 2_000:
            continue
        key = f"{seed // 2 % len(FAMILIES)} {problem.cone.diagonal} {type(problem.regularizer).__name__}"
        if key in smallest:
            continue
        smallest[key] = seed
        for name in ["exact", *solvers_of_routes()]:
            with suppress(cm.errors.ConvexMetricError):
                cm.solve(problem, tol=1e-3, solver=name, max_seconds=1.0)


def one(seed: int, solver: str, tol: float, limit: float, pipe: Any) -> None:
    """Solve, in this process, and send what came out."""
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    warnings.simplefilter("ignore")
    problem = made(seed).problem
    spent: list[float] = []
    start = time.process_time()

    def late(progress: Any) -> bool:
        spent.append(time.process_time() - start)
        return spent[-1] > limit

    try:
        solution = cm.solve(problem, tol=tol, solver=solver, max_seconds=3.0 * limit, callback=late)
    except cm.errors.UnsupportedProblemError:
        pipe.send({"status": "unsupported"})
    except cm.errors.ConvexMetricError as error:
        pipe.send({"status": "failed", "message": str(error)[:200]})
    else:
        pipe.send({
            "status": solution.status, "gap": solution.gap, "seconds": time.process_time() - start,
            "lower": solution.lower_bound, "upper": solution.upper_bound, "iterations": len(solution.history),
            "finished": solution.solver, "path": path_of(solution.history, spent),
        })  # fmt: skip


def path_of(history: list[Any], spent: list[float]) -> list[list[float]]:
    """Seconds and gaps, at most twenty of them."""
    pairs = [[round(s, 4), float(f"{p.gap:.2e}")] for s, p in zip(spent, history, strict=False)]
    return pairs[:: max(1, len(pairs) // 20)]


def forked(seed: int, solver: str, tol: float, limit: float) -> dict[str, Any]:
    """The row of one solve in a process of its own."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=one, args=(seed, solver, tol, limit, there))
    process.start()
    there.close()
    row: dict[str, Any] = {"status": "limit"}
    if here.poll(PATIENCE + 4.0 * limit):
        with suppress(EOFError):
            row = here.recv()
    process.kill()
    process.join()
    return row


def run_grid(seeds: range, tol: float, limit: float, path: Any, chosen: list[str] | None = None) -> None:
    """Run, print the table and the ratios of the default over the best."""
    results = Results(path)
    warnings.simplefilter("ignore")
    warm_up()
    solvers = chosen or ["exact", *solvers_of_routes()]
    for seed in seeds:
        problem = made(seed).problem
        for solver in solvers:
            if cm.solvers.SOLVERS[solver]().unsupported(problem) is not None:
                continue
            asked = {"seed": seed, "solver": solver, "tol": tol, "limit": limit}
            results.get(asked, lambda s=seed, n=solver: forked(s, n, tol, limit))  # type: ignore[misc]
        print(seed, made(seed).words, file=sys.stderr, flush=True)
    print(table([json.loads(line) for line in open(path)] if path else [], limit, seeds))


def table(rows: list[dict[str, Any]], limit: float, seeds: range) -> str:
    """Families with their ratios, and the problems where the default is behind."""
    taken: dict[int, dict[str, dict[str, Any]]] = {}
    for row in rows:
        if row["asked"]["seed"] in seeds:
            taken.setdefault(row["asked"]["seed"], {})[row["asked"]["solver"]] = row
    ratios, behind = {}, []
    for seed, found in sorted(taken.items()):
        cost = {
            name: max(RESOLUTION, min(row["seconds"], 2.0 * limit)) if row["status"] == "optimal" and row["seconds"] <= limit
            else 2.0 * limit
            for name, row in found.items()
        }
        others = {name: value for name, value in cost.items() if name != "exact"}
        if "exact" not in cost or not others:
            continue
        best = min(others, key=others.__getitem__)
        ratios[seed] = cost["exact"] / min(cost["exact"], others[best])
        if ratios[seed] > 1.5:
            behind.append([
                seed, made(seed).words, found["exact"].get("finished", found["exact"]["status"]),
                seconds(cost["exact"]), best, seconds(others[best]), f"{ratios[seed]:.1f}",
            ])  # fmt: skip
    values = np.array(list(ratios.values()))
    lines = [markdown(["seed", "problem", "ended with", "default, s", "best", "best, s", "ratio"], behind)]
    lines.append(
        f"{len(values)} problems: geometric mean {np.exp(np.log(values).mean()):.3f}, above 1.5 on "
        f"{(values > 1.5).mean():.1%}, above 3 on {(values > 3.0).sum()}, worst {values.max():.1f}."
    )
    return "\n".join(lines)


if __name__ == "__main__":
    first, stop, step, limit = (float(value) for value in sys.argv[1:5])
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from environment import limit_threads

    limit_threads(1)
    run_grid(range(int(first), int(stop), int(step)), 1e-4, limit, __import__("pathlib").Path(sys.argv[5]), sys.argv[6:] or None)
