"""What is left of an estimator without the data: pickles, and files as transformers."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import convexmetric as cm
from convexmetric.audits import write_solution
from convexmetric.errors import InputError
from convexmetric.estimators import SavedMetric
from convexmetric.retrieval.export import register_onnx

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


def test_what_fit_saves_knows_its_columns(command, tmp_path):
    pd = pytest.importorskip("pandas")
    names = ["a", "b", "c", "d"]
    frame = pd.DataFrame(X, columns=names)
    frame.assign(label=Y).to_csv(tmp_path / "iris.csv", index=False)
    settings = ["--label", "label", "--method", "mlr", "--set", "C=1", "--no-held-out", "--tol", "1e-2", "-q"]
    assert command("fit", str(tmp_path / "iris.csv"), *settings, "--save", str(tmp_path / "m.npz"))[0] == 0
    saved = SavedMetric.load(tmp_path / "m.npz")
    scaled = make_pipeline(StandardScaler(), cm.MLR(C=1.0, tol=1e-2)).fit(X, Y).transform(X)
    distances = [((Z[:, None] - Z) ** 2).sum(axis=2) for Z in (saved.transform(frame), scaled)]
    np.testing.assert_allclose(*distances, atol=1e-9 * distances[1].max())
    assert list(saved.feature_names_in_) == names
    assert list(saved.set_output(transform="pandas").transform(frame)) == [f"savedmetric{k}" for k in range(4)]
    with pytest.raises(ValueError, match="feature names should match"):
        saved.transform(frame[names[::-1]])
    with pytest.raises(ValueError, match="X has 3 features, but SavedMetric is expecting 4"):
        saved.transform(X[:, :3])


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
