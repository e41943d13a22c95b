"""Imports: quick ones, modules that are imported when they are first used, and packages of optional extras."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from convexmetric.errors import NotInstalledError


@contextmanager
def uncollected() -> Iterator[None]:
    """Pause garbage collection, which frees little of what imports and compilers make and takes a tenth of the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def without(module: str, *names: str) -> Iterator[None]:
    """Hide parts of a module that are not loaded yet from who copies all that it has."""
    loaded = vars(import_module(module))
    hidden = set(names) - set(loaded)
    loaded.update(dict.fromkeys(hidden))
    try:
        yield
    finally:
        for name in hidden:
            del loaded[name]


def late(package: str, where: dict[str, str]) -> Callable[[str], Any]:
    """Make a ``__getattr__`` that imports slow modules on first use; ``where`` maps names to modules."""

    def found(name: str) -> Any:
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(f"{package}.{where[name]}"), name)

    return found


def optional(module: str, extra: str, purpose: str) -> Any:
    """Import a module of an optional extra.

    Raises
    ------
    NotInstalledError
        If it is not installed; the message has the command that installs it.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise NotInstalledError(
            f"{purpose} needs the package {module.partition('.')[0]}: pip install 'convexmetric[{extra}]'"
        ) from error
