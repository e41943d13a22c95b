"""Errors: files that are refused, and proofs that fail."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any


def escaped(text: str) -> str:
    """Escape all characters but printable ASCII, as Python does: one line, without control sequences for a terminal."""
    return re.sub("[^ -~]", lambda found: ascii(found[0])[1:-1], text)


class CertificateError(Exception):
    """The file is not a certificate: damaged, malformed, too large, or different from its hashes."""

    def __init__(self, message: str) -> None:
        super().__init__(escaped(message)[:500])


class NotProven(Exception):  # noqa: N818 - not an error of the file
    """The numbers of the file do not prove a bound; the message names the step that fails."""


def require_valid(holds: Any, message: str) -> None:
    """Refuse a file unless the condition holds."""
    if not holds:
        raise CertificateError(message)


def require_proven(holds: Any, message: str) -> None:
    """Stop a proof unless the condition holds."""
    if not holds:
        raise NotProven(message)


@contextlib.contextmanager
def refusals(what: str) -> Iterator[None]:
    """Turn every error in the block, memory and recursion included, into a refusal that names ``what``."""
    try:
        yield
    except CertificateError:
        raise
    except OSError as error:
        raise CertificateError(f"cannot read {what}: {error.strerror or type(error).__name__}") from error
    except Exception as error:
        raise CertificateError(f"{what} cannot be evaluated: {told(error)}") from error


def told(error: BaseException) -> str:
    """Name and text of an error; with rules of others, making the text may itself fail."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__
