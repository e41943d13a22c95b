"""Runs of solvers over the library: their options, and results that are kept."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Lock
from typing import Any

from environment import add_threads_option, limit_threads, surroundings

from convexmetric.bench import chosen_instances
from convexmetric.errors import InputError

__all__ = ["Results", "add_library_options", "begun", "ratios_in_words"]


def add_library_options(parser: argparse.ArgumentParser, instances: list[str]) -> None:
    """Which instances, how far and how long, and where results are kept."""
    parser.add_argument("--instances", nargs="+", default=instances, help="names or patterns (default %(default)s)")
    parser.add_argument("--tol", type=float, default=1e-6, help="certified gap, or that of the file if it is larger")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds a solve (default %(default)s)")
    parser.add_argument("--json", type=Path, help="append every result to this file, and skip what is in it")
    add_threads_option(parser)


def begun(parser: argparse.ArgumentParser) -> tuple[argparse.Namespace, list[str]]:
    """The options, and the names of the instances; threads are limited, and what a measurement depends on is said."""
    arguments = parser.parse_args()
    try:
        names = chosen_instances(arguments.instances)
    except InputError as error:
        parser.error(str(error))
    limit_threads(arguments.threads)
    print(surroundings(), flush=True)
    return arguments, names


class Results:
    """Rows by what was asked, in a file of JSON lines if there is one."""

    def __init__(self, path: Path | None) -> None:
        self._path, self._lock = path, Lock()
        lines = path.read_text().splitlines() if path is not None and path.exists() else []
        self._rows = {self._key(row["asked"]): row for row in map(json.loads, lines)}

    @staticmethod
    def _key(asked: Mapping[str, Any]) -> str:
        return json.dumps(asked, sort_keys=True)

    def get(
        self, asked: dict[str, Any], make: Callable[[], dict[str, Any]],
        enough: Callable[[dict[str, Any]], bool] = lambda row: True,
    ) -> dict[str, Any]:  # fmt: skip
        """The row of what is asked, made now unless one is known that is enough."""
        row = self._rows.get(self._key(asked))
        if row is None or not enough(row):
            row = {"asked": asked, **make()}
            with self._lock:
                self._rows[self._key(asked)] = row
                if self._path is not None:
                    with self._path.open("a") as file:
                        print(json.dumps(row), file=file)
        return row


def ratios_in_words(ratios: Mapping[str, float]) -> str:
    """Their geometric mean, and the worst."""
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    worst = max(ratios, key=ratios.__getitem__)
    return f"geometric mean {mean:.3f}, worst {ratios[worst]:.2f} ({worst})"
