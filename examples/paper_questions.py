"""Why our numbers differ from those that papers 3, 4 and 5 print: the experiments behind the reasons in their tables.

    python examples/paper_questions.py --paper graph
    python examples/paper_questions.py --paper operator --output operator-questions
    python examples/paper_questions.py --paper cross-modal --jobs 4

Each paper has its questions in a module of its own (``graph_paper/questions.py`` and so on), which says what every
experiment decides. Results are kept as they come: the same command goes on where it was interrupted. The data come from
the folder named by CONVEXMETRIC_DATA.
"""

from __future__ import annotations

import argparse

import cross_modal_paper.questions
import graph_paper.questions
import operator_paper.questions
from experiments.pool import Stages
from experiments.script import parser_of, run_script, write
from experiments.sheet import Sheet
from experiments.summary import summaries

PAPERS = {
    "graph": graph_paper.questions,
    "operator": operator_paper.questions,
    "cross-modal": cross_modal_paper.questions,
}


def parser() -> argparse.ArgumentParser:
    """What can be chosen."""
    parser = parser_of(__doc__, "paper-questions")
    parser.add_argument("--paper", choices=list(PAPERS), required=True)
    parser.add_argument("--questions", nargs="+", help="those whose names begin so; all by default")
    return parser


def stages(arguments: argparse.Namespace) -> Stages:
    """One stage: no experiment needs another."""
    wanted = tuple(arguments.questions or ("",))
    tasks = PAPERS[arguments.paper].tasks(arguments.output)
    yield [task for task in tasks if task[1]["question"].startswith(wanted)]


def report(arguments: argparse.Namespace) -> list[Sheet]:
    """A table for every question."""
    tasks = next(stages(arguments))
    sheets = summaries((settings, found) for kept, settings, _, _ in tasks if (found := kept.get(settings)) is not None)
    write(sheets, arguments.output / "tables.md")
    return sheets


def main() -> None:
    """Run what is not yet known, then write tables."""
    run_script(parser(), stages, report)


if __name__ == "__main__":
    main()
