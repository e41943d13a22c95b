import string
from collections import Counter

import numpy as np
import pytest
from matplotlib.font_manager import FontProperties
from matplotlib.path import Path
from matplotlib.textpath import TextPath
from matplotlib.transforms import Affine2D
from scipy.ndimage import rotate

from convexmetric.bench.readers import printed
from convexmetric.datasets import list_datasets, load, preprocess, sha256

SETS = {
    "rotated-letters": (20, 100, "7b40645fd90d"),
    "rotated-digits": (9, 100, "213d9b8bbd57"),
    "scaled-letters": (52, 30, "3b7dd25e1cc3"),
    "scaled-digits": (10, 30, "485199ad6f99"),
    "rotated-scaled-letters": (20, 200, "8c8c47dc627a"),
    "rotated-scaled-digits": (9, 200, "a16d7cbf6f93"),
}


@pytest.fixture(scope="module", params=SETS)
def dataset(request):
    return load(request.param, download=False)


def ink(dataset):
    return 1.0 - dataset.X.reshape(-1, *dataset.extras["image_shape"])


def cosines(first, second):
    first, second = (preprocess(of.reshape(len(of), -1), ["unit"]) for of in (first, second))
    return first @ second.T


@pytest.mark.integration
def test_categories_and_counts_are_those_of_the_paper(dataset):
    categories, count, _ = SETS[dataset.name]
    assert dataset.name in list_datasets()
    assert dataset.X.shape == (categories * count, 784)
    assert dataset.X.dtype == np.float64
    assert dataset.y.dtype == np.int64
    assert set(Counter(dataset.y.tolist()).values()) == {count}
    assert len(dataset.target_names) == categories
    among = string.ascii_letters if dataset.name.endswith("letters") else string.digits
    assert set(dataset.target_names) <= set(among)
    assert ("9" in dataset.target_names) == (dataset.name == "scaled-digits")


@pytest.mark.integration
def test_the_numbers_never_change(dataset):
    assert sha256(dataset)[:12] == SETS[dataset.name][2]


@pytest.mark.integration
def test_no_sine_lies_on_an_edge_of_rounding(dataset):
    entries = printed.rotations(dataset.extras["angle"], dataset.extras["scale"])
    from_edge = np.abs(entries - np.floor(entries) - 0.5)
    # Another library moves an entry by a few times its last digit at most.
    assert np.spacing(np.abs(entries).max()) < 2e-10
    assert from_edge.min() > 1e-5


@pytest.mark.integration
def test_grey_levels_are_64ths_and_no_character_is_clipped(dataset):
    levels = 64 * dataset.X
    np.testing.assert_array_equal(levels, np.rint(levels))
    assert levels.min() == 0
    assert levels.max() == 64
    assert ink(dataset).sum(axis=(1, 2)).min() > 7
    for edge in (np.s_[:, 0], np.s_[:, -1], np.s_[:, :, 0], np.s_[:, :, -1]):
        assert not ink(dataset)[edge].any()


@pytest.mark.integration
def test_angles_and_scales_are_uniform(dataset):
    for values, low, high, random in (
        (dataset.extras["angle"], 0.0, 360.0, dataset.name.startswith("rotated")),
        (2.0 * dataset.extras["scale"], 1.0, 2.0, "scaled" in dataset.name),
    ):
        assert values.shape == dataset.y.shape
        if not random:
            assert set(values) == {0.0 if high == 360.0 else 2.0}
            continue
        shares = np.sort((values - low) / (high - low))
        assert 0.0 <= shares[0] < shares[-1] < 1.0
        # Kolmogorov and Smirnov, at a level of 1e-3.
        assert np.abs(shares - np.arange(len(shares)) / len(shares)).max() < 1.95 / np.sqrt(len(shares))


def test_turned_back_an_image_is_the_upright_character():
    dataset = load("rotated-letters")
    rows = np.arange(0, 2000, 37)
    upright = np.concatenate([printed.render(each, np.zeros(1), np.ones(1)) for each in dataset.target_names])
    back = [rotate(ink(dataset)[row], -dataset.extras["angle"][row], reshape=False, order=1) for row in rows]
    found = cosines(np.array(back), upright)
    assert found[np.arange(len(rows)), dataset.y[rows]].min() > 0.9
    np.testing.assert_array_equal(found.argmax(axis=1), dataset.y[rows])


def test_ink_grows_with_the_square_of_the_scale():
    dataset = load("scaled-digits")
    share = ink(dataset).sum(axis=(1, 2)) / dataset.extras["scale"] ** 2
    for code in range(10):
        of = share[dataset.y == code]
        np.testing.assert_allclose(of, of.mean(), rtol=0.06)


@pytest.mark.parametrize("character", "BQijg8")
def test_coverage_agrees_with_another_rasteriser(character):
    angle, scale = 33.0, 0.8
    path = TextPath((0, 0), character, size=100, prop=FontProperties(family="DejaVu Sans"))
    box = path.get_extents()
    # The capital W reaches furthest.
    widest = TextPath((0, 0), "W", size=100, prop=FontProperties(family="DejaVu Sans")).get_extents()
    reach = np.hypot(widest.width, widest.height) / 2
    move = Affine2D().translate(-(box.x0 + box.x1) / 2, -(box.y0 + box.y1) / 2)
    move = move.rotate_deg(angle).scale(13 * scale / reach).scale(1, -1).translate(14, 14)
    places = (np.arange(224) + 0.5) / 8
    samples = np.stack(np.meshgrid(places, places), axis=-1).reshape(-1, 2)
    # Chords are fine enough at a hundred times the size.
    contours = path.transformed(move.scale(100)).to_polygons()
    around = sum(Path(contour).contains_points(100 * samples).astype(int) for contour in contours)
    inside = (around % 2).reshape(28, 8, 28, 8).mean(axis=(1, 3))
    ours = printed.render(character, np.array([angle]), np.array([scale]))[0]
    assert np.abs(ours - inside).max() <= 4 / 64
    assert np.abs(ours - inside).mean() < 2e-4


def test_no_rotation_turns_letters_into_each_other():
    every = np.arange(0.0, 360.0, 2.0)
    turned = {each: printed.render(each, every, np.ones(180)) for each in (*printed.ROTATED_LETTERS, "V")}
    alike = {
        first + second: cosines(turned[first][:1], turned[second]).max()
        for first in printed.ROTATED_LETTERS
        for second in turned
        if first < second
    }
    assert alike["AV"] > 0.92
    assert max((value, pair) for pair, value in alike.items() if "V" not in pair)[1] == "EF"
    assert alike["EF"] < 0.87
