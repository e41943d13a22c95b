import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix

from convexmetric.datasets import Dataset, load, sha256
from convexmetric.errors import InputError


def toy(X, y=None, **changes):
    fields = {"name": "toy", "target_names": (), "description": "Toy.", **changes}
    return Dataset(X=X, y=y, **fields)


X = np.arange(12.0).reshape(4, 3)
Y = np.array([0, 1, 1, 0], dtype=np.int64)


def test_the_hash_never_changes():
    # Instances are pinned to data by these digests: changing how they are made breaks them all.
    assert sha256(toy(X, Y)) == PINNED["dense"]
    assert sha256(toy(csr_array(X), Y)) == PINNED["sparse"]
    assert sha256(load("wine")) == PINNED["wine"]


def test_neither_memory_layout_nor_byte_order_shows():
    expected = sha256(toy(X, Y))
    assert sha256(toy(np.asfortranarray(X), Y)) == expected
    assert sha256(toy(X.astype(">f8"), Y.astype(">i8"))) == expected
    assert sha256(toy(np.repeat(X, 2, axis=0)[::2], Y)) == expected
    assert sha256(toy(X, Y, name="other", description="Other.", extras={"a": X})) == expected


def test_every_number_shows():
    digests = {sha256(toy(X, Y)), sha256(toy(X)), sha256(toy(X, Y[::-1] * 2)), sha256(toy(X[:, ::-1], Y))}
    nudged = X.copy()
    nudged[3, 2] = np.nextafter(nudged[3, 2], np.inf)
    digests |= {
        sha256(toy(nudged, Y)),
        sha256(toy(X.astype(np.float32), Y)),
        sha256(toy(X, Y.astype(np.int32))),
    }
    digests |= {sha256(toy(csr_array(X), Y)), sha256(toy(csr_array(nudged), Y))}
    digests |= {sha256(toy(np.zeros(shape))) for shape in ((2, 6), (6, 2), (3, 4), (0, 3), (0, 4))}
    digests |= {sha256(toy(csr_array((2, columns)))) for columns in (3, 4)}
    assert len(digests) == 7 + 2 + 5 + 2


def test_equal_sparse_matrices_have_one_hash():
    sparse = csr_array(X)
    expected = sha256(toy(sparse))
    # The same matrix with its indices backwards, one entry split in two and one zero stored.
    data, indices, indptr = [], [], [0]
    for row in X:
        for column in (2, 1, 0):
            data += [row[column] / 2, row[column] / 2]
            indices += [column, column]
        indptr.append(len(data))
    untidy = csr_array((np.array(data), np.array(indices), np.array(indptr)), shape=X.shape)
    before = untidy.indices.copy()
    assert sha256(toy(untidy)) == expected
    np.testing.assert_array_equal(untidy.indices, before)
    assert untidy.nnz == 24
    assert sha256(toy(csr_matrix(X))) == expected
    wide = csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    assert sha256(toy(wide)) == expected


def test_strings_hash_and_objects_do_not():
    names = np.array(["a", "b", "c", "d"])
    assert sha256(toy(X, names)) == sha256(toy(X, names.astype(names.dtype.newbyteorder(">"))))
    with pytest.raises(InputError, match="Python objects"):
        sha256(toy(X, names.astype(object)))


PINNED = {
    "dense": "1637884f8ff4abfca8674ec86cb4f02fe84d41baaf736558e49f17ec555a626b",
    "sparse": "ccb35c6ca795407060fa8517dff8a33676e6bc8a190210057360697c897efbd6",
    "wine": "58bf6974ab281c6b5d2fefad609e3d51792825a7aaeaae3c9505d1febd04b87a",
}
