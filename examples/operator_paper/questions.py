"""Why numbers of tables 2 and 3 differ from the printed ones: one small experiment for every reason."""

from __future__ import annotations

import string
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from experiments.pool import Task
from experiments.results import Results
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.font_manager import FontProperties, findfont
from matplotlib.textpath import TextPath
from matplotlib.transforms import Affine2D
from scipy import ndimage

import convexmetric as cm

from .experiments import EXPERIMENTS, Labelled, load
from .framing import framed_alphadigits
from .learners import KERNEL, REG, Learner
from .protocol import judged

__all__ = [
    "FONTS",
    "categories_told_apart",
    "characters",
    "descended",
    "pens",
    "sampled",
    "spread",
    "tasks",
    "turned_pixels",
]

#: Fonts that come with matplotlib.
FONTS = ("DejaVu Sans", "DejaVu Serif", "DejaVu Sans Mono", "STIXGeneral", "cmr10", "cmss10", "cmtt10")
#: Letters that no rotation turns into each other, and digits of which that is true.
TURNED = ("ABCDEFHIJKLMNPQRSTXY", "012345678")
PIXELS = 28


def characters(text: str, count: int, how: str, font: str, reach: float, low: float, seed: int) -> Labelled:
    """Images of characters, black on white, turned or scaled at random about the middle of their bounding box.

    The largest character reaches so many pixels from the middle at scale 1; scales are uniform from ``low`` to 1.
    """
    rng = np.random.default_rng(seed)
    images = []
    for character in text:
        path, furthest = _outlines(font)[character], _furthest(font)
        for _ in range(count):
            angle = 360.0 * rng.random() if "rotat" in how else 0.0
            scale = low + (1.0 - low) * rng.random() if "scal" in how else 1.0
            move = Affine2D().scale(scale * reach / furthest).rotate_deg(angle).translate(PIXELS / 2, PIXELS / 2)
            canvas = RendererAgg(PIXELS, PIXELS, 72.0)
            gc = canvas.new_gc()
            gc.set_linewidth(0.0)
            # Outlines stay where they are, not on the grid of pixels.
            gc.set_snap(False)
            canvas.draw_path(gc, path, move, (0.0, 0.0, 0.0))
            images.append(1.0 - np.asarray(canvas.buffer_rgba())[:, :, 3].ravel() / 255.0)
    return np.array(images), np.repeat(np.arange(len(text)), count)


@cache
def _outlines(font: str) -> dict[str, Any]:
    """Outlines of letters and digits, the middle of each one's bounding box at zero."""
    properties = FontProperties(fname=findfont(FontProperties(family=font), fallback_to_default=False))
    found = {}
    for character in string.ascii_letters + string.digits:
        path = TextPath((0, 0), character, size=100, prop=properties)
        box = path.get_extents()
        found[character] = Affine2D().translate(-(box.x0 + box.x1) / 2, -(box.y0 + box.y1) / 2).transform_path(path)
    return found


@cache
def _furthest(font: str) -> float:
    return max(float(np.linalg.norm(path.vertices, axis=1).max()) for path in _outlines(font).values())


def sampled(
    how: str, font: str, reach: float, low: float, counts: list[int], norm: str, seed: int, tol: float, seconds: float
) -> dict[str, Any]:
    """Learn from one sample of printed letters, judge on another of digits; images of a letter and of a digit."""
    letters, digits = TURNED if "rotat" in how else (string.ascii_letters, string.digits)
    train = characters(letters, counts[0], how, font, reach, low, 2 * seed)
    test = characters(digits, counts[1], how, font, reach, low, 2 * seed + 1)
    return _learned(train, test, REG[norm], norm, tol, seconds)


def turned_pixels(letters: str, coarse: bool, seed: int, tol: float, seconds: float) -> dict[str, Any]:
    """Rotation with other letters; with ``coarse`` upright images are turned pixel by pixel, without interpolation."""
    parts = []
    for text, count, draw in ((letters, 25, 2 * seed), (TURNED[1], 50, 2 * seed + 1)):
        how = "as they are" if coarse else "rotated"
        X, y = characters(text, count, how, FONTS[0], 13.0, 0.5, draw)
        if coarse:
            angles = 360.0 * np.random.default_rng(draw).random(len(X))
            ink = (1.0 - X).reshape(-1, PIXELS, PIXELS)
            turned = [
                ndimage.rotate(one, angle, reshape=False, order=0) for one, angle in zip(ink, angles, strict=True)
            ]
            X = 1.0 - np.array(turned).reshape(len(X), -1)
        parts.append((X, y))
    return _learned(parts[0], parts[1], REG["frobenius"], "frobenius", tol, seconds)


def _learned(
    train: Labelled, test: Labelled, reg: float, norm: str, tol: float, seconds: float, draws: int = 100
) -> dict[str, Any]:
    problem = cm.PairMarginProblem.from_labels(*train, reg=reg, penalty=norm, kernel=KERNEL)
    solution = cm.solve(problem, tol, max_seconds=seconds)
    return {"gap": solution.gap, "seconds": solution.seconds} | _measures(solution, test, draws)


def _measures(solution: cm.Solution, test: Labelled, draws: int = 100) -> dict[str, Any]:
    own = judged(cm.evaluation.SimilarityOperator.of(solution), *test, draws)
    raw = judged(None, *test, draws)
    found = {key: own[key] for key in ("risk", "area", "error")}
    return found | {"input area": raw["area"], "input error": raw["error"]}


def descended(experiment: str, norm: str, as_printed: bool, steps: int, images: int | None) -> dict[str, Any]:
    """The descent of table 1 on an experiment, and its measures on the digits or objects of it."""
    of = EXPERIMENTS[experiment]
    way = Learner(norm=norm, descent=True, as_printed=as_printed)
    solution = way.solve(way.problem(*load(of.train, images), None, 0), 1e-2, 0.0, steps, 0)
    return {"gap": solution.gap, "seconds": solution.seconds} | _measures(solution, load(of.tests[0]))


def spread(experiment: str, test: int, norm: str, images: int | None, tol: float, seconds: float) -> dict[str, Any]:
    """Measures on a test task, and their standard errors by leaving out one of its categories at a time."""
    of = EXPERIMENTS[experiment]
    problem = cm.PairMarginProblem.from_labels(*load(of.train, images), reg=REG[norm], penalty=norm, kernel=KERNEL)
    solution = cm.solve(problem, tol, max_seconds=seconds)
    X, y = load(of.tests[test])
    points = cm.evaluation.SimilarityOperator.of(solution).transform(X)

    def measured(rows: np.ndarray) -> list[float]:
        return [
            cm.evaluation.empirical_risk_from_labels(None, points[rows], y[rows]),
            cm.evaluation.roc_curve(None, points[rows], y[rows]).area,
            cm.evaluation.single_prototype_error(None, points[rows], y[rows], n_draws=100, random_state=0),
        ]

    out = np.array([measured(y != category) for category in np.unique(y)])
    errors = np.sqrt((len(out) - 1.0) / len(out) * ((out - out.mean(axis=0)) ** 2).sum(axis=0))
    found: dict[str, Any] = {"gap": solution.gap, "seconds": solution.seconds}
    for name, value, error in zip(("risk", "area", "error"), measured(y >= 0), errors, strict=True):
        found |= {name: value, f"{name}_error": float(error)}
    return found


def categories_told_apart(counts: list[int], draws: int) -> dict[str, Any]:
    """Raw images of COIL-20, 36 of an object: ROC area and error among so many objects drawn at random."""
    X, y = load("coil20", 36)
    rng = np.random.default_rng(0)
    found: dict[str, Any] = {"counts": counts, "area": [], "error": [], "area_error": [], "error_error": []}
    for count in counts:
        values = []
        for _ in range(1 if count == 20 else draws):
            rows = np.isin(y, rng.choice(20, count, replace=False))
            one = judged(None, X[rows], y[rows], 100)
            values.append((one["area"], one["error"]))
        means, deviations = np.mean(values, axis=0), np.std(values, axis=0)
        for at, name in enumerate(("area", "error")):
            found[name].append(float(means[at]))
            found[f"{name}_error"].append(float(deviations[at]))
    return found


def pens(digits: str, reg: float, tol: float, seconds: float) -> dict[str, Any]:
    """Framed alphadigits judge MNIST with its strokes changed: as they are, binary, or binary and as thick as ours.

    ``"thick"`` adds a ring of ink to every stroke, by which their mean ink comes nearest to that of alphadigits.
    """
    train = framed_alphadigits("letters")
    X, y = load("MNIST digits", 200)
    ink = (1.0 - X).reshape(-1, PIXELS, PIXELS)
    if digits != "grey":
        ink = (ink > 0.5).astype(float)
    if digits == "thick":
        ink = np.array([ndimage.binary_dilation(image > 0.5) for image in ink], dtype=float)
    if digits == "thick, soft":
        ink = np.array([ndimage.grey_dilation(image, footprint=np.ones((2, 2))) for image in ink])
    found = _learned(train, (1.0 - ink.reshape(len(y), -1), y), reg, "frobenius", tol, seconds)
    return found | {"ink": float(ink.mean()), "ink of letters": float(1.0 - train[0].mean())}


def tasks(output: Path, samples: int = 5, tol: float = 1e-2, seconds: float = 60.0) -> Iterator[Task]:
    """Everything that is asked here, as tasks; results go to ``questions.jsonl``."""
    results = Results(output / "questions.jsonl")

    def task(question: str, function: Any, **arguments: Any) -> Task:
        return results, {"question": question, **arguments}, function, arguments

    limits = {"tol": tol, "seconds": seconds}
    yield task("objects told apart", categories_told_apart, counts=[4, 8, 12, 16, 20], draws=20)
    for reg in (0.02,):
        for digits in ("grey", "binary", "thick", "thick, soft"):
            yield task("pens", pens, digits=digits, reg=reg, **limits)
    scaled = {"how": "scaled", "counts": [10, 30], "norm": "frobenius", **limits}
    base = {"font": FONTS[0], "reach": 13.0, "low": 0.5, "seed": 0}
    turned = {"how": "rotated", "counts": [25, 50], "norm": "frobenius", **base, **limits}
    others = [{"font": font} for font in FONTS[1:]] + [{"seed": seed} for seed in range(1, samples)]
    ranges = [{"reach": reach} for reach in (7.0, 10.0)] + [{"low": low} for low in (0.25, 0.35, 0.7)]
    for other in ({}, *ranges, *others):
        yield task("sample", sampled, **scaled, **{**base, **other})
    # All 30 images of a letter, as in the table.
    for other in ({}, {"font": "DejaVu Serif"}, {"low": 0.4}):
        yield task("sample", sampled, **{**scaled, **base, **other, "counts": [30, 30], "seconds": 4.0 * seconds})
    for other in ({}, *others):
        yield task("sample", sampled, **{**turned, **other})
    both = {**turned, "how": "rotated, scaled", "counts": [50, 50]}
    for norm in ("frobenius", "trace"):
        for other in ({}, *others):
            yield task("norms", sampled, **{**both, **other, "norm": norm})
    for letters in (TURNED[0], string.ascii_uppercase[:20], string.ascii_lowercase[:20], TURNED[0][:10]):
        for coarse in (False, True):
            yield task("rotation", turned_pixels, letters=letters, coarse=coarse, seed=0, **limits)
    yield task("spread", spread, experiment="handwritten", test=1, norm="frobenius", images=None, **limits)
    for norm in ("frobenius", "trace"):
        of = {"experiment": "rotation+scale", "norm": norm, "images": 50}
        yield task("spread", spread, test=0, **of, **limits)
        yield task("descent", descended, as_printed=False, steps=10**6, **of)
    for norm in ("frobenius", "trace"):
        of = {"experiment": "rotation", "norm": norm, "images": 50}
        yield task("descent", descended, as_printed=False, steps=10**6, **of)
        yield task("spread", spread, test=0, **of, **limits)
