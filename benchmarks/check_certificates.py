"""The campaign against the checker: files of all families, mutated or extreme; nothing false may be proven.

python benchmarks/check_certificates.py [--cases 2000] [--first 0] [--seed 0] [--jobs 2] [--keep FOLDER] [--only CASE]
                                       [--attacks] [--agreement]

Half of the cases start from certificates of solved problems of every family, half from extreme problems on a line
(scales from 1e-150 to 1e150, offsets to 1e8, constant and repeated columns, one query, weights to 1e300), whose optima
are computed with fractions. ``campaign/mutations.py`` lists what is done to them, ``campaign/attacks.py`` attacks:
files that are dear to check, archives that two readers read differently, dual points just beyond what theorems allow,
parts that do not belong together. Every file goes through ``checker.main`` in a forked process with a memory limit and
a time limit, some through ``convexmetric verify``, and some are held against an instance that they are not about.

A case is *false* if a proven lower bound exceeds the optimum (the exact one; of solved problems the upper end of the
true certificate; of changed statements in several unknowns the least of some exact values of the objective), if a
proven upper bound is below it, if bounds cross, if claims beyond the proof are accepted, if the checker and
the second checker read different things in a file, or if one passes for an instance that it is not about. Other
findings are tracebacks, exit codes but 0, 1 and 2, control characters in the output, printed bounds better than proven
ones, keys that are passed over, and files that take too much memory or time: more than a second of the processor and
10 ns for each operation that was estimated. With ``--agreement`` every file goes through the kernel and through
``tests/certificates/second_checker.py``, and what the one proves must be within the exact bounds of the other; the
first cases are then the files of the corpus, and one in five is a certificate in parts (``campaign/parts.py``).
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path

from campaign.agreement import AGREED, Agreement
from campaign.attacks import ATTACKS
from campaign.judge import Campaign, Record, written
from campaign.mutations import MUTATIONS
from campaign.problems import solved
from campaign.workers import in_workers
from environment import limit_threads, surroundings
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from tables import markdown

#: How many findings of a kind are shown.
SHOWN = 5
OUTCOMES = ("accepted", "not proven", "refused")
HEADER = (*OUTCOMES, "judged by optimum", "by values", "false", "tracebacks", "other findings", "worst s", "peak MB")


def run(campaign: Campaign, cases: Iterable[int], jobs: int) -> list[Record]:
    """The records of all cases."""
    cases, records = list(cases), []
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, disable=not sys.stderr.isatty(), transient=True) as progress:
        task = progress.add_task("cases", total=len(cases))
        # A case runs three commands at most, each for so many seconds of the processor, and the judges.
        for case, found in in_workers(campaign, cases, jobs, campaign.memory, 10.0 * campaign.seconds):
            if isinstance(found, str):
                problem, mutation, wholes = campaign.made(case)
                if campaign.keep is not None:
                    written(campaign.keep, case, wholes)
                found = Record(case, problem.name, "", mutation, "died", "", "", (found,), 0.0, 0)
            records.append(found)
            progress.advance(task)
    return sorted(records, key=lambda record: record.case)


def agreement(campaign: Campaign, cases: Iterable[int], jobs: int) -> int:
    """Both checkers on all cases; how many they disagree about."""
    corpus = sorted((Path(__file__).resolve().parents[1] / "tests" / "corpus").glob("*/*.npz"))
    said = dict(in_workers(Agreement(campaign, corpus), list(cases), jobs, 2**31, 120.0))
    lost = {case: why for case, why in said.items() if isinstance(why, str)}
    found = [said[case] for case in sorted(said) if case not in lost]
    kinds = sorted({case.mutation for case in found})
    counts = Counter((case.mutation, case.said if case.said in AGREED else "disagree") for case in found)
    rows = [[kind, *(counts[kind, said] for said in (*AGREED, "disagree"))] for kind in kinds]
    totals = [sum(counts[kind, said] for kind in kinds) for said in (*AGREED, "disagree")]
    print(markdown(["mutation", *AGREED, "disagree"], [*rows, ["all", *totals]]))
    for case in found:
        if case.said not in AGREED:
            print(f"{case.case}: {case.problem}; {case.mutation}: {case.said}")
    print(f"{len(lost)} cases took more than their limits{''.join(f'; {case}: {why}' for case, why in lost.items())}")
    return totals[-1]


def table(records: list[Record], what: str, key: Callable[[Record], str]) -> str:
    """Counts by family, regularizer or mutation."""
    groups: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        groups[key(record)].append(record)
    rows = [[name, *_counts(groups[name])] for name in sorted(groups)]
    return markdown([what, "cases", *HEADER], [*rows, ["all", *_counts(records)]])


def _counts(records: list[Record]) -> list[object]:
    outcomes, judged = (Counter(values) for values in zip(*((r.outcome, r.judged) for r in records), strict=True))
    kinds = Counter(kind for record in records for kind in {_kind(finding) for finding in record.findings})
    return [
        len(records), *(outcomes[outcome] for outcome in OUTCOMES), judged["optimum"], judged["values"],
        kinds["false"], kinds["traceback"], kinds["other"], f"{max(r.seconds for r in records):.2f}",
        f"{max(r.peak for r in records) / 2**20:.0f}",
    ]  # fmt: skip


def _kind(finding: str) -> str:
    if finding.startswith("FALSE") or finding == "claims beyond the proof":
        return "false"
    return "traceback" if "traceback" in finding else "other"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0, help="number of the first case (default %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="processes (default %(default)s)")
    parser.add_argument("--keep", type=Path, help="folder for the files of findings")
    parser.add_argument("--agreement", action="store_true", help="hold the kernel against the second checker instead")
    parser.add_argument("--attacks", action="store_true", help="attacks alone, of no other mutation")
    parser.add_argument("--only", type=int, help="write the file of one case, and print what becomes of it")
    arguments = parser.parse_args()
    limit_threads(1)
    print(surroundings())
    start = time.perf_counter()
    problems = solved()
    print(f"{len(problems)} problems solved in {time.perf_counter() - start:.0f} s")
    with tempfile.TemporaryDirectory() as folder:
        # Attacks on those who read files are nothing for the second checker, which limits nothing.
        mutations = ATTACKS if arguments.attacks else MUTATIONS if arguments.agreement else MUTATIONS | ATTACKS
        campaign = Campaign(problems, arguments.seed, Path(folder), keep=arguments.keep, mutations=mutations)
        if arguments.only is not None:
            paths = written(arguments.keep or Path(), arguments.only, campaign.made(arguments.only)[2])
            print(f"{' '.join(map(str, paths))}\n{run(campaign, [arguments.only], 1)[0]}")
            return 0
        start = time.perf_counter()
        cases = range(arguments.first, arguments.first + arguments.cases)
        if arguments.agreement:
            return int(agreement(campaign, cases, arguments.jobs) > 0)
        records = run(campaign, cases, arguments.jobs)
    used, seconds = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - start
    how = f"{arguments.jobs} processes, {used.ru_utime + used.ru_stime:.0f} s of the processor"
    print(f"{len(records)} cases, seed {arguments.seed}, {seconds:.0f} s, {how}")
    for what, key in (
        ("risk", lambda r: r.family), ("regularizer, cone", lambda r: r.regularizer), ("mutation", lambda r: r.mutation)
    ):  # fmt: skip
        print(f"\n{table(records, what, key)}")
    # What was refused because evaluating it raised something, and not by a rule.
    reasons = [record.reason.partition(" cannot be evaluated: ") for record in records]
    kinds = Counter(
        ("problem" if "problem" in what else "file", why.partition(":")[0]) for what, _, why in reasons if why
    )
    print("".join(f"\nrefused {count} times: {why} in the {what}" for (what, why), count in kinds.most_common()))
    bad = [record for record in records if record.findings]
    print(f"\n{len(bad)} cases with findings")
    seen: Counter[str] = Counter()
    for record in bad:
        for finding in record.findings:
            seen[kind := finding[:60]] += 1
            if seen[kind] <= SHOWN:
                print(f"{record.case}: {record.family}; {record.regularizer}; {record.mutation}: {finding}")
    for kind, count in seen.most_common():
        if count > SHOWN:
            print(f"{count} times: {kind}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
