"""The Cranfield collection: a part that comes with the package, and the whole from the data folder."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from convexmetric.datasets.dataset import Dataset
from convexmetric.datasets.reading import locate
from convexmetric.files import guarded, opened
from convexmetric.retrieval.judgements import Qrels
from convexmetric.retrieval.reading import read_qrels


def bundled_part() -> Dataset:
    """Load the bundled part: the first hundred questions, and all documents relevant to them.

    Extras: ``queries`` (100, 32), ``qrels`` (by rows of both), ``documents`` and ``questions`` (their numbers in the
    collection, from 1).
    """
    with (files(__package__) / "cranfield-100.npz").open("rb") as file, np.load(file, allow_pickle=False) as part:
        X, queries = (np.asarray(part[name], dtype=np.float64) for name in ("documents", "questions"))
        relevant = zip(part["question"].tolist(), part["document"].tolist(), strict=True)
        qrels = Qrels.of((question, document, 1) for question, document in relevant)
        numbers = np.asarray(part["number"], dtype=np.int64)
    return Dataset(
        "cranfield-100",
        X,
        None,
        (),
        "Part of the Cranfield collection (Cleverdon 1967): 509 abstracts on aerodynamics, the first 100 questions, "
        "and who is relevant to whom; latent semantic analysis of 32 dimensions, of length one, in single precision.",
        {"queries": queries, "qrels": qrels, "documents": numbers, "questions": np.arange(1, 101)},
    )


def read_cranfield(folder: Path | None) -> Dataset:
    """Read the Cranfield collection from the files ``cran.all.1400``, ``cran.qry`` and ``cranqrel`` in ``cranfield/``.

    X holds counts of the words of abstracts with title, authors and source, without the English stop words of
    scikit-learn: see its ``TfidfTransformer``. Abstract 471 is empty.

    Extras: ``queries`` (counts of the same words in the 225 questions), ``qrels`` (every judged pair, of degree 1, by
    rows of both, from 0), ``codes`` (int64, of each pair: 1, complete answer, to 4, minimal interest; -1 for the
    document that the question was written from), ``texts`` and ``questions`` (tuples), ``vocab``.
    """
    from sklearn.feature_extraction.text import CountVectorizer

    texts, questions = (_smart(locate(folder, f"cranfield/{name}")) for name in ("cran.all.1400", "cran.qry"))
    words = CountVectorizer(stop_words="english", dtype=np.float64).fit(texts)
    # Judgements refer to questions by their position in the file, not by the number there.
    judged = read_qrels(locate(folder, "cranfield/cranqrel"))
    pairs = ((judged.queries, judged.query), (judged.documents, judged.document))
    rows = [np.array(names, dtype=np.int64)[code] - 1 for names, code in pairs]
    return Dataset(
        "cranfield",
        csr_array(words.transform(texts)),
        None,
        (),
        "Cranfield collection (Cleverdon 1967): words of 1400 abstracts on aerodynamics, 225 questions, and which "
        "abstracts answer them.",
        {
            "queries": csr_array(words.transform(questions)),
            "qrels": Qrels.from_lists(rows[0].tolist(), rows[1].tolist(), [1] * len(judged)),
            "codes": judged.degree,
            "texts": tuple(texts),
            "questions": tuple(questions),
            "vocab": words.get_feature_names_out(),
        },
    )


def _smart(path: Path) -> list[str]:
    """Read the texts of a file of the SMART system, without the names of their fields."""
    with opened(path) as stream:
        text = guarded(path, lambda: stream.read().decode())
    entries = re.split(r"^\.I ", text, flags=re.MULTILINE)[1:]
    return [re.sub(r"^\.[A-Z]$", " ", entry.partition("\n")[2], flags=re.MULTILINE) for entry in entries]
