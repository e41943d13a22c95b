"""Operators: distances, verdicts, spectra, files."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import cdist

import convexmetric as cm
from convexmetric.errors import InputError
from convexmetric.features import Embedding, StorableEmbedding, embedding_from_arrays

rng = np.random.default_rng(0)
X, X2 = rng.standard_normal((20, 6)), rng.standard_normal((7, 6))
T = cm.evaluation.SimilarityOperator(0.4 * rng.standard_normal((3, 6)))


class Squares:
    """An embedding that nobody can store."""

    def transform(self, X):
        return np.asarray(X) ** 2


def test_distances_are_those_of_the_images():
    images, others = X @ T.components.T, X2 @ T.components.T
    np.testing.assert_allclose(T.transform(X), images)
    np.testing.assert_allclose(T.squared_distances(X, X2), cdist(images, others, "sqeuclidean"), atol=1e-12)
    np.testing.assert_allclose(T.distances(X), cdist(images, images), atol=1e-7)
    np.testing.assert_allclose(T.transform(sp.csr_array(X)), images)
    # Far from the origin nothing is lost to it.
    np.testing.assert_allclose(T.squared_distances(X + 1e6, X2 + 1e6), T.squared_distances(X, X2), rtol=1e-6, atol=1e-8)


def test_verdicts_on_either_side_of_one_and_at_one():
    unit = cm.evaluation.SimilarityOperator([[2.0]])
    points = np.array([[0.0], [0.25], [0.5], [0.75]])
    np.testing.assert_array_equal(unit.verdicts(points[:1], points), [[1, 1, 0, -1]])
    assert unit.verdicts(points[:1], points).dtype == np.int8
    np.testing.assert_array_equal(np.sign(1.0 - T.distances(X, X2)), T.verdicts(X, X2))
    assert (cm.evaluation.SimilarityOperator(np.zeros((0, 6))).verdicts(X) == 1).all()


@given(arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 5)), elements=st.floats(-1e3, 1e3)))
def test_the_spectrum_is_that_of_the_metric(components):
    operator = cm.evaluation.SimilarityOperator(components)
    metric = components.T @ components
    eigenvalues = np.linalg.eigvalsh(metric)[::-1][: operator.singular_values.size]
    scale = max(1.0, np.abs(metric).max())
    np.testing.assert_allclose(operator.singular_values, eigenvalues, atol=1e-9 * scale)
    assert operator.norm == pytest.approx(np.linalg.norm(metric), abs=1e-9 * scale)
    assert operator.spectral_norm == pytest.approx(np.linalg.norm(components, 2), abs=1e-6 * scale)


def test_the_essential_rank_counts_shares_of_the_largest():
    operator = cm.evaluation.SimilarityOperator(np.diag(np.sqrt([1.0, 0.5, 0.021, 0.019, 1e-6])))
    assert operator.essential_rank() == 3
    assert operator.essential_rank(0.02**2) == 4
    assert operator.essential_rank(0.0) == 5
    assert cm.evaluation.SimilarityOperator(np.zeros((2, 3))).essential_rank() == 0
    with pytest.raises(InputError, match="share must be a number from 0 to below 1"):
        operator.essential_rank(2)


def test_an_operator_of_a_solution():
    y = np.repeat([0, 1], 10)
    solution = cm.solve(cm.TripletProblem.from_labels(X, y, n_same=2, n_other=3, reg=0.1))
    operator = cm.evaluation.SimilarityOperator.of(solution)
    assert operator.embedding is None
    np.testing.assert_allclose(operator.components.T @ operator.components, solution.M, atol=1e-9)
    solution.problem.embedding = projection = cm.features.make_projection("orthonormal", X, 6, random_state=0)
    embedded = cm.evaluation.SimilarityOperator.of(solution)
    np.testing.assert_allclose(embedded.transform(X), projection.transform(X) @ solution.components.T)


@pytest.mark.parametrize("kind", [None, "gaussian", "sparse"])
def test_files_bring_back_every_bit(tmp_path, kind):
    embedding = None if kind is None else cm.features.make_projection(kind, X, 4, random_state=1)
    components = T.components if embedding is None else rng.standard_normal((2, 4))
    operator = cm.evaluation.SimilarityOperator(components, embedding)
    path = operator.save(tmp_path / "T.npz")
    loaded = cm.evaluation.SimilarityOperator.load(path)
    np.testing.assert_array_equal(loaded.components, operator.components)
    np.testing.assert_array_equal(loaded.transform(X), operator.transform(X))
    assert (loaded.embedding is None) == (kind is None)
    assert [file.name for file in tmp_path.iterdir()] == ["T.npz"]


def test_only_registered_embeddings_come_from_files(tmp_path):
    assert isinstance(Squares(), Embedding)
    assert not isinstance(Squares(), StorableEmbedding)
    operator = cm.evaluation.SimilarityOperator(T.components, Squares())
    np.testing.assert_allclose(operator.transform(X), (X**2) @ T.components.T)
    with pytest.raises(InputError, match=r"the embedding Squares cannot be stored: it has no arrays\(\)"):
        operator.save(tmp_path / "T.npz")
    np.savez(tmp_path / "T.npz", components=T.components, embedding="os.system")
    with pytest.raises(InputError, match=r"there is no embedding 'os\.system'; known: .*projection"):
        cm.evaluation.SimilarityOperator.load(tmp_path / "T.npz")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"M": np.eye(2)}, "holds no operator: it has M"),
        ({"components": np.array([["a"]])}, "components must be a rectangular array of real numbers"),
        ({"components": np.array([[np.nan]])}, "components contains NaN"),
        ({"components": np.ones(3)}, r"components must have shape \(rank, coordinates\), got \(3,\)"),
        ({"components": np.array([[object()]], dtype=object)}, "pickled Python objects, which are never loaded"),
        ({"components": np.eye(2), "embedding": "projection"}, "needs the array 'indptr', which is missing"),
        (
            {"components": np.eye(2), "embedding": "projection", "embedding.L": np.full((2, 2), np.inf)},
            "L contains NaN or infinite entries",
        ),
    ],
)
def test_files_that_are_no_operators(tmp_path, content, message):
    np.savez(tmp_path / "T.npz", **content)
    with pytest.raises(InputError, match=message):
        cm.evaluation.SimilarityOperator.load(tmp_path / "T.npz")


def test_files_that_are_no_files(tmp_path):
    with pytest.raises(InputError, match="there is no such file"):
        cm.evaluation.SimilarityOperator.load(tmp_path / "T.npz")
    (tmp_path / "T.npz").write_bytes(b"PK\x03\x04")
    with pytest.raises(InputError, match=r"damaged or no \.npz file"):
        cm.evaluation.SimilarityOperator.load(tmp_path / "T.npz")
    with pytest.raises(InputError, match=r"an operator is saved as \.npz, not as '\.pkl'"):
        T.save(tmp_path / "T.pkl")
    with pytest.raises(InputError, match="there is no folder"):
        T.save(tmp_path / "nowhere" / "T.npz")


@pytest.mark.parametrize(
    "broken", [{"indices": [0, 9]}, {"indptr": [0, 5]}, {"data": ["a", "b"]}, {"features": [1, 2]}]
)
def test_sparse_projections_are_checked(broken):
    sound = {"kind": "sparse", "features": 3, "data": [1.0, 2.0], "indices": [0, 2], "indptr": [0, 2]}
    as_arrays = {name: np.array(value) for name, value in sound.items()}
    np.testing.assert_array_equal(embedding_from_arrays("projection", as_arrays).L.toarray(), [[1.0, 0.0, 2.0]])
    with pytest.raises(InputError):
        embedding_from_arrays("projection", as_arrays | {name: np.array(value) for name, value in broken.items()})


def test_shapes_are_checked():
    with pytest.raises(InputError, match="X has 5 features, but the operator takes 6"):
        T.transform(X[:, :5])
    with pytest.raises(InputError, match="the embedding has 6 features, but the operator takes 2"):
        cm.evaluation.SimilarityOperator(np.eye(2), Squares()).transform(X)
    with pytest.raises(InputError, match=r"embedding must have a method transform\(X\), got str"):
        cm.evaluation.SimilarityOperator(np.eye(2), "rbf")
    assert repr(T).startswith("SimilarityOperator(3 x 6 features")
