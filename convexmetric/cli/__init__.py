"""The command ``convexmetric``."""

from convexmetric.cli.commands import app, main

__all__ = [
    "app",
    "main",
]
