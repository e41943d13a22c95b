"""A connection between two processes that do not trust each other: texts, numbers and arrays, without pickles.

A message is a frame of JSON, which names its arrays, and a frame for each of them in NumPy's format, read as files of
strangers are (:mod:`convexmetric.files`). Each frame says its size first: none is read that is larger than expected.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from convexmetric.errors import InputError
from convexmetric.files import array_of

Arrays = Mapping[str, np.ndarray]

#: Bytes of the text of a message, and of an array beyond its numbers, at most.
TEXT, HEADER = 2**16, 2**11


class Line:
    """One end of a connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def send(self, said: Mapping[str, Any], arrays: Arrays | None = None) -> None:
        """Send a message."""
        arrays = arrays or {}
        self._connection.send_bytes(json.dumps({**said, "arrays": list(arrays)}).encode())
        for array in arrays.values():
            file = io.BytesIO()
            np.save(file, array, allow_pickle=False)
            self._connection.send_bytes(file.getbuffer())

    def receive(self, most: int = 0) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Receive a message, whose arrays have ``most`` bytes in all.

        Raises
        ------
        InputError
            If it is larger, or no such message.
        EOFError
            If the other end is closed.
        """
        try:
            said, arrays, left = json.loads(self._connection.recv_bytes(TEXT)), {}, most
            for name in said.pop("arrays"):
                data = self._connection.recv_bytes(left + HEADER)
                arrays[str(name)] = array = array_of(io.BytesIO(data), len(data))
                left -= array.nbytes
        except (EOFError, ConnectionError) as error:
            raise EOFError from error
        except Exception as error:
            # Damaged text and arrays raise many kinds of errors, and frames that are too large an OSError.
            raise InputError(f"it sent what is no message, or one above {most} bytes ({error})") from error
        return said, arrays
