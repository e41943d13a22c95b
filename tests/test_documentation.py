"""What the documentation shows is run, and the reference names everything that is public."""

import doctest
import importlib
import inspect
import pkgutil
import re
from dataclasses import fields, is_dataclass
from pathlib import Path

import pytest

import convexmetric as cm

DOCS = Path(__file__).resolve().parents[1] / "docs"
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
MODULES = [info.name for info in pkgutil.walk_packages(cm.__path__, "convexmetric.") if "__main__" not in info.name]
WITH_EXAMPLES = [
    name
    for name in ["convexmetric", *MODULES]
    if ">>> " in Path(importlib.import_module(name).__file__).read_text("utf-8")
]
PAGES = sorted(page for page in DOCS.rglob("*.md") if "_build" not in page.parts and ">>> " in page.read_text("utf-8"))
#: What a user calls by its name in the package, or imports from the packages below it.
PACKAGES = ["", ".cones", ".comparisons", ".datasets", ".errors", ".estimators", ".losses", ".measures", ".methods"]
PACKAGES += [".regularizers", ".risks", ".solvers"]


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_of_docstrings(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=FLAGS)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_of_pages(page):
    fences = re.findall(r"^```pycon\n(.*?)^```", page.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    test = doctest.DocTestParser().get_doctest("\n".join(fences), {}, page.name, str(page), 0)
    result = doctest.DocTestRunner(optionflags=FLAGS).run(test)
    assert result.attempted > 0
    assert result.failed == 0


def test_the_reference_names_everything_that_is_public():
    named = set()
    for page in (DOCS / "api").glob("*.rst"):
        module = "convexmetric"
        for line in page.read_text("utf-8").splitlines():
            if line.startswith(".. currentmodule:: "):
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


def test_records_describe_every_attribute():
    for name in cm.__all__:
        kind = getattr(cm, name)
        if inspect.isclass(kind) and "Attributes\n" in kind.__doc__:
            described = kind.__doc__.split("Attributes\n")[1]
            for field in fields(kind) if is_dataclass(kind) else []:
                assert re.search(rf"\b{field.name}\b", described), f"{name}.{field.name}"
