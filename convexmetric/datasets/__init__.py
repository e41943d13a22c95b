"""Data sets by name, tables of your own, and named preprocessing steps.

``load("wine")`` and ``load("rotated-letters")`` work anywhere; most other sets are read from a folder of plain
data files named by the environment variable ``CONVEXMETRIC_DATA``. Nothing is ever unpickled. Nothing is
downloaded except three UCI tables from OpenML, if the folder does not have them.
"""

from convexmetric.datasets.dataset import Dataset, sha256
from convexmetric.datasets.judgements import read_triplets
from convexmetric.datasets.preprocessing import preprocess
from convexmetric.datasets.reading import data_folder
from convexmetric.datasets.registry import list_datasets, load
from convexmetric.datasets.rounding import flattened
from convexmetric.datasets.tables import read_csv, read_table

__all__ = [
    "Dataset",
    "data_folder",
    "flattened",
    "list_datasets",
    "load",
    "preprocess",
    "read_csv",
    "read_table",
    "read_triplets",
    "sha256",
]
