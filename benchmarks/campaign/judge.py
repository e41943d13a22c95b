"""A case of the campaign: a file, what the checker says of it, and whether that is true."""

from __future__ import annotations

import copy
import json
import re
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import convexmetric as cm
from campaign.attacks import ATTACKS, CONTAINERS, FILES, MUST_REFUSE
from campaign.mutations import MUTATIONS, UnfitError
from campaign.problems import Problem, extreme
from campaign.workers import Ran, command
from convexmetric.certificates import checker, kernel, verify_instance
from convexmetric.cli import commands as cli

from forgery import Contents, archive, hints_in, opened, packed  # isort: skip

import second_checker  # isort: skip

__all__ = ["AGREED", "OF_FILES", "Campaign", "Record", "compare", "package", "written"]

#: Processor seconds that a proof may take, and besides for each operation that is estimated.
GRACE, OPERATION = 1.0, 1e-8
#: Cases in a row that start from the same problem; one case in so many runs both commands,
#: and one in so many looks at the objective at other metrics.
SAME, BOTH, OTHER_METRICS = 16, 16, 4
#: What is no disagreement of the kernel and the second checker: the same outcome; a damaged container that only one
#: refuses, as the second leaves archives and headers to the standard library and NumPy; claims that hold by less than
#: the kernel's rounding; and what is too much for one of them.
AGREED = ("accepted", "not proven", "refused", "container", "rounding", "too large")
OF_FILES = MUTATIONS | FILES
_PRINTED = re.compile(r"^proven:\s+(\S+) <= optimum <= (\S+)", re.MULTILINE)


@dataclass(frozen=True)
class Record:
    """What became of a case; ``findings`` are empty if all is well.

    ``reason`` is what was printed on stderr, ``judged`` what the second checker says beside the checker, one of
    :data:`AGREED`, or nothing where it was not asked.
    """

    case: int
    problem: str
    mutation: str
    outcome: str
    reason: str = ""
    judged: str = ""
    findings: tuple[str, ...] = ()
    seconds: float = 0.0
    peak: int = 0


@dataclass(frozen=True)
class Campaign:
    """Cases by number: the same seed and number is the same file.

    Attributes
    ----------
    solved : list of Problem
    seed : int
    folder : Path
        For the file at hand.
    seconds, memory : float, int
        Limits beyond which a case is a finding.
    keep : Path or None
        Folder for the files with findings.
    mutations : mapping
        What is done to files, and how frequently.
    fresh : float
        Share of extreme problems, each drawn and solved anew, beside those that are solved.
    """

    solved: Sequence[Problem]
    seed: int
    folder: Path
    seconds: float = 10.0
    memory: int = 2**30
    keep: Path | None = None
    mutations: Mapping[str, tuple[Any, float]] = field(default_factory=lambda: OF_FILES | ATTACKS)
    fresh: float = 0.5

    def made(self, case: int) -> tuple[Problem, str, list[bytes]]:
        """The problem, the mutation, and the files of a case: one, or those of a certificate in parts."""
        rng = np.random.default_rng([self.seed, 0, case // SAME])
        if rng.random() < self.fresh:
            problem = _extreme(self.seed * 2**20 + case // SAME)
        else:
            problem = self.solved[int(rng.integers(len(self.solved)))]
        rng = np.random.default_rng([self.seed, 1, case])
        shares = np.array([share for _, share in self.mutations.values()])
        while True:
            mutation = str(rng.choice(list(self.mutations), p=shares / shares.sum()))
            document, arrays = copy.deepcopy(problem.contents[0]), dict(problem.contents[1])
            try:
                made = self.mutations[mutation][0](rng, document, arrays)
            except UnfitError:
                continue
            made = archive(packed((document, arrays))) if made is None else made
            return problem, mutation, made if isinstance(made, list) else [made]

    def __call__(self, case: int) -> Record:
        problem, mutation, wholes = self.made(case)
        paths = written(self.folder, case, wholes)
        said: list[checker.Verdict] = []
        work: list[float] = []
        ran = self._run(paths, said, work)
        findings = [*_of_the_run(ran, said), *self._limits(ran, sum(work)), *two_readers(paths)]
        judged, verdict = "", said[0] if said else None
        # Who reads files is attacked with what the second checker does not limit.
        if verdict is not None or (mutation not in ATTACKS and ran.code == 2):
            judged = beside_the_second(verdict, ran.stderr, wholes, mutation in CONTAINERS)
            findings += [] if judged in AGREED else [f"FALSE: {judged}"]
        if verdict is not None:
            findings += _of_the_verdict(problem, mutation, paths, verdict, ran)
            if case % OTHER_METRICS == 0:
                findings += _at_other_metrics(paths, verdict)
        if case % BOTH == 0:
            findings += self._other_command(paths, ran)
        if case % BOTH == 1:
            findings += self._instance(paths)
        if findings and self.keep is not None:
            written(self.keep, case, wholes)
        for path in paths:
            path.unlink()
        outcome = {0: "accepted", 1: "not proven", 2: "refused"}.get(ran.code, "other")  # type: ignore[arg-type]
        outcome = "traceback" if ran.traceback else outcome
        return Record(
            case, problem.name, mutation, outcome, ran.stderr.strip()[:120], judged, tuple(findings), ran.seconds,
            ran.peak,
        )  # fmt: skip

    def _run(self, paths: Sequence[Path], said: list[checker.Verdict], work: list[float]) -> Ran:
        """``checker.main``, with the verdict that it prints, and the operations that it estimates."""
        verify, operations = checker.verify, checker.operations

        def recording(*arguments: Any, **options: Any) -> checker.Verdict:
            said.append(verify(*arguments, **options))
            return said[-1]

        def counting(*arguments: Any) -> float:
            work.append(operations(*arguments))
            return work[-1]

        checker.verify, checker.operations = recording, counting
        try:
            return command(checker.main, [str(path) for path in paths], self.seconds)
        finally:
            checker.verify, checker.operations = verify, operations

    def _limits(self, ran: Ran, work: float = 0.0) -> list[str]:
        """Time and memory beyond what was estimated: late, unless the estimate says so."""
        findings = ["memory"] if ran.peak > 0.9 * self.memory else []
        if ran.code is None and OPERATION * work < self.seconds:
            findings.append("late")
        if ran.code is not None and ran.seconds > GRACE + OPERATION * work:
            findings.append(f"work: more than estimated: {ran.seconds:.1f} s for {work:.2g} operations")
        return findings

    def _other_command(self, paths: Sequence[Path], ran: Ran) -> list[str]:
        """``convexmetric verify`` must end as the checker alone does."""
        other = command(package, ["verify", *map(str, paths), "--json"], self.seconds)
        findings = [f"convexmetric verify: {finding}" for finding in _of_the_streams(other)]
        if other.code != ran.code and ran.code is not None and other.code is not None:
            findings.append(f"convexmetric verify: exit code {other.code}, not {ran.code}")
        return findings

    def _instance(self, paths: Sequence[Path]) -> list[str]:
        """Of no file but one of an instance it may be said that it is about that, and none may take long to be told."""
        ran = command(about_another, [str(path) for path in paths], self.seconds)
        findings = [f"instance: {finding}" for finding in [*_of_the_streams(ran), *self._limits(ran)]]
        if ran.code in (0, 1) and not ran.traceback:
            findings.append("FALSE: instance: a file of another problem passes")
        return findings


_extreme = lru_cache(2)(extreme)


def written(folder: Path, case: int, wholes: Sequence[bytes]) -> list[Path]:
    """Write the files of a case."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / (f"{case}.npz" if len(wholes) == 1 else f"{case}-{at}.npz") for at in range(len(wholes))]
    for path, whole in zip(paths, wholes):
        path.write_bytes(whole)
    return paths


@lru_cache
def _instance() -> Any:
    """A problem that none of the files is about, of numbers of its own."""
    rng = np.random.default_rng(12345)
    X, y = rng.standard_normal((7, 2)), np.arange(7) % 2
    return cm.TripletProblem.from_labels(X, y, n_same=1, n_other=1, reg=0.3125)


def about_another(arguments: list[str]) -> int:
    """``convexmetric verify FILES --instance NAME``."""
    try:
        verdict, _ = verify_instance(arguments, _instance())
    except kernel.CertificateError as error:
        print(f"refused: {error}", file=sys.stderr)
        return 2
    return int(not verdict.accepted)


def package(arguments: list[str]) -> None:
    """The command of the package."""
    before, sys.argv = sys.argv, ["convexmetric", *arguments]
    try:
        cli.main()
    finally:
        sys.argv = before


# What is wrong whatever the file says ---------------------------------------------------------------------------------


def _of_the_streams(ran: Ran) -> list[str]:
    findings = []
    if ran.traceback:
        findings.append("traceback: " + ran.traceback.strip().rpartition("\n")[2])
    elif ran.code is not None and ran.code not in (0, 1, 2):
        findings.append(f"exit code {ran.code}")
    if not (ran.stdout + ran.stderr).replace("\n", "").isprintable():
        findings.append("control characters")
    return findings


def _of_the_run(ran: Ran, said: list[checker.Verdict]) -> list[str]:
    findings = _of_the_streams(ran)
    if ran.code == 2 and not ran.traceback and (ran.stdout or ran.stderr.count("\n") != 1):
        findings.append("a refusal is one line on stderr")
    if ran.code in (0, 1) and not ran.traceback and (not said or said[0].accepted != (ran.code == 0)):
        findings.append("the exit code is not the verdict")
    return findings


def _printed(verdict: checker.Verdict, ran: Ran) -> list[str]:
    """Printed bounds must not be better than proven ones."""
    found = _PRINTED.search(ran.stdout)
    if found is None:
        return [] if ran.traceback else ["printed: no bounds"]
    findings = []
    for text, bound, side in zip(found.groups(), (verdict.lower, verdict.upper), (1, -1)):
        if (text == "nothing") != (bound is None):
            findings.append("printed: not what is proven")
        elif bound is not None and side * (Fraction(text) - bound) > 0:
            findings.append(f"printed: {'lower' if side > 0 else 'upper'} bound better than the proven one")
    return findings


# Judges ---------------------------------------------------------------------------------------------------------------


def two_readers(paths: Sequence[Path]) -> list[str]:
    """What the second checker reads must be what the checker reads, or one of them must refuse."""
    findings = []
    for path in paths:
        try:
            document, arrays = checker.read(path)
        except checker.CertificateError:
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                other, others = second_checker.opened(path.read_bytes())
        except Exception:
            continue
        if json.dumps(document, sort_keys=True) != json.dumps(other, sort_keys=True):
            findings.append("FALSE: two readers: they read different descriptions")
        elif {name: kernel.digest(a) for name, a in arrays.items()} != {
            name: kernel.digest(a) for name, a in others.items()
        }:
            findings.append("FALSE: two readers: they read different arrays")
    return findings


def compare(paths: Sequence[Path], wholes: Sequence[bytes], container: bool = False) -> str:
    """What both checkers say of a file, or of several: one of :data:`AGREED`, or a disagreement in words."""
    try:
        return beside_the_second(checker.verify(*paths), "", wholes, container)
    except checker.CertificateError as error:
        return beside_the_second(None, str(error), wholes, container)


def beside_the_second(first: checker.Verdict | None, why: str, wholes: Sequence[bytes], container: bool = False) -> str:
    """The verdict of the checker, or why there is none, beside what the second checker says."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            second = second_checker.judge(*wholes)
    except (second_checker.TooLarge, MemoryError):
        return "too large"
    except second_checker.Refused as error:
        return "refused" if first is None else "container" if container else f"only the second refuses: {error}"
    if first is None:
        if "operations" in why or "more than" in why:
            return "too large"
        return "container" if container else f"only the first refuses: {why}"
    if first.lower is not None and (second.lower is None or second.lower < first.lower):
        return f"the lower bound {first.lower} is more than the exact one, {second.lower}"
    if first.upper is not None and (second.upper is None or second.upper > first.upper):
        return f"the upper bound {first.upper} is less than the exact one, {second.upper}"
    if first.accepted != second.accepted:
        return "only the first accepts" if first.accepted else "rounding"
    return "accepted" if first.accepted else "not proven"


def _of_the_verdict(
    problem: Problem, mutation: str, paths: Sequence[Path], verdict: checker.Verdict, ran: Ran
) -> list[str]:
    """Claims beyond the proof, bounds that cross or exclude the optimum, where that is known of the statement."""
    if mutation in MUST_REFUSE:
        return ["a key that no table of its kind has is passed over"]
    contents = opened(paths[0])
    claimed = tuple(Fraction(contents[0]["claimed"][end]) for end in ("lower", "upper"))
    findings, lower, upper = _printed(verdict, ran), verdict.lower, verdict.upper
    if verdict.claimed != claimed:
        findings.append("the file claims something else")
    if verdict.accepted and (lower is None or upper is None or claimed[0] > lower or claimed[1] < upper):
        findings.append("claims beyond the proof")
    low, high = problem.optimum if _stated(contents) == _stated(problem.contents) else (None, None)
    for above, below in ((lower, high), (low, upper), (lower, upper)):
        if above is not None and below is not None and above > below:
            findings.append(f"FALSE: a lower bound of {float(above)!r} is above an upper one of {float(below)!r}")
    return findings


def _stated(contents: Contents) -> tuple[Any, ...]:
    """The statement, without what proves."""
    document, arrays = contents
    hints = hints_in(arrays)
    rows = [(name, a.dtype.str, a.shape, a.tobytes()) for name, a in sorted(arrays.items()) if name not in hints]
    return json.dumps(document["problem"], sort_keys=True), *rows


def _at_other_metrics(paths: Sequence[Path], verdict: checker.Verdict) -> list[str]:
    """A lower bound must be below the objective at any metric, which the second checker evaluates."""
    if verdict.lower is None or len(paths) > 1:
        return []
    findings, (document, arrays) = [], opened(paths[0])
    for name, size in [(name, size) for name in ("factor", "weights_of_metric") for size in (0.0, 0.75, 1.125)]:
        if name in arrays:
            try:
                upper = second_checker.judge(archive(packed((document, arrays | {name: arrays[name] * size})))).upper
            except (second_checker.Refused, MemoryError):
                continue
            if upper is not None and verdict.lower > upper:
                findings.append(f"FALSE: the lower bound {float(verdict.lower)!r} is above a value of the objective")
    return findings
