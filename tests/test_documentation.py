"""What the documentation shows is run, and the reference names everything that is public."""

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
import sys
import tomllib
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import pytest
from sklearn.base import BaseEstimator

import convexmetric as cm
from convexmetric.measures import MEASURES

DOCS = Path(__file__).resolve().parents[1] / "docs"
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
MODULES = [info.name for info in pkgutil.walk_packages(cm.__path__, "convexmetric.") if "__main__" not in info.name]
WITH_EXAMPLES = [
    name
    for name in ["convexmetric", *MODULES]
    if ">>> " in Path(importlib.import_module(name).__file__).read_text("utf-8")
]
FENCE = re.compile(r"^```(python|pycon)\n(.*?)^```", re.DOTALL | re.MULTILINE)
PAGES = sorted(
    page for page in DOCS.rglob("*.md") if "_build" not in page.parts and FENCE.search(page.read_text("utf-8"))
)
#: What a user calls by its name in the package, or imports from the packages below it.
PACKAGES = ["", ".approximate", ".cones", ".comparisons", ".datasets", ".errors", ".estimators", ".losses", ".measures"]
PACKAGES += [".papers", ".regularizers", ".retrieval", ".risks", ".selection", ".shards", ".solution", ".solvers"]


@pytest.fixture(autouse=True)
def _own_measures():
    """What an example registers ends with it."""
    with patch.dict(MEASURES):
        yield


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_of_docstrings(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    assert result.attempted > 0
    assert result.failed == 0


def test_docstrings_begin_with_the_thing_or_a_verb():
    anaphora = re.compile(r"(Of|That of|Those of|That|Those)\b")
    found = []
    for path in sorted(Path(cm.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(node)):
                found += [f"{path}: {text.splitlines()[0]}"] if anaphora.match(text) else []
    assert not found, "\n".join(found)


def run(page, name):
    """Run the blocks of a page in its order, in one namespace, which it gives; ``name`` is that of the module."""
    names, runner = {"__name__": name}, doctest.DocTestRunner(optionflags=FLAGS)
    for kind, block in FENCE.findall(page.read_text("utf-8")):
        if kind == "python":
            exec(compile(block, str(page), "exec"), names)
        else:
            test = doctest.DocTestParser().get_doctest(block, names, page.name, str(page), 0)
            assert runner.run(test, clear_globs=False).failed == 0
            names = test.globs
    return names


@pytest.fixture
def _queue(monkeypatch):
    """The machine that runs the tests, with two workers, in the place of a queue."""
    distributed = pytest.importorskip("distributed")

    class Queue(distributed.LocalCluster):
        def __init__(self, *, cores, memory, walltime, job_extra_directives):
            super().__init__(n_workers=0, threads_per_worker=cores, memory_limit=memory)

        def scale(self, jobs):
            super().scale(min(jobs, 2))

    monkeypatch.setitem(sys.modules, "dask_jobqueue", SimpleNamespace(SLURMCluster=Queue))


@pytest.mark.usefixtures("_queue")
@pytest.mark.filterwarnings("ignore::convexmetric.errors.GapWarning")
@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.integration] * (page.name == "cluster.md")) for page in PAGES],
    ids=lambda page: page.name,
)
def test_the_blocks_of_a_page_run_in_its_order(page, tmp_path, monkeypatch):
    """Those that need other machines are not marked as Python."""
    monkeypatch.chdir(tmp_path)
    names = run(page, "__main__" if page.name == "cluster.md" else page.stem)
    if page.name == "cluster.md":
        assert names["solution"].status == "optimal"
        assert (names["scores"].gaps <= 1e-2).all()


def test_the_entry_pages_show_what_is_printed(tmp_path, monkeypatch, capsys):
    """All of it, but for dots, which stand for what depends on the processor."""
    monkeypatch.chdir(tmp_path)
    readme, names = (DOCS.parent / "README.md").read_text("utf-8"), {}
    for block in re.findall(r"^```python\n(.*?)^```", readme, re.DOTALL | re.MULTILINE):
        exec(block, names)
    (shown,) = re.findall(r"^```text\n(.*?)^```", readme, re.DOTALL | re.MULTILINE)
    printed, mlr = capsys.readouterr().out.strip().rsplit("\n", 1)
    (short,) = re.findall(r"^```text\n(.*?)^```", (DOCS / "index.md").read_text("utf-8"), re.DOTALL | re.MULTILINE)
    pairs = [
        (shown, printed),
        (short, str(names["solution"])),
        (readme.split("certificate_)  # ")[1].split("\n")[0], mlr),
    ]
    for wanted, found in pairs:
        assert doctest.OutputChecker().check_output(f"{wanted.strip()}\n", f"{found}\n", doctest.ELLIPSIS), found


def test_links_between_pages_lead_somewhere():
    missing = []
    pages = [DOCS.parent / "README.md", DOCS.parent / "CONTRIBUTING.md", *DOCS.rglob("*.md")]
    for page in (page for page in pages if "_build" not in page.parts and "gallery" not in page.parts):
        for target in re.findall(r"\]\((?!https?:)([^)#\s]+)", page.read_text("utf-8")):
            if not (page.parent / target).exists():
                missing.append(f"{page.name}: {target}")
    assert missing == []


def test_the_reference_names_everything_that_is_public():
    named = set()
    for page in (DOCS / "api").glob("*.rst"):
        module = "convexmetric"
        for line in page.read_text("utf-8").splitlines():
            if line.startswith((".. currentmodule:: ", ".. module:: ")):
                module = line.split()[-1]
            elif re.fullmatch(r"   \w+", line):
                owner = importlib.import_module(module)
                if hasattr(owner, line.strip()):
                    named.add(id(getattr(owner, line.strip())))
    missing = []
    for package in PACKAGES:
        module = importlib.import_module(f"convexmetric{package}")
        for name in module.__all__:
            public = getattr(module, name)
            if (inspect.isclass(public) or inspect.isfunction(public)) and id(public) not in named:
                missing.append(f"{module.__name__}.{name}")
    assert missing == []


def test_the_files_that_recipes_name_are_there():
    root, text = DOCS.parent, (DOCS / "extending.md").read_text("utf-8")
    named = set(re.findall(r"`([\w/]+\.(?:py|md|rst)|[\w/]+/)`", text))
    assert len(named) > 40
    places = [root, root / "convexmetric", root / "convexmetric" / "solvers"]
    assert [name for name in sorted(named) if not any((place / name).exists() for place in places)] == []
    tables = re.findall(r"`([A-Z]+)`(?: \(|\n?\s*in )`([\w/]+\.py)`", text)
    assert {"MEASURES", "LOSSES", "REGULARIZERS", "SUMMANDS", "FORMS", "ESTIMATES", "ROUTES"} <= {
        name for name, _ in tables
    }
    for name, file in tables:
        assert re.search(rf"^{name}\b", (root / "convexmetric" / file).read_text("utf-8"), re.MULTILINE), name


def test_the_table_of_layers_is_that_of_the_contract():
    contracts = tomllib.loads((DOCS.parent / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    (layers,) = [each["layers"] for each in contracts if each.get("containers") == ["convexmetric"]]
    table = (DOCS / "architecture.md").read_text("utf-8").split("| layer | holds |\n|---|---|\n")[1].split("\n\n")[0]
    rows = [re.findall(r"`(\w+)`", row.split("|")[1]) for row in table.splitlines()]
    assert rows == [layer.split(" | ") for layer in layers]


def test_records_describe_every_attribute():
    for name in cm.__all__:
        kind = getattr(cm, name)
        if inspect.isclass(kind) and "Attributes\n" in kind.__doc__:
            # The fields of estimators are their parameters.
            described = kind.__doc__ if issubclass(kind, BaseEstimator) else kind.__doc__.split("Attributes\n")[1]
            for field in fields(kind) if is_dataclass(kind) else []:
                assert re.search(rf"\b{field.name}\b", described), f"{name}.{field.name}"


def documented_by_formula():
    """Estimators, problems, and two functions, each with its docstring or, if the formula is there, its module's."""
    kinds = [getattr(module, name) for module in (cm.estimators, cm.papers) for name in module.__all__]
    for kind in (*filter(inspect.isclass, kinds), cm.solve, cm.audit):
        own = inspect.getdoc(kind) or ""
        yield kind, own if ".. math::" in own else importlib.import_module(kind.__module__).__doc__ or ""


def test_public_things_show_their_formula_first_and_say_where_it_is_from():
    found = {kind: text for kind, text in documented_by_formula() if ".. math::" in text}
    needed = (cm.MLR, cm.LargeMargin, cm.OperatorMarginMetric, cm.RelativeComparisonMetric, cm.solve, cm.audit)
    assert found.keys() >= {*needed, cm.RankingProblem, cm.TripletProblem, cm.ChoiceProblem, cm.CrossModalProblem}
    for kind, text in found.items():
        assert ".. math::" in text.partition("Parameters\n---")[0], kind
        assert re.search(r"\b(19|20)\d\d\b|:class:|paper", text), kind
    page = (DOCS / "_templates/autosummary/class.rst").read_text(encoding="utf-8")
    assert page.index(".. automodule::") < page.index(".. autoclass::")
