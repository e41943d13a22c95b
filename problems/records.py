"""Records: the best bounds that were ever proven for every instance, and what moved them.

    python problems/records.py FILE ... [--by NAME]    prove submissions, and keep those that improve a bound
    python problems/records.py                         add instances that are new, and renew RECORDS.md
    python problems/records.py --check [--since OLD]   prove all submissions again, and check that records.json follows

A submission is what ``convexmetric submit`` writes. It is proven in exact arithmetic for the instance built here from
its data; what it claims plays no part. A bound that is strictly better than the record takes its place: the file is
kept in ``records/``, and ``records.json`` gets a line in ``moved``. A worse or an equal one changes nothing.

``records.json`` has for each side of each instance the best bound, a rational; whose it is; and the file that proves it
with its SHA-256, or for the bounds that came with the library what the instance's file says of how they were made.
``--check`` finds all of it anew from the files of the instances, whose bounds it takes from there
(``problems/certify.py --verify-only`` proves those), and from the submissions, which it proves. Files in ``records/``
that no line speaks of are proven, too, and it says what they would move. With ``--since``, an older ``records.json``,
lines of ``moved`` may only have been added. What it needs of data that are not here is named, and does not count as
wrong.

Exit code 1 if something is wrong. The worst that can be wrong is a lower bound above an upper one: then one of two
proofs, or the kernel, is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import stat
import sys
from datetime import UTC, datetime
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

import convexmetric as cm
from convexmetric.bench import Instance, list_problems, load_instance
from convexmetric.bench.library import OPEN_GAP
from convexmetric.bench.submissions import DIGITS, MAX_FILE, NAME, SIDES, Bounds, proven
from convexmetric.certificates import CertificateError, checker, kernel
from convexmetric.errors import DataNotFoundError
from convexmetric.files import all_or_nothing

FOLDER = Path(__file__).resolve().parent
TABLE, KEPT, PAGE = FOLDER / "records.json", FOLDER / "records", FOLDER / "RECORDS.md"
BEGIN, END = "<!-- {}: begin -->", "<!-- {}: end -->"
#: Limits on a submission unpacked and on the operations of its proof, and on ``records.json``, in bytes.
LIMITS: dict[str, Any] = {"max_bytes": 2**28, "max_work": 3e11}
MAX_TABLE = 2**24
#: What a line of ``moved`` has, and how each of it is written.
RATIONAL = r"-?[0-9]{1,400}(/[1-9][0-9]{0,399})?"
LINE = {
    "instance": r"[a-z0-9][a-z0-9.-]{0,99}",
    "side": "lower|upper",
    "from": rf"{RATIONAL}|none",
    "to": RATIONAL,
    "by": NAME.pattern,
    "date": r"[0-9]{4}-[0-9]{2}-[0-9]{2}",
    "file": r"records/[a-z0-9][a-z0-9.-]{0,149}\.npz",
    "sha256": r"[0-9a-f]{64}",
}

Line = dict[str, str]


class WrongError(Exception):
    """Something that is wrong with the records or with a submission, in words."""


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


def crossed(name: str, known: list[tuple[Bounds, str]]) -> list[str]:
    """The alarm, if the largest of all proven lower bounds is above the smallest upper one; it names both proofs."""
    lowers = [(bounds["lower"], where) for bounds, where in known if bounds["lower"] is not None]
    uppers = [(bounds["upper"], where) for bounds, where in known if bounds["upper"] is not None]
    if not (lowers and uppers and max(lowers)[0] > min(uppers)[0]):
        return []
    (lower, below), (upper, above) = max(lowers), min(uppers)
    return [
        f"ALARM: {name}: the lower bound {checker.decimal(lower, -1)} ({below}) is above the upper bound "
        f"{checker.decimal(upper, 1)} ({above}): one of the two proofs, or the kernel, is wrong"
    ]


def better(bounds: Bounds, than: Bounds) -> list[str]:
    """Sides on which bounds are strictly better than others."""
    pairs = ((side, bounds[side], than[side]) for side in SIDES)
    return [side for side, new, old in pairs if new is not None and (old is None or (old - new) * SIDES[side] > 0)]


# Files ---------------------------------------------------------------------------------------------------------------


def read(path: Path) -> dict[str, Any]:
    """``records.json``, with every line of ``moved`` checked letter by letter; entries of instances are not.

    Raises
    ------
    WrongError
        If it is no such file.
    """
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode) or path.stat().st_size > MAX_TABLE:
            raise WrongError(f"{path.name} is no file of at most {MAX_TABLE} bytes")
        table = json.loads(path.read_text(encoding="utf-8"))
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


def titled(path: Path) -> tuple[str, str]:
    """Instance and name in the title of a submission; the first decides only which instance it is tried on.

    Raises
    ------
    WrongError
        If it is too large, is refused by the reader, or names no instance.
    """
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode) or path.stat().st_size > MAX_FILE:
            raise WrongError(f"{path.name} is no file of at most {MAX_FILE:,} bytes")
        title = checker.read(path, LIMITS["max_bytes"])[0]["title"]
    except (OSError, CertificateError) as error:
        raise WrongError(f"{path.name} is refused: {error}") from error
    name, _, by = title.partition(", by ") if isinstance(title, str) else ("", "", "")
    if name not in list_problems():
        raise WrongError(f"{path.name}: its title names no instance: {ascii(title)[:100]}")
    return name, by


def proof(path: Path, name: str) -> Bounds:
    """Bounds that a submission proves for an instance.

    Raises
    ------
    WrongError
        If it is refused, or proves nothing.
    DataNotFoundError
        If the data set of the instance is not here.
    """
    try:
        bounds, reason = proven(path, load_instance(name).problem(), **LIMITS)
    except CertificateError as error:
        raise WrongError(f"{path.name} is refused for {name}: {error}") from error
    if set(bounds.values()) == {None}:
        raise WrongError(f"{path.name} proves nothing of {name}: {reason}")
    return bounds


# Commands ------------------------------------------------------------------------------------------------------------


def check(since: Path | None) -> list[str]:
    """Find everything in ``records.json`` anew; what is wrong with it."""
    table = read(TABLE)
    moved, held = table["moved"], table["instances"]
    wrong: list[str] = []
    if since is not None and read(since)["moved"] != moved[: len(read(since)["moved"])]:
        wrong.append("moved: lines that were there have been changed or removed")
    best = replayed(moved)
    missing = sorted(set(best) - set(held))
    if missing:
        wrong.append(f"missing: {', '.join(missing)} (python problems/records.py adds them)")
    wrong += [f"{name!a}: there is no such instance" for name in sorted(set(held) - set(best))]
    for name in sorted(set(best) & set(held)):
        if held[name] != best[name]:
            wrong.append(f"{name}: its entry does not follow from its file and from moved")
    lines: dict[str, list[Line]] = {}
    for line in moved:
        lines.setdefault(line["file"], []).append(line)
    files = sorted(KEPT.iterdir()) if KEPT.is_dir() else []
    gone = set(lines) - {f"records/{path.name}" for path in files}
    wrong += [f"{file} is not there" for file in sorted(gone)]
    # What a line says is not proven before its file is: only proofs can contradict each other.
    proofs = {name: [(bounds_of(of_library(load_instance(name))), "of the library")] for name in best}
    for path in files:
        try:
            wrong += checked_file(path, lines.get(f"records/{path.name}", []), best, proofs)
        except WrongError as error:
            wrong.append(str(error))
        except DataNotFoundError as error:
            print(f"NOT CHECKED: {path.name}: {error}")
    return wrong + [alarm for name, known in proofs.items() for alarm in crossed(name, known)]


def checked_file(
    path: Path, lines: list[Line], best: dict[str, Any], proofs: dict[str, list[tuple[Bounds, str]]]
) -> list[str]:
    """Prove a submission again; which of its lines do not follow from it. Without lines it says what it would move."""
    name = lines[0]["instance"] if lines else titled(path)[0]
    titled(path)
    content = sha256(path.read_bytes()).hexdigest()
    bounds, wrong = proof(path, name), []
    proofs[name].append((bounds, path.name))
    for line in lines:
        bound, sign = bounds[line["side"]], SIDES[line["side"]]
        if (line["instance"], line["sha256"]) != (name, content):
            wrong.append(f"{path.name} has another SHA-256 or is about another instance than moved says")
        elif bound is None or (Fraction(line["to"]) - bound) * sign < 0:
            wrong.append(f"{path.name} does not prove the {line['side']} bound {line['to']} of {name}")
    said = ", ".join(better(bounds, bounds_of(best[name]))) or "no"
    print(f"{path.name}: proven" if lines else f"{path.name}: proven; it would move {said} bound of {name}")
    return wrong


def add(path: Path, by: str, moved: list[Line]) -> list[str]:
    """Prove a submission, and keep it if it improves a bound: ``moved`` gets its lines. What is wrong with it."""
    name, own = titled(path)
    by = by or own
    if not NAME.fullmatch(by):
        raise WrongError(f"{path.name}: pass --by, a name of at most 80 letters, digits, spaces and .,()+-")
    bounds, best = proof(path, name), bounds_of(replayed(moved)[name])
    alarm = crossed(name, [(bounds, path.name), (best, "of the records")])
    if alarm:
        return alarm
    sides = better(bounds, best)
    if not sides:
        print(f"{path.name}: proven, but no bound of {name} is better than the record; nothing changes")
        return []
    content = path.read_bytes()
    digest = sha256(content).hexdigest()
    kept = KEPT / f"{name}.{digest[:12]}.npz"
    KEPT.mkdir(exist_ok=True)
    if path.resolve().parent == KEPT:
        path.rename(kept)
    elif path.resolve() != kept:
        shutil.copyfile(path, kept)
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
    is_open = [name for name in held if gap(held[name]) > OPEN_GAP]
    rows = [
        "| instance | bounds | gap | by |",
        "| --- | --- | ---: | --- |",
    ]
    for name in sorted(is_open, key=lambda name: -gap(held[name])) + sorted(set(held) - set(is_open)):
        ends = " to ".join(shown(held[name][side], side) or "none" for side in SIDES)
        who = {side: table["instances"][name].get(side, {"by": ""})["by"].replace("library", "") for side in SIDES}
        by = (
            who["lower"]
            if len(set(who.values())) == 1
            else ", ".join(f"{by} ({side})" for side, by in who.items() if by)
        )
        rows.append(f"| `{name}` | {ends} | {gap(held[name]):.1e} | {by} |")
    summary = f"{len(held)} instances, {len(is_open)} of them open (gap above {OPEN_GAP:g}), which stand first."
    for what, text in (("moved", "\n".join(lines) or "Nothing yet."), ("table", "\n".join([summary, "", *rows]))):
        before, begin, rest = page.partition(BEGIN.format(what))
        _, end, after = rest.partition(END.format(what))
        if not (begin and end):
            raise WrongError(f"{PAGE.name} has lost its markers {BEGIN.format(what)} and {END.format(what)}")
        page = f"{before}{begin}\n{text}\n{end}{after}"
    return page


def renew(moved: list[Line]) -> None:
    """Write ``records.json`` and the page."""
    for path, text in ((TABLE, written(moved)), (PAGE, None)):
        content = with_records(PAGE.read_text(encoding="utf-8"), read(TABLE)) if text is None else text
        with all_or_nothing(path) as unfinished:
            unfinished.write_text(content, encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    """Read the command line; exit code 1 if something is wrong."""
    parser = argparse.ArgumentParser(description="Keep the records of the instances.")
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="submissions")
    parser.add_argument("--by", default="", help="whose they are; by default what their titles say")
    parser.add_argument("--check", action="store_true", help="prove everything again, and change nothing")
    parser.add_argument("--since", type=Path, metavar="OLD", help="with --check: an older records.json")
    said = parser.parse_args(arguments)
    if said.check and (said.files or said.by):
        parser.error("--check proves what is there, and takes no files")
    wrong: list[str] = []
    try:
        if said.check:
            wrong = check(said.since)
        else:
            moved = read(TABLE)["moved"]
            for path in said.files:
                try:
                    wrong += add(path, said.by, moved)
                except WrongError as error:
                    wrong.append(str(error))
            renew(moved)
    except WrongError as error:
        wrong.append(str(error))
    except cm.errors.ConvexMetricError as error:
        wrong.append(str(error))
    kept = f"{TABLE.name} and {PAGE.name} are current"
    print("\n".join(wrong) or ("all submissions are proven, and all of it follows" if said.check else kept))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
