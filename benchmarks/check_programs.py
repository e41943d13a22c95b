"""The campaign against the translation of convex programs: proven bounds of random ones are held against exact optima.

python benchmarks/check_programs.py [--count 1000] [--seed 0] [--jobs 2] [--kinds KIND ...] [--records FILE]
                                    [--only SEED ...]

``campaign/translation.py`` makes a program of every integer: linear ones with equations that depend on each other or
nearly do, quadratic ones whose matrix is not quite symmetric or not quite convex, all cones, closed forms of atoms,
attributes and parameters, integers by every door. Scales of rows, columns and values go from 2^-30 to 2^30. A program
is certified as it is, after ``problem.solve()``, or with a solver named, and a certificate with both bounds is written
to a file and read again.

A bound is *false* if it excludes the exact optimum (infinite where there is no point, or none is the best), and so is
any certificate of a program with integers. *denied* are programs with an optimum of which a solver's word is passed
on that they have none; *raised* counts errors of others, and errors other than ``InputError`` for integers; *ended*
programs that took more than their limits.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from campaign.translation import KINDS, Drawn, Exact, draw, solve
from campaign.workers import recorded, silent
from environment import limit_threads, surroundings
from tables import markdown

import convexmetric as cm
from convexmetric.errors import ConvexMetricError, InfeasibleError, InputError, UnboundedError

#: Limits of a program, beyond which its process is ended: bytes and seconds.
MEMORY, SECONDS = 2**31, 60.0
WAYS = ("without values", "solved before", "solver named")
OUTCOMES = ("both", "lower only", "upper only", "none", "refused", "denied", "raised", "ended")


@dataclass
class Record:
    """What became of a program: an outcome, what was said, and what is false of it."""

    number: int
    kind: str
    way: str = ""
    outcome: str = "ended"
    said: str = ""
    false: list[str] = field(default_factory=list)
    gap: float | None = None
    seconds: float | None = None


def excluded(optimum: tuple[Exact, Exact], lower: Any, upper: Any) -> str:
    """How bounds exclude an optimum that is in an interval; empty if they do not."""
    low, high = optimum
    # Written so that NaN is false as well.
    wrong = [
        f"{name} bound {bound!r} is beyond {float(end)!r}" + (f" by {float(abs(bound - end)):.2g}" if finite else "")
        for name, bound, end, holds in (("lower", lower, high, lower <= high), ("upper", upper, low, upper >= low))
        for finite in [math.isfinite(bound) and math.isfinite(end)]
        if not holds
    ]
    return "; ".join(wrong)


def judge(record: Record, drawn: Drawn, certificate: Any) -> None:
    """Hold a certificate, and its file, against the exact optimum."""
    lower, upper = certificate.lower_bound, certificate.upper_bound
    proven = math.isfinite(lower), math.isfinite(upper)
    record.outcome = ("none", "upper only", "lower only", "both")[2 * proven[0] + proven[1]]
    record.said = str(certificate)
    if drawn.optimum is None:
        record.false.append(f"a program with integers is certified: [{lower!r}, {upper!r}]")
        return
    record.false += filter(None, [excluded(drawn.optimum, lower, upper)])
    if all(proven):
        record.gap = (upper - lower) / float(max(1.0, abs(drawn.optimum[0])))
        with tempfile.TemporaryDirectory() as folder:
            cm.write_certificate(path := Path(folder) / "program.npz", certificate)
            verdict = cm.verify(path)
        if not verdict.accepted:
            record.false.append(f"the file is not accepted: {verdict.reason}")
        elif wrong := excluded(drawn.optimum, verdict.lower, verdict.upper):
            record.false.append(f"file: {wrong}")


def certified(seed: int) -> Record:
    """The record of a seed's program."""
    silent()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        name, of, drawn = draw(seed)
        record, start, raised = Record(seed, name, of.one(WAYS)), time.process_time(), ""
        try:
            if record.way == "solved before":
                solve(drawn.problem)
            options = {"solver": of.one(drawn.solvers)} if record.way == "solver named" else {}
            start = time.process_time()
            certificate = cm.certify_program(drawn.problem, **options)
            record.seconds = time.process_time() - start
            judge(record, drawn, certificate)
        except ConvexMetricError as error:
            record.outcome, raised = "refused", type(error).__name__
            record.said = str(error)
            if drawn.optimum is None and not isinstance(error, InputError):
                record.outcome = "raised"
            elif drawn.optimum is not None and isinstance(error, InfeasibleError | UnboundedError):
                sign = -1.0 if isinstance(error, UnboundedError) else 1.0
                where = sign * math.inf if drawn.problem.objective.NAME == "minimize" else -sign * math.inf
                record.outcome = "refused" if drawn.optimum[0] == where else "denied"
        except Exception as error:
            record.outcome, raised, record.said = "raised", type(error).__name__, str(error)
    record.said = f"{raised}: {record.said}" if raised else record.said
    return record


def table(records: list[Record]) -> str:
    rows = []
    for kind in [*KINDS, "all"]:
        own = [record for record in records if kind in (record.kind, "all")]
        counts = Counter(record.outcome for record in own)
        medians = [
            f"{np.median(found):.2g}" if found else "-"
            for found in ([value for value in values if value is not None]
                          for values in ((r.gap for r in own), (r.seconds for r in own)))
        ]  # fmt: skip
        if own:
            false = sum(bool(record.false) for record in own)
            rows.append([kind, len(own), false, *(counts[outcome] for outcome in OUTCOMES), *medians])
    return markdown(["kind", "tried", "FALSE", *OUTCOMES, "median gap", "median s"], rows)


def run(seeds: Iterable[int], jobs: int, path: Path | None = None) -> list[Record]:
    """Records of all seeds, those that are not in the file from processes with limits."""

    def ended(seed: int, why: str) -> Record:
        return Record(seed, list(KINDS)[seed % len(KINDS)], said=why)

    found = []
    for record, known in recorded(Record, certified, ended, seeds, jobs, (MEMORY, SECONDS), path):
        found.append(record)
        if record.false and not known:
            print(f"{record.number} {record.kind}, {record.way}: FALSE: {'; '.join(record.false)}", flush=True)
    return sorted(found, key=lambda record: record.number)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=1000, help="programs (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first program (default %(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default %(default)s)")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS), metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--records", type=Path, help="file of records; programs that are in it are not tried again")
    parser.add_argument("--only", type=int, nargs="+", help="seeds of single programs, which are printed")
    arguments = parser.parse_args()
    limit_threads(1)
    print(surroundings("cvxpy"), flush=True)
    here = [at for at, kind in enumerate(KINDS) if kind in arguments.kinds]
    seeds, seed = arguments.only or [], arguments.seed
    while arguments.only is None and len(seeds) < arguments.count:
        seeds += [seed] if seed % len(KINDS) in here else []
        seed += 1
    start = time.perf_counter()
    records = run(seeds, arguments.jobs, arguments.records)
    for seed in arguments.only or ():
        drawn = draw(seed)[2]
        print(f"\n{seed}: {drawn.problem}\noptimum: {[float(end) for end in drawn.optimum or ()]}")
        print(next(f"{record.way}: {record.outcome}: {record.said}" for record in records if record.number == seed))
    print(f"\n{len(records)} programs, {time.perf_counter() - start:.0f} s\n\n{table(records)}\n")
    for outcome in ("refused", "denied", "raised", "ended"):
        said = Counter((r.kind, r.said[:90]) for r in records if r.outcome == outcome)
        for (kind, words), count in said.most_common(12):
            print(f"{outcome} {count} times, {kind}: {words}")
    false = sorted(record.number for record in records if record.false)
    print(f"{len(false)} programs with false bounds: {' '.join(map(str, false))}")
    return int(bool(false))


if __name__ == "__main__":
    sys.exit(main())
