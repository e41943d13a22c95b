"""A third of the instance library is solved as it was recorded: bounds, status, iterations and the last solver.

The limits are those of ``frozen.differences``; the numbers come from ``python tests/frozen.py --record``.
"""

import re

import pytest
from frozen import NAMES, QUICK_SECONDS, differences, read, solved

import convexmetric as cm

RECORDED = read()
#: Parameters of which every value counts, and those of which it counts that they are there.
VALUES, PRESENT = ("measure", "regularizer", "norm", "kernel", "diagonal"), ("margins", "intra", "inter", "beta")


def classes(table):
    """All classes that the tables of a composed problem name, and its other keys."""
    below = [one for value in table.values() for one in (value if isinstance(value, list) else [value])]
    own = {table["class"]} if "class" in table else {*table}
    return own.union(*(classes(one) for one in below if isinstance(one, dict)))


def kinds(instance):
    """What an instance is about but for its data and weights, method by method; and the solver that certified it."""
    said = instance.parameters
    if instance.method == "blocks":
        return {("blocks", name) for name in classes(said)} | {("solver", instance.how["solver"])}
    about = [(key, said[key]) for key in VALUES if key in said] + [(key, True) for key in PRESENT if key in said]
    formed = {**(instance.triplets or {}), **(instance.pairs or {})}
    about += [(key, formed[key]) for key in ("graph", "all", "balanced") if key in formed]
    about += [("queries", instance.modalities["queries"])] if instance.modalities else []
    about += [("projection", instance.projection["kind"])] if instance.projection else []
    about += [("hard margins", True)] if said.get("C") == float("inf") else []
    return {(instance.method, *pair) for pair in [("any", True), *about]} | {("solver", instance.how["solver"])}


def test_every_kind_of_instance_is_among_them():
    library = {name: kinds(cm.bench.load_instance(name)) for name in cm.bench.list_problems()}
    assert 3 * len(set(NAMES)) >= len(library)
    assert set().union(*(library[name] for name in NAMES)) == set().union(*library.values())


def test_every_one_is_recorded_and_most_are_quick():
    assert set(RECORDED) == set(NAMES)
    assert {record["status"] for record in RECORDED.values()} == {"optimal"}
    quick = [record["seconds"] for record in RECORDED.values() if record["seconds"] <= QUICK_SECONDS]
    assert 2 * len(quick) > len(NAMES)
    assert sum(quick) < 40.0


def marked(name):
    slow = name in RECORDED and RECORDED[name]["seconds"] > QUICK_SECONDS
    return pytest.param(name, marks=[pytest.mark.slow] if slow else [])


@pytest.mark.parametrize("name", [marked(name) for name in NAMES])
def test_instances_are_solved_as_recorded(name, request):
    if cm.bench.load_instance(name).needs_data_folder:
        request.getfixturevalue("data_folder")
    wrong = differences(name, RECORDED[name], solved(name))
    assert not wrong, wrong


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"iterations": 1000}, r"more than \d+(\.\d+)? iterations"),
        ({"solver": "subgradient"}, "another solver"),
        ({"status": "stalled"}, "another status"),
        ({"lower": 0.2344, "upper": 0.2345}, "its bounds contradict the proven"),
        ({"lower": 0.2342, "upper": 0.2343}, "its bounds contradict the proven"),
        ({"upper": 0.2344}, "its upper bound is more than 1e-06 above the proven"),
        ({"upper": float("inf")}, "its upper bound is more than 1e-06 above the proven"),
        ({"lower": float("-inf")}, "its lower bound is more than 1e-06 below the proven"),
        ({"lower": 0.2343}, "its lower bound is more than 1e-06 below the proven"),
    ],
)
def test_what_is_outside_the_limits_is_named(change, message):
    name = "ranking-auc-wine-c1"
    recorded = RECORDED[name]
    found = recorded | change
    wrong = differences(name, recorded, found)
    assert re.match(rf"{name}: {message}", wrong)
    assert str(recorded) in wrong
    assert str(found) in wrong


def test_fewer_iterations_and_other_bounds_within_the_tolerance_are_no_difference():
    name = "ranking-auc-wine-c1"
    instance, recorded = cm.bench.load_instance(name), RECORDED[name]
    found = recorded | {"iterations": 1, "lower": instance.lower_bound, "upper": instance.upper_bound * (1 + 9e-7)}
    assert not differences(name, recorded, found)
