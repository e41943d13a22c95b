"""Every lesson runs as it is, without the data folder, and ends in pictures; exercises are checked by their answers."""

import gc
import importlib
import runpy
import sys
import warnings
from pathlib import Path

import matplotlib.pyplot as pyplot
import numpy as np
import pytest
from legible import faults

from convexmetric.plotting import show_pictures

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
LESSONS = sorted(EXAMPLES.glob("plot_*.py"))
EXERCISES = sorted((EXAMPLES / "exercises").glob("exercise_*.py"))


def test_the_lessons_are_there():
    numbers = [path.name[5:7] for path in LESSONS]
    assert len(set(numbers)) == len(numbers)
    assert {f"{number:02d}" for number in range(13)} <= set(numbers)
    assert len(EXERCISES) >= 4


@pytest.mark.slow
@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_runs_and_saves_pictures_where_there_is_no_screen(path, monkeypatch, tmp_path, capsys):
    monkeypatch.delenv("CONVEXMETRIC_DATA", raising=False)
    monkeypatch.setattr(sys, "argv", [str(path)])
    monkeypatch.chdir(tmp_path)
    pyplot.switch_backend("Agg")
    pyplot.close("all")
    found = []

    def show():
        found.extend(fault for number in pyplot.get_fignums() for fault in faults(pyplot.figure(number)))
        return show_pictures()

    monkeypatch.setattr("convexmetric.plotting.show_pictures", show)
    with warnings.catch_warnings(record=True) as warned, pyplot.rc_context():
        runpy.run_path(str(path), run_name="__main__")
        gc.collect()
    assert not [warning for warning in warned if "Animation was deleted" in str(warning.message)]
    assert not found
    assert not pyplot.get_fignums()
    pictures = sorted(tmp_path.glob(f"{path.stem}-*.png"))
    text = path.read_text(encoding="utf-8")
    # The last picture of some needs the data folder.
    assert len(pictures) == text.count("show_pictures()") - ('environ.get("CONVEXMETRIC_DATA")' in text)
    printed = capsys.readouterr().out
    for picture in pictures:
        assert str(picture) in printed
        assert pyplot.imread(picture).std() > 0.01


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_has_a_title_prose_and_code(path):
    text = path.read_text(encoding="utf-8")
    docstring = text.split('"""')[1].strip().splitlines()
    assert set(docstring[1]) == {"="}
    assert len(docstring[1]) == len(docstring[0])
    cells = text.split("\n# %%\n")[1:]
    assert len(cells) >= 2
    assert all(cell.startswith("# ") for cell in cells)


@pytest.mark.parametrize("path", EXERCISES, ids=lambda path: path.stem)
def test_the_site_shows_every_exercise_with_its_solution(path):
    page = (EXAMPLES.parent / "docs" / "exercises.rst").read_text(encoding="utf-8")
    solution = path.parent / "solutions" / path.name.replace("exercise", "solution")
    for file in (path, solution):
        text = file.read_text(encoding="utf-8")
        assert f"../{file.relative_to(EXAMPLES.parent).as_posix()}" in page
        # Where the page cuts the files.
        assert "import numpy as np" in text
        assert text.startswith('r"""')


def parts(path):
    exercise = importlib.import_module(f"exercises.{path.stem}")
    solution = importlib.import_module(f"exercises.solutions.{path.stem.replace('exercise', 'solution')}")
    return exercise, solution


@pytest.mark.parametrize("path", EXERCISES, ids=lambda path: path.stem)
def test_the_solution_passes_the_check_and_the_blank_does_not(path):
    exercise, solution = parts(path)
    with pytest.raises(NotImplementedError):
        exercise.check()
    exercise.check(*(getattr(solution, name) for name in exercise.TASKS))


def spoiled(number):
    return 1.01 * np.asarray(number) + 1e-3


@pytest.mark.parametrize("path", EXERCISES, ids=lambda path: path.stem)
def test_wrong_answers_do_not_pass(path):
    exercise, solution = parts(path)
    answers = [getattr(solution, name) for name in exercise.TASKS]
    for number, answer in enumerate(answers):

        def wrong(*arguments, answer=answer):
            found = answer(*arguments)
            return tuple(map(spoiled, found)) if isinstance(found, tuple) else spoiled(found)

        with pytest.raises(AssertionError):
            exercise.check(*answers[:number], wrong, *answers[number + 1 :])
