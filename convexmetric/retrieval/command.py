"""The commands ``convexmetric adapt`` and ``convexmetric export``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from convexmetric.arguments import check_one_of
from convexmetric.audits.metric_files import MAPS
from convexmetric.cli import shared
from convexmetric.cli.reports import attributes, figures_table, paired_record, solution_table
from convexmetric.errors import InputError
from convexmetric.files import read_array, write_arrays
from convexmetric.imports import optional
from convexmetric.retrieval.export import FORMATS, FORMS, SUFFIXES, read_adapter
from convexmetric.retrieval.export import write as write_export
from convexmetric.retrieval.judgements import UNJUDGED
from convexmetric.retrieval.reading import read_identifiers, read_qrels, read_texts

if TYPE_CHECKING:
    # Imported where it is used: scikit-learn takes a while.
    from convexmetric.retrieval import RetrievalAdapter


@shared.app.command()
def adapt(
    corpus: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="Documents: vectors, a .npy file, or for --encoder texts, JSON lines (.jsonl) with _id and text.",
            show_default=False,
        ),
    ],
    queries: Annotated[Path, typer.Option(metavar="FILE", help="The same of the queries.", show_default=False)],
    qrels: Annotated[
        Path, typer.Option(metavar="FILE", help="Judgements, as TREC or BEIR have them.", show_default=False)
    ],
    corpus_ids: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Identifiers, one a line. Default: those of the texts, or numbers of rows, from 0."
        ),
    ] = None,
    query_ids: Annotated[Path | None, typer.Option(metavar="FILE", help="The same of the queries.")] = None,
    encoder: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Model of sentence-transformers, a name or a folder, that texts go through."),
    ] = None,
    measure: Annotated[
        str, typer.Option(help="What is to become better: nDCG@10, AP, RR@10, P@5, or AUC, which AP decides.")
    ] = "nDCG@10",
    loss: Annotated[
        list[str] | None,
        typer.Option(
            help="What is learned: the exact loss of a measure; softmax, or softmax@0.1, of one temperature; ridge; or "
            "InfoNCE. May come again, to choose. Default: AP, softmax@0.1, ridge and InfoNCE."
        ),
    ] = None,
    side: Annotated[
        list[str] | None,
        typer.Option(
            help="What is mapped: both, queries and documents, or query, with documents as they are; may come again, "
            "to choose. Default: query for ridge and InfoNCE, both for others.",
            autocompletion=shared.completing(MAPS),
        ),
    ] = None,
    weights: Annotated[
        list[float] | None,
        typer.Option("--C", metavar="C", help="Weight of the loss; may come again, to choose. Default: several."),
    ] = None,
    cv: Annotated[int, typer.Option(help="Folds of queries.")] = 5,
    level: Annotated[
        float | None,
        typer.Option(help="Keep the map only if the p-value of its gain is below this. Default: any mean gain counts."),
    ] = None,
    unjudged: Annotated[
        str,
        typer.Option(
            help="Of documents that nobody judged for a query: irrelevant, ignore, mined.",
            autocompletion=shared.completing(UNJUDGED),
        ),
    ] = "irrelevant",
    relevant_from: Annotated[int, typer.Option(help="The degree from which a document is relevant.")] = 1,
    tol: Annotated[float, typer.Option(help="Certified relative gap at which solves stop.")] = 1e-2,
    max_seconds: Annotated[float | None, typer.Option(help="Limit on wall time, of all solves together.")] = None,
    save: Annotated[
        Path | None,
        typer.Option(help="Write the map, bounds and scores to this .npz file; see 'export'.", callback=shared.savable),
    ] = None,
    report: shared.Report = None,
    picture: Annotated[
        Path | None,
        typer.Option(
            help="Draw the change of every query to this .png, .pdf or .svg file.",
            callback=shared.drawable,
        ),
    ] = None,
    as_json: shared.AsJson = False,
    quiet: shared.Quiet = False,
) -> None:
    """Learn a linear map of an encoder's vectors from judged queries, and keep it only if held-out queries gain.

    The map is chosen, and its gain is measured, by queries that it has not seen, in the mean of the measure and AP;
    where they do not gain, what is saved is the identity.

    convexmetric adapt --corpus docs.npy --queries q.npy --qrels qrels.txt --measure ndcg@10 --save adapter.npz

    convexmetric adapt --corpus corpus.jsonl --queries queries.jsonl --qrels qrels/train.tsv --encoder all-MiniLM-L6-v2
    """
    from convexmetric.retrieval import RetrievalAdapter

    adapter = RetrievalAdapter(
        measure,
        loss=loss or None,
        side=side or None,
        C=weights or None,
        encoder=None if encoder is None else _model(encoder),
        cv=cv,
        level=level,
        unjudged=unjudged,
        relevant_from=relevant_from,
        tol=tol,
        max_seconds=max_seconds,
        progress=not quiet,
    )
    interrupted = _fitted(adapter, (corpus, queries), qrels, (corpus_ids, query_ids))
    if as_json:
        shared.print_json(_record(adapter))
    else:
        _print_adapter(adapter)
    if save is not None:
        _save(save, adapter)
        shared.say(f"adapter: {save}")
    if report is not None:
        from convexmetric.retrieval.html_report import write_adapter_report

        write_adapter_report(report, adapter, shared.command_line())
        shared.say(f"report: {report}")
    if picture is not None:
        from convexmetric.plotting import panels, plot_query_changes

        figure, (ax,) = panels()
        plot_query_changes(adapter.held_out_, ax=ax)
        shared.write_picture(figure, picture)
    shared.end(adapter.solution_, interrupted)


def _fitted(
    adapter: RetrievalAdapter, files: tuple[Path, Path], qrels: Path, names: tuple[Path | None, Path | None]
) -> bool:
    """Fit an adapter to documents and queries in files; returns whether Ctrl-C ended its last solve."""
    with shared.noted():
        points = [_points(path, adapter.encoder is not None) for path in files]
        corpus, queries = (some for some, _ in points)
        lists = zip(names, points, strict=True)
        documents, asked = (own if path is None else read_identifiers(path, len(some)) for path, (some, own) in lists)
        judged = read_qrels(qrels)
        try:
            adapter.fit(corpus, queries, judged, corpus_ids=documents, query_ids=asked)
        except KeyboardInterrupt:
            # After Ctrl-C in the last solve the adapter is fitted.
            if not hasattr(adapter, "components_"):
                raise
            return True
    return False


def _points(path: Path, encoded: bool) -> tuple[Any, list[str] | None]:
    """Read vectors, or texts with their identifiers where there is an encoder."""
    if ".jsonl" not in path.suffixes:
        return _matrix(path), None
    if not encoded:
        raise InputError(f"{path} has texts, for which --encoder names a model of sentence-transformers")
    names, texts = read_texts(path)
    return texts, names


def _model(name: str) -> Any:
    """Load an encoder by name or from a folder."""
    package = optional("sentence_transformers", "text", f"--encoder {name}")
    try:
        return package.SentenceTransformer(name)
    except (OSError, ValueError) as error:
        raise InputError(f"--encoder {name}: no model of sentence-transformers was found ({error})") from error


def _matrix(path: Path) -> Any:
    """Read vectors, a row each, from a ``.npy`` file, mapped into memory."""
    if path.suffix.lower() != ".npy":
        raise InputError(f"{path}: vectors come from a .npy file")
    found = read_array(path)
    if found.ndim != 2 or found.dtype.kind not in "fiu":
        raise InputError(f"{path} must hold a matrix of numbers, a vector a row, got shape {found.shape}")
    return found


def _save(path: Path, adapter: RetrievalAdapter) -> None:
    """Save the map, for ``export``, with the scores of every query; bounds and choice only where it was kept."""
    held = adapter.held_out_
    loss, _, C, share = adapter.path_.best if adapter.kept_ else ("", "", 0.0, 0.0)
    arrays = {
        "side": adapter.side_,
        MAPS[adapter.side_]: adapter.components_,
        "kept": adapter.kept_,
        "result": adapter.result_,
        "loss": loss,
        "C": C,
        "share": share,
        "scale": adapter.scale_,
        "measure": held.measure,
        "queries": np.array(held.queries),
        "settings": json.dumps(adapter.get_params(), default=str),
        **attributes(held.deciding, "before", "after", "p_value"),
    }
    if adapter.kept_ and adapter.solution_ is not None:
        bounds = "lower_bound", "upper_bound", "gap", "tol", "status", "solver"
        arrays |= attributes(adapter.solution_, *bounds)
    write_arrays(path, arrays)


def _record(adapter: RetrievalAdapter) -> dict[str, Any]:
    """Record that ``adapt --json`` prints; bounds are null where no map was kept; a refused map has its own entry."""
    solution, held, path = adapter.solution_, adapter.held_out_, adapter.path_
    learned = _candidate(path.best) | {"solution": None if solution is None else solution.to_dict()}
    nothing = _candidate(("", adapter.side_, 0.0, 0.0)) | {"solution": None}
    return {
        "kept": adapter.kept_,
        "result": adapter.result_,
        "verdict": adapter.verdict,
        "measure": held.measure,
        **(learned if adapter.kept_ else nothing),
        "refused": None if adapter.kept_ or path.index == 0 else learned,
        "scale": adapter.scale_,
        "tried": [
            _candidate(candidate) | {"mean": mean, "gap": gap}
            for candidate, mean, gap in zip(path.candidates, path.mean(), path.gaps[:, 0], strict=True)
        ],
        "held_out": {
            "queries": held.queries,
            "fold": held.fold,
            "chosen": [_candidate(choice) for choice in held.choices],
            "level": held.level,
            "detectable": held.detectable if held.power else None,
            "scores": {name: paired_record(scores) for name, scores in held.scores.items()},
            "beside": held.beside,
        },
    }


def _candidate(candidate: Any) -> dict[str, Any]:
    """Record of a candidate: a loss, a side, C and the share of the map; the prior has no loss."""
    loss, side, C, share = candidate
    return {"loss": loss or None, "side": side, "C": C, "share": share}


def _print_adapter(adapter: RetrievalAdapter) -> None:
    out = shared.console()
    if adapter.kept_ and adapter.solution_ is not None:
        out.print(f"{adapter.solution_.problem}\n")
        out.print(solution_table(adapter.solution_))
    out.print(f"result: {adapter.result_}" + f"; {adapter.on_bounds}" * (adapter.on_bounds != ""))
    for found in (adapter.path_, adapter.held_out_):
        out.print(f"\n{found.heading()}", figures_table(found), sep="\n")
    out.print(f"{adapter.held_out_.closing()}\n\n{adapter.verdict}")


@shared.app.command()
def export(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A linear map or a metric: .npz of 'fit --save', or as for 'audit'.",
            show_default=False,
        ),
    ],
    to: Annotated[str, typer.Option(help=f"One of {', '.join(FORMATS)}.", autocompletion=shared.completing(FORMATS))],
    output: Annotated[
        Path | None, typer.Option(help="File to write. Default: FILE with the suffix of the format.")
    ] = None,
    form: Annotated[
        str | None,
        typer.Option(
            help="distance, the default: one map for documents and queries. augmented: a map for queries, and "
            "documents with one number more. inner-product: a map for queries only, which ranks by q'Mx and not by the "
            "distance. query: the only form, and the default, of a map of queries alone.",
            autocompletion=shared.completing(FORMS),
        ),
    ] = None,
    corpus: Annotated[
        Path | None, typer.Option(metavar="NPY", help="Vectors of the documents, to go into the file.")
    ] = None,
) -> None:
    """Write a learned metric for something that searches: NumPy, safetensors, ONNX, FAISS, SQL."""
    check_one_of(to, FORMATS, "--to")
    adapter = read_adapter(file, form)
    target = file.with_suffix(SUFFIXES[to]) if output is None else output
    if target == file:
        raise InputError(f"{target} would be written over; name another file with --output")
    write_export(adapter, target, to, form, None if corpus is None else _matrix(corpus))
    rank, d = adapter.components.shape
    shared.say(f"{'the identity, ' if adapter.is_identity else ''}{adapter.form}, {rank} x {d}: {target}")
