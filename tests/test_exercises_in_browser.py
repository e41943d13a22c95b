"""The page of exercises: what is written there is checked in the browser, and no other host is asked."""

import re
from pathlib import Path
from urllib.parse import urlsplit

import in_browser
import pytest
from browsing import PATIENCE, opening, serving

pytestmark = pytest.mark.integration

PAGE = "exercises-in-browser"
FOLDER = in_browser.EXERCISES
NAMES = [path.stem.partition("_")[2] for path in sorted(FOLDER.glob("exercise_*.py"))]
FIRST = NAMES[0]


def solution_of(name):
    return (FOLDER / "solutions" / f"solution_{name}.py").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    yield from serving(tmp_path_factory.mktemp("site"), PAGE)


@pytest.fixture(scope="module")
def opened(site):
    yield from opening(f"{site}{PAGE}.html")


def place(name):
    return f'div.exercise[data-name="{name}"]'


def press(window, name, label):
    window.click(f'{place(name)} button:text-is("{label}")')


def checked(window, name, text):
    """Write a text into the editor of an exercise, check it, and read points, tasks and what is said."""
    window.fill(f"{place(name)} textarea", text)
    press(window, name, "Check")
    window.wait_for_selector(f"{place(name)}[data-points]", timeout=1000 * PATIENCE)
    tasks = {
        row.query_selector("code").inner_text(): row.get_attribute("data-state")
        for row in window.query_selector_all(f"{place(name)} .found > div")
    }
    said = window.evaluate("selector => document.querySelector(selector).textContent", f"{place(name)} .found")
    return int(window.get_attribute(place(name), "data-points")), tasks, said


def test_the_page_has_every_exercise_once():
    text = Path(in_browser.HERE / f"{PAGE}.rst").read_text(encoding="utf-8")
    assert re.findall(r'data-name="(\w+)"', text) == NAMES
    assert re.findall(r"exercise_(\w+)\.py", text) == NAMES


def test_editors_begin_with_the_file_but_for_its_text():
    for name, exercise in in_browser.exercises():
        whole = (FOLDER / f"exercise_{name}.py").read_text(encoding="utf-8")
        assert whole.endswith(exercise["text"])
        assert "**Task 1.**" in whole.removesuffix(exercise["text"])
        assert exercise["text"].startswith("import ")


def test_points_for_what_is_right_and_a_hint_for_what_is_wrong(opened, site):
    window, asked = opened
    points, tasks, _ = checked(window, FIRST, solution_of(FIRST))
    assert points == 10
    assert set(tasks.values()) == {"done"}

    wrong = solution_of(FIRST).replace("0.5 * w @ w", "w @ w", 1)
    assert wrong != solution_of(FIRST)
    points, tasks, said = checked(window, FIRST, wrong)
    assert 0 < points < 10
    assert tasks["objective"] == "wrong"
    assert "factor 1/2" in said
    assert window.inner_text(f"{place(FIRST)} [role=status]") == f"{points} of 10 points"

    # What has been asked for is Python, NumPy and files of this site.
    assert {urlsplit(url).netloc for url in asked} == {urlsplit(site).netloc}
    assert any("numpy" in url for url in asked)
    assert not any("scipy" in url for url in asked)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def objective(w, D, C)\n    return 0.0\n", "SyntaxError"),
        ("def objective(w, D, C):\n    return w.nothing\n", "line 2: return w.nothing"),
        ("import nothing_of_this_name\n", "the file does not run: ModuleNotFoundError"),
    ],
)
def test_code_that_does_not_run_is_shown_with_its_line(opened, text, said):
    points, tasks, found = checked(opened[0], FIRST, text)
    assert points == 0
    assert "wrong" in tasks.values()
    assert said in found


def test_what_is_printed_is_shown(opened):
    _, _, said = checked(opened[0], FIRST, "print('seen', 6 * 7)\n" + solution_of(FIRST))
    assert "seen 42" in said


def test_code_without_end_is_cancelled(opened):
    window, _ = opened
    window.fill(f"{place(FIRST)} textarea", "while True:\n    pass\n")
    press(window, FIRST, "Check")
    window.wait_for_timeout(2000)
    press(window, FIRST, "Cancel")
    assert window.inner_text(f"{place(FIRST)} [role=status]") == "Cancelled"
    assert window.get_attribute(place(FIRST), "data-points") is None
    # The next check has a Python of its own.
    assert checked(window, FIRST, solution_of(FIRST))[0] == 10


def test_text_is_kept_and_begun_anew(opened):
    window, _ = opened
    editor = f"{place(FIRST)} textarea"
    window.fill(editor, "kept = 1\n")
    window.reload()
    assert window.wait_for_selector(editor).input_value() == "kept = 1\n"
    window.once("dialog", lambda dialog: dialog.dismiss())
    press(window, FIRST, "Begin anew")
    assert window.input_value(editor) == "kept = 1\n"
    window.once("dialog", lambda dialog: dialog.accept())
    press(window, FIRST, "Begin anew")
    assert window.input_value(editor) == dict(in_browser.exercises())[FIRST]["text"]
    window.reload()
    assert window.wait_for_selector(editor).input_value() == dict(in_browser.exercises())[FIRST]["text"]


def test_tab_indents_and_takes_back(opened):
    window, _ = opened
    editor = f"{place(FIRST)} textarea"
    window.fill(editor, "a\n\nb")
    window.focus(editor)
    window.keyboard.press("Control+a")
    window.keyboard.press("Tab")
    assert window.input_value(editor) == "    a\n\n    b"
    window.keyboard.press("Shift+Tab")
    assert window.input_value(editor) == "a\n\nb"
    window.keyboard.press("Control+z")
    assert window.input_value(editor) == "    a\n\n    b"
    window.keyboard.press("Escape")
    assert window.evaluate("document.activeElement.tagName") != "TEXTAREA"


#: Tasks that browsers do not check: they need CVXPY or a conic solver, or minutes where loops are not compiled.
ELSEWHERE = {
    "02_outside_the_cone": {"dual_point"},
    "05_oracles": {"cutting_planes"},
    "06_a_misprint": {"lambda_descended"},
    "09_conic_form": {"solve"},
}


@pytest.mark.parametrize("name", NAMES[1:])
def test_solutions_get_all_points_but_for_tasks_that_need_a_solver(opened, name):
    _, tasks, said = checked(opened[0], name, solution_of(name))
    elsewhere = {task for task, state in tasks.items() if state == "not checked here"}
    assert elsewhere == ELSEWHERE.get(name, set())
    assert all(state == "done" for task, state in tasks.items() if task not in elsewhere), said
