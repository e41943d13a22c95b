"""Bags of words and pairs of modalities: WebKB (CMU), Wikipedia image-text pairs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from ..files import read_lines, read_mat, read_npz
from .dataset import Dataset
from .reading import locate

__all__ = ["read_crossmodal", "read_webkb_cmu"]


def read_webkb_cmu(folder: Path | None) -> Dataset:
    """Read the CMU version of WebKB from ``webkb-cmu/webkb_bow.npz``.

    X holds word counts, up to 4000: see the steps ``binarize`` and ``log1p`` of :func:`preprocess`. One
    page has no word of the vocabulary. Words such as "cornell" give the university away.

    Extras: ``vocab`` (words of the columns), ``university`` (int64 codes), ``university_names``, ``page``
    (topic/university/address).
    """
    arrays = read_npz(locate(folder, "webkb-cmu/webkb_bow.npz"))
    n, d = (int(size) for size in arrays["shape"])
    # The file keeps small unsigned integers; SciPy wants one signed type for both index arrays.
    indices, indptr = arrays["indices"].astype(np.int32), arrays["indptr"].astype(np.int32)
    X = csr_array((arrays["data"].astype(np.float64), indices, indptr), shape=(n, d))
    X.check_format(full_check=True)
    return Dataset(
        "webkb-cmu",
        X,
        arrays["topic"].astype(np.int64),
        tuple(str(name) for name in arrays["topic_names"]),
        "WebKB, the CMU World Wide Knowledge Base (Craven et al. 1998): counts of 5589 words in 4199 web "
        "pages of computer science departments, four topics.",
        {
            "vocab": arrays["vocab"],
            "university": arrays["university"].astype(np.int64),
            "university_names": tuple(str(name) for name in arrays["university_names"]),
            "page": arrays["page"],
        },
    )


def read_crossmodal(folder: Path | None) -> Dataset:
    """Read the Wikipedia image-text pairs from the files of ``wikipedia-crossmodal/``.

    X has the images (128 SIFT words, rows sum to 1), training pairs first. Extras: ``text`` (n x 10 topic
    proportions, rows sum to 1, in the order of X), ``train`` and ``test`` (row numbers), ``text_id``,
    ``image_id``.
    """
    place = "wikipedia-crossmodal/"
    images, texts = [], []
    names = read_lines(locate(folder, place + "categories.list"))
    mat = locate(folder, place + "raw_features.mat")
    rows: list[list[str]] = []
    for part, suffix in (("train", "tr"), ("test", "te")):
        rows += [line.split("\t") for line in read_lines(locate(folder, f"{place}{part}set_txt_img_cat.list"))]
        image, text = read_mat(mat, f"I_{suffix}", f"T_{suffix}")
        images.append(image)
        texts.append(text)
    n_train = len(images[0])
    X = np.ascontiguousarray(np.concatenate(images), dtype=np.float64)
    return Dataset(
        "wikipedia-crossmodal",
        X,
        np.array([int(row[2]) - 1 for row in rows], dtype=np.int64),
        tuple(names),
        "Wikipedia featured articles (Rasiwasia et al., ACM MM 2010): 2866 image-text pairs of ten "
        "categories, images as 128 SIFT words and texts as 10 topics.",
        {
            "text": np.ascontiguousarray(np.concatenate(texts), dtype=np.float64),
            "train": np.arange(n_train),
            "test": np.arange(n_train, len(X)),
            "text_id": np.array([row[0] for row in rows]),
            "image_id": np.array([row[1] for row in rows]),
        },
    )
