"""Why our numbers differ from those that the papers print: an experiment for every reason.

    python examples/paper_questions.py --paper ranking --questions balance targets --splits 10
    python examples/paper_questions.py --paper relative --questions static --splits 10
    python examples/paper_questions.py --paper graph
    python examples/paper_questions.py --paper operator --output operator-again
    python examples/paper_questions.py --paper cross-modal --jobs 4

Each paper has its questions in a module of its own (``graph_paper/questions.py`` and so on), which says what every
experiment decides. Results are kept as they come: the same command goes on where it was interrupted. The data come from
the folder named by CONVEXMETRIC_DATA.
"""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Iterator
from pathlib import Path

import cross_modal_paper.questions
import graph_paper.questions
import operator_paper.questions
import ranking_paper.questions
import relative_paper.questions
from experiments.pool import Stages, Task
from experiments.script import parser_of, run_script, write
from experiments.sheet import Row, Sheet
from experiments.summary import known, question_of, summaries

#: Modules with ``tasks(output, ...)``; some have tables of their own, ``sheets(known)``, and ``rows(known)``, printed
#: numbers beside ours.
PAPERS = {
    "ranking": ranking_paper.questions,
    "relative": relative_paper.questions,
    "graph": graph_paper.questions,
    "operator": operator_paper.questions,
    "cross-modal": cross_modal_paper.questions,
}
#: Arguments of ``tasks`` that can be chosen here; a paper takes some of them, and has defaults of its own.
OPTIONS = ("splits", "tol", "share", "C", "points", "test_triplets")


def parser() -> argparse.ArgumentParser:
    """What can be chosen."""
    parser = parser_of(__doc__, "paper-questions")
    parser.add_argument("--paper", choices=list(PAPERS), required=True)
    parser.add_argument("--questions", nargs="+", default=[""], help="those whose names begin so; all by default")
    parser.add_argument("--splits", type=int, help="ranking, relative: random splits")
    parser.add_argument("--tol", type=float, help="ranking, operator, cross-modal: certified gap of each solve")
    parser.add_argument("--share", type=float, help="ranking: of the paper's sizes, for batches")
    parser.add_argument("--C", nargs="+", type=float, help="ranking: tried by places")
    parser.add_argument("--points", type=int, help="ranking: training points of components")
    parser.add_argument("--test-triplets", type=int, help="relative: triplets that judge")
    return parser


def stages(arguments: argparse.Namespace) -> Stages:
    """One stage: no experiment needs another."""
    yield _tasks(arguments)


def report(arguments: argparse.Namespace) -> list[Sheet]:
    """Tables of what is known, one or two a question."""
    sheets = getattr(PAPERS[arguments.paper], "sheets", summaries)(known(_tasks(arguments)))
    write(sheets, arguments.output / "tables.md")
    return sheets


def rows(arguments: argparse.Namespace) -> Iterator[Row]:
    """Printed numbers beside ours, of the papers that have some for these experiments."""
    if hasattr(PAPERS[arguments.paper], "rows"):
        yield from PAPERS[arguments.paper].rows(known(_tasks(arguments)))


def _tasks(arguments: argparse.Namespace) -> list[Task]:
    make = PAPERS[arguments.paper].tasks
    chosen = {name: value for name in OPTIONS if (value := getattr(arguments, name)) is not None}
    for name in chosen.keys() - inspect.signature(make).parameters.keys():
        parser().error(f"--{name.replace('_', '-')} is no option of --paper {arguments.paper}")
    every = list(make(arguments.output, **chosen))
    names = list(dict.fromkeys(map(question_of, every)))
    for wanted in arguments.questions:
        if not any(name.startswith(wanted) for name in names):
            parser().error(f"no question of --paper {arguments.paper} begins with {wanted!r}: {', '.join(names)}")
    return [task for task in every if question_of(task).startswith(tuple(arguments.questions))]


def main() -> None:
    """Run what is not yet known, then write tables; by default to a folder named by the paper."""
    options = parser()
    paper = options.parse_known_args()[0].paper
    options.set_defaults(output=Path(f"{paper}-questions"))
    run_script(options, stages, report)


if __name__ == "__main__":
    main()
