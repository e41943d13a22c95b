"""The instances of the library are solved as they were recorded: bounds, status, iterations and the last solver.

The limits are those of ``frozen.differences``; the numbers come from ``python tests/frozen.py --record``. The ordinary
suite solves a short selection of every kind, ``frozen.short``, and ``pytest -m slow`` the others.
"""

import re
import signal

import pytest
from frozen import SHORT_SECONDS, SHORT_SOLVE, differences, kinds, read, short, solved

import convexmetric as cm

RECORDED = read()
SHORT = short(RECORDED)


def test_every_instance_is_recorded_or_was_too_long():
    assert sorted(RECORDED) == cm.bench.list_problems()
    found = [record for record in RECORDED.values() if record is not None]
    assert {record["status"] for record in found} == {"optimal"}
    assert 10 * len(found) > 9 * sum(not cm.bench.load_instance(name).open for name in RECORDED)


def test_the_ordinary_suite_solves_the_quickest_of_every_kind():
    seconds = {name: record["seconds"] for name, record in RECORDED.items() if record is not None}
    instances = map(cm.bench.load_instance, RECORDED)
    library = {instance.name: kinds(instance) for instance in instances if not instance.open}
    for kind in set().union(*library.values()):
        quickest = min((name for name in seconds if kind in library[name]), key=seconds.__getitem__)
        assert quickest in SHORT or seconds[quickest] > SHORT_SOLVE
    assert sum(seconds[name] for name in SHORT) <= SHORT_SECONDS


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[] if name in SHORT else [pytest.mark.slow])
        for name, record in RECORDED.items()
        if record is not None
    ],
)
def test_instances_are_solved_as_recorded(name, request):
    if cm.bench.load_instance(name).needs_data_folder:
        request.getfixturevalue("data_folder")
    wrong = differences(name, RECORDED[name], solved(name))
    assert not wrong, wrong


@pytest.mark.skipif(not hasattr(signal, "SIGPROF"), reason="there are no limits on the processor here")
def test_a_solve_that_is_too_long_is_no_record():
    name, before = "ranking-auc-wine-c100", signal.getsignal(signal.SIGPROF)
    # With compiled loops loaded, which calls back from C.
    assert solved(name, limit=60.0)["status"] == "optimal"
    assert solved(name, limit=0.02) is None
    assert signal.getsignal(signal.SIGPROF) == before
    assert signal.getitimer(signal.ITIMER_PROF) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"iterations": 1000}, r"more than \d+(\.\d+)? iterations"),
        ({"solver": "subgradient"}, "a solver that the default does not take"),
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
