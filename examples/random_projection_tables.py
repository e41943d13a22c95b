"""The experiments of paper 3 (metrics of large graphs with random projections), beside the numbers it prints.

    python examples/random_projection_tables.py
    python examples/random_projection_tables.py --data cora --splits 5 --jobs 4
    python examples/random_projection_tables.py --data webkb --methods A G K

Table 2 on graphs of documents (cora, chameleon), Tables 3 and 4 on documents with categories (webkb, and synthetic ones
in the paper's sizes, phenotype-like), what the number r of features after projection does (dimensions, on cora),
how much variant E depends on its seed (factors, on the pages of Cornell and on digits), and what procedure LEARN METRIC
gives as printed (procedure, on the graphs).
Tables and pictures are written to the output folder, and every result is kept there as soon as it is known: the same
command goes on where it was interrupted, and prints what it has. All sets but the synthetic one need the data folder
(CONVEXMETRIC_DATA).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from experiments.pages import copy_pictures
from experiments.pool import Stages, Task, done
from experiments.results import Results
from experiments.script import parser_of, run_script, write
from experiments.sheet import Row, Sheet
from graph_paper import dimensions, factors, pictures, printed, procedure, protocol, tables
from graph_paper import rows as rows_of
from graph_paper.learners import GRAPH_METHODS, LABEL_METHODS, folds_of, settings_of
from graph_paper.nodes import GRAPHS, LABELLED

EVERY_METHOD = tuple(dict.fromkeys((*GRAPH_METHODS, *LABEL_METHODS)))
#: Folds of section 4.2.
PARTS = 3
#: Methods whose fits take longest are started first.
SLOW = ("E", "B")

NOTES = """\
How to read the tables. A to D learn a weight a feature, E a factor with r rows (descent on it is local; its gap is that
of the convex problem with the same optimum), F to I a matrix after a projection with uniform entries, J after principal
components, L after an orthonormal projection; K is a logistic regression on words that both nodes of a pair have. HL is
in all of them, I1 in B, D, G, I and L, -I2 in C, D, H and I. lambda is chosen by cross-validation on the training
nodes (five folds of the graphs, three of labelled sets, two for E). Areas are means over trials, which differ in the
random projection or start."""


def parser() -> argparse.ArgumentParser:
    """What can be chosen."""
    parser = parser_of(__doc__, "graph-tables")
    parser.add_argument(
        "--data",
        nargs="+",
        choices=[*GRAPHS, *LABELLED, "dimensions", "factors", "procedure"],
        default=["cora", "chameleon", "webkb", "dimensions", "factors", "procedure"],
    )
    parser.add_argument("--methods", nargs="+", choices=EVERY_METHOD, default=EVERY_METHOD)
    parser.add_argument("--splits", type=int, default=1, help="random splits of the graphs, 80/20")
    parser.add_argument("--parts", type=int, default=PARTS, help="how many of the three folds of labelled sets test")
    parser.add_argument("--folds", type=int, default=5, help="of cross-validation on training nodes of the graphs")
    parser.add_argument("--label-folds", type=int, default=3, help="the same on labelled sets")
    parser.add_argument("--trials", type=int, default=2, help="random projections or starts of the last fits")
    parser.add_argument(
        "--widen", type=int, default=1, help="how often the grid of lambda grows at an end that is chosen"
    )
    parser.add_argument("--graph-r", type=int, default=300)
    parser.add_argument("--label-r", type=int, default=500)
    parser.add_argument("--tol", type=float, default=1e-6, help="certified gap of the last fits")
    parser.add_argument("--seconds", type=float, default=60.0, help="limit of each of the last fits")
    parser.add_argument("--rough-tol", type=float, default=1e-2, help="certified gap in cross-validation")
    parser.add_argument("--rough-seconds", type=float, default=15.0, help="limit of each fit in cross-validation")
    parser.add_argument("--r", nargs="+", type=int, default=[10, 30, 100, 300, 1000], help="features, for dimensions")
    parser.add_argument("--seeds", type=int, default=2, help="random projections, for dimensions")
    parser.add_argument("--ratio", type=float, default=1e-1, help="lambda over its largest value, for dimensions")
    parser.add_argument("--factor-seeds", type=int, default=20, help="starts and orders of draws, for factors")
    parser.add_argument("--factor-r", type=int, default=100)
    parser.add_argument("--batch", type=int, default=100, help="triplets a step, for factors")
    parser.add_argument("--steps", type=int, default=1000, help="for factors")
    parser.add_argument("--procedure-steps", type=int, default=400)
    return parser


def stages(arguments: argparse.Namespace) -> Stages:
    """One list: no task needs the result of another."""
    yield [
        *_method_tasks(arguments),
        *_size_tasks(arguments),
        *_factor_tasks(arguments),
        *_step_tasks(arguments),
    ]


def report(arguments: argparse.Namespace) -> list[Sheet]:
    """Tables of what is known, and pictures."""
    sheets = list(_written(_found(arguments), arguments))
    if by_method := _by_method(arguments):
        sheets.append(tables.factors(by_method))
        pictures.draw_factors(by_method, arguments.output / "factors.png")
    if by_letter := _by_letter(arguments):
        sheets.append(tables.steps(by_letter))
    write(sheets, arguments.output / "tables.md")
    by_size: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for settings, result in done(_size_tasks(arguments)):
        by_size.setdefault((settings["kind"], settings["r"]), []).append(result)
    if by_size:
        pictures.draw_dimensions(by_size, arguments.output / "dimensions.png")
    return sheets


def page(parts: Mapping[str, argparse.Namespace], folder: Path) -> dict[str, Sheet | None]:
    """Tables and pictures of docs/graph-tables.md; see experiments/pages.py."""
    graphs, topics, many = (
        _found(parts[part]) if part in parts else {} for part in ("graphs", "webkb-topics", "phenotype-like")
    )
    sets, all_of = [*GRAPHS, "webkb", "phenotype-like"], {**graphs, **topics, **many}
    seeds = _by_method(parts["factors"]) if "factors" in parts else {}
    letters = _by_letter(parts["procedure"]) if "procedure" in parts else {}
    sources = {
        "graph-table-2.png": ("graphs", "table-2.png"),
        "graph-table-4.png": ("webkb-topics", "table-4.png"),
        "graph-dimensions.png": ("dimensions", "dimensions.png"),
        "graph-factors.png": ("factors", "factors.png"),
    }
    copy_pictures({name: parts[part].output / file for name, (part, file) in sources.items() if part in parts}, folder)
    return {
        "graph-table-2": tables.graphs(graphs, list(GRAPHS)) if graphs else None,
        "graph-table-4": tables.labels(topics, ["webkb"], PARTS) if topics else None,
        "graph-phenotype-like": tables.labels(many, ["phenotype-like"], PARTS) if many else None,
        "graph-factors": tables.factors(seeds),
        "graph-procedure": tables.steps(letters),
        "graph-trials": tables.trials(all_of, sets),
        "graph-fits": tables.effort(all_of, sets),
    }


def rows(arguments: argparse.Namespace) -> Iterator[Row]:
    """Printed numbers beside ours."""
    yield from rows_of.areas(_found(arguments))


def _found(arguments: argparse.Namespace) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Results by data set and method, one a split or fold."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for settings, result in done(_method_tasks(arguments)):
        found.setdefault((settings["data"], settings["method"]), []).append(result)
    return found


def _by_method(arguments: argparse.Namespace) -> dict[tuple[str, str, float], dict[str, Any]]:
    """Results of variant E from many seeds by data set, method and share of lambda."""
    return {
        (settings["data"], settings["method"], settings["ratio"]): result
        for settings, result in done(_factor_tasks(arguments))
    }


def _by_letter(arguments: argparse.Namespace) -> dict[tuple[str, str], dict[str, Any]]:
    """Results of procedure LEARN METRIC by data set and variant."""
    return {(settings["data"], settings["letter"]): result for settings, result in done(_step_tasks(arguments))}


def _written(found: dict[tuple[str, str], list[dict[str, Any]]], arguments: argparse.Namespace) -> Iterator[Sheet]:
    """Tables of what is known; the pictures that go with them are written."""
    graphs, labelled = ([name for name in of if name in arguments.data] for of in (GRAPHS, LABELLED))
    if graphs:
        yield tables.graphs(found, graphs)
        columns = zip(("Search Engine", "Philosophy"), zip(*printed.WIKIPEDIA.values(), strict=True), strict=True)
        paper = {name: dict(zip(printed.WIKIPEDIA, values, strict=True)) for name, values in columns}
        pictures.draw_areas(found, graphs, GRAPH_METHODS, paper, arguments.output / "table-2.png")
    if labelled:
        yield tables.pairs(labelled)
        yield tables.labels(found, labelled, arguments.parts)
        paper = {"phenotypes": printed.PHENOTYPES}
        pictures.draw_areas(found, labelled, LABEL_METHODS, paper, arguments.output / "table-4.png")
    if graphs or labelled:
        yield tables.trials(found, [*graphs, *labelled])
        yield tables.effort(found, [*graphs, *labelled])


def _method_tasks(arguments: argparse.Namespace) -> Iterator[Task]:
    """Slow methods first, so that all processes are busy to the end."""
    exact = {"tol": arguments.tol, "seconds": arguments.seconds, "widths": 5, "steps": 100}
    rough = {"tol": arguments.rough_tol, "seconds": arguments.rough_seconds, "widths": 1, "steps": 60}
    common = {"trials": arguments.trials, "widen": arguments.widen, "exact": exact, "rough": rough}
    results = {
        name: Results(arguments.output / f"{name}.jsonl") for name in arguments.data if name in (*GRAPHS, *LABELLED)
    }
    for method in sorted(arguments.methods, key=lambda method: method not in SLOW):
        for name in results:
            if method not in (GRAPH_METHODS if name in GRAPHS else LABEL_METHODS):
                continue
            parts = None if name in GRAPHS else PARTS
            r = arguments.graph_r if name in GRAPHS else arguments.label_r
            folds = arguments.folds if name in GRAPHS else arguments.label_folds
            for part in range(arguments.splits if name in GRAPHS else arguments.parts):
                settings = {
                    "data": name,
                    "part": part,
                    "method": method,
                    "grid": list(settings_of(method)),
                    "r": r,
                    "parts": parts,
                    "folds": folds_of(method, folds),
                    **common,
                }
                yield results[name], settings, protocol.run, settings


def _size_tasks(arguments: argparse.Namespace) -> Iterator[Task]:
    if "dimensions" not in arguments.data:
        return
    results = Results(arguments.output / "dimensions.jsonl")
    limits = {"ratio": arguments.ratio, "tol": arguments.rough_tol, "seconds": arguments.seconds}
    for r in sorted(arguments.r, reverse=True):
        for kind in dimensions.KINDS:
            for seed in range(1 if kind == "pca" else arguments.seeds):
                settings = {"data": "cora", "kind": kind, "r": r, "seed": seed, **limits}
                yield results, settings, dimensions.run, settings


def _factor_tasks(arguments: argparse.Namespace) -> Iterator[Task]:
    if "factors" not in arguments.data:
        return
    results = Results(arguments.output / "factors.jsonl")
    sizes = {"seeds": arguments.factor_seeds, "r": arguments.factor_r}
    sizes |= {"batch": arguments.batch, "steps": arguments.steps}
    for data in factors.DATA:
        for method, ratios in factors.METHODS.items():
            for ratio in ratios:
                settings = {"data": data, "method": method, "ratio": ratio, **sizes}
                yield results, settings, factors.run, settings


def _step_tasks(arguments: argparse.Namespace) -> Iterator[Task]:
    if "procedure" not in arguments.data:
        return
    results = Results(arguments.output / "procedure.jsonl")
    sizes = {"r": arguments.graph_r, "batch": arguments.batch, "steps": arguments.procedure_steps}
    for data in GRAPHS:
        for letter in procedure.LETTERS:
            settings = {"data": data, "letter": letter, **sizes}
            yield results, settings, procedure.run, settings


def main() -> None:
    """Run what is not yet known, then write tables and pictures."""
    run_script(parser(), stages, report, NOTES)


if __name__ == "__main__":
    main()
