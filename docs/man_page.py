"""The manual page of the command, from the help of its commands.

``python docs/man_page.py`` writes ``docs/convexmetric.1``, which wheels install: ``man convexmetric``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from convexmetric import __version__
from convexmetric.cli import app
from convexmetric.cli.shared import INTERRUPTED, NOT_CERTIFIED, UNWRITTEN, WRONG_INPUT

FILE = Path(__file__).with_name("convexmetric.1")
STATUS = {
    0: "Done.",
    NOT_CERTIFIED: "The result is not certified to the tolerance that was asked for, or not proven.",
    WRONG_INPUT: "The input is wrong, or the file is refused.",
    UNWRITTEN: "Done, but the output could not be written.",
    INTERRUPTED: "Interrupted; what was found so far is saved and reported.",
}


def literal(text: str) -> str:
    r"""Write a text that ``man`` shows as it is.

    >>> print(literal(r".a-b\c"))
    \&.a\-b\ec
    """
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{text}" if text.startswith((".", "'")) else text


def paragraphs(text: str) -> Iterator[str]:
    """Yield the paragraphs of a help text, each after a macro of its own."""
    for paragraph in text.strip().split("\n\n"):
        yield ".PP"
        yield literal(" ".join(paragraph.split()))


def entry(param: Any) -> Iterator[str]:
    """Yield the lines of an argument or an option."""
    option, names = param.param_type_name == "option", [*param.opts, *param.secondary_opts]
    yield ".TP"
    shown = ", ".join(f"\\fB{literal(name)}\\fR" for name in names) if option else ""
    yield f"{shown} \\fI{literal(param.metavar)}\\fR".strip() if param.metavar else shown
    default = param.default if option and param.show_default and not callable(param.default) else None
    told = f" Default: {default}." if isinstance(default, (str, int, float)) and not isinstance(default, bool) else ""
    yield literal(f"{param.help or ''}{told}")


def page() -> str:
    """Return the manual page."""
    group: Any = typer.main.get_command(app)
    context = typer.Context(group, info_name=group.name)
    lines = [f'.TH CONVEXMETRIC 1 "" "convexmetric {__version__}" "User Commands"']
    lines += [".SH NAME", "convexmetric \\- exact metric learning: convex statements, certified optima"]
    lines += [".SH SYNOPSIS", ".B convexmetric", "\\fICOMMAND\\fR [\\fIOPTIONS\\fR] [\\fIARGUMENTS\\fR]"]
    lines += [".SH OPTIONS", *(line for param in shown(group, context) for line in entry(param))]
    lines += [".SH COMMANDS"]
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        lines += [f".SS {literal(name)}", *paragraphs(command.help)]
        lines += [line for param in shown(command, context) for line in entry(param)]
    lines += [".SH EXIT STATUS"]
    for code, meaning in STATUS.items():
        lines += [".TP", f"\\fB{code}\\fR", meaning]
    lines += [".SH ENVIRONMENT", ".TP", "\\fBNUMBA_CACHE_DIR\\fR"]
    lines += ["The folder of compiled loops. Default: beside the package, else in the user's cache."]
    return "\n".join(lines) + "\n"


def shown(command: Any, context: Any) -> list[Any]:
    """List arguments and options of a command, without its help."""
    params = command.get_params(typer.Context(command, info_name=command.name, parent=context))
    return [param for param in params if not param.hidden and "--help" not in param.opts]


if __name__ == "__main__":
    FILE.write_text(page(), encoding="utf-8")
