"""Results on disk, one line of JSON each, so that an interrupted run resumes where it stopped."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any


class Results:
    """Results by the settings they belong to.

    A result with any other setting is another result, so that changed arguments never mix with old numbers. The seconds
    that it took are stored next to it. Files of two machines may be put together by appending one to the other.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._known: dict[str, dict[str, Any]] = {}
        self._seconds: dict[str, float] = {}
        self._is_whole = not path.exists()
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            with path.open("rb") as lines:
                for line in lines:
                    # A line without its end was cut off when the run was killed, or is just being written.
                    if line.endswith(b"\n"):
                        self._remember(json.loads(line))

    def get(self, settings: dict[str, Any]) -> dict[str, Any] | None:
        """The result, or None."""
        return self._known.get(_key(settings))

    def seconds(self, settings: dict[str, Any]) -> float | None:
        """How long the result took, where that is known."""
        return self._seconds.get(_key(settings))

    def add(self, settings: dict[str, Any], result: dict[str, Any], seconds: float | None = None) -> None:
        """Keep a result, on disk at once."""
        entry: dict[str, Any] = {"settings": settings, "result": result}
        if seconds is not None:
            entry["seconds"] = round(seconds, 3)
        line = json.dumps(entry) + "\n"
        if not self._is_whole:
            os.truncate(self.path, self.path.read_bytes().rfind(b"\n") + 1)
            self._is_whole = True
        with self.path.open("a") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        self._remember(entry)

    def _remember(self, entry: dict[str, Any]) -> None:
        key = _key(entry["settings"])
        self._known[key] = entry["result"]
        if "seconds" in entry:
            self._seconds[key] = entry["seconds"]


def _key(settings: dict[str, Any]) -> str:
    return json.dumps(settings, sort_keys=True)
