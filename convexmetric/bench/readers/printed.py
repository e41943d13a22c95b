"""Printed letters and digits, rotated and scaled at random: generated, bit for bit the same on every machine.

The sets follow paper 4 (operator-valued large margins): section 6.2, with the categories and counts of Table 2. Glyphs
are those of DejaVu Sans, whose file comes with matplotlib. Their outlines are turned and scaled about the middle of
their bounding box, all from one size of the font, so that letters keep their relative sizes. The ink of a pixel is the
share of its 8 x 8 sample points that the outline winds around (the nonzero rule of TrueType), and its grey level the
rest: k/64, black on white.

White paper makes all the difference to the kernel of section 6.1, which compares images by their angle. Those of ink
alone are so far from each other that digits have a tenth of their squared length in the span of letters, and operators
see next to nothing of them; with the paper it is nine tenths, and risks come out as in Table 4.

Outlines are integers in the font file and stay integers to the end. Floating point only gives the entries of the
rotations, which are rounded to integers, and none of them lies so near to an edge of rounding that the sine of another
library could move it.
"""

from __future__ import annotations

import string
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from convexmetric.datasets.dataset import Dataset

_LEFT_OUT = "GOUVWZ"
ROTATED_LETTERS = "".join(letter for letter in string.ascii_uppercase if letter not in _LEFT_OUT)
"""Twenty capitals that no rotation turns into each other.

Left out are V (an A turned over, but for its bar), W (an M turned over), Z (an N on its side), U (a C on its side), G
(a C or D but for its bar) and O (the digit 0). The ink of A and V has a cosine of 0.93 after the best rotation; of the
letters that stay E and F are most alike, with 0.85.
"""

_SIDE, _SAMPLES = 28, 8
_GRID = _SIDE * _SAMPLES
# Pixels from the middle of an image to the point of any character that is furthest out, at scale 1. The outermost
# ring of pixels stays blank under all rotations.
_REACH = 13
# Number of chords by which a curve is drawn; their corners are multiples of 1 / _CHORDS^2 of a unit of the font.
_CHORDS = 16
# Corners in an image are multiples of 2^-16 of the distance between samples; entries of rotations have 16 bits more.
_BITS = 16
_UNIT, _HALF = 1 << _BITS, 1 << (_BITS - 1)
# Codes of matplotlib for the commands of an outline.
_MOVE, _LINE, _CURVE = 1, 2, 3


@dataclass(frozen=True)
class Printed:
    """A set of images of characters.

    Attributes
    ----------
    characters : str
        The categories.
    count : int
        Images of each.
    rotated, scaled : bool
        Whether the angles are uniform in [0, 360) degrees, and the scales in [1/2, 1); else they are 0 and 1.
    seed : int
        Seed of the angles, drawn first, and of the scales.
    """

    characters: str
    count: int
    rotated: bool
    scaled: bool
    seed: int

    def draw(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Angle and scale of every image, category by category."""
        rng = np.random.default_rng(self.seed)
        n = len(self.characters) * self.count
        angle = 360.0 * rng.random(n) if self.rotated else np.zeros(n)
        scale = 0.5 + 0.5 * rng.random(n) if self.scaled else np.ones(n)
        return angle, scale


PRINTED = {
    "rotated-letters": Printed(ROTATED_LETTERS, 100, True, False, 1),
    "rotated-digits": Printed("012345678", 100, True, False, 2),
    "scaled-letters": Printed(string.ascii_letters, 30, False, True, 3),
    "scaled-digits": Printed(string.digits, 30, False, True, 4),
    "rotated-scaled-letters": Printed(ROTATED_LETTERS, 200, True, True, 5),
    "rotated-scaled-digits": Printed("012345678", 200, True, True, 6),
}
"""Name to contents.

Of digits that are turned 9 is left out, a 6 turned over. Letters that are scaled are all 52, as in the paper, though
capitals such as C, S and V are all but enlarged small ones.
"""


def read_printed(name: str) -> Dataset:
    """Make a set of :data:`PRINTED`.

    X holds grey levels k/64 from 0 (ink) to 1 (paper), category by category. Extras: ``image_shape`` (28, 28), and of
    each row ``angle`` (degrees, counterclockwise) and ``scale`` (1 for the largest, 0.5 for the smallest).
    """
    contents = PRINTED[name]
    angle, scale = contents.draw()
    y = np.repeat(np.arange(len(contents.characters)), contents.count)
    images = [render(each, angle[y == code], scale[y == code]) for code, each in enumerate(contents.characters)]
    how = " and ".join(
        way for way, done in (("rotated", contents.rotated), ("scaled over a factor of 2", contents.scaled)) if done
    )
    return Dataset(
        name,
        1.0 - np.concatenate(images).reshape(len(y), _SIDE * _SIDE),
        y,
        tuple(contents.characters),
        f"Printed characters of the font DejaVu Sans, randomly {how}, as in Maurer (2008): {contents.count} images of "
        f"28 x 28 grey levels of each of {len(contents.characters)}.",
        {"image_shape": (_SIDE, _SIDE), "angle": angle, "scale": scale},
    )


def render(character: str, angle: NDArray[np.float64], scale: NDArray[np.float64]) -> NDArray[np.float64]:
    """The ink of one character at n angles (degrees, counterclockwise) and scales: ``(n, 28, 28)``, 1 where it is."""
    cos, sin = np.rint(rotations(angle, scale)).astype(np.int64)[:, :, None, None]
    x, y = _outline(character).transpose(2, 0, 1)
    # Up in the font is towards smaller rows.
    turned = cos * x - sin * y, -sin * x - cos * y
    middle = _GRID // 2 << _BITS
    columns, rows = (middle + (part + _HALF >> _BITS) for part in turned)
    return _inside(columns, rows).reshape(-1, _SIDE, _SAMPLES, _SIDE, _SAMPLES).mean(axis=(2, 4))


def rotations(angle: NDArray[np.float64], scale: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cosine and sine times the scale, in units of 2^-32 of the distance between samples: ``(2, n)``, up to 8e5."""
    unit = _REACH * _SAMPLES * 2.0 ** (2 * _BITS) / _furthest()
    radians = np.deg2rad(angle)
    return unit * scale * np.stack([np.cos(radians), np.sin(radians)])


def _inside(x: NDArray[np.int64], y: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which sample points of each image its outline winds around, ``(n, rows, columns)``.

    Edge e of image i goes from ``(x[i, e, 0], y[i, e, 0])`` to ``(x[i, e, 1], y[i, e, 1])``, in units of 2^-16; sample
    points have the coordinates k + 1/2. All is exact as long as coordinates are below 2^25.
    """
    n, edges = x.shape[:2]
    falls = (y[..., 0] > y[..., 1]).ravel()
    x, y = (np.where(falls[:, None], ends[:, ::-1], ends) for ends in (x.reshape(-1, 2), y.reshape(-1, 2)))
    # An edge crosses the lines of samples from its lower end on, up to its upper end and without it.
    first, last = _next_sample(y, 1).T
    crossed = last - first
    at = np.repeat(np.arange(n * edges), crossed)
    row = np.arange(len(at)) - np.repeat(np.cumsum(crossed) - crossed - first, crossed)
    (x0, x1), (y0, y1) = x[at].T, y[at].T
    column = _next_sample(x0 * (y1 - y0) + (x1 - x0) * (row * _UNIT + _HALF - y0), y1 - y0)
    turns = np.zeros((n, _GRID, _GRID), dtype=np.int8)
    np.add.at(turns, (at // edges, row, column), np.where(falls[at], -1, 1).astype(np.int8))
    return np.cumsum(turns, axis=2, dtype=np.int8) != 0


def _next_sample(numerator: NDArray[np.int64], denominator: Any) -> NDArray[np.int64]:
    """The first sample at or after a coordinate, given as a fraction with a positive denominator."""
    return -((_HALF * denominator - numerator) // (_UNIT * denominator))


@cache
def _furthest() -> float:
    """Distance of the furthest point of all letters and digits from their middle."""
    characters = string.ascii_letters + string.digits
    return max(float(np.sqrt((_outline(each) ** 2).sum(axis=2).max())) for each in characters)


@cache
def _outline(character: str) -> NDArray[np.int64]:
    """Edges of a glyph, ``(edges, 2 ends, 2)``: x to the right and y upwards from the middle of its bounding box.

    In units of 1/512 of the font's: the middle takes halves and the chords of curves take 256ths.
    """
    points, codes = _path(character)
    k = np.arange(_CHORDS + 1)[:, None]
    weights = (_CHORDS - k) ** 2, 2 * k * (_CHORDS - k), k**2
    edges: list[NDArray[np.int64]] = []
    at = 0
    while at < len(codes):
        if codes[at] == _MOVE:
            start = here = points[at]
        elif codes[at] == _CURVE:
            bend, end = points[at], points[at + 1]
            curve = weights[0] * here + weights[1] * bend + weights[2] * end
            edges.extend(np.stack([curve[:-1], curve[1:]], axis=1))
            here, at = end, at + 1
        else:
            # Any command but a line or a curve closes the contour.
            end = points[at] if codes[at] == _LINE else start
            edges.append(_CHORDS**2 * np.stack([here, end]))
            here = end
        at += 1
    corners = np.stack(edges)
    return 2 * corners - corners.min(axis=(0, 1)) - corners.max(axis=(0, 1))


def _path(character: str) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """The points of a glyph in the units of its font, and a command for each."""
    import matplotlib
    from matplotlib import ft2font

    # Before matplotlib 3.10 the flags were numbers.
    named = getattr(ft2font, "LoadFlags", None)
    flags: Any = named.NO_SCALE | named.IGNORE_TRANSFORM if named else 1 | 1 << 11
    font = ft2font.FT2Font(str(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"))
    font.load_char(ord(character), flags=flags)
    points, codes = font.get_path()
    # matplotlib divides by 64, as if coordinates were in 64ths of a pixel: they are in units of the font.
    return np.rint(64 * points).astype(np.int64), codes
