"""Nodes with features that are linked, by a graph or by a common label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import convexmetric as cm

from . import phenotypes

__all__ = ["GRAPHS", "LABELLED", "Graph", "Labelled", "Nodes", "load"]

GRAPHS = {"cora": "cora", "chameleon": "wikipedia-chameleon"}
LABELLED = {"webkb": "webkb-linqs", "phenotype-like": None}


@dataclass(frozen=True)
class Graph:
    """Nodes with listed links.

    Attributes
    ----------
    X : (n, d) sparse matrix
    adjacency : (n, n) sparse matrix
    """

    X: Any
    adjacency: Any

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def part(self, rows: np.ndarray) -> Graph:
        """Some nodes, with the links between them."""
        return Graph(self.X[rows], self.adjacency[rows][:, rows])

    def problem(self, variant: cm.papers.Variant, r: int, seed: int) -> cm.TripletProblem:
        """Triplets (i, j, k) with a link from i to j and none from i to k."""
        make = cm.TripletProblem.from_graph
        return variant.problem(make, self.X, self.adjacency, r=r, random_state=seed)

    def linked(self) -> np.ndarray:
        """Links in both directions."""
        graph = self.adjacency.toarray() > 0
        return np.asarray(graph | graph.T)


@dataclass(frozen=True)
class Labelled:
    """Nodes that are linked where their labels are the same.

    Attributes
    ----------
    X : (n, d) sparse matrix
    y : (n,) array
    """

    X: Any
    y: np.ndarray

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def part(self, rows: np.ndarray) -> Labelled:
        """Some nodes."""
        return Labelled(self.X[rows], self.y[rows])

    def problem(self, variant: cm.papers.Variant, r: int, seed: int) -> cm.TripletProblem:
        """Triplets of all connected and disconnected pairs; nodes without a connected one are left out."""
        _, codes, counts = np.unique(self.y, return_inverse=True, return_counts=True)
        kept = np.flatnonzero(counts[codes] > 1)
        make, all_of_them = cm.TripletProblem.from_labels, {"n_same": None, "n_other": None}
        return variant.problem(make, self.X[kept], self.y[kept], r=r, random_state=seed, **all_of_them)

    def linked(self) -> np.ndarray:
        """Same labels."""
        return np.asarray(self.y[:, None] == self.y[None, :])


Nodes = Graph | Labelled
"""What a variant learns from and is judged on."""


def load(name: str) -> Nodes:
    """A set by the name used here."""
    if name == "phenotype-like":
        return Labelled(*phenotypes.descriptions())
    data = cm.datasets.load(GRAPHS.get(name) or LABELLED[name])
    return Graph(data.X, data.extras["adjacency"]) if name in GRAPHS else Labelled(data.X, data.y)
