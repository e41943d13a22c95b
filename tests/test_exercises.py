"""Exercises: solutions get all points, blanks none, and wrong answers of a usual kind the hint that fits."""

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import course
import notebooks
import numpy as np
import pytest
from exercises import checking

FOLDER = Path(checking.__file__).parent
NAMES = [path.stem.removeprefix("exercise_") for path in sorted(FOLDER.glob("exercise_*.py"))]


def text_of(name):
    return (FOLDER / f"exercise_{name}.py").read_text(encoding="utf-8")


def solution_of(name):
    return (FOLDER / "solutions" / f"solution_{name}.py").read_text(encoding="utf-8")


def functions_in(text):
    return [node.name for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]


def stars_of(name):
    return text_of(name).count("★")


def test_twelve_exercises_get_harder_within_a_lecture():
    assert [int(name[:2]) for name in NAMES] == list(range(1, 13))
    lectures = [(int(re.search(r"\(lecture (\d)\)", text_of(name))[1]), stars_of(name)) for name in NAMES]
    assert lectures == sorted(lectures)
    assert {1, 2, 3} == {stars for _, stars in lectures}


@pytest.mark.parametrize("name", NAMES)
def test_an_exercise_has_a_text_blanks_checks_and_a_solution(name):
    text, solution, checks = text_of(name), solution_of(name), checking.checks_of(name)
    assert functions_in(text) == list(checks)
    assert set(checks) <= set(functions_in(solution))
    assert sum(check.points for check in checks.values()) == 10
    assert text.count("**Task ") == text.count("raise NotImplementedError(") == len(checks)
    for number, task in enumerate(checks, 1):
        assert f"**Task {number}.**" in text
        assert re.search(rf'def {task}\(.*\n    """.*\n    raise NotImplementedError\("task {number}"\)', text)
        assert f"``{task}(" in text
    assert "**To think about.**" in text
    assert ast.get_docstring(ast.parse(text)).startswith(f"Exercise {int(name[:2])}. ")
    assert ast.get_docstring(ast.parse(solution)).startswith(f"Solution of exercise {int(name[:2])}.")


@pytest.mark.parametrize("name", NAMES)
def test_a_blank_is_not_begun_and_gets_no_points(name):
    found = checking.results_of_text(name, text_of(name))
    assert {one.status for one in found} == {checking.BLANK}
    assert checking.report(found).endswith("\n0 of 10 points")


@pytest.mark.parametrize("name", NAMES)
def test_the_solution_gets_all_points(name):
    found = checking.results_of_text(name, solution_of(name))
    assert checking.report(found).endswith("\n10 of 10 points"), checking.report(found)
    assert {one.status for one in found} == {checking.DONE}


@pytest.fixture
def seeded():
    yield checking.seed
    checking.seed(0)


def test_a_seed_has_wines_of_its_own_and_solutions_get_all_points(seeded):
    X, y = checking.wine()
    seeded(7)
    mine, growers = checking.wine()
    assert (growers == y).all()
    assert not (mine == X).all(axis=1)[:40].all()
    assert sorted(map(tuple, mine)) == sorted(map(tuple, X))
    for name in NAMES:
        said = checking.report(checking.results_of_text(name, solution_of(name)))
        assert said.endswith("\n10 of 10 points, on the data of seed 7"), said


def test_what_was_handed_in_is_checked_on_the_data_of_a_seed(seeded, tmp_path, monkeypatch, capsys):
    (tmp_path / "exercise_06_weak_duality.py").write_text(solution_of("06_weak_duality"), encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["checking", str(tmp_path), "--seed", "3"])
    with pytest.raises(SystemExit) as ended:
        checking.all_exercises()
    assert (ended.value.code, checking.SEED) == (0, 3)
    assert capsys.readouterr().out.endswith(" 10 of 10 points\n")


#: By exercise: a task, what of the solution is replaced by what, and words of the hint.
MISTAKES = {
    "01_a_statement": [
        ("error", "(delta - np.sqrt(np.einsum", "(delta - (np.einsum", "root is missing"),
        ("error", "return np.mean((delta", "return np.sum((delta", "averaged, not summed"),
        ("factors", "return L, -L", "return L, 2.0 * L", "the same metric as L"),
        (
            "statement",
            "cp.sum(delta**2 - 2 * cp.multiply(delta, cp.sqrt(q)) + q)",
            "cp.sum_squares(delta - cp.sqrt(q))",
            "not squared",
        ),
        ("statement", "+ q) / len(V)", "+ q)", "delta^2 - 2 delta sqrt(q) + q"),
        ("intervals", "low**2", "low", "squares of the intervals"),
        ("intervals", ", q <= high**2", "", "`high`"),
    ],
    "02_kernel": [
        ("squared_distances", "2.0 * K", "K", "comes twice"),
        ("coordinates", "np.sqrt(values[kept])", "values[kept]", "roots"),
        # Zero up to rounding may be below zero, which has no root.
        (
            "coordinates",
            "values > 1e-10 * values[-1]",
            "(values := abs(values)) >= 0.0",
            "Leave eigenvalues that are zero",
        ),
        ("operator", "E = Z @ np.linalg.inv(Z.T @ Z)", "E = Z", "Z M Z^T"),
        ("transform", "k - K.mean(axis=0)", "k", "mean of the old points"),
        ("transform", "@ Z @ np.linalg.inv(Z.T @ Z)", "@ Z", "not the identity"),
    ],
    "03_a_tight_lift": [
        ("best_factor", "slice(len(values) - c, None)", "slice(0, c)", "ascending"),
        ("best_factor", "np.sqrt(np.maximum(values[top], 0.0))", "values[top]", "take roots"),
        ("best_factor", "0.0))).T", "0.0)))", "transposed"),
        ("enough_columns", "            return c", "            return c - 1", "One too few"),
    ],
    "04_oracles": [
        ("worst_value", "np.maximum(0.0, 1.0 - 2.0 *", "np.maximum(-np.inf, 1.0 - 2.0 *", "need not be inverted"),
        ("worst_value", "1.0 - 2.0", "1.0 - 1.0", "factor 2"),
        ("worst_ranking", "x + 0.5", "x", "ranking by distance"),
        ("worst_ranking", "np.sort(z), x + 0.5", "np.sort(z), np.sort(x) + 0.5", "in the order of x"),
        ("gains", "1.0 / p, 0.0", "1.0, 0.0", "add up to 1"),
        ("gains", "i + b <= p", "b <= p", "not b"),
        ("own_measure", "return RPrecision()", "return RPrecision", "Call it"),
        ("cutting_planes", "found += rankings_at(W)", "found = rankings_at(W)", "stay in the program"),
        (
            "cutting_planes",
            "return W, lower",
            "return W, 1.1 * problem.objective(W)",
            "not the objective at its metric",
        ),
    ],
    "05_a_misprint": [
        ("loss_gradient", "return 2.0 * r", "return r", "step in print"),
        ("loss_gradient", "return 2.0 * r", "return -2.0 * r", "sign"),
        ("norm_gradient", " / np.linalg.norm(A)", "", "norm itself is missing"),
        ("lambda_descended", "return 2.0 * reg", "return 0.5 * reg", "wrong way round"),
    ],
    "06_weak_duality": [
        ("objective", "0.5 * w @ w", "w @ w", "factor 1/2"),
        ("objective", "1.0 - D @ w", "1.0 + D @ w", "1 + d_t w in place of"),
        ("bound", "    u = np.clip(u, 0.0, C)\n", "", "clip it first"),
        (
            "bound",
            "np.clip(u, 0.0, C)\n    return u.sum()",
            "np.clip(u, 0.0, 1.0)\n    return u.sum()",
            "the box is [0, C]",
        ),
        ("bound", "u.sum() - 0.5", "u.sum() + 0.5", "sign of the second term"),
        ("bound", "(np.maximum(0.0, u @ D) ** 2)", "((u @ D) ** 2)", "over all w"),
        ("weights", "np.clip(u, 0.0, C) @ D", "-np.clip(u, 0.0, C) @ D", "sign of S"),
        ("weights", "return np.maximum(0.0, np.clip(u, 0.0, C) @ D)", "return np.clip(u, 0.0, C) @ D", "negative"),
        ("weights", "np.clip(u, 0.0, C) @ D)", "np.clip(u, 0.0, 1.0) @ D)", "the box is [0, C]"),
        ("weights", "return np.maximum(0.0, np.clip(u, 0.0, C) @ D)", "return np.zeros(len(D.T))", "It is zero"),
    ],
    "07_kkt_by_hand": [
        ("comparison", "- np.outer(i - j, i - j)", "+ np.outer(i - j, i - j)", "subtracted, not added"),
        ("comparison", "return np.outer(i - k, i - k) -", "return -np.outer(i - k, i - k) +", "comes with +"),
        (
            "metric",
            "positive_part(np.tensordot(u, D, axes=1))",
            "np.tensordot(u, D, axes=1)",
            "Not feasible",
        ),
        ("metric", ")) / lam", ") / len(u)) / lam", "there twice"),
        ("metric", "return positive_part(", "return swapped(", "columns of `vectors`"),
        ("multiplier", "1.0 if lam * gamma >= most else lam * gamma / most", "lam * gamma / most", "at most 1"),
        ("multiplier", "np.linalg.eigvalsh(D), 0.0", "np.linalg.eigvalsh(D), -np.inf", "positive part"),
        (
            "multiplier",
            "return 1.0 if lam * gamma >= most",
            "return 0.0 if most == 0.0 else 1.0 if lam * gamma >= most",
            "Then u = 1",
        ),
        (
            "allowed",
            "np.where(missing > 1e-6, 1.0 / len(D), 0.0), np.where(missing < -1e-6,",
            "np.where(missing > 0.0, 1.0 / len(D), 0.0), np.where(missing < 0.0,",
            "not with 0",
        ),
        (
            "allowed",
            "return np.where(missing > 1e-6, ",
            "return np.where(missing < -1e-6, ",
            "sign",
        ),
    ],
    "08_strong_duality": [
        ("strict", "2.0 * np.eye", "0.5 * np.eye", "multiple of I"),
        ("strict", "2.0 + np.abs(np.tensordot(D, M))", "2.0 + np.zeros(len(D))", "make them large"),
        ("best", "np.zeros((2, 2))", "np.full((2, 2), -c)", "With M_11 = 0"),
        ("best", "c**2 / eps", "eps", "M_12^2 <= M_11 M_22"),
        ("bound", "-a * eps - u * c if", "-u * c if", "a eps is missing"),
        ("bound", " if u == 1.0 else -np.inf", "", "multiplies M_12"),
        ("refutes", "np.min(u) >= 0.0 and ", "", "negative entries"),
        ("refutes", "u @ gamma > 0.0 and ", "", "must be positive"),
        ("refutes", "top <= 1e-9", "abs(top) <= 1e-9", "need not be zero"),
        ("refutation", "u * np.sign(u.sum())", "-u * np.sign(u.sum())", "turned around"),
        ("refutation", "[2][-1]", "[2][0]", "zero"),
    ],
    "09_conic_form": [
        ("svec", "1.0, np.sqrt(2.0)", "1.0, 1.0", "root of 2 is missing"),
        ("svec", "return rows, columns", "return np.triu_indices(d)", "row by row"),
        ("smat", "1.0, np.sqrt(0.5)", "1.0, np.sqrt(2.0)", "one must divide"),
        ("smat", "M[rows, columns] = M[columns, rows] =", "M[rows, columns] =", "Only one triangle"),
        ("conic_form", "np.hstack([-vectors, -np.eye(n)])", "np.hstack([vectors, -np.eye(n)])", "sign"),
        ("conic_form", "-np.ones(n), np.zeros", "np.ones(n), np.zeros", "sign of b"),
        ("solve", "np.array(found.z)[:n]", "np.array(found.s)[:n]", "not of x or s"),
    ],
    "10_outside_the_cone": [
        ("project", "np.maximum(values, 0.0)", "np.abs(values)", "become 0, not positive"),
        ("project", "np.maximum(values, 0.0)", "values", "not feasible"),
        ("project", "@ vectors.T", "@ vectors", "not symmetric"),
        ("project", "return (vectors * np.maximum(values, 0.0)) @ vectors.T", "return S", "That is S itself"),
        (
            "project",
            "(vectors * np.maximum(values, 0.0)) @ vectors.T",
            "vectors.T * np.maximum(values, 0.0) @ vectors",
            "columns",
        ),
        ("project_diagonal", "np.diag(np.maximum(np.diag(S), 0.0))", "np.maximum(np.diag(S), 0.0)", "vector"),
        ("project_diagonal", "np.maximum(np.diag(S), 0.0)", "np.diag(S)", "Negative entries become 0"),
        ("witness", "return project(S)", "return P", "nearer to S than P"),
        ("witness", "return project(S)", "return project(S - P)", "no part in the cone that is large enough"),
        ("trace_bound", "max(1.0, np.linalg.eigvalsh(S)[-1])", "1.0", "Shrink it"),
        ("trace_bound", "max(1.0, np.linalg.eigvalsh(S)[-1])", "max(1.0, np.linalg.norm(S))", "not the norm"),
        ("trace_bound", "max(1.0, np.linalg.eigvalsh(S)[-1])", "np.linalg.eigvalsh(S)[-1]", "may not be above 1"),
        (
            "trace_bound",
            "a / max(1.0, np.linalg.eigvalsh(S)[-1])",
            "a * min(1.0, 1.0 / np.linalg.eigvalsh(S)[-1])",
            "feasible as it is",
        ),
        (
            "trace_bound",
            "a / max(1.0, np.linalg.eigvalsh(S)[-1])",
            "a * np.clip(1.0 / np.linalg.eigvalsh(S)[-1], 0.0, 1.0)",
            "1, not 0",
        ),
        ("dual_point", "return a, S", "return a, -S", "sign"),
        ("dual_point", "return a, S", "return a, 0.0 * S", "Each constraint says"),
        ("dual_point", "program.constraints[:-1]", "program.constraints", "has the label None"),
        ("dual_point", 'label.removeprefix("ranking ")', "label", "has the label None"),
    ],
    "11_sgd_audited": [
        ("subgradient", "lam * R - np", "lam * R + np", "sign of the hinge"),
        ("subgradient", " / len(D)\n", "\n", "averaged, not summed"),
        ("descend", "/ (lam * s)", "/ lam / 100", "swings"),
        (
            "descend",
            "positive_part(R - subgradient(R, some, lam, gamma) / (lam * s))",
            "R - subgradient(R, some, lam, gamma) / (lam * s)",
            "Project",
        ),
        ("descend", "positive_part(R - sub", "positive_part(R + sub", "go up"),
        ("times_optimum", "    u = np.clip(u, 0.0, 1.0 / len(D))\n", "", "clip them"),
        ("audited", "reg=lam, margin=gamma", "reg=2 * lam, margin=gamma", "`reg` lambda"),
    ],
    "12_certificates": [
        ("digest", "{array.shape};", "{array.shape}", "semicolon"),
        ("damaged", "+= 1.0", "*= 1.0", "arrays['slopes']"),
        ("boastful", '["claimed"]["upper"]', '["claimed"]["lower"]', "nothing has changed"),
        ("survivor", "1.0001 * arrays", "1.5 * arrays", "Change less"),
        ("survivor", "{name: digest(array)}", "{}", "must change with it"),
        ("another_problem", 'points[arrays["triplets"][idle, 2], 0] += 1e-4', "points *= 1.1", "Move points less"),
        ("statement_hash", ', separators=(",", ":")', "", "without spaces"),
    ],
}


#: A helper of wrong answers: rows of eigenvectors for columns.
SWAPPED = """

def swapped(S):
    values, vectors = np.linalg.eigh(S)
    return (vectors.T * np.maximum(values, 0.0)) @ vectors
"""


def test_every_task_has_a_wrong_answer():
    assert list(MISTAKES) == NAMES
    for name in NAMES:
        assert {mistake[0] for mistake in MISTAKES[name]} == set(checking.checks_of(name))


@pytest.mark.parametrize(
    ("name", "task", "right", "wrong", "hint"),
    [(name, *mistake) for name in NAMES for mistake in MISTAKES[name]],
    ids=[f"{name}-{mistake[0]}-{k}" for name in NAMES for k, mistake in enumerate(MISTAKES[name])],
)
def test_a_usual_mistake_gets_the_hint_that_fits(name, task, right, wrong, hint):
    solution = solution_of(name)
    assert right in solution
    namespace = {"__name__": "exercise"}
    exec(compile(solution.replace(right, wrong) + SWAPPED, f"solution_{name}.py", "exec"), namespace)
    found = checking.result(task, checking.checks_of(name)[task], namespace[task])
    assert (found.points, found.status) == (0, checking.WRONG)
    assert hint in " ".join([found.said, *found.hints[:1]]), found


# The harness.


def answers(*bodies):
    """Check the first exercise with these bodies of its functions, in their order."""
    text = text_of("06_weak_duality")
    for number, body in enumerate(bodies, 1):
        text = text.replace(f'raise NotImplementedError("task {number}")', body)
    return checking.results_of_text("06_weak_duality", text)


def test_later_tasks_are_checked_while_earlier_ones_are_not_done():
    found = answers("...", "pass", "return np.maximum(0.0, np.clip(u, 0.0, C) @ D)")
    assert [one.status for one in found] == [checking.BLANK, checking.BLANK, checking.DONE]
    assert checking.report(found).endswith("\n3 of 10 points")


def test_an_answer_that_uses_a_wrong_one_is_told_so():
    text = solution_of("10_outside_the_cone").replace("np.maximum(values, 0.0)", "values")
    found = {one.task: one for one in checking.results_of_text("10_outside_the_cone", text)}
    assert {name for name, one in found.items() if one.status == checking.WRONG} == {"project", "witness"}
    assert found["witness"].hints[0] == "Your witness may be fine: it uses project, which is wrong."
    assert not any("may be fine" in hint for hint in found["project"].hints)


def test_an_answer_that_needs_a_task_that_is_not_begun_waits():
    found = answers("return 1.0 * bound(w, D, C)")[0]
    assert (found.status, found.said) == (checking.WAITS, "it calls bound, which is not begun")


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("return w @ w[:-1]", "ValueError: "),
        ("return np.linalg.cholesky(-np.eye(3))", "LinAlgError: "),
        ("return exit(3)", "SystemExit: 3"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("return objective(w, D, C)", "RecursionError: "),
        ("import convexmetrics", "ModuleNotFoundError: "),
    ],
)
def test_what_an_answer_raises_is_said_in_two_lines_with_its_own_line(body, error):
    found = answers(body)[0]
    first, second = found.said.splitlines()
    assert first.startswith(error)
    assert re.fullmatch(rf"line \d+: {re.escape(body)}", second)


def test_what_a_helper_raises_is_said_with_the_line_of_the_helper():
    found = answers("return helper(w)\n\n\ndef helper(w):\n    return 1 / 0")[0]
    assert found.said.splitlines()[1].endswith(": return 1 / 0")


def test_what_is_raised_by_something_that_an_answer_returned_is_said_with_its_line():
    solution = solution_of("04_oracles").replace("            return gains(i, b, p, n)", "            return 1 / 0")
    namespace = {"__name__": "exercise"}
    exec(compile(solution, "solution", "exec"), namespace)
    found = checking.result("own_measure", checking.checks_of("04_oracles")["own_measure"], namespace["own_measure"])
    first, second = found.said.splitlines()
    assert first == "ZeroDivisionError: division by zero"
    assert second.startswith("line ")


@pytest.mark.parametrize(
    ("added", "said"),
    [("x = = 1", "SyntaxError: invalid syntax"), ("x = 1 / 0", "ZeroDivisionError: division by zero")],
)
def test_a_file_that_does_not_run_gets_no_points(added, said):
    found = checking.results_of_text("06_weak_duality", f"{solution_of('06_weak_duality')}\n{added}\n")
    assert {one.points for one in found} == {0}
    assert all(said in one.said and one.said.endswith(f": {added}") for one in found)


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        ("x = w @ w", "return"),
        ("return 'one'", "Return numbers"),
        ("return [1.0, [2.0]]", "Return numbers"),
        ("return 1j", "eigh"),
        ("return D @ w", "dimension too many"),
        ("return np.nan", "divided by zero"),
        ("return np.ones((1, 1))", "length 1 too many"),
    ],
)
def test_an_answer_of_another_kind_gets_a_hint(body, hint):
    found = answers(body)[0]
    assert found.status == checking.WRONG
    assert hint in found.hints[0]


def test_an_answer_may_change_what_it_is_given():
    found = answers("w[:] = 0.0\n    D[:] = 0.0\n    return 0.0", "...", "D[:] = 0\n    return np.zeros(13)")
    assert found[0].status == found[2].status == checking.WRONG
    assert checking.results_of_text("06_weak_duality", solution_of("06_weak_duality"))[0].status == checking.DONE


RIGHT = np.array([[4.0, 1.0], [1.0, 9.0]])


@pytest.mark.parametrize(
    ("found", "hint"),
    [
        (-RIGHT, "times -1"),
        (2 * RIGHT, "twice"),
        (RIGHT / 2, "half"),
        (-2 * RIGHT, "-2 times"),
        (0 * RIGHT, "zero"),
        (RIGHT**2, "square"),
        (np.sqrt(RIGHT), "square root"),
        (0.3 * RIGHT, "constant factor"),
        (RIGHT + 7.0, "constant is missing"),
        (RIGHT + np.eye(2)[[1, 0]] * [0.0, 1.0], "not symmetric"),
    ],
)
def test_kinds_of_mistakes_are_told(found, hint):
    with pytest.raises(checking.Wrong) as wrong:
        checking.same(found, RIGHT, "own hint")
    assert hint in wrong.value.hints[0]
    assert wrong.value.hints[-1] == "own hint"
    assert checking.same(RIGHT * (1 + 1e-12), RIGHT) is not None


def test_order_and_transposition_are_told():
    for found, right, hint in (
        ([3.0, 1.0, 2.0], [1.0, 2.0, 3.0], "order"),
        ([[1, 3], [2, 4]], [[1, 2], [3, 4]], "trans"),
    ):
        with pytest.raises(checking.Wrong) as wrong:
            checking.same(found, right)
        assert hint in wrong.value.hints[0]
    with pytest.raises(checking.Wrong) as wrong:
        checking.numbers(np.zeros((2, 3)), (3, 2))
    assert "transposed" in wrong.value.hints[0]


def test_more_hints_on_demand():
    found = answers("return w @ w + C * np.maximum(0.0, 1.0 - D @ w).sum()")
    short, long = checking.report(found), checking.report(found, hints=2)
    assert "(1 more: --hints 2)" in short
    assert "F has two terms" not in short
    assert "F has two terms" in long
    assert "more:" not in long


@pytest.mark.parametrize(("asked", "shown"), [([], 1), (["--hints"], 2), (["--hints", "2"], 2)])
def test_hints_without_a_number_are_all_hints(asked, shown, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["exercise", *asked])
    namespace = {"__doc__": "Exercise 6", "__file__": "exercise_06_weak_duality.py", "objective": lambda w, D, C: w @ w}
    with pytest.raises(SystemExit):
        checking.main(namespace)
    assert capsys.readouterr().out.count("Hint: ") == shown


def test_a_task_is_named_on_a_screen_before_it_is_checked(monkeypatch, capsys):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    checking.results("06_weak_duality", {})
    assert [line.strip() for line in capsys.readouterr().out.split("\r")[:-1]] == [
        f"{task} ..." for task in ("objective", "bound", "weights")
    ]


def test_a_check_that_needs_a_package_that_is_missing_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "clarabel", None)
    found = checking.results_of_text("09_conic_form", solution_of("09_conic_form"))
    assert [one.status for one in found] == [checking.DONE] * 3 + [checking.ELSEWHERE]
    assert "clarabel" in found[-1].said


def test_a_notebook_checks_a_function(capsys):
    namespace = {"__name__": "cell"}
    exec(compile(solution_of("07_kkt_by_hand"), "cell", "exec"), namespace)
    checking.check("07_kkt_by_hand", namespace["comparison"])
    assert capsys.readouterr().out.splitlines() == ["  comparison  2 of 2 points  done", "2 of 2 points"]


@pytest.mark.parametrize("kind", ["exercise", "solution"])
@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_has_each_task_in_a_cell_with_its_check_behind_it(name, kind):
    path = FOLDER / ("solutions" if kind == "solution" else "") / f"{kind}_{name}.py"
    about, first, *cells = re.split(r"\n\n(?:# %%\n|(?=import checking\n))", notebooks.in_cells(path))
    assert re.search(r"^=+$", about, re.MULTILINE)
    assert "import numpy as np" in first or "hashlib" in first
    for number, task in enumerate(checking.checks_of(name), 1):
        at = next(k for k, cell in enumerate(cells) if f"**Task {number}**" in cell)
        assert f"\ndef {task}(" in cells[at]
        assert cells[at + 1].endswith(f'\nchecking.check("{name}", {task})' + "\n" * (at + 2 == len(cells)))
    functions = functions_in(path.read_text(encoding="utf-8"))
    assert len(cells) == len(functions) + len(checking.checks_of(name))


def test_solutions_are_written_to_a_folder_of_their_own_with_what_checks_them(tmp_path, monkeypatch):
    # The converter is a package that only notebooks need.
    monkeypatch.setattr(
        notebooks, "converted", lambda text, script: script.write_text(text, encoding="utf-8") and script
    )
    assert all(path.is_file() for path in notebooks.write(tmp_path))
    assert len(list(tmp_path.glob("plot_*"))) == len(notebooks.LESSONS)
    for folder, kind in (("exercises", "exercise"), ("solutions", "solution")):
        assert sorted(path.name for path in (tmp_path / folder).iterdir() if path.name != "__pycache__") == sorted(
            ["checking.py", "checks", *(f"{kind}_{name}.py" for name in NAMES)]
        )
    text = (tmp_path / "solutions" / "solution_07_kkt_by_hand.py").read_text(encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-c", text], cwd=tmp_path / "solutions", capture_output=True, text=True, timeout=120
    )
    assert run.stdout.count(checking.DONE) == 4, run.stderr


def test_the_cells_of_a_solution_run_and_get_all_points(capsys):
    text = notebooks.in_cells(FOLDER / "solutions" / "solution_07_kkt_by_hand.py")
    exec(compile(text.replace("import checking\n", ""), "cells", "exec"), {"checking": checking, "__name__": "cells"})
    got = re.findall(r"^(\d+) of (\d+) points$", capsys.readouterr().out, re.MULTILINE)
    assert len(got) == 4
    assert [sum(map(int, column)) for column in zip(*got, strict=True)] == [10, 10]


def test_the_page_shows_every_exercise_and_its_solution_without_what_runs_the_checks():
    page = "\n".join(course.lines())
    shown = re.findall(
        r"literalinclude:: \.\./examples/exercises/(\S+)\n(?: +:caption:.*\n)? +:lines: (\d+)-(\d+)", page
    )
    assert len(shown) == 2 * len(NAMES)
    for file, first, last in shown:
        text = (FOLDER / file).read_text(encoding="utf-8")
        code = text.splitlines()[int(first) - 1 : int(last)]
        assert code[0].startswith("import ")
        assert text.endswith('"""\n\n' + "\n".join(code) + text[text.index("\n\n\nif __name__") :])
    for name in NAMES:
        assert f"`{text_of(name).splitlines()[1]}`_\n     - {'★' * stars_of(name)}\n" in page
        for task, check in checking.checks_of(name).items():
            assert f"``{task}`` {check.points}" in page


@pytest.mark.parametrize(("file", "status"), [("exercise_{}.py", 1), ("solutions/solution_{}.py", 0)])
def test_scripts_say_what_is_right_and_end_with_a_status(file, status):
    path = FOLDER / file.format("07_kkt_by_hand")
    run = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=120)
    assert run.returncode == status, run.stderr
    assert run.stderr == ""
    assert run.stdout.splitlines()[-1] == f"{0 if status else 10} of 10 points"


#: Run with NumPy alone, in a folder with the wines.
ALONE = """
import sys
for package in ("convexmetric", "cvxpy", "clarabel", "numba", "scipy", "sklearn"):
    sys.modules[package] = None
import checking
for name in sys.argv[1:]:
    found = checking.results_of_text(name, open(f"solutions/solution_{name}.py", encoding="utf-8").read())
    print(name, sum(one.points for one in found), *{one.status for one in found} - {"done"}, sep=",")
"""


def test_exercises_for_browsers_need_numpy_only(tmp_path):
    names = [name for name in NAMES if name not in ("03_a_tight_lift", "12_certificates")]
    folder = shutil.copytree(FOLDER, tmp_path / "exercises")
    import sklearn.datasets

    X, y = sklearn.datasets.load_wine(return_X_y=True)
    np.savetxt(folder / "wine.csv", np.column_stack([X, y]), delimiter=",")
    run = subprocess.run([sys.executable, "-c", ALONE, *names], cwd=folder, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    for line, name in zip(run.stdout.splitlines(), names, strict=True):
        tasks = re.split(r"\*\*Task \d\.\*\* *", text_of(name))[1:]
        points = [check.points for check in checking.checks_of(name).values()]
        alone = sum(point for point, task in zip(points, tasks, strict=True) if not task.startswith("(Needs"))
        assert alone >= 4
        assert line == f"{name},{alone}" + ("" if alone == 10 else f",{checking.ELSEWHERE}")
