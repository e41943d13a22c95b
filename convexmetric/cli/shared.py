"""The command itself, and what its subcommands share: options, the console, messages, checks of paths.

Results go to standard output, progress and messages to standard error. Exit codes: 0 done; 1 the result is
not certified to the tolerance asked for; 2 the input is wrong; 130 interrupted.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from convexmetric.errors import GapWarning, InputError
from convexmetric.files import check_writable
from convexmetric.imports import room
from convexmetric.notebooks import printable
from convexmetric.solvers import SOLVERS

NOT_CERTIFIED, WRONG_INPUT, INTERRUPTED = 1, 2, 130
PICTURES = (".png", ".pdf", ".svg")
#: Columns of a table that does not go to a terminal: wide enough to wrap nothing.
PIPE_WIDTH = 160

app = typer.Typer(
    name="convexmetric",
    help="Exact metric learning: convex statements, certified optima.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def complete_name(incomplete: str) -> list[str]:
    """Complete the name of an instance."""
    return [name for name in room("bench").list_problems() if name.startswith(incomplete)]


def complete_solver(incomplete: str) -> list[str]:
    """Complete the name of a solver."""
    return [name for name in SOLVERS if name.startswith(incomplete)]


Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="An instance: see 'convexmetric list'.", autocompletion=complete_name, show_default=False
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else on standard output.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")]


@contextmanager
def noted() -> Iterator[None]:
    """Print warnings as notes, but those of a gap, for which the command has its own message."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        try:
            yield
        finally:
            said = (str(warning.message) for warning in caught if not issubclass(warning.category, GapWarning))
            for message in dict.fromkeys(said):
                say(f"note: {message}")


@contextmanager
def interruptible(left: str) -> Iterator[None]:
    """Let Ctrl-C end the command, and say what is left behind."""
    try:
        yield
    except KeyboardInterrupt:
        say(f"interrupted: {left}")
        raise typer.Exit(INTERRUPTED) from None


def check_picture_path(path: Path) -> None:
    """Refuse a path without the suffix of a picture, before anything is computed."""
    if path.suffix.lower() not in PICTURES:
        raise InputError(
            f"{path}: a picture is written as {', '.join(PICTURES)}, not as {path.suffix or 'no suffix'!r}"
        )
    check_writable(path)


def check_report_path(path: Path) -> None:
    """Refuse a path without the suffix of a page, before anything is computed."""
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{path}: a report is written as .html, not as {path.suffix or 'no suffix'!r}")
    check_writable(path)


class _Console(Console):
    """Console that prints untrusted text literally: no markup, and no control characters."""

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(printable(text), **options)


def console() -> Console:
    """Return the console of standard output."""
    ours = _Console(markup=False, highlight=False)
    return ours if ours.is_terminal else _Console(markup=False, highlight=False, width=PIPE_WIDTH)


def print_json(value: Any) -> None:
    """Print JSON on standard output."""
    print(json.dumps(value, indent=2, allow_nan=False))


def say(message: str) -> None:
    """Print a message on standard error."""
    print(printable(message), file=sys.stderr)
