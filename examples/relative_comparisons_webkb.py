"""Table 1, Figure 2 and the maps of Schultz & Joachims (2003): distances of WebKB pages from relative comparisons.

    python examples/relative_comparisons_webkb.py
    python examples/relative_comparisons_webkb.py --splits 5 --train-triplets 150000
    python examples/relative_comparisons_webkb.py --notions university-4 --words page --min-pages 1 --tol 1e-3

70% of the pages train, 30% test; triplets are drawn inside each part by the paper's rules; features are binary
words, of the text or of the whole page with HTML and header; C = 1 and A = I. Reported is the share of test triplets
that a distance satisfies: the learned one, the unweighted binary one, and the Euclidean one on TF-IDF features. Every
fit is certified.

Tables and pictures are written to the output folder, and every result is kept there as soon as it is known: the same
command goes on where it was interrupted, and prints what it has. The learning curve is fitted to the first triplets
of those for the largest number. Needs the data folder (CONVEXMETRIC_DATA).
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
from relative_paper import pictures, protocol, tables
from relative_paper import rows as rows_of

SIZES = [500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 150_000]
"""Numbers of training triplets of the learning curve."""

CURVE = "topic+"
"""The notion of distance of Figure 2."""


def parser() -> argparse.ArgumentParser:
    """What can be chosen."""
    parser = parser_of(__doc__, "relative-tables")
    parser.add_argument("--notions", nargs="*", choices=list(protocol.NOTIONS), default=list(protocol.NOTIONS))
    parser.add_argument("--words", nargs="+", choices=["page", "text", "html", "header"], default=["page", "text"])
    parser.add_argument("--min-pages", type=int, default=10, help="pages that must have a word of the page")
    parser.add_argument("--splits", type=int, default=1, help="random splits; mean and standard error are reported")
    parser.add_argument("--train-triplets", type=int, default=20_000)
    parser.add_argument("--test-triplets", type=int, default=80_000)
    parser.add_argument("--tol", type=float, default=1e-4, help="certified gap of each fit")
    parser.add_argument("--no-curve", action="store_true", help="leave the learning curve out")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="training triplets along the curve")
    parser.add_argument("--no-maps", action="store_true", help="leave the maps out")
    return parser


def stages(arguments: argparse.Namespace) -> Stages:
    """One list: no task needs the result of another."""
    yield [*_table_tasks(arguments), *_curve_tasks(arguments)]


def report(arguments: argparse.Namespace) -> list[Sheet]:
    """Tables of what is known, and pictures."""
    sheets = []
    found, sizes = _found(arguments), _sizes(arguments)
    if found:
        sheets += [tables.satisfied(found), tables.top_words(found, arguments.min_pages)]
    if {("topic", "page"), ("topic+", "page")} <= set(found):
        sheets.append(tables.closer(found, "page", arguments.min_pages, arguments.test_triplets))
    if sizes:
        sheets.append(tables.curve(sizes, protocol.NOTIONS[CURVE].title))
        pictures.draw_curve(sizes, CURVE, arguments.output / "curve.png")
    if not arguments.no_maps:
        _draw_maps(found, arguments)
    write(sheets, arguments.output / "tables.md")
    return sheets


def page(parts: Mapping[str, argparse.Namespace], folder: Path) -> dict[str, Sheet | None]:
    """Tables and pictures of docs/relative-comparisons.md; see experiments/pages.py."""
    found = {part: _found(arguments) for part, arguments in parts.items()}
    every = {**found.get("relative-all-words", {}), **found.get("relative-all-words-html", {})}
    # Words of the page and of its HTML below each other.
    every = {key: every[key] for notion in protocol.NOTIONS for key in every if key[0] == notion}
    sizes = _sizes(parts["relative"]) if "relative" in parts else {}
    if "relative" in parts:
        names = ("curve.png", "topics.png", "universities.png")
        output = parts["relative"].output
        copy_pictures({f"relative-comparisons-{name}": output / name for name in names}, folder)
    return {
        "relative-table-1": tables.short(found.get("relative", {}), paper=True),
        "relative-parts-of-pages": tables.short(found.get("relative-header", {}), paper=False),
        "relative-curve": tables.sizes(sizes, protocol.NOTIONS[CURVE].title),
        "relative-all-words": tables.short(every, paper=False),
    }


def rows(arguments: argparse.Namespace) -> Iterator[Row]:
    """Printed numbers beside ours."""
    note = "" if arguments.min_pages == 10 else f" in {arguments.min_pages} pages or more"
    yield from rows_of.satisfied(_found(arguments), note)


def _found(arguments: argparse.Namespace) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Results of Table 1 by notion and words, one a split."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for settings, result in done(_table_tasks(arguments)):
        found.setdefault((settings["notion"], settings["words"]), []).append(result)
    return {key: found[key] for notion in protocol.NOTIONS for key in found if key[0] == notion}


def _sizes(arguments: argparse.Namespace) -> dict[int, list[dict[str, Any]]]:
    """Results of Figure 2 by the number of triplets, one a split."""
    sizes: dict[int, list[dict[str, Any]]] = {}
    for settings, result in done(_curve_tasks(arguments)):
        sizes.setdefault(settings["triplets"], []).append(result)
    return sizes


def _table_tasks(arguments: argparse.Namespace) -> Iterator[Task]:
    """Fits of Table 1, split by split."""
    kept = Results(arguments.output / "table.jsonl")
    for split in range(arguments.splits):
        for words in arguments.words:
            for notion in arguments.notions:
                settings = _settings(arguments, notion, words, split)
                settings |= {"drawn": arguments.train_triplets, "triplets": arguments.train_triplets}
                yield kept, settings, protocol.run, settings


def _curve_tasks(arguments: argparse.Namespace) -> Iterator[Task]:
    """Fits of Figure 2, split by split; on words of the text, as all sizes of training sets are fitted."""
    if arguments.no_curve:
        return
    kept, sizes = Results(arguments.output / "curve.jsonl"), sorted(arguments.sizes)
    for split in range(arguments.splits):
        for size in sizes:
            settings = {**_settings(arguments, CURVE, "text", split), "drawn": sizes[-1], "triplets": size}
            yield kept, settings, protocol.run, settings


def _settings(arguments: argparse.Namespace, notion: str, words: str, split: int) -> dict[str, Any]:
    # Words of the text come with one size of vocabulary.
    min_pages = 10 if words == "text" else arguments.min_pages
    test = {"test_triplets": arguments.test_triplets, "tol": arguments.tol}
    return {"notion": notion, "words": words, "min_pages": min_pages, "split": split, **test}


def _draw_maps(found: dict[tuple[str, str], list[dict[str, Any]]], arguments: argparse.Namespace) -> None:
    """The paper's three maps, and those of universities, on words of pages."""
    learned = {notion: found[notion, "page"][0] for notion in protocol.NOTIONS if (notion, "page") in found}
    maps = (
        ("topics.png", (("a) binary", "topic", False), ("b) Topic", "topic", True), ("c) Topic+FS", "topic+", True))),
        ("universities.png", (("binary", "university-7", False), ("University", "university-7", True))),
    )
    for name, panels in maps:
        if all(notion in learned for _, notion, _ in panels):
            chosen = [(title, notion, learned[notion] if fitted else None) for title, notion, fitted in panels]
            pictures.draw_maps(chosen, arguments.min_pages, arguments.output / name)


def main() -> None:
    """Run what is not yet known, then write tables and pictures."""
    run_script(parser(), stages, report)


if __name__ == "__main__":
    main()
