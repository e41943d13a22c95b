"""Gram matrices of sparse rows, accumulated straight into a dense matrix.

A general sparse product builds a sparse result and converts it; here the result is dense anyway, so every pair of
entries in one column is added where it belongs. Work: the sum over columns of their squared counts, halved.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from convexmetric.arrays import Array
from convexmetric.numerics.compiling import compiled
from convexmetric.numerics.threads import over_rows


def sparse_gram(P: sp.csr_array) -> Array:
    """The lower triangle of ``P P^T`` as a dense matrix; zeros above the diagonal."""
    columns = sp.csc_array(P)
    columns.sort_indices()
    gram = np.zeros((P.shape[0], P.shape[0]))
    work = int((np.diff(columns.indptr).astype(np.int64) ** 2).sum())
    arguments = P.indptr, P.indices, P.data, columns.indptr, columns.indices, columns.data, gram
    over_rows(_accumulate, P.shape[0], work, *arguments)
    return gram


@compiled
def _accumulate(begin, end, indptr, indices, data, column_start, rows, values, gram):
    for i in range(begin, end):
        for entry in range(indptr[i], indptr[i + 1]):
            f = indices[entry]
            value = data[entry]
            for other in range(column_start[f], column_start[f + 1]):
                t = rows[other]
                if t > i:
                    break
                gram[i, t] += value * values[other]
