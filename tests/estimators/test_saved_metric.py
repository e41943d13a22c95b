"""What is left of an estimator without the data: pickles, and files as transformers."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import convexmetric as cm
from convexmetric.audits import write_solution
from convexmetric.cli.fitting import METHODS
from convexmetric.errors import InputError
from convexmetric.estimators import SavedMetric
from convexmetric.retrieval.export import register_onnx, write

iris = cm.datasets.load("iris")
X, Y = iris.X[::3], np.asarray(iris.y)[::3]
TRIALS = np.add.outer(np.arange(40), [0, 1, 5])
QUICK = {"tol": 1e-2}
FITTED = {
    "MLR": lambda: cm.MLR(C=1.0, **QUICK).fit(X, Y),
    "MLR of a kernel": lambda: cm.MLR(C=1.0, kernel="rbf", **QUICK).fit(X, Y),
    "LargeMargin": lambda: cm.LargeMargin(**QUICK).fit(X, Y),
    "OperatorMarginMetric": lambda: cm.OperatorMarginMetric(**QUICK).fit(X, Y),
    "RandomProjectionMetric": lambda: cm.RandomProjectionMetric(**QUICK).fit(X, Y),
    "RelativeComparisonMetric": lambda: cm.RelativeComparisonMetric(n_triplets=100, **QUICK).fit(X, Y),
    "ChoiceMetric": lambda: cm.ChoiceMetric(**QUICK).fit(X, TRIALS),
    "NeighborMetric": lambda: cm.NeighborMetric(prior="lda", scale=1.0, strength=10.0, **QUICK).fit(X, Y),
}


@pytest.fixture(scope="module", params=FITTED)
def fitted(request):
    return FITTED[request.param]()


def test_a_pickle_has_the_map_and_what_proves_its_bounds_but_not_the_rows(fitted):
    pickled = pickle.dumps(fitted)
    assert b"Clock" not in pickled
    other = pickle.loads(pickled)
    np.testing.assert_array_equal(other.transform(X), fitted.transform(X))
    if getattr(fitted, "embedding_", None) is None:
        assert not any(row.tobytes() in pickled for row in X)
        assert any(row.tobytes() in pickle.dumps(fitted.solution_.problem) for row in X)
    with pytest.raises(AttributeError, match=r"problem\(X, y\) states the problem anew"):
        other.solution_  # noqa: B018
    stated, certificate = fitted.solution_.problem, other.certificate_
    again = cm.certify(stated, certificate.M, certificate.dual, slopes=certificate.slopes)
    assert again.gap == pytest.approx(fitted.gap_, abs=1e-3)


def test_an_estimator_of_a_pickle_states_its_problem_anew():
    learned = pickle.loads(pickle.dumps(FITTED["MLR"]()))
    again = cm.certify(learned.problem(X, Y), learned.certificate_.M, learned.certificate_.dual)
    assert again.lower_bound == pytest.approx(learned.certificate_.lower_bound, rel=1e-9)
    with pytest.raises(InputError, match=r"no solution_.*comes from a pickle"):
        cm.write_certificate("proof.npz", learned)


def test_what_an_estimator_saves_is_a_transformer(fitted, tmp_path):
    saved = SavedMetric.load(fitted.get_operator().save(tmp_path / "m.npz"))
    images = np.asarray(fitted.transform(X))
    for other in (saved, clone(saved), pickle.loads(pickle.dumps(saved)), saved.fit(X, Y)):
        np.testing.assert_allclose(other.transform(X), images, rtol=0, atol=1e-12 * np.abs(images).max())
    assert len(saved.get_feature_names_out()) == images.shape[1]
    assert hasattr(saved, "n_features_in_") == (saved.embedding is None)


NAMES = ["a", "b", "c", "d"]


@pytest.mark.parametrize("method", METHODS)
def test_what_fit_saves_is_what_apply_reads_and_knows_its_columns(command, tmp_path, method):
    header = ",".join([*NAMES, "label"])
    np.savetxt(tmp_path / "iris.csv", np.column_stack([X, Y]), "%.17g", ",", header=header, comments="")
    saved, written = tmp_path / "m.npz", tmp_path / "images.npy"
    settings = ["--method", method, "--no-held-out", "--tol", "1e-2", "-q", "--save", saved]
    assert command("fit", tmp_path / "iris.csv", "--label", "label", *settings)[0] == 0
    assert command("apply", saved, tmp_path / "iris.csv", "--save", written)[0] == 0
    metric = SavedMetric.load(saved)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        images = metric.transform(X)
    np.testing.assert_allclose(images, np.load(written), rtol=1e-12)
    with (
        pytest.warns(UserWarning, match="does not have valid feature names"),
        pytest.raises(ValueError, match="X has 3 features, but SavedMetric is expecting 4"),
    ):
        metric.transform(X[:, :3])
    assert list(metric.feature_names_in_) == NAMES


@pytest.mark.parametrize("name", ["MLR", "MLR of a kernel", "NeighborMetric"])
def test_names_of_a_frame_go_with_the_map(tmp_path, name):
    learned = FITTED[name]()
    assert SavedMetric.load(learned.get_operator().save(tmp_path / "m.npz")).feature_names is None
    learned.feature_names_in_ = np.array(NAMES, dtype=object)
    path = learned.get_operator().save(tmp_path / "m.npz")
    assert (
        list(SavedMetric.load(path).feature_names_in_)
        == NAMES
        == cm.evaluation.SimilarityOperator.load(path).feature_names
    )


def test_frames_keep_their_columns(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=NAMES)
    learned = cm.MLR(C=1.0, **QUICK).fit(frame, Y)
    saved = SavedMetric.load(learned.get_operator().save(tmp_path / "m.npz"))
    np.testing.assert_array_equal(saved.transform(frame), learned.transform(frame))
    assert list(saved.set_output(transform="pandas").transform(frame)) == [f"savedmetric{k}" for k in range(4)]
    with pytest.raises(ValueError, match="feature names should match"):
        saved.transform(frame[NAMES[::-1]])


def test_skops_needs_no_trust_but_in_the_class(fitted, tmp_path):
    skops = pytest.importorskip("skops.io")
    saved = SavedMetric.load(fitted.get_operator().save(tmp_path / "m.npz"))
    for model in (fitted, saved):
        written = skops.dumps(model)
        unknown = skops.get_untrusted_types(data=written)
        assert all(name.startswith(("convexmetric.", "sklearn.")) for name in unknown)
        np.testing.assert_array_equal(skops.loads(written, trusted=unknown).transform(X), model.transform(X))
    if saved.embedding is None:
        assert unknown == ["convexmetric.estimators.saved.SavedMetric"]


def test_maps_of_queries_and_metrics_are_read_and_what_is_none_is_refused(tmp_path):
    W = np.arange(6.0).reshape(2, 3)
    np.savez(tmp_path / "queries.npz", side="query", query_map=W)
    np.testing.assert_array_equal(SavedMetric.load(tmp_path / "queries.npz").transform(np.eye(3)), W.T)
    solution = FITTED["MLR"]().solution_
    np.savetxt(tmp_path / "M.csv", solution.M, delimiter=",")
    for path in (write_solution(tmp_path / "s.npz", solution), tmp_path / "M.csv"):
        L = SavedMetric.load(path).components
        np.testing.assert_allclose(L.T @ L, solution.M, atol=1e-12 * np.abs(solution.M).max())
    np.savez(tmp_path / "nothing.npz", a=np.array(["b"]))
    with pytest.raises(InputError, match="real numbers"):
        SavedMetric.load(tmp_path / "nothing.npz")
    # A square factor of a metric would pass for the metric.
    exported = write(np.diag([2.0, 3.0]), tmp_path / "m.map.npz", "numpy")
    with pytest.raises(InputError, match="holds 'weight' alone, as a map that was exported does"):
        SavedMetric.load(exported)


@pytest.mark.parametrize("single", [False, True])
def test_a_pipeline_becomes_onnx(single):
    skl2onnx, runtime = pytest.importorskip("skl2onnx"), pytest.importorskip("onnxruntime")
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

    register_onnx()
    register_onnx(cm.NeighborMetric)
    learned = make_pipeline(StandardScaler(), FITTED["NeighborMetric"]()).fit(X, Y)
    saved = make_pipeline(learned[0], SavedMetric(learned[-1].components_))
    for pipeline in (learned, saved):
        kind = FloatTensorType if single else DoubleTensorType
        model = skl2onnx.convert_sklearn(pipeline, initial_types=[("X", kind([None, 4]))], target_opset=15)
        session = runtime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        (found,) = session.run(None, {"X": X.astype(np.float32 if single else np.float64)})
        images = learned.transform(X)
        np.testing.assert_allclose(found, images, rtol=0, atol=(1e-6 if single else 1e-14) * np.abs(images).max())
