"""Out-of-core and distributed risks: data in folders, evaluated shard by shard by any engine."""

from convexmetric.shards.backends import Backend, Executors, Serial, as_backend
from convexmetric.shards.cluster import DaskBackend
from convexmetric.shards.dask_arrays import write_labels
from convexmetric.shards.risk import ShardedRisk
from convexmetric.shards.sums import Partial
from convexmetric.shards.writing import write, write_pieces

__all__ = [
    "Backend",
    "DaskBackend",
    "Executors",
    "Partial",
    "Serial",
    "ShardedRisk",
    "as_backend",
    "write",
    "write_labels",
    "write_pieces",
]
