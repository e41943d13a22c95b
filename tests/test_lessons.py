"""Every lesson runs as it is, without the data folder, and ends in pictures."""

import runpy
import sys
import warnings
from pathlib import Path

import matplotlib.pyplot as pyplot
import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
LESSONS = sorted(EXAMPLES.glob("plot_*.py"))


def test_the_lessons_are_there():
    numbers = [path.name[5:7] for path in LESSONS]
    assert len(set(numbers)) == len(numbers)
    assert {f"{number:02d}" for number in range(16)} <= set(numbers)


@pytest.mark.slow
@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_runs_and_saves_pictures_where_there_is_no_screen(path, monkeypatch, tmp_path, capsys):
    monkeypatch.delenv("CONVEXMETRIC_DATA", raising=False)
    monkeypatch.setattr(sys, "argv", [str(path)])
    monkeypatch.chdir(tmp_path)
    pyplot.switch_backend("Agg")
    pyplot.close("all")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Animation was deleted")
        runpy.run_path(str(path), run_name="__main__")
    assert not pyplot.get_fignums()
    pictures = sorted(tmp_path.glob(f"{path.stem}-*.png"))
    # Indented calls are for those who have a data folder.
    assert len(pictures) == path.read_text(encoding="utf-8").splitlines().count("show_pictures()")
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
