"""The page of the exercises: the checks of examples/exercises, on the text of an editor."""

from __future__ import annotations

import contextlib
import io
from dataclasses import asdict
from typing import Any

import checking


def check(exercise: str, text: str) -> dict[str, Any]:
    """Run the text of an exercise and check its tasks: a result for each, and what the text printed."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        found = checking.results_of_text(exercise, text)
    return {"results": [asdict(result) for result in found], "printed": printed.getvalue()}
