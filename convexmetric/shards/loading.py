"""Read the files of shards where they are evaluated, and cache the objects made from them for the next pass.

Passes are cyclic. If the data do not all fit, evicting the least recently used shard would evict every shard just
before its turn; evicting at random keeps about as large a share of them as there is room.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from hashlib import sha256
from random import Random
from threading import Lock, RLock
from typing import Any

import numpy as np

from convexmetric.arrays import Array
from convexmetric.shards.folder import Shard, StoredArray


class Cache:
    """Thread-safe cache of loaded objects, up to a number of bytes, with random eviction."""

    def __init__(self) -> None:
        self._kept: dict[Hashable, Any] = {}
        #: Keys of objects that other entries refer to; these are evicted last, as they would otherwise be loaded twice.
        self._shared: set[Hashable] = set()
        self._guards: dict[Hashable, Lock] = {}
        self._lock = RLock()
        self._random = Random(0)
        self.size = 0

    def get(self, key: Hashable, load: Callable[[], Any], limit: int, *, shared: bool = False) -> Any:
        """Return the object under a key, or that of ``load()``, which is cached if its ``nbytes`` fit."""
        with self._lock:
            guard = self._guards.setdefault(key, Lock())
        # Two threads that ask for the same key load it once.
        with guard:
            self._make_room(limit)
            with self._lock:
                if key in self._kept:
                    return self._kept[key]
            value = load()
            with self._lock:
                self._guards.pop(key, None)
                if value.nbytes <= limit:
                    self._make_room(limit - value.nbytes)
                    self._kept[key] = value
                    self.size += value.nbytes
                    if shared:
                        self._shared.add(key)
            return value

    def _make_room(self, limit: int) -> None:
        """Evict random entries until the cache is within the limit."""
        with self._lock:
            while self.size > limit:
                own = [key for key in self._kept if key not in self._shared]
                key = self._random.choice(own or list(self._kept))
                self.size -= self._kept.pop(key).nbytes
                self._shared.discard(key)


#: Cache of risks of shards, and of corpora that shards share.
CACHE = Cache()
#: Cache of arrays of whole corpora at a metric, for this pass and some earlier ones.
_AT_METRICS, AT_METRICS_BYTES = Cache(), 2**25


class PieceFiles:
    """Arrays of a shard's piece by name, read by rows; counts the bytes that are read for this shard alone."""

    def __init__(self, shard: Shard) -> None:
        self._shard = shard
        self._arrays: dict[str, StoredArray] = {}
        self.read = 0

    def __contains__(self, name: str) -> bool:
        return name in self._shard.sizes

    def _array(self, name: str) -> StoredArray:
        if name not in self._arrays:
            self._arrays[name] = StoredArray(f"{self._shard.path}/{name}.npy", self._shard.sizes[name])
        return self._arrays[name]

    def length(self, name: str) -> int:
        """Number of rows."""
        return len(self._array(name))

    def rows(self, name: str, start: int, stop: int) -> np.ndarray:
        """Read rows from start to stop."""
        found = self._array(name).rows(start, stop)
        self.read += found.nbytes
        return found

    def take(self, name: str, rows: np.ndarray) -> np.ndarray:
        """Read rows, in any order."""
        distinct, place = np.unique(rows, return_inverse=True)
        found = self._array(name).take(distinct)
        found = found if len(distinct) == len(rows) and (distinct == rows).all() else found[place.ravel()]
        self.read += found.nbytes
        return found

    def points(self, rows: np.ndarray | None) -> np.ndarray:
        """Read rows of the corpus, given in ascending order; None for all."""
        return self.rows("points", 0, self.length("points")) if rows is None else self.take("points", rows)

    def corpus(self) -> np.ndarray | StoredArray:
        """Return the corpus from the cache that shards share, or as a ``StoredArray`` where it is too large."""
        stored = self._array("points")
        if len(stored) * stored.row_bytes > self._shard.cache:
            return stored
        return CACHE.get(self._shard.contents, lambda: stored.rows(0, len(stored)), self._shard.cache, shared=True)

    def once(self, M: Array, make: Callable[[], Array]) -> Array:
        """Return ``make()``, cached by corpus and metric if the piece has several shards."""
        if self._shard.stop - self._shard.start == self.length("anchors"):
            return make()
        key = self._shard.contents, repr(self._shard.cone), sha256(np.ascontiguousarray(M).data).digest()
        return _AT_METRICS.get(key, make, AT_METRICS_BYTES)
