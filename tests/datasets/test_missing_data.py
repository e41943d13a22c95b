import urllib.error
from types import SimpleNamespace

import numpy as np
import pytest
import sklearn.datasets

from convexmetric.datasets import data_folder as named_folder
from convexmetric.datasets import load, sha256
from convexmetric.errors import DataNotFoundError

UCI = ["balance-scale", "ionosphere", "isolet"]
ONLY_FOLDER = [
    "webkb-linqs",
    "webkb-cmu",
    "wikipedia-crossmodal",
    "cora",
    "wikipedia-chameleon",
    "orl-faces",
    "coil20",
    "mnist-test",
    "binary-alphadigits",
    "corel5k",
    "cranfield",
]


@pytest.fixture(autouse=True)
def _no_network(monkeypatch):
    def refuse(*args, **kwargs):
        raise urllib.error.URLError("no network here")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", refuse)


def serve(monkeypatch, data, target):
    """Let OpenML answer with these arrays; return the arguments it is asked with."""
    asked = {}

    def answer(**kwargs):
        asked.update(kwargs)
        return SimpleNamespace(data=data, target=target)

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", answer)
    return asked


def grid():
    X = np.indices((5, 5, 5, 5)).reshape(4, -1).T + 1.0
    torque = np.sign(X[:, 0] * X[:, 1] - X[:, 2] * X[:, 3]).astype(int)
    return X, np.array(["BLR"[t] for t in torque], dtype=object)


def test_the_variable_names_the_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("CONVEXMETRIC_DATA", str(tmp_path))
    assert named_folder() == tmp_path
    monkeypatch.setenv("CONVEXMETRIC_DATA", "  ")
    assert named_folder() is None
    monkeypatch.delenv("CONVEXMETRIC_DATA")
    assert named_folder() is None


@pytest.mark.parametrize("name", ONLY_FOLDER + UCI)
@pytest.mark.parametrize("place", ["unset", "empty", "absent"])
def test_the_message_says_what_was_looked_for_and_what_to_do(name, place, monkeypatch, tmp_path):
    monkeypatch.delenv("CONVEXMETRIC_DATA", raising=False)
    if place != "unset":
        folder = tmp_path if place == "empty" else tmp_path / "absent"
        monkeypatch.setenv("CONVEXMETRIC_DATA", str(folder))
    with pytest.raises(DataNotFoundError) as caught:
        load(name)
    message = str(caught.value)
    assert repr(name) in message
    assert f"{name}/" in message
    assert "Set CONVEXMETRIC_DATA to the folder that holds <subfolder>/<file>" in message
    assert "breast-cancer, digits, iris, rotated-digits," in message
    assert "see-also, wine always work" in message
    assert {"unset": "is not set", "empty": str(tmp_path), "absent": "not a folder"}[place] in message
    assert ("no network here" in message) == (name in UCI)


def test_the_error_is_a_file_not_found_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        load("cora", data_folder=tmp_path)


def test_the_argument_goes_before_the_variable(monkeypatch, data_folder, tmp_path):
    monkeypatch.setenv("CONVEXMETRIC_DATA", str(tmp_path))
    assert load("ionosphere", data_folder=str(data_folder)).X.shape == (351, 34)
    with pytest.raises(DataNotFoundError, match=r"no file ionosphere/ionosphere\.data"):
        load("ionosphere")


@pytest.mark.parametrize("name", UCI)
def test_no_download_without_leave(name, monkeypatch, tmp_path):
    asked = serve(monkeypatch, None, None)
    with pytest.raises(DataNotFoundError, match="download=False"):
        load(name, data_folder=tmp_path, download=False)
    assert asked == {}


def test_the_folder_is_preferred_to_the_network(monkeypatch, data_folder):
    asked = serve(monkeypatch, None, None)
    load("balance-scale", data_folder=data_folder)
    assert asked == {}


def test_balance_scale_from_openml_in_any_order(monkeypatch, tmp_path):
    X, labels = grid()
    order = np.random.default_rng(0).permutation(625)
    asked = serve(monkeypatch, X[order], labels[order])
    dataset = load("balance-scale", data_folder=tmp_path)
    assert (asked["name"], asked["version"], asked["as_frame"]) == ("balance-scale", 1, False)
    np.testing.assert_array_equal(dataset.X, X)
    assert [dataset.target_names[code] for code in dataset.y] == list(labels)
    assert "OpenML" in dataset.description


def test_balance_scale_from_openml_equals_the_folder(monkeypatch, data_folder, tmp_path):
    serve(monkeypatch, *grid())
    there, here = load("balance-scale", data_folder=tmp_path), load("balance-scale", data_folder=data_folder)
    assert sha256(there) == sha256(here)


@pytest.mark.parametrize("quote", ["", "'"])
def test_ionosphere_and_isolet_from_openml_equal_the_folder(quote, monkeypatch, data_folder, tmp_path):
    here = load("ionosphere", data_folder=data_folder)
    labels = np.array([f"{quote}{here.target_names[code]}{quote}" for code in here.y], dtype=object)
    serve(monkeypatch, here.X, labels)
    assert sha256(load("ionosphere", data_folder=tmp_path)) == sha256(here)

    here = load("isolet", data_folder=data_folder)
    serve(monkeypatch, here.X, np.array([f"{quote}{code + 1}{quote}" for code in here.y], dtype=object))
    there = load("isolet", data_folder=tmp_path)
    assert sha256(there) == sha256(here)
    # OpenML does not say which rows are the usual test set.
    assert "part" not in there.extras


@pytest.mark.parametrize("fault", ["columns", "labels", "rows", "counts", "missing"])
def test_a_wrong_answer_from_openml_is_refused(fault, monkeypatch, tmp_path):
    X, labels = grid()
    if fault == "columns":
        X = X[:, :3]
    elif fault == "labels":
        labels = np.array(["left"] * 625)
    elif fault == "rows":
        X[0] = X[1]
    elif fault == "counts":
        labels = np.array(["L"] * 625)
    else:
        X[0, 0] = np.nan
    serve(monkeypatch, X, labels)
    with pytest.raises(DataNotFoundError, match="download from OpenML failed"):
        load("balance-scale", data_folder=tmp_path)
