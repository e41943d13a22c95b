"""Judged queries in, a certified linear adapter out: judgements, runs, adapters and their exports."""

from typing import TYPE_CHECKING

from convexmetric.imports import late
from convexmetric.retrieval import export
from convexmetric.retrieval.judgements import Qrels, RetrievalRun
from convexmetric.retrieval.reading import read_qrels, read_run
from convexmetric.retrieval.runs import rank_corpus, score_run

if TYPE_CHECKING:
    from convexmetric.retrieval.adapter import RetrievalAdapter

__all__ = [
    "Qrels",
    "RetrievalAdapter",
    "RetrievalRun",
    "export",
    "rank_corpus",
    "read_qrels",
    "read_run",
    "score_run",
]

# Imported on demand, as scikit-learn takes longer to import than all else.
if not TYPE_CHECKING:
    __getattr__ = late(__name__, {"RetrievalAdapter": "adapter"})
