"""Why rows of the tables of Schultz & Joachims (2003) differ from the paper's: experiments that decide.

    python examples/relative_questions.py --questions static --splits 10
    python examples/relative_questions.py --questions kernel longer --splits 3

``static``: distances that are not learned, with and without stop words, stems, rare words, words with digits, and unit
length. ``kernel``: weights of training pages under kernels, beside weights of
words. ``longer``: the learning curve on every word of the pages. Results are kept as they come. Needs the data folder
(CONVEXMETRIC_DATA).
"""

from __future__ import annotations

import argparse

from experiments.pool import Stages
from experiments.script import parser_of, run_script, write
from experiments.sheet import Sheet
from relative_paper import questions


def parser() -> argparse.ArgumentParser:
    """What can be chosen."""
    parser = parser_of(__doc__, "relative-questions")
    parser.add_argument("--questions", nargs="+", choices=questions.QUESTIONS, default=list(questions.QUESTIONS))
    parser.add_argument("--splits", type=int, default=3, help="random splits")
    parser.add_argument("--test-triplets", type=int, default=80_000)
    return parser


def stages(arguments: argparse.Namespace) -> Stages:
    """One list: no task needs the result of another."""
    yield list(_tasks(arguments))


def report(arguments: argparse.Namespace) -> list[Sheet]:
    """Tables of what is known, one a question, but two of distances."""
    sheets = questions.sheets(_tasks(arguments))
    write(sheets, arguments.output / "tables.md")
    return sheets


def _tasks(arguments: argparse.Namespace) -> questions.Tasks:
    return questions.tasks(arguments.output, arguments.questions, arguments.splits, arguments.test_triplets)


def main() -> None:
    """Run what is not yet known, then write tables."""
    run_script(parser(), stages, report)


if __name__ == "__main__":
    main()
