"""Features of points: coordinates under a kernel, projections to fewer features, representatives of many items."""

from convexmetric.features.clusters import Representatives, all_items, representatives
from convexmetric.features.embeddings import Embedding, StorableEmbedding, embedding_from_arrays
from convexmetric.features.kernels import KERNELS, Kernel, KernelSpan, KernelValues, kernel_matrix, unit_rbf
from convexmetric.features.projections import KINDS, Projection, make_projection

__all__ = [
    "KERNELS",
    "KINDS",
    "Embedding",
    "Kernel",
    "KernelSpan",
    "KernelValues",
    "Projection",
    "Representatives",
    "StorableEmbedding",
    "all_items",
    "embedding_from_arrays",
    "kernel_matrix",
    "make_projection",
    "representatives",
    "unit_rbf",
]
