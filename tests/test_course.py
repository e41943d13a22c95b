"""The course: slides build from its pages, what it names exists, and what solutions of the homework claim is true."""

import importlib
import inspect
import re
import sys
import zipfile
from fractions import Fraction
from itertools import combinations, permutations
from math import fsum, sqrt
from pathlib import Path

import course
import cvxpy as cp
import legible
import numpy as np
import pytest
import slides
import take_away

import convexmetric as cm
from convexmetric.solvers.cuts import plain

DOCS = Path(__file__).resolve().parent.parent / "docs"
LECTURES = slides.LECTURES
SYLLABUS = (DOCS / "lessons.md").read_text(encoding="utf-8")
HOMEWORK = (DOCS / "course" / "homework.md").read_text(encoding="utf-8")
NAMES = [page.stem for page in LECTURES]


def text_of(page):
    return page.read_text(encoding="utf-8")


def section(text, heading):
    return text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def minimum(*objective_and_constraints):
    objective, *constraints = objective_and_constraints
    return cp.Problem(cp.Minimize(objective), constraints).solve(solver="CLARABEL")


# Plan, pages and slides


def plan():
    """For each lecture of the syllabus the numbers of its lessons and exercises."""
    rows = [row.split("|")[2:4] for row in SYLLABUS.splitlines() if "](course/lecture-" in row]
    return [[[int(number) for number in re.findall(r"\[(\d+)", cell)] for cell in row] for row in rows]


def test_there_are_four_lectures():
    assert [name[:9] for name in NAMES] == ["lecture-1", "lecture-2", "lecture-3", "lecture-4"]
    assert len(plan()) == 4
    for page in LECTURES:
        assert f"(course/{page.name})" in SYLLABUS
        assert f"\ncourse/{page.stem}\n" in SYLLABUS


def test_a_number_of_the_plan_leads_to_the_lesson_or_exercise_that_has_it():
    links = re.findall(r"\[(\d+)[^]]*\]\(\.\./examples/(?:plot_|exercises/exercise_)(\d+)", SYLLABUS)
    numbers = [number for lessons, exercises in plan() for number in lessons + exercises]
    assert [int(said) for said, _ in links] == [*numbers, 7, 8, 9, 11]
    assert all(int(said) == int(meant) for said, meant in links)


def test_every_exercise_is_in_exactly_one_lecture():
    there = [int(path.stem[9:11]) for path in (slides.HERE / "exercises").glob("exercise_*.py")]
    assert sorted(number for _, exercises in plan() for number in exercises) == sorted(there)
    for page, (_, exercises) in zip(LECTURES, plan(), strict=True):
        homework = section(text_of(page), "Homework").partition("\n")[2]
        named = re.search(r"Exercises? (.*)", homework)[1]
        assert [int(number) for number in re.findall(r"\[(\d+)\]", named)] == exercises


def test_an_exercise_names_the_lecture_and_the_lessons_before_it():
    for lecture, (lessons, exercises) in enumerate(plan(), 1):
        for number in exercises:
            (path,) = (slides.HERE / "exercises").glob(f"exercise_{number:02}_*.py")
            line = re.search(r"^Before: lessons (.*) \(lecture (\d)\)\. ★+$", text_of(path), re.MULTILINE)
            assert [int(lesson) for lesson in re.findall(r"\d+", line[1])] == lessons
            assert int(line[2]) == lecture


def test_every_lesson_exists_and_is_read_before_its_lecture():
    numbers = {path.stem: int(path.stem[5:7]) for path in slides.HERE.glob("plot_*.py")}
    for page, (lessons, _) in zip(LECTURES, plan(), strict=True):
        text = text_of(page)
        named = re.findall(r"\d\. [^]]*\]\(\.\./\.\./examples/(plot_\w+)\.py", text)
        assert sorted({numbers[name] for name in named}) == lessons
        assert {numbers[name] for name in slides.lessons_of(text)} <= set(lessons)
    timed = re.findall(r"(\d+): \d+", SYLLABUS.partition("lesson: seconds")[2].partition("## ")[0])
    assert [int(number) for number in timed] == [number for lessons, _ in plan() for number in lessons]


def test_every_question_has_points_a_solution_and_a_test_here():
    for number in range(1, 5):
        assert f"{number}.1 to {number}.4 |" in SYLLABUS
        part = section(HOMEWORK, f"Lecture {number}")
        assert re.findall(r"\*\*Question (\d\.\d)\.\*\*", part) == [f"{number}.{k}" for k in range(1, 5)]
        assert part.count("\n<details><summary>Solution</summary>\n\n") == part.count("\n\n</details>\n") == 4
        assert all(any(name.startswith(f"test_{number}_{k}_") for name in globals()) for k in range(1, 5))


@pytest.mark.parametrize("page", LECTURES, ids=NAMES)
def test_a_lecture_has_headings_questions_with_answers_and_things_to_say(page):
    text = text_of(page)
    assert 12 <= len(re.findall(r"^##? ", text, re.MULTILINE)) <= 19
    questions = re.findall(r"^> .+\n\n<details><summary>Answer</summary>\n\n.+", text, re.MULTILINE)
    assert len(questions) == len(re.findall("^> ", text, re.MULTILINE)) == len(slides.ANSWER.findall(text)) >= 6
    assert len(re.findall(r"^\[Picture ", text, re.MULTILINE)) == len(slides.PICTURE.findall(text)) >= 3
    assert not re.search(r":::|\{(doc|func|class)\}", text)


@pytest.fixture
def drawn(tmp_path):
    pyplot = importlib.import_module("matplotlib.pyplot")
    for page in LECTURES:
        for number, _, name in slides.PICTURE.findall(text_of(page)):
            pyplot.imsave(tmp_path / f"{name}-{number}.png", np.eye(3))
    return tmp_path


def test_slides_are_built_and_need_nothing_else(drawn, tmp_path, monkeypatch, capsys):
    pytest.importorskip("math_core")
    pytest.importorskip("sphinx")
    monkeypatch.setattr(sys, "argv", ["slides.py", str(tmp_path / "made"), "--pictures", str(drawn)])
    slides.main()
    assert capsys.readouterr().out.count(".html") == 4
    for page in LECTURES:
        source, made = text_of(page), (tmp_path / "made" / f"{page.stem}.html").read_text(encoding="utf-8")
        # A picture fills a slide: besides it there is the heading, and what else there is comes on another one.
        shown = re.findall(r"<section .*?</section>", made, re.DOTALL)
        assert all(slide.count("\n") == 2 and slide.count("</h") == 1 for slide in shown if "<figure>" in slide)
        assert len(shown) >= len(re.findall(r"^##? ", source, re.MULTILINE))
        assert not re.search('alt=""', made)
        assert made.count('class="question"') == source.count("\n> ")
        assert made.count("<img ") == len(slides.PICTURE.findall(source)) >= 3
        assert made.count('display="block"') == len(re.findall(r"^\$\$", source, re.MULTILINE))
        shown = re.sub(r"<style>.*?</style>|<math.*?</math>|<pre>.*?</pre>|data:[^\"]*", "", made, flags=re.DOTALL)
        assert not re.search(r"<script|https?://|<link|\$|:::|details", shown)
        assert "To read before" not in shown
        assert all(address.startswith("data:") for address in re.findall(r'(?:src=|url\()"([^"]*)"', made))


@pytest.mark.parametrize("shape", [(1, 1), (2, 1), (3, 2), (1, 3)])
def test_a_picture_for_a_room_has_letters_that_the_last_row_reads(shape):
    pyplot = importlib.import_module("matplotlib.pyplot")
    figure, axes = pyplot.subplots(*shape, figsize=(4.8, 7.0), layout="constrained", squeeze=False, sharex=True)
    for ax in axes.flat:
        ax.plot([1, 2], [3, 4], label="a line")
        ax.legend(fontsize="xx-small")
    ax.set_xlabel("below all")
    slides.for_a_room(figure)
    width, height = figure.get_size_inches()
    # What a heading, a caption and margins leave of 1,280 x 720 pixels, measured in Chromium.
    pixels = min(1144 / width, 520 / height)
    assert min(text.get_fontsize() for text in legible.written(figure)) * pixels / 72 >= 20
    assert not [fault for fault in legible.faults(figure, width=width) if "cut off" in fault]
    pyplot.close(figure)


def test_a_class_takes_away_slides_questions_and_exercises_and_no_answers(drawn, tmp_path, monkeypatch):
    pytest.importorskip("math_core")
    pytest.importorskip("sphinx")
    monkeypatch.setattr(sys, "argv", ["take_away.py", str(tmp_path / "made"), "--pictures", str(drawn)])
    monkeypatch.setattr(take_away.check_pages, "browser_path", lambda: None)
    take_away.main()
    made = {path.name for path in (tmp_path / "made").iterdir()}
    assert made == {*(f"{name}.html" for name in NAMES), "questions.html", "exercises.zip", "course.zip"}
    page = (tmp_path / "made" / "questions.html").read_text(encoding="utf-8")
    assert page.count("<strong>Question ") == 16
    assert not re.search(r"Solution|:::|\$", page)
    solutions, everything, exercises = (zipfile.ZipFile(path).namelist() for path in sorted(tmp_path.rglob("*.zip")))
    pages = made - {"exercises.zip", "course.zip"}
    assert set(everything) == pages | {f"exercises/{name}" for name in exercises}
    archives = [solutions, exercises]
    for names, kind in zip(archives, ("solution", "exercise"), strict=True):
        assert sum(name.startswith(f"{kind}_") for name in names) == 24
        assert {"checking.py", "wine.csv", "checks/06_weak_duality.py"} <= set(names)
    assert not [name for name in archives[1] if "solution" in name or "answers" in name]
    assert "answers.html" in archives[0]


def test_what_slides_do_not_know_is_an_error(tmp_path):
    pytest.importorskip("math_core")
    pytest.importorskip("sphinx")
    page = tmp_path / "lecture.md"
    page.write_text("# A lecture\n\n:::{film} 1\n:::\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="film"):
        list(slides.slides_of(page, tmp_path))


def test_pictures_that_are_missing_are_drawn(tmp_path, monkeypatch):
    lesson = tmp_path / "plot_99_small.py"
    lesson.write_text(
        "import matplotlib.pyplot as plt\nfrom convexmetric.plotting import show_pictures\n"
        "plt.plot([1, 2])\nprint('drawn')\nshow_pictures()\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(slides, "HERE", tmp_path)
    (tmp_path / "pictures").mkdir()
    slides.draw("plot_99_small", tmp_path / "pictures")
    assert {path.name for path in (tmp_path / "pictures").iterdir()} == {"plot_99_small-1.png", "plot_99_small.txt"}
    assert "drawn" in (tmp_path / "pictures" / "plot_99_small.txt").read_text(encoding="utf-8")
    lesson.write_text("raise ValueError('broken lesson')", encoding="utf-8")
    with pytest.raises(SystemExit, match="broken lesson"):
        slides.draw("plot_99_small", tmp_path / "pictures")


@pytest.mark.slow
@pytest.mark.parametrize("page", LECTURES, ids=NAMES)
def test_what_a_lecture_quotes_is_printed_by_its_lessons(page, tmp_path):
    text = text_of(page)
    lessons = set(re.findall(r"\.\./examples/(plot_\w+)\.py", text))
    for lesson in lessons:
        slides.draw(lesson, tmp_path)
    printed = "\n".join((tmp_path / f"{lesson}.txt").read_text(encoding="utf-8") for lesson in lessons)
    for number, _, name in slides.PICTURE.findall(text):
        assert (tmp_path / f"{name}-{number}.png").is_file()
    quoted = [line for block in re.findall(r"```text\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    assert len(quoted) >= 4
    assert not [line for line in quoted if not any(alike(line, there) for there in printed.splitlines())]


#: A number, its decimals and its exponent.
NUMBER = re.compile(r"(-?\d+(?:\.(\d+))?(?:e([-+]\d+))?)")


def alike(quoted, printed):
    """Whether a line has the words of a quotation in a row, numbers but for a last digit or for 1e-9."""
    wanted, words = ([word.rstrip(",;") for word in line.split()] for line in (quoted, printed))
    return any(
        all(same(*both) for both in zip(wanted, words[at : at + len(wanted)], strict=True))
        for at in range(len(words) - len(wanted) + 1)
    )


def same(word, other):
    numbers, others = NUMBER.findall(word), NUMBER.findall(other)
    if NUMBER.sub("#", word) != NUMBER.sub("#", other):
        return False
    for (text, decimals, exponent), (there, *_) in zip(numbers, others, strict=True):
        unit, number = 10.0 ** (int(exponent or 0) - len(decimals)), float(text)
        if abs(number - float(there)) > (1.01 * unit if decimals else 0.0) + 1e-9 * abs(number):
            return False
    return True


def test_lessons_that_are_cited_by_number_are_linked():
    said = course.linked("Before: lessons 5 and 14 (lecture 3), and\nlesson\n0.")
    assert said.count(":doc:`") == 3
    assert ":doc:`14 </gallery/plot_14_from_the_paper_to_the_cone>` (lecture 3)" in said


# What the lectures say without a lesson


def test_the_root_of_a_distance_obeys_the_triangle_inequality_and_the_square_does_not():
    points, rng = [0.0, 1.0, 2.0], np.random.default_rng(0)
    assert (points[2] - points[0]) ** 2 > (points[1] - points[0]) ** 2 + (points[2] - points[1]) ** 2
    for _ in range(100):
        L, (x, y, z) = rng.normal(size=(3, 3)), rng.normal(size=(3, 3))
        assert np.linalg.norm(L @ (x - z)) <= np.linalg.norm(L @ (x - y)) + np.linalg.norm(L @ (y - z)) + 1e-12


def test_losses_of_the_table_are_those_of_the_package():
    rng = np.random.default_rng(1)
    X, M = rng.normal(size=(6, 2)), np.array([[0.3, 0.1], [0.1, 0.2]])
    d = np.einsum("ijf,fg,ijg->ij", X[:, None] - X, M, X[:, None] - X)
    triplets = np.array([[0, 1, 2], [3, 4, 5]])
    s = np.array([d[i, k] - d[i, j] for i, j, k in triplets])
    problem = cm.TripletProblem(X, triplets, reg=0.1, margin=0.7)
    assert problem.risk.value(M) == pytest.approx(np.maximum(0.0, 0.7 - s).mean())
    pairs, r, gamma = np.array([[0, 1], [2, 3], [4, 5]]), np.array([1, -1, 1]), 0.5
    pair_problem = cm.PairMarginProblem(X, pairs, r, reg=0.1, margin=gamma)
    s = -r * np.array([d[i, j] for i, j in pairs])
    assert pair_problem.risk.value(M) == pytest.approx((np.maximum(0.0, gamma - r - s) / gamma).mean())


def test_a_program_of_lecture_one_is_that_of_the_package():
    rng = np.random.default_rng(2)
    X, C, triplets = rng.normal(size=(8, 2)), 0.3, [tuple(rng.permutation(8)[:3]) for _ in range(6)]
    Delta = {(i, j): (X[i] - X[j]) ** 2 for i in range(8) for j in range(8)}
    code = re.search(r"```py\n(.*?)```", section(text_of(LECTURES[0]), "Reading a program"), re.DOTALL)[1]
    names = {"cp": cp, "triplets": triplets, "Delta": Delta, "C": C}
    exec(code, names)
    solution = cm.solve(cm.RelativeComparisonProblem(X, triplets, C=C), tol=1e-8)
    assert names["program"].solve(solver="CLARABEL") == pytest.approx(solution.upper_bound, rel=1e-6)
    near = cp.sqrt(names["w"] @ Delta[0, 1])
    assert not (cp.sqrt(names["w"] @ Delta[0, 2]) - near >= 1).is_dcp()


def test_a_logistic_loss_is_a_maximum_of_lines():
    u = np.linspace(1e-9, 1 - 1e-9, 200_001)
    for s in (-2.0, 0.0, 0.5, 3.0):
        lines = -u * np.log(u) - (1 - u) * np.log(1 - u) - u * s
        assert lines.max() == pytest.approx(np.log1p(np.exp(-s)), abs=1e-9)


def test_a_multiplier_outside_of_its_box_can_claim_too_much():
    u, weight = 1 / 9, 0.01
    formula, at_zero = u - 4.5 * u**2, weight * 1.0
    assert formula == pytest.approx(1 / 18)
    assert formula > at_zero


def test_the_best_share_of_multipliers():
    rng = np.random.default_rng(3)
    for _ in range(20):
        total, square, lam = rng.uniform(0.1, 2.0, 3)
        best = min(1.0, lam * total / square)
        values = [theta * total - theta**2 * square / (2 * lam) for theta in np.linspace(0.0, 1.0, 1001)]
        assert best * total - best**2 * square / (2 * lam) >= max(values) - 1e-12


def test_weak_duality_with_a_residual():
    rng = np.random.default_rng(4)
    for _ in range(100):
        A, x, q, z = rng.normal(size=(5, 3)), rng.normal(size=3), rng.normal(size=3), rng.random(5)
        g = A @ x + rng.random(5)
        r = q + A.T @ z
        assert q @ x == pytest.approx(r @ x + z @ (g - A @ x) - g @ z)
        assert q @ x >= -g @ z + r @ x - 1e-9
        assert q @ x >= -g @ z - np.linalg.norm(x) * np.linalg.norm(r) - 1e-9


def test_floats_lie_as_lecture_four_says():
    assert 0.1 + 0.2 != 0.3
    assert (1e16 + 1.0) - 1e16 == 0.0
    numbers = [1.0, 1e100, 1.0, -1e100]
    total = 0.0
    for number in numbers:
        total += number
    assert total == 0.0
    assert fsum(numbers) == 2.0 == sum(map(Fraction, numbers))
    # Of this matrix the least eigenvalue is zero; what comes out is zero but for rounding, of whatever sign.
    assert abs(np.linalg.eigvalsh(np.ones((3, 3)))[0]) < 1e-14


def test_a_hint_proves_that_a_matrix_is_semidefinite():
    rng = np.random.default_rng(5)
    for _ in range(200):
        K, C, e = rng.normal(size=(3, 3)), rng.normal(size=(3, 3)), rng.uniform(0.0, 3.0)
        K = C @ C.T + 0.3 * (K + K.T)
        if np.linalg.norm(K - e * np.eye(3) - C @ C.T) <= e:
            assert np.linalg.eigvalsh(K)[0] >= -1e-12


def test_numbers_of_lecture_three_are_fractions():
    (x0, x1, x2, x3), lam = ((0, 1), (2, 1), (0, 0), (0, 3)), Fraction(2)

    def comparison(i, j, k):
        far, near = ([a - b for a, b in zip(i, other, strict=True)] for other in (k, j))
        return [[far[f] * far[g] - near[f] * near[g] for g in (0, 1)] for f in (0, 1)]

    D = [comparison(x0, x2, x3), comparison(x1, x3, x0), comparison(x2, x0, x1)]
    u, R = [Fraction(1, 3), Fraction(1, 4), Fraction(0)], Fraction(1, 4)
    A = [[sum(weight * one[f][g] for weight, one in zip(u, D, strict=True)) for g in (0, 1)] for f in (0, 1)]
    # Its positive part is half of the matrix of ones, lambda R, and what it lacks is semidefinite.
    assert A == [[0, 1], [1, 0]]
    assert lam * R == Fraction(1, 2)
    margins = [sum(R * entry for row in one for entry in row) for one in D]
    assert margins == [Fraction(3, 4), 1, 2]
    primal = lam / 2 * 4 * R**2 + sum(max(Fraction(0), 1 - margin) for margin in margins) / 3
    assert primal == sum(u) - 4 * (lam * R) ** 2 / (2 * lam) == Fraction(1, 3)


def test_a_gap_where_nothing_is_strictly_feasible():
    M = cp.Variable((2, 2), PSD=True)
    for epsilon, expected in ((1.0, -1.0), (1e-2, -1.0)):
        assert minimum(M[0, 1], M[0, 0] <= epsilon, M[0, 1] >= -1) == pytest.approx(expected, abs=1e-5)
    # With M_11 = 0 the matrix [[0, m], [m, t]] has the determinant -m^2, whatever t is.
    assert np.linalg.eigvalsh([[0.0, -0.1], [-0.1, 1e6]])[0] < 0.0


# Homework, lecture 1


def test_1_1_which_matrices_are_metrics():
    for a in np.linspace(-1.5, 1.5, 61):
        two, three = ((1 - a) * np.eye(d) + a * np.ones((d, d)) for d in (2, 3))
        assert np.allclose(np.linalg.eigvalsh(two), sorted([1 - a, 1 + a]))
        assert np.allclose(np.linalg.eigvalsh(three), sorted([1 - a, 1 - a, 1 + 2 * a]))
        assert (np.linalg.eigvalsh(two)[0] >= -1e-12) == (abs(a) <= 1 + 1e-9)
        assert (np.linalg.eigvalsh(three)[0] >= -1e-12) == (-0.5 - 1e-9 <= a <= 1 + 1e-9)


@pytest.mark.parametrize(("a", "b"), [(2.0, 1.0), (1.0, 3.0), (1.0, 1.0), (0.2, 0.1)])
def test_1_2_a_hinge_is_convex_in_m_and_not_in_the_factor(a, b):
    grid = np.linspace(-4.0, 4.0, 801)

    def convex(values):
        return (np.diff(values, 2) >= -1e-12).all()

    assert convex(np.maximum(0.0, 1.0 - (a - b) * grid))
    assert convex(np.maximum(0.0, 1.0 - (a - b) * grid**2)) == (a <= b)
    if a > b:
        assert 1.0 - (a - b) * (1 / sqrt(a - b)) ** 2 == pytest.approx(0.0)


@pytest.mark.parametrize("C", [0.01, 1 / 40, 0.1, 2.0])
def test_1_3_triplets_that_contradict_each_other(C):
    X, triplets = np.array([[0.0], [1.0], [3.0]]), [[0, 1, 2], [1, 2, 0]]
    # The weight itself is found to the root of the gap, if not by an interior point.
    solution = cm.solve(cm.RelativeComparisonProblem(X, triplets, C=C), tol=1e-9, solver="interior-point")
    expected = (5 * C, 2 * C - 12.5 * C**2) if C <= 1 / 40 else (1 / 8, 1 / 128 + 11 / 8 * C)
    assert solution.w[0] == pytest.approx(expected[0], rel=1e-4)
    assert solution.upper_bound == pytest.approx(expected[1], rel=1e-8)
    with pytest.raises(cm.errors.InfeasibleError):
        cm.solve(cm.RelativeComparisonProblem(X, triplets, C=np.inf))


def test_1_4_what_is_convex_and_what_is_seen():
    w, pair = cp.Variable(pos=True), cp.Variable(2, pos=True)
    assert not cp.sqrt(1 + cp.square(w)).is_convex()
    assert not (w * cp.log(w)).is_convex()
    assert cp.max(cp.hstack([0, 1 - w])).is_convex()
    assert not cp.maximum(0, pair[0] * pair[1]).is_convex()
    length, entropy = cp.norm(cp.hstack([1, w])), -cp.entr(w)
    assert length.is_convex()
    assert entropy.is_convex()
    for w.value in (0.3, 1.0, 4.0):
        assert length.value == pytest.approx(sqrt(1 + w.value**2))
        assert entropy.value == pytest.approx(w.value * np.log(w.value))

    def product(w):
        return max(0.0, w[0] * w[1])

    assert product((1, 1)) == 1 > (product((2, 0)) + product((0, 2))) / 2 == 0


# Lecture 2


def value(x, z, order):
    """Loss and features of a ranking for AUC: items are numbered, relevant ones first."""
    place = {item: at for at, item in enumerate(order)}
    p, n = len(x), len(z)
    return sum((1 - 2 * (z[j] - x[i])) / (p * n) for i in range(p) for j in range(n) if place[p + j] < place[i])


def test_2_1_the_worst_ranking_for_auc():
    x, z = [0.0, 1.0], [0.2, 0.9, 3.0]
    best = max(permutations(range(5)), key=lambda order: value(x, z, order))
    assert best == (2, 0, 3, 1, 4)
    assert value(x, z, best) == pytest.approx(11 / 15)
    terms = [1 - 2 * (z[j] - x[i]) for i, j in ((0, 0), (1, 0), (1, 1))]
    assert np.allclose(terms, [0.6, 2.6, 1.2])


def test_2_2_both_kinds_ascend_in_the_worst_ranking():
    rng = np.random.default_rng(6)
    for _ in range(10):
        x, z = rng.random(2), rng.random(3)
        for places in combinations(range(5), 2):
            alike = [order for order in permutations(range(5)) if {order.index(0), order.index(1)} == set(places)]
            best = max(value(x, z, order) for order in alike)
            near, far = iter(np.argsort(x)), iter(2 + np.argsort(z))
            ascending = [int(next(near if at in places else far)) for at in range(5)]
            # For AUC the loss of all of these is the same, too.
            assert value(x, z, ascending) == pytest.approx(best)


def test_the_plain_driver_of_lecture_two_is_that_of_the_package():
    shown = (
        section(text_of(DOCS / "course" / "lecture-2-oracle.md"), "Algorithm 1 as it runs")
        .split("```python\n")[1]
        .split("```")[0]
    )
    body = inspect.getsource(plain.cutting_planes).partition('"""\n')[2]
    assert body == shown.partition(":\n")[2]


def cutting_planes(risks, w=0.0):
    """Kelley's method for w + 2 sum of risks; each risk gives its value and slope at w."""
    planes, best, passes = [], np.inf, []
    while True:
        found = [risk(w) for risk in risks]
        best = min(best, w + 2 * sum(height for height, _ in found))
        planes.append((2 * sum(height - slope * w for height, slope in found), 2 * sum(slope for _, slope in found)))
        ends = [0.0, *(-a / b for a, b in planes if b)]
        ends += [(c - a) / (b - d) for a, b in planes for c, d in planes if b != d]
        w, lower = min(
            ((w, w + max(0.0, *(a + b * w for a, b in planes))) for w in ends if w >= 0), key=lambda found: found[1]
        )
        passes.append((lower, best, w))
        if best - lower < 1e-12:
            return passes


def first(w):
    return (1 - 6 * w, -6.0) if 6 * w < 1 else (0.0, 0.0)


def second(w):
    return (1 - w, -1.0) if w < 1 else (0.0, 0.0)


def test_2_3_cutting_planes_by_hand():
    assert np.allclose(cutting_planes([first, second]), [(2 / 7, 4, 2 / 7), (1, 12 / 7, 1), (1, 1, 1)])
    # Both risks, from points with these distances.
    for w in (0.0, 0.1, 0.5, 2.0):
        for far, risk in ((4.0, first), (1.5, second)):
            X = np.array([[1.0], [sqrt(far)]])
            query = cm.RankingProblem(X, [[0]], queries=[[0.0]], measure="auc", C=1.0, diagonal=True)
            assert query.objective(np.array([w])) - w == pytest.approx(risk(w)[0])


def test_2_4_an_oracle_that_is_wrong():
    passes = cutting_planes([first, lambda w: (0.0, 0.0)])
    lower, upper, w = passes[-1]
    assert np.allclose([lower, upper, w], 1 / 6)
    truth = w + 2 * first(w)[0] + 2 * second(w)[0]
    assert truth == pytest.approx(11 / 6)
    assert lower <= 1 <= truth


# Lecture 3


@pytest.mark.parametrize(("a", "C"), [(2.0, 1.0), (0.5, 1.0), (1.0, 1.0), (3.0, 0.05)])
def test_3_1_one_weight_by_its_dual(a, C):
    w = cp.Variable(nonneg=True)
    primal = minimum(cp.square(w) / 2 + C * cp.pos(1 - a * w))
    u = min(C, 1 / a**2)
    assert primal == pytest.approx(u - a**2 * u**2 / 2, abs=1e-6)
    assert primal == pytest.approx(1 / (2 * a**2) if a**2 * C >= 1 else C - a**2 * C**2 / 2, abs=1e-6)
    assert float(w.value) == pytest.approx(a * u, abs=1e-4)


def comparison(seed):
    """A symmetric matrix with eigenvalues of both signs."""
    a, b = np.random.default_rng(seed).normal(size=(2, 3))
    return np.outer(a, a) - np.outer(b, b)


@pytest.mark.parametrize(("seed", "scale"), [(0, 0.4), (1, 0.9), (2, 1.5), (3, 0.1)])
def test_3_2_a_norm_that_is_not_squared(seed, scale):
    D, M = comparison(seed), cp.Variable((3, 3), PSD=True)
    values, vectors = np.linalg.eigh(D)
    plus = (vectors * np.maximum(values, 0.0)) @ vectors.T
    size = np.linalg.norm(plus)
    lam = scale * size
    found = minimum(lam * cp.norm(M, "fro") + cp.pos(1 - cp.trace(D @ M)))
    assert found == pytest.approx(min(1.0, lam / size), abs=1e-5)
    best = plus / size**2
    assert (D * best).sum() == pytest.approx(1.0)
    assert lam * np.linalg.norm(best) == pytest.approx(scale)


@pytest.mark.parametrize(("seed", "scale"), [(0, 0.4), (1, 1.7)])
def test_3_3_a_trace(seed, scale):
    D, M = comparison(seed), cp.Variable((3, 3), PSD=True)
    values, vectors = np.linalg.eigh(D)
    mu = scale / values[-1]
    found = minimum(cp.trace(M) + mu * cp.pos(1 - cp.trace(D @ M)))
    assert found == pytest.approx(min(mu, 1 / values[-1]), rel=1e-5)
    best = np.outer(vectors[:, -1], vectors[:, -1]) / values[-1]
    assert np.trace(best) + mu * max(0.0, 1 - (D * best).sum()) == pytest.approx(1 / values[-1])
    assert np.linalg.matrix_rank(best) == 1


@pytest.mark.parametrize(("a", "C"), [(2.0, 1.0), (0.5, 1.0), (1.5, 0.2)])
def test_3_4_a_price_is_a_slope(a, C):
    def value(xi):
        return xi**2 / (2 * a**2) if xi <= a**2 * C else C * xi - a**2 * C**2 / 2

    w = cp.Variable(nonneg=True)
    for xi in (0.5, 1.0, 2.0):
        assert minimum(cp.square(w) / 2 + C * cp.pos(xi - a * w)) == pytest.approx(value(xi), abs=1e-6)
    assert (value(1 + 1e-5) - value(1 - 1e-5)) / 2e-5 == pytest.approx(min(C, 1 / a**2), abs=1e-4)
    assert (np.diff([value(xi) for xi in np.linspace(0.01, 6.0, 500)], 2) >= -1e-12).all()


# Lecture 4


def test_4_1_a_metric_that_is_none():
    S = np.array([[1.0, 2.0], [2.0, 1.0]])
    values, vectors = np.linalg.eigh(S)
    assert np.allclose(values, [-1, 3])
    P = (vectors * np.maximum(values, 0.0)) @ vectors.T
    assert np.allclose(P, 1.5)
    assert np.linalg.norm(S - P) == pytest.approx(1.0)
    for c in (0.9, 1.0, 1.1):
        assert (np.linalg.eigvalsh(S + c * np.eye(2))[0] >= -1e-12) == (c >= 1)
        assert np.linalg.norm(c * np.eye(2)) == pytest.approx(sqrt(2) * c)
    assert (np.maximum(S, 0.0) == S).all()


def test_4_2_a_dual_value_that_is_no_bound():
    q, A, g, z = Fraction(1), Fraction(-1), Fraction(-1), Fraction(1001, 1000)
    r = q + A * z
    assert -g * z == Fraction(1001, 1000) > 1
    assert r == Fraction(-1, 1000)
    assert -g * z + r * 10 == Fraction(991, 1000)
    for x in (1, Fraction(3, 2), 10):
        assert x >= -g * z + r * x
    repaired = z / Fraction(1001, 1000)
    assert q + A * repaired == 0
    assert -g * repaired == 1


def test_4_3_intervals():
    low, high = 2 - 0.31, 2 + 0.31
    assert (low, high) == pytest.approx((1.69, 2.31))
    corners = [x * y for x in (0.9, 1.1) for y in (1.9, 2.1)]
    assert (min(corners), max(corners)) == pytest.approx((1.71, 2.31))
    assert np.allclose(np.linalg.eigvalsh([[1, 0.5], [0.5, 1]]), [0.5, 1.5])
    assert np.linalg.norm(0.1 * np.eye(2)) == pytest.approx(0.1 * sqrt(2))
    assert 0.1 * sqrt(2) < 0.5
    for a in (0.9, 1.1):
        for b in (0.9, 1.1):
            assert np.linalg.eigvalsh([[a, 0.5], [0.5, b]])[0] > 0
    # Of lecture 4 itself: the radius of the square, and its range.
    assert np.allclose([2 * 0.1 + 0.1**2, 0.9**2, 1.1**2], [0.21, 0.81, 1.21])


def test_4_4_a_proof_with_two_decimals():
    (a, b), (c, d) = K = [[Fraction(2), Fraction(1)], [Fraction(1), Fraction(2)]]
    e, C = Fraction(1, 2), [[Fraction(122, 100), Fraction(0)], [Fraction(82, 100), Fraction(91, 100)]]
    exact = np.linalg.cholesky(np.array(K, dtype=float) - 0.5 * np.eye(2))
    assert np.allclose(exact, np.array(C, dtype=float), atol=0.005)
    CCt = [[sum(x * y for x, y in zip(row, other, strict=True)) for other in C] for row in C]
    assert CCt == [[Fraction("1.4884"), Fraction("1.0004")], [Fraction("1.0004"), Fraction("1.5005")]]
    rest = [a - e - CCt[0][0], b - CCt[0][1], c - CCt[1][0], d - e - CCt[1][1]]
    assert rest == [Fraction("0.0116"), Fraction("-0.0004"), Fraction("-0.0004"), Fraction("-0.0005")]
    assert sum(x * x for x in rest) < Fraction("0.0117") ** 2 <= e**2
    assert np.linalg.eigvalsh(np.array(K, dtype=float))[0] == pytest.approx(1.0)
