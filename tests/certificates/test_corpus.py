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
from corpus.make import ATTACKS, FOLDERS

from convexmetric.certificates import checker

HERE = Path(__file__).resolve().parent
CORPUS = HERE.parent / "corpus"
FILES = [CORPUS / attack.folder / f"{attack.name}.npz" for attack in ATTACKS]
MEMORY, SECONDS = 2 * 2**30, 20.0
COMMANDS = {"checker": (checker.main, []), "convexmetric verify": (package, ["verify"])}
#: Some ten seconds, by the estimate of the checker; and files that are refused with the limits as they are.
WORK = "--max-work=1e10"
BOMBS = ("bz2-bomb", "deflate-bomb-lying", "features", "wide", "tall", "crowded")
WAYS = [(name, encoding) for name in COMMANDS for encoding in ("ascii", "utf-8")]


@cache
def ran(way):
    """What a command did to all files, by file."""
    name, encoding = way
    main, words = COMMANDS[name]

    def run(case):
        return command(main, [*words, WORK, str(FILES[case])], SECONDS, encoding)

    return {FILES[case]: found for case, found in in_workers(run, range(len(FILES)), 1, MEMORY, SECONDS)}


def test_the_folder_is_what_the_script_makes():
    there = {path.relative_to(CORPUS).as_posix() for folder in FOLDERS for path in (CORPUS / folder).iterdir()}
    assert there == {path.relative_to(CORPUS).as_posix() for path in FILES}
    table = (CORPUS / "README.md").read_text()
    for attack in ATTACKS:
        assert f"| {attack.folder}/{attack.name}.npz | {attack.what} | {FOLDERS[attack.folder]} |" in table
    assert sum(path.stat().st_size for path in FILES) < 1_000_000


@pytest.mark.parametrize(
    "way",
    [
        WAYS[0],
        pytest.param(WAYS[1], marks=pytest.mark.integration),
        pytest.param(WAYS[2], marks=pytest.mark.integration),
        WAYS[3],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_file_ends_as_its_folder_says(path, way):
    found = ran(way)[path]
    assert not isinstance(found, str), found
    assert not found.traceback, found.traceback
    assert found.code == FOLDERS[path.parent.name], found.stdout + found.stderr
    assert (found.stdout + found.stderr).replace("\n", "").isprintable()
    # Nothing takes memory or time out of proportion; the files have 50 kB at most.
    assert found.peak < 2**29
    assert found.seconds < SECONDS / 2
    if found.code == 2:
        assert found.stderr.count("\n") == 1
        assert not found.stdout
        assert "MemoryError" not in found.stderr
    else:
        assert "proven:" in found.stdout
        assert not found.stderr


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
    found = ran(("checker", "ascii"))[CORPUS / "accepted" / "c-is-two.npz"]
    assert re.search(r"\bC\W+2\b", found.stdout.replace("C = 1", ""))


@pytest.mark.parametrize("name", ["accepted/title-not-ascii", "refused/key-ansi", "refused/key-surrogate"])
def test_a_terminal_of_ascii_is_enough(name):
    environment = os.environ | {"PYTHONIOENCODING": "ascii"}
    program = [sys.executable, checker.__file__, str(CORPUS / f"{name}.npz")]
    done = subprocess.run(program, capture_output=True, env=environment, timeout=60)
    assert done.returncode == FOLDERS[name.partition("/")[0]]
    assert b"Traceback" not in done.stderr
    assert (done.stdout + done.stderr).replace(b"\n", b"").decode("ascii").isprintable()
