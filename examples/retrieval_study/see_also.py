"""Make the collection ``see-also`` from the documentation that is installed here.

python examples/retrieval_study/see_also.py convexmetric/retrieval/see-also.npz

Whoever documents a function of NumPy or SciPy names others under "See Also": judgements of which functions belong
together, by people who know. The summary of every second function asks for those that name it, or that it names; the
others, with their notes and parameters, are the documents.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import re
from pathlib import Path

import numpy as np
import scipy
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

MODULES = (
    "numpy", "numpy.linalg", "numpy.fft", "numpy.random", "numpy.ma", "numpy.polynomial.polynomial",
    "scipy.linalg", "scipy.optimize", "scipy.sparse", "scipy.sparse.linalg", "scipy.sparse.csgraph", "scipy.signal",
    "scipy.stats", "scipy.special", "scipy.interpolate", "scipy.integrate", "scipy.ndimage", "scipy.fft",
    "scipy.spatial", "scipy.spatial.distance", "scipy.cluster.hierarchy",
)  # fmt: skip


def documentation() -> dict[str, str]:
    """Docstrings by name of the function, of the first module that has it."""
    found: dict[str, str] = {}
    for module in map(importlib.import_module, MODULES):
        for name in sorted(module.__all__):
            value = getattr(module, name)
            if callable(value) and not name.startswith("_"):
                found.setdefault(name, inspect.getdoc(value) or "")
    return found


def sections(docstring: str, name: str) -> tuple[str, str, set[str]]:
    """Summary, text, and the names under "See Also"."""
    head, *rest = re.split(r"\n([A-Z][A-Za-z ]+)\n-{3,}\n", f"\n{docstring}")
    titled = dict(zip(rest[::2], rest[1::2], strict=True))
    paragraphs = [text for text in head.strip().split("\n\n") if not text.startswith(f"{name}(")] or [""]
    named = re.findall(r"^(\S.*?)(?: *:|$)", titled.get("See Also", ""), flags=re.MULTILINE)
    others = {other.strip(" `()").rpartition(".")[2] for line in named for other in line.split(",")}
    text = " ".join([*paragraphs, titled.get("Notes", ""), titled.get("Parameters", "")])
    return " ".join(paragraphs[0].split()), text, others - {name}


def collection() -> dict[str, np.ndarray]:
    """Vectors, names, and pairs of a query and a relevant document: the arrays of the file."""
    parts = {name: sections(text, name) for name, text in documentation().items()}
    pairs = {(name, other) for name, (_, _, others) in parts.items() for other in others if other in parts}
    pairs |= {(other, name) for name, other in pairs}
    linked = sorted({name for name, _ in pairs})
    asked, documents = linked[::2], linked[1::2]
    judged = [(q, d) for q, name in enumerate(asked) for d, other in enumerate(documents) if (name, other) in pairs]
    queries, relevant = np.array(judged).T
    words = TfidfVectorizer(sublinear_tf=True, stop_words="english", token_pattern="[A-Za-z]{2,}")
    counts = words.fit_transform(parts[name][1] for name in documents)
    lsa = TruncatedSVD(32, random_state=0).fit(counts)
    X, Q = (normalize(lsa.transform(of)) for of in (counts, words.transform(parts[name][0] for name in asked)))
    # A summary of other words than those of the documents asks for nothing.
    rows = np.intersect1d(queries, np.flatnonzero(Q.any(axis=1)))
    kept = np.isin(queries, rows)
    return {
        "X": X.astype(np.float16),
        "queries": Q[rows].astype(np.float16),
        "documents": np.array(documents),
        "questions": np.array(asked)[rows],
        "query": np.searchsorted(rows, queries[kept]).astype(np.int16),
        "relevant": relevant[kept].astype(np.int16),
        "versions": np.array([np.__version__, scipy.__version__]),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    np.savez_compressed(parser.parse_args().file, **collection())
