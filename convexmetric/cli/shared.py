"""The command itself, and what its subcommands share: options, the console, messages, checks of paths.

Results go to standard output, progress and messages to standard error. Exit codes: 0 done; 1 the result is
not certified to the tolerance asked for; 2 the input is wrong; 3 done, but the output could not be written; 130
interrupted.
"""

from __future__ import annotations

import errno
import io
import json
import os
import shlex
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import typer
from rich.console import Console
from rich.text import Text
from typer.core import TyperCommand, TyperGroup
from typer.models import CommandFunctionType

from convexmetric.arrays import plain
from convexmetric.doors import LIBRARY
from convexmetric.errors import GapWarning, InputError
from convexmetric.files import check_writable
from convexmetric.notebooks import printable
from convexmetric.solution import Solution
from convexmetric.solvers import SOLVERS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOT_CERTIFIED, WRONG_INPUT, UNWRITTEN, INTERRUPTED = 1, 2, 3, 130
#: Columns of a table that does not go to a terminal: wide enough to wrap nothing.
PIPE_WIDTH = 160


class _Named:
    """Names the value of an option by the option, as NAME, and none of a flag: every Typer would do it otherwise."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return arguments and options, as help shows them."""
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if param.metavar is None:
                param.metavar = "" if getattr(param, "is_flag", False) else param.name.upper()
        return params


class Command(_Named, TyperCommand):
    """A command."""


class Group(_Named, TyperGroup):
    """The command of commands; Ctrl-C that none of them expects ends it."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was named."""
        with interruptible("nothing was finished"):
            return super().invoke(ctx)


class App(typer.Typer):
    """The command, whose subcommands are :class:`Command` wherever they are defined."""

    def command(self, *arguments: Any, **options: Any) -> Callable[[CommandFunctionType], CommandFunctionType]:
        """Decorate a function that becomes a subcommand."""
        return super().command(*arguments, **{"cls": Command} | options)


app = App(
    name="convexmetric",
    cls=Group,
    help="Exact metric learning: convex statements, certified optima.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def complete_name(incomplete: str) -> list[str]:
    """Complete the name of an instance."""
    return [name for name in LIBRARY.open().list_problems() if name.startswith(incomplete)]


def completing(names: Iterable[str]) -> Callable[[str], list[str]]:
    """Make the completion of an option that takes one of the names."""
    return lambda incomplete: [name for name in names if name.startswith(incomplete)]


#: Completes the name of a solver.
complete_solver = completing(SOLVERS)


def writable(what: str, suffixes: tuple[str, ...]) -> Callable[[Path | None], Path | None]:
    """Make a callback of an option that refuses a path that cannot be written, before anything is computed."""

    def checked(path: Path | None) -> Path | None:
        if path is not None and str(path).startswith("--"):
            raise InputError(f"the option before {path} has no value: name a file, {' or '.join(suffixes)}")
        if path is not None and path.suffix.lower() not in suffixes:
            raise InputError(f"{path}: {what} as {', '.join(suffixes)}, not as {path.suffix or 'no suffix'!r}")
        if path is not None:
            check_writable(path)
        return path

    return checked


#: Callbacks of options that save arrays, and pictures.
savable = writable("a solution is saved", (".npz",))
drawable = writable("a picture is written", (".png", ".pdf", ".svg"))

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else on standard output.")]
Variable = Annotated[
    str | None, typer.Option(help="Variable of the .npz or .mat file. Default: the only one, or M, W, w.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bar.")]
Picture = Annotated[
    Path | None, typer.Option(callback=drawable, help="Write a picture to this .png, .pdf or .svg file.")
]
Report = Annotated[
    Path | None,
    typer.Option(
        callback=writable("a report is written", (".html",)),
        help="Write a page of all that was found to this .html file.",
    ),
]


@contextmanager
def noted() -> Iterator[None]:
    """Print warnings as notes, except those of a gap, for which the command has its own message."""
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
    """Let Ctrl-C end the command, with a message about what is left behind."""
    try:
        yield
    except KeyboardInterrupt:
        say(f"interrupted: {left}")
        raise typer.Exit(INTERRUPTED) from None


def end(solution: Solution | None, interrupted: bool = False) -> None:
    """Exit, with a message, with the code of a result that was interrupted or is not certified to its tolerance."""
    if solution is not None and solution.status != "optimal":
        say(f"not certified to tol = {solution.tol:g}: the gap is {solution.gap:.2e} ({solution.status})")
        interrupted = interrupted or solution.status == "interrupted"
        raise typer.Exit(INTERRUPTED if interrupted else NOT_CERTIFIED)
    if interrupted:
        raise typer.Exit(INTERRUPTED)


class _Kept(io.RawIOBase):
    """Bytes of a standard stream; after the first failed write all are dropped, and ``lost`` holds the reason."""

    def __init__(self, own: TextIO | None) -> None:
        self.own: Any = None if own is None else getattr(own.buffer, "raw", own.buffer)
        self.lost = os.strerror(errno.EBADF) if own is None else ""

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return self.own is not None and bool(self.own.isatty())

    def fileno(self) -> int:
        return io.RawIOBase.fileno(self) if self.own is None else int(self.own.fileno())

    def write(self, data: Any) -> int:
        try:
            return len(data) if self.lost else self.own.write(data) or 0
        except OSError as error:
            self.lost = error.strerror or type(error).__name__
            return len(data)


def _kept(own: Any) -> tuple[Any, _Kept]:
    """A stream in place of one of Python's."""
    kept = _Kept(own)
    how: Any = {name: getattr(own, name, False) for name in ("line_buffering", "write_through")}
    encoding = getattr(own, "encoding", "utf-8")
    return io.TextIOWrapper(io.BufferedWriter(kept), encoding, "backslashreplace", **how), kept


@contextmanager
def whole_output() -> Iterator[None]:
    """Exit with a separate code, and a message, if a command succeeds but its output cannot be written.

    Files of the command are written all the same. Messages that cannot be written are lost.
    """
    if sys.stdout is not sys.__stdout__:
        yield
        return
    own, ended = (sys.stdout, sys.stderr), None
    (sys.stdout, output), (sys.stderr, _) = map(_kept, own)
    try:
        try:
            yield
        except SystemExit as error:
            ended = error
        sys.stdout.flush()
        if output.lost:
            say(f"error: cannot write the output: {output.lost}")
        sys.stderr.flush()
    finally:
        sys.stdout, sys.stderr = own
    if output.lost and (ended is None or not ended.code):
        sys.exit(UNWRITTEN)
    if ended is not None:
        raise ended


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
    print(json.dumps(plain(value), indent=2, allow_nan=False))


def say(message: str) -> None:
    """Print a message on standard error."""
    print(printable(message), file=sys.stderr)


def command_line() -> str:
    """Return the command as it was typed, for reports."""
    return shlex.join(["convexmetric", *sys.argv[1:]])


def write_picture(figure: Figure, path: Path, title: str | None = None) -> None:
    """Write a figure, under a title, and print its path."""
    # Imported here, as Matplotlib takes a third of a second to import.
    from convexmetric.plotting import save_picture
    from convexmetric.plotting.axes import text_of

    if title is not None:
        figure.suptitle(fill(text_of(title), 60), fontsize="medium")
    save_picture(figure, path)
    say(f"picture: {path}")
