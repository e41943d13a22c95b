"""What the scripts of experiments have in common: three options, and what happens in which order."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from experiments.pool import Stages, run_stages
from experiments.sheet import Sheet

__all__ = ["parser_of", "run_script", "write"]


def parser_of(text: str | None, output: str, jobs: int = 2) -> argparse.ArgumentParser:
    """A parser with ``--jobs``, ``--report`` and ``--output``, described by the text of a module."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=jobs, help="processes, of one thread each")
    parser.add_argument("--report", action="store_true", help="run nothing: tables of the results that are there")
    parser.add_argument("--output", type=Path, default=Path(output))
    return parser


def run_script(
    parser: argparse.ArgumentParser,
    stages: Callable[[argparse.Namespace], Stages],
    report: Callable[[argparse.Namespace], list[Sheet]],
    notes: str = "",
) -> None:
    """Run what is not yet known, then print tables; the status is 1 if a task failed."""
    arguments = parser.parse_args()
    failed = [] if arguments.report else run_stages(stages(arguments), arguments.jobs)
    console = Console(width=170)
    sheets = report(arguments)
    for sheet in sheets:
        console.print(sheet.rich())
    if sheets and notes:
        console.print(notes)
    console.print(f"Written to {arguments.output}")
    for line in failed:
        print(f"failed: {line}", file=sys.stderr)
    sys.exit(1 if failed else 0)


def write(sheets: list[Sheet], path: Path) -> None:
    """Tables as Markdown, if there are any."""
    if sheets:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(sheet.markdown() for sheet in sheets))
