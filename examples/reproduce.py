"""All tables with error bars: one job that can be interrupted, and goes on where it stopped.

    python examples/reproduce.py --all --hours 8 --jobs 4
    python examples/reproduce.py --list
    python examples/reproduce.py --parts wine faces --report
    python examples/reproduce.py --report --pages docs

A part is a script with its arguments; its results, tables and pictures are in a folder of its own. The time is shared
among the parts, first repetitions before later ones, so that one night gives standard errors to what is cheap and a
first number to what is not. Nothing is started that would end after the hours given; what is finished is kept, and the
same command goes on. Results of two machines are put together by appending the lines of their files.

``--list`` prints the tasks and the hours of one core that are done and left: measured where tasks like them have been
run, estimated otherwise. ``--report`` runs nothing, and writes the tables of what is there, a file a script, and
``rows.md``: every printed number with ours, its standard error and the number of repetitions. ``--pages docs`` replaces
the tables between markers in the five pages of that folder, and their pictures, as far as the parts have results.

Another experiment is a line in PARTS. Its script has ``parser()`` with ``--output``, ``stages(arguments)`` that yields
lists of tasks (experiments/pool.py) and ``report(arguments)`` that returns tables; ``rows(arguments)`` if it has
printed numbers. A choice of a script that is there already, such as ``--data``, needs the line alone.
"""

from __future__ import annotations

import argparse
import importlib
import math
import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from experiments.pages import fill
from experiments.pool import Queue, Task, run_queues
from experiments.sheet import Row, Sheet, rows_sheet
from rich.console import Console

RANKING, RELATIVE = "metric_learning_to_rank_tables", "relative_comparisons_webkb"
GRAPHS, OPERATORS, STUDIES = "random_projection_tables", "operator_margin_tables", "operator_margin_studies"
MODALITIES, QUESTIONS = "cross_modal_tables", "paper_questions"
EXACT = "--learners exact exact-trace --pairs all --tol 1e-5 --seconds 240"


@dataclass(frozen=True)
class Part:
    """Experiments that one command line of a script makes.

    Attributes
    ----------
    name : str
        Also of its folder.
    script : str
        Module in this folder.
    line : str
        Arguments.
    seconds : dict
        Estimated seconds of a task by the first of these words among its settings; "" stands for all others.
    weight : float
        Share of the time beside the other parts.
    """

    name: str
    script: str
    line: str
    seconds: dict[str, float] = field(default_factory=lambda: {"": 10.0})
    weight: float = 1.0


PARTS = (
    Part("wine", RANKING, "--data wine --splits 50 --validated 50 --k 100", {"": 1.3}, 2.0),
    Part("balance", RANKING, "--data balance-scale --splits 50 --validated 10 --k 100", {"": 1.3}, 2.0),
    Part(
        "ionosphere",
        RANKING,
        "--data ionosphere --splits 50 --C 1 10 100 1000",
        {"ionosphere-validation": 8, "": 3},
        2.0,
    ),
    Part("wdbc", RANKING, "--data wdbc --splits 50 --C 1 10 100 1000", {"wdbc-validation": 11, "": 5}, 2.0),
    Part(
        "isolet",
        RANKING,
        "--data isolet --splits 10 --k 100 --mlcc-reg 1e-3 1e-1",
        {"Euclidean": 20, "Logistic": 20, "MLR-AUC": 140, "": 200},
    ),
    Part("kernel", RANKING, "--data kernel --kernel-splits 10 --tol 0.02", {"gaussian": 130, "": 2}),
    Part(
        "matchings",
        RANKING,
        "--data matchings --matchings-sets 5",
        {"printed": 250, "planted": 1, "Euclidean": 8, "SVM-MAP": 30, "": 90},
    ),
    Part("matchings-sweep", RANKING, "--data matchings-sweep --sweep-C 1 10 100 1000", {"SVM-MAP": 2, "": 23}),
    Part("matchings-appeal", RANKING, "--data matchings-appeal", {"MLR-MAP": 20, "": 4}),
    Part("why-balance", QUESTIONS, "--paper ranking --questions balance neighbours accuracy --splits 50", {"": 2}),
    Part("why-targets", QUESTIONS, "--paper ranking --questions targets places --splits 20", {"LMNN": 8, "": 30}),
    Part("why-batches", QUESTIONS, "--paper ranking --questions batches --share 0.2", {"": 60}),
    Part("why-nca", QUESTIONS, "--paper ranking --questions components --splits 3 --points 4991", {"": 120}),
    Part("relative", RELATIVE, "--splits 10", {"page": 9, "": 3}, 2.0),
    Part(
        "relative-header",
        RELATIVE,
        "--splits 10 --notions university-4 university-7 --words html header --no-curve --no-maps",
        {"html": 9, "": 1},
    ),
    Part(
        "relative-all-words",
        RELATIVE,
        "--splits 5 --words page --min-pages 1 --tol 1e-3 --no-curve --no-maps",
        {"": 45},
    ),
    Part(
        "relative-all-words-html",
        RELATIVE,
        "--splits 5 --notions university-4 --words html --min-pages 1 --tol 1e-3 --no-curve --no-maps",
        {"": 34},
    ),
    Part("why-relative", QUESTIONS, "--paper relative --questions static kernel --splits 10", {"static": 5, "": 10}),
    Part("why-curve", QUESTIONS, "--paper relative --questions longer --splits 2", {"": 1200}),
    Part(
        "graphs",
        GRAPHS,
        "--data cora chameleon --splits 5 --widen 0",
        {"Euclidean": 1, "B": 130, "E": 240, "": 60},
        2.0,
    ),
    Part("webkb-topics", GRAPHS, "--data webkb --widen 0", {"Euclidean": 1, "E": 175, "F": 120, "": 60}, 2.0),
    Part("dimensions", GRAPHS, "--data dimensions --seeds 5", {"": 8}),
    Part("factors", GRAPHS, "--data factors", {"optimum": 3, "": 13}),
    Part("procedure", GRAPHS, "--data procedure", {"": 14}),
    Part(
        "phenotype-like",
        GRAPHS,
        "--data phenotype-like --methods Euclidean A G K L F J --label-folds 2 --trials 1 --rough-seconds 8 "
        "--seconds 40",
        {"Euclidean": 1, "K": 2, "A": 30, "": 70},
    ),
    Part(
        "letters",
        OPERATORS,
        f"--experiments rotation scale rotation+scale --samples 5 {EXACT}",
        {"input": 2, "": 100},
        2.0,
    ),
    Part("faces", OPERATORS, f"--experiments faces {EXACT}", {"": 3}, 2.0),
    Part("handwriting", OPERATORS, f"--experiments handwritten {EXACT}", {"": 24}, 2.0),
    Part("objects", OPERATORS, f"--experiments objects {EXACT}", {"input": 1, "exact-trace": 150, "": 42}, 2.0),
    Part(
        "descents",
        OPERATORS,
        "--learners descent descent-printed --pairs all --lists 3",
        {"rotation+scale": 400, "rotation": 155, "scale": 100, "objects": 90, "handwritten": 50, "": 20},
    ),
    Part(
        "studies",
        STUDIES,
        "--partitions 5 --subsets 8 --spread rotation scale handwritten faces MNIST",
        {"MNIST digits": 75, "framed letters": 34, "spread": 60, "": 3},
        2.0,
    ),
    Part(
        "wikipedia",
        MODALITIES,
        "--tasks image-text text-image --folds 5 --stand-ins 'k-means, 5' all --objects 400 --stand-in-draws 10",
        {"all": 60, "BPRHML": 11, "descents": 7, "": 1},
        2.0,
    ),
    Part(
        "corel",
        MODALITIES,
        "--tasks keyword-image image-keyword --methods Random CCA CFA MSmethod --folds 5 --no-descents",
        {"": 1},
    ),
    Part(
        "corel-keywords",
        MODALITIES,
        "--tasks keyword-image --methods BPRHML --folds 5 --rough-tol 1e-2 --rough-seconds 8 --seconds 60 "
        "--no-descents",
        {"": 17},
    ),
    Part(
        "corel-images",
        MODALITIES,
        "--tasks image-keyword --methods BPRHML --folds 5 --rough-tol 1e-2 --rough-seconds 150 --seconds 600 "
        "--no-descents",
        {"tests": 600, "": 165},
    ),
    Part("graph-questions", QUESTIONS, "--paper graph", {"": 8}),
    Part("operator-questions", QUESTIONS, "--paper operator", {"descent": 65, "spread": 30, "": 5}),
    Part("cross-modal-questions", QUESTIONS, "--paper cross-modal", {"BPRHML": 15, "": 4}),
)

#: Scripts of the tables of every page.
PAGES = {
    "ranking-tables": (RANKING,),
    "relative-comparisons": (RELATIVE,),
    "graph-tables": (GRAPHS,),
    "operator-margin-tables": (OPERATORS, STUDIES),
    "cross-modal-tables": (MODALITIES,),
}


class Job:
    """A part with its results in a folder, as a queue of tasks."""

    def __init__(self, part: Part, output: Path) -> None:
        self.part = part
        self.script = importlib.import_module(part.script)
        self.arguments = self.script.parser().parse_args([*shlex.split(part.line), "--output", str(output / part.name)])
        self.queue = Queue(part.name, self.script.stages(self.arguments), self._guess, part.weight)

    def tasks(self) -> list[Task]:
        """Those of all stages that have begun; what they took is noted."""
        every: list[Task] = []
        for stage in self.script.stages(self.arguments):
            every += stage
            for task in stage:
                self.queue.measure(task)
            if any(results.get(settings) is None for results, settings, _, _ in stage):
                break
        return every

    def _guess(self, task: Task) -> float:
        texts = {task[0].path.stem, *(value for value in task[1].values() if isinstance(value, str))}
        return float(next(value for word, value in self.part.seconds.items() if word in texts or not word))


def listed(jobs: Sequence[Job]) -> Sheet:
    """Tasks and core-hours, done and left, of all parts."""
    sheet = Sheet("Parts", ["part", "tasks done", "of", "core-hours done", "left", "longest task left, s"])
    totals = [0.0] * 4
    for job in jobs:
        tasks = job.tasks()
        left = [job.queue.estimate(task) for task in tasks if task[0].get(task[1]) is None]
        spent = sum(results.seconds(settings) or 0.0 for results, settings, _, _ in tasks)
        numbers = [len(tasks) - len(left), len(tasks), spent / 3600.0, sum(left) / 3600.0]
        totals = [total + number for total, number in zip(totals, numbers, strict=True)]
        sheet.rows.append([job.part.name, *_cells(numbers), f"{max(left):.0f}" if left else "-"])
    sheet.rows.append(["all", *_cells(totals), ""])
    return sheet


def _cells(numbers: Sequence[float]) -> list[str]:
    done, every, spent, left = numbers
    return [f"{done:.0f}", f"{every:.0f}", f"{spent:.2f}", f"{left:.2f}"]


def report(jobs: Sequence[Job], output: Path) -> list[str]:
    """Write a file of tables for every script, and one of rows; say what went wrong."""
    texts: dict[str, list[str]] = {}
    rows: list[Row] = []
    failed: list[str] = []
    for job in jobs:
        if all(results.get(settings) is None for results, settings, _, _ in job.tasks()):
            continue
        try:
            sheets = job.script.report(job.arguments)
            if hasattr(job.script, "rows"):
                rows += [replace(row, what=f"{job.part.name}: {row.what}") for row in job.script.rows(job.arguments)]
        except Exception as error:
            failed.append(f"report of {job.part.name}: {type(error).__name__}: {error}")
            continue
        if sheets:
            command = f"`python examples/{job.part.script}.py {job.part.line}`"
            tables = "\n".join(sheet.markdown() for sheet in sheets)
            texts.setdefault(job.part.script, []).append(f"## {job.part.name}\n\n{command}\n\n{tables}")
    for script, found in texts.items():
        (output / f"{script}.md").write_text("\n".join(found))
    (output / "rows.md").write_text(rows_sheet(rows).markdown())
    return failed


def write_pages(jobs: Sequence[Job], folder: Path) -> list[str]:
    """Fill the pages with tables and pictures of the results; names of the tables that were written."""
    written: list[str] = []
    for page, scripts in PAGES.items():
        tables: dict[str, Sheet | None] = {}
        for script in scripts:
            parts = {job.part.name: job.arguments for job in jobs if job.part.script == script}
            tables |= importlib.import_module(script).page(parts, folder)
        written += fill(folder / f"{page}.md", tables)
    return written


def parser() -> argparse.ArgumentParser:
    """What can be chosen."""
    names = [part.name for part in PARTS]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--all", action="store_true", help="all parts, which is the default of --list and --report")
    chosen.add_argument("--parts", nargs="+", choices=names, metavar="NAME", help=", ".join(names))
    parser.add_argument("--hours", type=float, default=math.inf, help="no task is started after these")
    parser.add_argument("--jobs", type=int, default=2, help="processes, of one thread each")
    parser.add_argument("--longest", type=float, default=math.inf, help="leave out tasks that may take more seconds")
    parser.add_argument("--list", action="store_true", help="run nothing: what is done and what is left")
    parser.add_argument("--report", action="store_true", help="run nothing: tables of the results that are there")
    parser.add_argument("--pages", type=Path, metavar="FOLDER", help="with --report: write tables into its pages")
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
    until += 3600.0 * arguments.hours
    jobs = [Job(part, arguments.output) for part in PARTS if not arguments.parts or part.name in arguments.parts]
    failed: list[str] = []
    if not (arguments.list or arguments.report):
        limit = None if math.isinf(until) else until
        failed = run_queues([job.queue for job in jobs], arguments.jobs, until=limit, longest=arguments.longest)
    if arguments.report:
        failed += report(jobs, arguments.output)
        if arguments.pages:
            print("\n".join(f"written: {name}" for name in write_pages(jobs, arguments.pages)))
    Console(width=120).print(listed(jobs).rich())
    for line in failed:
        print(f"failed: {line}", file=sys.stderr)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
