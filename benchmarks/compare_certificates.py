"""Whether another checkout of the package writes the same certificate files, byte for byte.

python benchmarks/compare_certificates.py OTHER [--instances PATTERN ...] [--limit 120] [--keep FOLDER]

OTHER is a folder with another version of the package, such as a ``git worktree`` of an earlier commit. Both solve every
instance and write a certificate, and both write a second one from what OTHER solved. Each runs in a process of its own
with one thread, in which solves are deterministic. The files of the same solve say whether the writer changed a byte,
those of the versions' own solves whether anything before it did. Where files differ, the lines below the table say in
which array, or at which key of the description.

The exit status is 1 if a file differs or could not be written.
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
from tables import markdown

from convexmetric.bench import chosen_instances, load_instance
from convexmetric.errors import InputError
from convexmetric.numerics.threads import THREAD_VARIABLES

HERE = Path(__file__).resolve().parents[1]
ONE_THREAD = dict.fromkeys((*THREAD_VARIABLES, "NUMBA_NUM_THREADS"), "1")

#: Arguments: the instance, the tolerance, files for the certificates of the own and of the same solve, and the file of
#: the same solve, written if it is not there yet. Functions are looked for where the version has them.
RUN = """
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


def written(root: Path, name: str, files: list[Path], limit: float) -> str:
    """Let the package in a folder solve an instance and write the files; why it did not, or nothing."""
    environment = {**os.environ, **ONE_THREAD, "PYTHONPATH": str(root)}
    tol, seconds = load_instance(name).how["tol"], int(limit)
    done = subprocess.run(
        [sys.executable, "-c", RUN, name, str(tol), *map(str, files)],
        env=environment,
        # Python looks in the current folder first.
        cwd=root,
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds)),
    )
    if done.returncode < 0:
        return f"ended by signal {-done.returncode}; the limit is {seconds} seconds of the processor"
    return "".join(done.stderr.strip().splitlines()[-1:]) or "failed" if done.returncode else ""


def contents(path: Path) -> tuple[Any, dict[str, np.ndarray]]:
    """The description in a certificate file, and its arrays."""
    arrays = {}
    with zipfile.ZipFile(path) as archive:
        description = json.loads(archive.read("certificate.json"))
        for member in archive.namelist():
            if member.endswith(".npy"):
                arrays[member.removesuffix(".npy")] = np.load(BytesIO(archive.read(member)), allow_pickle=False)
    return description, arrays


def differing_keys(before: Any, after: Any, key: str = "") -> Iterator[str]:
    """Where two descriptions differ, by dotted keys, with both values."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in sorted(before.keys() | after.keys()):
            own = f"{key}.{name}" if key else name
            if name not in after:
                yield f"{own} is gone"
            elif name not in before:
                yield f"{own} is new"
            else:
                yield from differing_keys(before[name], after[name], own)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for place, (one, other) in enumerate(zip(before, after)):
            yield from differing_keys(one, other, f"{key}[{place}]")
    elif before != after or type(before) is not type(after):
        yield f"{key}: {shortened(before)} -> {shortened(after)}"


def shortened(value: Any) -> str:
    """The text of a value, at most 60 letters of it."""
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def differing_arrays(before: dict[str, np.ndarray], after: dict[str, np.ndarray]) -> Iterator[str]:
    """Which arrays differ, in type, in shape or in how many entries and by how much."""
    for name in sorted(before.keys() | after.keys()):
        if name not in after:
            yield f"array {name} is gone"
        elif name not in before:
            yield f"array {name} is new"
        elif (before[name].dtype, before[name].shape) != (after[name].dtype, after[name].shape):
            kinds = (f"{array.dtype.str} {array.shape}" for array in (before[name], after[name]))
            yield f"array {name}: {' -> '.join(kinds)}"
        elif before[name].tobytes() != after[name].tobytes():
            # Zeros of either sign are equal numbers and other bytes.
            unequal = before[name] != after[name]
            most = np.abs(after[name].astype(float) - before[name].astype(float)).max()
            yield f"array {name}: {np.count_nonzero(unequal)} of {unequal.size} entries, by {most:.1e} at most"


def differences(before: Path, after: Path) -> list[str]:
    """What differs between two certificate files, a line each; none if they are the same bytes."""
    if before.read_bytes() == after.read_bytes():
        return []
    (description, arrays), (other_description, other_arrays) = contents(before), contents(after)
    # Hashes say no more than the arrays.
    for one in (description, other_description):
        one.pop("sha256", None)
    found = [*differing_keys(description, other_description), *differing_arrays(arrays, other_arrays)]
    return found or ["the contents are the same, and the bytes are not: packed otherwise, or in another order"]


def compared(name: str, other: Path, folder: Path, limit: float) -> tuple[list[str], list[str]]:
    """The row of an instance, and the lines that say what differs."""
    solution = folder / f"{name}-solution.npz"
    files = {who: [folder / f"{name}-{who}-{what}.npz" for what in ("own", "same")] for who in ("other", "here")}
    for who, root in (("other", other), ("here", HERE)):
        failed = written(root, name, [*files[who], solution], limit)
        if failed:
            return [name, "-", "-"], [f"{root}: {failed}"]
    own, same = (differences(before, after) for before, after in zip(files["other"], files["here"]))
    lines = [f"same solve: {line}" for line in same] + [f"own solve: {line}" for line in own]
    return [name, *("differs" if found else "same" for found in (same, own))], lines


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path)
    parser.add_argument("--instances", nargs="+", metavar="PATTERN", help="of names; quick ones if none is given")
    parser.add_argument(
        "--limit", type=float, default=120.0, help="processor seconds of a process (default %(default)s)"
    )
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="leave the files in this folder, which is empty")
    arguments = parser.parse_args()
    other, keep = arguments.other.resolve(), arguments.keep
    if not (other / "convexmetric").is_dir():
        parser.error(f"{other} has no folder convexmetric")
    if keep is not None and (not keep.is_dir() or any(keep.iterdir())):
        parser.error(f"{keep} is no empty folder")
    try:
        names = chosen_instances(arguments.instances)
    except InputError as error:
        parser.error(str(error))
    rows, notes = [], []
    with tempfile.TemporaryDirectory() as temporary:
        for name in names:
            cells, lines = compared(name, other, (keep or Path(temporary)).resolve(), arguments.limit)
            rows.append(cells)
            notes += [f"{name}: {line}" for line in lines]
            print(*cells, file=sys.stderr, flush=True)
    print(markdown(["instance", "of the same solve", "of own solves"], rows))
    print("\n".join(["", *notes]) if notes else f"\nall {len(rows)} files are the same, byte for byte")
    return 1 if notes else 0


if __name__ == "__main__":
    sys.exit(main())
