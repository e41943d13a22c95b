"""The page of the exercises: the checks of examples/exercises, on the text of an editor."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Collection
from dataclasses import asdict
from typing import Any

import checking

#: Characters that are shown of what a text prints.
SHOWN = 5000


class Beginning(io.StringIO):
    """Keep the first :data:`SHOWN` characters that are written."""

    def write(self, text: str) -> int:
        """Keep what there is room for, and a character more if there is more."""
        super().write(text[: max(0, SHOWN + 1 - self.tell())])
        return len(text)

    def shown(self) -> str:
        """What was written; the end says whether there was more."""
        text = self.getvalue()
        return text if len(text) <= SHOWN else f"{text[:SHOWN]}\n... only the first {SHOWN} characters are shown"


def check(exercise: str, text: str, elsewhere: Collection[str] = ()) -> dict[str, Any]:
    """Run the text of an exercise and check its tasks, but for those that are checked elsewhere.

    Returns
    -------
    dict
        ``results``, one for each task, or none and ``stopped``, what stopped the text; and what was ``printed``.
    """
    printed, stopped = Beginning(), ""
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        found = checking.results_of_text(exercise, text, elsewhere)
    if all(result.said.startswith(checking.DOES_NOT_RUN) for result in found):
        stopped = found[0].said.removeprefix(checking.DOES_NOT_RUN).replace("\n", ", ")
        found = []
    return {"results": [asdict(result) for result in found], "stopped": stopped, "printed": printed.shown()}
