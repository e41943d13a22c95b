"""Packages that most people do without: imported when they are first needed, or the command that installs them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from convexmetric.errors import NotInstalledError

__all__ = ["optional"]


def optional(module: str, extra: str, purpose: str) -> Any:
    """A module of an optional extra.

    Raises
    ------
    NotInstalledError
        If it is not installed; the message has the command that does.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise NotInstalledError(
            f"{purpose} needs the package {module.partition('.')[0]}: pip install 'convexmetric[{extra}]'"
        ) from error
