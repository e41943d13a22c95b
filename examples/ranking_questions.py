"""Why rows of the tables of McFee & Lanckriet (2010) differ from the paper's: experiments that decide.

    python examples/ranking_questions.py --questions balance targets --splits 10
    python examples/ranking_questions.py --questions places --splits 5
    python examples/ranking_questions.py --questions batches components

``balance``: MLCC, MLR-MAP and Euclidean distance, the best setting chosen for all splits or split by split, splits
stratified or not, and MLCC without a regularizer, stopped early. ``targets``: LMNN with other target neighbours and
other weights. ``places``: precision at k beside a majority among k neighbours, on the sets of two classes. ``batches``:
Algorithm 1 with a master that is left early, on a share of the synthetic matchings. ``components``: NCA on points of
IsoLet from two starts, stopped early. Results are kept as they come. Needs the data folder (CONVEXMETRIC_DATA), but for
``batches``.
"""

from __future__ import annotations

import argparse

from experiments.pool import Stages
from experiments.script import parser_of, run_script, write
from experiments.sheet import Sheet
from ranking_paper import questions


def parser() -> argparse.ArgumentParser:
    """What can be chosen."""
    parser = parser_of(__doc__, "ranking-questions")
    parser.add_argument("--questions", nargs="+", choices=questions.QUESTIONS, default=list(questions.QUESTIONS))
    parser.add_argument("--splits", type=int, default=5, help="random splits; batches has one")
    parser.add_argument("--tol", type=float, default=1e-2, help="certified gap of each solve")
    parser.add_argument("--share", type=float, default=0.05, help="of the paper's sizes, of batches")
    parser.add_argument("--C", nargs="+", type=float, default=[10.0, 100.0, 1000.0], help="tried by places")
    parser.add_argument("--points", type=int, default=1500, help="training points of components")
    return parser


def stages(arguments: argparse.Namespace) -> Stages:
    """One list: no task needs the result of another."""
    yield list(_tasks(arguments))


def report(arguments: argparse.Namespace) -> list[Sheet]:
    """Tables of what is known, one a question."""
    sheets = questions.sheets(_tasks(arguments))
    write(sheets, arguments.output / "tables.md")
    return sheets


def _tasks(arguments: argparse.Namespace) -> questions.Tasks:
    chosen = {name: getattr(arguments, name) for name in ("tol", "share", "points", "C")}
    return questions.tasks(arguments.output, arguments.questions, arguments.splits, **chosen)


def main() -> None:
    """Run what is not yet known, then write tables."""
    run_script(parser(), stages, report)


if __name__ == "__main__":
    main()
