"""Extreme problems of all blocks through `cm.solve`: no bound may be false, no exception raw, no gap unannounced.

python benchmarks/check_solves.py [--cases 1000] [--first 0] [--seed 0] [--jobs 1] [--limit 3] [--records FILE]
                                 [--only NUMBER ...] [--show OUTCOME ...]

Every case is a small problem of a paper (`campaign/papers.py`), or one composed of any blocks at random
(`campaign/composed.py`), whose data are moved, scaled and doubled, or whose weights and margins are extreme, by up to
300 orders of magnitude. It has a *twin*: the same problem on well-scaled data, whose optimum is exactly a known
multiple of the other's. Translations and scalings are chosen so that no digit is lost: data are multiples of 2^-20 and
of small range, offsets are integers, scales have a few bits. The solutions of the case and of its twin become
certificates, whose bounds are proven in exact arithmetic, and they judge the bounds of the case as fractions, without
tolerance; with one where a file states a rounded problem (the root of a prior). Of constrained problems, which have no
certificate, the twin without constraints proves a lower bound. Where nothing is proven, the bounds of the twin and
the metric that CLARABEL finds must not contradict those of the case by more than 1e-6 of their size (`DOUBT`).

A solve is given `--limit` seconds. A case fails if

* it raises anything but an error of the package that names an argument and what to do (raw exception, unclear message);
* its bounds cross (crossed), exclude the proven optimum (false), or an independent solve (contradicted);
* its gap is above the tolerance without a warning, or with the status "optimal" (unannounced);
* it takes more than 1.2 times the limit and 2 s of the processor (over limit), or never ends (hung);
* the proven gap is 100 times its tolerance where the printed one is within it and no warning says so, or the file is
  not accepted when it is read again (weak proof).
"""

from __future__ import annotations

import argparse
import functools
import os
import re
import resource
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import cvxpy as cp
import numba
import numpy as np
from campaign.draws import KINDS, Case
from campaign.families import FAMILIES, drawn
from campaign.workers import peak_from_here, recorded, silent
from environment import limit_threads, surroundings
from tables import markdown

import convexmetric as cm
from convexmetric.errors import ConvexMetricError, CrossedBoundsError, GapWarning, InfeasibleError, InputError

#: Bytes beyond those of the parent that a case may take.
MEMORY = 2 * 2**30
#: Seconds of the processor that a solve may take, in units of its limit and beyond that; and limits on the clock for a
#: case, which is a few solves, beyond which it is ended.
SHARE, GRACE, HUNG = 1.2, 2.0, 40.0
#: By how much of its size a bound may contradict an independent solve that proves nothing; and how much wider a proven
#: gap may be than the tolerance.
DOUBT, WEAK = 1e-6, 100.0
#: Words of which a refusal must have one: what it is about, and what to do about it.
ARGUMENT = re.compile(
    r"\b(X|Y|y|C|A|G|L|M|l|u|reg|risk|regularizer|margin|kernel|alpha|beta|gamma|prior|limit|weight|triplets?|pairs|"
    r"queries|relevant|push|ridge|constraints?|extra_objective|n_neighbors|labels\w*)\b"
)
FIX = re.compile(
    r"\b(rescale|must|drop|raise|lower|pass|give|keep|use|remove|divide|multiply|choose|take|allow|leave|add|scale)\b"
)
#: Arguments that only problems with constraints or terms of a user's own have; and claims that there is no optimum.
USERS = re.compile(r"\b(constraints|extra_objective)\b")
NONE = re.compile(r"contradict each other|without end|without bound|unbounded|no metric")
NUMBER = r"[-+]?[0-9]+[.]?[0-9]*(e[-+]?[0-9]+)?"

OUTCOMES = ("optimal", "limit", "refused")
FAILURES = (
    "false", "contradicted", "crossed", "raw exception", "unclear message", "unannounced", "over limit", "hung",
    "weak proof",
)  # fmt: skip


@dataclass
class Record:
    """What became of a case.

    ``findings`` are pairs of a failure and what there is to say of it; ``judged`` says by what bounds were judged, and
    ``unproven`` why no certificate could be written; ``weaker`` that one is, by its own warning, weaker than the
    solution. ``seconds`` are those of the processor, ``share`` in units of the
    limit, and ``peak`` the bytes by which memory grew.
    """

    outcome: str = ""
    said: str = ""
    findings: list[tuple[str, str]] = field(default_factory=list)
    judged: list[str] = field(default_factory=list)
    unproven: str = ""
    weaker: bool = False
    seconds: float = 0.0
    share: float = 0.0
    peak: int = 0
    number: int = 0
    family: str = ""
    kind: str = ""
    notes: str = ""

    def fails(self, failure: str, said: str) -> None:
        self.findings.append((failure, said))


# Solving --------------------------------------------------------------------------------------------------------------


@dataclass
class Solved:
    """A problem, its solution, and whether its gap was warned about."""

    problem: Any
    solution: Any
    warned: bool


def spent() -> float:
    """Processor seconds of this process and its children."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def solved(make: Callable[[], Any], limit: float, record: Record, whose: str = "", **options: Any) -> Solved:
    """A solve within its limit; what the clock of the processor says of it goes into the record."""
    problem, start = make(), spent()
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            solution = cm.solve(problem, max_seconds=limit, **options)
    finally:
        seconds = spent() - start
        if not whose:
            record.seconds, record.share = seconds, seconds / limit
        if seconds > SHARE * limit + GRACE:
            record.fails("over limit", f"{whose}{seconds:.1f} s of the processor, of {limit:g} s")
    return Solved(problem, solution, any(issubclass(warning.category, GapWarning) for warning in caught))


def refused(case: Case, error: ConvexMetricError, record: Record, whose: str = "") -> None:
    """An error of the package, which must name an argument and what to do; figures are left out of what is said."""
    said = f"{type(error).__name__}: {re.sub(NUMBER, '#', str(error))[:160]}"
    if not whose:
        record.outcome, record.said = "refused", said
    named = ARGUMENT.search(str(error)) and FIX.search(str(error))
    if isinstance(error, CrossedBoundsError):
        record.fails("crossed", f"{whose}{error}")
    elif not named or (case.relaxed is None and USERS.search(str(error))):
        record.fails("unclear message", f"{whose}{said}")


def raw(error: BaseException, record: Record) -> None:
    """Anything else that came out: where from."""
    places = traceback.extract_tb(error.__traceback__)
    place = [one for one in places if f"{os.sep}convexmetric{os.sep}" in one.filename][-1:] or places[-1:]
    said = f"{type(error).__name__} at {Path(place[0].filename).name}:{place[0].lineno}: {error}"
    record.fails("raw exception", said[:300])


def attempt(case: Case, limit: float, record: Record) -> Solved | ConvexMetricError | None:
    """Solve a case, and say what is wrong whatever its optimum is."""
    try:
        found = solved(case.make, limit, record)
    except ConvexMetricError as error:
        refused(case, error, record)
        return error
    except BaseException as error:
        record.outcome = "refused"
        raw(error, record)
        return None
    solution = found.solution
    lower, upper = solution.lower_bound, solution.upper_bound
    record.outcome = "optimal" if solution.status == "optimal" else "limit"
    record.said = f"{solution.status} by {solution.solver}: [{lower!r}, {upper!r}], gap {solution.gap:.1e}"
    if not lower <= upper:
        record.fails("crossed", record.said)
    wide = not (solution.gap <= solution.tol or upper - lower <= solution.atol)
    if (wide and solution.status == "optimal") or ((wide or solution.status != "optimal") and not found.warned):
        record.fails("unannounced", record.said)
    return found


# Judging --------------------------------------------------------------------------------------------------------------


def proven(found: Solved, record: Record, whose: str = "") -> tuple[Fraction | None, Fraction | None]:
    """Bounds that exact arithmetic proves from a solution, where it proves any; the file is read again."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "case.npz"
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                written = cm.write_certificate(path, found.problem, solution=found.solution)
        except ConvexMetricError as error:
            record.unproven = record.unproven or re.sub(NUMBER, "#", str(error))[:110]
            return None, None
        verdict = cm.verify(path)
    if not verdict.accepted or (verdict.lower, verdict.upper) != (written.lower, written.upper):
        record.fails("weak proof", f"{whose}the file that was written is not accepted: {verdict.reason}")
    low, high, solution = written.lower, written.upper, found.solution
    # Of an optimum near zero a share of what the objective is elsewhere.
    size = max(abs(solution.lower_bound), abs(solution.upper_bound), 1e-9 * (elsewhere(found.problem) or 0.0))
    said_so = any(issubclass(warning.category, GapWarning) for warning in caught)
    record.weaker = record.weaker or said_so
    if (
        not said_so
        and solution.status == "optimal"
        and high - low > Fraction(WEAK * max(solution.tol * size, solution.atol))
    ):
        said = f"{whose}proven [{float(low)!r}, {float(high)!r}], printed [{solution.lower_bound!r}, "
        record.fails("weak proof", f"{said}{solution.upper_bound!r}]")
    return low, high


def elsewhere(problem: Any) -> float | None:
    """The size of the objective at the metric zero or, where it is infinite there, at the identity; None if at both."""
    with np.errstate(all="ignore"):
        values = [float(problem.value(M)) for M in (problem.cone.zeros(), problem.cone.identity())]
    return next((abs(value) for value in values if np.isfinite(value)), None)


def excluded(lower: float, upper: float, low: Any, high: Any, slack: Fraction = Fraction(0)) -> str:
    """How bounds contradict others; empty if they do not, but for a share of their size."""
    for name, bound, other, side in (("lower", lower, high, 1), ("upper", upper, low, -1)):
        if other is not None and np.isfinite(bound):
            beyond = side * (Fraction(bound) - other)
            if beyond > slack * max(abs(Fraction(bound)), abs(other)):
                return f"{name} bound {bound!r} is beyond {_short(other)} by {_short(beyond)}"
    return ""


def _short(value: Fraction) -> str:
    try:
        return repr(float(value))
    except OverflowError:
        return "what no float holds"


def times(bound: Fraction | None, factor: Fraction) -> Fraction | None:
    return None if bound is None else factor * bound


def judge(case: Case, found: Solved, limit: float, record: Record) -> None:
    """Hold the bounds of a case against proven ones, or against those of independent solves."""
    lower, upper = found.solution.lower_bound, found.solution.upper_bound

    def held(by: str, low: Any, high: Any, slack: Fraction = case.slack, failure: str = "") -> None:
        if low is None and high is None:
            return
        record.judged.append(by)
        wrong = excluded(lower, upper, low, high, slack)
        if wrong:
            failure = failure or ("contradicted" if slack else "false")
            record.fails(failure, f"{record.said}: {wrong} ({by})")

    own = proven(found, record)
    held("own proof", *own)
    other = None
    if case.twin is not None:
        try:
            other = solved(case.twin, limit, record, "twin: ")
        except ConvexMetricError as error:
            refused(case, error, record, "twin: ")
            if denies(error) and np.isfinite([lower, upper]).all():
                record.fails("false", f"{record.said}, but of the twin it is said to have no optimum: {error}")
    if other is not None:
        low, high = proven(other, record, "twin: ")
        held("twin's proof", times(low, case.factor), times(high, case.factor))
        wrong = excluded(other.solution.lower_bound, other.solution.upper_bound, low, high, case.slack)
        if wrong:
            said = f"twin: {other.solution.status} by {other.solution.solver}: {wrong}"
            record.fails("contradicted" if case.slack else "false", said)
    if case.relaxed is not None:
        # Without its constraints it may have no optimum.
        with suppress(ConvexMetricError):
            relaxed = solved(case.relaxed, limit, record, "relaxed twin: ")
            held("relaxed twin's proof", times(proven(relaxed, record, "relaxed twin: ")[0], case.factor), None)
    if not any("proof" in by for by in record.judged):
        for by, low, high in doubts(case, found, other):
            held(by, low, high, Fraction(DOUBT), "contradicted")


def doubts(case: Case, found: Solved, other: Solved | None) -> Iterator[tuple[str, Fraction | None, Fraction | None]]:
    """Bounds that prove nothing: the twin's, and the value at CLARABEL's metric."""
    if other is not None:
        bounds = other.solution.lower_bound, other.solution.upper_bound
        yield "twin's bounds", *(_scaled(bound, case.factor) for bound in bounds)
    problem = found.problem if other is None else other.problem
    # What CLARABEL makes of an extreme statement is nobody's failure here.
    with suppress(Exception), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        statement = problem.statement()
        statement.problem.solve(solver=cp.CLARABEL)
        M = problem.cone.project(np.asarray(statement.M.value, dtype=np.float64))
        if statement.problem.status == cp.OPTIMAL and problem.regularizer.violation(M, problem.cone) <= 0.0:
            yield (
                "CLARABEL's metric",
                None,
                _scaled(problem.value(M), case.factor if other is not None else Fraction(1)),
            )


def _scaled(bound: float, factor: Fraction) -> Fraction | None:
    return factor * Fraction(bound) if np.isfinite(bound) else None


def denies(error: ConvexMetricError) -> bool:
    """Whether an error says of a problem that it has no optimum."""
    return isinstance(error, InfeasibleError) or (isinstance(error, InputError) and bool(NONE.search(str(error))))


def denied(case: Case, error: ConvexMetricError, limit: float, record: Record) -> None:
    """A claim that there is no optimum holds for the twin, too, or is false; so is one that no metric is feasible."""
    if not denies(error):
        return
    if case.relaxed is None and not isinstance(error, InfeasibleError) and "end" not in str(error):
        if elsewhere(case.make()) is not None:
            record.fails("false", f"no metric is said to be feasible, but one is: {error}")
        return
    if case.twin is not None:
        try:
            other = solved(case.twin, limit, record, "twin: ").solution
        except ConvexMetricError:
            return
        if np.isfinite([other.lower_bound, other.upper_bound]).all():
            bounds = f"[{other.lower_bound!r}, {other.upper_bound!r}]"
            record.fails("false", f"it is said to have no optimum, but its twin has, in {bounds}: {error}")


# Cases ----------------------------------------------------------------------------------------------------------------


def tried(seed: int, limit: float, number: int) -> Record:
    """Solve the case of a number, and judge it."""
    silent()
    family, kind, case, notes = drawn(seed, number)
    record, peak = Record(number=number, family=family, kind=kind, notes="; ".join(notes)), peak_from_here()
    found = attempt(case, limit, record)
    record.peak = peak()
    try:
        if isinstance(found, Solved):
            judge(case, found, limit, record)
        elif isinstance(found, ConvexMetricError):
            denied(case, found, limit, record)
    except BaseException as error:
        raw(error, record)
    return record


def campaign(
    numbers: Iterable[int], seed: int, jobs: int, limit: float, path: Path | None = None
) -> Iterator[tuple[Record, bool]]:
    """Records of cases, and whether each was in the file."""

    def ended(number: int, why: str) -> Record:
        family, kind, _, notes = drawn(seed, number)
        record = Record("refused", number=number, family=family, kind=kind, notes="; ".join(notes))
        record.fails("hung" if why.startswith("killed") else "raw exception", why)
        return record

    limits = MEMORY, HUNG * limit
    return recorded(Record, functools.partial(tried, seed, limit), ended, numbers, jobs, limits, path)


# The report -----------------------------------------------------------------------------------------------------------


def table(title: str, keys: Iterable[str], records: list[Record], key: Callable[[Record], str]) -> str:
    rows = []
    for name in [*keys, "all"]:
        own = [record for record in records if name in ("all", key(record))]
        outcomes = Counter(record.outcome for record in own)
        failures = Counter(failure for record in own for failure in {failure for failure, _ in record.findings})
        proof = sum(any("proof" in by for by in record.judged) for record in own)
        counts = [outcomes[outcome] for outcome in OUTCOMES] + [proof, sum(bool(record.judged) for record in own)]
        counts += [failures[failure] for failure in FAILURES]
        worst = max((record.share for record in own), default=0.0), max((record.peak for record in own), default=0)
        rows.append([name, len(own), *counts, f"{worst[0]:.2f}", f"{worst[1] / 2**20:.0f}"])
    return markdown([title, "cases", *OUTCOMES, "proven", "judged", *FAILURES, "worst s / limit", "peak MB"], rows)


def tell(record: Record, seed: int, limit: float) -> None:
    """One case, its failures, and how to make it again."""
    print(f"{record.number} {record.family}, {record.kind} ({record.notes}): {record.outcome} [{record.seconds:.1f} s]")
    for failure, said in record.findings or [("", record.said)]:
        print(f"    {failure}: {said}" if failure else f"    {said}; judged by {', '.join(record.judged) or 'nothing'}")
    if record.findings:
        again = f"--seed {seed} --limit {limit:g} --only {record.number}"
        print(f"    python benchmarks/check_solves.py {again}", flush=True)


def warm_up(seed: int, limit: float) -> None:
    """Load compiled loops once, before the first fork; whatever fails here fails again in a process of its own."""
    for number in range(len(FAMILIES)):
        try:
            solved(drawn(seed, number)[2].make, limit, Record())
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="number to begin with")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=float, default=3.0, help="seconds that a solve is given (default %(default)s)")
    parser.add_argument(
        "--records", type=Path, help="file of records of one seed and limit; cases that are in it are not run again"
    )
    parser.add_argument("--only", type=int, nargs="+", help="numbers of single cases")
    parser.add_argument("--family", help="cases of one family only")
    parser.add_argument("--show", nargs="+", default=[], choices=OUTCOMES, help="outcomes whose cases are told as well")
    arguments = parser.parse_args()
    # Of numba's layers of threads OpenMP does not survive a fork.
    numba.config.THREADING_LAYER = "workqueue"
    limit_threads(1)
    print(surroundings(), flush=True)
    of = arguments.seed, arguments.limit
    numbers = list(arguments.only or range(arguments.first, arguments.first + arguments.cases))
    if arguments.family:
        numbers = [number for number in numbers if drawn(arguments.seed, number)[0] == arguments.family]
    records, known, start = list[Record](), 0, time.perf_counter()
    if not arguments.only:
        warm_up(*of)
    for record, before in campaign(numbers, arguments.seed, arguments.jobs, arguments.limit, arguments.records):
        records.append(record)
        known += before
        if not before and (record.findings or record.outcome in arguments.show or arguments.only):
            tell(record, *of)
    print(
        f"\n{len(numbers)} cases, {known} of them known, {time.perf_counter() - start:.0f} s, "
        f"{spent():.0f} s of the processor\n"
    )
    print(table("family", FAMILIES, records, lambda record: record.family), "\n")
    print(table("kind", KINDS, records, lambda record: record.kind), "\n")
    for title, said in (
        ("Refusals:", [record.said for record in records if record.outcome == "refused" and record.said]),
        ("Unproven:", [record.unproven for record in records if record.unproven]),
    ):
        print("\n".join([title, *(f"{count:5d}  {message}" for message, count in Counter(said).most_common())]), "\n")
    weaker = sum(record.weaker for record in records)
    print(f"{weaker} proofs are weaker than their solutions, and said to be.")
    failed = sorted(record.number for record in records if record.findings)
    print(f"{len(failed)} cases failed: {' '.join(map(str, failed))}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
