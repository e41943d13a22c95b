import inspect
from importlib.resources import files

import numpy as np
import pytest
import scipy
from retrieval_study import see_also

from convexmetric.datasets import Dataset, list_datasets, load, sha256
from convexmetric.errors import InputError


@pytest.mark.parametrize(
    ("name", "shape", "counts"),
    [
        ("wine", (178, 13), (59, 71, 48)),
        ("breast-cancer", (569, 30), (212, 357)),
        ("digits", (1797, 64), None),
        ("iris", (150, 4), (50, 50, 50)),
    ],
)
def test_bundled_sets_need_no_folder_and_no_network(name, shape, counts, monkeypatch):
    monkeypatch.delenv("CONVEXMETRIC_DATA", raising=False)
    dataset = load(name, download=False)
    assert dataset.name == name
    assert dataset.X.shape == shape
    assert dataset.X.dtype == np.float64
    assert dataset.y.dtype == np.int64
    assert len(dataset.extras["feature_names"]) == shape[1]
    found = tuple(np.bincount(dataset.y))
    assert len(found) == len(dataset.target_names)
    if counts is not None:
        assert found == counts


def test_wine_equals_the_file_of_the_data_folder(data_folder):
    raw = np.loadtxt(data_folder / "wine" / "wine.data", delimiter=",")
    wine = load("wine")
    # Class first in this file, counted from 1.
    np.testing.assert_array_equal(wine.X, raw[:, 1:])
    np.testing.assert_array_equal(wine.y, raw[:, 0] - 1)


def test_breast_cancer_equals_the_file_of_the_data_folder(data_folder):
    rows = [line.split(",") for line in (data_folder / "wdbc" / "wdbc.data").read_text().split()]
    dataset = load("breast-cancer")
    np.testing.assert_array_equal(dataset.X, np.array([row[2:] for row in rows], dtype=float))
    names = {"M": "malignant", "B": "benign"}
    assert [dataset.target_names[code] for code in dataset.y] == [names[row[1]] for row in rows]


DOCSTRING = """
    first(a, b)

    Do one thing.

    More of it.

    Parameters
    ----------
    a : words
        Of the argument.

    See Also
    --------
    second, module.third : Do others.
    fourth

    Notes
    -----
    Said at length.
"""


def test_who_is_named_under_see_also_is_read_from_the_docstring():
    summary, text, others = see_also.sections(inspect.cleandoc(DOCSTRING), "first")
    assert (summary, others) == ("Do one thing.", {"second", "third", "fourth"})
    assert [word in text for word in ("More", "Said", "argument", "fourth", "others")] == [True] * 3 + [False] * 2


def test_judgements_of_the_bundled_collection_are_mutual_names_of_functions():
    data = load("see-also")
    assert (data.X.shape, data.extras["queries"].shape) == ((471, 32), (393, 32))
    for vectors in (data.X, data.extras["queries"]):
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, rtol=1e-3)
    documents, questions = data.extras["documents"], data.extras["questions"]
    assert not set(documents) & set(questions)
    judged = data.extras["qrels"].to_dict()
    assert set(judged) == set(map(str, range(len(questions))))
    named = {questions[int(q)]: {documents[int(d)] for d in row} for q, row in judged.items()}
    assert named["divmod"] == {"mod", "remainder"}


def test_the_bundled_collection_is_made_of_what_is_installed():
    with (files("convexmetric.retrieval") / "see-also.npz").open("rb") as file, np.load(file) as held:
        if held["versions"].tolist() != [np.__version__, scipy.__version__]:
            pytest.skip(f"made of the documentation of NumPy and SciPy {held['versions']}")
        made = see_also.collection()
        for name in ("documents", "questions", "query", "relevant"):
            assert made[name].tolist() == held[name].tolist()
        # Of the directions of the decomposition others may have other signs.
        again, kept = (np.vstack([of["X"], of["queries"]]).astype(float) for of in (made, held))
    np.testing.assert_allclose(again @ again.T, kept @ kept.T, atol=5e-3)


def test_wdbc_is_an_alias():
    assert load("wdbc").name == "breast-cancer"
    assert sha256(load("wdbc")) == sha256(load("breast-cancer"))
    assert "wdbc" not in list_datasets()


def test_list_is_sorted_and_complete():
    names = list_datasets()
    assert names == sorted(set(names))
    assert len(names) == 25


@pytest.mark.parametrize(
    ("name", "hint"), [("wines", "'wine'"), ("Cora", "'cora'"), ("WDBC", "'wdbc'"), ("webkb", "'webkb-")]
)
def test_an_unknown_name_gives_the_closest_and_all_known(name, hint):
    with pytest.raises(InputError, match=f"Did you mean {hint}") as caught:
        load(name)
    for known in list_datasets():
        assert known in str(caught.value)


@pytest.mark.parametrize("name", ["", "../etc/passwd", "qqqqqqqq", 3, None, ["wine"]])
def test_a_name_like_nothing_known_is_refused_too(name):
    with pytest.raises(InputError, match="Known: balance-scale"):
        load(name)


def test_summary_and_repr():
    dataset = load("iris")
    assert dataset.summary == "iris: 150 x 4; 3 classes; extras: feature_names"
    assert repr(dataset) == f"<Dataset {dataset.summary}>"


def test_a_data_set_is_frozen_and_checks_its_shapes():
    with pytest.raises(AttributeError):
        load("iris").name = "other"
    with pytest.raises(InputError, match="3 rows in X but 2 labels"):
        Dataset("toy", np.zeros((3, 2)), np.zeros(2), ("a",), "Toy.")
    with pytest.raises(InputError, match="two dimensions"):
        Dataset("toy", np.zeros(3), None, (), "Toy.")
