"""Checks of the settings of a solver."""

from __future__ import annotations

from convexmetric.arguments import check_count, check_flag, check_positive_number

__all__ = ["check_counts", "check_flags", "check_positive"]


def check_counts(settings: object, *names: str) -> None:
    """Raise an :class:`~convexmetric.errors.InputError` unless these settings are positive integers."""
    for name in names:
        check_count(getattr(settings, name), name)


def check_flags(settings: object, *names: str) -> None:
    """Raise an :class:`~convexmetric.errors.InputError` unless these settings are True or False."""
    for name in names:
        check_flag(getattr(settings, name), name)


def check_positive(settings: object, *names: str) -> None:
    """Raise an :class:`~convexmetric.errors.InputError` unless these settings are positive finite numbers."""
    for name in names:
        check_positive_number(getattr(settings, name), name)
