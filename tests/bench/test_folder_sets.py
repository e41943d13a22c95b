import re
from collections import Counter

import numpy as np
import pytest
from scipy.sparse import issparse

from convexmetric.datasets import list_datasets, load, sha256
from convexmetric.datasets.bundled import BUNDLED


@pytest.fixture(scope="module")
def loaded(data_folder):
    """Each data set is read once for the whole module."""
    cache = {}

    def get(name):
        if name not in cache:
            cache[name] = load(name, data_folder=data_folder, download=False)
        return cache[name]

    return get


SHAPES = {
    "balance-scale": (625, 4),
    "ionosphere": (351, 34),
    "isolet": (7797, 617),
    "webkb-linqs": (877, 1703),
    "webkb-cmu": (4199, 5589),
    "wikipedia-crossmodal": (2866, 128),
    "cora": (2708, 1433),
    "wikipedia-chameleon": (2277, 3132),
    "orl-faces": (400, 10304),
    "coil20": (1440, 1024),
    "mnist-test": (10000, 784),
    "binary-alphadigits": (1404, 320),
    "corel5k": (5000, 499),
    "cranfield": (1400, 9132),
}

COUNTS = {
    "balance-scale": {"L": 288, "B": 49, "R": 288},
    "ionosphere": {"g": 225, "b": 126},
    "isolet": {letter: {"F": 298, "M": 299}.get(letter, 300) for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"},
    "webkb-linqs": {"course": 218, "faculty": 125, "project": 80, "staff": 39, "student": 415},
    "webkb-cmu": {"course": 930, "faculty": 1124, "project": 504, "student": 1641},
    "wikipedia-crossmodal": {
        "art": 172,
        "biology": 360,
        "geography": 340,
        "history": 333,
        "literature": 267,
        "media": 236,
        "music": 237,
        "royalty": 185,
        "sport": 285,
        "warfare": 451,
    },
    "cora": {
        "Case_Based": 298,
        "Genetic_Algorithms": 418,
        "Neural_Networks": 818,
        "Probabilistic_Methods": 426,
        "Reinforcement_Learning": 217,
        "Rule_Learning": 180,
        "Theory": 351,
    },
    "orl-faces": {f"s{person}": 10 for person in range(1, 41)},
    "coil20": {f"object-{number}": 72 for number in range(1, 21)},
    "mnist-test": dict(zip("0123456789", (980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009), strict=True)),
    "binary-alphadigits": dict.fromkeys("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", 39),
}


DIGESTS = {
    "balance-scale": "060ab9a5a23908c3dc3167430f894d57472734317ff420f974f79d8b7a24db2d",
    "ionosphere": "e16d83b9b75b7561a61859a8493e939a6710ea9024ed8efbb88029c62512ef73",
    "isolet": "88ee685fcbc1b25f6c66796cdae7ea6df19e76dc3686c5f10a3b293a266f65e0",
    "webkb-linqs": "bd509f8b37a46d956256b0b27ca3ce7799989400e491a0e3a89dd0e594ab7924",
    "webkb-cmu": "17ac77b57eebc782d7bafafc86b0589b86846ac28bc24b6e0310340903eed0fd",
    "wikipedia-crossmodal": "c8265bca03febd44cf8f2b5e0cce06bff52e970e2ef9a1d6f52c104b4d5ae2d8",
    "cora": "d4bddec579e84213100268ef942c5a829f30bb7d0203205d631d296ac4cce557",
    "wikipedia-chameleon": "c687ea62d6785a8634d0bc68e1de546d126bbca1058313805347e4e8f39ea51a",
    "orl-faces": "604dc2a539c90d3ec22c33388af9aa127cffefabe543e9f223b1727a758721bb",
    "coil20": "234161ffb2906e5820a451d0295d21fad08b6dba9a0abb357b0d3016369a16c6",
    "mnist-test": "99dcb9ff3a1aa72256b47eed3caa24d46ff99827f9d797a23562342168736967",
    "binary-alphadigits": "20532fdb10f67bc0ea4081b298fc26d8ebf1bcd8a5e4cca969ef18fbafca28c5",
    "corel5k": "45c0e39a97e2042a6e81aaafe77a3b4e81969fdd1f27fe76068529862af9470e",
    "cranfield": "789aba232891262566548e36b01d30e8bc8d422dcd33aae9d3744dffe10f3ad1",
}


def test_every_folder_set_is_tested_here():
    assert set(SHAPES) == set(DIGESTS)
    assert set(SHAPES) | set(BUNDLED) == set(list_datasets())


@pytest.mark.parametrize("name", SHAPES)
def test_shape_type_and_finiteness(name, loaded):
    dataset = loaded(name)
    assert dataset.name == name
    assert dataset.X.shape == SHAPES[name]
    assert dataset.X.dtype == np.float64
    if issparse(dataset.X):
        assert dataset.X.format == "csr"
        assert dataset.X.has_canonical_format
        assert np.all(dataset.X.data != 0)
    else:
        assert dataset.X.flags.c_contiguous
        assert np.all(np.isfinite(dataset.X))
    assert dataset.description.endswith(".")
    assert name in repr(dataset)


@pytest.mark.parametrize("name", DIGESTS)
def test_the_numbers_are_those_instances_are_pinned_to(name, loaded):
    assert sha256(loaded(name)) == DIGESTS[name]


@pytest.mark.parametrize("name", COUNTS)
def test_class_counts(name, loaded):
    dataset = loaded(name)
    assert dataset.y.dtype == np.int64
    found = np.bincount(dataset.y, minlength=len(dataset.target_names))
    assert dict(zip(dataset.target_names, found, strict=True)) == COUNTS[name]


def test_balance_scale_class_is_the_sign_of_the_torque(loaded):
    dataset = loaded("balance-scale")
    left_weight, left_distance, right_weight, right_distance = dataset.X.T
    torque = np.sign(left_weight * left_distance - right_weight * right_distance).astype(int)
    assert [dataset.target_names[code] for code in dataset.y] == ["BLR"[sign] for sign in torque]


def test_ionosphere_second_feature_is_constant(loaded):
    X = loaded("ionosphere").X
    assert not X[:, 1].any()
    assert X[0, 2] == 0.99539


def test_isolet_restores_decimals_and_parts(loaded):
    dataset = loaded("isolet")
    assert list(np.bincount(dataset.extras["part"])) == [0, 1560, 1560, 1560, 1558, 1559]
    assert dataset.X[0, 0] == -0.4394
    assert np.abs(dataset.X).max() == 1.0
    np.testing.assert_array_equal(dataset.X, np.round(dataset.X, 4))


def test_webkb_linqs_universities_and_links(loaded):
    dataset = loaded("webkb-linqs")
    assert np.isin(dataset.X.data, 1.0).all()
    university, links = dataset.extras["university"], dataset.extras["links"]
    assert dataset.extras["university_names"] == ("cornell", "texas", "washington", "wisconsin")
    assert list(np.bincount(university)) == [195, 187, 230, 265]
    assert len(links) == 1608
    np.testing.assert_array_equal(university[links[:, 0]], university[links[:, 1]])
    assert list(np.bincount(university[links[:, 0]])) == [304, 328, 446, 530]
    selfish = links[links[:, 0] == links[:, 1], 0]
    assert list(np.bincount(university[selfish])) == [3, 18, 51, 20]
    assert dataset.extras["page"][0].startswith("http://")
    check_adjacency(dataset)


def test_webkb_cmu_counts_words_by_topic_and_university(loaded):
    dataset = loaded("webkb-cmu")
    X, extras = dataset.X, dataset.extras
    assert X.data.max() == 4000
    np.testing.assert_array_equal(X.data, np.round(X.data))
    assert np.sum(X.sum(axis=1) == 0) == 1
    assert len(extras["vocab"]) == X.shape[1]
    assert "cornell" in extras["vocab"]
    assert len(extras["page"]) == X.shape[0]
    table = np.zeros((5, 4), dtype=int)
    np.add.at(table, (extras["university"], dataset.y), 1)
    assert extras["university_names"] == ("cornell", "texas", "washington", "wisconsin", "misc")
    assert table.tolist() == [
        [44, 34, 20, 128],
        [38, 46, 20, 148],
        [77, 31, 21, 126],
        [85, 42, 25, 156],
        [686, 971, 418, 1083],
    ]
    # The topic and the university are also in the name of the page.
    for row in (0, 1000, 4198):
        topic, university, _ = extras["page"][row].split("/", 2)
        assert topic == dataset.target_names[dataset.y[row]]
        assert university == extras["university_names"][extras["university"][row]]


def test_crossmodal_split_and_second_modality(loaded):
    dataset = loaded("wikipedia-crossmodal")
    train, test, text = (dataset.extras[key] for key in ("train", "test", "text"))
    assert (len(train), len(test)) == (2173, 693)
    assert sorted([*train, *test]) == list(range(2866))
    assert text.shape == (2866, 10)
    # The published image histograms are rounded to a few digits.
    np.testing.assert_allclose(dataset.X.sum(axis=1), 1, atol=1e-3)
    np.testing.assert_allclose(text.sum(axis=1), 1, atol=1e-3)
    assert list(np.bincount(dataset.y[train])) == [138, 272, 244, 248, 202, 178, 186, 144, 214, 347]
    assert list(np.bincount(dataset.y[test])) == [34, 88, 96, 85, 65, 58, 51, 41, 71, 104]
    assert [list(np.flatnonzero(dataset.extras["part"] == part)) for part in ("train", "test")] == [[*train], [*test]]


def test_cora_citations(loaded):
    dataset = loaded("cora")
    assert np.isin(dataset.X.data, 1.0).all()
    assert len(dataset.extras["links"]) == 5429
    assert dataset.extras["adjacency"].nnz == 2 * 5278
    assert dataset.extras["adjacency"].sum(axis=0).min() >= 1
    # The first line of the file: paper 1033 cites paper 35.
    papers = dataset.extras["paper"]
    assert tuple(papers[dataset.extras["links"][0]]) == ("1033", "35")
    check_adjacency(dataset)


def test_chameleon_edges_and_words(loaded):
    dataset = loaded("wikipedia-chameleon")
    assert dataset.y is None
    assert dataset.target_names == ()
    words = dataset.X.sum(axis=1)
    assert (words.min(), words.max()) == (4, 96)
    assert len(dataset.extras["links"]) == 36101
    assert dataset.extras["adjacency"].nnz == 2 * 31371
    check_adjacency(dataset)


def check_adjacency(dataset):
    graph = dataset.extras["adjacency"]
    assert graph.format == "csr"
    assert graph.shape == (dataset.X.shape[0],) * 2
    assert np.isin(graph.data, 1.0).all()
    assert not graph.diagonal().any()
    assert (graph != graph.T).nnz == 0
    links = dataset.extras["links"]
    ends = links[links[:, 0] != links[:, 1]]
    assert np.all(graph[ends[:, 0], ends[:, 1]] == 1)


@pytest.mark.parametrize("name", ["orl-faces", "coil20", "mnist-test", "binary-alphadigits"])
def test_images_are_rows_of_their_shape(name, loaded):
    dataset = loaded(name)
    height, width = dataset.extras["image_shape"]
    assert height * width == dataset.X.shape[1]
    images = dataset.X.reshape(-1, height, width)
    # Neighbours along either axis resemble each other; pixels read in the wrong order do not.
    down = np.abs(np.diff(images, axis=1)).mean()
    across = np.abs(np.diff(images, axis=2)).mean()
    wrong = np.abs(np.diff(dataset.X.reshape(-1, width, height), axis=1)).mean()
    assert max(down, across) < wrong or height == width
    assert max(down, across) < 0.5 * images.std()


def test_orl_faces_grey_levels(loaded):
    X = loaded("orl-faces").X
    assert 0 <= X.min() < 10
    assert 200 < X.max() <= 255


def test_coil20_neighbouring_views_are_close(loaded):
    dataset = loaded("coil20")
    assert 0 <= dataset.X.min() < dataset.X.max() <= 1
    first = dataset.X[:72]
    assert np.linalg.norm(first[1] - first[0]) < np.linalg.norm(first[36] - first[0])
    assert list(dataset.extras["angle"][[0, 1, 71, 72]]) == [0, 5, 355, 0]


def test_alphadigits_images_of_zero_and_the_letter_o_are_the_same(loaded):
    dataset = loaded("binary-alphadigits")
    zero, letter_o = (np.flatnonzero(dataset.y == dataset.target_names.index(name)) for name in "0O")
    np.testing.assert_array_equal(dataset.X[zero], dataset.X[letter_o])
    digits, letters = dataset.extras["digits"], dataset.extras["letters"]
    assert (len(digits), len(letters)) == (10 * 39, 25 * 39)
    assert not set(letters) & (set(digits) | set(letter_o))
    assert set(np.unique(dataset.X)) == {0.0, 1.0}
    # A "1" drawn upright is taller than wide: most of its lines hold some ink.
    one = dataset.X[dataset.y == 1].reshape(-1, 20, 16)
    assert one.any(axis=2).mean() > one.any(axis=1).mean()


def test_corel5k_labels_are_not_among_the_features(loaded, data_folder):
    from scipy.io import loadmat

    dataset = loaded("corel5k")
    raw = loadmat(data_folder / "corel5k" / "corel5k.mat")
    np.testing.assert_array_equal(raw["X"][:, 499:], raw["Y"])
    np.testing.assert_array_equal(dataset.X.toarray(), raw["X"][:, :499])
    assert dataset.y.shape == (5000, 374)
    assert len(dataset.target_names) == 374
    keywords = dataset.y.sum(axis=1)
    assert (keywords.min(), keywords.max()) == (1, 5)
    assert dataset.y.any(axis=0).all()
    assert "several a row" in dataset.summary


def test_cranfield_has_the_words_of_its_texts_and_the_pairs_of_its_file(loaded, data_folder):
    dataset = loaded("cranfield")
    texts, vocab = dataset.extras["texts"], dataset.extras["vocab"].tolist()
    assert (len(texts), len(dataset.extras["questions"]), texts[470].split()) == (1400, 225, [])
    for given, counts in ((texts, dataset.X), (dataset.extras["questions"], dataset.extras["queries"])):
        words = [Counter(re.findall(r"\w\w+", text.lower())) for text in given]
        for word in ("flow", "boundary", "slipstream"):
            found = counts[:, [vocab.index(word)]].toarray().ravel()
            assert found.tolist() == [of[word] for of in words]
    assert "the" not in vocab
    lines = (data_folder / "cranfield" / "cranqrel").read_text().splitlines()
    wanted = [tuple(int(cell) for cell in line.split()) for line in lines if line.strip()]
    qrels, codes = dataset.extras["qrels"], dataset.extras["codes"]
    rows = zip(
        (int(qrels.queries[q]) + 1 for q in qrels.query),
        (int(qrels.documents[d]) + 1 for d in qrels.document),
        codes.tolist(),
        strict=True,
    )
    assert list(rows) == wanted
    assert set(qrels.degree.tolist()) == {1}
