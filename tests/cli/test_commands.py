import importlib
import json
import math
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from rich.console import Console
from scipy.io import savemat

import convexmetric as cm
from convexmetric.__main__ import run
from convexmetric.audits import read_certificate, read_metric
from convexmetric.bench import Run, list_problems, load_instance
from convexmetric.certificates import checker, relative_gap
from convexmetric.risks import RankingRisk
from convexmetric.solvers.runtime.display import ProgressBar

WINE = "ranking-auc-wine-c1"


@pytest.fixture(scope="module")
def wine():
    instance = load_instance(WINE)
    problem = instance.problem()
    return instance, problem, cm.solve(problem)


def test_the_command_of_the_package_is_this_one():
    pyproject = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert EntryPoint("", pyproject["project"]["scripts"]["convexmetric"], "").load() is run


@pytest.mark.integration
def test_as_a_process_results_and_progress_go_separate_ways():
    done = subprocess.run(
        [sys.executable, "-m", "convexmetric", "solve", WINE, "--json"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0
    assert json.loads(done.stdout)["status"] == "optimal"
    assert "gap" in done.stderr


def test_list_names_every_instance_with_its_bounds(command):
    code, out, _ = command("list")
    assert code == 0
    for name in list_problems():
        line = next(line for line in out.splitlines() if name in line.split())
        bounds = [float(cell) for cell in line.split() if re.fullmatch(r"-?\d+(\.\d*)?(e[+-]\d+)?", cell)]
        instance = load_instance(name)
        assert bounds == pytest.approx([instance.lower_bound, instance.upper_bound], rel=1e-6 + instance.gap)
        assert bounds[0] <= instance.lower_bound <= instance.upper_bound <= bounds[1]
        assert (f"{instance.data['set']} *" in line) == instance.needs_data_folder


def test_a_narrow_list_has_whole_names_and_the_same_bounds(command, monkeypatch):
    monkeypatch.setattr("convexmetric.cli.shared.console", lambda: Console(width=80))
    code, out, _ = command("list")
    assert code == 0
    lines = out.splitlines()
    assert lines[::2] == list_problems()
    for name, line in zip(lines[::2], lines[1::2], strict=True):
        assert re.fullmatch(r"    \S+ to \S+, (open|float|rigorous), \S+", line)
        instance = load_instance(name)
        assert [float(bound) for bound in re.findall(r"(\S+) to (\S+),", line)[0]] == pytest.approx(
            [instance.lower_bound, instance.upper_bound], rel=1e-6 + instance.gap
        )


@pytest.mark.parametrize("words", [["solve"], ["fit"], ["apply"], ["bench"], ["adapt"], ["verify"], []], ids=str)
def test_values_of_options_are_in_capitals_and_flags_have_none(command, monkeypatch, words):
    monkeypatch.setenv("COLUMNS", "200")
    out = command(*words, "--help")[1]
    options = out.partition(" Options ")[2]
    assert "--help" in options
    assert not re.search(r"<(bool|str|path|int|float|list)|\b(TEXT|PATH|INTEGER|FLOAT|BOOLEAN)\b", options)


def test_ctrl_c_where_nothing_expects_it_is_said_in_a_word(command, monkeypatch):
    monkeypatch.setattr("convexmetric.bench.command.load_instance", interrupted)
    assert command("list") == (130, "", "interrupted: nothing was finished\n")


def test_ctrl_c_while_the_command_is_imported_is_said_in_a_word(monkeypatch, capsys):
    class Interrupting:
        def __getattr__(self, name):
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "convexmetric.cli", Interrupting())
    with pytest.raises(SystemExit) as stop:
        run()
    assert (stop.value.code, capsys.readouterr().err) == (130, "interrupted: nothing was begun\n")


def interrupted(*_, **__):
    raise KeyboardInterrupt


def test_an_unknown_instance_is_told_where_names_are(command):
    code, _, err = command("solve", "nothing-like-it")
    assert (code, "'convexmetric list'" in err) == (2, True)


def test_list_as_json(command):
    code, out, _ = command("list", "--json")
    records = json.loads(out)
    assert code == 0
    assert [record["name"] for record in records] == list_problems()
    wine = next(record for record in records if record["name"] == WINE)
    assert wine["data"] == "wine"
    assert wine["needs_data_folder"] is False
    assert wine["lower_bound"] == load_instance(WINE).lower_bound


def test_solve_as_json_prints_one_object(command):
    code, out, err = command("solve", WINE, "--json", "--tol", "1e-4")
    result = json.loads(out)
    assert code == 0
    assert list(result) == [
        "name", "schema", "status", "solver", "tol", "lower_bound", "upper_bound", "gap",
        "iterations", "seconds", "rank",
    ]  # fmt: skip
    assert result["name"] == WINE
    assert result["status"] == "optimal"
    assert result["tol"] == 1e-4
    assert 0 <= result["gap"] <= 1e-4
    assert result["lower_bound"] <= load_instance(WINE).upper_bound
    assert result["upper_bound"] >= load_instance(WINE).lower_bound
    assert 2 <= result["iterations"] <= 60
    assert "gap" in err


def test_solve_prints_the_problem_and_bounds_with_their_digits(command, wine):
    instance, problem, _ = wine
    code, out, err = command("solve", WINE, "--quiet")
    assert code == 0
    assert err == ""
    assert out.startswith(str(problem))
    facts = dict(re.split(r"\s{2,}", line, maxsplit=1) for line in out.split(str(problem))[1].strip().splitlines())
    assert float(facts["lower bound"]) == pytest.approx(instance.lower_bound, rel=2e-6)
    assert float(facts["lower bound"]) < float(facts["upper bound"])
    assert {"relative gap", "status", "iterations", "seconds", "rank"} < set(facts)


def test_solve_saves_the_solution_and_the_picture(command, tmp_path, wine):
    instance, problem, _ = wine
    saved, picture = tmp_path / "wine.npz", tmp_path / "wine.png"
    code, _, err = command("solve", WINE, "--save", saved, "--plot", picture, "--quiet")
    assert code == 0
    assert str(saved) in err
    assert read_certificate(saved, problem).gap <= 1e-6
    assert problem.objective(read_metric(saved)) == pytest.approx(instance.upper_bound, rel=1e-5)
    height, width, _ = plt.imread(picture).shape
    assert (width, height) == (960, 1620)


def test_solve_with_a_kernel_draws_the_bounds_alone(command, tmp_path):
    picture = tmp_path / "kernel.png"
    code, *_ = command("solve", "relative-wine-1000-rbf", "--plot", picture, "--json", "--quiet")
    assert code == 0
    height, width, _ = plt.imread(picture).shape
    assert width < 1.2 * height


def test_explain_says_what_the_library_says(command):
    code, out, err = command("explain", WINE, "--no-measure")
    assert (code, err) == (0, "")
    assert out.strip() == str(cm.explain(cm.load_problem(WINE), measure=False))


def test_explain_as_json(command):
    code, out, _ = command("explain", "relative-wine-1000", "--json")
    record = json.loads(out)
    assert code == 0
    assert list(record) == ["name", "title", "chosen", "steps", "others", "pass_seconds", "memory"]
    assert record["chosen"] == record["steps"][0]["solver"]
    assert record["steps"][0]["seconds"] <= record["steps"][-1]["seconds"]
    assert {"solver": "low-rank-newton", "why": "its risk is not smooth"} in record["others"]
    assert record["pass_seconds"] > 0.0
    assert record["memory"] > 1e5


def test_a_solve_above_tol_prints_its_result_and_fails(command):
    code, out, err = command("solve", WINE, "--json", "--max-iter", "1", "--quiet")
    result = json.loads(out)
    assert code == 1
    assert result["status"] == "max_iter"
    assert result["iterations"] == 1
    assert result["gap"] > 0.01
    assert err == f"not certified to tol = 1e-06: the gap is {result['gap']:.2e} (max_iter)\n"


def test_limits_and_solver_reach_the_solve(command):
    code, out, _ = command("solve", WINE, "--json", "--quiet", "--solver", "subgradient", "--max-seconds", "0.05")
    assert code == 1
    assert json.loads(out)["solver"] == "subgradient"
    assert json.loads(out)["status"] == "max_seconds"


def test_numbers_that_json_lacks_become_null(command, tmp_path):
    name = "relative-wine-hard"
    path = tmp_path / "zero.npy"
    np.save(path, np.zeros(load_instance(name).problem().cone.d))
    code, out, _ = command("audit", name, path, "--json")
    assert code == 0
    assert json.loads(out)["objective"] is None
    assert json.loads(out)["feasible"] is False


def test_warm_up_calls_loops_of_every_measure_and_keeps_them(command):
    code, out, _ = command("warm-up")
    folder = Path(out.removeprefix("compiled, and kept in ").partition(" and folders like it")[0])
    assert code == 0
    for name in ("map.every_weighted", "mrr.every_mrr", "ndcg.every_ndcg", "precision.every_knn"):
        module, loop = name.split(".")
        assert getattr(importlib.import_module(f"convexmetric.measures.{module}"), loop).dispatcher.signatures
    assert list(folder.glob("map.every_weighted-*.nbi"))


def test_warm_up_says_where_nothing_can_be_kept(command, monkeypatch):
    monkeypatch.setattr("convexmetric.cli.warm_up.compile_loops", lambda: None)
    code, out, err = command("warm-up")
    assert (code, out) == (2, "")
    assert "let NUMBA_CACHE_DIR name one" in err


def test_interrupting_a_solve_keeps_the_best_so_far(command, tmp_path, monkeypatch, wine):
    def update(self, progress):
        if progress.iteration == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(ProgressBar, "update", update)
    saved = tmp_path / "part.npz"
    code, out, err = command("solve", WINE, "--json", "--save", saved)
    result = json.loads(out)
    assert code == 130
    assert result["status"] == "interrupted"
    assert result["iterations"] == 2
    assert 1e-3 < result["gap"] < 0.5
    assert "interrupted" in err
    assert read_certificate(saved, wine[1]).gap == pytest.approx(result["gap"], rel=1e-9)

    np.save(tmp_path / "eye.npy", np.eye(13))
    code, out, err = command("audit", WINE, tmp_path / "eye.npy", "--solve", "--json")
    assert code == 130
    assert json.loads(out)["lower_bound"] == pytest.approx(result["lower_bound"])
    assert "best one so far" in err


def test_interrupting_in_the_first_pass_leaves_what_is_certified_without_one(command, monkeypatch):
    def separate(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(RankingRisk, "separate", separate)
    code, out, err = command("solve", WINE, "--json", "--solver", "cutting-planes")
    assert code == 130
    record = json.loads(out)
    assert record["status"] == "interrupted"
    assert record["lower_bound"] <= load_instance(WINE).upper_bound <= record["upper_bound"] < np.inf
    assert "Traceback" not in err


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".csv", ".mat"])
def test_audit_takes_a_metric_from_every_format(command, tmp_path, wine, suffix):
    instance, _, solution = wine
    path = tmp_path / f"metric{suffix}"
    writers = {
        ".npy": lambda: np.save(path, solution.M),
        ".npz": lambda: np.savez(path, other=np.eye(2), W=solution.M),
        ".csv": lambda: np.savetxt(path, solution.M, fmt="%.17g"),
        ".mat": lambda: savemat(path, {"M": solution.M, "C": 1.0}),
    }
    writers[suffix]()
    code, out, _ = command("audit", WINE, path, "--json")
    verdict = json.loads(out)
    assert code == 0
    assert verdict["objective"] == pytest.approx(solution.upper_bound, rel=1e-12)
    assert verdict["lower_bound"] == instance.proven[0]
    assert verdict["grade"] == "rigorous"
    assert verdict["suboptimality"] <= 2e-6
    assert verdict["feasible"] is True


def test_audit_prints_what_it_found_and_judges_against_tol(command, tmp_path, wine):
    _, problem, solution = wine
    path = tmp_path / "several.npz"
    np.savez(path, identity=np.eye(13), learned=solution.M)
    code, out, err = command("audit", WINE, path, "--variable", "identity", "--tol", "1e-3")
    assert code == 1
    assert "not certified to be within 0.001" in err
    assert f"{problem.objective(np.eye(13)):.10g}" in out
    assert re.search(r"suboptimality <= +0\.985", out)
    assert command("audit", WINE, path, "--variable", "identity")[0] == 0
    assert command("audit", WINE, path, "--variable", "learned", "--tol", "1e-5")[0] == 0


def test_audit_of_a_metric_outside_the_cone(command, tmp_path):
    np.save(tmp_path / "M.npy", np.diag([1.0] * 12 + [-1.0]))
    code, out, _ = command("audit", WINE, tmp_path / "M.npy")
    assert code == 0
    assert "NOT feasible" in out
    assert "objective, projected" in out


def test_audit_says_what_is_wrong(command, tmp_path, wine):
    _, problem, solution = wine
    np.save(tmp_path / "M.npy", 3.0 * solution.M)
    picture = tmp_path / "M.png"
    code, out, err = command("audit", WINE, tmp_path / "M.npy", "--solve", "--quiet", "--worst", "3", "--plot", picture)
    assert code == 0
    assert err == f"picture: {picture}\n"
    assert "100% of the excess is scale: multiply by 0.333." in out
    assert "worst comparison" in out
    parts = [line.split() for line in out.splitlines() if line.strip().startswith("query ")]
    assert len(parts) == 3
    here, there = problem.risk.part_values(3.0 * solution.M), problem.risk.part_values(solution.M)
    assert [int(words[1]) for words in parts] == list(np.argsort(there - here)[:3])
    height, width, _ = plt.imread(picture).shape
    # Versions of Matplotlib round by a pixel.
    assert (width, height) == (960, pytest.approx(1740, abs=1))
    verdict = json.loads(command("audit", WINE, tmp_path / "M.npy", "--worst", "2", "--json")[1])
    assert verdict["scale"]["best"] == pytest.approx(1.0 / 3.0, rel=1e-3)
    assert verdict["scale"]["share"] == pytest.approx(1.0, abs=1e-5)
    assert verdict["subspace"] is None
    assert len(verdict["worst"]) == 2
    assert verdict["worst"][0]["rows"][0] == verdict["worst"][0]["part"]


def test_several_metrics_make_a_list(command, tmp_path, wine):
    np.save(tmp_path / "one.npy", np.eye(13))
    np.save(tmp_path / "two.npy", wine[2].M)
    files = tmp_path / "one.npy", tmp_path / "two.npy"
    code, out, _ = command("audit", WINE, *files, "--json", "--tol", "1e-3")
    assert code == 1
    first, second = json.loads(out)
    assert first["suboptimality"] > 0.9
    assert second["suboptimality"] < 1e-5
    assert command("audit", WINE, files[1], files[1], "--tol", "1e-3")[0] == 0


def test_audit_of_iterates(command, tmp_path, wine):
    instance, problem, solution = wine
    metrics = [np.eye(13), 2.0 * solution.M, solution.M]
    one, two, picture = tmp_path / "theirs.npz", tmp_path / "run", tmp_path / "trails.png"
    np.savez(one, iterates=metrics, seconds=[0.1, 0.2, 0.3])
    two.mkdir()
    for k, M in enumerate(metrics):
        np.save(two / f"{k}.npy", M)
    code, out, _ = command("audit", WINE, one, two, "--iterates", "--plot", picture)
    assert code == 0
    assert out.count("suboptimality") == 6
    assert "from iterate 3 on (0.3 s)" in out
    assert picture.exists()
    result = json.loads(command("audit", WINE, one, "--iterates", "--json", "--tol", "1e-5")[1])
    assert result["objectives"] == pytest.approx([problem.objective(M) for M in metrics], rel=1e-12)
    assert (result["unit"], result["passes"]) == ("iterates", [1.0, 2.0, 3.0])
    lower, upper = instance.proven
    assert result["lower_bound"] == lower
    assert result["reference_gap"] == relative_gap(upper, lower)
    np.savez(one, iterates=metrics[:2])
    code, out, err = command("audit", WINE, one, "--iterates", "--tol", "1e-5", "--solve", "--quiet", "--plot", picture)
    assert code == 1
    assert "not certified to be within 1e-05" in err


def test_audit_can_solve_for_its_bound(command, tmp_path, wine):
    np.save(tmp_path / "M.npy", wine[2].M)
    code, out, err = command("audit", WINE, tmp_path / "M.npy", "--solve", "--tol", "1e-3", "--json")
    verdict = json.loads(out)
    assert code == 0
    assert verdict["lower_bound"] < wine[0].lower_bound
    assert 1e-6 < verdict["suboptimality"] <= 1e-3
    assert "gap" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["solve", "ranking-auc-wine"], "no problem named 'ranking-auc-wine'; did you mean"),
        (["solve", WINE, "--solver", "simplex"], "solver must be one of"),
        (["solve", WINE, "--solver", "interior-point"], "interior-point cannot solve this problem"),
        (["solve", WINE, "--tol", "0"], "tol must be a relative gap between 0 and 1, got 0.0"),
        (["solve", WINE, "--max-iter", "0"], "max_iter must be a positive integer"),
        (["solve", WINE, "--max-seconds", "-1"], "max_seconds must be positive"),
        (["solve", WINE, "--save", "wine.mat"], "wine.mat: a solution is saved as .npz, not as '.mat'"),
        (["solve", WINE, "--save", "none/wine.npz"], "there is no folder none"),
        (["solve", WINE, "--plot", "wine.gif"], "a picture is written as .png, .pdf, .svg, not as '.gif'"),
        (["solve", WINE, "--plot", "none/wine.png"], "there is no folder none"),
        (["demo", "--plot", "demo"], "not as 'no suffix'"),
        (["audit", WINE, "none.npy"], "none.npy: there is no such file"),
        (["audit", WINE, "M.npy", "--tol", "2"], "tol must be a relative gap between 0 and 1, got 2.0"),
        (["audit", WINE, "M.npy", "--variable", "M"], "holds one array"),
        (["audit", WINE, "M.npy", "--worst", "-1"], "worst must be a number of parts, 0 or more, got -1"),
        (["audit", WINE, "M.npy", "M.npy", "--plot", "M.png"], "a picture is of one metric"),
        (["audit", WINE, "M.npy", "--plot", "M.gif"], "a picture is written as .png, .pdf, .svg, not as '.gif'"),
        (["audit", WINE, "M.csv", "--iterates"], "iterates are read from .npz, .npy or a folder"),
        (["audit", WINE, "M.npy", "--iterates", "--variable", "M"], "a file of iterates holds them as 'iterates'"),
        (["audit", WINE, "M.npy", "--iterates"], "iterates[0]: W must have shape (13, 13), got (3,)"),
        (["audit", WINE, "M.npy"], "W must have shape (13, 13), got (3, 3)"),
        (["audit", WINE, "skew.npy"], "W must be symmetric"),
    ],
)
def test_wrong_input_is_one_line_on_standard_error(command, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    np.save("M.npy", np.eye(3))
    np.save("skew.npy", np.triu(np.ones((13, 13))))
    code, _, err = command(*arguments, *(["--quiet"] if arguments[0] == "solve" else []))
    assert code == 2
    assert err.startswith("error: ")
    assert message in err
    assert err.count("\n") == 1


def test_data_that_are_not_there_are_an_error_in_one_line(command, monkeypatch, tmp_path):
    name = next(name for name in list_problems() if "webkb" in name)
    monkeypatch.setenv("CONVEXMETRIC_DATA", str(tmp_path))
    code, out, err = command("solve", name)
    assert code == 2
    assert out == ""
    assert err.startswith("error: ")
    assert "CONVEXMETRIC_DATA" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("arguments", [["bogus"], ["solve"], ["solve", WINE, "--tol", "small"], ["audit", WINE]])
def test_wrong_usage_exits_with_two(command, arguments):
    code, out, err = command(*arguments)
    assert code == 2
    assert out == ""
    assert "Usage" in err


def test_version_and_help(command):
    assert command("--version") == (0, f"{cm.__version__}\n", "")
    for words in ([], ["list"], ["solve"], ["audit"], ["demo"]):
        code, out, _ = command(*words, "--help")
        assert code == 0
        assert "Usage" in out


PROVEN = Path(__file__).parents[1] / "corpus" / "accepted" / "auc.npz"


@pytest.mark.parametrize("to", ["/dev/full", "pipe", None])
@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["--version"], ["list"], ["list", "--json"], ["verify", PROVEN], ["verify", PROVEN, "--json"]],
    ids=str,
)
def test_output_that_cannot_be_written_is_told_in_a_sentence(command, monkeypatch, arguments, to):
    left, right = os.pipe()
    os.close(left)
    with os.fdopen(right, "w") if to == "pipe" else open(to or os.devnull, "w") as stream:
        for name in ("stdout", "__stdout__"):
            monkeypatch.setattr(sys, name, stream if to else None)
        code, _, err = command(*arguments)
    why = {"/dev/full": "No space left on device", "pipe": "Broken pipe", None: "Bad file descriptor"}
    assert (code, err) == (3, f"error: cannot write the output: {why[to]}\n")


@pytest.mark.integration
@pytest.mark.parametrize(
    "words", [["-m", "convexmetric", "verify"], ["-m", "convexmetric.certificates.kernel"], [checker.__file__]]
)
def test_a_process_whose_verdict_cannot_be_written_ends_with_three(words):
    words = [sys.executable, *words, str(PROVEN)]
    with open("/dev/full", "w") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120)
    assert done.returncode == 3
    assert re.fullmatch("(error: )?cannot write the (output|verdict): No space left on device\n", done.stderr)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("solve ranking-auc-wine-c1000", ["ranking-auc-wine-c10000"]),
        (f"solve {WINE} --solver cutting", ["cutting-planes", "cutting-planes-plain"]),
        ("bench --suite p", ["paper"]),
        ("adapt --unjudged i", ["irrelevant", "ignore"]),
    ],
)
def test_names_complete_in_the_shell(words, completed):
    environment = {
        "_CONVEXMETRIC_COMPLETE": "complete_bash",
        "COMP_WORDS": f"convexmetric {words}",
        "COMP_CWORD": str(len(words.split())),
    }
    program = "import sys; sys.argv = ['convexmetric']; from convexmetric.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | environment, capture_output=True, text=True, timeout=120
    )
    assert done.stdout.split() == completed


@pytest.mark.parametrize("option", ["--save", "--certificate", "--plot"])
def test_a_place_that_cannot_be_written_is_told_before_the_solve(command, tmp_path, monkeypatch, option):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    def never(*_, **__):
        raise AssertionError("it solved")

    monkeypatch.setattr("convexmetric.solvers.solve", never)
    suffix = ".png" if option == "--plot" else ".npz"
    (tmp_path / f"folder{suffix}").mkdir()
    code, _, err = command("solve", WINE, option, tmp_path / f"folder{suffix}")
    assert (code, "is a folder; name a file in it" in err) == (2, True)
    monkeypatch.setattr("convexmetric.files.TemporaryDirectory", full)
    code, _, err = command("solve", WINE, option, tmp_path / f"metric{suffix}")
    assert (code, "No space left on device" in err) == (2, True)
    assert list(tmp_path.iterdir()) == [tmp_path / f"folder{suffix}"]


def test_the_demo_tells_its_story_and_draws_it(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = command("demo")
    assert code == 0
    assert "gap" in err
    height, width, _ = plt.imread(tmp_path / "convexmetric-demo.png").shape
    assert (width, height) == (960, 1620)
    assert (tmp_path / "convexmetric-demo.png").stat().st_size > 50_000
    bounds = [float(re.search(rf"{side} bound +([\d.]+)", out)[1]) for side in ("lower", "upper")]
    assert 4.42612 * (1 - 1e-5) <= bounds[0] <= bounds[1] <= 4.42612 * (1 + 1e-5)

    rows = {}
    for line in out.splitlines():
        name, *numbers = re.split(r"\s{2,}", line.strip())
        if numbers and re.match(r"Euclidean|\d+ subgradient|smoothed Newton|cutting planes", name):
            rows[name] = [float(number) for number in numbers]
    newton = rows.pop("smoothed Newton")
    assert newton[1] <= 2e-6
    assert newton[2] <= 1e-6
    suboptimality = [row[1] for row in rows.values()]
    assert len(suboptimality) == 6
    assert suboptimality == sorted(suboptimality, reverse=True)
    assert suboptimality[-1] <= 1e-6
    steps, optimum = rows["1000 subgradient steps"], rows["cutting planes"]
    assert steps[1] < 1e-3 < steps[2]
    assert optimum[2] <= 1e-6
    assert optimum[3] > rows["Euclidean metric"][2] + 0.05


def test_the_mean_score_is_that_of_the_rankings(wine):
    _, problem, solution = wine
    from sklearn.metrics import roc_auc_score

    X, labels = load_instance(WINE).rows()
    L = np.linalg.cholesky(solution.M + 1e-12 * np.eye(13))
    expected = []
    for q in range(len(X)):
        others = np.arange(len(X)) != q
        distances = np.sum(((X[others] - X[q]) @ L) ** 2, axis=1)
        expected.append(roc_auc_score(labels[others] == labels[q], -distances))
    scores = cm.evaluation.mean_scores(problem.rankings, solution.M, [problem.measure])
    assert scores[0] == pytest.approx(np.mean(expected), abs=1e-6)


@pytest.fixture
def wine_table(tmp_path):
    wine = cm.datasets.load("wine")
    rows = [[*(f"f{i}" for i in range(13)), "grower"]]
    rows += [[*map(repr, row.tolist()), f"cultivar {code}"] for row, code in zip(wine.X, wine.y, strict=True)]
    path = tmp_path / "wine.csv"
    path.write_text("\n".join(",".join(row) for row in rows), encoding="utf-8")
    return path, wine


@pytest.mark.parametrize("method", ["large-margin", "mlr", "relative", "projection", "operator"])
def test_fit_saves_components_that_act_on_the_table_itself(command, tmp_path, wine_table, method):
    path, wine = wine_table
    saved = tmp_path / "metric.npz"
    weight = {"mlr": ["C=100"], "relative": ["C=1"], "projection": ["reg=auto"], "operator": ["reg=0.005"]}
    seed = [] if method in ("large-margin", "mlr", "operator") else ["random_state=0"]
    settings = [word for setting in [*weight.get(method, []), *seed] for word in ("--set", setting)]
    arguments = ["--label", "grower", "--method", method, "--save", saved, "--no-held-out", *settings]
    code, out, err = command("fit", path, *arguments)
    assert code == 0
    assert "178 x 13; 3 classes" in out
    assert "relative gap" in out
    assert str(saved) in err
    with np.load(saved, allow_pickle=False) as arrays:
        assert arrays["columns"].tolist() == [f"f{i}" for i in range(13)]
        assert 0.0 <= float(arrays["gap"]) <= 1e-4
    estimator = {
        "large-margin": cm.LargeMargin(),
        "mlr": cm.MLR(),
        "relative": cm.RelativeComparisonMetric(random_state=0),
        "projection": cm.RandomProjectionMetric(random_state=0),
        "operator": cm.OperatorMarginMetric(),
    }[method]
    X = cm.datasets.preprocess(wine.X, ["zscore"])
    expected = estimator.fit(X, wine.y).pair_distance(X[:40].reshape(20, 2, 13))
    images = cm.evaluation.SimilarityOperator.load(saved).transform(wine.X[:40])
    np.testing.assert_allclose(np.linalg.norm(images[::2] - images[1::2], axis=1), expected, rtol=1e-6)


def test_fit_takes_parameters_of_the_method_and_prints_json(command, wine_table):
    path, wine = wine_table
    settings = ["--set", "measure=auc", "--set", "C=1", "--set", "diagonal=true", "--drop", "f12", "--no-scale"]
    options = ["--method", "mlr", "--no-held-out", "--json", "--quiet", "--tol", "1e-5"]
    code, out, err = command("fit", path, "--label", "grower", *settings, *options)
    assert code == 0
    assert err == ""
    result = json.loads(out)
    problem = cm.RankingProblem.from_labels(wine.X[:, :12], wine.y, measure="auc", C=1.0, diagonal=True)
    assert result["upper_bound"] == pytest.approx(cm.solve(problem).upper_bound, rel=1e-4)
    assert result["columns"] == [f"f{i}" for i in range(12)]
    assert result["gap"] <= 1e-5


def test_fit_says_when_it_is_not_certified(command, wine_table):
    alone = ["--set", "prior=identity", "--set", "scale=1", "--set", "strength=0.1", "--set", "max_iter=2"]
    code, _, err = command("fit", wine_table[0], "--label", "grower", *alone, "--quiet", "--no-held-out")
    assert code == 1
    assert "not certified to tol = 0.0001" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--label", "growers"], "did you mean 'grower'"),
        (
            ["--label", "grower", "--method", "NCA"],
            "scikit-learn has it, as NeighborhoodComponentsAnalysis",
        ),
        (["--label", "grower", "--set", "c"], "NAME=VALUE"),
        (["--label", "grower", "--method", "mlr", "--set", "mesure=auc"], "did you mean measure"),
        (["--label", "grower", "--method", "mlr", "--set", "C=large"], "C must be a positive number"),
        (["--label", "grower", "--set", "scale=-2"], "scale must be"),
        (["--label", "grower", "--set", "tol=1"], "known: "),
        (["--label", "grower", "--save", "metric.txt"], "metric.txt"),
        (["--label", "grower", "--method", "operator", "--set", "kernel=rbf", "--save", "m.npz"], "under a kernel"),
    ],
)
def test_fit_refuses_what_it_cannot_read(command, wine_table, arguments, message):
    code, out, err = command("fit", wine_table[0], *arguments)
    assert code == 2
    assert out == ""
    assert message in err


def test_fit_passes_by_constant_columns_and_says_whom_it_leaves_out(command, tmp_path, wine_table):
    path, _ = wine_table
    lines = path.read_text(encoding="utf-8").splitlines()
    wider = [f"{cell},{line}" for cell, line in zip(["batch", *["0.1"] * 178], lines, strict=True)]
    wider.append(wider[-1].rsplit(",", 1)[0] + ",cultivar 9")
    path.write_text("\n".join(wider), encoding="utf-8")
    saved = tmp_path / "metric.npz"
    code, _, err = command("fit", path, "--label", "grower", "--save", saved, "--quiet", "--no-held-out")
    assert code == 0
    assert "note: y has 1 class(es) with a single member ('cultivar 9')" in err
    components = cm.evaluation.SimilarityOperator.load(saved).components
    # What the interior of the cone left there, not blown up by a deviation of rounding errors.
    assert np.abs(components[:, 0]).max() < 0.1


@pytest.mark.parametrize("method", ["relative", "operator"])
def test_fit_names_classes_of_one_row_that_take_part(command, wine_table, method):
    path, _ = wine_table
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([*lines, lines[-1].rsplit(",", 1)[0] + ",cultivar 9"]), encoding="utf-8")
    weight = "C=1" if method == "relative" else "reg=0.005"
    limit = ["--set", weight, "--set", "max_iter=1", "--set", "random_state=0", "--quiet", "--no-held-out"]
    _, _, err = command("fit", path, "--label", "grower", "--method", method, *limit)
    assert "note: 1 class(es) have a single row ('cultivar 9')" in err


def test_fit_reads_what_pandas_and_r_write(command, tmp_path, wine_table):
    """Row numbers without a name, a missing value, decimal commas: all of it is said."""
    path, _ = wine_table
    lines = [line.replace(",", ";").replace(".", ",") for line in path.read_text(encoding="utf-8").splitlines()]
    lines[3] = "NA" + lines[3][lines[3].index(";") :]
    path.write_text("\n".join(f"{i or ''};{line}" for i, line in enumerate(lines)), encoding="utf-8")
    limit = ["--method", "large-margin", "--set", "max_iter=1", "--json", "--quiet", "--no-held-out"]
    code, out, err = command("fit", path, "--label", "grower", *limit)
    assert code == 2
    assert "line 4: column 'f0' has no value" in err
    assert "--drop-missing" in err
    code, out, err = command("fit", path, "--label", "grower", "--drop-missing", *limit)
    assert code == 1
    assert json.loads(out)["columns"] == [f"f{i}" for i in range(13)]
    for note in (
        "column 0 of wine.csv has no name",
        "left out for a missing value: 1 row of 178",
        "has decimal commas",
    ):
        assert note in err


def test_fit_reads_tables_without_names(command, wine_table):
    path, _ = wine_table
    path.write_text("\n".join(path.read_text(encoding="utf-8").splitlines()[1:]), encoding="utf-8")
    code, _, err = command("fit", path, "--label", "cultivar 0")
    assert code == 2
    assert "--no-header --label 13" in err
    limit = ["--method", "large-margin", "--set", "max_iter=1", "--quiet", "--no-held-out"]
    for label in (["--label", "-1"], ["--label", "13", "--no-header"]):
        code, out, err = command("fit", path, *label, "--drop", "0", *limit)
        assert code == 1
        assert "178 x 12; 3 classes" in out
        assert ("taken for data" in err) == (len(label) == 2)


@pytest.mark.integration
def test_bench_writes_results_table_and_picture_and_merges_files(command, tmp_path):
    asked = ["--instances", "relative-wine-hard", "--solver", "interior-point", "--solver", "dual-newton", "--quiet"]
    code, out, err = command("bench", *asked, "--output", tmp_path / "a")
    assert code == 0
    assert "interior-point" in out
    assert "profile.png" in err
    assert (tmp_path / "a" / "profile.png").stat().st_size > 10_000
    assert "`relative-wine-hard`" in (tmp_path / "a" / "table.md").read_text()
    assert "dual-newton" in (tmp_path / "a" / "page.html").read_text(encoding="utf-8")
    results = json.loads((tmp_path / "a" / "results.json").read_text())
    assert [row["solver"] for row in results["runs"]] == ["interior-point", "dual-newton"]
    runs = tmp_path / "a" / "runs.csv"
    before = runs.read_text()
    (tmp_path / "other.csv").write_text(before.replace(cm.__version__, "0.0.9"))
    merged = ["--plot-only", runs, "--plot-only", tmp_path / "other.csv", "--output", tmp_path / "b", "--json"]
    code, out, _ = command("bench", *merged, "--solver", "interior-point")
    assert code == 0
    assert {(record["solver"], record["version"]) for record in json.loads(out)} == {
        ("interior-point", cm.__version__),
        ("interior-point", "0.0.9"),
    }
    assert "(0.0.9)" in (tmp_path / "b" / "table.md").read_text()
    assert runs.read_text() == before
    assert command("bench", "--plot-only", tmp_path / "absent.csv")[0] == 2


def test_bench_passes_on_files_suite_and_seed_and_draws_curves(command, tmp_path, monkeypatch):
    asked = {}
    curve = ((1e-3, 2.0, math.inf, 0.5),)

    def made(solvers, instances, **settings):
        asked.update(settings, solvers=solvers, instances=instances)
        return [Run("p", name, 1e-6, 9.0, 1, "stalled", curve=curve, peak_mb=1.0) for name in solvers]

    monkeypatch.setattr("convexmetric.bench.command.benchmark", made)
    pages = {}
    for flags in ([], ["--anytime"]):
        given = ["bench", "mine.py", "b.py:name", "--solver", "exact", "--suite", "small", "--seed", "3", *flags]
        code, _, err = command(*given, "--output", tmp_path)
        assert code == 0
        assert "page.html" in err
        assert asked["solvers"] == ["mine.py", "b.py:name", "exact"]
        assert (asked["instances"], asked["suite"], asked["seed"]) == (None, "small", 3)
        pages[bool(flags)] = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "small-1" in pages[False]
    assert "Suboptimality over time" not in pages[False]
    assert "Suboptimality over time" in pages[True]
    # Files alone: the default solver is not run beside them.
    command("bench", "mine.py", "--output", tmp_path)
    assert asked["solvers"] == ["mine.py"]
    command("bench", "--output", tmp_path)
    assert asked["solvers"] == ["exact"]


def test_a_suite_that_there_is_not_is_named(command, tmp_path):
    code, _, err = command("bench", "--suite", "huge", "--output", tmp_path)
    assert code == 2
    assert "suite must be one of 'small', 'paper', 'large', 'open', got 'huge'" in err


def test_an_interrupted_bench_says_how_to_go_on(command, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("convexmetric.bench.command.benchmark", interrupted)
    code, _, err = command("bench", "--output", tmp_path)
    assert code == 130
    assert "goes on from there" in err
