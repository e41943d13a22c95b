"""What a solve costs: the time of a pass, measured on some of the parts, and what is said of it beforehand."""

from __future__ import annotations

from time import perf_counter

from convexmetric.numerics.threads import shared_cores
from convexmetric.problem import MetricProblem
from convexmetric.solvers.runtime.baselines import some_parts
from convexmetric.solvers.runtime.requirements import readable_bytes

#: Seconds of an evaluation on a subset of the parts that is long enough to extrapolate; size of the first subset, and
#: its growth factor.
LONG_ENOUGH, FEW_PARTS, GROWTH = 0.05, 16, 4
#: Seconds up to which a whole evaluation is repeated: the first one may have loaded compiled code.
SHORT = 1.0
#: Distances in a pass from which a solve may take minutes, and seconds from which one is long.
MANY_DISTANCES, LONG_SOLVE = 25_000_000, 120.0
#: Evaluations of the objective that a solve usually takes to a certified gap of 1e-3: medians of 75 to 160 with most
#: solvers of rankings, and of hinges over positives and negatives.
USUAL_PASSES = 100


def pass_seconds(problem: MetricProblem, enough: float = LONG_ENOUGH) -> float:
    """Measure the seconds of one evaluation of the objective at the Euclidean metric.

    Subsets of the parts grow until one takes ``enough`` seconds, and the last two are extrapolated linearly to all
    parts. All parts are evaluated if that is short, or if the risk has no subsets.
    """
    parts = problem.risk.parts
    with shared_cores():
        count = min(FEW_PARTS, parts)
        some = some_parts(problem, count)
        if some is None:
            taken = _evaluation(problem)
            return min(taken, _evaluation(problem)) if taken < SHORT else taken
        # The first evaluation loads compiled code.
        _evaluation(some)
        before, now = (0, 0.0), (count, _evaluation(some))
        while now[1] < enough and now[0] < parts:
            count = min(GROWTH * count, parts)
            before, now = now, (count, _evaluation(some_parts(problem, count) or problem))
    slope = max(0.0, now[1] - before[1]) / (now[0] - before[0])
    return now[1] + slope * (parts - now[0])


def _evaluation(problem: MetricProblem) -> float:
    identity = problem.cone.identity()
    start = perf_counter()
    problem.value(identity)
    return perf_counter() - start


def costs_text(solver: str, pass_seconds: float | None, memory: float | None) -> str:
    """Return the text on the costs of a solve that begins with the solver of this name; None for an unknown cost."""
    known = []
    if pass_seconds is not None:
        known.append(f"one evaluation of the objective takes {in_words(pass_seconds)} (measured)")
    if memory is not None:
        known.append(f"{solver} needs about {readable_bytes(memory)} beside the data (estimated)")
    return "; ".join(known)


def long_solve(problem: MetricProblem) -> str | None:
    """Return the warning for a solve whose usual number of passes takes minutes; None for others."""
    if problem.risk.distances < MANY_DISTANCES:
        return None
    seconds = pass_seconds(problem)
    if USUAL_PASSES * seconds < LONG_SOLVE:
        return None
    return (
        f"this solve will take long: {USUAL_PASSES} evaluations of the objective, a usual number, take "
        f"{in_words(USUAL_PASSES * seconds)}. max_seconds=... returns the best certified metric by then"
    )


def in_words(seconds: float) -> str:
    """Format seconds with two digits, in h, min, s or ms."""
    for least, unit in ((3.6e3, "h"), (60.0, "min"), (1.0, "s")):
        if seconds >= 1.5 * least:
            return f"{seconds / least:.2g} {unit}"
    return f"{seconds:.2g} s" if seconds >= 0.1 else f"{1e3 * seconds:.2g} ms"
