"""Pictures can be read on a telephone, and with any colour vision."""

import re
from itertools import combinations, pairwise
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from legible import faults

import convexmetric as cm
from convexmetric import plotting
from convexmetric.bench.records import GAPS
from convexmetric.plotting.axes import COLOURS, DASHES, LOWER, MARKERS, STYLE, UPPER, WIDTH, panels
from convexmetric.selection import Validation

ROOT = Path(__file__).resolve().parents[2]

#: What the eye makes of linear red, green and blue without one kind of cones (Machado and others, 2009).
VISIONS = {
    "all cones": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
}


def lab(colour, vision):
    """Lightness and two opponent colours of CIE 1976, which are about as far apart as the eye says."""
    rgb = np.array(matplotlib.colors.to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(VISIONS[vision]) @ linear, 0.0, 1.0)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    t = to_xyz @ seen / to_xyz.sum(axis=1)
    x, y, z = np.where(t > (6 / 29) ** 3, np.cbrt(t), t * (29 / 6) ** 2 / 3 + 4 / 29)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def apart(first, second, vision):
    return np.linalg.norm(lab(first, vision) - lab(second, vision))


@pytest.mark.parametrize("vision", VISIONS)
def test_colours_are_told_apart_with_any_colour_vision(vision):
    distances = {pair: apart(*pair, vision) for pair in combinations(COLOURS, 2)}
    assert min(distances.values()) > 17.0, min(distances, key=distances.get)
    # On white paper as well, and the two bounds more than others.
    assert min(apart(colour, "white", vision) for colour in COLOURS) > 25.0
    assert apart(UPPER, LOWER, vision) > 50.0


def test_the_simulation_confuses_what_the_eye_confuses():
    red, green = "#b08000", "#80a000"
    assert apart(red, green, "deuteranopia") < 0.5 * apart(red, green, "all cones")
    assert apart("white", "black", "protanopia") == pytest.approx(100.0, abs=0.5)


@pytest.fixture(scope="module")
def solved():
    wine = cm.datasets.load("wine")
    X = cm.datasets.preprocess(wine.X, ["zscore"])[::3]
    problem = cm.RankingProblem.from_labels(X, wine.y[::3], C=30.0)
    return X, wine.y[::3], problem, cm.solve(problem)


def runs():
    """Nine solvers on six instances, some of them stopped by the limit."""
    known = {"tol": 1e-6, "max_seconds": 9.0, "threads": 1, "version": "1", "machine": "m", "cores": 2}
    for instance in range(6):
        for solver in range(9):
            seconds = 0.1 * 1.7 ** (instance + (solver * instance) % 5)
            ended = {"status": "optimal", "gap": 1e-7} if seconds < 9.0 else {"status": "limit", "gap": 0.5}
            reached = (seconds if seconds < 9.0 else np.inf,) * len(GAPS)
            yield cm.bench.Run(f"p{instance}", f"solver {solver}", seconds=seconds, reached=reached, **ended, **known)


def pictures_of(X, y, problem, solution):
    """Every kind of picture that the library draws, by name."""
    roc = cm.evaluation.roc_curve(None, X, y)
    precision = cm.evaluation.retrieval_curve(((X[:, None] - X) ** 2).sum(axis=2), y[:, None] == y)
    audit = cm.audit(problem, 3.0 * solution.M + 0.01 * np.eye(13), reference=solution, worst=4)
    given = [np.eye(13), 2.0 * solution.M, 1.5 * solution.M]
    trails = [
        cm.bench.audit_iterates(problem, given, seconds=[0.1, 0.2, 0.4], reference=solution, name="theirs"),
        cm.bench.AuditTrail.of_solution(solution),
    ]
    accuracy = np.array([[0.5, 0.7], [0.9, 0.9], [0.8, 0.6]])
    weights = ("reg",), ((1.0,), (0.1,), (0.01,)), {"accuracy": accuracy}, 0.0 * accuracy, 1, 9, 9, 0.0
    candidates = tuple((scale, strength) for scale in (0.3, 1.0, 3.0) for strength in (10.0, 1.0))
    nested = ("scale", "strength"), candidates, {"accuracy": np.ones((6, 2))}, np.ones((6, 2)), 0, 9, 9, 0.0
    return {
        "solution": plotting.plot_solution(solution, X, y=y),
        "before and after": plotting.plot_before_after(X, X @ solution.M, y),
        "choice of two": plotting.plot_validation(Validation(*nested, unlearned="Euclidean distance")).figure,
        "bounds and gap": plotting.plot_solution(solution),
        "audit": plotting.plot_audit(audit, problem, reference=solution),
        "trails": cm.bench.plot_trails(trails)[0].figure,
        "benchmark": cm.bench.plot_benchmark(runs()),
        "validation": plotting.plot_validation(Validation(*weights)).figure,
        "embedding": plotting.plot_embedding(X, y, solution.M).figure,
        "one weight": plotting.plot_embedding(X, y, np.eye(13)[0]).figure,
        "weights": plotting.plot_weights(solution.M, [f"a feature of a long name {i}" for i in range(13)]).figure,
        "spectra": plotting.plot_spectrum({"learned": solution, "Euclidean": np.eye(13)}).figure,
        "roc": plotting.plot_roc({"before": roc, "after": roc}).figure,
        "precision": plotting.plot_precision_recall({"before": precision, "after": precision}).figure,
        "ranking": plotting.plot_violated_ranking(problem, solution.M, query=3).figure,
    }


def test_pictures_of_the_library_can_be_read_on_a_telephone(solved):
    for name, figure in pictures_of(*solved).items():
        assert faults(figure) == [], name


def test_what_cannot_be_read_is_found():
    figure, (ax,) = panels()
    ax.plot([0, 1], label="a")
    ax.legend()
    assert faults(figure) == []
    ax.set_title("small", fontsize=6.0)
    figure.text(0.9, 0.5, "a long text that ends beyond the edge")
    ax.plot([1, 0], label="b", ls="-")
    figure.set_figwidth(WIDTH + 1.0)
    found = "; ".join(faults(figure))
    for fault in ("inches wide", "'small' is 4", "is cut off", "'b' is told by colour alone"):
        assert fault in found


def test_lines_of_the_style_differ_in_dashes_and_colours():
    cycle = STYLE["axes.prop_cycle"].by_key()
    assert tuple(cycle["color"]) == COLOURS
    assert all(one != other for one, other in pairwise([*cycle["linestyle"], cycle["linestyle"][0]]))
    looks = [(COLOURS[k % len(COLOURS)], DASHES[k % len(DASHES)]) for k in range(len(COLOURS) * len(DASHES))]
    assert len(set(looks)) == len(looks)
    assert len(set(MARKERS)) == len(MARKERS)


PICTURES = [
    *(ROOT / "convexmetric" / "plotting").glob("*.py"),
    *(ROOT / "convexmetric" / "bench" / name for name in ("profiles.py", "trails.py")),
    *(ROOT / "examples").glob("plot_*.py"),
    *(ROOT / "examples").glob("*_paper/pictures.py"),
    *(ROOT / "benchmarks").glob("bench_*.py"),
    *(ROOT / "docs" / "browser").glob("*.py"),
]


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.stem)
def test_colours_and_sizes_are_those_of_one_place(path):
    if path.name == "axes.py":
        return
    text = path.read_text(encoding="utf-8")
    assert not re.findall(r"#[0-9A-Fa-f]{6}\b", text)
    assert not re.findall(r"fontsize=(?:[0-9]|\"x+-small)", text)
    widths = re.findall(r"figsize=\(([0-9.]+),", text)
    assert set(widths) <= {str(WIDTH)}
