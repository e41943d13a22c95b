"""Break every line of the kernel of proofs, one at a time, and run its quick tests until one of them fails.

python benchmarks/mutate_kernel.py [--jobs 2] [--only balls.Ball] [--results FILE] [--again]

A mutant is the kernel with one change (``kernel_mutants.py``), alone in packages of the names of ours, so that the
tests import nothing else of them. Every one has a process of its own with limits on its time and memory, and runs the
tests that call what was changed. Results are kept in a file, and what is there is not run anew; ``--again`` runs those
that survived. A mutant that no test kills must be explained in ``tests/certificates/survivors.toml``: the exit code is
0 if all are.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import importlib.abc
import importlib.machinery
import inspect
import itertools
import json
import os
import resource
import signal
import sys
import tempfile
import time
import tomllib
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_mutants import Mutant, mutants

ROOT = Path(__file__).resolve().parents[1]
KERNEL = Path("convexmetric/certificates/kernel")
#: Quick tests that need the kernel and nothing else of the package: of arithmetic, of the reader, and of all else.
OWN = {
    "balls.py": ("test_kernel_balls",),
    "conic.py": ("test_kernel_conic", "test_kernel_hints", "test_kernel_bounds"),
    "reader.py": ("test_kernel_reader",),
    "systems.py": ("test_kernel_systems", "test_kernel_hints"),
}
RULES = ("test_kernel_bounds", "test_kernel_rules", "test_kernel_conic", "test_kernel_hints")
#: What has the kernel, or is of it, and is imported anew for a mutant.
STALE = ("convexmetric", "test_kernel", "forgery", "corpus", "conic_files")
#: Folders of what they import.
FOLDERS = ("tests", "tests/certificates")
SURVIVORS = ROOT / "tests" / "certificates" / "survivors.toml"
SECONDS, MEMORY = 60, 4 * 2**30


class Kernel(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Packages of the names of ours that hold the kernel and the checker alone, compiled before."""

    def __init__(self) -> None:
        self.codes: dict[str, Any] = {"convexmetric": "", "convexmetric.certificates": ""}
        for path in [*sorted((ROOT / KERNEL).glob("*.py")), ROOT / KERNEL.parent / "checker.py"]:
            self.codes[name_of(path)] = compile(path.read_text(), str(path), "exec")

    def find_spec(self, name: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        package = name in ("convexmetric", "convexmetric.certificates", "convexmetric.certificates.kernel")
        return importlib.machinery.ModuleSpec(name, self, is_package=package) if name in self.codes else None

    def exec_module(self, module: Any) -> None:
        exec(self.codes[module.__name__], module.__dict__)


def name_of(path: Path) -> str:
    """A module by its file."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def cases(modules: Sequence[str]) -> dict[str, Callable[[], object]]:
    """The tests of modules with their parameters, by name: functions that ask for no more than a patch and a folder."""
    found = {}
    for name in modules:
        for title, test in vars(importlib.import_module(name)).items():
            if title.startswith("test_"):
                marks = [mark.args for mark in getattr(test, "pytestmark", ()) if mark.name == "parametrize"]
                choices = [[(names, value) for value in values] for names, values in marks]
                for number, chosen in enumerate(itertools.product(*choices)):
                    given: dict[str, Any] = {}
                    for names, value in chosen:
                        keys = [one.strip() for one in names.split(",")] if isinstance(names, str) else list(names)
                        # pytest.param(...) holds a tuple of values, whatever their number.
                        alone = [value] if len(keys) == 1 else value
                        given |= dict(zip(keys, value.values if hasattr(value, "marks") else alone, strict=True))
                    found[f"{name}.{title}[{number}]"] = functools.partial(called, test, given)
    return found


def called(test: Callable[..., object], given: dict[str, Any]) -> None:
    """Call a test as pytest does."""
    wanted = inspect.signature(test).parameters
    with contextlib.ExitStack() as stack:
        stack.enter_context(np.errstate(all="ignore"))
        stack.enter_context(contextlib.suppress(pytest.skip.Exception))
        if "monkeypatch" in wanted:
            given = given | {"monkeypatch": stack.enter_context(pytest.MonkeyPatch.context())}
        if "tmp_path" in wanted:
            given = given | {"tmp_path": Path(stack.enter_context(tempfile.TemporaryDirectory()))}
        test(**given)


def remember() -> None:
    """Keep what the second checker finds: it knows nothing of the kernel, and processes that are forked have it."""
    exact: Any = importlib.import_module("second_checker")
    for name in ("says", "costs"):
        setattr(exact.Part, name, functools.cache(getattr(exact.Part, name)))
    for name in ("logarithm", "exponential", "root", "entropy", "softplus", "Part", "judge"):
        setattr(exact, name, functools.cache(getattr(exact, name)))


@dataclass
class Known:
    """What the tests do on the kernel as it is: their seconds, and the functions that each calls."""

    seconds: dict[str, float] = field(default_factory=dict)
    calls: dict[str, set[str]] = field(default_factory=dict)

    def order(self, mutant: Mutant) -> list[str]:
        """The tests that call what was changed, or all of its file where it is no function: the quick ones first."""
        names = sorted(self.seconds, key=lambda name: self.seconds[name])
        return [name for name in names if mutant.where in self.calls[name]] or names


def calls(test: Callable[[], None]) -> set[str]:
    """The functions of the kernel that a test calls."""
    found = set()

    def trace(frame: Any, event: str, argument: Any) -> None:
        code = frame.f_code
        if str(KERNEL) in code.co_filename:
            qualified = code.co_qualname.partition(".<locals>")[0]
            found.add(f"{Path(code.co_filename).stem}.{qualified}")

    sys.settrace(trace)
    try:
        test()
    finally:
        sys.settrace(None)
    return found


def attempt(kernel: Kernel, mutant: Mutant | None, order: Sequence[str], found: Known) -> str:
    """The first test that fails on a mutant; or on the kernel as it is, of which it is noted what tests do."""
    warnings.simplefilter("ignore")
    if mutant is None:
        sys.meta_path.insert(0, kernel)
    else:
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        for name in [name for name in sys.modules if name.startswith(STALE)]:
            del sys.modules[name]
        kernel.codes[name_of(mutant.path)] = compile(mutant.text, str(mutant.path), "exec")
    try:
        chosen = sum(OWN.values(), RULES) if mutant is None else OWN.get(mutant.path.name, RULES)
        tests = cases(chosen)
    except SyntaxError:
        raise
    except BaseException as error:
        return f"import: {type(error).__name__}"
    for name in order if mutant else tests:
        if name not in tests:
            continue
        start = time.process_time()
        try:
            if mutant is None:
                found.calls[name] = calls(tests[name])
            else:
                tests[name]()
        except BaseException as error:
            return f"{name}: {type(error).__name__}" if mutant else traceback.format_exc()
        found.seconds[name] = time.process_time() - start
    return "survived"


def started(kernel: Kernel, mutant: Mutant, order: Sequence[str]) -> tuple[int, Path]:
    """A process that does so, and the file in which it says what it found."""
    handle, name = tempfile.mkstemp(prefix="mutant-")
    os.close(handle)
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        try:
            Path(name).write_text(attempt(kernel, mutant, order, Known()))
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    return child, Path(name)


def ended(file: Path) -> str:
    """What a process that has ended found; one that was killed has killed its mutant."""
    text = file.read_text()
    file.unlink()
    return text or "out of time or memory"


def explained() -> dict[str, str]:
    """The reasons of the survivors that have one, by key."""
    if not SURVIVORS.exists():
        return {}
    groups = tomllib.loads(SURVIVORS.read_text())["argued"]
    return {
        f"{group['where']} | {group['line']} | {change}": group["reason"]
        for group in groups
        for change in group["changes"]
    }


def run(kernel: Kernel, chosen: list[Mutant], jobs: int, results: Path, known: dict[str, str], tests: Known) -> None:
    """Run mutants, some at a time, and write down what is found as it is; first the tests that killed their likes."""
    waiting, running, done = chosen[::-1], {}, 0
    killers: dict[str, list[str]] = {}
    with results.open("a") as file:
        while waiting or running:
            while waiting and len(running) < jobs:
                mutant = waiting.pop()
                first = {*killers.get(mutant.where, []), *killers.get(mutant.path.name, [])}
                child, said = started(kernel, mutant, sorted(tests.order(mutant), key=lambda name: name not in first))
                running[child] = (mutant, said, time.perf_counter())
            child, _ = os.waitpid(-1, os.WNOHANG)
            if child:
                mutant, said, start = running.pop(child)
                found, done = ended(said), done + 1
                known[mutant.key] = found
                file.write(json.dumps({"key": mutant.key, "said": found}) + "\n")
                file.flush()
                if found == "survived":
                    print(f"{done} of {len(chosen)}  survived: {mutant.key}", flush=True)
                for place in (mutant.where, mutant.path.name):
                    names = killers.setdefault(place, [])
                    names[:] = list(dict.fromkeys([found.partition(":")[0], *names]))[:6]
            else:
                time.sleep(0.005)
                for late, (_, _, start) in running.items():
                    if time.perf_counter() - start > 10 * SECONDS:
                        os.kill(late, signal.SIGKILL)


def report(all_of: list[Mutant], known: dict[str, str], only: str) -> int:
    """Print a table by file, and survivors that nothing explains; the number of them."""
    reasons, rows, open_ones = explained(), Counter[tuple[str, str]](), []
    keys = {mutant.key for mutant in all_of}
    for mutant in all_of:
        said = known.get(mutant.key, "not run")
        kind = said if said in ("not run", "survived") else "killed"
        if kind == "survived" and mutant.key in reasons:
            kind = "explained"
        rows[mutant.path.name, kind] += 1
        open_ones += [mutant.key] * (kind == "survived")
    kinds = ("killed", "explained", "survived", "not run")
    print(
        "| file | mutants | killed | survived, explained | survived | not run |\n"
        "| --- | ---: | ---: | ---: | ---: | ---: |"
    )
    for name in [*dict.fromkeys(mutant.path.name for mutant in all_of), "all"]:
        counts = [sum(n for (file, own), n in rows.items() if name in (file, "all") and own == kind) for kind in kinds]
        print(f"| {name} | {sum(counts)} | {' | '.join(map(str, counts))} |")
    for key in open_ones:
        print(f"no reason: {key}")
    for key in (key for key in reasons if only in key):
        if key not in keys or known.get(key, "survived") != "survived":
            print(f"a reason for what is {'killed' if key in keys else 'not there'}: {key}")
    return len(open_ones)


def main() -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--only", default="", help="mutants whose key contains this text")
    parser.add_argument("--most", type=int, default=10**6, help="mutants of a line: conditions first, constants last")
    parser.add_argument("--results", type=Path, default=Path(tempfile.gettempdir()) / "kernel_mutants.jsonl")
    parser.add_argument("--again", action="store_true", help="run survivors that nothing explains once more")
    given = parser.parse_args()
    paths = [path for path in sorted((ROOT / KERNEL).glob("*.py")) if not path.name.startswith("__")]
    all_of = [mutant for path in paths for mutant in mutants(path)]
    all_of = [mutant for mutant in all_of if given.only in mutant.key and mutant.rank < given.most]
    known: dict[str, str] = {}
    if given.results.exists():
        lines = map(json.loads, given.results.read_text().splitlines())
        known = {line["key"]: line["said"] for line in lines}
    sys.path[:0] = [str(ROOT / folder) for folder in FOLDERS]
    kernel = Kernel()
    remember()
    tests = Known()
    said = attempt(kernel, None, [], tests)
    if said != "survived":
        print(f"the kernel as it is fails its tests: {said}")
        return 2
    print(f"{len(tests.seconds)} tests take {sum(tests.seconds.values()):.1f} s", flush=True)
    reasons = explained()
    again = {key for key, said in known.items() if given.again and said == "survived" and key not in reasons}
    run(kernel, [m for m in all_of if m.key not in known or m.key in again], given.jobs, given.results, known, tests)
    return int(report(all_of, known, given.only) > 0)


if __name__ == "__main__":
    sys.exit(main())
