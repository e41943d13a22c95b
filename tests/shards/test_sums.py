"""Sums over shards are the same bits whatever order their terms come in."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from convexmetric.errors import InputError
from convexmetric.shards.sums import FAN, Partial, Tree, add, cut, evaluate, evaluate_run, level_of


class Unit:
    def __init__(self, number):
        self.number = number


def leaves(count):
    rng = np.random.default_rng(count)
    return [
        Partial({int(g): (float(rng.normal()), rng.standard_normal(3)) for g in rng.choice(5, 2, replace=False)})
        for _ in range(count)
    ]


def by_hand(partials):
    """The tree, level by level."""
    while True:
        partials = [add(partials[k : k + FAN]) for k in range(0, len(partials), FAN)]
        if len(partials) == 1:
            return partials[0]


@given(st.integers(1, 150), st.randoms(use_true_random=False))
def test_any_order_gives_the_bits_of_the_tree(count, random):
    partials = leaves(count)
    tree, order = Tree(count), list(range(count))
    random.shuffle(order)
    for number in order:
        tree.put(number, partials[number])
    expected = by_hand(partials)
    assert tree.root.terms.keys() == expected.terms.keys()
    for number, (value, array) in expected.terms.items():
        assert tree.root.terms[number][0] == value
        assert (tree.root.terms[number][1] == array).all()


@given(st.integers(65, 700), st.integers(0, 2), st.randoms(use_true_random=False))
def test_neighbours_that_are_one_task_give_the_same_bits(count, level, random):
    partials = leaves(count)
    runs = cut([Unit(number) for number in range(count)], level)
    assert [unit.number for run in runs for unit in run] == list(range(count))
    tree, order = Tree(count), list(range(len(runs)))
    random.shuffle(order)
    for k in order:
        found = evaluate_run(runs[k], lambda unit, argument: partials[unit.number].terms, None)
        tree.put(runs[k][0].number, found, level)
    expected = by_hand(partials)
    assert {g: (value, array.tobytes()) for g, (value, array) in tree.root.terms.items()} == {
        g: (value, array.tobytes()) for g, (value, array) in expected.terms.items()
    }


@given(st.integers(1, 10**6), st.integers(0, 2_000))
def test_a_task_is_several_shards_only_where_every_worker_has_several_tasks(count, workers):
    level = level_of(count, workers)
    assert level == 0 or count / FAN**level >= 8 * workers >= 8
    # And no fewer shards than that.
    assert workers == 0 or count / FAN ** (level + 1) < 8 * workers


@given(st.integers(1, 150))
def test_the_tree_adds_everything_and_changes_nothing(count):
    partials = leaves(count)
    copies = [{g: (value, array.copy()) for g, (value, array) in partial.terms.items()} for partial in partials]
    found = by_hand(partials).terms
    for g in range(5):
        terms = [copy[g] for copy in copies if g in copy]
        assert (g in found) == bool(terms)
        if terms:
            assert found[g][0] == pytest.approx(sum(value for value, _ in terms), abs=1e-12)
            assert found[g][1] == pytest.approx(np.sum([array for _, array in terms], axis=0), abs=1e-12)
    for partial, copy in zip(partials, copies, strict=True):
        for g, (_, array) in copy.items():
            assert (partial.terms[g][1] == array).all()


def test_data_that_cannot_be_read_are_lost_and_a_mistake_is_raised():
    def fails(error):
        def task(shard, argument):
            raise error

        return task

    for error in (OSError("no such file"), InputError("damaged"), MemoryError()):
        found = evaluate(Unit(3), fails(error), None)
        assert found.terms == {}
        assert type(error).__name__ in found.lost[3]
    with pytest.raises(TypeError):
        evaluate(Unit(0), fails(TypeError("a mistake")), None)
    assert add([Partial(lost={1: "a"}), Partial({0: (1.0,)}), Partial(lost={2: "b"})]).lost == {1: "a", 2: "b"}
