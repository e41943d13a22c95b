"""The commands ``convexmetric adapt`` and ``convexmetric export``."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from convexmetric.arguments import not_one_of
from convexmetric.cli.reports import figures_table, solution_table
from convexmetric.cli.shared import (
    INTERRUPTED,
    NOT_CERTIFIED,
    AsJson,
    Quiet,
    app,
    check_picture_path,
    check_report_path,
    console,
    noted,
    print_json,
    say,
)
from convexmetric.errors import InputError
from convexmetric.files import check_solution_path
from convexmetric.retrieval import collections
from convexmetric.retrieval.export import FORMATS, SUFFIXES, read_adapter
from convexmetric.retrieval.export import write as write_export


@app.command()
def adapt(
    corpus: Annotated[Path, typer.Option(metavar="NPY", help="Vectors of the documents.", show_default=False)],
    queries: Annotated[Path, typer.Option(metavar="NPY", help="Vectors of the queries.", show_default=False)],
    qrels: Annotated[
        Path, typer.Option(metavar="FILE", help="Judgements, as TREC or BEIR have them.", show_default=False)
    ],
    corpus_ids: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Identifiers, one a line. Default: numbers of rows, from 0.")
    ] = None,
    query_ids: Annotated[Path | None, typer.Option(metavar="FILE", help="The same of the queries.")] = None,
    measure: Annotated[
        str, typer.Option(help="What is to become better: nDCG@10, AP, RR@10, P@5, or AUC, which AP decides.")
    ] = "nDCG@10",
    learn: Annotated[
        list[str] | None,
        typer.Option(metavar="MEASURE", help="Learn its exact loss; may come again, to choose. Default: AP."),
    ] = None,
    weights: Annotated[
        list[float] | None,
        typer.Option("--C", metavar="C", help="Weight of the loss; may come again, to choose. Default: 10 to 10000."),
    ] = None,
    cv: Annotated[int, typer.Option(help="Folds of queries.")] = 5,
    level: Annotated[float, typer.Option(help="Keep the map if the p-value of its gain is below this.")] = 0.05,
    unjudged: Annotated[
        str, typer.Option(help="Of documents that nobody judged for a query: irrelevant, ignore, mined.")
    ] = "irrelevant",
    relevant_from: Annotated[int, typer.Option(help="The degree from which a document is relevant.")] = 1,
    tol: Annotated[float, typer.Option(help="Certified relative gap at which solves stop.")] = 1e-2,
    max_seconds: Annotated[float | None, typer.Option(help="Limit on wall time, of all solves together.")] = None,
    save: Annotated[
        Path | None, typer.Option(help="Write the map, bounds and scores to this .npz file; see 'export'.")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write a page of all that was found to this .html file.")] = None,
    picture: Annotated[
        Path | None, typer.Option(help="Draw the change of every query to this .png, .pdf or .svg file.")
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Learn a linear map of an encoder's vectors from judged queries, and keep it only if held-out queries say so.

    Loss and weight are chosen, and the map is tested, by queries that it has not seen; where it does not help, what is
    saved is the identity.

    convexmetric adapt --corpus docs.npy --queries q.npy --qrels qrels.txt --measure ndcg@10 --save adapter.npz
    """
    if save is not None:
        check_solution_path(save)
    if report is not None:
        check_report_path(report)
    if picture is not None:
        check_picture_path(picture)
    settings = {"C": weights or None, "cv": cv, "level": level, "unjudged": unjudged, "relevant_from": relevant_from}
    limits = {"tol": tol, "max_seconds": max_seconds, "progress": not quiet}
    with noted():
        collection = collections.read_collection(corpus, queries, qrels, corpus_ids, query_ids)
        adapter, interrupted = collections.adapt(collection, measure=measure, learn=learn or None, **settings, **limits)
    solution = adapter.solution_
    if as_json:
        print_json(collections.adapt_record(adapter))
    else:
        _print_adapter(adapter)
    if save is not None:
        collections.save_adapter(save, adapter)
        say(f"adapter: {save}")
    if report is not None:
        from convexmetric.retrieval.html_report import write_adapter_report

        write_adapter_report(report, adapter, shlex.join(["convexmetric", *sys.argv[1:]]))
        say(f"report: {report}")
    if picture is not None:
        from matplotlib.figure import Figure

        from convexmetric.plotting import plot_query_changes, save_picture

        figure = Figure(layout="constrained")
        plot_query_changes(adapter.held_out_, figure.add_subplot())
        save_picture(figure, picture)
        say(f"picture: {picture}")
    if interrupted:
        raise typer.Exit(INTERRUPTED)
    if solution is not None and solution.status != "optimal":
        of = "" if adapter.kept_ else ", of the map that was not kept"
        say(f"not certified to tol = {tol:g}: the gap is {solution.gap:.2e} ({solution.status}{of})")
        raise typer.Exit(NOT_CERTIFIED)


def _print_adapter(adapter: Any) -> None:
    out = console()
    if adapter.kept_:
        out.print(f"{adapter.solution_.problem}\n")
        out.print(solution_table(adapter.solution_))
    else:
        out.print(f"result: {adapter.result_}; no map was kept, and there is nothing to bound")
    out.print(f"\n{adapter.path_.heading()}", figures_table(adapter.path_), sep="\n")
    out.print(f"\n{adapter.held_out_.heading()}", figures_table(adapter.held_out_), sep="\n")
    out.print(f"{adapter.held_out_.closing()}\n\n{adapter.verdict}")


@app.command()
def export(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A linear map or a metric: .npz of 'fit --save', or as for 'audit'.",
            show_default=False,
        ),
    ],
    to: Annotated[str, typer.Option(help=f"One of {', '.join(FORMATS)}.")],
    output: Annotated[
        Path | None, typer.Option(help="File to write. Default: FILE with the suffix of the format.")
    ] = None,
    form: Annotated[
        str,
        typer.Option(
            help="distance: one map for documents and queries. augmented: a map for queries, and documents with one "
            "number more. inner-product: a map for queries only, which ranks by q'Mx and not by the distance."
        ),
    ] = "distance",
    corpus: Annotated[
        Path | None, typer.Option(metavar="NPY", help="Vectors of the documents, to go into the file.")
    ] = None,
) -> None:
    """Write a learned metric for something that searches: NumPy, safetensors, ONNX, FAISS, SQL."""
    if to not in FORMATS:
        raise InputError(not_one_of("--to", FORMATS, to))
    target = file.with_suffix(SUFFIXES[to]) if output is None else output
    if target == file:
        raise InputError(f"{target} would be written over; name another file with --output")
    adapter = read_adapter(file, form)
    vectors = None if corpus is None else collections.read_vectors(corpus)
    write_export(adapter, target, to, form, vectors)
    rank, d = adapter.components.shape
    say(f"{'the identity, ' if adapter.is_identity else ''}{form}, {rank} x {d}: {target}")
