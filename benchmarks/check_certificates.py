"""The campaign against the checker: files of all families, mutated or extreme; nothing false may be proven.

python benchmarks/check_certificates.py [--cases 2000] [--first 0] [--seed 0] [--jobs 2] [--keep FOLDER] [--only CASE]
                                       [--attacks]

Half of the cases start from certificates of solved problems of every family, half from those of the campaign of solves
(scales from 1e-150 to 1e150, offsets to 1e8, constant and repeated columns, one query, weights to 1e300), whose twins
bound the optimum. ``campaign/mutations.py`` and ``campaign/attacks.py`` list what is done to them: other hints, claims,
statements and data, archives that two readers read differently, files that are dear to check, dual points just beyond
what theorems allow, parts that do not belong together. Every file goes through ``checker.main`` in a forked process
with a memory limit and a time limit, some through ``convexmetric verify``, and some are held against an instance that
they are not about.

A case is *false* if the kernel proves more than ``tests/certificates/second_checker.py``, which shares no code with it
and reckons in fractions, if one of them refuses what the other does not, if a bound excludes the known optimum of an
unchanged statement or a lower one the objective at some metric, if bounds cross, if claims beyond the proof are
accepted, if both read different things in a file, or if one passes for an instance that it is not about. Other findings
are tracebacks, exit codes but 0, 1 and 2, control characters in the output, printed bounds better than proven ones,
keys that are passed over, and files that take too much memory or time: more than a second of the processor and 10 ns
for each operation that was estimated. *Rounding* are claims that hold by less than the kernel's radii, *container*
damaged archives that only one of the two minds.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from campaign.attacks import ATTACKS
from campaign.judge import AGREED, OF_FILES, Campaign, Record, written
from campaign.problems import solved
from campaign.workers import in_workers
from environment import limit_threads, surroundings
from tables import markdown

#: How many findings of a kind are shown.
SHOWN = 5
OUTCOMES = ("accepted", "not proven", "refused")
KINDS = ("false", "tracebacks", "other findings")


def run(campaign: Campaign, cases: Iterable[int], jobs: int) -> list[Record]:
    """The records of all cases."""
    records = []
    # A case runs three commands at most, each for so many seconds of the processor, and the judges.
    for case, found in in_workers(campaign, list(cases), jobs, campaign.memory, 10.0 * campaign.seconds):
        if isinstance(found, str):
            problem, mutation, wholes = campaign.made(case)
            if campaign.keep is not None:
                written(campaign.keep, case, wholes)
            found = Record(case, problem.name, mutation, "died", findings=(found,))
        records.append(found)
    return sorted(records, key=lambda record: record.case)


def table(records: list[Record], what: str, key: Callable[[Record], str]) -> str:
    """Counts by problem or mutation."""
    rows = []
    for name in [*sorted({key(record) for record in records}), "all"]:
        own = [record for record in records if name in ("all", key(record))]
        outcomes, judged = Counter(record.outcome for record in own), Counter(record.judged for record in own)
        kinds = Counter(kind for record in own for kind in {_kind(finding) for finding in record.findings})
        counts = [outcomes[one] for one in OUTCOMES] + [judged[one] for one in AGREED[3:]]
        worst = f"{max(r.seconds for r in own):.2f}", f"{max(r.peak for r in own) / 2**20:.0f}"
        rows.append([name, len(own), *counts, *(kinds[kind] for kind in KINDS), *worst])
    return markdown([what, "cases", *OUTCOMES, *AGREED[3:], *KINDS, "worst s", "peak MB"], rows)


def _kind(finding: str) -> str:
    if finding.startswith("FALSE") or finding == "claims beyond the proof":
        return "false"
    return "tracebacks" if "traceback" in finding else "other findings"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0, help="number of the first case (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="processes (default %(default)s)")
    parser.add_argument("--keep", type=Path, help="folder for the files of findings")
    parser.add_argument("--attacks", action="store_true", help="attacks alone, of no other mutation")
    parser.add_argument("--only", type=int, help="write the file of one case, and print what becomes of it")
    given = parser.parse_args()
    limit_threads(1)
    print(surroundings())
    problems, mutations = solved(), ATTACKS if given.attacks else OF_FILES | ATTACKS
    with tempfile.TemporaryDirectory() as folder:
        campaign = Campaign(problems, given.seed, Path(folder), keep=given.keep, mutations=mutations)
        if given.only is not None:
            paths = written(given.keep or Path(), given.only, campaign.made(given.only)[2])
            print(f"{' '.join(map(str, paths))}\n{run(campaign, [given.only], 1)[0]}")
            return 0
        start = time.perf_counter()
        records = run(campaign, range(given.first, given.first + given.cases), given.jobs)
    seconds = time.perf_counter() - start
    print(f"{len(records)} cases of {len(problems)} problems and extreme ones, seed {given.seed}, {seconds:.0f} s")
    print(f"\n{table(records, 'problem', lambda r: r.problem)}\n\n{table(records, 'mutation', lambda r: r.mutation)}\n")
    bad, seen = [record for record in records if record.findings], Counter[str]()
    print(f"{len(bad)} cases with findings")
    for record in bad:
        for finding in record.findings:
            seen[finding[:60]] += 1
            if seen[finding[:60]] <= SHOWN:
                print(f"{record.case}: {record.problem}; {record.mutation}: {finding}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
