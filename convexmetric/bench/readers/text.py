"""Bags of words and pairs of modalities: WebKB (CMU), Wikipedia image-text pairs, Cranfield."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from convexmetric.arguments import check_count
from convexmetric.datasets.dataset import Dataset
from convexmetric.datasets.reading import locate
from convexmetric.errors import InputError
from convexmetric.files import read_arrays, read_lines, read_mat, read_tar_xz

_WEBKB = "WebKB, the CMU World Wide Knowledge Base (Craven et al. 1998)"
_TOPICS = ("course", "faculty", "project", "student")
_UNIVERSITIES = ("cornell", "texas", "washington", "wisconsin", "misc")
_WORD = re.compile("[a-z0-9]+")
#: Parts that are removed from a page. A page without an empty line is all header.
_PARTS = {
    "page": re.compile(r"\Z"),
    "html": re.compile(r"\A.*?(\r?\n\r?\n|\Z)", re.DOTALL),
    "header": re.compile(r"\r?\n\r?\n.*\Z", re.DOTALL),
}


def read_webkb_cmu(folder: Path | None, words: str = "text", min_pages: int = 10) -> Dataset:
    """Read the CMU version of WebKB from ``webkb-cmu/webkb_bow.npz``, or from the pages as they came.

    X holds word counts, up to 4000: see the steps ``binarize`` and ``log1p`` of :func:`preprocess`. One
    page has no word of the vocabulary. Words such as "cornell" give the university away.

    With ``words="page"`` the words are those of ``webkb-cmu/webkb-pages.tar.xz``: runs of letters and digits, in
    lower case, of whole pages, that is of the text, of the HTML with its addresses and comments, and of the header
    that came with the page over HTTP; ``"html"`` and ``"header"`` are parts of it, after and up to the first empty
    line. Rows are the same pages in the same order.

    Parameters
    ----------
    folder : path or None
    words : {"text", "page", "html", "header"}
        Words of the text, of everything that is in a page, or of a part of that.
    min_pages : int
        Words of fewer pages are left out; 1 keeps all. The words of the text are those of ten pages.

    Extras: ``vocab`` (words of the columns), ``university`` (int64 codes), ``university_names``, ``page``
    (topic/university/address), ``host`` (of each page, in lower case, without a port).

    Raises
    ------
    InputError
        If an option is not one of these.
    """
    if words not in ("text", *_PARTS):
        raise InputError(f"words must be one of text, {', '.join(_PARTS)}, got {words!r}")
    check_count(min_pages, "min_pages")
    if words == "text" and min_pages != 10:
        raise InputError("min_pages is not for words of the text, which are those of ten pages")
    return _text_words(folder) if words == "text" else _page_words(folder, words, min_pages)


def _text_words(folder: Path | None) -> Dataset:
    """Words of the text: the bag of words that comes with the pages."""
    arrays = read_arrays(locate(folder, "webkb-cmu/webkb_bow.npz"))
    n, d = (int(size) for size in arrays["shape"])
    # The file keeps small unsigned integers; SciPy wants one signed type for both index arrays.
    indices, indptr = arrays["indices"].astype(np.int32), arrays["indptr"].astype(np.int32)
    X = csr_array((arrays["data"].astype(np.float64), indices, indptr), shape=(n, d))
    X.check_format(full_check=True)
    return _webkb(X, "5589 words in 4199 web pages", arrays["vocab"], arrays["page"])


def _page_words(folder: Path | None, words: str, min_pages: int) -> Dataset:
    """Words of whole pages, header and HTML, or of one of both."""
    names: list[str] = []
    counts: list[Counter[str]] = []
    for name, content in read_tar_xz(locate(folder, "webkb-cmu/webkb-pages.tar.xz")):
        root, topic, _ = name.split("/", 2)
        if root == "webkb" and topic in _TOPICS:
            names.append(name.removeprefix("webkb/"))
            counts.append(Counter(_WORD.findall(_PARTS[words].sub("", content.decode("latin-1"), 1).lower())))
    pages = Counter(word for count in counts for word in count)
    vocab = sorted(word for word, number in pages.items() if number >= min_pages)
    if not vocab:
        raise InputError(f"no word is in {min_pages} pages or more; there are {len(names)} pages")
    return _webkb(_bag_of_words(counts, vocab), f"words in web pages ({words})", np.array(vocab), np.array(names))


def _webkb(X: csr_array, what: str, vocab: NDArray[Any], pages: NDArray[Any]) -> Dataset:
    """Assemble the data set; the names of pages, topic/university/address, have the classes."""
    places = [page.split("/", 2) for page in pages.tolist()]
    return Dataset(
        "webkb-cmu",
        X,
        np.array([_TOPICS.index(topic) for topic, _, _ in places], dtype=np.int64),
        _TOPICS,
        f"{_WEBKB}: counts of {what} of computer science departments, four topics.",
        {
            "vocab": vocab,
            "university": np.array([_UNIVERSITIES.index(name) for _, name, _ in places], dtype=np.int64),
            "university_names": _UNIVERSITIES,
            "page": pages,
            # Addresses have ``^`` for ``/`` and perhaps ``_`` before a port.
            "host": np.array([re.split("[:_]", address.split("^")[2])[0].lower() for _, _, address in places]),
        },
    )


def _bag_of_words(counts: list[Counter[str]], vocab: list[str]) -> csr_array:
    """Counts of the words of a vocabulary, a row each."""
    column = {word: f for f, word in enumerate(vocab)}
    rows = [sorted((column[word], number) for word, number in count.items() if word in column) for count in counts]
    entries = np.array([entry for row in rows for entry in row], dtype=np.int64).reshape(-1, 2)
    indptr = np.cumsum([0, *(len(row) for row in rows)], dtype=np.int32)
    data, indices = entries[:, 1].astype(np.float64), entries[:, 0].astype(np.int32)
    return csr_array((data, indices, indptr), shape=(len(rows), len(vocab)))


def read_crossmodal(folder: Path | None) -> Dataset:
    """Read the Wikipedia image-text pairs from the files of ``wikipedia-crossmodal/``.

    X has the images (128 SIFT words, rows sum to 1), training pairs first. Extras: ``text`` (n x 10 topic
    proportions, rows sum to 1, in the order of X), ``part`` (``"train"`` or ``"test"``), ``train`` and ``test`` (row
    numbers).
    """
    place = "wikipedia-crossmodal/"
    names = read_lines(locate(folder, place + "categories.list"))
    mat = locate(folder, place + "raw_features.mat")
    rows: list[list[str]] = []
    for part in ("train", "test"):
        rows += [line.split("\t") for line in read_lines(locate(folder, f"{place}{part}set_txt_img_cat.list"))]
    arrays = read_mat(mat, "I_tr", "I_te", "T_tr", "T_te")
    n_train = len(arrays[0])
    X = np.ascontiguousarray(np.concatenate(arrays[:2]), dtype=np.float64)
    return Dataset(
        "wikipedia-crossmodal",
        X,
        np.array([int(row[2]) - 1 for row in rows], dtype=np.int64),
        tuple(names),
        "Wikipedia featured articles (Rasiwasia et al., ACM MM 2010): 2866 image-text pairs of ten "
        "categories, images as 128 SIFT words and texts as 10 topics.",
        {
            "text": np.ascontiguousarray(np.concatenate(arrays[2:]), dtype=np.float64),
            "part": np.repeat(["train", "test"], [n_train, len(X) - n_train]),
            "train": np.arange(n_train),
            "test": np.arange(n_train, len(X)),
        },
    )
