"""The page of exercises: what is written there is checked in the browser, and no other host is asked."""

import importlib
import re
from urllib.parse import urlsplit

import in_browser
import pytest
from browsing import PATIENCE, markup, opening, serving
from exercises import checking

pytestmark = pytest.mark.integration

PAGE = "exercises"
FOLDER = in_browser.EXERCISES
NAMES = [path.stem.partition("_")[2] for path in sorted(FOLDER.glob("exercise_*.py"))]
FIRST = "06_weak_duality"
#: Tasks that browsers do not check: they need CVXPY or a conic solver, or minutes where loops are not compiled.
ELSEWHERE = {
    "01_a_statement": {"statement", "intervals"},
    "10_outside_the_cone": {"dual_point"},
    "04_oracles": {"cutting_planes"},
    "05_a_misprint": {"lambda_descended"},
    "09_conic_form": {"solve"},
}


def solution_of(name):
    return (FOLDER / "solutions" / f"solution_{name}.py").read_text(encoding="utf-8")


@pytest.fixture
def exercising():
    # From here on its module "checking" is known.
    checking.checks_of(FIRST)
    return importlib.import_module("browser.exercising")


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
    assert re.findall(r'data-name="(\w+)"', markup(PAGE)) == NAMES


def test_editors_begin_with_the_blanks_of_the_file_and_no_more():
    for name, exercise in in_browser.exercises():
        whole = (FOLDER / f"exercise_{name}.py").read_text(encoding="utf-8")
        left = whole.split('"""', 2)[2]
        for line in exercise["text"].splitlines():
            assert line in left
        assert exercise["text"].startswith("import ")
        assert "STARS" not in exercise["text"]
        assert "__name__" not in exercise["text"]
        found = checking.results_of_text(name, exercise["text"])
        assert {result.status for result in found} == {checking.BLANK}
        assert [result.task for result in found] == list(checking.checks_of(name))


def test_tasks_that_browsers_do_not_check_are_named_in_the_text():
    assert {name: set(one["elsewhere"]) for name, one in in_browser.exercises() if one["elsewhere"]} == ELSEWHERE


@pytest.mark.parametrize("text", ["", solution_of(FIRST)])
def test_a_task_of_elsewhere_is_never_checked(exercising, text):
    found = exercising.check(FIRST, text, ["bound"])["results"]
    (bound,) = (one for one in found if one["task"] == "bound")
    assert (bound["status"], bound["points"], bound["possible"]) == (checking.ELSEWHERE, 0, 5)
    assert {one["status"] for one in found if one["task"] != "bound"} == {checking.DONE if text else checking.BLANK}


def test_of_what_is_printed_the_beginning_is_shown(exercising):
    text = f"for k in range(3):\n    print('a' * {exercising.SHOWN // 2})\n{solution_of(FIRST)}"
    found = exercising.check(FIRST, text)
    assert sum(one["points"] for one in found["results"]) == 10
    assert found["printed"].replace("\n", "").startswith("a" * (exercising.SHOWN - 2))
    assert len(found["printed"]) < exercising.SHOWN + 100
    assert "only the first" in found["printed"]
    assert "only the first" not in exercising.check(FIRST, f"print('a' * {exercising.SHOWN - 1})")["printed"]


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
    assert window.inner_text(f"{place(FIRST)} [role=status]").startswith(f"{points} of 10 points. Checked in ")

    # What has been asked for is Python, NumPy and files of this site.
    assert {urlsplit(url).netloc for url in asked} == {urlsplit(site).netloc}
    assert any("numpy" in url for url in asked)
    assert not any("scipy" in url for url in asked)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = 1\ndef objective(w, D, C)\n    return 0.0\n", "SyntaxError: expected ':', line 2: def objective"),
        ("import nothing_of_this_name\n", "ModuleNotFoundError: No module named 'nothing_of_this_name', line 1: "),
        ("\nexit(3)\n", "the text ends Python: SystemExit: 3, line 2: exit(3)"),
    ],
)
def test_what_stops_a_text_is_shown_once_with_its_line(opened, text, said):
    points, tasks, found = checked(opened[0], FIRST, text)
    assert (points, tasks) == (0, {})
    assert found.startswith(f"Nothing was checked: {said}")


def test_what_an_answer_raises_is_shown_with_its_line(opened):
    points, tasks, found = checked(opened[0], FIRST, "def objective(w, D, C):\n    return w.nothing\n")
    assert (points, tasks["objective"]) == (0, "wrong")
    assert "line 2: return w.nothing" in found


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


def test_a_second_check_stops_the_first_and_says_so(opened):
    window, _ = opened
    second = "07_kkt_by_hand"
    for name in (FIRST, second):
        window.fill(f"{place(name)} textarea", "while True:\n    pass\n")
        press(window, name, "Check")
        window.wait_for_timeout(500)
    said = "Stopped: another exercise was to be checked"
    assert window.inner_text(f"{place(FIRST)} [role=status]") == said
    press(window, second, "Cancel")
    assert window.inner_text(f"{place(second)} [role=status]") == "Cancelled"
    assert window.inner_text(f"{place(FIRST)} [role=status]") == said


def test_code_in_hints_is_shown_as_code(opened):
    window, _ = opened
    _, tasks, _ = checked(window, FIRST, "def objective(w, D, C):\n    x = w @ w\n")
    assert tasks["objective"] == "wrong"
    assert window.text_content(f"{place(FIRST)} details code") == "return"


def test_scipy_is_loaded_for_a_text_that_imports_it(opened):
    window, _ = opened
    text = f"{solution_of(FIRST)}\nimport scipy.linalg as sl\nprint(sl.norm([3.0, 4.0]))\n"
    points, _, said = checked(window, FIRST, text)
    assert points == 10
    assert "5.0" in said


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


def test_enter_goes_on_where_the_line_before_began_and_control_enter_checks(opened):
    window, _ = opened
    editor = f"{place(FIRST)} textarea"
    window.fill(editor, "")
    window.focus(editor)
    for line in ("def one():  # of them", "return 1"):
        window.keyboard.type(line)
        window.keyboard.press("Enter")
    assert window.input_value(editor) == "def one():  # of them\n    return 1\n    "
    window.keyboard.press("Control+Enter")
    window.wait_for_selector(f"{place(FIRST)}[data-points]", timeout=1000 * PATIENCE)
    assert window.evaluate("document.activeElement.tagName") == "TEXTAREA"
    window.keyboard.press("Escape")
    assert window.evaluate("document.activeElement.textContent") == "Check"
    window.keyboard.press("Enter")
    window.wait_for_selector(f"{place(FIRST)}[data-points]", timeout=1000 * PATIENCE)
    assert window.evaluate("document.activeElement.textContent") == "Check"


def test_points_are_kept_and_added_up_and_old_ones_are_dimmed(opened):
    window, _ = opened
    assert checked(window, FIRST, solution_of(FIRST))[0] == 10
    third = "07_kkt_by_hand"
    points = checked(window, third, dict(in_browser.exercises())[third]["text"])[0]
    assert points == 0
    assert window.query_selector(f"{place(FIRST)} .old") is None
    window.type(f"{place(FIRST)} textarea", " ")
    assert window.query_selector(f"{place(FIRST)} .old")
    window.reload()
    window.wait_for_selector(f"{place(FIRST)} textarea")
    assert window.inner_text(f"{place(FIRST)} [role=status]") == "Last check: 10 of 10 points."
    assert window.inner_text(".total") == "Checked so far: 10 points in 2 of 12 exercises."
    window.once("dialog", lambda dialog: dialog.accept())
    press(window, FIRST, "Begin anew")
    assert window.inner_text(".total") == "Checked so far: 0 points in 1 of 12 exercises."


def failing(window, name):
    """Check an exercise that cannot be, and read what is said."""
    press(window, name, "Check")
    window.wait_for_selector(f"{place(name)}:not(:has(button[aria-disabled]))", timeout=1000 * PATIENCE)
    assert window.get_attribute(place(name), "data-points") is None
    return window.inner_text(f"{place(name)} [role=status]")


@pytest.fixture
def fresh(opened):
    """A window of a browser that has kept nothing."""
    context = opened[0].context.browser.new_context()
    yield context.new_page()
    context.close()


def test_what_cannot_be_loaded_is_named_and_can_be_tried_again(fresh, site):
    fresh.goto(f"{site}{PAGE}.html")
    fresh.wait_for_selector(f"{place(FIRST)} textarea")
    for file in ("pyodide.asm.wasm", "pyodide.mjs", "pages.zip", "numpy-*"):
        pattern = f"**/{file}"
        fresh.context.route(pattern, lambda route: route.abort())
        said = failing(fresh, FIRST)
        assert "are you offline?" in said
        assert file.partition("-")[0] in said
        fresh.context.unroute(pattern)
    fresh.context.route("**/pyodide.asm.wasm", lambda route: route.fulfill(status=404))
    assert "This site has no pyodide/pyodide.asm.wasm: 404" in failing(fresh, FIRST)
    fresh.context.unroute("**/pyodide.asm.wasm")
    assert checked(fresh, FIRST, solution_of(FIRST))[0] == 10
    # A Python that does not come leaves the one that works.
    fresh.context.route("**/_static/**", lambda route: route.abort())
    assert "are you offline?" in failing(fresh, "11_sgd_audited")
    assert checked(fresh, FIRST, solution_of(FIRST))[0] == 10


def test_a_page_without_its_editors_says_so(fresh, site):
    fresh.route("**/exercises.json", lambda route: route.abort())
    fresh.goto(f"{site}{PAGE}.html")
    fresh.wait_for_selector(".versions:not(:empty)")
    assert fresh.inner_text(".versions").startswith("No editors, as exercises.json could not be loaded: ")


@pytest.mark.parametrize("name", NAMES)
def test_solutions_get_all_points_but_for_tasks_that_need_a_solver(opened, name):
    """Integers of this Python have 32 bits, which nothing else here shows."""
    window, _ = opened
    points, tasks, said = checked(window, name, solution_of(name))
    elsewhere = {task for task, state in tasks.items() if state == "not checked here"}
    assert elsewhere == ELSEWHERE.get(name, set())
    assert all(state == "done" for task, state in tasks.items() if task not in elsewhere), said
    more = sum(checking.checks_of(name)[task].points for task in elsewhere)
    assert points == 10 - more
    total = f"{points} of {points} points{f'; {more} more with the file' if more else ''}. Checked in "
    assert window.inner_text(f"{place(name)} [role=status]").startswith(total)


def test_formulas_that_scroll_and_no_others_can_be_reached_by_tab(fresh):
    def reached():
        fresh.wait_for_timeout(200)
        return fresh.eval_on_selector_all("div.math", "found => found.map(one => one.getAttribute('tabindex'))")

    fresh.set_viewport_size({"width": 400, "height": 600})
    fresh.set_content(
        "<style>div.math { overflow: auto }</style>"
        "<div class=math><p style='width: 700px'>wide</p></div><div class=math>narrow</div>"
    )
    fresh.add_script_tag(path=in_browser.HERE / "_static" / "formulas.js")
    fresh.set_viewport_size({"width": 390, "height": 600})
    assert reached() == ["0", None]
    fresh.set_viewport_size({"width": 1000, "height": 600})
    assert reached() == [None, None]
