"""Data sets by name, synthetic matchings, and named preprocessing steps.

``load("wine")`` and ``load("rotated-letters")`` work anywhere; most other sets are read from a folder of plain
data files named by the environment variable ``CONVEXMETRIC_DATA``. Nothing is ever unpickled, and nothing is
downloaded but three UCI tables from OpenML, when the folder does not have them.
"""

from convexmetric.bench.readers.matchings import Matchings, synthetic_matchings
from convexmetric.datasets.dataset import Dataset, sha256
from convexmetric.datasets.preprocessing import preprocess
from convexmetric.datasets.reading import data_folder
from convexmetric.datasets.registry import list_datasets, load
from convexmetric.datasets.rounding import flattened
from convexmetric.datasets.tables import read_csv, read_table
from convexmetric.retrieval.judgements import Qrels, RetrievalRun
from convexmetric.retrieval.reading import BeirFolder, read_beir, read_letor, read_qrels, read_run

__all__ = [
    "BeirFolder",
    "Dataset",
    "Matchings",
    "Qrels",
    "RetrievalRun",
    "data_folder",
    "flattened",
    "list_datasets",
    "load",
    "preprocess",
    "read_beir",
    "read_csv",
    "read_letor",
    "read_qrels",
    "read_run",
    "read_table",
    "sha256",
    "synthetic_matchings",
]
