"""Suites: frozen, versioned lists of instances on which solvers are compared.

``problems/suites.json`` has name, version, instances, and the SHA-256 of the contents of the instance files without
their bounds and titles. Bounds may become tighter; any other change of an instance needs a new version of its suites.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from dataclasses import dataclass

from convexmetric.arguments import check_one_of
from convexmetric.bench.library import library_folder
from convexmetric.errors import InputError


@dataclass(frozen=True)
class Suite:
    """A list of instances, as it was frozen.

    Attributes
    ----------
    name : str
    version : int
    instances : tuple of str
        Names, as :func:`~convexmetric.load_problem` takes them.
    """

    name: str
    version: int
    instances: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.name}-{self.version}"


def load_suite(name: str) -> Suite:
    """Read a suite, and check that its instances are those that it was frozen with.

    Parameters
    ----------
    name : str
        ``"small"``: bundled data, of every kind that these allow, about a second each. ``"paper"``: the instances of
        the five papers. ``"large"``: the largest. ``"open"``: those whose gap has not been closed.

    Returns
    -------
    Suite

    Raises
    ------
    InputError
        If there is no suite of that name, or one of its instances is not what it was.
    """
    known = json.loads((library_folder() / "suites.json").read_text(encoding="utf-8"))
    check_one_of(name, known, "suite")
    suite = Suite(name, known[name]["version"], tuple(known[name]["instances"]))
    digest = statements_digest(suite.instances)
    if digest != known[name]["sha256"]:
        raise InputError(
            f"an instance of the suite {suite} is not what it was when the suite was frozen: give the suite a new "
            f"version and the sha256 {digest} in problems/suites.json"
        )
    return suite


def statements_digest(names: tuple[str, ...]) -> str:
    """SHA-256 of the contents of instance files, except bounds and titles."""
    said = {}
    for name in names:
        document = tomllib.loads((library_folder() / f"{name}.toml").read_text(encoding="utf-8"))
        said[name] = {key: value for key, value in document.items() if key not in ("bounds", "title")}
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
