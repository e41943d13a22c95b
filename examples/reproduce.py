"""The experiments of the five papers: one job that can be interrupted and resumed.

    python examples/reproduce.py --all --hours 8 --jobs 4
    python examples/reproduce.py --list
    python examples/reproduce.py --parts wine faces --report
    python examples/reproduce.py --parts wine faces --report --output examples/results --pages

The parts of a paper, their settings and the tables that are made of them stand in ``<paper>/paper.py``. The results of
a part are in a folder of its own, a line a task, as soon as they are known. First repetitions of all parts come before
later ones, so that a short run has a first number of everything. Nothing is started after the hours given; what is
finished is kept, and the same command resumes. Results of two machines are put together by appending the lines of
their files. The data come from the folder named by CONVEXMETRIC_DATA.

``--list`` counts the tasks that are done, and the hours of the processor that they took. ``--report`` runs nothing, and
writes the tables and pictures of what is there to the output folder; ``--pages`` writes them into the RESULTS.md of
every paper as well, between the markers that have their names. A table without results stays as it is there.

Another experiment is a line in the parts of its paper.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import cross_modal_paper.paper
import graph_paper.paper
import operator_paper.paper
import ranking_paper.paper
import relative_paper.paper
from experiments.pages import fill
from experiments.paper import Known, Paper, begun, known
from experiments.pool import Queue, run_queues
from experiments.sheet import Sheet
from rich.console import Console

HERE = Path(__file__).resolve().parent
PAPERS: tuple[Paper, ...] = tuple(
    module.paper.PAPER for module in (ranking_paper, relative_paper, graph_paper, operator_paper, cross_modal_paper)
)
PARTS = {name: stages for paper in PAPERS for name, stages in paper.parts.items()}


def listed(names: Sequence[str], output: Path) -> Sheet:
    """Tasks of all stages that have begun, how many are done, and the hours of the processor that these took."""
    sheet = Sheet("Parts", ["part", "tasks done", "of", "core-hours"])
    for name in names:
        tasks = begun(PARTS[name](output / name))
        done = sum(results.get(settings) is not None for results, settings, _ in tasks)
        hours = sum(results.seconds(settings) or 0.0 for results, settings, _ in tasks) / 3600.0
        sheet.rows.append([name, str(done), str(len(tasks)), f"{hours:.2f}"])
    return sheet


def report(names: Sequence[str], output: Path, pages: Path | None = None) -> list[str]:
    """Write the tables of every paper that has results, and its pictures; names of those that were written.

    Without a folder that has the pages, a file a paper in the output folder.
    """
    written = []
    for paper in PAPERS:
        found: dict[str, Known] = {
            name: known(begun(PARTS[name](output / name))) for name in paper.parts if name in names
        }
        folder = (pages or output) / paper.folder
        folder.mkdir(parents=True, exist_ok=True)
        tables = paper.tables(found, folder)
        if pages is not None:
            written += [f"{paper.folder}: {name}" for name in fill(folder / "RESULTS.md", tables)]
            continue
        sheets = [sheet for sheet in tables.values() if sheet is not None and sheet.rows]
        (folder / "tables.md").write_text("\n".join(sheet.markdown() for sheet in sheets), encoding="utf-8")
        written += [f"{paper.folder}: {sheet.title}" for sheet in sheets]
    return written


def parser() -> argparse.ArgumentParser:
    """What can be chosen."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--all", action="store_true", help="all parts, which is the default of --list and --report")
    chosen.add_argument("--parts", nargs="+", choices=list(PARTS), metavar="NAME", help=", ".join(PARTS))
    parser.add_argument("--hours", type=float, default=math.inf, help="no task is started after these")
    parser.add_argument("--jobs", type=int, default=2, help="processes, of one thread each")
    parser.add_argument("--list", action="store_true", help="run nothing: what is done")
    parser.add_argument("--report", action="store_true", help="run nothing: tables of the results that are there")
    parser.add_argument("--pages", action="store_true", help="with --report: write them into the pages of the papers")
    parser.add_argument("--output", type=Path, default=Path("reproduction"))
    return parser


def main() -> None:
    """Run, list or report."""
    until = time.monotonic()
    arguments = parser().parse_args()
    if not (arguments.all or arguments.parts or arguments.list or arguments.report):
        parser().error("say which parts to run: --all or --parts NAME ...")
    if arguments.pages and not arguments.report:
        parser().error("--pages needs --report")
    names, failed = arguments.parts or list(PARTS), []
    if arguments.report:
        for line in report(names, arguments.output, HERE if arguments.pages else None):
            print(f"written: {line}")
    elif not arguments.list:
        queues = [Queue(name, PARTS[name](arguments.output / name)) for name in names]
        failed = run_queues(queues, arguments.jobs, until=until + 3600.0 * arguments.hours)
    Console(width=120).print(listed(names, arguments.output).rich())
    for line in failed:
        print(f"failed: {line}", file=sys.stderr)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
