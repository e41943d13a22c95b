"""Finding data files: a folder named by an environment variable."""

from __future__ import annotations

import os
from pathlib import Path

from convexmetric.errors import DataNotFoundError
from convexmetric.files import existing

ENVIRONMENT_VARIABLE = "CONVEXMETRIC_DATA"
"""The environment variable that names the data folder."""


def data_folder() -> Path | None:
    """Return the folder named by the environment variable ``CONVEXMETRIC_DATA``.

    Returns
    -------
    pathlib.Path or None
        None when the variable is unset or empty. The folder need not exist.
    """
    value = os.environ.get(ENVIRONMENT_VARIABLE, "").strip()
    return Path(value).expanduser() if value else None


def locate(folder: Path | None, relative: str) -> Path:
    """Return the path of a data file.

    Raises
    ------
    DataNotFoundError
        There is no folder, or no such file in it.
    InputError
        The file is larger than :data:`~convexmetric.files.MAX_BYTES`.
    """
    if folder is None:
        raise DataNotFoundError(f"{relative} was not looked for: {ENVIRONMENT_VARIABLE} is not set")
    path = folder / relative
    if not path.is_file():
        missing = "" if folder.is_dir() else ", which is not a folder"
        raise DataNotFoundError(f"there is no file {relative} in {folder}{missing}")
    return existing(path)
