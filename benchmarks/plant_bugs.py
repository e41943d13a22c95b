"""Plant bugs in the package, one at a time, and see that the quick tests find them.

python benchmarks/plant_bugs.py [--only WORD] [--list]

``planted_bugs.toml`` says what is replaced, and which tests of ``make test`` must fail then. Each bug stands alone in a
copy of the package, which its tests import instead of the checkout. First they all must pass on a copy without any. A
bug is killed if a test fails, survives if none does, and is gone if its text is not in the package once, or no test was
run. The exit code is 0 if all are killed. It takes ten to twenty seconds a bug.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
BUGS = Path(__file__).with_name("planted_bugs.toml")
CONTRACTS = "tests/certificates/test_contracts.py"
#: Exit codes of pytest: all passed, some failed, and a file that could not be imported.
PASSED, FAILED, BROKEN = pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED
SECONDS = 900


@dataclass(frozen=True)
class Bug:
    """A line that somebody could write, and what must fail then."""

    what: str
    file: str
    old: str
    new: str
    problems: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()

    def planted(self, package: Path) -> tuple[Path, str] | None:
        """The file with the bug: the one that is named, or the only one that has the text; None if there is none."""
        named = package / self.file
        found = [path for path in sorted(package.rglob("*.py")) if path.read_text().count(self.old) == 1]
        if named not in found and len(found) != 1:
            return None
        path = named if named in found else found[0]
        return path, path.read_text().replace(self.old, self.new)


def bugs() -> list[Bug]:
    """Those that are planted."""
    listed = tomllib.loads(BUGS.read_text())["bug"]
    return [Bug(**{k: tuple(v) if isinstance(v, list) else v for k, v in one.items()}) for one in listed]


class Only:
    """Of the contracts, those of some problems."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = problems

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Leave the others out."""
        items[:] = [item for item in items if CONTRACTS not in item.nodeid or self._wanted(item)]

    def _wanted(self, item: Any) -> bool:
        return hasattr(item, "callspec") and item.callspec.params.get("name") in self.problems


def run(package: Path, problems: Sequence[str], tests: Sequence[str]) -> tuple[int, str]:
    """Exit code and summary of the tests in a process of their own, which stops at the first that fails."""
    code = (
        f"import sys, convexmetric; sys.path.insert(0, {str(Path(__file__).parent)!r}); import plant_bugs, pytest; "
        f"assert convexmetric.__file__.startswith({str(package)!r}); "
        f"sys.exit(pytest.main(sys.argv[1:], plugins=[plant_bugs.Only({list(problems)!r})]))"
    )
    files = [*tests, *([CONTRACTS] if problems else [])]
    command = [sys.executable, "-P", "-c", code, "-x", "-q", "--no-header", "-p", "no:cacheprovider", *files]
    environment = os.environ | {"PYTHONPATH": str(package.parent)}
    try:
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return int(FAILED), "out of time"
    return done.returncode, "\n".join(line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR")))


def outcome(bug: Bug, package: Path) -> str:
    """Whether the bug is killed."""
    planted = bug.planted(package)
    if planted is None:
        return "gone: its text is not in the package once"
    path, text = planted
    right = path.read_text()
    try:
        path.write_text(text)
        code, _ = run(package, bug.problems, bug.tests)
    finally:
        path.write_text(right)
    if code in (FAILED, BROKEN):
        return "killed"
    return "survived" if code == PASSED else f"gone: its tests do not run (exit code {code})"


def main(arguments: Sequence[str] | None = None) -> int:
    """Plant all; how many were not killed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="bugs with this in their file or description")
    parser.add_argument("--list", action="store_true", help="show them, and whether their text is there")
    given = parser.parse_args(arguments)
    chosen = [bug for bug in bugs() if given.only in bug.what or given.only in bug.file]
    if given.list:
        for bug in chosen:
            print(f"{'there' if bug.planted(ROOT / 'convexmetric') else 'gone':6} {bug.file}: {bug.what}")
        return sum(bug.planted(ROOT / "convexmetric") is None for bug in chosen)
    with tempfile.TemporaryDirectory() as folder:
        # With the compiled loops of the checkout, which are as old as its files.
        package = Path(shutil.copytree(ROOT / "convexmetric", Path(folder) / "convexmetric"))
        shutil.copytree(ROOT / "problems", Path(folder) / "problems")
        problems = sorted({name for bug in chosen for name in bug.problems})
        code, last = run(package, problems, sorted({test for bug in chosen for test in bug.tests}))
        if code != PASSED:
            print(f"the tests fail without any bug: {last}")
            return 1
        outcomes = []
        for bug in chosen:
            outcomes.append(outcome(bug, package))
            print(f"{outcomes[-1]:9} {bug.file}: {bug.what}", flush=True)
    print(", ".join(f"{count} {word}" for word, count in Counter(one.split(":")[0] for one in outcomes).items()))
    return sum(one != "killed" for one in outcomes)


if __name__ == "__main__":
    sys.exit(main())
