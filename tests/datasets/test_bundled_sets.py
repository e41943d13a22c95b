import re

import numpy as np
import pytest
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

from convexmetric.datasets import Dataset, list_datasets, load, sha256
from convexmetric.errors import InputError
from convexmetric.retrieval import read_qrels


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


def test_a_part_of_cranfield_is_made_of_the_files_of_the_data_folder(data_folder):
    part, folder = load("cranfield-100"), data_folder / "cranfield"
    judged = read_qrels(folder / "cranqrel").subset([str(number) for number in range(1, 101)])
    numbers = sorted({int(name) for name in judged.documents})
    assert part.extras["documents"].tolist() == numbers
    relevant = {
        (str(part.extras["questions"][int(query)]), str(numbers[int(document)]))
        for query, row in part.extras["qrels"].to_dict().items()
        for document in row
    }
    assert relevant == {(query, document) for query, row in judged.to_dict().items() for document in row}
    words = TfidfVectorizer(sublinear_tf=True, stop_words="english")
    counts = words.fit_transform(smart(folder / "cran.all.1400"))
    lsa = TruncatedSVD(32, random_state=0).fit(counts)
    abstracts = lsa.transform(counts[np.array(numbers) - 1])
    questions = lsa.transform(words.transform(smart(folder / "cran.qry")[:100]))
    # Of the directions of the decomposition others may have other signs.
    made, held = np.vstack([abstracts, questions]), np.vstack([part.X, part.extras["queries"]])
    np.testing.assert_allclose(np.linalg.norm(held, axis=1), 1.0, rtol=1e-6)
    made = normalize(made)
    np.testing.assert_allclose(held @ held.T, made @ made.T, atol=1e-5)


def smart(path):
    """The texts of a file of the SMART system."""
    entries = re.split(r"^\.I ", path.read_text(), flags=re.M)[1:]
    return [re.sub(r"^\.[A-Z]$", " ", entry.partition("\n")[2], flags=re.M) for entry in entries]


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
