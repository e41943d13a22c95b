"""The names of the data sets, and :func:`load`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from convexmetric.arguments import closest
from convexmetric.datasets import reading
from convexmetric.datasets.bundled import BUNDLED, beside
from convexmetric.datasets.dataset import Dataset
from convexmetric.errors import ConvexMetricError, DataNotFoundError, InputError, NotInstalledError

#: Readers of sets in the data folder, ``module:function`` in optional subpackages, by name of the set. They take the
#: folder, then options.
FOLDER = {
    "balance-scale": "bench.readers.uci:read_balance_scale",
    "ionosphere": "bench.readers.uci:read_ionosphere",
    "isolet": "bench.readers.uci:read_isolet",
    "webkb-linqs": "bench.readers.graphs:read_webkb_linqs",
    "webkb-cmu": "bench.readers.text:read_webkb_cmu",
    "wikipedia-crossmodal": "bench.readers.text:read_crossmodal",
    "cora": "bench.readers.graphs:read_cora",
    "wikipedia-chameleon": "bench.readers.graphs:read_chameleon",
    "orl-faces": "bench.readers.images:read_orl_faces",
    "coil20": "bench.readers.images:read_coil20",
    "mnist-test": "bench.readers.images:read_mnist_test",
    "binary-alphadigits": "bench.readers.images:read_alphadigits",
    "corel5k": "bench.readers.images:read_corel5k",
    "cranfield": "retrieval.cranfield:read_cranfield",
}

#: Options of the readers that take any, by name of the set.
OPTIONS = {"webkb-cmu": ("words", "min_pages")}

#: Sets that scikit-learn downloads from OpenML where the folder does not have them.
OPENML = ("balance-scale", "ionosphere", "isolet")

#: Further names :func:`load` takes.
ALIASES = {"wdbc": "breast-cancer"}


def list_datasets() -> list[str]:
    """Return the names :func:`load` knows, sorted, without aliases.

    Returns
    -------
    list of str
    """
    return sorted([*BUNDLED, *FOLDER])


def load(
    name: str, *, data_folder: str | os.PathLike[str] | None = None, download: bool = True, **options: Any
) -> Dataset:
    """Load a data set by name.

    Parameters
    ----------
    name : str
        One of :func:`list_datasets`, or the alias ``wdbc`` (the same data as ``breast-cancer``).
    data_folder : path, optional
        The folder that holds ``<subfolder>/<file>`` of each data set; by default the one named by the
        environment variable ``CONVEXMETRIC_DATA``. Sets bundled with scikit-learn and printed characters need none.
    download : bool
        Whether balance-scale, ionosphere and isolet may come from OpenML when the folder does not have
        them.
    **options
        Options of webkb-cmu: ``words="page"`` for the words of whole pages instead of those of the text, ``"html"`` or
        ``"header"`` for a part of them, and then ``min_pages`` (10), the number of pages that must have a word.

    Returns
    -------
    Dataset
        ``X`` as published, unscaled, and ``y`` as class codes ``0 .. k-1`` (see :class:`Dataset`). The
        extras are those of the reader: ``feature_names``; ``image_shape``; ``adjacency``, ``links``,
        ``page``, ``paper`` (graphs); ``university``, ``university_names``, ``vocab``, ``host`` (WebKB);
        ``part`` (isolet, image-text pairs); ``text``, ``train``, ``test`` (image-text pairs); ``digits``, ``letters``
        (alphadigits); ``angle``, ``scale`` (printed characters); ``queries``, ``qrels``, ``codes``, ``texts``,
        ``questions``, ``vocab`` (cranfield).

    Raises
    ------
    InputError
        There is no data set of that name, it has no such option, or its file is damaged, too large or not plain
        numbers.
    DataNotFoundError
        The data set is not in the data folder and could not be downloaded.

    Examples
    --------
    >>> from convexmetric.datasets import load
    >>> load("wdbc")
    <Dataset breast-cancer: 569 x 30; 2 classes; extras: feature_names>
    """
    name = _known(name)
    unknown = sorted(set(options) - set(OPTIONS.get(name, ())))
    if unknown:
        some = f"has the options {', '.join(OPTIONS[name])}" if name in OPTIONS else "has no options"
        raise InputError(f"Data set {name!r} {some}, not {', '.join(unknown)}.")
    if name in BUNDLED:
        return BUNDLED[name]()
    folder = reading.data_folder() if data_folder is None else Path(data_folder).expanduser()
    try:
        return beside(FOLDER[name], folder, **options)
    except DataNotFoundError as error:
        missing = error
    except NotInstalledError:
        raise
    except ConvexMetricError as error:
        raise InputError(f"Data set {name!r}: {error}") from error
    except Exception as error:
        # On a damaged file a reader may raise any exception.
        raise InputError(
            f"Data set {name!r}: a file of it in {folder} is damaged ({type(error).__name__}: {error}); "
            "replace it by a fresh copy."
        ) from error
    reasons = [str(missing)]
    if name in OPENML and download:
        try:
            return beside("bench.readers.uci:fetch", name)
        except DataNotFoundError as error:
            reasons.append(str(error))
    elif name in OPENML:
        reasons.append("a download was not allowed (download=False)")
    raise DataNotFoundError(
        f"Data set {name!r} was not found: {'; '.join(reasons)}. Set {reading.ENVIRONMENT_VARIABLE} to the "
        "folder that holds <subfolder>/<file> of each data set, or pass data_folder=. Without a folder: "
        f"{', '.join(sorted(BUNDLED))} always work, {', '.join(sorted(OPENML))} with a network (OpenML)."
    ) from missing


def _known(name: str) -> str:
    known = list_datasets()
    if isinstance(name, str):
        name = ALIASES.get(name, name)
        if name in known:
            return name
        hint = closest(name.lower(), [*known, *ALIASES], " Did you mean {}?")
        raise InputError(f"There is no data set {name!r}.{hint} Known: {', '.join(known)}.")
    raise InputError(f"The name of a data set is a string, not {type(name).__name__}. Known: {', '.join(known)}.")
