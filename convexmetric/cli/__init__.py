"""The command ``convexmetric``; optional subpackages add commands of their own where they are installed."""

from contextlib import suppress

from convexmetric.cli import auditing, tables
from convexmetric.cli.commands import main
from convexmetric.cli.shared import app
from convexmetric.doors import COMMANDS
from convexmetric.errors import NotInstalledError

__all__ = ["app", "auditing", "main", "tables"]

for _commands in COMMANDS:
    with suppress(NotInstalledError):
        _commands.open()
