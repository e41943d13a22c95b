"""Images: ORL faces, COIL-20, MNIST test digits, Binary Alphadigits, Corel5k.

The rows of X are images read line by line, so that ``X[i].reshape(extras["image_shape"])`` is upright
whatever order the source file has.
"""

from __future__ import annotations

import string
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from convexmetric.datasets.dataset import Dataset
from convexmetric.datasets.reading import locate
from convexmetric.files import read_arrays, read_gz, read_mat

_COREL_FEATURES = 499


def read_orl_faces(folder: Path | None) -> Dataset:
    """Read the ORL faces from ``orl-faces/orl_faces_112x92.npz``.

    X holds grey levels 0-255. Extras: ``image_shape`` (112, 92).
    """
    arrays = read_arrays(locate(folder, "orl-faces/orl_faces_112x92.npz"))
    images = arrays["X"]
    return Dataset(
        "orl-faces",
        images.reshape(len(images), -1).astype(np.float64),
        arrays["y"].astype(np.int64) - 1,
        tuple(f"s{person}" for person in range(1, 41)),
        "ORL (AT&T) faces, Olivetti Research Laboratory 1992-94: ten grey-level images of 112 x 92 of each "
        "of 40 people.",
        {"image_shape": (112, 92)},
    )


def read_coil20(folder: Path | None) -> Dataset:
    """Read COIL-20 from ``coil20/COIL20.mat``.

    Extras: ``image_shape`` (32, 32), ``angle`` (of each row, the degrees turned since
    the first view of the object: 0 to 355 by 5).
    """
    features, labels = read_mat(locate(folder, "coil20/COIL20.mat"), "fea", "gnd")
    return Dataset(
        "coil20",
        _by_lines(features, 32, 32),
        labels.ravel().astype(np.int64) - 1,
        tuple(f"object-{number}" for number in range(1, 21)),
        "COIL-20 (Nene, Nayar and Murase 1996): 20 objects turned through 72 views, 32 x 32 grey levels from 0 to 1.",
        {"image_shape": (32, 32), "angle": np.tile(np.arange(0, 360, 5), 20)},
    )


def read_mnist_test(folder: Path | None) -> Dataset:
    """Read the MNIST test digits from the two gzip files of ``mnist-test/``; extras ``image_shape``."""
    images = _idx(locate(folder, "mnist-test/t10k-images-idx3-ubyte.gz"), 3)
    labels = _idx(locate(folder, "mnist-test/t10k-labels-idx1-ubyte.gz"), 1)
    return Dataset(
        "mnist-test",
        images.reshape(len(images), -1).astype(np.float64),
        labels.astype(np.int64),
        tuple(string.digits),
        "MNIST test set (LeCun et al. 1998): 10000 handwritten digits, 28 x 28 grey levels 0-255.",
        {"image_shape": images.shape[1:]},
    )


def read_alphadigits(folder: Path | None) -> Dataset:
    """Read Binary Alphadigits from ``binary-alphadigits/binaryalphadigs.mat``.

    The 39 images of the letter O are those of the digit 0. Extras: ``image_shape`` (20, 16), ``digits``
    (rows of 0-9), ``letters`` (rows of A-Z **without O**, so that the two share no image).
    """
    features, labels = read_mat(locate(folder, "binary-alphadigits/binaryalphadigs.mat"), "fea", "gnd")
    names = tuple(string.digits + string.ascii_uppercase)
    y = labels.ravel().astype(np.int64) - 1
    return Dataset(
        "binary-alphadigits",
        _by_lines(features, 20, 16),
        y,
        names,
        "Binary Alphadigits (S. Roweis): 39 binary images of 20 x 16 of each digit and capital letter; "
        "the letter O repeats the images of the digit 0.",
        {
            "image_shape": (20, 16),
            "digits": np.flatnonzero(y < 10),
            "letters": np.flatnonzero((y >= 10) & (y != names.index("O"))),
        },
    )


def read_corel5k(folder: Path | None) -> Dataset:
    """Read Corel5k from ``corel5k/corel5k.mat``.

    X is sparse (blob indicators); y is the 5000 x 374 indicator matrix of the keywords, 1 to 5 an image.
    The names of the keywords are not in the file.
    """
    features, keywords = read_mat(locate(folder, "corel5k/corel5k.mat"), "X", "Y")
    # The columns from 499 on repeat the keywords: as features they would give the answer away.
    X = csr_array(features[:, :_COREL_FEATURES].astype(np.float64))
    return Dataset(
        "corel5k",
        X,
        keywords.astype(np.int64),
        tuple(f"keyword-{number}" for number in range(1, keywords.shape[1] + 1)),
        "Corel5k (Duygulu et al. 2002): indicators of 499 kinds of image regions in 5000 photographs, each "
        "with one to five of 374 keywords.",
    )


def _by_lines(features: NDArray[Any], height: int, width: int) -> NDArray[np.float64]:
    """Turn rows that hold images column after column into rows that hold them line after line."""
    images = features.reshape(-1, width, height).transpose(0, 2, 1)
    return np.ascontiguousarray(images, dtype=np.float64).reshape(len(features), height * width)


def _idx(path: Path, ndim: int) -> NDArray[np.uint8]:
    """Read a gzip-compressed IDX file of unsigned bytes with ``ndim`` axes."""
    raw = read_gz(path)
    magic, *shape = struct.unpack_from(f">{ndim + 1}I", raw)
    if magic != 0x0800 + ndim:
        raise ValueError(f"not an IDX file of bytes with {ndim} axes (magic number {magic})")
    return np.frombuffer(raw, dtype=np.uint8, offset=4 * (ndim + 1)).reshape(shape)
