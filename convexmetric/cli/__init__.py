"""The command ``convexmetric``; optional subpackages add commands of their own where they are installed."""

from contextlib import suppress

from convexmetric.cli.commands import app, main
from convexmetric.errors import NotInstalledError
from convexmetric.imports import room

__all__ = ["app", "main"]

for _commands in ("bench.command", "retrieval.command"):
    with suppress(NotInstalledError):
        room(_commands)
