"""Two checkouts of the package on instances of the library: bounds and seconds, or whether certificates are the same.

python benchmarks/compare_checkouts.py OTHER [--instances 'ranking-*'] [--tol 1e-6] [--limit 60] [--repeat 1]
    [--clock processor] [--json FILE]
python benchmarks/compare_checkouts.py OTHER --certificates [--keep FOLDER] [--instances PATTERN ...]

OTHER is a folder with another version of the package, such as a `git worktree` of an earlier commit. Every instance is
solved by both, one after the other in a process of its own; compiled loops are warmed up by a first solve that does not
count. The table shows what each version certified, its rounding where it says so, and seconds; the last lines are the
geometric mean and the worst of the ratios of seconds, this one over OTHER. On a busy machine take seconds of the
processor, with one thread. OTHER may be laid out otherwise: only public names of the root are called.

With ``--certificates`` both write a certificate, and both write a second one from what OTHER solved, with one thread,
in which solves are deterministic. The files of the same solve say whether the writer changed a byte, those of the
versions' own solves whether anything before it did. Where files differ, the lines below the table say in which array,
or at which key of the description, and the exit status is 1.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from results import Results, add_library_options, begun, ratios_in_words
from tables import markdown, ratio, seconds

from convexmetric.bench import load_instance
from convexmetric.numerics.threads import THREAD_VARIABLES

HERE = Path(__file__).resolve().parents[1]

SOLVE = """
import json, sys, time, warnings
import convexmetric as cm
name, tol, limit, repeat = sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
clock = time.process_time if sys.argv[5] == "processor" else time.perf_counter
warnings.simplefilter("ignore")
problem = cm.load_problem(name)
best = None
for attempt in range(repeat + 1):
    start = clock()
    solution = cm.solve(problem, tol=tol, max_seconds=limit)
    taken = clock() - start
    if attempt and (best is None or taken < best):
        best = taken
    if taken > 0.5 * limit:
        best = taken
        break
print(json.dumps({
    "package": cm.__file__,
    "lower": solution.lower_bound, "upper": solution.upper_bound, "gap": solution.gap, "status": solution.status,
    "iterations": solution.iterations, "solver": solution.solver, "seconds": best,
    "rounding": getattr(solution, "rounding", None),
}))
"""
#: Arguments: the instance, the tolerance, files for the certificates of the own and of the same solve, and the file of
#: the same solve, written if it is not there yet. Functions are looked for where the version has them.
CERTIFY = """
import importlib, pathlib, sys, warnings
import convexmetric as cm
name, tol, own, same, kept = sys.argv[1], float(sys.argv[2]), *map(pathlib.Path, sys.argv[3:])
warnings.simplefilter("ignore")
folder = pathlib.Path(cm.__file__).parent

def function(called):
    for file in sorted(folder.rglob("*.py")):
        if f"\\ndef {called}(" in file.read_text(encoding="utf-8"):
            module = ".".join(["convexmetric", *file.relative_to(folder).with_suffix("").parts])
            return getattr(importlib.import_module(module), called)
    raise SystemExit(f"this version has no function {called}")

problem = cm.load_problem(name)
solution = cm.solve(problem, tol=tol)
cm.write_certificate(own, problem, solution=solution)
if not kept.exists():
    function("write_solution")(kept, solution)
cm.write_certificate(same, problem, solution=function("read_certificate")(kept, problem))
"""


def ran(root: Path, script: str, given: list[object], threads: int, limit: float) -> tuple[str, str]:
    """What a script prints that is run with the package in a folder; and why it did not end well, or nothing."""
    numbers = dict.fromkeys((*THREAD_VARIABLES, "NUMBA_NUM_THREADS"), str(threads))
    most, here = int(limit), {**os.environ, **numbers, "PYTHONPATH": str(root)}
    # Python looks in the current folder first.
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, given)], cwd=root, env=here, capture_output=True,
        text=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (most, most)),
    )  # fmt: skip
    if done.returncode < 0:
        return "", f"ended by signal {-done.returncode}; the limit is {most} seconds of the processor"
    return done.stdout, "".join(done.stderr.strip().splitlines()[-1:]) or "failed" if done.returncode else ""


# Seconds --------------------------------------------------------------------------------------------------------------


def solved(root: Path, name: str, arguments: argparse.Namespace) -> dict[str, Any] | None:
    """What the package in a folder makes of an instance; None if it fails."""
    given = [name, arguments.tol, arguments.limit, arguments.repeat, arguments.clock]
    # All solves and the imports of a process, on every thread.
    most = (arguments.limit * 2.0 * (arguments.repeat + 1) + 60.0) * arguments.threads
    printed, failed = ran(root, SOLVE, given, arguments.threads, most)
    if failed:
        print(f"{root}: {name}: {failed}", file=sys.stderr)
        return None
    return json.loads(printed.splitlines()[-1])


def row_of_seconds(name: str, before: dict[str, Any], after: dict[str, Any]) -> list[object]:
    relative = "-" if after["rounding"] is None else f"{after['rounding'] / abs(after['upper']):.0e}"
    return [
        name, f"{before['gap']:.1e}", f"{after['gap']:.1e}", relative, seconds(before["seconds"]),
        seconds(after["seconds"]), ratio(after["seconds"], before["seconds"]),
        after["solver"] if after["solver"] == before["solver"] else f"{before['solver']} -> {after['solver']}",
    ]  # fmt: skip


def compare_seconds(names: list[str], other: Path, arguments: argparse.Namespace) -> int:
    asked = {key: getattr(arguments, key) for key in ("tol", "limit", "repeat", "clock", "threads")}
    results, rows, ratios = Results(arguments.json), [], {}
    for name in names:
        found = results.get(
            {"name": name, "folder": str(other), **asked},
            lambda name=name: {"other": solved(other, name, arguments), "here": solved(HERE, name, arguments)},
        )
        before, after = found["other"], found["here"]
        if before is None or after is None:
            rows.append([name, *(["-"] * 7)])
            continue
        ratios[name] = after["seconds"] / before["seconds"]
        rows.append(row_of_seconds(name, before, after))
        print(f"{name}: {rows[-1][1:]}", file=sys.stderr, flush=True)
    print(markdown(["instance", "gap before", "gap", "rounding / bound", "s before", "s", "ratio", "solver"], rows))
    if ratios:
        print(f"\nratio of seconds: {ratios_in_words(ratios)}")
    return 0


# Certificates ---------------------------------------------------------------------------------------------------------


def contents(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The description in a certificate file, its leaves by dotted keys, and its arrays."""
    with zipfile.ZipFile(path) as archive:
        description = json.loads(archive.read("certificate.json"))
        # Hashes say no more than the arrays.
        description.pop("sha256", None)
        names = [member for member in archive.namelist() if member.endswith(".npy")]
        arrays = {name[:-4]: np.load(BytesIO(archive.read(name)), allow_pickle=False) for name in names}
    return dict(leaves(description)), arrays


def leaves(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """The texts of what a description holds, by dotted keys."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from leaves(part, f"{key}.{name}" if key else name)
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield from leaves(part, f"{key}[{place}]")
    else:
        text = json.dumps(value)
        yield key, text if len(text) <= 60 else f"{text[:57]}..."


def difference(before: np.ndarray, after: np.ndarray) -> str:
    """How two arrays differ, in type, in shape or in how many entries and by how much; nothing if they do not."""
    if (before.dtype, before.shape) != (after.dtype, after.shape):
        return " -> ".join(f"{array.dtype.str} {array.shape}" for array in (before, after))
    if before.tobytes() == after.tobytes():
        return ""
    # Zeros of either sign are equal numbers and other bytes.
    unequal, most = before != after, np.abs(after.astype(float) - before.astype(float)).max()
    return f"{np.count_nonzero(unequal)} of {unequal.size} entries, by {most:.1e} at most"


def differences(before: Path, after: Path) -> list[str]:
    """What differs between two certificate files, a line each; none if they are the same bytes."""
    if before.read_bytes() == after.read_bytes():
        return []
    found, (said, arrays), (other, others) = [], contents(before), contents(after)
    for start, one, two in (("", said, other), ("array ", arrays, others)):
        for name in sorted(one.keys() | two.keys()):
            if name not in one or name not in two:
                found.append(f"{start}{name} is {'new' if name in two else 'gone'}")
            elif start and (how := difference(one[name], two[name])):
                found.append(f"{start}{name}: {how}")
            elif not start and one[name] != two[name]:
                found.append(f"{name}: {one[name]} -> {two[name]}")
    return found or ["the contents are the same, and the bytes are not: packed otherwise, or in another order"]


def compared(name: str, other: Path, folder: Path, limit: float) -> tuple[list[str], list[str]]:
    """The row of an instance, and the lines that say what differs."""
    solution, tol = folder / f"{name}-solution.npz", load_instance(name).how["tol"]
    files = {who: [folder / f"{name}-{who}-{what}.npz" for what in ("own", "same")] for who in ("other", "here")}
    for who, root in (("other", other), ("here", HERE)):
        _, failed = ran(root, CERTIFY, [name, tol, *files[who], solution], 1, limit)
        if failed:
            return [name, "-", "-"], [f"{root}: {failed}"]
    own, same = (differences(before, after) for before, after in zip(files["other"], files["here"]))
    lines = [f"same solve: {line}" for line in same] + [f"own solve: {line}" for line in own]
    return [name, *("differs" if found else "same" for found in (same, own))], lines


def compare_certificates(names: list[str], other: Path, limit: float, folder: Path) -> int:
    rows, notes = [], []
    for name in names:
        cells, lines = compared(name, other, folder.resolve(), limit)
        rows.append(cells)
        notes += [f"{name}: {line}" for line in lines]
        print(*cells, file=sys.stderr, flush=True)
    print(markdown(["instance", "of the same solve", "of own solves"], rows))
    print("\n".join(["", *notes]) if notes else f"\nall {len(rows)} files are the same, byte for byte")
    return int(bool(notes))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path)
    add_library_options(parser, ["*"])
    parser.add_argument("--repeat", type=int, default=1, help="solves after the first, of which the fastest counts")
    parser.add_argument("--clock", choices=["wall", "processor"], default="wall", help="what counts seconds")
    parser.add_argument("--certificates", action="store_true", help="compare files; the limit is of the processor")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="leave the files in this folder, which is empty")
    arguments, names = begun(parser)
    other, keep = arguments.other.resolve(), arguments.keep
    if not (other / "convexmetric").is_dir():
        parser.error(f"{other} has no folder convexmetric")
    if keep is not None and (not keep.is_dir() or any(keep.iterdir())):
        parser.error(f"{keep} is no empty folder")
    if not arguments.certificates:
        return compare_seconds(names, other, arguments)
    with tempfile.TemporaryDirectory() as temporary:
        return compare_certificates(names, other, arguments.limit, keep or Path(temporary))


if __name__ == "__main__":
    sys.exit(main())
