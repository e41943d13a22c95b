"""Records of a pull request, taken from git blob by blob: nothing of it is laid over the tree, and nothing of it runs.

What git lists of ``problems/records`` and ``problems/records.json`` in a commit must be ordinary files with plain
names, the table among them. Their contents are what ``git cat-file`` says of a blob, to which no filter, attribute or
configuration of the commit applies. The tree that is checked out, whose code does this, must be its own commit's.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import NamedTuple

TABLE, KEPT, PAGE = "problems/records.json", "problems/records", "problems/RECORDS.md"
#: Most that git may say where it lists files, in bytes.
MAX_LIST = 2**22
#: An entry of git's list: no link, no submodule, no program, no folder in the folder, no name that means something.
PLAIN = re.compile(
    r"100644 blob (?P<sha>[0-9a-f]{40,64}) +(?P<size>[0-9]{1,15})\t"
    r"(?P<path>problems/records(?:\.json|/[a-z0-9][a-z0-9.-]{0,149}\.npz))"
)


class WrongError(Exception):
    """Something that is wrong with the records or with a submission, in words."""


class Blob(NamedTuple):
    """What git has of a file: the hash of its content, and its size in bytes."""

    sha: str
    size: int


class Repository(NamedTuple):
    """The repository of a folder, whatever repository the environment names."""

    root: Path

    def git(self, *words: str, most: int = MAX_LIST) -> bytes:
        """What git says to a command in this repository.

        Raises
        ------
        WrongError
            If there is no git, it fails, or it says more than ``most`` bytes, which are not waited for.
        """
        plain = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        command = ["git", "--no-replace-objects", "--literal-pathspecs", "-C", str(self.root), *words]
        try:
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=plain) as run:
                assert run.stdout is not None
                said = run.stdout.read(most + 1)
                if len(said) > most:
                    run.kill()
                    raise WrongError(f"git {words[0]} says more than {most:,} bytes: the pull request is too large")
        except OSError as error:
            raise WrongError(f"git cannot be run: {error.strerror}") from error
        if run.returncode:
            raise WrongError(f"git {words[0]} fails: {words[-1]!a} is not in this repository")
        return said

    def resolved(self, commit: str) -> str:
        """The hash of a commit that is named."""
        return self.git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{commit}}").decode().strip()

    def listed(self, commit: str) -> dict[str, Blob]:
        """The records of a commit by their paths, the table among them.

        Raises
        ------
        WrongError
            If one of them is no ordinary file with a plain name, or the table is not there.
        """
        found: dict[str, Blob] = {}
        for entry in self.git("ls-tree", "-r", "-z", "-l", "--full-tree", commit, "--", TABLE, KEPT).split(b"\0")[:-1]:
            text = entry.decode("ascii", "backslashreplace")
            plain = PLAIN.fullmatch(text)
            if not plain or plain["path"] in found:
                plainly = "ordinary files NAME.npz only, of lower-case letters, digits, dots and hyphens"
                raise WrongError(f"{ascii(text)[:200]}: {KEPT} may hold {plainly}")
            found[plain["path"]] = Blob(plain["sha"], int(plain["size"]))
        if TABLE not in found:
            raise WrongError(f"the pull request has no file {TABLE}")
        return found

    def content(self, path: str, blob: Blob, most: int) -> bytes:
        """The bytes of a file of a commit, at most so many."""
        if blob.size > most:
            raise WrongError(f"{path} has {blob.size:,} bytes, more than {most:,}")
        return self.git("cat-file", "blob", blob.sha, most=most)

    def beside(self, base: str, commit: str) -> list[str]:
        """Paths that differ between two commits, records excepted."""
        changed = self.git("diff-tree", "-r", "-z", "--no-renames", "--name-only", base, commit).split(b"\0")[:-1]
        paths = [path.decode("utf-8", "backslashreplace") for path in changed]
        return [path for path in paths if path != TABLE and not path.startswith(f"{KEPT}/")]

    def page(self, commit: str, most: int) -> str:
        """The page of the records in a commit."""
        return self.git("cat-file", "blob", f"{commit}:{PAGE}", most=most).decode("utf-8", "backslashreplace")

    def unchanged(self) -> None:
        """Refuse a tree that is not that of its own commit, to the last file that git does not ignore."""
        said = self.git("status", "--porcelain", "-z", "--untracked-files=all", "--ignore-submodules=none")
        other = [entry.decode("utf-8", "backslashreplace") for entry in said.split(b"\0")[:-1]]
        if other:
            names = ", ".join(ascii(entry)[:100] for entry in other[:5])
            raise WrongError(f"nothing is checked, as the tree checked out is not that of its commit: {names}")
