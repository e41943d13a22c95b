"""``convexmetric solve module:factory``: problems, blocks and measures of a user's own."""

import json
import sys

import numpy as np
import pytest
from matplotlib.image import imread
from typer.testing import CliRunner

from convexmetric.cli import app

OWN = """
import numpy as np
import convexmetric as cm
from convexmetric.measures import Measure, register

@register()
class LastRelevant(Measure):
    name, title = "last-relevant", "how far down the last relevant item is"

    def gains(self, i, b, p, n):
        return np.where(i == p, (n - b) / n, 0.0)

IRIS = cm.datasets.load("iris")

def ranking():
    return cm.RankingProblem.from_labels(IRIS.X[::5], IRIS.y[::5], measure="last-relevant", C=5.0)

def entropic():
    return cm.InformationTheoreticProblem.from_labels(IRIS.X, IRIS.y, 50, random_state=0)

def both():
    triplets = cm.TripletProblem.from_labels(IRIS.X[::5], IRIS.y[::5], n_same=3, n_other=3, reg=0.1)
    return cm.MetricProblem(ranking().risk + triplets.risk, triplets.regularizer)

def weighted(C):
    return entropic()

def nothing():
    return None

def broken():
    return len(5)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "own_problems.py").write_text(OWN)
    yield tmp_path
    from convexmetric.measures import MEASURES

    MEASURES.pop("last-relevant", None)
    sys.modules.pop("own_problems", None)


def run(*arguments):
    return CliRunner().invoke(app, list(arguments))


@pytest.mark.parametrize("factory", ["ranking", "entropic"])
def test_it_is_solved_explained_and_audited(folder, factory):
    name = f"own_problems:{factory}"
    solved = run("solve", name, "--json", "--quiet", "--save", "found.npz")
    assert solved.exit_code == 0, solved.output
    # Old runners have the messages in the same text, after the result.
    record, _ = json.JSONDecoder().raw_decode(solved.stdout)
    assert record["gap"] <= 1e-6
    assert run("explain", name, "--no-measure").exit_code == 0
    np.save("metric.npy", np.eye(4))
    audited = run("audit", name, "metric.npy", "--json", "--quiet")
    assert audited.exit_code == 0, audited.output
    assert json.loads(audited.stdout)["objective"] >= record["lower_bound"]


@pytest.mark.integration
@pytest.mark.parametrize("factory", ["ranking", "entropic", "both"])
def test_pictures_are_drawn(folder, factory):
    name = f"own_problems:{factory}"
    rng = np.random.default_rng(0)
    A = rng.standard_normal((4, 4))
    np.save("metric.npy", A @ A.T)
    np.savez("trail.npz", iterates=np.stack([t * np.eye(4) for t in (0.1, 0.5, 1.0)]), seconds=np.arange(1.0, 4.0))
    for options, picture in [
        (("solve", name), "solved.png"),
        (("audit", name, "metric.npy"), "audited.png"),
        (("audit", name, "trail.npz", "--iterates"), "trail.png"),
    ]:
        found = run(*options, "--quiet", "--plot", picture)
        assert found.exit_code == 0, found.output
        # A picture in which something is drawn: not of one colour.
        assert imread(folder / picture)[..., :3].std() > 0.01


def test_an_error_of_the_function_itself_is_not_taken_for_its_arguments(folder):
    found = run("solve", "own_problems:broken")
    assert isinstance(found.exception, TypeError)
    assert "has no len()" in str(found.exception)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_such_module:problem", "there is no module 'no_such_module'"),
        ("own_problems:missing", "has no function 'missing'"),
        ("own_problems:weighted", "must work without arguments"),
        ("own_problems:nothing", "must return a MetricProblem, got NoneType"),
    ],
)
def test_what_is_missing_is_said(folder, name, message):
    found = run("solve", name)
    assert found.exit_code != 0
    assert message in str(found.exception)
