"""The core does without the rooms beside it: without one of them, or all, a copy of the package passes its tests."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import convexmetric as cm
from convexmetric import doors
from convexmetric.doors import ROOMS, Door
from convexmetric.errors import NotInstalledError

TESTS = Path(__file__).parent
PACKAGE = Path(cm.__file__).parent
#: Folders of tests of the core whose every test runs where rooms are missing.
CORE = [
    "cones",
    "comparisons",
    "losses",
    "measures",
    "regularizers",
    "risks",
    "papers",
    "certificates",
    "checks",
    "evaluation",
    "features",
]
#: What a user of the core does, in a process of its own.
USE = """
import convexmetric as cm
from convexmetric import doors
from convexmetric.cli import app
wine = cm.datasets.load("wine")
X = cm.datasets.preprocess(wine.X, ["zscore"])
problem = cm.RankingProblem.from_labels(X, wine.y, measure="auc", C=1.0)
solution = cm.solve(problem)
assert cm.audit(problem, solution.M, reference=solution).suboptimality <= 2e-6
cm.check_problem(problem)
verdict = cm.write_certificate("wine.npz", problem, solution=solution)
assert cm.verify("wine.npz").accepted
assert cm.LargeMargin(max_iter=5).fit(X[::4], wine.y[::4]).transform(X).shape == (178, 13)
print("done")
"""


def without(rooms, folder):
    """A copy of the package that lacks some rooms, and the environment in which it is imported."""
    leave = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, folder / "convexmetric", ignore=leave)
    for name in rooms:
        shutil.rmtree(folder / "convexmetric" / name)
    return {**os.environ, "PYTHONPATH": str(folder), "NUMBA_CACHE_DIR": str(folder / "cache")}


def test_rooms_are_found_by_name_and_are_all_that_there_are(monkeypatch):
    assert all(getattr(cm, name) is Door(name).open() for name in ROOMS)
    assert set(ROOMS) <= set(dir(cm))
    with pytest.raises(NotInstalledError, match="this copy of the package has no folder convexmetric/attic"):
        Door("attic").open()
    with pytest.raises(NotInstalledError, match="has no folder convexmetric/attic"):
        Door("attic.box").open()
    # What a room itself lacks is another error.
    monkeypatch.setitem(sys.modules, "convexmetric.bench.records", None)
    monkeypatch.delitem(sys.modules, "convexmetric.bench.profiles", raising=False)
    with pytest.raises(ModuleNotFoundError, match=r"bench\.records"):
        Door("bench.profiles").open()


@pytest.mark.parametrize(
    ("door", "inside"),
    [
        (doors.LIBRARY, doors.Library),
        (doors.DESCENTS, doors.Descents),
        (doors.SPREADING, doors.Spreading),
        (doors.ENGINES, doors.Engines),
        (doors.JUDGEMENTS, doors.Judgements),
    ],
)
def test_behind_a_door_is_what_it_says(door, inside):
    asked = [name for name in vars(inside) if not name.startswith("_")]
    assert asked
    assert all(hasattr(door.open(), name) for name in asked)


@pytest.mark.integration
@pytest.mark.parametrize("missing", [ROOMS, *((name,) for name in ROOMS)], ids=" ".join)
def test_a_user_of_the_core_does_without(missing, tmp_path):
    environment = without(missing, tmp_path)
    done = subprocess.run([sys.executable, "-c", USE], env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "done\n", done.stderr


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("missing", [ROOMS, *((name,) for name in ROOMS)], ids=" ".join)
def test_the_suite_of_the_core_passes_without(missing, tmp_path):
    environment = without(missing, tmp_path)
    # Tests that load an instance or a reader of a room are skipped where it is missing (conftest.py).
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *(str(TESTS / name) for name in CORE)]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 1000
