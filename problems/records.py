"""Records: the best bounds that were ever proven for every instance, and what moved them.

    python problems/records.py FILE ... [--author LOGIN]        prove submissions, and keep those that improve a bound
    python problems/records.py                                  add instances that are new, and renew RECORDS.md
    python problems/records.py --check                          prove all submissions again, and all that follows
    python problems/records.py --check --of COMMIT [--author LOGIN]      the same of the records of a pull request

A submission is what ``convexmetric submit`` writes. What it claims plays no part: it is proven in exact arithmetic, for
the instance built here from its data; or without any data, if it has the arrays of its statement and the SHA-256 of
that statement is the one that ``statements.json`` has of an instance. A bound that is strictly better than the record
takes its place: the file is kept in ``records/``, without the data, and ``records.json`` gets a line in ``moved``. A
worse or an equal one changes nothing. Whose a line is nobody can prove: it is the login that opened the pull request
(``--author``), or a name that is marked as unproven.

``records.json`` has for each side of each instance the best bound, a rational; whose it is; and the file that proves it
with its SHA-256, or for the bounds that came with the library what the instance's file says of how they were made.
``--check`` finds all of it anew from the files of the instances, whose bounds it takes from there
(``problems/certify.py --verify-only`` proves those), and from the submissions, which it proves. Files in ``records/``
that no line speaks of are proven, too, and it says what they would move.

Of a pull request (``COMMIT`` is its merge) the records are taken blob by blob (``pulled.py``), and nothing else: code
and instances are those checked out, of ``HEAD``. It may change nothing but records and their page; lines of ``moved``
may only have been added; what it adds is proven, within a budget for the run, and what was proven when it was merged
is not proven again.

Exit code 1 if something is wrong, or could not be checked: then the last lines say who must look. The worst that can be
wrong is a lower bound above an upper one: then one of two proofs, or the kernel, is wrong. If one of the two is only
claimed, the alarm says so.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from hashlib import sha256
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import pulled
from pulled import Repository, WrongError

import convexmetric as cm
from convexmetric.bench import Instance, list_problems, load_instance
from convexmetric.bench.library import OPEN_GAP
from convexmetric.bench.submissions import DIGITS, MAX_FILE, NAME, SIDES, Bounds, outward
from convexmetric.certificates import CertificateError, checker, describe, kernel
from convexmetric.certificates.instances import without_statement
from convexmetric.certificates.writer import write_contents
from convexmetric.files import all_or_nothing
from convexmetric.numerics.threads import blas_threads_for

FOLDER = Path(__file__).resolve().parent
TABLE, KEPT, PAGE = FOLDER / "records.json", FOLDER / "records", FOLDER / "RECORDS.md"
#: SHA-256 of the statement of each instance, by name.
STATEMENTS = FOLDER / "statements.json"
BEGIN, END = "<!-- {}: begin -->", "<!-- {}: end -->"
#: Limits on a submission unpacked and on the operations of its proof, and on ``records.json``, in bytes.
LIMITS: dict[str, Any] = {"max_bytes": 2**28, "max_work": 3e11}
MAX_TABLE = 2**24
#: What a pull request may cost: files that are proven, operations of their proofs (a nanosecond each), and seconds.
MAX_NEW, MAX_RUN, MAX_SECONDS = 12, 1.2e12, 1800.0
#: How a line says that nobody proved whose it is.
UNPROVEN = " (unproven)"
#: By how much a new line may claim less than its file proves, relative: another machine may differ in last digits.
SLACK = Fraction(1, 10**9)
#: What a line of ``moved`` has, and how each of it is written.
RATIONAL = r"-?[0-9]{1,400}(/[1-9][0-9]{0,399})?"
LINE = {
    "instance": r"[a-z0-9][a-z0-9.-]{0,99}",
    "side": "lower|upper",
    "from": rf"{RATIONAL}|none",
    "to": RATIONAL,
    "by": rf"{NAME.pattern}({re.escape(UNPROVEN)})?",
    "date": r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])",
    "file": r"records/[a-z0-9][a-z0-9.-]{0,149}\.npz",
    "sha256": r"[0-9a-f]{64}",
}

Line = dict[str, str]
Known = tuple[Bounds, str]


class NotCheckedError(Exception):
    """Something that could not be checked here, and why, in words."""


# What follows from what ----------------------------------------------------------------------------------------------


def of_library(instance: Instance) -> dict[str, dict[str, Any]]:
    """Bounds that an instance came with, and how they were made; none where they are not proven exactly."""
    ends = {"lower": instance.exact_lower, "upper": instance.exact_upper}
    how = {"by": "library"} | {key: instance.how[key] for key in ("solver", "tol", "iterations", "version")}
    return {side: {"bound": str(bound)} | how for side, bound in ends.items() if bound is not None}


def replayed(moved: list[Line]) -> dict[str, dict[str, dict[str, Any]]]:
    """Best bounds of all instances, from those they came with and the lines of ``moved`` in their order.

    Raises
    ------
    WrongError
        If a line does not begin at the best bound before it, or is no improvement.
    """
    best = {name: of_library(load_instance(name)) for name in list_problems()}
    for line in moved:
        name, side = line["instance"], line["side"]
        if name not in best:
            raise WrongError(f"moved: there is no instance {name}")
        before, sign = best[name].get(side, {"bound": "none"})["bound"], SIDES[side]
        where = f"moved: {name}, {side} bound"
        if line["from"] != before:
            raise WrongError(f"{where}: it moves from {line['from']}, but the best bound then was {before}")
        if before != "none" and not (Fraction(before) - Fraction(line["to"])) * sign > 0:
            raise WrongError(f"{where}: {line['to']} is not better than {before}")
        best[name][side] = {"bound": line["to"]} | {key: line[key] for key in ("by", "date", "file", "sha256")}
    return best


def bounds_of(entry: dict[str, Any]) -> Bounds:
    """Rationals of an entry of ``records.json``; None where nothing is proven."""
    return {side: Fraction(entry[side]["bound"]) if side in entry else None for side in SIDES}


def crossed(name: str, proven: list[Known], claimed: Iterable[Known] = ()) -> list[str]:
    """The alarm, if the largest of all lower bounds is above the smallest upper one; it names both ends.

    What is only claimed counts where nothing that is proven contradicts itself.
    """
    for known, wrong in ((proven, "the two proofs"), ([*proven, *claimed], "these claims")):
        lowers = [(bounds["lower"], where) for bounds, where in known if bounds["lower"] is not None]
        uppers = [(bounds["upper"], where) for bounds, where in known if bounds["upper"] is not None]
        # Of equal ones the first, which is proven.
        lower, below = max(lowers, key=itemgetter(0), default=(None, ""))
        upper, above = min(uppers, key=itemgetter(0), default=(None, ""))
        if lower is not None and upper is not None and lower > upper:
            return [
                f"ALARM: {name}: the lower bound {checker.decimal(lower, -1)} ({below}) is above the upper bound "
                f"{checker.decimal(upper, 1)} ({above}): one of {wrong}, or the kernel, is wrong"
            ]
    return []


def better(bounds: Bounds, than: Bounds) -> list[str]:
    """Sides on which bounds are strictly better than others."""
    pairs = ((side, bounds[side], than[side]) for side in SIDES)
    return [side for side, new, old in pairs if new is not None and (old is None or (old - new) * SIDES[side] > 0)]


# Files ---------------------------------------------------------------------------------------------------------------


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A table of JSON without a key that is there twice: one reader would take the first, another one the last."""
    table = dict(pairs)
    if len(table) < len(pairs):
        raise WrongError(f"{TABLE.name} has a key twice in one table: {ascii(sorted(key for key, _ in pairs))[:300]}")
    return table


def require_file(path: Path, most: int) -> None:
    """Refuse links, folders and devices, and files of more than so many bytes."""
    found = os.lstat(path)
    if not stat.S_ISREG(found.st_mode) or found.st_size > most:
        raise WrongError(f"{path.name} is no file of at most {most:,} bytes")


def read(path: Path) -> dict[str, Any]:
    """``records.json``, with every line of ``moved`` checked letter by letter; entries of instances are not.

    Raises
    ------
    WrongError
        If it is no such file.
    """
    try:
        require_file(path, MAX_TABLE)
        table = json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=once)
    except (OSError, ValueError, RecursionError) as error:
        raise WrongError(f"{path.name} cannot be read: {type(error).__name__}") from error
    keys = {"format", "version", "instances", "moved"}
    if not (isinstance(table, dict) and set(table) == keys and isinstance(table["instances"], dict)):
        raise WrongError(f"{path.name} must have the keys {', '.join(sorted(keys))}")
    if (table["format"], table["version"]) != ("convexmetric-records", 1) or not isinstance(table["moved"], list):
        raise WrongError(f"{path.name} is not of the format convexmetric-records, version 1")
    for line in table["moved"]:
        known = isinstance(line, dict) and set(line) == set(LINE)
        if not (known and all(isinstance(line[key], str) and re.fullmatch(LINE[key], line[key]) for key in LINE)):
            raise WrongError(f"{path.name}: a line of moved must have {', '.join(LINE)}: {ascii(line)[:300]}")
    return table


def written(moved: list[Line]) -> str:
    """The text of ``records.json``."""
    table = {"format": "convexmetric-records", "version": 1, "instances": replayed(moved), "moved": moved}
    return json.dumps(table, indent=1) + "\n"


def contents_of(path: Path) -> kernel.Contents:
    """Description and arrays of a submission.

    Raises
    ------
    WrongError
        If it is too large, or is refused by the reader.
    """
    try:
        require_file(path, MAX_FILE)
        return checker.read(path, LIMITS["max_bytes"])
    except (OSError, CertificateError) as error:
        raise WrongError(f"{path.name} is refused: {error}") from error


def titled(contents: kernel.Contents, file: str) -> tuple[str, str]:
    """Instance and name in the title of a submission; the first decides only which instance it is tried on.

    Raises
    ------
    WrongError
        If it names no instance.
    """
    title = contents[0]["title"]
    name, _, by = title.partition(", by ") if isinstance(title, str) else ("", "", "")
    if name not in list_problems():
        raise WrongError(f"{file}: its title names no instance: {ascii(title)[:100]}")
    return name, by


def is_whole(contents: kernel.Contents) -> bool:
    """Whether a submission has arrays of its statement."""
    return any(name.endswith("points") for name in contents[1])


def statements() -> dict[str, str]:
    """SHA-256 of the statements of all instances by their names."""
    return dict(json.loads(STATEMENTS.read_text(encoding="utf-8"))) if STATEMENTS.is_file() else {}


def stated(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The statement of an instance, built here from its data by one thread: more may make other last digits.

    Raises
    ------
    NotCheckedError
        If the data set is not here, or is another one.
    """
    instance = load_instance(name)
    try:
        with blas_threads_for(0.0):
            return describe(instance.problem())
    except cm.errors.ConvexMetricError as error:
        who = f"a maintainer who has the data set {instance.data['set']} must look, with CONVEXMETRIC_DATA"
        raise NotCheckedError(f"{name} cannot be built here ({type(error).__name__}): {who}") from error


class Budget:
    """What a run may still spend: files, operations of proofs, and seconds."""

    def __init__(self, files: float = math.inf, work: float = math.inf, seconds: float = math.inf) -> None:
        self.files, self.work, self.until = files, work, time.monotonic() + seconds

    def open(self) -> None:
        """Take one file out of it.

        Raises
        ------
        NotCheckedError
            If there is none left, or the time is over.
        """
        if not self.files:
            raise NotCheckedError(f"a run proves {MAX_NEW} files, which others are: a maintainer must look")
        if time.monotonic() > self.until:
            raise NotCheckedError(f"the {MAX_SECONDS:.0f} seconds of a run are over: a maintainer must look")
        self.files -= 1

    def spend(self, work: float) -> None:
        """Take the operations of a proof out of it.

        Raises
        ------
        NotCheckedError
            If they are not there.
        """
        if work > self.work:
            left = f"{work:.1e} operations, and {self.work:.1e} of a run are left"
            raise NotCheckedError(f"its proof takes {left}: a maintainer must look")
        self.work -= work


def proof(contents: kernel.Contents, file: str, budget: Budget) -> tuple[str, Bounds]:
    """The instance that a submission is about, and the bounds that it proves for it.

    Raises
    ------
    WrongError
        If it is refused, is about no instance, or proves nothing.
    NotCheckedError
        If it has no data and that of the instance are not here, or the budget is too small.
    """
    document, arrays = contents
    if is_whole(contents):
        wanted = {digest: name for name, digest in statements().items()}
    else:
        name, _ = titled(contents, file)
        table, made = stated(name)
        if document["problem"] != table:
            raise WrongError(f"{file} is about another problem than {name}")
        wanted, arrays = {kernel.statement_digest(table, made): name}, {**made, **arrays}
    try:
        with checker.refusals("the problem"):
            work = checker.operations(document, arrays)
        if work <= LIMITS["max_work"]:
            budget.spend(work)
        verdict = checker.judge([(document, arrays)], LIMITS["max_work"])
    except CertificateError as error:
        raise WrongError(f"{file} is refused: {error}") from error
    if verdict.sha256 not in wanted:
        raise WrongError(f"{file} is about another problem: no instance has its statement, bit by bit")
    bounds, name = outward(verdict), wanted[verdict.sha256]
    if set(bounds.values()) == {None}:
        raise WrongError(f"{file} proves nothing of {name}: {verdict.reason}")
    return name, bounds


# Checks --------------------------------------------------------------------------------------------------------------


class Records(NamedTuple):
    """Records to check: those of the folder, or of a pull request.

    Attributes
    ----------
    table : dict
        ``records.json``, as it was read.
    files : set of str
        What there is in ``records/``, by names as lines have them.
    anew : list of str
        Those of them that are to be proven.
    place : callable
        Where one of these is.
    added : list of dict
        Lines of ``moved`` that are new.
    author : str
        Who opened the pull request.
    """

    table: dict[str, Any]
    files: set[str]
    anew: list[str]
    place: Callable[[str], Path]
    added: list[Line]
    author: str = ""


def here() -> Records:
    """The records of the folder, of which all are proven."""
    files = [f"records/{path.name}" for path in sorted(KEPT.iterdir())] if KEPT.is_dir() else []
    return Records(read(TABLE), set(files), files, lambda name: KEPT.parent / name, [])


def of_pull_request(repository: Repository, base: str, commit: str, author: str, folder: Path) -> Records:
    """The records of a pull request, written into a folder of ours as they are asked for.

    Raises
    ------
    WrongError
        If they are no ordinary files, or a line that was there has been changed or removed.
    """
    before, after = repository.listed(base), repository.listed(commit)

    def place(name: str) -> Path:
        path = f"problems/{name}"
        most = MAX_TABLE if path == pulled.TABLE else MAX_FILE
        target = folder / Path(name).name
        target.write_bytes(repository.content(path, after[path], most))
        return target

    old, table = read(TABLE)["moved"], read(place(TABLE.name))
    if old != table["moved"][: len(old)]:
        raise WrongError("moved: lines that were there have been changed or removed")
    added = table["moved"][len(old) :]
    if len(added) > len(SIDES) * MAX_NEW:
        raise WrongError(f"moved: a pull request adds at most {len(SIDES) * MAX_NEW} lines, not {len(added)}")
    files = {path.removeprefix("problems/"): blob for path, blob in after.items() if path != pulled.TABLE}
    new = {name for name, blob in files.items() if before.get(f"problems/{name}") != blob}
    anew = sorted(new | ({line["file"] for line in added} & set(files)))
    return Records(table, set(files), anew, place, added, author)


def beside(repository: Repository, base: str, commit: str, moved: list[Line]) -> list[str]:
    """What a pull request changes beside records; their page may be what follows from them."""
    changed = repository.beside(base, commit)
    if pulled.PAGE in changed:
        page = with_records(PAGE.read_text(encoding="utf-8"), {"instances": replayed(moved), "moved": moved})
        if repository.page(commit, MAX_TABLE) == page:
            changed.remove(pulled.PAGE)
    if not changed:
        return []
    names = ", ".join(map(ascii, changed[:5])) + (f" and {len(changed) - 5} more" if len(changed) > 5 else "")
    return [
        "a pull request of records may change nothing else, and their page only as python problems/records.py does, "
        f"over the branch that is checked out: {names}"
    ]


class Check:
    """A check of records, within a budget.

    Attributes
    ----------
    wrong, unchecked : list of str
        What is wrong, and what could not be checked, in words.
    """

    def __init__(self, records: Records, budget: Budget) -> None:
        self.records, self.budget = records, budget
        self.wrong, self.unchecked = list[str](), list[str]()
        self.best = replayed(records.table["moved"])
        self.proofs = {name: [(bounds_of(of_library(load_instance(name))), "of the library")] for name in self.best}
        self.claims = claimed(records.table, self.best)
        self.lines: dict[str, list[Line]] = {}
        for line in records.table["moved"]:
            self.lines.setdefault(line["file"], []).append(line)

    def run(self) -> tuple[list[str], list[str]]:
        """Find everything in ``records.json`` anew; what is wrong, and what could not be checked, in words."""
        self.wrong += [*self.of_table(), *self.of_added()]
        for file in self.records.anew:
            try:
                self.budget.open()
                self.wrong += self.of_file(file)
            except WrongError as error:
                self.wrong.append(str(error))
            except NotCheckedError as error:
                self.unchecked.append(f"NOT CHECKED: {Path(file).name}: {error}")
        self.wrong += [alarm for name in self.best for alarm in crossed(name, self.proofs[name], self.claims[name])]
        return self.wrong, self.unchecked

    def of_table(self) -> list[str]:
        """What of the table does not follow from its lines."""
        held, best, wrong = self.records.table["instances"], self.best, list[str]()
        for table, what in ((held, "missing:"), (statements(), f"{STATEMENTS.name} lacks")):
            if missing := sorted(set(best) - set(table)):
                wrong.append(f"{what} {', '.join(missing)} (python problems/records.py adds them)")
        wrong += [f"{name!a}: there is no such instance" for name in sorted(set(held) - set(best))]
        for name in sorted(set(best) & set(held)):
            if held[name] != best[name]:
                wrong.append(f"{name}: its entry does not follow from its file and from moved")
        return wrong + [f"{file} is not there" for file in sorted(set(self.lines) - self.records.files)]

    def of_added(self) -> list[str]:
        """What is wrong with the lines that are new, whatever they prove: whose they are, when, and how many."""
        moved, added, author = self.records.table["moved"], self.records.added, self.records.author
        old, wrong = moved[: len(moved) - len(added)], list[str]()
        known, last = {(line["sha256"], line["side"]) for line in old}, old[-1]["date"] if old else ""
        tomorrow = (datetime.now(UTC).date() + timedelta(days=1)).isoformat()
        for line in added:
            where = f"moved: {line['instance']}, {line['side']} bound"
            if line["by"] != author and not line["by"].endswith(UNPROVEN):
                whose = author or "the login (--author)"
                wrong.append(f"{where}: by must be {whose} whose pull request it is, or end in '{UNPROVEN}'")
            if (line["sha256"], line["side"]) in known:
                wrong.append(f"{where}: a file may move a bound once, to all that it proves")
            if not last <= line["date"] <= tomorrow:
                wrong.append(f"{where}: its date, {line['date']}, is before the last line's or in the future")
            known.add((line["sha256"], line["side"]))
            last = max(last, line["date"])
        return wrong

    def of_file(self, file: str) -> list[str]:
        """Prove a submission; which of its lines do not follow from it. Without lines it says what it would move."""
        path, lines, wrong = self.records.place(file), self.lines.get(file, []), list[str]()
        contents = contents_of(path)
        claim = claim_of(contents, path.name)
        if not is_whole(contents):
            self.claims[titled(contents, path.name)[0]].append(claim)
        name, bounds = proof(contents, path.name, self.budget)
        self.claims[name].append(claim)
        self.proofs[name].append((bounds, path.name))
        digest = sha256(path.read_bytes()).hexdigest()
        for line in lines:
            bound, to, sign = bounds[line["side"]], Fraction(line["to"]), SIDES[line["side"]]
            if (line["instance"], line["sha256"]) != (name, digest):
                wrong.append(f"{path.name} has another SHA-256 or is about another instance than moved says")
            elif bound is None or (to - bound) * sign < 0:
                wrong.append(f"{path.name} does not prove the {line['side']} bound {line['to']} of {name}")
            elif line in self.records.added and abs(to - bound) > SLACK * abs(bound):
                wrong.append(f"{path.name} proves more of {name} than the {line['side']} bound {line['to']}: say all")
        said = ", ".join(better(bounds, bounds_of(self.best[name]))) or "no"
        print(f"{path.name}: proven" if lines else f"{path.name}: proven; it would move {said} bound of {name}")
        return wrong


def claimed(table: dict[str, Any], names: Iterable[str]) -> dict[str, list[Known]]:
    """What lines of ``moved`` and entries of instances claim, by instances."""
    found: dict[str, list[Known]] = {name: [] for name in names}
    said = [(line["instance"], line["side"], line["to"], "a line of moved") for line in table["moved"]]
    for name, entry in table["instances"].items():
        ends = [(side, entry.get(side)) for side in SIDES if isinstance(entry, dict)]
        said += [(name, side, end.get("bound"), "its entry") for side, end in ends if isinstance(end, dict)]
    for name, side, bound, where in said:
        if name in found and isinstance(bound, str) and re.fullmatch(RATIONAL, bound):
            claim: Bounds = {**dict.fromkeys(SIDES), side: Fraction(bound)}
            found[name].append((claim, f"claimed by {where}, not proven"))
    return found


def claim_of(contents: kernel.Contents, file: str) -> Known:
    """Bounds that a submission claims."""
    try:
        with checker.refusals("what is claimed"):
            ends = {side: kernel.files.rational(contents[0]["claimed"][side], side) for side in SIDES}
    except CertificateError as error:
        raise WrongError(f"{file} is refused: {error}") from error
    return Bounds(ends), f"claimed by {file}, not proven"


# Commands ------------------------------------------------------------------------------------------------------------


def pull_request(commit: str, author: str) -> tuple[list[str], list[str]]:
    """Check the records of a pull request, within the budget; the tree stays what it is."""
    repository = Repository(FOLDER.parent)
    repository.unchanged()
    base, commit = repository.resolved("HEAD"), repository.resolved(commit)
    with tempfile.TemporaryDirectory() as folder:
        records = of_pull_request(repository, base, commit, author, Path(folder))
        wrong, unchecked = Check(records, Budget(MAX_NEW, MAX_RUN, MAX_SECONDS)).run()
    wrong += beside(repository, base, commit, records.table["moved"])
    repository.unchanged()
    return wrong, unchecked


def add(path: Path, by: str, author: str, moved: list[Line]) -> list[str]:
    """Prove a submission, and keep it if it improves a bound: ``moved`` gets its lines. What is wrong with it."""
    contents = contents_of(path)
    name, bounds = proof(contents, path.name, Budget())
    by = author or by or titled(contents, path.name)[1]
    if not NAME.fullmatch(by):
        raise WrongError(f"{path.name}: pass --by, a name of at most 80 letters, digits, spaces and .,()+-")
    by = by if author or by.endswith(UNPROVEN) else by + UNPROVEN
    best = bounds_of(replayed(moved)[name])
    alarm = crossed(name, [(bounds, path.name), (best, "of the records")])
    if alarm:
        return alarm
    sides = better(bounds, best)
    if not sides:
        print(f"{path.name}: proven, but no bound of {name} is better than the record; nothing changes")
        return []
    kept, digest = keep(path, contents, f"{name}, by {by}")
    today = datetime.now(UTC).date().isoformat()
    for side in sides:
        before = "none" if best[side] is None else str(best[side])
        moved.append(
            {
                "instance": name, "side": side, "from": before, "to": str(bounds[side]), "by": by, "date": today,
                "file": f"records/{kept.name}", "sha256": digest,
            }
        )  # fmt: skip
        print(f"{path.name}: A RECORD: the {side} bound of {name} moves {moves(moved[-1])}")
    return []


def keep(path: Path, contents: kernel.Contents, title: str) -> tuple[Path, str]:
    """Put a submission among the records, without the data that it may have; where it is, and its SHA-256."""
    KEPT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        bare = path
        if is_whole(contents):
            names = kernel.Problem(contents[0], kernel.Arrays(contents[1])).arrays
            document, arrays = without_statement(contents, names)
            bare = Path(folder, "bare.npz")
            write_contents(bare, document | {"title": title}, arrays)
        digest = sha256(bare.read_bytes()).hexdigest()
        kept = KEPT / f"{title.partition(',')[0]}.{digest[:12]}.npz"
        if bare.resolve() != kept:
            shutil.copyfile(bare, kept)
    if path.resolve().parent == KEPT and path.resolve() != kept:
        path.unlink()
    return kept, digest


# The page ------------------------------------------------------------------------------------------------------------


def shown(bound: Fraction | None, side: str) -> str:
    """A bound in decimals, rounded outward."""
    return "" if bound is None else checker.decimal(kernel.rounded(bound, SIDES[side], DIGITS), SIDES[side])


def moves(line: Line) -> str:
    """From where a line of ``moved`` goes, where, and by how much."""
    new, side = Fraction(line["to"]), line["side"]
    if line["from"] == "none":
        return f"to {shown(new, side)}, the first that is proven"
    old = Fraction(line["from"])
    share = float(abs(new - old) / (max(abs(new), abs(old)) or 1))
    return f"from {shown(old, side)} to {shown(new, side)} (relative {share:.1e})"


def gap(bounds: Bounds) -> float:
    """Relative gap of two bounds; infinite without both."""
    lower, upper = bounds["lower"], bounds["upper"]
    if lower is None or upper is None:
        return float("inf")
    return float((upper - lower) / (max(abs(upper), abs(lower)) or 1))


def with_records(page: str, table: dict[str, Any]) -> str:
    """The text of the page with what the table has."""
    lines = [
        f"- {line['date']}, {line['by']}: the {line['side']} bound of `{line['instance']}` {moves(line)}; "
        f"[file](../problems/{line['file']})"
        for line in reversed(table["moved"])
    ]
    held = {name: bounds_of(entry) for name, entry in table["instances"].items()}
    moved = {line["instance"] for line in table["moved"]}
    is_open = [name for name in held if gap(held[name]) > OPEN_GAP]
    rows = [
        "| instance | bounds | gap | by |",
        "| --- | --- | ---: | --- |",
    ]
    closed = sorted(set(held) - set(is_open), key=lambda name: (name not in moved, name))
    for name in sorted(is_open, key=lambda name: -gap(held[name])) + closed:
        ends = " to ".join(shown(held[name][side], side) or "none" for side in SIDES)
        who = {side: table["instances"][name].get(side, {"by": ""})["by"].replace("library", "") for side in SIDES}
        by = (
            who["lower"]
            if len(set(who.values())) == 1
            else ", ".join(f"{by} ({side})" for side, by in who.items() if by)
        )
        rows.append(f"| `{name}` | {ends} | {gap(held[name]):.1e} | {by} |")
    summary = f"{len(held)} instances, {len(is_open)} of them open (gap above {OPEN_GAP:g}), which stand first, then"
    summary += " those whose bounds somebody has moved."
    for what, text in (("moved", "\n".join(lines) or "Nothing yet."), ("table", "\n".join([summary, "", *rows]))):
        before, begin, rest = page.partition(BEGIN.format(what))
        _, end, after = rest.partition(END.format(what))
        if not (begin and end):
            raise WrongError(f"{PAGE.name} has lost its markers {BEGIN.format(what)} and {END.format(what)}")
        page = f"{before}{begin}\n{text}\n{end}{after}"
    return page


def renew(moved: list[Line]) -> list[str]:
    """Write ``records.json``, the page, and the digests of statements that are new; what cannot be written."""
    digests, wrong = statements(), list[str]()
    for name in sorted(set(list_problems()) - set(digests)):
        try:
            digests[name] = kernel.statement_digest(*stated(name))
        except NotCheckedError as error:
            wrong.append(f"{STATEMENTS.name}: {error}")
    digests = {name: digests[name] for name in list_problems() if name in digests}
    for path, text in ((STATEMENTS, json.dumps(digests, indent=1) + "\n"), (TABLE, written(moved)), (PAGE, None)):
        content = with_records(PAGE.read_text(encoding="utf-8"), read(TABLE)) if text is None else text
        with all_or_nothing(path) as unfinished:
            unfinished.write_text(content, encoding="utf-8")
    return wrong


def printable(line: str) -> str:
    """A line that is one: no letter of a file starts another, or a command of a terminal or of a workflow."""
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in line)


def main(arguments: list[str] | None = None) -> int:
    """Read the command line; exit code 1 if something is wrong or was not checked."""
    parser = argparse.ArgumentParser(description="Keep the records of the instances.")
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="submissions")
    parser.add_argument("--by", default="", help="whose they are, which nobody has proven; default: what titles say")
    parser.add_argument("--author", default="", metavar="LOGIN", help="who opened the pull request that they are of")
    parser.add_argument("--check", action="store_true", help="prove everything again, and change nothing")
    parser.add_argument("--of", metavar="COMMIT", help="with --check: the records of this commit, over those of HEAD")
    said = parser.parse_args(arguments)
    if said.check and (said.files or said.by):
        parser.error("--check proves what is there, and takes no files")
    if (said.of is not None and not said.check) or (said.author and said.by):
        parser.error("--of needs --check, and --author is in place of --by")
    wrong, unchecked = list[str](), list[str]()
    try:
        if said.of is not None:
            wrong, unchecked = pull_request(said.of, said.author)
        elif said.check:
            wrong, unchecked = Check(here(), Budget()).run()
        else:
            moved = read(TABLE)["moved"]
            for path in said.files:
                try:
                    wrong += add(path, said.by, said.author, moved)
                except (WrongError, NotCheckedError) as error:
                    wrong.append(str(error))
            wrong += renew(moved)
    except (WrongError, cm.errors.ConvexMetricError) as error:
        wrong.append(str(error))
    if unchecked:
        how = f"--check --of {said.of}" if said.of else "--check"
        unchecked.append(f"whoever looks runs: CONVEXMETRIC_DATA=FOLDER python problems/records.py {how}")
    kept = f"{TABLE.name} and {PAGE.name} are current"
    good = "all submissions are proven, and all of it follows" if said.check else kept
    print("\n".join(map(printable, [*wrong, *unchecked])) or good)
    return int(bool(wrong or unchecked))


if __name__ == "__main__":
    sys.exit(main())
