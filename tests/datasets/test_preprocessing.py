import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import coo_array, csr_array, issparse

from convexmetric.datasets import preprocess
from convexmetric.errors import InputError

# Multiples of 1/8 up to 1000: sums of them are exact, so that identities hold to the last few bits.
NUMBERS = st.integers(-8000, 8000).map(lambda eighths: eighths / 8)
MATRICES = st.tuples(st.integers(1, 8), st.integers(1, 6)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=NUMBERS)
)
ANY_NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
ANY_MATRICES = st.tuples(st.integers(1, 5), st.integers(1, 4)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=ANY_NUMBERS)
)


def is_constant(X):
    return (X[0] == X).all(axis=0)


@given(MATRICES)
def test_zscore_has_mean_zero_and_deviation_one(X):
    Z = preprocess(X, ["zscore"])
    constant = is_constant(X)
    assert not Z[:, constant].any()
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(Z[:, ~constant].std(axis=0), 1, rtol=1e-9)


@given(MATRICES)
def test_centred_columns_keep_their_proportions(X):
    Z = preprocess(X, ["centre"])
    assert not Z[:, is_constant(X)].any()
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-9)
    if not is_constant(X).all():
        assert np.mean(Z**2) == pytest.approx(1.0)
        deviation = X.std(axis=0)
        np.testing.assert_allclose(Z.std(axis=0), deviation / np.sqrt(np.mean(deviation**2)), atol=1e-9)


@given(MATRICES, st.integers(1, 5), NUMBERS)
def test_zscore_and_minmax_forget_units(X, factor, shift):
    for step in ("zscore", "minmax", "centre"):
        np.testing.assert_allclose(preprocess(X * factor + shift, [step]), preprocess(X, [step]), atol=1e-9)


@given(MATRICES)
def test_zscore_and_minmax_are_projections(X):
    for step in ("zscore", "centre", "minmax", "binarize", "drop-constant"):
        once = preprocess(X, [step])
        np.testing.assert_allclose(preprocess(once, [step]), once, atol=1e-9)


@given(MATRICES)
def test_minmax_fills_the_unit_interval(X):
    Z = preprocess(X, ["minmax"])
    constant = is_constant(X)
    assert not Z[:, constant].any()
    assert np.all(Z[:, ~constant].min(axis=0) == 0)
    assert np.all(Z[:, ~constant].max(axis=0) == 1)


@given(MATRICES)
def test_drop_constant_keeps_the_others_in_order(X):
    np.testing.assert_array_equal(preprocess(X, ["drop-constant"]), X[:, ~is_constant(X)])


@given(MATRICES)
def test_sparse_and_dense_agree(X):
    sparse = csr_array(X)
    for steps in (["binarize"], ["drop-constant"], ["divide:16"], ["none"], [], ["binarize", "drop-constant", "log1p"]):
        Z = preprocess(sparse, steps)
        assert issparse(Z)
        np.testing.assert_array_equal(Z.toarray(), preprocess(X, steps))
    np.testing.assert_array_equal(sparse.toarray(), X)
    np.testing.assert_array_equal(preprocess(csr_array(abs(X)), ["log1p"]).toarray(), np.log1p(abs(X)))


@given(MATRICES)
def test_the_argument_is_not_changed(X):
    before = X.copy()
    for step in ("zscore", "minmax", "binarize", "pca:1", "divide:16", "drop-constant"):
        preprocess(X, [step, "minmax"])
        np.testing.assert_array_equal(X, before)


@given(MATRICES)
def test_pca_keeps_distances_and_orders_variances(X):
    k = min(X.shape)
    Z = preprocess(X, [f"pca:{k}"])
    assert Z.shape == (X.shape[0], k)
    centred = X - X.mean(axis=0)
    scale = 1 + np.abs(centred).max()
    np.testing.assert_allclose(Z @ Z.T, centred @ centred.T, atol=1e-9 * scale**2)
    gram = Z.T @ Z
    np.testing.assert_allclose(gram, np.diag(np.diag(gram)), atol=1e-9 * scale**2)
    assert np.all(np.diff(np.diag(gram)) <= 1e-9 * scale**2)


def test_pca_signs_and_axes_are_those_of_the_docstring():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(50, 4)) @ np.diag([5.0, 3.0, 2.0, 1.0]) @ rng.normal(size=(4, 4))
    centred = X - X.mean(axis=0)
    _, vectors = np.linalg.eigh(centred.T @ centred)
    V = vectors[:, ::-1][:, :3]
    V = V * np.sign(V[np.abs(V).argmax(axis=0), range(3)])
    np.testing.assert_allclose(preprocess(X, ["pca:3"]), centred @ V, atol=1e-9)
    # Neither the order of the rows nor a shift changes an axis.
    order = rng.permutation(50)
    np.testing.assert_allclose(preprocess(X[order] + 7, ["pca:3"]), (centred @ V)[order], atol=1e-9)


def test_pca_sign_of_a_tie_is_that_of_the_first_entry():
    X = np.array([[1.0, -1.0], [-1.0, 1.0], [0.1, 0.1], [-0.1, -0.1]])
    expected = np.array([[2, 0], [-2, 0], [0, 0.2], [0, -0.2]]) / np.sqrt(2)
    np.testing.assert_allclose(preprocess(X, ["pca:2"]), expected, atol=1e-12)


@given(
    ANY_MATRICES,
    st.sampled_from(["zscore", "centre", "minmax", "binarize", "log1p", "pca:1", "divide:3", "unit", "drop-constant"]),
)
def test_the_result_is_finite_or_an_input_error(X, step):
    try:
        Z = preprocess(X, [step])
    except InputError:
        return
    assert np.all(np.isfinite(Z))
    assert Z.shape[0] == X.shape[0]


def test_a_constant_column_whose_mean_is_inexact_becomes_exactly_zero():
    X = np.full((3, 1), 0.1)
    assert X.std() > 0
    assert not preprocess(X, ["zscore"]).any()
    assert not preprocess(np.full((7, 1), 1e300 / 3), ["zscore"]).any()


def test_steps_are_applied_in_order():
    X = np.array([[0.0, 1.0], [3.0, 1.0], [8.0, 1.0]])
    np.testing.assert_array_equal(
        preprocess(X, ["drop-constant", "log1p", "minmax"]), np.log1p([[0.0], [3.0], [8.0]]) / np.log(9)
    )
    assert preprocess(X, ("drop-constant", "zscore")).shape == (3, 1)
    np.testing.assert_array_equal(preprocess(X.astype(int).tolist(), ["none"]), X)


def test_other_sparse_formats_are_taken_and_left_alone():
    X = coo_array((np.array([1.0, 1.0, -3.0]), ([0, 0, 1], [1, 1, 0])), shape=(2, 3))
    Z = preprocess(X, ["binarize"])
    assert Z.format == "csr"
    assert Z.nnz == 1
    assert X.nnz == 3
    assert preprocess(Z, ["drop-constant", "drop-constant"]).shape == (2, 1)
    assert preprocess(csr_array((2, 3)), ["drop-constant", "drop-constant"]).shape == (2, 0)


@pytest.mark.parametrize(
    ("step", "hint"),
    [
        ("z-score", "'zscore'"),
        ("PCA:3", "'pca:K'"),
        ("pca", "'pca:K'"),
        ("pca:0", "'pca:K'"),
        ("Binarize", "'binarize'"),
        ("divide:0", "'divide:N'"),
    ],
)
def test_an_unknown_step_is_named_with_the_closest(step, hint):
    with pytest.raises(InputError, match=f"{step}.*Did you mean {hint}.*Known: zscore"):
        preprocess(np.eye(3), ["none", step])


@pytest.mark.parametrize("step", [3, None, "", "pca:-1", "pca:1.5", "divide:1e9", "divide:-2"])
def test_what_is_no_step_is_refused(step):
    with pytest.raises(InputError, match="Unknown preprocessing step"):
        preprocess(np.eye(3), [step])


@pytest.mark.parametrize("steps", ["zscore", None, 3, {"zscore": 1}])
def test_steps_must_be_a_list(steps):
    with pytest.raises(InputError, match="steps must be a list"):
        preprocess(np.eye(3), steps)


@pytest.mark.parametrize("step", ["zscore", "minmax", "pca:2"])
def test_dense_steps_refuse_sparse_matrices(step):
    with pytest.raises(InputError, match=f"'{step}' needs a dense matrix.*toarray"):
        preprocess(csr_array(np.eye(3)), [step])


@pytest.mark.parametrize(
    ("X", "match"),
    [
        ([1.0, 2.0], "its shape is"),
        (np.zeros((0, 2)), "at least one row"),
        ([["a", "b"]], "numbers"),
        ([[1.0], [1.0, 2.0]], "numbers"),
        ([[np.nan, 1.0]], "finite"),
        (csr_array([[np.inf, 1.0]]), "finite"),
    ],
)
def test_x_must_be_a_finite_matrix(X, match):
    with pytest.raises(InputError, match=match):
        preprocess(X, ["none"])


def test_divide_divides():
    np.testing.assert_array_equal(preprocess([[16.0, 4.0]], ["divide:16"]), [[1.0, 0.25]])


@given(MATRICES)
def test_unit_rows_have_length_one_and_the_same_direction(X):
    X = np.column_stack([X, np.ones(len(X))])
    before = X.copy()
    Z = preprocess(X, ["unit"])
    lengths = np.sqrt((X**2).sum(axis=1))
    np.testing.assert_allclose(Z * lengths[:, None], X, rtol=1e-14, atol=0)
    np.testing.assert_array_equal(X, before)
    sparse = csr_array(X)
    np.testing.assert_allclose(preprocess(sparse, ["unit"]).toarray(), Z, rtol=1e-15)
    np.testing.assert_array_equal(sparse.toarray(), X)


@pytest.mark.parametrize("size", [1e-300, 5e-324, 1e300])
def test_unit_takes_rows_of_any_size(size):
    Z = preprocess([[size, size]], ["unit"])
    np.testing.assert_allclose(Z, np.full((1, 2), 0.5**0.5), rtol=1e-15)


@pytest.mark.parametrize("kind", [np.array, csr_array])
def test_unit_refuses_rows_of_zeros(kind):
    with pytest.raises(InputError, match="row 1 of X is; leave"):
        preprocess(kind([[1.0, 2.0], [0.0, 0.0]]), ["unit"])
    with pytest.raises(InputError, match=r"row 0 of X \(and 1 more\) is;"):
        preprocess(kind([[0.0], [3.0], [0.0]]), ["unit"])


def test_unit_refuses_rows_without_entries():
    with pytest.raises(InputError, match=r"row 0 of X \(and 2 more\) is;"):
        preprocess(np.zeros((3, 0)), ["unit"])


def test_log1p_and_pca_say_what_they_need():
    with pytest.raises(InputError, match="above -1"):
        preprocess([[0.0, -1.0]], ["log1p"])
    with pytest.raises(InputError, match="above -1"):
        preprocess(csr_array([[0.0, -2.0]]), ["log1p"])
    with pytest.raises(InputError, match=r"'pca:4' asks for more axes than a matrix of 3 x 5 has \(3\)"):
        preprocess(np.ones((3, 5)), ["pca:4"])
    with pytest.raises(InputError, match="'zscore' overflowed"):
        preprocess([[1e308], [-1e308]], ["zscore"])
