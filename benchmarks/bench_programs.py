"""How wrong is a conic solver? Claimed against proven accuracy of CLARABEL and SCS on thirty-three convex programs.

python benchmarks/bench_programs.py [--small] [--json FILE] [NAME ...]

Each program (``convex_programs.py``) is solved with the default settings of CVXPY, and each answer is certified. With p
and d the primal and the dual objective that the solver reports, v the value p in the user's terms and p* the optimum:

*claimed*     ``|p - d| / max(1, |p*|)``, which would bound the error if the point were exactly feasible
*proven*      the relative gap of the bounds that ``certify_program`` proves from the answer
*error*       ``|v - p*| / max(1, |p*|)``, by the best proven bounds on p*: from any of the answers, or from CLARABEL's
              when ``certify_program`` asks it for 1e-11
*claim*       false if ``|v - p*| > |p - d|``
*tolerance*   missed if ``|v - p*| > eps (1 + |p*|)``, where eps is what the solver was asked for by default
*infeasible*  largest violation of a constraint by the values of the variables

A verdict is *open* where the bounds do not decide it, and nothing open is counted as false or missed.
"""

import argparse
import json
import tempfile
import time
import warnings
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import cvxpy as cp
import numpy as np
from convex_programs import PROGRAMS
from environment import add_threads_option, limit_threads, surroundings
from tables import markdown, seconds

import convexmetric as cm

#: Solvers and the tolerance that CVXPY or the solver itself sets if the user sets none.
TOLERANCES = {"CLARABEL": 1e-8, "SCS": 1e-5}


@dataclass
class Answer:
    """What a solver answers to a program, and what is proven from it.

    Attributes
    ----------
    solver, status : str
        Name of the solver, and what CVXPY makes of its report.
    value : float
        Objective in the user's terms, as the solver reports it.
    primal, dual : float
        The two objectives of the program that the solver was given.
    eps : float
        Tolerance that was asked for.
    violation : float
        Largest violation of a constraint by the values of the variables.
    seconds : float
        Time of the solver's call.
    lower, upper : float
        Proven bounds on the optimum; infinite where nothing is proven.
    proof_seconds, verify_seconds : float
        Times of ``certify_program`` and of ``verify``.
    file_bytes : int
        Size of the file that ``verify`` accepted.
    missing : str
        Why there is no proof; empty where there is one.
    """

    solver: str
    status: str
    value: float
    primal: float
    dual: float
    eps: float
    violation: float
    seconds: float
    lower: float = -np.inf
    upper: float = np.inf
    proof_seconds: float = 0.0
    verify_seconds: float = 0.0
    file_bytes: int = 0
    missing: str = ""


def solve(problem: cp.Problem, solver: str, **options: float) -> Answer:
    """Solve a program by the solver's defaults (or with options), and read from its report what it claims."""
    data, chain, inverse = problem.get_problem_data(solver, solver_opts=options)
    begin = time.perf_counter()
    raw = chain.solve_via_data(problem, data, solver_opts=options)
    elapsed = time.perf_counter() - begin
    problem.unpack_results(raw, chain, inverse)
    primal, dual = (raw["info"]["pobj"], raw["info"]["dobj"]) if solver == "SCS" else (raw.obj_val, raw.obj_val_dual)
    eps = max(options.values(), default=TOLERANCES[solver])
    value = float(problem.solution.opt_val)
    return Answer(solver, problem.status, value, primal, dual, eps, violation(problem), elapsed)


def violation(problem: cp.Problem) -> float:
    """Largest violation of a constraint or of an attribute of a variable (a sign, a bound, semidefiniteness)."""
    found = [np.max(constraint.violation()) for constraint in problem.constraints]
    found += [np.abs(variable.value - variable.project(variable.value)).max() for variable in problem.variables()]
    return float(max(found))


def certify(problem: cp.Problem, answer: Answer) -> None:
    """Enter the bounds that are proven from a solve by the same solver, and that the file of the proof is accepted."""
    begin = time.perf_counter()
    try:
        certificate = cm.certify_program(problem, solver=answer.solver)
    except cm.errors.ConvexMetricError as error:
        answer.missing = str(error)
        return
    answer.proof_seconds = time.perf_counter() - begin
    answer.lower, answer.upper = certificate.lower_bound, certificate.upper_bound
    answer.missing = certificate.missing
    if not answer.missing:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "proof.npz"
            cm.write_certificate(path, certificate)
            checked = cm.verify(path)
            answer.verify_seconds, answer.file_bytes = checked.seconds, path.stat().st_size
        if not checked.accepted or checked.lower < answer.lower or checked.upper > answer.upper:
            raise RuntimeError(f"the file of a proof proves less than its certificate: {problem}")


def gap(lower: float, upper: float) -> float:
    """Relative gap of two bounds, infinite if one of them is."""
    return (upper - lower) / max(1.0, abs(lower), abs(upper)) if np.isfinite([lower, upper]).all() else np.inf


def distances(value: float, lower: float, upper: float) -> tuple[float, float]:
    """Smallest and largest distance of a value from an optimum between two bounds."""
    return max(0.0, lower - value, value - upper), max(upper - value, value - lower)


def verdict(answer: Answer, least: float, most: float, lower: float, upper: float) -> str:
    """Whether the value is within an allowed distance of the optimum: ``kept``, ``false`` or ``open``.

    The distance is allowed to be between ``least`` and ``most``, as it may depend on the optimum.
    """
    near, far = distances(answer.value, lower, upper)
    return "false" if near > most else "kept" if far <= least else "open"


def bounds(problem: cp.Problem) -> tuple[float, float]:
    """Proven bounds of a program that nobody has solved, infinite where nothing is proven."""
    try:
        certificate = cm.certify_program(problem)
    except cm.errors.ConvexMetricError:
        return -np.inf, np.inf
    return certificate.lower_bound, certificate.upper_bound


def judged(
    name: str, problem: cp.Problem, answers: list[Answer], known: tuple[float, float] = (-np.inf, np.inf)
) -> list[dict]:
    """The answers to one program as records, each judged by the best bounds of all and by those that are known."""
    lower = max(known[0], *(answer.lower for answer in answers))
    upper = min(known[1], *(answer.upper for answer in answers))
    if lower > upper:
        raise RuntimeError(f"bounds that are proven from two answers cross: {lower} > {upper} for {name}")
    # |p*| is between these.
    least, largest = 0.0 if lower <= 0.0 <= upper else min(abs(lower), abs(upper)), max(abs(lower), abs(upper))
    sense = 1.0 if isinstance(problem.objective, cp.Minimize) else -1.0
    records = []
    for answer in answers:
        claimed = abs(answer.primal - answer.dual)
        near, far = distances(answer.value, lower, upper)
        records.append(
            {
                "program": name,
                **shape(problem),
                **asdict(answer),
                "best_lower": lower,
                "best_upper": upper,
                "claimed_gap": claimed / max(1.0, least),
                "proven_gap": gap(answer.lower, answer.upper),
                "error_at_least": near / max(1.0, largest),
                "error_at_most": far / max(1.0, least),
                "claim": verdict(answer, claimed, claimed, lower, upper),
                "tolerance": verdict(answer, answer.eps * (1.0 + least), answer.eps * (1.0 + largest), lower, upper),
                "better_than_possible": answer.value < lower if sense > 0 else answer.value > upper,
            }
        )
    return records


def shape(problem: cp.Problem) -> dict:
    """Variables n, rows m and cones of the program that CLARABEL is given."""
    data, _, _ = problem.get_problem_data(cp.CLARABEL)
    dims = data["dims"]
    parts = [f"{kind}{count}" for kind, count in (("z", dims.zero), ("l", dims.nonneg)) if count]
    for kind, sizes in (("q", dims.soc), ("s", dims.psd)):
        parts += [f"{np.sum(np.equal(sizes, size))}x{kind}{size}" for size in sorted(set(sizes))]
    parts += [f"{count}x{kind}" for kind, count in (("e", dims.exp), ("p", len(dims.p3d))) if count]
    quadratic = data.get("P") is not None and data["P"].nnz > 0
    return {"n": data["A"].shape[1], "m": data["A"].shape[0], "cones": " ".join(parts), "quadratic": quadratic}


def records(
    names: list[str], solvers: list[str], small: bool = False, size: int | None = None, seed: int | None = None
) -> list[dict]:
    """One record for each program, of its own or another size and seed, and each solver."""
    found = []
    for name in names:
        program = PROGRAMS[name]
        problem, fresh = (replace(program, size=size or program.size).problem(small, seed) for _ in range(2))
        answers = []
        for solver in solvers:
            answers.append(solve(problem, solver))
            certify(problem, answers[-1])
        found += judged(name, problem, answers, bounds(fresh))
    return found


def digits(lower: float, upper: float) -> str:
    """An interval by its bounds, to the first digit or two in which they differ."""
    width = (upper - lower) / max(abs(lower), abs(upper))
    count = int(np.clip(1.0 - np.floor(np.log10(width)), 3, 15)) if np.isfinite(width) else 6
    return f"[{lower:.{count}g}, {upper:.{count}g}]"


def error(record: dict) -> str:
    """The error as far as it is known."""
    near, far = record["error_at_least"], record["error_at_most"]
    return f"< {far:.0e}" if near == 0.0 else f"{near:.1e}" if far < 1.1 * near else f"{near:.0e} to {far:.0e}"


def tables(found: list[dict]) -> str:
    """The programs, the answers, and how many claims are false."""
    solvers = list(dict.fromkeys(record["solver"] for record in found))
    programs = list(dict.fromkeys(record["program"] for record in found))
    at = {(record["program"], record["solver"]): record for record in found}
    first = [at[name, solvers[0]] for name in programs]
    sizes = [
        [
            r["program"], r["n"], r["m"], r["cones"] + " + quadratic" * r["quadratic"],
            digits(r["best_lower"], r["best_upper"]),
        ]
        for r in first
    ]  # fmt: skip
    parts = [markdown(["program", "n", "m", "cones", "proven optimum"], sizes)]
    for solver in solvers:
        rows = []
        for name in programs:
            r = at[name, solver]
            rows.append([
                name + " (inaccurate)" * (r["status"] != cp.OPTIMAL), seconds(r["seconds"]), f"{r['claimed_gap']:.0e}",
                error(r), f"{r['proven_gap']:.0e}", seconds(r["proof_seconds"]), seconds(r["verify_seconds"]),
                r["claim"], {"false": "missed"}.get(r["tolerance"], r["tolerance"]), f"{r['violation']:.0e}",
            ])  # fmt: skip
        header = [solver, "s", "claimed", "error", "proven", "proof s", "verify s", "claim", "tolerance", "infeasible"]
        parts.append(markdown(header, rows))
    parts += [summary(solver, [at[name, solver] for name in programs]) for solver in solvers]
    return "\n\n".join(parts)


def summary(solver: str, found: list[dict]) -> str:
    """The counts over the programs, in a sentence or two."""
    counts = {kind: sum(record[kind] == "false" for record in found) for kind in ("claim", "tolerance")}
    by_far = sum(r["claim"] == "false" and r["error_at_least"] > 10.0 * r["claimed_gap"] for r in found)
    open_ones = sum(record["claim"] == "open" for record in found)
    unproven = [record["program"] for record in found if record["missing"]]
    return (
        f"{solver}: of {len(found)} answers the claimed gap is false for {counts['claim']} "
        f"({100 * counts['claim'] / len(found):.0f} %), for {by_far} by more than ten times, and open for {open_ones}; "
        f"{counts['tolerance']} miss the tolerance of {found[0]['eps']:.0e}. "
        f"{sum(record['violation'] > 1e-8 for record in found)} violate a constraint by more than 1e-8, "
        f"and {sum(record['better_than_possible'] for record in found)} have a value that no feasible point has. "
        f"Not proven: {', '.join(unproven) or 'none'}."
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs (default all)")
    parser.add_argument("--solvers", nargs="+", choices=TOLERANCES, default=list(TOLERANCES))
    parser.add_argument("--small", action="store_true", help="the small variants that the tests solve")
    parser.add_argument("--size", type=int, help="size of the programs in place of their own: nodes, rows, assets")
    parser.add_argument("--seed", type=int, help="other programs of the same kinds")
    parser.add_argument("--json", type=Path, help="write all records to this file")
    add_threads_option(parser)
    arguments = parser.parse_args()
    if unknown := set(arguments.names) - set(PROGRAMS):
        parser.error(f"no programs {sorted(unknown)}; there are {', '.join(PROGRAMS)}")
    limit_threads(arguments.threads)
    warnings.simplefilter("ignore")
    print(surroundings("cvxpy", "clarabel", "scs") + "\n")
    found = records(
        arguments.names or list(PROGRAMS), arguments.solvers, arguments.small, arguments.size, arguments.seed
    )
    print(tables(found))
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
