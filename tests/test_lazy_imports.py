"""Heavy packages are imported when they are first used, and what needs them works all the same."""

import importlib
import pickle
import pkgutil
import subprocess
import sys

import cvxpy as cp
import numpy as np
import pytest

import convexmetric as cm
from convexmetric.programs import lazy

HEAVY = ("cvxpy", "sklearn", "matplotlib", "rich", "pandas", "scipy.optimize", "scipy.stats", "scipy.spatial")


def fresh(code):
    """What a new process prints."""
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


def loaded_by(code, *names):
    """Which modules a new process has loaded after this code."""
    return fresh(f"{code}\nimport sys\nprint(*[name for name in {names} if name in sys.modules])").splitlines()[-1:]


@pytest.mark.parametrize(
    "code",
    [
        "import convexmetric; dir(convexmetric); hasattr(convexmetric, 'nothing')",
        "import convexmetric, numpy; X = numpy.random.default_rng(0).standard_normal((20, 2))\n"
        "convexmetric.solve(convexmetric.RankingProblem.from_labels(X, X[:, 0] > 0, measure='auc'))",
    ],
    ids=["import", "solve"],
)
def test_nothing_heavy_is_loaded(code):
    assert loaded_by(code, *HEAVY) == [""]


@pytest.mark.integration
@pytest.mark.parametrize("option", ["--version", "--help"])
def test_the_command_answers_without_anything_heavy_but_what_it_prints_with(option):
    code = (
        f"import sys\nsys.argv = ['convexmetric', {option!r}]\nfrom convexmetric.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code"
    )
    assert loaded_by(code, *(name for name in HEAVY if name != "rich")) == [""]


def test_every_public_name_is_there_and_listed():
    for name in [*cm.__all__, "__version__"]:
        assert getattr(cm, name) is not None
        assert name in dir(cm)


def test_the_root_has_few_names_and_no_function_hides_a_module():
    assert len(cm.__all__) <= 40
    modules = [importlib.import_module(info.name) for info in pkgutil.walk_packages(cm.__path__, "convexmetric.")]
    hidden = []
    for module in modules:
        package, _, name = module.__name__.rpartition(".")
        hidden += [module.__name__] * (getattr(sys.modules[package], name) is not module)
    assert hidden == []


@pytest.mark.integration
def test_modules_are_attributes_of_the_package():
    names = "approximate audits bench certificates checks comparisons cones datasets errors evaluation features losses "
    names += "measures papers problem regularizers retrieval risks selection shards solution solvers"
    code = f"import convexmetric\nfor name in {names.split()}:\n    assert getattr(convexmetric, name).__all__"
    assert loaded_by(code, *HEAVY) == [""]


def test_pictures_are_an_attribute_and_loaded_on_first_use():
    assert "plotting" in dir(cm)
    assert fresh("import convexmetric as cm; print(cm.plotting.plot_weights.__name__)") == "plot_weights\n"


@pytest.mark.integration
@pytest.mark.parametrize(
    "code",
    [
        "from convexmetric import MLR",
        "from convexmetric.estimators import MLR",
        "import convexmetric as cm; MLR = cm.estimators.MLR",
        "from convexmetric import *",
    ],
)
def test_estimators_are_found_on_every_way(code):
    assert fresh(f"{code}\nprint(MLR(C=3.0).get_params()['C'])") == "3.0\n"


@pytest.mark.integration
def test_a_pickled_estimator_is_read_where_nothing_is_loaded(tmp_path):
    path = tmp_path / "estimator"
    path.write_bytes(pickle.dumps(cm.MLR(C=3.0)))
    assert fresh(f"import pickle\nprint(pickle.load(open({str(path)!r}, 'rb')).C)") == "3.0\n"


def test_a_name_that_is_not_there_is_said_as_ever():
    with pytest.raises(AttributeError, match="module 'convexmetric' has no attribute 'Mlr'"):
        _ = cm.Mlr
    with pytest.raises(AttributeError, match="cvxpy"):
        _ = lazy.cvxpy.Variables


def test_the_stand_in_gives_what_the_module_has():
    assert lazy.cvxpy.Variable is cp.Variable
    assert lazy.cvxpy.atoms.norm is cp.atoms.norm


@pytest.mark.integration
def test_threads_that_are_first_at_the_same_time_all_get_the_module():
    code = (
        "from concurrent.futures import ThreadPoolExecutor\nfrom threading import Barrier\n"
        "from convexmetric.programs.lazy import cvxpy\nbarrier = Barrier(8)\n"
        "def first(_):\n    barrier.wait()\n    return cvxpy.Variable(2).shape\n"
        "print(set(ThreadPoolExecutor(8).map(first, range(8))))"
    )
    assert fresh(code) == "{(2,)}\n"


@pytest.mark.integration
@pytest.mark.parametrize("solver", ["clarabel", "cutting-planes"])
def test_problems_with_terms_of_cvxpy_are_solved_by_a_process_that_had_not_loaded_it(solver):
    code = (
        "import numpy\nimport convexmetric as cm\nX = numpy.random.default_rng(0).standard_normal((12, 2))\n"
        "problem = cm.RankingProblem.from_labels(X, X[:, 0] > 0, measure='auc')\n"
        f"print(cm.solve(problem.subject_to(lambda M: M[0, 0] <= 0.1), solver={solver!r}).upper_bound)"
    )
    X = np.random.default_rng(0).standard_normal((12, 2))
    problem = cm.RankingProblem.from_labels(X, X[:, 0] > 0, measure="auc").subject_to(lambda M: M[0, 0] <= 0.1)
    program = problem.statement().problem
    assert float(fresh(code)) == pytest.approx(program.solve(solver="CLARABEL"), rel=1e-5)


LEAN = """
import sys
for name in ("clarabel", "cvxpy", "matplotlib", "rich", "scs", "typer"):
    sys.modules[name] = None
import numpy as np
import convexmetric as cm
rng = np.random.default_rng(0)
X, y = rng.standard_normal((30, 3)), np.arange(30) % 2
problem = cm.RankingProblem.from_labels(X, y, measure="auc")
"""


def test_a_small_installation_learns_solves_and_proves(tmp_path):
    path = tmp_path / "proof.npz"
    code = f"""{LEAN}
cm.write_certificate({str(path)!r}, cm.solve(problem))
print(cm.verify({str(path)!r}).accepted, cm.MLR().fit(X, y).gap_ < 1e-3, cm.LargeMargin().fit(X, y).gap_ < 1e-3)
"""
    assert fresh(code).split() == ["True"] * 3


@pytest.mark.parametrize(
    ("call", "package", "extra"),
    [
        ("cm.plotting.plot_solution(cm.solve(problem))", "matplotlib", "plot"),
        ("cm.solve(problem, progress=True)", "rich", "cli"),
        ("cm.solve(problem, solver='scs')", "cvxpy", "conic"),
        ("problem.to_cvxpy(rankings=[])", "cvxpy", "conic"),
    ],
)
def test_what_a_small_installation_lacks_is_named_with_its_extra(call, package, extra):
    found = fresh(f"{LEAN}\ntry:\n    {call}\nexcept cm.errors.NotInstalledError as error:\n    print(error)")
    assert f"needs the package {package}: pip install 'convexmetric[{extra}]'" in found


def test_the_command_says_what_it_lacks():
    code = f"{LEAN}\nfrom convexmetric.__main__ import run\nrun()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr in [
        f"error: the command needs the package {name}: pip install 'convexmetric[cli]'\n" for name in ("rich", "typer")
    ]
