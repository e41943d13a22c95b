"""Every setting of a solver has a line in the docstring of its class and refuses what is out of its range."""

import inspect
import re
from dataclasses import fields, is_dataclass, replace

import pytest

import convexmetric as cm
from convexmetric import approximate, solvers

NAMES = ("cuts", "explicit", "pair_losses", "pairwise", "smooth")
FAMILIES = (*(f"convexmetric.solvers.{name}." for name in NAMES), "convexmetric.approximate.")
NAMED = [getattr(module, name) for module in (solvers, approximate) for name in module.__all__]
CLASSES = [kind for kind in NAMED if isinstance(kind, type)]
SOLVERS = [kind for kind in CLASSES if issubclass(kind, solvers.Solver) and kind.__module__.startswith(FAMILIES)]
#: Their settings are described with those of the solvers that they are bases of, or derived from.
OTHERS = (approximate.ApproximateSolver, approximate.RandomisedSolver)
KINDS = [kind for kind in SOLVERS if kind not in OTHERS and fields(kind)]
#: What is wrong for a setting of this type.
WRONG = {
    bool: (2, "yes"),
    int: (0, -1, 1.5, True),
    float: (0.0, -1.0, float("nan"), float("inf"), True),
    tuple: ((), (0.0,), 1.0),
}


def settings(kind):
    return [(kind, field.name) for field in fields(kind)]


@pytest.mark.parametrize("kind", KINDS)
def test_every_setting_is_described(kind):
    assert is_dataclass(kind)
    # Without the indentation, which Python takes away itself from 3.13 on.
    described = inspect.getdoc(kind).split("Parameters\n")[1]
    for field in fields(kind):
        assert re.search(rf"^(\w+, )*{field.name}(, \w+)* : ", described, re.MULTILINE), field.name


@pytest.mark.parametrize(("kind", "name"), [pair for kind in KINDS for pair in settings(kind)])
def test_every_setting_refuses_what_is_out_of_its_range(kind, name):
    default = getattr(kind(), name)
    for wrong in WRONG.get(type(default), ()):
        if (kind, name, wrong) in (
            (cm.approximate.FactoredDescent, "accuracy", 0.0),
            (cm.solvers.CuttingPlanes, "stabilisation", 0.0),
        ):
            continue  # It may ask for nothing.
        with pytest.raises(cm.errors.InputError, match=name):
            replace(kind(), **{name: wrong})
