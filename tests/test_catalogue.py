"""Every block that the package exports stands in a problem of the catalogue, and in a representative one."""

import importlib
import inspect

import pytest
from catalogue import CATALOGUE, REPRESENTATIVES, instance, names

FOLDERS = ("cones", "comparisons", "measures", "losses", "regularizers", "risks", "papers")

#: Classes that no problem holds, by reason.
ELSEWHERE = {
    "made of rankings while one is searched": "Block Ranking Violation",
    "what a risk hands to solvers and certificates": "CutDual Cuts JoinedDual Minorant Smoothed SmoothedPairs",
    "another form of a risk, for solvers": "Blocks Form ImagePass ListedHinges ListedImages ListedPairs",
    "comparisons of a sum of risks, while it is solved": "StackedComparisons",
    "a part of a compiled statement": "RiskStatement",
    "numbers that a regularizer says of itself": "NormWeights",
    "what factors of a result are worth": "Factors",
    "a name of options": "Variant",
}


def exported(folder):
    """Classes of a folder that can be made."""
    package = importlib.import_module(f"convexmetric.{folder}")
    classes = [found for name in package.__all__ if inspect.isclass(found := getattr(package, name))]
    return {found for found in classes if not inspect.isabstract(found)}


def held(thing, seen):
    """Add everything of the package that a problem holds, at any depth."""
    if id(thing) in seen:
        return seen
    if type(thing).__module__.startswith("convexmetric."):
        seen[id(thing)] = thing
        slots = [name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ())]
        parts = [*vars(thing).values()] if hasattr(thing, "__dict__") else []
        parts += [getattr(thing, name) for name in slots if hasattr(thing, name)]
    elif isinstance(thing, dict):
        parts = thing.values()
    elif isinstance(thing, (list, tuple)):
        parts = thing
    else:
        return seen
    for part in parts:
        held(part, seen)
    return seen


def classes_of(problems):
    """Names of problems, by the class of what they hold."""
    found = {}
    for name in problems:
        for thing in held(instance(name), {}).values():
            found.setdefault(type(thing), set()).add(name)
    return found


def missing(folder, found):
    """Blocks of a folder that are in none of the problems."""
    excepted = {name for classes in ELSEWHERE.values() for name in classes.split()}
    return sorted(block.__name__ for block in exported(folder) - set(found) if block.__name__ not in excepted)


@pytest.fixture(scope="module")
def found():
    return classes_of(names())


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_block_is_in_a_problem_and_in_a_representative(folder, found):
    assert missing(folder, found) == [], "enter a problem with each in tests/catalogue.py"
    assert missing(folder, classes_of(REPRESENTATIVES)) == [], "name a problem with each in REPRESENTATIVES"


def test_what_no_problem_has_is_found_missing():
    few = classes_of(["ranking from labels"])
    assert "LogDet" in missing("regularizers", few)
    assert "Trace" not in missing("regularizers", few)


def test_exceptions_are_still_there_and_still_needed(found):
    every = {block.__name__: block for folder in FOLDERS for block in exported(folder)}
    for classes in ELSEWHERE.values():
        for name in classes.split():
            assert name in every, f"{name} is gone: it needs no exception"
            assert every[name] not in found, f"{name} is in {found[every[name]]}: it needs no exception"


def test_representatives_are_of_the_catalogue():
    assert set(REPRESENTATIVES) <= set(CATALOGUE)
    assert len(set(REPRESENTATIVES)) == len(REPRESENTATIVES) < len(CATALOGUE) / 3
