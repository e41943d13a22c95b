"""Graphs of documents with their words: Cora, WebKB (LINQS), Wikipedia chameleon pages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from convexmetric.datasets.dataset import Dataset, Matrix
from convexmetric.datasets.reading import locate
from convexmetric.files import read_json_xz, read_lines, read_lines_xz

UNIVERSITIES = ("cornell", "texas", "washington", "wisconsin")


def read_cora(folder: Path | None) -> Dataset:
    """Read Cora from ``cora/cora.content.xz`` and ``cora/cora.cites``.

    Extras: ``adjacency`` (CSR, symmetric 0/1, no self-links), ``links`` (int64, one row ``(citing,
    cited)`` per citation, numbers of rows of X), ``paper`` (identifiers).
    """
    papers, X, labels = _content(locate(folder, "cora/cora.content.xz"))
    links = _cites(locate(folder, "cora/cora.cites"), papers)
    classes, y = np.unique(labels, return_inverse=True)
    return Dataset(
        "cora",
        X,
        y.astype(np.int64),
        tuple(str(name) for name in classes),
        "Cora (McCallum et al.; Sen et al., LINQS): 1433 word indicators of 2708 machine-learning papers "
        "of seven topics, and the citations between them.",
        {"adjacency": _adjacency(links, len(papers)), "links": links, "paper": np.array(papers)},
    )


def read_webkb_linqs(folder: Path | None) -> Dataset:
    """Read the LINQS version of WebKB, four universities one after the other.

    From ``webkb-linqs/U.content.xz`` and ``webkb-linqs/U.cites``, U = cornell, texas, washington,
    wisconsin; the universities share one vocabulary and no link joins two of them.

    Extras: ``university`` (int64 codes), ``university_names``, ``page`` (addresses), ``adjacency`` (CSR,
    symmetric 0/1, no self-links), ``links`` (int64, rows ``(citing, cited)``, self-links kept).
    """
    parts = [_content(locate(folder, f"webkb-linqs/{name}.content.xz")) for name in UNIVERSITIES]
    sizes = [len(pages) for pages, _, _ in parts]
    each = zip(UNIVERSITIES, parts, np.cumsum(sizes) - sizes, strict=True)
    cites = [_cites(locate(folder, f"webkb-linqs/{name}.cites"), pages) + first for name, (pages, _, _), first in each]
    links = np.concatenate(cites)
    pages, labels = (np.concatenate([part[k] for part in parts]) for k in (0, 2))
    classes, y = np.unique(labels, return_inverse=True)
    return Dataset(
        "webkb-linqs",
        csr_array(vstack([X for _, X, _ in parts], format="csr")),
        y.astype(np.int64),
        tuple(str(name) for name in classes),
        "WebKB (Craven et al. 1998; Sen et al., LINQS): 1703 word indicators of 877 web pages of four "
        "computer science departments, five topics, and the links between them.",
        {
            "university": np.repeat(np.arange(len(sizes)), sizes),
            "university_names": UNIVERSITIES,
            "page": pages,
            "adjacency": _adjacency(links, len(pages)),
            "links": links,
        },
    )


def read_chameleon(folder: Path | None) -> Dataset:
    """Read the Wikipedia chameleon graph from two files of ``wikipedia-chameleon/``.

    There are no classes: y is None. Extras: ``adjacency`` (CSR, symmetric 0/1, no self-links), ``links``
    (int64, the rows of the file: self-links kept, many edges given in both directions).
    """
    words = read_json_xz(locate(folder, "wikipedia-chameleon/chameleon_features.json.xz"))
    edges = locate(folder, "wikipedia-chameleon/chameleon_edges.csv")
    n = len(words)
    bags = [sorted(set(words[str(page)])) for page in range(n)]
    indices = np.concatenate([np.array(bag, dtype=np.int64) for bag in bags])
    indptr = np.cumsum([0, *(len(bag) for bag in bags)])
    X = csr_array((np.ones(len(indices)), indices, indptr), shape=(n, int(indices.max()) + 1))
    links = np.array([line.split(",") for line in read_lines(edges)[1:]], dtype=np.int64)
    return Dataset(
        "wikipedia-chameleon",
        X,
        None,
        (),
        "Wikipedia pages about chameleons (MUSAE, Rozemberczki et al. 2021): 3132 word indicators of 2277 "
        "pages, and the links between them.",
        {"adjacency": _adjacency(links, n), "links": links},
    )


def _content(path: Path) -> tuple[list[str], Matrix, list[str]]:
    """Read lines ``identifier, 0/1 words, label`` separated by tabs."""
    identifiers: list[str] = []
    labels: list[str] = []
    rows: list[NDArray[np.bool_]] = []
    for line in read_lines_xz(path):
        identifier, rest = line.split("\t", 1)
        bits, label = rest.rsplit("\t", 1)
        characters = np.frombuffer(bits.encode("ascii"), dtype=np.uint8)
        values = characters[::2]
        if not (np.all(characters[1::2] == ord("\t")) and np.all((values == 48) | (values == 49))):
            raise ValueError(f"the words of {identifier} are not 0 or 1")
        identifiers.append(identifier)
        labels.append(label)
        rows.append(values == 49)
    return identifiers, csr_array(np.array(rows).astype(np.float64)), labels


def _cites(path: Path, identifiers: Sequence[str]) -> NDArray[np.int64]:
    """Read lines ``cited citing`` and return rows ``(citing, cited)``."""
    index = {identifier: row for row, identifier in enumerate(identifiers)}
    pairs = [line.split() for line in read_lines(path)]
    return np.array([(index[citing], index[cited]) for cited, citing in pairs], dtype=np.int64)


def _adjacency(links: NDArray[np.int64], n: int) -> Matrix:
    """Return the undirected simple graph of the links: a 1 for each linked pair, whatever the direction."""
    between = links[links[:, 0] != links[:, 1]]
    both = np.concatenate([between, between[:, ::-1]])
    graph = csr_array((np.ones(len(both)), (both[:, 0], both[:, 1])), shape=(n, n))
    graph.sum_duplicates()
    graph.data[:] = 1.0
    return graph
