"""Every file of tests/corpus through both commands, in a process with limits; and what one file must say."""

import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from campaign.judge import package
from campaign.workers import command, in_workers
from corpus.make import ATTACKS, FOLDERS, MADE, TABLES

from convexmetric.certificates import checker

HERE = Path(__file__).resolve().parent
CORPUS = HERE.parent / "corpus"
FILES = [CORPUS / attack.folder / f"{attack.name}.npz" for attack in ATTACKS]
MEMORY, SECONDS = 2 * 2**30, 20.0
COMMANDS = {"checker": (checker.main, []), "convexmetric verify": (package, ["verify"])}
#: Some ten seconds, by the estimate of the checker; and files that are refused with the limits as they are.
WORK = "--max-work=1e10"
BOMBS = ("bz2-bomb", "deflate-bomb-lying", "features", "wide", "tall")
#: Command, encoding, and of how many files it is run with one; every fourth is quick for the second.
WAYS = [
    ("checker", "ascii", 1),
    pytest.param("checker", "utf-8", 1, marks=pytest.mark.integration),
    pytest.param("convexmetric verify", "ascii", 1, marks=pytest.mark.integration),
    pytest.param("convexmetric verify", "utf-8", 1, marks=pytest.mark.integration),
    ("convexmetric verify", "utf-8", 4),
]


@cache
def ran(name, encoding, step):
    """What a command did to all files, or to one of ``step``, by file."""
    main, words = COMMANDS[name]

    def run(case):
        return command(main, [*words, WORK, str(FILES[case])], SECONDS, encoding)

    return {FILES[case]: found for case, found in in_workers(run, range(0, len(FILES), step), 1, MEMORY, SECONDS)}


def test_the_folder_is_what_the_script_makes():
    there = {path.relative_to(CORPUS).as_posix() for folder in FOLDERS for path in (CORPUS / folder).iterdir()}
    assert there == {path.relative_to(CORPUS).as_posix() for path in FILES}
    table = (CORPUS / "README.md").read_text()
    for attack in ATTACKS:
        assert f"| {attack.folder}/{attack.name}.npz | {attack.what} | {FOLDERS[attack.folder]} |" in table
    assert all(MADE[folder].keys() <= TABLES[folder].keys() for folder in FOLDERS)
    assert sum(path.stat().st_size for path in FILES) < 1_250_000


@pytest.mark.parametrize(("name", "encoding", "step"), WAYS)
def test_every_file_ends_as_its_folder_says(name, encoding, step):
    for path, found in ran(name, encoding, step).items():
        ends_well(path, found)


def ends_well(path, found):
    """Check what a command did to a file."""
    assert not isinstance(found, str), (path, found)
    assert not found.traceback, (path, found.traceback)
    assert found.code == FOLDERS[path.parent.name], (path, found.stdout + found.stderr)
    assert (found.stdout + found.stderr).replace("\n", "").isprintable(), path
    # Nothing takes memory or time out of proportion; the files have 50 kB at most.
    assert found.peak < 2**29, path
    assert found.seconds < SECONDS / 2, path
    if found.code == 2:
        assert found.stderr.count("\n") == 1, path
        assert not found.stdout, path
        assert "MemoryError" not in found.stderr, path
    else:
        assert "proven:" in found.stdout, path
        assert not found.stderr, path


def test_bombs_are_refused_with_the_limits_as_they_are():
    files = [str(CORPUS / "refused" / f"{name}.npz") for name in BOMBS]
    ran = dict(
        in_workers(lambda case: command(checker.main, [files[case]], SECONDS), range(len(files)), 1, MEMORY, 20.0)
    )
    for case in ran.values():
        assert case.code == 2
        assert case.peak < 2**28
        assert case.seconds < 2.0


def test_the_verdict_states_the_problem_and_not_its_title():
    found = ran("checker", "ascii", 1)[CORPUS / "accepted" / "c-is-two.npz"]
    assert re.search(r"\bC\W+2\b", found.stdout.replace("C = 1", ""))


@pytest.mark.parametrize("name", ["accepted/title-not-ascii", "refused/key-ansi", "refused/key-surrogate"])
def test_a_terminal_of_ascii_is_enough(name):
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    program = [sys.executable, checker.__file__, str(CORPUS / f"{name}.npz")]
    done = subprocess.run(program, capture_output=True, env=environment, timeout=60)
    assert done.returncode == FOLDERS[name.partition("/")[0]]
    assert b"Traceback" not in done.stderr
    assert (done.stdout + done.stderr).replace(b"\n", b"").decode("ascii").isprintable()
