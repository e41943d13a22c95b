"""Browsers have no numba: there the package, the pages with sliders and the exercises run in plain Python."""

import json
import os
import re
import subprocess
import sys

import in_browser
import numpy as np
import plain_python
import pytest


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """What comes out of the files that browsers get, where no loop is compiled and a division by zero is an error."""
    pages = tmp_path_factory.mktemp("pages")
    for name, data in in_browser.sources():
        (pages / name).parent.mkdir(parents=True, exist_ok=True)
        (pages / name).write_bytes(data)
    path = os.pathsep.join(
        map(str, (pages, pages / "docs", pages / "examples", pages / "examples" / "exercises", in_browser.HERE))
    )
    environment = {**os.environ, "MPLBACKEND": "Agg", "PYTHONPATH": path}
    command = [sys.executable, "-W", "error::RuntimeWarning", plain_python.__file__]
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_objectives_are_those_of_compiled_loops(plain):
    for name, values in plain_python.objectives().items():
        assert np.allclose(plain[0][name], values, rtol=1e-12, atol=0.0), name


def test_pages_with_sliders_say_the_same(plain):
    texts = plain_python.texts()
    assert len(plain[1]) == len(texts) == 4
    for here, there in zip(texts, plain[1], strict=True):
        numbers = [np.array(re.findall(r"-?\d[\d.]*(?:e-\d+)?", text), dtype=float) for text in (here, there)]
        assert numbers[0].size > 5
        assert np.allclose(*numbers, rtol=1e-4, atol=2e-6), there


def test_every_block_is_solved(plain):
    assert set(plain[2]) == set(plain_python.REPRESENTATIVES)
    assert max(plain[2].values()) <= 1e-2


def test_solutions_of_exercises_get_all_points_that_browsers_give(plain):
    exercises = dict(in_browser.exercises())
    assert set(plain[3]) == set(exercises)
    for name, said in plain[3].items():
        states = {result["task"]: result["status"] for result in said["results"]}
        assert {task for task, state in states.items() if state != "done"} == set(exercises[name]["elsewhere"]), said
