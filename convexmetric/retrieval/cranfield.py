"""The Cranfield collection, from the data folder."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from convexmetric.datasets.dataset import Dataset
from convexmetric.datasets.reading import locate
from convexmetric.files import guarded, opened
from convexmetric.retrieval.judgements import Qrels
from convexmetric.retrieval.reading import read_qrels


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
