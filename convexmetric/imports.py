"""Modules that are found by name: packages of optional extras, and the rooms beside the core.

The rooms (``approximate``, ``bench``, ``retrieval``, ``shards``) import the core, and no module of the core
imports them: what they add, solvers, data sets, commands and backends, it finds by name, where they are installed.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from convexmetric.errors import NotInstalledError

#: Optional subpackages beside the core.
ROOMS = ("approximate", "bench", "retrieval", "shards")


def late(package: str, where: dict[str, str]) -> Callable[[str], Any]:
    """Make a ``__getattr__`` that imports slow modules on first use; ``where`` maps names to modules."""

    def found(name: str) -> Any:
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{where[name]}"), name)

    return found


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


def room(name: str) -> Any:
    """A module of a room beside the core, such as ``"bench"`` or ``"retrieval.adapter"``.

    Raises
    ------
    NotInstalledError
        If this copy of the package has no such room.
    """
    module = f"{__package__}.{name}"
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise
        raise NotInstalledError(f"this copy of the package has no folder {error.name.replace('.', '/')}") from error
